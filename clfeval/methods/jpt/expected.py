"""How many rows of a population are to be expected in each cell of the table, and how surely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.inference.differences import combination
from clfeval.measures.jpt import Floats
from clfeval.measures.population import Population
from clfeval.methods.estimates import rows_of
from clfeval.methods.jpt.cells import Cells
from clfeval.methods.jpt.limits import limits
from clfeval.methods.jpt.tables import Tuner, column
from clfeval.result import Estimate, Row


def expected_rows(
    tuner: Tuner, populations: Sequence[tuple[str, Population]], rows: float
) -> list[Row]:
    """Return, per model and population, the cells expected among so many rows, with intervals.

    TP and FN are shares of the positives there, FP and TN of the negatives: their intervals are
    those of sensitivity and specificity, scaled. `called` is TP + FP, all that are called positive.
    The class totals are taken as known; what a single sample of that size shows varies more.
    Range 0..rows; undefined, with a reason, without the class. Intervals: Clopper-Pearson, and for
    `called` square-and-add of Wilson limits.
    """
    counts = tuner.counts
    out: list[Row] = []
    for kind, population in populations:
        cells = Cells.of(counts, [population.ratio])
        p = rows * population.prevalence
        n = rows - p if population.ratio < 1 else rows / (1 + population.ratio)
        tp, fp = cells.rates
        found = {
            "tp": _scaled(tuner, cells, "sensitivity", tp, p),
            "fp": _scaled(tuner, cells, "specificity", fp, n, rest=True),
            "fn": _scaled(tuner, cells, "sensitivity", 1 - tp, p, rest=True),
            "tn": _scaled(tuner, cells, "specificity", 1 - fp, n),
            "called": _called(tuner, cells, p, n),
        }
        k = len(counts.models)
        out += rows_of(
            {
                "slice": list(tuner.labels),
                "model": list(counts.models),
                "population": [kind] * k,
                "prevalence": [population.prevalence] * k,
                "odds": [population.odds] * k,
                "rows": [rows] * k,
                "positives": [p] * k,
                "negatives": [n] * k,
                **found,
            }
        )
    return out


def _scaled(
    tuner: Tuner, cells: Cells, name: str, share: Floats, total: float, *, rest: bool = False
) -> list[Estimate]:
    """Return total times a share of one class; `rest` where the limits are of what is left."""
    low = high = np.full(len(share), np.nan)
    if tuner.level is not None:
        low, high = limits(name, cells, level=tuner.level, beta=1.0, stakes=None)
    if rest:
        low, high = 1 - high, 1 - low
    return column(name, share * total, (low * total, high * total), cells)


def _called(tuner: Tuner, cells: Cells, p: float, n: float) -> list[Estimate]:
    tp, fp = cells.rates
    value, low = p * tp + n * fp, np.full(len(tp), np.nan)
    high = low
    if tuner.level is not None:
        _, low, high = combination(
            p, n, cells.tp, cells.positives, cells.fp, cells.negatives, level=tuner.level
        )
    return column("called", value, (low, high), cells)
