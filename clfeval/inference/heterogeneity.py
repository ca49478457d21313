"""Differences of a measure between groups of rows: a mean over groups, and what a new one has."""

from __future__ import annotations

from math import nan

import numpy as np

from clfeval.arrays import Floats
from clfeval.inference.distributions import bisect, chi_square_tail, student_quantile
from clfeval.records import dataclass

FEWEST = 3  # groups: with two there is no prediction interval


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """A mean over groups, its limits, those of a new group, and how different the groups are.

    tau2: variance between groups; q, p: Cochran's test that it is 0; i2: share of the variance of
    the values that sampling does not explain, 0..1.
    """

    groups: int
    mean: float
    low: float
    high: float
    new_low: float
    new_high: float
    tau2: float
    q: float
    p: float
    i2: float


def random_effects(values: Floats, errors: Floats, *, level: float) -> Heterogeneity:
    """Return the mean of a measure over groups of rows, and the range of a new group.

    value_i ~ N(theta_i, error_i²), theta_i ~ N(mean, tau²); tau² maximises the restricted
    likelihood, w_i = 1 / (error_i² + tau²), mean = sum w value / sum w
    limits (Hartung and Knapp): mean -+ t_{k-1} s, s² = max(1, sum w (value - mean)² / (k - 1)) /
    sum w, so that groups that agree by chance do not make the interval narrower than sampling does
    limits of a new group: mean -+ t_{k-2} sqrt(tau² + s²)
    Q = sum (value - m)² / error², with m the mean for tau² = 0; p = P(chi²_{k-1} > Q);
    I² = max(0, (Q - k + 1) / Q)

    Shapes: (k,) each, k >= 3, errors above 0. Units: those of the values.
    Source: Hartung and Knapp 2001, Statistics in Medicine 20:3875; the 1: Röver, Knapp and Friede
    2015, BMC Medical Research Methodology 15:99; a new group: Higgins, Thompson and Spiegelhalter
    2009, Journal of the Royal Statistical Society A 172:137.
    """
    k, sampling = len(values), errors**2

    def weighted(tau2: float) -> tuple[Floats, float, float]:
        w = 1 / (sampling + tau2)
        mean = float(w @ values / w.sum())
        return w, mean, float(w @ (values - mean) ** 2)

    def rises(tau2: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return where the derivative of the restricted log likelihood is above 0."""
        w, mean, _ = weighted(float(tau2))
        slope = w**2 @ (values - mean) ** 2 - w.sum() + (w**2).sum() / w.sum()
        return np.asarray(slope > 0)

    spread = float(np.ptp(values)) ** 2 + float(sampling.max())
    tau2 = float(bisect(rises, np.array(0.0), np.array(spread * k))[0])
    w, mean, sum_of_squares = weighted(tau2)
    square = max(sum_of_squares / (k - 1), 1.0) / float(w.sum())
    t, t_new = student_quantile(np.array([k - 1.0, k - 2.0]), level=level).tolist()
    half, new = t * square**0.5, t_new * (tau2 + square) ** 0.5
    q = weighted(0.0)[2]
    i2 = max(0.0, (q - k + 1) / q) if q else nan
    return Heterogeneity(
        k,
        mean,
        mean - half,
        mean + half,
        mean - new,
        mean + new,
        tau2,
        q,
        chi_square_tail(k - 1, q),
        i2,
    )
