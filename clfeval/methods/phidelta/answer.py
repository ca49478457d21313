"""Sentences of phidelta: the best model or feature, ties with it, and bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from clfeval.document import Answer, whole_table_rows
from clfeval.document.cells import Estimate, Row, Rows, as_estimate, cell_number
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
from clfeval.methods.comparison_answer import reference_answers
from clfeval.methods.measurement.run_means import RunMean, Runs, run_answers
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

MOST = 5  # sentences
EQUAL = 1e-12  # tolerance of equal values
MISSING = {"no_positive_truth": "no row is positive", "no_negative_truth": "no row is negative"}


def classifier_answer(
    tables: Mapping[str, Rows],
    level: float | None,
    untested: str,
    reference: str | None = None,
    margin: float | None = None,
) -> tuple[Answer, ...]:
    """Return sentences on the model of highest delta, those not different, and biased ones.

    untested: why there is no table of the models tied with the best; empty if there is one.
    """
    models = whole_table_rows(tables["models"])
    ranked = _sort_rows(models, "delta")
    if not ranked:
        reasons = {MISSING.get(as_estimate(row["delta"]).reason or "", "") for row in models}
        reason = "".join(reasons) if len(reasons) == 1 else ""
        text = f"δ is undefined for every model: {reason or 'a class has no row'}."
        return (Answer("no-position", text),)
    leaders = _leading_models(ranked, "delta")
    first = reference if reference in leaders else leaders[0]
    answers = [_best_model_answer(ranked, leaders, level)]
    compared = tables.get("comparisons", ())
    if reference is not None and compared and level is not None:
        answers += reference_answers(compared, "delta", reference, margin, level)
    elif len(leaders) < len(ranked):
        others = [row["model"] for row in ranked[len(leaders) :]]
        answers.append(_ties_answer(leaders, others, tables.get("best", ()), untested))
    answers += [
        *_curve_answers(whole_table_rows(tables.get("curves", ())), level),
        *_ppv_answer(first, tables.get("populations", ()), level),
        *_chance_level_answers(ranked),
        *_bias_answers(ranked, "phi", level),
    ]
    return tuple(answers[:MOST])


def _best_model_answer(
    ranked: Sequence[Row], leaders: Sequence[str], level: float | None
) -> Answer:
    """Return the sentence on the model with the largest delta, or several of equal delta."""
    name = join_names(leaders)
    is_single = len(leaders) == 1
    deltas = [as_estimate(row["delta"]) for row in ranked[: len(leaders)]]
    value, low, high = _value_or_zero(deltas[0]), deltas[0].low, deltas[0].high
    if len({(delta.low, delta.high) for delta in deltas}) > 1:
        low = high = None
    size = with_interval(value, low, high, level or 0.95)
    text = f"{name} ha{'s' if is_single else 've'} the largest δ: {size}"
    if len(leaders) == len(ranked):
        text = f"{name} has δ {size}" if is_single else f"All models have the same δ: {size}"
    # above chance, significantly so where there is an interval
    elif all((_value_or_zero(d) if d.low is None else d.low) > 0 for d in deltas):
        text = f"{name} discriminate{'s' * is_single} best: δ {size}"
    if is_single:
        rates = (_value_or_zero(ranked[0][rate]) for rate in ("sensitivity", "specificity"))
        text += ", sensitivity {}, specificity {}".format(*map(format_number, rates))
    return Answer("best-delta", f"{text}.", tuple(leaders), "delta", value, low, high)


def _ties_answer(
    leaders: Sequence[str], others: Sequence[str], best_rows: Sequence[Row], untested: str
) -> Answer:
    """Return the sentence on models tied with the best; best_rows: the table of them."""
    if not best_rows:
        return Answer("untested", f"No significance test: {untested}.")
    is_tied = {row["model"]: row["tied"] for row in best_rows}
    tied, worse, incomparable = (
        tuple(name for name in others if is_tied.get(name, True) is tie)
        for tie in (True, False, None)
    )
    text = describe_ties(tied, worse, incomparable)
    code = "not-significantly-different" if tied else "significantly-worse"
    code = "untested" if incomparable and not (tied or worse) else code
    return Answer(code, text, tied or tuple(leaders[:1]))


def _curve_answers(curves: Sequence[Row], level: float | None) -> list[Answer]:
    """Return the sentence on the model with the largest Gini over all thresholds."""
    ranked = _sort_rows(curves, "gini")
    if not ranked:
        return []
    leaders = _leading_models(ranked, "gini")
    gini = as_estimate(ranked[0]["gini"])
    value, low, high = _value_or_zero(gini), gini.low, gini.high
    size = with_interval(value, low, high, level or 0.95)
    has = "has"
    if len(leaders) > 1:
        size = f"{format_number(value)} each"
        has = "have"
        low = high = None
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
            prevalence = f"{format_exact(cell_number(row['prevalence']))} ({row['odds']})"
            text = f"At prevalence {prevalence} the PPV of {quote_if_ambiguous(name)} is {size}."
            yield Answer("right", text, (name,), "precision", value, low, high)


def _chance_level_answers(ranked: Sequence[Row]) -> Iterator[Answer]:
    """Yield sentences on models not different from chance, and on those significantly worse."""
    deltas = [(row["model"], as_estimate(row["delta"])) for row in ranked]
    if names := tuple(name for name, delta in deltas if covers_zero(delta)):
        text = f"{join_names(names)} {_is_or_are(names)} not significantly different from chance"
        if 1 < len(names) == len(ranked):
            text = "No model is significantly different from chance"
        yield Answer("like-chance", f"{text} (δ 0).", names)
    if names := tuple(name for name, d in deltas if d.high is not None and d.high < 0):
        text = f"{join_names(names)} {_is_or_are(names)} significantly worse than chance (δ 0): "
        text += f"invert {'its' if len(names) == 1 else 'their'} predictions."
        yield Answer("better-inverted", text, names, "delta")


def _bias_answers(ranked: Sequence[Row], column: str, level: float | None) -> Iterator[Answer]:
    """Yield sentences on significantly biased models: the interval of phi is beyond 0.1."""
    phis = {row["model"]: as_estimate(row[column]) for row in ranked}
    name = "φ" if column == "phi" else "the mean of φ"
    for code, sign, side in (("biased-positive", 1, "above"), ("biased-negative", -1, "below")):
        limits = {model: phi.low if sign > 0 else phi.high for model, phi in phis.items()}
        names = [
            model for model, limit in limits.items() if limit is not None and sign * limit > LEAN
        ]
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
    variation: Sequence[Row],
    compared: Sequence[Row],
    runs: Runs,
    level: float | None,
) -> tuple[Answer, ...]:
    """Return sentences on the best mean over runs, significant differences from it, and bias.

    variation: the rows of table `spread`.
    """
    answers = run_answers("delta", means, compared, runs, level, {})
    biased = _bias_answers(_sort_rows(variation, "delta_mean"), "phi_mean", level)
    return tuple([*answers, *biased][:MOST])


@dataclass(frozen=True, slots=True, eq=False)
class StrongestFeatures:
    """The features with the largest |delta|: the rows of the first, and the number of all.

    by_chance: the first one is not significant, adjusted for all features. level: of intervals.
    """

    rows: Sequence[Row]
    count: int
    by_chance: bool
    level: float


@dataclass(frozen=True, slots=True)
class ChanceTests:
    """How many of the features are not significantly different from chance, adjusted.

    false_positives: the number expected without adjustment.
    """

    features: int
    insignificant: int
    false_positives: float


def feature_answer(
    strongest: StrongestFeatures, tests: ChanceTests, selected: int | None, top: int | None
) -> tuple[Answer, ...]:
    """Return sentences on the best feature, and on the number not different from chance.

    selected: how many features are selected, if any selection is requested; top: how many are to
    be selected.
    """
    rows = strongest.rows
    delta = as_estimate(rows[0]["delta"]) if rows else Estimate(None)
    if delta.value is None:
        return (Answer("no-position", "δ is undefined for every feature."),)
    answers = [_strongest_feature_answer(strongest, delta, _chance_clause(strongest, tests))]
    if tests.insignificant:
        answers.append(_chance_answer(tests))
    if selected is not None:
        answers.append(_selection_answer(selected, top, tests.features))
    return tuple(answers)


def _chance_clause(strongest: StrongestFeatures, tests: ChanceTests) -> str:
    """Return a clause that the best feature is not significant; empty where it is."""
    if not strongest.by_chance:
        return ""
    row = strongest.rows[0]
    if covers_zero(row.get("corrected_delta", row["delta"])):
        return ", not significantly different from chance (δ 0)"
    return f", not significant when adjusted for {tests.features:,} features"


def _chance_answer(tests: ChanceTests) -> Answer:
    """Return the sentence on the number of features not different from chance."""
    features = format_count(tests.features, "feature")
    verb = "is" if tests.insignificant == 1 else "are"
    text = f"{tests.insignificant:,} of {features} {verb} not significantly different from chance "
    text += "(δ 0)"
    if tests.false_positives >= 1:
        expected = round(tests.false_positives)
        text += f"; without adjustment, about {format_count(expected, 'false positive')} "
        text += "is expected" if expected == 1 else "are expected"
    return Answer("useless-features", f"{text}.")


def _selection_answer(selected: int, top: int | None, features: int) -> Answer:
    """Return the sentence on the number of selected features."""
    total = format_count(features, "feature")
    subject = f"{selected or 'None'} of {total}"
    if selected and selected == top:
        subject = (
            f"The {selected:,} of {total} with the largest |δ| within {OPTION}--phi-max{END} and "
            f"{OPTION}--delta-min{END}"
        )
    verb = "is" if selected == 1 else "are"
    return Answer("selected", f"{subject} {verb} selected.")


def _strongest_feature_answer(strongest: StrongestFeatures, delta: Estimate, chance: str) -> Answer:
    """Return the sentence on the feature with the largest |delta|; chance: see `_chance_clause`."""
    if not delta.value:
        pronoun = "each" if strongest.count > 1 else "it"
        text = f"No feature discriminates: δ is 0 for {pronoun}."
        return Answer("none-discriminates", text, (), "delta", _value_or_zero(delta))
    if strongest.count > 1:
        return _tied_features_answer(strongest, abs(delta.value), chance)
    return _single_feature_answer(strongest.rows[0], delta, chance, strongest.level)


def _tied_features_answer(strongest: StrongestFeatures, size: float, chance: str) -> Answer:
    """Return the sentence on several features with the same |delta|, `size`."""
    rows = strongest.rows
    names = [row["feature"] for row in rows]
    *words, last = map(quote_if_ambiguous, names)
    if strongest.count > len(names):
        words.append(last)
        last = f"{strongest.count - len(names):,} more"
    text = f"{', '.join(words)} and {last} have the strongest association with the class: |δ| "
    text += format_number(size)
    if any(row.get("corrected_delta", row["delta"]) != row["delta"] for row in rows):
        text += ", thresholds chosen on these rows"
    return Answer("strongest-feature", f"{text}{chance}.", tuple(names), "delta", size)


def _single_feature_answer(row: Row, delta: Estimate, chance: str, level: float) -> Answer:
    """Return the sentence on the feature with the largest |delta|, corrected if it has a cut."""
    name = row["feature"]
    rule = row["rule"]
    threshold = row["cut"]
    subject = quote_if_ambiguous(name)
    if rule in (">", ">=") and isinstance(threshold, float):
        subject += f" ({rule} {threshold:.4g})"
    value = _value_or_zero(delta)
    side = "positive" if value > 0 else "negative"
    text = f"{subject} has the strongest association with the class: "
    text += f"δ {with_interval(value, delta.low, delta.high, level)}"
    answered = Estimate(value, delta.low, delta.high)
    corrected = as_estimate(row.get("corrected_delta"))
    if corrected.value is not None and corrected != delta:
        answered = corrected
        interval = with_interval(corrected.value, corrected.low, corrected.high, level)
        text += f" on these rows, corrected {interval}"
    comparative = "higher" if rule == "soft" else "more frequent"
    text += f"{chance}; it is {comparative} in {side} rows."
    limits = answered.value, answered.low, answered.high
    return Answer("strongest-feature", text, (name,), "delta", *limits)


def _sort_rows(rows: Sequence[Row], column: str) -> list[Row]:
    """Return the rows that have a value, the largest first."""
    defined = [row for row in rows if as_estimate(row[column]).value is not None]
    return sorted(defined, key=lambda row: -_value_or_zero(row[column]))


def _leading_models(ranked: Sequence[Row], column: str) -> list[str]:
    """Return the first model, and those with the same value."""
    values = [_value_or_zero(row[column]) for row in ranked]
    n_equal = sum(isclose(value, values[0], rel_tol=0, abs_tol=EQUAL) for value in values)
    return [row["model"] for row in ranked[:n_equal]]


def _value_or_zero(cell: object) -> float:
    return as_estimate(cell).value or 0.0


def covers_zero(cell: object) -> bool:
    """Return whether an estimate has an interval that includes 0."""
    low, high = as_estimate(cell).low, as_estimate(cell).high
    return low is not None and high is not None and low <= 0 <= high
