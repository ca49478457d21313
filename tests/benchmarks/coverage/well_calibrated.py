"""How often models with a known fault, and calibrated ones, are called well calibrated.

Log odds of the true probabilities are normal. A model of slope 0.8 has log odds that are 1.25 times
as far from their mean, moved so that the mean probability stays right; one of a shift has log odds
that are 0.3 too low. Of five models each has noise of its own, shared in part, and the same fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import clfeval
from clfeval.methods.report.calibration import adjust_calibration_tests
from clfeval.methods.report.calibration_answer import with_calibration_verdicts
from tests.benchmarks.coverage import Line

LEVEL, SEED = 0.95, 20261130
SIZES = (200, 500, 700, 1000, 1400, 5000)
PREVALENCES = (0.05, 0.25, 0.5)
MODELS = (1, 5)
SPREAD = 1.5  # of the log odds
SHARED = 0.7  # of the variance of log odds, by all models
FAULTS = ("slope 0.8", "shift 0.3", "calibrated")
MOST_FALSE = 0.05
VERDICT = "well calibrated"
_GRID = np.linspace(-6, 6, 1201)
_WEIGHTS = np.exp(-(_GRID**2) / 2) / np.exp(-(_GRID**2) / 2).sum()


def lines(replicates: int) -> list[Line]:
    """Return lines by fault, rows, prevalence and number of models."""
    return [
        line
        for fault, size, prevalence in product(FAULTS, SIZES, PREVALENCES)
        for line in _setting_lines(fault, size, prevalence, replicates)
    ]


def _setting_lines(fault: str, size: int, prevalence: float, replicates: int) -> Iterator[Line]:
    """Yield how often any of one, and of five, models is called well calibrated."""
    rng = np.random.default_rng([SEED, FAULTS.index(fault), size, round(100 * prevalence)])
    mean = _mean_of_log_odds(prevalence, SPREAD)
    times = dict.fromkeys(MODELS, 0)
    for _ in range(replicates):
        truth, log_odds = _draw_table(fault, size, mean, rng)
        models = {f"m{place}": expit(column) for place, column in enumerate(log_odds)}
        result = clfeval.report({"truth": truth.astype(int), **models})
        for number in MODELS:
            times[number] += _any_called_well(result, [*models][:number])
    most = None if fault == "calibrated" else MOST_FALSE
    for number, called in times.items():
        setting = f"{size} rows, prevalence {prevalence:g}, {number} models"
        yield Line(
            f"{fault}, called {VERDICT}", setting, replicates, called / replicates, most=most
        )


def _draw_table(
    fault: str, size: int, mean: float, rng: np.random.Generator
) -> tuple[Any, list[Any]]:
    """Return the truth of rows and the log odds of five models, the first of which knows most.

    The truth follows the log odds of the first model, corrected of its fault; the others are
    corrected versions of the same with noise, which keeps their slope and mean.
    """
    deviates = rng.standard_normal(size)
    true_log_odds = mean + SPREAD * deviates
    truth = rng.random(size) < expit(true_log_odds)
    columns = [_with_fault(fault, true_log_odds, mean)]
    for _ in range(MODELS[-1] - 1):
        known = _posterior_log_odds(deviates, mean, rng)
        columns.append(_with_fault(fault, known, mean))
    return truth, columns


def _posterior_log_odds(deviates: Any, mean: float, rng: np.random.Generator) -> Any:
    """Return the log odds given a noisy view of the deviates: those of the mean probability."""
    view = np.sqrt(SHARED) * deviates + np.sqrt(1 - SHARED) * rng.standard_normal(len(deviates))
    centre = mean + SPREAD * np.sqrt(SHARED) * view
    width = SPREAD * np.sqrt(1 - SHARED)
    chance = expit(centre[:, None] + width * _GRID[None, ::20]) @ (
        _WEIGHTS[::20] / _WEIGHTS[::20].sum()
    )
    return np.log(chance / (1 - chance))


def _with_fault(fault: str, log_odds: Any, mean: float) -> Any:
    """Return the log odds that a model with a fault gives."""
    if fault == "shift 0.3":
        return log_odds - 0.3
    if fault == "slope 0.8":
        stretched = mean + (log_odds - mean) / 0.8
        target = float(expit(log_odds).mean())
        move = brentq(lambda a: float(expit(stretched + a).mean()) - target, -5, 5)
        return stretched + move
    return log_odds


def _mean_of_log_odds(prevalence: float, spread: float) -> float:
    """Return the mean of normal log odds at which the mean probability is the prevalence."""
    return float(
        brentq(lambda a: float(_WEIGHTS @ expit(a + spread * _GRID)) - prevalence, -12, 12)
    )


def _any_called_well(result: Any, models: list[str]) -> bool:
    """Return whether any of some models would be called well calibrated, judged by themselves."""
    tests = [row for row in result.tables["calibration_tests"] if row["model"] in models]
    adjusted = adjust_calibration_tests(tests)
    rows = [row for row in result.tables["models"] if row["model"] in models]
    verdicts = with_calibration_verdicts(adjusted, rows, LEVEL)
    return any(row["verdict"] == VERDICT for row in verdicts)
