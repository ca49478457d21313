"""Limits of measures that few errors carry, by arithmetic of Wilson's limits of the counts."""

from __future__ import annotations

from math import hypot, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from tests.limits import wilson
from tests.results import Line, limits_of, row_of, value_and_limits

T = 0.2
# scores above and below the threshold of 20 positives and 80 negatives
TP, FN, FP, TN = 19, 1, 12, 68


def scores_with_cells(tp: int = TP, fn: int = FN, fp: int = FP, tn: int = TN) -> pl.DataFrame:
    truth = [1] * (tp + fn) + [0] * (fp + tn)
    score = np.linspace(0.3, 0.9, tp).tolist() + np.linspace(0.01, 0.1, fn).tolist()
    score += np.linspace(0.31, 0.8, fp).tolist() + np.linspace(0.02, 0.19, tn).tolist()
    return pl.DataFrame({"y": truth, "m": score})


def measure_row(frame: pl.DataFrame, name: str, **options: Any) -> Line:
    """Return the row of a measure in the report of a table."""
    result = clfeval.report(frame, truth="y", measure=name, **options)
    return row_of(result, "measures", measure=name)


@pytest.mark.parametrize("fn", [0, 1, 2])
def test_interventions_avoided_add_the_limits_of_both_counts_with_their_correlation(
    fn: int,
) -> None:
    n = TP + fn + FP + TN
    p, q = TN / n, fn / n
    (low1, high1), (low2, high2) = wilson(TN, n), wilson(fn, n)
    a, b = 100, 100 * (1 - T) / T
    rho = -sqrt(p * q / ((1 - p) * (1 - q)))
    below, above = a * (p - low1), a * (high1 - p)
    rise, fall = b * (high2 - q), b * (q - low2)
    value = a * p - b * q
    low = value - sqrt(below**2 + rise**2 - 2 * rho * below * rise)
    high = value + sqrt(above**2 + fall**2 - 2 * rho * above * fall)
    row = measure_row(scores_with_cells(fn=fn), f"interventions_avoided:t={T}")
    assert value_and_limits(row["value"]) == pytest.approx((value, low, high), abs=1e-9)
    assert row["method"] == "square-and-add of Wilson intervals"


@pytest.mark.parametrize("fn", [0, 1, 2])
def test_the_standardised_net_benefit_adds_the_limits_of_both_ratios(fn: int) -> None:
    p, odds = TP + fn, T / (1 - T)
    sensitivity, alarms = TP / p, odds * FP / p
    low1, high1 = wilson(TP, p)
    low2, high2 = (odds * share / (1 - share) for share in wilson(FP, FP + p))
    value = sensitivity - alarms
    low = value - hypot(sensitivity - low1, high2 - alarms)
    high = value + hypot(high1 - sensitivity, alarms - low2)
    row = measure_row(scores_with_cells(fn=fn), f"net_benefit_standardised:t={T}")
    assert value_and_limits(row["value"]) == pytest.approx((value, low, high), abs=1e-9)


@pytest.mark.parametrize(
    "name", [f"net_benefit_standardised:t={T}", f"interventions_avoided:t={T}"]
)
def test_rows_that_repeat_in_clusters_count_once(name: str) -> None:
    """With each row twice the design effect is 2, up to C / (C - 1) and Student's t."""
    frame = scores_with_cells().with_columns(patient=pl.Series([f"p{i}" for i in range(100)]))
    low, high = limits_of(measure_row(frame.drop("patient"), name)["value"])
    row = measure_row(pl.concat([frame, frame]), name, cluster="patient")
    lower, higher = limits_of(row["value"])
    assert higher - lower == pytest.approx(high - low, rel=0.03)
    assert row["method"] == "square-and-add of Wilson intervals, design effect"
