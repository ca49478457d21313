"""Standard errors of smooth measures from influence values of rows, clusters or weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats, Influence, divide
from clfeval.inference.independent import SamplingUnits, power_sums
from clfeval.inference.special import student_quantile

_LEAST_FREE = 0.5  # as where one row has all the weight: t reaches 1e100 and more
_DUST = 1e-12  # of a value: what rounding leaves of an error of 0


@dataclass(frozen=True, slots=True)
class CovarianceEstimate:
    """Covariance and degrees of freedom of k measures of one sample.

    covariance (k, k), NaN with a single row or cluster. df (k,): degrees of freedom for Student's
    t, NaN where nothing varies. effect (k,): design effect, 1 without clusters. size: rows,
    clusters, or Kish's effective number of weighted rows.
    """

    covariance: Floats
    df: Floats
    effect: Floats
    size: float

    @property
    def errors(self) -> Floats:
        """The standard errors, (k,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def covariance_from_influence(
    f: ArrayLike | Influence, n: ArrayLike, *, fewest: float = np.inf,
    clusters: SamplingUnits | None = None,
) -> CovarianceEstimate:  # fmt: skip
    """Return the covariances of k measures from influence values of m kinds of rows.

    rows: V = M / (M - 1) sum n f f' / M², M = sum n
    weights: V = g / (g - 1) sum q f f' / M², q the sums of squared weights, g = M² / sum q
    clusters: V = C / (C - 1) sum over C clusters of F F' / M², F = sum n f over its rows

    df = 2 m / (k - 1), with the kurtosis k = m sum f⁴ / (sum f²)² of m rows (or g, or clusters),
    and at most clusters (or g) - 1 and `fewest` - 1, where fewest is that of `smaller_class_size`.

    Shapes: f (m,) or (k, m), or the Influence on one measure; n (m,), the rows of each kind, or
    their weight; clusters: those of the rows, or their weights. Errors: ValueError where shapes
    differ.
    Source: Hampel 1974, Journal of the American Statistical Association 69:383; clusters: Liang and
    Zeger 1986, Biometrika 73:13; weights: Binder 1983, International Statistical Review 51:279;
    Kish 1965, Survey Sampling, section 11.7; degrees of freedom: Satterthwaite 1946, Biometrics
    Bulletin 2:110.
    """
    counts = np.asarray(n, np.float64)
    values = f if isinstance(f, Influence) else np.atleast_2d(np.asarray(f, np.float64))
    kinds = (2 * f.m,) if isinstance(f, Influence) else np.shape(values)[1:]
    if kinds != counts.shape:
        raise ValueError("influence values and counts differ in length")
    total = float(counts.sum())
    products, second, fourth = power_sums(values, counts, counts)
    covariance = mean_covariance(products, total, total)
    if clusters is None:
        df = degrees_of_freedom(total, divide(total * fourth, second**2), fewest)
        return CovarianceEstimate(covariance, df, np.ones(len(second)), total)
    products, kurtosis = clusters.moments(values)
    together, size = mean_covariance(products, total, clusters.size), clusters.size
    rows = np.diag(covariance)
    effect = np.divide(np.diag(together), rows, out=np.full_like(rows, np.nan), where=rows > 0)
    return CovarianceEstimate(
        together, degrees_of_freedom(size, kurtosis, min(fewest, size)), effect, size
    )


def smaller_class_size(n: ArrayLike, clusters: SamplingUnits | None = None) -> float:
    """Return the rows of the smaller class, or its effective number of clusters.

    The least of P² / sum P_c² and the same of the negatives, P_c in a cluster; 0 for a class
    without rows.

    Shapes: n (2 m,), the rows of each kind, positives first, or their weight; clusters: as above.
    """
    counts = np.asarray(n, np.float64)
    rows = counts.reshape(2, -1).sum(axis=1)
    if clusters is None or not rows.all():
        return float(rows.min())
    which = np.repeat(np.eye(2), len(counts) // 2, axis=1)
    return float((rows**2 / np.diag(clusters.products(which))).min())


def degrees_of_freedom(parts: float, kurtosis: Floats, fewest: float) -> Floats:
    """Return degrees of freedom 2 parts / (kurtosis - 1), at most fewest - 1: see
    `covariance_from_influence`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return drop_small_df(np.minimum(2 * parts / np.maximum(kurtosis - 1, 0.0), fewest - 1))


def drop_small_df(df: Floats) -> Floats:
    """Return degrees of freedom, 0 for less than half a one: Student's t then has no limit."""
    return np.asarray(np.where(df < _LEAST_FREE, 0.0, df))


def mean_covariance(squares: Floats, total: float, parts: float) -> Floats:
    """Return sums of squares of so many parts as the covariance of a mean."""
    if parts <= 1:
        return np.full_like(squares, np.nan)
    return np.asarray(squares / total**2 * (parts / (parts - 1)))


def confidence_limits(
    value: ArrayLike, error: ArrayLike, *, scale: Literal["identity", "logit", "fisher", "log"],
    low: float, high: float, level: float, df: ArrayLike | None = None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return confidence limits of measures, symmetric on a transformed scale.

    g(value) -+ q error g'(value), back from g: g(x) = x, or ln x (log; ln of high - x where low is
    infinite), or ln of (x - low) / (high - x) (logit; fisher: the same of -1..1, twice the inverse
    hyperbolic tangent)

    q is the normal quantile, or that of Student's t with df degrees of freedom.

    Shapes: value, error and df broadcast. low..high is the range of the measure: limits stay within
    it, low <= value <= high. NaN where the value lies at an end of it, where the error is 0 or
    undefined, and without a degree of freedom.
    Errors: ValueError unless 0 < level < 1, and for a logit of a range without ends.
    """
    x, far = np.broadcast_arrays(np.asarray(value, np.float64), np.asarray(error, np.float64))
    if scale in ("logit", "fisher") and not np.isfinite(high - low):
        raise ValueError("an unbounded range has no logit")
    if scale == "log" and not np.isfinite(low):
        up, down = confidence_limits(
            high - x, far, scale=scale, low=0, high=np.inf, level=level, df=df
        )
        return high - down, high - up
    q = student_quantile(np.inf if df is None else df, level=level)
    known = (x > low) & (x < high) & (far > _DUST * np.abs(x)) & np.isfinite(far)
    x, reach = np.where(known, x, np.nan), q * np.where(known, far, np.nan)
    if scale == "identity":
        ends = x - reach, x + reach
    elif scale == "log":
        factor = np.exp(np.minimum(reach / x, 700))
        with np.errstate(over="ignore"):
            ends = x / factor, x * factor
    else:
        up, down = x - low, high - x
        factor = np.exp(np.minimum(reach * (high - low) / (up * down), 700))
        ends = (
            low + (high - low) * up / (up + down * factor),
            (low + (high - low) * up / (up + down / factor)),
        )
    return np.maximum(np.minimum(ends[0], x), low), np.minimum(np.maximum(ends[1], x), high)
