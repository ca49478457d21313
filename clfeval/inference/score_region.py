"""The range of a measure of two proportions over the region that the data leave plausible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.search import halved
from clfeval.inference.shares import wilson
from clfeval.inference.special import critical_value

Measure = Callable[[Floats, Floats], Floats]

_GRID = 512  # directions at first
_HILLS = 4  # local extremes followed, the best by the grid
_ZOOM = 17  # directions inside a bracket, which becomes 8 times narrower each time
_ZOOMS = 10  # 8**-10 of 2 / 512 of a turn
_CLOSE = 1e-9  # relative


def range_over_region(
    measure: Measure,
    k1: ArrayLike,
    n1: ArrayLike,
    k2: ArrayLike,
    n2: ArrayLike,
    *,
    level: float,
    kink: Measure | None = None,
) -> tuple[Floats, Floats]:
    """Return the least and the greatest measure(p1, p2) where z1(p1)² + z2(p2)² <= z².

    z_i(p) = (k_i/n_i - p) / sqrt(p (1-p) / n_i), z the two-sided normal quantile of the level: one
    degree of freedom, as fits an interval of one number. The boundary is p1 = the Wilson limit at
    z |cos t|, p2 = that at z |sin t|, the lower one where cos or sin is negative.

    The extremes are looked for on the boundary, at the observed point and, given a `kink`, on its
    zero set: a function of p1 and p2 that is 0 exactly where the measure has its least value and
    has another sign on either side, as p1 - p2 for |p1 - p2|. Right for measures without any other
    extreme inside, such as all that rise or fall in p1 and in p2.

    Shapes: k and n broadcast; both functions are called with arrays whose last axis is the flat
    broadcast models (1 for scalars) and must treat every element by itself. low <= observed value
    <= high; values that are NaN are left out, NaN where all are, as where n1 = 0 or n2 = 0.
    Errors: ValueError unless 0 <= k <= n and 0 < level < 1.
    Source: Newcombe 2011, Communications in Statistics - Theory and Methods 40:3154.
    """
    z = critical_value(level)
    counts = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (k1, n1, k2, n2)))
    shape = counts[0].shape
    flat = [x.ravel() for x in counts]
    region = _Region(flat[0], flat[1], flat[2], flat[3], z)
    observed = _call(measure, *region.at(np.zeros(flat[0].size), 0.0))
    high = np.fmax(observed, _highest(measure, region)[1])
    low = -_highest(_times(measure, -1.0), region)[1]
    if kink is not None:
        inside = _at_kink(measure, kink, region)
        low = np.where(np.isnan(inside), low, inside)  # not fmin: elsewhere it may round below it
    low = np.fmin(observed, low)
    return low.reshape(shape), high.reshape(shape)


@dataclass(frozen=True, slots=True)
class _Region:
    """The plausible region of some models (m,), in directions and shares of the way out."""

    k1: Floats
    n1: Floats
    k2: Floats
    n2: Floats
    z: float

    def at(self, t: Floats, share: ArrayLike = 1.0) -> tuple[Floats, Floats]:
        """Return the points (..., m) in directions t (..., m), share 0 the observed, 1 the edge."""
        reach = self.z * np.asarray(share)
        return (
            _limit(self.k1, self.n1, reach * np.cos(t)),
            _limit(self.k2, self.n2, reach * np.sin(t)),
        )


def _limit(k: Floats, n: Floats, z: Floats) -> Floats:
    """Return the upper Wilson limit at z, the lower one where z is negative."""
    low, high = wilson(k, n, np.abs(z))
    return np.where(z < 0, low, high)


def _call(function: Measure, p1: Floats, p2: Floats) -> Floats:
    """Return the values of a function that may be undefined or infinite at some points."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.broadcast_to(np.asarray(function(p1, p2), np.float64), p1.shape)


def _times(function: Measure, factor: Floats | float) -> Measure:
    """Return factor times a function."""
    return lambda p1, p2: np.asarray(factor * _call(function, p1, p2))


def _highest(function: Measure, region: _Region) -> tuple[Floats, Floats]:
    """Return in which direction a function is highest on the boundary, and how high: (m,) each."""

    def heights(t: Floats) -> Floats:
        values = _call(function, *region.at(t))
        return np.where(np.isnan(values), -np.inf, values)

    step = 2 * np.pi / _GRID
    models = region.k1.size
    t = np.broadcast_to(step * np.arange(_GRID)[:, None], (_GRID, models))
    values = heights(t)
    # the first point of a plateau stands for all of it
    hill = (values > np.roll(values, 1, axis=0)) & (values >= np.roll(values, -1, axis=0))
    hill[values.argmax(axis=0), np.arange(models)] = True
    order = np.argsort(np.where(hill, -values, np.inf), axis=0, kind="stable")[:_HILLS]
    centres = np.take_along_axis(t, order, axis=0)
    tops = np.take_along_axis(values, order, axis=0)
    offsets = np.linspace(-1, 1, _ZOOM)[:, None, None]
    for _ in range(_ZOOMS):
        around = centres + step * offsets
        values = heights(around)
        best = values.argmax(axis=0)[None]
        found = np.take_along_axis(values, best, axis=0)[0]
        better = found > tops
        centres = np.where(better, np.take_along_axis(around, best, axis=0)[0], centres)
        tops = np.where(better, found, tops)
        step *= 2 / (_ZOOM - 1)
    best = tops.argmax(axis=0)[None]
    top = np.take_along_axis(tops, best, axis=0)[0]
    return np.take_along_axis(centres, best, axis=0)[0], np.where(np.isneginf(top), np.nan, top)


def _at_kink(measure: Measure, kink: Measure, region: _Region) -> Floats:
    """Return the measure on the zero set of the kink, NaN where the region does not reach it."""
    nowhere = np.zeros(region.k1.size)
    side = np.sign(_call(kink, *region.at(nowhere, 0.0)))
    # from the observed point go towards where the kink is most on the other side
    t, least = _highest(_times(kink, -side), region)
    _, far = halved(
        lambda share: side * _call(kink, *region.at(t, share)) > 0, nowhere, nowhere + 1
    )
    p1, p2 = region.at(t, far)
    # Bisection ends a rounding error away from the line: where one of the two usual lines passes
    # that close, take the point on it, for the measure to be its least value to the last bit.
    for line in (p1, 1 - p1):
        on = (np.abs(p2 - line) <= _CLOSE * line) & (_call(kink, p1, line) == 0)
        p2 = np.where(on, line, p2)
    return np.where(least >= 0, _call(measure, p1, p2), np.nan)
