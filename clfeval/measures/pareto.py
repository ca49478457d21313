"""The Pareto front: the models that no other model dominates.

A model dominates another when it is at least as good in every metric and better in one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clfeval.arrays import Bools, Ints

Levels = NDArray[np.int32]
_Words = NDArray[np.uint64]
_Table = tuple[_Words, NDArray[np.int16]]  # sets as rows of bits, and the set of every rank

_FEW, _MAX_JUDGES = 64, 1024  # judges at a time: at first, when most models leave, and in the end
_PIECE = 4096  # models judged at a time: their sets fit the cache of a processor
_PAUSE = 8  # metrics after which models that nobody can dominate any more leave
_SAMPLE = 32  # judges and judged that tell which metrics part them


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
    """Return for each model all models that dominate it.

    Shapes: d (k, n), higher better; k arrays of ascending indices, empty for models of the front.
    The work is k**2 n.
    Errors: ValueError for NaN, or without a metric.
    """
    ranks = _metric_ranks(d)
    dominated = ranks[-1] > ranks[-1][:, None]
    for metric in ranks[:-1]:
        dominated &= metric >= metric[:, None]
    return [np.flatnonzero(row) for row in dominated]


def _metric_ranks(d: ArrayLike) -> Levels:
    """Return the ranks of the models in every metric, worst 0, and those of their sum, last."""
    given = np.asarray(d, np.float64)
    if given.ndim != 2 or not given.shape[1] or np.isnan(given).any():
        raise ValueError("models need metrics without NaN")
    ranks = np.empty((given.shape[1] + 1, len(given)), np.int32)
    for place, metric in enumerate(given.T):
        ranks[place] = np.unique(metric, return_inverse=True)[1]
    ranks[-1] = np.unique(ranks[:-1].sum(axis=0, dtype=np.int64), return_inverse=True)[1]
    return ranks


def _first_dominators(ranks: Levels, judges: Ints, judged: Ints) -> Ints:
    """Return for each model judged the place of the first judge that dominates it, or -1.

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
    """Return the rows of ranks, their sum first, in greedy order of how many pairs they exclude."""
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
