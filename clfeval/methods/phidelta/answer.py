"""Sentences of phidelta: the best model or feature, ties with it, and bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from math import isclose
from typing import Any

from clfeval.counts.patterns import PatternCounts
from clfeval.document import Answer, Estimate, Row, Rows, as_estimate, whole_table_rows
from clfeval.formatting import (
    describe_ties,
    format_close,
    format_count,
    format_exact,
    format_number,
    join_names,
    quoted_name,
    with_interval,
)
from clfeval.measures.odds import LEAN
from clfeval.methods.comparison_answer import tied_with_best
from clfeval.methods.measurement.run_means import RunMean, Runs, run_answers

MOST, MOST_COMPARED = 5, 300  # sentences; models of which all pairs are compared
EQUAL = 1e-12  # tolerance of equal values
MISSING = {"no_positive_truth": "no row is positive", "no_negative_truth": "no row is negative"}


def classifier_answer(
    tables: Mapping[str, Rows], patterns: PatternCounts | None, level: float | None,
    reference: str | None = None, margin: float | None = None,
) -> tuple[Answer, ...]:  # fmt: skip
    """Return sentences on the model of highest delta, those not different, and biased ones."""
    models = whole_table_rows(tables["models"])
    ranked = _sort_rows(models, "delta")
    if not ranked:
        reasons = {MISSING.get(as_estimate(row["delta"]).reason or "", "") for row in models}
        why = "".join(reasons) if len(reasons) == 1 else ""
        text = f"δ is undefined for every model: {why or 'a class has no row'}."
        return (Answer("no-position", text),)
    leaders = _leading_models(ranked, "delta")
    first = reference if reference in leaders else leaders[0]
    said = [_best_model_answer(ranked, leaders, level)]
    compared = tables.get("comparisons", ())
    if reference is not None and compared and level is not None:
        from clfeval.methods.comparison_answer import comparison_answer

        said += comparison_answer(compared, "delta", reference, margin, level)
    elif len(leaders) < len(ranked):
        others = [str(row["model"]) for row in ranked[len(leaders) :]]
        said.append(_ties_answer(leaders, others, patterns, level))
    said += [
        *_on_curves(whole_table_rows(tables.get("curves", ())), level),
        *_ppv_answer(first, tables.get("populations", ()), level),
        *_chance_level_answer(ranked), *_inverted_models_answer(ranked),
        *_bias_answers(ranked, "phi", level),
    ]  # fmt: skip
    return tuple(said[:MOST])


def _best_model_answer(
    ranked: Sequence[Row], leaders: Sequence[str], level: float | None
) -> Answer:
    """Return the sentence on the model with the largest delta, or several of equal delta."""
    delta, name = as_estimate(ranked[0]["delta"]), join_names(leaders)
    value, low, high = _value_or_zero(delta), delta.low, delta.high
    better, one = (
        all(_is_above_chance(row["delta"]) for row in ranked[: len(leaders)]),
        len(leaders) == 1,
    )
    if any((as_estimate(r["delta"]).low, as_estimate(r["delta"]).high) != (low, high)
           for r in ranked[: len(leaders)]):  # fmt: skip
        low = high = None
    size = with_interval(value, low, high, level or 0.95)
    text = f"{name} ha{'s' if one else 've'} the largest δ: {size}"
    if len(leaders) == len(ranked):
        text = f"{name} has δ {size}" if one else f"All models have the same δ: {size}"
    elif better:
        text = f"{name} discriminate{'s' * one} best: δ {size}"
    if one:
        text += f", sensitivity {_format_rate(ranked[0], 'sensitivity')}, "
        text += f"specificity {_format_rate(ranked[0], 'specificity')}"
    return Answer("best-delta", f"{text}.", tuple(leaders), "delta", value, low, high)


def _ties_answer(
    leaders: Sequence[str], others: Sequence[str], patterns: PatternCounts | None,
    level: float | None,
) -> Answer:  # fmt: skip
    """Return the sentence on models tied with the best, adjusted for all pairs of models."""
    found, why = None, "the errors of δ are unknown"
    if level is None or patterns is None:
        why = "no intervals are computed" if level is None else "the models' rows may differ"
    elif len(patterns.models) > MOST_COMPARED:
        why = f"more than {MOST_COMPARED} models are too many for all pairs"
    else:
        found = tied_with_best(patterns, level)
    if found is None:
        return Answer("untested", f"No significance test: {why}.")
    tied = [name for name in others if found.ties.get(name, True)]
    text = describe_ties(tied, [name for name in others if name not in tied])
    return Answer("not-significantly-different", text, tuple(tied)) if tied else Answer(
        "significantly-worse", text, tuple(leaders[:1]))  # fmt: skip


def _on_curves(curves: Sequence[Row], level: float | None) -> list[Answer]:
    """Return the sentence on the model with the largest Gini over all thresholds."""
    ranked = _sort_rows(curves, "gini")
    if not ranked:
        return []
    leaders, gini = _leading_models(ranked, "gini"), as_estimate(ranked[0]["gini"])
    value, has = (with_interval(_value_or_zero(gini), gini.low, gini.high, level or 0.95), "has")
    if len(leaders) > 1:
        value, has, gini = (
            f"{format_number(_value_or_zero(gini))} each",
            "have",
            Estimate(gini.value),
        )
    largest = "the largest Gini:" if len(ranked) > 1 else "a Gini of"
    text = f"Over all thresholds {join_names(leaders)} {has} {largest} {value}."
    return [Answer("best-curve", text, tuple(leaders), "gini", gini.value, gini.low, gini.high)]


def _ppv_answer(name: str, populations: Sequence[Row], level: float | None) -> list[Answer]:
    """Return the sentence on the PPV of the best model at the requested prevalence."""
    rows = (row for row in populations if row["slice"] is None and row["model"] == name)
    row = next(rows, None)
    precision = as_estimate(row["precision"] if row else None)
    if row is None or precision.value is None:
        return []
    value, low, high = precision.value, precision.low, precision.high
    size = with_interval(value, low, high, level or 0.95, format_close)
    at = f"{format_exact(float(str(row['prevalence'])))} ({row['odds']})"
    text = f"At prevalence {at} the PPV of {quoted_name(name)} is {size}."
    return [Answer("right", text, (name,), "precision", value, low, high)]


def _chance_level_answer(ranked: Sequence[Row]) -> list[Answer]:
    names = [
        str(row["model"]) for row in ranked if _interval_covers(as_estimate(row["delta"]), 0.0)
    ]
    if not names:
        return []
    text = f"{join_names(names)} {_is_or_are(names)} not significantly different from chance (δ 0)."
    if 1 < len(names) == len(ranked):
        text = "No model is significantly different from chance (δ 0)."
    return [Answer("like-chance", text, tuple(names))]


def _inverted_models_answer(ranked: Sequence[Row]) -> list[Answer]:
    """Return the sentence on models that are significantly worse than chance."""
    ends = ((str(row["model"]), as_estimate(row["delta"]).high) for row in ranked)
    names = [name for name, high in ends if high is not None and high < 0]
    if not names:
        return []
    text = f"{join_names(names)} {_is_or_are(names)} significantly worse than chance (δ 0): invert "
    text += f"{'its' if len(names) == 1 else 'their'} predictions."
    return [Answer("better-inverted", text, tuple(names), "delta")]


def _bias_answers(ranked: Sequence[Row], column: str, level: float | None) -> list[Answer]:
    """Return sentences on significantly biased models: the interval of phi is beyond 0.1."""
    said = []
    name = "φ" if column == "phi" else "the mean of φ"
    for code, sign, side in (("biased-positive", 1, "above"), ("biased-negative", -1, "below")):
        rows = [row for row in ranked if _is_biased(row[column], sign)]
        if names := [str(row["model"]) for row in rows]:
            text = f"{join_names(names)} {_is_or_are(names)} biased towards {code[7:]}: {name} is "
            text += f"significantly {side} {sign * LEAN:g}"
            if len(rows) == 1:
                phi = as_estimate(rows[0][column])
                size = with_interval(phi.value or 0.0, phi.low, phi.high, level or 0.95)
                text += f" ({size.replace(' (', ', ').removesuffix(')')})"
            text += "."
            said.append(Answer(code, text, tuple(names), "phi"))
    return said


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def run_answer(
    means: Sequence[RunMean], spread: Sequence[Row], compared: Sequence[Row], runs: Runs,
    level: float | None,
) -> tuple[Answer, ...]:  # fmt: skip
    """Return sentences on the best mean over runs, significant differences from it, and bias."""
    said = [*run_answers("delta", means, compared, runs, level, {})]
    return tuple(
        [*said, *_bias_answers(_sort_rows(spread, "delta_mean"), "phi_mean", level)][:MOST]
    )


def feature_answer(
    best: Sequence[Row], alike: int, useless: int, features: int, selected: int | None,
    *, top: int | None = None, by_chance: bool, expected: float = 0.0, level: float = 0.95,
) -> tuple[Answer, ...]:  # fmt: skip
    """Return sentences on the best feature, and on the number not different from chance.

    best: the first of `alike` features whose |delta| is largest; useless: features not different
    from chance, adjusted. by_chance: the best one is not significant, adjusted. top: how many
    features are to be selected. expected: expected false positives without adjustment.
    """
    delta = as_estimate(best[0]["delta"]) if best else Estimate(None)
    if delta.value is None:
        return (Answer("no-position", "δ is undefined for every feature."),)
    chance = ""
    if by_chance:
        judged = as_estimate(best[0].get("corrected_delta", delta))
        chance = "not significantly different from chance (δ 0)"
        if not _interval_covers(judged, 0.0):
            chance = f"not significant when adjusted for {features:,} features"
    said = [_strongest_feature_answer(best, alike, delta, chance and f", {chance}", level)]
    if useless:
        of = format_count(features, "feature")
        are = "is" if useless == 1 else "are"
        text = f"{useless:,} of {of} {are} not significantly different from chance (δ 0)"
        wrong = f"; without adjustment, about {format_count(round(expected), 'false positive')} "
        wrong += "is expected" if round(expected) == 1 else "are expected"
        text += f"{wrong * (expected >= 1)}."
        said.append(Answer("useless-features", text))
    if selected is not None:
        are = "is" if selected == 1 else "are"
        text = f"{selected or 'None'} of {format_count(features, 'feature')} {are} selected."
        if selected and selected == top:
            text = f"The {selected:,} of {format_count(features, 'feature')} with the largest |δ| "
            text += f"within --phi-max and --delta-min {are} selected."
        said.append(Answer("selected", text))
    return tuple(said)


def _strongest_feature_answer(
    best: Sequence[Row], alike: int, delta: Estimate, chance: str, level: float
) -> Answer:
    value, low, high = _value_or_zero(delta), delta.low, delta.high
    names = [str(row["feature"]) for row in best]
    if not value:
        text = f"No feature discriminates: δ is 0 for {'each' if alike > 1 else 'it'}."
        return Answer("none-discriminates", text, (), "delta", value)
    if alike > 1:
        left = [f"{alike - len(names):,} more"] if alike > len(names) else []
        *others, last = [*map(quoted_name, names), *left]
        text = f"{', '.join(others)} and {last} have the strongest association with the class: |δ| "
        chosen = any(row.get("corrected_delta", row["delta"]) != row["delta"] for row in best)
        text += (
            f"{format_number(abs(value))}{', thresholds chosen on these rows' * chosen}{chance}."
        )
        return Answer("strongest-feature", text, tuple(names), "delta", abs(value))
    row, cut = best[0], ""
    if row["rule"] in (">", ">=") and isinstance(row["cut"], float):
        cut = f" ({row['rule']} {row['cut']:.4g})"
    side = "positive" if value > 0 else "negative"
    text = f"{quoted_name(names[0])}{cut} has the strongest association with the class: "
    text += f"δ {with_interval(value, low, high, level)}"
    corrected = as_estimate(row.get("corrected_delta"))
    if corrected.value is not None and corrected != delta:
        value, low, high = corrected.value, corrected.low, corrected.high
        text += f" on these rows, corrected {with_interval(value, low, high, level)}"
    text += f"{chance}; it is {'higher' if row['rule'] == 'soft' else 'more frequent'} in "
    text += f"{side} rows."
    return Answer("strongest-feature", text, (names[0],), "delta", value, low, high)


def _sort_rows(rows: Sequence[Row], column: str) -> list[Row]:
    """Return the rows that have a value, the largest first."""
    known = [row for row in rows if as_estimate(row[column]).value is not None]
    return sorted(known, key=lambda row: -_value_or_zero(row[column]))


def _leading_models(ranked: Sequence[Row], column: str) -> list[str]:
    """Return the first model, and those with the same value."""
    most = _value_or_zero(ranked[0][column])
    same = takewhile(
        lambda row: isclose(_value_or_zero(row[column]), most, rel_tol=0, abs_tol=EQUAL), ranked
    )
    return [str(row["model"]) for row in same]


def _value_or_zero(cell: Any) -> float:
    return as_estimate(cell).value or 0.0


def _is_above_chance(cell: Any) -> bool:
    """Return whether delta is above chance, significantly so if it has an interval."""
    low = as_estimate(cell).low
    return (_value_or_zero(cell) if low is None else low) > 0


def _format_rate(row: Row, name: str) -> str:
    return format_number(_value_or_zero(row[name]))


def _interval_covers(cell: Estimate, value: float) -> bool:
    return cell.low is not None and cell.high is not None and cell.low <= value <= cell.high


def _is_biased(cell: Any, sign: int) -> bool:
    end = as_estimate(cell).low if sign > 0 else as_estimate(cell).high
    return end is not None and sign * end > LEAN
