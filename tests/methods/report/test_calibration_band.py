"""The calibration curve with its bands: values, coverage, levels, clusters and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.stats import beta, chi2, norm

import clfeval
from clfeval.arrays import Floats
from clfeval.measures.calibration_spline import fit_spline
from clfeval.measures.isotonic import isotonic_shares
from clfeval.methods.report.curve_limits import coefficient_covariance, spline_limits
from tests.measures.test_calibration_spline import harrell
from tests.results import Line, rows_of
from tests.samples import logistic

SCORES = Path(__file__).parents[3] / "fixtures/breast-cancer/scores.csv"


def band_rows(table: Any, **options: Any) -> list[Line]:
    return rows_of(clfeval.report(table, **options), "calibration_band")


def test_curve_and_bands_are_those_of_statsmodels() -> None:
    """Three knots, for 106 rows of the rarer class; the joint band has sqrt(chi² of 3)."""
    table = pl.read_csv(SCORES).sort("svm")
    scores, truth = table["svm"].to_numpy(), (table["truth"] == "malignant").to_numpy()
    rows = band_rows(SCORES, positive="malignant", model=["svm"])
    grid = np.array([row["score"] for row in rows])
    assert grid[[0, -1]] == pytest.approx(np.quantile(scores, (0.01, 0.99)))
    assert sum(row["rows"] for row in rows) == 285
    log_odds = np.log(scores / (1 - scores))
    fitted = sm.GLM(truth, harrell(log_odds, (0.1, 0.5, 0.9)), family=sm.families.Binomial()).fit(
        tol=1e-14
    )
    both = np.concatenate([log_odds, np.log(grid / (1 - grid))])
    knots = np.quantile(log_odds, (0.1, 0.5, 0.9))
    design = design_at(both[285:], knots)
    center = design @ fitted.params
    error = np.sqrt(np.einsum("gq,qr,gr->g", design, fitted.cov_params(), design))
    for name, factor in (
        ("curve", 0.0),
        ("low", -norm.ppf(0.975)),
        ("high", norm.ppf(0.975)),
        ("low_all", -np.sqrt(chi2.ppf(0.95, 3))),
        ("high_all", np.sqrt(chi2.ppf(0.95, 3))),
    ):
        expected = 1 / (1 + np.exp(-center - factor * error))
        assert [row[name] for row in rows] == pytest.approx(expected, abs=1e-6)


def design_at(x: Floats, knots: Floats) -> Floats:
    """Return the design of three given knots, written out."""
    first, middle, last = knots
    term = np.maximum(x - first, 0) ** 3
    term -= np.maximum(x - middle, 0) ** 3 * (last - first) / (last - middle)
    term += np.maximum(x - last, 0) ** 3 * (middle - first) / (last - middle)
    return np.column_stack([np.ones(len(x)), x, term / (last - first) ** 2])


def test_isotonic_values_are_those_of_scikit_learn() -> None:
    """Eight blocks; .1, .5 and .9 have 1/6, .625 and 1, linear between the steps."""
    table = pl.read_csv(SCORES).sort("svm")
    truth = (table["truth"] == "malignant").to_numpy()
    distinct, first = np.unique(table["svm"].to_numpy(), return_index=True)
    blocks = isotonic_shares(
        distinct, np.add.reduceat(truth * 1, first), np.add.reduceat(~truth * 1, first)
    )
    assert len(blocks.shares) == 8
    ends = np.column_stack([blocks.starts, blocks.stops - 1]).ravel()
    values = np.interp([0.1, 0.5, 0.9], distinct[ends], np.repeat(blocks.shares, 2))
    assert values == pytest.approx([1 / 6, 0.625, 1], abs=1e-12)


def test_few_levels_have_exact_limits() -> None:
    """Verbalised confidences: 6 of 10, 16 of 20, 29 of 30; for three jointly at 1 - .05 / 3."""
    cells = [(0.8, 6, 10), (0.9, 16, 20), (0.95, 29, 30)]
    table = pl.DataFrame(
        [{"truth": int(i < hits), "m": score} for score, hits, rows in cells for i in range(rows)]
    )
    rows = band_rows(table, positive="1")
    assert [(row["score"], row["rows"]) for row in rows] == [(p, n) for p, _, n in cells]
    for row, (_, hits, n) in zip(rows, cells, strict=True):
        assert row["curve"] == pytest.approx(hits / n)
        for suffix, tail in (("", 0.025), ("_all", 0.05 / 6)):
            expected = beta.ppf(tail, hits, n - hits + 1), beta.ppf(1 - tail, hits + 1, n - hits)
            found = row[f"low{suffix}"], row[f"high{suffix}"]
            assert found == pytest.approx(expected, abs=1e-9)


def test_the_consistency_band_is_around_the_diagonal() -> None:
    """200 rows at each of 5 levels, far apart: the binomial quantiles of 200 rows, /200."""
    rng = np.random.default_rng(3)
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    scores = np.repeat(levels, 200)
    table = pl.DataFrame({"truth": (rng.random(1000) < scores).astype(int), "m": scores})
    for row in band_rows(table, positive="1"):
        error = 1.96 * np.sqrt(row["score"] * (1 - row["score"]) / 200)
        assert row["consistency_low"] == pytest.approx(row["score"] - error, abs=0.012)
        assert row["consistency_high"] == pytest.approx(row["score"] + error, abs=0.012)


def test_clusters_of_copies_have_the_band_of_rows_and_too_few_have_none() -> None:
    """Each row in its own cluster, or four copies of it, nearly have the band of the rows."""
    rng = np.random.default_rng(6)
    scores = rng.random(1000)
    truth = (rng.random(1000) < scores).astype(int)
    table = pl.DataFrame({"truth": truth, "m": scores, "who": np.arange(1000)})
    plain = band_rows(table.drop("who"), positive="1")
    single = band_rows(table, positive="1", cluster="who")
    copies = band_rows(pl.concat([table] * 4), positive="1", cluster="who")
    few = band_rows(table.with_columns(pl.col("who") % 4), positive="1", cluster="who")

    def width(rows: list[Line]) -> Floats:
        return np.array([row["high"] - row["low"] for row in rows])

    assert np.median(width(single) / width(plain)) == pytest.approx(1, abs=0.1)
    assert np.median(width(copies) / width(single)) == pytest.approx(1, abs=0.1)
    assert {row["low"] for row in few} == {None}
    assert {row["consistency_low"] for row in single} == {None}


def test_weights_that_are_copies_give_the_band_of_copies() -> None:
    rng = np.random.default_rng(2)
    scores = np.round(rng.random(300), 3)
    truth = (rng.random(300) < scores).astype(int)
    rows = pl.DataFrame({"truth": truth, "m": scores, "n": rng.integers(1, 4, 300)})
    copies = rows.select(pl.col("truth", "m").repeat_by("n").explode())
    weighed, copied = (
        band_rows(table, positive="1", **options)
        for table, options in ((rows, {"weight": "n"}), (copies, {}))
    )
    names = ("score", "curve", "low", "high_all", "isotonic")
    for one, other in zip(weighed, copied, strict=True):
        assert [one[name] for name in names] == pytest.approx([other[name] for name in names])


@pytest.mark.slow
@pytest.mark.parametrize("rows", [200, 1000])
@pytest.mark.parametrize(("center", "spread"), [(0.0, 1.0), (-2.0, 1.2)])
def test_the_joint_band_leaves_the_diagonal_in_few_calibrated_tables(
    rows: int, center: float, spread: float
) -> None:
    """At most 6 % of 1,000 tables, with three standard errors: 8.2 %."""
    rng = np.random.default_rng(rows)
    misses = 0
    for _ in range(1000):
        x = np.sort(rng.normal(center, spread, rows))
        truth = (rng.random(rows) < logistic(x)) * 1.0
        fit = fit_spline(x, truth, 1 - truth)
        covariance, df = coefficient_covariance(fit, x, truth, 1 - truth, 1, None)
        grid = np.linspace(*np.quantile(x, (0.01, 0.99)), 41)
        limits = spline_limits(fit, grid, covariance, 0.95, df)
        scores = logistic(grid)
        misses += bool(((limits.low_all > scores) | (limits.high_all < scores)).any())
    assert misses / 1000 <= 0.082
