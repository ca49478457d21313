"""What acting on scores is worth, by influence values and by drawing again, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.arrays import Floats
from clfeval.document.cells import Estimate
from tests.results import estimate_of, limits_of, rows_by, value_of
from tests.samples import logistic
from tests.thoroughness import thinned

T, ROWS, PATIENTS = 0.3, 240, 40
ODDS = T / (1 - T)
MEASURES = (
    f"net_benefit@t:t={T}",
    f"net_benefit_standardised:t={T}",
    f"interventions_avoided:t={T}",
)
RNG = np.random.default_rng(8)
OWNER = np.repeat(np.arange(PATIENTS), ROWS // PATIENTS)
LOGIT = RNG.standard_normal(ROWS) + RNG.standard_normal(PATIENTS)[OWNER] - 0.7
TRUTH = (RNG.random(ROWS) < logistic(LOGIT)).astype(np.int64)
SCORES = logistic(LOGIT + RNG.standard_normal(ROWS), 2)
CALLED = (SCORES >= T).astype(np.int64)
TABLE = pl.DataFrame({"truth": TRUTH, "patient": [f"p{i}" for i in OWNER], "m": SCORES})


def benefits(at: Any) -> Floats:
    """Return the three measures of rows, picked in the last axis, from their definitions."""
    truth, called = TRUTH[at], CALLED[at]
    rows, positives = truth.shape[-1], truth.sum(axis=-1)
    tp, fp = (truth & called).sum(axis=-1), ((1 - truth) & called).sum(axis=-1)
    mine = tp / rows - fp / rows * ODDS
    every = positives / rows - (rows - positives) / rows * ODDS
    return np.array([mine, mine / (positives / rows), 100 * (mine - every) / ODDS])


def estimates_and_errors(interval: str, **options: Any) -> dict[str, tuple[Estimate, float, str]]:
    """Return estimate, standard error and method of each measure of a report."""
    table = TABLE if "cluster" in options else TABLE.drop("patient")
    result = clfeval.report(
        table, positive="1", threshold=T, interval=interval, measure=MEASURES, **options
    )
    return {
        name: (estimate_of(row["value"]), row["se"], str(row["method"]))
        for name, row in rows_by(result, "measures", "measure").items()
    }


@pytest.mark.parametrize("clustered", thinned([False, True], [True]))
def test_limits_are_the_quantiles_of_what_is_drawn_again(clustered: bool) -> None:
    """Rows, or whole patients of six, with replacement; within four Monte Carlo errors."""
    rng, often = np.random.default_rng(1), 4000
    at = rng.integers(0, ROWS, (often, ROWS))
    if clustered:
        mine = np.arange(ROWS).reshape(PATIENTS, -1)
        at = mine[rng.integers(0, PATIENTS, (often, PATIENTS))].reshape(often, ROWS)
    draws = benefits(at)
    found = estimates_and_errors(
        "bootstrap", resamples=often, **({"cluster": "patient"} if clustered else {})
    )
    for name, values in zip(MEASURES, draws, strict=True):
        value, _, method = found[name]
        near = 4 * np.sqrt(2) * 0.0423 * values.std()  # sqrt(.025 .975 / 4000) / density at -1.96
        expected = tuple(np.quantile(values, [0.025, 0.975]))
        assert limits_of(value) == pytest.approx(expected, abs=near), name
        assert method == "bootstrap"
    assert found["net_benefit"] == found[MEASURES[0]]


@pytest.mark.parametrize("clustered", [False, True])
def test_standard_errors_are_those_of_the_influence_of_rows(clustered: bool) -> None:
    """se² = g / (g - 1) sum F² / M², F the sum of f in each of g rows or patients."""
    net, ratio, avoided = benefits(np.arange(ROWS))
    share = TRUTH.mean()
    brings = TRUTH * CALLED - ODDS * (1 - TRUTH) * CALLED
    spared = 100 * ((1 - TRUTH) * (1 - CALLED) - TRUTH * (1 - CALLED) / ODDS)
    each = ((brings - ratio * TRUTH) / share, spared - avoided)
    found = estimates_and_errors("exact", **({"cluster": "patient"} if clustered else {}))
    assert found[MEASURES[0]][0].value == pytest.approx(net)  # whose limits are of two shares
    for name, f, value in zip(MEASURES[1:], each, (ratio, avoided), strict=True):
        parts = np.bincount(OWNER, f) if clustered else f
        g = len(parts)
        error = np.sqrt(g / (g - 1) * (parts**2).sum()) / ROWS
        got, se, method = found[name]
        assert (value_of(got), se) == pytest.approx((value, error), rel=1e-12), name
        assert method.startswith("square-and-add of Wilson intervals")
        # counts in the middle of their ranges: near the limits of the error
        reach = stats.norm.ppf(0.975) * error
        assert limits_of(got) == pytest.approx((value - reach, value + reach), abs=reach / 4)
    assert found["net_benefit"] == found[MEASURES[0]]
