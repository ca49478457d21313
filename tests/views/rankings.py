"""Rankings of every kind for the tests of views, and a crowd of models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clfeval.lazy import LazyRows
from clfeval.methods.mlcps.answer import mlcps_answer
from clfeval.result import Estimate, Result, Row
from tests.views.ranked import FIVE, METRICS, TWO, ranked

GOALS = {"accuracy": (0.5, 1.0), "f1": (0.6, 1.0), "mcc": (0.3, 0.9), "roc_auc": (0.66, 1.0)}
PAIR = {name: row[:2] for name, row in FIVE.items()}
TIE = {"rf": (0.8, 0.6, 0.7), "svm": (0.6, 0.8, 0.7), "x": (0.6, 0.6, 0.6)}
NAMES = ["a b", "[red]x[/red]", "日本語の分類器です", "long name " * 9 + "| 7", "\x07\x1b[31m\\-"]
AWKWARD = dict(zip(NAMES, FIVE.values(), strict=True))
SEVEN = (
    "accuracy",
    "balanced accuracy",
    "f1",
    "mcc",
    "brier",
    "roc_auc",
    "a|long [name] of 日本" * 3,
)
MANY = {f"model {i}": row for i, row in
        enumerate(np.random.default_rng(1).uniform(0.5, 0.95, (30, 7)).tolist())}  # fmt: skip
SAME: tuple[Row, ...] = (
    {"first": "f1", "second": "mcc", "why": "correlated", "r": 0.9999, "note": "r = 0.99990"},
)
RESULTS = {
    "five": ranked(),
    "two": ranked(TWO),
    "one model": ranked({"rf": (0.8, 0.6, 0.7)}, ("a", "b", "c")),
    "tie": ranked(TIE, ("a", "b", "c")),
    "weighted": ranked(weights={"f1": 2, "mcc": 0.5}, sensitivity=True),
    "predictions": ranked(spread=0.03, scales={"mcc": (-1, 1)}),
    "splits": ranked(splits=True),
    "goals": ranked(goals=GOALS, spread=0.01),
    "pair": ranked(PAIR, METRICS[:2], goals=dict(list(GOALS.items())[:2])),
    "compared": ranked(compare={**FIVE, "rf": FIVE["tree"]}, redundant=SAME),
    "thirty": ranked(MANY, SEVEN, smaller=["brier"], sensitivity=True, splits=True),
    "awkward": ranked(AWKWARD, sensitivity=True, spread=0.03, goals=GOALS),
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
            return {**patterns[name], **(values if name == "models" else {}),
                    **(rank if name != "profile" else {}), **more, "model": f"m{i}"}  # fmt: skip

        return LazyRows(k * several, row)

    tables = {**few.tables, **{name: row_of(name) for name in patterns}, "dominance": []}
    best = [f"m{k - 1}"]
    summary = {**few.summary, "models": k, "best": best, "winners": best, "pareto_front": 1}
    result = replace(few, tables=tables, summary=summary)
    return replace(result, answer=mlcps_answer(result, [k - 1], None)), made
