"""Intervals of every value: against scipy and statsmodels, by square-and-add, by a plain search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from statsmodels.stats.proportion import confint_proportions_2indep

import clfeval
from clfeval.document.cells import Estimate
from tests.limits import wilson_of_statsmodels
from tests.methods.phidelta.byhand import Cells, counts_frame, model_row, model_rows, rows_by_model
from tests.results import Line, limits_of, value_of

TABLES = {
    str(cells): cells
    for cells in (
        Cells(30, 10, 20, 40),
        Cells(3, 2, 4, 1),
        Cells(0, 5, 12, 300),
        Cells(7, 0, 0, 9),
        Cells(1, 990, 0, 10),
        Cells(2613, 564, 750, 2180),
    )
}
LEVELS = [0.5, 0.9, 0.95, 0.99]


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> float:
    return float(request.param)


@pytest.fixture(scope="module")
def rows_at_level(level: float) -> dict[str, Line]:
    return model_rows(counts_frame(TABLES), level=level)


def square_and_add(a: float, b: float, cells: Cells, level: float) -> tuple[float, float]:
    """Return the ends for a TP/P + b FP/N: squared distances to the Wilson limits are added."""
    below = above = 0.0
    for factor, k, n in ((a, cells.tp, cells.positives), (b, cells.fp, cells.negatives)):
        low, high = wilson_of_statsmodels(k, n, level)
        down, up = factor * (k / n - low), factor * (high - k / n)
        if factor < 0:
            down, up = -up, -down
        below += down**2
        above += up**2
    middle = a * cells.tp / cells.positives + b * cells.fp / cells.negatives
    return middle - math.sqrt(below), middle + math.sqrt(above)


def test_shares_of_rows_are_exact(rows_at_level: dict[str, Line], level: float) -> None:
    for name, c in TABLES.items():
        everything = c.positives + c.negatives
        parts = {
            "sensitivity": (c.tp, c.positives),
            "specificity": (c.tn, c.negatives),
            "accuracy": (c.tp + c.tn, everything),
            "error_rate": (c.fp + c.fn, everything),
            "precision": (c.tp, c.tp + c.fp),
            "npv": (c.tn, c.tn + c.fn),
        }
        for column, (k, n) in parts.items():
            exact = binomtest(k, n).proportion_ci(level, method="exact")
            limits = limits_of(rows_at_level[name][column])
            assert limits == pytest.approx((exact.low, exact.high), abs=1e-9), column


def test_the_joint_region_holds_each_rate_at_the_root_of_the_level(
    rows_at_level: dict[str, Line], level: float
) -> None:
    """Independent intervals at sqrt(.95) = .9747 each cover both at .95, and the point itself."""
    for name, c in TABLES.items():
        row = rows_at_level[name]
        for column, k, n in (
            ("region_sensitivity", c.tp, c.positives),
            ("region_specificity", c.tn, c.negatives),
        ):
            exact = binomtest(k, n).proportion_ci(math.sqrt(level), method="exact")
            low, high = limits_of(row[column])
            assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)
            assert value_of(row[column]) == k / n
            assert 0 <= low <= k / n <= high <= 1
            single = limits_of(row[column.removeprefix("region_")])
            assert low <= single[0] <= single[1] <= high  # wider than each by itself


def test_delta_and_phi_have_newcombe_s_interval_of_a_difference(
    rows_at_level: dict[str, Line], level: float
) -> None:
    """delta = TP/P - FP/N and phi = TP/P - TN/N are differences of independent proportions."""
    for name, c in TABLES.items():
        for column, other in (("delta", c.fp), ("phi", c.tn)):
            expected = confint_proportions_2indep(
                c.tp, c.positives, other, c.negatives, method="newcomb", alpha=1 - level
            )
            limits = limits_of(rows_at_level[name][column])
            assert limits == pytest.approx(expected, abs=1e-9), column


def test_accuracy_u_and_error_u_follow_delta(rows_at_level: dict[str, Line]) -> None:
    for row in rows_at_level.values():
        low, high = limits_of(row["delta"])
        assert limits_of(row["accuracy_u"]) == pytest.approx(((1 + low) / 2, (1 + high) / 2))
        assert limits_of(row["error_u"]) == pytest.approx(((1 - high) / 2, (1 - low) / 2))


@pytest.mark.parametrize("prevalence", [None, 0.5, 0.01, 0.9])
def test_the_prior_aware_pair_by_square_and_add(prevalence: float | None, level: float) -> None:
    options: dict[str, Any] = {} if prevalence is None else {"prevalence": prevalence}
    result = clfeval.phidelta(counts_frame(TABLES), level=level, totals="fixed", **options)
    rows = rows_by_model(result, "models" if prevalence is None else "populations")
    for name, c in TABLES.items():
        p = float(c.prevalence) if prevalence is None else prevalence
        n = 1 - p
        # phi_b = 2 p x + 2 n y - 2 p ; delta_b = 2 p x - 2 n y + n - p
        for column, a, b, shift in (
            ("phi_b", 2 * p, 2 * n, -2 * p),
            ("delta_b", 2 * p, -2 * n, n - p),
        ):
            low, high = square_and_add(a, b, c, level)
            if prevalence is None and column == "delta_b":
                continue  # twice the accuracy of its row, less 1: see test_sampled
            limits = limits_of(rows[name][column])
            assert limits == pytest.approx((low + shift, high + shift), abs=1e-9), column
        if prevalence is not None:
            low, high = square_and_add(p, -n, c, level)
            assert limits_of(rows[name]["accuracy"]) == pytest.approx((low + n, high + n), abs=1e-9)


MEASURES = {
    "precision": lambda p, x, y: p * x / (p * x + (1 - p) * y),
    "npv": lambda p, x, y: (1 - p) * (1 - y) / ((1 - p) * (1 - y) + p * (1 - x)),
    "f1": lambda p, x, y: 2 * p * x / (p * (1 + x) + (1 - p) * y),
    "mcc": lambda p, x, y: (x - y) * np.sqrt(p * (1 - p)) / np.sqrt(spread(p, x, y)),
    "mutual_information": lambda p, x, y: h(p * x + (1 - p) * y) - p * h(x) - (1 - p) * h(y),
}


def spread(p: float, x: Any, y: Any) -> Any:
    flagged = p * x + (1 - p) * y
    return flagged * (1 - flagged)


def h(q: Any) -> Any:
    return -q * np.log2(np.maximum(q, 1e-300)) - (1 - q) * np.log2(np.maximum(1 - q, 1e-300))


def searched(measure: str, p: float, c: Cells, level: float) -> tuple[float, float]:
    """Return the least and the greatest value over a fine grid of the rates that fit the counts.

    A pair (x, y) fits when z(x)² + z(y)² <= z², z(x) = (TP/P - x) / sqrt(x (1-x) / P).
    """
    steps = (1 - np.cos(np.pi * (np.arange(500) + 0.5) / 500)) / 2  # closest at the ends
    limits = [
        wilson_of_statsmodels(k, n, level) for k, n in ((c.tp, c.positives), (c.fp, c.negatives))
    ]
    x, y = np.meshgrid(*[low + (high - low) * steps for low, high in limits])
    distance = sum(
        (k / n - q) ** 2 / (q * (1 - q) / n)
        for q, k, n in ((x, c.tp, c.positives), (y, c.fp, c.negatives))
    )
    fits = distance <= norm.ppf((1 + level) / 2) ** 2
    values = MEASURES[measure](p, x[fits], y[fits])
    return float(values.min()), float(values.max())


def test_other_measures_have_their_range_over_the_score_region(level: float) -> None:
    """The grid looks from inside, so it finds at most what the program finds, and nearly that."""
    rows = model_rows(counts_frame(TABLES), level=level, totals="fixed")
    for name, c in TABLES.items():
        prevalence = float(c.prevalence)
        columns = [(f"{measure}_u", measure, 0.5) for measure in MEASURES]
        columns += [(m, m, prevalence) for m in ("f1", "mcc", "mutual_information")]
        for column, measure, p in columns:
            low, high = limits_of(rows[name][column])
            least, most = searched(measure, p, c, level)
            assert low <= least + 1e-12 <= most <= high + 1e-12, (name, column)
            slack = 0.01 * (high - low) + 1e-9
            assert (low, high) == pytest.approx((least, most), abs=slack), (name, column)


def test_predictive_values_of_a_population_have_the_same_kind() -> None:
    result = clfeval.phidelta(counts_frame(TABLES), prevalence=0.02)
    for name, row in rows_by_model(result, "populations").items():
        for column in ("precision", "npv", "mutual_information"):
            low, high = limits_of(row[column])
            least, most = searched(column, 0.02, TABLES[name], 0.95)
            assert low <= least + 1e-12 <= most <= high + 1e-12, (name, column)
            assert (low, high) == pytest.approx((least, most), abs=0.01 * (high - low) + 1e-9)


def test_without_intervals_the_values_are_the_same_and_there_are_no_ends() -> None:
    full, bare = model_row(Cells(30, 10, 20, 40)), model_row(Cells(30, 10, 20, 40), interval="none")
    for name, cell in full.items():
        if isinstance(cell, Estimate):
            assert bare[name] == Estimate(cell.value)
    assert bare["reading"] is None
    assert bare["reading_withheld"]


def test_the_methods_are_named_in_the_document() -> None:
    """METHODS 0: method and level always in the output. Only shares of rows are `exact`."""
    parameters = clfeval.phidelta(counts_frame(TABLES), level=0.9).parameters
    assert parameters["level"] == 0.9
    text = str(parameters).casefold()
    assert "clopper-pearson" in text
    assert "newcombe" in text


def test_a_single_column_of_wilson_limits_written_out() -> None:
    """TP 3 of 4, FP 0 of 2 at z = 1: Wilson of 3/4 is (3.5 -+ sqrt(3*1/4 + 1/4)) / 5 = .5, .9

    and of 0/2 is 0, 1/3. delta = 3/4, down to 3/4 - sqrt(.25² + (1/3)²) = 1/3, up to .9.
    """
    level = math.erf(1 / math.sqrt(2))
    low, high = limits_of(model_row(Cells(3, 0, 1, 2), level=level)["delta"])
    assert (low, high) == pytest.approx((3 / 4 - 5 / 12, 0.9), abs=1e-9)
