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
    right_totals = (n @ right).astype(np.float64)
    right_classifiers = right.sum(axis=1)
    disagreement = float(n @ (right_classifiers * (k - right_classifiers)))
    if not disagreement:
        return math.nan, 1.0
    q = (k - 1) * k * float(((right_totals - right_totals.mean()) ** 2).sum()) / disagreement
    return q, chi_square_tail(k - 1, q)


def proportions_p_value(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> Floats:
    """Return the p-value of the hypothesis that two independent binomial proportions are equal.

    p is 1 minus the largest level at which the interval of `combine_proportions` (1, -1) of
    their difference excludes 0: p < 1 - level where it does.

    Shapes: all (k,); counts need not be whole. Range 0..1; NaN where a class has no row.
    Errors: ValueError unless 0 <= k <= n.
    Source: Newcombe 1998, Statistics in Medicine 17:873, method 10, inverted.
    """
    p1, _, _ = wilson_distances(k1, n1, 0.0)
    p2, _, _ = wilson_distances(k2, n2, 0.0)
    difference = np.asarray(p1 - p2)

    def excludes_zero(z: Floats) -> Bools:
        _, below1, above1 = wilson_distances(k1, n1, z)
        _, below2, above2 = wilson_distances(k2, n2, z)
        distance = np.where(difference > 0, np.hypot(below1, above2), np.hypot(above1, below2))
        return np.asarray(np.abs(difference) > distance)

    z, _ = bisect(excludes_zero, np.zeros(difference.shape), np.full(difference.shape, _FARTHEST))
    p = np.reshape([math.erfc(x / math.sqrt(2)) for x in z.ravel().tolist()], difference.shape)
    return np.where(np.isnan(difference), np.nan, p)


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
    defined_indices = np.flatnonzero(~np.isnan(p))
    descending_indices = defined_indices[np.argsort(p[defined_indices], kind="stable")][::-1]
    ranks = np.arange(len(descending_indices), 0, -1)
    adjusted_p_values = np.full(len(p), np.nan)
    adjusted_p_values[descending_indices] = np.minimum.accumulate(
        p[descending_indices] * (len(descending_indices) / ranks)
    )
    return adjusted_p_values


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
    variance = mean * (n / (p + n)) * (p + n - m) / max(p + n - 1, 1)
    half_range = _FAR * np.sqrt(variance) + _FAR
    low = max(0.0, m - n, np.floor(mean - half_range))
    high = min(p, m, np.ceil(mean + half_range))
    t = np.arange(low, high + 1)

    log_gamma = special().gammaln  # log_gamma(x) is ln of (x - 1)!

    def log_combinations(k: Floats, total: float) -> Floats:
        """Return the logarithm of the number of ways to choose k of `total`."""
        return np.asarray(log_gamma(total + 1) - log_gamma(k + 1) - log_gamma(total - k + 1))

    log_counts = log_combinations(t, p) + log_combinations(m - t, n)
    weights = np.exp(log_counts - log_counts.max())
    return t.astype(np.int64), weights / weights.sum()


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
    rows_down_to = np.cumsum(rows)
    if not positives:
        return float("nan")
    pair_weight = (positives - 1) / (total * (total - 1)) if total > 1 else 0.0
    return float((rows * (1 / total + (rows_down_to - 1) * pair_weight) / rows_down_to).sum())


def permuted_positives(n: Counts, positives: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield the positives at each of m scores, (b, m), under 99 to 999 permutations.

    n (m,): rows at each score.
    """
    total = int(n.sum())
    m = len(n)
    permutations = max(MIN_PERMUTATIONS, min(DRAWS, _AT_ONCE // max(total, 1)))
    score_indices = np.repeat(np.arange(m), n)
    block_size = max(1, _AT_ONCE // 8 // max(m, 1))
    for start in range(0, permutations, block_size):
        permuted_counts = np.empty((min(block_size, permutations - start), m), np.int64)
        for permutation_counts in permuted_counts:
            positive_rows = rng.choice(total, positives, replace=False, shuffle=False)
            permutation_counts[:] = np.bincount(score_indices[positive_rows], minlength=m)
        yield permuted_counts


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
    positive_count = int(positives.sum())
    row_count = int(n.sum())
    if not 0 < positive_count < row_count:
        return math.nan, ""
    observed = float(distance(scores, positives, negatives))
    if row_count > _MOST_PERMUTED:
        effective_size = positive_count * (row_count - positive_count) / row_count
        p_value = float(special().kolmogorov(observed * math.sqrt(effective_size)))
        return p_value, "Kolmogorov distribution"
    permutation_count = 0
    extreme_count = 0
    for permuted_counts in permuted_positives(n, positive_count, rng):
        distances = distance(scores, permuted_counts, n - permuted_counts)
        extreme_count += int((distances >= observed * (1 - _TIE_TOLERANCE)).sum())
        permutation_count += len(permuted_counts)
    return (1 + extreme_count) / (1 + permutation_count), f"{permutation_count:,} permutations"


def permuted_tables(table: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield tables of C classes, (C, C), with permuted truth and unchanged predictions."""
    truth, predictions = (
        np.repeat(np.arange(len(table)), table.sum(axis=summed_axis).astype(np.int64))
        for summed_axis in (1, 0)
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
    starts = _group_starts(rows)
    group_sums = _group_sums(p, x, positives, rows, starts)
    n, r, v = group_sums[:3]
    observed, variance = _observed_statistics(group_sums)
    df = np.array([1 + (variance > 0), len(starts)])
    p_values = np.array(
        [
            chi_square_tail(int(test_df), statistic)
            for test_df, statistic in zip(df, observed, strict=True)
        ]
    )
    is_normal = v >= _PLENTY
    if not is_normal.all():
        cells = _simulation_cells(x, starts, is_normal)
        simulated = _simulated_statistics(p, x, rows, variance, cells, starts, rng)
        for test_index, simulated_statistics in enumerate(simulated):
            p_values[test_index] = _simulated_tail(
                simulated_statistics,
                observed[test_index],
                int(df[test_index]),
                p_values[test_index],
            )
    method = BY_CHI_SQUARE if is_normal.all() else BY_DRAWS
    return CalibrationTests(observed, df, p_values, method, r / n, np.sqrt(v) / n)


def _observed_statistics(sums: Floats) -> tuple[Floats, float]:
    """Return both test statistics, (2,), and sum v z²; sums (6, g): see `_group_sums`."""
    _, r, v, vz, vzz, zr = sums
    mean = vz.sum() / v.sum()
    variance = vzz.sum() - mean * vz.sum()
    slope_score = zr.sum() - mean * r.sum()
    statistics = _statistics(r[:, None], slope_score, v, variance, np.arange(len(v)))
    return statistics[:, 0], variance


def _simulation_cells(x: Floats, starts: Ints, is_normal: Bools) -> Ints:
    """Return the starts of the cells of scores to draw for: of few scores each is a cell.

    Of more, each normal group is one cell. starts, is_normal (g,): where groups start, and which
    are normal.
    """
    if len(x) <= _FEW:
        return np.arange(len(x))
    cell_numbers = np.where(np.repeat(is_normal, np.diff(starts, append=len(x))), 0, x // _WIDTH)
    return np.union1d(starts, np.flatnonzero(np.diff(cell_numbers)) + 1)


def _simulated_tail(draws: Floats, observed: float, df: int, chi_square_p: float) -> float:
    """Return the tail probability by draws; beyond all of them it falls as chi-square's does.

    chi_square_p: the tail probability of the observed statistic by chi-square.
    """
    largest_draw_tail = chi_square_tail(df, float(draws.max()))
    simulated_tail = (1 + (draws >= observed * (1 - _ROUNDING)).sum()) / (1 + CALIBRATION_DRAWS)
    is_beyond_draws = chi_square_p < largest_draw_tail
    return float(simulated_tail * (chi_square_p / largest_draw_tail if is_beyond_draws else 1.0))


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
    test_results: list[tuple[float, float, float]] = []
    for b in (line, groups):  # the sums of the last one are those of the groups
        influence = np.zeros((len(b), *counts.shape))
        influence[:, 0, inner] = b * (1 - p)
        influence[:, 1, inner] = -b * p
        score = (influence * counts).sum(axis=(1, 2))
        sandwich = clusters.products(influence.reshape(len(b), -1))
        test_results.append(_sandwich_test(score, sandwich, (b * weights) @ b.T, clusters))
    group_rows = groups @ rows
    statistic, df, p_values = np.array(test_results).T
    return CalibrationTests(
        statistic,
        df,
        p_values,
        BY_SANDWICH,
        score / group_rows,
        np.sqrt(np.diag(sandwich)) / group_rows,
    )


def _score_functions(x: Floats, v: Floats, rows: Counts) -> tuple[Floats, Floats]:
    """Return functions of the score (q, m): 1 and z if it varies, and those of groups by score."""
    z = x - x[0]
    z -= (v @ z) / v.sum()
    functions = [np.ones(len(x)), z] if z.any() else [np.ones(len(x))]
    line = np.array(functions)
    starts = _group_starts(rows)
    groups = np.repeat(np.eye(len(starts)), np.diff(starts, append=len(x)), axis=1)
    return line, groups


def _sandwich_test(
    score: Floats, sandwich: Floats, information: Floats, clusters: SamplingUnits
) -> tuple[float, float, float]:
    """Return statistic, df and p of a score test of q functions, p NaN for too few clusters.

    Shapes: score sums U (q,), their products over units and the information A (q, q).
    """
    q = len(score)
    design_matrix = np.linalg.solve(information, sandwich)
    design_effect = np.trace(design_matrix) / q
    df = q / max(np.trace(design_matrix @ design_matrix) / (q * design_effect**2), 1.0)
    statistic = score @ np.linalg.solve(information, score) / max(design_effect, 1.0) * df / q
    p = math.nan if clusters.too_few else special().fdtrc(df, clusters.size - 1, statistic / df)
    return statistic, df, p


def _group_starts(rows: Counts) -> Ints:
    """Return the start index of each of the groups of about equal rows; rows (m,): at each score.

    A score is in the group in which the middle of its rows lies.
    """
    cumulated = rows.cumsum(dtype=np.float64)  # counts may reach 2**60
    k = np.arange(1, GROUPS)
    starts = np.searchsorted(cumulated, k * (cumulated[-1] / GROUPS))
    scaled_middles = GROUPS * (2 * cumulated[starts] - rows[starts])
    starts += scaled_middles < 2 * k * cumulated[-1] * (1 - _ROUNDING)
    return np.unique(np.append(0, starts[starts < len(rows)]))


def _group_sums(p: Floats, x: Floats, positives: Counts, rows: Counts, starts: Ints) -> Floats:
    """Return the sums over groups of n, r, v, v z, v z² and z r, (6, g), z = x - the middle x."""
    sums = np.empty((6, len(starts)))
    middle_x = x[len(x) // 2]
    for group_index, (start, stop) in enumerate(pairwise([*starts.tolist(), len(p)])):
        n = rows[start:stop]
        group_p = p[start:stop]
        z = x[start:stop] - middle_x
        v = n * group_p
        r = positives[start:stop] - v
        v *= 1 - group_p
        vz = v * z
        sums[:, group_index] = [terms.sum() for terms in (n, r, v, vz, vz * z, z * r)]
    return sums


def _statistics(
    r: Floats, slope_scores: Floats, v: Floats, variance: float, starts: Ints
) -> Floats:
    """Return both test statistics, (2, d), from residuals r (m, d) of d samples.

    slope_scores (d,): sums of z r; v (m,): variances; variance: the sum of v z²; starts: of groups.
    """
    line = r.sum(axis=0) ** 2 / v.sum() + (slope_scores**2 / variance if variance > 0 else 0.0)
    groups = np.add.reduceat(r, starts, axis=0) ** 2 / np.add.reduceat(v, starts)[:, None]
    return np.array([line, groups.sum(axis=0)])


def _simulated_statistics(
    p: Floats,
    x: Floats,
    rows: Counts,
    variance: float,
    cells: Ints,
    group_starts: Ints,
    rng: np.random.Generator,
) -> Floats:
    """Return both test statistics of simulated calibrated samples, (2, draws).

    variance: the sum of v z² over scores. cells: where each cell begins; group_starts: where each
    group does. The variation of z within cells is one normal number per draw.
    """
    mean = rows * p
    variances = rows * p * (1 - p)
    n, mean, v, vx = (
        np.add.reduceat(array, cells)[:, None] for array in (rows, mean, variances, variances * x)
    )
    z = vx / v - vx.sum() / v.sum()
    variance_within = max(variance - float((v * z**2).sum()), 0.0) if len(cells) < len(p) else 0.0
    r = np.empty((len(cells), CALIBRATION_DRAWS))
    is_normal = v[:, 0] >= _PLENTY
    normal_draws = rng.standard_normal((is_normal.sum(), CALIBRATION_DRAWS))
    r[is_normal] = normal_draws * np.sqrt(v[is_normal])
    binomial_p = np.minimum(mean[~is_normal] / n[~is_normal], 1.0)[:, 0]
    r[~is_normal] = _draw_binomials(n[~is_normal, 0], binomial_p, rng) - mean[~is_normal]
    slope_scores = (z * r).sum(axis=0) + np.sqrt(variance_within) * rng.standard_normal(
        CALIBRATION_DRAWS
    )
    return _statistics(r, slope_scores, v[:, 0], variance, np.searchsorted(cells, group_starts))


def _draw_binomials(n: Counts, p: Floats, rng: np.random.Generator) -> Floats:
    """Return binomial draws, (k, draws): for few rows, shuffled multinomial counts of outcomes."""
    draws = np.empty((len(n), CALIBRATION_DRAWS))
    functions = special()
    for pair_index, (pair_rows, pair_p) in enumerate(zip(n.tolist(), p.tolist(), strict=True)):
        if pair_rows > _TABLED:
            draws[pair_index] = rng.binomial(pair_rows, pair_p, CALIBRATION_DRAWS)
            continue
        k = np.arange(pair_rows + 1)
        log_probabilities = functions.xlogy(k, pair_p) + functions.xlog1py(pair_rows - k, -pair_p)
        probabilities = np.exp(
            log_probabilities
            - functions.gammaln(k + 1)
            - functions.gammaln(pair_rows - k + 1)
            + functions.gammaln(pair_rows + 1)
        )
        repetitions = rng.multinomial(CALIBRATION_DRAWS, probabilities / probabilities.sum())
        draws[pair_index] = rng.permutation(np.repeat(k, repetitions))
    return draws
