"""Confidence bands of a calibration spline, pointwise and simultaneous, and under calibration."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.inference.distributions import (
    chi_square_quantile,
    critical_value,
    student_quantile,
    variance_ratio_quantile,
)
from clfeval.inference.influence_and_clusters import SamplingUnits, smaller_class_size
from clfeval.measures.calibration_spline import SplineFit, spline_basis
from clfeval.measures.isotonic import isotonic_values
from clfeval.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class CurveLimits:
    """A curve of probabilities and its limits at some scores, (g,) each; NaN where unknown.

    low, high: of each point by itself; low_all, high_all: of all points jointly.
    """

    curve: Floats
    low: Floats
    high: Floats
    low_all: Floats
    high_all: Floats


def spline_limits(
    fit: SplineFit, x: Floats, covariance: Floats, level: float | None, df: float = np.inf
) -> CurveLimits:
    """Return the curve at log odds x (g,), with limits by the delta method on the logit.

    logit c = b' s   limits b' s -+ t sqrt(s' V s), and sqrt(q F) in place of t for all jointly

    with Student's t of df degrees of freedom, q coefficients, and F of q and df - q + 1, times
    df / (df - q + 1); without clusters or weights the normal quantile and sqrt(chi²) of q.
    covariance V (q, q) of b.
    Source: Working and Hotelling 1929, Journal of the American Statistical Association 24:73;
    Hotelling 1931, Annals of Mathematical Statistics 2:360.
    """
    basis = spline_basis(x, fit.knots)
    log_odds = fit.coefficients @ basis
    if level is None:
        unknown = np.full(len(x), np.nan)
        return CurveLimits(_probabilities(log_odds), unknown, unknown, unknown, unknown)
    error = np.sqrt(np.maximum(np.einsum("qg,qr,rg->g", basis, covariance, basis), 0.0))
    q = len(basis)
    if np.isinf(df):
        point_quantile = critical_value(level)
        joint_quantile = float(chi_square_quantile(q, np.array(level))) ** 0.5
    else:
        point_quantile = float(student_quantile(df, level=level))
        second_df = df - q + 1
        joint_quantile = (df / second_df * q * variance_ratio_quantile(q, second_df, level)) ** 0.5
    limits = [
        _probabilities(log_odds + z * error)
        for z in (-point_quantile, point_quantile, -joint_quantile, joint_quantile)
    ]
    return CurveLimits(_probabilities(log_odds), *limits)


def coefficient_covariance(
    fit: SplineFit,
    x: Floats,
    positives: Counts,
    negatives: Counts,
    unit: float,
    clusters: SamplingUnits | None,
) -> tuple[Floats, float]:
    """Return the covariance of the coefficients, (q, q), and degrees of freedom of their limits.

    The inverse information; with clusters or weights the sandwich A^-1 sum U_c U_c' A^-1, times
    C / (C - q), with as many degrees of freedom as the smaller class has effective clusters or
    rows, less 1. x, positives, negatives (m,): log odds of the scores of the fit, and their rows
    counted in units; clusters: of these counts, positives first. NaN for too few clusters, and
    without more degrees of freedom than coefficients.
    Source: Binder 1983, International Statistical Review 51:279.
    """
    inverse = np.asarray(np.linalg.pinv(fit.curvature, hermitian=True), np.float64)
    if clusters is None:
        return unit * inverse, np.inf
    if clusters.too_few:
        return np.full_like(inverse, np.nan), np.nan
    basis = spline_basis(x, fit.knots)
    probabilities = _probabilities(fit.coefficients @ basis)
    influence = inverse @ np.concatenate(
        [(1 - probabilities) * basis, -probabilities * basis], axis=1
    )
    unit_count, q = clusters.size, len(basis)
    df = smaller_class_size(np.concatenate([positives, negatives]), clusters) - 1
    if not df > q:
        return np.full_like(inverse, np.nan), np.nan
    return clusters.products(influence) * unit_count / (unit_count - q), df


def consistency_limits(
    scores: Floats, rows: Counts, samples: Iterable[Floats], level: float
) -> tuple[Floats, Floats]:
    """Return quantiles (m,) of isotonic curves of calibrated samples: a band around the diagonal.

    samples: positives at each score, (b, m) each. Source: Dimitriadis, Gneiting and Jordan 2021,
    PNAS 118:e2016191118.
    """
    curves = np.concatenate(
        [isotonic_values(scores, positives, rows - positives) for positives in samples]
    )
    tail = (1 - level) / 2
    low, high = np.quantile(curves, (tail, 1 - tail), axis=0)
    return low, high


def _probabilities(log_odds: Floats) -> Floats:
    """Return 1 / (1 + exp(-log_odds)), without overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))
