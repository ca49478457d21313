"""The area of a polygon of metrics (MLcps): in one order, and mean and range over all orders.

n rays, metrics d times weights w, at equal angles 2 pi / n. Rays range from 0 to 1e150; where one
does not, or with fewer than 3 rays, results are undefined (NaN).
Source: Akshay et al. 2023, GigaScience 12:giad108 (MLcps).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats, Ints
from clfeval.measures.record import Measure

FEWEST = 3  # rays of a polygon
MOST_LISTED = 9  # metrics of which all orders can be listed: 20160

_LONGEST = 1e150


def polygon_area(rays: ArrayLike) -> Floats:
    """Return the area of the polygon of these rays in this order.

    area = sin(2 pi / n) / 2 (d_1 d_2 + d_2 d_3 + ... + d_n d_1)

    The same float for all rotations and the reversal of an order; monotone in each ray.

    Shapes: rays (..., n); (...). Range 0 to area(weights), that of a perfect model, for metrics of
    0..1: with n weights of 1 n sin(2 pi / n) / 2; best high.
    Undefined (NaN) for fewer than 3 rays, and where a ray is negative, NaN or above 1e150.
    Source: Akshay et al. 2023, GigaScience 12:giad108.
    """
    given = np.asarray(rays, np.float64)
    if given.shape[-1] < FEWEST:
        return np.full(given.shape[:-1], np.nan)
    d = _usable_rays(given)
    products = d * np.roll(d, -1, axis=-1)
    products.sort(axis=-1)
    return _half_sine(given.shape[-1]) * _ordered_sum(products)


def mean_area(rays: ArrayLike) -> Floats:
    """Return the mean area over all orders of the rays.

    mean = sin(2 pi / n) / 2 ((d_1 + ... + d_n)**2 - (d_1**2 + ... + d_n**2)) / (n - 1)

    The same float for every order; monotone in each ray.

    Shapes: rays (..., n); (...). Range 0 to order_free(weights) for metrics of 0..1; best high.
    """
    given = np.asarray(rays, np.float64)
    n = given.shape[-1]
    if n < FEWEST:
        return np.full(given.shape[:-1], np.nan)
    d = np.sort(_usable_rays(given), axis=-1)
    pairs = _ordered_sum(d[..., 1:] * np.cumsum(d, axis=-1)[..., :-1])
    return np.asarray(_half_sine(n) * (2 * pairs / (n - 1)))


def area_range(rays: ArrayLike) -> tuple[Floats, Floats]:
    """Return the least and the greatest area over all orders of the rays, exact for every n.

    With rays x_0 <= ... <= x_(n-1), up to turns and reversal:
    greatest: x_0 x_2 x_4 ... ... x_5 x_3 x_1, the even ones up, the odd ones down
    least: ... x_(n-2) x_0 x_(n-1) x_1 x_(n-3) ..., from the largest outwards: the two smallest on
    its sides, on theirs the two largest left, then the two smallest left, and so on; of each two
    the more extreme one goes to the same side

    Shapes: rays (..., n); (...) each. Range: 0 <= lowest <= area(rays) <= highest.
    Source: Supnick 1957, Annals of Mathematics 66:179; Burkard et al. 1998, SIAM Review 40:496.
    """
    given = np.asarray(rays, np.float64)
    n, here = given.shape[-1], polygon_area(given)
    if n < FEWEST:
        return here, here.copy()
    x = np.sort(given, axis=-1)
    up = [*range(0, n, 2), *reversed(range(1, n, 2))]
    # where all orders have one area, roundings must not make the given one fall outside
    return np.minimum(polygon_area(x[..., _least_order(n)]), here), np.maximum(
        polygon_area(x[..., up]), here
    )


def cyclic_orders(n: int) -> Ints:
    """Return all orders of n rays that can differ in area: one of each with its turns and reversal.

    Shapes: ((n - 1)! / 2, n), the given order first; ray 0 leads every order.
    Errors: ValueError unless 3 <= n <= 9.
    """
    if not FEWEST <= n <= MOST_LISTED:
        raise ValueError(f"all orders are listed for {FEWEST} to {MOST_LISTED} rays, not {n}")
    others = itertools.permutations(range(1, n))
    return np.array([(0, *order) for order in others if order[0] < order[-1]], np.int64)


def sampled_orders(n: int, count: int, rng: np.random.Generator) -> Ints:
    """Return random orders of n rays, each as likely as any other, after the given order.

    Shapes: (count, n). An order may occur twice.
    Errors: ValueError unless n >= 3 and count >= 1.
    """
    if n < FEWEST or count < 1:
        raise ValueError(f"orders need {FEWEST} rays, and at least one is the given order")
    orders = np.tile(np.arange(n, dtype=np.int64), (count, 1))
    rng.permuted(orders[1:], axis=1, out=orders[1:])
    return orders


def areas_by_order(rays: ArrayLike, orders: ArrayLike) -> Floats:
    """Return the area of each model in each order, the same floats as area(rays[:, order]).

    Shapes: rays (k, n), orders (o, n) of indices 0..n-1; (k, o). Range as that of `polygon_area`.
    Errors: ValueError unless every order holds each index once.
    """
    given, looked_at = np.asarray(rays, np.float64), np.asarray(orders, np.int64)
    n = given.shape[1]
    if looked_at.shape[1:] != (n,) or (np.sort(looked_at, axis=1) != np.arange(n)).any():
        raise ValueError("an order must contain each index of the rays once")
    result = np.zeros((len(given), len(looked_at)))
    if n < FEWEST or len(looked_at) < 100 * n:  # below, the loop over models costs more
        for column, order in enumerate(looked_at):
            result[:, column] = polygon_area(given[:, order])
        return result
    first, second = np.triu_indices(n, 1)
    beside = _orders_with(looked_at, first, second)
    d = _usable_rays(given)
    products = d[:, first] * d[:, second]
    # smallest product first: each order receives its own products in the order of `_ordered_sum`
    for row, product, ascending in zip(
        result, products.tolist(), np.argsort(products, axis=1).tolist(), strict=True
    ):
        for pair in ascending:
            row[beside[pair]] += product[pair]
    return _half_sine(n) * result


def _usable_rays(rays: Floats) -> Floats:
    """Return the rays, all of them NaN where one of them cannot be used."""
    usable = ((rays >= 0) & (rays <= _LONGEST)).all(axis=-1, keepdims=True)
    return np.where(usable, rays, np.nan)


def _half_sine(n: int) -> float:
    return math.sin(2 * math.pi / n) / 2


def _ordered_sum(products: Floats) -> Floats:
    """Return the sum over the last axis from left to right, monotone in sorted terms."""
    result = products[..., 0].copy()
    for place in range(1, products.shape[-1]):
        result += products[..., place]
    return result


def _least_order(n: int) -> list[int]:
    """Return the order of least area of n rays that ascend."""
    left, right = [n - 1], list[int]()
    small, large = list(range(n - 1)), False
    while small:
        for side in (left, right):
            if small:
                side.append(small.pop(-1 if large else 0))
        large = not large
    return [*reversed(left), *right]


def _orders_with(orders: Ints, first: Ints, second: Ints) -> list[Ints]:
    """Return for every pair of rays the places of the orders in which they are neighbours."""
    n = orders.shape[1]
    number = np.zeros((n, n), np.int64)
    number[first, second] = number[second, first] = np.arange(len(first))
    pairs = number[orders, np.roll(orders, -1, axis=1)].ravel()
    by_pair = np.argsort(pairs, kind="stable")
    return np.split(by_pair // n, np.cumsum(np.bincount(pairs, minlength=len(first)))[:-1])


_MLCPS = "Akshay et al. 2023, GigaScience 12: giad108"

MEASURES = (
    Measure("mlcps", "MLcps", polygon_area, "metrics", "max", 0, math.pi, ("too_few_metrics",),
            "drawn",
            "½ sin(2π/n) sum d_i d_(i+1), the area of the polygon of the metrics", _MLCPS),
    Measure("order_free", "order-free", mean_area, "metrics", "max", 0, math.pi,
            ("too_few_metrics",), "drawn",
            "mean of MLcps over all orders: ½ sin(2π/n) ((sum d)² - sum d²) / (n - 1)",
            _MLCPS),
)  # fmt: skip
