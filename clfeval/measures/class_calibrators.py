"""Calibrators of the probabilities of several classes: temperature, and one class against the rest.

Rows are (m, K): the probabilities of K classes. A probability of exactly 0 stays 0, as no power and
no log odds changes it; a row of zeros stays as it is. Calibrated rows sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.measures.calibrators import Calibrator
from clfeval.measures.logistic_regression import inverse_logit
from clfeval.measures.probability import MIN_PROBABILITY, check_probabilities, log_complement
from clfeval.records import dataclass

_MOST_STEPS = 200  # of Newton's method, which halves or doubles where it leaves its bracket
_SETTLED = 1e-8  # of the power: the step after is about its square
_NEAR = 1e-4  # of the power: a table so near to the sum of all is settled by one step
_AT_ONCE = 2**16  # numbers per block


@dataclass(frozen=True, slots=True)
class TemperatureCalibrator:
    """p_k' = p_k^power / (sum over classes of p_j^power); the temperature is 1 / power.

    A power below 1 makes probabilities more moderate, one above 1 makes them more extreme. A power
    of exactly 1 changes nothing, not even a sum other than 1.
    Source: Guo et al. 2017, ICML.
    """

    power: float

    @property
    def rises(self) -> bool:
        """Whether a more probable class stays more probable."""
        return self.power > 0

    def calibrate(self, p: ArrayLike) -> Floats:
        """Return the recalibrated probabilities, (..., K); ValueError outside 0..1."""
        shares = check_probabilities(p)
        if self.power == 1:
            return shares.copy()
        largest = shares.max(axis=-1, keepdims=True, initial=0.0)
        powers = (shares / np.where(largest > 0, largest, 1.0)) ** self.power
        return _normalize(powers, shares)


@dataclass(frozen=True, slots=True, eq=False)
class OneVsRestCalibrator:
    """p_k' proportional to 1 / (1 + exp(-intercept_k - power_k logit p_k)): (K,) each.

    Source: Zadrozny and Elkan 2002, KDD.
    """

    intercepts: Floats
    powers: Floats

    @property
    def rises(self) -> bool:
        """Whether a higher probability of a class stays higher than another of it."""
        return bool((self.powers > 0).all())

    def calibrate(self, p: ArrayLike) -> Floats:
        """Return the recalibrated probabilities, (..., K); ValueError outside 0..1."""
        shares = check_probabilities(p)
        if shares.shape[-1:] != self.powers.shape:
            raise ValueError(f"{len(self.powers)} classes are calibrated, not {shares.shape[-1:]}")
        is_interior = (shares > 0) & (shares < 1)
        interior = np.where(is_interior, shares, 0.5)
        logit = self.powers * (np.log(interior) - log_complement(interior)) + self.intercepts
        return _normalize(np.where(is_interior, inverse_logit(logit), shares), shares)


ClassCalibrator = TemperatureCalibrator | OneVsRestCalibrator
AnyCalibrator = Calibrator | ClassCalibrator  # of two classes, or of several


def _normalize(parts: Floats, shares: Floats) -> Floats:
    """Return parts (..., K) divided by their sum; shares where this is 0."""
    totals = parts.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(totals > 0, parts / np.where(totals > 0, totals, 1.0), shares))


@dataclass(frozen=True, slots=True, eq=False)
class RelativeLogs:
    """ln p less the largest ln p of the row, (m, K): 0 where p is 0, which `is_positive` tells.

    truth (m,): the index of the true class; is_used (m,): whether it had a probability of at least
    2**-52. Other rows fit no calibrator.
    """

    truth: Ints
    logs: Floats
    is_positive: Bools
    is_used: Bools

    @classmethod
    def from_probabilities(cls, truth: Ints, p: Floats) -> RelativeLogs:
        """Return the logarithms of probabilities (m, K)."""
        is_positive = p > 0
        logs = np.log(np.where(is_positive, p, 1.0))
        largest = np.where(is_positive, logs, -inf).max(axis=1, keepdims=True)
        logs -= np.where(np.isfinite(largest), largest, 0.0)
        logs[~is_positive] = 0.0
        return cls(truth, logs, is_positive, p[np.arange(len(p)), truth] >= MIN_PROBABILITY)

    def blocks(self) -> Iterator[slice]:
        """Yield blocks of rows, few enough to stay in the cache."""
        block_size = max(1, _AT_ONCE // max(self.logs.shape[1], 1))
        for start in range(0, len(self.logs), block_size):
            yield slice(start, start + block_size)

    def row_terms(self, power: float) -> tuple[Floats, Floats, Floats]:
        """Return the log likelihood of each row at a power, its slope and its curvature, (m,) each.

        With q the calibrated probabilities: ln q_y, ln p_y - sum q ln p, and the variance of ln p
        under q, which is positive. 0 for rows that fit no calibrator.
        """
        terms = np.zeros((3, len(self.logs)))
        for block in self.blocks():
            logs = self.logs[block]
            powers = np.exp(power * logs) * self.is_positive[block]
            totals = np.maximum(powers.sum(axis=1), 1.0)
            mean_logs = np.einsum("mk,mk->m", powers, logs) / totals
            mean_squares = np.einsum("mk,mk,mk->m", powers, logs, logs) / totals
            true_logs = self.true_logs(block)
            terms[:, block] = (
                power * true_logs - np.log(totals),
                true_logs - mean_logs,
                mean_squares - mean_logs**2,
            )
        return tuple(np.where(self.is_used, terms, 0.0))

    def true_logs(self, block: slice = slice(None)) -> Floats:
        """Return the relative logarithm of the true class of rows, at most 0."""
        truth = self.truth[block]
        return np.asarray(self.logs[block][np.arange(len(truth)), truth])


def fit_temperatures(rows: RelativeLogs, n: Counts) -> Floats:
    """Return the power of a `TemperatureCalibrator` for each table of rows: (t,).

    Maximum likelihood, sum n (ln p_y - sum q ln p) = 0, over rows whose true class had a
    probability of at least 2**-52. NaN without a finite maximum: no row, rows of equal
    probabilities, and true classes that are always the most probable. 0 where the maximum is at or
    below 0: the more probable classes are not more often true.

    Shapes: n (t, m), the number of each row.
    """
    _, *slope_terms = rows.row_terms(0.0)
    slopes_at_zero, curvatures_at_zero = (_weighted_sums(terms, n) for terms in slope_terms)
    slopes_at_infinity = _weighted_sums(np.where(rows.is_used, rows.true_logs(), 0.0), n)
    is_finite = (curvatures_at_zero > 0) & (slopes_at_infinity < 0)
    has_positive_power = is_finite & (slopes_at_zero > 0)
    powers = np.where(is_finite, 0.0, np.nan)
    if not has_positive_power.any():
        return powers
    # the power of all tables together, from which each table takes a step
    common_power = _maximize(rows, n[has_positive_power].sum(axis=0), start=1.0)
    _, *slope_terms = rows.row_terms(common_power)
    slopes, curvatures = (_weighted_sums(terms, n) for terms in slope_terms)
    for table in np.flatnonzero(has_positive_power):
        step = slopes[table] / curvatures[table] if curvatures[table] > 0 else inf
        next_power = common_power + step
        if abs(step) <= _NEAR * common_power:
            powers[table] = next_power
        else:
            start = next_power if 0 < next_power < inf else common_power
            powers[table] = _maximize(rows, n[table], start)
    return powers


def _weighted_sums(terms: Floats, n: Counts) -> Floats:
    """Return the sums of terms (m,) over tables of rows n (t, m): (t,).

    Not by a matrix product, whose rounding depends on threads.
    """
    return np.array([(table_rows * terms).sum() for table_rows in n])


def _maximize(rows: RelativeLogs, n: Counts, start: float) -> float:
    """Return the power of highest likelihood of one table by Newton's method in a bracket."""
    low, high = 0.0, inf
    power = start
    for _ in range(_MOST_STEPS):
        _, slopes, curvatures = rows.row_terms(power)
        slope = float((n * slopes).sum())
        curvature = float((n * curvatures).sum())
        low, high = (power, high) if slope > 0 else (low, power)
        next_power = power + slope / curvature if curvature > 0 else inf
        if not low <= next_power <= high or next_power in (0.0, inf):
            next_power = (low + high) / 2 if high < inf else 2 * power
        if abs(next_power - power) <= _SETTLED * power:
            return next_power
        power = next_power
    return power
