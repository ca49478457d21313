"""Exact binomial inference: Clopper-Pearson intervals and the sign test.

The beta quantile is found here by quadrature rather than taken from `scipy.special`, whose import
alone takes half as long as everything else a small run does; tests hold both against each other.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats

_STEPS = 60  # nodes on each side of the middle in the quadrature
_CUT = 45.0  # the density is taken as 0 where it is e**-45 of its peak
_MOST_STEPS = 60  # a bracket halved this often is as narrow as the numbers allow
_CHUNK = 4096


def clopper_pearson(k: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the exact interval of a binomial proportion.

    low solves P(X >= k | n, low) = (1 - level) / 2, high solves P(X <= k | n, high) = the same;
    low is 0 at k = 0, high is 1 at k = n.

    Shapes: k and n broadcast; whole numbers with 0 <= k <= n. Range 0..1; NaN where n = 0.
    Errors: ValueError unless 0 < level < 1 and 0 <= k <= n.
    Source: Clopper and Pearson 1934, Biometrika 26:404.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level {level} is not between 0 and 1")
    hits, trials = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    if np.any(hits < 0) or np.any(hits > trials):
        raise ValueError("k must lie between 0 and n")
    pairs, where = np.unique(
        np.column_stack([hits.ravel(), trials.ravel()]), axis=0, return_inverse=True
    )
    x, m = pairs[:, 0], pairs[:, 1]
    tail = (1 - level) / 2
    low, high = np.zeros(len(x)), np.ones(len(x))
    some, missed, few = x > 0, x < m, 2 * x <= m
    upper = 1 - tail
    # above one half, take one minus the bounds of the misses: no digits are lost next to one
    for mask, bound, p, a, b in (
        (some & few, low, tail, x, m - x + 1),
        (missed & few, high, upper, x + 1, m - x),
        (some & ~few, low, upper, m - x + 1, x),
        (missed & ~few, high, tail, m - x, x + 1),
    ):
        quantile = _beta_quantile(p, a[mask], b[mask])
        bound[mask] = np.where(few[mask], quantile, 1 - quantile)
    low[m == 0] = high[m == 0] = np.nan
    index = where.ravel()
    return low[index].reshape(hits.shape), high[index].reshape(hits.shape)


def sign_test(a: int, b: int) -> float:
    """Return the exact two-sided p-value that a and b of a + b are equally likely.

    p = min(1, 2 P(X <= min(a, b))) with X binomial(a + b, 1/2); 1 when a + b = 0.
    Range 0..1, small values speak against equality.
    Source: the sign test; Conover 1999, Practical Nonparametric Statistics, section 3.4.
    """
    n, least = a + b, min(a, b)
    if a == b:
        return 1.0
    if n <= 1000:  # whole numbers all the way
        return min(1.0, float(2 * sum(math.comb(n, i) for i in range(least + 1)) / 2**n))
    peak = math.lgamma(n + 1) - math.lgamma(least + 1) - math.lgamma(n - least + 1)
    # sum P(X = i) downwards from i = least; each term is i / (n - i + 1) times the one above it
    i = np.arange(least, 0, -1, dtype=np.float64)
    terms = np.cumprod(i / (n - i + 1))
    return min(1.0, 2 * math.exp(peak - n * math.log(2)) * (1 + float(terms.sum())))


def _beta_quantile(p: float, a: Floats, b: Floats) -> Floats:
    """Return the p quantile of Beta(a, b), a and b at least 1, in chunks of bounded memory."""
    parts = [
        _quantile_chunk(p, a[i : i + _CHUNK], b[i : i + _CHUNK]) for i in range(0, len(a), _CHUNK)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _quantile_chunk(p: float, a: Floats, b: Floats) -> Floats:
    """Solve area(left..x) / area(left..right) = p by Newton steps kept inside a bracket."""
    mode = np.where(a + b > 2, (a - 1) / np.maximum(a + b - 2, 1e-300), 0.5)
    left, right = _edge(a, b, mode, 0.0), _edge(a, b, mode, 1.0)
    whole = _area(a, b, mode, left, mode) + _area(a, b, mode, mode, right)
    mean = a / (a + b)
    spread = np.sqrt(mean * (1 - mean) / (a + b + 1))
    guess = mean + _normal_quantile(p) * spread
    low, high = left.copy(), right.copy()
    done = np.zeros(len(a), bool)
    x = np.where((guess > left) & (guess < right), guess, mode)
    for _ in range(_MOST_STEPS):
        below = _area(a, b, mode, left, np.minimum(x, mode))
        below += np.where(x > mode, _area(a, b, mode, mode, np.maximum(x, mode)), 0.0)
        error = below / whole - p
        low, high = np.where(error < 0, x, low), np.where(error < 0, high, x)
        slope = np.exp(_log_density(a, b, mode, x)) / whole
        step = x - error / np.where(slope > 0, slope, np.inf)
        inside = (step >= low) & (step <= high) & (slope > 0)
        new = np.where(inside, step, (low + high) / 2)
        # Newton doubles the digits: after a step this small the error is below rounding
        settled = np.abs(new - x) <= 1e-9 * new
        x = np.where(done, x, new)  # what has settled stays, whatever else is in the chunk
        done |= settled
        if done.all():
            break
    return x


def _normal_quantile(p: float) -> float:
    """Return the normal quantile to 0.003, a start (Abramowitz and Stegun 1964, 26.2.22)."""
    t = math.sqrt(-2 * math.log(min(p, 1 - p)))
    x = t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t)
    return -x if p < 0.5 else x


def _log_density(a: Floats, b: Floats, mode: Floats, x: Floats) -> Floats:
    """Return the log density of Beta(a, b) at x relative to its mode; precise near the mode."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(a > 1, (a - 1) * np.log1p((x - mode) / mode), 0.0)
        right = np.where(b > 1, (b - 1) * np.log1p((mode - x) / (1 - mode)), 0.0)
    return np.asarray(left + right)


def _edge(a: Floats, b: Floats, mode: Floats, end: float) -> Floats:
    """Return where, between the mode and `end`, the density has fallen to e**-_CUT of its peak."""
    inner, outer = mode.copy(), np.full_like(mode, end)
    wide = np.ones(len(mode), bool)
    for _ in range(80):
        middle = (inner + outer) / 2
        alive = _log_density(a, b, mode, middle) > -_CUT
        inner = np.where(wide & alive, middle, inner)
        outer = np.where(wide & ~alive, middle, outer)
        # the window need not be exact, only wide enough; each element stops by itself
        wide &= np.abs(outer - inner) > 0.01 * np.abs(outer - mode)
        if not wide.any():
            break
    return outer


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights on -1..1 of the tanh-sinh rule."""
    t = np.arange(-_STEPS, _STEPS + 1) * (3.2 / _STEPS)
    inside = np.pi / 2 * np.sinh(t)
    weights = (3.2 / _STEPS) * np.pi / 2 * np.cosh(t) / np.cosh(inside) ** 2
    return np.tanh(inside), weights


def _area(a: Floats, b: Floats, mode: Floats, start: Floats, stop: Floats) -> Floats:
    """Integrate the density relative to its peak between start and stop."""
    nodes, weights = _nodes()
    half = (stop - start) / 2
    x = (start + half)[:, None] + half[:, None] * nodes
    density = np.exp(_log_density(a[:, None], b[:, None], mode[:, None], x))
    return np.asarray((density * weights).sum(axis=1) * half)
