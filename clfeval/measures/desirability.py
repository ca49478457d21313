"""Desirability functions of raw values, 0 unacceptable to 1 ideal, and overall desirability.

γ > 1 makes a high d harder to reach, γ < 1 easier (the chapter has it reversed). x has any shape
and d the same; NaN gives NaN.

Source: Derringer and Suich 1980, Journal of Quality Technology 12:214; AML4TD chapter 15, equations
15.28 to 15.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, isfinite

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.measures.record import Measure


def maximize(x: ArrayLike, low: float, high: float, *, gamma: float = 1.0) -> Floats:
    """Return the desirability of values of which more is better; 0..1.

    d = ((x - low) / (high - low)) ** gamma   0 at or below low, 1 at or above high

    Errors: ValueError unless low < high and gamma > 0.
    """
    _need_rise("low", low, "high", high)
    return _ramp(np.asarray(x, np.float64) - low, high - low, gamma)


def minimize(x: ArrayLike, low: float, high: float, *, gamma: float = 1.0) -> Floats:
    """Return the desirability of values of which less is better; 0..1.

    d = ((x - high) / (low - high)) ** gamma   1 at or below low, 0 at or above high

    Errors: ValueError unless low < high and gamma > 0.
    """
    _need_rise("low", low, "high", high)
    return _ramp(high - np.asarray(x, np.float64), high - low, gamma)


def target(
    x: ArrayLike, low: float, target: float, high: float, *, gammas: tuple[float, float] = (1, 1)
) -> Floats:
    """Return the desirability of values of which one is best; 0..1.

    d = ((x - low) / (target - low)) ** gamma   up to the target
    d = ((x - high) / (target - high)) ** gamma   from the target on
    d = 0 at or below low, at or above high; 1 at the target; gammas: those below and above it

    Errors: ValueError unless low < target < high and both exponents are above 0.
    """
    _need_rise("low", low, "target", target)
    _need_rise("target", target, "high", high)
    values = np.asarray(x, np.float64)
    rising = _ramp(values - low, target - low, gammas[0])
    falling = _ramp(high - values, high - target, gammas[1])
    return np.where(values <= target, rising, falling)


def box(
    x: ArrayLike,
    low: float | None = None,
    high: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> Floats:
    """Return the desirability 1 of values inside an interval and 0 outside.

    inside: low <= x <= high, ends included   above < x < below, ends left out

    Errors: ValueError without any end, with two on one side, unless the lower is below the upper
    one.
    """
    if (low is not None and above is not None) or (high is not None and below is not None):
        raise ValueError("a box takes one limit on each side: low or above, high or below")
    bottom, top = (low if above is None else above), (high if below is None else below)
    if not all(isfinite(end) for end in (bottom, top) if end is not None):
        raise ValueError("the limits of a box must be finite numbers")
    if bottom is None and top is None:
        raise ValueError("a box needs at least one of low, high, above and below")
    if bottom is not None and top is not None:
        names = "low" if above is None else "above", "high" if below is None else "below"
        _need_rise(names[0], bottom, names[1], top)
    values = np.asarray(x, np.float64)
    least, most = -inf if bottom is None else bottom, inf if top is None else top
    inside = values >= least if above is None else values > least
    inside &= values <= most if below is None else values < most
    return np.where(np.isnan(values), np.nan, inside.astype(np.float64))


def custom(x: ArrayLike, points: Sequence[Sequence[float]]) -> Floats:
    """Return the desirability by linear interpolation of points (x, d), constant outside them;
    0..1.

    Errors: ValueError unless there are two points or more, x rises strictly from each to the next,
    and every d is in 0..1.
    """
    if len(points) < 2 or any(len(point) != 2 for point in points):
        raise ValueError("at least two points [x, d] are needed")
    for (left, _), (right, _) in pairwise(points):
        _need_rise("x", left, "the next x", right)
    for at, worth in points:
        if not 0 <= worth <= 1:
            raise ValueError(f"d {worth:.10g} of the point at {at:.10g} is not between 0 and 1")
    corners = np.asarray(points, np.float64)
    lines = np.interp(np.asarray(x, np.float64), corners[:, 0], corners[:, 1])
    return np.asarray(np.clip(lines, 0.0, 1.0))


def overall_desirability(d: ArrayLike, weights: ArrayLike) -> Floats:
    """Return the overall desirability D, a weighted geometric mean over the last axis; 0..1.

    D = product of d ** (w / sum w)

    One d of 0 makes D exactly 0, a NaN makes it NaN. A weight of 0 leaves its d out. Shapes: d
    (..., m), weights (m,), D (...).
    Errors: ValueError for a d outside 0..1, a negative or infinite weight, no weight above 0.
    """
    each, w = np.asarray(d, np.float64), np.asarray(weights, np.float64)
    if w.shape != each.shape[-1:] or not np.all((w >= 0) & np.isfinite(w)) or not np.any(w > 0):
        raise ValueError("each d needs a finite weight >= 0, and one weight must be above 0")
    if each.size and (np.fmin.reduce(each, axis=None) < 0 or np.fmax.reduce(each, axis=None) > 1):
        raise ValueError("each d must be between 0 and 1")
    if not w.all():
        each, w = each[..., w > 0], w[w > 0]
    shares = w / w.max()
    shares /= shares.sum()
    zero = np.any(each == 0, axis=-1)
    # a share may have become 0, and 0 times the logarithm of 0 is NaN
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(each)
        logs *= shares
        mean = np.asarray(np.exp(logs.sum(axis=-1)))
    return np.where(np.any(np.isnan(each), axis=-1), np.nan, np.where(zero, 0.0, mean))


def _ramp(part: Floats, whole: float, gamma: float) -> Floats:
    if not (gamma > 0 and isfinite(gamma)):
        raise ValueError(f"gamma {gamma:.10g} is not a number above 0")
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(part / whole, 0.0, 1.0) ** gamma)


def _need_rise(first: str, low: float, second: str, high: float) -> None:
    if not low < high:
        raise ValueError(f"{first} {low:.10g} is not less than {second} {high:.10g}")
    if not isfinite(high - low):
        raise ValueError(f"{first} {low:.10g} is too far from {second} {high:.10g}")


MEASURES = (
    Measure("desirability", "D", overall_desirability, "metrics", ("missing_component",), "drawn",
            "product of d ** (w / sum w)",
            "Derringer and Suich 1980, Journal of Quality Technology 12:214", ("d",)),
)  # fmt: skip
