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
        share_blocks = [share.reshape(*share.shape[:-1], -1, len(functions), m) for share in shares]
        function_values = [
            function(*(blocks[..., i, :] for blocks in share_blocks))
            for i, function in enumerate(functions)
        ]
        return np.stack(function_values, axis=-2).reshape(shares[0].shape)

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
    shape, flat_counts = _flat_counts(counts)  # k1, n1, k2, n2
    # k and n of the share of the first class
    k0, n0 = (flat_counts[1], flat_counts[1] + flat_counts[3]) if share is None else share
    z = critical_value(level)
    k = np.array([*flat_counts[::2], k0])
    n = np.array([*flat_counts[1::2], n0])
    shares = score_parts(k, n)[0]
    observed_value = ignore_undefined(measure, *shares)
    low, high = _range_on_sphere(measure, k, n, z)
    if kink is not None:
        region = _Region(score_parts(k[:2], n[:2]), z)
        is_crossed, kink_points = _kink_crossing(
            kink, region.observed_points(), region.edge_points(), region
        )
        kink_value = ignore_undefined(measure, *kink_points, shares[2])
        low = np.where(is_crossed & kinked & ~np.isnan(kink_value), kink_value, low)
    return np.fmin(observed_value, low).reshape(shape), np.fmax(observed_value, high).reshape(shape)


def _range_on_sphere(measure: OfShares, k: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the least and the greatest value, (m,), on the boundary of the region of k / n (3, m).

    A point of the boundary is a direction from the observed shares, on the sphere of radius z.
    """
    m = k.shape[1]
    parts = score_parts(np.tile(k, 2), np.tile(n, 2))
    # the measure is maximised twice, negated in the first half
    signs = np.repeat([-1.0, 1.0], m)

    def signed_values(directions: Floats) -> Floats:
        """Return minus the measure, and the measure, on the boundary: (3, ..., 2m) directions."""
        values = ignore_undefined(measure, *wilson_limit(parts, z * directions))
        return np.asarray(signs * values)

    grid = _sphere_directions()
    extremes = signs * _maximize(signed_values, grid, signed_values(grid[:, :, None]))
    return extremes[:m], extremes[m:]


def _sphere_directions() -> Floats:
    """Return directions (3, d) evenly spread over the sphere, along a spiral."""
    positions = np.arange(_DIRECTIONS) + 0.5
    heights = 1 - 2 * positions / _DIRECTIONS
    angles = np.pi * (1 + np.sqrt(5)) * positions
    radii = np.sqrt(1 - heights**2)
    return np.stack([radii * np.cos(angles), radii * np.sin(angles), heights])


def _flat_counts(counts: Sequence[ArrayLike]) -> tuple[tuple[int, ...], Floats]:
    """Return the shape of k1, n1, k2, n2 broadcast together, and these counts, (4, m)."""
    arrays = np.broadcast_arrays(*(np.asarray(count, np.float64) for count in counts))
    return arrays[0].shape, np.array([array.ravel() for array in arrays])


def _maximize(function: Callable[[Floats], Floats], grid: Floats, values: Floats) -> Floats:
    """Return the highest value (m,) of a function of directions (3, ..., m) on the sphere.

    values (d, m): its values in the directions `grid` (3, d). A search starts at the best
    direction of each octant (8, m); after a few steps only the best search goes on.
    """
    values = _undefined_last(values)
    octant_numbers = (grid > 0).T @ np.array([1, 2, 4])  # 0 to 7, by the signs
    octants = [np.flatnonzero(octant_numbers == number) for number in range(8)]
    best_indices = np.stack([octant[values[octant].argmax(axis=0)] for octant in octants])  # (8, m)
    centres = grid[:, best_indices]
    peaks = np.take_along_axis(values, best_indices, axis=0)
    steps = np.full(peaks.shape, _SPACING / 2)
    for look in range(_LOOKS):
        if look == _FIRST:  # by now the candidates differ clearly
            best_index = peaks.argmax(axis=0)[None]
            centres = np.take_along_axis(centres, best_index[None], axis=1)
            peaks, steps = (
                np.take_along_axis(array, best_index, axis=0) for array in (peaks, steps)
            )
        # what is already close enough stays as it is, whatever else is in the block
        is_seeking = steps > _CLOSE_DIRECTION
        if not is_seeking.any():
            break
        neighbours, neighbour_peaks = _search_neighbours(function, centres, peaks, steps)
        has_moved_far = ((neighbours - centres) ** 2).sum(axis=0) > (steps / 2) ** 2
        centres = np.where(is_seeking, neighbours, centres)
        peaks = np.where(is_seeking, neighbour_peaks, peaks)
        # searches that move far keep their steps
        steps = np.where(has_moved_far, steps, steps / _SHRINK)
    highest = peaks.max(axis=0)
    return np.where(np.isneginf(highest), np.nan, highest)


def _search_neighbours(
    function: Callable[[Floats], Floats], centres: Floats, tops: Floats, steps: Floats
) -> tuple[Floats, Floats]:
    """Return the best directions within a step (c, m) of the centres (3, c, m), and values."""
    first_tangent, second_tangent = _tangents(centres, steps)
    shifts = np.array(_NEIGHBOUR_STEPS, np.float64)[:, :, None, None]  # (9, 2, 1, 1)
    neighbours = (
        centres[:, None]
        + shifts[:, 0] * first_tangent[:, None]
        + shifts[:, 1] * second_tangent[:, None]
    )
    neighbours /= np.sqrt((neighbours**2).sum(axis=0))
    values = function(neighbours)  # (9, c, m)
    x, y = _quadratic_peak(values)  # in steps along the tangents
    quadratic_peak = centres + x * first_tangent + y * second_tangent
    # at a rate of 0 or 1 a side of the region is flat, and the maximum may lie on its edge
    candidates = np.stack(
        [quadratic_peak, *(quadratic_peak * edge_mask[:, None, None] for edge_mask in _EDGES)],
        axis=1,
    )
    candidates /= np.maximum(np.sqrt((candidates**2).sum(axis=0)), 1e-300)
    points = np.concatenate([centres[:, None], neighbours, candidates], axis=1)
    heights = _undefined_last(np.concatenate([tops[None], values, function(candidates)]))
    best_index = heights.argmax(axis=0)[None]
    best_points = np.take_along_axis(points, best_index[None], axis=1)[:, 0]
    return best_points, np.take_along_axis(heights, best_index, axis=0)[0]


def _tangents(centres: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """Return two tangents (3, c, m) of length `steps`, orthogonal to each centre and each other."""
    first, second, third = centres
    sign = np.where(third < 0, -1.0, 1.0)
    factor = -1 / (sign + third)
    mixed_product = first * second * factor
    a = steps * np.stack([1 + sign * first * first * factor, sign * mixed_product, -sign * first])
    b = steps * np.stack([mixed_product, sign + second * second * factor, -second])
    return a, b


def _quadratic_peak(values: Floats) -> tuple[Floats, Floats]:
    """Return where in -1..1 the quadratic through nine values (9, ...) is highest, else 0.

    values: at the points of `_NEIGHBOUR_STEPS`.
    """
    v = dict(zip(_NEIGHBOUR_STEPS, values, strict=True))
    # gradient, second derivatives and their determinant
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gx = (v[1, 0] - v[-1, 0]) / 2
        gy = (v[0, 1] - v[0, -1]) / 2
        xx = v[1, 0] - 2 * v[0, 0] + v[-1, 0]
        yy = v[0, 1] - 2 * v[0, 0] + v[0, -1]
        xy = (v[1, 1] - v[1, -1] - v[-1, 1] + v[-1, -1]) / 4
        det = xx * yy - xy * xy
        x = (xy * gy - yy * gx) / det
        y = (xy * gx - xx * gy) / det
    is_peak: Bools = (xx < 0) & (det > 0) & np.isfinite(x) & np.isfinite(y)
    return np.where(is_peak, np.clip(x, -1, 1), 0.0), np.where(is_peak, np.clip(y, -1, 1), 0.0)


OfProportions = Callable[[Floats, Floats], Floats]

_GRID = 512  # directions at first
_STEP = 2 * np.pi / _GRID
_BOUNDARY_DIRECTIONS = np.arange(_GRID, dtype=np.float64)[:, None] * _STEP
_HILLS = 4  # local extremes followed, the best by the grid
_ZOOM = 17  # directions inside a bracket, which becomes 8 times narrower each time
_ZOOMS = 10  # 8**-10 of 2 / 512 of a turn
_RELATIVE_TOLERANCE = 1e-9


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
    shape, flat_counts = _flat_counts(counts)
    z = critical_value(level)
    region = _Region(score_parts(flat_counts[::2], flat_counts[1::2]), z)
    # the limits of the region depend on the counts alone, and are the same at other odds
    distinct_counts, distinct_indices = np.unique(flat_counts, axis=1, return_inverse=True)
    distinct_indices = distinct_indices.ravel()
    distinct_region = _Region(score_parts(distinct_counts[::2], distinct_counts[1::2]), z)
    observed_points = distinct_region.observed_points()
    edge_points = distinct_region.edge_points()
    observed_value = ignore_undefined(
        measure, *(rates[distinct_indices] for rates in observed_points)
    )
    low, high = _range_on_boundary(
        measure, region, tuple(np.take(rates, distinct_indices, axis=1) for rates in edge_points)
    )
    if kink is not None:
        is_crossed, kink_points = _kink_crossing(
            kink, observed_points, edge_points, distinct_region
        )
        kink_value = ignore_undefined(measure, *(rates[distinct_indices] for rates in kink_points))
        # not fmin: elsewhere it may round below it
        low = np.where(
            is_crossed[distinct_indices] & kinked & ~np.isnan(kink_value), kink_value, low
        )
    return np.fmin(observed_value, low).reshape(shape), np.fmax(observed_value, high).reshape(shape)


def _range_on_boundary(
    measure: OfProportions, region: _Region, edge_points: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return the least and the greatest value, (m,), on the boundary.

    edge_points: points (d, m) of the boundary, p1 and p2.
    """
    signs = np.array([[-1.0], [1.0]])
    _, (negative_low, high) = _maximize_on_boundary(measure, signs, region, edge_points)
    return -negative_low, high


def _kink_crossing(
    kink: OfProportions,
    observed_points: Sequence[Floats],
    edge_points: Sequence[Floats],
    region: _Region,
) -> tuple[Bools, tuple[Floats, Floats]]:
    """Return whether the kink passes through each region, and a point on it where it does."""
    # search from the observed point towards the point where the kink has the most opposite value
    observed_sign = np.sign(ignore_undefined(kink, *observed_points))
    (t,), (most_opposite,) = _maximize_on_boundary(kink, -observed_sign[None], region, edge_points)
    zeros = np.zeros(t.size)
    _, crossing_shares = bisect(
        lambda share: observed_sign * ignore_undefined(kink, *region.boundary_points(t, share)) > 0,
        zeros,
        zeros + 1,
    )
    p1, p2 = region.boundary_points(t, crossing_shares)
    # Bisection ends a rounding error away from the line: where one of the two usual lines passes
    # that close, take the point on it, for the measure to be its least value to the last bit.
    for diagonal_p2 in (p1, 1 - p1):
        is_close = np.abs(p2 - diagonal_p2) <= _RELATIVE_TOLERANCE * diagonal_p2
        p2 = np.where(is_close & (ignore_undefined(kink, p1, diagonal_p2) == 0), diagonal_p2, p2)
    return most_opposite >= 0, (p1, p2)


@dataclass(frozen=True, slots=True)
class _Region:
    """The joint confidence region of m tables, by direction and share of the way to its edge.

    parts: those of `score_parts` of both proportions. z: its radius, a normal quantile.
    """

    parts: Parts  # (2, m) each
    z: float

    def boundary_points(self, t: Floats, share: ArrayLike = 1.0) -> tuple[Floats, Floats]:
        """Return the points (..., m) in directions t (..., m), share 0 the observed, 1 the edge."""
        distances = self.z * np.asarray(share)
        p1, p2 = wilson_limit(self.parts, distances * np.stack([np.cos(t), np.sin(t)]))
        return p1, p2

    def observed_points(self) -> tuple[Floats, Floats]:
        """Return the observed points, (m,)."""
        return self.boundary_points(np.zeros(self.parts[0].shape[1]), 0.0)

    def edge_points(self) -> tuple[Floats, Floats]:
        """Return the points (d, m) in evenly spread directions on the boundary."""
        return self.boundary_points(_BOUNDARY_DIRECTIONS)


def wilson_limit(parts: Parts, z: Floats) -> Floats:
    """Return the upper Wilson limits (s, ..., m) at z, lower where z is negative; parts (s, m)."""
    middle_axes = (1,) * (z.ndim - 2)
    p, q, successes, failures = (part.reshape(len(part), *middle_axes, -1) for part in parts)
    is_lower = z < 0
    s = score_spread((p, q, successes, failures), np.abs(z))
    share = part_of_sum(np.where(is_lower, successes, s), np.where(is_lower, s, failures))
    return np.asarray(np.where(is_lower, p * share, np.minimum(p + q * share, 1)))


def ignore_undefined(function: Callable[..., Floats], *shares: Floats) -> Floats:
    """Return the values of a function, without warnings where it is undefined or infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.broadcast_to(np.asarray(function(*shares), np.float64), shares[0].shape)


def _maximize_on_boundary(
    function: OfProportions, factors: Floats, region: _Region, edge_points: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Return direction and value of the maximum on the boundary of factors (f, m) x function."""
    factors = factors[:, None]
    directions, peaks = _local_maxima(
        _undefined_last(factors * ignore_undefined(function, *edge_points))
    )
    zoom_offsets = np.linspace(-1, 1, _ZOOM)[:, None, None]
    step = _STEP
    for _ in range(_ZOOMS):
        zoom_directions = directions[:, None] + step * zoom_offsets
        values = _undefined_last(
            factors[:, None] * ignore_undefined(function, *region.boundary_points(zoom_directions))
        )
        best_index = values.argmax(axis=1)[:, None]
        highest = np.take_along_axis(values, best_index, axis=1)[:, 0]
        is_better = highest > peaks
        directions = np.where(
            is_better, np.take_along_axis(zoom_directions, best_index, axis=1)[:, 0], directions
        )
        peaks = np.where(is_better, highest, peaks)
        step *= 2 / (_ZOOM - 1)
    best_index = peaks.argmax(axis=1)[:, None]
    peak = np.take_along_axis(peaks, best_index, axis=1)[:, 0]
    direction = np.take_along_axis(directions, best_index, axis=1)[:, 0]
    return direction, np.where(np.isneginf(peak), np.nan, peak)


def _local_maxima(values: Floats) -> tuple[Floats, Floats]:
    """Return directions and values (f, 4, m) of the highest local extremes among (f, d, m)."""
    # the first point of a plateau represents it
    is_hill = (values > np.roll(values, 1, axis=1)) & (values >= np.roll(values, -1, axis=1))
    np.put_along_axis(is_hill, values.argmax(axis=1)[:, None], True, axis=1)
    remaining_values = np.where(is_hill, values, -np.inf)
    index_rows: list[Ints] = []
    while len(index_rows) < _HILLS and not (index_rows and np.isneginf(remaining_values).all()):
        index_rows.append(remaining_values.argmax(axis=1)[:, None])
        np.put_along_axis(remaining_values, index_rows[-1], -np.inf, axis=1)
    hill_indices = np.concatenate(index_rows, axis=1)
    peaks = np.take_along_axis(values, hill_indices, axis=1)
    neighbour_values = [
        np.take_along_axis(values, (hill_indices + offset) % _GRID, axis=1) for offset in (-1, 1)
    ]
    with np.errstate(invalid="ignore"):
        # a smooth maximum exceeds its grid point by less than its neighbours lie below that point
        upper_bounds = (
            peaks + (peaks - np.minimum(*neighbour_values)) + _RELATIVE_TOLERANCE * np.abs(peaks)
        )
        is_hopeful = ~(upper_bounds < peaks[:, :1]).all(axis=(0, 2))
    hill_count = int(np.flatnonzero(is_hopeful)[-1]) + 1 if is_hopeful.any() else 1
    return _STEP * hill_indices[:, :hill_count].astype(np.float64), peaks[:, :hill_count]


def _undefined_last(values: Floats) -> Floats:
    """Return values with minus infinity where they are NaN, so that no maximum is there."""
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
    slope_arrays = _derivative(lambda x: measure(x, q), p), _derivative(lambda x: measure(p, x), q)
    tp_slopes, fp_slopes, *_ = np.broadcast_arrays(*slope_arrays, p, q)
    return tp_slopes.copy(), fp_slopes.copy()


def _derivative(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Return the derivative of a function of numbers between 0 and 1."""
    is_interior = (x > 0) & (x < 1)
    first_steps = _first_steps(x)  # up and down
    # the error of a central difference is a series in the square of the step
    error_ratio = np.where(is_interior, _STEP_RATIO**2, _STEP_RATIO)
    derivative = np.asarray(0.0)
    error = np.asarray(_AT_MOST)
    previous_row: list[Floats] = []
    with np.errstate(all="ignore"):
        for step_index in range(_BORDER_STEPS):
            is_seeking = (error > _ENOUGH) & (~is_interior | (step_index < _INSIDE_STEPS))
            if not is_seeking.any():
                break
            difference, rounding = _difference_quotient(
                function,
                x + first_steps[0] * _STEP_RATIO**-step_index,
                x - first_steps[1] * _STEP_RATIO**-step_index,
            )
            table_row = _extrapolate(difference, previous_row, error_ratio)
            for k, extrapolation in enumerate(table_row[1:]):
                new_error = _extrapolation_error(
                    extrapolation, (table_row[k], previous_row[k]), rounding
                )
                is_improved = is_seeking & (new_error < error)
                derivative = np.where(is_improved, extrapolation, derivative)
                error = np.where(is_improved, new_error, error)
            previous_row = table_row
    return derivative


def _first_steps(x: Floats) -> tuple[Floats, Floats]:
    """Return the first steps up and down: half of the way to the nearer border, 0 at a border."""
    step = np.where((x > 0) & (x < 1), np.minimum(x, 1 - x), 1.0) / 2
    return np.where(x < 1, step, 0.0), np.where(x > 0, step, 0.0)


def _difference_quotient(
    function: Callable[[Floats], Floats], right: Floats, left: Floats
) -> tuple[Floats, Floats]:
    """Return the difference quotient of a function, and its rounding error at most."""
    right_value = function(right)
    left_value = function(left)
    quotient = np.asarray((right_value - left_value) / (right - left))
    return quotient, _FLOAT_ROUNDING * (np.abs(right_value) + np.abs(left_value)) / (right - left)


def _extrapolate(
    difference: Floats, previous_row: Sequence[Floats], error_ratio: Floats
) -> list[Floats]:
    """Return the row of the extrapolation table that begins with a difference quotient.

    error_ratio: the factor by which the next step makes the first term of the error smaller.
    """
    table_row = [difference]
    for k, previous_value in enumerate(previous_row[:_COLUMNS]):
        table_row.append(
            table_row[k] + (table_row[k] - previous_value) / (error_ratio ** (k + 1) - 1)
        )
    return table_row


def _extrapolation_error(
    extrapolation: Floats, sources: Sequence[Floats], rounding: Floats
) -> Floats:
    """Return the relative error of an extrapolation from two numbers, by its distance to them."""
    change = np.maximum(np.abs(extrapolation - sources[0]), np.abs(extrapolation - sources[1]))
    return (change + rounding) / np.abs(extrapolation)
