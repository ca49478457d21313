"""What the order of the metrics does to the ranks: every order where they are few, else some."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from clfeval.inference.bootstrap import stream
from clfeval.measures.polygon import areas_over, cyclic_orders, extremes, sampled_orders
from clfeval.methods.mlcps.ranks import dense_ranks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ALL_UP_TO = 9  # metrics: 20 160 orders
CELLS = 2**24  # models x orders looked at, at most, where not all can be
FEWEST, SAMPLED = 10, 2000  # orders then
_CHUNK = 2**20  # models x orders held at a time
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class OrderRanks:
    """Ranks over orders: least and greatest of each model, and who is first in some order.

    `dependent` and `settled` (k,): the rank is seen to change, is proved not to; where neither
    holds nobody knows.
    """

    looked_at: int
    everything: bool
    best: Ints
    worst: Ints
    dependent: Bools
    settled: Bools
    winners: tuple[int, ...]


def order_ranks(rays: Floats, *, seed: int) -> OrderRanks:
    """Rank the models in every order of their rays, or in a seeded sample of orders.

    All (n - 1)! / 2 orders are looked at for n <= 9 metrics, unless models times orders exceed
    2**24. A sample shows that a rank depends on the order, never that it does not: that is proved
    where a model's least and greatest area over all orders overlap with nobody else's.

    Shapes: rays (k, n), n >= 3.
    """
    k, n = rays.shape
    total = factorial(n - 1) // 2
    everything = n <= ALL_UP_TO and k * total <= CELLS
    if everything:
        orders = cyclic_orders(n)
    else:
        count = max(FEWEST, min(SAMPLED, CELLS // 16 // k))
        orders = sampled_orders(n, count, stream(seed, "orders"))
    best = np.full(k, k + 1, np.int64)
    worst = np.zeros(k, np.int64)
    first = np.zeros(k, bool)
    step = max(1, _CHUNK // k)
    for start in range(0, len(orders), step):
        ranks = dense_ranks(areas_over(rays, orders[start : start + step]))
        best = np.minimum(best, ranks.min(axis=1))
        worst = np.maximum(worst, ranks.max(axis=1))
        first |= (ranks == 1).any(axis=1)
    dependent = best < worst
    settled = ~dependent if everything else ~dependent & _apart(rays)
    winners = tuple(int(i) for i in np.flatnonzero(first))
    return OrderRanks(len(orders), everything, best, worst, dependent, settled, winners)


def _apart(rays: Floats) -> Bools:
    """Tell whose area overlaps with nobody's over all orders, as with all of those above it.

    The distinct areas above such a model are as many in every order.
    """
    lowest, highest = extremes(rays)
    by_low = np.argsort(lowest, kind="stable")
    low, high = lowest[by_low], highest[by_low] * (1 + ROUNDING)
    alone = np.ones(len(low), bool)
    alone[1:] &= low[1:] > np.maximum.accumulate(high)[:-1]
    alone[:-1] &= low[1:] > high[:-1]
    out = np.empty(len(low), bool)
    out[by_low] = np.logical_and.accumulate(alone[::-1])[::-1]
    return out
