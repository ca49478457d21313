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
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore"):
        lower = ordered[:-1] - ordered[1:] > TIE * np.abs(ordered[:-1])
    ranks = np.ones(values.shape, np.int64)
    ranks[1:] += np.cumsum(lower, axis=0)
    ranks[np.isnan(ordered)] = 0
    out = np.empty_like(ranks)
    np.put_along_axis(out, order, ranks, axis=0)
    return out


def first_models(ranks: Ints) -> list[int]:
    """Return the first model, or several that tie."""
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
    most = composite_scores.polygon_area(weights)  # of a perfect model: all its metrics are 1
    lowest, highest = composite_scores.area_range(rays)
    # rounding must not put the mean outside its range
    free = np.clip(composite_scores.mean_area(rays), lowest, highest)
    used = np.sort(d[..., weights > 0], axis=-1)  # invariant to the order of metrics
    mean = sd = np.full(d.shape[:-1], np.nan)
    if n := used.shape[-1]:
        # a sum of equal numbers may be off by a rounding, and their SD would not be 0
        constant = used[..., 0] == used[..., -1]
        mean = np.where(constant, used[..., 0], used.mean(axis=-1))
        sd = np.where(constant, 0.0, used.std(axis=-1, ddof=1)) if n > 1 else sd
    return {
        "mlcps": mlcps,
        "normalised": mlcps / most if most > 0 else np.full(mlcps.shape, np.nan),
        "order_free": free,
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
    """Ranks over orders: lowest and highest of each model, and all first models.

    dependent (k,): the rank changes; settled (k,): it is proved not to; else unknown.
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
    total = factorial(n - 1) // 2
    if everything := n <= composite_scores.MOST_LISTED and k * total <= CELLS:
        orders = composite_scores.cyclic_orders(n)
    else:
        count = max(FEWEST, min(SAMPLED, CELLS // 16 // k))
        orders = composite_scores.sampled_orders(n, count, random_stream(seed, "orders"))
    best = np.full(k, k + 1, np.int64)
    worst = np.zeros(k, np.int64)
    first = np.zeros(k, bool)
    step = max(1, _CHUNK // k)
    for start in range(0, len(orders), step):
        ranks = dense_ranks(composite_scores.areas_by_order(rays, orders[start : start + step]))
        best = np.minimum(best, ranks.min(axis=1))
        worst = np.maximum(worst, ranks.max(axis=1))
        first |= (ranks == 1).any(axis=1)
    dependent = best < worst
    settled = ~dependent
    if not everything:
        settled &= _have_constant_ranks(rays)
    winners = tuple(np.flatnonzero(first).tolist())
    return OrderRanks(len(orders), everything, best, worst, dependent, settled, winners)


def _have_constant_ranks(rays: Floats) -> Bools:
    """Return which models (k,) have a range of areas over all orders that overlaps no other's."""
    lowest, highest = composite_scores.area_range(rays)
    by_low = np.argsort(lowest, kind="stable")
    low = lowest[by_low]
    high = highest[by_low] * (1 + ROUNDING)
    separate = np.ones(len(rays), bool)
    separate[1:] &= low[1:] > np.maximum.accumulate(high)[:-1]
    separate[:-1] &= low[1:] > high[:-1]
    constant = np.empty(len(rays), bool)
    constant[by_low] = np.logical_and.accumulate(separate[::-1])[::-1]
    return constant


_PIECE = 2**22  # replicates x models x metrics scored at a time


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Models scored and ranked.

    weights (n,); d (k, n): the rays before weighting; desirabilities (k, m). scores: each (k,),
    among them `desirability` if requested; limits: of scores with replicates; first: share of
    replicates in which a model is first; failed: largest number of undefined replicates of a model.
    ranks: by each score, 0 where undefined; `main`: the leading score, `best`: the first by it,
    `equal`: those not significantly different from it, None without replicates. dominator (k,): a
    front model that dominates, -1 on the front.
    """

    table: MetricValues
    options: MlcpsOptions
    scales: Sequence[Scale]
    weights: Floats
    d: Floats
    desirabilities: Floats
    scores: Mapping[str, Floats]
    limits: Mapping[str, Limits]
    first: Floats | None
    failed: int
    ranks: Mapping[str, Ints]
    main: str
    best: list[int]
    equal: list[int] | None
    better: Floats
    dominator: Ints
    orders: OrderRanks | None
    compared: Sequence[Row] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ModelScores:
    """Rays d (k, n) and desirabilities (k, m) of models, and their scores, (k,) each.

    Of replicates all have one more dimension before these.
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
        goals = desirabilities(wishes, table.metrics, values)
        scores = dict(score_models(d, weights))
        if wishes:
            importance = np.array([wish.weight for wish in wishes])
            scores["desirability"] = overall_desirability(goals, importance)
        return cls(d, goals, scores)


def rank_models(
    table: MetricValues, scales: Sequence[Scale], options: MlcpsOptions, *, all_orders: bool = True
) -> Ranking:
    """Score and rank the models; `all_orders` false: without ranks over the orders of metrics."""
    weights = np.array([scale.weight for scale in scales], float)
    models = ModelScores.from_values(table.values, table, scales, options)
    main = "desirability" if options.desirability else "mlcps"
    ranks = {name: dense_ranks(-x if name == "sd" else x) for name, x in models.scores.items()}
    bootstrap = NO_BOOTSTRAP
    if table.replicates is not None:
        replicates = _score_replicates(table, table.replicates, scales, options)
        bootstrap = _rank_replicates(
            table, options, main, models.scores[main], ranks[main], replicates
        )
    better = _dominance_values(table, options, scales, models.d, models.desirabilities)
    by_rank = np.lexsort((np.arange(len(models.d)), ranks[main]))
    has_orders = all_orders and len(scales) >= RAYS
    return Ranking(
        table,
        options,
        scales,
        weights,
        models.d,
        models.desirabilities,
        models.scores,
        bootstrap.limits,
        bootstrap.first,
        bootstrap.failed,
        ranks,
        main,
        best=first_models(ranks[main]),
        equal=bootstrap.equal,
        better=better,
        dominator=front_dominators(better, by_rank),
        orders=order_ranks(models.d * weights, seed=options.seed) if has_orders else None,
        compared=bootstrap.compared,
    )


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapRanks:
    """What replicates of the metrics say of scores and ranks; the fields are those of `Ranking`."""

    limits: Mapping[str, Limits]
    first: Floats | None
    failed: int
    equal: list[int] | None
    compared: Sequence[Row]


NO_BOOTSTRAP = BootstrapRanks({}, None, 0, None, ())


def _score_replicates(
    table: MetricValues, replicates: Floats, scales: Sequence[Scale], options: MlcpsOptions
) -> dict[str, Floats]:
    """Return the scores of all models by replicate, (B, k) each, computed in pieces."""
    step = max(1, _PIECE // max(1, table.values.size))
    pieces = [
        ModelScores.from_values(part, table, scales, options).scores
        for part in np.split(replicates, range(step, len(replicates), step))
    ]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _rank_replicates(
    table: MetricValues,
    options: MlcpsOptions,
    main: str,
    scores: Floats,
    ranks: Ints,
    replicates: Mapping[str, Floats],
) -> BootstrapRanks:
    """Compare the models over replicates by the score `main`; scores, ranks: of the values by it.

    scores, ranks (k,); replicates (B, k), by score.
    """
    samples = replicates[main]
    compared: list[Row] = []
    if options.reference in table.models:
        compared += _reference_differences(table, main, scores, samples, options)
    return BootstrapRanks(
        limits={
            name: percentile_limits(x, level=options.level)[:2] for name, x in replicates.items()
        },
        first=np.asarray((dense_ranks(samples.T) == 1).mean(axis=1)),
        failed=int(np.isnan(samples).sum(axis=0).max()),
        equal=_tied_with_first(scores, samples, ranks, table.fewest, options.level),
        compared=compared,
    )


def _dominance_values(
    table: MetricValues, options: MlcpsOptions, scales: Sequence[Scale], d: Floats, goals: Floats
) -> Floats:
    """Return what defines dominance, (k, metrics): rays, or of goals raw values or d."""
    columns = {s.metric: d[:, i] for i, s in enumerate(scales) if s.weight > 0}
    for i, wish in enumerate(options.desirability):
        if wish.weight > 0:
            raw = table.values[:, table.metrics.index(wish.metric)]
            directed = {"maximize": raw, "minimize": -raw}
            columns[wish.metric] = directed.get(wish.goal, goals[:, i])
    return np.column_stack(list(columns.values()))


def _reference_differences(
    table: MetricValues, score: str, scores: Floats, replicates: Floats, options: MlcpsOptions
) -> Iterator[Row]:
    """Yield differences from the reference by paired bootstrap: percentile limits and p.

    p = 2 min(share of resamples at or below 0, at or above it), one resample added to each;
    adjusted for all models by Bonferroni's rule.
    """
    reference = table.models.index(str(options.reference))
    others = [i for i in range(len(table.models)) if i != reference]
    adjusted_level = 1 - (1 - options.level) / max(len(others), 1)
    for i in others:
        draws = replicates[:, i] - replicates[:, reference]
        smaller = min(np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0)) + 1
        p = min(1.0, 2 * smaller / (np.count_nonzero(~np.isnan(draws)) + 1))
        d = float(scores[i] - scores[reference])
        unadjusted, adjusted = (
            _difference_estimate(d, draws, level) for level in (options.level, adjusted_level)
        )
        change = Change(
            Estimate(float(scores[reference])),
            Estimate(float(scores[i])),
            unadjusted,
            p,
            min(1.0, p * len(others)),
            adjusted,
            paired=True,
        )
        yield comparison_row(
            "reference",
            score,
            table.models[i],
            table.models[reference],
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
    by_place = np.argsort(ranks, kind="stable").tolist()
    others = [i for i in by_place if ranks[i] > 1]
    if not others:
        return []
    (first,) = first_models(ranks)[:1]
    adjusted_level = 1 - (1 - level) / comb(len(ranks), 2)
    leads = scores[first] - scores[others]
    draws = replicates[:, [first]] - replicates[:, others]
    worse = significantly_above_zero(leads, draws, rows=fewest, level=adjusted_level)
    return [i for i, is_worse in zip(others, worse.tolist(), strict=True) if not is_worse]


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
    models = np.asarray(order, np.int64)
    front_dominator = np.full(ranks.shape[1], -1, np.int64)
    if not np.array_equal(np.sort(models), np.arange(len(front_dominator))):
        raise ValueError("the order must contain each model once")
    best = _front_models(ranks)
    judges = models[best[models]]
    queue = np.flatnonzero(~best)
    size = _FEW
    while judges.size and queue.size:
        block = judges[:size]
        judges = judges[size:]
        first = _first_dominators(ranks, block, queue)
        front_dominator[queue] = np.where(first < 0, -1, block[first])
        queue = queue[first < 0]
        size = min(2 * size, _MAX_JUDGES)
    return front_dominator


def _front_models(ranks: Levels) -> Bools:
    """Return which models are on the Pareto front."""
    is_front = np.zeros(ranks.shape[1], np.bool_)
    queue = np.argsort(-ranks[-1])
    size = _FEW
    while queue.size:
        undominated = _first_dominators(ranks, queue[:size], queue) < 0
        is_front[queue[:size][undominated[:size]]] = True
        queue = queue[size:][undominated[size:]]
        size = min(2 * size, _MAX_JUDGES)
    return is_front


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
    values = np.asarray(d, np.float64)
    if values.ndim != 2 or not values.shape[1] or np.isnan(values).any():
        raise ValueError("models need metrics without NaN")
    ranks = np.empty((values.shape[1] + 1, len(values)), np.int32)
    for place, metric in enumerate(values.T):
        ranks[place] = np.unique(metric, return_inverse=True)[1]
    ranks[-1] = np.unique(ranks[:-1].sum(axis=0, dtype=np.int64), return_inverse=True)[1]
    return ranks


def _first_dominators(ranks: Levels, judges: Ints, models: Ints) -> Ints:
    """Return the index of the first judge that dominates each of the models, or -1.

    Bit sets: for each metric and rank the judges with at least this rank; their intersection with
    the judges of a higher sum of ranks dominates.
    """
    dominator = np.full(len(models), -1, np.int64)
    rows = _most_telling_first(ranks, judges, models)
    tables: list[_Table] = []
    for start in range(0, len(models), _MODELS_AT_ONCE):
        places = np.arange(start, min(start + _MODELS_AT_ONCE, len(models)))
        remaining = np.full((len(places), -(-len(judges) // 64)), ~np.uint64(0))
        for step, row in enumerate(rows):
            if step == len(tables):
                tables.append(_judge_sets(ranks[row], judges, above=step == 0))
            sets, set_of_rank = tables[step]
            remaining &= sets.take(set_of_rank.take(ranks[row].take(models[places])), axis=0)
            if step % _PAUSE == 0 or step == len(rows) - 1:
                is_open = remaining.any(axis=1)
                places = places[is_open]
                remaining = remaining[is_open]
                if not len(places):
                    break
        word = np.argmax(remaining != 0, axis=1)
        bits = remaining[np.arange(len(places)), word]
        # as many bits as are below the lowest one that is set
        dominator[places] = 64 * word + np.bitwise_count(~bits & (bits - np.uint64(1)))
    return dominator


def _most_telling_first(ranks: Levels, judges: Ints, models: Ints) -> list[int]:
    """Return the rows of ranks, the sum first, then greedily by how many pairs they exclude."""
    judge_ranks, model_ranks = (
        ranks[:, members[:: max(len(members) // _SAMPLE, 1)]] for members in (judges, models)
    )
    at_least = judge_ranks[:, :, None] >= model_ranks[:, None, :]
    unused = list(range(len(ranks) - 1))
    rows = [len(ranks) - 1]
    pairs = at_least[-1]
    while unused and len(rows) <= 2 * _PAUSE and pairs.any():
        n_pairs = np.count_nonzero(at_least[unused] & pairs, axis=(1, 2))
        rows.append(unused.pop(int(np.argmin(n_pairs))))
        pairs = pairs & at_least[rows[-1]]
    return rows + unused


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
