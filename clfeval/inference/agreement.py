"""Rank correlations: Kendall's tau-b and Spearman's rho, from exact integer sums."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Ints

_EXACT = 2**14  # products of ranks whose sum fits 64 bits, up to 20 million values


def kendall_tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Return Kendall's rank correlation with ties.

    tau_b = (C - D) / sqrt((N - Tx) (N - Ty)), over all N = k (k - 1) / 2 pairs: C in the same
    order in both, D in opposite orders, Tx tied in x, Ty tied in y

    Shapes: (k,) each; the work is k log(k)**2. Range -1..1; 0 when the orders are unrelated.
    Undefined (NaN) for fewer than two values, for constant x or y, or with a NaN.
    Errors: ValueError unless both are vectors of one length.
    Source: Kendall 1945, Biometrika 33:239; counting in this way: Knight 1966, JASA 61:436.
    """
    first, second = _smaller_counts(x, y)
    if not len(first):
        return math.nan
    base = len(first)
    # sorted by x, and by y where x ties: what then stands before a smaller y is in D
    both = np.sort(first * base + second)
    pairs = base * (base - 1) // 2
    tied_x, tied_y, tied = _tied_pairs(first), _tied_pairs(second), _tied_pairs(both)
    difference = pairs - tied_x - tied_y + tied - 2 * _inversions(both % base)
    return _correlation_ratio(difference, pairs - tied_x, pairs - tied_y)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's rank correlation: Pearson's correlation of the average ranks.

    rho = sum u v / sqrt(sum u**2 sum v**2), u and v the ranks less their mean

    Shapes: (k,) each. Range -1..1; 0 when the ranks are uncorrelated.
    Undefined (NaN) for fewer than two values, for constant x or y, or with a NaN.
    Errors: ValueError unless both are vectors of one length.
    Source: Spearman 1904, American Journal of Psychology 15:72; ties: Kendall 1945.
    """
    first, second = _smaller_counts(x, y)
    if not len(first):
        return math.nan
    u, v = (_twice_ranks(places) - len(places) - 1 for places in (first, second))
    return _correlation_ratio(_exact_sum(u * v), _exact_sum(u * u), _exact_sum(v * v))


def _smaller_counts(x: ArrayLike, y: ArrayLike) -> tuple[Ints, Ints]:
    """Return how many distinct values are smaller, in x and in y; nothing if one is no order."""
    values = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if values[0].ndim != 1 or values[1].ndim != 1:
        raise ValueError("the values must be a vector")
    if len(values[0]) != len(values[1]):
        raise ValueError("x and y differ in length")
    none = np.empty(0, np.int64)
    if any(np.isnan(one).any() for one in values):
        return none, none
    first, second = (np.unique(one, return_inverse=True)[1] for one in values)
    return (first, second) if first.any() and second.any() else (none, none)


def _twice_ranks(places: Ints) -> Ints:
    """Return first plus last rank of those that tie: twice their mean."""
    counts = np.bincount(places)
    return np.asarray((2 * np.cumsum(counts) - counts + 1)[places])


def _tied_pairs(places: Ints) -> int:
    counts = np.unique(places, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Ints) -> int:
    """Return the number of inversions of a permutation of 0..k-1, by vectorised merge sort."""
    k = len(values)
    runs = np.full(1 << (k - 1).bit_length(), k, np.int64)
    runs[:k] = values
    width, inversions = 1, 0
    while width < len(runs):
        pairs = runs.reshape(-1, 2, width)
        lift = np.arange(len(pairs))[:, None] * (k + 1)
        left, right = ((pairs[:, side] + lift).ravel() for side in (0, 1))
        # left values up to the end of the pair, less those not above the right value
        ends = np.repeat(np.arange(1, len(pairs) + 1) * width, width)
        inversions += int((ends - np.searchsorted(left, right, side="right")).sum())
        runs = np.sort(runs.reshape(-1, 2 * width), axis=1).ravel()
        width *= 2
    return inversions


def _exact_sum(products: Ints) -> int:
    """Return the exact sum, though it may not fit 64 bits."""
    return sum(np.add.reduceat(products, np.arange(0, len(products), _EXACT)).tolist())


def _correlation_ratio(value: int, first: int, second: int) -> float:
    """Return value / sqrt(first second), exactly 1 or -1 where it is."""
    if value * value == first * second:
        return math.copysign(1, value)
    return max(-1.0, min(value / math.sqrt(first * second), 1.0))
