"""Differences of two estimates by rows drawn again: of what has no influence values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.gaps import chances
from clfeval.inference.resampling import percentiles
from clfeval.inference.special import student_quantile

_NOTHING = 1e-12  # of the values: what rounding leaves of draws that are all alike


@dataclass(frozen=True, slots=True, eq=False)
class OfDraws:
    """What draws tell of q differences: standard errors and limits at a level, (q,) each.

    An error is 0 where no draw moves the difference, or nobody knows it: then df is 0. how (q,):
    what the method is called.
    """

    errors: Floats
    df: Floats
    low: Floats
    high: Floats
    level: float
    how: Sequence[str]

    def limits(self, differences: ArrayLike, *, level: float) -> tuple[Floats, Floats]:
        """Return limits at a level, as much wider as Student's t is; NaN where the error is 0."""
        d, free = np.asarray(differences, np.float64), np.where(self.df > 0, self.df, np.nan)
        t, mine = (student_quantile(free, level=at) for at in (level, self.level))
        return d - (d - self.low) * t / mine, d + (self.high - d) * t / mine

    def chances(self, differences: ArrayLike) -> Floats:
        """Return two-sided p-values, (q,), that are below 1 - level where limits exclude 0.

        1 where no draw moves two equal values.
        """
        d = np.asarray(differences, np.float64)
        found = chances(d, self.low, self.high, self.df, level=self.level)
        return np.where((self.errors == 0) & (self.df > 0) & (d == 0), 1.0, found)


def of_draws(
    difference: float, draws: Floats, size: float, *, level: float, fewest: float
) -> tuple[float, float, float, float]:
    """Return what r draws, (r,), tell of a difference: error, degrees of freedom, limits.

    error = sqrt(m / (m - 1)) the standard deviation of the draws, m = fewest rows of a class, or
    clusters; limits: the outer ones of d -+ t error, with min(m, r) - 1 degrees of freedom, and of
    the percentiles. In 200 to 300 simulated tables of 100 to 1,000 rows, 10 and 50 % positive, of
    equal and of unequal models, 95 % limits of differences of KS, partial areas, precision at k,
    accuracy of the surest and (but where models are calibrated unalike) calibration errors held the
    truth in 92.5 % at least; t alone fell to 79 %, percentiles to 83 %. Calibration errors of few
    rows are themselves too large, most so of a calibrated model: their differences are too small.

    size: of the values, beside which draws that hardly differ are alike. NaN draws are left out;
    with more than half of them, or one row of a class, there are 0 degrees of freedom.
    Source: Efron 1979, Annals of Statistics 7:1; Hesterberg 2015, American Statistician 69:371.
    """
    low, high, _ = (float(one) for one in percentiles(draws, level=level))
    df = min(fewest, len(draws)) - 1
    if not (df > 0 and low <= high):
        return 0.0, 0.0, nan, nan
    error = float(np.nanstd(draws, ddof=1)) * sqrt(fewest / (fewest - 1))
    if error <= _NOTHING * size:
        return 0.0, df, nan, nan
    reach = float(student_quantile(df, level=level)) * error
    return error, df, min(low, difference - reach), max(high, difference + reach)
