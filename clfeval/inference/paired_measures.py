"""Intervals of the difference of two measures of one table, by square-and-add with correlation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.score_region import OfProportions

_SHRINK = 4.0  # each step is this much shorter than the one before
_INSIDE_STEPS = 8  # between the borders a measure changes on the scale of the nearer border
_BORDER_STEPS = 24  # at a border on any scale: down to 4**-23 / 2
_COLUMNS = 5  # of the extrapolation
_ENOUGH = 1e-9  # relative: shorter steps would only add rounding
_AT_MOST = 1e-3  # relative: beyond this error there is no slope to speak of
_ROUNDING = 4 * np.finfo(np.float64).eps


def measure_difference(
    value1: ArrayLike,
    low1: ArrayLike,
    high1: ArrayLike,
    value2: ArrayLike,
    low2: ArrayLike,
    high2: ArrayLike,
    rho: ArrayLike,
) -> tuple[Floats, Floats, Floats]:
    """Return the difference of two estimates f1 - f2 of correlation rho and its interval.

    value = f1 - f2
    low = value - sqrt(d1² - 2 rho d1 e2 + e2²)   high = value + sqrt(e1² - 2 rho e1 d2 + d2²)

    with d, e the distances of each estimate to its lower and upper limit.

    Shapes: all broadcast. low1 - high2 <= low <= value <= high <= high1 - low2. A limit on the
    wrong side of its value, as a percentile may be, counts as the value. An infinite limit makes
    those it enters infinite. Where the value is infinite so is the limit beyond it; the other one
    is NaN. Limits are NaN where any argument is.
    Errors: ValueError unless low <= high in both and -1 <= rho <= 1.
    Source: Newcombe 1998, Statistics in Medicine 17:2635, method 10; Zou and Donner 2008,
    Statistics in Medicine 27:1693.
    """
    f1, l1, u1, f2, l2, u2, cosine = (
        np.asarray(x, np.float64) for x in (value1, low1, high1, value2, low2, high2, rho)
    )
    if np.any(l1 > u1) or np.any(l2 > u2):
        raise ValueError("a low limit must not exceed its high one")
    if np.any(np.abs(cosine) > 1):
        raise ValueError("a correlation must lie between -1 and 1")
    l1, u1, l2, u2 = np.minimum(l1, f1), np.maximum(u1, f1), np.minimum(l2, f2), np.maximum(u2, f2)
    known = ~np.logical_or.reduce(np.broadcast_arrays(*map(np.isnan, (l1, u1, l2, u2, cosine))))
    with np.errstate(invalid="ignore", over="ignore"):
        value = np.asarray(f1 - f2)
        # the method stays inside these by itself, its rounding does not
        low = np.maximum(value - _third_side(f1 - l1, u2 - f2, cosine), l1 - u2)
        high = np.minimum(value + _third_side(u1 - f1, f2 - l2, cosine), u1 - l2)
    finite = known & np.isfinite(value)
    return (
        value,
        np.where(finite, low, np.where(known & (value == -np.inf), value, np.nan)),
        np.where(finite, high, np.where(known & (value == np.inf), value, np.nan)),
    )


def partial_derivatives(
    measure: OfProportions, tp: ArrayLike, fp: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the partial derivatives of measure(tp, fp), numerically.

    Differences over steps that shrink fourfold, extrapolated to 0: central, at 0 and 1 one-sided.
    The first extrapolation with an error of a billionth is taken, else the one of the least error.

    Shapes: tp and fp broadcast with each other and with what the measure holds, such as a grid of
    odds; the measure must treat every element by itself. 0 where no estimate is good to a
    thousandth.
    Errors: ValueError unless 0 <= tp, fp <= 1; NaN has the slopes 0.
    Source: Ridders 1982, Advances in Engineering Software 4:75.
    """
    p, q = np.asarray(tp, np.float64), np.asarray(fp, np.float64)
    for rate in (p, q):
        if np.any(rate < 0) or np.any(rate > 1):
            raise ValueError("a rate lies between 0 and 1")
    first = _derivative(lambda x: measure(x, q), p)
    second = _derivative(lambda x: measure(p, x), q)
    first, second, *_ = np.broadcast_arrays(first, second, p, q)
    return first.copy(), second.copy()


def _derivative(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Return the derivative of a function of numbers between 0 and 1."""
    inside = (x > 0) & (x < 1)
    reach = np.where(inside, np.minimum(x, 1 - x), 1.0) / 2
    up, down = np.where(x < 1, reach, 0.0), np.where(x > 0, reach, 0.0)
    # the error of a central difference is a series in the square of the step
    factor = np.where(inside, _SHRINK**2, _SHRINK)
    best, error = np.asarray(0.0), np.asarray(_AT_MOST)
    before: list[Floats] = []
    with np.errstate(all="ignore"):
        for step in range(_BORDER_STEPS):
            seeking = (error > _ENOUGH) & (~inside | (step < _INSIDE_STEPS))
            if not seeking.any():
                break
            right, left = x + up * _SHRINK**-step, x - down * _SHRINK**-step
            higher, lower = function(right), function(left)
            row = [np.asarray((higher - lower) / (right - left))]
            rounding = _ROUNDING * (np.abs(higher) + np.abs(lower)) / (right - left)
            for k, previous in enumerate(before[:_COLUMNS]):
                better = row[k] + (row[k] - previous) / (factor ** (k + 1) - 1)
                moved = np.maximum(np.abs(better - row[k]), np.abs(better - previous))
                doubt = (moved + rounding) / np.abs(better)
                take = seeking & (doubt < error)
                best, error = np.where(take, better, best), np.where(take, doubt, error)
                row.append(better)
            before = row
    return best


def _third_side(x: Floats, y: Floats, cosine: Floats) -> Floats:
    """Return sqrt(x² - 2 cosine x y + y²), of no negative number, infinite where a side is."""
    side = np.hypot(x - y, np.sqrt(2 * (1 - cosine)) * np.sqrt(x) * np.sqrt(y))
    return np.where(np.isinf(x) | np.isinf(y), np.inf, side)
