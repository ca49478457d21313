"""Calibrators agree with statsmodels, scikit-learn and published values."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from clfeval.counts.scores import ScoreCounts
from clfeval.measures.calibrators import (
    IDENTITY,
    LOG_ODDS_METHODS,
    Calibrator,
    LogOddsCalibrator,
    LogOddsMethod,
    StepCalibrator,
    fit_isotonic,
    fit_log_odds,
)
from clfeval.measures.logistic_regression import fit_finite_logistic
from clfeval.measures.ranking import roc_auc
from clfeval.measures.venn_abers import VennAbersCalibrator

# of column svm of the breast-cancer table, to the digits that were published with the methods
PUBLISHED: dict[LogOddsMethod, tuple[float, float, float]] = {
    "none": (0.0, 1.0, 1.0),
    "temperature": (0.0, 1 / 0.9219698086, 1 / 0.9219698086),
    "logistic": (0.63911125, 1.20433455, 1.20433455),
    "beta": (-0.22546181, 0.91721884, 1.95214753),
}
PUBLISHED_STEPS = {0.1: 0.16666667, 0.5: 0.625, 0.9: 1.0}


def svm() -> tuple[Any, Any]:
    """Return the scores of svm in the breast-cancer table and the truth."""
    table = pl.read_csv("fixtures/breast-cancer/scores.csv")
    return table["svm"].to_numpy(), (table["truth"] == "malignant").to_numpy()


def random_rows(seed: int, rows: int = 400) -> tuple[Any, Any]:
    """Return scores with ties, of slope 0.6, and the truth."""
    dice = np.random.default_rng(seed)
    x = dice.normal(-0.5, 1.5, rows)
    p = np.clip(np.round(expit(x), 2), 0.01, 0.99)
    return p, dice.random(rows) < expit(0.4 + 0.6 * logit(p))


def fitted(method: LogOddsMethod, p: Any, y: Any) -> LogOddsCalibrator:
    """Return the calibrator of rows by one method."""
    counts = ScoreCounts.from_rows(p, y, None)
    row = fit_log_odds(method, counts.scores, counts.positives[None], counts.negatives[None])[0]
    return LogOddsCalibrator(*row.tolist())


@pytest.mark.parametrize("method", PUBLISHED)
def test_parameters_are_the_published_ones(method: LogOddsMethod) -> None:
    calibrator = fitted(method, *svm())
    found = (calibrator.intercept, calibrator.power, calibrator.complement_power)
    assert found == pytest.approx(PUBLISHED[method], abs=6e-9)


@pytest.mark.parametrize("seed", range(4))
def test_parameters_are_those_of_a_generalized_linear_model(seed: int) -> None:
    p, y = random_rows(seed)
    x = logit(p)
    ones = np.ones(len(p))
    logistic = sm.GLM(y, np.column_stack([ones, x]), family=sm.families.Binomial()).fit(tol=1e-13)
    beta_columns = np.column_stack([ones, np.log(p), -np.log1p(-p)])
    beta = sm.GLM(y, beta_columns, family=sm.families.Binomial()).fit(tol=1e-13)
    shift = sm.GLM(y, ones, family=sm.families.Binomial(), offset=x).fit(tol=1e-13)
    slope = sm.GLM(y, x, family=sm.families.Binomial()).fit(tol=1e-13)
    a, b = logistic.params
    expected = {
        "shift": (shift.params[0], 1, 1),
        "temperature": (0, slope.params[0], slope.params[0]),
        "logistic": (a, b, b),
        "beta": tuple(beta.params),
    }
    for method in LOG_ODDS_METHODS[1:]:
        calibrator = fitted(method, p, y)
        found = (calibrator.intercept, calibrator.power, calibrator.complement_power)
        assert found == pytest.approx(expected[method], abs=1e-9), method


def test_a_temperature_minimises_the_log_loss() -> None:
    p, y = random_rows(9)

    def log_loss(temperature: float) -> float:
        q = expit(logit(p) / temperature)
        return float(-np.mean(np.where(y, np.log(q), np.log1p(-q))))

    best = minimize_scalar(log_loss, bounds=(0.2, 5), method="bounded", options={"xatol": 1e-10})
    assert 1 / fitted("temperature", p, y).power == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_negative_powers_of_beta_are_zero_and_the_rest_is_refitted(seed: int) -> None:
    """Where the truth falls with the score near 1, the free fit has a negative power there."""
    dice = np.random.default_rng([3, seed])
    p = np.round(dice.uniform(0.02, 0.98, 600), 3)
    y = dice.random(600) < expit(1 + 2 * np.log(p) + 0.8 * np.log1p(-p))
    columns = np.column_stack([np.ones(600), np.log(p), -np.log1p(-p)])
    free = sm.GLM(y, columns, family=sm.families.Binomial()).fit(tol=1e-13).params
    assert free[2] < 0
    rest = sm.GLM(y, columns[:, :2], family=sm.families.Binomial()).fit(tol=1e-13).params
    calibrator = fitted("beta", p, y)
    assert calibrator.complement_power == 0
    assert (calibrator.intercept, calibrator.power) == pytest.approx(tuple(rest), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_isotonic_steps_without_prior_are_those_of_scikit_learn(seed: int) -> None:
    p, y = random_rows(seed)
    counts = ScoreCounts.from_rows(p, y, None)
    calibrator = fit_isotonic(counts.scores, counts.positives, counts.negatives, prior_rows=0)
    other = IsotonicRegression(out_of_bounds="clip").fit(p, y)
    places = np.linspace(0, 1, 501)
    assert calibrator.calibrate(places) == pytest.approx(other.predict(places), abs=1e-12)


def test_isotonic_steps_are_the_published_ones() -> None:
    p, y = svm()
    counts = ScoreCounts.from_rows(p, y, None)
    calibrator = fit_isotonic(counts.scores, counts.positives, counts.negatives, prior_rows=0)
    assert len({*calibrator.recalibrated.tolist()}) == 8
    found = calibrator.calibrate(np.array([*PUBLISHED_STEPS]))
    assert found == pytest.approx([*PUBLISHED_STEPS.values()], abs=5e-9)


def test_a_prior_row_draws_each_step_to_the_prevalence() -> None:
    """Two blocks: 0 of 3 rows, and 2 of 2; prevalence 2 / 5."""
    scores = np.array([0.1, 0.2, 0.3, 0.8, 0.9])
    positives = np.array([0, 0, 0, 1, 1])
    calibrator = fit_isotonic(scores, positives, 1 - positives)
    assert calibrator.probabilities.tolist() == [0.1, 0.3, 0.8, 0.9]
    low, high = (0 + 2 / 5) / (3 + 1), (2 + 2 / 5) / (2 + 1)
    assert calibrator.recalibrated == pytest.approx([low, low, high, high], abs=1e-15)
    assert calibrator.calibrate(np.array([0.55])) == pytest.approx([(low + high) / 2], abs=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_recalibrated_rows_need_no_recalibration(seed: int) -> None:
    """Of rows recalibrated by the logistic method intercept and slope are 0 and 1."""
    p, y = random_rows(seed)
    again = fitted("logistic", fitted("logistic", p, y).calibrate(p), y)
    assert (again.intercept, again.power) == pytest.approx((0, 1), abs=1e-9)
    for method in ("shift", "logistic"):
        assert fitted(method, p, y).calibrate(p).mean() == pytest.approx(y.mean(), abs=1e-10)


@pytest.mark.parametrize("method", LOG_ODDS_METHODS)
def test_rising_calibrators_keep_the_area_to_the_bit(method: LogOddsMethod) -> None:
    p, y = random_rows(5)
    calibrator = fitted(method, p, y)
    assert calibrator.rises
    areas = [
        roc_auc(counts.scores, counts.positives, counts.negatives)
        for counts in (
            ScoreCounts.from_rows(p, y, None),
            ScoreCounts.from_rows(calibrator.calibrate(p), y, None),
        )
    ]
    assert areas[0] == areas[1]


CALIBRATORS: dict[str, Calibrator] = {
    "logistic": LogOddsCalibrator(0.5, 2.0, 2.0),
    "beta": LogOddsCalibrator(-1.0, 0.5, 3.0),
    "steps": StepCalibrator(np.array([0.2, 0.4]), np.array([0.1, 0.7])),
    "venn-abers": VennAbersCalibrator(
        np.array([0.3]), np.array([0, 0.1, 0.2]), np.array([0.4, 0.6, 1])
    ),
}


@pytest.mark.parametrize("name", CALIBRATORS)
def test_extreme_scores_stay_in_range_and_in_order(name: str) -> None:
    p = np.array([0, 5e-324, 1e-300, 2.0**-53, 0.3, 1 - 2.0**-53, 1])
    q = CALIBRATORS[name].calibrate(p)
    assert ((q >= 0) & (q <= 1)).all()
    assert (np.diff(q) >= 0).all()


def test_scores_of_zero_and_one_stay_by_methods_on_log_odds() -> None:
    for name in ("logistic", "beta"):
        assert CALIBRATORS[name].calibrate([0.0, 1.0]).tolist() == [0, 1]
    assert CALIBRATORS["steps"].calibrate([0.0, 1.0]).tolist() == [0.1, 0.7]


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_other_numbers_are_refused(bad: float) -> None:
    for calibrator in CALIBRATORS.values():
        with pytest.raises(ValueError, match="between 0 and 1"):
            calibrator.calibrate([0.5, bad])


NO_FIT = {  # scores, truth, methods without a maximum
    "one class": ([0.2, 0.4, 0.6], [1, 1, 1], ("shift", "temperature", "logistic", "beta")),
    "equal scores": ([0.4, 0.4, 0.4], [0, 1, 1], ("logistic", "beta")),
    "separated": ([0.1, 0.3, 0.6, 0.8], [0, 0, 1, 1], ("temperature", "logistic", "beta")),
    "only 0 and 1": ([0, 0, 1, 1], [0, 1, 0, 1], ("shift", "temperature", "logistic", "beta")),
}


@pytest.mark.parametrize("case", NO_FIT)
def test_there_are_no_parameters_without_a_maximum(case: str) -> None:
    scores, truth, methods = NO_FIT[case]
    counts = ScoreCounts.from_rows(np.array(scores, np.float64), np.array(truth, bool), None)
    for method in LOG_ODDS_METHODS:
        row = fit_log_odds(method, counts.scores, counts.positives[None], counts.negatives[None])
        assert np.isnan(row).all() == (method in methods), method


def test_tables_are_fitted_together_as_each_alone() -> None:
    p, y = random_rows(2)
    counts = ScoreCounts.from_rows(p, y, None)
    dice = np.random.default_rng(0)
    positives = dice.binomial(counts.positives, 0.8, (5, len(counts.scores)))
    negatives = dice.binomial(counts.negatives, 0.8, (5, len(counts.scores)))
    for method in LOG_ODDS_METHODS:
        together = fit_log_odds(method, counts.scores, positives, negatives)
        for row, *table in zip(together, positives, negatives, strict=True):
            alone = fit_log_odds(method, counts.scores, *(part[None] for part in table))[0]
            assert row == pytest.approx(alone, abs=1e-9)


def test_a_far_start_reaches_the_same_maximum() -> None:
    """Log odds of ±36, where Newton's first step from slope 1 goes far beyond the maximum."""
    x = np.array([-36.0, -20, -3, 2, 15, 36])
    positives = np.array([[1, 1, 2, 3, 4, 9]])
    negatives = np.array([[9, 4, 3, 2, 1, 1]])
    slope = fit_finite_logistic(x[None], positives, negatives, start=(1.0,))[0, 0]
    mean = expit(slope * x)
    score = ((positives - (positives + negatives) * mean) * x).sum()
    assert abs(score) < 1e-8
    assert IDENTITY == (0.0, 1.0, 1.0)
