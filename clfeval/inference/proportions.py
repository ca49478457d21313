"""Exact binomial inference: Clopper-Pearson intervals and the sign test."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.special import beta_quantiles


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
    # the bounds of the rarer outcome, and one minus them: no digits are lost next to one
    rare, often = np.minimum(x, m - x), np.maximum(x, m - x)
    some, other = rare > 0, often > 0
    found = beta_quantiles(
        (1 - level) / 2, (rare[some], often[some] + 1), (rare[other] + 1, often[other])
    )
    low, high = np.zeros(len(x)), np.ones(len(x))
    low[some], high[other] = found
    few = 2 * x <= m
    low, high = np.where(few, low, 1 - high), np.where(few, high, 1 - low)
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
