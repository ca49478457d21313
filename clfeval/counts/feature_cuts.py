"""Cuts: where a numeric feature turns true, and how many positives and negatives that makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from clfeval.counts.feature_counts import Floats, Rule
from clfeval.counts.patterns import Bools, Counts

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
    def of(cls, x: Floats, truth: Bools, n: Counts) -> Distribution:
        """Gather the rows of one feature: values x, classes truth and weights n, all (rows,)."""
        order = np.argsort(x)
        values, weights = x[order], n[order]
        if not len(x):
            return cls(values, weights, weights)
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        positives = np.add.reduceat(np.where(truth[order], weights, 0), starts)
        return cls(values[starts], positives, np.add.reduceat(weights, starts) - positives)


def split(given: Distribution, cut: Cut) -> Split:
    """Make a numeric feature true or false.

    `median` and `mean`: true above the median or mean of all rows; a number: true at or above it;
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
        votes = (values - values[0]) / (values[-1] - values[0])
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
    tp, fp = positives[first:].sum().item(), negatives[first:].sum().item()
    return Split(place, rule, tp, fp)


def split_rows(x: Floats, truth: Bools, n: Counts | None, cut: Cut) -> Split:
    """Split rows as `split` does; the common cuts without sorting them.

    x (rows,) without NaN; n None where every row counts once. Sums that are no whole numbers are
    taken over distinct values in order, so that neither the order of rows nor repeating them,
    instead of weighing, changes a digit.
    """
    weights = np.ones(len(x), np.int64) if n is None else n
    sortless = isinstance(cut, float) or (cut == "median" and n is None)
    if not sortless or _few(x):
        return split(Distribution.of(x, truth, weights), cut)
    rule: Rule = ">"
    if isinstance(cut, float):
        place, above, rule = cut, x >= cut, ">="
    else:
        middle = [(len(x) - 1) // 2, len(x) // 2]
        place = _between(*np.partition(x, middle)[middle])
        above = x > place
    tp, fp = weights[above & truth].sum().item(), weights[above & ~truth].sum().item()
    return Split(place, rule, tp, fp)


def _few(x: Floats) -> bool:
    """Tell whether there are at most two distinct values."""
    return len(np.unique(x[:100])) <= 2 and (
        not len(x) or bool(((x == x.min()) | (x == x.max())).all())
    )


def _best(positives: Counts, negatives: Counts) -> int:
    """Return the position of the cut: whole numbers are compared exactly, without division."""
    p, n = positives.sum(), negatives.sum()
    tp, fp = positives[::-1].cumsum()[::-1], negatives[::-1].cumsum()[::-1]
    gain = np.abs(tp * n - fp * p)
    bias = np.abs(tp * n + fp * p - p * n)
    return int(np.lexsort((bias, -gain))[0])


def _mean(values: Floats, weights: Counts) -> float:
    return float(values @ weights / weights.sum())


def _median(values: Floats, weights: Counts) -> float:
    """Return the middle value, or halfway between the two middle ones, of rows repeated n times."""
    below = weights.cumsum()
    half = below[-1] / 2
    lower = values[np.searchsorted(below, half, side="left")]
    upper = values[np.searchsorted(below, half, side="right")]
    return _between(lower, upper)


def _between(lower: float, upper: float) -> float:
    return float(lower + (upper - lower) / 2)
