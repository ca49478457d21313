"""Quantiles and tails of distributions: normal, beta, Student's t, chi-square, binomial."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats
from clfeval.inference.scipy_special import special

_ROOT2 = math.sqrt(2)
_MOST_STEPS = 60  # a bracket halved this often is as narrow as the numbers allow
_MOST_ERRORS = 38.0  # standard errors beyond which a level is 1 as a float


def normal_quantile_array(p: Floats) -> Floats:
    """Return the standard normal quantiles of probabilities, (q,)."""
    return np.asarray(special().ndtri(p), np.float64)


def tail_probability(level: float) -> float:
    """Return the tail probability (1 - level) / 2; ValueError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level {level} is not between 0 and 1")
    return (1 - level) / 2


def critical_value(level: float) -> float:
    """Return the z with P(-z <= X <= z) = level for a normal X; ValueError unless 0 < level < 1.

    To 15 digits. Source: Wichura 1988, Applied Statistics 37:477, as the standard library has it.
    """
    return abs(NormalDist().inv_cdf(tail_probability(level)))


def simultaneous_level(level: float, *, comparisons: int = 1, turn: float = 0.0) -> float:
    """Return the level of each interval for simultaneous coverage of `level`.

    The level P(|X| <= c) of a normal X with comparisons (P(|X| > c) + turn/pi e**(-c²/2)) = 1 -
    level.

    comparisons: how many families of intervals there are (Bonferroni). turn: how far, as an angle,
    the direction turns in which the two errors of a family are added up, over all its intervals; 0
    for one interval each; for sensitivity and specificity at all class ratios together pi/2.

    Range: level..1, `level` for one interval.
    Errors: ValueError unless 0 < level < 1, comparisons >= 1 and turn >= 0.
    Source: Hotelling 1939, American Journal of Mathematics 61:440; Naiman 1986, Annals of
    Statistics 14:896.
    """
    if comparisons < 1 or turn < 0:
        raise ValueError(f"{comparisons} comparisons with a turn of {turn}")
    lowest = critical_value(level)  # raises ValueError for an invalid level
    if comparisons == 1 and not turn:
        return level
    tail = (1 - level) / comparisons

    def too_near(c: Floats) -> Bools:
        probability = math.erfc(float(c) / _ROOT2)
        probability += turn / math.pi * math.exp(-(float(c) ** 2) / 2)
        return np.asarray(probability > tail)

    c, _ = bisect(too_near, np.asarray(lowest), np.asarray(_MOST_ERRORS))
    return 1 - math.erfc(float(c) / _ROOT2)


def student_quantile(df: ArrayLike, *, level: float) -> Floats:
    """Return the two-sided quantile of Student's t, as `critical_value` of the normal one, by
    scipy.

    Shapes: as df, above 0, infinite for the normal one; NaN elsewhere. ValueError unless 0 < level
    < 1.
    """
    degrees = np.asarray(df, np.float64)
    tail = tail_probability(level)
    if not np.isfinite(degrees).any():
        return np.where(degrees > 0, critical_value(level), np.nan)
    with np.errstate(invalid="ignore"):
        quantile = np.where(
            np.isinf(degrees), critical_value(level), -special().stdtrit(degrees, tail)
        )
    return np.where(degrees > 0, quantile, np.nan)


def student_quantile_array(df: float, p: Floats) -> Floats:
    """Return the quantiles of Student's t of probabilities, (q,)."""
    return np.asarray(special().stdtrit(df, p), np.float64)


def bisect(
    holds: Callable[[Floats], Bools], inner: Floats, outer: Floats, *, times: int = _MOST_STEPS
) -> tuple[Floats, Floats]:
    """Return brackets of the point between `inner` and `outer` where `holds` becomes false.

    inner and outer broadcast, and `holds` treats every element by itself. times: how often a
    bracket is halved.
    """
    for _ in range(times):
        middle = (inner + outer) / 2
        middle_holds = holds(middle)
        inner = np.where(middle_holds, middle, inner)
        outer = np.where(middle_holds, outer, middle)
    return inner, outer


_MAX_EXACT_TOSSES = 1000  # tosses for which probabilities are exact


def student_tail(df: ArrayLike, t: ArrayLike) -> Floats:
    """Return P(T > t) of Student's t, 0..1/2.

    Shapes: df and t broadcast; t >= 0, df above 0, both may be infinite; NaN elsewhere.
    """
    degrees, distances = np.broadcast_arrays(np.asarray(df, np.float64), np.asarray(t, np.float64))
    with np.errstate(invalid="ignore"):
        tails = np.where(
            np.isinf(degrees), special().ndtr(-distances), special().stdtr(degrees, -distances)
        )
        return np.where(
            (degrees > 0) & (distances >= 0), np.where(np.isinf(distances), 0.0, tails), np.nan
        )


def chi_square_tail(df: int, x: float) -> float:
    """Return P(X > x) of chi² with df degrees of freedom; x >= 0. Range: 0..1."""
    return float(special().chdtrc(df, x))


def chi_square_quantile(df: int, p: Floats) -> Floats:
    """Return the quantiles of chi² with df degrees of freedom of probabilities, (q,)."""
    return np.asarray(special().chdtri(df, 1 - p), np.float64)


def binomial_tail(k: int, n: int) -> float:
    """Return P(X <= k) for X binomial(n, 1/2); 0 <= k < n / 2."""
    if n <= _MAX_EXACT_TOSSES:
        return math.ldexp(sum(math.comb(n, i) for i in range(k + 1)), -n)
    return float(special().betainc(n - k, k + 1, 0.5))


def variance_ratio_quantile(df: float, other_df: float, level: float) -> float:
    """Return the quantile of F with these degrees of freedom at a level; NaN unless both above 0.

    An infinite second one gives chi² / df.
    """
    if np.isinf(other_df):
        return float(special().chdtri(df, 1 - level)) / df
    return float(special().fdtri(df, other_df, level))
