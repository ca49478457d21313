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
from clfeval.document import Row
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


@dataclass(frozen=True, slots=True, eq=False)
class ModelMeasure:
    """A measure as functions of counts; moved: f of kinds of rows, (m,); share: part and whole."""

    metric: str
    estimator: str
    measure: Measure
    undefined: str
    of: Callable[[Counts], Floats]
    influence: Callable[[Counts], Floats] | None
    value: float
    moved: Floats | None
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
    smallest: float = np.inf  # rows of the smallest class
    means: MeansOverClasses | None = None  # of labels
    rarer: float | None = None  # rows or clusters of right or of wrong predictions: the fewer

    def shaped(self, n: Counts) -> Counts:
        """Return frequencies of kinds, (..., m), in the shape that measures take."""
        if self.table is None or self.place is None:
            return n
        each = n.reshape(-1, n.shape[-1])
        found = [np.bincount(self.place, row, self.table.size) for row in each]
        return np.reshape(found, (*n.shape[:-1], *self.table.shape))


def multiclass_label_rows(
    label: str | None,
    patterns: ClassPatterns,
    asked: Sequence[RequestedMeasure],
    wanted: IntervalSettings,
) -> Iterator[Row]:
    """Yield the measures of the labels of all models in a slice."""
    measures = [measure for measure in asked if not takes_scores(measure)]
    factors = small_sample_factors(patterns)
    for i, table in enumerate(patterns.tables):
        name = f"{patterns.models[i]}\0{label or ''}"
        classes = ClassTables.from_model(patterns, i, table, wanted, name)
        yield from _model_label_rows(label, classes, measures, factors, wanted)


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
    n, place = table.reshape(-1), np.arange(table.size)
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
    asked: Sequence[RequestedMeasure],
    wanted: IntervalSettings,
) -> Iterator[Row]:
    """Yield the measures of the class probabilities of a model in a slice."""
    found = [part for one in asked if takes_scores(one) for part in _of_probabilities(one, counts)]
    name, c = f"{model}\0{label or ''}", len(counts.classes)
    sizes = np.bincount(counts.truth, counts.n)
    fewest = float(sizes[sizes > 0].min(initial=np.inf))
    wider = small_sample_factors(counts)[counts.truth]
    most_probable = counts.most_probable()
    right_and_wrong = np.concatenate([most_probable.positives, most_probable.negatives])
    rarer = smaller_class_size(right_and_wrong, most_probable.clusters)
    kinds = RowFrequencies(counts.n, counts.clusters, name, wider, c, smallest=fewest, rarer=rarer)
    calibrated = perfect_calibration_values(asked, most_probable, wanted, name)
    for part, value in zip(found, _measure_estimates(found, kinds, wanted), strict=True):
        row = measure_row(label, model, part.metric, value, part.estimator)
        yield {**row, **calibrated.get(part.metric, {})}


def _multiclass_form(one: RequestedMeasure) -> Multiclass:
    assert one.measure.classes is not None
    return one.measure.classes


def _of_table(one: RequestedMeasure, n: Counts, place: Ints) -> Iterator[ModelMeasure]:
    """Yield a measure of a table, (C, C), or its averages, with f of its cells at `place`."""
    form, measure = _multiclass_form(one), one.measure
    why = form.undefined[-1]
    if form.compute is not None:
        moved = None if form.influence is None else form.influence(n)[place]
        value, share = float(form.compute(n)), None if form.share is None else form.share(n)
        yield ModelMeasure(
            one.name, CLASSES, measure, why, form.compute, form.influence, value, moved, share
        )
        return
    for by in get_args(multiclass_table.Average):
        if by == "micro" and measure.id in POOLED_ALIKE:
            continue
        of = partial(multiclass_table.class_average, measure, by=by)
        influence = partial(multiclass_table.average_influence, measure, by=by)
        share = None
        if by != "macro" and measure.id in ("sensitivity", "recall"):  # the accuracy
            share = np.trace(n), n.sum()
        yield ModelMeasure(
            one.name, by, measure, why, of, influence, float(of(n)), influence(n)[place], share
        )


def _of_probabilities(one: RequestedMeasure, counts: ClassScores) -> Iterator[ModelMeasure]:
    rows, n = (counts.truth, counts.p), counts.n
    form = _multiclass_form(one)
    for estimator in ("macro", "weighted") if "by" in form.takes else (CLASSES,):
        made = form.with_settings(by=estimator)
        assert made.compute is not None
        of = partial(made.compute, *rows)
        influence = None if made.influence is None else partial(made.influence, *rows)
        yield ModelMeasure(
            one.name,
            estimator,
            one.measure,
            made.undefined[-1],
            of,
            influence,
            float(of(n)),
            None if influence is None else influence(n),
            made.share and made.share(*rows, n),
        )


def _measure_estimates(
    parts: Sequence[ModelMeasure], kinds: RowFrequencies, wanted: IntervalSettings
) -> list[MeasureEstimate]:
    """Return measures with their limits and standard errors."""
    if not parts:
        return []
    n, clusters = kinds.n, kinds.clusters
    none = np.full(len(n), np.nan)
    f = np.array([none if part.moved is None else part.moved for part in parts])
    means = [part.estimator == "macro" or part.measure.id in OVER_CLASSES for part in parts]
    f[means] *= kinds.wider
    found = influence_covariance(f, n, clusters=clusters)
    drawn, known = _bootstrap_limits(parts, kinds, wanted), list[MeasureEstimate]()
    for part, error, freedom in zip(parts, found.errors.tolist(), found.df.tolist(), strict=True):
        if isnan(part.value):
            known.append(MeasureEstimate.undefined(part.undefined))
            continue
        (low, high), method = drawn.get(id(part), ((nan, nan), NONE))
        if isnan(low):
            (low, high), method = _default_limits(part, error, freedom, kinds, wanted)
        known.append(MeasureEstimate(make_estimate(part.value, low, high), error, method))
    return known


def small_sample_factors(one: ClassPatterns | ClassScores) -> Floats:
    """Return small-sample factors of f for means over classes, by class, (C,).

    sqrt((1 - 1/C) / (1 - 1/g))   g = P² / sum P_c², P_c rows of the class in each of C clusters
    Each class has the factor g / (g - 1) of its own, g at least 2.
    Source: Obuchowski 1997, Biometrics 53:567, for the two classes of an area.
    """
    owned, rows = one.clusters, np.bincount(one.truth, one.n, len(one.classes))
    size, g = rows.sum(), rows.astype(np.float64)
    if owned is not None:
        size, each = owned.size, (one.truth[None] == k for k in range(len(rows)))
        g = divide(rows**2, np.array([owned.shares(mine, mine)[2, 0] for mine in each]))
    return np.asarray(np.sqrt((1 - 1 / max(size, 2)) / (1 - 1 / np.maximum(g, 2))))


def _bootstrap_limits(
    parts: Sequence[ModelMeasure], kinds: RowFrequencies, wanted: IntervalSettings
) -> dict[int, tuple[tuple[float, float], str]]:
    """Return bootstrap limits: of all measures if requested, else of those that are not smooth."""
    every = wanted.how == "bootstrap"
    some = [
        part
        for part in parts
        if not isnan(part.value)
        and part.measure.has_interval
        and (every or (part.moved is None and part.share is None))
    ]
    if not some:
        return {}
    measures = [(part.measure, lambda n, of=part.of: of(kinds.shaped(n))) for part in some]
    found = resampled_limits(
        measures,
        kinds.n,
        kinds.clusters,
        wanted,
        kinds.name,
        each=kinds.numbers,
        fewest=kinds.rarer,
    )
    return {id(part): limits for part, limits in zip(some, found, strict=True)}


def _default_limits(
    part: ModelMeasure, error: float, df: float, kinds: RowFrequencies, wanted: IntervalSettings
) -> tuple[tuple[float, float], str]:
    """Return the limits of one value by the requested or the default method."""
    level, rows = wanted.level, kinds.clusters is None
    total = float(kinds.n.sum())
    size = total if kinds.clusters is None else kinds.clusters.size
    if level is None or (kinds.clusters is not None and kinds.clusters.too_few):
        return (nan, nan), NONE
    if kinds.means is not None and (limits := kinds.means.limits(part, level, df)) is not None:
        return limits, NONE if isnan(limits[0]) else MEAN
    if rows and part.share is not None:
        return _share_limits(part.share, level, wanted)
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
    if not rows and isnan(low) and part.share is not None:
        ends, method = _share_limits(
            [float(one) / total * size for one in part.share], level, wanted
        )
        return ends, f"{method}, of {size:,.0f} rows"
    near = part.measure.high == 1 and not 1 - part.value > MIN_ERRORS_FROM_END * error
    if near and kinds.table is not None and part.influence is not None:
        return _near_best(part, kinds.table / total * size, level, high)
    if part.measure.interval == "delong":
        unsure = not 0 < MIN_ERRORS_FROM_END * error < min(part.value, 1 - part.value)
        if unsure or kinds.smallest * size / total < 10:  # influence values are unreliable
            # extended to the score limits of an area of half the rows each
            outer = auc_score_limits(part.value, size / 2, size / 2, level=level)
            low, high = (part.value if isnan(end) else end for end in (low, high))
            ends = min(low, outer[0]), max(high, outer[1])
            return ends, f"{INFLUENCE}, logit, and Newcombe's score interval"
    if isnan(low):
        return (nan, nan), NONE
    return (low, high), f"{INFLUENCE}, {part.measure.limit_scale}"


def _near_best(
    part: ModelMeasure, table: Counts, level: float, high: float
) -> tuple[tuple[float, float], str]:
    """Return limits near the best value; the lower one of n + t p' / M², t and p the margins.

    One row more is distributed by chance. high: the upper limit of the table itself, or NaN.
    """
    assert part.influence is not None
    more = table + np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() ** 2
    value, scale = float(part.of(more)), part.measure.limit_scale
    error = influence_covariance(part.influence(more), more.reshape(-1)).errors[0]
    ends = confidence_limits(value, error, scale=scale, low=part.measure.low, high=1, level=level)
    low, other = map(float, ends)
    if isnan(low):
        return (nan, nan), NONE
    high = max(part.value, other) if isnan(high) else high
    return (min(low, part.value), high), f"{INFLUENCE}, {scale}, one uninformative row added"


def _share_limits(
    share: Sequence[float | Counts], level: float, wanted: IntervalSettings
) -> tuple[tuple[float, float], str]:
    k, m = (np.array([float(one)]) for one in share)
    how = wanted.how if wanted.how in NAMED_SHARES else "exact"
    ends: Limits = SHARE_LIMITS[how](k, m, level=level)
    method = EXACT if how == "exact" else how.title()
    return (float(ends[0][0]), float(ends[1][0])), method
