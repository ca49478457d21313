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
    model_rows = whole_table_rows(tables["models"])
    ranked_rows = _sort_rows(model_rows, "delta")
    if not ranked_rows:
        reasons = {MISSING.get(as_estimate(row["delta"]).reason or "", "") for row in model_rows}
        reason = "".join(reasons) if len(reasons) == 1 else ""
        text = f"δ is undefined for every model: {reason or 'a class has no row'}."
        return (Answer("no-position", text),)
    leaders = _leading_models(ranked_rows, "delta")
    named_model = reference if reference in leaders else leaders[0]
    answers = [_best_model_answer(ranked_rows, leaders, level)]
    comparison_rows = tables.get("comparisons", ())
    if reference is not None and comparison_rows and level is not None:
        answers += reference_answers(comparison_rows, "delta", reference, margin, level)
    elif len(leaders) < len(ranked_rows):
        other_names = [row["model"] for row in ranked_rows[len(leaders) :]]
        answers.append(_ties_answer(leaders, other_names, tables.get("best", ()), untested))
    answers += [
        *_curve_answers(whole_table_rows(tables.get("curves", ())), level),
        *_ppv_answer(named_model, tables.get("populations", ()), level),
        *_chance_level_answers(ranked_rows),
        *_bias_answers(ranked_rows, "phi", level),
    ]
    return tuple(answers[:MOST])


def _best_model_answer(
    ranked_rows: Sequence[Row], leaders: Sequence[str], level: float | None
) -> Answer:
    """Return the sentence on the model with the largest delta, or several of equal delta."""
    names_text = join_names(leaders)
    is_single = len(leaders) == 1
    deltas = [as_estimate(row["delta"]) for row in ranked_rows[: len(leaders)]]
    delta, low, high = _value_or_zero(deltas[0]), deltas[0].low, deltas[0].high
    if len({(delta.low, delta.high) for delta in deltas}) > 1:
        low = high = None
    delta_text = with_interval(delta, low, high, level or 0.95)
    text = f"{names_text} ha{'s' if is_single else 've'} the largest δ: {delta_text}"
    if len(leaders) == len(ranked_rows):
        text = (
            f"{names_text} has δ {delta_text}"
            if is_single
            else f"All models have the same δ: {delta_text}"
        )
    # above chance, significantly so where there is an interval
    elif all(
        (_value_or_zero(estimate) if estimate.low is None else estimate.low) > 0
        for estimate in deltas
    ):
        verb = "discriminates" if is_single else "discriminate"
        text = f"{names_text} {verb} best: δ {delta_text}"
    if is_single:
        rates = (_value_or_zero(ranked_rows[0][rate]) for rate in ("sensitivity", "specificity"))
        text += ", sensitivity {}, specificity {}".format(*map(format_number, rates))
    return Answer("best-delta", f"{text}.", tuple(leaders), "delta", delta, low, high)


def _ties_answer(
    leaders: Sequence[str], other_names: Sequence[str], best_rows: Sequence[Row], untested: str
) -> Answer:
    """Return the sentence on models tied with the best; best_rows: the table of them."""
    if not best_rows:
        return Answer("untested", f"No significance test: {untested}.")
    is_tied = {row["model"]: row["tied"] for row in best_rows}
    tied_names, worse_names, incomparable_names = (
        tuple(name for name in other_names if is_tied.get(name, True) is flag)
        for flag in (True, False, None)
    )
    text = describe_ties(tied_names, worse_names, incomparable_names)
    code = "not-significantly-different" if tied_names else "significantly-worse"
    code = "untested" if incomparable_names and not (tied_names or worse_names) else code
    return Answer(code, text, tied_names or tuple(leaders[:1]))


def _curve_answers(curves: Sequence[Row], level: float | None) -> list[Answer]:
    """Return the sentence on the model with the largest Gini over all thresholds."""
    ranked_rows = _sort_rows(curves, "gini")
    if not ranked_rows:
        return []
    leaders = _leading_models(ranked_rows, "gini")
    gini = as_estimate(ranked_rows[0]["gini"])
    gini_value, low, high = _value_or_zero(gini), gini.low, gini.high
    gini_text = with_interval(gini_value, low, high, level or 0.95)
    verb = "has"
    if len(leaders) > 1:
        gini_text = f"{format_number(gini_value)} each"
        verb = "have"
        low = high = None
    gini_phrase = "the largest Gini:" if len(ranked_rows) > 1 else "a Gini of"
    text = f"Over all thresholds {join_names(leaders)} {verb} {gini_phrase} {gini_text}."
    return [Answer("best-curve", text, tuple(leaders), "gini", gini_value, low, high)]


def _ppv_answer(model: str, populations: Sequence[Row], level: float | None) -> Iterator[Answer]:
    """Yield the sentence on the PPV of the best model at the first requested prevalence."""
    model_rows = [row for row in populations if row["slice"] is None and row["model"] == model]
    for row in model_rows[:1]:
        ppv = as_estimate(row["precision"])
        value, low, high = ppv.value, ppv.low, ppv.high
        if value is not None:
            ppv_text = with_interval(value, low, high, level or 0.95, format_close)
            prevalence_text = f"{format_exact(cell_number(row['prevalence']))} ({row['odds']})"
            model_text = quote_if_ambiguous(model)
            text = f"At prevalence {prevalence_text} the PPV of {model_text} is {ppv_text}."
            yield Answer("right", text, (model,), "precision", value, low, high)


def _chance_level_answers(ranked_rows: Sequence[Row]) -> Iterator[Answer]:
    """Yield sentences on models not different from chance, and on those significantly worse."""
    deltas = [(row["model"], as_estimate(row["delta"])) for row in ranked_rows]
    if names := tuple(name for name, delta in deltas if covers_zero(delta)):
        text = f"{join_names(names)} {_is_or_are(names)} not significantly different from chance"
        if 1 < len(names) == len(ranked_rows):
            text = "No model is significantly different from chance"
        yield Answer("like-chance", f"{text} (δ 0).", names)
    if names := tuple(name for name, delta in deltas if delta.high is not None and delta.high < 0):
        text = f"{join_names(names)} {_is_or_are(names)} significantly worse than chance (δ 0): "
        text += f"invert {'its' if len(names) == 1 else 'their'} predictions."
        yield Answer("better-inverted", text, names, "delta")


def _bias_answers(ranked_rows: Sequence[Row], column: str, level: float | None) -> Iterator[Answer]:
    """Yield sentences on significantly biased models: the interval of phi is beyond 0.1."""
    phis = {row["model"]: as_estimate(row[column]) for row in ranked_rows}
    statistic = "φ" if column == "phi" else "the mean of φ"
    for code, class_word, sign, side_word in (
        ("biased-positive", "positive", 1, "above"),
        ("biased-negative", "negative", -1, "below"),
    ):
        limits = {model: phi.low if sign > 0 else phi.high for model, phi in phis.items()}
        names = [
            model for model, limit in limits.items() if limit is not None and sign * limit > LEAN
        ]
        if names:
            text = f"{join_names(names)} {_is_or_are(names)} biased towards {class_word}: "
            text += f"{statistic} is significantly {side_word} {sign * LEAN:g}"
            if len(names) == 1:
                phi = phis[names[0]]
                phi_text = with_interval(phi.value or 0.0, phi.low, phi.high, level or 0.95)
                text += f" ({phi_text.replace(' (', ', ').removesuffix(')')})"
            yield Answer(code, f"{text}.", tuple(names), "phi")


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def run_answer(
    means: Sequence[RunMean],
    variation: Sequence[Row],
    comparison_rows: Sequence[Row],
    runs: Runs,
    level: float | None,
) -> tuple[Answer, ...]:
    """Return sentences on the best mean over runs, significant differences from it, and bias.

    variation: the rows of table `spread`.
    """
    answers = run_answers("delta", means, comparison_rows, runs, level, {})
    bias_answers = _bias_answers(_sort_rows(variation, "delta_mean"), "phi_mean", level)
    return tuple([*answers, *bias_answers][:MOST])


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
    strongest: StrongestFeatures,
    chance_tests: ChanceTests,
    selected_count: int | None,
    largest_count: int | None,
) -> tuple[Answer, ...]:
    """Return sentences on the best feature, and on the number not different from chance.

    selected_count: how many features are selected, None without a selection; largest_count: how
    many may be selected.
    """
    rows = strongest.rows
    delta = as_estimate(rows[0]["delta"]) if rows else Estimate(None)
    if delta.value is None:
        return (Answer("no-position", "δ is undefined for every feature."),)
    answers = [_strongest_feature_answer(strongest, delta, _chance_clause(strongest, chance_tests))]
    if chance_tests.insignificant:
        answers.append(_chance_answer(chance_tests))
    if selected_count is not None:
        answers.append(_selection_answer(selected_count, largest_count, chance_tests.features))
    return tuple(answers)


def _chance_clause(strongest: StrongestFeatures, chance_tests: ChanceTests) -> str:
    """Return a clause that the best feature is not significant; empty where it is."""
    if not strongest.by_chance:
        return ""
    row = strongest.rows[0]
    if covers_zero(row.get("corrected_delta", row["delta"])):
        return ", not significantly different from chance (δ 0)"
    return f", not significant when adjusted for {chance_tests.features:,} features"


def _chance_answer(chance_tests: ChanceTests) -> Answer:
    """Return the sentence on the number of features not different from chance."""
    features_phrase = format_count(chance_tests.features, "feature")
    verb = "is" if chance_tests.insignificant == 1 else "are"
    text = (
        f"{chance_tests.insignificant:,} of {features_phrase} {verb} not significantly different "
    )
    text += "from chance (δ 0)"
    if chance_tests.false_positives >= 1:
        expected_count = round(chance_tests.false_positives)
        text += f"; without adjustment, about {format_count(expected_count, 'false positive')} "
        text += "is expected" if expected_count == 1 else "are expected"
    return Answer("useless-features", f"{text}.")


def _selection_answer(selected_count: int, largest_count: int | None, feature_count: int) -> Answer:
    """Return the sentence on the number of selected features."""
    features_phrase = format_count(feature_count, "feature")
    subject = f"{selected_count or 'None'} of {features_phrase}"
    if selected_count and selected_count == largest_count:
        subject = (
            f"The {selected_count:,} of {features_phrase} with the largest |δ| within "
            f"{OPTION}--phi-max{END} and {OPTION}--delta-min{END}"
        )
    verb = "is" if selected_count == 1 else "are"
    return Answer("selected", f"{subject} {verb} selected.")


def _strongest_feature_answer(
    strongest: StrongestFeatures, delta: Estimate, chance_clause: str
) -> Answer:
    """Return the sentence on the feature with the largest |delta|."""
    if not delta.value:
        pronoun = "each" if strongest.count > 1 else "it"
        text = f"No feature discriminates: δ is 0 for {pronoun}."
        return Answer("none-discriminates", text, (), "delta", _value_or_zero(delta))
    if strongest.count > 1:
        return _tied_features_answer(strongest, abs(delta.value), chance_clause)
    return _single_feature_answer(strongest.rows[0], delta, chance_clause, strongest.level)


def _tied_features_answer(
    strongest: StrongestFeatures, abs_delta: float, chance_clause: str
) -> Answer:
    """Return the sentence on several features with the same |delta|."""
    rows = strongest.rows
    names = [row["feature"] for row in rows]
    *quoted_names, last_phrase = map(quote_if_ambiguous, names)
    if strongest.count > len(names):
        quoted_names.append(last_phrase)
        last_phrase = f"{strongest.count - len(names):,} more"
    text = f"{', '.join(quoted_names)} and {last_phrase} have the strongest association "
    text += f"with the class: |δ| {format_number(abs_delta)}"
    if any(row.get("corrected_delta", row["delta"]) != row["delta"] for row in rows):
        text += ", thresholds chosen on these rows"
    return Answer("strongest-feature", f"{text}{chance_clause}.", tuple(names), "delta", abs_delta)


def _single_feature_answer(row: Row, delta: Estimate, chance_clause: str, level: float) -> Answer:
    """Return the sentence on the feature with the largest |delta|, corrected if it has a cut."""
    feature = row["feature"]
    rule = row["rule"]
    threshold = row["cut"]
    subject = quote_if_ambiguous(feature)
    if rule in (">", ">=") and isinstance(threshold, float):
        subject += f" ({rule} {threshold:.4g})"
    value = _value_or_zero(delta)
    class_word = "positive" if value > 0 else "negative"
    text = f"{subject} has the strongest association with the class: "
    text += f"δ {with_interval(value, delta.low, delta.high, level)}"
    answer_estimate = Estimate(value, delta.low, delta.high)
    corrected = as_estimate(row.get("corrected_delta"))
    if corrected.value is not None and corrected != delta:
        answer_estimate = corrected
        interval = with_interval(corrected.value, corrected.low, corrected.high, level)
        text += f" on these rows, corrected {interval}"
    comparative = "higher" if rule == "soft" else "more frequent"
    text += f"{chance_clause}; it is {comparative} in {class_word} rows."
    value_and_limits = answer_estimate.value, answer_estimate.low, answer_estimate.high
    return Answer("strongest-feature", text, (feature,), "delta", *value_and_limits)


def _sort_rows(rows: Sequence[Row], column: str) -> list[Row]:
    """Return the rows that have a value, the largest first."""
    defined_rows = [row for row in rows if as_estimate(row[column]).value is not None]
    return sorted(defined_rows, key=lambda row: -_value_or_zero(row[column]))


def _leading_models(ranked_rows: Sequence[Row], column: str) -> list[str]:
    """Return the first model, and those with the same value."""
    values = [_value_or_zero(row[column]) for row in ranked_rows]
    tie_count = sum(isclose(value, values[0], rel_tol=0, abs_tol=EQUAL) for value in values)
    return [row["model"] for row in ranked_rows[:tie_count]]


def _value_or_zero(cell: object) -> float:
    return as_estimate(cell).value or 0.0


def covers_zero(cell: object) -> bool:
    """Return whether an estimate has an interval that includes 0."""
    low, high = as_estimate(cell).low, as_estimate(cell).high
    return low is not None and high is not None and low <= 0 <= high
