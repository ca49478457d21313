"""The area of a polygon of metrics (MLcps), and the Pareto front of models."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clfeval.arrays import Bools, Floats, Ints
from clfeval.measures.record import Measure

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
    given = np.asarray(rays, np.float64)
    if given.shape[-1] < FEWEST:
        return np.full(given.shape[:-1], np.nan)
    d = _usable_rays(given)
    products = d * np.roll(d, -1, axis=-1)
    products.sort(axis=-1)
    return _half_sine(given.shape[-1]) * _ordered_sum(products)


def mean_area(rays: ArrayLike) -> Floats:
    """Return the mean area over all orders of the rays (..., n), (...).

    mean = sin(2 pi / n) / 2 ((d_1 + ... + d_n)**2 - (d_1**2 + ... + d_n**2)) / (n - 1)

    The same float for every order; monotone in each ray. Range 0 to mean_area(weights) for metrics
    of 0..1; best high.
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

    Shapes: rays (..., n); (...) each. 0 <= lowest <= polygon_area(rays) <= highest.
    Source: Supnick 1957, Annals of Mathematics 66:179; Burkard et al. 1998, SIAM Review 40:496.
    """
    given = np.asarray(rays, np.float64)
    n, here = given.shape[-1], polygon_area(given)
    if n < FEWEST:
        return here, here.copy()
    x = np.sort(given, axis=-1)
    left, right, small, large = [n - 1], list[int](), list(range(n - 1)), False
    while small:
        for side in (left, right):
            if small:
                side.append(small.pop(-1 if large else 0))
        large = not large
    least = polygon_area(x[..., [*reversed(left), *right]])
    most = polygon_area(x[..., [*range(0, n, 2), *reversed(range(1, n, 2))]])
    # where all orders have the same area, rounding must not put the given one outside the range
    return np.minimum(least, here), np.maximum(most, here)


def cyclic_orders(n: int) -> Ints:
    """Return the orders of n rays, ((n - 1)! / 2, n), one of all that are equal up to turns and
    reversal.

    The given order is the first; ray 0 leads every order. ValueError unless 3 <= n <= 9.
    """
    if not FEWEST <= n <= MOST_LISTED:
        raise ValueError(f"all orders are listed for {FEWEST} to {MOST_LISTED} rays, not {n}")
    others = itertools.permutations(range(1, n))
    return np.array([(0, *order) for order in others if order[0] < order[-1]], np.int64)


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
    number = np.zeros((n, n), np.int64)
    number[first, second] = number[second, first] = np.arange(len(first))
    pairs = number[looked_at, np.roll(looked_at, -1, axis=1)].ravel()
    lengths = np.bincount(pairs, minlength=len(first))
    # for each pair of rays the orders in which they are neighbours
    beside = np.split(np.argsort(pairs, kind="stable") // n, np.cumsum(lengths)[:-1])
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
    """Return the rays of each model, all NaN where one is negative, NaN or too long."""
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


_MLCPS = "Akshay et al. 2023, GigaScience 12: giad108"

MEASURES = (
    Measure("mlcps", "MLcps", polygon_area, "metrics", ("too_few_metrics",), "drawn",
            "½ sin(2π/n) sum d_i d_(i+1), the area of the polygon of the metrics", _MLCPS,
            high=math.pi),
    Measure("order_free", "order-free", mean_area, "metrics", ("too_few_metrics",), "drawn",
            "mean of MLcps over all orders: ½ sin(2π/n) ((sum d)² - sum d²) / (n - 1)", _MLCPS,
            high=math.pi),
)  # fmt: skip


Levels = NDArray[np.int32]
_Table = tuple[NDArray[np.uint64], NDArray[np.int16]]  # sets as rows of bits, that of every rank

_FEW, _MAX_JUDGES = 64, 1024  # judges at a time: at first, when most models leave, and in the end
_PIECE = 4096  # models judged at a time: their sets fit the cache of a processor
_PAUSE = 8  # metrics after which models without possible dominators are dropped
_SAMPLE = 32  # models sampled to find the metrics that separate them best


def front_dominators(d: ArrayLike, order: ArrayLike) -> Ints:
    """Return for each model one model of the Pareto front that dominates it, -1 on the front.

    Of several it is the first in `order`. Models are sorted by their sum of ranks per metric and
    compared in blocks. The work is at most k f n / 64 word operations, f the size of the front.

    Shapes: d (k, n), higher better; order (k,), the indices of all models; (k,) indices.
    Errors: ValueError for NaN, without a metric, or unless the order has each model once.
    Source: Kung, Luccio and Preparata 1975, Journal of the ACM 22:469; to sort by a sum first:
    Chomicki, Godfrey, Gryz and Liang 2003, ICDE, 717.
    """
    ranks, models = _metric_ranks(d), np.asarray(order, np.int64)
    result = np.full(ranks.shape[1], -1, np.int64)
    if not np.array_equal(np.sort(models), np.arange(len(result))):
        raise ValueError("the order must contain each model once")
    best = _front_models(ranks)
    judges, queue = models[best[models]], np.flatnonzero(~best)
    size = _FEW
    while judges.size and queue.size:
        here, judges = judges[:size], judges[size:]
        found = _first_dominators(ranks, here, queue)
        result[queue] = np.where(found < 0, -1, here[found])
        queue = queue[found < 0]
        size = min(2 * size, _MAX_JUDGES)
    return result


def _front_models(ranks: Levels) -> Bools:
    result = np.zeros(ranks.shape[1], np.bool_)
    queue = np.argsort(-ranks[-1])
    size = _FEW
    while queue.size:
        left = _first_dominators(ranks, queue[:size], queue) < 0
        result[queue[:size][left[:size]]] = True
        queue = queue[size:][left[size:]]
        size = min(2 * size, _MAX_JUDGES)
    return result


def dominators(d: ArrayLike) -> list[Ints]:
    """Return for each model all models that dominate it: k arrays of ascending indices.

    d (k, n), higher better; the work is k**2 n. ValueError for NaN, or without a metric.
    """
    ranks = _metric_ranks(d)
    dominated = ranks[-1] > ranks[-1][:, None]
    for metric in ranks[:-1]:
        dominated &= metric >= metric[:, None]
    return [np.flatnonzero(row) for row in dominated]


def _metric_ranks(d: ArrayLike) -> Levels:
    """Return the ranks of the models by every metric, worst 0, and in the last row their sum."""
    given = np.asarray(d, np.float64)
    if given.ndim != 2 or not given.shape[1] or np.isnan(given).any():
        raise ValueError("models need metrics without NaN")
    ranks = np.empty((given.shape[1] + 1, len(given)), np.int32)
    for place, metric in enumerate(given.T):
        ranks[place] = np.unique(metric, return_inverse=True)[1]
    ranks[-1] = np.unique(ranks[:-1].sum(axis=0, dtype=np.int64), return_inverse=True)[1]
    return ranks


def _first_dominators(ranks: Levels, judges: Ints, judged: Ints) -> Ints:
    """Return the index of the first judge that dominates each judged model, or -1.

    Bit sets: for each metric and rank the judges with at least this rank; their intersection with
    the judges of a higher sum of ranks dominates.
    """
    result = np.full(len(judged), -1, np.int64)
    rows = _most_telling_first(ranks, judges, judged)
    tables: list[_Table] = []
    for start in range(0, len(judged), _PIECE):
        places = np.arange(start, min(start + _PIECE, len(judged)))
        left = np.full((len(places), -(-len(judges) // 64)), ~np.uint64(0))
        for turn, row in enumerate(rows):
            if turn == len(tables):
                tables.append(_judge_sets(ranks[row], judges, above=turn == 0))
            sets, which = tables[turn]
            left &= sets.take(which.take(ranks[row].take(judged[places])), axis=0)
            if turn % _PAUSE == 0 or turn == len(rows) - 1:
                some = left.any(axis=1)
                places, left = places[some], left[some]
                if not len(places):
                    break
        word = np.argmax(left != 0, axis=1)
        bits = left[np.arange(len(places)), word]
        # as many bits as are below the lowest one that is set
        result[places] = 64 * word + np.bitwise_count(~bits & (bits - np.uint64(1)))
    return result


def _most_telling_first(ranks: Levels, judges: Ints, judged: Ints) -> list[int]:
    """Return the rows of ranks, the sum first, then greedily by how many pairs they exclude."""
    some, others = (
        ranks[:, models[:: max(len(models) // _SAMPLE, 1)]] for models in (judges, judged)
    )
    ahead = some[:, :, None] >= others[:, None, :]
    rest = list(range(len(ranks) - 1))
    rows = [len(ranks) - 1]
    pairs = ahead[-1]
    while rest and len(rows) <= 2 * _PAUSE and pairs.any():
        rows.append(rest.pop(int(np.argmin(np.count_nonzero(ahead[rest] & pairs, axis=(1, 2))))))
        pairs = pairs & ahead[rows[-1]]
    return rows + rest


def _judge_sets(rank: NDArray[np.int32], judges: Ints, *, above: bool) -> _Table:
    """Return the sets of judges of at least, or above, a rank: set i is all but the i lowest."""
    ascending = np.argsort(rank[judges])
    sets = np.zeros((len(judges) + 1, -(-len(judges) // 64)), np.uint64)
    bits = np.uint64(1) << (ascending % 64).astype(np.uint64)
    sets[np.arange(len(judges)), ascending // 64] = bits
    sets = np.bitwise_or.accumulate(sets[::-1], axis=0)[::-1]
    steps = rank[judges[ascending]] + (0 if above else 1)
    lengths = np.diff(steps, prepend=0, append=rank.max() + 1)
    return sets, np.repeat(np.arange(len(judges) + 1, dtype=np.int16), lengths)
