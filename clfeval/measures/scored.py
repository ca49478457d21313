"""Counts at distinct scores, cumulative counts and influence functions.

A measure of scores is `of(scores, positives, negatives)`: scores (m,) ascending, equal ones merged;
counts (..., m). Its influence function takes one table and returns the `Influence` of a positive
and of a negative at each score, with mean 0 over the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, Ints, divide

MIN_PROBABILITY = (
    2.0**-52
)  # smaller probabilities, of the truth or of either class, count as this one


def distinct_starts(scores: Counts) -> Ints:
    """Return where each distinct score begins, (d,); ValueError for scores that do not ascend."""
    given = np.asarray(scores)
    if not (given[1:] >= given[:-1]).all():
        raise ValueError("scores must be sorted, ascending")
    new = np.ones(len(given), bool)
    np.greater(given[1:], given[:-1], out=new[1:])
    return np.flatnonzero(new)


def sum_at_scores(scores: Counts, *counts: Counts) -> tuple[Counts, Counts, Any]:
    """Add up the counts at equal scores; also say whether whole numbers or floats add them up."""
    first = distinct_starts(scores)
    pos, neg = map(np.asarray, counts)
    kind: Any = np.float64 if "f" in (pos.dtype.kind, neg.dtype.kind) else np.int64
    if len(first) < len(scores):
        pos, neg = (np.add.reduceat(part, first, axis=-1, dtype=kind) for part in (pos, neg))
    return pos, neg, kind


def sum_of_products(a: Counts, b: Counts, kind: Any) -> Counts:
    """Return the sum of a b over the last axis, made of one kind of number."""
    return np.asarray(np.einsum("...m,...m->...", a, b, dtype=kind, casting="same_kind"))


def bounded_share(part: Counts, whole: Counts) -> Floats:
    """Return part / whole; sums of fractions in two orders may make it pass 1 by a last digit."""
    return np.asarray(np.minimum(divide(part, whole), 1.0))


def score_positions(scores: Counts) -> Ints:
    """Return the place of each score, ascending, among the distinct ones: (m,)."""
    first = distinct_starts(scores)
    if len(first) == len(scores):
        return first
    return np.repeat(np.arange(len(first)), np.diff(first, append=len(scores)))


def class_totals(positives: Counts, negatives: Counts) -> tuple[Floats, Floats]:
    """Return how many rows of each class there are, (...), as floats."""
    p, n = (np.asarray(part.sum(axis=-1), np.float64) for part in (positives, negatives))
    return p, n


def check_probabilities(p: ArrayLike) -> Floats:
    """Return numbers as probabilities; ValueError for such outside 0..1."""
    given = np.asarray(p, np.float64)
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("probabilities lie between 0 and 1")
    return given
