"""The ranking: every score of every model, with limits from replicates, and the ranks by each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clfeval.inference.bootstrap import percentiles
from clfeval.measures.desirability import overall
from clfeval.measures.pareto import example, front, levels_of
from clfeval.methods.mlcps.given import Given
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.mlcps.orders import OrderRanks, order_ranks
from clfeval.methods.mlcps.ranks import ascending_ranks, dense_ranks, firsts
from clfeval.methods.mlcps.scale import RAYS, Scale, rays_of
from clfeval.methods.mlcps.scores import SCORES, scores_of
from clfeval.methods.mlcps.wishes import Wish, desirabilities

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Limits = tuple[Floats, Floats]

_PIECE = 2**22  # replicates x models x metrics scored at a time


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Models scored and ranked.

    d (k, n): the rays before weighting; wished (k, m): desirabilities. scores: each (k,), among
    them `desirability` where wanted; limits: of scores with replicates; first: share of replicates
    in which a model is first. ranks: by each score, 0 where it is undefined; `main` is the score
    that decides. on_front (k,), under (k,): a front model that dominates, -1 for none.
    """

    given: Given
    options: MlcpsOptions
    scales: tuple[Scale, ...]
    d: Floats
    wished: Floats
    scores: Mapping[str, Floats]
    limits: Mapping[str, Limits]
    first: Floats | None
    failed: int
    ranks: Mapping[str, Ints]
    main: str
    better: Floats
    on_front: NDArray[np.bool_]
    under: Ints
    orders: OrderRanks | None

    @property
    def weights(self) -> Floats:
        """The weights of the rays, (n,)."""
        return np.array([scale.weight for scale in self.scales], np.float64)

    @property
    def rays(self) -> Floats:
        """What weights multiply, (k, n): a ray kept with weight 0 is 0 whatever they are."""
        return self.d * (self.weights > 0)

    @property
    def best(self) -> list[int]:
        """Who is first by the score that decides."""
        return firsts(self.ranks[self.main])


def ranking_of(
    given: Given, scales: tuple[Scale, ...], options: MlcpsOptions, *, all_orders: bool = True
) -> Ranking:
    """Score and rank the models; without `all_orders` the orders are not gone through."""
    weights = np.array([scale.weight for scale in scales], np.float64)
    d = rays_of(scales, given.values)
    wished = wished_of(given.metrics, given.values, options.wishes)
    scores = _scored(d, weights, wished, options.wishes)
    main = "desirability" if options.wishes else "mlcps"
    ranks = {
        name: ascending_ranks(column) if name == "sd" else dense_ranks(column)
        for name, column in scores.items()
    }
    limits, first, failed = _resampled(given, scales, weights, options, main)
    better = _better(given, d, scales, wished, options.wishes)
    levels = levels_of(better)
    on_front = front(better, levels=levels)
    by_rank = np.lexsort((np.arange(len(d)), ranks[main]))
    orders = None
    if all_orders and len(scales) >= RAYS:
        orders = order_ranks(d * weights, seed=options.seed)
    return Ranking(
        given, options, scales, d, wished, scores, limits, first, failed, ranks, main, better,
        on_front, example(better, on_front, by_rank, levels=levels), orders,
    )  # fmt: skip


def wished_of(metrics: Sequence[str], values: Floats, wishes: Sequence[Wish]) -> Floats:
    """Return the desirabilities (..., k, m) of raw values (..., k, all metrics)."""
    if not wishes:
        return np.empty((*values.shape[:-1], 0))
    columns = {wish.metric: values[..., metrics.index(wish.metric)] for wish in wishes}
    return desirabilities(wishes, columns)


def _scored(
    d: Floats, weights: Floats, wished: Floats, wishes: Sequence[Wish]
) -> dict[str, Floats]:
    scores = dict(scores_of(d, weights))
    if wishes:
        scores["desirability"] = overall(wished, np.array([wish.weight for wish in wishes]))
    return scores


def _better(
    given: Given, d: Floats, scales: Sequence[Scale], wished: Floats, wishes: Sequence[Wish]
) -> Floats:
    """Return what dominance compares, (k, metrics), more being better in each.

    Rays, but for metrics with a wish: their raw values where the wish is to have more or less of
    it (a desirability of 1 hides differences), else the desirability.
    """
    columns = {s.metric: d[:, i] for i, s in enumerate(scales) if s.weight > 0}
    for i, wish in enumerate(wishes):
        if wish.weight > 0:
            raw = given.values[:, given.metrics.index(wish.metric)]
            directed = {"maximize": raw, "minimize": -raw}
            columns[wish.metric] = directed.get(wish.goal, wished[:, i])
    return np.column_stack(list(columns.values()))


def _resampled(
    given: Given,
    scales: Sequence[Scale],
    weights: Floats,
    options: MlcpsOptions,
    main: str,
) -> tuple[dict[str, Limits], Floats | None, int]:
    """Return limits of each score, the share of replicates each model wins, and lost replicates."""
    replicates = given.replicates
    if replicates is None:
        return {}, None, 0
    names = (*SCORES, "desirability") if options.wishes else SCORES
    found: dict[str, list[Floats]] = {name: [] for name in names}
    step = max(1, _PIECE // max(1, replicates[0].size))
    for start in range(0, len(replicates), step):
        piece = replicates[start : start + step]
        wished = wished_of(given.metrics, piece, options.wishes)
        scored = _scored(rays_of(scales, piece), weights, wished, options.wishes)
        for name in names:
            found[name].append(scored[name])
    columns = {name: np.concatenate(parts) for name, parts in found.items()}
    limits: dict[str, Limits] = {}
    for name, column in columns.items():
        low, high, _ = percentiles(column, level=options.level)
        limits[name] = low, high
    decided = columns[main]
    wins = (dense_ranks(decided.T) == 1).mean(axis=1)
    return limits, np.asarray(wins), int(np.isnan(decided).sum(axis=0).max())
