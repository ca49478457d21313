"""How often a history says that something moved, of a model that stays as it is.

A year of 50 weeks: every week other rows, one model, the 14 measures of a report's first screen.
Each week from the second on is held against the first, which was accepted, and judged by Benjamini
and Hochberg's rule over the 14. Alone: what the intervals of the changes say, one measure at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from clfeval import report
from clfeval.compare.baseline.changes import SIGNIFICANT
from clfeval.compare.baseline.read import result_lines, rows_by_label
from clfeval.compare.history.file import HistoryLine
from clfeval.compare.history.trend import measure_changes
from clfeval.document.cells import as_estimate
from tests.benchmarks.coverage import Line

LEVEL, WEEKS, MEASURES = 0.95, 50, 14  # of the first screen
SETTINGS = ((200, 0.5), (500, 0.3), (1000, 0.1))  # rows, prevalence


def lines(replicates: int) -> list[Line]:
    """Return shares of weeks, and of single measures, told apart though nothing changed."""
    found = []
    for rows, prevalence in SETTINGS:
        rng = np.random.default_rng([16, rows])
        years = [_year(rng, rows, prevalence) for _ in range(max(1, replicates // (WEEKS - 1)))]
        weeks = [week for year in years for week in year]
        setting, count = f"n {rows}, prevalence {prevalence:g}", len(weeks)
        told = np.mean([any(together) for together, _ in weeks])
        alone = np.mean([any(single) for _, single in weeks])
        each = np.mean([one for _, single in weeks for one in single])
        year = np.mean([any(any(together) for together, _ in one) for one in years])
        found += [
            Line("a week told to have moved", setting, count, float(told), most=1 - LEVEL),
            Line("the same, each measure alone", setting, count, float(alone)),
            Line("one measure alone", setting, count * MEASURES, float(each)),
            Line("a year with any such week", setting, len(years), float(year)),
        ]
    return found


def _year(
    rng: np.random.Generator, rows: int, prevalence: float
) -> list[tuple[list[bool], list[bool]]]:
    """Return of each week which of the 14 measures are told to have moved: together, and alone."""
    first, *others = _weeks(rng, rows, prevalence)
    found = []
    for line in others:
        rows = measure_changes({"m": [first, line]}, {"m": first}, "report")
        changes = [row for row in rows if row["p_adjusted"] is not None]
        assert len(changes) == MEASURES
        told = [row["verdict"] in SIGNIFICANT for row in changes]
        ends = [as_estimate(row["difference"]) for row in changes]
        alone = [not (one.low or 0.0) <= 0 <= (one.high or 0.0) for one in ends]
        found.append((told, alone))
    return found


def _weeks(rng: np.random.Generator, rows: int, prevalence: float) -> Iterator[HistoryLine]:
    shift = np.log(prevalence / (1 - prevalence)) - 0.72
    for week in range(WEEKS):
        truth = rng.random(rows) < prevalence
        score = 1 / (1 + np.exp(-(1.2 * rng.normal(1.2 * truth, 1) + shift)))
        table = pl.DataFrame({"truth": truth.astype(int), "m": score})
        result = report(table)
        yield from result_lines(result, f"W{week}", rows_by_label(result))
