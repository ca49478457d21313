"""Measures of more than two classes: estimates, confidence limits and standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isnan, nan
from typing import get_args

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.counts.classes import ClassPatterns, ClassScores
from clfeval.counts.clusters_and_weights import Owned
from clfeval.document.cells import Row, as_row
from clfeval.inference.influence_and_clusters import (
    confidence_limits,
    influence_covariance,
    smaller_class_size,
)
from clfeval.inference.proportions import MIN_ERRORS_FROM_END, NAMED_SHARES, SHARE_LIMITS
from clfeval.inference.rank_statistics import auc_score_limits
from clfeval.measures import multiclass_table
from clfeval.measures.catalog import CATALOG
from clfeval.measures.multiclass_table import ignores_true_negatives
from clfeval.measures.record import Measure, Multiclass
from clfeval.methods.estimates import make_estimate
from clfeval.methods.measurement.label_measures import (
    EXACT,
    INFLUENCE,
    NONE,
    MeasureEstimate,
    measure_row,
)
from clfeval.methods.measurement.measure_rows import takes_scores
from clfeval.methods.measurement.perfect_calibration import perfect_calibration_values
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import resampled_limits
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.class_estimates import MEAN, ClassTables
from clfeval.records import dataclass

CLASSES = "multiclass"  # of all together
# pooled over classes these are the pooled sensitivity or specificity, under another name
POOLED_ALIKE = {"precision", "recall", "f1", "f_beta", "npv"}
OVER_CLASSES = ("balanced_accuracy", "roc_auc")  # means over classes, as macro averages are
FEW_ROWS = 10  # of a class; with fewer, the variance of its placements is unreliable
PLACEMENT_CORRELATION = 0.25  # of a row, between two areas of more than two classes


@dataclass(frozen=True, slots=True, eq=False)
class ModelMeasure:
    """A measure as functions of counts.

    influence_values: f of kinds of rows, (m,); share_counts: part and whole of a share.
    """

    metric: str
    estimator: str
    measure: Measure
    undefined: str
    compute: Callable[[Counts], Floats]
    influence: Callable[[Counts], Floats] | None
    value: float
    influence_values: Floats | None
    share_counts: Sequence[float | Counts] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MeansOverClasses:
    """The tables of each class against the rest, and estimates of each class by measure."""

    classes: ClassTables
    by_class: Mapping[str, Sequence[MeasureEstimate]]

    def limits(
        self, model_measure: ModelMeasure, level: float, df: float
    ) -> tuple[float, float] | None:
        """Return the limits of a mean over classes; None for another kind of measure.

        Measures that count true negatives have many rows of each class.
        """
        measure, metric = model_measure.measure, model_measure.metric
        if measure.id == "balanced_accuracy":
            measure, metric = CATALOG["sensitivity"], "sensitivity"
        elif model_measure.estimator != "macro" or not ignores_true_negatives(measure):
            return None
        estimates = self.by_class.get(metric)
        if estimates is None:
            estimates = self.classes.estimates(RequestedMeasure(metric, measure, {}))
        return self.classes.mean_limits(measure, estimates, level, df)


@dataclass(frozen=True, slots=True, eq=False)
class RowFrequencies:
    """Frequencies n (m,) of kinds of rows of a model, and their clusters."""

    n: Counts
    clusters: Owned | None
    stream_name: str  # of the random stream
    mean_factors: Floats  # factors of f for means over classes, (m,)
    numbers_per_kind: int = 1  # numbers that a kind of row has: one, or a probability of each class
    table: Counts | None = None  # of labels, with cells at `cell_indices`
    cell_indices: Ints | None = None
    class_rows: Counts | None = None  # rows of each class that has any, of probabilities
    means: MeansOverClasses | None = None  # of labels
    rarer_size: float | None = None  # the fewer of right and of wrong rows, or clusters of these

    def shaped(self, n: Counts) -> Counts:
        """Return frequencies of kinds, (..., m), in the shape that measures take."""
        if self.table is None or self.cell_indices is None:
            return n
        frequencies = n.reshape(-1, n.shape[-1])
        tables = [
            np.bincount(self.cell_indices, kind_counts, self.table.size)
            for kind_counts in frequencies
        ]
        return np.reshape(tables, (*n.shape[:-1], *self.table.shape))


def multiclass_label_rows(
    slice_name: str | None,
    patterns: ClassPatterns,
    requested: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> Iterator[Row]:
    """Yield the measures of the labels of all models in a slice."""
    measures = [measure for measure in requested if not takes_scores(measure)]
    factors = small_sample_factors(patterns)
    for i, table in enumerate(patterns.tables):
        stream_name = f"{patterns.models[i]}\0{slice_name or ''}"
        classes = ClassTables.from_model(patterns, i, table, settings, stream_name)
        yield from _model_label_rows(slice_name, classes, measures, factors, settings)


def _model_label_rows(
    slice_name: str | None,
    classes: ClassTables,
    measures: Sequence[RequestedMeasure],
    factors: Floats,
    intervals: IntervalSettings,
) -> Iterator[Row]:
    """Yield the measures of the labels of a model; factors (C,): of few rows of a class."""
    patterns, table = classes.patterns, classes.table
    model = patterns.models[classes.model]
    averaged = [measure for measure in measures if _multiclass_form(measure).compute is None]
    by_class = {measure.name: classes.estimates(measure) for measure in averaged}
    n = table.reshape(-1)
    cell_indices = np.arange(table.size)
    if patterns.clusters is not None:
        n, cell_indices = patterns.n, patterns.cells(classes.model)
    kinds = RowFrequencies(
        n,
        patterns.clusters,
        f"{model}\0{slice_name or ''}",
        factors[cell_indices // len(table)],
        table=table,
        cell_indices=cell_indices,
        means=MeansOverClasses(classes, by_class),
    )
    model_measures = [
        model_measure
        for measure in measures
        for model_measure in _of_table(measure, table, cell_indices)
    ]
    for model_measure, estimate in zip(
        model_measures, _measure_estimates(model_measures, kinds, intervals), strict=True
    ):
        yield measure_row(
            slice_name, model, model_measure.metric, estimate, model_measure.estimator
        )
    for metric, class_estimates in by_class.items():
        for class_name, estimate in zip(patterns.classes, class_estimates, strict=True):
            yield measure_row(slice_name, model, metric, estimate, "class", class_name)


def multiclass_probability_rows(
    slice_name: str | None,
    model: str,
    counts: ClassScores,
    requested: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> Iterator[Row]:
    """Yield the measures of the class probabilities of a model in a slice."""
    model_measures = [
        model_measure
        for measure in requested
        if takes_scores(measure)
        for model_measure in _of_probabilities(measure, counts)
    ]
    stream_name = f"{model}\0{slice_name or ''}"
    c = len(counts.classes)
    class_rows = np.bincount(counts.truth, counts.n)
    factors = small_sample_factors(counts)[counts.truth]
    most_probable = counts.most_probable()
    right_and_wrong = np.concatenate([most_probable.positives, most_probable.negatives])
    rarer_size = smaller_class_size(right_and_wrong, most_probable.clusters)
    kinds = RowFrequencies(
        counts.n,
        counts.clusters,
        stream_name,
        factors,
        c,
        class_rows=class_rows[class_rows > 0],
        rarer_size=rarer_size,
    )
    calibrated = perfect_calibration_values(requested, most_probable, settings, stream_name)
    for model_measure, estimate in zip(
        model_measures, _measure_estimates(model_measures, kinds, settings), strict=True
    ):
        row = measure_row(
            slice_name, model, model_measure.metric, estimate, model_measure.estimator
        )
        yield as_row({**row, **calibrated.get(model_measure.metric, {})})


def _multiclass_form(requested: RequestedMeasure) -> Multiclass:
    assert requested.measure.classes is not None
    return requested.measure.classes


def _of_table(
    requested: RequestedMeasure, table: Counts, cell_indices: Ints
) -> Iterator[ModelMeasure]:
    """Yield a measure of a table, (C, C), or its averages, with f of its `cell_indices`."""
    form = _multiclass_form(requested)
    measure = requested.measure
    reason = form.undefined[-1]
    if form.compute is not None:
        cell_influence = None if form.influence is None else form.influence(table)[cell_indices]
        table_value = float(form.compute(table))
        share_counts = None if form.share is None else form.share(table)
        yield ModelMeasure(
            requested.name,
            CLASSES,
            measure,
            reason,
            form.compute,
            form.influence,
            table_value,
            cell_influence,
            share_counts,
        )
        return
    for average in get_args(multiclass_table.Average):
        if average == "micro" and measure.id in POOLED_ALIKE:
            continue
        compute = partial(multiclass_table.class_average, measure, by=average)
        influence = partial(multiclass_table.average_influence, measure, by=average)
        share_counts = None
        if average != "macro" and measure.id in ("sensitivity", "recall"):  # the accuracy
            share_counts = np.trace(table), table.sum()
        yield ModelMeasure(
            requested.name,
            average,
            measure,
            reason,
            compute,
            influence,
            float(compute(table)),
            influence(table)[cell_indices],
            share_counts,
        )


def _of_probabilities(requested: RequestedMeasure, counts: ClassScores) -> Iterator[ModelMeasure]:
    truth_and_p = (counts.truth, counts.p)
    n = counts.n
    form = _multiclass_form(requested)
    for estimator in ("macro", "weighted") if "by" in form.takes else (CLASSES,):
        form_of_average = form.with_settings(by=estimator)
        assert form_of_average.compute is not None
        compute = partial(form_of_average.compute, *truth_and_p)
        influence = (
            None
            if form_of_average.influence is None
            else partial(form_of_average.influence, *truth_and_p)
        )
        yield ModelMeasure(
            requested.name,
            estimator,
            requested.measure,
            form_of_average.undefined[-1],
            compute,
            influence,
            float(compute(n)),
            None if influence is None else influence(n),
            form_of_average.share and form_of_average.share(*truth_and_p, n),
        )


def _measure_estimates(
    model_measures: Sequence[ModelMeasure], kinds: RowFrequencies, settings: IntervalSettings
) -> list[MeasureEstimate]:
    """Return measures with their limits and standard errors."""
    if not model_measures:
        return []
    n, clusters = kinds.n, kinds.clusters
    undefined_influence = np.full(len(n), np.nan)
    f = np.array(
        [
            undefined_influence
            if model_measure.influence_values is None
            else model_measure.influence_values
            for model_measure in model_measures
        ]
    )
    is_mean = [
        model_measure.estimator == "macro" or model_measure.measure.id in OVER_CLASSES
        for model_measure in model_measures
    ]
    f[is_mean] *= kinds.mean_factors
    errors = influence_covariance(f, n, clusters=clusters)
    bootstrap_limits = _bootstrap_limits(model_measures, kinds, settings)
    estimates = list[MeasureEstimate]()
    for model_measure, error, df in zip(
        model_measures, errors.errors.tolist(), errors.df.tolist(), strict=True
    ):
        if isnan(model_measure.value):
            estimates.append(MeasureEstimate.undefined(model_measure.undefined))
            continue
        (low, high), method = bootstrap_limits.get(id(model_measure), ((nan, nan), NONE))
        if isnan(low):
            (low, high), method = _default_limits(model_measure, error, df, kinds, settings)
        estimates.append(
            MeasureEstimate(make_estimate(model_measure.value, low, high), error, method)
        )
    return estimates


def small_sample_factors(counts: ClassPatterns | ClassScores) -> Floats:
    """Return small-sample factors of f for means over classes, by class, (C,).

    sqrt((1 - 1/C) / (1 - 1/g))   g = P² / sum P_c², P_c rows of the class in each of C clusters
    Each class has the factor g / (g - 1) of its own, g at least 2.
    Source: Obuchowski 1997, Biometrics 53:567, for the two classes of an area.
    """
    clusters = counts.clusters
    class_rows = np.bincount(counts.truth, counts.n, len(counts.classes))
    cluster_count = class_rows.sum()
    g = class_rows.astype(np.float64)
    if clusters is not None:
        cluster_count = clusters.size
        class_masks = (counts.truth[None] == k for k in range(len(class_rows)))
        # row 2 of the sums: the sum of squared class rows of clusters
        squares = [clusters.shares(in_class, in_class)[2, 0] for in_class in class_masks]
        g = divide(class_rows**2, np.array(squares))
    return np.asarray(np.sqrt((1 - 1 / max(cluster_count, 2)) / (1 - 1 / np.maximum(g, 2))))


def _bootstrap_limits(
    model_measures: Sequence[ModelMeasure], kinds: RowFrequencies, settings: IntervalSettings
) -> dict[int, tuple[tuple[float, float], str]]:
    """Return bootstrap limits: of all measures if requested, else of those that are not smooth."""
    is_requested = settings.method == "bootstrap"
    resampled_measures = [
        model_measure
        for model_measure in model_measures
        if not isnan(model_measure.value)
        and model_measure.measure.has_interval
        and (
            is_requested
            or (model_measure.influence_values is None and model_measure.share_counts is None)
        )
    ]
    if not resampled_measures:
        return {}
    measures_and_functions = [
        (model_measure.measure, lambda n, function=model_measure.compute: function(kinds.shaped(n)))
        for model_measure in resampled_measures
    ]
    bootstrap_limits = resampled_limits(
        measures_and_functions,
        kinds.n,
        kinds.clusters,
        settings,
        kinds.stream_name,
        numbers=kinds.numbers_per_kind,
        fewest=kinds.rarer_size,
    )
    return {
        id(model_measure): limits
        for model_measure, limits in zip(resampled_measures, bootstrap_limits, strict=True)
    }


def _default_limits(
    model_measure: ModelMeasure,
    error: float,
    df: float,
    kinds: RowFrequencies,
    settings: IntervalSettings,
) -> tuple[tuple[float, float], str]:
    """Return the limits of one value by the requested or the default method.

    error, df: standard error of the value, and its degrees of freedom.
    """
    measure, value = model_measure.measure, model_measure.value
    level = settings.level
    is_unclustered = kinds.clusters is None
    row_total = float(kinds.n.sum())
    effective_size = row_total if kinds.clusters is None else kinds.clusters.size
    if level is None or (kinds.clusters is not None and kinds.clusters.too_few):
        return (nan, nan), NONE
    mean_limits = None if kinds.means is None else kinds.means.limits(model_measure, level, df)
    if mean_limits is not None:
        return mean_limits, NONE if isnan(mean_limits[0]) else MEAN
    if is_unclustered and model_measure.share_counts is not None:
        return _share_limits(model_measure.share_counts, level, settings)
    low, high = map(
        float,
        confidence_limits(
            value,
            error,
            scale=measure.limit_scale,
            low=measure.low,
            high=measure.high,
            level=level,
            df=df,
        ),
    )
    # with weights or clusters, counts of the effective size
    if not is_unclustered and isnan(low) and model_measure.share_counts is not None:
        share_limits, method = _share_limits(
            [float(count) / row_total * effective_size for count in model_measure.share_counts],
            level,
            settings,
        )
        return share_limits, f"{method}, of {effective_size:,.0f} rows"
    is_near_best = measure.high == 1 and not 1 - value > MIN_ERRORS_FROM_END * error
    if is_near_best and kinds.table is not None and model_measure.influence is not None:
        return _near_best(model_measure, kinds.table / row_total * effective_size, level, high)
    if measure.interval == "delong" and kinds.class_rows is not None:
        is_near_end = not 0 < MIN_ERRORS_FROM_END * error < min(value, 1 - value)
        effective_rows = kinds.class_rows * effective_size / row_total
        if is_near_end or effective_rows.min() < FEW_ROWS:  # influence values are unreliable
            wider_limits = _widen_area_limits(value, (low, high), effective_rows, level)
            return wider_limits, f"{INFLUENCE}, logit, and Newcombe's score interval"
    if isnan(low):
        return (nan, nan), NONE
    return (low, high), f"{INFLUENCE}, {measure.limit_scale}"


def _widen_area_limits(
    value: float, limits: tuple[float, float], effective_rows: Counts, level: float
) -> tuple[float, float]:
    """Return limits of an area, widened to Newcombe's score limits; NaN counts as the value.

    effective_rows (c,): of each class.
    """
    low, high = (value if isnan(limit) else limit for limit in limits)
    rows_of_side = equivalent_class_size(effective_rows)
    score_low, score_high = auc_score_limits(value, rows_of_side, rows_of_side, level=level)
    return min(low, score_low), max(high, score_high)


def equivalent_class_size(class_rows: Counts) -> float:
    """Return the rows of each of two classes whose AUC varies as a mean over c classes does.

    c² k / (2 sum over classes of 1 / n_c (1 + (k - 1) r))   k = 2 (c - 1)

    A row of a class has a placement in k of the c (c - 1) areas, which correlate by r: by 1 for two
    classes, whose two areas are one, else by 1/4, with which limits hold in simulated tables of
    several kinds. class_rows (c,): n_c > 0.
    """
    c = len(class_rows)
    k = 2 * (c - 1)
    correlation = 1.0 if c == 2 else PLACEMENT_CORRELATION
    variance = float((1 / class_rows).sum()) * (1 + (k - 1) * correlation) / k
    return c**2 / (2 * variance)


def _near_best(
    model_measure: ModelMeasure, table: Counts, level: float, table_high: float
) -> tuple[tuple[float, float], str]:
    """Return limits near the best value; the lower one of n + t p' / M², t and p the margins.

    One row more is distributed by chance. table_high: the upper limit of the table itself, or NaN.
    """
    assert model_measure.influence is not None
    extended = table + np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() ** 2
    value = float(model_measure.compute(extended))
    scale = model_measure.measure.limit_scale
    error = influence_covariance(model_measure.influence(extended), extended.reshape(-1)).errors[0]
    limits = confidence_limits(
        value, error, scale=scale, low=model_measure.measure.low, high=1, level=level
    )
    low, extended_high = map(float, limits)
    if isnan(low):
        return (nan, nan), NONE
    low = min(low, model_measure.value)
    high = max(model_measure.value, extended_high) if isnan(table_high) else table_high
    return (low, high), f"{INFLUENCE}, {scale}, one uninformative row added"


def _share_limits(
    share_counts: Sequence[float | Counts], level: float, settings: IntervalSettings
) -> tuple[tuple[float, float], str]:
    """Return limits of a share by the requested method, else exact ones; share_counts: k of m."""
    k, m = (np.array([float(count)]) for count in share_counts)
    method_name = settings.method if settings.method in NAMED_SHARES else "exact"
    (low,), (high,) = SHARE_LIMITS[method_name](k, m, level=level)
    method_text = EXACT if method_name == "exact" else method_name.title()
    return (float(low), float(high)), method_text
