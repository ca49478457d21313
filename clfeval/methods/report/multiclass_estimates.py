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
from clfeval.methods.estimates import Limits, make_estimate
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

    influence_values: f of kinds of rows, (m,); share: part and whole.
    """

    metric: str
    estimator: str
    measure: Measure
    undefined: str
    compute: Callable[[Counts], Floats]
    influence: Callable[[Counts], Floats] | None
    value: float
    influence_values: Floats | None
    share: Sequence[float | Counts] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MeansOverClasses:
    """The tables of each class against the rest, and estimates of each class by measure."""

    classes: ClassTables
    by_class: Mapping[str, Sequence[MeasureEstimate]]

    def limits(self, part: ModelMeasure, level: float, df: float) -> tuple[float, float] | None:
        """Return the limits of a mean over classes; None for another kind of measure.

        Measures that count true negatives have many rows of each class.
        """
        measure, name = part.measure, part.metric
        if measure.id == "balanced_accuracy":
            measure, name = CATALOG["sensitivity"], "sensitivity"
        elif part.estimator != "macro" or not ignores_true_negatives(measure):
            return None
        estimates = self.by_class.get(name)
        if estimates is None:
            estimates = self.classes.estimates(RequestedMeasure(name, measure, {}))
        return self.classes.mean_limits(measure, estimates, level, df)


@dataclass(frozen=True, slots=True, eq=False)
class RowFrequencies:
    """Frequencies n (m,) of kinds of rows of a model, and their clusters."""

    n: Counts
    clusters: Owned | None
    name: str  # of the random stream
    wider: Floats  # factors of f for means over classes, (m,)
    numbers: int = 1  # counts per kind
    table: Counts | None = None  # of labels, with cells at `place`
    place: Ints | None = None
    class_rows: Counts | None = None  # rows of each class that has any, of probabilities
    means: MeansOverClasses | None = None  # of labels
    rarer: float | None = None  # rows or clusters of right or of wrong predictions: the fewer

    def shaped(self, n: Counts) -> Counts:
        """Return frequencies of kinds, (..., m), in the shape that measures take."""
        if self.table is None or self.place is None:
            return n
        vectors = n.reshape(-1, n.shape[-1])
        tables = [np.bincount(self.place, row, self.table.size) for row in vectors]
        return np.reshape(tables, (*n.shape[:-1], *self.table.shape))


def multiclass_label_rows(
    label: str | None,
    patterns: ClassPatterns,
    requested: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> Iterator[Row]:
    """Yield the measures of the labels of all models in a slice."""
    measures = [measure for measure in requested if not takes_scores(measure)]
    factors = small_sample_factors(patterns)
    for i, table in enumerate(patterns.tables):
        name = f"{patterns.models[i]}\0{label or ''}"
        classes = ClassTables.from_model(patterns, i, table, settings, name)
        yield from _model_label_rows(label, classes, measures, factors, settings)


def _model_label_rows(
    label: str | None,
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
    place = np.arange(table.size)
    if patterns.clusters is not None:
        n, place = patterns.n, patterns.cells(classes.model)
    kinds = RowFrequencies(
        n,
        patterns.clusters,
        f"{model}\0{label or ''}",
        factors[place // len(table)],
        table=table,
        place=place,
        means=MeansOverClasses(classes, by_class),
    )
    parts = [part for measure in measures for part in _of_table(measure, table, place)]
    for part, value in zip(parts, _measure_estimates(parts, kinds, intervals), strict=True):
        yield measure_row(label, model, part.metric, value, part.estimator)
    for metric, values in by_class.items():
        for class_name, value in zip(patterns.classes, values, strict=True):
            yield measure_row(label, model, metric, value, "class", class_name)


def multiclass_probability_rows(
    label: str | None,
    model: str,
    counts: ClassScores,
    requested: Sequence[RequestedMeasure],
    settings: IntervalSettings,
) -> Iterator[Row]:
    """Yield the measures of the class probabilities of a model in a slice."""
    measures = [
        part
        for measure in requested
        if takes_scores(measure)
        for part in _of_probabilities(measure, counts)
    ]
    name = f"{model}\0{label or ''}"
    c = len(counts.classes)
    sizes = np.bincount(counts.truth, counts.n)
    factors = small_sample_factors(counts)[counts.truth]
    most_probable = counts.most_probable()
    right_and_wrong = np.concatenate([most_probable.positives, most_probable.negatives])
    rarer = smaller_class_size(right_and_wrong, most_probable.clusters)
    kinds = RowFrequencies(
        counts.n, counts.clusters, name, factors, c, class_rows=sizes[sizes > 0], rarer=rarer
    )
    calibrated = perfect_calibration_values(requested, most_probable, settings, name)
    for part, value in zip(measures, _measure_estimates(measures, kinds, settings), strict=True):
        row = measure_row(label, model, part.metric, value, part.estimator)
        yield as_row({**row, **calibrated.get(part.metric, {})})


def _multiclass_form(requested: RequestedMeasure) -> Multiclass:
    assert requested.measure.classes is not None
    return requested.measure.classes


def _of_table(requested: RequestedMeasure, n: Counts, place: Ints) -> Iterator[ModelMeasure]:
    """Yield a measure of a table, (C, C), or its averages, with f of its cells at `place`."""
    form = _multiclass_form(requested)
    measure = requested.measure
    reason = form.undefined[-1]
    if form.compute is not None:
        cell_influence = None if form.influence is None else form.influence(n)[place]
        value = float(form.compute(n))
        share = None if form.share is None else form.share(n)
        yield ModelMeasure(
            requested.name,
            CLASSES,
            measure,
            reason,
            form.compute,
            form.influence,
            value,
            cell_influence,
            share,
        )
        return
    for by in get_args(multiclass_table.Average):
        if by == "micro" and measure.id in POOLED_ALIKE:
            continue
        function = partial(multiclass_table.class_average, measure, by=by)
        influence = partial(multiclass_table.average_influence, measure, by=by)
        share = None
        if by != "macro" and measure.id in ("sensitivity", "recall"):  # the accuracy
            share = np.trace(n), n.sum()
        yield ModelMeasure(
            requested.name,
            by,
            measure,
            reason,
            function,
            influence,
            float(function(n)),
            influence(n)[place],
            share,
        )


def _of_probabilities(requested: RequestedMeasure, counts: ClassScores) -> Iterator[ModelMeasure]:
    rows = (counts.truth, counts.p)
    n = counts.n
    form = _multiclass_form(requested)
    for estimator in ("macro", "weighted") if "by" in form.takes else (CLASSES,):
        form_of_average = form.with_settings(by=estimator)
        assert form_of_average.compute is not None
        function = partial(form_of_average.compute, *rows)
        influence = (
            None if form_of_average.influence is None else partial(form_of_average.influence, *rows)
        )
        yield ModelMeasure(
            requested.name,
            estimator,
            requested.measure,
            form_of_average.undefined[-1],
            function,
            influence,
            float(function(n)),
            None if influence is None else influence(n),
            form_of_average.share and form_of_average.share(*rows, n),
        )


def _measure_estimates(
    parts: Sequence[ModelMeasure], kinds: RowFrequencies, settings: IntervalSettings
) -> list[MeasureEstimate]:
    """Return measures with their limits and standard errors."""
    if not parts:
        return []
    n, clusters = kinds.n, kinds.clusters
    none = np.full(len(n), np.nan)
    f = np.array(
        [none if part.influence_values is None else part.influence_values for part in parts]
    )
    means = [part.estimator == "macro" or part.measure.id in OVER_CLASSES for part in parts]
    f[means] *= kinds.wider
    errors = influence_covariance(f, n, clusters=clusters)
    bootstrap_limits = _bootstrap_limits(parts, kinds, settings)
    estimates = list[MeasureEstimate]()
    for part, error, freedom in zip(parts, errors.errors.tolist(), errors.df.tolist(), strict=True):
        if isnan(part.value):
            estimates.append(MeasureEstimate.undefined(part.undefined))
            continue
        (low, high), method = bootstrap_limits.get(id(part), ((nan, nan), NONE))
        if isnan(low):
            (low, high), method = _default_limits(part, error, freedom, kinds, settings)
        estimates.append(MeasureEstimate(make_estimate(part.value, low, high), error, method))
    return estimates


def small_sample_factors(counts: ClassPatterns | ClassScores) -> Floats:
    """Return small-sample factors of f for means over classes, by class, (C,).

    sqrt((1 - 1/C) / (1 - 1/g))   g = P² / sum P_c², P_c rows of the class in each of C clusters
    Each class has the factor g / (g - 1) of its own, g at least 2.
    Source: Obuchowski 1997, Biometrics 53:567, for the two classes of an area.
    """
    owned = counts.clusters
    rows = np.bincount(counts.truth, counts.n, len(counts.classes))
    size = rows.sum()
    g = rows.astype(np.float64)
    if owned is not None:
        size = owned.size
        is_of_class = (counts.truth[None] == k for k in range(len(rows)))
        squares = [owned.shares(patterns, patterns)[2, 0] for patterns in is_of_class]
        g = divide(rows**2, np.array(squares))
    return np.asarray(np.sqrt((1 - 1 / max(size, 2)) / (1 - 1 / np.maximum(g, 2))))


def _bootstrap_limits(
    parts: Sequence[ModelMeasure], kinds: RowFrequencies, settings: IntervalSettings
) -> dict[int, tuple[tuple[float, float], str]]:
    """Return bootstrap limits: of all measures if requested, else of those that are not smooth."""
    is_requested = settings.method == "bootstrap"
    resampled = [
        part
        for part in parts
        if not isnan(part.value)
        and part.measure.has_interval
        and (is_requested or (part.influence_values is None and part.share is None))
    ]
    if not resampled:
        return {}
    measures = [
        (part.measure, lambda n, function=part.compute: function(kinds.shaped(n)))
        for part in resampled
    ]
    limits_of_parts = resampled_limits(
        measures,
        kinds.n,
        kinds.clusters,
        settings,
        kinds.name,
        numbers=kinds.numbers,
        fewest=kinds.rarer,
    )
    return {id(part): limits for part, limits in zip(resampled, limits_of_parts, strict=True)}


def _default_limits(
    part: ModelMeasure, error: float, df: float, kinds: RowFrequencies, settings: IntervalSettings
) -> tuple[tuple[float, float], str]:
    """Return the limits of one value by the requested or the default method."""
    level = settings.level
    is_of_rows = kinds.clusters is None
    total = float(kinds.n.sum())
    size = total if kinds.clusters is None else kinds.clusters.size
    if level is None or (kinds.clusters is not None and kinds.clusters.too_few):
        return (nan, nan), NONE
    limits = None if kinds.means is None else kinds.means.limits(part, level, df)
    if limits is not None:
        return limits, NONE if isnan(limits[0]) else MEAN
    if is_of_rows and part.share is not None:
        return _share_limits(part.share, level, settings)
    low, high = map(
        float,
        confidence_limits(
            part.value,
            error,
            scale=part.measure.limit_scale,
            low=part.measure.low,
            high=part.measure.high,
            level=level,
            df=df,
        ),
    )
    # with weights or clusters, counts of the effective size
    if not is_of_rows and isnan(low) and part.share is not None:
        limits, method = _share_limits(
            [float(count) / total * size for count in part.share], level, settings
        )
        return limits, f"{method}, of {size:,.0f} rows"
    is_near_best = part.measure.high == 1 and not 1 - part.value > MIN_ERRORS_FROM_END * error
    if is_near_best and kinds.table is not None and part.influence is not None:
        return _near_best(part, kinds.table / total * size, level, high)
    if part.measure.interval == "delong" and kinds.class_rows is not None:
        is_near_end = not 0 < MIN_ERRORS_FROM_END * error < min(part.value, 1 - part.value)
        effective_rows = kinds.class_rows * size / total
        if is_near_end or effective_rows.min() < FEW_ROWS:  # influence values are unreliable
            rows_of_side = equivalent_class_size(effective_rows)
            score_limits = auc_score_limits(part.value, rows_of_side, rows_of_side, level=level)
            low = part.value if isnan(low) else low
            high = part.value if isnan(high) else high
            wider_limits = min(low, score_limits[0]), max(high, score_limits[1])
            return wider_limits, f"{INFLUENCE}, logit, and Newcombe's score interval"
    if isnan(low):
        return (nan, nan), NONE
    return (low, high), f"{INFLUENCE}, {part.measure.limit_scale}"


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
    part: ModelMeasure, table: Counts, level: float, high: float
) -> tuple[tuple[float, float], str]:
    """Return limits near the best value; the lower one of n + t p' / M², t and p the margins.

    One row more is distributed by chance. high: the upper limit of the table itself, or NaN.
    """
    assert part.influence is not None
    extended = table + np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() ** 2
    value = float(part.compute(extended))
    scale = part.measure.limit_scale
    error = influence_covariance(part.influence(extended), extended.reshape(-1)).errors[0]
    limits = confidence_limits(value, error, scale=scale, low=part.measure.low, high=1, level=level)
    low, upper = map(float, limits)
    if isnan(low):
        return (nan, nan), NONE
    high = max(part.value, upper) if isnan(high) else high
    return (min(low, part.value), high), f"{INFLUENCE}, {scale}, one uninformative row added"


def _share_limits(
    share: Sequence[float | Counts], level: float, settings: IntervalSettings
) -> tuple[tuple[float, float], str]:
    k, m = (np.array([float(number)]) for number in share)
    kind = settings.method if settings.method in NAMED_SHARES else "exact"
    limits: Limits = SHARE_LIMITS[kind](k, m, level=level)
    method = EXACT if kind == "exact" else kind.title()
    return (float(limits[0][0]), float(limits[1][0])), method
