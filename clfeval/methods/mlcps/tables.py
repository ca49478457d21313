"""Tables of a ranking: scores, ranks, metrics, and those requested by options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.document import Cell, Estimate, Row, Rows
from clfeval.inference.resampling import percentile_limits, random_stream
from clfeval.lazy_rows import LazyRows
from clfeval.measures.polygon import dominators
from clfeval.methods.estimates import make_estimate, proportion_estimates, rows_from_columns
from clfeval.methods.mlcps.ranking import SCORES, Ranking, dense_ranks, first_models, score_models
from clfeval.methods.mlcps.robustness import depends_on_weights, redundant_rows, winner_shares
from clfeval.methods.mlcps.scale import RAYS, compute_rays

Splits = Mapping[str, Floats]

MOST_PAIRS = 500  # models whose dominators are all named
MOST_WEIGHED = 2000  # models whose ranks are tested under all weights


def ranking_tables(ranking: Ranking) -> dict[str, Rows]:
    """Return the tables of a ranking: the usual ones, then those of its data or options."""
    options, by_split = ranking.options, ranking.given.by_split
    splits = None
    if by_split is not None and len(ranking.scales) >= RAYS:
        splits = score_models(compute_rays(ranking.scales, by_split), ranking.weights)
    tables: dict[str, Rows] = {
        "models": _model_rows(ranking, splits), "ranks": _rank_rows(ranking),
        "metrics": _metric_rows(ranking),
        "profile": _profile_rows(ranking), "redundant": _redundant_metric_rows(ranking),
    }  # fmt: skip
    if len(ranking.given.models) <= MOST_PAIRS:
        tables["dominance"] = _dominance_rows(ranking)
    if splits is not None:
        tables["splits"] = _split_rows(ranking, splits)
    if options.drawn is not None:
        tables["weights"] = _weight_rows(ranking, options.drawn)
    if ranking.compared:
        tables["comparisons"] = ranking.compared
    if options.desirability:
        tables["desirability"] = _desirability_rows(ranking)
    return tables


def _model_rows(ranking: Ranking, splits: Splits | None) -> Rows:
    models, spread = (
        ranking.given.models,
        None if splits is None else _split_statistics(splits["mlcps"]),
    )
    scored = {name: _score_estimates(ranking, name) for name in ranking.scores}
    ranks, under = ranking.ranks[ranking.main].tolist(), ranking.under.tolist()
    first = None if ranking.first is None else ranking.first.tolist()

    def row(i: int) -> Row:
        cells: dict[str, Cell] = {"model": models[i], "mlcps": scored["mlcps"](i)}
        cells["rank"] = ranks[i] or None
        cells |= {name: scored[name](i) for name in SCORES[1:]}
        cells["pareto"] = under[i] < 0
        cells["dominated_by"] = models[under[i]] if under[i] >= 0 else None
        if ranking.options.desirability:
            cells["desirability"] = scored["desirability"](i)
            pairs = zip(ranking.options.desirability, ranking.wished[i].tolist(), strict=True)
            # each makes D 0
            cells["dealbreakers"] = [w.metric for w, d in pairs if d == 0 and w.weight > 0]
        if first is not None:
            cells["first"] = Estimate(first[i])
        if spread is not None:
            mean, sd, wins = (part[i].item() for part in spread)
            cells["split_mean"] = make_estimate(mean, undefined=("outside_scale",))
            why = "too_few_splits" if mean == mean else "outside_scale"
            cells["split_sd"] = make_estimate(sd, undefined=(why,))
            cells["split_wins"] = int(wins)
        return cells

    return LazyRows(len(models), row)


def _split_statistics(areas: Floats) -> Sequence[Floats]:
    """Return mean and SD of the MLcps over splits, and the splits with each model first."""
    sd = areas.std(axis=0, ddof=1) if len(areas) > 1 else np.full(areas.shape[1], nan)
    return areas.mean(axis=0), sd, (dense_ranks(areas.T) == 1).sum(axis=1)


def _score_estimates(ranking: Ranking, name: str) -> Callable[[int], Estimate]:
    """Return the function from a model's index to an estimate of one score."""
    values = ranking.scores[name].tolist()
    lacking = "missing_component" if name == "desirability" else "too_few_metrics"
    # a mean lacks metrics too where nothing has a scale; a polygon may be flat for want of weights
    if len(ranking.scales) >= RAYS and name in ("normalised", "mlcps"):
        lacking = "zero_weight"
    if name in ranking.limits:
        low, high = (side.tolist() for side in ranking.limits[name])
        return lambda i: make_estimate(values[i], low[i], high[i], undefined=(lacking,))
    return lambda i: make_estimate(values[i], undefined=(lacking,))


def _rank_rows(ranking: Ranking) -> Rows:
    """Return the rank of each model by each score, and whether order or weights change it."""
    orders, k = ranking.orders, len(ranking.given.models)
    columns: dict[str, list[Any]] = {
        "model": list(ranking.given.models),
        **{
            name: [rank or None for rank in ranks.tolist()]
            for name, ranks in ranking.ranks.items()
            if name != "normalised"  # its ranks are those of mlcps
        },
    }
    over = ("best_over_orders", "worst_over_orders", "order_dependent", "weight_dependent")
    columns |= dict.fromkeys(over, [None] * k)
    if orders is not None:
        columns["best_over_orders"] = orders.best.tolist()
        columns["worst_over_orders"] = orders.worst.tolist()
        dependent = orders.dependent.astype(object)
        dependent[~orders.dependent & ~orders.settled] = None  # unknown
        columns["order_dependent"] = dependent.tolist()
        if k <= MOST_WEIGHED:
            columns["weight_dependent"] = depends_on_weights(_weighable_rays(ranking)).tolist()

    def row(i: int) -> Row:
        return {name: column[i] for name, column in columns.items()}

    return LazyRows(k, row, columns)


def _weighable_rays(ranking: Ranking) -> Floats:
    """Return the rays that weights multiply, (k, n), 0 for metrics of weight 0."""
    return ranking.d * (ranking.weights > 0)


def _metric_rows(ranking: Ranking) -> list[Row]:
    """Return a row per ray: scale, values, and the effect of omitting or doubling it."""
    rows: list[Row] = []
    ranks, areas = ranking.ranks["mlcps"], _area_changes(ranking.d * ranking.weights)
    for i, scale in enumerate(ranking.scales):
        raw = ranking.given.values[:, scale.place]
        row: dict[str, Cell] = {
            "metric": scale.metric, "direction": scale.best, "low": scale.low, "high": scale.high,
            "weight": scale.weight, "least": float(raw.min()),
            "average": float(np.sort(raw).mean()),  # for any order of models
            "most": float(raw.max()),
        }  # fmt: skip
        for key, area in zip(("without", "doubled"), areas(i), strict=True):
            moved = None if area is None else dense_ranks(area)
            names = ranking.given.models
            row[f"winner_{key}"] = None if moved is None else _name_first(names, moved, ranks)
            row[f"moved_{key}"] = None if moved is None else int((moved != ranks).sum())
        rows.append(row)
    return rows


def _area_changes(rays: Floats) -> Callable[[int], tuple[Floats | None, Floats | None]]:
    """Return the function from a ray to the areas without it, and with doubled length.

    Up to a common factor; None where fewer than three rays are left.
    """
    n = rays.shape[1]
    products = rays * np.roll(rays, -1, axis=1)
    up_to = np.cumsum(products, axis=1)
    onward = np.cumsum(products[:, ::-1], axis=1)[:, ::-1]

    def areas(i: int) -> tuple[Floats | None, Floats | None]:
        if n < RAYS:
            return None, None
        doubled = up_to[:, -1] + products[:, i] + products[:, i - 1]
        if n == RAYS:
            return None, doubled
        if i == 0:
            rest = products[:, 1:-1].sum(axis=1)
        else:
            rest = (up_to[:, i - 2] if i > 1 else 0.0) + (onward[:, i + 1] if i < n - 1 else 0.0)
        return rest + rays[:, i - 1] * rays[:, (i + 1) % n], doubled

    return areas


def _name_first(names: Sequence[str], ranks: Ints, before: Ints) -> str:
    """Return the name of the first model; of ties the earlier leader, with their number."""
    first, *others = sorted(first_models(ranks), key=before.__getitem__)
    return names[first] + (f" (and {len(others)} more)" if others else "")


def _profile_rows(ranking: Ranking) -> Rows:
    """Return a row per model and ray: raw value with limits, and length before weighting."""
    scales, given, n = ranking.scales, ranking.given, len(ranking.scales)
    sides: tuple[Floats, ...] | None = None
    if given.replicates is not None:
        sides = percentile_limits(given.replicates, level=ranking.options.level)[:2]
        if given.limits is not None:
            pairs = zip(given.limits, sides, strict=True)
            sides = tuple(np.where(np.isnan(one), other, one) for one, other in pairs)

    def row(at: int) -> Row:
        i, j = divmod(at, n)
        place = scales[j].place
        value = given.values[i, place].item()
        low, high = (nan, nan) if sides is None else (side[i, place].item() for side in sides)
        cells: dict[str, Cell] = {
            "model": given.models[i], "metric": scales[j].metric,
            "value": make_estimate(value, low, high), "d": ranking.d[i, j].item(),
        }  # fmt: skip
        if given.sds is not None:  # of the raw value over splits
            sd = given.sds[i, place].item()
            cells["sd"] = sd if sd == sd else None
        return cells

    return LazyRows(len(given.models) * n, row)


def _redundant_metric_rows(ranking: Ranking) -> list[Row]:
    """Return the pairs of redundant metrics; less is better as rays, else by goal."""
    given, wishes = ranking.given, [w for w in ranking.options.desirability if w.weight > 0]
    used = {scale.metric for scale in ranking.scales if scale.weight > 0}
    used |= {wish.metric for wish in wishes}
    less = {wish.metric for wish in wishes if wish.goal == "minimize"}
    less -= {scale.metric for scale in ranking.scales if scale.best == "max"}
    less |= {scale.metric for scale in ranking.scales if scale.best == "min"}
    places = [place for place, metric in enumerate(given.metrics) if metric in used]
    return redundant_rows([given.metrics[place] for place in places], given.values[:, places], less)


def _dominance_rows(ranking: Ranking) -> list[Row]:
    names = ranking.given.models
    return [
        {"model": names[i], "dominated_by": [names[j] for j in over.tolist()]}
        for i, over in enumerate(dominators(ranking.better))
        if len(over)
    ]


def _split_rows(ranking: Ranking, scored: Splits) -> list[Row]:
    given, ranks = ranking.given, dense_ranks(scored["mlcps"].T).T
    return [
        {
            "split": split, "model": model,
            **{name: make_estimate(scored[name][s, i].item(), undefined=("outside_scale",))
               for name in ("mlcps", "normalised")},
            "rank": int(ranks[s, i]) or None,
        }
        for s, split in enumerate(given.splits) for i, model in enumerate(given.models)
    ]  # fmt: skip


def _weight_rows(ranking: Ranking, draws: int) -> list[Row]:
    """Return per model the share of random weights with which it is first."""
    options = ranking.options
    wins = winner_shares(
        _weighable_rays(ranking), draws=draws, rng=random_stream(options.seed, "weights")
    )
    share, free = (
        proportion_estimates(part, draws, "no_draws", level=options.level) for part in wins
    )
    return rows_from_columns(
        {"model": ranking.given.models, "share": share, "share_order_free": free}
    )


def _desirability_rows(ranking: Ranking) -> Rows:
    given, wishes = ranking.given, ranking.options.desirability
    places = [given.metrics.index(wish.metric) for wish in wishes]

    def row(at: int) -> Row:
        i, j = divmod(at, len(wishes))
        d = ranking.wished[i, j].item()
        return {
            "model": given.models[i], "metric": wishes[j].metric, "goal": wishes[j].described(),
            "value": given.values[i, places[j]].item(), "d": Estimate(d),
            "weight": wishes[j].weight, "dealbreaker": d == 0 and wishes[j].weight > 0,
        }  # fmt: skip

    return LazyRows(len(given.models) * len(wishes), row)
