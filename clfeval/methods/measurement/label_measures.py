"""Measures of 2 x 2 tables: estimates, limits, standard errors; design effects of clusters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from math import isfinite, isnan, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats, Ints
from clfeval.compare.change import DifferenceErrors, errors_of_kinds
from clfeval.compare.label_swaps import label_swaps
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned, RowWeights
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.document.cells import Estimate, Row, as_row
from clfeval.inference.influence_and_clusters import design_effect, least_effect
from clfeval.inference.proportions import NAMED_SHARES, SHARE_LIMITS
from clfeval.inference.resampling import percentile_limits, random_stream
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.methods.confidence_limits import (
    effective_share_counts,
    exact_limits,
    measure_limits,
    search_ranges,
)
from clfeval.methods.estimates import Cells, Design, Limits, estimate_column
from clfeval.methods.measurement.predictive_values import PREDICTIVE_VALUES, with_predictive_limits
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.options import IntervalSettings
from clfeval.records import dataclass, replace

ROWS, OF_A_CLASS = 30, 5  # minimum of a slice that is tested
_CELLS = 1 << 22  # shares x clusters, or patterns, handled at once


def share_design(
    clusters: Owned,
    part_patterns: Bools,
    whole_patterns: Bools,
    *,
    cautious: bool = True,
    heavy: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Return the design effects and effective numbers of clusters of s shares, (s,) each.

    part_patterns (s, m), whole_patterns (s, m) or (1, m): counts among the m patterns. heavy: as
    `design_effect`.
    """
    sums = np.empty((5, len(part_patterns)))
    block_size = max(1, _CELLS // max(1, int(clusters.size), part_patterns.shape[1]))
    for first_share in range(0, len(part_patterns), block_size):
        block = slice(first_share, first_share + block_size)
        sums[:, block] = clusters.shares(
            part_patterns[block],
            whole_patterns if len(whole_patterns) == 1 else whole_patterns[block],
        )
    # sums over clusters of the counts k of the part and n of the whole, and of their products
    k, n, kk, kn, nn = sums
    effects, sizes = design_effect(k, n, kk, kn, nn, cautious=cautious, heavy=heavy)
    if cautious and isinstance(clusters, RowWeights):
        effects = np.maximum(effects, least_effect(k, n, kk, kn, nn, clusters.heaviest))
    if cautious and clusters.too_few:  # for limits, of which there are none
        effects = np.full_like(effects, np.inf)
    return effects, sizes


@dataclass(frozen=True, slots=True, eq=False)
class TableResampler:
    """Bootstrap of a model's table by clusters; cells (4, m): 1 for patterns TP, FP, FN, TN."""

    clusters: Owned
    cells: Floats

    @classmethod
    def from_patterns(cls, patterns: PatternCounts | None, model: str) -> TableResampler | None:
        """Build the resampler of a model; None for independent, unweighted rows."""
        if patterns is None or patterns.clusters is None:
            return None
        predictions = patterns.votes[:, patterns.models.index(model)]
        return cls.from_labels(patterns.clusters, patterns.truth, predictions)

    @classmethod
    def from_labels(cls, clusters: Owned, truth: Bools, says: Bools) -> TableResampler:
        """Build the resampler of labels and predictions of the patterns, (m,) each."""
        kinds = [truth & says, ~truth & says, truth & ~says, ~truth & ~says]
        return cls(clusters, np.array(kinds, np.float64))

    def tables(self, resamples: int, rng: np.random.Generator) -> Floats:
        """Return TP, FP, FN and TN of bootstrap tables, (4, r)."""
        return self.clusters.resample(self.cells, resamples=resamples, rng=rng)


def class_sizes(patterns: PatternCounts | ClassPatterns, classes: int) -> Floats:
    """Return the effective rows, or clusters n² / sum n_c², of each class, (classes,)."""
    in_class = np.array([patterns.truth == class_index for class_index in range(classes)])
    if isinstance(patterns.clusters, RowWeights):
        return np.array([patterns.clusters.among(is_of_class).size for is_of_class in in_class])
    class_counts = in_class @ patterns.n.astype(np.float64)
    if patterns.clusters is None or not patterns.fractional:
        return np.asarray(class_counts / patterns.unit)
    *_, class_squares = patterns.clusters.shares(in_class, in_class)  # the last sums are of n²
    return np.asarray(
        np.divide(
            class_counts**2, class_squares, out=np.zeros_like(class_counts), where=class_squares > 0
        )
    )


def smallest_class_size(patterns: PatternCounts | ClassPatterns, classes: int = 2) -> float:
    """Return the effective rows, or clusters, of the smallest class; 0 of too few clusters."""
    if patterns.clusters is not None and patterns.clusters.too_few:
        return 0.0
    sizes = effective_class_sizes(patterns, classes)
    return float(sizes[sizes > 0].min())


def enough_rows(patterns: PatternCounts) -> tuple[float, bool]:
    """Return the rows of a slice, and whether they suffice to compare models: 30, 5 a class."""
    has_enough = (
        class_sizes(patterns, 2).sum() >= ROWS and smallest_class_size(patterns) >= OF_A_CLASS
    )
    return float(patterns.rows), bool(has_enough)


def effective_class_sizes(patterns: PatternCounts | ClassPatterns, classes: int) -> Floats:
    """Return the rows, or effective clusters n² / sum n_c², of each class, (classes,)."""
    if not isinstance(patterns.clusters, ClusterCounts):
        sizes = class_sizes(patterns, max(classes, int(patterns.truth.max(initial=0)) + 1))
        return sizes if classes > 1 else sizes.sum(keepdims=True)
    in_class = np.array(
        [(patterns.truth == class_index) | (classes == 1) for class_index in range(classes)]
    )
    class_counts = in_class @ patterns.n.astype(np.float64)
    *_, class_squares = patterns.clusters.shares(in_class, in_class)  # the last sums are of n²
    return np.asarray(
        np.divide(
            class_counts**2, class_squares, out=np.zeros_like(class_counts), where=class_counts > 0
        )
    )


EXACT, REGION = "Clopper-Pearson", "score region"
OF_KIND = {  # where the class ratio is irrelevant or fixed
    "linear": "Newcombe square-and-add",
    "region": REGION,
    "logit": "Mercaldo logit",
    "ratio": "Katz log ratio",
    "log": "Woolf log odds ratio",
    "derived": "transformed interval",
}
WEIGHED = "square-and-add of Wilson intervals"  # of a net benefit
INFLUENCE, BOOTSTRAP, NONE = "influence", "bootstrap", "none"
TWO_CLASSES = "binary"
_STEP = 0.01  # relative step of a count, extrapolated twice
Function = Callable[[Confusion], Floats]


@dataclass(frozen=True, slots=True)
class LabelLimitSettings:
    """Settings of limits; of each table: random stream, resampler, clusters or weights."""

    intervals: IntervalSettings
    names: Sequence[str]
    clusters: Sequence[TableResampler | None]
    cluster_counts: Sequence[float]


class MeasureEstimate(NamedTuple):
    """A value, its standard error on the measure's own scale (NaN for none), and the method.

    bound: how far the value can be from that of single scores, where scores are in buckets.
    """

    value: Estimate
    error: float
    method: str
    bound: float | None = None

    @classmethod
    def undefined(cls, reason: str) -> MeasureEstimate:
        """Return the estimate of an undefined measure."""
        return cls(Estimate(None, reason=reason), nan, NONE)


def estimate_label_measure(
    requested: RequestedMeasure,
    counts: ConfusionCounts,
    settings: LabelLimitSettings,
    ranges: Mapping[str, Limits] | None = None,
) -> list[MeasureEstimate]:
    """Return a measure of each table, with limits by the requested or the default method.

    ranges: default limits of measures, from `label_ranges`; computed where absent.
    """
    cells = Cells.at_prevalence(counts)
    function = requested.measure.function
    values = np.asarray(function(float_confusion(cells)), np.float64)
    values = np.broadcast_to(values, cells.tp.shape)
    errors = standard_errors(function, cells, settings.cluster_counts)
    limits, method = _label_limits(requested, counts, cells, settings, ranges)
    methods = np.full(len(values), method, object)
    if limits is not None and method == BOOTSTRAP:
        lower, upper = limits
        is_constant = ~(lower < upper) & np.isfinite(values)
        if is_constant.any():
            default_limits, methods[is_constant] = _by_record(requested, counts, settings, ranges)
            default_lower, default_upper = default_limits
            limits = (
                np.where(is_constant, default_lower, lower),
                np.where(is_constant, default_upper, upper),
            )
    estimates = estimate_column(values, limits, cells, requested.measure.undefined)
    return [*map(MeasureEstimate, estimates, errors.tolist(), methods.tolist())]


def _label_limits(
    requested: RequestedMeasure,
    counts: ConfusionCounts,
    cells: Cells,
    settings: LabelLimitSettings,
    ranges: Mapping[str, Limits] | None,
) -> tuple[Limits | None, str]:
    """Return the limits of a measure by the requested or the default method, and its name."""
    measure = requested.measure
    level = settings.intervals.level
    interval = settings.intervals.method
    if level is None:
        return None, NONE
    if interval == "bootstrap":
        return _bootstrap_limits(measure.function, cells, settings, level), BOOTSTRAP
    if interval in NAMED_SHARES and measure.share is not None and not measure.random_totals:
        k, n = effective_share_counts(measure, cells, level)
        return SHARE_LIMITS[interval](k, n, level=level), interval.title()
    return _by_record(requested, counts, settings, ranges)


def measure_row(
    slice_name: str | None,
    model: str,
    measure_name: str,
    estimate: MeasureEstimate,
    estimator: str = TWO_CLASSES,
    of_class: str | None = None,
) -> Row:
    """Return the row of a measure of a model in a slice, as table `measures` has it."""
    return as_row(
        {
            "slice": slice_name,
            "model": model,
            "measure": measure_name,
            "estimator": estimator,
            "class": of_class,
            "value": estimate.value,
            "se": None if isnan(estimate.error) else estimate.error,
            "method": estimate.method,
            **({} if estimate.bound is None else {"bound": estimate.bound}),
        }
    )


def float_confusion(cells: Cells | ConfusionCounts) -> Confusion:
    """Return the cells of 2 x 2 tables as floats."""
    return Confusion(
        *(np.asarray(cell, np.float64) for cell in (cells.tp, cells.fp, cells.fn, cells.tn))
    )


def label_ranges(
    measures: Iterable[RequestedMeasure], counts: ConfusionCounts, settings: IntervalSettings
) -> dict[str, Limits]:
    """Return the default limits of measures that are ranges over a region, found together."""
    if settings.level is None or settings.method == "bootstrap":
        return {}
    names = [measure.measure.id for measure in measures if not measure.settings]
    design = Design(settings.totals)
    return search_ranges(names, Cells.at_prevalence(counts), level=settings.level, design=design)


def _by_record(
    requested: RequestedMeasure,
    counts: ConfusionCounts,
    settings: LabelLimitSettings,
    ranges: Mapping[str, Limits] | None,
) -> tuple[Limits, str]:
    """Return the default confidence limits of a measure, and the name of their method."""
    measure = requested.measure
    parameters = requested.settings
    level = settings.intervals.level or 0.95
    if measure.id in ("ppv_at", "npv_at"):  # where the class ratio is known
        predictive_value = measure.id[:3]
        cells = Cells.at_prevalence(counts, parameters["prevalence"])
        return measure_limits(predictive_value, cells, level=level), OF_KIND[measure.interval]
    cells = Cells.at_prevalence(counts)
    design = Design(settings.intervals.totals)
    beta = parameters.get("beta", 1.0)
    exact_interval = exact_limits(measure.id, cells, level=level, design=design, beta=beta)
    if exact_interval is not None:
        return exact_interval, EXACT if measure.share is not None else f"{EXACT}, transformed"
    has_fixed_ratio = design.totals == "fixed" or measure.invariant
    limits = measure_limits(
        measure.id,
        cells,
        level=level,
        design=design,
        computed=None if parameters else ranges,
        **parameters,
    )
    return limits, OF_KIND[measure.interval] if has_fixed_ratio else REGION


def _bootstrap_limits(
    function: Function, cells: Cells, settings: LabelLimitSettings, level: float
) -> Limits:
    """Return percentile limits over bootstrap tables: multinomial, or by clusters or weights."""
    limits = np.full((2, len(cells.tp)), np.nan)
    resamples = settings.intervals.resamples
    for table_index, stream_name in enumerate(settings.names):
        rng = random_stream(settings.intervals.seed, f"report\0{stream_name}")
        resampler = settings.clusters[table_index]
        if resampler is not None and resampler.clusters.too_few:
            continue  # too few clusters have no limits
        if resampler is None:
            cell_counts = np.array(
                [
                    cells.tp[table_index],
                    cells.fp[table_index],
                    cells.fn[table_index],
                    cells.tn[table_index],
                ],
                np.float64,
            )
            if not cell_counts.sum():
                continue
            probabilities = cell_counts / cell_counts.sum()
            draws = rng.multinomial(int(cell_counts.sum()), probabilities, size=resamples)
            resampled_cells = draws.T.astype(np.float64)
        else:
            resampled_cells = resampler.tables(resamples, rng)
        low, high, _ = percentile_limits(function(Confusion(*resampled_cells)), level=level)
        limits[:, table_index] = low, high
    lower, upper = limits
    return lower, upper


def cell_influence(function: Function, table: Confusion) -> Floats:
    """Return the influence of a row of each cell on a measure: (4, m).

    f = M d theta / d n_c   for the cells TP, FP, FN, TN
    Central differences at three steps, extrapolated; 0 for an empty cell.
    Source: Hampel 1974, Journal of the American Statistical Association 69:383.
    """
    cells = [np.asarray(cell, np.float64) for cell in (table.tp, table.fp, table.fn, table.tn)]
    row_count = sum(cells)
    influence = np.zeros((4, *np.shape(row_count)))
    for cell_index, cell in enumerate(cells):
        slopes = []
        for relative_step in (_STEP, _STEP / 2, _STEP / 4):
            with np.errstate(all="ignore"):
                larger_cells = [
                    *cells[:cell_index],
                    cell * (1 + relative_step),
                    *cells[cell_index + 1 :],
                ]
                smaller_cells = [
                    *cells[:cell_index],
                    cell * (1 - relative_step),
                    *cells[cell_index + 1 :],
                ]
                difference = function(Confusion(*larger_cells)) - function(
                    Confusion(*smaller_cells)
                )
                slopes.append(np.asarray(difference / (2 * relative_step * cell)))
        with np.errstate(invalid="ignore"):
            first_extrapolations = [
                (4 * fine_slope - coarse_slope) / 3 for coarse_slope, fine_slope in pairwise(slopes)
            ]
            slope = (16 * first_extrapolations[1] - first_extrapolations[0]) / 15
            influence[cell_index] = np.where(cell > 0, slope * row_count, 0.0)
    return influence


def standard_errors(function: Function, cells: Cells, cluster_counts: Sequence[float]) -> Floats:
    """Return the standard error of a measure of m tables, (m,).

    sqrt(sum n_c f_c²) / M, over clusters sqrt(C / (C - 1) sum (sum f)²) / M
    """
    table = float_confusion(cells)
    tp, fp, fn, tn = cell_influence(function, table)
    slopes = np.stack([tp - fn, fp - tn, fn, tn], axis=1)  # of TP, FP, P and N
    if cells.sums is None:
        squares = tp**2 * table.tp + fp**2 * table.fp + fn**2 * table.fn + tn**2 * table.tn
    else:
        clusters = np.array(cluster_counts, np.float64)
        # undefined with one cluster
        factor = np.where(clusters > 1, clusters / np.maximum(clusters - 1, 1), np.nan)
        squares = np.einsum("mi,mij,mj->m", slopes, cells.sums, slopes) * factor
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / table.total)


def label_influence(patterns: PatternCounts, measure: Measure) -> tuple[Floats, Floats]:
    """Return a measure of k models, (k,), and the influence values of the patterns, (k, m)."""
    truth = patterns.truth[:, None]
    votes = patterns.votes
    table = _tables(patterns)
    influence = cell_influence(measure.function, table)
    cell_indices = np.where(truth, np.where(votes, 0, 2), np.where(votes, 1, 3))
    values = np.asarray(measure.function(table), np.float64)
    return values, np.asarray(influence[cell_indices, np.arange(votes.shape[1])].T)


def label_estimates(
    patterns: PatternCounts, requested: RequestedMeasure, excluded: Collection[str] = ()
) -> PairedEstimates | None:
    """Return paired estimates by a measure of 2 x 2 tables; None where a class has no row.

    A row that changes sides counts J = |f(TP) - f(FN)| or |f(FP) - f(TN)|, of the table with half a
    row more in each cell: see `flip_correction`. excluded: models left out.
    """
    if patterns.truth.all() or not patterns.truth.any():
        return None
    values, influence = label_influence(patterns, requested.measure)
    model_indices = [
        model_index
        for model_index, model_name in enumerate(patterns.models)
        if model_name not in excluded and isfinite(values[model_index])
    ]
    if not model_indices:
        return None
    row_changes = _row_changes(patterns, requested.measure, model_indices)
    paired = estimates_from_influence(
        requested,
        patterns,
        model_indices,
        values[model_indices],
        influence[model_indices],
        row_changes,
    )
    if paired is None:
        return None
    affects_measure = row_changes.jumps.max(axis=0) > 0
    swaps = label_swaps(patterns, requested.measure, model_indices, affects_measure)
    paired = replace(paired, swaps=swaps)
    if requested.measure.id not in PREDICTIVE_VALUES:
        return paired
    return with_predictive_limits(
        paired, requested, ConfusionCounts.from_patterns(patterns), model_indices
    )


def _row_changes(patterns: PatternCounts, measure: Measure, models: Sequence[int]) -> RowChanges:
    """Return how a measure of some models changes by one row, with half a row more in each cell."""
    row_weight = float(patterns.n.sum() / class_sizes(patterns, 2).sum())
    table = _tables(patterns)
    cells = [cell[models] + row_weight / 2 for cell in (table.tp, table.fp, table.fn, table.tn)]
    influence = cell_influence(measure.function, Confusion(*cells))
    influence_tp, influence_fp, influence_fn, influence_tn = influence
    tp, fp, fn, tn = cells
    # of a negative, then of a positive
    jumps = np.abs([influence_fp - influence_tn, influence_tp - influence_fn]).T
    shares = np.array([fp + tn, tp + fn]).T / sum(cells)[:, None]
    return RowChanges(jumps, shares, row_weight)


@dataclass(frozen=True, slots=True, eq=False)
class RowChanges:
    """How estimates of k models change by one row: jumps (k, C), J by class.

    shares (C,) or (k, C): of the rows of each class; row: the weight of one row.
    """

    jumps: Floats
    shares: Floats
    row: float


def estimates_from_influence(
    requested: RequestedMeasure,
    patterns: PatternCounts | ClassPatterns,
    models: Sequence[int],
    values: Floats,
    influence: Floats,
    changes: RowChanges,
) -> PairedEstimates | None:
    """Return paired estimates of k models, from influence values of the patterns, (k, m).

    models: their indices. changes: of each estimate by one row.
    """
    jumps = changes.jumps
    class_count = jumps.shape[1]
    effective_sizes = effective_class_sizes(patterns, class_count)
    smallest_size = smallest_class_size(patterns, class_count)
    affects_measure = (patterns.n > 0) & (jumps.max(axis=0) > 0)[patterns.truth.astype(int)]
    class_jumps = jumps[:, effective_sizes > 0]
    steps = (jumps * changes.shares)[:, effective_sizes > 0]
    corrections = flip_correction(
        patterns.votes[affects_measure][:, models], class_jumps.T * changes.row
    )
    errors = errors_of_kinds(
        influence, patterns.n, patterns.clusters, fewest=smallest_size, flips=corrections
    )
    effective_sizes = effective_sizes[effective_sizes > 0]
    if np.allclose(class_jumps, class_jumps[:, :1], rtol=1e-9):  # equal for rows of all classes
        steps = class_jumps[:, :1]
        effective_sizes = effective_class_sizes(patterns, 1)
    names = [patterns.models[model_index] for model_index in models]
    return make_paired_estimates(
        requested, names, values, errors, smallest_size, (steps, effective_sizes)
    )


def flip_correction(votes: Ints | Bools, jumps: Floats) -> Floats:
    """Return the half-row correction of the squares of differences of k models, (k, k).

    sum over classes of (J_i² + J_j²) / 2 where i and j differ in any row.
    votes (m, k): of the rows that affect the measure; jumps (classes, k): J.
    Source: Agresti and Min 2005, Statistics in Medicine 24:729, of shares.
    """
    differs = np.array(
        [(votes[:, [model_index]] != votes).any(axis=0) for model_index in range(votes.shape[1])]
    )
    squares = (jumps**2).sum(axis=0)
    return np.where(differs, (squares[:, None] + squares) / 2, 0.0)


def make_paired_estimates(
    requested: RequestedMeasure,
    models: Sequence[str],
    values: Floats,
    errors: DifferenceErrors,
    fewest: float,
    steps: tuple[Floats, Floats],
) -> PairedEstimates | None:
    """Return paired estimates; None without models, or where a covariance is unknown.

    fewest: rows, or clusters, of the smallest class. steps: changes (k, c) of the estimates when
    all rows of one of c kinds change, and the sizes of the kinds.
    """
    covariance = errors.covariance
    if not models or (covariance is not None and not np.isfinite(covariance).all()):
        return None
    magnitudes = np.maximum(np.abs(values)[:, None], np.abs(values))  # smaller errors are rounding
    errors = replace(
        errors, errors=np.where(errors.errors <= 1e-12 * magnitudes, 0.0, errors.errors)
    )
    names = tuple(models)
    return PairedEstimates(requested.name, requested.measure, names, values, errors, fewest, *steps)


def _tables(patterns: PatternCounts) -> Confusion:
    truth = patterns.truth[:, None]
    votes = patterns.votes
    cells = (truth & votes, ~truth & votes, truth & ~votes, ~truth & ~votes)
    return Confusion(*((patterns.n @ cell).astype(np.float64) for cell in cells))
