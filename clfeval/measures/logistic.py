"""The logistic regression of truth on the log odds of a probability: the line of calibration."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, over
from clfeval.measures.scored import LEAST, probabilities, remembered

_MOST_STEPS = 200  # of Newton's method; a handful are taken
_HALVINGS = 60
_SETTLED = 1e-7  # the step after which the next is below rounding
_LEFT = 1e-6  # of the rows, that an intercept may expect too many or too few
_BLOCKS = 2048  # of many scores, of which a first fit is made
_AT_ONCE = 2**16  # scores looked at together, few enough to stay in the cache
_FALL = -0.5  # of the slope along a step: past the top by more, and the step is halved


@remembered
def log_odds(p: Counts) -> Floats:
    """Return ln(p / (1 - p)) of probabilities, p taken to 2**-52..1 - 2**-52: within ±52 ln 2.

    Errors: ValueError for numbers outside 0..1.
    """
    given = np.clip(probabilities(p), LEAST, 1 - LEAST)
    return np.asarray(np.log(given) - np.log1p(-given))


@remembered
def line(x: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return intercept and slope of the logistic regression of truth on x: (2, ...).

    Those under which the counts are most likely: sum n (y - mu) = 0, sum n x (y - mu) = 0 with
    mu = 1 / (1 + exp(-a - b x)). Newton's method; a step that passes the top is halved.

    Shapes: x (m,) ascending; positives and negatives (..., m). NaN where nothing is most likely:
    with one class, where all x are one, and where some x parts the classes (separation).
    """
    pos, neg = _flat(positives), _flat(negatives)
    found = np.full((len(pos), 2), np.nan)
    some = _overlapping(x, pos, neg)
    if some.any():
        centre, unit = float(x.mean()), float(x.std()) or 1.0
        z, pos, neg = (x - centre) / unit, pos[some], neg[some]
        p, n = pos.sum(axis=1), neg.sum(axis=1)
        start = np.column_stack([np.log(p / n), np.zeros(len(p))])
        if len(x) > 2 * _BLOCKS:
            start = _climbed(*_blocks(z, pos, neg), start)
            start = np.where(np.isfinite(start), start, 0.0)
        a, b = _climbed(np.broadcast_to(z, pos.shape), pos, neg, start).T
        found[some] = np.column_stack([a - b * centre / unit, b / unit])
    return found.T.reshape(2, *np.shape(positives)[:-1])


@remembered
def shift(x: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return the intercept of the logistic regression with the slope held at 1: (...).

    That under which sum n / (1 + exp(-a - x)) is the number of positives. NaN with one class.
    Shapes: as for `line`.
    """
    pos, neg = _flat(positives), _flat(negatives)
    found = np.full(len(pos), np.nan)
    p, n = pos.sum(axis=1), neg.sum(axis=1)
    some = (p > 0) & (n > 0)
    if some.any():
        pos, neg, p, n = pos[some], neg[some], p[some], n[some]
        mean = ((pos + neg) * x).sum(axis=1) / (p + n)
        start = np.column_stack([np.log(p / n) - mean, np.ones(len(p))])
        if len(x) > 2 * _BLOCKS:
            near = _climbed(*_blocks(x, pos, neg), start, free=False)
            start = np.where(np.isfinite(near), near, start)
        each = _climbed(np.broadcast_to(x, pos.shape), pos, neg, start, free=False)[:, 0]
        over = _excess(x, pos, neg, each)
        # from a start far off, where all chances are 0 or 1, Newton's step has no end
        lost = ~(np.abs(over) <= _LEFT * (p + n))
        if lost.any():
            each[lost] = _halved(x, pos[lost], neg[lost], np.log(p / n)[lost])
        found[some] = each
    return found.reshape(np.shape(positives)[:-1])


def _excess(x: Floats, pos: Floats, neg: Floats, a: Floats) -> Floats:
    """Return how many positives an intercept (r,) expects beyond those there are, (r,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        expected = (pos + neg) / (1 + np.exp(-(a[:, None] + x)))
    return np.asarray(expected.sum(axis=1) - pos.sum(axis=1))


def _halved(x: Floats, pos: Floats, neg: Floats, odds: Floats) -> Floats:
    """Return the intercept between those that expect too few and too many, (r,)."""
    low, high = odds - x.max(), odds - x.min()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        many = _excess(x, pos, neg, middle) > 0
        low, high = np.where(many, low, middle), np.where(many, middle, high)
    return np.asarray((low + high) / 2)


def information(
    x: Floats, positives: Counts, negatives: Counts, a: float, b: float
) -> tuple[float, float, float]:
    """Return M / sum w, the mean of x by w, and M / sum w (x - mean)², w = n mu (1 - mu).

    Around that mean the information on the line is that on two lines. Shapes: (m,) each. NaN where
    a or b is.
    """
    if np.isnan(a + b):
        return np.nan, np.nan, np.nan
    sums, centre = np.zeros(3), float(x.mean())
    for start in range(0, len(x), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        mu, z = chances(x[part], a, b), x[part] - centre
        w = (positives[part] + negatives[part]) * mu * (1 - mu)
        sums += w.sum(), (w * z).sum(), (w * z * z).sum()
    rows, mean = positives.sum() + negatives.sum(), over(sums[1], sums[0])
    each = over(rows, [sums[0], sums[2] - sums[1] * mean]).tolist()
    return each[0], float(centre + mean), each[1]


def chances(x: Floats, a: float, b: float) -> Floats:
    """Return 1 / (1 + exp(-a - b x)), without overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-(a + b * x))))


def _flat(counts: Counts) -> Floats:
    given = np.asarray(counts, np.float64)
    return given.reshape(-1, given.shape[-1])


def _overlapping(x: Floats, pos: Floats, neg: Floats) -> Bools:
    """Tell where each class has an x below some x of the other: a line is most likely only then."""
    if not len(x):
        return np.zeros(len(pos), bool)
    lows, highs = [], []
    for counts in (pos, neg):
        has = counts > 0
        lows.append(np.where(has.any(axis=1), x[has.argmax(axis=1)], np.nan))
        highs.append(x[len(x) - 1 - has[:, ::-1].argmax(axis=1)])
    return np.asarray((lows[0] < highs[1]) & (lows[1] < highs[0]))


def _blocks(z: Floats, pos: Floats, neg: Floats) -> tuple[Floats, Floats, Floats]:
    """Add up neighbours: mean z, positives and negatives of each block, (r, blocks)."""
    first = np.linspace(0, len(z), _BLOCKS, endpoint=False).astype(np.int64)
    p, n = (np.add.reduceat(part, first, axis=1) for part in (pos, neg))
    rows = np.maximum(p + n, 1e-300)
    return np.add.reduceat((pos + neg) * z, first, axis=1) / rows, p, n


def _climbed(z: Floats, pos: Floats, neg: Floats, start: Floats, *, free: bool = True) -> Floats:
    """Climb to the greatest likelihood from a start (r, 2); NaN for rows that do not settle."""
    here, found = start.copy(), np.full_like(start, np.nan)
    active = np.arange(len(start))
    slope, step = _newton(z, pos, neg, here, free)
    for _ in range(_MOST_STEPS):
        rise = (slope * step).sum(axis=1)
        length, moving = np.ones(len(active)), np.ones(len(active), bool)
        there, next_slope, next_step = here + step, slope.copy(), step.copy()
        for _ in range(_HALVINGS):
            at = slice(None) if moving.all() else np.flatnonzero(moving)  # a slice copies nothing
            there[at] = here[at] + length[at, None] * step[at]
            next_slope[at], next_step[at] = _newton(z[at], pos[at], neg[at], there[at], free)
            along = (next_slope[at] * step[at]).sum(axis=1)
            moving[at] = ~(along >= _FALL * rise[at])  # NaN is too far
            if not moving.any():
                break
            length[moving] /= 2
        size = np.abs(length[:, None] * step).max(axis=1)
        settled = size <= _SETTLED * (1 + np.abs(there).max(axis=1))
        found[active[settled]] = there[settled]
        rest = ~settled & ~moving
        if not rest.any():
            break
        active, here, slope, step = active[rest], there[rest], next_slope[rest], next_step[rest]
        z, pos, neg = (z, pos, neg) if rest.all() else (z[rest], pos[rest], neg[rest])
    return found


def _newton(z: Floats, pos: Floats, neg: Floats, at: Floats, free: bool) -> tuple[Floats, Floats]:
    """Return the slope of the log likelihood and Newton's step, (r, 2) each."""
    with np.errstate(all="ignore"):
        sums = np.zeros((5, len(at)))
        for start in range(0, z.shape[1], _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            sums += _sums(z[:, part], pos[:, part], neg[:, part], at, free)
        g0, g1, h00, h01, h11 = sums
        if not free:
            none = np.zeros_like(g0)
            return np.column_stack([g0, none]), np.column_stack([g0 / h00, none])
        whole = h00 * h11 - h01 * h01
        step = [(h11 * g0 - h01 * g1) / whole, (h00 * g1 - h01 * g0) / whole]
        return np.column_stack([g0, g1]), np.column_stack(step)


def _sums(z: Floats, pos: Floats, neg: Floats, at: Floats, free: bool) -> Floats:
    """Return the slope of the log likelihood and its curvature: g0, g1, h00, h01, h11, (5, r)."""
    n = pos + neg
    mu = 1 / (1 + np.exp(-(at[:, :1] + at[:, 1:] * z)))
    rest, w = pos - n * mu, n * mu * (1 - mu)
    found = np.zeros((5, len(at)))
    found[0], found[2] = rest.sum(axis=1), w.sum(axis=1)
    if free:
        found[1] = (rest * z).sum(axis=1)
        w *= z
        found[3], found[4] = w.sum(axis=1), (w * z).sum(axis=1)
    return found
