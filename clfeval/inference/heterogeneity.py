"""Differences of a measure between groups of rows: a mean over groups, and what a new one has."""

from __future__ import annotations

from functools import cache
from math import nan

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.inference.distributions import (
    bisect,
    chi_square_quantile,
    chi_square_tail,
    normal_quantile_array,
    student_quantile,
    student_quantile_array,
    tail_probability,
)
from clfeval.inference.resampling import percentile_limits
from clfeval.records import dataclass

FEWEST = 3  # groups for a mean with limits
FEWEST_FOR_NEW = 5  # groups for a prediction interval of a new one
_TAU_QUANTILES = 256  # of the distribution of tau
_DRAWS_EACH = 16  # draws with each of them


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """A mean over groups, its limits, those of a new group, and how different the groups are.

    new_low, new_high: None with fewer than FEWEST_FOR_NEW groups. tau, its limits: the standard
    deviation between groups; q, p: Cochran's test that it is 0; i2: share of the variance of the
    values that sampling does not explain, 0..1.
    """

    groups: int
    mean: float
    low: float
    high: float
    new_low: float | None
    new_high: float | None
    tau: float
    tau_low: float
    tau_high: float
    q: float
    p: float
    i2: float


@dataclass(frozen=True, slots=True, eq=False)
class GroupValues:
    """Values of groups (k,) with the variances of their sampling errors (k,)."""

    values: Floats
    variances: Floats

    def weighted(self, tau2: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weights (b, k), means (b,) and weighted sums of squares (b,) for variances tau².

        w = 1 / (variance + tau²), mean = sum w value / sum w, sum w (value - mean)²
        """
        weights = 1 / (self.variances + tau2[:, None])
        means = weights @ self.values / weights.sum(axis=1)
        squares = (weights * (self.values - means[:, None]) ** 2).sum(axis=1)
        return weights, means, squares

    def mean_variance(self, weights: Floats, squares: Floats) -> Floats:
        """Return the variances of means by Hartung and Knapp, at least those of sampling, (b,)."""
        factors = np.maximum(squares / (len(self.values) - 1), 1.0)
        return np.asarray(factors / weights.sum(axis=1))

    def mean_limits(self, tau2: float, level: float) -> tuple[float, float, float]:
        """Return the weighted mean for a variance tau² and its limits, as in `random_effects`."""
        k = len(self.values)
        quantile = float(student_quantile(k - 1.0, level=level))
        weights, means, squares = self.weighted(np.array([tau2]))
        mean = float(means[0])
        half_width = quantile * float(np.sqrt(self.mean_variance(weights, squares)[0]))
        unweighted_mean = float(self.values.mean())
        unweighted_half_width = quantile * float(self.values.std(ddof=1)) / k**0.5
        low = min(mean - half_width, unweighted_mean - unweighted_half_width)
        high = max(mean + half_width, unweighted_mean + unweighted_half_width)
        return mean, low, high

    @property
    def greatest_tau2(self) -> float:
        """A variance between groups that is larger than any estimate."""
        return (float(np.ptp(self.values)) ** 2 + float(self.variances.max())) * len(self.values)

    def likeliest_tau2(self) -> float:
        """Return the variance between groups that maximises the restricted likelihood."""

        def rises(tau2: Floats) -> Bools:
            """Return where the derivative of the restricted log likelihood is above 0."""
            weights, means, _ = self.weighted(tau2)
            squared_residuals = weights**2 * (self.values - means[:, None]) ** 2
            total = weights.sum(axis=1)
            slope = squared_residuals.sum(axis=1) - total + (weights**2).sum(axis=1) / total
            return np.asarray(slope > 0)

        lower, _ = bisect(rises, np.zeros(1), np.array([self.greatest_tau2]))
        return float(lower[0])

    def tau2_quantiles(self, probabilities: Floats) -> Floats:
        """Return quantiles of the confidence distribution of tau², (b,); 0 where it has mass.

        The tau² with P(chi²_{k-1} > Q(tau²)) = probability, Q the sum of squares of `weighted`.
        Source: Viechtbauer 2007, Statistics in Medicine 26:37 (Q-profile).
        """
        # the sums of squares at the quantiles
        sums = chi_square_quantile(len(self.values) - 1, 1 - probabilities)
        least_positive_sum = float(sums[sums > 0].min(initial=1.0))
        scaled_squared_range = float(np.ptp(self.values)) ** 2 * len(self.values)
        upper_ends = np.full(
            len(sums), self.greatest_tau2 + scaled_squared_range / least_positive_sum
        )

        def is_below(tau2: Floats) -> Bools:
            """Return where tau² is below the quantile: the sum of squares falls as tau² rises."""
            _, _, squares = self.weighted(tau2)
            return np.asarray(squares > sums)

        lower, _ = bisect(is_below, np.zeros(len(sums)), upper_ends)
        return lower

    def new_group(self, level: float) -> tuple[float, float]:
        """Return the limits of the value of a new group: mean + tau Z - s T.

        tau² from its confidence distribution, with the mean and the standard error s of that tau²;
        Z normal, T Student's t with k - 1 degrees of freedom, at points of a Halton sequence.
        Source: Nagashima, Noma and Furukawa 2019, Statistical Methods in Medical Research 28:1689,
        with the confidence distribution of `tau2_quantiles`.
        """
        tau2 = self.tau2_quantiles((np.arange(_TAU_QUANTILES) + 0.5) / _TAU_QUANTILES)
        weights, means, squares = self.weighted(tau2)
        errors = np.sqrt(self.mean_variance(weights, squares))
        normal_points, student_points = _uniform_points(_TAU_QUANTILES * _DRAWS_EACH)
        shape = (_DRAWS_EACH, _TAU_QUANTILES)
        normal_draws = normal_quantile_array(normal_points).reshape(shape)
        student_draws = student_quantile_array(len(self.values) - 1.0, student_points).reshape(
            shape
        )
        values = means + np.sqrt(tau2) * normal_draws - errors * student_draws
        low, high, _ = percentile_limits(values.ravel(), level=level)
        return float(low), float(high)


@cache
def _uniform_points(n: int) -> tuple[Floats, Floats]:
    """Return n points of the Halton sequence of bases 2 and 3, each (n,), without the point 0."""
    return _radical_inverse(n, 2), _radical_inverse(n, 3)


def _radical_inverse(n: int, base: int) -> Floats:
    """Return 1..n with their digits mirrored at the point, 0..1. Source: Halton 1960."""
    remaining_digits = np.arange(1, n + 1)
    place_value = 1.0
    mirrored_numbers = np.zeros(n)
    while remaining_digits.any():
        place_value /= base
        mirrored_numbers += place_value * (remaining_digits % base)
        remaining_digits //= base
    return mirrored_numbers


def random_effects(values: Floats, errors: Floats, *, level: float) -> Heterogeneity:
    """Return the mean of a measure over groups of rows, and the range of a new group.

    value_i ~ N(theta_i, error_i²), theta_i ~ N(mean, tau²); tau² maximises the restricted
    likelihood, w_i = 1 / (error_i² + tau²), mean = sum w value / sum w
    limits (Hartung and Knapp): mean -+ t_{k-1} s, s² = max(1, sum w (value - mean)² / (k - 1)) /
    sum w, so that groups that agree by chance do not make the interval narrower than sampling does;
    where groups are unequal tau² is known too badly for the weights: each limit is the outer one of
    these and of the unweighted mean -+ t_{k-1} SD(value) / sqrt(k)
    limits of tau: of its confidence distribution; of a new group: those of `new_group`
    Q = sum (value - m)² / error², with m the mean for tau² = 0; p = P(chi²_{k-1} > Q);
    I² = max(0, (Q - k + 1) / Q)

    Shapes: (k,) each, k >= 3, errors above 0. Units: those of the values.
    Source: Hartung and Knapp 2001, Statistics in Medicine 20:3875; the 1: Röver, Knapp and Friede
    2015, BMC Medical Research Methodology 15:99.
    """
    groups = GroupValues(values, errors**2)
    k = len(values)
    tau2 = groups.likeliest_tau2()
    tail = tail_probability(level)
    tau2_low, tau2_high = groups.tau2_quantiles(np.array([tail, 1 - tail])).tolist()
    mean, low, high = groups.mean_limits(tau2, level)
    _, _, squares = groups.weighted(np.zeros(1))
    q = float(squares[0])
    new_low, new_high = groups.new_group(level) if k >= FEWEST_FOR_NEW else (None, None)
    return Heterogeneity(
        groups=k,
        mean=mean,
        low=low,
        high=high,
        new_low=new_low,
        new_high=new_high,
        tau=tau2**0.5,
        tau_low=min(tau2_low, tau2) ** 0.5,
        tau_high=max(tau2_high, tau2) ** 0.5,
        q=q,
        p=chi_square_tail(k - 1, q),
        i2=max(0.0, (q - k + 1) / q) if q else nan,
    )
