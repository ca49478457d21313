"""What `--baseline` says of a change: with a table of then, row by row, and with its saved result.

A model of then and one of now score the same rows, and share a part of their noise (`alike`): as
retrained models do. Its classes lie 1.5 standard deviations apart then; now as far, or less. A
change is seen where its interval excludes 0, on the worse side where there is one.
"""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import polars as pl

import clfeval
from clfeval.api.result import Result
from clfeval.compare.change import change_of_independent
from clfeval.document.cells import Estimate, as_estimate
from tests.benchmarks.coverage import Line

THEN, LESS = 1.5, 0.1
PREVALENCE, LEVEL = 0.3, 0.95
MEASURES = ("roc_auc", "accuracy")
ROWS, ALIKE = (500, 2000), (0.98, 0.9, 0.5)


def lines(replicates: int) -> list[Line]:
    """Return how often each baseline sees a change, and one that is none."""
    found: list[Line] = []
    for rows, alike, less in product(ROWS, ALIKE, (0.0, LESS)):
        found += _setting(rows, alike, less, replicates)
    return found


def _setting(rows: int, alike: float, less: float, replicates: int) -> list[Line]:
    rng = np.random.default_rng([31, rows, round(100 * alike), round(100 * less)])
    seen = dict.fromkeys(product(MEASURES, ("row by row", "saved result")), 0)
    for _ in range(replicates):
        then, now = _tables(rows, alike, less, rng)
        joined = clfeval.report({"now": now, "then": then}, join="id", reference="then")
        paired = {str(row["measure"]): row["difference"] for row in joined.tables["comparisons"]}
        old, new = clfeval.report(then, id="id"), clfeval.report(now, id="id")
        for name in MEASURES:
            apart = change_of_independent(_of(old, name), _of(new, name)).difference
            for how, change in (("row by row", as_estimate(paired[name])), ("saved result", apart)):
                seen[name, how] += _excludes(change, worse=less > 0)
    said = f"{rows} rows, {alike:g} alike, {'worse' if less else 'equal'}"
    most = None if less else 1 - LEVEL
    return [
        Line(f"{name}, {how}", said, replicates, times / replicates, most=most)
        for (name, how), times in seen.items()
    ]


def _tables(
    rows: int, alike: float, less: float, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    truth = rng.random(rows) < PREVALENCE
    shared, *own = rng.standard_normal((3, rows))
    frames = []
    for apart, noise in zip((THEN, THEN - less), own, strict=True):
        x = apart * truth + sqrt(alike) * shared + sqrt(1 - alike) * noise
        odds = np.exp(apart * x - apart**2 / 2) * PREVALENCE / (1 - PREVALENCE)
        scores = odds / (1 + odds)
        frames.append(pl.DataFrame({"id": range(rows), "truth": truth * 1, "m": scores}))
    return frames[0], frames[1]


def _of(result: Result, measure: str) -> Estimate:
    return as_estimate(result.tables["models"][0][measure])


def _excludes(change: Estimate, *, worse: bool) -> bool:
    if change.low is None or change.high is None:
        return False
    return change.high < 0 or (change.low > 0 and not worse)
