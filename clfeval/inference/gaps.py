"""How surely two estimates lie apart whose difference has limits: a slice and the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.special import student_quantile
from clfeval.inference.tails import student_tail


def chances(differences: ArrayLike, low: ArrayLike, high: ArrayLike, df: ArrayLike, *,
            level: float) -> Floats:  # fmt: skip
    """Return the two-sided p-values of differences with such limits: p < 1 - level as they say.

    p = 2 P(T > |d| t / r), r how far the limit towards 0 lies off, t the quantile at `level`

    T is Student's with df degrees of freedom. Limits at other levels pass for wider in the ratio of
    the quantiles. NaN where limits are; 1 where d = 0, and 0 where a limit is d itself.
    Shapes: (m,) each.
    """
    d = np.asarray(differences, np.float64)
    reach = np.where(d > 0, d - np.asarray(low), np.asarray(high) - d)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * student_tail(df, np.abs(d) / reach * student_quantile(df, level=level))
    return np.where(np.isnan(reach), np.nan, np.where(d == 0, 1.0, p))
