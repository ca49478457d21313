"""An mlcps result with the tables the command makes, from a few values of every model by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import pi, sin
from typing import Any

import numpy as np
import numpy.typing as npt

from clfeval.lazy import LazyRows
from clfeval.methods.mlcps.answer import mlcps_answer
from clfeval.result import Cell, Estimate, InputFile, Result, Row, Rows
from tests.views.ranked_optional import agreed, desired, moved_weights

Values = Mapping[str, Sequence[float]]
Array = npt.NDArray[np.float64]

METRICS = ("accuracy", "f1", "mcc", "roc_auc")
# the same values in another order: ½ (.48 + .48 + .48 + .48) = .96, ½ (.64 + .48 + .36 + .48) = .98
TWO: Values = {"rf": (0.8, 0.6, 0.8, 0.6), "svm": (0.8, 0.8, 0.6, 0.6)}
# svm ½ (.7128 + .5832 + .648 + .792) = 1.368, rf ½ (.7052 + .574 + .651 + .7998) = 1.365
FIVE: Values = {
    "lda": (0.71, 0.66, 0.42, 0.80), "rf": (0.86, 0.82, 0.70, 0.93),
    "svm": (0.88, 0.81, 0.72, 0.90), "knn": (0.60, 0.79, 0.31, 0.66),
    "tree": (0.70, 0.62, 0.40, 0.70),
}  # fmt: skip
LOOKED = 60  # orders looked at, at most
SCORES = ("mlcps", "order_free", "lowest", "highest")
SPLITS = 5


def ranked(
    models: Values = FIVE,
    metrics: Sequence[str] = METRICS,
    *,
    weights: Mapping[str, float] | None = None,
    smaller: Sequence[str] = (),
    scales: Mapping[str, tuple[float, float]] | None = None,
    spread: float | None = None,
    splits: bool = False,
    goals: Mapping[str, tuple[float, float]] | None = None,
    sensitivity: bool = False,
    compare: Values | None = None,
    redundant: Sequence[Row] = (),
) -> Result:
    """Build the result.

    spread: half the width of intervals, of a prediction table; goals: desirability rises from the
    first value to the second.
    """
    names, k, n = list(models), len(models), len(metrics)
    weights, scales = weights or {}, scales or {}
    raw = np.array([list(row) for row in models.values()], dtype=float)
    w = np.array([weights.get(metric, 1.0) for metric in metrics])
    d = scaled(raw, metrics, smaller, scales)
    over = over_orders(w * d)
    total, squares = (w * d).sum(1), ((w * d) ** 2).sum(1)
    scores = {
        "mlcps": over[0], "order_free": 0.5 * sin(2 * pi / n) * (total**2 - squares) / (n - 1),
        "lowest": over.min(0), "highest": over.max(0), "mean": d.mean(1), "sd": d.std(1, ddof=1),
    }  # fmt: skip
    if n < 3:
        scores["order_free"] = over[0]
    wished = np.ones((k, n))
    if goals:
        ends = np.array([goals[metric] for metric in metrics])
        wished = ((raw - ends[:, 0]) / (ends[:, 1] - ends[:, 0])).clip(0, 1)
        scores["desirability"] = np.prod(wished, axis=1) ** (1 / n)
    by = "desirability" if goals else "mlcps"
    ranks = {name: dense(-column if name == "sd" else column) for name, column in scores.items()}
    over_ranks = np.array([[r or 0 for r in dense(row)] for row in over])
    best_over, worst_over = over_ranks.min(0).tolist(), over_ranks.max(0).tolist()
    above = dominators(d)
    known = n > 2
    shown = {**scores, "normalised": over[0] / areas(w[None, :])[0] if known else over[0]}
    cells = {name: estimates(column, spread) for name, column in shown.items()}
    columns: dict[str, Sequence[Any]] = {
        "model": names, "mlcps": cells["mlcps"], "rank": ranks[by],
        **{name: cells[name] for name in ("normalised", *SCORES[1:], "mean", "sd")},
        "pareto": [not there for there in above],
        "dominated_by": [names[there[0]] if there else None for there in above],
    }  # fmt: skip
    if goals:
        columns["desirability"] = cells["desirability"]
        columns["dealbreakers"] = [
            [metric for metric, x in zip(metrics, row, strict=True) if x == 0] for row in wished
        ]
    if spread is not None:
        columns["first"] = [Estimate(0.75 if rank == 1 else 0.25 / k) for rank in ranks[by]]
    if splits:
        columns["split_mean"] = estimates(over[0] - 0.01, None)
        columns["split_sd"] = estimates(scores["sd"] / 10, None)
        columns["split_wins"] = [SPLITS if rank == 1 else 0 for rank in ranks[by]]
    changed = [a != b for a, b in zip(best_over, worst_over, strict=True)]
    tables: dict[str, Rows] = {"models": rows(columns)}
    tables["ranks"] = rows({
        "model": names, **ranks, "best_over_orders": best_over if known else [None] * k,
        "worst_over_orders": worst_over if known else [None] * k,
        "order_dependent": changed if known else [None] * k,
        "weight_dependent": [k > 1] * k if known else [None] * k,
    })  # fmt: skip
    tables["metrics"] = rows({
        "metric": list(metrics), "direction": ["min" if m in smaller else "max" for m in metrics],
        "low": [scales.get(m, (None, None))[0] for m in metrics],
        "high": [scales.get(m, (None, None))[1] for m in metrics], "weight": w.tolist(),
        "least": raw.min(0).tolist(), "average": raw.mean(0).tolist(), "most": raw.max(0).tolist(),
        **left_out(d, w, names),
    })  # fmt: skip
    tables["profile"] = [
        {"model": name, "metric": m, "value": Estimate(float(x)), "d": float(y)}
        for name, xs, ys in zip(names, raw, d, strict=True)
        for m, x, y in zip(metrics, xs, ys, strict=True)
    ]  # fmt: skip
    tables["redundant"] = list(redundant)
    tables["dominance"] = [
        {"model": names[i], "dominated_by": [names[j] for j in there]}
        for i, there in enumerate(above) if there
    ]  # fmt: skip
    if splits:
        tables["splits"] = [
            {"split": f"split{s}", "model": name, "mlcps": cell, "normalised": cell, "rank": r}
            for s in range(SPLITS)
            for name, cell, r in zip(names, columns["mlcps"], ranks[by], strict=True)
        ]
    if sensitivity:
        tables["weights"] = moved_weights(names, ranks["mlcps"])
    if goals:
        tables["desirability"] = desired(names, metrics, raw, wished, goals)
    if compare:
        there = over_orders(np.array([list(compare[name]) for name in names]))[0]
        tables |= agreed(names, over[0], there, (ranks[by], dense(there)), metrics)
    winners = [name for name, rank in zip(names, best_over, strict=True) if rank == 1]
    made = Result(
        command="mlcps", signature="clfeval mlcps",
        inputs=(InputFile("metrics.csv", None, 1000 if spread is not None else k),),
        parameters={
            "from": "metrics" if spread is None else "predictions", "metrics": list(metrics),
            "weights": dict(zip(metrics, w.tolist(), strict=True)),
            "directions": {m: "min" if m in smaller else "max" for m in metrics},
            "scales": {m: list(scales[m]) if m in scales else None for m in metrics},
            "zero_weight": "drop", "ranked_by": by, "missing": "error",
            "orders": {"looked_at": len(over), "all": n < 7} if known else None,
            "draws": 1000 if sensitivity else None, "desirability": goals,
            "compare": "test.csv" if compare else None, "reference": None, "margin": {},
            "interval": "none" if spread is None else "bootstrap", "level": 0.95,
            "resamples": None if spread is None else 2000, "seed": 0,
            "positive": None if spread is None else "ill",
        },
        summary={
            "models": k, "metrics": n, "pareto_front": sum(not there for there in above),
            "best": [name for name, rank in zip(names, ranks[by], strict=True) if rank == 1],
            "order_dependent": sum(changed) if known else None, "winners": winners,
        },
        tables=tables,
    )  # fmt: skip
    return answered(made)


def answered(result: Result) -> Result:
    """Let a result say what its tables say; with intervals the second is not told apart."""
    ranks = [row["rank"] for row in result.tables["models"]]
    first, second = ([i for i, rank in enumerate(ranks) if rank == place] for place in (1, 2))
    tested = result.parameters["interval"] == "bootstrap"
    return replace(result, answer=mlcps_answer(result, first, second if tested else None))


def scaled(
    raw: Array, metrics: Sequence[str], smaller: Sequence[str],
    scales: Mapping[str, tuple[float, float]],
) -> Array:  # fmt: skip
    """Return the metrics as they stand in the polygon: from 0 to 1, higher is better."""
    d = raw.copy()
    for i, metric in enumerate(metrics):
        low, high = scales.get(metric, (0.0, 1.0))
        d[:, i] = (d[:, i] - low) / (high - low)
        d[:, i] = 1 - d[:, i] if metric in smaller else d[:, i]
    return d


def areas(rays: Array) -> Array:
    """Return the polygons' areas, one triangle after the other."""
    n = rays.shape[1]
    triangles = [0.5 * sin(2 * pi / n) * rays[:, i] * rays[:, (i + 1) % n] for i in range(n)]
    return np.asarray(sum(triangles))


def over_orders(rays: Array) -> Array:
    """Return the areas in some orders, the given one first; of few metrics in all."""
    n = rays.shape[1]
    if n < 3:
        return np.full((1, len(rays)), np.nan)
    found = []
    for rest in permutations(range(1, n)):
        if rest[0] < rest[-1]:  # the others run the other way round
            found.append(areas(rays[:, [0, *rest]]))
        if len(found) == LOOKED:
            break
    return np.array(found)


def dense(values: Array) -> list[int | None]:
    """Rank from the largest down, ties alike, without gaps; None where there is no value."""
    levels = sorted({x for x in values.round(12).tolist() if x == x}, reverse=True)
    return [levels.index(x) + 1 if x == x else None for x in values.round(12).tolist()]


def dominators(d: Array) -> list[list[int]]:
    """Return who is at least as good in every metric and better in one."""
    k = len(d)
    return [[j for j in range(k) if (d[j] >= d[i]).all() and (d[j] > d[i]).any()] for i in range(k)]


def estimates(values: Array, spread: float | None) -> list[Estimate]:
    """Return estimates, with intervals when there is a spread."""
    s = spread
    return [
        Estimate(None, reason="too_few_metrics") if x != x
        else Estimate(x) if s is None else Estimate(x, x - s, x + s)
        for x in values.tolist()
    ]  # fmt: skip


def left_out(d: Array, w: Array, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return who is first without each metric and at twice its weight, and how many move."""
    n = d.shape[1]
    out: dict[str, list[Any]] = {}
    for word, fewest in (("without", 4), ("doubled", 3)):
        firsts, moved = [], []
        for i in range(n):
            rays = (
                np.delete(w * d, i, 1) if word == "without" else w * (1 + (np.arange(n) == i)) * d
            )
            now, then = (dense(areas(some)) for some in (w * d, rays))
            firsts.append(names[then.index(1)] if n >= fewest else None)
            changes = sum(a != b for a, b in zip(now, then, strict=True))
            moved.append(changes if n >= fewest else None)
        out |= {f"winner_{word}": firsts, f"moved_{word}": moved}
    return out


def rows(columns: Mapping[str, Sequence[Any]]) -> LazyRows:
    """Return the rows of a few columns, made when asked for."""

    def row(i: int) -> dict[str, Cell]:
        return {name: values[i] for name, values in columns.items()}

    return LazyRows(len(columns["model" if "model" in columns else "metric"]), row)
