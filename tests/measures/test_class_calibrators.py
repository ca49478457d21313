"""Calibrators of several classes: by hand, by scikit-learn and scipy, and what they leave alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from clfeval.measures.calibrators import fit_log_odds
from clfeval.measures.class_calibrators import (
    OneVsRestCalibrator,
    RelativeLogs,
    TemperatureCalibrator,
    fit_temperatures,
)


def random_rows(seed: int, rows: int = 300, classes: int = 4, power: float = 1.0) -> Any:
    """Return truth and probabilities; the truth has the probabilities to a power."""
    dice = np.random.default_rng([17, seed])
    p = dice.dirichlet(np.full(classes, 0.6), rows).clip(1e-4)
    p /= p.sum(axis=1, keepdims=True)
    chances = p**power / (p**power).sum(axis=1, keepdims=True)
    truth = (chances.cumsum(axis=1) > dice.random((rows, 1))).argmax(axis=1)
    return truth, p


def power_of(truth: Any, p: Any, n: Any = None) -> float:
    """Return the fitted power of one table."""
    counts = np.ones(len(truth)) if n is None else np.asarray(n, np.float64)
    rows = RelativeLogs.from_probabilities(np.asarray(truth), np.asarray(p, np.float64))
    return float(fit_temperatures(rows, counts[None])[0])


def log_likelihood(power: float, truth: Any, p: Any) -> float:
    """Return the log likelihood of rows without zeros."""
    x = power * np.log(p)
    return float((x[np.arange(len(truth)), truth] - np.log(np.exp(x).sum(axis=1))).sum())


def test_temperature_is_a_power_of_each_probability() -> None:
    """Squares of .5, .3 and .2 are .25, .09 and .04, of sum .38; roots of .64 and .36 .8 and .6."""
    squared = TemperatureCalibrator(2.0).calibrate([0.5, 0.3, 0.2])
    assert squared == pytest.approx([0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38])
    root = TemperatureCalibrator(0.5).calibrate([[0.64, 0.36, 0.0]])
    assert root == pytest.approx(np.array([[0.8 / 1.4, 0.6 / 1.4, 0.0]]))


def test_one_against_the_rest_is_logistic_by_class_until_rows_sum_to_1() -> None:
    calibrator = OneVsRestCalibrator(np.array([0.0, 1.0, -0.5]), np.array([1.0, 2.0, 0.5]))
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    alone = expit(calibrator.intercepts + calibrator.powers * logit(p))
    assert calibrator.calibrate(p) == pytest.approx(alone / alone.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="3 classes are calibrated"):
        calibrator.calibrate([0.5, 0.5])


ROWS_THAT_STAY = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    "calibrator",
    [
        TemperatureCalibrator(3.5),
        TemperatureCalibrator(0.1),
        OneVsRestCalibrator(np.array([0.3, -1.0, 2.0]), np.array([0.5, 2.0, 1.5])),
    ],
)
def test_zeros_stay_and_certain_rows_too(calibrator: Any) -> None:
    assert calibrator.calibrate(ROWS_THAT_STAY).tolist() == ROWS_THAT_STAY
    calibrated = calibrator.calibrate([0.0, 0.9, 0.1])
    assert calibrated[0] == 0
    assert calibrated.sum() == pytest.approx(1)
    tiny = calibrator.calibrate([5e-324, 1e-300, 1.0])
    assert np.isfinite(tiny).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        calibrator.calibrate([0.5, 1.5, 0.0])


def test_a_power_of_1_changes_nothing() -> None:
    p = np.array([[0.3333, 0.3333, 0.3333], [0.2, 0.7, 0.0999]])
    assert (TemperatureCalibrator(1.0).calibrate(p) == p).all()


@pytest.mark.parametrize("power", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_power_maximizes_the_likelihood(seed: int, power: float) -> None:
    truth, p = random_rows(seed, power=power)
    found = minimize_scalar(
        lambda b: -log_likelihood(b, truth, p), bounds=(0.01, 20), options={"xatol": 1e-9}
    )
    assert power_of(truth, p) == pytest.approx(found.x, rel=1e-5)
    step = 1e-5  # the slope vanishes
    fitted = power_of(truth, p)
    both = (log_likelihood(fitted + side * step, truth, p) for side in (1, -1))
    assert np.subtract(*both) / (2 * step) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("name", ["logreg", "forest"])
def test_temperatures_are_those_of_scikit_learn_on_digits(name: str) -> None:
    features, digits = load_digits(return_X_y=True)
    models = {
        "logreg": LogisticRegression(C=100, max_iter=5000),
        "forest": RandomForestClassifier(60, min_samples_leaf=5, random_state=0),
    }
    model = models[name].fit(features[:900], digits[:900])
    calibration, test = features[900:1300], features[1300:]
    oracle = CalibratedClassifierCV(FrozenEstimator(model), method="temperature")
    oracle.fit(calibration, digits[900:1300])
    p = model.predict_proba(calibration)
    power = power_of(digits[900:1300], p)
    assert power == pytest.approx(oracle.calibrated_classifiers_[0].calibrators[0].beta_, abs=1e-6)
    q = TemperatureCalibrator(power).calibrate(model.predict_proba(test))
    assert q == pytest.approx(oracle.predict_proba(test), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_have_the_temperature_of_two_classes(seed: int) -> None:
    truth, p = random_rows(seed, classes=2, power=0.7)
    order = np.argsort(p[:, 1])
    positive = (truth[order] == 1).astype(np.float64)
    binary = fit_log_odds("temperature", p[order, 1], positive[None], 1 - positive[None])
    assert power_of(truth, p) == pytest.approx(binary[0, 1], rel=1e-9)


def test_counts_are_copies_of_rows_and_tables_are_fitted_one_by_one() -> None:
    truth, p = random_rows(3, power=1.6)
    dice = np.random.default_rng(0)
    n = dice.integers(0, 4, (12, len(truth)))
    rows = RelativeLogs.from_probabilities(truth, p)
    powers = fit_temperatures(rows, n)
    for power, table in zip(powers, n, strict=True):
        copies = np.repeat(np.arange(len(truth)), table)
        assert power == pytest.approx(power_of(truth[copies], p[copies]), rel=1e-6)


def test_the_order_of_classes_and_the_sum_of_rows_do_not_matter() -> None:
    truth, p = random_rows(4, power=0.5)
    order = np.array([2, 0, 3, 1])
    fitted = power_of(truth, p)
    assert power_of(np.argsort(order)[truth], p[:, order]) == pytest.approx(fitted, rel=1e-9)
    assert power_of(truth, p * np.linspace(0.9, 1, len(p))[:, None]) == pytest.approx(fitted)


def test_rows_whose_class_had_probability_0_fit_nothing() -> None:
    truth, p = random_rows(5, power=0.5)
    lost = np.zeros((7, 4))
    lost[:, :2] = 0.5
    with_lost = power_of([*truth, *[3] * 7], np.vstack([p, lost]))
    assert with_lost == pytest.approx(power_of(truth, p), rel=1e-9)


@pytest.mark.parametrize(
    ("case", "power"), [("always right", np.nan), ("uniform", np.nan), ("reversed", 0.0)]
)
def test_what_has_no_finite_maximum_is_told(case: str, power: float) -> None:
    truth, p = random_rows(6)
    if case == "always right":
        truth = p.argmax(axis=1)
    elif case == "uniform":
        p = np.full_like(p, 0.25)
    else:
        truth = p.argmin(axis=1)
    assert power_of(truth, p) == pytest.approx(power, nan_ok=True)


def test_nearly_separated_rows_have_the_maximum() -> None:
    """One row of a hundred is wrong, at .9 against .1: the power solves 1 + 99 = 100 q."""
    p = np.tile([0.9, 0.1, 0.0], (100, 1))
    truth = np.array([0] * 99 + [1])
    power = power_of(truth, p)
    assert TemperatureCalibrator(power).calibrate(p[0])[0] == pytest.approx(0.99, rel=1e-7)
    assert power == pytest.approx(np.log(99) / np.log(9), rel=1e-7)
