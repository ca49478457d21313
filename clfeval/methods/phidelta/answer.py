"""Sentences of phidelta: the best model or feature, ties with it, and bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from clfeval.counts.patterns import PatternCounts
from clfeval.document import Answer, Estimate, Row, Rows, as_estimate, whole_table_rows
from clfeval.formatting import (
    describe_ties,
    format_close,
    format_count,
    format_exact,
    format_number,
    join_names,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.measures.odds import LEAN
from clfeval.methods.comparison_answer import reference_answers, tied_with_best
from clfeval.methods.measurement.run_means import RunMean, Runs, run_answers

MOST, MOST_COMPARED = 5, 300  # sentences; models of which all pairs are compared
EQUAL = 1e-12  # tolerance of equal values
MISSING = {"no_positive_truth": "no row is positive", "no_negative_truth": "no row is negative"}


def classifier_answer(
    tables: Mapping[str, Rows],
    patterns: PatternCounts | None,
    level: float | None,
    reference: str | None = None,
    margin: float | None = None,
) -> tuple[Answer, ...]:
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
        said += reference_answers(compared, "delta", reference, margin, level)
    elif len(leaders) < len(ranked):
        others = [str(row["model"]) for row in ranked[len(leaders) :]]
        said.append(_ties_answer(leaders, others, patterns, level))
    said += [
        *_on_curves(whole_table_rows(tables.get("curves", ())), level),
        *_ppv_answer(first, tables.get("populations", ()), level),
        *_chance_level_answers(ranked),
        *_bias_answers(ranked, "phi", level),
    ]
    return tuple(said[:MOST])


def _best_model_answer(
    ranked: Sequence[Row], leaders: Sequence[str], level: float | None
) -> Answer:
    """Return the sentence on the model with the largest delta, or several of equal delta."""
    first, name, one = ranked[0], join_names(leaders), len(leaders) == 1
    deltas = [as_estimate(row["delta"]) for row in ranked[: len(leaders)]]
    value, low, high = _value_or_zero(deltas[0]), deltas[0].low, deltas[0].high
    if len({(delta.low, delta.high) for delta in deltas}) > 1:
        low = high = None
    size = with_interval(value, low, high, level or 0.95)
    text = f"{name} ha{'s' if one else 've'} the largest δ: {size}"
    if len(leaders) == len(ranked):
        text = f"{name} has δ {size}" if one else f"All models have the same δ: {size}"
    # above chance, significantly so where there is an interval
    elif all((_value_or_zero(d) if d.low is None else d.low) > 0 for d in deltas):
        text = f"{name} discriminate{'s' * one} best: δ {size}"
    if one:
        rates = (_value_or_zero(first[rate]) for rate in ("sensitivity", "specificity"))
        text += ", sensitivity {}, specificity {}".format(*map(format_number, rates))
    return Answer("best-delta", f"{text}.", tuple(leaders), "delta", value, low, high)


def _ties_answer(
    leaders: Sequence[str],
    others: Sequence[str],
    patterns: PatternCounts | None,
    level: float | None,
) -> Answer:
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
    tied = tuple(name for name in others if found.ties.get(name, True))
    text = describe_ties(tied, [name for name in others if name not in tied])
    code = "not-significantly-different" if tied else "significantly-worse"
    return Answer(code, text, tied or tuple(leaders[:1]))


def _on_curves(curves: Sequence[Row], level: float | None) -> list[Answer]:
    """Return the sentence on the model with the largest Gini over all thresholds."""
    ranked = _sort_rows(curves, "gini")
    if not ranked:
        return []
    leaders, gini = _leading_models(ranked, "gini"), as_estimate(ranked[0]["gini"])
    value, low, high = _value_or_zero(gini), gini.low, gini.high
    size, has = with_interval(value, low, high, level or 0.95), "has"
    if len(leaders) > 1:
        size, has, low, high = f"{format_number(value)} each", "have", None, None
    largest = "the largest Gini:" if len(ranked) > 1 else "a Gini of"
    text = f"Over all thresholds {join_names(leaders)} {has} {largest} {size}."
    return [Answer("best-curve", text, tuple(leaders), "gini", value, low, high)]


def _ppv_answer(name: str, populations: Sequence[Row], level: float | None) -> Iterator[Answer]:
    """Yield the sentence on the PPV of the best model at the first requested prevalence."""
    rows = [row for row in populations if row["slice"] is None and row["model"] == name]
    for row in rows[:1]:
        precision = as_estimate(row["precision"])
        value, low, high = precision.value, precision.low, precision.high
        if value is not None:
            size = with_interval(value, low, high, level or 0.95, format_close)
            at = f"{format_exact(float(str(row['prevalence'])))} ({row['odds']})"
            text = f"At prevalence {at} the PPV of {quote_if_ambiguous(name)} is {size}."
            yield Answer("right", text, (name,), "precision", value, low, high)


def _chance_level_answers(ranked: Sequence[Row]) -> Iterator[Answer]:
    """Yield sentences on models not different from chance, and on those significantly worse."""
    deltas = [(str(row["model"]), as_estimate(row["delta"])) for row in ranked]
    if names := tuple(name for name, delta in deltas if covers_zero(delta)):
        text = f"{join_names(names)} {_is_or_are(names)} not significantly different from chance"
        if 1 < len(names) == len(ranked):
            text = "No model is significantly different from chance"
        yield Answer("like-chance", f"{text} (δ 0).", names)
    if names := tuple(name for name, one in deltas if one.high is not None and one.high < 0):
        text = f"{join_names(names)} {_is_or_are(names)} significantly worse than chance (δ 0): "
        text += f"invert {'its' if len(names) == 1 else 'their'} predictions."
        yield Answer("better-inverted", text, names, "delta")


def _bias_answers(ranked: Sequence[Row], column: str, level: float | None) -> Iterator[Answer]:
    """Yield sentences on significantly biased models: the interval of phi is beyond 0.1."""
    phis = {str(row["model"]): as_estimate(row[column]) for row in ranked}
    name = "φ" if column == "phi" else "the mean of φ"
    for code, sign, side in (("biased-positive", 1, "above"), ("biased-negative", -1, "below")):
        ends = {model: phi.low if sign > 0 else phi.high for model, phi in phis.items()}
        names = [model for model, end in ends.items() if end is not None and sign * end > LEAN]
        if names:
            text = f"{join_names(names)} {_is_or_are(names)} biased towards {code[7:]}: {name} is "
            text += f"significantly {side} {sign * LEAN:g}"
            if len(names) == 1:
                phi = phis[names[0]]
                size = with_interval(phi.value or 0.0, phi.low, phi.high, level or 0.95)
                text += f" ({size.replace(' (', ', ').removesuffix(')')})"
            yield Answer(code, f"{text}.", tuple(names), "phi")


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def run_answer(
    means: Sequence[RunMean],
    spread: Sequence[Row],
    compared: Sequence[Row],
    runs: Runs,
    level: float | None,
) -> tuple[Answer, ...]:
    """Return sentences on the best mean over runs, significant differences from it, and bias."""
    said = run_answers("delta", means, compared, runs, level, {})
    biased = _bias_answers(_sort_rows(spread, "delta_mean"), "phi_mean", level)
    return tuple([*said, *biased][:MOST])


def feature_answer(
    best: Sequence[Row],
    alike: int,
    useless: int,
    features: int,
    selected: int | None,
    *,
    top: int | None = None,
    by_chance: bool,
    expected: float = 0.0,
    level: float = 0.95,
) -> tuple[Answer, ...]:
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
        chance = ", not significantly different from chance (δ 0)"
        if not covers_zero(best[0].get("corrected_delta", delta)):
            chance = f", not significant when adjusted for {features:,} features"
    said = [_strongest_feature_answer(best, alike, delta, chance, level)]
    of = format_count(features, "feature")
    if useless:
        are = "is" if useless == 1 else "are"
        text = f"{useless:,} of {of} {are} not significantly different from chance (δ 0)"
        wrong = f"; without adjustment, about {format_count(round(expected), 'false positive')} "
        wrong += "is expected" if round(expected) == 1 else "are expected"
        said.append(Answer("useless-features", f"{text}{wrong * (expected >= 1)}."))
    if selected is not None:
        which = f"{selected or 'None'} of {of}"
        if selected and selected == top:
            which = (
                f"The {selected:,} of {of} with the largest |δ| within --phi-max and --delta-min"
            )
        are = "is" if selected == 1 else "are"
        said.append(Answer("selected", f"{which} {are} selected."))
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
        *others, last = [*map(quote_if_ambiguous, names), *left]
        text = f"{', '.join(others)} and {last} have the strongest association with the class: |δ| "
        chosen = any(row.get("corrected_delta", row["delta"]) != row["delta"] for row in best)
        how = ", thresholds chosen on these rows" * chosen
        text += f"{format_number(abs(value))}{how}{chance}."
        return Answer("strongest-feature", text, tuple(names), "delta", abs(value))
    row, cut = best[0], ""
    if row["rule"] in (">", ">=") and isinstance(row["cut"], float):
        cut = f" ({row['rule']} {row['cut']:.4g})"
    side = "positive" if value > 0 else "negative"
    text = f"{quote_if_ambiguous(names[0])}{cut} has the strongest association with the class: "
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
    values = [_value_or_zero(row[column]) for row in ranked]
    same = sum(isclose(value, values[0], rel_tol=0, abs_tol=EQUAL) for value in values)
    return [str(row["model"]) for row in ranked[:same]]


def _value_or_zero(cell: object) -> float:
    return as_estimate(cell).value or 0.0


def covers_zero(cell: object) -> bool:
    """Return whether an estimate has an interval that includes 0."""
    low, high = as_estimate(cell).low, as_estimate(cell).high
    return low is not None and high is not None and low <= 0 <= high
