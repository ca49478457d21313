"""The first models under other weights of the metrics, and ranks that depend on weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Floats, Ints
from clfeval.methods.mlcps.ranking import TIE

Real = NDArray[np.floating[Any]]
Score = Callable[[Real, Real], Real]

_DRAWS = 320  # weightings at a time
_CELLS = 2**20  # exact scores at a time
_PAIRS = 2**19  # pairs of models at a time
_BLOCK = 10  # metrics whose pairs are multiplied out
_PIECE = 2**18  # multiplications in one call of the library


def neighbour_products(d: Real) -> Real:
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
    Both scores use the same draws, `draws` times n numbers from `rng`, independent of the models.

    Shapes: d (k, n) in 0..1; results (k,), 0..draws. With ties they add up to more than `draws`.
    Errors: ValueError with fewer than three metrics.
    Source: Devroye 1986, Non-Uniform Random Variate Generation, theorem V.2.2 (the simplex).
    """
    wins = np.zeros((2, len(d)), np.int64)
    # a factor of all models changes no place, and keeps tiny metrics in the range of floats
    a = d / (d.max(initial=0) or 1)
    for start in range(0, draws, _DRAWS):
        # not divided by their sum: that is a factor of all models too
        w = rng.standard_exponential((min(_DRAWS, draws - start), d.shape[1]))
        for row, score in enumerate((_polygon_scores, _all_pairs)):
            wins[row] += _count_firsts(score, a, w)
    return wins[0], wins[1]


def depends_on_weights(d: Floats) -> Bools:
    """Return which models' dense ranks depend on the weights.

    Q_A(w) = sum of w_i w_(i+1) a_i a_(i+1) >= Q_B(w) for all weights, if and only if
    a_i a_(i+1) >= b_i b_(i+1) for every i. A model depends on the weights when one of its products
    is greater and another less than that of another model, by more than one part in 10**12, or when
    this holds for a model above it.

    Shapes: d (k, n) in 0..1; result (k,). The work is k**2 n.
    Errors: ValueError with fewer than three metrics.
    """
    k = len(d)
    columns = np.ascontiguousarray(neighbour_products(d).T, np.float64)
    turning = np.zeros(k, bool)
    step = max(1, _PAIRS // k)
    parts = [slice(start, start + step) for start in range(0, k, step)]
    for rows in parts:
        above, below = _compare_products(columns, rows, np.ones(k, bool))
        turning[rows] = (above & below).any(axis=1)
    found = turning.copy()
    for rows in parts:
        above, below = _compare_products(columns, rows, turning)
        found[rows] |= (below & ~above).any(axis=1)
    return found


def _compare_products(columns: Floats, rows: slice, others: Bools) -> tuple[Bools, Bools]:
    """Return whether some product of each row is greater, is less, than that of each other."""
    above = np.zeros((len(columns[0, rows]), int(others.sum())), bool)
    below = np.zeros_like(above)
    for column in columns:
        own, theirs = column[rows, None], column[others]
        above |= own > theirs * (1 + TIE)
        below |= own * (1 + TIE) < theirs
    return above, below


def _count_firsts(score: Score, a: Floats, w: Floats) -> Ints:
    wins = np.zeros(len(a), np.int64)
    step = max(1, _CELLS // len(a))
    for start in range(0, len(w), step):
        scores = score(a, w[start : start + step])
        wins += np.count_nonzero(scores >= scores.max(axis=0) * (1 - TIE), axis=1)
    return wins


def _polygon_scores(a: Real, w: Real) -> Real:
    return _matrix_product(neighbour_products(a), neighbour_products(w))


def _all_pairs(a: Real, w: Real) -> Real:
    """Return the sum over all pairs of models (k, n) under weightings (m, n): (k, m).

    Summed by blocks of metrics, without the cancellation of (S**2 - sum of squares) / 2.
    """
    ours, theirs = a[:, :_BLOCK], w[:, :_BLOCK]
    total = _matrix_product(_pair_products(ours), _pair_products(theirs))
    if a.shape[1] > _BLOCK:
        before = _matrix_product(ours, theirs)
        for start in range(_BLOCK, a.shape[1], _BLOCK):
            ours, theirs = a[:, start : start + _BLOCK], w[:, start : start + _BLOCK]
            own = _matrix_product(ours, theirs)
            total += _matrix_product(_pair_products(ours), _pair_products(theirs))
            total += before * own
            before += own
    return total


def _pair_products(x: Real) -> Real:
    return np.concatenate([x[:, i, None] * x[:, i + 1 :] for i in range(x.shape[1])], axis=1)


def _matrix_product(a: Real, w: Real) -> Real:
    """Return the matrix product of models (k, f) and weightings (m, f): (k, m), without threads."""
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
