"""Several runs of the same models: mean, spread, covariance, and how bias and variance read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.methods.phidelta.byhand import Cells, reasons
from tests.results import (
    Line,
    limits_of,
    rows_by,
    rows_of,
    sentences_by_code,
    value_of,
    warning_codes,
    warning_messages,
)
from tests.texts import check_text, numbers_in

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
Tables = dict[tuple[str, str], Cells]


def result_of_counts(runs: Tables = RUNS, **options: Any) -> Result:
    """Read the runs as a table of counts."""
    lines = [(m, r, c.tp, c.fp, c.fn, c.tn) for (m, r), c in runs.items()]
    columns = ["model", "fold", "tp", "fp", "fn", "tn"]
    return clfeval.phidelta(pl.DataFrame(lines, columns, orient="row"), run="fold", **options)


def result_of_folds(runs: Tables = RUNS, **options: Any) -> Result:
    """Read the runs as predictions of rows of their own."""
    parts = []
    for run in dict.fromkeys(run for _, run in runs):
        cells = {model: c for (model, name), c in runs.items() if name == run}
        (p, n), *_ = {(c.positives, c.negatives) for c in cells.values()}
        labels = {m: [1] * c.tp + [0] * c.fn + [1] * c.fp + [0] * c.tn for m, c in cells.items()}
        parts.append(pl.DataFrame({"fold": run, "truth": [1] * p + [0] * n, **labels}))
    return clfeval.phidelta(pl.concat(parts).with_row_index("id"), run="fold", **options)


def spread_by_model(result: Result) -> dict[str, Line]:
    """Return the rows of the table `run_spread` by model."""
    return rows_by(result, "run_spread", "model")


def comparisons_of_runs(result: Result) -> dict[tuple[str, str, str], Line]:
    """Return the comparisons over runs by measure, model and reference."""
    rows = rows_by(result, "comparisons", "measure", "model", "reference")
    assert {row["against"] for row in rows.values()} == {"run"}
    return rows


def test_each_run_is_a_point() -> None:
    rows = rows_by(result_of_counts(), "runs", "model", "run")
    assert list(rows) == list(RUNS)
    for (model, run), row in rows.items():
        phi, delta = PHI[model][int(run) - 1], DELTA[model][int(run) - 1]
        assert value_of(row["phi"]) == pytest.approx(phi, abs=1e-15)
        assert value_of(row["delta"]) == pytest.approx(delta, abs=1e-15)
        assert value_of(row["accuracy_u"]) == pytest.approx((1 + delta) / 2)
        low, high = limits_of(row["delta"])
        assert low < delta < high


@pytest.mark.parametrize("read", [result_of_counts, result_of_folds], ids=["counted", "folds"])
def test_mean_spread_and_covariance_against_numpy(read: Any) -> None:
    for model, row in spread_by_model(read()).items():
        phi, delta = PHI[model], DELTA[model]
        assert row["runs"] == 3
        assert value_of(row["phi_mean"]) == pytest.approx(np.mean(phi), abs=1e-15)
        assert value_of(row["delta_mean"]) == pytest.approx(np.mean(delta))
        assert value_of(row["accuracy_u_mean"]) == pytest.approx((1 + np.mean(delta)) / 2)
        assert row["phi_sd"] == pytest.approx(np.std(phi, ddof=1))
        assert row["delta_sd"] == pytest.approx(np.std(delta, ddof=1))
        assert row["covariance"] == pytest.approx(np.cov(phi, delta)[0, 1], abs=1e-15)
        assert row["accuracy_u_sd"] == pytest.approx(np.std(delta, ddof=1) / 2)


def test_the_reading_of_bias_and_variance() -> None:
    rows = spread_by_model(result_of_counts())
    assert rows["a"]["bias"] == "low"  # mean phi 0
    assert rows["b"]["bias"] == "towards negative"  # mean phi -.2
    assert rows["a"]["variance"] == rows["b"]["variance"] == "high"  # spread above .1
    tight = {("m", str(i)): Cells(900 + i, 100, 100 - i, 900) for i in range(4)}
    row = spread_by_model(result_of_counts(tight))["m"]
    assert (row["bias"], row["variance"]) == ("low", "low")
    biased = {("m", str(i)): Cells(900 + i, 300, 100 - i, 700) for i in range(4)}
    assert spread_by_model(result_of_counts(biased))["m"]["bias"] == "towards positive"


def test_counts_have_means_without_limits_and_that_is_said() -> None:
    result = result_of_counts()
    for row in spread_by_model(result).values():
        assert row["delta_mean"] == Estimate(value_of(row["delta_mean"]))
        assert row["method"] == "none"
    row = comparisons_of_runs(result)["delta", "a", "b"]
    assert row["p"] is row["p_adjusted"] is None
    assert value_of(row["difference"]) == pytest.approx(np.mean(DELTA["a"]) - np.mean(DELTA["b"]))
    (note,) = warning_messages(result, "runs-dependent")
    check_text([note, result.answer[1].text])


def test_folds_have_the_corrected_resampled_t_test_by_arithmetic() -> None:
    """b - a: delta -.1 -.1 -.2, mean -2/15, s² = 1/300; of 90 rows 30 are in a fold, 60 not.

    The variance of the mean is (1/3 + 1/2) / 300 = 1/360, t = -(2/15) sqrt(360) with df 2, and
    with two degrees of freedom P(|T| > t) = 1 - t / sqrt(2 + t²).
    """
    result = result_of_folds(reference="a")
    row = comparisons_of_runs(result)["delta", "b", "a"]
    t = (2 / 15) * math.sqrt(360)
    assert row["rows"] == 3
    assert row["p"] == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-9)
    assert row["p_adjusted"] == row["p"]
    assert value_of(row["difference"]) == pytest.approx(-2 / 15)
    reach = stats.t.ppf(0.975, 2) * math.sqrt(1 / 360)
    expected = (-2 / 15 - reach, -2 / 15 + reach)
    assert limits_of(row["difference"]) == pytest.approx(expected, rel=1e-9)
    # phi: -.1, .1, -.6; its mean is -.2 and its variance .13
    reach = stats.t.ppf(0.975, 2) * math.sqrt((1 / 3 + 1 / 2) * 0.13)
    limits = limits_of(comparisons_of_runs(result)["phi", "b", "a"]["difference"])
    assert limits == pytest.approx((-0.2 - reach, -0.2 + reach), rel=1e-9)
    assert "runs-dependent" not in warning_codes(result)
    check_text(result.answer[1].text)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_means_of_folds_have_the_corrected_interval_within_the_range(level: float) -> None:
    for model, row in spread_by_model(result_of_folds(level=level)).items():
        for name, values in (("phi", PHI[model]), ("delta", DELTA[model])):
            error = np.std(values, ddof=1) * math.sqrt(1 / 3 + 1 / 2)
            low, high = stats.t.interval(level, 2, loc=np.mean(values), scale=error)
            expected = max(low, -1.0), min(high, 1.0)
            assert limits_of(row[f"{name}_mean"]) == pytest.approx(expected, rel=1e-9)
        low, high = limits_of(row["delta_mean"])
        half = (1 + low) / 2, (1 + high) / 2
        assert limits_of(row["accuracy_u_mean"]) == pytest.approx(half, rel=1e-9)


def test_all_pairs_without_a_reference_and_all_against_one_with() -> None:
    runs = RUNS | {("c", run): Cells(5, 5, 5, 15) for run in "123"}
    result = result_of_folds(runs)
    pairs = [key[1:] for key in comparisons_of_runs(result) if key[0] == "delta"]
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    assert 3 in numbers_in(result.answer[1].text)
    check_text(result.answer[1].text)
    rows = comparisons_of_runs(result_of_folds(runs, reference="b"))
    assert [key[1:] for key in rows if key[0] == "delta"] == [("a", "b"), ("c", "b")]
    turned = comparisons_of_runs(result_of_folds(runs, reference="a"))["delta", "b", "a"]
    low, high = limits_of(turned["difference"])
    assert limits_of(rows["delta", "a", "b"]["difference"]) == pytest.approx((-high, -low))
    assert rows["delta", "a", "b"]["p"] == pytest.approx(turned["p"])


def test_identical_models_have_an_interval_around_0_by_the_rows_of_a_run() -> None:
    """Of 40 rows a run, 20 a class, no row differs: 2 (1 - .025**(1/40)) at most."""
    equal = {(model, run): Cells(12, 5, 8, 15) for model in "ab" for run in "123"}
    row = comparisons_of_runs(result_of_folds(equal, reference="a"))["delta", "b", "a"]
    assert (value_of(row["difference"]), row["p"]) == (0, 1)
    reach = 2 * (1 - 0.025 ** (1 / 40))
    assert limits_of(row["difference"]) == pytest.approx((-reach, reach))
    assert spread_by_model(result_of_folds(equal))["a"]["variance"] == "low"


def test_a_single_run_has_a_place_and_no_spread() -> None:
    result = result_of_counts({key: cells for key, cells in RUNS.items() if key[1] == "2"})
    row = spread_by_model(result)["a"]
    assert (row["runs"], value_of(row["delta_mean"])) == (1, 0.5)
    names = ("phi_sd", "delta_sd", "covariance", "accuracy_u_sd", "bias", "variance")
    assert all(row[name] is None for name in names)


def test_runs_with_different_models_are_compared_over_those_they_share() -> None:
    runs = {key: cells for key, cells in RUNS.items() if key != ("b", "2")}
    runs |= {("c", "4"): Cells(5, 4, 5, 16)}
    result = result_of_counts(runs)
    assert [row["runs"] for row in result.tables["run_spread"]] == [3, 2, 1]
    rows = comparisons_of_runs(result)
    # runs 1 and 3: .6 - .5 and .5 - .3
    row = rows["delta", "a", "b"]
    assert (row["rows"], value_of(row["difference"])) == (2, pytest.approx(0.15))
    row = rows["delta", "a", "c"]
    assert (row["rows"], row["p"], reasons(row)["difference"]) == (0, None, "too_few_rows")
    assert "different-totals" in warning_codes(result)
    assert result.summary["rows"] is None


def test_a_run_without_one_class_has_no_place_and_is_left_out_of_the_mean() -> None:
    runs = RUNS | {("a", "4"): Cells(5, 0, 5, 0), ("b", "4"): Cells(6, 0, 4, 0)}
    result = result_of_counts(runs)
    assert [row["runs"] for row in result.tables["run_spread"]] == [3, 3]
    fourth = rows_of(result, "runs", run="4")
    assert {reasons(row)["delta"] for row in fourth} == {"no_negative_truth"}
    assert value_of(spread_by_model(result)["a"]["delta_mean"]) == pytest.approx(1.6 / 3)
    (note,) = warning_messages(result, "runs-left-out")
    assert numbers_in(note) == [4]
    check_text(note)


def test_the_answer_names_the_largest_mean_and_who_is_biased() -> None:
    biased = {("b", str(i)): Cells(18, 13 + i, 2, 7 - i) for i in range(3)}
    runs = biased | {("a", str(i)): Cells(16 - i, 4, 4 + i, 16) for i in range(3)}
    by_code = sentences_by_code(result_of_folds(runs))
    assert by_code["best"].models == ("a",)
    assert {3, 0.55, 0.05} <= {*numbers_in(by_code["best"].text)}
    # phi of b is .9 + .65 + .05 i - 1: mean .6, its limits above a tenth
    assert by_code["biased-positive"].models == ("b",)
    tied = {
        (model, str(i)): Cells(9 - (i + j) % 2, 4, 1 + (i + j) % 2, 16)
        for j, model in enumerate("ab")
        for i in range(2)
    }
    assert result_of_counts(tied).answer[0].models == ("a", "b")
    single = result_of_counts({("m", "1"): Cells(5, 0, 5, 0), ("m", "2"): Cells(6, 0, 4, 0)})
    check_text(
        result.answer[0].text for result in (result_of_folds(runs), result_of_counts(tied), single)
    )
