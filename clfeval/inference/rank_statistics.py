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
    used = pos + neg > 0
    if not used.all():
        pos = pos[used]
        neg = neg[used]
    rows = int(pos.sum())
    others = int(neg.sum())
    if not rows or not others:
        raise ValueError("ROC AUC needs a positive and a negative row")
    sums_below = running_sums(pos, neg)
    blocks = _blocks(pos)

    def below(part: slice) -> Counts:  # twice the negatives below each score, ties once
        return 2 * sums_below[1, :-1][part] + neg[part]

    def above(part: slice) -> Counts:  # the same of the positives above it
        return 2 * (rows - sums_below[0, :-1][part]) - pos[part]

    if 2 * rows * others < 2**63:  # twice the pairs fit a whole number of numpy
        won: float = sum((pos[part] * below(part)).sum().item() for part in blocks)
        lost: float = 2 * rows * others - won
    else:
        won, lost = (
            math.fsum((pos[part] * 1.0 * counterparts(part)).sum() for part in blocks)
            for counterparts in (below, lambda part: 2 * others - below(part))
        )
    value = won / (won + lost)
    squares = (
        (
            _squared_deviations(pos, below, value, 2 * others),
            _squared_deviations(neg, above, value, 2 * rows),
        )
        if min(rows, others) > 1
        else (math.nan, math.nan)
    )
    return auc_interval(won, lost, (rows, others), squares, tied=len(pos) == 1, level=level)


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
    smaller = min(classes)
    value = won / (won + lost)
    variance = math.nan
    if smaller > 1:
        variance = sum(s / (n - 1) / n for s, n in zip(squares, classes, strict=True))
    bound = tail_probability(level) ** (1 / smaller)
    if tied:
        return AucInterval(value, math.nan, math.nan, variance, TIED)
    if not lost:
        return AucInterval(value, bound, 1.0, variance, BORDER)
    if not won:
        return AucInterval(value, 0.0, 1 - bound, variance, BORDER)
    if smaller == 1:
        return AucInterval(value, math.nan, math.nan, variance, TOO_FEW)
    complement = lost / (won + lost)
    error = math.sqrt(variance)
    low, high = _logit_limits(won / lost, critical_value(level) * error / (value * complement))
    is_unreliable = smaller < ENOUGH or min(value, complement) < MIN_ERRORS_FROM_END * error
    outer = auc_score_limits(value, *classes, level=level) if is_unreliable else (value, value)
    low = min(low, value, outer[0])
    high = max(high, value, outer[1])
    return AucInterval(value, low, high, variance, OUTER if is_unreliable else LOGIT)


def _logit_limits(odds: float, width: float) -> AreaLimits:
    """Return the limits of logit ln odds -+ width, as shares."""
    reach = math.exp(min(width, 700))  # beyond e**700 a float overflows, so the interval ends there
    return odds / (odds + reach), odds / (odds + 1 / reach)


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
    for outer in (0.0, 1.0):
        inner = value
        for _ in range(_HALVINGS):
            area = (inner + outer) / 2
            inflation = 1 + s * (1 - area) / (2 - area) + s * area / (1 + area)
            plausible = abs(value - area) <= z * math.sqrt(area * (1 - area) / pairs * inflation)
            inner, outer = (area, outer) if plausible else (inner, area)
        limits.append(outer)
    return limits[0], limits[1]


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
    plain = delong_auc(positives, negatives, level=level)
    placements = Placements.from_weights(_check_weights(positives), _check_weights(negatives))
    if clusters.too_few:
        return replace(plain, low=math.nan, high=math.nan, variance=math.nan, method=FEW_CLUSTERS)
    if plain.method in (BORDER, TIED):
        s = len(placements.positives)
        return _bound_by_pairs(plain, clusters.pairs(np.arange(2 * s) < s), level)
    sums = _cluster_sums(placements, plain.value, clusters, alone=alone)
    if min(sums.sizes) <= 1 or math.isnan(plain.variance):
        return replace(plain, low=math.nan, high=math.nan, variance=math.nan, method=TOO_FEW)
    variance, df = _clustered_variance(sums, placements.variances(plain.value))
    if not alone:
        fewest = min(df + 1, clusters.size)
        df = float(degrees_of_freedom(clusters.size, sums.kurtosis, fewest)[0])
    error = math.sqrt(variance)
    width = float(student_quantile(df, level=level)) * error
    complement = 1 - plain.value
    low, high = _logit_limits(plain.value / complement, width / (plain.value * complement))
    near_end = min(plain.value, complement) < MIN_ERRORS_FROM_END * error
    if alone and (min(sums.sizes) < ENOUGH or near_end):
        outer = auc_score_limits(plain.value, *sums.sizes, level=level)
        low = min(low, outer[0])
        high = max(high, outer[1])
    method = WEIGHED if alone else CLUSTERED
    return AucInterval(plain.value, low, high, variance, method)


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
    s = len(placements.positives)
    weights = np.zeros((5, 2, s))  # of positives and negatives: a_c, b_c, rows of either, a_c + b_c
    for k, influence in enumerate(placements.influence(area)):
        weights[k, k] = weights[4, k] = influence
        weights[2 + k, k] = 1
    products, kurtosis = clusters.moments(weights[: 4 if alone else 5].reshape(-1, 2 * s))
    p, n = placements.classes
    return ClusterSums(
        squares=(float(products[0, 0]), float(products[1, 1])),
        product=float(products[0, 1]),
        sizes=(p**2 / float(products[2, 2]), n**2 / float(products[3, 3])),
        kurtosis=kurtosis[-1:],
    )


def _clustered_variance(sums: ClusterSums, delong: tuple[float, float]) -> tuple[float, float]:
    """Return the variance of the area and Welch's degrees of freedom; delong: its least parts."""
    factors = [size / (size - 1) for size in sums.sizes]
    parts = (factors[0] * sums.squares[0], factors[1] * sums.squares[1])
    covariance = math.sqrt(factors[0] * factors[1]) * sums.product
    sum_factor = float(sum_variance_factor(parts, (covariance,)))
    variances = [max(part, bound) for part, bound in zip(parts, delong, strict=True)]
    total = sum(variances)
    df = total**2 / sum(
        variance**2 / (size - 1) for variance, size in zip(variances, sums.sizes, strict=True)
    )
    return total * sum_factor, df


def _check_weights(weights: ArrayLike) -> Ints:
    array = np.asarray(weights)
    if array.ndim == 1 and array.dtype.kind in "iu" and not (array < 0).any():
        return array.astype(np.int64, copy=False)
    valid = np.isfinite(array) & (array >= 0) & (array == np.floor(array))
    if array.ndim != 1 or not valid.all():
        raise ValueError("weights must be a vector of whole numbers of at least 0")
    return array.astype(np.int64)


def _blocks(weights: Ints) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, len(weights), _BLOCK)]


def _squared_deviations(
    weights: Ints, values: Callable[[slice], Counts], centre: float, unit: float = 1
) -> float:
    return math.fsum(
        (weights[part] * (values(part) / unit - centre) ** 2).sum() for part in _blocks(weights)
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
    first, second = _dense_ranks(x, y)
    if not len(first):
        return math.nan
    base = len(first)
    # sorted by x, then by y: a larger y before a smaller one is a discordant pair, in D
    pair_ranks = np.sort(first * base + second)
    pairs = base * (base - 1) // 2
    tied_x = _tied_pairs(first)
    tied_y = _tied_pairs(second)
    tied = _tied_pairs(pair_ranks)
    difference = pairs - tied_x - tied_y + tied - 2 * _inversions(pair_ranks % base)
    return _correlation_ratio(difference, pairs - tied_x, pairs - tied_y)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's rank correlation: Pearson's correlation of the average ranks, (k,) each.

    rho = sum u v / sqrt(sum u**2 sum v**2), u and v the ranks less their mean; 0 when uncorrelated,
    else as `kendall_tau_b`.
    Source: Spearman 1904, American Journal of Psychology 15:72; ties: Kendall 1945.
    """
    first, second = _dense_ranks(x, y)
    if not len(first):
        return math.nan
    counts = [(np.bincount(ranks), ranks) for ranks in (first, second)]
    # twice the average rank, first plus last rank of the ties, less twice the mean rank
    u, v = ((2 * np.cumsum(n) - n - len(places))[places] for n, places in counts)
    return _correlation_ratio(_exact_sum(u * v), _exact_sum(u * u), _exact_sum(v * v))


def _dense_ranks(x: ArrayLike, y: ArrayLike) -> tuple[Ints, Ints]:
    """Return the dense ranks of x and of y, from 0; empty where one is constant or has NaN."""
    values = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if values[0].ndim != 1 or values[0].shape != values[1].shape:
        raise ValueError("the values must be two vectors of one length")
    none = np.empty(0, np.int64)
    if any(np.isnan(vector).any() for vector in values):
        return none, none
    first, second = (np.unique(vector, return_inverse=True)[1] for vector in values)
    return (first, second) if first.any() and second.any() else (none, none)


def _tied_pairs(places: Ints) -> int:
    counts = np.unique(places, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Ints) -> int:
    """Return the number of inversions of a permutation of 0..k-1, by vectorised merge sort."""
    k = len(values)
    runs = np.full(1 << (k - 1).bit_length(), k, np.int64)
    runs[:k] = values
    width = 1
    inversions = 0
    while width < len(runs):
        pairs = runs.reshape(-1, 2, width)
        lift = np.arange(len(pairs))[:, None] * (k + 1)
        left, right = ((pairs[:, side] + lift).ravel() for side in (0, 1))
        # left values up to the end of the pair, less those not above the right value
        pair_ends = np.repeat(np.arange(1, len(pairs) + 1) * width, width)
        inversions += int((pair_ends - np.searchsorted(left, right, side="right")).sum())
        runs = np.sort(runs.reshape(-1, 2 * width), axis=1).ravel()
        width *= 2
    return inversions


def _exact_sum(products: Ints) -> int:
    """Return the exact sum, even where it exceeds 64 bits."""
    return sum(np.add.reduceat(products, np.arange(0, len(products), _EXACT)).tolist())


def _correlation_ratio(value: int, first: int, second: int) -> float:
    """Return value / sqrt(first second), exactly 1 or -1 where it is."""
    if value * value == first * second:
        return math.copysign(1, value)
    return max(-1.0, min(value / math.sqrt(first * second), 1.0))
