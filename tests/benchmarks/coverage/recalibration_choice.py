"""How often two rules choose a recalibration that harms: the closed test, one standard error.

Tables are those of `recalibration`, of independent rows. The closed test is that of `--method
auto`. The rule of one standard error takes the simplest method whose cross-validated log loss is
within one standard error of the lowest; the error is that of the loss itself (Breiman et al. 1984,
Classification and Regression Trees, section 3.4.3) or of its difference from the lowest. Where it
helps: where the verdict on the closed test's gain says so, else the scores are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from clfeval.counts.scores import ScoreCounts
from clfeval.measures.probability import log_losses
from clfeval.methods.recalibration.assessment import assess_methods
from clfeval.methods.recalibration.cross_fitting import class_rows
from clfeval.methods.recalibration.method_fits import MethodFitter, TableFits
from clfeval.methods.recalibration.method_names import Method
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.recalibration import (
    LEVEL,
    SEED,
    SIZES,
    TRUTHS,
    Population,
    draw_counts,
)

FOLDS = 10
RULES = (
    "closed test",
    "one standard error",
    "one standard error of the difference",
    "closed test where it helps",
)
MOST_HARMED = 0.05  # of calibrated tables, by the rule that is taken
MOST_MISLED = 0.01  # of all tables, where the verdict says that it helps
ROUNDING = 1e-9  # of a gain


def lines(replicates: int) -> list[Line]:
    """Return how often each rule harms and recalibrates, with its mean gain as the width."""
    return [
        line
        for truth, size in product(TRUTHS, SIZES)
        for line in _setting_lines(truth, size, replicates)
    ]


def _setting_lines(truth: str, size: int, replicates: int) -> list[Line]:
    """Return the lines of one setting, two for each rule."""
    rng = np.random.default_rng([SEED, [*TRUTHS].index(truth), size])
    population = Population.from_truth(truth)
    gains: dict[str, list[float]] = {rule: [] for rule in RULES}
    for _ in range(replicates):
        counts = draw_counts(truth, size, "rows", rng)
        for rule, calibrator in _chosen_calibrators(counts, rng).items():
            gains[rule].append(
                0.0 if calibrator is None else population.gain(calibrator, "log_loss")
            )
    setting = f"{truth}, {size} rows"
    return [line for rule in RULES for line in _rule_lines(rule, setting, np.array(gains[rule]))]


def _rule_lines(rule: str, setting: str, gains: Any) -> list[Line]:
    """Return how often a rule harms and how often it recalibrates; width: the mean gain."""
    is_calibrated = setting.startswith("calibrated")
    most = {RULES[0]: MOST_HARMED if is_calibrated else None, RULES[3]: MOST_MISLED}.get(rule)
    harmed = float((gains < -ROUNDING).mean())
    recalibrated = float((np.abs(gains) > ROUNDING).mean())
    mean = float(gains.mean())
    return [
        Line(f"{rule}: harms", setting, len(gains), harmed, most=most, width=mean, slack=3.0),
        Line(f"{rule}: recalibrates", setting, len(gains), recalibrated, width=mean),
    ]


def _chosen_calibrators(counts: ScoreCounts, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return the calibrator, fitted to all rows, that each rule chooses."""
    rows = class_rows(counts)
    fitter = MethodFitter(counts.scores, float(rows.sum()))
    fits = fitter.fit_all((*fitter.candidates, "auto"), rows[:1], rows[1:])
    losses = _held_out_losses(counts, fitter, rng)
    return {
        RULES[0]: fits["auto"].calibrators[0],
        RULES[1]: _calibrator_within(fits, losses, paired=False),
        RULES[2]: _calibrator_within(fits, losses, paired=True),
        RULES[3]: _calibrator_that_helps(counts, *rng.spawn(1)),
    }


def _calibrator_that_helps(counts: ScoreCounts, rng: np.random.Generator) -> Any:
    """Return the calibrator of the closed test if the verdict on its gain is that it helps."""
    (assessment,) = assess_methods(counts, ["auto"], LEVEL, rng)
    gain = assessment.gains.get("log_loss")
    return assessment.calibrator if gain is not None and gain.verdict == "helps" else None


def _held_out_losses(
    counts: ScoreCounts, fitter: MethodFitter, rng: np.random.Generator
) -> dict[Method, Any]:
    """Return the log loss of each row by the fits of the other nine folds, for each method."""
    rows = class_rows(counts)
    fold = rng.permutation(len(counts.scores)) % FOLDS  # scores of rows are distinct
    is_fitted = fold != np.arange(FOLDS)[:, None]
    fits = fitter.fit_all(fitter.candidates, rows[0] * is_fitted, rows[1] * is_fitted)
    places = np.arange(len(fold))
    is_positive = rows[0] > 0
    losses = {}
    for method, fitted in fits.items():
        held_out = fitted.probabilities[fold, places]
        losses[method] = np.where(
            is_positive, log_losses(held_out, True), log_losses(held_out, False)
        )
    return losses


def _calibrator_within(
    fits: Mapping[Method, TableFits], losses: Mapping[Method, Any], *, paired: bool
) -> Any:
    """Return the calibrator of the simplest method within one standard error of the best."""
    best = min(losses, key=lambda method: losses[method].mean())
    for method, loss in losses.items():  # the simplest first
        difference = loss - losses[best]
        spread = difference if paired else losses[best]
        if difference.mean() <= spread.std(ddof=1) / np.sqrt(len(spread)):
            return fits[method].calibrators[0]
    raise AssertionError("the best is within one standard error of itself")
