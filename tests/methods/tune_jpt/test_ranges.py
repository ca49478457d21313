"""A prevalence that is known only roughly: the range of every measure over it, and simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

import clfeval
from clfeval.document.cells import Estimate
from tests.methods.tune_jpt.reference import MEASURES, Cells, four, without_limits
from tests.results import Line, limits_of, row_of, rows_by, rows_of, value_of
from tests.samples import logistic

TABLES = (Cells(67, 5, 33, 95), Cells(690, 150, 310, 850), Cells(9, 8, 1, 2), Cells(4, 16, 7, 3))
RANGES = ((0.001, 0.02), (0.05, 0.6), (0.001, 0.999), (0.5, 0.999999))
GRID = 60
PRIOR = (2, 30)


def ranges_by_measure(cells: Cells, low: float, high: float, **options: Any) -> dict[str, Line]:
    options = {"sweep": None, "interval": "none", "measure": "cost:fp=1,fn=9"} | options
    result = clfeval.tune_jpt(counts=four(cells), prevalence=f"{low}..{high}", **options)
    assert result.parameters["prevalence_range"] == [low, high]
    return rows_by(result, "ranges", "measure")


@cache
def at(cells: Cells, prevalence: float) -> dict[str, float]:
    p = Fraction(prevalence)
    tuned = cells.tuned(p / (1 - p))
    values = tuned.values() | tuned.stakes(1, 9)
    return {name: float(v) for name, v in values.items() if not isinstance(v, str)}


@pytest.mark.parametrize("cells", TABLES, ids=str)
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_nothing_on_a_dense_grid_lies_outside(cells: Cells, low: float, high: float) -> None:
    """The ends are reached where they are said to be, and nothing goes beyond them."""
    rows = ranges_by_measure(cells, low, high)
    assert list(rows) == [*MEASURES, "expected_cost", "net_benefit"]
    log_odds = math.log(low / (1 - low)), math.log(high / (1 - high))
    grid = logistic(np.linspace(*log_odds, GRID)[1:-1]).tolist()
    values = [at(cells, p) for p in (low, *grid, high)]
    for name, row in rows.items():
        least, most = value_of(row["lowest"]), value_of(row["highest"])
        slack = 1e-9 * max(abs(least), abs(most))
        assert least <= min(value[name] for value in values) + slack, name
        assert most >= max(value[name] for value in values) - slack, name
        for number, place in ((least, row["lowest_at"]), (most, row["highest_at"])):
            assert low <= place <= high, name
            assert at(cells, place)[name] == pytest.approx(number, rel=1e-9, abs=1e-10), name


@pytest.mark.parametrize("cells", TABLES, ids=str)
def test_mcc_is_highest_and_epa_lowest_inside(cells: Cells) -> None:
    """With x = TP/P and y = FP/N, both at the odds r with r² = y(1-y) / (x(1-x)).

    MCC² = J² r / ((r+1) (r x(1-x) + y(1-y))) and EPA = (r x/y + (1-y) / (r (1-x))) / 2.
    """
    x, y = cells.tp / cells.positives, cells.fp / cells.negatives
    r = math.sqrt(y * (1 - y) / (x * (1 - x)))
    p = r / (1 + r)
    rows = ranges_by_measure(cells, 0.001, 0.999)
    right = x > y
    mcc = rows["mcc"]
    assert mcc["highest_at" if right else "lowest_at"] == pytest.approx(p, rel=1e-4)
    best = (x - y) / (math.sqrt(x * (1 - y)) + math.sqrt(y * (1 - x)))  # by hand, at that r
    assert mcc["highest" if right else "lowest"].value == pytest.approx(float(best), rel=1e-9)
    assert rows["epa"]["lowest_at"] == pytest.approx(p, rel=1e-4)
    least = math.sqrt(x * (1 - y) / (y * (1 - x)))
    assert rows["epa"]["lowest"].value == pytest.approx(least, rel=1e-9)


def test_limits_are_those_at_that_prevalence() -> None:
    rows = ranges_by_measure(
        TABLES[0], 0.001, 0.02, interval="exact", measure=["ppv", "tar", "f_beta"]
    )
    for name in ("ppv", "tar", "f_beta"):
        row = rows[name]
        for column in ("lowest", "highest"):
            result = clfeval.tune_jpt(
                counts=four(TABLES[0]), prevalence=row[f"{column}_at"], sweep=None, measure=name
            )
            expected = row_of(result, "models", population="target")[name]
            assert value_of(row[column]) == pytest.approx(value_of(expected), rel=1e-9)
            assert limits_of(row[column]) == pytest.approx(limits_of(expected), rel=1e-9)


def test_infinite_and_undefined_all_along() -> None:
    never = ranges_by_measure(Cells(0, 0, 10, 10), 0.01, 0.2)["ppv"]
    assert never["lowest"] == never["highest"] == Estimate(None, reason="no_positive_prediction")
    certain = ranges_by_measure(Cells(5, 0, 5, 10), 0.01, 0.2)["ppv_odds"]
    assert certain["lowest"] == certain["highest"] == Estimate(None, reason="infinite")
    for row in ranges_by_measure(Cells(67, 5, 33, 95), 0.01, 0.2).values():
        assert row == without_limits(row)


def simulated_by_measure(**options: Any) -> dict[str, Line]:
    options = {"prevalence_beta": PRIOR, "sweep": None} | options
    result = clfeval.tune_jpt(**options)
    assert result.parameters["prevalence_beta"] == list(options["prevalence_beta"])
    return rows_by(result, "simulated", "measure")


def test_simulated_prevalence_against_its_quantiles() -> None:
    """Of rates alone every draw is a prevalence: monotone measures keep its quantiles in order."""
    rows = simulated_by_measure(sensitivity=0.67, specificity=0.95, level=0.9)
    for name, rises in (("ppv", True), ("npv", False), ("f_beta", True), ("tar", False)):
        row = rows[name]
        for part, share in (("low", 0.05), ("median", 0.5), ("high", 0.95)):
            p = beta_distribution.ppf([share - 0.01, share + 0.01], *PRIOR)
            if not rises:
                p = beta_distribution.ppf([1 - share - 0.01, 1 - share + 0.01], *PRIOR)
            least, most = sorted(at(TABLES[0], each)[name] for each in p)
            assert least <= row[part] <= most, (name, part)
        assert row["failed"] == 0
    # TAR is linear in the prevalence, whose mean is a / (a + b)
    assert rows["tar"]["mean"] == pytest.approx(0.95 - 0.28 * 2 / 32, abs=0.001)


def test_simulated_rates_and_prevalence_against_numpy() -> None:
    """Each rate is drawn from what its rows leave plausible (Jeffreys), the prevalence beside."""
    rng = np.random.default_rng(7)
    x = rng.beta(67.5, 33.5, 400_000)
    y = rng.beta(5.5, 95.5, 400_000)
    p = rng.beta(*PRIOR, 400_000)
    tp, fp, fn, tn = p * x, (1 - p) * y, p * (1 - x), (1 - p) * (1 - y)
    mcc = (x - y) * p * (1 - p) / np.sqrt((tp + fp) * (fn + tn) * p * (1 - p))
    values = {
        "tar": tp + tn,
        "ppv": tp / (tp + fp),
        "npv": tn / (tn + fn),
        "mcc": mcc,
        "f_beta": 2 * tp / (2 * tp + fp + fn),
        "j_index": x - y,
        "net_benefit": tp - fp / 9,
    }
    rows = simulated_by_measure(counts=four(TABLES[0]), measure="cost:fp=1,fn=9")
    for name, numbers in values.items():
        row = rows[name]
        for part, share in (("low", 0.025), ("median", 0.5), ("high", 0.975)):
            low, high = np.quantile(numbers, [share - 0.012, share + 0.012])
            assert low - 1e-9 <= row[part] <= high + 1e-9, (name, part)
        slack = 0.02 * numbers.std() + 1e-6
        assert row["mean"] == pytest.approx(numbers.mean(), abs=slack), name


def test_draws_without_a_value_are_counted() -> None:
    """Who never says positive has no PPV in any draw."""
    row = simulated_by_measure(counts=(0, 0, 10, 10))["ppv"]
    assert (row["mean"], row["low"], row["median"], row["high"]) == (None,) * 4
    assert row["failed"] > 0
    assert simulated_by_measure(counts=(5, 5, 5, 5))["sensitivity"]["failed"] == 0


def test_seeds_and_neighbours() -> None:
    counts = {"a": (67, 5, 33, 95), "b": (69, 15, 31, 85)}
    options: dict[str, Any] = {"prevalence_beta": PRIOR, "sweep": None, "measure": ["ppv", "mcc"]}
    together = clfeval.tune_jpt(counts=counts, **options)
    assert together.to_json() == clfeval.tune_jpt(counts=counts, **options).to_json()
    alone = clfeval.tune_jpt(counts={"b": counts["b"]}, **options)
    assert rows_of(alone, "simulated") == rows_of(together, "simulated", model="b")
    reseeded = clfeval.tune_jpt(counts=counts, seed=1, **options)
    assert rows_of(reseeded, "simulated") != rows_of(together, "simulated")
