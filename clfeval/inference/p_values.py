"""P-values that agree with intervals, their adjustment, and measures under permuted truth."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.inference.distributions import bisect, chi_square_tail, coin_tail
from clfeval.inference.proportions import wilson_distances

_FARTHEST = 38.0  # standard errors: beyond, a p value is 0 as a float


def mid_p(a: int, b: int) -> float:
    """Return McNemar's two-sided mid-p for a and b discordant rows, never above the exact p-value.

    p = 2 (P(X < m) + P(X = m) / 2), at most 1, with m = min(a, b) and X binomial(a + b, 1/2); 1
    where a = b, and where a + b = 0.
    Source: Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91.
    """
    if a == b:
        return 1.0
    n, least = a + b, min(a, b)
    below = coin_tail(least - 1, n) if least else 0.0
    return min(1.0, below + coin_tail(least, n))


def cochran_q(right: Bools, n: Counts) -> tuple[float, float]:
    """Return Cochran's Q of the hypothesis that k classifiers have equal accuracy, and its p-value.

    Q = (k - 1) (k sum G_j² - (sum G_j)²) / (k sum L - sum L²)   p = P(chi² > Q), k - 1 degrees

    right (m, k): which of k classifiers have m kinds of rows right, n (m,) rows each. G_j: how many
    rows classifier j has right, L: how many classifiers have a row right. Without a row on which
    classifiers differ Q is NaN and p is 1.
    Source: Cochran 1950, Biometrika 37:256.
    """
    k = right.shape[1]
    each, by_row = (n @ right).astype(np.float64), right.sum(axis=1)
    apart = float(n @ (by_row * (k - by_row)))
    if not apart:
        return math.nan, 1.0
    q = (k - 1) * k * float(((each - each.mean()) ** 2).sum()) / apart
    return q, chi_square_tail(k - 1, q)


def proportions_p_value(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> Floats:
    """Return the p-value of the hypothesis that two independent binomial proportions are equal.

    p is 1 minus the largest level at which the interval of `combine_proportions` (1, -1) of
    their difference excludes 0: p < 1 - level where it does.

    Shapes: all (k,); counts need not be whole. Range 0..1; NaN where a class has no row.
    Errors: ValueError unless 0 <= k <= n.
    Source: Newcombe 1998, Statistics in Medicine 17:873, method 10, inverted.
    """
    value = np.asarray(wilson_distances(k1, n1, 0.0)[0] - wilson_distances(k2, n2, 0.0)[0])

    def excludes_zero(z: Floats) -> Bools:
        _, below1, above1 = wilson_distances(k1, n1, z)
        _, below2, above2 = wilson_distances(k2, n2, z)
        reach = np.where(value > 0, np.hypot(below1, above2), np.hypot(above1, below2))
        return np.asarray(np.abs(value) > reach)

    z, _ = bisect(excludes_zero, np.zeros(value.shape), np.full(value.shape, _FARTHEST))
    p = np.reshape([math.erfc(one / math.sqrt(2)) for one in z.ravel().tolist()], value.shape)
    return np.where(np.isnan(value), np.nan, p)


def smirnov_p_value(gap: ArrayLike, positives: ArrayLike, negatives: ArrayLike) -> Floats:
    """Return p-values of the largest difference of two shares over all thresholds of a variable.

    p = 2 sum over k >= 1 of (-1)**(k-1) exp(-2 k² x²)   x = gap sqrt(P N / (P + N))

    Kolmogorov's limit, conservative for variables without ties. All (k,); 1 where a class has no
    row, NaN where the gap is. Source: Smirnov 1939, Bulletin of Moscow University 2(2):3.
    """
    from scipy.special import kolmogorov

    p, n = np.asarray(positives, np.float64), np.asarray(negatives, np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(kolmogorov(np.asarray(gap) * np.sqrt(p * n / (p + n))), np.float64)


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return p-values adjusted for the false discovery rate, (m,); NaN stays NaN.

    With p sorted upwards, the adjusted i-th of m that are known is min over j >= i of m p_j / j.
    Source: Benjamini and Hochberg 1995, Journal of the Royal Statistical Society B 57:289.
    """
    p = np.asarray(p_values, np.float64)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")][::-1]
    ranks = np.arange(len(order), 0, -1)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum.accumulate(p[order] * (len(order) / ranks))
    return adjusted


DRAWS, MIN_PERMUTATIONS = 999, 99  # of rows up to 2**25 / 999, and of many
_AT_ONCE = 2**25  # rows drawn in all, and rows of counts held
_FAR = 40.0  # standard deviations beyond which a probability is 0 as a float


def random_true_positives(positives: int, negatives: int, called: int) -> tuple[Ints, Floats]:
    """Return the possible true positives of a random prediction, and their probabilities.

    P(t) = C(P, t) C(N, m - t) / C(P + N, m): hypergeometric; (s,) each, s at most min(P, m) + 1; m
    predicted positives; negligible tails are omitted.
    """
    from scipy.special import gammaln

    p, n, m = float(positives), float(negatives), float(called)
    mean = m * p / (p + n)
    spread = _FAR * np.sqrt(mean * (n / (p + n)) * (p + n - m) / max(p + n - 1, 1)) + _FAR
    low, high = max(0.0, m - n, np.floor(mean - spread)), min(p, m, np.ceil(mean + spread))
    t = np.arange(low, high + 1)

    def chosen(k: Floats, of: float) -> Floats:
        return np.asarray(gammaln(of + 1) - gammaln(k + 1) - gammaln(of - k + 1))

    logs = chosen(t, p) + chosen(m - t, n)
    shares = np.exp(logs - logs.max())
    return t.astype(np.int64), shares / shares.sum()


def random_average_precision(n: Counts, positives: float) -> float:
    """Return the expected average precision of scores when the classes are permuted.

    sum over scores from the highest of n_i (1 / M + (N_i - 1) (P - 1) / (M (M - 1))) / N_i, N_i the
    rows from the highest score down to this one

    n (m,): rows at each score, ascending; P of the M rows are positive. Of many rows it is P / M,
    of few more: without ties (P - 1) / (M - 1) + H_M (M - P) / (M (M - 1)), H_M = 1 + ... + 1/M.
    NaN without positives.
    Source: Bestgen 2015, Prague Bulletin of Mathematical Linguistics 103:131, extended to ties.
    """
    each = np.asarray(n, np.float64)[::-1]
    each = each[each > 0]
    total, upto = float(each.sum()), np.cumsum(each)
    if not positives:
        return float("nan")
    both = (positives - 1) / (total * (total - 1)) if total > 1 else 0.0
    return float((each * (1 / total + (upto - 1) * both) / upto).sum())


def permuted_positives(n: Counts, positives: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield the positives at each of m scores, (b, m), under 99 to 999 permutations."""
    total, m = int(n.sum()), len(n)
    draws = max(MIN_PERMUTATIONS, min(DRAWS, _AT_ONCE // max(total, 1)))
    owner, step = np.repeat(np.arange(m), n), max(1, _AT_ONCE // 8 // max(m, 1))
    for start in range(0, draws, step):
        found = np.empty((min(step, draws - start), m), np.int64)
        for row in found:
            some = rng.choice(total, positives, replace=False, shuffle=False)
            row[:] = np.bincount(owner[some], minlength=m)
        yield found


def permuted_tables(table: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield tables of C classes, (C, C), with permuted truth and unchanged predictions."""
    truth, said = (
        np.repeat(np.arange(len(table)), table.sum(axis=axis).astype(np.int64)) for axis in (1, 0)
    )
    for _ in range(max(MIN_PERMUTATIONS, min(DRAWS, _AT_ONCE // max(len(truth), 1)))):
        cells = rng.permutation(truth) * len(table) + said
        yield np.bincount(cells, minlength=table.size).reshape(table.shape)
