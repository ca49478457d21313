"""Design effects of clustered rows: divisors of counts for intervals of independent rows.

The residual of a cluster for a share k / n is r = k_c - (k/n) n_c; the variance of the share is the
sum of r² over clusters, against k (n-k) / n for independent rows. Their ratio is the design effect.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.inference.distributions import critical_value, student_quantile

_LEAST_FACTOR, _MOST_FACTOR = 0.05, 2.0  # of the variance of a sum: bounds of correlated shares
_MOST_SUMS = 20_000  # a test beyond it takes the normal distribution
_ROUNDING = 1e-9  # of numbers of clusters, of the largest difference: what rounding leaves


def design_effect(
    k: ArrayLike, n: ArrayLike, kk: ArrayLike, kn: ArrayLike, nn: ArrayLike,
    cautious: bool = True, heavy: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the design effect of a share k / n and the effective number of clusters g.

    g = n² / nn   variance = g / (g-1) (kk - 2 p kn + p² nn) / n²   effect = variance n / (p (1-p))

    with kk, kn and nn the sums over clusters of k_c², k_c n_c and n_c², and p = k / n. The effect
    is at least 1, and nn / n where k = 0 or k = n. cautious: half a cluster more, half of its rows
    positive: (m (1/2 - p))² / 2 more in the sum of squares, m = nn / n. heavy: lower bound of m.

    Shapes: all broadcast. The effect is from 1 up, infinite where all rows are one cluster; g from
    1 up to the number of clusters; both NaN where n = 0.
    Source: the ratio estimator, Cochran 1977, Sampling Techniques, section 9A; g: Carter, Schnepel
    and Steigerwald 2017, Review of Economics and Statistics 99:698, for clusters of any size.
    """
    hits, rows, square, product, size = (np.asarray(x, np.float64) for x in (k, n, kk, kn, nn))
    with np.errstate(divide="ignore", invalid="ignore"):
        p, g = hits / rows, np.maximum(rows**2 / size, 1.0)
        spread = np.maximum(square - 2 * p * product + p**2 * size, 0) * (g / (g - 1))
        each = np.maximum(size / rows, heavy)
        if cautious:
            spread = spread + (each * (0.5 - p)) ** 2 / 2
        alone = hits * (1 - p)
        effect = np.where(alone > 0, np.maximum(spread / alone, 1), each)
    return np.where(rows > 0, np.where(g > 1 + _ROUNDING, effect, np.inf), np.nan), g


def count_divisor(effect: ArrayLike, clusters: ArrayLike, *, level: float) -> Floats:
    """Return the divisor of counts effect (t / z)², with g - 1 degrees of freedom for t.

    Both broadcast; from the effect up, infinite with fewer than two clusters. ValueError unless
    0 < level < 1. Source: Korn and Graubard 1998, Survey Methodology 24:193.
    """
    size, df = np.asarray(effect, np.float64), np.asarray(clusters, np.float64) - 1
    with np.errstate(invalid="ignore", over="ignore"):
        t = student_quantile(df, level=level)
        found = size * np.maximum(t / critical_value(level), 1) ** 2
    return np.where(df > 0, found, np.where(np.isnan(size), np.nan, np.inf))


def sum_variance_factor(variances: ArrayLike, covariances: ArrayLike) -> Floats:
    """Return the variance of a sum relative to independent parts: 1 + 2 cov / var.

    variances: of the parts; covariances: of every two. Range 0.05 to 2 for each further part; 1
    where no part varies.
    """
    parts, shared = np.asarray(variances), 2 * np.sum(covariances, axis=0)
    whole = parts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(whole > 0, 1 + shared / whole, 1.0)
    return np.clip(factor, _LEAST_FACTOR, _MOST_FACTOR * (len(parts) - 1))


def joint_shares(
    sums: ArrayLike, totals: ArrayLike, parts: ArrayLike, wholes: ArrayLike,
    heavy: ArrayLike = 0.0,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return design effects and g (j, m), covariances (j, j, m) of shares k / n of the same rows.

    k = part . x   n = whole . x   r = (part - (k/n) whole) . x_c   h = g / (g-1)
    cov_ij = sum of r_i r_j sqrt(h_i h_j) / (n_i n_j)

    Shapes: totals (m, d) are the counts x of m tables, sums (m, d, d) the sums over their clusters
    of the products of any two; parts and wholes (j, m, d) or (j, 1, d) select the counts of each
    share; heavy (j, m), as for `design_effect`. NaN where n = 0; cov is infinite in one cluster.
    Source: as for `design_effect`; the residuals are the influence values of a ratio.
    """
    s, x = np.asarray(sums, np.float64), np.asarray(totals, np.float64)
    shape = (len(np.asarray(parts)), *x.shape)
    a, b = (np.broadcast_to(np.asarray(one, np.float64), shape) for one in (parts, wholes))
    k, n = (np.einsum("jmd,md->jm", one, x) for one in (a, b))
    kk, kn, nn = (
        np.einsum("jmd,mde,jme->jm", one, s, other) for one, other in ((a, a), (a, b), (b, b))
    )
    effect, g = design_effect(k, n, kk, kn, nn, heavy=heavy)
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = (a - (k / n)[..., None] * b) * (np.sqrt(g / (g - 1)) / n)[..., None]
        return effect, g, np.einsum("imd,mde,jme->ijm", residual, s, residual)


def share_divisor(
    sums: ArrayLike, totals: ArrayLike, part: ArrayLike, whole: ArrayLike, *, level: float
) -> Floats:
    """Return the divisors of the counts of a share of m tables, (m,): see `joint_shares`.

    totals (m, 4) are TP, FP, P and N. `heavy` is the weight of the heavier class of the share.
    """
    s, x, w = (np.asarray(one, np.float64) for one in (sums, totals, whole))
    lone = s[:, 2, 3] == 0
    for hit, every in ((0, 2), (1, 3)):
        lone &= np.isclose(s[:, hit, hit], s[:, hit, every], rtol=1e-9, atol=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.nan_to_num([s[:, every, every] / x[:, every] for every in (2, 3)])
    of = np.stack([w[..., [0, 2]].any(axis=-1), w[..., [1, 3]].any(axis=-1)])
    heavy = np.where(lone, np.where(of, each, 0.0).max(axis=0), 0.0)
    effect, g, _ = joint_shares(s, x, np.asarray(part)[None], w[None], heavy=heavy)
    return np.asarray(count_divisor(effect, g, level=level)[0])


def rate_divisors(sums: ArrayLike, totals: ArrayLike, slopes: ArrayLike, *, level: float) -> Floats:
    """Return divisors of counts for a function of TP / P, FP / N and optionally P / (P + N).

    totals (m, 4) are TP, FP, P and N, sums (m, 4, 4); slopes (2, m) or (3, m) are those of the
    function along each share, the result has their shape.
    """
    a = np.nan_to_num(np.asarray(slopes, np.float64))
    wholes = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]], np.float64)[: len(a), None]
    effect, g, cov = joint_shares(sums, totals, np.eye(4)[: len(a), None], wholes)
    each = np.einsum("im,jm,ijm->ijm", a, a, np.nan_to_num(cov))
    own, pairs = np.arange(len(a)), np.triu_indices(len(a), 1)
    return count_divisor(effect, g, level=level) * sum_variance_factor(each[own, own], each[pairs])


def rate_correlation(sums: ArrayLike, totals: ArrayLike) -> Floats:
    """Return the correlation of TP / P and FP / N over clusters, (m,); 0 where one is constant."""
    _, _, cov = joint_shares(sums, totals, np.eye(4)[:2, None], np.eye(4)[2:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    return np.where(np.isfinite(rho), np.clip(rho, -1, 1), 0.0)


def flip_test(differences: ArrayLike) -> float:
    """Return the exact two-sided p-value of the sign-flip permutation test of cluster differences,
    (c,).

    p = P(|sum of s_c |d_c|| >= |sum of d_c|) with each sign s_c = 1 or -1 with probability 1/2

    Normal with continuity correction, variance sum d_c², where sum |d_c| exceeds 20,000 times the
    common unit of the differences. Zeros have no effect. Range 0..1, 1 where all are zero.
    Source: the randomisation test of Fisher 1935, The Design of Experiments, section 21.
    """
    given = np.asarray(differences, np.float64)
    step = _common_unit(np.unique(np.abs(given)))
    if not step:
        return 1.0
    if np.abs(given).sum() > _MOST_SUMS * step:  # sums differ by two steps
        z = (abs(float(given.sum())) - step) / math.sqrt(float((given**2).sum()))
        return min(1.0, math.erfc(z / math.sqrt(2)))
    steps = np.rint(given / step).astype(np.int64)
    sizes, many = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    observed, most = abs(int(steps.sum())), int((sizes * many).sum())
    if not observed:
        return 1.0
    chances = np.ones(1)  # of (sum + most) / 2 over the clusters so far
    for size, count in zip(sizes.tolist(), many.tolist(), strict=True):
        each = np.zeros(size * count + 1)
        logs = [
            math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(count - i + 1)
            for i in range(count + 1)
        ]
        each[::size] = np.exp(np.array(logs) - count * math.log(2))
        chances = np.convolve(chances, each)
    ends = (most - observed) // 2  # both tails are alike
    return min(1.0, 2 * float(chances[: ends + 1].sum()))


def _common_unit(sizes: Floats) -> float:
    """Return the greatest common divisor of numbers up to rounding, by Euclid's algorithm."""
    found, least = 0.0, _ROUNDING * float(sizes.max(initial=0.0))
    for size in sizes.tolist():
        rest = size
        while rest > least:
            found, rest = rest, abs(found - rest * round(found / rest))
    return found
