"""Tails of distributions, as scipy has them: Student's t, chi² and the tosses of a coin."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats

_MAX_EXACT_TOSSES = 1000  # tosses whose outcomes are counted in whole numbers


def student_tail(df: ArrayLike, t: ArrayLike) -> Floats:
    """Return P(T > t) of Student's t.

    Shapes: df and t broadcast; t >= 0, df above 0, both may be infinite; NaN elsewhere.
    Range: 0..1/2.
    """
    from scipy.special import ndtr, stdtr

    free, far = np.broadcast_arrays(np.asarray(df, np.float64), np.asarray(t, np.float64))
    with np.errstate(invalid="ignore"):
        found = np.where(np.isinf(free), ndtr(-far), stdtr(free, -far))
        return np.where((free > 0) & (far >= 0), np.where(np.isinf(far), 0.0, found), np.nan)


def chi_square_tail(df: int, x: float) -> float:
    """Return P(X > x) of chi² with df degrees of freedom; x >= 0. Range: 0..1."""
    from scipy.special import chdtrc

    return float(chdtrc(df, x))


def coin_tail(k: int, n: int) -> float:
    """Return P(X <= k) of how often n tosses of a coin show one side; 0 <= k < n / 2."""
    if n <= _MAX_EXACT_TOSSES:
        return math.ldexp(sum(math.comb(n, i) for i in range(k + 1)), -n)
    from scipy.special import betainc

    return float(betainc(n - k, k + 1, 0.5))
