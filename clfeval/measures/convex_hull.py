"""The vertices of the convex hull of chains of points, such as a ROC curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Ints, safe_for_products

_FEW = 64  # points up to which the plain chain is faster than a pass
_PAYS = 16  # a pass is worthwhile while it drops one point in this number
_PATIENCE = 32  # passes that are not worthwhile, before the plain chain


def upper_hull_vertices(tp: Counts, fp: Counts, starts: Bools | None = None) -> Ints:
    """Return the places of the strict vertices of the upper hull of chains, their ends included.

    tp and fp (n,) rise along each chain; `starts` (n,) marks where chains start, and without it
    there is one. Of equal points in a chain the first is returned. Whole numbers below 2**30 are
    compared exactly. With tp and fp exchanged it is the lower hull.
    """
    y, x = safe_for_products(tp, fp)
    stays = np.zeros(len(x), bool) if starts is None else starts.copy()
    stays[:1] = True
    up, right = y[1:] > y[:-1], x[1:] > x[:-1]
    fresh = stays.copy()
    fresh[1:] |= up | right
    origin = None
    if not fresh.all():
        origin = np.flatnonzero(fresh)
        x, y, stays = x[origin], y[origin], stays[origin]
        up, right = y[1:] > y[:-1], x[1:] > x[:-1]
    stays[:-1] |= stays[1:]  # a chain ends where the next one starts
    stays[-1:] = True
    corner = stays.copy()
    corner[1:-1] |= up[:-1] & right[1:]  # true of every vertex and of few other points
    places = np.flatnonzero(corner)
    x, y, stays = x[places], y[places], stays[places]
    if origin is not None:
        places = origin[places]
    unpaid = 0
    while len(x) > _FEW and unpaid < _PATIENCE:
        dx, dy = np.diff(x), np.diff(y)
        keep = stays.copy()
        keep[1:-1] |= dx[:-1] * dy[1:] < dy[:-1] * dx[1:]
        dropped = len(x) - np.count_nonzero(keep)
        if not dropped:
            return places
        unpaid += int(dropped * _PAYS < len(x))
        x, y, stays, places = x[keep], y[keep], stays[keep], places[keep]
    return places[_scan_hull(x.tolist(), y.tolist(), stays.tolist())]


def _scan_hull(x: Sequence[float], y: Sequence[float], stays: Sequence[bool]) -> Ints:
    """Return the upper hull of sorted points by a monotone chain; points of `stays` are kept."""
    kept: list[int] = []
    for i in range(len(x)):
        while kept and not stays[kept[-1]]:
            a, b = kept[-2], kept[-1]
            if (x[b] - x[a]) * (y[i] - y[b]) < (y[b] - y[a]) * (x[i] - x[b]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, np.int64)
