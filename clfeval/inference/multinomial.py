"""The interval of a weighed difference of two shares of the same rows, such as a net benefit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.paired_measures import measure_difference
from clfeval.inference.shares import score_limits, score_parts
from clfeval.inference.special import critical_value


def weighted_difference(
    a: ArrayLike, first: ArrayLike, b: ArrayLike, second: ArrayLike, rows: ArrayLike, *,
    level: float, z: ArrayLike | None = None,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return a p - b q and its interval, p and q the shares of rows of two kinds.

    By square-and-add of the score limits of a p and b q, which are correlated as counts of one
    multinomial sample are: rho = -sqrt(p q / ((1 - p) (1 - q))).

    z: the quantile, where it is not the normal one at `level`.

    Shapes: all broadcast; counts first + second <= rows, weights not negative. Range -b..a.
    Errors: ValueError for counts beyond the rows, and unless 0 < level < 1.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693; Wilson's limits.
    """
    z = critical_value(level) if z is None else z
    m = np.asarray(rows, np.float64)
    parts = [score_parts(count, m) for count in (first, second)]
    (p, below, _, _), (q, beside, _, _) = parts
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = -np.sqrt(p * q / (below * beside))
    rho = np.where(np.isfinite(rho), np.maximum(rho, -1.0), 0.0)
    limits = [score_limits(part, z) for part in parts]
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    (low1, high1), (low2, high2) = limits
    return measure_difference(x * p, x * low1, x * high1, y * q, y * low2, y * high2, rho)
