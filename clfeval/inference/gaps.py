"""How far two estimates lie apart, from the limits of each: those of a slice and of the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.special import student_quantile


def apart(
    one: ArrayLike, other: ArrayLike, rho: ArrayLike = 0.0, *, wider: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """Return the differences of two estimates and their limits, from the limits of each.

    d = x - y   low = d - sqrt(a² + b² - 2 rho a b), a = x - its low, b = y's high - y
    high alike of x's high and y's low

    rho: their correlation, 0 of different rows; -1 is the most cautious. wider: what the distances
    are multiplied by. Of Wilson's limits and rho = 0 this is Newcombe's method 10.

    Shapes: one, other (3, m): value, low, high; rho (m,). NaN where one is.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693; correlated: Zou 2007, Psychological
    Methods 12:399.
    """
    (x, low, high), (y, under, over) = (np.asarray(each, np.float64) for each in (one, other))
    r = np.asarray(rho, np.float64)
    below, above = (
        np.sqrt(np.maximum(a * a + b * b - 2 * r * a * b, 0.0))
        for a, b in ((x - low, over - y), (high - x, y - under))
    )
    return x - y, x - y - wider * below, x - y + wider * above


def chances(differences: ArrayLike, low: ArrayLike, high: ArrayLike, df: ArrayLike, *,
            level: float) -> Floats:  # fmt: skip
    """Return the two-sided p-values of differences with such limits: p < 1 - level as they say.

    p = 2 P(T > |d| t / r), r how far the limit towards 0 lies off, t the quantile at `level`

    T is Student's with df degrees of freedom. Limits at other levels pass for wider in the ratio of
    the quantiles. NaN where limits are; 1 where d = 0, and 0 where a limit is d itself.
    Shapes: (m,) each.
    """
    from scipy.special import stdtr

    d, many = np.asarray(differences, np.float64), np.minimum(np.asarray(df, np.float64), 1e12)
    reach = np.where(d > 0, d - np.asarray(low), np.asarray(high) - d)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(many, -np.abs(d) / reach * student_quantile(many, level=level))
    return np.where(np.isnan(reach), np.nan, np.where(d == 0, 1.0, p))
