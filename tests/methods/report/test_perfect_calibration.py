"""Measures of calibration beside what they would be, were the probabilities calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from tests.results import Line, row_of, value_and_limits, value_of
from tests.samples import logistic
from tests.thoroughness import full

NAMES = ["ece", "mce", "ece_debiased", "hosmer_lemeshow", "spiegelhalter_z"]


def measure_rows(frame: pl.DataFrame, **options: Any) -> dict[str, Line]:
    """Return the rows of the measures that these options name, by default of all `NAMES`."""
    options = {"positive": "1", "measure": NAMES} | options
    result = clfeval.report(frame, truth="y", **options)
    return {name: row_of(result, "measures", measure=name) for name in options["measure"]}


def table_of_slope(n: int, seed: int, slope: float = 1.0) -> pl.DataFrame:
    """Draw rows whose log odds are `slope` times those that the model says."""
    rng = np.random.default_rng(seed)
    p = logistic(rng.normal(-0.5, 1.5, n), 4)
    y = rng.random(n) < 1 / (1 + (1 / p - 1) ** slope)
    return pl.DataFrame({"y": y.astype(int), "m": p})


def ece(p: Any, y: Any) -> Any:
    """Return the ECE of draws of the classes, (..., n), by loops over bins."""
    found = 0.0
    for k in range(10):
        some = np.minimum((p * 10).astype(int), 9) == k
        found = found + np.abs((y[..., some] - p[some]).sum(axis=-1)) / len(p)
    return found


def test_mean_limit_and_p_are_those_of_outcomes_drawn_by_hand() -> None:
    frame = table_of_slope(300, 3, slope=0.6)
    p, y = frame["m"].to_numpy(), frame["y"].to_numpy()
    drawn = ece(p, np.random.default_rng(0).random((20_000, 300)) < p)
    row = measure_rows(frame)["ece"]
    assert value_of(row["value"]) == pytest.approx(ece(p, y), rel=1e-12)
    assert row["calibrated_mean"] == pytest.approx(drawn.mean(), rel=0.02)
    assert row["calibrated_high"] == pytest.approx(np.quantile(drawn, 0.95), rel=0.03)
    assert row["p"] == pytest.approx((drawn >= ece(p, y)).mean(), abs=0.01)
    z = measure_rows(frame)["spiegelhalter_z"]
    assert z["p"] == pytest.approx(2 * stats.norm.sf(abs(value_of(z["value"]))), abs=0.02)
    for row in measure_rows(frame).values():
        assert value_and_limits(row["value"])[1:] == (None, None)
        assert row["method"] == "simulation"


@pytest.mark.parametrize("n", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_p_of_calibrated_models_is_uniform(n: int) -> None:
    tables = 400 if full() else 30
    reports = [measure_rows(table_of_slope(n, seed), resamples=200) for seed in range(tables)]
    error = 3.5 / np.sqrt(tables)
    for name in NAMES:
        p = np.array([rows[name]["p"] for rows in reports])
        for at in (0.05, 0.5):
            assert abs((p <= at).mean() - at) < error * np.sqrt(at * (1 - at)) + 0.005, (name, at)
        means = np.mean([rows[name]["calibrated_mean"] for rows in reports])
        values = [value_of(rows[name]["value"]) for rows in reports]
        assert abs(np.mean(values) - means) < error * np.std(values), name


def test_of_three_classes_the_largest_probability_is_drawn() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet([1, 1, 1], 200)
    y = (rng.random((200, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)
    top = p.max(axis=1)
    right = pl.DataFrame({"y": (p.argmax(axis=1) == y).astype(int), "m": top})
    three = pl.DataFrame({"y": [f"k{i}" for i in y]} | {f"m:k{k}": p[:, k] for k in range(3)})
    names = ["ece", "mce", "ece_debiased"]
    of_two = measure_rows(right, measure=names)
    for name, row in measure_rows(three, positive=None, measure=names).items():
        value = value_of(of_two[name]["value"])
        assert value_of(row["value"]) == pytest.approx(value, rel=1e-12)
        assert row["calibrated_mean"] == pytest.approx(of_two[name]["calibrated_mean"], rel=0.05)
        assert row["p"] == pytest.approx(of_two[name]["p"], abs=0.04)


def test_what_is_drawn_is_said() -> None:
    frame = table_of_slope(200, 5).with_columns(
        w=pl.Series([0.5, 1.25] * 100), who=pl.Series([*range(100)] * 2)
    )
    plain, rows = frame.drop("w", "who"), frame.drop("who")
    assert measure_rows(plain) == measure_rows(plain)
    assert "p" not in measure_rows(plain, interval="none")["ece"]
    owned = measure_rows(frame.drop("w"), cluster="who")["ece"]
    assert owned["method"] == "simulation, correlated rows"
    assert owned["p"] == pytest.approx(measure_rows(plain)["ece"]["p"], abs=0.05)
    doubled = measure_rows(rows.with_columns(w=pl.lit(0.5)), weight="w", measure=["ece"])["ece"]
    assert doubled["calibrated_mean"] == pytest.approx(
        measure_rows(plain)["ece"]["calibrated_mean"], rel=0.05
    )
    with_labels = pl.DataFrame({"y": [0, 1] * 5, "m": [0, 1, 1, 1, 0] * 2})
    assert "p" not in clfeval.report(with_labels, truth="y", measure="ece").tables["measures"][0]
