"""Scores of several metrics in one: desirability, and areas of polygons."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats, Ints
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
    gamma_below, gamma_above = gammas
    rising = _ramp(values - low, target - low, gamma_below)
    falling = _ramp(high - values, high - target, gamma_above)
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
    lower = low if above is None else above
    upper = high if below is None else below
    if not all(isfinite(limit) for limit in (lower, upper) if limit is not None):
        raise ValueError("the limits of a box must be finite numbers")
    if lower is None and upper is None:
        raise ValueError("a box needs at least one of low, high, above and below")
    if lower is not None and upper is not None:
        lower_name = "low" if above is None else "above"
        upper_name = "high" if below is None else "below"
        _need_rise(lower_name, lower, upper_name, upper)
    values = np.asarray(x, np.float64)
    is_inside = ~np.isnan(values)
    if lower is not None:
        is_inside &= values >= lower if above is None else values > lower
    if upper is not None:
        is_inside &= values <= upper if below is None else values < upper
    return np.where(np.isnan(values), np.nan, is_inside.astype(np.float64))


def custom(x: ArrayLike, points: Sequence[Sequence[float]]) -> Floats:
    """Return the desirability by linear interpolation of points (x, d), constant outside them;
    0..1.

    Errors: ValueError unless there are two points or more, x rises strictly from each to the next,
    and every d is in 0..1.
    """
    if len(points) < 2 or any(len(point) != 2 for point in points):
        raise ValueError("at least two points [x, d] are needed")
    for (left_x, _), (right_x, _) in pairwise(points):
        _need_rise("x", left_x, "the next x", right_x)
    for point_x, d in points:
        if not 0 <= d <= 1:
            raise ValueError(f"d {d:.10g} of the point at {point_x:.10g} is not between 0 and 1")
    corners = np.asarray(points, np.float64)
    interpolated = np.interp(np.asarray(x, np.float64), corners[:, 0], corners[:, 1])
    return np.asarray(np.clip(interpolated, 0.0, 1.0))


def overall_desirability(d: ArrayLike, weights: ArrayLike) -> Floats:
    """Return the overall desirability D, a weighted geometric mean over the last axis; 0..1.

    D = product of d ** (w / sum w)

    One d of 0 makes D exactly 0, a NaN makes it NaN. A weight of 0 leaves its d out. Shapes: d
    (..., m), weights (m,), D (...).
    Errors: ValueError for a d outside 0..1, a negative or infinite weight, no weight above 0.
    """
    desirabilities = np.asarray(d, np.float64)
    w = np.asarray(weights, np.float64)
    if (
        w.shape != desirabilities.shape[-1:]
        or not np.all((w >= 0) & np.isfinite(w))
        or not np.any(w > 0)
    ):
        raise ValueError("each d needs a finite weight >= 0, and one weight must be above 0")
    if desirabilities.size and (
        np.fmin.reduce(desirabilities, axis=None) < 0
        or np.fmax.reduce(desirabilities, axis=None) > 1
    ):
        raise ValueError("each d must be between 0 and 1")
    if not w.all():
        desirabilities, w = desirabilities[..., w > 0], w[w > 0]
    exponents = w / w.max()
    exponents /= exponents.sum()
    has_zero = np.any(desirabilities == 0, axis=-1)
    # a share may have become 0, and 0 times the logarithm of 0 is NaN
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted_logs = np.log(desirabilities)
        weighted_logs *= exponents
        mean = np.asarray(np.exp(weighted_logs.sum(axis=-1)))
    return np.where(
        np.any(np.isnan(desirabilities), axis=-1), np.nan, np.where(has_zero, 0.0, mean)
    )


def _ramp(distance: Floats, width: float, gamma: float) -> Floats:
    """Return (distance / width) ** gamma within 0..1."""
    if not (gamma > 0 and isfinite(gamma)):
        raise ValueError(f"gamma {gamma:.10g} is not a number above 0")
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(distance / width, 0.0, 1.0) ** gamma)


def _need_rise(low_name: str, low: float, high_name: str, high: float) -> None:
    """Raise ValueError, with both names, unless low is below high by a finite difference."""
    if not low < high:
        raise ValueError(f"{low_name} {low:.10g} is not less than {high_name} {high:.10g}")
    if not isfinite(high - low):
        raise ValueError(f"{low_name} {low:.10g} is too far from {high_name} {high:.10g}")


MEASURES = (
    Measure(
        "desirability",
        "D",
        overall_desirability,
        "metrics",
        ("missing_component",),
        "drawn",
        "product of d ** (w / sum w)",
        "Derringer and Suich 1980, Journal of Quality Technology 12:214",
        ("d",),
    ),
)


FEWEST = 3  # rays of a polygon
MOST_LISTED = 9  # metrics of which all orders can be listed: 20160

_LONGEST = 1e150


def polygon_area(rays: ArrayLike) -> Floats:
    """Return the area of the polygon of rays (..., n) in the given order, (...).

    area = sin(2 pi / n) / 2 (d_1 d_2 + d_2 d_3 + ... + d_n d_1)

    The same float for all rotations and the reversal of an order; monotone in each ray. Range 0 to
    that of the weights, a perfect model, for metrics of 0..1: with n weights of 1 n sin(2 pi / n) /
    2; best high. NaN for fewer than 3 rays, and where a ray is negative, NaN or above 1e150.
    Source: Akshay et al. 2023, GigaScience 12:giad108.
    """
    lengths = np.asarray(rays, np.float64)
    if lengths.shape[-1] < FEWEST:
        return np.full(lengths.shape[:-1], np.nan)
    d = _usable_rays(lengths)
    products = d * np.roll(d, -1, axis=-1)
    products.sort(axis=-1)
    return _half_sine(lengths.shape[-1]) * _ordered_sum(products)


def mean_area(rays: ArrayLike) -> Floats:
    """Return the mean area over all orders of the rays (..., n), (...).

    mean = sin(2 pi / n) / 2 ((d_1 + ... + d_n)**2 - (d_1**2 + ... + d_n**2)) / (n - 1)

    The same float for every order; monotone in each ray. Range 0 to mean_area(weights) for metrics
    of 0..1; best high.
    """
    lengths = np.asarray(rays, np.float64)
    n = lengths.shape[-1]
    if n < FEWEST:
        return np.full(lengths.shape[:-1], np.nan)
    d = np.sort(_usable_rays(lengths), axis=-1)
    pair_sum = _ordered_sum(d[..., 1:] * np.cumsum(d, axis=-1)[..., :-1])
    return np.asarray(_half_sine(n) * (2 * pair_sum / (n - 1)))


def area_range(rays: ArrayLike) -> tuple[Floats, Floats]:
    """Return the least and the greatest area over all orders of the rays, exact for every n.

    With rays x_0 <= ... <= x_(n-1), up to turns and reversal:
    greatest: x_0 x_2 x_4 ... ... x_5 x_3 x_1, the even ones up, the odd ones down
    least: ... x_(n-2) x_0 x_(n-1) x_1 x_(n-3) ..., from the largest outwards: the two smallest on
    its sides, on theirs the two largest left, then the two smallest left, and so on; of each two
    the more extreme one goes to the same side

    Shapes: rays (..., n); (...) each. 0 <= lowest <= polygon_area(rays) <= highest.
    Source: Supnick 1957, Annals of Mathematics 66:179; Burkard et al. 1998, SIAM Review 40:496.
    """
    lengths = np.asarray(rays, np.float64)
    n = lengths.shape[-1]
    area = polygon_area(lengths)
    if n < FEWEST:
        return area, area.copy()
    ascending_rays = np.sort(lengths, axis=-1)
    smallest = polygon_area(ascending_rays[..., _order_of_smallest_area(n)])
    greatest = polygon_area(ascending_rays[..., [*range(0, n, 2), *reversed(range(1, n, 2))]])
    # where all orders have the same area, rounding must not put the given one outside the range
    return np.minimum(smallest, area), np.maximum(greatest, area)


def _order_of_smallest_area(n: int) -> list[int]:
    """Return the order of n ascending rays whose polygon has the smallest area: `area_range`."""
    left_side = [n - 1]
    right_side: list[int] = []
    remaining_indices = list(range(n - 1))
    takes_largest = False  # else the smallest
    while remaining_indices:
        for side in (left_side, right_side):
            if remaining_indices:
                side.append(remaining_indices.pop(-1 if takes_largest else 0))
        takes_largest = not takes_largest
    return [*reversed(left_side), *right_side]


def cyclic_orders(n: int) -> Ints:
    """Return the orders of n rays, ((n - 1)! / 2, n), one of all that are equal up to turns and
    reversal.

    The given order is the first; ray 0 leads every order. ValueError unless 3 <= n <= 9.
    """
    if not FEWEST <= n <= MOST_LISTED:
        raise ValueError(f"all orders are listed for {FEWEST} to {MOST_LISTED} rays, not {n}")
    permutations = itertools.permutations(range(1, n))
    return np.array([(0, *order) for order in permutations if order[0] < order[-1]], np.int64)


def sampled_orders(n: int, count: int, rng: np.random.Generator) -> Ints:
    """Return random orders of n rays, (count, n), each as likely as any other, after the given
    order.

    An order may occur twice. ValueError unless n >= 3 and count >= 1.
    """
    if n < FEWEST or count < 1:
        raise ValueError(f"orders need {FEWEST} rays, and at least one is the given order")
    orders = np.tile(np.arange(n, dtype=np.int64), (count, 1))
    rng.permuted(orders[1:], axis=1, out=orders[1:])
    return orders


def areas_by_order(rays: ArrayLike, orders: ArrayLike) -> Floats:
    """Return the area of each model in each order, the floats of polygon_area(rays[:, order]).

    Shapes: rays (k, n), orders (o, n) of indices 0..n-1; (k, o). ValueError unless every order
    holds each index once.
    """
    rays_by_model = np.asarray(rays, np.float64)
    permutations = np.asarray(orders, np.int64)
    n = rays_by_model.shape[1]
    if permutations.shape[1:] != (n,) or (np.sort(permutations, axis=1) != np.arange(n)).any():
        raise ValueError("an order must contain each index of the rays once")
    areas = np.zeros((len(rays_by_model), len(permutations)))
    if n < FEWEST or len(permutations) < 100 * n:  # below, the loop over models costs more
        for order_index, order in enumerate(permutations):
            areas[:, order_index] = polygon_area(rays_by_model[:, order])
        return areas
    first_ray, second_ray = np.triu_indices(n, 1)
    orders_of_pair = _orders_by_neighbours(permutations, first_ray, second_ray)
    d = _usable_rays(rays_by_model)
    products = d[:, first_ray] * d[:, second_ray]
    # smallest product first: each order receives its own products in the order of `_ordered_sum`
    for model_areas, model_products, ascending_pairs in zip(
        areas, products.tolist(), np.argsort(products, axis=1).tolist(), strict=True
    ):
        for pair in ascending_pairs:
            model_areas[orders_of_pair[pair]] += model_products[pair]
    return _half_sine(n) * areas


def _orders_by_neighbours(orders: Ints, first_ray: Ints, second_ray: Ints) -> list[Ints]:
    """Return for each pair of rays the indices of the orders in which they are neighbours.

    first_ray, second_ray (p,): the rays of each pair.
    """
    n = orders.shape[1]
    pair_numbers = np.zeros((n, n), np.int64)
    pair_numbers[first_ray, second_ray] = np.arange(len(first_ray))
    pair_numbers[second_ray, first_ray] = np.arange(len(first_ray))
    pairs = pair_numbers[orders, np.roll(orders, -1, axis=1)].ravel()
    order_counts = np.bincount(pairs, minlength=len(first_ray))
    return np.split(np.argsort(pairs, kind="stable") // n, np.cumsum(order_counts)[:-1])


def _usable_rays(rays: Floats) -> Floats:
    """Return the rays of each model, all NaN where one is negative, NaN or too long."""
    is_usable = ((rays >= 0) & (rays <= _LONGEST)).all(axis=-1, keepdims=True)
    return np.where(is_usable, rays, np.nan)


def _half_sine(n: int) -> float:
    """Return sin(2 pi / n) / 2."""
    return math.sin(2 * math.pi / n) / 2


def _ordered_sum(products: Floats) -> Floats:
    """Return the sum over the last axis from left to right, monotone in sorted terms."""
    total = products[..., 0].copy()
    for i in range(1, products.shape[-1]):
        total += products[..., i]
    return total


_MLCPS = "Akshay et al. 2023, GigaScience 12: giad108"

AREA_MEASURES = (
    Measure(
        "mlcps",
        "MLcps",
        polygon_area,
        "metrics",
        ("too_few_metrics",),
        "drawn",
        "½ sin(2π/n) sum d_i d_(i+1), the area of the polygon of the metrics",
        _MLCPS,
        high=math.pi,
    ),
    Measure(
        "order_free",
        "order-free",
        mean_area,
        "metrics",
        ("too_few_metrics",),
        "drawn",
        "mean of MLcps over all orders: ½ sin(2π/n) ((sum d)² - sum d²) / (n - 1)",
        _MLCPS,
        high=math.pi,
    ),
)
