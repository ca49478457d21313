"""Several runs of the same models: mean, spread, covariance, and the corrected resampled t test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.result import Estimate, Result
from tests.methods.phidelta.byhand import Cells, Line, bounds, reasons, value

# three runs of two models, 10 positives and 20 negatives each: tp, fp, fn, tn
RUNS = {
    ("a", "1"): Cells(8, 4, 2, 16),  # phi .8 + .2 - 1 = 0, delta .8 - .2 = .6
    ("a", "2"): Cells(6, 2, 4, 18),  # phi .6 + .1 - 1 = -.3, delta .5
    ("a", "3"): Cells(9, 8, 1, 12),  # phi .9 + .4 - 1 = .3, delta .5
    ("b", "1"): Cells(7, 4, 3, 16),  # phi -.1, delta .5
    ("b", "2"): Cells(6, 4, 4, 16),  # phi -.2, delta .4
    ("b", "3"): Cells(5, 4, 5, 16),  # phi -.3, delta .3
}
PHI = {"a": [0.0, -0.3, 0.3], "b": [-0.1, -0.2, -0.3]}
DELTA = {"a": [0.6, 0.5, 0.5], "b": [0.5, 0.4, 0.3]}


def table(runs: dict[tuple[str, str], Cells]) -> pl.DataFrame:
    lines = [(m, r, c.tp, c.fp, c.fn, c.tn) for (m, r), c in runs.items()]
    return pl.DataFrame(lines, schema=["model", "fold", "tp", "fp", "fn", "tn"], orient="row")


def over_runs(runs: dict[tuple[str, str], Cells] = RUNS, **options: Any) -> Result:
    return clfeval.phidelta(table(runs), run="fold", **options)


def rows_of(result: Result, name: str) -> dict[str, Line]:
    return {str(row["model"]): dict(row) for row in result.tables[name]}


def test_each_run_is_a_point() -> None:
    result = over_runs()
    rows = [dict(row) for row in result.tables["runs"]]
    assert [(row["model"], row["run"]) for row in rows] == list(RUNS)
    for row in rows:
        model, run = str(row["model"]), int(str(row["run"])) - 1
        assert value(row, "phi") == pytest.approx(PHI[model][run], abs=1e-15)
        assert value(row, "delta") == pytest.approx(DELTA[model][run], abs=1e-15)
        assert value(row, "accuracy_u") == pytest.approx((1 + DELTA[model][run]) / 2)
        low, high = bounds(row, "delta")
        assert low < DELTA[model][run] < high


def test_mean_spread_and_covariance_against_numpy() -> None:
    for model, row in rows_of(over_runs(), "run_spread").items():
        phi, delta = PHI[model], DELTA[model]
        assert row["runs"] == 3
        assert value(row, "phi_mean") == pytest.approx(np.mean(phi), abs=1e-15)
        assert value(row, "delta_mean") == pytest.approx(np.mean(delta))
        assert value(row, "accuracy_u_mean") == pytest.approx((1 + np.mean(delta)) / 2)
        assert row["phi_sd"] == pytest.approx(np.std(phi, ddof=1))
        assert row["delta_sd"] == pytest.approx(np.std(delta, ddof=1))
        assert row["covariance"] == pytest.approx(np.cov(phi, delta)[0, 1], abs=1e-15)
        assert row["accuracy_u_sd"] == pytest.approx(np.std(delta, ddof=1) / 2)


def test_the_reading_of_bias_and_variance() -> None:
    rows = rows_of(over_runs(), "run_spread")
    assert rows["a"]["bias"] == "low"  # mean phi 0
    assert rows["b"]["bias"] == "towards negative"  # mean phi -.2
    assert rows["a"]["variance"] == rows["b"]["variance"] == "high"  # spread above .1
    tight = {("m", str(i)): Cells(900 + i, 100, 100 - i, 900) for i in range(4)}
    row = rows_of(over_runs(tight), "run_spread")["m"]
    assert (row["bias"], row["variance"]) == ("low", "low")
    leaning = {("m", str(i)): Cells(900 + i, 300, 100 - i, 700) for i in range(4)}
    assert rows_of(over_runs(leaning), "run_spread")["m"]["bias"] == "towards positive"


def test_without_a_training_share_there_is_no_interval_and_no_test_and_that_is_said() -> None:
    result = over_runs()
    for row in rows_of(result, "run_spread").values():
        assert row["delta_mean"] == Estimate(value(row, "delta_mean"))
    row = rows_of(result, "run_comparisons")["b"]
    assert row["t"] is row["df"] is row["p_value"] is None
    assert value(row, "delta_difference") == pytest.approx(
        np.mean(DELTA["b"]) - np.mean(DELTA["a"])
    )
    assert "runs-dependent" in [warning.code for warning in result.warnings]


def test_the_corrected_resampled_t_test_by_arithmetic() -> None:
    """b - a: delta -.1 -.1 -.2, mean -2/15, s² = 1/300. Trained on .8: test over train is 1/4.

    The variance of the mean is (1/3 + 1/4) / 300 = 7/3600, t = -(2/15) sqrt(3600/7) with df 2, and
    with two degrees of freedom P(|T| > t) = 1 - t / sqrt(2 + t²).
    """
    result = over_runs(reference="a", train_fraction=0.8)
    row = rows_of(result, "run_comparisons")["b"]
    t = -(2 / 15) * math.sqrt(3600 / 7)
    assert row["reference"] == "a"
    assert (row["runs"], row["df"]) == (3, 2)
    assert row["t"] == pytest.approx(t, rel=1e-12)
    assert row["p_value"] == pytest.approx(1 - abs(t) / math.sqrt(2 + t * t), rel=1e-12)
    assert value(row, "delta_difference") == pytest.approx(-2 / 15)
    reach = stats.t.ppf(0.975, 2) * math.sqrt(7 / 3600)
    low, high = bounds(row, "delta_difference")
    assert (low, high) == pytest.approx((-2 / 15 - reach, -2 / 15 + reach), rel=1e-9)
    # phi: -.1, .1, -.6; its mean is -.2 and its variance .13
    reach = stats.t.ppf(0.975, 2) * math.sqrt((1 / 3 + 1 / 4) * 0.13)
    found = bounds(row, "phi_difference")
    assert found == pytest.approx((-0.2 - reach, -0.2 + reach), rel=1e-9)
    assert "runs-dependent" not in [warning.code for warning in result.warnings]


@pytest.mark.parametrize(("fraction", "level"), [(0.5, 0.95), (0.9, 0.9), (2 / 3, 0.5)])
def test_means_have_the_corrected_interval(fraction: float, level: float) -> None:
    rows = rows_of(over_runs(train_fraction=fraction, level=level), "run_spread")
    for model, row in rows.items():
        for name, values in (("phi", PHI[model]), ("delta", DELTA[model])):
            error = np.std(values, ddof=1) * math.sqrt(1 / 3 + (1 - fraction) / fraction)
            ends = stats.t.interval(level, 2, loc=np.mean(values), scale=error)
            expected = max(ends[0], -1.0), min(ends[1], 1.0)  # cut to the range
            assert bounds(row, f"{name}_mean") == pytest.approx(expected, rel=1e-9)
        low, high = bounds(row, "delta_mean")
        half = (1 + low) / 2, (1 + high) / 2
        assert bounds(row, "accuracy_u_mean") == pytest.approx(half, rel=1e-9)


def test_all_pairs_without_a_reference_and_all_against_one_with() -> None:
    runs = RUNS | {("c", run): Cells(5, 5, 5, 15) for run in "123"}
    result = over_runs(runs)
    pairs = [(row["model"], row["reference"]) for row in result.tables["run_comparisons"]]
    assert pairs == [("b", "a"), ("c", "a"), ("c", "b")]
    result = over_runs(runs, reference="b", train_fraction=0.8)
    found = rows_of(result, "run_comparisons")
    assert list(found) == ["a", "c"]
    turned = rows_of(over_runs(runs, reference="a", train_fraction=0.8), "run_comparisons")["b"]
    assert found["a"]["t"] == pytest.approx(-turned["t"])
    assert found["a"]["p_value"] == pytest.approx(turned["p_value"])
    low, high = bounds(turned, "delta_difference")
    assert bounds(found["a"], "delta_difference") == pytest.approx((-high, -low))


def test_equal_runs_and_equal_differences() -> None:
    same = {(model, run): Cells(5, 5, 5, 15) for model in "ab" for run in "123"}
    row = rows_of(over_runs(same, train_fraction=0.8), "run_comparisons")["b"]
    assert (row["t"], row["p_value"], value(row, "delta_difference")) == (0, 1, 0)
    # always better by exactly .25: what does not vary has no test
    better = same | {("b", run): Cells(5, 0, 5, 20) for run in "123"}
    row = rows_of(over_runs(better, train_fraction=0.8), "run_comparisons")["b"]
    assert (row["t"], row["p_value"], value(row, "delta_difference")) == (None, None, 0.25)
    assert rows_of(over_runs(same), "run_spread")["a"]["variance"] == "low"


def test_a_single_run_has_a_place_and_no_spread() -> None:
    result = over_runs({key: cells for key, cells in RUNS.items() if key[1] == "2"})
    row = rows_of(result, "run_spread")["a"]
    assert (row["runs"], value(row, "delta_mean")) == (1, 0.5)
    names = ("phi_sd", "delta_sd", "covariance", "accuracy_u_sd", "bias", "variance")
    assert all(row[name] is None for name in names)


def test_runs_with_different_models_are_compared_over_those_they_share() -> None:
    runs = {key: cells for key, cells in RUNS.items() if key != ("b", "2")}
    runs |= {("c", "4"): Cells(5, 4, 5, 16)}
    result = over_runs(runs, train_fraction=0.8)
    assert [row["runs"] for row in result.tables["run_spread"]] == [3, 2, 1]
    found = {
        (row["model"], row["reference"]): dict(row) for row in result.tables["run_comparisons"]
    }
    assert found["b", "a"]["runs"] == 2
    # runs 1 and 3: .5 - .6 and .3 - .5
    assert value(found["b", "a"], "delta_difference") == pytest.approx((-0.1 - 0.2) / 2)
    assert found["c", "a"]["runs"] == 0
    assert found["c", "a"]["t"] is None
    assert set(reasons(found["c", "a"])) == {"delta_difference", "phi_difference"}
    assert "different-totals" in [warning.code for warning in result.warnings]
    assert result.summary["rows"] is None


def test_a_run_without_one_class_has_no_place_and_is_left_out_of_the_mean() -> None:
    runs = RUNS | {("a", "4"): Cells(5, 0, 5, 0), ("b", "4"): Cells(6, 0, 4, 0)}
    result = over_runs(runs)
    assert [row["runs"] for row in result.tables["run_spread"]] == [3, 3]
    lone = [dict(row) for row in result.tables["runs"] if row["run"] == "4"]
    assert {reasons(row)["delta"] for row in lone} == {"no_negative_truth"}
    assert value(rows_of(result, "run_spread")["a"], "delta_mean") == pytest.approx(1.6 / 3)


def test_a_run_left_out_of_the_mean_is_said() -> None:
    """Four runs are in the table and the mean is over three: nobody would see that."""
    runs = RUNS | {("a", "4"): Cells(5, 0, 5, 0), ("b", "4"): Cells(6, 0, 4, 0)}
    plain, result = over_runs(), over_runs(runs)
    assert {w.code for w in result.warnings} > {w.code for w in plain.warnings}
