"""The spline of a calibration curve and its distances from the diagonal, by statsmodels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

import clfeval
from clfeval.arrays import Counts, Floats
from clfeval.measures.calibration_spline import (
    curve_values,
    distance_quantile,
    fit_spline,
    ici,
    row_quantiles,
)
from clfeval.measures.logistic import log_odds
from tests.results import rows_by, value_of

SCORES = Path(__file__).parents[2] / "fixtures/breast-cancer/scores.csv"


def svm_rows() -> tuple[Floats, Floats]:
    """Return scores and truth of the model svm, 285 rows with 106 positives."""
    rows = pl.read_csv(SCORES).sort("svm")
    return rows["svm"].to_numpy(), (rows["truth"] == "malignant").to_numpy().astype(float)


def counts_of(scores: Floats, truth: Floats) -> tuple[Counts, Counts, Counts]:
    distinct, first = np.unique(scores, return_index=True)
    return distinct, np.add.reduceat(truth, first), np.add.reduceat(1 - truth, first)


def harrell(x: Floats, quantiles: Sequence[float]) -> Floats:
    """Return the design of Harrell's restricted cubic spline, written out from the book."""
    knots = np.quantile(x, quantiles)
    first, penultimate, last = knots[0], knots[-2], knots[-1]
    columns = [np.ones(len(x)), x]
    for knot in knots[:-2]:
        term = np.maximum(x - knot, 0) ** 3
        term -= np.maximum(x - penultimate, 0) ** 3 * (last - knot) / (last - penultimate)
        term += np.maximum(x - last, 0) ** 3 * (penultimate - knot) / (last - penultimate)
        columns.append(term / (last - first) ** 2)
    return np.column_stack(columns)


def test_distances_of_five_knots_are_the_published_ones() -> None:
    """ICI, E50, E90 and Emax of svm by statsmodels, 7 digits."""
    counts = counts_of(*svm_rows())
    quantiles = [float(distance_quantile(q, *counts, knots=5)) for q in (0.5, 0.9, 1)]
    expected = [0.0219873, 0.0072303, 0.0476226, 0.1478813]
    assert [float(ici(*counts, knots=5)), *quantiles] == pytest.approx(expected, abs=6e-8)


@pytest.mark.parametrize(
    ("knots", "quantiles"), [(5, (0.05, 0.275, 0.5, 0.725, 0.95)), (3, (0.1, 0.5, 0.9))]
)
def test_the_spline_is_that_of_statsmodels(knots: int, quantiles: Sequence[float]) -> None:
    scores, truth = svm_rows()
    fitted = sm.GLM(
        truth, harrell(np.log(scores / (1 - scores)), quantiles), family=sm.families.Binomial()
    ).fit(tol=1e-14)
    distinct, *counts = counts_of(scores, truth)
    curve = fit_spline(log_odds(distinct), *counts, knots=knots)
    assert curve.coefficients == pytest.approx(fitted.params, rel=1e-7)
    assert np.linalg.inv(curve.curvature) == pytest.approx(fitted.cov_params(), rel=1e-6)
    values = curve_values(distinct, *counts, knots=knots)
    assert values[np.searchsorted(distinct, scores)] == pytest.approx(fitted.mu, abs=1e-9)


def test_the_report_has_the_distances_of_three_knots() -> None:
    """106 rows of the rarer class give three knots."""
    scores, truth = svm_rows()
    design = harrell(np.log(scores / (1 - scores)), (0.1, 0.5, 0.9))
    fitted = sm.GLM(truth, design, family=sm.families.Binomial()).fit(tol=1e-14).mu
    distances = np.abs(fitted - scores)
    expected = [distances.mean(), *np.quantile(distances, (0.5, 0.9))]
    names = ["ici", "e50", "e90"]
    result = clfeval.report(SCORES, positive="malignant", measure=names, model=["svm"])
    rows = rows_by(result, "measures", "measure")
    assert [value_of(rows[name]["value"]) for name in names] == pytest.approx(expected, abs=1e-9)
    for name in names:
        assert rows[name]["value"].low is None
        assert 0 < rows[name]["calibrated_mean"] < rows[name]["calibrated_high"]


@pytest.mark.parametrize(("rarer", "parameters"), [(49, 2), (50, 3), (199, 3), (200, 5)])
def test_knots_depend_on_the_rows_of_the_rarer_class(rarer: int, parameters: int) -> None:
    """Five knots have three cubic terms, three knots have one."""
    x = np.linspace(-3, 3, 1000)
    positives = np.zeros(1000)
    positives[np.linspace(100, 999, rarer).astype(int)] = 1
    curve = fit_spline(x, positives, 1 - positives)
    assert len(curve.coefficients) == {2: 2, 3: 3, 5: 5}[parameters]
    weighed = fit_spline(x, 7 * positives, 7 * (1 - positives), row=7)
    assert weighed.coefficients == pytest.approx(curve.coefficients, rel=1e-6, abs=1e-9)


def test_few_levels_have_their_share_of_positives() -> None:
    """Of three levels .8, .9, .95 with 6 of 10, 8 of 10, 20 of 20: gaps .2, .1, .05."""
    counts = np.array([0.8, 0.9, 0.95]), np.array([6, 8, 20]), np.array([4, 2, 0])
    assert curve_values(*counts).tolist() == [0.6, 0.8, 1.0]
    assert float(ici(*counts)) == pytest.approx((10 * 0.2 + 10 * 0.1 + 20 * 0.05) / 40)
    assert float(distance_quantile(0.5, *counts)) == pytest.approx(0.075)  # rows 20 and 21 of 40


def test_scores_of_0_and_1_are_outside_the_fit() -> None:
    scores, truth = svm_rows()
    distinct, positives, negatives = counts_of(scores, truth)
    wider = np.concatenate([[0.0], distinct, [1.0]])
    with_ends = (np.concatenate([[1], positives, [7]]), np.concatenate([[3], negatives, [1]]))
    values = curve_values(wider, *with_ends)
    assert values[1:-1] == pytest.approx(curve_values(distinct, positives, negatives), abs=1e-9)
    assert values[[0, -1]].tolist() == [0.25, 0.875]


def test_separated_and_single_classes() -> None:
    """The limit of the likelihood has no distance but that of scores from 0 and 1."""
    scores = np.linspace(0.02, 0.98, 40)
    truth = scores > 0.5
    distances = np.minimum(scores, 1 - scores).mean()
    assert float(ici(scores, truth * 1, ~truth * 1)) == pytest.approx(distances, abs=1e-6)
    assert np.isnan(ici(scores, np.ones(40), np.zeros(40)))


def test_the_fit_of_separated_classes_is_that_of_weights_in_any_unit() -> None:
    """Its last steps have gradients as small as the rounding of the fitted rows."""
    x = log_odds(np.linspace(0.08, 0.94, 44))
    weights = np.random.default_rng(1).choice([0.5, 1.25, 2, 3.75, 7], 44)
    truth = x > 0
    fits = [
        fit_spline(x, unit * weights * truth, unit * weights * ~truth, unit, knots=0)
        for unit in (1, 1 / 3, 7, 1000)
    ]
    for fit in fits[1:]:
        assert fit.coefficients == pytest.approx(fits[0].coefficients, rel=1e-10)


def test_quantiles_over_rows_are_those_of_numpy() -> None:
    """Of tables of the same values, and of values of their own; values without rows are none."""
    rng = np.random.default_rng(3)
    values, rows = np.sort(rng.random((4, 30))), rng.integers(0, 6, (4, 30))
    rows[1, -2:], rows[2, :2] = 0, 0
    shares = np.array([0.0, 0.01, 0.275, 0.5, 0.95, 1.0])
    for ascending in (values, values[0]):
        values_of_tables = np.broadcast_to(ascending, rows.shape)
        expected = [
            np.quantile(np.repeat(table_values, table_rows), shares)
            for table_values, table_rows in zip(values_of_tables, rows, strict=True)
        ]
        for scale in (1, 3):
            quantiles = row_quantiles(ascending, scale * rows, shares, scale)
            assert quantiles == pytest.approx(np.array(expected), abs=1e-12)


def test_curves_of_many_tables_are_those_of_each_alone() -> None:
    """Tables with other rows at the same scores have knots of their own, five, three or none."""
    rng = np.random.default_rng(4)
    scores = np.sort(rng.random(300))
    rows = rng.multinomial(np.array([40, 150, 300, 900, 900])[:, None], np.full(300, 1 / 300))
    rows = rows.reshape(5, 300)
    positives = rng.binomial(rows, scores)
    tables = [curve_values(scores, k, n - k) for k, n in zip(positives, rows, strict=True)]
    assert curve_values(scores, positives, rows - positives) == pytest.approx(np.array(tables))
    quantiles = distance_quantile(0.9, scores, positives, rows - positives)
    expected = [
        distance_quantile(0.9, scores, k, n - k) for k, n in zip(positives, rows, strict=True)
    ]
    assert quantiles == pytest.approx(np.array(expected))
