"""Counts of detections by slice and target, and their effective numbers in clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.clusters_and_weights import RowWeights
from clfeval.counts.patterns import TargetCounts, from_units
from clfeval.document import Estimate
from clfeval.document.rows import CellColumns
from clfeval.inference.clusters import count_divisor, flip_test
from clfeval.inference.proportions import sign_test, weighted_sign_test
from clfeval.inference.resampling import random_stream
from clfeval.methods.estimates import Estimates, share_estimates
from clfeval.methods.mars import best_subsets
from clfeval.methods.mars.best_subsets import SubsetScores, detection_masks, target_patterns
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.measurement.label_measures import share_design
from clfeval.records import dataclass

_SHARES_OF_BOTH_CLASSES = ("yield", "accuracy", "precision")  # shares of rows of both classes


def _named_divisors(
    counts: TargetCounts, parts: Mapping[str, tuple[Bools, Bools]], level: float
) -> dict[str, Floats]:
    """Return the divisors of numerator and denominator of named shares, of s subsets each.

    parts: which of the p + q patterns both are, (s, p + q); the denominator may be (1, p + q).
    """
    target, clusters = target_patterns(counts), counts.clusters
    assert clusters is not None
    heavy = 0.0
    if isinstance(clusters, RowWeights):  # as in `share_divisor`
        heavy = max(clusters.among(mine).weight for mine in (target, ~target) if mine.any())
    heaviest = {name: heavy if name in _SHARES_OF_BOTH_CLASSES else 0.0 for name in parts}
    return {
        name: count_divisor(*share_design(clusters, *pair, heavy=heaviest[name]), level=level)
        for name, pair in parts.items()
    }


def subset_divisors(
    counts: TargetCounts, members: Bools, rule: str, *, level: float | None
) -> dict[str, Floats]:
    """Return the divisors of yield, ShineThrough and Occlusion of subsets (s, k)."""
    if counts.clusters is None or level is None:
        return {}
    patterns, target = np.concatenate([counts.hits, counts.alarms]), target_patterns(counts)
    hit, alone, *missed = detection_masks(patterns, members)
    found = (patterns.any(axis=1) & target)[None]
    parts = {
        "yield": (hit & target, hit), "shine_through": (alone & target, found),
        "occlusion": (missed[rule != "all"] & target, found),
    }  # fmt: skip
    return _named_divisors(counts, parts, level)


def model_rate_divisors(
    counts: TargetCounts, target: str, *, level: float | None
) -> dict[str, Floats]:
    """Return the divisors of the accuracy, precision and recall of each model."""
    if counts.clusters is None or level is None:
        return {}
    says, positive = np.concatenate([counts.hits, counts.alarms]).T, target_patterns(counts)
    if target == "negative":
        says, positive = ~says, ~positive
    parts = {
        "accuracy": (says == positive, np.ones_like(positive)[None]),
        "precision": (says & positive, says), "recall": (says & positive, positive[None]),
    }  # fmt: skip
    return _named_divisors(counts, parts, level)


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
    more = np.zeros(len(counts.hit_n) + len(counts.alarm_n))
    more[: len(first)] = first.astype(np.float64) - second
    return flip_test(counts.clusters.totals(more[None])[0])


NO_CLUSTERS: Mapping[str, Floats] = {}


@dataclass(frozen=True, slots=True)
class TargetSlice:
    """Counts of one slice by target class, each group merged into one model."""

    label: str | None
    counts: TargetCounts
    options: MarsOptions

    @property
    def folds(self) -> np.random.Generator:
        """The random generator that splits rows into folds."""
        return random_stream(self.options.seed, f"folds\0{self.label or ''}")

    def shares(self, name: str, k: Counts, n: Counts, divided: Floats | None = None) -> Estimates:
        """Return estimates of a measure that is k of n rows."""
        return share_estimates(name, k, n, **self.options.interval_arguments, divided=divided)

    def display_units(self, n: Counts) -> list[Any]:
        """Return counts in units as rows, or as weight."""
        return list(from_units(n, self.counts.unit).tolist())


def subset_columns(views: Sequence[TargetSlice], scores: Sequence[SubsetScores]) -> CellColumns:
    """Return the columns common to all tables of subsets, computed for all slices at once."""
    subsets, view = SubsetScores.joined(scores), views[0]
    names, options = view.counts.models, view.options
    missed = subsets.missed_all if options.occlusion == "all" else subsets.missed_any
    divided = _concatenate_by_name([
        subset_divisors(
            one.counts, mine.members, options.occlusion, level=options.confidence
        )
        for one, mine in zip(views, scores, strict=True)
    ])  # fmt: skip
    detected = [best_subsets.total_detected(one.counts) for one in views]
    ttp = np.repeat(detected, [len(mine) for mine in scores])
    return {
        "slice": [one.label for one, mine in zip(views, scores, strict=True) for _ in mine.covered],
        "models": [[names[j] for j in np.flatnonzero(row)] for row in subsets.members],
        "covered": view.display_units(subsets.covered),
        "effort": view.display_units(subsets.effort),
        "yield": view.shares("yield", subsets.covered, subsets.effort, divided.get("yield")),
        **exclusive_columns(
            subsets.exclusive_found, missed, ttp, np.asarray(~subsets.members.all(axis=1)),
            options, view.counts.unit, divided,
        ),
    }  # fmt: skip


def concat_rate_divisors(views: Sequence[TargetSlice]) -> Mapping[str, Floats]:
    """Return the divisors of accuracy, precision and recall, of all slices concatenated."""
    target, level = views[0].options.target, views[0].options.confidence
    return _concatenate_by_name(
        [model_rate_divisors(one.counts, target, level=level) for one in views]
    )


def _concatenate_by_name(parts: Sequence[Mapping[str, Floats]]) -> Mapping[str, Floats]:
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def exclusive_columns(
    hits: Counts, missed: Counts, ttp: Counts | float, others: Bools, options: MarsOptions,
    unit: float, divided: Mapping[str, Floats] = NO_CLUSTERS, *, sure: bool = True,
) -> CellColumns:  # fmt: skip
    """Return unique detections and misses, and their shares of TTP, all given in units.

    others: whether a model is outside. divided: divisors by measure. sure: with intervals.
    """
    how = options.interval_arguments if sure else {"level": None}
    positive = options.target == "positive"
    hidden = share_estimates("occlusion", missed, ttp, **how, divided=divided.get("occlusion"))
    nobody = Estimate(None, reason="no_other_model")
    measured = others | (np.asarray(ttp) == 0)
    return {
        "exclusive_tp" if positive else "exclusive_tn": from_units(hits, unit).tolist(),
        "shine_through": share_estimates(
            "shine_through", hits, ttp, **how, divided=divided.get("shine_through")
        ),
        "exclusive_fn" if positive else "exclusive_fp": from_units(missed, unit).tolist(),
        "occlusion": [one if m else nobody for one, m in zip(hidden, measured, strict=True)],
    }


MOST_CUTS = 2000  # thresholds listed by default; of more, evenly spaced ones


@dataclass(frozen=True, slots=True)
class SweepCounts:
    """Counts at c thresholds for k models on the target rows; score >= threshold is positive.

    cuts (c,) ascending; found (c,) TTP; hits, exclusive, missed_all, missed_any (k, c), in units.
    """

    cuts: Floats
    found: Counts
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
    low1, low2 = -low1, -low2

    def below(values: Floats, weights: Counts) -> Counts:
        """Return how many values are below each threshold."""
        order = np.argsort(values)
        running = np.concatenate([[weights.dtype.type(0)], np.cumsum(weights[order])])
        return running[np.searchsorted(values[order], cuts, side="left")]

    def inside(low: Floats, high: Floats, mine: Bools) -> Counts:
        return below(low[mine], n[mine]) - below(high[mine], n[mine])

    models = range(len(scores))
    alone = np.array([inside(top2, top1, top_model == j) for j in models])
    alone_not = np.array([inside(low1, low2, low_model == j) for j in models])
    under = np.array([below(column, n) for column in scores])
    if target == "negative":
        found, hits, exclusive, missed = below(low1, n), under, alone_not, alone
    else:
        found, hits = n.sum() - below(top1, n), n.sum() - under
        exclusive, missed = alone, alone_not
    if len(scores) == 1:  # with a single model every detection is unique
        exclusive, missed = hits, np.zeros_like(missed)
    return SweepCounts(cuts, found, hits, exclusive, missed, found - hits)


def _two_highest(columns: Sequence[Floats]) -> tuple[Floats, Floats, Ints]:
    """Return the highest and second highest value of each row, and the column of the highest."""
    first = columns[0].copy()
    second, who = np.full_like(first, -np.inf), np.zeros(len(first), np.int64)
    for j, column in enumerate(columns[1:], start=1):
        better = column > first
        second = np.where(better, first, np.maximum(second, column))
        first = np.where(better, column, first)
        who[better] = j
    return first, second, who


def choose_thresholds(cuts: Floats, points: int | None) -> Floats:
    """Return evenly spaced thresholds with both ends; all of them if there are few."""
    limit = points or MOST_CUTS
    if len(cuts) <= limit:
        return cuts
    return cuts[np.unique(np.linspace(0, len(cuts) - 1, limit).round().astype(np.int64))]
