"""Measures of predicted probabilities, for one table of counts or for many resampled ones.

p (m,) is the probability of the positive class, truth (m,) is True for it, and n (..., m) says how
often each row counts; axes before the last may be bootstrap replicates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats
from clfeval.measures.jpt import over

LEAST = 2.0**-52  # smaller probabilities of the truth count as this one


def brier(p: ArrayLike, truth: ArrayLike, n: Counts) -> Floats:
    """Return the Brier score, the mean of (truth - p)²; 0..1, best 0.

    Of the two classes this is half the sum over both, (1/2) sum (y_k - p_k)².

    Shapes: p and truth (m,), n (..., m), result (...). NaN where n is all 0.
    Errors: ValueError for probabilities outside 0..1.
    Source: Brier 1950, Monthly Weather Review 78:1; Kuhn and Johnson, AML4TD, equation 15.24.
    """
    return mean_loss(squared_errors(p, truth), n)


def log_loss(p: ArrayLike, truth: ArrayLike, n: Counts) -> Floats:
    """Return the mean of -ln(probability of the truth), cross-entropy; 0..52 ln 2, best 0.

    Probabilities of the truth below 2**-52 count as 2**-52; `clipped` says how many are.

    Shapes: p and truth (m,), n (..., m), result (...). NaN where n is all 0.
    Errors: ValueError for probabilities outside 0..1.
    Source: Good 1952, Journal of the Royal Statistical Society B 14:107.
    """
    return mean_loss(log_losses(p, truth), n)


def clipped(p: ArrayLike, truth: ArrayLike, n: Counts) -> Counts:
    """Return how many rows, or what weight, gave their truth a probability below 2**-52, (...)."""
    low = np.where(np.asarray(truth, bool), p, 1 - np.asarray(p, np.float64)) < LEAST
    return np.asarray(n[..., low].sum(axis=-1))


def squared_errors(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return (truth - p)² of each row, (m,); ValueError for probabilities outside 0..1."""
    return np.asarray((np.asarray(truth, bool) - _probabilities(p)) ** 2)


def log_losses(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return -ln(probability of the truth) of each row, (m,), of at least 2**-52.

    Errors: ValueError for probabilities outside 0..1.
    """
    given = _probabilities(p)
    # ln(1 - p) has all its digits from p where p is small
    right = np.log(np.maximum(given, LEAST))
    wrong = np.log1p(-np.minimum(given, 1 - LEAST))
    return np.asarray(0.0 - np.where(np.asarray(truth, bool), right, wrong))  # never -0.0


def mean_loss(losses: Floats, n: Counts) -> Floats:
    """Return the mean loss of a row: sum n x loss / sum n; NaN where n is all 0.

    Shapes: losses (m,), n (..., m), result (...).
    """
    # a sum row by row, for a matrix product rounds otherwise with every number of rows
    return over((n * losses).sum(axis=-1), n.sum(axis=-1))


def _probabilities(p: ArrayLike) -> Floats:
    """Return probabilities as floats."""
    given = np.asarray(p, np.float64)
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("probabilities lie between 0 and 1")
    return given
