"""Errors of smooth measures from influence values: of rows, of clusters of rows, of weights.

A measure of a sample less that of its population is about the mean of f over its rows, f a function
of a row with mean 0. All that is needed of many rows is how often each kind occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats
from clfeval.inference.delong import ClusterSums
from clfeval.inference.shares import NEAR
from clfeval.inference.special import critical_value, tail_of


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How far k measures of one sample are from those of its population.

    covariance (k, k), NaN with a single row or cluster. df: degrees of freedom for t, clusters less
    1; None for the normal distribution. effect (k,): the design effect, by what clusters multiply
    the variance of independent rows; 1 without clusters, NaN where rows do not vary. size: the
    rows; of weights that count none, Kish's effective number of them.
    """

    covariance: Floats
    df: int | None
    effect: Floats
    size: float

    @property
    def errors(self) -> Floats:
        """The standard errors, (k,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def uncertainty(
    f: ArrayLike, n: ArrayLike, *, clusters: ClusterSums | None = None,
    squares: ArrayLike | None = None,
) -> Uncertainty:  # fmt: skip
    """Return the covariances of k measures from influence values of m kinds of rows.

    rows: V = M / (M - 1) sum n f f' / M², M = sum n
    weights: V = g / (g - 1) sum q f f' / M², q the sums of squared weights, g = M² / sum q
    clusters: V = C / (C - 1) sum over C clusters of F F' / M², F = sum n f over its rows

    Of a mean the first is the textbook's s² / M, and clusters of one row each are rows.

    Shapes: f (m,) or (k, m); n (m,) whole, the rows of each kind, or their weight; squares (m,)
    where a weight is no number of rows; clusters: the sums (k, c) over each cluster of weights
    (k, m) of its rows. Errors: ValueError where shapes differ.
    Source: Hampel 1974, Journal of the American Statistical Association 69:383; clusters: Liang and
    Zeger 1986, Biometrika 73:13; weights: Binder 1983, International Statistical Review 51:279;
    Kish 1965, Survey Sampling, section 11.7.
    """
    values, counts = np.atleast_2d(np.asarray(f, np.float64)), np.asarray(n, np.float64)
    each = counts if squares is None else np.asarray(squares, np.float64)
    if values.shape[1:] != counts.shape or counts.shape != each.shape:
        raise ValueError("influence values and counts differ in length")
    values = np.where(counts > 0, values, 0.0)  # what no row is has no say, defined or not
    total = float(counts.sum())
    size = total**2 / float(each.sum()) if total else 0.0
    covariance = _corrected((values * each) @ values.T, total, size)
    if clusters is None:
        return Uncertainty(covariance, None, np.ones(len(values)), size)
    sums = clusters(values)
    together = _corrected(sums @ sums.T, total, sums.shape[1])
    rows = np.diag(covariance)
    effect = np.divide(np.diag(together), rows, out=np.full_like(rows, np.nan), where=rows > 0)
    return Uncertainty(together, sums.shape[1] - 1, effect, size)


def _corrected(squares: Floats, total: float, parts: float) -> Floats:
    """Return sums of squares of so many parts as the covariance of a mean."""
    if parts <= 1:
        return np.full_like(squares, np.nan)
    return np.asarray(squares / total**2 * (parts / (parts - 1)))


def limits(
    value: ArrayLike, error: ArrayLike, *, scale: Literal["identity", "logit", "fisher", "log"],
    low: float, high: float, level: float, df: int | None = None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the limits of measures whose errors are alike on both sides on a scale.

    g(value) -+ q error g'(value), back from g: g(x) = x, ln x, or ln of (x - low) / (high - x)
    (logit; fisher: the same of -1..1, twice the inverse hyperbolic tangent)

    q is the normal quantile, or that of Student's t with df degrees of freedom.

    Shapes: value and error broadcast. low..high is the range of the measure: limits stay inside,
    low <= value <= high. NaN where the value lies at an end of its range, where the error is 0, and
    where either is none: there nothing says how far it may be off.
    Errors: ValueError unless 0 < level < 1, and for a logit of a range without ends.
    """
    x, far = np.broadcast_arrays(np.asarray(value, np.float64), np.asarray(error, np.float64))
    if scale in ("logit", "fisher") and not np.isfinite(high - low):
        raise ValueError("a range without ends has no logit")
    q = critical_value(level)
    if df is not None:
        from scipy.special import stdtrit

        q = float(-stdtrit(df, tail_of(level))) if df > 0 else np.nan
    known = (x > low) & (x < high) & (far > 0) & np.isfinite(far)
    x, reach = np.where(known, x, np.nan), q * np.where(known, far, np.nan)
    if scale == "identity":
        ends = x - reach, x + reach
    elif scale == "log":
        factor = np.exp(np.minimum(reach / x, 700))
        ends = x / factor, x * factor
    else:
        up, down = x - low, high - x
        factor = np.exp(np.minimum(reach * (high - low) / (up * down), 700))
        ends = (
            low + (high - low) * up / (up + down * factor),
            (low + (high - low) * up / (up + down / factor)),
        )
    return np.maximum(np.minimum(ends[0], x), low), np.minimum(np.maximum(ends[1], x), high)


def near_an_end(value: ArrayLike, error: ArrayLike, *, low: float, high: float) -> Bools:
    """Tell where a measure lies within 3 standard errors of an end of its range, or has none."""
    x, reach = np.asarray(value, np.float64), NEAR * np.asarray(error, np.float64)
    return np.asarray(~((x - low > reach) & (high - x > reach)))
