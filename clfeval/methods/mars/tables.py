"""Tables of MARS: models, pairs and subsets of each slice, and sweeps over thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.clusters_and_weights import RowWeights
from clfeval.counts.patterns import CELLS, TargetCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.scores import merge_group_scores, rank_scores, read_scores
from clfeval.document import ResultNote
from clfeval.document.cells import Estimate, Row, Rows, as_row
from clfeval.document.rows import CellColumns, LazyRows
from clfeval.inference.influence_and_clusters import count_divisor
from clfeval.inference.proportions import flip_test, sign_test, weighted_sign_test
from clfeval.inference.resampling import random_stream
from clfeval.methods.estimates import Estimates, rows_from_columns, share_estimates
from clfeval.methods.mars import best_subsets
from clfeval.methods.mars.best_subsets import ChosenSubset, SubsetScores, target_patterns
from clfeval.methods.mars.options import MEASURE, MarsOptions
from clfeval.methods.mars.selection_bias import (
    CorrectedSet,
    correct_best_set,
    correct_set_within_effort,
    undefined_correction,
)
from clfeval.methods.measurement.label_measures import share_design
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

_SHARES_OF_BOTH_CLASSES = ("yield", "accuracy", "precision")  # shares of rows of both classes
MOST_CUTS = 2000  # thresholds listed by default; of more, evenly spaced ones
BLOCK = 1024  # rows of subsets made at once
SHARED = ("slice", "models", "covered", "effort", "yield")  # columns of subsets, not of models
NO_CLUSTERS: Mapping[str, Floats] = {}

# of named shares of s subsets, the patterns of numerator and denominator, (s, p + q)
ShareParts = Mapping[str, tuple[Bools, Bools]]


def sign_test_p(counts: TargetCounts, first_patterns: Bools, second_patterns: Bools) -> float:
    """Return the p-value of the sign test of rows of the first patterns against the second.

    first_patterns, second_patterns (p,): disjoint patterns of the target class. The test is exact
    for rows; for clusters it is the sign-flip permutation test, for weighted rows it has Kish's
    effective number.
    """
    row_sums = (counts.hit_n @ first_patterns).item(), (counts.hit_n @ second_patterns).item()
    if isinstance(counts.clusters, RowWeights):
        squares = counts.clusters.squares[: len(first_patterns)] @ (
            first_patterns | second_patterns
        )
        return weighted_sign_test(*row_sums, float(squares))
    if counts.clusters is None:
        return sign_test(*row_sums)
    differences = np.zeros(len(counts.hit_n) + len(counts.alarm_n))
    differences[: len(first_patterns)] = first_patterns.astype(np.float64) - second_patterns
    (cluster_totals,) = counts.clusters.totals(differences[None])
    return flip_test(cluster_totals)


@dataclass(frozen=True, slots=True)
class TargetSlice:
    """Counts of one slice by target class, each group merged into one model."""

    slice_name: str | None
    counts: TargetCounts
    options: MarsOptions

    @property
    def bootstrap(self) -> np.random.Generator:
        """The random generator of the bootstrap of chosen sets."""
        return random_stream(self.options.seed, f"chosen sets\0{self.slice_name or ''}")

    def detected_share(self, choice: ChosenSubset) -> Estimate:
        """Return the share of target rows that a set detects, with its interval."""
        counts = self.counts
        divisor = None
        if counts.clusters is not None and self.options.confidence is not None:
            patterns = np.concatenate([counts.hits, counts.alarms])
            detects = best_subsets.overlap_counts(patterns, choice.scores.members) > 0
            is_target = target_patterns(counts)[None]
            design = share_design(counts.clusters, detects & is_target, is_target)
            divisor = count_divisor(*design, level=self.options.level)
        measure = MEASURE[self.options.target]
        target_total = counts.hit_n.sum().item()
        (share,) = self.shares(measure, choice.scores.covered, target_total, divisor)
        return share

    def shares(
        self, measure: str, numerators: Counts, denominators: Counts, divisors: Floats | None = None
    ) -> Estimates:
        """Return estimates of a measure that is a share of rows."""
        return share_estimates(
            measure, numerators, denominators, **self.options.interval_arguments, divided=divisors
        )


def named_divisors(
    slices: Sequence[TargetSlice], parts_by_slice: Iterable[ShareParts]
) -> Mapping[str, Floats]:
    """Return the divisors of named shares of subsets, of all slices concatenated.

    parts_by_slice: the masks of each slice; a denominator may be (1, p + q). Empty without clusters
    or a level.
    """
    level = slices[0].options.confidence
    if level is None or slices[0].counts.clusters is None:
        return NO_CLUSTERS
    divisors: dict[str, list[Floats]] = {}
    for target_slice, share_parts in zip(slices, parts_by_slice, strict=True):
        clusters = target_slice.counts.clusters
        is_target = target_patterns(target_slice.counts)
        largest_weight = 0.0
        assert clusters is not None
        if isinstance(clusters, RowWeights):  # as in `share_divisor`
            largest_weight = max(
                clusters.among(rows).weight for rows in (is_target, ~is_target) if rows.any()
            )
        for measure, masks in share_parts.items():
            heavy_weight = largest_weight if measure in _SHARES_OF_BOTH_CLASSES else 0.0
            design = share_design(clusters, *masks, heavy=heavy_weight)
            divisors.setdefault(measure, []).append(count_divisor(*design, level=level))
    return {measure: np.concatenate(slice_divisors) for measure, slice_divisors in divisors.items()}


def _subset_shares(counts: TargetCounts, members: Bools, rule: str) -> ShareParts:
    """Return the parts of yield, ShineThrough and Occlusion of subsets (s, k)."""
    patterns = np.concatenate([counts.hits, counts.alarms])
    is_target = target_patterns(counts)
    detects, detects_alone, missed_all, missed_any = best_subsets.detection_masks(patterns, members)
    misses = missed_all if rule == "all" else missed_any
    is_detected = (patterns.any(axis=1) & is_target)[None]
    return {
        "yield": (detects & is_target, detects),
        "shine_through": (detects_alone & is_target, is_detected),
        "occlusion": (misses & is_target, is_detected),
    }


def _model_shares(counts: TargetCounts, target: str) -> ShareParts:
    """Return the parts of the accuracy, precision and recall of each model."""
    is_predicted = np.concatenate([counts.hits, counts.alarms]).T
    is_positive = target_patterns(counts)
    if target == "negative":
        is_predicted = ~is_predicted
        is_positive = ~is_positive
    return {
        "accuracy": (is_predicted == is_positive, np.ones_like(is_positive)[None]),
        "precision": (is_predicted & is_positive, is_predicted),
        "recall": (is_predicted & is_positive, is_positive[None]),
    }


def subset_columns(slices: Sequence[TargetSlice], scores: Sequence[SubsetScores]) -> CellColumns:
    """Return the columns common to all tables of subsets, computed for all slices at once."""
    subsets = SubsetScores.joined(scores)
    models = slices[0].counts.models
    options = slices[0].options
    unit = slices[0].counts.unit
    scored_slices = list(zip(slices, scores, strict=True))
    share_parts = (
        _subset_shares(target_slice.counts, slice_scores.members, options.occlusion)
        for target_slice, slice_scores in scored_slices
    )
    divisors = named_divisors(slices, share_parts)
    detected_totals = [best_subsets.total_detected(target_slice.counts) for target_slice in slices]
    exclusive = ExclusiveCounts(
        detections=subsets.exclusive_found,
        misses=subsets.missed_all if options.occlusion == "all" else subsets.missed_any,
        detected=np.repeat(detected_totals, [len(slice_scores) for slice_scores in scores]),
        has_other_models=np.asarray(~subsets.members.all(axis=1)),
        unit=unit,
    )
    return {
        "slice": [
            target_slice.slice_name
            for target_slice, slice_scores in scored_slices
            for _ in slice_scores.covered
        ],
        "models": [[models[i] for i in np.flatnonzero(is_member)] for is_member in subsets.members],
        "covered": from_units(subsets.covered, unit).tolist(),
        "effort": from_units(subsets.effort, unit).tolist(),
        "yield": slices[0].shares("yield", subsets.covered, subsets.effort, divisors.get("yield")),
        **exclusive_columns(exclusive, options, divisors),
    }


@dataclass(frozen=True, slots=True, eq=False)
class ExclusiveCounts:
    """Unique detections and misses of m models or subsets, (m,) each, in units of 1 / `unit`.

    detected: target rows that any model detects (TTP). has_other_models: whether some model is not
    in the subset.
    """

    detections: Counts
    misses: Counts
    detected: Counts
    has_other_models: Bools
    unit: float


def exclusive_columns(
    exclusive: ExclusiveCounts,
    options: MarsOptions,
    divisors: Mapping[str, Floats] = NO_CLUSTERS,
    *,
    intervals: bool = True,
) -> CellColumns:
    """Return unique detections and misses, and their shares of TTP; divisors: by measure."""
    interval_arguments = options.interval_arguments if intervals else {"level": None}
    shine_through, occlusion = (
        share_estimates(
            measure, counts, exclusive.detected, **interval_arguments, divided=divisors.get(measure)
        )
        for measure, counts in (
            ("shine_through", exclusive.detections),
            ("occlusion", exclusive.misses),
        )
    )
    undefined_share = Estimate(None, reason="no_other_model")
    is_defined = exclusive.has_other_models | (np.asarray(exclusive.detected) == 0)
    detection_column, miss_column = "exclusive_tp", "exclusive_fn"
    if options.target == "negative":
        detection_column, miss_column = "exclusive_tn", "exclusive_fp"
    return {
        detection_column: from_units(exclusive.detections, exclusive.unit).tolist(),
        "shine_through": shine_through,
        miss_column: from_units(exclusive.misses, exclusive.unit).tolist(),
        "occlusion": [
            share if has_share else undefined_share
            for share, has_share in zip(occlusion, is_defined, strict=True)
        ],
    }


@dataclass(frozen=True, slots=True)
class SweepCounts:
    """Counts at c thresholds for k models on the target rows; score >= threshold is positive.

    cuts (c,) ascending; detected (c,) TTP; hits, exclusive, missed_all, missed_any (k, c): all in
    units.
    """

    cuts: Floats
    detected: Counts
    hits: Counts
    exclusive: Counts
    missed_all: Counts
    missed_any: Counts


def distinct_thresholds(scores: Sequence[Floats]) -> Floats:
    """Return the distinct scores of the target rows, ascending; inf becomes the largest float."""
    distinct_scores = np.unique(
        np.concatenate([np.unique(model_scores) for model_scores in scores])
    )
    return np.unique(
        np.minimum(distinct_scores[distinct_scores > -np.inf], np.finfo(np.float64).max)
    )


def sweep_thresholds(scores: Sequence[Floats], n: Counts, target: str, cuts: Floats) -> SweepCounts:
    """Count detections and misses at the given thresholds.

    With top1 >= top2 the highest scores of a row and low1 <= low2 the lowest: the highest model
    alone is positive for cuts in (top2, top1], the lowest alone is not for cuts in (low1, low2].
    For the positive class the first are unique detections and the second unique misses; for the
    negative class vice versa.
    Shapes: k score columns of length p; n (p,) counts or weights. O((k + 4) p log p).
    """
    top1, top2, highest_model = _two_highest(scores)
    low1, low2, lowest_model = _two_highest([-model_scores for model_scores in scores])
    low1 = -low1
    low2 = -low2

    def count_below(values: Floats, weights: Counts) -> Counts:
        """Return how many values are below each threshold."""
        order = np.argsort(values)
        cumulative_counts = np.concatenate([[weights.dtype.type(0)], np.cumsum(weights[order])])
        return cumulative_counts[np.searchsorted(values[order], cuts, side="left")]

    def count_between(low: Floats, high: Floats, in_rows: Bools) -> Counts:
        """Return in how many of the rows each threshold is above low, and at most high."""
        return count_below(low[in_rows], n[in_rows]) - count_below(high[in_rows], n[in_rows])

    models = range(len(scores))
    highest_alone = np.array(
        [count_between(top2, top1, highest_model == model_index) for model_index in models]
    )
    lowest_alone = np.array(
        [count_between(low1, low2, lowest_model == model_index) for model_index in models]
    )
    counts_below = np.array([count_below(model_scores, n) for model_scores in scores])
    if target == "negative":
        detected = count_below(low1, n)
        hits = counts_below
        exclusive_hits = lowest_alone
        exclusive_misses = highest_alone
    else:
        detected = n.sum() - count_below(top1, n)
        hits = n.sum() - counts_below
        exclusive_hits = highest_alone
        exclusive_misses = lowest_alone
    if len(scores) == 1:  # with a single model every detection is unique
        exclusive_hits = hits
        exclusive_misses = np.zeros_like(exclusive_misses)
    return SweepCounts(cuts, detected, hits, exclusive_hits, exclusive_misses, detected - hits)


def _two_highest(columns: Sequence[Floats]) -> tuple[Floats, Floats, Ints]:
    """Return the highest and second highest value of each row, and the column of the highest."""
    highest = columns[0].copy()
    second_highest = np.full_like(highest, -np.inf)
    highest_column = np.zeros(len(highest), np.int64)
    for column_index, column in enumerate(columns[1:], start=1):
        is_higher = column > highest
        second_highest = np.where(is_higher, highest, np.maximum(second_highest, column))
        highest = np.where(is_higher, column, highest)
        highest_column[is_higher] = column_index
    return highest, second_highest, highest_column


def choose_thresholds(cuts: Floats, points: int | None) -> Floats:
    """Return evenly spaced thresholds with both ends; all of them if there are at most `points`."""
    largest_count = points or MOST_CUTS
    if len(cuts) <= largest_count:
        return cuts
    return cuts[np.unique(np.linspace(0, len(cuts) - 1, largest_count).round().astype(np.int64))]


def mars_tables(predictions: PredictionCounts, options: MarsOptions) -> dict[str, Rows]:
    """Return the tables of models, pairs and requested subsets, of all slices."""
    target = options.target
    slices = [
        TargetSlice(slice_name, counts.grouped(options.group, target).targets(target), options)
        for slice_name, counts in predictions.slices.items()
    ]
    grouped_models = {model for group_models in options.group.values() for model in group_models}
    thresholds = {
        name: threshold
        for name, threshold in predictions.thresholds.items()
        if name not in grouped_models
    }
    tables: dict[str, Rows] = {
        "models": _model_rows(slices, thresholds),
        "pairs": _pair_rows(slices),
    }
    if options.subsets is not None:
        subset_scores = [
            best_subsets.score_subsets_up_to(target_slice.counts, options.subsets)
            for target_slice in slices
        ]
        tables["subsets"] = subset_table(list(zip(slices, subset_scores, strict=True)))
    if (largest_size := options.best) is not None:
        tables["best"] = [
            row for target_slice in slices for row in _best_rows(target_slice, largest_size)
        ]
    if (effort_limit := options.max_effort) is not None:
        tables["max_effort"] = [
            row
            for target_slice in slices
            for row in _within_effort_rows(target_slice, effort_limit)
        ]
    return tables


def _within_effort_rows(target_slice: TargetSlice, effort: float) -> Iterator[Row]:
    """Yield the row of the set that detects most within a number of flagged rows, if any fits."""
    choice = best_subsets.best_within_effort(target_slice.counts, effort)
    if choice is not None:
        share = target_slice.detected_share(choice)
        corrected = correct_set_within_effort(
            target_slice.counts, choice, share, effort, target_slice.bootstrap
        )
        yield as_row(_chosen_subset_row(target_slice, choice, corrected))


def _model_rows(slices: Sequence[TargetSlice], thresholds: Mapping[str, float | None]) -> list[Row]:
    """Return the rows of all models of every slice; thresholds: of models outside groups."""
    models = slices[0].counts.models
    target = slices[0].options.target
    unit = slices[0].counts.unit
    cells = np.concatenate(
        [_confusion_cells(target_slice.counts, target) for target_slice in slices], axis=1
    )
    tp, fp, fn, tn = cells
    divisors = named_divisors(
        slices, (_model_shares(target_slice.counts, target) for target_slice in slices)
    )
    single_models = np.eye(len(models), dtype=bool)
    columns_of_subsets = subset_columns(
        slices,
        [best_subsets.score_subsets(target_slice.counts, single_models) for target_slice in slices],
    )
    shares = {
        measure: slices[0].shares(measure, numerators, denominators, divisors.get(measure))
        for measure, numerators, denominators in (
            ("accuracy", tp + tn, tp + fp + fn + tn),
            ("precision", tp, tp + fp),
            ("recall", tp, tp + fn),
        )
    }
    return rows_from_columns(
        {
            "slice": [target_slice.slice_name for target_slice in slices for _ in models],
            "model": models * len(slices),
            "threshold": [thresholds.get(model) for model in models] * len(slices),
            **{
                cell: from_units(cell_counts, unit).tolist()
                for cell, cell_counts in zip(CELLS, cells, strict=True)
            },
            **shares,
            **{name: column for name, column in columns_of_subsets.items() if name not in SHARED},
        }
    )


def _confusion_cells(counts: TargetCounts, target: str) -> list[Counts]:
    """Return TP, FP, FN and TN of every model, (k,) each."""
    hits = counts.hit_n @ counts.hits
    alarms = counts.alarm_n @ counts.alarms
    cells = [hits, alarms, counts.hit_n.sum() - hits, counts.alarm_n.sum() - alarms]
    # with negative target a hit is a true negative, an alarm a false negative
    return cells if target == "positive" else cells[::-1]


def _pair_rows(slices: Sequence[TargetSlice]) -> list[Row]:
    """Return the rows of all pairs of every slice, with the sign test of unique detections."""
    pairs = best_subsets.model_combinations(len(slices[0].counts.models), 2)
    first_alone: list[float] = []
    second_alone: list[float] = []
    p_values: list[float] = []
    for target_slice in slices:
        counts = target_slice.counts
        only_detects = counts.hits & (counts.hits.sum(axis=1, keepdims=True) == 1)
        alone_counts = from_units(counts.hit_n @ only_detects, counts.unit)
        for pair in pairs:
            first_count, second_count = alone_counts[pair].tolist()
            first_alone.append(first_count)
            second_alone.append(second_count)
            p_values.append(sign_test_p(counts, *only_detects.T[pair]))
    scores = [best_subsets.score_subsets(target_slice.counts, pairs) for target_slice in slices]
    return rows_from_columns(
        {
            **subset_columns(slices, scores),
            "first_alone": first_alone,
            "second_alone": second_alone,
            "p_value": p_values,
        }
    )


def subset_table(scored_slices: Sequence[tuple[TargetSlice, SubsetScores]]) -> Rows:
    """Return the rows of all subsets as a lazy table, computed a block at a time."""
    row_starts = np.cumsum([0, *(len(scores) for _, scores in scored_slices)])
    blocks: dict[tuple[int, int], list[Row]] = {}  # the last one only

    def make_row(row_index: int) -> Row:
        slice_number = int(np.searchsorted(row_starts, row_index, side="right")) - 1
        block_number, row_offset = divmod(row_index - int(row_starts[slice_number]), BLOCK)
        if (slice_number, block_number) not in blocks:
            blocks.clear()
            target_slice, scores = scored_slices[slice_number]
            subset_indices = np.arange(
                block_number * BLOCK, min((block_number + 1) * BLOCK, len(scores))
            )
            blocks[slice_number, block_number] = rows_from_columns(
                subset_columns([target_slice], [scores.take(subset_indices)])
            )
        return blocks[slice_number, block_number][row_offset]

    return LazyRows(int(row_starts[-1]), make_row)


def _chosen_subset_row(
    target_slice: TargetSlice, choice: ChosenSubset, corrected: CorrectedSet, **gain: float
) -> dict[str, Any]:
    """Return the row of a chosen set; gain: the column of this name, if the table has it."""
    (row,) = rows_from_columns(subset_columns([target_slice], [choice.scores]))
    return {
        "slice": None,
        "size": int(choice.scores.sizes[0]),
        **gain,
        "method": choice.method,
        **row,
        "corrected": corrected.detected,
        "corrected_yield": corrected.yield_,
    }


def _best_rows(target_slice: TargetSlice, largest_size: int) -> Iterator[Row]:
    """Yield the rows of the best set of each size; gain: over the best set of one model less."""
    covered_by_size: dict[int, float] = {0: 0}
    for choice in best_subsets.best_subsets(target_slice.counts, largest_size):
        corrected = undefined_correction("too_many_subsets")
        if choice.method == best_subsets.ENUMERATED:
            share = target_slice.detected_share(choice)
            corrected = correct_best_set(target_slice.counts, choice, share, target_slice.bootstrap)
        size = int(choice.scores.sizes[0])
        covered = choice.scores.covered[0].item()
        gain = from_units(covered - covered_by_size.get(size - 1, 0), target_slice.counts.unit)
        covered_by_size[size] = max(covered, covered_by_size.get(size, 0))
        yield as_row(_chosen_subset_row(target_slice, choice, corrected, gain=gain))


def sweep_table(
    predictions: PredictionCounts, options: MarsOptions
) -> tuple[Rows, list[ResultNote]]:
    """Return the table of a sweep over thresholds, and a note if some are left out."""
    target_scores, slice_masks = read_scores(predictions.evaluated, options.target)
    if options.sweep == "top":
        all_scores, _ = read_scores(predictions.evaluated, "all")
        target_scores = rank_scores(all_scores, target_scores)
    target_scores = merge_group_scores(target_scores, options.group, options.target)
    if not len(target_scores.n):
        return [], []
    distinct_cuts = distinct_thresholds(target_scores.scores)
    point_count = len(distinct_cuts) if options.points == "all" else options.points
    cuts = choose_thresholds(distinct_cuts, point_count)
    notes = []
    if len(cuts) < len(distinct_cuts):
        text = (
            f"the sweep has {len(cuts):,} of {len(distinct_cuts):,} thresholds; add "
            f"{OPTION}--points all{END} for all"
        )
        notes.append(ResultNote("cuts-thinned", text))
    rows: list[Row] = []
    for slice_name, in_slice in [(None, np.ones(len(target_scores.n), bool)), *slice_masks.items()]:
        slice_scores = target_scores.select(in_slice)
        if len(slice_scores.n):
            sweep_counts = sweep_thresholds(
                slice_scores.scores, slice_scores.n, options.target, cuts
            )
            rows += sweep_rows(
                sweep_counts,
                slice_scores.models,
                slice_name,
                options,
                slice_scores.unit,
                intervals=predictions.patterns.clusters is None,
            )
    return rows, notes


def sweep_rows(
    counts: SweepCounts,
    models: Sequence[str],
    slice_name: str | None,
    options: MarsOptions,
    unit: float = 1,
    *,
    intervals: bool = True,
) -> list[Row]:
    """Return one row per threshold and model: detections, unique ones and misses, shares of TTP.

    In a sweep over top rows `top` is the number of rows flagged.
    """
    miss_counts = counts.missed_all if options.occlusion == "all" else counts.missed_any
    cut_order = slice(None)
    k = len(models)
    cuts = counts.cuts.tolist()
    if options.sweep == "top":
        cuts = [int(-cut) if cut.is_integer() else -cut for cut in cuts]
        cut_order = slice(None, None, -1)
    # models of the first threshold, of the second, ...
    hit_column, detection_column, miss_counts = (
        model_counts[:, cut_order].T.ravel()
        for model_counts in (counts.hits, counts.exclusive, miss_counts)
    )
    row_count = k * len(cuts)
    exclusive = ExclusiveCounts(
        detection_column,
        miss_counts,
        detected=np.repeat(counts.detected[cut_order], k),
        has_other_models=np.full(row_count, k > 1),
        unit=unit,
    )
    return rows_from_columns(
        {
            "slice": [slice_name] * row_count,
            options.sweep or "": [cut for cut in cuts[cut_order] for _ in models],
            "model": [*models] * len(cuts),
            "found": from_units(exclusive.detected, unit).tolist(),
            "hits": from_units(hit_column, unit).tolist(),
            **exclusive_columns(exclusive, options, intervals=intervals),
        }
    )
