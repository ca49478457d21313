"""Estimates of measures of scores, net benefit at a threshold included, and their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan, sqrt

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide
from clfeval.counts.buckets import Buckets
from clfeval.counts.clusters_and_weights import Owned, RowWeights
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate
from clfeval.inference.distributions import tail_probability
from clfeval.inference.influence_and_clusters import (
    CovarianceEstimate,
    confidence_limits,
    influence_covariance,
    smaller_class_size,
    smaller_group_size,
)
from clfeval.inference.rank_statistics import AucInterval, clustered_auc, delong_auc
from clfeval.inference.resampling import (
    percentile_limits,
    random_stream,
    resampled_counts,
    resampled_rates,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.multiclass_scores import OF_TOP
from clfeval.measures.odds import HALF
from clfeval.measures.record import Measure, undefined_reason
from clfeval.methods.estimates import Cells, Limits, make_estimate
from clfeval.methods.measurement.bucket_bounds import (
    LINES,
    RISING,
    arranged_scores,
    bounded_value,
    widest_limits,
)
from clfeval.methods.measurement.label_measures import (
    BOOTSTRAP,
    INFLUENCE,
    NONE,
    WEIGHED,
    MeasureEstimate,
    TableResampler,
)
from clfeval.methods.measurement.net_benefits import (
    confusions_at,
    net_benefit_estimates,
    standardised_estimates,
)
from clfeval.methods.options import IntervalSettings
from clfeval.records import dataclass

PROBABILITIES = "not_probabilities"


def estimate_score_measure(
    measure: Measure, counts: ScoreCounts, settings: IntervalSettings, stream_name: str
) -> MeasureEstimate:
    """Return a measure of scores, with limits by the requested or the default method."""
    if counts.buckets is not None:
        return _estimate_in_buckets(measure, counts, counts.buckets, settings, stream_name)
    scores = counts.scores
    if (
        measure.needs == "probabilities"
        and len(scores)
        and not (scores[0] >= 0 and scores[-1] <= 1)
    ):
        return MeasureEstimate.undefined(PROBABILITIES)
    value = float(measure.function(scores, counts.positives, counts.negatives))
    class_totals = (counts.positives.sum(), counts.negatives.sum())
    if isnan(value):
        positives, negatives = class_totals
        # why a measure of scores is undefined depends on the class totals only
        confusion = Confusion(tp=positives.item(), fp=negatives.item(), fn=0, tn=0)
        return MeasureEstimate.undefined(undefined_reason(measure.undefined, confusion))
    if measure.interval == "delong":
        return _estimate_area(measure, counts, value, settings, stream_name)
    covariance = _score_covariance(measure, counts)
    error = nan if covariance is None else float(covariance.errors[0])
    if settings.level is None or not measure.has_interval:
        return MeasureEstimate(make_estimate(value), error, NONE)
    if measure.id == "oe_ratio" and covariance is not None and 0 in class_totals:
        return _ratio_of_one_class(measure, counts, value, covariance.size, settings.level)
    if settings.method != "bootstrap" and measure.id in OF_TWO_COUNTS:
        return _estimate_of_counts(measure, counts, value, error, settings.level)
    if settings.method != "bootstrap" and covariance is not None:
        return influence_estimate(measure, value, covariance, settings.level)
    if measure.id == "aurc" and isinstance(counts.clusters, RowWeights):
        # each distinct score is one coverage, whatever its weight
        return MeasureEstimate(Estimate(value, reason="fractional_weights"), error, NONE)
    (low, high), method = _bootstrap_limits(measure, counts, settings, stream_name)
    return MeasureEstimate(make_estimate(value, low, high), error, method)


def _estimate_area(
    measure: Measure,
    counts: ScoreCounts,
    value: float,
    settings: IntervalSettings,
    stream_name: str,
) -> MeasureEstimate:
    """Return the AUC, or a linear function of it, with limits by DeLong or the bootstrap."""
    area = score_auc_interval(counts, settings.level or 0.95)
    estimate = delong_estimate(measure, area, value, settings.level)
    if settings.level is not None and settings.method == "bootstrap":
        (low, high), method = _bootstrap_limits(measure, counts, settings, stream_name)
        if not isnan(low):
            return MeasureEstimate(make_estimate(value, low, high), estimate.error, method)
    return estimate


OF_TWO_COUNTS = ("net_benefit_standardised", "interventions_avoided")


def _estimate_of_counts(
    measure: Measure, counts: ScoreCounts, value: float, error: float, level: float
) -> MeasureEstimate:
    """Return a combination of two counts at a threshold, with limits from those of both."""
    t = np.array([getattr(measure.compute, "keywords", {}).get("t", HALF)])
    tables = confusions_at(counts, t)
    if measure.id == "net_benefit_standardised":
        (estimate,) = standardised_estimates(tables, t, level)
    else:
        zero = np.zeros(1)
        per_hundred = np.full(1, 100.0)
        contributions = (zero, zero, per_hundred, per_hundred * (1 - t) / t)
        (estimate,) = net_benefit_estimates(tables, contributions, level)
    method = NONE
    if estimate.low is not None:
        method = WEIGHED + ", design effect" * (counts.clusters is not None)
    return MeasureEstimate(replace(estimate, value=value), error, method)


def _score_covariance(measure: Measure, counts: ScoreCounts) -> CovarianceEstimate | None:
    """Return the variance of a measure by its influence values; None if it has none."""
    if measure.influence is None:
        return None
    class_counts = (counts.positives, counts.negatives)
    smaller_size = float(min(counts.positives.sum(), counts.negatives.sum()))
    if counts.clusters is not None:
        smaller_size = smaller_class_size(np.concatenate(class_counts), counts.clusters)
    influence = measure.influence(counts.scores, *class_counts)
    estimate = influence_covariance(
        influence, class_counts, fewest=smaller_size, clusters=counts.clusters
    )
    if measure.id == "pr_auc" and isinstance(counts.clusters, RowWeights) and smaller_size > 1:
        # the curve bends at each positive: the error is that of residuals over 1 - 1 / m (HC3),
        # times the small-sample factor sqrt(m / (m - 1)), of m effective positives
        variance_factor = (smaller_size / (smaller_size - 1)) ** 3
        return replace(estimate, covariance=estimate.covariance * variance_factor)
    return estimate


def _ratio_of_one_class(
    measure: Measure, counts: ScoreCounts, value: float, size: float, level: float
) -> MeasureEstimate:
    """Return the O:E ratio of rows of one class, with the exact limits of 0 of `size` rows."""
    row_counts = counts.positives + counts.negatives
    exact_share = tail_probability(level) ** (1 / size)
    largest_ratio = float(measure.function(counts.scores, row_counts, np.zeros_like(row_counts)))
    interval = (
        (exact_share * largest_ratio, value)
        if value
        else (value, (1 - exact_share) * largest_ratio)
    )
    return MeasureEstimate(make_estimate(value, *interval), nan, "exact limits of 0 of n")


def _estimate_in_buckets(
    measure: Measure,
    counts: ScoreCounts,
    buckets: Buckets,
    settings: IntervalSettings,
    stream_name: str,
) -> MeasureEstimate:
    """Return a measure of scores that are estimated by bucket, with its bound and safe limits.

    Limits of the bootstrap are left out: those of the rows would depend on their order.
    """
    if (buckets.low >= buckets.high).all():  # single scores
        class_counts = np.array([counts.positives, counts.negatives])
        single_scores = ScoreCounts.from_scores(*buckets.points(class_counts))
        single_estimate = estimate_score_measure(measure, single_scores, settings, stream_name)
        return (
            single_estimate
            if single_estimate.value.value is None
            else single_estimate._replace(bound=0.0)
        )
    without_bootstrap = (
        settings if _has_limits_of_influence(measure, settings) else replace(settings, level=None)
    )
    uses_order = measure.needs == "scores" or measure.id in RISING
    grouped_scores = replace(counts if uses_order else counts.probabilities, buckets=None)

    def estimate(scores: ScoreCounts) -> MeasureEstimate:
        return estimate_score_measure(measure, scores, without_bootstrap, stream_name)

    return with_safe_limits(measure, counts, estimate(grouped_scores), estimate)


def with_safe_limits(
    measure: Measure,
    counts: ScoreCounts,
    grouped_estimate: MeasureEstimate,
    estimate: Callable[[ScoreCounts], MeasureEstimate],
) -> MeasureEstimate:
    """Return an estimate from buckets of scores with its bound, and limits that contain all others.

    estimate: estimates single scores, of which several arrangements within the buckets are tried.
    Coefficients of a logistic regression have bounds only in narrow buckets, where errors differ by
    far less than the bounds: for their limits no arrangement is tried.
    """
    if grouped_estimate.value.value is None or counts.buckets is None:
        return grouped_estimate
    value_and_bound = bounded_value(measure, counts, grouped_estimate.value.value)
    if value_and_bound is None:
        has_hidden_counts = np.isinf(counts.buckets.unit).any()
        return MeasureEstimate.undefined(
            "hidden_counts" if has_hidden_counts else "needs_exact_scores"
        )
    arrangements: Sequence[ScoreCounts] = ()
    if grouped_estimate.value.low is not None and measure.id not in LINES:
        arrangements = arranged_scores(counts)
    return widest_limits(
        [grouped_estimate, *map(estimate, arrangements)], measure, *value_and_bound
    )


def _has_limits_of_influence(measure: Measure, settings: IntervalSettings) -> bool:
    """Return whether the limits of a measure follow from influence values or DeLong's variance."""
    has_error = measure.interval == "delong" or measure.influence is not None
    return has_error and settings.method != "bootstrap"


def influence_estimate(
    measure: Measure, value: float, covariance: CovarianceEstimate, level: float | None
) -> MeasureEstimate:
    """Return a value with limits from its standard error, on the scale of the measure."""
    error = float(covariance.errors[0])
    if level is None:
        return MeasureEstimate(make_estimate(value), error, NONE)
    limit_arrays = confidence_limits(
        value,
        error,
        scale=measure.scale,
        low=measure.low,
        high=measure.high,
        level=level,
        df=covariance.df,
    )
    low, high = (float(limit[0]) for limit in limit_arrays)
    method = NONE if isnan(low) else f"{INFLUENCE}, {measure.scale}"
    return MeasureEstimate(make_estimate(value, low, high), error, method)


def delong_estimate(
    measure: Measure, area: AucInterval, value: float, level: float | None
) -> MeasureEstimate:
    """Return the AUC, or a linear function of it, with DeLong limits."""
    is_gini = measure.low < 0  # gini = 2 AUC - 1
    slope = 2 if is_gini else 1
    error = nan if isnan(area.variance) else slope * sqrt(max(area.variance, 0.0))
    if level is None:
        return MeasureEstimate(make_estimate(value), error, NONE)
    low, high = (
        2 * area_limit - 1 if is_gini else area_limit for area_limit in (area.low, area.high)
    )
    return MeasureEstimate(make_estimate(value, low, high), error, area.method)


def _bootstrap_limits(
    measure: Measure, counts: ScoreCounts, settings: IntervalSettings, stream_name: str
) -> ResampledLimits:
    """Return bootstrap limits over samples of rows, weights or clusters.

    Percentiles; of measures without influence values, where that of few rows is too narrow and too
    near to one side, the outer ones of these and of Student's t (see `_extend_by_t`).
    """
    score_count = len(counts.scores)

    def function(counts_of_draws: Counts) -> Floats:
        return measure.function(
            counts.scores, counts_of_draws[..., :score_count], counts_of_draws[..., score_count:]
        )

    class_counts = np.concatenate([counts.positives, counts.negatives])
    stream_name = f"{measure.id}\0{stream_name}"
    smaller_size = (
        _smaller_group_size(measure, counts, class_counts) if measure.interval == "drawn" else None
    )
    (limits,) = resampled_limits(
        [(measure, function)],
        class_counts,
        counts.clusters,
        settings,
        stream_name,
        fewest=smaller_size,
    )
    return limits


def _smaller_group_size(measure: Measure, counts: ScoreCounts, class_counts: Counts) -> float:
    """Return the rows or clusters of the smaller class, or of the rarer outcome.

    Outcomes are right and wrong predictions of the more probable class, where these alone matter:
    an area under the risk-coverage curve is known as badly as there are few errors.
    class_counts (2 m,): positives at each score, then negatives.
    """
    if measure.id not in OF_TOP:
        return smaller_class_size(class_counts, counts.clusters)
    is_predicted = counts.scores >= HALF
    return smaller_group_size(class_counts, np.append(is_predicted, ~is_predicted), counts.clusters)


def _extend_by_t(
    measure: Measure,
    value: float,
    draws: Floats,
    limits: tuple[float, float],
    fewest_and_level: tuple[float, float],
) -> tuple[float, float]:
    """Return the outer ones of percentile limits, and of limits by the error of the draws (r,).

    The error is sqrt(m / (m - 1)) the standard deviation of the draws, with Student's t of m - 1
    degrees of freedom, m the rows or clusters of the smaller class, or of the rarer ones of right
    and wrong predictions, on the scale of the range.
    Source: Hesterberg 2015, American Statistician 69:371; Efron and Tibshirani 1993, chapter 12.
    """
    fewest, level = fewest_and_level
    if not fewest > 1:
        return limits
    error = float(np.nanstd(draws, ddof=1)) * sqrt(fewest / (fewest - 1))
    scale, low, high = measure.limit_scale, measure.low, measure.high
    interval = confidence_limits(
        value, error, scale=scale, low=low, high=high, level=level, df=fewest - 1
    )
    lower, upper = map(float, interval)
    if isnan(lower):
        return limits
    return min(limits[0], lower), max(limits[1], upper)


Formula = Callable[[Confusion], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class _ResampledTables:
    """Bootstrap tables of a model: (r, t) by its rates in t populations, and by rows, (r,).

    joint_tables: of all rows, where class totals are random; None where no population is sampled.
    """

    separate: Confusion
    joint_tables: Confusion | None

    def values(self, name: str, measure: Formula, sampled: Bools) -> Floats:
        """Return a measure of the tables, (r, t); sampled (t,): which populations are sampled."""
        shape = (len(self.separate.tp), len(sampled))
        values = np.broadcast_to(measure(self.separate), shape)
        if self.joint_tables is None or CATALOG[name].invariant:
            return values
        return np.where(sampled, measure(self.joint_tables)[:, None], values)


def bootstrap_limits(
    measures: Mapping[str, Formula],
    cells: Cells,
    models: Ints,
    names: tuple[str, ...],
    settings: IntervalSettings,
    resampler_of: Callable[[int], TableResampler | None] = lambda _: None,
) -> tuple[dict[str, Limits], int]:
    """Return percentile limits by measure, (m,) each, and the most undefined replicates of any one.

    models (m,): index of each table into `names`; each has its own random stream. Classes are
    resampled separately, with random totals all rows together. NaN for models without a class.
    resampler_of: the resampler of a model with clusters or weights, by its index.
    Errors: ValueError for counts that are not whole.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 8 and 13.
    """
    assert settings.level is not None
    limits = {
        name: (np.full(len(cells.tp), np.nan), np.full(len(cells.tp), np.nan)) for name in measures
    }
    most_undefined = 0
    for model_index, model in enumerate(names):
        table_indices = np.flatnonzero(models == model_index)
        tables = cells.select(table_indices)
        resampled = _resample_tables(tables, model, settings, resampler_of(model_index))
        if resampled is None:
            continue
        for name, measure in measures.items():
            replicates = resampled.values(name, measure, tables.sampled)
            low, high, undefined = percentile_limits(replicates, level=settings.level)
            lower, upper = limits[name]
            lower[table_indices] = low
            upper[table_indices] = high
            most_undefined = max(most_undefined, int(np.max(undefined)))
    return limits, most_undefined


def _resample_tables(
    cells: Cells, model: str, settings: IntervalSettings, resampler: TableResampler | None
) -> _ResampledTables | None:
    """Return bootstrap tables of a model; None without a class, or with a single cluster.

    cells: the same counts in t populations.
    """
    counts_by_population = (cells.tp, cells.positives, cells.fp, cells.negatives)
    tp, positives, fp, negatives = (int(cell[0]) for cell in counts_by_population)
    if not (positives and negatives):
        return None
    has_sampled = bool(settings.totals == "random" and cells.sampled.any())
    rng = random_stream(settings.seed, model)
    if resampler is None:
        tpr, fpr = resampled_rates(
            tp, positives, fp, negatives, resamples=settings.resamples, rng=rng
        )
        cell_counts = np.array([tp, fp, positives - tp, negatives - fp])
        rng = random_stream(settings.seed, f"rows\0{model}")
        joint_resamples = settings.resamples if has_sampled else 0
        resampled_cells: Counts = rng.multinomial(
            positives + negatives, cell_counts / (positives + negatives), joint_resamples
        ).T
    elif resampler.clusters.size <= 1 or resampler.clusters.too_few:
        return None
    else:
        resampled_cells = resampler.tables(settings.resamples, rng)
        # TP / (TP + FN) and FP / (FP + TN)
        tpr = divide(resampled_cells[0], resampled_cells[0] + resampled_cells[2])
        fpr = divide(resampled_cells[1], resampled_cells[1] + resampled_cells[3])
    separate = Confusion.from_rates(tpr[:, None], fpr[:, None], cells.ratio)
    return _ResampledTables(separate, Confusion(*resampled_cells) if has_sampled else None)


MOST_DRAWN = 2**29  # numbers drawn at most; fewer resamples if exceeded
ResampledLimits = tuple[tuple[float, float], str]


def resampled_limits(
    measures: Sequence[tuple[Measure, Callable[[Counts], Floats]]],
    n: Counts,
    clusters: Owned | None,
    settings: IntervalSettings,
    stream_name: str,
    *,
    numbers: int = 1,
    fewest: float | None = None,
) -> list[ResampledLimits]:
    """Return bootstrap limits of measures, and the method of each; NaN for constant draws.

    Percentiles; of measures without influence values, where that of few rows is too narrow and too
    near to one side, the outer ones of these and of Student's t (see `_extend_by_t`), if `fewest`
    is given: rows or clusters of the smaller class, or of the rarer of right and wrong predictions.

    n (m,): frequency of each kind of row; numbers: how many numbers a kind has; measures are
    functions of counts (..., m). Undefined replicates are left out and counted in the method.
    stream_name: of the random stream.
    """
    if settings.level is None or (clusters is not None and clusters.too_few):
        return [((nan, nan), NONE)] * len(measures)
    functions = [function for _, function in measures]
    draws_by_measure = _bootstrap_values(
        functions, n, clusters, settings, stream_name, numbers=numbers
    )
    return [
        _limits_of_draws(measure, function, n, draws, settings, fewest)
        for (measure, function), draws in zip(measures, draws_by_measure, strict=True)
    ]


def _limits_of_draws(
    measure: Measure,
    function: Callable[[Counts], Floats],
    n: Counts,
    draws: Floats,
    settings: IntervalSettings,
    fewest: float | None,
) -> ResampledLimits:
    """Return the limits of draws (r,) of a measure, and the method: see `resampled_limits`."""
    limits, method = _percentiles(measure, draws, settings)
    can_extend = measure.interval == "drawn" and not isnan(limits[0])
    if fewest is None or settings.level is None or not can_extend:
        return limits, method
    observed_value = float(function(n))
    limits = _extend_by_t(measure, observed_value, draws, limits, (fewest, settings.level))
    return limits, f"{method} and t"


def _bootstrap_values(
    functions: Sequence[Callable[[Counts], Floats]],
    n: Counts,
    clusters: Owned | None,
    settings: IntervalSettings,
    stream_name: str,
    *,
    numbers: int,
) -> Floats:
    """Return functions of counts in bootstrap samples, (functions, r): see `resampled_limits`."""
    blocks = [
        np.array([np.atleast_1d(function(counts)) for function in functions])
        for counts in draw_resamples(n, clusters, settings, stream_name, numbers=numbers)
    ]
    return np.concatenate(blocks, axis=1)


def _percentiles(measure: Measure, draws: Floats, settings: IntervalSettings) -> ResampledLimits:
    """Return the percentile limits of draws (r,) of a measure, NaN if constant, and the method."""
    level = 0.95 if settings.level is None else settings.level
    low, high, undefined_count = map(float, percentile_limits(draws, level=level))
    # a value constant over resamples, but for rounding, has unknown limits
    if not low < high or low + 1e-12 * abs(low) >= high:
        return (nan, nan), NONE
    interval = max(low, measure.low), min(high, measure.high)
    return interval, describe_resampling(len(draws), undefined_count, settings)


def draw_resamples(
    n: Counts,
    clusters: Owned | None,
    settings: IntervalSettings,
    stream_name: str,
    *,
    numbers: int = 1,
) -> Iterator[Counts]:
    """Return bootstrap frequencies of the kinds of rows, (b, m), by rows, weights or clusters."""
    resamples = max(100, min(settings.resamples, MOST_DRAWN // max(1, len(n) * numbers)))
    rng = random_stream(settings.seed, f"report\0{stream_name}")
    return resample_rows(n, clusters, resamples, rng)


def describe_resampling(replicates: int, undefined_count: float, settings: IntervalSettings) -> str:
    """Return the name of the method, with the resamples if fewer, and the undefined ones."""
    resamples_clause = [f"{replicates:,} resamples"] if replicates < settings.resamples else []
    undefined_clause = (
        [f"undefined in {undefined_count:,.0f} of {replicates:,}"] if undefined_count else []
    )
    return ", ".join([BOOTSTRAP, *resamples_clause, *undefined_clause])


def resample_rows(
    n: Counts, clusters: Owned | None, resamples: int, rng: np.random.Generator
) -> Iterator[Counts]:
    """Yield bootstrap counts of rows or clusters, Bayesian bootstrap of weights, (b, m)."""
    if clusters is not None:
        yield from clusters.bootstrap_counts(len(n), resamples=resamples, rng=rng)
        return
    is_present = n > 0
    for block in resampled_counts(n[is_present], resamples=resamples, rng=rng):
        frequencies = np.zeros((len(block), len(n)), np.int64)
        frequencies[:, is_present] = block
        yield frequencies


def score_auc_interval(counts: ScoreCounts, level: float) -> AucInterval:
    """Return the AUC with DeLong's interval, for plain, clustered or weighted rows."""
    class_counts = (counts.positives, counts.negatives)
    clusters = counts.clusters
    if clusters is None:
        return delong_auc(*class_counts, level=level)
    return clustered_auc(
        *class_counts, clusters, level=level, alone=isinstance(clusters, RowWeights)
    )
