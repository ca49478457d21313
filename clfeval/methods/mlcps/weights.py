"""What weights do to the first place: who wins under others, and which change of them dethrones.

Under weights w a rival B leads the winner A by the sum of w_i w_(i+1) c_i around the polygon, with
c_i = b_i b_(i+1) - a_i a_(i+1). In each weight by itself that lead is a straight line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Floats, Ints
from clfeval.methods.mlcps.ranking import TIE

Real = NDArray[np.floating[Any]]
Score = Callable[[Real, Real], Real]

_CLEAR = 1 + 10 * TIE
_STRONG = 64  # models that others are held against, metric by metric
_LEADERS = 512  # models that others are held against, draw by draw, besides winners so far
_ROUGH = 1e-3  # far more than what single precision may be off
_DRAWS = 320  # weightings at a time
_ROWS = 1024  # models at a time, few enough to stay in the cache
_CELLS = 2**20  # exact scores at a time
_PAIRS = 2**19  # pairs of models at a time
_BLOCK = 10  # metrics whose pairs are multiplied out
_PIECE = 2**18  # multiplications in one call of the library
_RIVALS = 2**18  # products of rivals at a time
_SHORTER = 1 - 4 * float(np.finfo(np.float64).eps)


def products(d: Real) -> Real:
    """Return d_i d_(i+1), with d_(n+1) = d_1.

    Shapes: d (..., n), result (..., n).
    Errors: ValueError with fewer than three metrics, which span no polygon.
    """
    if d.shape[-1] < 3:
        raise ValueError("a polygon needs at least three metrics")
    return d * np.roll(d, -1, axis=-1)


def winner_shares(d: Floats, *, draws: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return in how many random weightings each model is first: by MLcps, and order-free.

    Weights are uniform on the simplex, Dirichlet(1, ..., 1): independent exponential numbers over
    their sum. First are all models whose w_1 w_2 d_1 d_2 + ... + w_n w_1 d_n d_1 (or, order-free,
    sum of w_i w_j d_i d_j over all pairs) is within one part in 10**12 of the greatest.
    Both scores are judged on the same draws. These are the same whatever the models: only `draws`
    times n numbers are taken from `rng`, in the order of draws, then of metrics.

    Shapes: d (k, n) in 0..1; results (k,), 0..draws. With ties they add up to more than `draws`.
    Errors: ValueError with fewer than three metrics.
    Source: Devroye 1986, Non-Uniform Random Variate Generation, theorem V.2.2 (the simplex).
    """
    kept = _contenders(d)
    wins = np.zeros((2, len(d)), np.int64)
    # a factor of all models changes no place, and keeps tiny metrics in the range of floats
    a = d[kept] / (d.max(initial=0) or 1)
    for start in range(0, draws, _DRAWS):
        # not divided by their sum: that is a factor of all models too
        w = rng.standard_exponential((min(_DRAWS, draws - start), d.shape[1]))
        for row, score in enumerate((_around, _all_pairs)):
            leaders = np.append(np.arange(min(_LEADERS, len(a))), np.flatnonzero(wins[row, kept]))
            near = _near(score, a, w, leaders)
            wins[row, kept[near]] += _firsts(score, a[near], w)
    return wins[0], wins[1]


def weight_dependent(d: Floats) -> Bools:
    """Return which models' dense ranks hang on the weights.

    Q_A(w) = sum of w_i w_(i+1) a_i a_(i+1) >= Q_B(w) for all weights, if and only if
    a_i a_(i+1) >= b_i b_(i+1) for every i: else two neighbours' weights, large beside all others,
    turn it round. So a model depends on the weights when one of its products is greater and
    another one less than that of the same other model, by more than one part in 10**12; and also
    when that is so of a model above it, which ties under some weights and so takes one rank less.

    Shapes: d (k, n) in 0..1; result (k,). The work is k**2 n.
    Errors: ValueError with fewer than three metrics.
    """
    k = len(d)
    columns = np.ascontiguousarray(products(d).T, np.float64)
    turning = np.zeros(k, bool)
    step = max(1, _PAIRS // k)
    parts = [slice(start, start + step) for start in range(0, k, step)]
    for rows in parts:
        above, below = _sides(columns, rows, np.ones(k, bool))
        turning[rows] = (above & below).any(axis=1)
    found = turning.copy()
    for rows in parts:
        above, below = _sides(columns, rows, turning)
        found[rows] |= (below & ~above).any(axis=1)
    return found


def _sides(columns: Floats, rows: slice, others: Bools) -> tuple[Bools, Bools]:
    """Return whether some product of each row is greater, is less, than that of each other."""
    above = np.zeros((len(columns[0, rows]), int(others.sum())), bool)
    below = np.zeros_like(above)
    for column in columns:
        own, theirs = column[rows, None], column[others]
        above |= own > theirs * (1 + TIE)
        below |= own * (1 + TIE) < theirs
    return above, below


def _contenders(d: Floats) -> Ints:
    """Return the models that may be first, strong ones before others: none that is clearly beaten.

    A model is out when a strong one is at least as good in every metric and clearly better in all
    but one. Then each product of two metrics is clearly less, and so is the score, whatever the
    weights: by too much for a tie.
    """
    has_area = np.asarray(products(d).any(axis=1))
    strength = np.where(has_area, d.sum(axis=1) ** 2 - (d**2).sum(axis=1), -1)
    kept = np.argsort(-strength, kind="stable")
    columns = np.ascontiguousarray(d[kept].T)
    strong = [model for model in kept[:_STRONG].tolist() if has_area[model]]
    for best in d[strong]:
        beaten = np.flatnonzero(columns[0] <= best[0])
        for column, limit in zip(columns[1:], best[1:], strict=True):
            beaten = beaten[column[beaten] <= limit]
        clear = np.count_nonzero(columns[:, beaten] * _CLEAR <= best[:, None], axis=0)
        beaten = beaten[clear >= len(best) - 1]
        kept, columns = np.delete(kept, beaten), np.delete(columns, beaten, axis=1)
    return kept


def _near(score: Score, a: Floats, w: Floats, leaders: Ints) -> Ints:
    """Return the models near or above the best of the leaders in some weighting.

    In single precision, which is fast: weights are scaled so that the best known score is 1. What
    is left is held against the best of them all in a second round. Where single precision has no
    answer, the model stays.
    """
    near = np.arange(len(a))
    if len(near) <= _LEADERS:
        return near
    lead = score(a[leaders], w).max(axis=0)
    for _ in range(2):
        if not ((lead > 0) & np.isfinite(lead)).all():
            break
        with np.errstate(over="ignore", invalid="ignore"):
            weights = (w / np.sqrt(lead)[:, None]).astype(np.float32)
            best = np.ones(len(w))
            far = np.empty(len(near), bool)
            for start in range(0, len(near), _ROWS):
                rows = slice(start, start + _ROWS)
                scores = score(a[near[rows]].astype(np.float32), weights)
                far[rows] = scores.max(axis=1) < 1 - _ROUGH
                np.maximum(best, scores.max(axis=0), out=best)
        near, lead = near[~far], lead * best
    return near


def _firsts(score: Score, a: Floats, w: Floats) -> Ints:
    wins = np.zeros(len(a), np.int64)
    step = max(1, _CELLS // len(a))
    for start in range(0, len(w), step):
        scores = score(a, w[start : start + step])
        wins += np.count_nonzero(scores >= scores.max(axis=0) * (1 - TIE), axis=1)
    return wins


def _around(a: Real, w: Real) -> Real:
    return _summed(products(a), products(w))


def _all_pairs(a: Real, w: Real) -> Real:
    """Return the sum over all pairs of models (k, n) under weightings (m, n): (k, m).

    It is (S**2 - sum of squares) / 2, but that would lose the digits of ties where one metric
    outweighs the others. So no term is taken away: pairs inside blocks of metrics are multiplied
    out, and each block's sum is multiplied by that of the blocks before.
    """
    ours, theirs = a[:, :_BLOCK], w[:, :_BLOCK]
    total = _summed(_pairs(ours), _pairs(theirs))
    if a.shape[1] > _BLOCK:
        before = _summed(ours, theirs)
        for start in range(_BLOCK, a.shape[1], _BLOCK):
            ours, theirs = a[:, start : start + _BLOCK], w[:, start : start + _BLOCK]
            own = _summed(ours, theirs)
            total += _summed(_pairs(ours), _pairs(theirs))
            total += before * own
            before += own
    return total


def _pairs(x: Real) -> Real:
    return np.concatenate([x[:, i, None] * x[:, i + 1 :] for i in range(x.shape[1])], axis=1)


def _summed(a: Real, w: Real) -> Real:
    """Return the matrix product of models (k, f) and weightings (m, f): (k, m).

    In pieces so small that the library does not deal them to threads, which would wait for each
    other: on a busy machine that takes ten times as long.
    """
    if not a.shape[1]:
        return np.zeros((len(a), len(w)), a.dtype)
    across = np.ascontiguousarray(w.T)
    out = np.empty((len(a), len(w)), a.dtype)
    rows = max(1, _PIECE // max(1, w.size))
    whole = len(a) // rows * rows
    pieces = a[:whole].reshape(-1, rows, a.shape[1])
    np.matmul(pieces, across, out=out[:whole].reshape(-1, rows, len(w)))
    np.matmul(a[whole:], across, out=out[whole:])
    return out


def factors(d: Floats, w0: Floats, winner: int) -> Floats:
    """Return for each rival the least f such that weights from w0/f to w0 f bring it level.

    f = min f >= 1 such that Q_B(w) >= Q_A(w) for some w with w0_i / f <= w_i <= w0_i f

    The lead Q_B - Q_A is linear in each weight, so it is greatest in a corner of the box, and the
    best of all 2**n corners is found exactly by dynamic programming around the polygon. A metric
    of weight 0, kept as a ray, stays at 0. Level is within one part in 10**12.

    Shapes: d (k, n) in 0..1, w0 (n,) >= 0; result (k,), 1..inf. 1: level as it is. inf: no product
    of neighbours is greater than the winner's, so no weights do it. NaN: the winner itself.
    Errors: ValueError with fewer than three metrics.
    """
    step = max(1, _RIVALS // d.shape[1])
    parts = [_stretched(d[i : i + step], d[winner], w0)[0] for i in range(0, len(d), step)]
    found = np.concatenate(parts)
    found[winner] = np.nan
    return found


def dethroner(d: Floats, w0: Floats, winner: int, needed: Floats) -> tuple[float, int, Floats]:
    """Return the smallest factor, the rival whose it is, the first of several, and such weights.

    `needed` is what `factors` found. The weights are the corner of the box: w0 f or w0 / f, or w0
    itself where either makes no difference. Where no weights do it: inf, -1 and NaN.

    Shapes: as `factors`; the weights (n,).
    Errors: ValueError with fewer than three metrics.
    """
    needed = np.where(np.isnan(needed), np.inf, needed)
    rival, n = int(needed.argmin()), len(w0)
    if np.isinf(needed[rival]):
        return np.inf, -1, np.full(n, np.nan)
    factor, high = _stretched(d[[rival]], d[winner], w0)
    times = np.where(high[0], factor[0], 1 / factor[0])
    gains = _gains(d[[rival]], d[winner], w0)[0][0]
    for i in range(n):
        before, after = gains[i - 1] * times[i - 1], gains[i] * times[(i + 1) % n]
        if abs(before + after) <= TIE * max(abs(before), abs(after)):
            times[i] = 1.0
    return float(factor[0]), rival, w0 * times


def alone(d: Floats, w0: Floats, winner: int) -> tuple[Floats, Ints, Floats, Ints]:
    """Return the weights at which the winner is passed when one metric's weight changes alone.

    lower_i: the greatest weight below which a rival leads; upper_i: the least weight above which
    one does; both where the straight line of its lead, level + slope w_i, is 0. A rival that is
    level at w0 passes there, on the side on which its line rises. Of several that pass at one
    weight, the one whose line is steepest leads from there on, and of equal ones the first.
    Weight 0 is here a ray of length 0, not a metric left out, and who is only level there does
    not pass.

    Shapes: d (k, n) in 0..1, w0 (n,) >= 0; lower, lower_by, upper, upper_by (n,) each: the weight
    and the rival's index, NaN and -1 where no rival ever passes.
    Errors: ValueError with fewer than three metrics.
    """
    n, unit = len(w0), _unit(w0)
    w = w0 / unit
    c, own = _differences(d, d[winner])
    around = products(w)
    lead, tie = c @ around, TIE * (own @ around)
    lead = np.where(lead < -tie, lead, 0.0)
    bounds, leaders = np.full((2, n), np.nan), np.full((2, n), -1)
    for i in range(n):
        before, after = w[i - 1], w[(i + 1) % n]
        slope = before * c[:, i - 1] + after * c[:, i]
        slope[np.abs(slope) <= TIE * (before * own[i - 1] + after * own[i])] = 0
        level = lead - slope * w[i]
        falls, rises = (slope < 0) & (level > tie), slope > 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = np.where(lead < 0, -level / slope, w[i])
        bounds[0, i], leaders[0, i] = _first(np.where(falls, -crossing, np.inf), slope)
        bounds[1, i], leaders[1, i] = _first(np.where(rises, crossing, np.inf), slope)
    return -bounds[0] * unit, leaders[0], bounds[1] * unit, leaders[1]


def _first(crossing: Floats, slope: Floats) -> tuple[float, int]:
    least = float(crossing.min())
    if np.isinf(least):
        return np.nan, -1
    there = np.flatnonzero(crossing <= least + TIE * abs(least))
    return least, int(there[np.abs(slope[there]).argmax()])


def _unit(w0: Floats) -> float:
    # over a power of two at the greatest weight no product of weights overflows
    return float(np.ldexp(1.0, np.frexp(w0.max(initial=0))[1] - 1))


def _differences(d: Floats, best: Floats) -> tuple[Floats, Real]:
    """Return by how much rivals' products exceed the winner's (m, n), and the winner's (n,).

    0 for those within one part in 10**12: rounding makes no rival.
    """
    own, theirs = products(best), products(d)
    c = theirs - own
    c[np.abs(c) <= TIE * np.maximum(theirs, own)] = 0
    return c, own


def _gains(d: Floats, best: Floats, w0: Floats) -> tuple[Floats, float]:
    """Return what each pair of neighbours gives rivals (m, n), and the winner's whole score."""
    c, own = _differences(d, best)
    around = products(w0 / _unit(w0))
    return c * around, float(own @ around)


def _stretched(d: Floats, best: Floats, w0: Floats) -> tuple[Floats, Bools]:
    """Return the factors of rivals (m,) and in which metrics the weight is the high one (m, n)."""
    gains, score = _gains(d, best, w0)
    behind = gains.sum(axis=1) < -TIE * score
    factor, high = np.where(behind, np.inf, 1.0), np.zeros(gains.shape, bool)
    able = np.flatnonzero(behind & (gains > 0).any(axis=1))
    gains = gains[able]
    gains /= np.abs(gains).max(axis=1, initial=0)[:, None]
    stretch, high[able] = _least(gains)
    factor[able] = np.sqrt(1 + stretch)
    return factor, high


def _least(gains: Floats) -> tuple[Floats, Bools]:
    """Return the least f**2 - 1 at which some corner's lead is 0, and that corner: (m,), (m, n).

    From above: the corner with the best pair of neighbours high gets level somewhere, for its lead
    is a parabola. If another corner leads there, that one gets level at a smaller f, and so on: a
    few steps. Each row needs a gain above 0 and a sum of gains below 0.
    """
    m, n = gains.shape
    most = gains.argmax(axis=1)
    high = np.zeros((m, n), bool)
    high[np.arange(m), most] = high[np.arange(m), (most + 1) % n] = True
    stretch = _level(gains, high)
    open_ = np.arange(m)
    while open_.size:
        corner = _corner(gains[open_], stretch[open_])
        shorter = _level(gains[open_], corner)
        better = shorter < stretch[open_] * _SHORTER
        open_ = open_[better]
        stretch[open_], high[open_] = shorter[better], corner[better]
    return stretch, high


def _level(gains: Floats, high: Bools) -> Floats:
    """Return the f**2 - 1 > 0 at which a corner is level, inf where it never is: (m,).

    With s = f**2 - 1 and both, mixed, all: the sums of gains of neighbours that are both high, of
    which one is, and of all neighbours, which is less than 0, the lead in units of the low weights
    is both s**2 + (2 both + mixed) s + all.
    """
    after = np.roll(high, -1, axis=1)
    both, mixed = (np.where(x, gains, 0).sum(axis=1) for x in (high & after, high ^ after))
    behind, rise = -gains.sum(axis=1), 2 * both + mixed
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(rise**2 + 4 * both * behind)
        # two forms of one root, of which one loses no digits
        found = np.where(rise > 0, 2 * behind / (rise + root), (root - rise) / (2 * both))
    return np.where((found > 0) & ((rise > 0) | (both > 0)), found, np.inf)


def _corner(gains: Floats, stretch: Floats) -> Bools:
    """Return in which metrics the weight is high in the corner of greatest lead: (m, n).

    Dynamic programming along the polygon, for either choice of the first metric, then closed. Two
    high neighbours count 1, a high and a low one u = 1 / f**2, two low ones u**2.
    """
    m, n = gains.shape
    u = 1 / (1 + stretch)
    # first axis: the choice of the first metric
    low = np.stack([np.zeros(m), np.full(m, -np.inf)])
    up = low[::-1].copy()
    came = np.empty((n, 2, 2, m), bool)
    *columns, last = np.ascontiguousarray(gains.T)
    for i, gain in enumerate(columns, start=1):
        to_low = low + gain * u * u, up + gain * u
        to_high = low + gain * u, up + gain
        came[i] = to_low[1] > to_low[0], to_high[1] > to_high[0]
        low, up = np.maximum(*to_low), np.maximum(*to_high)
    ends = np.stack([low[0] + last * u * u, low[1] + last * u, up[0] + last * u, up[1] + last])
    choice, first = np.divmod(ends.argmax(axis=0), 2)
    high = np.empty((n, m), bool)
    for i in range(n - 1, 0, -1):
        high[i] = choice
        choice = came[i, choice, first, np.arange(m)].astype(np.int64)
    high[0] = first
    return high.T
