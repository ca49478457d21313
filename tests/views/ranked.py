"""Rankings of every kind for tests of views and answers, and a crowd of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate, Row
from clfeval.document.rows import LazyRows
from clfeval.methods.mlcps.answer import mlcps_answer

Values = Mapping[str, Sequence[float]]

METRICS = ("accuracy", "f1", "mcc", "roc_auc")
# the same values in another order: ½ (.48 + .48 + .48 + .48) = .96, ½ (.64 + .48 + .36 + .48) = .98
TWO: Values = {"rf": (0.8, 0.6, 0.8, 0.6), "svm": (0.8, 0.8, 0.6, 0.6)}
# svm ½ (.7128 + .5832 + .648 + .792) = 1.368, rf ½ (.7052 + .574 + .651 + .7998) = 1.365
FIVE: Values = {
    "lda": (0.71, 0.66, 0.42, 0.80),
    "rf": (0.86, 0.82, 0.70, 0.93),
    "svm": (0.88, 0.81, 0.72, 0.90),
    "knn": (0.60, 0.79, 0.31, 0.66),
    "tree": (0.70, 0.62, 0.40, 0.70),
}
GOALS = {"accuracy": (0.5, 1.0), "f1": (0.6, 1.0), "mcc": (0.3, 0.9), "roc_auc": (0.66, 1.0)}
TIE = {"rf": (0.8, 0.6, 0.7), "svm": (0.6, 0.8, 0.7), "x": (0.6, 0.6, 0.6)}
NAMES = ["a b", "[red]x[/red]", "日本語の分類器です", "long name " * 9 + "| 7", "\x07\x1b[31m\\-"]
SEVEN = (
    "accuracy",
    "balanced accuracy",
    "f1",
    "mcc",
    "brier",
    "roc_auc",
    "a|long [name] of 日本" * 3,
)
MANY = {
    f"model {i}": row
    for i, row in enumerate(np.random.default_rng(1).uniform(0.5, 0.95, (30, 7)).tolist())
}
OFF = (-0.02, -0.01, 0.0, 0.01, 0.02)  # the splits' values, from their mean


def metric_frame(models: Values, metrics: Sequence[str], *, splits: bool = False) -> pl.DataFrame:
    """Return the values as a table, with those of five splits as scikit-learn names them."""
    found = {
        name: np.array(values)
        for name, values in zip(metrics, zip(*models.values(), strict=True), strict=True)
    }
    if splits:
        found = {f"mean_test_{name}": values for name, values in found.items()} | {
            f"split{i}_test_{name}": values + off
            for name, values in found.items()
            for i, off in enumerate(OFF)
        }
    return pl.DataFrame({"params" if splits else "model": [*models], **found})


def ranked(
    models: Values = FIVE,
    metrics: Sequence[str] = METRICS,
    *,
    spread: float | None = None,
    splits: bool = False,
    goals: Mapping[str, tuple[float, float]] | None = None,
    compare: Values | None = None,
    **options: Any,
) -> Result:
    """Rank models by a few values of each.

    spread: half the width of intervals, as if a bootstrap of predictions had made them; goals:
    desirability rises from the first value to the second.
    """
    if goals:
        options["desirability"] = {
            name: {"goal": "maximize", "low": low, "high": high}
            for name, (low, high) in goals.items()
        }
    if compare:
        options["compare"] = metric_frame(compare, metrics)
    result = clfeval.mlcps(metric_frame(models, metrics, splits=splits), **options)
    if spread is None:
        return result
    rows = [
        {
            name: Estimate(x.value, x.value - spread, x.value + spread)
            if isinstance(x, Estimate) and x.value is not None
            else x
            for name, x in row.items()
        }
        | {"first": Estimate(0.75 if row["rank"] == 1 else 0.25 / len(models))}
        for row in result.tables["models"]
    ]
    drawn = {"from": "predictions", "interval": "bootstrap", "resamples": 2000, "positive": "ill"}
    parameters, tables = {**result.parameters, **drawn}, {**result.tables, "models": rows}
    return answered(replace(result, parameters=parameters, tables=tables))


def answered(result: Result) -> Result:
    """Let a result say what its tables say; with intervals the second is as good."""
    ranks = [row["rank"] for row in result.tables["models"]]
    first, second = ([i for i, rank in enumerate(ranks) if rank == place] for place in (1, 2))
    tested = result.parameters["interval"] == "bootstrap"
    return replace(result, answer=mlcps_answer(result, first, second if tested else None))


RESULTS = {
    "five": ranked(),
    "two": ranked(TWO),
    "one model": ranked({"rf": TIE["rf"]}, "abc"),
    "tie": ranked(TIE, "abc"),
    "weighted": ranked(metric_weight={"f1": 2, "mcc": 0.5}, weight_sensitivity=True),
    "predictions": ranked(spread=0.03, rescale={"mcc": (-1, 1)}),
    "splits": ranked(splits=True),
    "goals": ranked(goals=GOALS, spread=0.01),
    "pair": ranked(
        {name: row[:2] for name, row in FIVE.items()}, METRICS[:2], goals=dict([*GOALS.items()][:2])
    ),
    "compared": ranked(compare={**FIVE, "rf": FIVE["tree"]}),
    "thirty": ranked(MANY, SEVEN, weight_sensitivity=True, splits=True),
    "awkward": ranked(
        dict(zip(NAMES, FIVE.values(), strict=True)),
        weight_sensitivity=True,
        spread=0.03,
        goals=GOALS,
    ),
}


def crowd(few: Result, k: int) -> tuple[Result, list[int]]:
    """Put k models in the place of a few, the last the best; count the rows of models made."""
    made = [0]
    patterns = {name: few.tables[name][0] for name in ("models", "ranks", "profile")}
    metrics = few.parameters["metrics"]

    def row_of(name: str) -> LazyRows:
        several = len(metrics) if name == "profile" else 1

        def row(at: int) -> Row:
            made[0] += name == "models"
            i = at // several
            share = (i + 1) / k
            rank = dict.fromkeys(("rank", "mlcps"), k - i) if name == "ranks" else {"rank": k - i}
            values = {"mlcps": Estimate(2 * share), "normalised": Estimate(share)}
            more = {"metric": metrics[at % several], "d": share} if name == "profile" else {}
            return {
                **patterns[name],
                **(values if name == "models" else {}),
                **(rank if name != "profile" else {}),
                **more,
                "model": f"m{i}",
            }

        return LazyRows(k * several, row)

    tables = {**few.tables, **{name: row_of(name) for name in patterns}, "dominance": []}
    best = [f"m{k - 1}"]
    summary = {**few.summary, "models": k, "best": best, "winners": best, "pareto_front": 1}
    result = replace(few, tables=tables, summary=summary)
    return replace(result, answer=mlcps_answer(result, [k - 1], None)), made
