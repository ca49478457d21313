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


def sign_test_p(counts: TargetCounts, first: Bools, second: Bools) -> float:
    """Return the p-value of the sign test of rows of the patterns `first` against `second`.

    first, second (p,): disjoint patterns of the target class. The exact sign test of rows; of
    clusters the sign-flip permutation test; of weighted rows with Kish's effective number.
    """
    sums = (counts.hit_n @ first).item(), (counts.hit_n @ second).item()
    if isinstance(counts.clusters, RowWeights):
        squares = counts.clusters.squares[: len(first)] @ (first | second)
        return weighted_sign_test(*sums, float(squares))
    if counts.clusters is None:
        return sign_test(*sums)
    differences = np.zeros(len(counts.hit_n) + len(counts.alarm_n))
    differences[: len(first)] = first.astype(np.float64) - second
    return flip_test(counts.clusters.totals(differences[None])[0])


@dataclass(frozen=True, slots=True)
class TargetSlice:
    """Counts of one slice by target class, each group merged into one model."""

    label: str | None
    counts: TargetCounts
    options: MarsOptions

    @property
    def bootstrap(self) -> np.random.Generator:
        """The random generator of the bootstrap of chosen sets."""
        return random_stream(self.options.seed, f"chosen sets\0{self.label or ''}")

    def detected_share(self, choice: ChosenSubset) -> Estimate:
        """Return the share of target rows that a set detects, with its interval."""
        counts = self.counts
        divisor = None
        if counts.clusters is not None and self.options.confidence is not None:
            patterns = np.concatenate([counts.hits, counts.alarms])
            detects = best_subsets.overlap_counts(patterns, choice.scores.members) > 0
            target = target_patterns(counts)[None]
            design = share_design(counts.clusters, detects & target, target)
            divisor = count_divisor(*design, level=self.options.level)
        measure = MEASURE[self.options.target]
        return self.shares(measure, choice.scores.covered, counts.hit_n.sum().item(), divisor)[0]

    def shares(self, name: str, k: Counts, n: Counts, divided: Floats | None = None) -> Estimates:
        """Return estimates of a measure that is k of n rows."""
        return share_estimates(name, k, n, **self.options.interval_arguments, divided=divided)


def named_divisors(
    views: Sequence[TargetSlice], parts: Iterable[ShareParts]
) -> Mapping[str, Floats]:
    """Return the divisors of named shares of subsets, of all slices concatenated.

    parts: of each slice; a denominator may be (1, p + q). Computed with clusters and a level only.
    """
    level = views[0].options.confidence
    if level is None or views[0].counts.clusters is None:
        return NO_CLUSTERS
    divisors: dict[str, list[Floats]] = {}
    for view, shares in zip(views, parts, strict=True):
        clusters = view.counts.clusters
        target = target_patterns(view.counts)
        largest = 0.0
        assert clusters is not None
        if isinstance(clusters, RowWeights):  # as in `share_divisor`
            largest = max(clusters.among(rows).weight for rows in (target, ~target) if rows.any())
        for name, pair in shares.items():
            heavy = largest if name in _SHARES_OF_BOTH_CLASSES else 0.0
            design = share_design(clusters, *pair, heavy=heavy)
            divisors.setdefault(name, []).append(count_divisor(*design, level=level))
    return {name: np.concatenate(by_slice) for name, by_slice in divisors.items()}


def _subset_shares(counts: TargetCounts, members: Bools, rule: str) -> ShareParts:
    """Return the parts of yield, ShineThrough and Occlusion of subsets (s, k)."""
    patterns = np.concatenate([counts.hits, counts.alarms])
    target = target_patterns(counts)
    hit, alone, missed_all, missed_any = best_subsets.detection_masks(patterns, members)
    missed_by_set = missed_all if rule == "all" else missed_any
    detected = (patterns.any(axis=1) & target)[None]
    return {
        "yield": (hit & target, hit),
        "shine_through": (alone & target, detected),
        "occlusion": (missed_by_set & target, detected),
    }


def _model_shares(counts: TargetCounts, target: str) -> ShareParts:
    """Return the parts of the accuracy, precision and recall of each model."""
    predicted = np.concatenate([counts.hits, counts.alarms]).T
    positive = target_patterns(counts)
    if target == "negative":
        predicted = ~predicted
        positive = ~positive
    return {
        "accuracy": (predicted == positive, np.ones_like(positive)[None]),
        "precision": (predicted & positive, predicted),
        "recall": (predicted & positive, positive[None]),
    }


def subset_columns(views: Sequence[TargetSlice], scores: Sequence[SubsetScores]) -> CellColumns:
    """Return the columns common to all tables of subsets, computed for all slices at once."""
    subsets = SubsetScores.joined(scores)
    names = views[0].counts.models
    options = views[0].options
    unit = views[0].counts.unit
    slices = list(zip(views, scores, strict=True))
    shares = (
        _subset_shares(view.counts, subset.members, options.occlusion) for view, subset in slices
    )
    divisors = named_divisors(views, shares)
    detected = [best_subsets.total_detected(view.counts) for view in views]
    exclusive = ExclusiveCounts(
        detections=subsets.exclusive_found,
        misses=subsets.missed_all if options.occlusion == "all" else subsets.missed_any,
        detected=np.repeat(detected, [len(subset) for subset in scores]),
        has_other_models=np.asarray(~subsets.members.all(axis=1)),
        unit=unit,
    )
    return {
        "slice": [view.label for view, subset in slices for _ in subset.covered],
        "models": [[names[j] for j in np.flatnonzero(row)] for row in subsets.members],
        "covered": from_units(subsets.covered, unit).tolist(),
        "effort": from_units(subsets.effort, unit).tolist(),
        "yield": views[0].shares("yield", subsets.covered, subsets.effort, divisors.get("yield")),
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
    arguments = options.interval_arguments if intervals else {"level": None}
    shine_through, occlusion = (
        share_estimates(name, k, exclusive.detected, **arguments, divided=divisors.get(name))
        for name, k in (("shine_through", exclusive.detections), ("occlusion", exclusive.misses))
    )
    undefined = Estimate(None, reason="no_other_model")
    measured = exclusive.has_other_models | (np.asarray(exclusive.detected) == 0)
    detection_column, miss_column = "exclusive_tp", "exclusive_fn"
    if options.target == "negative":
        detection_column, miss_column = "exclusive_tn", "exclusive_fp"
    return {
        detection_column: from_units(exclusive.detections, exclusive.unit).tolist(),
        "shine_through": shine_through,
        miss_column: from_units(exclusive.misses, exclusive.unit).tolist(),
        "occlusion": [
            share if defined else undefined
            for share, defined in zip(occlusion, measured, strict=True)
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
    cuts = np.unique(np.concatenate([np.unique(column) for column in scores]))
    return np.unique(np.minimum(cuts[cuts > -np.inf], np.finfo(np.float64).max))


def sweep_thresholds(scores: Sequence[Floats], n: Counts, target: str, cuts: Floats) -> SweepCounts:
    """Count detections and misses at the given thresholds.

    With top1 >= top2 the highest scores of a row and low1 <= low2 the lowest: the highest model
    alone is positive for cuts in (top2, top1], the lowest alone is not for cuts in (low1, low2].
    For the positive class the first are unique detections and the second unique misses; for the
    negative class vice versa.
    Shapes: k score columns of length p; n (p,) counts or weights. O((k + 4) p log p).
    """
    top1, top2, top_model = _two_highest(scores)
    low1, low2, low_model = _two_highest([-column for column in scores])
    low1 = -low1
    low2 = -low2

    def below(values: Floats, weights: Counts) -> Counts:
        """Return how many values are below each threshold."""
        order = np.argsort(values)
        running = np.concatenate([[weights.dtype.type(0)], np.cumsum(weights[order])])
        return running[np.searchsorted(values[order], cuts, side="left")]

    def count_between(low: Floats, high: Floats, rows: Bools) -> Counts:
        """Return in how many of the rows each threshold is above low, and at most high."""
        return below(low[rows], n[rows]) - below(high[rows], n[rows])

    models = range(len(scores))
    alone = np.array([count_between(top2, top1, top_model == j) for j in models])
    alone_not = np.array([count_between(low1, low2, low_model == j) for j in models])
    negatives = np.array([below(column, n) for column in scores])
    if target == "negative":
        detected = below(low1, n)
        hits = negatives
        exclusive = alone_not
        misses = alone
    else:
        detected = n.sum() - below(top1, n)
        hits = n.sum() - negatives
        exclusive = alone
        misses = alone_not
    if len(scores) == 1:  # with a single model every detection is unique
        exclusive = hits
        misses = np.zeros_like(misses)
    return SweepCounts(cuts, detected, hits, exclusive, misses, detected - hits)


def _two_highest(columns: Sequence[Floats]) -> tuple[Floats, Floats, Ints]:
    """Return the highest and second highest value of each row, and the column of the highest."""
    first = columns[0].copy()
    second = np.full_like(first, -np.inf)
    highest = np.zeros(len(first), np.int64)
    for j, column in enumerate(columns[1:], start=1):
        better = column > first
        second = np.where(better, first, np.maximum(second, column))
        first = np.where(better, column, first)
        highest[better] = j
    return first, second, highest


def choose_thresholds(cuts: Floats, points: int | None) -> Floats:
    """Return evenly spaced thresholds with both ends; all of them if there are few."""
    limit = points or MOST_CUTS
    if len(cuts) <= limit:
        return cuts
    return cuts[np.unique(np.linspace(0, len(cuts) - 1, limit).round().astype(np.int64))]


def mars_tables(predictions: PredictionCounts, options: MarsOptions) -> dict[str, Rows]:
    """Return the tables of models, pairs and requested subsets, of all slices."""
    target = options.target
    views = [
        TargetSlice(label, counts.grouped(options.group, target).targets(target), options)
        for label, counts in predictions.slices.items()
    ]
    members = {member for names in options.group.values() for member in names}
    thresholds = {name: t for name, t in predictions.thresholds.items() if name not in members}
    tables: dict[str, Rows] = {"models": _model_rows(views, thresholds), "pairs": _pair_rows(views)}
    if options.subsets is not None:
        scores = [best_subsets.score_subsets_up_to(view.counts, options.subsets) for view in views]
        tables["subsets"] = subset_table(list(zip(views, scores, strict=True)))
    if (size := options.best) is not None:
        tables["best"] = [row for view in views for row in _best_rows(view, size)]
    if (most := options.max_effort) is not None:
        tables["max_effort"] = [row for view in views for row in _within_effort_rows(view, most)]
    return tables


def _within_effort_rows(view: TargetSlice, effort: float) -> Iterator[Row]:
    """Yield the row of the set that detects most within a number of flagged rows, if any fits."""
    choice = best_subsets.best_within_effort(view.counts, effort)
    if choice is not None:
        share = view.detected_share(choice)
        corrected = correct_set_within_effort(view.counts, choice, share, effort, view.bootstrap)
        yield as_row(_chosen_subset_row(view, choice, corrected))


def _model_rows(views: Sequence[TargetSlice], thresholds: Mapping[str, float | None]) -> list[Row]:
    """Return the rows of all models of every slice; thresholds: of models outside groups."""
    models = views[0].counts.models
    target = views[0].options.target
    unit = views[0].counts.unit
    cells = np.concatenate([_confusion_cells(view.counts, target) for view in views], axis=1)
    tp, fp, fn, tn = cells
    divisors = named_divisors(views, (_model_shares(view.counts, target) for view in views))
    single = np.eye(len(models), dtype=bool)
    subsets = subset_columns(
        views, [best_subsets.score_subsets(view.counts, single) for view in views]
    )
    shares = {
        name: views[0].shares(name, k, n, divisors.get(name))
        for name, k, n in (
            ("accuracy", tp + tn, tp + fp + fn + tn),
            ("precision", tp, tp + fp),
            ("recall", tp, tp + fn),
        )
    }
    return rows_from_columns(
        {
            "slice": [view.label for view in views for _ in models],
            "model": models * len(views),
            "threshold": [thresholds.get(model) for model in models] * len(views),
            **{
                name: from_units(cell, unit).tolist()
                for name, cell in zip(CELLS, cells, strict=True)
            },
            **shares,
            **{name: column for name, column in subsets.items() if name not in SHARED},
        }
    )


def _confusion_cells(counts: TargetCounts, target: str) -> list[Counts]:
    """Return TP, FP, FN and TN of every model, (k,) each."""
    hits = counts.hit_n @ counts.hits
    alarms = counts.alarm_n @ counts.alarms
    cells = [hits, alarms, counts.hit_n.sum() - hits, counts.alarm_n.sum() - alarms]
    # with negative target a hit is a true negative, an alarm a false negative
    return cells if target == "positive" else cells[::-1]


def _pair_rows(views: Sequence[TargetSlice]) -> list[Row]:
    """Return the rows of all pairs of every slice, with the sign test of unique detections."""
    pairs = best_subsets.model_combinations(len(views[0].counts.models), 2)
    first_alone: list[float] = []
    second_alone: list[float] = []
    p_values: list[float] = []
    for view in views:
        counts = view.counts
        only = counts.hits & (counts.hits.sum(axis=1, keepdims=True) == 1)
        alone_n = from_units(counts.hit_n @ only, counts.unit)
        for pair in pairs:
            first, second = alone_n[pair].tolist()
            first_alone.append(first)
            second_alone.append(second)
            p_values.append(sign_test_p(counts, *only.T[pair]))
    scores = [best_subsets.score_subsets(view.counts, pairs) for view in views]
    return rows_from_columns(
        {
            **subset_columns(views, scores),
            "first_alone": first_alone,
            "second_alone": second_alone,
            "p_value": p_values,
        }
    )


def subset_table(parts: Sequence[tuple[TargetSlice, SubsetScores]]) -> Rows:
    """Return the rows of all subsets as a lazy table, computed a block at a time."""
    starts = np.cumsum([0, *(len(scores) for _, scores in parts)])
    blocks: dict[tuple[int, int], list[Row]] = {}  # the last one only

    def make_row(index: int) -> Row:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        number, offset = divmod(index - int(starts[part]), BLOCK)
        if (part, number) not in blocks:
            blocks.clear()
            view, scores = parts[part]
            rows = np.arange(number * BLOCK, min((number + 1) * BLOCK, len(scores)))
            blocks[part, number] = rows_from_columns(subset_columns([view], [scores.take(rows)]))
        return blocks[part, number][offset]

    return LazyRows(int(starts[-1]), make_row)


def _chosen_subset_row(
    view: TargetSlice, choice: ChosenSubset, corrected: CorrectedSet, **gain: float
) -> dict[str, Any]:
    (row,) = rows_from_columns(subset_columns([view], [choice.scores]))
    return {
        "slice": None,
        "size": int(choice.scores.sizes[0]),
        **gain,
        "method": choice.method,
        **row,
        "corrected": corrected.detected,
        "corrected_yield": corrected.yield_,
    }


def _best_rows(view: TargetSlice, sizes: int) -> Iterator[Row]:
    """Yield the rows of the best set of each size; gain: over the best set of one model less."""
    covered_by_size: dict[int, float] = {0: 0}
    for choice in best_subsets.best_subsets(view.counts, sizes):
        corrected = undefined_correction("too_many_subsets")
        if choice.method == best_subsets.ENUMERATED:
            share = view.detected_share(choice)
            corrected = correct_best_set(view.counts, choice, share, view.bootstrap)
        size = int(choice.scores.sizes[0])
        covered = choice.scores.covered[0].item()
        gain = from_units(covered - covered_by_size.get(size - 1, 0), view.counts.unit)
        covered_by_size[size] = max(covered, covered_by_size.get(size, 0))
        yield as_row(_chosen_subset_row(view, choice, corrected, gain=gain))


def sweep_table(
    predictions: PredictionCounts, options: MarsOptions
) -> tuple[Rows, list[ResultNote]]:
    """Return the table of a sweep over thresholds, and a note if some are left out."""
    target, masks = read_scores(predictions.evaluated, options.target)
    if options.sweep == "top":
        everything, _ = read_scores(predictions.evaluated, "all")
        target = rank_scores(everything, target)
    target = merge_group_scores(target, options.group, options.target)
    if not len(target.n):
        return [], []
    distinct = distinct_thresholds(target.scores)
    points = len(distinct) if options.points == "all" else options.points
    cuts = choose_thresholds(distinct, points)
    warnings = []
    if len(cuts) < len(distinct):
        text = (
            f"the sweep has {len(cuts):,} of {len(distinct):,} thresholds; add "
            f"{OPTION}--points all{END} for all"
        )
        warnings.append(ResultNote("cuts-thinned", text))
    rows: list[Row] = []
    for label, mask in [(None, np.ones(len(target.n), bool)), *masks.items()]:
        slice_scores = target.select(mask)
        if len(slice_scores.n):
            steps = sweep_thresholds(slice_scores.scores, slice_scores.n, options.target, cuts)
            rows += sweep_rows(
                steps,
                slice_scores.models,
                label,
                options,
                slice_scores.unit,
                intervals=predictions.patterns.clusters is None,
            )
    return rows, warnings


def sweep_rows(
    counts: SweepCounts,
    models: Sequence[str],
    label: str | None,
    options: MarsOptions,
    unit: float = 1,
    *,
    intervals: bool = True,
) -> list[Row]:
    """Return one row per threshold and model: detections, unique ones and misses, shares of TTP.

    In a sweep over top rows `top` is the number of rows flagged.
    """
    misses = counts.missed_all if options.occlusion == "all" else counts.missed_any
    order = slice(None)
    k = len(models)
    cuts = counts.cuts.tolist()
    if options.sweep == "top":
        cuts = [int(-cut) if cut.is_integer() else -cut for cut in cuts]
        order = slice(None, None, -1)
    # models of the first threshold, of the second, ...
    hits, detections, misses = (
        by_model[:, order].T.ravel() for by_model in (counts.hits, counts.exclusive, misses)
    )
    rows = k * len(cuts)
    exclusive = ExclusiveCounts(
        detections,
        misses,
        detected=np.repeat(counts.detected[order], k),
        has_other_models=np.full(rows, k > 1),
        unit=unit,
    )
    return rows_from_columns(
        {
            "slice": [label] * rows,
            options.sweep or "": [cut for cut in cuts[order] for _ in models],
            "model": [*models] * len(cuts),
            "found": from_units(exclusive.detected, unit).tolist(),
            "hits": from_units(hits, unit).tolist(),
            **exclusive_columns(exclusive, options, intervals=intervals),
        }
    )
