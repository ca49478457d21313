"""A prevalence that is known only roughly: the range of every measure over it, and simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

import clfeval
from clfeval.document.cells import Estimate
from tests.methods.tune_jpt.reference import (
    MEASURES,
    Cells,
    Line,
    four,
    row_of,
    rows_of,
    without_limits,
)

TABLES = (Cells(67, 5, 33, 95), Cells(690, 150, 310, 850), Cells(9, 8, 1, 2), Cells(4, 16, 7, 3))
RANGES = ((0.001, 0.02), (0.05, 0.6), (0.001, 0.999), (0.5, 0.999999))
GRID = 60
PRIOR = (2, 30)


def ranges(cells: Cells, low: float, high: float, **options: Any) -> dict[str, Line]:
    options = {"sweep": None, "interval": "none", "measure": "cost:fp=1,fn=9"} | options
    result = clfeval.tune_jpt(counts=four(cells), prevalence=f"{low}..{high}", **options)
    assert result.parameters["prevalence_range"] == [low, high]
    return {str(row["measure"]): row for row in rows_of(result, "ranges")}


def at(cells: Cells, prevalence: float) -> dict[str, float]:
    p = Fraction(prevalence)
    tuned = cells.tuned(p / (1 - p))
    values = tuned.values() | tuned.stakes(1, 9)
    return {name: float(v) for name, v in values.items() if not isinstance(v, str)}


@pytest.mark.parametrize("cells", TABLES, ids=str)
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_nothing_on_a_dense_grid_lies_outside(cells: Cells, low: float, high: float) -> None:
    """The ends are reached where they are said to be, and nothing goes beyond them."""
    found = ranges(cells, low, high)
    assert list(found) == [*MEASURES, "expected_cost", "net_benefit"]
    ends = math.log(low / (1 - low)), math.log(high / (1 - high))
    grid = [1 / (1 + math.exp(-x)) for x in np.linspace(*ends, GRID)[1:-1]]
    values = [at(cells, p) for p in (low, *grid, high)]
    for name, row in found.items():
        least, most = row["lowest"].value, row["highest"].value
        slack = 1e-9 * max(abs(least), abs(most))
        assert least <= min(value[name] for value in values) + slack, name
        assert most >= max(value[name] for value in values) - slack, name
        for end, place in ((least, row["lowest_at"]), (most, row["highest_at"])):
            assert low <= place <= high, name
            assert at(cells, place)[name] == pytest.approx(end, rel=1e-9, abs=1e-10), name


@pytest.mark.parametrize("cells", TABLES, ids=str)
def test_mcc_is_highest_and_epa_lowest_inside(cells: Cells) -> None:
    """With x = TP/P and y = FP/N, both at the odds r with r² = y(1-y) / (x(1-x)).

    MCC² = J² r / ((r+1) (r x(1-x) + y(1-y))) and EPA = (r x/y + (1-y) / (r (1-x))) / 2.
    """
    x, y = cells.tp / cells.positives, cells.fp / cells.negatives
    r = math.sqrt(y * (1 - y) / (x * (1 - x)))
    p = r / (1 + r)
    found = ranges(cells, 0.001, 0.999)
    right = x > y
    mcc = found["mcc"]
    assert mcc["highest_at" if right else "lowest_at"] == pytest.approx(p, rel=1e-4)
    best = (x - y) / (math.sqrt(x * (1 - y)) + math.sqrt(y * (1 - x)))  # by hand, at that r
    assert mcc["highest" if right else "lowest"].value == pytest.approx(float(best), rel=1e-9)
    assert found["epa"]["lowest_at"] == pytest.approx(p, rel=1e-4)
    least = math.sqrt(x * (1 - y) / (y * (1 - x)))
    assert found["epa"]["lowest"].value == pytest.approx(least, rel=1e-9)


def test_limits_are_those_at_that_prevalence() -> None:
    found = ranges(TABLES[0], 0.001, 0.02, interval="exact", measure=["ppv", "tar", "f_beta"])
    for name in ("ppv", "tar", "f_beta"):
        row = found[name]
        for end in ("lowest", "highest"):
            there = clfeval.tune_jpt(
                counts=four(TABLES[0]), prevalence=row[f"{end}_at"], sweep=None, measure=name
            )
            expected = row_of(there, population="target")[name]
            for part in ("value", "low", "high"):
                assert getattr(row[end], part) == pytest.approx(getattr(expected, part), rel=1e-9)


def test_infinite_and_undefined_all_along() -> None:
    never = ranges(Cells(0, 0, 10, 10), 0.01, 0.2)["ppv"]
    assert never["lowest"] == never["highest"] == Estimate(None, reason="no_positive_prediction")
    certain = ranges(Cells(5, 0, 5, 10), 0.01, 0.2)["ppv_odds"]
    assert certain["lowest"] == certain["highest"] == Estimate(None, reason="infinite")
    for row in ranges(Cells(67, 5, 33, 95), 0.01, 0.2).values():
        assert row == without_limits(row)


def simulate(**options: Any) -> dict[str, Line]:
    options = {"prevalence_beta": PRIOR, "sweep": None} | options
    result = clfeval.tune_jpt(**options)
    assert result.parameters["prevalence_beta"] == list(options["prevalence_beta"])
    return {str(row["measure"]): row for row in rows_of(result, "simulated")}


def test_simulated_prevalence_against_its_quantiles() -> None:
    """Of rates alone every draw is a prevalence: monotone measures keep its quantiles in order."""
    found = simulate(sensitivity=0.67, specificity=0.95, level=0.9)
    for name, rises in (("ppv", True), ("npv", False), ("f_beta", True), ("tar", False)):
        row = found[name]
        for part, share in (("low", 0.05), ("median", 0.5), ("high", 0.95)):
            p = beta_distribution.ppf([share - 0.01, share + 0.01], *PRIOR)
            if not rises:
                p = beta_distribution.ppf([1 - share - 0.01, 1 - share + 0.01], *PRIOR)
            ends = sorted(at(TABLES[0], each)[name] for each in p)
            assert ends[0] <= row[part] <= ends[1], (name, part)
        assert row["failed"] == 0
    # TAR is linear in the prevalence, whose mean is a / (a + b)
    assert found["tar"]["mean"] == pytest.approx(0.95 - 0.28 * 2 / 32, abs=0.001)


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
    found = simulate(counts=four(TABLES[0]), measure="cost:fp=1,fn=9")
    for name, drawn in values.items():
        row = found[name]
        for part, share in (("low", 0.025), ("median", 0.5), ("high", 0.975)):
            low, high = np.quantile(drawn, [share - 0.012, share + 0.012])
            assert low - 1e-9 <= row[part] <= high + 1e-9, (name, part)
        assert row["mean"] == pytest.approx(drawn.mean(), abs=0.02 * drawn.std() + 1e-6), name


def test_draws_without_a_value_are_counted() -> None:
    """Who never says positive has no PPV in any draw."""
    row = simulate(counts=(0, 0, 10, 10))["ppv"]
    assert (row["mean"], row["low"], row["median"], row["high"]) == (None,) * 4
    assert row["failed"] > 0
    assert simulate(counts=(5, 5, 5, 5))["sensitivity"]["failed"] == 0


def test_seeds_and_neighbours() -> None:
    counts = {"a": (67, 5, 33, 95), "b": (69, 15, 31, 85)}
    options: dict[str, Any] = {"prevalence_beta": PRIOR, "sweep": None, "measure": ["ppv", "mcc"]}
    both = clfeval.tune_jpt(counts=counts, **options)
    assert both.to_json() == clfeval.tune_jpt(counts=counts, **options).to_json()
    alone = clfeval.tune_jpt(counts={"b": counts["b"]}, **options)
    assert rows_of(alone, "simulated") == rows_of(both, "simulated", model="b")
    other = clfeval.tune_jpt(counts=counts, seed=1, **options)
    assert rows_of(other, "simulated") != rows_of(both, "simulated")
