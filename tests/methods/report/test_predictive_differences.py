"""Differences of predictive values with few flagged rows, by square-and-add written out."""

from __future__ import annotations

from math import erfc, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import clfeval
from clfeval.document import Estimate

Z = float(norm.ppf(0.975))


def table() -> pl.DataFrame:
    """100 rows, 10 positive; a flags 7 rows and b 6, both flag 3 positives and a negative."""
    truth = np.array([1] * 10 + [0] * 90)
    first, second = np.zeros(100, int), np.zeros(100, int)
    first[[0, 1, 2, 3, 4, 10, 11]] = 1
    second[[0, 1, 2, 10, 12, 13]] = 1
    return pl.DataFrame({"truth": truth, "a": first, "b": second})


def wilson(k: float, n: float) -> tuple[float, float]:
    p = k / n
    middle, reach = p + Z**2 / 2 / n, Z * sqrt(p * (1 - p) / n + Z**2 / 4 / n**2)
    return (middle - reach) / (1 + Z**2 / n), (middle + reach) / (1 + Z**2 / n)


def compared(frame: pl.DataFrame, name: str, model: str = "a", **options: Any) -> dict[str, Any]:
    result = clfeval.report(
        frame, truth="truth", positive="1", reference="b", measure=name, **options
    )
    (row,) = [
        row
        for row in result.tables["comparisons"]
        if row["measure"] == name and row["model"] == model
    ]
    return dict(row)


def difference(
    first: tuple[float, float, float], second: tuple[float, float, float], rho: float
) -> tuple[float, float, float]:
    (x, low, high), (y, under, above) = first, second
    d1, e1, d2, e2 = x - low, high - x, y - under, above - y
    down = sqrt(d1**2 + e2**2 - 2 * rho * d1 * e2)
    up = sqrt(e1**2 + d2**2 - 2 * rho * e1 * d2)
    return x - y, x - y - down, x - y + up


def ends(estimate: Estimate) -> tuple[Any, Any, Any]:
    return estimate.value, estimate.low, estimate.high


def test_a_difference_of_precisions_adds_wilsons_limits_with_their_correlation() -> None:
    frame = table()
    y = frame["truth"].to_numpy()
    influence = []
    for name in "ab":
        flagged = frame[name].to_numpy()
        share = (y * flagged).sum() / flagged.sum()
        influence.append(flagged * (y - share))
    rho = (
        influence[0]
        @ influence[1]
        / sqrt((influence[0] @ influence[0]) * (influence[1] @ influence[1]))
    )
    value, low, high = difference((5 / 7, *wilson(5, 7)), (3 / 6, *wilson(3, 6)), float(rho))
    row = compared(frame, "precision")
    assert ends(row["difference"]) == pytest.approx((value, low, high), abs=1e-9)
    assert row["method"] == "square-and-add of the limits of both"
    # the p-value inverts the interval: its limit towards 0 lies this many quantiles away
    p = erfc(Z * value / (value - low) / sqrt(2))
    assert row["p"] == pytest.approx(p, rel=1e-9)


def test_a_precision_without_a_false_positive_has_a_wide_difference() -> None:
    """Of 2 of 2 rows against 3 of 6, no correlation is known: both distances are added."""
    truth = np.array([1] * 10 + [0] * 90)
    first, second = np.zeros(100, int), np.zeros(100, int)
    first[[0, 1]] = 1
    second[[2, 3, 4, 10, 11, 12]] = 1
    frame = pl.DataFrame({"truth": truth, "a": first, "b": second})
    expected = difference((1.0, *wilson(2, 2)), (0.5, *wilson(3, 6)), 0.0)
    row = compared(frame, "precision")
    assert ends(row["difference"]) == pytest.approx((*expected[:2], min(1.0, expected[2])))
    assert expected[1] < 0 < 1 - expected[0]


@pytest.mark.parametrize("name", ["precision_u", "ppv_at:prevalence=0.2", "npv"])
def test_a_difference_adds_the_limits_of_each_model_at_other_prevalences(name: str) -> None:
    row = compared(table(), name)
    estimate = row["difference"]
    assert estimate.low < estimate.value < estimate.high
    assert row["method"] == "square-and-add of the limits of both"
    single = row["new"].high - row["new"].low, row["old"].high - row["old"].low
    assert estimate.high - estimate.low <= sum(single)


def test_equal_predictions_differ_by_nothing() -> None:
    frame = table().with_columns(twin=pl.col("b"))
    row = compared(frame, "precision", "twin")
    assert (row["difference"].value, row["p"]) == (0.0, 1.0)
    assert row["method"] == "exact 0-of-n limit: no row differs"
