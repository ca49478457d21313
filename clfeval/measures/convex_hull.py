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
    stays = np.zeros(len(x), bool) if starts is None else starts.copy()
    stays[:1] = True
    rises, advances = y[1:] > y[:-1], x[1:] > x[:-1]
    is_new = stays.copy()
    is_new[1:] |= rises | advances
    origin = None
    if not is_new.all():
        origin = np.flatnonzero(is_new)
        x, y, stays = x[origin], y[origin], stays[origin]
        rises, advances = y[1:] > y[:-1], x[1:] > x[:-1]
    stays[:-1] |= stays[1:]  # a chain ends where the next one starts
    stays[-1:] = True
    is_corner = stays.copy()
    is_corner[1:-1] |= rises[:-1] & advances[1:]  # true of every vertex and of few other points
    positions = np.flatnonzero(is_corner)
    x, y, stays = x[positions], y[positions], stays[positions]
    if origin is not None:
        positions = origin[positions]
    slow_passes = 0
    while len(x) > _FEW and slow_passes < _PATIENCE:
        dx = np.diff(x)
        dy = np.diff(y)
        keep = stays.copy()
        keep[1:-1] |= dx[:-1] * dy[1:] < dy[:-1] * dx[1:]
        dropped = len(x) - np.count_nonzero(keep)
        if not dropped:
            return positions
        slow_passes += int(dropped * _PAYS < len(x))
        x, y, stays, positions = x[keep], y[keep], stays[keep], positions[keep]
    return positions[_scan_hull(x.tolist(), y.tolist(), stays.tolist())]


def _scan_hull(x: Sequence[float], y: Sequence[float], stays: Sequence[bool]) -> Ints:
    """Return the upper hull of sorted points by a monotone chain; points of `stays` are kept."""
    hull: list[int] = []
    for i in range(len(x)):
        while hull and not stays[hull[-1]]:
            a, b = hull[-2], hull[-1]
            if (x[b] - x[a]) * (y[i] - y[b]) < (y[b] - y[a]) * (x[i] - x[b]):
                break
            hull.pop()
        hull.append(i)
    return np.array(hull, np.int64)
