"""Influence of rows on measures of the 2 x 2 table: by hand, by the jackknife, elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from clfeval.counts.patterns import ConfusionCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.methods.estimates import Cells
from clfeval.methods.measurement.label_measures import (
    LabelLimitSettings,
    cell_influence,
    estimate_label_measure,
    standard_errors,
)
from clfeval.methods.measurement.requested_measures import DEFAULT, RequestedMeasure, parse_measures
from clfeval.methods.options import IntervalSettings

TABLES = ((2613, 564, 750, 2180), (30, 5, 10, 55), (7, 3, 2, 40), (3, 1, 0, 6))  # tp fp fn tn
GIVEN: dict[str, Any] = {"beta": 2.0, "prevalence": 0.1, "stakes": OutcomeCosts(1, 10, 0.5, 0.1)}
SMOOTH = {
    name: measure.with_settings(**GIVEN).function
    for name, measure in CATALOG.items()
    if measure.needs == "confusion" and measure.compute is not None
}


def confusion_of(cells: tuple[int, int, int, int]) -> Confusion:
    return Confusion(*(np.array([float(cell)]) for cell in cells))


def counts(*tables: tuple[int, int, int, int]) -> ConfusionCounts:
    return ConfusionCounts.from_cells(
        [f"m{i}" for i in range(len(tables))], [(tp, fp, fn, tn) for tp, fp, fn, tn in tables]
    )


def requested_measure(name: str) -> RequestedMeasure:
    return (
        parse_measures([name])[-1]
        if name not in DEFAULT
        else RequestedMeasure(name, CATALOG[name], {})
    )


def limit_settings(
    how: str = "exact", many: int = 1, level: float | None = 0.95
) -> LabelLimitSettings:
    names = [f"m{i}" for i in range(many)]
    return LabelLimitSettings(
        IntervalSettings(level, how, resamples=4000), names, [None] * many, [0] * many
    )


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("table", TABLES)
def test_influence_is_the_derivative_in_the_counts(
    name: str, table: tuple[int, int, int, int]
) -> None:
    """theta is the same of any multiple of the table, so that the influence has mean 0."""
    measure = SMOOTH[name]
    if not np.isfinite(measure(confusion_of(table))).all():
        assert name in {"dor", "dp", "epa", "npv_odds"}  # divided by FN, of which there is none
        return
    found = cell_influence(measure, confusion_of(table))[:, 0]
    n = np.array(table, float)
    assert float(found @ n) == pytest.approx(0, abs=1e-7 * n.sum())
    for c in np.flatnonzero(n):
        step = np.zeros(4)
        step[c] = 1e-5 * n[c]
        up, down = (float(measure(confusion_of(tuple(n + sign * step)))[0]) for sign in (1, -1))  # type: ignore[arg-type]
        slope = n.sum() * (up - down) / (2 * step[c])
        assert found[c] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_standard_error_is_near_the_jackknifes(name: str) -> None:
    measure, table = SMOOTH[name], (300, 50, 100, 550)
    n, total = np.array(table, float), sum(table)
    left: list[float] = []
    for c in range(4):
        step = np.zeros(4)
        step[c] = 1
        left += [float(measure(confusion_of(tuple(n - step)))[0])] * table[c]  # type: ignore[arg-type]
    spread = (total - 1) / total * float(((left - np.mean(left)) ** 2).sum())
    found = standard_errors(measure, Cells.at_prevalence(counts(table)), [0])
    assert found[0] == pytest.approx(math.sqrt(spread), rel=0.05)


def test_where_nothing_varies_the_limits_are_the_default_ones() -> None:
    """30 of 30 and 20 of 20 found: draws do not know that it could be less."""
    table = counts((30, 0, 0, 20), (20, 4, 10, 16))
    for name in ("sensitivity", "accuracy", "mcc", "f1"):
        found = estimate_label_measure(
            requested_measure(name), table, limit_settings("bootstrap", 2)
        )
        best, other = (one.value for one in found)
        assert found[1].method == "bootstrap"
        assert found[0].method != "bootstrap"
        assert best.low is not None
        assert best.low < 1 == best.high
        assert other.high is not None
        assert other.high <= 1
