"""The area under the ROC curve with DeLong's interval, and rank correlations."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, Ints, running_sums
from clfeval.inference.distributions import critical_value, student_quantile, tail_probability
from clfeval.inference.influence_and_clusters import (
    SamplingUnits,
    degrees_of_freedom,
    sum_variance_factor,
)
from clfeval.inference.proportions import ENOUGH, MIN_ERRORS_FROM_END
from clfeval.records import dataclass, replace

LOGIT = "DeLong, logit"
OUTER = "DeLong, logit, and Newcombe's score interval"
BORDER = "exact bound at the border"
TIED = "none: all scores are equal"
TOO_FEW = "too few rows"
FEW_CLUSTERS = "too few clusters"
CLUSTERED = "DeLong by clusters, logit"
WEIGHED = "DeLong by weights, logit"
_BLOCK = 2**15  # scores per block, few enough to stay in the cache
_HALVINGS = 55  # a bracket of 1 is then narrower than the numbers next to 1 lie

AreaLimits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class AucInterval:
    """An area under the ROC curve, its confidence interval, DeLong variance and method."""

    value: float
    low: float
    high: float
    variance: float
    method: str


def delong_auc(positives: ArrayLike, negatives: ArrayLike, *, level: float) -> AucInterval:
    """Return P(a positive scores higher than a negative) + P(they tie) / 2 and its interval.

    value = sum of pos neg over pairs with the higher or (one half) the same score / (P N)
    variance = S10 / P + S01 / N, the variances (denominators P - 1, N - 1) of each positive's share
    of negatives below it and each negative's share of positives above it, ties counted one half
    interval: logit(value) -+ z sqrt(variance) / (value (1 - value)), back from the logit

    With fewer than 30 rows of a class, or where the area lies within 3 sqrt(variance) of 0 or 1,
    each limit is the outer one of this and of `auc_score_limits`. At an area of 1 one limit is the
    A with A**m = alpha/2, m = min(P, N), mirrored at 0. When all rows have one score, the same
    bounds the probability T of a tie, and the area lies in T/2 .. 1 - T/2. Otherwise variance and
    limits are NaN with one positive or one negative.

    Shapes: (s,) each, the whole-number weights of the rows at each distinct score, ascending; the
    work is linear in s. Range 0..1; low <= value <= high.
    Errors: ValueError unless both are vectors of one length, whole and not negative, with a
    positive and a negative row, and 0 < level < 1.
    Source: DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44:837; the logit: Pepe 2003, The
    Statistical Evaluation of Medical Tests for Classification and Prediction, chapter 5.
    """
    pos = _check_weights(positives)
    neg = _check_weights(negatives)
    if pos.shape != neg.shape:
        raise ValueError("positives and negatives differ in length")
    has_rows = pos + neg > 0
    if not has_rows.all():
        pos = pos[has_rows]
        neg = neg[has_rows]
    p = int(pos.sum())
    n = int(neg.sum())
    if not p or not n:
        raise ValueError("ROC AUC needs a positive and a negative row")
    sums_below = running_sums(pos, neg)
    blocks = _blocks(pos)

    def twice_below(block: slice) -> Counts:
        """Return twice the negatives below each score, ties once."""
        return 2 * sums_below[1, :-1][block] + neg[block]

    def twice_above(block: slice) -> Counts:
        """Return twice the positives above each score, ties once."""
        return 2 * (p - sums_below[0, :-1][block]) - pos[block]

    if 2 * p * n < 2**63:  # twice the pairs fit a whole number of numpy
        won: float = sum((pos[block] * twice_below(block)).sum().item() for block in blocks)
        lost: float = 2 * p * n - won
    else:
        won, lost = (
            math.fsum((pos[block] * 1.0 * twice_negatives(block)).sum() for block in blocks)
            for twice_negatives in (twice_below, lambda block: 2 * n - twice_below(block))
        )
    value = won / (won + lost)
    squares = (math.nan, math.nan)
    if min(p, n) > 1:
        squares = (
            _squared_deviations(pos, twice_below, value, 2 * n),
            _squared_deviations(neg, twice_above, value, 2 * p),
        )
    return auc_interval(won, lost, (p, n), squares, tied=len(pos) == 1, level=level)


def auc_interval(
    won: float,
    lost: float,
    classes: tuple[int, int],
    squares: tuple[float, float],
    *,
    tied: bool,
    level: float,
) -> AucInterval:
    """Return the AUC and interval of `delong_auc` from sums over the rows.

    won, lost: twice the pairs in order and those out of it, ties once in either; classes: P and N;
    squares: the sums of squares of each positive's and each negative's share less the area; tied:
    all rows have one score, of which the area is 1/2 in every sample, without an interval.
    """
    smaller_class = min(classes)
    value = won / (won + lost)
    variance = math.nan
    if smaller_class > 1:
        variance = sum(
            class_squares / (class_size - 1) / class_size
            for class_squares, class_size in zip(squares, classes, strict=True)
        )
    border_bound = tail_probability(level) ** (1 / smaller_class)
    if tied:
        return AucInterval(value, math.nan, math.nan, variance, TIED)
    if not lost:
        return AucInterval(value, border_bound, 1.0, variance, BORDER)
    if not won:
        return AucInterval(value, 0.0, 1 - border_bound, variance, BORDER)
    if smaller_class == 1:
        return AucInterval(value, math.nan, math.nan, variance, TOO_FEW)
    complement = lost / (won + lost)
    error = math.sqrt(variance)
    low, high = _logit_limits(won / lost, critical_value(level) * error / (value * complement))
    is_unreliable = smaller_class < ENOUGH or min(value, complement) < MIN_ERRORS_FROM_END * error
    score_low, score_high = value, value  # which leave the limits as they are
    if is_unreliable:
        score_low, score_high = auc_score_limits(value, *classes, level=level)
    low = min(low, value, score_low)
    high = max(high, value, score_high)
    return AucInterval(value, low, high, variance, OUTER if is_unreliable else LOGIT)


def _logit_limits(odds: float, width: float) -> AreaLimits:
    """Return the limits of logit ln odds -+ width, as shares."""
    factor = math.exp(min(width, 700))  # e**710 exceeds the floats, so the interval ends here
    return odds / (odds + factor), odds / (odds + 1 / factor)


def auc_score_limits(
    value: float, positives: float, negatives: float, *, level: float
) -> AreaLimits:
    """Return the score limits of an AUC: the areas A with |value - A| = z sqrt(v(A)).

    v(A) = A (1-A) / (P N) (1 + s (1-A) / (2-A) + s A / (1+A))   s = (P + N) / 2 - 1

    v is that of exponential scores, with s for both P - 1 and N - 1; not 0 without an error.
    Range 0..1; low <= value <= high. Errors: ValueError unless 0 < level < 1.
    Source: Newcombe 2006, Statistics in Medicine 25:559, method 5; the variance: Hanley and McNeil
    1982, Radiology 143:29.
    """
    z = critical_value(level)
    limits = []
    s = (positives + negatives) / 2 - 1
    pairs = positives * negatives
    for border in (0.0, 1.0):
        inside_area, outside_area = value, border
        for _ in range(_HALVINGS):
            area = (inside_area + outside_area) / 2
            inflation = 1 + s * (1 - area) / (2 - area) + s * area / (1 + area)
            is_plausible = abs(value - area) <= z * math.sqrt(area * (1 - area) / pairs * inflation)
            inside_area, outside_area = (
                (area, outside_area) if is_plausible else (inside_area, area)
            )
        limits.append(outside_area)
    low, high = limits
    return low, high


def clustered_auc(
    positives: ArrayLike,
    negatives: ArrayLike,
    clusters: SamplingUnits,
    *,
    level: float,
    alone: bool = False,
) -> AucInterval:
    """Return the AUC of `delong_auc` with a confidence interval for clustered rows.

    The share of negatives below a positive, less the area A, is summed over the positives of each
    cluster and divided by P: a_c, and b_c for its negatives. The variance is that of the sum, h_P
    sum a_c² + h_N sum b_c² + 2 sqrt(h_P h_N) sum a_c b_c with h = g / (g-1) of `clusters`; the
    first two are at least DeLong's. The logit takes t with the fewest of Welch's degrees of
    freedom, those of a + b by its kurtosis (`degrees_of_freedom`), and clusters - 1. At an area of
    1 or 0, and with one score for all, m counts pairs from different clusters.

    alone: the clusters are rows with different weights. Then P and N are their effective numbers g
    in `auc_score_limits`.

    Shapes: positives, negatives (s,) as for `delong_auc`; clusters: of rows at these 2 s places.
    The ends are NaN with fewer than FEWEST_CLUSTERS clusters; with fewer than two that have
    positives, or negatives, except at an area of 1 or 0 or with one score. Errors: as for
    `delong_auc`.
    Source: Obuchowski 1997, Biometrics 53:567; Welch 1947, Biometrika 34:28.
    """
    unclustered = delong_auc(positives, negatives, level=level)
    placements = Placements.from_weights(_check_weights(positives), _check_weights(negatives))
    if clusters.too_few:
        return replace(
            unclustered, low=math.nan, high=math.nan, variance=math.nan, method=FEW_CLUSTERS
        )
    if unclustered.method in (BORDER, TIED):
        score_count = len(placements.positives)
        return _bound_by_pairs(
            unclustered, clusters.pairs(np.arange(2 * score_count) < score_count), level
        )
    cluster_sums = _cluster_sums(placements, unclustered.value, clusters, alone=alone)
    if min(cluster_sums.sizes) <= 1 or math.isnan(unclustered.variance):
        return replace(unclustered, low=math.nan, high=math.nan, variance=math.nan, method=TOO_FEW)
    variance, df = _clustered_variance(cluster_sums, placements.variances(unclustered.value))
    if not alone:
        fewest = min(df + 1, clusters.size)
        df = float(degrees_of_freedom(clusters.size, cluster_sums.kurtosis, fewest)[0])
    error = math.sqrt(variance)
    width = float(student_quantile(df, level=level)) * error
    complement = 1 - unclustered.value
    low, high = _logit_limits(
        unclustered.value / complement, width / (unclustered.value * complement)
    )
    is_near_end = min(unclustered.value, complement) < MIN_ERRORS_FROM_END * error
    if alone and (min(cluster_sums.sizes) < ENOUGH or is_near_end):
        score_low, score_high = auc_score_limits(
            unclustered.value, *cluster_sums.sizes, level=level
        )
        low = min(low, score_low)
        high = max(high, score_high)
    return AucInterval(unclustered.value, low, high, variance, WEIGHED if alone else CLUSTERED)


def _bound_by_pairs(area: AucInterval, pairs: float, level: float) -> AucInterval:
    """Return an area of 0 or 1 bounded by the pairs of different clusters."""
    bound = tail_probability(level) ** (1 / pairs) if pairs else 0.0
    if area.method == TIED:
        return area
    if area.value == 1:
        return replace(area, low=bound, high=1.0)
    return replace(area, low=0.0, high=1 - bound)


@dataclass(frozen=True, slots=True, eq=False)
class Placements:
    """Rows at each of s scores, and where they lie among the other class; all (s,).

    below: the share of negatives below each score, ties counted one half; above: that of positives
    above it.
    """

    positives: Ints
    negatives: Ints
    below: Floats
    above: Floats

    @classmethod
    def from_weights(cls, positives: Ints, negatives: Ints) -> Placements:
        """Compute the shares; positives, negatives (s,): rows at each score, ascending."""
        p = float(positives.sum())
        n = float(negatives.sum())
        below = (np.cumsum(negatives) - negatives / 2) / n
        above = (p - np.cumsum(positives) + positives / 2) / p
        return cls(positives, negatives, below, above)

    @property
    def classes(self) -> tuple[float, float]:
        """The numbers of positives and of negatives."""
        return float(self.positives.sum()), float(self.negatives.sum())

    def influence(self, area: float) -> tuple[Floats, Floats]:
        """Return the influence of a positive, and of a negative, at each score on the area."""
        p, n = self.classes
        return (self.below - area) / p, (self.above - area) / n

    def variances(self, area: float) -> tuple[float, float]:
        """Return DeLong's two parts of the variance of the area."""
        p, n = self.classes
        return (
            _squared_deviations(self.positives, self.below.__getitem__, area) / (p - 1) / p,
            _squared_deviations(self.negatives, self.above.__getitem__, area) / (n - 1) / n,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    """Sums over clusters of a_c², b_c² and a_c b_c of `clustered_auc`.

    sizes: the effective numbers of clusters with positives, and with negatives, g. kurtosis (1,):
    the kurtosis size of a_c + b_c, meaningless for rows with different weights.
    """

    squares: tuple[float, float]
    product: float
    sizes: tuple[float, float]
    kurtosis: Floats


def _cluster_sums(
    placements: Placements, area: float, clusters: SamplingUnits, *, alone: bool
) -> ClusterSums:
    """Return the sums over clusters; alone: these are rows with different weights."""
    score_count = len(placements.positives)
    # what a row of each class adds to a_c, b_c, positives, negatives and a_c + b_c
    sum_weights = np.zeros((5, 2, score_count))
    for class_index, class_influence in enumerate(placements.influence(area)):
        sum_weights[class_index, class_index] = sum_weights[4, class_index] = class_influence
        sum_weights[2 + class_index, class_index] = 1
    sum_count = 4 if alone else 5
    products, kurtosis = clusters.moments(sum_weights[:sum_count].reshape(-1, 2 * score_count))
    p, n = placements.classes
    return ClusterSums(
        squares=(float(products[0, 0]), float(products[1, 1])),
        product=float(products[0, 1]),
        sizes=(p**2 / float(products[2, 2]), n**2 / float(products[3, 3])),
        kurtosis=kurtosis[-1:],
    )


def _clustered_variance(
    cluster_sums: ClusterSums, delong_parts: tuple[float, float]
) -> tuple[float, float]:
    """Return the variance of the area and Welch's degrees of freedom.

    delong_parts: DeLong's two parts of the variance, below which no part falls.
    """
    factors = [cluster_count / (cluster_count - 1) for cluster_count in cluster_sums.sizes]
    class_parts = (factors[0] * cluster_sums.squares[0], factors[1] * cluster_sums.squares[1])
    covariance = math.sqrt(factors[0] * factors[1]) * cluster_sums.product
    sum_factor = float(sum_variance_factor(class_parts, (covariance,)))
    variances = [
        max(class_part, delong_part)
        for class_part, delong_part in zip(class_parts, delong_parts, strict=True)
    ]
    variance_total = sum(variances)
    df = variance_total**2 / sum(
        variance**2 / (cluster_count - 1)
        for variance, cluster_count in zip(variances, cluster_sums.sizes, strict=True)
    )
    return variance_total * sum_factor, df


def _check_weights(weights: ArrayLike) -> Ints:
    """Return weights as whole numbers; ValueError unless they are a vector of such, from 0 up."""
    array = np.asarray(weights)
    # integers need no further checks
    if array.ndim == 1 and array.dtype.kind in "iu" and not (array < 0).any():
        return array.astype(np.int64, copy=False)
    is_valid = np.isfinite(array) & (array >= 0) & (array == np.floor(array))
    if array.ndim != 1 or not is_valid.all():
        raise ValueError("weights must be a vector of whole numbers of at least 0")
    return array.astype(np.int64)


def _blocks(weights: Ints) -> list[slice]:
    """Return the slices of a vector of weights, block by block."""
    return [slice(start, start + _BLOCK) for start in range(0, len(weights), _BLOCK)]


def _squared_deviations(
    weights: Ints, values: Callable[[slice], Counts], centre: float, unit: float = 1
) -> float:
    """Return the weighted sum of squares of values / unit less the centre; values: by slice."""
    return math.fsum(
        (weights[block] * (values(block) / unit - centre) ** 2).sum() for block in _blocks(weights)
    )


_EXACT = 2**14  # products of ranks whose sum fits 64 bits, up to 20 million values


def kendall_tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Return Kendall's rank correlation with ties.

    tau_b = (C - D) / sqrt((N - Tx) (N - Ty)), over all N = k (k - 1) / 2 pairs: C in the same order
    in both, D in opposite orders, Tx tied in x, Ty tied in y

    Shapes: (k,) each; the work is k log(k)**2. Range -1..1; 0 when the orders are unrelated; NaN
    for fewer than two values, for constant x or y, or with a NaN. ValueError unless vectors of one
    length.
    Source: Kendall 1945, Biometrika 33:239; counting in this way: Knight 1966, JASA 61:436.
    """
    x_ranks, y_ranks = _dense_ranks(x, y)
    if not len(x_ranks):
        return math.nan
    k = len(x_ranks)
    # x and y in one number, sorted by x, then by y: a larger y before a smaller one is a discordant
    # pair, in D
    pair_ranks = np.sort(x_ranks * k + y_ranks)
    pair_count = k * (k - 1) // 2
    tied_x = _tied_pairs(x_ranks)
    tied_y = _tied_pairs(y_ranks)
    tied_both = _tied_pairs(pair_ranks)
    difference = pair_count - tied_x - tied_y + tied_both - 2 * _inversions(pair_ranks % k)
    return _correlation_ratio(difference, pair_count - tied_x, pair_count - tied_y)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's rank correlation: Pearson's correlation of the average ranks, (k,) each.

    rho = sum u v / sqrt(sum u**2 sum v**2), u and v the ranks less their mean; 0 when uncorrelated,
    else as `kendall_tau_b`.
    Source: Spearman 1904, American Journal of Psychology 15:72; ties: Kendall 1945.
    """
    x_ranks, y_ranks = _dense_ranks(x, y)
    if not len(x_ranks):
        return math.nan
    counts_and_ranks = [(np.bincount(ranks), ranks) for ranks in (x_ranks, y_ranks)]
    # twice the average rank, first plus last rank of the ties, less twice the mean rank
    u, v = ((2 * np.cumsum(n) - n - len(ranks))[ranks] for n, ranks in counts_and_ranks)
    return _correlation_ratio(_exact_sum(u * v), _exact_sum(u * u), _exact_sum(v * v))


def _dense_ranks(x: ArrayLike, y: ArrayLike) -> tuple[Ints, Ints]:
    """Return the dense ranks of x and of y, from 0; empty where one is constant or has NaN."""
    vectors = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if vectors[0].ndim != 1 or vectors[0].shape != vectors[1].shape:
        raise ValueError("the values must be two vectors of one length")
    no_ranks = np.empty(0, np.int64)
    if any(np.isnan(vector).any() for vector in vectors):
        return no_ranks, no_ranks
    _, x_ranks = np.unique(vectors[0], return_inverse=True)
    _, y_ranks = np.unique(vectors[1], return_inverse=True)
    is_constant = not x_ranks.any() or not y_ranks.any()
    return (no_ranks, no_ranks) if is_constant else (x_ranks, y_ranks)


def _tied_pairs(ranks: Ints) -> int:
    """Return the number of pairs with equal ranks."""
    _, counts = np.unique(ranks, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: Ints) -> int:
    """Return the number of inversions of k numbers from 0..k-1, by vectorised merge sort."""
    k = len(ranks)
    runs = np.full(1 << (k - 1).bit_length(), k, np.int64)
    runs[:k] = ranks
    width = 1
    inversions = 0
    while width < len(runs):
        run_pairs = runs.reshape(-1, 2, width)
        # each pair of runs is above the one before, so that one search serves all
        offsets = np.arange(len(run_pairs))[:, None] * (k + 1)
        left_runs, right_runs = ((run_pairs[:, side] + offsets).ravel() for side in (0, 1))
        # left values up to the end of the pair, less those not above the right value
        pair_ends = np.repeat(np.arange(1, len(run_pairs) + 1) * width, width)
        inversions += int((pair_ends - np.searchsorted(left_runs, right_runs, side="right")).sum())
        runs = np.sort(runs.reshape(-1, 2 * width), axis=1).ravel()
        width *= 2
    return inversions


def _exact_sum(products: Ints) -> int:
    """Return the exact sum, even where it exceeds 64 bits."""
    block_sums = np.add.reduceat(products, np.arange(0, len(products), _EXACT))
    return sum(block_sums.tolist())


def _correlation_ratio(numerator: int, x_squares: int, y_squares: int) -> float:
    """Return numerator / sqrt(x_squares y_squares), exactly 1 or -1 where it is."""
    if numerator * numerator == x_squares * y_squares:
        return math.copysign(1, numerator)
    return max(-1.0, min(numerator / math.sqrt(x_squares * y_squares), 1.0))
