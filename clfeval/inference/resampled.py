"""The corrected resampled t test: differences measured on overlapping splits of one table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class ResampledT:
    """A mean over splits, its interval, and the t test that it is 0; t is None where infinite."""

    mean: float
    low: float
    high: float
    t: float | None
    df: int
    p_value: float


def corrected_t(values: ArrayLike, train_fraction: float, *, level: float) -> ResampledT:
    """Return the mean of one value per random split, its interval and whether it is 0.

    t = mean / sqrt((1/J + (1-f)/f) s²)   df = J - 1   p = P(|T| >= |t|)
    interval: mean -+ (the two-sided t quantile of the level) sqrt((1/J + (1-f)/f) s²)

    with J values, s² their variance (denominator J - 1) and f the share of rows trained on, so that
    (1-f)/f is test rows over training rows: the splits share rows, and 1/J alone would promise more
    certainty the more splits are drawn. With J equal values s is 0 and the interval is the mean;
    p is then 1 at a mean of 0, otherwise 0.

    Shapes: values is a vector (J,) of finite numbers.
    Errors: ValueError when J < 2, when a value is not finite, unless 0 < f < 1 and 0 < level < 1.
    Source: Nadeau and Bengio 2003, Machine Learning 52:239, section 3.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level {level} is not between 0 and 1")
    if not 0 < train_fraction < 1:
        raise ValueError(f"the training fraction {train_fraction} is not between 0 and 1")
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or len(x) < 2 or not np.isfinite(x).all():
        raise ValueError("the test needs a vector of at least two finite values")
    df = len(x) - 1
    equal = bool(x.min() == x.max())  # their mean may miss them by a rounding error
    mean = float(x[0] if equal else x.mean())
    inflation = 1 / len(x) + (1 - train_fraction) / train_fraction
    error = 0.0 if equal else math.sqrt(inflation) * float(x.std(ddof=1))
    if not error:
        t, p_value = (0.0, 1.0) if mean == 0 else (None, 0.0)
        return ResampledT(mean, mean, mean, t, df, p_value)
    from scipy.special import stdtr, stdtrit

    reach = -float(stdtrit(df, (1 - level) / 2)) * error
    t = mean / error
    return ResampledT(mean, mean - reach, mean + reach, t, df, 2 * float(stdtr(df, -abs(t))))
