"""The range of a measure over the confidence region of two proportions; partial derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats, Ints
from clfeval.inference.distributions import bisect, critical_value
from clfeval.inference.proportions import Parts, part_of_sum, score_parts, score_spread
from clfeval.records import dataclass

OfShares = Callable[[Floats, Floats, Floats], Floats]  # of p1, p2 and the share of the first class

_DIRECTIONS = 256  # at first, evenly over the sphere
_SPACING = np.sqrt(4 * np.pi / _DIRECTIONS)
_SHRINK = 3.0  # the step shrinks by this factor when a search finds no better place
_FIRST = 2  # looks at every candidate
_LOOKS = 24  # looks in all, at most
_CLOSE_DIRECTION = 1e-7  # a direction this far off changes a value by the square of it
_EDGES = np.array([[0.0, 1, 1], [1, 0, 1]])  # in directions that leave a rate as observed
_NEIGHBOUR_STEPS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]


def concatenate_functions(
    functions: Sequence[Callable[..., Floats]], m: int
) -> Callable[..., Floats]:
    """Return a function of shares (..., q m) that is the i-th of q functions of the i-th m."""
    if len(functions) == 1:
        return functions[0]

    def values(*shares: Floats) -> Floats:
        parts = [share.reshape(*share.shape[:-1], -1, len(functions), m) for share in shares]
        results = [
            function(*(part[..., i, :] for part in parts)) for i, function in enumerate(functions)
        ]
        return np.stack(results, axis=-2).reshape(shares[0].shape)

    return values


def range_over_sample(
    measure: OfShares,
    *counts: ArrayLike,
    level: float,
    kink: OfProportions | None = None,
    kinked: Bools | bool = True,
    share: tuple[ArrayLike, ArrayLike] | None = None,
) -> tuple[Floats, Floats]:
    """Return the range of measure(p1, p2, p) where z1(p1)² + z2(p2)² + z0(p)² <= z².

    z1, z2: of k1/n1 and k2/n2 as in `range_over_region`; z0(p) = (n1/M - p) / sqrt(p (1-p) / M)
    with M = n1 + n2. z is the two-sided normal quantile of the level, one degree of freedom. share:
    other counts for p than n1 of M, where those of the two classes were divided.

    Extremes: on the boundary, at the observed point and on the zero set of a `kink`, as in
    `range_over_region`, by quadratic steps from the best of 256 directions in each octant.

    Shapes: counts k1, n1, k2, n2 broadcast to (m,); the measure is called with arrays (..., m) and
    treats every element by itself. low <= observed value <= high; values that are NaN are left out,
    NaN where all are, as where a class is empty.
    Errors: ValueError unless 0 <= k <= n and 0 < level < 1.
    Source: the region of Newcombe 2011, Communications in Statistics - Theory and Methods 40:3154,
    with a third share.
    """
    shape, flat = _flat_counts(counts)
    sampled = (flat[1], flat[1] + flat[3]) if share is None else share
    z = critical_value(level)
    k = np.array([flat[0], flat[2], sampled[0]])
    n = np.array([flat[1], flat[3], sampled[1]])
    shares = score_parts(k, n)[0]
    observed = ignore_undefined(measure, *shares)
    low, high = _range_on_sphere(measure, k, n, z)
    if kink is not None:
        region = _Region(score_parts(k[:2], n[:2]), z)
        crossed, points = _kink_crossing(
            kink, region.observed_points(), region.edge_points(), region
        )
        minimum = ignore_undefined(measure, *points, shares[2])
        low = np.where(crossed & kinked & ~np.isnan(minimum), minimum, low)
    return np.fmin(observed, low).reshape(shape), np.fmax(observed, high).reshape(shape)


def _range_on_sphere(measure: OfShares, k: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the least and the greatest value, (m,), on the boundary of the region of k / n (3, m).

    A point of the boundary is a direction from the observed shares, on the sphere of radius z.
    """
    m = k.shape[1]
    parts = score_parts(np.tile(k, 2), np.tile(n, 2))
    sign = np.repeat([-1.0, 1.0], m)

    def signed_values(directions: Floats) -> Floats:
        """Return minus the measure, and the measure, on the boundary: (3, ..., 2m) directions."""
        values = ignore_undefined(measure, *wilson_limit(parts, z * directions))
        return np.asarray(sign * values)

    grid = _sphere_directions()
    extremes = sign * _maximize(signed_values, grid, signed_values(grid[:, :, None]))
    return extremes[:m], extremes[m:]


def _sphere_directions() -> Floats:
    """Return directions (3, d) evenly spread over the sphere, along a spiral."""
    i = np.arange(_DIRECTIONS) + 0.5
    height = 1 - 2 * i / _DIRECTIONS
    turn = np.pi * (1 + np.sqrt(5)) * i
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height])


def _flat_counts(counts: Sequence[ArrayLike]) -> tuple[tuple[int, ...], Floats]:
    """Return the shape of k1, n1, k2, n2, and these counts, (4, m)."""
    broadcast = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in counts))
    return broadcast[0].shape, np.array([x.ravel() for x in broadcast])


def _maximize(function: Callable[[Floats], Floats], grid: Floats, values: Floats) -> Floats:
    """Return the highest value (m,) of a function of directions (3, ..., m) on the sphere.

    values (d, m): its values in the directions `grid` (3, d).
    """
    values = _undefined_last(values)
    octants = (grid > 0).T @ np.array([1, 2, 4])
    sectors = [np.flatnonzero(octants == i) for i in range(8)]
    best = np.stack([sector[values[sector].argmax(axis=0)] for sector in sectors])  # (8, m)
    centres = grid[:, best]
    tops = np.take_along_axis(values, best, axis=0)
    steps = np.full(tops.shape, _SPACING / 2)
    for look in range(_LOOKS):
        if look == _FIRST:  # by now the candidates differ clearly
            first = tops.argmax(axis=0)[None]
            centres = np.take_along_axis(centres, first[None], axis=1)
            tops, steps = (np.take_along_axis(array, first, axis=0) for array in (tops, steps))
        # what is already close enough stays as it is, whatever else is in the block
        seeking = steps > _CLOSE_DIRECTION
        if not seeking.any():
            break
        neighbours, higher = _search_neighbours(function, centres, tops, steps)
        far = ((neighbours - centres) ** 2).sum(axis=0) > (steps / 2) ** 2
        centres = np.where(seeking, neighbours, centres)
        tops = np.where(seeking, higher, tops)
        steps = np.where(far, steps, steps / _SHRINK)  # continuing searches keep their steps
    top = tops.max(axis=0)
    return np.where(np.isneginf(top), np.nan, top)


def _search_neighbours(
    function: Callable[[Floats], Floats], centres: Floats, tops: Floats, steps: Floats
) -> tuple[Floats, Floats]:
    """Return the best directions within a step (c, m) of the centres (3, c, m), and values."""
    a, b = _tangents(centres, steps)
    shifts = np.array(_NEIGHBOUR_STEPS, np.float64)[:, :, None, None]  # (9, 2, 1, 1)
    neighbours = centres[:, None] + shifts[:, 0] * a[:, None] + shifts[:, 1] * b[:, None]
    neighbours /= np.sqrt((neighbours**2).sum(axis=0))
    values = function(neighbours)  # (9, c, m)
    x, y = _quadratic_peak(values)
    peak = centres + x * a + y * b
    # at a rate of 0 or 1 a side of the region is flat, and the maximum may lie on its edge
    candidates = np.stack([peak, *(peak * rates[:, None, None] for rates in _EDGES)], axis=1)
    candidates /= np.maximum(np.sqrt((candidates**2).sum(axis=0)), 1e-300)
    points = np.concatenate([centres[:, None], neighbours, candidates], axis=1)
    heights = _undefined_last(np.concatenate([tops[None], values, function(candidates)]))
    best = heights.argmax(axis=0)[None]
    best_points = np.take_along_axis(points, best[None], axis=1)[:, 0]
    return best_points, np.take_along_axis(heights, best, axis=0)[0]


def _tangents(centres: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """Return two tangents (3, c, m) of length `steps`, orthogonal to each centre and each other."""
    first, second, third = centres
    sign = np.where(third < 0, -1.0, 1.0)
    slope = -1 / (sign + third)
    mixed = first * second * slope
    a = steps * np.stack([1 + sign * first * first * slope, sign * mixed, -sign * first])
    b = steps * np.stack([mixed, sign + second * second * slope, -second])
    return a, b


def _quadratic_peak(values: Floats) -> tuple[Floats, Floats]:
    """Return where in -1..1 the quadratic through nine values (9, ...) is highest, else 0."""
    v = dict(zip(_NEIGHBOUR_STEPS, values, strict=True))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gx = (v[1, 0] - v[-1, 0]) / 2
        gy = (v[0, 1] - v[0, -1]) / 2
        xx = v[1, 0] - 2 * v[0, 0] + v[-1, 0]
        yy = v[0, 1] - 2 * v[0, 0] + v[0, -1]
        xy = (v[1, 1] - v[1, -1] - v[-1, 1] + v[-1, -1]) / 4
        det = xx * yy - xy * xy
        x = (xy * gy - yy * gx) / det
        y = (xy * gx - xx * gy) / det
    peak: Bools = (xx < 0) & (det > 0) & np.isfinite(x) & np.isfinite(y)
    return np.where(peak, np.clip(x, -1, 1), 0.0), np.where(peak, np.clip(y, -1, 1), 0.0)


OfProportions = Callable[[Floats, Floats], Floats]

_GRID = 512  # directions at first
_STEP = 2 * np.pi / _GRID
_BOUNDARY_DIRECTIONS = np.arange(_GRID, dtype=np.float64)[:, None] * _STEP
_HILLS = 4  # local extremes followed, the best by the grid
_ZOOM = 17  # directions inside a bracket, which becomes 8 times narrower each time
_ZOOMS = 10  # 8**-10 of 2 / 512 of a turn
_RELATIVE_TOLERANCE = 1e-9  # relative


def range_over_region(
    measure: OfProportions,
    *counts: ArrayLike,
    level: float,
    kink: OfProportions | None = None,
    kinked: Bools | bool = True,
) -> tuple[Floats, Floats]:
    """Return the least and the greatest measure(p1, p2) where z1(p1)² + z2(p2)² <= z².

    z_i(p) = (k_i/n_i - p) / sqrt(p (1-p) / n_i), z the two-sided normal quantile of the level: one
    degree of freedom, as fits an interval of one number. The boundary is p1 = the Wilson limit at
    z |cos t|, p2 = that at z |sin t|, the lower one where cos or sin is negative.

    Extremes are searched on the boundary, at the observed point and on the zero set of a `kink`, a
    function of p1 and p2 that is 0 exactly where the measure has its least value, as p1 - p2 for
    |p1 - p2|; kinked: at which models. The measure must have no other extreme inside.

    Shapes: counts k1, n1, k2, n2 broadcast; the measure is called with arrays whose last axis is
    the flat broadcast models (1 for scalars), the kink once for models of the same counts; both
    must treat every element by itself. low <= observed value <= high; values that are NaN are left
    out, NaN where all are, as where n1 = 0 or n2 = 0.
    Errors: ValueError unless 0 <= k <= n and 0 < level < 1.
    Source: Newcombe 2011, Communications in Statistics - Theory and Methods 40:3154.
    """
    shape, flat = _flat_counts(counts)
    z = critical_value(level)
    region = _Region(score_parts(flat[::2], flat[1::2]), z)
    # the limits of the region depend on the counts alone, and are the same at other odds
    distinct_counts, position = np.unique(flat, axis=1, return_inverse=True)
    position = position.ravel()
    distinct = _Region(score_parts(distinct_counts[::2], distinct_counts[1::2]), z)
    centre = distinct.observed_points()
    edge = distinct.edge_points()
    observed = ignore_undefined(measure, *(p[position] for p in centre))
    low, high = _range_on_boundary(
        measure, region, tuple(np.take(p, position, axis=1) for p in edge)
    )
    if kink is not None:
        crossed, points = _kink_crossing(kink, centre, edge, distinct)
        minimum = ignore_undefined(measure, *(p[position] for p in points))
        # not fmin: elsewhere it may round below it
        low = np.where(crossed[position] & kinked & ~np.isnan(minimum), minimum, low)
    return np.fmin(observed, low).reshape(shape), np.fmax(observed, high).reshape(shape)


def _range_on_boundary(
    measure: OfProportions, region: _Region, edge: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return the least and the greatest value, (m,), on the boundary with the points `edge`."""
    signs = np.array([[-1.0], [1.0]])
    _, (negative_low, high) = _maximize_on_boundary(measure, signs, region, edge)
    return -negative_low, high


def _kink_crossing(
    kink: OfProportions, centre: Sequence[Floats], edge: Sequence[Floats], region: _Region
) -> tuple[Bools, tuple[Floats, Floats]]:
    """Return whether the kink passes through each region, and a point on it where it does."""
    # search from the observed point towards the point where the kink has the most opposite value
    side = np.sign(ignore_undefined(kink, *centre))
    (t,), (lowest,) = _maximize_on_boundary(kink, -side[None], region, edge)
    nowhere = np.zeros(t.size)
    _, far = bisect(
        lambda share: side * ignore_undefined(kink, *region.boundary_points(t, share)) > 0,
        nowhere,
        nowhere + 1,
    )
    p1, p2 = region.boundary_points(t, far)
    # Bisection ends a rounding error away from the line: where one of the two usual lines passes
    # that close, take the point on it, for the measure to be its least value to the last bit.
    for line in (p1, 1 - p1):
        close = np.abs(p2 - line) <= _RELATIVE_TOLERANCE * line
        p2 = np.where(close & (ignore_undefined(kink, p1, line) == 0), line, p2)
    return lowest >= 0, (p1, p2)


@dataclass(frozen=True, slots=True)
class _Region:
    """The joint confidence region of m tables, by direction and share of the way to its edge."""

    parts: Parts  # (2, m) each
    z: float

    def boundary_points(self, t: Floats, share: ArrayLike = 1.0) -> tuple[Floats, Floats]:
        """Return the points (..., m) in directions t (..., m), share 0 the observed, 1 the edge."""
        reach = self.z * np.asarray(share)
        first, second = wilson_limit(self.parts, reach * np.stack([np.cos(t), np.sin(t)]))
        return first, second

    def observed_points(self) -> tuple[Floats, Floats]:
        """Return the observed points, (m,)."""
        return self.boundary_points(np.zeros(self.parts[0].shape[1]), 0.0)

    def edge_points(self) -> tuple[Floats, Floats]:
        """Return the points (d, m) in evenly spread directions on the boundary."""
        return self.boundary_points(_BOUNDARY_DIRECTIONS)


def wilson_limit(parts: Parts, z: Floats) -> Floats:
    """Return the upper Wilson limits (s, ..., m) at z, lower where z is negative; parts (s, m)."""
    middle_axes = (1,) * (z.ndim - 2)
    p, q, hits, misses = (part.reshape(len(part), *middle_axes, -1) for part in parts)
    below = z < 0
    s = score_spread((p, q, hits, misses), np.abs(z))
    share = part_of_sum(np.where(below, hits, s), np.where(below, s, misses))
    return np.asarray(np.where(below, p * share, np.minimum(p + q * share, 1)))


def ignore_undefined(function: Callable[..., Floats], *shares: Floats) -> Floats:
    """Return the values of a function, without warnings where it is undefined or infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.broadcast_to(np.asarray(function(*shares), np.float64), shares[0].shape)


def _maximize_on_boundary(
    function: OfProportions, factors: Floats, region: _Region, edge: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return direction and value of the maximum on the boundary of factors (f, m) x function."""
    factors = factors[:, None]
    centres, tops = _local_maxima(_undefined_last(factors * ignore_undefined(function, *edge)))
    offsets = np.linspace(-1, 1, _ZOOM)[:, None, None]
    step = _STEP
    for _ in range(_ZOOMS):
        directions = centres[:, None] + step * offsets
        values = _undefined_last(
            factors[:, None] * ignore_undefined(function, *region.boundary_points(directions))
        )
        best = values.argmax(axis=1)[:, None]
        highest = np.take_along_axis(values, best, axis=1)[:, 0]
        better = highest > tops
        centres = np.where(better, np.take_along_axis(directions, best, axis=1)[:, 0], centres)
        tops = np.where(better, highest, tops)
        step *= 2 / (_ZOOM - 1)
    best = tops.argmax(axis=1)[:, None]
    top = np.take_along_axis(tops, best, axis=1)[:, 0]
    centre = np.take_along_axis(centres, best, axis=1)[:, 0]
    return centre, np.where(np.isneginf(top), np.nan, top)


def _local_maxima(values: Floats) -> tuple[Floats, Floats]:
    """Return directions and values (f, 4, m) of the highest local extremes among (f, d, m)."""
    # the first point of a plateau represents it
    hill = (values > np.roll(values, 1, axis=1)) & (values >= np.roll(values, -1, axis=1))
    np.put_along_axis(hill, values.argmax(axis=1)[:, None], True, axis=1)
    left = np.where(hill, values, -np.inf)
    places: list[Ints] = []
    while len(places) < _HILLS and not (places and np.isneginf(left).all()):
        places.append(left.argmax(axis=1)[:, None])
        np.put_along_axis(left, places[-1], -np.inf, axis=1)
    order = np.concatenate(places, axis=1)
    tops = np.take_along_axis(values, order, axis=1)
    neighbours = [np.take_along_axis(values, (order + by) % _GRID, axis=1) for by in (-1, 1)]
    with np.errstate(invalid="ignore"):
        # a smooth maximum exceeds its grid point by less than its neighbours lie below that point
        reach = tops + (tops - np.minimum(*neighbours)) + _RELATIVE_TOLERANCE * np.abs(tops)
        hopeful = ~(reach < tops[:, :1]).all(axis=(0, 2))
    kept_hills = int(np.flatnonzero(hopeful)[-1]) + 1 if hopeful.any() else 1
    return _STEP * order[:, :kept_hills].astype(np.float64), tops[:, :kept_hills]


def _undefined_last(values: Floats) -> Floats:
    return np.where(np.isnan(values), -np.inf, values)


_STEP_RATIO = 4.0  # each step is this much shorter than the one before
_INSIDE_STEPS = 8  # between the borders a measure changes on the scale of the nearer border
_BORDER_STEPS = 24  # at a border on any scale: down to 4**-23 / 2
_COLUMNS = 5  # of the extrapolation
_ENOUGH = 1e-9  # relative: shorter steps would only add rounding
_AT_MOST = 1e-3  # relative: beyond this error the slope counts as 0
_FLOAT_ROUNDING = 4 * np.finfo(np.float64).eps


def partial_derivatives(
    measure: OfProportions, tp: ArrayLike, fp: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the partial derivatives of measure(tp, fp), numerically.

    Differences over steps that shrink fourfold, extrapolated to 0: central, at 0 and 1 one-sided.
    The first extrapolation with an error of a billionth is taken, else the one of the least error;
    0 where none is good to a thousandth.

    Shapes: tp and fp broadcast with each other and with what the measure holds, such as a grid of
    odds; the measure must treat every element by itself.
    Errors: ValueError unless 0 <= tp, fp <= 1; NaN has the slopes 0.
    Source: Ridders 1982, Advances in Engineering Software 4:75.
    """
    p = np.asarray(tp, np.float64)
    q = np.asarray(fp, np.float64)
    if any(np.any((rate < 0) | (rate > 1)) for rate in (p, q)):
        raise ValueError("a rate lies between 0 and 1")
    slopes = _derivative(lambda x: measure(x, q), p), _derivative(lambda x: measure(p, x), q)
    first, second, *_ = np.broadcast_arrays(*slopes, p, q)
    return first.copy(), second.copy()


def _derivative(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Return the derivative of a function of numbers between 0 and 1."""
    interior = (x > 0) & (x < 1)
    steps = _first_steps(x)
    # the error of a central difference is a series in the square of the step
    factor = np.where(interior, _STEP_RATIO**2, _STEP_RATIO)
    best = np.asarray(0.0)
    error = np.asarray(_AT_MOST)
    previous_row: list[Floats] = []
    with np.errstate(all="ignore"):
        for step in range(_BORDER_STEPS):
            seeking = (error > _ENOUGH) & (~interior | (step < _INSIDE_STEPS))
            if not seeking.any():
                break
            difference, rounding = _difference_quotient(
                function, x + steps[0] * _STEP_RATIO**-step, x - steps[1] * _STEP_RATIO**-step
            )
            row = _extrapolate(difference, previous_row, factor)
            for k, better in enumerate(row[1:]):
                doubt = _extrapolation_error(better, (row[k], previous_row[k]), rounding)
                improved = seeking & (doubt < error)
                best = np.where(improved, better, best)
                error = np.where(improved, doubt, error)
            previous_row = row
    return best


def _first_steps(x: Floats) -> tuple[Floats, Floats]:
    """Return the first steps up and down: half of the way to the nearer border, 0 at a border."""
    reach = np.where((x > 0) & (x < 1), np.minimum(x, 1 - x), 1.0) / 2
    return np.where(x < 1, reach, 0.0), np.where(x > 0, reach, 0.0)


def _difference_quotient(
    function: Callable[[Floats], Floats], right: Floats, left: Floats
) -> tuple[Floats, Floats]:
    """Return the difference quotient of a function, and its rounding error at most."""
    higher = function(right)
    lower = function(left)
    quotient = np.asarray((higher - lower) / (right - left))
    return quotient, _FLOAT_ROUNDING * (np.abs(higher) + np.abs(lower)) / (right - left)


def _extrapolate(
    difference: Floats, previous_row: Sequence[Floats], factor: Floats
) -> list[Floats]:
    """Return the row of the extrapolation table that begins with a difference quotient."""
    row = [difference]
    for k, previous in enumerate(previous_row[:_COLUMNS]):
        row.append(row[k] + (row[k] - previous) / (factor ** (k + 1) - 1))
    return row


def _extrapolation_error(better: Floats, sources: Sequence[Floats], rounding: Floats) -> Floats:
    """Return the relative error of an extrapolation from two numbers, by its distance to them."""
    change = np.maximum(np.abs(better - sources[0]), np.abs(better - sources[1]))
    return (change + rounding) / np.abs(better)
