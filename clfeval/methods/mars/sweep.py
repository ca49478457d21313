"""ShineThrough and Occlusion at every cut, from the two highest and two lowest scores of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints

MOST_CUTS = 2000  # every cut is listed up to here; beyond, an even choice unless all are asked for


@dataclass(frozen=True, slots=True)
class SweepCounts:
    """Counts at c cuts for k models, on the target rows; at a cut, score >= cut is positive.

    cuts (c,) ascending; found (c,) TTP; hits, exclusive, missed_all, missed_any (k, c), in units.
    """

    cuts: Floats
    found: Counts
    hits: Counts
    exclusive: Counts
    missed_all: Counts
    missed_any: Counts


def distinct_cuts(scores: Sequence[Floats]) -> Floats:
    """Return the distinct scores of the target rows, ascending; inf as the largest number."""
    cuts = np.unique(np.concatenate([np.unique(column) for column in scores]))
    return np.unique(np.minimum(cuts[cuts > -np.inf], np.finfo(np.float64).max))


def sweep_thresholds(scores: Sequence[Floats], n: Counts, target: str, cuts: Floats) -> SweepCounts:
    """Count detections and misses at the given cuts.

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
        """Return how many values lie below each cut."""
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
    if len(scores) == 1:  # nobody is outside: all that is found is found alone
        exclusive, missed = hits, np.zeros_like(missed)
    return SweepCounts(cuts, found, hits, exclusive, missed, found - hits)


def _two_highest(columns: Sequence[Floats]) -> tuple[Floats, Floats, Ints]:
    """Return per row the highest and second highest value and whose the highest is."""
    first = columns[0].copy()
    second = np.full_like(first, -np.inf)
    who = np.zeros(len(first), np.int64)
    for j, column in enumerate(columns[1:], start=1):
        better = column > first
        second = np.where(better, first, np.maximum(second, column))
        first = np.where(better, column, first)
        who[better] = j
    return first, second, who


def choose_cuts(cuts: Floats, points: int | None) -> Floats:
    """Return evenly spaced cuts, the first and last among them; every cut if there are few."""
    limit = points or MOST_CUTS
    if len(cuts) <= limit:
        return cuts
    return cuts[np.unique(np.linspace(0, len(cuts) - 1, limit).round().astype(np.int64))]
