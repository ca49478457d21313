"""Ranks of models by MLcps, and which models dominate which (Pareto)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clfeval.arrays import Bools, Floats, Ints
from clfeval.compare.change import Change, comparison_row, estimate_or_none
from clfeval.document.cells import Estimate, Row
from clfeval.inference.resampling import percentile_limits, random_stream, significantly_above_zero
from clfeval.measures import composite_scores
from clfeval.measures.composite_scores import overall_desirability
from clfeval.methods.estimates import Limits
from clfeval.methods.mlcps.desirability_goals import desirabilities
from clfeval.methods.mlcps.metric_values import MetricValues
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.mlcps.scale import RAYS, Scale, compute_rays
from clfeval.records import dataclass

TIE = 1e-12  # relative tolerance of sums of products in another order


def dense_ranks(values: Floats) -> Ints:
    """Return the dense ranks of each column: 1 for the greatest, 0 for NaN.

    Neighbours in order tie when they differ by at most 1e-12 of the greater one.
    Shapes: values (k, ...), models first; the ranks likewise.
    """
    order = np.argsort(-values, axis=0)  # NaN last; equal values share a rank in any order
    descending = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore"):
        is_lower = descending[:-1] - descending[1:] > TIE * np.abs(descending[:-1])
    ordered_ranks = np.ones(values.shape, np.int64)
    ordered_ranks[1:] += np.cumsum(is_lower, axis=0)
    ordered_ranks[np.isnan(descending)] = 0
    ranks = np.empty_like(ordered_ranks)
    np.put_along_axis(ranks, order, ordered_ranks, axis=0)
    return ranks


def first_models(ranks: Ints) -> list[int]:
    """Return the index of the first model, or the indices of several that tie."""
    return list(np.flatnonzero(ranks == 1).tolist())


SCORES = ("mlcps", "normalised", "order_free", "lowest", "highest", "mean", "sd")


def score_models(d: Floats, weights: Floats) -> Mapping[str, Floats]:
    """Return each score of models, NaN where there are too few metrics or no weights.

    mlcps: area of the rays w d in their order; normalised: its share of what d = 1 would get;
    order_free, lowest, highest: mean, least and greatest area over all orders; mean, sd: of the
    metrics of weight above 0, the standard deviation with n - 1.
    Shapes: d (..., k, n), weights (n,); each score (..., k).
    """
    rays = d * weights
    mlcps = composite_scores.polygon_area(rays)
    perfect_area = composite_scores.polygon_area(weights)  # of a model with d = 1 everywhere
    lowest, highest = composite_scores.area_range(rays)
    # rounding must not put the mean outside its range
    order_free = np.clip(composite_scores.mean_area(rays), lowest, highest)
    sorted_rays = np.sort(d[..., weights > 0], axis=-1)  # invariant to the order of metrics
    mean = sd = np.full(d.shape[:-1], np.nan)
    if n := sorted_rays.shape[-1]:
        # a sum of equal numbers may be off by a rounding, and their SD would not be 0
        is_constant = sorted_rays[..., 0] == sorted_rays[..., -1]
        mean = np.where(is_constant, sorted_rays[..., 0], sorted_rays.mean(axis=-1))
        sd = np.where(is_constant, 0.0, sorted_rays.std(axis=-1, ddof=1)) if n > 1 else sd
    return {
        "mlcps": mlcps,
        "normalised": mlcps / perfect_area if perfect_area > 0 else np.full(mlcps.shape, np.nan),
        "order_free": order_free,
        "lowest": lowest,
        "highest": highest,
        "mean": mean,
        "sd": sd,
    }


CELLS, _CHUNK = 2**24, 2**20  # models x orders evaluated at most, and per block
FEWEST, SAMPLED = 10, 2000  # orders sampled then
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class OrderRanks:
    """Ranks over orders: best and worst of each model (k,), and all first models.

    looked_at: number of orders; everything: whether these are all. dependent (k,): the rank
    changes; settled (k,): it is proved not to; else unknown.
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

    All (n - 1)! / 2 orders for n <= 9 metrics, unless models times orders exceed 2**24. A rank is
    proved constant where a model's range of areas overlaps with no other's.
    Shapes: rays (k, n), n >= 3.
    """
    k, n = rays.shape
    order_count = factorial(n - 1) // 2
    if has_all_orders := n <= composite_scores.MOST_LISTED and k * order_count <= CELLS:
        orders = composite_scores.cyclic_orders(n)
    else:
        sample_size = max(FEWEST, min(SAMPLED, CELLS // 16 // k))
        orders = composite_scores.sampled_orders(n, sample_size, random_stream(seed, "orders"))
    best = np.full(k, k + 1, np.int64)
    worst = np.zeros(k, np.int64)
    is_ever_first = np.zeros(k, bool)
    block_size = max(1, _CHUNK // k)
    for start in range(0, len(orders), block_size):
        ranks = dense_ranks(
            composite_scores.areas_by_order(rays, orders[start : start + block_size])
        )
        best = np.minimum(best, ranks.min(axis=1))
        worst = np.maximum(worst, ranks.max(axis=1))
        is_ever_first |= (ranks == 1).any(axis=1)
    is_dependent = best < worst
    is_settled = ~is_dependent
    if not has_all_orders:
        is_settled &= _have_constant_ranks(rays)
    winners = tuple(np.flatnonzero(is_ever_first).tolist())
    return OrderRanks(len(orders), has_all_orders, best, worst, is_dependent, is_settled, winners)


def _have_constant_ranks(rays: Floats) -> Bools:
    """Return which models (k,) have a range of areas over all orders that overlaps no other's."""
    lowest, highest = composite_scores.area_range(rays)
    order = np.argsort(lowest, kind="stable")
    sorted_lowest = lowest[order]
    sorted_highest = highest[order] * (1 + ROUNDING)
    is_separate = np.ones(len(rays), bool)  # from the models before, and the one that follows
    is_separate[1:] &= sorted_lowest[1:] > np.maximum.accumulate(sorted_highest)[:-1]
    is_separate[:-1] &= sorted_lowest[1:] > sorted_highest[:-1]
    is_constant = np.empty(len(rays), bool)
    is_constant[order] = np.logical_and.accumulate(is_separate[::-1])[::-1]
    return is_constant


_PIECE = 2**22  # replicates x models x metrics scored at a time


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Models scored and ranked.

    weights (n,); d (k, n): the rays before weighting; desirabilities (k, m). scores: each (k,),
    among them `desirability` if requested; limits: of scores with replicates; first_shares (k,):
    share of replicates in which a model is first; undefined_count: largest number of undefined
    replicates of a model. ranks: by each score, 0 where undefined; best_indices: the models first
    by the main score; tied_indices: the models not significantly different from them, None without
    replicates. dominance_values (k, metrics): higher is better; dominator (k,): a front model that
    dominates, -1 on the front. comparison_rows: differences from the reference.
    """

    table: MetricValues
    options: MlcpsOptions
    scales: Sequence[Scale]
    weights: Floats
    d: Floats
    desirabilities: Floats
    scores: Mapping[str, Floats]
    limits: Mapping[str, Limits]
    first_shares: Floats | None
    undefined_count: int
    ranks: Mapping[str, Ints]
    main_score: str
    best_indices: list[int]
    tied_indices: list[int] | None
    dominance_values: Floats
    dominator: Ints
    orders: OrderRanks | None
    comparison_rows: Sequence[Row] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ModelScores:
    """Rays d (k, n) and desirabilities (k, m) of models, and their scores, (k,) each.

    Of replicates all have one more dimension, the first.
    """

    d: Floats
    desirabilities: Floats
    scores: Mapping[str, Floats]

    @classmethod
    def from_values(
        cls, values: Floats, table: MetricValues, scales: Sequence[Scale], options: MlcpsOptions
    ) -> ModelScores:
        """Score values of the metrics, (k, n), or of replicates of them."""
        weights = np.array([scale.weight for scale in scales], float)
        wishes = options.desirability
        d = compute_rays(scales, values)
        goal_desirabilities = desirabilities(wishes, table.metrics, values)
        scores = dict(score_models(d, weights))
        if wishes:
            goal_weights = np.array([wish.weight for wish in wishes])
            scores["desirability"] = overall_desirability(goal_desirabilities, goal_weights)
        return cls(d, goal_desirabilities, scores)


def rank_models(
    table: MetricValues, scales: Sequence[Scale], options: MlcpsOptions, *, all_orders: bool = True
) -> Ranking:
    """Score and rank the models; `all_orders` false: without ranks over the orders of metrics."""
    weights = np.array([scale.weight for scale in scales], float)
    model_scores = ModelScores.from_values(table.values, table, scales, options)
    main_score = "desirability" if options.desirability else "mlcps"
    ranks = {
        score: dense_ranks(-scores if score == "sd" else scores)
        for score, scores in model_scores.scores.items()
    }
    bootstrap = NO_BOOTSTRAP
    if table.replicates is not None:
        replicates = _score_replicates(table, table.replicates, scales, options)
        bootstrap = _rank_replicates(
            table,
            options,
            main_score,
            model_scores.scores[main_score],
            ranks[main_score],
            replicates,
        )
    dominance_values = _dominance_values(
        table, options, scales, model_scores.d, model_scores.desirabilities
    )
    rank_order = np.lexsort((np.arange(len(model_scores.d)), ranks[main_score]))
    has_orders = all_orders and len(scales) >= RAYS
    return Ranking(
        table,
        options,
        scales,
        weights,
        model_scores.d,
        model_scores.desirabilities,
        model_scores.scores,
        bootstrap.limits,
        bootstrap.first_shares,
        bootstrap.undefined_count,
        ranks,
        main_score,
        best_indices=first_models(ranks[main_score]),
        tied_indices=bootstrap.tied_indices,
        dominance_values=dominance_values,
        dominator=front_dominators(dominance_values, rank_order),
        orders=order_ranks(model_scores.d * weights, seed=options.seed) if has_orders else None,
        comparison_rows=bootstrap.comparison_rows,
    )


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapRanks:
    """What replicates of the metrics say of scores and ranks; the fields are those of `Ranking`."""

    limits: Mapping[str, Limits]
    first_shares: Floats | None
    undefined_count: int
    tied_indices: list[int] | None
    comparison_rows: Sequence[Row]


NO_BOOTSTRAP = BootstrapRanks({}, None, 0, None, ())


def _score_replicates(
    table: MetricValues, replicates: Floats, scales: Sequence[Scale], options: MlcpsOptions
) -> dict[str, Floats]:
    """Return the scores of all models by replicate, (B, k) each, computed in pieces."""
    piece_size = max(1, _PIECE // max(1, table.values.size))
    scored_pieces = [
        ModelScores.from_values(piece_values, table, scales, options).scores
        for piece_values in np.split(replicates, range(piece_size, len(replicates), piece_size))
    ]
    return {
        score: np.concatenate([piece_scores[score] for piece_scores in scored_pieces])
        for score in scored_pieces[0]
    }


def _rank_replicates(
    table: MetricValues,
    options: MlcpsOptions,
    main_score: str,
    scores: Floats,
    ranks: Ints,
    replicates: Mapping[str, Floats],
) -> BootstrapRanks:
    """Compare the models over replicates by the main score.

    scores, ranks: of the values by it, (k,); replicates: (B, k) of each score.
    """
    main_replicates = replicates[main_score]
    comparison_rows: list[Row] = []
    if options.reference in table.models:
        comparison_rows += _reference_differences(
            table, main_score, scores, main_replicates, options
        )
    return BootstrapRanks(
        limits={
            score: percentile_limits(score_replicates, level=options.level)[:2]
            for score, score_replicates in replicates.items()
        },
        first_shares=np.asarray((dense_ranks(main_replicates.T) == 1).mean(axis=1)),
        undefined_count=int(np.isnan(main_replicates).sum(axis=0).max()),
        tied_indices=_tied_with_first(scores, main_replicates, ranks, table.fewest, options.level),
        comparison_rows=comparison_rows,
    )


def _dominance_values(
    table: MetricValues,
    options: MlcpsOptions,
    scales: Sequence[Scale],
    d: Floats,
    goal_desirabilities: Floats,
) -> Floats:
    """Return the values that define dominance, (k, metrics); higher is better.

    These are rays; of metrics with a goal raw values, negated to minimize, or desirabilities.
    """
    values_by_metric = {
        scale.metric: d[:, ray_index] for ray_index, scale in enumerate(scales) if scale.weight > 0
    }
    for goal_index, wish in enumerate(options.desirability):
        if wish.weight > 0:
            metric_values = table.values[:, table.metrics.index(wish.metric)]
            oriented_values = {"maximize": metric_values, "minimize": -metric_values}
            values_by_metric[wish.metric] = oriented_values.get(
                wish.goal, goal_desirabilities[:, goal_index]
            )
    return np.column_stack(list(values_by_metric.values()))


def _reference_differences(
    table: MetricValues, score: str, scores: Floats, replicates: Floats, options: MlcpsOptions
) -> Iterator[Row]:
    """Yield differences from the reference by paired bootstrap: percentile limits and p.

    p = 2 min(share of resamples at or below 0, at or above it), one resample added to each;
    adjusted for all models by Bonferroni's rule.
    """
    reference_index = table.models.index(str(options.reference))
    other_indices = [
        model_index for model_index in range(len(table.models)) if model_index != reference_index
    ]
    adjusted_level = 1 - (1 - options.level) / max(len(other_indices), 1)
    for model_index in other_indices:
        draws = replicates[:, model_index] - replicates[:, reference_index]
        tail_count = min(np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0)) + 1
        p = min(1.0, 2 * tail_count / (np.count_nonzero(~np.isnan(draws)) + 1))
        difference = float(scores[model_index] - scores[reference_index])
        unadjusted, adjusted = (
            _difference_estimate(difference, draws, level)
            for level in (options.level, adjusted_level)
        )
        change = Change(
            Estimate(float(scores[reference_index])),
            Estimate(float(scores[model_index])),
            unadjusted,
            p,
            min(1.0, p * len(other_indices)),
            adjusted,
            paired=True,
        )
        yield comparison_row(
            "reference",
            score,
            table.models[model_index],
            table.models[reference_index],
            change,
            options.level,
            margin=options.margin.get(score),
            best="max",
            method="percentiles of resamples",
        )


def _difference_estimate(difference: float, draws: Floats, level: float) -> Estimate:
    """Return a difference with percentile limits of its draws."""
    low, high, _ = percentile_limits(draws, level=level)
    return estimate_or_none(difference, float(low), float(high))


def _tied_with_first(
    scores: Floats, replicates: Floats, ranks: Ints, fewest: int, level: float
) -> list[int]:
    """Return models that are not significantly worse than the first, best first.

    By the paired bootstrap, each at 1 - (1 - level) / pairs (Bonferroni), of all pairs of models.
    Shapes: scores and ranks (k,), replicates (r, k).
    """
    rank_order = np.argsort(ranks, kind="stable").tolist()
    other_indices = [i for i in rank_order if ranks[i] > 1]
    if not other_indices:
        return []
    (first_index,) = first_models(ranks)[:1]
    adjusted_level = 1 - (1 - level) / comb(len(ranks), 2)
    leads = scores[first_index] - scores[other_indices]
    lead_draws = replicates[:, [first_index]] - replicates[:, other_indices]
    worse_flags = significantly_above_zero(leads, lead_draws, rows=fewest, level=adjusted_level)
    return [
        i for i, is_worse in zip(other_indices, worse_flags.tolist(), strict=True) if not is_worse
    ]


Levels = NDArray[np.int32]
_Table = tuple[NDArray[np.uint64], NDArray[np.int16]]  # sets as rows of bits, that of every rank
_FEW, _MAX_JUDGES = 64, 1024  # judges at a time: at first, when most models leave, and in the end
_MODELS_AT_ONCE = 4096  # models judged at a time: their sets fit the cache of a processor
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
    ranks = _metric_ranks(d)
    ordered_models = np.asarray(order, np.int64)
    front_dominator = np.full(ranks.shape[1], -1, np.int64)
    if not np.array_equal(np.sort(ordered_models), np.arange(len(front_dominator))):
        raise ValueError("the order must contain each model once")
    is_front = _front_models(ranks)
    judges = ordered_models[is_front[ordered_models]]
    queue = np.flatnonzero(~is_front)
    block_size = _FEW
    while judges.size and queue.size:
        judge_block = judges[:block_size]
        judges = judges[block_size:]
        first_judges = _first_dominators(ranks, judge_block, queue)
        front_dominator[queue] = np.where(first_judges < 0, -1, judge_block[first_judges])
        queue = queue[first_judges < 0]
        block_size = min(2 * block_size, _MAX_JUDGES)
    return front_dominator


def _front_models(ranks: Levels) -> Bools:
    """Return which models are on the Pareto front."""
    is_front = np.zeros(ranks.shape[1], np.bool_)
    queue = np.argsort(-ranks[-1])
    block_size = _FEW
    while queue.size:
        is_undominated = _first_dominators(ranks, queue[:block_size], queue) < 0
        is_front[queue[:block_size][is_undominated[:block_size]]] = True
        queue = queue[block_size:][is_undominated[block_size:]]
        block_size = min(2 * block_size, _MAX_JUDGES)
    return is_front


def dominators(d: ArrayLike) -> list[Ints]:
    """Return for each model all models that dominate it: k arrays of ascending indices.

    d (k, n), higher better; the work is k**2 n. ValueError for NaN, or without a metric.
    """
    ranks = _metric_ranks(d)
    is_dominated = ranks[-1] > ranks[-1][:, None]
    for metric in ranks[:-1]:
        is_dominated &= metric >= metric[:, None]
    return [np.flatnonzero(row) for row in is_dominated]


def _metric_ranks(d: ArrayLike) -> Levels:
    """Return the ranks of the models by every metric, worst 0, and in the last row their sum."""
    values = np.asarray(d, np.float64)
    if values.ndim != 2 or not values.shape[1] or np.isnan(values).any():
        raise ValueError("models need metrics without NaN")
    ranks = np.empty((values.shape[1] + 1, len(values)), np.int32)
    for row_index, metric_values in enumerate(values.T):
        _, ranks[row_index] = np.unique(metric_values, return_inverse=True)
    rank_sums = ranks[:-1].sum(axis=0, dtype=np.int64)
    _, ranks[-1] = np.unique(rank_sums, return_inverse=True)
    return ranks


def _first_dominators(ranks: Levels, judges: Ints, models: Ints) -> Ints:
    """Return the index of the first judge that dominates each of the models, or -1.

    Bit sets: for each metric and rank the judges with at least this rank; their intersection with
    the judges of a higher sum of ranks dominates.
    """
    dominator = np.full(len(models), -1, np.int64)
    rank_rows = _most_telling_first(ranks, judges, models)
    set_tables: list[_Table] = []
    for start in range(0, len(models), _MODELS_AT_ONCE):
        model_indices = np.arange(start, min(start + _MODELS_AT_ONCE, len(models)))
        judge_bits = np.full((len(model_indices), -(-len(judges) // 64)), ~np.uint64(0))
        for row_number, rank_row in enumerate(rank_rows):
            if row_number == len(set_tables):
                set_tables.append(_judge_sets(ranks[rank_row], judges, above=row_number == 0))
            sets, set_of_rank = set_tables[row_number]
            judge_bits &= sets.take(
                set_of_rank.take(ranks[rank_row].take(models[model_indices])), axis=0
            )
            if row_number % _PAUSE == 0 or row_number == len(rank_rows) - 1:
                is_open = judge_bits.any(axis=1)
                model_indices = model_indices[is_open]
                judge_bits = judge_bits[is_open]
                if not len(model_indices):
                    break
        word = np.argmax(judge_bits != 0, axis=1)
        bits = judge_bits[np.arange(len(model_indices)), word]
        # as many bits as are below the lowest one that is set
        dominator[model_indices] = 64 * word + np.bitwise_count(~bits & (bits - np.uint64(1)))
    return dominator


def _most_telling_first(ranks: Levels, judges: Ints, models: Ints) -> list[int]:
    """Return the rows of ranks, the sum first, then greedily by how many pairs they exclude."""
    # a sample of either
    judge_ranks, model_ranks = (
        ranks[:, members[:: max(len(members) // _SAMPLE, 1)]] for members in (judges, models)
    )
    at_least = judge_ranks[:, :, None] >= model_ranks[:, None, :]
    unused_rows = list(range(len(ranks) - 1))
    rows = [len(ranks) - 1]
    is_possible = at_least[-1]
    while unused_rows and len(rows) <= 2 * _PAUSE and is_possible.any():
        pair_counts = np.count_nonzero(at_least[unused_rows] & is_possible, axis=(1, 2))
        rows.append(unused_rows.pop(int(np.argmin(pair_counts))))
        is_possible = is_possible & at_least[rows[-1]]
    return rows + unused_rows


def _judge_sets(metric_ranks: NDArray[np.int32], judges: Ints, *, above: bool) -> _Table:
    """Return the sets of judges of at least, or above, a rank: set i is all but the i lowest."""
    judge_order = np.argsort(metric_ranks[judges])
    sets = np.zeros((len(judges) + 1, -(-len(judges) // 64)), np.uint64)
    judge_bits = np.uint64(1) << (judge_order % 64).astype(np.uint64)
    sets[np.arange(len(judges)), judge_order // 64] = judge_bits
    sets = np.bitwise_or.accumulate(sets[::-1], axis=0)[::-1]
    first_ranks = metric_ranks[judges[judge_order]] + (0 if above else 1)
    rank_counts = np.diff(first_ranks, prepend=0, append=metric_ranks.max() + 1)
    return sets, np.repeat(np.arange(len(judges) + 1, dtype=np.int16), rank_counts)
