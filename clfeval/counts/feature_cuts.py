"""Cuts: where a numeric feature turns true, and how many positives and negatives that makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clfeval.counts.feature_counts import Floats, Rule
from clfeval.counts.patterns import Bools, Counts, for_products

Cut = Literal["median", "mean", "best", "soft"] | float


@dataclass(frozen=True, slots=True)
class Split:
    """A feature made true or false: its cut, and the weight of positives and negatives above."""

    cut: float
    rule: Rule | None
    tp: float
    fp: float


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Distinct values (m,), ascending, and the weight of positives and negatives at each."""

    values: Floats
    positives: Counts
    negatives: Counts

    @classmethod
    def of(cls, x: Floats, truth: Bools, n: Counts | None) -> Distribution:
        """Gather the rows of one feature: values x, classes truth, weights n, all (rows,).

        n is None where every row counts once.
        """
        order = np.argsort(x)
        values, hits = x[order], truth[order]
        starts = np.flatnonzero(values[1:] != values[:-1]) + 1
        starts = np.concatenate([np.zeros(min(1, len(x)), np.int64), starts])
        if n is None:
            positives = np.add.reduceat(hits, starts, dtype=np.int64)
            return cls(values[starts], positives, np.diff(starts, append=len(x)) - positives)
        weights = n[order]
        by_class = (np.where(hits == one, weights, 0) for one in (True, False))
        return cls(values[starts], *(np.add.reduceat(part, starts) for part in by_class))


def split(given: Distribution, cut: Cut) -> Split:
    """Make a numeric feature true or false.

    `median` and `mean`: true above the median or mean of all rows (at the median where nothing is
    above it); a number: true at or above it;
    `best`: true at or above the value of largest |tp - fp| (shares), which is the two-sample
    Kolmogorov-Smirnov distance; of equal ones the least biased (|tp + fp - 1|), then the lowest.
    `soft`: no cut, votes are values scaled to 0..1 by the least and greatest one.
    Two values only are told apart at the greater one, except where the cut is a number or soft.
    One value is constant: never true by a median or mean, and without a soft vote.
    """
    values, positives, negatives = given.values, given.positives, given.negatives
    if not len(values):
        return Split(np.nan, None, 0, 0)
    constant = len(values) == 1
    if cut == "soft":
        if constant:
            return Split(np.nan, "soft", np.nan, np.nan)
        halves = values / 2  # the whole range of two large numbers may be none
        votes = (halves - halves[0]) / (halves[-1] - halves[0])
        return Split(np.nan, "soft", float(votes @ positives), float(votes @ negatives))
    rule: Rule = ">="
    if isinstance(cut, float):
        place, first = cut, int(np.searchsorted(values, cut, side="left"))
    elif len(values) == 2:
        place, first = float(values[1]), 1
    elif cut == "best" and not constant:
        first = _best(positives, negatives)
        place = float(values[first])
    else:
        weights = positives + negatives
        place = _mean(values, weights) if cut == "mean" else _median(values, weights)
        rule, first = ">", int(np.searchsorted(values, place, side="right"))
        if first == len(values) and not constant:  # the median is the greatest value
            rule, first = ">=", int(np.searchsorted(values, place, side="left"))
    tp, fp = positives[first:].sum().item(), negatives[first:].sum().item()
    return Split(place, rule, tp, fp)


def split_rows(x: Floats, truth: Bools, n: Counts | None, cut: Cut) -> Split:
    """Split rows as `split` does; the common cuts without sorting them.

    x (rows,) without NaN; n None where every row counts once. Sums that are no whole numbers are
    taken over distinct values in order, so that neither the order of rows nor repeating them,
    instead of weighing, changes a digit.
    """
    sortless = isinstance(cut, float) or (cut == "median" and n is None)
    if not sortless or _few(x):
        return split(Distribution.of(x, truth, n), cut)
    rule: Rule = ">"
    if isinstance(cut, float):
        place, above, rule = cut, x >= cut, ">="
    else:
        middle = [(len(x) - 1) // 2, len(x) // 2]
        place = _between(*np.partition(x, middle)[middle])
        above = x > place
        if not above.any():  # the median is the greatest value
            above, rule = x >= place, ">="
    return Split(place, rule, weight_of(above & truth, n), weight_of(above & ~truth, n))


def weight_of(rows: Bools, n: Counts | None) -> Any:
    """Return how many rows a mask holds, or what they weigh."""
    return int(np.count_nonzero(rows)) if n is None else n[rows].sum().item()


def _few(x: Floats) -> bool:
    """Tell whether there are at most two distinct values."""
    return len(np.unique(x[:100])) <= 2 and (
        not len(x) or bool(((x == x.min()) | (x == x.max())).all())
    )


def _best(positives: Counts, negatives: Counts) -> int:
    """Return the position of the cut: whole numbers are compared exactly, without division."""
    positives, negatives, p, n = for_products(
        positives, negatives, positives.sum(), negatives.sum()
    )
    tp, fp = positives[::-1].cumsum()[::-1], negatives[::-1].cumsum()[::-1]
    gain = np.abs(tp * n - fp * p)
    most = np.flatnonzero(gain == gain.max())
    bias = np.abs(tp * n + fp * p - p * n)[most]
    return int(most[bias.argmin()])


def _mean(values: Floats, weights: Counts) -> float:
    with np.errstate(over="ignore"):
        mean = float(values @ weights / weights.sum())
    if np.isfinite(mean) or not np.isfinite(values).all():
        return mean
    largest = float(np.abs(values).max())
    return float((values / largest) @ weights / weights.sum()) * largest


def _median(values: Floats, weights: Counts) -> float:
    """Return the middle value, or halfway between the two middle ones, of rows repeated n times."""
    below = weights.cumsum()
    half = below[-1] / 2
    lower = values[np.searchsorted(below, half, side="left")]
    upper = values[np.searchsorted(below, half, side="right")]
    return _between(lower, upper)


def _between(lower: float, upper: float) -> float:
    """Return halfway; next to infinity the lower one, as what lies above it is the same."""
    halfway = lower + (upper - lower) / 2 if np.isfinite([lower, upper]).all() else lower
    return float(halfway)
