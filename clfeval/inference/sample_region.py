"""The range of a measure of a sample's rows, whose class totals are as random as its answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats
from clfeval.inference.score_region import (
    OfProportions,
    ignore_undefined,
    kink_in_region,
    wilson_limit,
)
from clfeval.inference.shares import score_parts
from clfeval.inference.special import critical_value

OfShares = Callable[[Floats, Floats, Floats], Floats]  # of p1, p2 and the share of the first class

_DIRECTIONS = 256  # at first, evenly over the sphere
_SPACING = np.sqrt(4 * np.pi / _DIRECTIONS)
_SHRINK = 3.0  # a look around that finds no better place is followed by one this much closer
_FIRST, _LOOKS = 2, 24  # looks at every candidate, and in all at most
_CLOSE = 1e-7  # a direction this far off changes a value by the square of it
_EDGES = np.array([[0.0, 1, 1], [1, 0, 1]])  # in directions that leave a rate as observed
_NEIGHBOUR_STEPS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]


def range_over_sample(
    measure: OfShares,
    k1: ArrayLike,
    n1: ArrayLike,
    k2: ArrayLike,
    n2: ArrayLike,
    *,
    level: float,
    kink: OfProportions | None = None,
    share: tuple[ArrayLike, ArrayLike] | None = None,
) -> tuple[Floats, Floats]:
    """Return the range of measure(p1, p2, p) where z1(p1)² + z2(p2)² + z0(p)² <= z².

    z1, z2: of k1/n1 and k2/n2 as in `range_over_region`; z0(p) = (n1/M - p) / sqrt(p (1-p) / M)
    with M = n1 + n2. z is the two-sided normal quantile of the level, one degree of freedom. share:
    other counts for p than n1 of M, where those of the two classes were divided.

    Extremes: on the boundary, at the observed point and on the zero set of a `kink`, as in
    `range_over_region`, by quadratic steps from the best of 256 directions in each octant.

    Shapes: counts broadcast to (m,); the measure is called with arrays (..., m) and treats every
    element by itself. low <= observed value <= high; values that are NaN are left out, NaN where
    all are, as where a class is empty.
    Errors: ValueError unless 0 <= k <= n and 0 < level < 1.
    Source: the region of Newcombe 2011, Communications in Statistics - Theory and Methods 40:3154,
    with a third share.
    """
    counts = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (k1, n1, k2, n2)))
    flat = [x.ravel() for x in counts]
    hits1, rows1, hits2, rows2 = flat
    third = (rows1, rows1 + rows2) if share is None else share
    pairs = (hits1, rows1), (hits2, rows2), third
    parts, z = [score_parts(*pair) for pair in pairs], critical_value(level)

    def at(directions: Floats) -> Floats:
        """Return the measure on the boundary in directions (3, ..., m)."""
        return ignore_undefined(measure, *map(wilson_limit, parts, z * directions))

    observed = ignore_undefined(measure, *(part[0] for part in parts))
    grid = _sphere_directions()
    values = at(grid[:, :, None])
    low, high = -_maximize(lambda d: -at(d), grid, -values), _maximize(at, grid, values)
    if kink is not None:
        crossed, *there = kink_in_region(kink, *flat, level=level)
        least = ignore_undefined(measure, *there, parts[2][0])
        low = np.where(crossed & ~np.isnan(least), least, low)
    low, high = np.fmin(observed, low), np.fmax(observed, high)
    return low.reshape(counts[0].shape), high.reshape(counts[0].shape)


def _sphere_directions() -> Floats:
    """Return directions (3, d), evenly spread over the sphere along a spiral."""
    i = np.arange(_DIRECTIONS) + 0.5
    height, turn = 1 - 2 * i / _DIRECTIONS, np.pi * (1 + np.sqrt(5)) * i
    flat = np.sqrt(1 - height**2)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), height])


def _maximize(function: Callable[[Floats], Floats], grid: Floats, values: Floats) -> Floats:
    """Return the highest value (m,) of a function of directions (3, ..., m) on the sphere.

    values (d, m): its values in the directions `grid` (3, d).
    """
    values = np.where(np.isnan(values), -np.inf, values)
    octants = (grid > 0).T @ np.array([1, 2, 4])
    sectors = [np.flatnonzero(octants == i) for i in range(8)]
    best = np.stack([some[values[some].argmax(axis=0)] for some in sectors])  # (8, m)
    centres, tops = grid[:, best], np.take_along_axis(values, best, axis=0)
    steps = np.full(tops.shape, _SPACING / 2)
    for look in range(_LOOKS):
        if look == _FIRST:  # by now they are told apart
            first = tops.argmax(axis=0)[None]
            centres = np.take_along_axis(centres, first[None], axis=1)
            tops, steps = (np.take_along_axis(one, first, axis=0) for one in (tops, steps))
        # what is found stays as it is, whatever else is in the block
        seeking = steps > _CLOSE
        if not seeking.any():
            break
        found, higher = _search_neighbours(function, centres, tops, steps)
        far = ((found - centres) ** 2).sum(axis=0) > (steps / 2) ** 2
        centres, tops = np.where(seeking, found, centres), np.where(seeking, higher, tops)
        steps = np.where(far, steps, steps / _SHRINK)  # what still goes on keeps its pace
    top = tops.max(axis=0)
    return np.where(np.isneginf(top), np.nan, top)


def _search_neighbours(
    function: Callable[[Floats], Floats], centres: Floats, tops: Floats, steps: Floats
) -> tuple[Floats, Floats]:
    """Return the best directions a step (c, m) around the centres (3, c, m), and their values."""
    a, b = (steps * tangent for tangent in _tangents(centres))
    at = np.array(_NEIGHBOUR_STEPS, np.float64)  # (9, 2)
    around = (
        centres[:, None] + at[:, 0, None, None] * a[:, None] + at[:, 1, None, None] * b[:, None]
    )
    around /= np.sqrt((around**2).sum(axis=0))
    values = function(around)  # (9, c, m)
    x, y = _quadratic_peak(values)
    beyond = centres + x * a + y * b
    # of a rate of 0 or 1 one side of the region is flat, and the best may lie on its edge
    edges = [beyond * keep[:, None, None] for keep in _EDGES]
    tried = np.stack([beyond, *edges], axis=1)
    tried /= np.maximum(np.sqrt((tried**2).sum(axis=0)), 1e-300)
    points = np.concatenate([centres[:, None], around, tried], axis=1)
    heights = np.concatenate([tops[None], values, function(tried)])
    heights = np.where(np.isnan(heights), -np.inf, heights)
    best = heights.argmax(axis=0)[None]
    chosen = np.take_along_axis(points, best[None], axis=1)[:, 0]
    return chosen, np.take_along_axis(heights, best, axis=0)[0]


def _tangents(centres: Floats) -> tuple[Floats, Floats]:
    """Return two directions (3, ...) at right angles to each centre and to each other."""
    x, y, z = centres
    sign = np.where(z < 0, -1.0, 1.0)
    a = -1 / (sign + z)
    b = x * y * a
    return (
        np.stack([1 + sign * x * x * a, sign * b, -sign * x]),
        np.stack([b, sign + y * y * a, -y]),
    )


def _quadratic_peak(values: Floats) -> tuple[Floats, Floats]:
    """Return where in -1..1 the quadratic through nine values (9, ...) is highest, else 0."""
    v = dict(zip(_NEIGHBOUR_STEPS, values, strict=True))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gx, gy = (v[1, 0] - v[-1, 0]) / 2, (v[0, 1] - v[0, -1]) / 2
        xx, yy = v[1, 0] - 2 * v[0, 0] + v[-1, 0], v[0, 1] - 2 * v[0, 0] + v[0, -1]
        xy = (v[1, 1] - v[1, -1] - v[-1, 1] + v[-1, -1]) / 4
        det = xx * yy - xy * xy
        x, y = (xy * gy - yy * gx) / det, (xy * gx - xx * gy) / det
    peak: Bools = (xx < 0) & (det > 0) & np.isfinite(x) & np.isfinite(y)
    return np.where(peak, np.clip(x, -1, 1), 0.0), np.where(peak, np.clip(y, -1, 1), 0.0)
