"""Tables of a ranking: scores, ranks, metrics, and those requested by options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.document import Cell, Estimate, Row, Rows
from clfeval.document.rows import LazyRows
from clfeval.inference.resampling import percentile_limits, random_stream
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
        names = ranking.given.models
        tables["dominance"] = [
            {"model": names[i], "dominated_by": [names[j] for j in over.tolist()]}
            for i, over in enumerate(dominators(ranking.better))
            if len(over)
        ]
    if splits is not None:
        places = dense_ranks(splits["mlcps"].T).T
        tables["splits"] = [
            {
                "split": split, "model": model,
                **{name: make_estimate(splits[name][s, i].item(), undefined=("outside_scale",))
                   for name in ("mlcps", "normalised")},
                "rank": int(places[s, i]) or None,
            }
            for s, split in enumerate(ranking.given.splits)
            for i, model in enumerate(ranking.given.models)
        ]  # fmt: skip
    if options.random_weights is not None:
        tables["weights"] = _weight_rows(ranking, options.random_weights)
    if ranking.compared:
        tables["comparisons"] = ranking.compared
    if options.desirability:
        tables["desirability"] = _desirability_rows(ranking)
    return tables


def _model_rows(ranking: Ranking, splits: Splits | None) -> Rows:
    models, under = ranking.given.models, ranking.under.tolist()
    ranks = ranking.ranks[ranking.main].tolist()
    first = None if ranking.first is None else ranking.first.tolist()
    spread: Sequence[Floats] = ()
    if splits is not None:  # mean, SD, and the splits with each model first
        areas = splits["mlcps"]
        sd = areas.std(axis=0, ddof=1) if len(areas) > 1 else np.full(len(models), nan)
        spread = areas.mean(axis=0), sd, (dense_ranks(areas.T) == 1).sum(axis=1)
    values: dict[str, list[list[float]]] = {}
    for name, scores in ranking.scores.items():
        values[name] = [side.tolist() for side in (scores, *ranking.limits.get(name, ()))]

    def estimate(name: str, i: int) -> Estimate:
        lacking = "missing_component" if name == "desirability" else "too_few_metrics"
        # a mean lacks metrics too where nothing has a scale; a polygon may be flat for want of
        # weights
        if len(ranking.scales) >= RAYS and name in ("normalised", "mlcps"):
            lacking = "zero_weight"
        value, *ends = (side[i] for side in values[name])
        low, high = ends or (nan, nan)
        return make_estimate(value, low, high, undefined=(lacking,))

    def row(i: int) -> Row:
        cells: dict[str, Cell] = {"model": models[i], "mlcps": estimate("mlcps", i)}
        cells |= {"rank": ranks[i] or None, **{name: estimate(name, i) for name in SCORES[1:]}}
        above = models[under[i]] if under[i] >= 0 else None
        cells |= {"pareto": above is None, "dominated_by": above}
        if ranking.options.desirability:
            cells["desirability"] = estimate("desirability", i)
            pairs = zip(ranking.options.desirability, ranking.wished[i].tolist(), strict=True)
            # each makes D 0
            cells["dealbreakers"] = [w.metric for w, d in pairs if d == 0 and w.weight > 0]
        if first is not None:
            cells["first"] = Estimate(first[i])
        if spread:
            mean, sd, wins = (part[i].item() for part in spread)
            cells["split_mean"] = make_estimate(mean, undefined=("outside_scale",))
            why = "too_few_splits" if mean == mean else "outside_scale"
            cells["split_sd"] = make_estimate(sd, undefined=(why,))
            cells["split_wins"] = int(wins)
        return cells

    return LazyRows(len(models), row)


def _rank_rows(ranking: Ranking) -> Rows:
    """Return the rank of each model by each score, and whether order or weights change it."""
    orders, k = ranking.orders, len(ranking.given.models)
    columns: dict[str, list[Any]] = {"model": list(ranking.given.models)}
    for name, ranks in ranking.ranks.items():
        if name != "normalised":  # its ranks are those of mlcps
            columns[name] = [rank or None for rank in ranks.tolist()]
    over = ("best_over_orders", "worst_over_orders", "order_dependent", "weight_dependent")
    columns |= dict.fromkeys(over, [None] * k)
    if orders is not None:
        dependent = orders.dependent.astype(object)
        dependent[~orders.dependent & ~orders.settled] = None  # unknown
        parts = (orders.best, orders.worst, dependent)
        columns |= {name: part.tolist() for name, part in zip(over, parts, strict=False)}
        if k <= MOST_WEIGHED:
            rays = ranking.d * (ranking.weights > 0)
            columns["weight_dependent"] = depends_on_weights(rays).tolist()
    return LazyRows(k, lambda i: {name: cells[i] for name, cells in columns.items()}, columns)


def _metric_rows(ranking: Ranking) -> list[Row]:
    """Return a row per ray: scale, values, and the effect of omitting or doubling it."""
    rows: list[Row] = []
    names, ranks = ranking.given.models, ranking.ranks["mlcps"]
    changes = _area_changes(ranking.d * ranking.weights)
    for scale, areas in zip(ranking.scales, changes, strict=True):
        raw, (low, high) = ranking.given.values[:, scale.place], scale.span or (None, None)
        row: dict[str, Cell] = {
            "metric": scale.metric, "direction": scale.best, "low": low, "high": high,
            "weight": scale.weight, "least": float(raw.min()),
            "average": float(np.sort(raw).mean()),  # for any order of models
            "most": float(raw.max()),
        }  # fmt: skip
        for key, area in zip(("without", "doubled"), areas, strict=True):
            row |= {f"winner_{key}": None, f"moved_{key}": None}
            if area is not None:
                moved = dense_ranks(area)
                # of ties the earlier leader, with their number
                first, *others = sorted(first_models(moved), key=ranks.__getitem__)
                more = f" (and {len(others)} more)" if others else ""
                row[f"winner_{key}"] = f"{names[first]}{more}"
                row[f"moved_{key}"] = int((moved != ranks).sum())
        rows.append(row)
    return rows


def _area_changes(rays: Floats) -> Iterator[tuple[Floats | None, Floats | None]]:
    """Yield, for each ray, areas without it and doubled, up to a factor; None below 3 rays."""
    n = rays.shape[1]
    products = rays * np.roll(rays, -1, axis=1)
    up_to = np.cumsum(products, axis=1)
    onward = np.cumsum(products[:, ::-1], axis=1)[:, ::-1]
    for i in range(n):
        doubled = up_to[:, -1] + products[:, i] + products[:, i - 1]
        if n <= RAYS:
            yield None, doubled if n == RAYS else None
            continue
        if i == 0:
            rest = products[:, 1:-1].sum(axis=1)
        else:
            rest = (up_to[:, i - 2] if i > 1 else 0.0) + (onward[:, i + 1] if i < n - 1 else 0.0)
        yield rest + rays[:, i - 1] * rays[:, (i + 1) % n], doubled


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
    lower = {wish.metric: wish.goal == "minimize" for wish in wishes}
    used = {*lower, *(scale.metric for scale in ranking.scales if scale.weight > 0)}
    lower |= {scale.metric: scale.best == "min" for scale in ranking.scales}
    places = [place for place, metric in enumerate(given.metrics) if metric in used]
    less = [metric for metric, yes in lower.items() if yes]
    return redundant_rows([given.metrics[place] for place in places], given.values[:, places], less)


def _weight_rows(ranking: Ranking, draws: int) -> list[Row]:
    """Return per model the share of random weights with which it is first."""
    rays, options = ranking.d * (ranking.weights > 0), ranking.options
    wins = winner_shares(rays, draws=draws, rng=random_stream(options.seed, "weights"))
    shares = (proportion_estimates(part, draws, "no_draws", level=options.level) for part in wins)
    names = ("share", "share_order_free")
    return rows_from_columns(
        {"model": ranking.given.models, **dict(zip(names, shares, strict=True))}
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
