"""Baselines of measures: by chance, with permuted classes, and of constant predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan, nan

import numpy as np

from clfeval.arrays import Floats
from clfeval.compare.families import ON_SCREEN
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row, as_estimate, as_row
from clfeval.inference.hypothesis_tests import (
    permuted_positives,
    permuted_tables,
    random_average_precision,
    random_true_positives,
)
from clfeval.inference.resampling import random_stream
from clfeval.measures.confusion import Confusion
from clfeval.measures.multiclass_table import class_average
from clfeval.measures.record import Measure
from clfeval.methods.measurement.measure_rows import (
    has_scored_model,
    measure_at_threshold,
    takes_scores,
)
from clfeval.methods.measurement.requested_measures import AT_RISK, NET_BENEFIT, RequestedMeasure
from clfeval.methods.report.model_estimates import Observed

EXPECTED = "expectation"
LINEAR = {"brier_skill", "log_loss_skill", AT_RISK, "roc_auc", "gini"}
_TIE_TOLERANCE = 1e-12  # relative tolerance of ties


def measures_with_baselines(requested: Sequence[RequestedMeasure]) -> list[RequestedMeasure]:
    """Return the measures with baselines: those of the first screen, and those named."""
    return [measure for measure in requested if measure.by == "name" or measure.name in ON_SCREEN]


def label_baselines(
    counts: ConfusionCounts,
    requested: Sequence[RequestedMeasure],
    values: Observed,
    *,
    independent: bool,
) -> Iterator[Row]:
    """Yield the values of measures of 2 x 2 tables by chance, with these class totals.

    TP is hypergeometric; value: the mean where it is defined, p: probability of one as good.
    values: the observed ones. independent: rows are independent and unweighted; else value is the
    measure of the expected table, without p.
    """
    method = "hypergeometric" if independent else EXPECTED
    for measure in requested:
        if takes_scores(measure):
            continue
        for model_index, model in enumerate(counts.models):
            observed = values.get((model, measure.name), Estimate(None)).value
            cells = (counts.tp, counts.fp, counts.positives, counts.negatives)
            tp, fp, positives, negatives = (float(cell[model_index]) for cell in cells)
            if observed is None or not positives + negatives:
                continue
            table_totals = (tp + fp, positives, negatives)
            value, p = _label_chance(
                measure.measure, table_totals, observed, independent=independent
            )
            yield _baseline_row(measure.name, model, value, observed, p, method)


def _label_chance(
    measure: Measure, totals: tuple[float, float, float], observed: float, *, independent: bool
) -> tuple[float, float]:
    """Return the mean of a measure by chance, and the probability of a value as good.

    NaN where there is none. totals: predicted positives, positives, negatives. If rows are
    independent, the values are those of all possible true positives, each with its probability;
    else there is only that of the expected table.
    """
    predicted_positives, positives, negatives = totals
    tp = np.array([predicted_positives * positives / (positives + negatives)])
    probabilities = np.ones(1)
    if independent:
        tp, probabilities = random_true_positives(
            int(positives), int(negatives), int(predicted_positives)
        )
    with np.errstate(all="ignore"):
        values = measure.function(
            Confusion(
                tp, predicted_positives - tp, positives - tp, negatives - predicted_positives + tp
            )
        )
    defined = np.isfinite(values)
    if not defined.any():
        return nan, nan
    probabilities = np.where(defined, probabilities, 0.0)
    values = np.where(defined, values, 0.0)
    p = nan
    if independent and measure.sign:
        p = float(probabilities[_as_good(values, observed, measure.sign) & defined].sum())
        p = min(1.0, p / float(probabilities.sum()))
    return float(probabilities @ values / probabilities.sum()), p


def score_baselines(
    model: str,
    counts: ScoreCounts,
    requested: Sequence[RequestedMeasure],
    values: Observed,
    threshold: float | None,
    seed: int,
    *,
    is_exchangeable: bool,
) -> Iterator[Row]:
    """Yield the values of measures of scores by chance, under permutation of the classes.

    Exact for measures linear in the classes and for average precision, else the mean of
    permutations; p = (1 + those as good) / (1 + all). values: the observed ones. threshold: that
    in force. is_exchangeable: whether classes can be permuted, as rows are independent.
    """
    observed_values = {measure.name: values.get((model, measure.name)) for measure in requested}
    measures = {
        measure.name: measure_at_threshold(measure, threshold)
        for measure in requested
        if takes_scores(measure) and as_estimate(observed_values[measure.name]).value is not None
    }
    rows_at_scores = counts.positives + counts.negatives
    if not measures or not rows_at_scores.sum():
        return
    permuted: Mapping[str, Floats] = {}  # values by measure
    if is_exchangeable:
        stream = random_stream(seed, f"baseline\0{model}")
        permuted = _permuted_values(measures, counts, stream)
    total_positives = counts.positives.sum()
    prevalence = float(total_positives / rows_at_scores.sum())
    for name, measure in measures.items():
        chance_values = permuted.get(name, np.zeros(0))
        method = EXPECTED
        if measure.id == "average_precision":
            value = prevalence
            if is_exchangeable:
                value = random_average_precision(rows_at_scores, float(total_positives))
        elif measure.loss is not None or measure.id in LINEAR:
            value = float(
                measure.function(
                    counts.scores, rows_at_scores * prevalence, rows_at_scores * (1 - prevalence)
                )
            )
        else:
            value = float(chance_values.mean()) if len(chance_values) else nan
            method = "permutations"
        observed = as_estimate(observed_values[name]).value or 0.0
        p = _permutation_p(chance_values, observed, measure.sign)
        yield _baseline_row(name, model, value, observed, p, method)


def _permuted_values(
    measures: Mapping[str, Measure], counts: ScoreCounts, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the finite values of measures with permuted classes, by name."""
    rows_at_scores = counts.positives + counts.negatives
    value_blocks: dict[str, list[Floats]] = {name: [] for name in measures}
    for positives in permuted_positives(rows_at_scores, int(counts.positives.sum()), rng):
        for name, measure in measures.items():
            values = measure.function(counts.scores, positives, rows_at_scores - positives)
            value_blocks[name].append(np.asarray(values))
    values_by_name = {
        name: np.concatenate(blocks) for name, blocks in value_blocks.items() if blocks
    }
    return {name: values[np.isfinite(values)] for name, values in values_by_name.items()}


def _permutation_p(chance_values: Floats, observed: float, sign: int) -> float:
    """Return (1 + those as good as the observed value) / (1 + all); NaN without a direction."""
    if not sign or not len(chance_values):
        return nan
    is_as_good = _as_good(chance_values, observed, sign)
    return float((1 + is_as_good.sum()) / (1 + len(chance_values)))


def dummy_baselines(
    counts: ConfusionCounts,
    requested: Sequence[RequestedMeasure],
    threshold: float | None,
    *,
    has_scores: bool,
) -> Iterator[Row]:
    """Yield the measures of constant predictions: the larger class, or the prevalence as score.

    threshold: that of measures at a threshold. has_scores: whether a model has scores.
    """
    positives = float(counts.positives[0])
    negatives = float(counts.negatives[0])
    if not positives + negatives:
        return
    cells = (0.0, 0.0, positives, negatives)  # TP, FP, FN, TN
    if positives > negatives:
        cells = (positives, negatives, 0.0, 0.0)
    majority_table = Confusion(*map(np.array, cells))
    constant_score = (
        np.array([positives / (positives + negatives)]),
        np.array([positives]),
        np.array([negatives]),
    )
    for measure in requested:
        is_of_labels = not takes_scores(measure)
        if not is_of_labels and not has_scores:
            continue
        function = measure_at_threshold(measure, threshold).function
        with np.errstate(all="ignore"):
            value = float(function(majority_table) if is_of_labels else function(*constant_score))
        if not isnan(value):
            model = "(majority)" if is_of_labels else "(constant)"
            yield _baseline_row(measure.name, model, value, value, nan, "constant")


def class_baselines(
    patterns: ClassPatterns, requested: Sequence[RequestedMeasure], values: Observed, seed: int
) -> Iterator[Row]:
    """Yield measures of several classes by chance, of the expected table; p by permutation.

    values: the observed ones.
    """
    is_exchangeable = patterns.clusters is None and not patterns.fractional
    for model, table in zip(patterns.models, patterns.tables, strict=True):
        permuted_counts = np.zeros((0, *table.shape))
        if is_exchangeable:
            permuted_counts = np.array(
                [*permuted_tables(table, random_stream(seed, f"baseline\0{model}"))]
            )
        expected_table = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        for measure in requested:
            class_form = measure.measure.classes
            observed = values.get((model, measure.name), Estimate(None)).value
            if class_form is None or takes_scores(measure) or observed is None:
                continue
            function = (
                partial(class_average, measure.measure, by="macro")
                if class_form.compute is None
                else class_form.compute
            )
            with np.errstate(all="ignore"):
                value = float(function(expected_table))
                permuted_values = np.asarray(function(permuted_counts), np.float64).ravel()
            sign = measure.measure.sign
            permuted_values = permuted_values[np.isfinite(permuted_values)]
            p = _permutation_p(permuted_values, observed, sign)
            yield _baseline_row(measure.name, model, value, observed, p, EXPECTED)


def _as_good(values: Floats, observed: float, sign: int) -> Floats:
    """Return whether each value is as good as the observed one, ties within rounding included."""
    return np.asarray(sign * (values - observed) >= -_TIE_TOLERANCE * (1 + abs(observed)))


def _baseline_row(
    measure_id: str, model: str, value: float, observed: float, p: float, method: str
) -> Row:
    return as_row(
        {
            "measure": measure_id,
            "model": model,
            "value": None if isnan(value) else 0.0 if abs(value) < _TIE_TOLERANCE else value,
            "observed": observed,
            "p": None if isnan(p) else p,
            "method": method,
        }
    )


def two_class_baselines(
    sample: Sample,
    requested: Sequence[RequestedMeasure],
    values: Observed,
    score_rows: Sequence[Row],
) -> list[Row]:
    """Return the rows of baselines in the order of measures, constant predictions last."""
    counts = sample.slices[None]
    patterns = sample.patterns.get(None)
    measures = measures_with_baselines(requested)
    independent = not counts.fractional and (patterns is None or patterns.clusters is None)
    thresholds = {*sample.thresholds.values()}
    constant_measures = [
        measure for measure in measures if measure.name != NET_BENEFIT or len(thresholds) == 1
    ]
    label_rows = label_baselines(counts, measures, values, independent=independent)
    constant_rows = dummy_baselines(
        counts, constant_measures, next(iter(thresholds), None), has_scores=has_scored_model(sample)
    )
    measure_order = [measure.name for measure in measures]
    return sorted(
        [*label_rows, *score_rows, *constant_rows],
        key=lambda row: measure_order.index(row["measure"]),
    )
