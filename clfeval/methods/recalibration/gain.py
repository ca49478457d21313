"""The gain of a recalibration on new rows, with confidence limits, and what they decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Literal

import numpy as np

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.inference.distributions import critical_value, student_quantile
from clfeval.methods.recalibration.cross_fitting import LOSSES, CrossFittedGains, LossName
from clfeval.methods.recalibration.method_names import Method
from clfeval.methods.recalibration.row_kinds import FOLDS, RowKinds
from clfeval.records import dataclass

Verdict = Literal["helps", "harms", "undecided"]


@dataclass(frozen=True, slots=True)
class Gain:
    """The mean gain per row of a procedure on new rows, and its parts.

    estimate: cross-fitted; error: its standard error by the variance of Nadeau and Bengio;
    optimism: gain on the fitting rows less the estimate; floor: the variance of the estimate where
    nothing is to be gained, though the gains of single rows then nearly vanish.
    """

    estimate: float
    error: float
    optimism: float
    floor: float

    @property
    def variance(self) -> float:
        """The variance for limits: that of the estimate and its floor."""
        return self.error**2 + self.floor

    def limits(self, quantile: float) -> tuple[float, float]:
        """Return the lower and the upper confidence limit; quantile: of one side, in errors.

        The variance grows with the apparent gain, as that of a likelihood ratio does, so limits
        solve (g - estimate)^2 = quantile^2 variance (g + optimism) / (estimate + 2 optimism). The
        lower limit is the mean of that solution and of the symmetric limit, because the first alone
        is too high where little is to be gained.
        """
        if self.variance <= 0:
            return self.estimate, self.estimate
        optimism = max(self.optimism, 0.0)
        apparent = max(self.estimate + optimism, 0.0)
        symmetric_low = self.estimate - quantile * sqrt(self.variance)
        if apparent + optimism <= 0:  # the fit makes even its own rows worse
            return symmetric_low, 2 * self.estimate - symmetric_low
        # with x = g + optimism, limits solve (x - apparent)^2 = 2 half_factor x
        half_factor = quantile**2 * self.variance / (apparent + optimism) / 2
        root = sqrt(half_factor**2 + 2 * half_factor * apparent)
        asymmetric_low = apparent + half_factor - root - optimism
        pessimism = optimism / (FOLDS - 1)  # calibrators of the folds see fewer rows
        high = apparent + half_factor + root - optimism + pessimism
        return (asymmetric_low + symmetric_low) / 2, high


def estimate_gain(
    rows: RowKinds, gains: CrossFittedGains, loss: LossName, parameters: float
) -> Gain:
    """Return the cross-fitted gain of a method in one loss.

    error^2 = K / (K - 1) sum over sampling units of (d - mean d)^2 / N^2, d the held-out gain of a
    row: the variance of a mean, enlarged by the share of rows that train (Nadeau and Bengio 2003,
    Machine Learning 52:239), with the variance between folds replaced by that between units, which
    many random folds have on average.
    """
    n = rows.n.astype(np.float64)
    held_out = gains.held_out[loss]
    estimate = float(n @ held_out / n.sum())
    error = sqrt(rows.mean_variance(held_out - estimate) * FOLDS / (FOLDS - 1))
    optimism = gains.apparent[loss] - estimate
    per_parameter = optimism / max(parameters, 1.0)
    floor = max(optimism, 0.0) * max(1 / rows.in_effect, per_parameter)
    return Gain(estimate, error, optimism, floor)


def auto_gain(selected_gain: Gain, flexible_gain: Gain) -> Gain:
    """Return the gain of `auto` with the error of its most flexible candidate, if that is larger.

    Where the scores are kept in all folds, the gain of every row is 0, and so is its variance.
    """
    return Gain(
        selected_gain.estimate,
        max(selected_gain.error, flexible_gain.error),
        max(selected_gain.optimism, flexible_gain.optimism),
        max(selected_gain.floor, flexible_gain.floor),
    )


def one_sided_quantile(rows: RowKinds, level: float) -> float:
    """Return the quantile of limits: normal, or Student's t with clusters - 1 degrees."""
    clusters = rows.clusters
    if isinstance(clusters, ClusterCounts):
        return float(student_quantile(len(clusters) - 1, level=level))
    return critical_value(level)


def gain_verdict(low: float, high: float) -> Verdict:
    """Return whether recalibration helps, harms, or is undecided, by the limits of its gain."""
    if low > 0:
        return "helps"
    return "harms" if high < 0 else "undecided"


def highest_limit(candidate_limits: Sequence[tuple[float, float]]) -> float:
    """Return the upper limit of `auto`: the largest of its candidates', one of which gains 0."""
    return max([0.0, *(high for _, high in candidate_limits)])


@dataclass(frozen=True, slots=True)
class GainEstimate:
    """The gain in one loss with its confidence limits, each of one side of the level."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """Whether recalibration helps, harms, or is undecided by this loss."""
        return gain_verdict(self.low, self.high)


def estimated_gains(
    rows: RowKinds,
    cross_fitted: Mapping[Method, CrossFittedGains],
    parameters: Mapping[str, float],
    candidates: Sequence[Method],
    level: float,
) -> dict[Method, dict[LossName, GainEstimate]]:
    """Return the gain of each cross-fitted method in each loss, with limits; `none` gains 0.

    parameters: of each method, none of steps; candidates: those of `auto`, the simplest first.
    """
    quantile = one_sided_quantile(rows, level)
    estimates = dict[Method, dict[LossName, GainEstimate]]()
    for loss in LOSSES:
        gains_by_method = {
            method: estimate_gain(rows, gains, loss, parameters.get(method, 0))
            for method, gains in cross_fitted.items()
        }
        gains_in_loss = _with_limits(gains_by_method, candidates, quantile)
        for method, estimate in gains_in_loss.items():
            estimates.setdefault(method, {})[loss] = estimate
    return estimates


def _with_limits(
    gains_by_method: Mapping[Method, Gain], candidates: Sequence[Method], quantile: float
) -> dict[Method, GainEstimate]:
    """Return gains in one loss with limits, those of `auto` by those of its candidates.

    candidates: the simplest method first.
    """
    gains = dict(gains_by_method)
    if "auto" in gains:
        fitted_methods = [method for method in candidates[1:] if gains[method].variance > 0]
        flexible_method = fitted_methods[-1] if fitted_methods else "auto"
        gains["auto"] = auto_gain(gains["auto"], gains[flexible_method])
    limits = {method: gain.limits(quantile) for method, gain in gains.items()}
    if "auto" in limits:
        candidate_limits = [limits[method] for method in candidates if method in limits]
        low, _ = limits["auto"]
        limits["auto"] = (low, highest_limit(candidate_limits))
    estimates: dict[Method, GainEstimate] = {"none": GainEstimate(0.0, 0.0, 0.0)}
    return estimates | {
        method: GainEstimate(gain.estimate, *limits[method]) for method, gain in gains.items()
    }
