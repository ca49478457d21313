"""The kinds of arrays that numbers travel in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Counts = NDArray[Any]  # int64, or float64 for fractional weights
MOST = 2**60  # the largest count of rows: sums of a few such still fit 64 bits
