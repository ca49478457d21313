"""P-values: exact tests of paired counts, adjustments, tests of calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.inference.distributions import binomial_tail, bisect, chi_square_tail
from clfeval.inference.influence_and_clusters import SamplingUnits
from clfeval.inference.proportions import wilson_distances
from clfeval.inference.scipy_special import special
from clfeval.records import dataclass

_FARTHEST = 38.0  # standard errors: beyond, a p value is 0 as a float


def mid_p(a: int, b: int) -> float:
    """Return McNemar's two-sided mid-p for a and b discordant rows, never above the exact p-value.

    p = 2 (P(X < m) + P(X = m) / 2), at most 1, with m = min(a, b) and X binomial(a + b, 1/2); 1
    where a = b, and where a + b = 0.
    Source: Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91.
    """
    if a == b:
        return 1.0
    n = a + b
    lesser = min(a, b)
    below = binomial_tail(lesser - 1, n) if lesser else 0.0
    return min(1.0, below + binomial_tail(lesser, n))


def cochran_q(right: Bools, n: Counts) -> tuple[float, float]:
    """Return Cochran's Q of the hypothesis that k classifiers have equal accuracy, and its p-value.

    Q = (k - 1) (k sum G_j² - (sum G_j)²) / (k sum L - sum L²)   p = P(chi² > Q), k - 1 degrees

    right (m, k): which of k classifiers have m kinds of rows right, n (m,) rows each. G_j: how many
    rows classifier j has right, L: how many classifiers have a row right. Without a row on which
    classifiers differ Q is NaN and p is 1.
    Source: Cochran 1950, Biometrika 37:256.
    """
    k = right.shape[1]
    right_rows = (n @ right).astype(np.float64)
    by_row = right.sum(axis=1)
    disagreement = float(n @ (by_row * (k - by_row)))
    if not disagreement:
        return math.nan, 1.0
    q = (k - 1) * k * float(((right_rows - right_rows.mean()) ** 2).sum()) / disagreement
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
    p = np.reshape(
        [math.erfc(distance / math.sqrt(2)) for distance in z.ravel().tolist()], value.shape
    )
    return np.where(np.isnan(value), np.nan, p)


def smirnov_p_value(gap: ArrayLike, positives: ArrayLike, negatives: ArrayLike) -> Floats:
    """Return p-values of the largest difference of two shares over all thresholds of a variable.

    p = 2 sum over k >= 1 of (-1)**(k-1) exp(-2 k² x²)   x = gap sqrt(P N / (P + N))

    Kolmogorov's limit, conservative for variables without ties. All (k,); 1 where a class has no
    row, NaN where the gap is. Source: Smirnov 1939, Bulletin of Moscow University 2(2):3.
    """
    p = np.asarray(positives, np.float64)
    n = np.asarray(negatives, np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            special().kolmogorov(np.asarray(gap) * np.sqrt(p * n / (p + n))), np.float64
        )


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return p-values adjusted for the false discovery rate, (m,); NaN stays NaN.

    With p sorted upwards, the adjusted i-th of m that are defined is min over j >= i of m p_j / j.
    Source: Benjamini and Hochberg 1995, Journal of the Royal Statistical Society B 57:289.
    """
    p = np.asarray(p_values, np.float64)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")][::-1]
    ranks = np.arange(len(order), 0, -1)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum.accumulate(p[order] * (len(order) / ranks))
    return adjusted


DRAWS = 999  # of rows up to 2**25 / 999
MIN_PERMUTATIONS = 99  # of many rows
_AT_ONCE = 2**25  # rows drawn in all, and rows of counts held
_FAR = 40.0  # standard deviations beyond which a probability is 0 as a float


def random_true_positives(
    positives: int, negatives: int, predicted_positives: int
) -> tuple[Ints, Floats]:
    """Return the possible true positives of a random prediction, and their probabilities.

    P(t) = C(P, t) C(N, m - t) / C(P + N, m): hypergeometric; (s,) each, s at most min(P, m) + 1; m
    predicted positives; negligible tails are omitted.
    """
    p = float(positives)
    n = float(negatives)
    m = float(predicted_positives)
    mean = m * p / (p + n)
    reach = _FAR * np.sqrt(mean * (n / (p + n)) * (p + n - m) / max(p + n - 1, 1)) + _FAR
    low = max(0.0, m - n, np.floor(mean - reach))
    high = min(p, m, np.ceil(mean + reach))
    t = np.arange(low, high + 1)

    log_factorial = special().gammaln  # of one more

    def log_combinations(k: Floats, total: float) -> Floats:
        return np.asarray(
            log_factorial(total + 1) - log_factorial(k + 1) - log_factorial(total - k + 1)
        )

    logs = log_combinations(t, p) + log_combinations(m - t, n)
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
    rows = np.asarray(n, np.float64)[::-1]
    rows = rows[rows > 0]
    total = float(rows.sum())
    rows_above = np.cumsum(rows)
    if not positives:
        return float("nan")
    pair_share = (positives - 1) / (total * (total - 1)) if total > 1 else 0.0
    return float((rows * (1 / total + (rows_above - 1) * pair_share) / rows_above).sum())


def permuted_positives(n: Counts, positives: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield the positives at each of m scores, (b, m), under 99 to 999 permutations."""
    total = int(n.sum())
    m = len(n)
    draws = max(MIN_PERMUTATIONS, min(DRAWS, _AT_ONCE // max(total, 1)))
    owner = np.repeat(np.arange(m), n)
    step = max(1, _AT_ONCE // 8 // max(m, 1))
    for start in range(0, draws, step):
        permuted = np.empty((min(step, draws - start), m), np.int64)
        for row in permuted:
            sampled = rng.choice(total, positives, replace=False, shuffle=False)
            row[:] = np.bincount(owner[sampled], minlength=m)
        yield permuted


_MOST_PERMUTED = 2**15  # rows, beyond which the limit distribution is used
_TIE_TOLERANCE = 1e-12  # relative tolerance of ties


def separation_test(
    distance: Callable[..., Floats],
    scores: Counts,
    positives: Counts,
    negatives: Counts,
    rng: np.random.Generator,
) -> tuple[float, str]:
    """Return the p-value of the largest distance of two distribution functions, and its method.

    p = (1 + permutations of the classes with as large a distance) / (1 + permutations)

    Of more than 32,768 rows P(K >= d sqrt(P N / M)), K of Kolmogorov's distribution, which is too
    large with ties. Shapes: (m,) each; distance takes counts (b, m). NaN without a class.
    Source: Smirnov 1939, Bulletin of Moscow University 2:3; Kolmogorov's distribution: Feller
    1948, Annals of Mathematical Statistics 19:177.
    """
    n = positives + negatives
    hits = int(positives.sum())
    total = int(n.sum())
    if not 0 < hits < total:
        return math.nan, ""
    observed = float(distance(scores, positives, negatives))
    if total > _MOST_PERMUTED:
        size = hits * (total - hits) / total
        return float(special().kolmogorov(observed * math.sqrt(size))), "Kolmogorov distribution"
    draws = 0
    larger = 0
    for permuted in permuted_positives(n, hits, rng):
        distances = distance(scores, permuted, n - permuted)
        larger += int((distances >= observed * (1 - _TIE_TOLERANCE)).sum())
        draws += len(permuted)
    return (1 + larger) / (1 + draws), f"{draws:,} permutations"


def permuted_tables(table: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield tables of C classes, (C, C), with permuted truth and unchanged predictions."""
    truth, predictions = (
        np.repeat(np.arange(len(table)), table.sum(axis=axis).astype(np.int64)) for axis in (1, 0)
    )
    for _ in range(max(MIN_PERMUTATIONS, min(DRAWS, _AT_ONCE // max(len(truth), 1)))):
        cells = rng.permutation(truth) * len(table) + predictions
        yield np.bincount(cells, minlength=table.size).reshape(table.shape)


GROUPS = 10
CALIBRATION_DRAWS = 2000
BY_DRAWS = "simulation"
BY_CHI_SQUARE = "chi-square"
BY_SANDWICH = "sandwich, Rao-Scott"
BY_CLUSTERS = "sandwich by clusters, Rao-Scott"
_FEW = 64  # scores up to which each is simulated singly
_WIDTH = 0.5  # in log odds, of the cells in which more of them are simulated
_TABLED = 200  # rows up to which outcomes are tabulated
_PLENTY = 25.0  # variance from which on a number of positives is normal
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationTests:
    """Statistic, df and p of the tests on (1, log odds) and on groups by score, (2,) each.

    gaps, errors (g,): observed less expected share of positives in each group, and its standard
    error.
    """

    statistic: Floats
    df: Floats
    p: Floats
    method: str
    gaps: Floats
    errors: Floats


def calibration_tests(
    p: Floats, x: Floats, positives: Counts, rows: Counts, rng: np.random.Generator
) -> CalibrationTests:
    """Return score tests that the classes y of independent rows are Bernoulli(p).

    (sum r)² / sum v + (sum z r)² / sum v z²   2 degrees of freedom, 1 where all x are one
    sum over ten groups by score of (sum r)² / sum v   as many degrees of freedom as groups

    with r = positives - n p, v = n p (1 - p), z = x - sum v x / sum v. Equal scores are in one
    group. p = (1 + k) / 2,001, k of 2,000 draws of y being as extreme; chi-square where every group
    has sum v >= 25.

    Shapes: p ascending within 0..1, x its log odds, rows n and positives: (m,), m >= 1.
    Source: Cox 1958, Biometrika 45:562; Hosmer and Lemeshow 1980, Communications in Statistics A
    9:1043; Davison and Hinkley 1997, Bootstrap Methods and their Application, section 4.2.
    """
    first = _group_starts(rows)
    sums = _group_sums(p, x, positives, rows, first)
    n, r, v = sums[:3]
    observed, variance = _observed_statistics(sums)
    df = np.array([1 + (variance > 0), len(first)])
    tails = np.array([chi_square_tail(int(k), s) for k, s in zip(df, observed, strict=True)])
    normal = v >= _PLENTY
    if not normal.all():
        cells = _simulation_cells(x, first, normal)
        simulated = _simulated_statistics(p, x, rows, variance, cells, first, rng)
        for i, draws in enumerate(simulated):
            tails[i] = _simulated_tail(draws, observed[i], int(df[i]), tails[i])
    method = BY_CHI_SQUARE if normal.all() else BY_DRAWS
    return CalibrationTests(observed, df, tails, method, r / n, np.sqrt(v) / n)


def _observed_statistics(sums: Floats) -> tuple[Floats, float]:
    """Return both test statistics, (2,), and sum v z², from the sums over groups (6, g)."""
    _, r, v, vz, vzz, zr = sums
    mean = vz.sum() / v.sum()
    variance = vzz.sum() - mean * vz.sum()
    along = zr.sum() - mean * r.sum()
    return _statistics(r[:, None], along, v, variance, np.arange(len(v)))[:, 0], variance


def _simulation_cells(x: Floats, first: Ints, normal: Bools) -> Ints:
    """Return the starts of the cells of scores to draw for; groups that are normal are one cell."""
    if len(x) <= _FEW:
        return np.arange(len(x))
    widths = np.where(np.repeat(normal, np.diff(first, append=len(x))), 0, x // _WIDTH)
    return np.union1d(first, np.flatnonzero(np.diff(widths)) + 1)


def _simulated_tail(draws: Floats, observed: float, df: int, tail: float) -> float:
    """Return the tail probability by draws; beyond all of them in proportion to chi-square's."""
    extreme = chi_square_tail(df, float(draws.max()))
    share = (1 + (draws >= observed * (1 - _ROUNDING)).sum()) / (1 + CALIBRATION_DRAWS)
    return float(share * (tail / extreme if tail < extreme else 1.0))


def clustered_score_tests(
    p: Floats, x: Floats, counts: Counts, inner: slice, clusters: SamplingUnits, heavy: Floats
) -> CalibrationTests:
    """Return `calibration_tests` for clusters or sampling weights, with the sandwich variance.

    U' A^-1 U / (d k)   A = sum v ((1 - p) w + p w') b b'   L = A^-1 sum U_c U_c'
    d = trace L / q, 1 at least   k = q trace L² / (trace L)²   df = q / k

    over q functions b of the score, U_c the score sum of r b of a cluster or a row. p is that of F,
    its second df the clusters (of weights Kish's size) less 1.

    Shapes: p, x (m,) as above; counts (2, m), rows or weights, positives first; inner: the scores
    that are tested; heavy: w and w', what a positive and a negative weigh on average.
    Source: Rao and Scott 1984, Annals of Statistics 12:46; Thomas and Rao 1987, Journal of the
    American Statistical Association 82:630.
    """
    p = p[inner]
    rows = counts.sum(axis=0)[inner]
    v = rows * p * (1 - p)
    line, groups = _score_functions(x[inner], v, rows)
    weights = v * ((1 - p) * heavy[0] + p * heavy[1])
    tests: list[tuple[float, float, float]] = []
    for b in (line, groups):
        influence = np.zeros((len(b), *counts.shape))
        influence[:, 0, inner] = b * (1 - p)
        influence[:, 1, inner] = -b * p
        score = (influence * counts).sum(axis=(1, 2))
        sandwich = clusters.products(influence.reshape(len(b), -1))
        tests.append(_sandwich_test(score, sandwich, (b * weights) @ b.T, clusters))
    n = groups @ rows
    statistic, df, tails = np.array(tests).T
    return CalibrationTests(
        statistic, df, tails, BY_SANDWICH, score / n, np.sqrt(np.diag(sandwich)) / n
    )


def _score_functions(x: Floats, v: Floats, rows: Counts) -> tuple[Floats, Floats]:
    """Return functions of the score (q, m): 1 and z if it varies, and those of groups by score."""
    z = x - x[0]
    z -= (v @ z) / v.sum()
    line = np.array([np.ones(len(x)), z])[: 1 + bool(z.any())]
    first = _group_starts(rows)
    return line, np.repeat(np.eye(len(first)), np.diff(first, append=len(x)), axis=1)


def _sandwich_test(
    score: Floats, sandwich: Floats, information: Floats, clusters: SamplingUnits
) -> tuple[float, float, float]:
    """Return statistic, df and p of a score test of q functions, p NaN for too few clusters.

    Shapes: score sums U (q,), their products over units and the information A (q, q).
    """
    q = len(score)
    unlike = np.linalg.solve(information, sandwich)
    effect = np.trace(unlike) / q
    df = q / max(np.trace(unlike @ unlike) / (q * effect**2), 1.0)
    statistic = score @ np.linalg.solve(information, score) / max(effect, 1.0) * df / q
    p = math.nan if clusters.too_few else special().fdtrc(df, clusters.size - 1, statistic / df)
    return statistic, df, p


def _group_starts(rows: Counts) -> Ints:
    """Return the start index of each group."""
    below = rows.cumsum(dtype=np.float64)  # units may be 2**60
    k = np.arange(1, GROUPS)
    starts = np.searchsorted(below, k * (below[-1] / GROUPS))
    middle = GROUPS * (2 * below[starts] - rows[starts])
    starts += middle < 2 * k * below[-1] * (1 - _ROUNDING)
    return np.unique(np.append(0, starts[starts < len(rows)]))


def _group_sums(p: Floats, x: Floats, positives: Counts, rows: Counts, first: Ints) -> Floats:
    """Return the sums over groups of n, r, v, v z, v z² and z r, (6, g), z = x - the middle x."""
    sums = np.empty((6, len(first)))
    middle = x[len(x) // 2]
    for g, (start, stop) in enumerate(pairwise([*first.tolist(), len(p)])):
        n = rows[start:stop]
        chance = p[start:stop]
        z = x[start:stop] - middle
        v = n * chance
        r = positives[start:stop] - v
        v *= 1 - chance
        vz = v * z
        sums[:, g] = [terms.sum() for terms in (n, r, v, vz, vz * z, z * r)]
    return sums


def _statistics(r: Floats, along: Floats, v: Floats, variance: float, first: Ints) -> Floats:
    """Return both test statistics, (2, d), from residuals r (m, d) and their sums by z, (d,)."""
    line = r.sum(axis=0) ** 2 / v.sum() + (along**2 / variance if variance > 0 else 0.0)
    groups = np.add.reduceat(r, first, axis=0) ** 2 / np.add.reduceat(v, first)[:, None]
    return np.array([line, groups.sum(axis=0)])


def _simulated_statistics(
    p: Floats,
    x: Floats,
    rows: Counts,
    variance: float,
    cells: Ints,
    first: Ints,
    rng: np.random.Generator,
) -> Floats:
    """Return both test statistics of simulated calibrated samples, (2, draws).

    cells: where each cell begins. The variation of z within cells is one normal number per draw.
    """
    mean = rows * p
    variances = rows * p * (1 - p)
    n, mean, v, vx = (
        np.add.reduceat(values, cells)[:, None] for values in (rows, mean, variances, variances * x)
    )
    z = vx / v - vx.sum() / v.sum()
    variance_within = max(variance - float((v * z**2).sum()), 0.0) if len(cells) < len(p) else 0.0
    r = np.empty((len(cells), CALIBRATION_DRAWS))
    plentiful = v[:, 0] >= _PLENTY
    r[plentiful] = rng.standard_normal((plentiful.sum(), CALIBRATION_DRAWS)) * np.sqrt(v[plentiful])
    rare = n[~plentiful, 0], np.minimum(mean[~plentiful] / n[~plentiful], 1.0)[:, 0]
    r[~plentiful] = _draw_binomials(*rare, rng) - mean[~plentiful]
    along = (z * r).sum(axis=0) + np.sqrt(variance_within) * rng.standard_normal(CALIBRATION_DRAWS)
    return _statistics(r, along, v[:, 0], variance, np.searchsorted(cells, first))


def _draw_binomials(n: Counts, p: Floats, rng: np.random.Generator) -> Floats:
    """Return binomial draws, (k, draws): for few rows, shuffled multinomial counts of outcomes."""
    draws = np.empty((len(n), CALIBRATION_DRAWS))
    log = special()
    for i, (rows, chance) in enumerate(zip(n.tolist(), p.tolist(), strict=True)):
        if rows > _TABLED:
            draws[i] = rng.binomial(rows, chance, CALIBRATION_DRAWS)
            continue
        k = np.arange(rows + 1)
        share = log.xlogy(k, chance) + log.xlog1py(rows - k, -chance)
        share = np.exp(
            share - log.gammaln(k + 1) - log.gammaln(rows - k + 1) + log.gammaln(rows + 1)
        )
        repetitions = rng.multinomial(CALIBRATION_DRAWS, share / share.sum())
        draws[i] = rng.permutation(np.repeat(k, repetitions))
    return draws
