"""Intervals symmetric on a log scale: likelihood ratios, odds ratios, predictive values.

One fact joins them: at odds r of positives to negatives, odds(PPV) = r LR+, so that
logit PPV = ln r + ln LR+. The logit interval of a predictive value, Mercaldo's, is the log interval
of a ratio of two independent rates, moved by a constant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clfeval.inference.differences import critical_value

Floats = NDArray[np.float64]


def rate_ratio(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, *, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return the ratio of two independent binomial proportions and its log interval.

    value = (k1/n1) / (k2/n2)   limits: value exp(-+ z sqrt(v))
    v = (1-p1) / (n1 p1) + (1-p2) / (n2 p2), the variance of ln value

    LR+ is the ratio with (TP, P, FP, N), LR- with (FN, P, TN, N).

    The limits are NaN wherever one of the four cells k1, n1-k1, k2, n2-k2 is 0. Without hits v is
    infinite. Without misses a rate adds nothing to v and passes for known: 10 of 10 against 900 of
    1000 would give 1.09 to 1.13, though a true first rate of .8 is no surprise; given such a
    table, the exact coverage of a 95 % interval can fall to 0.

    Shapes: all broadcast; counts need not be whole. Range 0..inf; low <= value <= high. The value
    is inf where k2 alone is 0, NaN where k1 = k2 = 0, n1 = 0 or n2 = 0.
    Errors: ValueError unless 0 <= k <= n and 0 < level < 1.
    Source: Katz, Baptista, Azen and Pike 1978, Biometrics 34:469; for LR+ and LR-: Simel, Samsa
    and Matchar 1991, Journal of Clinical Epidemiology 44:763.
    """
    part, whole, reach = _rates(k1, n1, k2, n2, critical_value(level))
    return _quotient(part, whole, reach)


def odds_ratio(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike, *, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return the diagnostic odds ratio and its log interval.

    value = tp tn / (fp fn)   limits: value exp(-+ z sqrt(1/tp + 1/fp + 1/fn + 1/tn))

    Shapes: all broadcast; counts need not be whole. Range 0..inf; low <= value <= high. The value
    is inf where tp tn > 0 = fp fn, NaN where both are 0; the limits are NaN wherever a count is 0.
    Errors: ValueError when a count is negative or unless 0 < level < 1.
    Source: Woolf 1955, Annals of Human Genetics 19:251; Glas and others 2003, Journal of Clinical
    Epidemiology 56:1129.
    """
    z = critical_value(level)
    a, b, c, d = (np.asarray(count, np.float64) for count in (tp, fp, fn, tn))
    if np.any(np.minimum(np.minimum(a, b), np.minimum(c, d)) < 0):
        raise ValueError("a count must not be negative")
    with np.errstate(divide="ignore"):
        variance = 1 / a + 1 / b + 1 / c + 1 / d
    return _quotient(a * d, b * c, _factor(variance, z))


def predictive_value(
    k1: ArrayLike,
    n1: ArrayLike,
    k2: ArrayLike,
    n2: ArrayLike,
    odds: ArrayLike,
    *,
    level: float,
) -> tuple[Floats, Floats, Floats]:
    """Return a predictive value for classes in given odds and its logit interval.

    value = odds LR / (1 + odds LR)   LR = (k1/n1) / (k2/n2)
    limits: the same with the limits of LR, see `rate_ratio`; they are logit value -+ z sqrt(v)

    PPV at r positives for one negative is that of (TP, P, FP, N, r), NPV that of (TN, N, FN, P,
    1/r). The odds are taken as known.

    Shapes: all broadcast; counts need not be whole. Range 0..1; low <= value <= high. The value is
    NaN where k1 = k2 = 0, n1 = 0 or n2 = 0, the limits are NaN where those of LR are.
    Errors: ValueError unless 0 <= k <= n, odds >= 0 and 0 < level < 1.
    Source: Mercaldo, Lau and Zhou 2007, Statistics in Medicine 26:2170.
    """
    part, whole, reach = _rates(k1, n1, k2, n2, critical_value(level))
    ratio = np.asarray(odds, np.float64)
    if np.any(ratio < 0):
        raise ValueError("odds must not be negative")
    # x / (x + y) keeps the digits next to 0 and next to 1, and neither side overflows
    x, y = part * np.minimum(ratio, 1), whole / np.maximum(ratio, 1)
    with np.errstate(invalid="ignore", over="ignore"):
        value, low, high = x / (x + y), x / (x + y * reach), x / (x + y / reach)
    return np.asarray(value), np.asarray(low), np.asarray(high)


def _rates(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, z: float
) -> tuple[Floats, Floats, Floats]:
    """Return k1 n2 and k2 n1, in the ratio of the rates, and the factor to its limits."""
    hits1, rows1, hits2, rows2 = (np.asarray(x, np.float64) for x in (k1, n1, k2, n2))
    if np.any(np.minimum(hits1, hits2) < 0) or np.any(hits1 > rows1) or np.any(hits2 > rows2):
        raise ValueError("k must lie between 0 and n")
    misses1, misses2 = rows1 - hits1, rows2 - hits2
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = misses1 / rows1 / hits1 + misses2 / rows2 / hits2
    some = np.minimum(misses1, misses2) > 0
    return hits1 * rows2, hits2 * rows1, _factor(np.where(some, variance, np.nan), z)


def _factor(variance: Floats, z: float) -> Floats:
    """Return what divides and multiplies a value to its limits, NaN at no finite variance."""
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(variance), np.exp(z * np.sqrt(variance)), np.nan)


def _quotient(part: Floats, whole: Floats, reach: Floats) -> tuple[Floats, Floats, Floats]:
    """Return part / whole and its limits."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.asarray(part / whole)
        return value, np.asarray(value / reach), np.asarray(value * reach)
