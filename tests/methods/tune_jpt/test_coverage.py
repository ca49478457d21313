"""How often intervals hold the truth: every table of two small classes, weighed by its chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import clfeval
from clfeval.counts.patterns import ConfusionCounts
from clfeval.methods.confidence_limits import measure_limits
from clfeval.methods.estimates import Cells as Tables
from tests.methods.tune_jpt.reference import Cells
from tests.results import limits_of, row_of

ROWS = 20  # of either class
TRUE_RATES = [(x, y) for x in (0.5, 0.7, 0.9, 0.97) for y in (0.02, 0.1, 0.3, 0.5)]
TP, FP = (grid.ravel() for grid in np.indices((ROWS + 1, ROWS + 1)))
# the chance of each table, for each pair of true rates
CHANCES = [binom.pmf(TP, ROWS, x) * binom.pmf(FP, ROWS, y) for x, y in TRUE_RATES]


def all_limits(name: str, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    tables = np.column_stack([TP, FP, ROWS - TP, ROWS - FP]).tolist()
    counts = ConfusionCounts.from_cells([f"m{i}" for i in range(TP.size)], tables)
    return measure_limits(
        name, Tables.at_odds(counts, np.arange(TP.size), np.full(TP.size, ratio)), level=0.95
    )


def truth(name: str, x: float, y: float, ratio: float) -> float:
    """Return a measure of true rates, in shares of a thousand."""
    tp, fp = round(1000 * x), round(1000 * y)
    cells = Cells(tp, fp, 1000 - tp, 1000 - fp)
    value = cells.tuned(1 if ratio == 1 else cells.ratio / 10).values()[name]
    assert not isinstance(value, str)
    return float(value)


@pytest.mark.parametrize("ratio", [0.1, 1])
@pytest.mark.parametrize("name", ["tar", "tor", "ppv", "npv", "f_beta", "mcc", "ic", "epa", "dor"])
def test_about_as_often_as_the_level_says(name: str, ratio: float) -> None:
    """Of 95 %: in the mean of the true rates from 94 to 98 %, at none below 91 %."""
    low, high = all_limits(name, ratio)
    coverage = []
    for (x, y), chance in zip(TRUE_RATES, CHANCES, strict=True):
        true = truth(name, x, y, ratio)
        slack = 1e-9 * abs(true)
        defined = ~np.isnan(low)
        covers = (low <= true + slack) & (true - slack <= high)
        assert chance[~defined].sum() < 0.01
        coverage.append(chance[covers].sum() / chance[defined].sum())
    assert 0.94 < np.mean(coverage) < 0.98
    assert min(coverage) > 0.91


@pytest.mark.parametrize(("tp", "fp"), [(0, 0), (20, 0), (13, 4), (1, 20)])
def test_they_are_the_intervals_of_the_door(tp: int, fp: int) -> None:
    names = ["tar", "ppv", "mcc"]
    counts = (tp, fp, ROWS - tp, ROWS - fp)
    result = clfeval.tune_jpt(counts=counts, prevalence="1:10", sweep=None, measure=names)
    row = row_of(result, "models", population="target")
    place = tp * (ROWS + 1) + fp
    for name in names:
        expected = [float(limits[place]) for limits in all_limits(name, 0.1)]
        if row[name].value is not None:
            assert limits_of(row[name]) == pytest.approx(expected, rel=1e-9), name
