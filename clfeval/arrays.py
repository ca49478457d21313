"""The kinds of arrays that numbers travel in, and how they are divided."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Counts = NDArray[Any]  # int64, or float64 for fractional weights
MOST = 2**60  # the largest count of rows: sums of a few such still fit 64 bits
Number = Any  # a float or an array of numbers


def over(part: Number, whole: Number) -> Floats:
    """Return part / whole: NaN for 0/0, infinite for more than 0 over 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.divide(np.asarray(part, np.float64), whole))
