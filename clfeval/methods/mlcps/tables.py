"""The tables of a ranking: models, ranks, profile, dominance, splits, influence, desirability."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.inference.resampling import percentiles
from clfeval.measures.pareto import dominators
from clfeval.methods.mlcps.ranking import (
    SCORES,
    OrderRanks,
    Ranking,
    dense_ranks,
    firsts,
    scores_of,
)
from clfeval.methods.mlcps.scale import RAYS, rays_of
from clfeval.methods.mlcps.weights import weight_dependent
from clfeval.result import Cell, Estimate, LazyRows, Row, Rows


def metric_rows(ranking: Ranking) -> list[Row]:
    """Return a row per ray: its scale, its values, and what it changes by MLcps in this order."""
    rows: list[Row] = []
    rays = ranking.d * ranking.weights
    ranks = ranking.ranks["mlcps"]
    names = ranking.given.models
    n = len(ranking.scales)
    areas = _areas(rays) if n >= RAYS else None
    for i, scale in enumerate(ranking.scales):
        raw = ranking.given.values[:, scale.place]
        row: dict[str, object] = {
            "metric": scale.metric, "direction": scale.best, "low": scale.low, "high": scale.high,
            "weight": scale.weight, "least": float(raw.min()),
            "average": float(np.sort(raw).mean()),  # the order of models is no matter
            "most": float(raw.max()),
        }  # fmt: skip
        without, doubled = (None, None) if areas is None else areas(i)
        for key, area in (("without", without), ("doubled", doubled)):
            moved = None if area is None else dense_ranks(area)
            row[f"winner_{key}"] = None if moved is None else _named(names, moved)
            row[f"moved_{key}"] = None if moved is None else int((moved != ranks).sum())
        rows.append(row)  # type: ignore[arg-type]
    return rows


def _areas(rays: Floats) -> Callable[[int], tuple[Floats | None, Floats]]:
    """Return the function from a ray to the areas without it, and with twice its length.

    Up to the factor that all models share; without it only where three rays are left. Products
    are added up, never taken away again: that would leave their rounding.
    """
    n = rays.shape[1]
    products = rays * np.roll(rays, -1, axis=1)
    up_to = np.cumsum(products, axis=1)
    onward = np.cumsum(products[:, ::-1], axis=1)[:, ::-1]

    def areas(i: int) -> tuple[Floats | None, Floats]:
        doubled = up_to[:, -1] + products[:, i] + products[:, i - 1]
        if n <= RAYS:
            return None, doubled
        if i == 0:
            rest = products[:, 1:-1].sum(axis=1)
        else:
            rest = (up_to[:, i - 2] if i > 1 else 0.0) + (onward[:, i + 1] if i < n - 1 else 0.0)
        return rest + rays[:, i - 1] * rays[:, (i + 1) % n], doubled

    return areas


def _named(names: tuple[str, ...], ranks: Ints) -> str:
    """Name who is first; of several that tie, the first and how many more."""
    first, *others = firsts(ranks)
    return names[first] + (f" (and {len(others)} more)" if others else "")


Splits = Mapping[str, Floats]

MOST_PAIRS = 500  # models whose dominators are all named
MOST_WEIGHED = 2000  # models whose ranks are looked at under all weights


def model_rows(ranking: Ranking, splits: Splits | None) -> Rows:
    """Return a row per model, in the order of the input."""
    given, spread = ranking.given, None if splits is None else _spread(splits["mlcps"])
    scored = {name: estimates(ranking, name) for name in ranking.scores}
    ranks, on_front, under = (
        column.tolist() for column in (ranking.ranks[ranking.main], ranking.on_front, ranking.under)
    )
    first = None if ranking.first is None else ranking.first.tolist()

    def row(i: int) -> Row:
        cells: dict[str, Cell] = {"model": given.models[i], "mlcps": scored["mlcps"](i)}
        cells["rank"] = ranks[i] or None
        cells |= {name: scored[name](i) for name in SCORES[1:]}
        cells["pareto"] = on_front[i]
        cells["dominated_by"] = given.models[under[i]] if under[i] >= 0 else None
        if ranking.options.desirability:
            cells["desirability"] = scored["desirability"](i)
            cells["dealbreakers"] = _dealbreakers(ranking, i)
        if first is not None:
            cells["first"] = Estimate(first[i])
        if spread is not None:
            mean, sd, wins = (part[i].item() for part in spread)
            cells["split_mean"] = _value(mean, "outside_scale")
            cells["split_sd"] = _value(sd, "too_few_splits" if mean == mean else "outside_scale")
            cells["split_wins"] = int(wins)
        return cells

    return LazyRows(len(given.models), row)


def estimates(ranking: Ranking, name: str) -> Callable[[int], Estimate]:
    """Return the function from a model's place to one score with its limits, or why it has none."""
    values = ranking.scores[name].tolist()
    # a mean lacks metrics too where nothing has a scale; a polygon may be flat for want of weights
    enough = len(ranking.scales) >= RAYS and name in ("normalised", "mlcps")
    lacking = "zero_weight" if enough else "too_few_metrics"
    if name == "desirability":
        lacking = "missing_component"
    low, high = ([None] * len(values),) * 2
    if name in ranking.limits:
        low, high = (
            [x if x == x else None for x in side.tolist()] for side in ranking.limits[name]
        )

    def estimate(i: int) -> Estimate:
        value, lower, upper = values[i], low[i], high[i]
        if value != value:
            return Estimate(None, reason=lacking)
        if lower is None or upper is None:
            return Estimate(value)
        return Estimate(value, min(lower, value), max(upper, value))

    return estimate


def rank_rows(ranking: Ranking) -> Rows:
    """Return the rank of each model by each score, and whether order or weights change it."""
    orders, k = ranking.orders, len(ranking.given.models)
    nobody: list[Any] = [None] * k
    columns: dict[str, list[Any]] = {
        "model": list(ranking.given.models),
        **{
            name: [rank or None for rank in ranks.tolist()]
            for name, ranks in ranking.ranks.items()
            if name != "normalised"  # its ranks are those of mlcps
        },
        "best_over_orders": nobody if orders is None else orders.best.tolist(),
        "worst_over_orders": nobody if orders is None else orders.worst.tolist(),
        "order_dependent": nobody if orders is None else _known(orders),
        "weight_dependent": nobody,
    }
    if orders is not None and k <= MOST_WEIGHED:
        columns["weight_dependent"] = weight_dependent(ranking.rays).tolist()
    names, lists = tuple(columns), tuple(columns.values())

    def row(i: int) -> Row:
        return dict(zip(names, [column[i] for column in lists], strict=True))

    return LazyRows(k, row, columns)


def _known(orders: OrderRanks) -> list[bool | None]:
    """Return whose rank depends on the order; None where nobody knows."""
    known = (orders.dependent | orders.settled).tolist()
    return [d if k else None for d, k in zip(orders.dependent.tolist(), known, strict=True)]


def profile_rows(ranking: Ranking) -> Rows:
    """Return a row per model and ray: the raw value, and the length of the ray before weighting."""
    scales, given, n = ranking.scales, ranking.given, len(ranking.scales)
    sides = None
    if given.replicates is not None:
        low, high, _ = percentiles(given.replicates, level=ranking.options.level)
        sides = low, high

    def row(at: int) -> Row:
        i, j = divmod(at, n)
        place = scales[j].place
        value = given.values[i, place].item()
        cell = Estimate(value)
        if sides is not None and not np.isnan(sides[0][i, place]):
            low, high = (side[i, place].item() for side in sides)
            lower, upper = min(low, value), max(high, value)
            # an end without number is infinite
            cell = Estimate(
                value, lower if np.isfinite(lower) else None, upper if np.isfinite(upper) else None
            )
        cells: dict[str, Cell] = {
            "model": given.models[i], "metric": scales[j].metric, "value": cell,
            "d": ranking.d[i, j].item(),
        }  # fmt: skip
        if given.sds is not None:  # of the raw value over splits
            sd = given.sds[i, place].item()
            cells["sd"] = sd if sd == sd else None
        return cells

    return LazyRows(len(given.models) * n, row)


def dominance_rows(ranking: Ranking) -> list[Row]:
    """Return who dominates each dominated model."""
    names = ranking.given.models
    return [
        {"model": names[i], "dominated_by": [names[j] for j in over.tolist()]}
        for i, over in enumerate(dominators(ranking.better))
        if len(over)
    ]


def split_rows(ranking: Ranking, scored: Splits) -> list[Row]:
    """Return a row per split and model."""
    given = ranking.given
    rows: list[Row] = []
    ranks = dense_ranks(scored["mlcps"].T).T
    for s, split in enumerate(given.splits):
        for i, model in enumerate(given.models):
            rows.append(
                {
                    "split": split,
                    "model": model,
                    "mlcps": _value(scored["mlcps"][s, i].item(), "outside_scale"),
                    "normalised": _value(scored["normalised"][s, i].item(), "outside_scale"),
                    "rank": int(ranks[s, i]) or None,
                }
            )
    return rows


def desirability_rows(ranking: Ranking) -> Rows:
    """Return a row per model and wish."""
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


def _dealbreakers(ranking: Ranking, i: int) -> list[str]:
    """Name the wishes a model fails altogether: each makes its D 0."""
    pairs = zip(ranking.options.desirability, ranking.wished[i].tolist(), strict=True)
    return [wish.metric for wish, d in pairs if d == 0 and wish.weight > 0]


def scored_splits(ranking: Ranking) -> Splits | None:
    """Return the scores (splits, k) of each split; None without splits or without a polygon."""
    by_split = ranking.given.by_split
    if by_split is None or len(ranking.scales) < RAYS:
        return None
    return scores_of(rays_of(ranking.scales, by_split), ranking.weights)


def _spread(areas: Floats) -> Sequence[Floats]:
    """Return mean and SD of the MLcps over splits, and in how many each model is first."""
    sd = areas.std(axis=0, ddof=1) if len(areas) > 1 else np.full(areas.shape[1], np.nan)
    return areas.mean(axis=0), sd, (dense_ranks(areas.T) == 1).sum(axis=1)


def _value(value: float, reason: str) -> Estimate:
    return Estimate(value) if value == value else Estimate(None, reason=reason)
