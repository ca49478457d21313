"""The vertices of the convex hull of chains of points, such as a ROC curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Ints, safe_for_products

_FEW = 64  # points up to which the plain chain is faster than a pass
_PAYS = 16  # a pass is worthwhile while it drops one point in this number
_PATIENCE = 32  # passes that are not worthwhile, before the plain chain


def upper_hull_vertices(tp: Counts, fp: Counts, starts: Bools | None = None) -> Ints:
    """Return the positions of the strict vertices of the upper hull of chains, ends included.

    tp and fp (n,) rise along each chain; `starts` (n,) marks where chains start, and without it
    there is one. Of equal points in a chain the first is returned. Whole numbers below 2**30 are
    compared exactly. With tp and fp exchanged it is the lower hull.
    """
    y, x = safe_for_products(tp, fp)
    is_chain_border = np.zeros(len(x), bool) if starts is None else starts.copy()
    is_chain_border[:1] = True
    rises_to_next, advances_to_next = y[1:] > y[:-1], x[1:] > x[:-1]
    is_new = is_chain_border.copy()
    is_new[1:] |= rises_to_next | advances_to_next
    distinct_positions = None
    if not is_new.all():
        distinct_positions = np.flatnonzero(is_new)
        x, y, is_chain_border = (
            x[distinct_positions],
            y[distinct_positions],
            is_chain_border[distinct_positions],
        )
        rises_to_next, advances_to_next = y[1:] > y[:-1], x[1:] > x[:-1]
    is_chain_border[:-1] |= is_chain_border[1:]  # a chain ends where the next one starts
    is_chain_border[-1:] = True
    is_corner = is_chain_border.copy()
    # this is true of every vertex and of few other points
    is_corner[1:-1] |= rises_to_next[:-1] & advances_to_next[1:]
    positions = np.flatnonzero(is_corner)
    x, y, is_chain_border = x[positions], y[positions], is_chain_border[positions]
    if distinct_positions is not None:
        positions = distinct_positions[positions]
    slow_passes = 0
    while len(x) > _FEW and slow_passes < _PATIENCE:
        dx = np.diff(x)
        dy = np.diff(y)
        is_candidate = is_chain_border.copy()
        is_candidate[1:-1] |= dx[:-1] * dy[1:] < dy[:-1] * dx[1:]
        dropped_count = len(x) - np.count_nonzero(is_candidate)
        if not dropped_count:
            return positions
        slow_passes += int(dropped_count * _PAYS < len(x))
        x, y, is_chain_border, positions = (
            x[is_candidate],
            y[is_candidate],
            is_chain_border[is_candidate],
            positions[is_candidate],
        )
    return positions[_scan_hull(x.tolist(), y.tolist(), is_chain_border.tolist())]


def _scan_hull(x: Sequence[float], y: Sequence[float], is_chain_end: Sequence[bool]) -> Ints:
    """Return the upper hull of sorted points by a monotone chain; ends of chains are in it."""
    hull: list[int] = []
    for i in range(len(x)):
        while hull and not is_chain_end[hull[-1]]:
            previous, last = hull[-2], hull[-1]
            if (x[last] - x[previous]) * (y[i] - y[last]) < (y[last] - y[previous]) * (
                x[i] - x[last]
            ):
                break
            hull.pop()
        hull.append(i)
    return np.array(hull, np.int64)
