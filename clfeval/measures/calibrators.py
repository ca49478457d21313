"""Calibrators: maps of predicted probabilities to recalibrated ones, fitted to counts of scores."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats
from clfeval.measures.isotonic import IsotonicBlocks, isotonic_shares
from clfeval.measures.logistic import fit_intercept, fit_line, log_odds, log_odds_slice
from clfeval.measures.logistic_regression import fit_finite_logistic, inverse_logit
from clfeval.measures.probability import check_probabilities, log_complement
from clfeval.measures.venn_abers import VennAbersCalibrator
from clfeval.records import dataclass, replace

LogOddsMethod = Literal["none", "shift", "temperature", "logistic", "beta"]
LOG_ODDS_METHODS: tuple[LogOddsMethod, ...] = ("none", "shift", "temperature", "logistic", "beta")
PARAMETERS = {"none": 0, "shift": 1, "temperature": 1, "logistic": 2, "beta": 3}
IDENTITY = (0.0, 1.0, 1.0)
PRIOR_ROWS = 1.0  # of an isotonic block, with the prevalence of all rows


@dataclass(frozen=True, slots=True)
class LogOddsCalibrator:
    """logit q = intercept + power ln p - complement_power ln(1 - p), 0 and 1 unchanged.

    shift: both powers 1; temperature T: both 1 / T, intercept 0; logistic: both the slope; beta:
    any. Increasing where both powers are at least 0 and one is above.
    Sources: Cox 1958, Biometrika 45:562; Guo et al. 2017, ICML (temperature); Kull, Silva Filho and
    Flach 2017, Electronic Journal of Statistics 11:5052 (beta).
    """

    intercept: float
    power: float
    complement_power: float

    @property
    def rises(self) -> bool:
        """Whether a higher probability stays higher."""
        powers = (self.power, self.complement_power)
        return min(powers) >= 0 and max(powers) > 0

    def calibrate(self, p: ArrayLike) -> Floats:
        """Return the recalibrated probabilities of any shape; ValueError outside 0..1."""
        scores = check_probabilities(p)
        coefficients = np.array([[self.intercept, self.power, self.complement_power]])
        return np.asarray(calibrate_tables(coefficients, scores.ravel())[0].reshape(scores.shape))


@dataclass(frozen=True, slots=True, eq=False)
class StepCalibrator:
    """Recalibrated probabilities at knots, linear between them and constant outside: (k,) each.

    probabilities: ascending; recalibrated: never falling.
    """

    probabilities: Floats
    recalibrated: Floats

    @property
    def rises(self) -> bool:
        """Whether a higher probability never becomes a lower one: always."""
        return True

    def calibrate(self, p: ArrayLike) -> Floats:
        """Return the recalibrated probabilities of any shape; ValueError outside 0..1."""
        scores = check_probabilities(p)
        return np.asarray(np.interp(scores, self.probabilities, self.recalibrated))


Calibrator = LogOddsCalibrator | StepCalibrator | VennAbersCalibrator


def shift_log_odds(calibrator: Calibrator, shift: float) -> Calibrator:
    """Return a calibrator with a shift added to the log odds of its values.

    With shift = ln(P / (1 - P)) - ln(p / (1 - p)) it is that of a population of prevalence P from
    one of rows of prevalence p, presuming label shift: the scores of each class are distributed
    alike. Of steps the knots are shifted, and values stay linear between them; of Venn-Abers
    prediction p0 and p1 are. 0 and 1 stay.
    Source: Saerens, Latinne and Decaestecker 2002, Neural Computation 14:21.
    """
    if isinstance(calibrator, LogOddsCalibrator):
        return replace(calibrator, intercept=calibrator.intercept + shift)
    shift_calibrator = LogOddsCalibrator(shift, 1.0, 1.0)
    if isinstance(calibrator, VennAbersCalibrator):
        low, high = (
            shift_calibrator.calibrate(limits) for limits in (calibrator.low, calibrator.high)
        )
        return VennAbersCalibrator(calibrator.scores, low, high)
    return StepCalibrator(
        calibrator.probabilities, shift_calibrator.calibrate(calibrator.recalibrated)
    )


def fit_log_odds(
    method: LogOddsMethod, scores: Floats, positives: Counts, negatives: Counts
) -> Floats:
    """Return intercept and both powers of a `LogOddsCalibrator` for each table: (tables, 3).

    Maximum likelihood over the rows whose score lies within 2**-52..1 - 2**-52.

    Shapes: scores (m,) ascending; positives and negatives (tables, m). NaN without a finite
    maximum: one class, equal scores, scores that separate the classes.
    """
    inner_slice = log_odds_slice(scores)
    x = log_odds(scores)[inner_slice]
    pos = positives[:, inner_slice]
    neg = negatives[:, inner_slice]
    coefficients = np.tile(np.array(IDENTITY), (len(pos), 1))
    if method == "shift":
        coefficients[:, 0] = fit_intercept(x, pos, neg)
    elif method == "temperature":
        coefficients[:, 1:] = fit_finite_logistic(x[None], pos, neg, start=(1.0,))
    elif method == "logistic":
        intercept, slope = fit_line(x, pos, neg)
        coefficients = np.column_stack([intercept, slope, slope])
    elif method == "beta":
        coefficients = _fit_beta(scores[inner_slice], pos, neg)
    return np.where(np.isnan(coefficients).any(axis=1, keepdims=True), np.nan, coefficients)


def _fit_beta(scores: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return beta calibrations, (tables, 3); a negative power is 0, the others are refitted."""
    basis = np.array([np.ones(len(scores)), np.log(scores), -log_complement(scores)])
    coefficients = fit_finite_logistic(basis, positives, negatives, start=IDENTITY)
    for power_column, other_column in ((1, 2), (2, 1)):  # of the coefficients
        refitted_tables = np.flatnonzero(coefficients[:, power_column] < 0)
        if len(refitted_tables):
            coefficients[refitted_tables, power_column] = 0.0
            coefficients[refitted_tables[:, None], np.array([0, other_column])] = (
                fit_finite_logistic(
                    basis[[0, other_column]], positives[refitted_tables], negatives[refitted_tables]
                )
            )
    return coefficients


def calibrate_tables(coefficients: Floats, scores: Floats) -> Floats:
    """Return the recalibrated scores (m,) of each table by its `fit_log_odds`: (tables, m).

    Scores of 0 and 1 stay, and tables without coefficients (NaN) keep the scores.
    """
    is_interior = (scores > 0) & (scores < 1)
    interior_scores = np.where(is_interior, scores, 0.5)  # 0 and 1 have no logarithms
    lacks_fit = np.isnan(coefficients).any(axis=1, keepdims=True)
    intercept, power, complement_power = np.where(lacks_fit, np.array(IDENTITY), coefficients).T
    logit = np.multiply.outer(power, np.log(interior_scores))
    logit -= np.multiply.outer(complement_power, log_complement(interior_scores))
    logit += intercept[:, None]
    return np.where(is_interior, inverse_logit(logit), scores)


def fit_isotonic(
    scores: Floats, positives: Counts, negatives: Counts, *, prior_rows: float = PRIOR_ROWS
) -> StepCalibrator:
    """Return isotonic calibration; each block's share is drawn to the prevalence by prior rows.

    (k + prior_rows prevalence) / (n + prior_rows) of k positives in n rows of a block, pooled anew
    where these fall. Without prior rows it is the isotonic regression; they are in the units of the
    counts. Knots are the lowest and the highest score of each block.

    Shapes: all (m,), scores ascending. ValueError without rows.
    Sources: Zadrozny and Elkan 2002, KDD; Ayer et al. 1955, Annals of Mathematical Statistics
    26:641.
    """
    rows = positives + negatives
    total_rows = rows.sum()
    if not total_rows:
        raise ValueError("isotonic calibration needs rows")
    has_rows = rows > 0
    x = scores[has_rows]
    blocks = isotonic_shares(x, positives[has_rows], negatives[has_rows])
    shares = _shares_with_prior(blocks, float(positives.sum() / total_rows), prior_rows)
    knots = np.column_stack([x[blocks.starts], x[blocks.stops - 1]]).ravel()
    knot_shares = np.repeat(shares, 2)
    is_new_knot = np.append(True, np.diff(knots) > 0)
    return StepCalibrator(knots[is_new_knot], knot_shares[is_new_knot])


def _shares_with_prior(blocks: IsotonicBlocks, prevalence: float, prior_rows: float) -> Floats:
    """Return the share of each block with prior rows of the prevalence, pooled where it falls."""
    prior_positives = prior_rows * prevalence
    positives = blocks.shares * blocks.rows
    negatives = blocks.rows - positives
    block_positions = np.arange(len(positives), dtype=np.float64)
    pooled_blocks = isotonic_shares(
        block_positions, positives + prior_positives, negatives + prior_rows - prior_positives
    )
    return pooled_blocks.values
