"""Numbers of limits, which the program returns as arrays."""

from __future__ import annotations

import numpy as np


def floats_of(arrays: tuple[np.ndarray, ...]) -> tuple[float, ...]:
    """Return arrays of one number each as floats."""
    return tuple(float(number) for number in arrays)
