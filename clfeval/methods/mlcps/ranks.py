"""Dense ranks, best first; what differs by less than rounding shares one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIE = 1e-12  # relative: a sum of products in another order may differ by less


def dense_ranks(values: Floats) -> Ints:
    """Return the dense ranks of each column: 1 for the greatest, 0 for NaN.

    Neighbours in order tie when they differ by at most 1e-12 of the greater one.

    Shapes: values (k, ...), models first; the ranks likewise.
    """
    order = np.argsort(-values, axis=0)  # NaN last; equal values share a rank in any order
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore"):
        lower = ordered[:-1] - ordered[1:] > TIE * np.abs(ordered[:-1])
    ranks = np.ones(values.shape, np.int64)
    ranks[1:] += np.cumsum(lower, axis=0)
    ranks[np.isnan(ordered)] = 0
    out = np.empty_like(ranks)
    np.put_along_axis(out, order, ranks, axis=0)
    return out


def ascending_ranks(values: Floats) -> Ints:
    """Return dense ranks with 1 for the least, 0 for NaN: fewer is better."""
    return dense_ranks(-values)


def firsts(ranks: Ints) -> list[int]:
    """Return who is first: one model, or several that tie."""
    found: list[int] = np.flatnonzero(ranks == 1).tolist()
    return found
