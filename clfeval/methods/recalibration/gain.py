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
        symmetric = self.estimate - quantile * sqrt(self.variance)
        if apparent + optimism <= 0:  # the fit makes even its own rows worse
            return symmetric, 2 * self.estimate - symmetric
        half = quantile**2 * self.variance / (apparent + optimism) / 2
        root = sqrt(half**2 + 2 * half * apparent)
        solved = apparent + half - root - optimism
        pessimism = optimism / (FOLDS - 1)  # calibrators of the folds see fewer rows
        return (solved + symmetric) / 2, apparent + half + root - optimism + pessimism


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


def auto_gain(selected: Gain, largest: Gain) -> Gain:
    """Return the gain of `auto` with the error of its most flexible candidate.

    Where the scores are kept in all folds, the gain of every row is 0, and so is its variance.
    """
    return Gain(
        selected.estimate,
        max(selected.error, largest.error),
        max(selected.optimism, largest.optimism),
        max(selected.floor, largest.floor),
    )


def one_sided_quantile(rows: RowKinds, level: float) -> float:
    """Return the quantile of limits: normal, or Student's t with clusters - 1 degrees."""
    owned = rows.clusters
    if isinstance(owned, ClusterCounts):
        return float(student_quantile(len(owned) - 1, level=level))
    return critical_value(level)


def gain_verdict(low: float, high: float) -> Verdict:
    """Return whether recalibration helps, harms, or is undecided, by the limits of its gain."""
    if low > 0:
        return "helps"
    return "harms" if high < 0 else "undecided"


def highest_limit(limits: Sequence[tuple[float, float]]) -> float:
    """Return the upper limit of `auto`: the largest of its candidates, one of which gains 0."""
    return max([0.0, *(high for _, high in limits)])


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
        parts = {
            method: estimate_gain(rows, gains, loss, parameters.get(method, 0))
            for method, gains in cross_fitted.items()
        }
        gains_in_loss = _with_limits(parts, candidates, quantile)
        for method, estimate in gains_in_loss.items():
            estimates.setdefault(method, {})[loss] = estimate
    return estimates


def _with_limits(
    parts: Mapping[Method, Gain], candidates: Sequence[Method], quantile: float
) -> dict[Method, GainEstimate]:
    """Return gains in one loss with limits, those of `auto` by those of its candidates."""
    gains = dict(parts)
    if "auto" in gains:
        fitted = [method for method in candidates[1:] if gains[method].variance > 0]
        largest = fitted[-1] if fitted else "auto"
        gains["auto"] = auto_gain(gains["auto"], gains[largest])
    limits = {method: gain.limits(quantile) for method, gain in gains.items()}
    if "auto" in limits:
        of_candidates = [limits[method] for method in candidates if method in limits]
        limits["auto"] = (limits["auto"][0], highest_limit(of_candidates))
    estimates: dict[Method, GainEstimate] = {"none": GainEstimate(0.0, 0.0, 0.0)}
    return estimates | {
        method: GainEstimate(gain.estimate, *limits[method]) for method, gain in gains.items()
    }
