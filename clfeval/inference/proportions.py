"""Confidence limits of proportions, differences and ratios; sign and flip tests; Holm's rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats
from clfeval.inference.distributions import binomial_tail, critical_value, tail_probability
from clfeval.inference.scipy_special import special

ENOUGH = 30  # rows of a class, below which an estimated error is unreliable
MIN_ERRORS_FROM_END = 3  # standard errors from the end of a range, within which it is also so


Parts = tuple[Floats, Floats, Floats, Floats]


def wilson_limits(parts: Parts, z: float | Floats) -> tuple[Floats, Floats]:
    """Return the score interval of a binomial proportion: the p with |k/n - p| = z sqrt(p(1-p)/n).

    s = z²/2 + z sqrt(k (n-k) / n + z²/4)
    low = k/n * k / (k + s), 0 at k = 0   high = k/n + (n-k)/n * s / (n - k + s), 1 at k = n

    Shapes: the parts, from `score_parts`, and z >= 0 broadcast; counts need not be whole. Range
    0..1; low <= k/n <= high, both k/n at z = 0; NaN where n = 0.
    Source: Wilson 1927, Journal of the American Statistical Association 22:209.
    """
    p, q, successes, failures = parts
    s = score_spread(parts, z)
    return p * part_of_sum(successes, s), np.minimum(p + q * part_of_sum(s, failures), 1)


def score_parts(k: ArrayLike, n: ArrayLike) -> Parts:
    """Return k/n, (n-k)/n, k and n - k of the score interval; ValueError unless 0 <= k <= n."""
    successes = np.asarray(k, np.float64)
    trials = np.asarray(n, np.float64)
    if np.any(successes < 0) or np.any(successes > trials):
        raise ValueError("k must lie between 0 and n")
    failures = trials - successes
    with np.errstate(divide="ignore", invalid="ignore"):
        return successes / trials, failures / trials, successes, failures


def has_unreliable_error(k: ArrayLike, n: ArrayLike) -> Bools:
    """Return where the standard error of k/n is too unreliable for a log or logit scale.

    n < 30, or k/n within 3 standard errors sqrt(k (n-k) / n³) of 0 or 1: min(k, n-k) < 9 (1 - that
    share of n). Both broadcast.
    """
    successes = np.asarray(k, np.float64)
    rows = np.asarray(n, np.float64)
    failures = rows - successes
    rarer_count = np.minimum(successes, failures)
    commoner_count = np.maximum(successes, failures)
    return np.asarray(
        (rows < ENOUGH) | (rarer_count * rows < MIN_ERRORS_FROM_END**2 * commoner_count)
    )


def combine_proportions(
    a: ArrayLike, b: ArrayLike, *counts: ArrayLike, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return a p1 + b p2 of two independent binomial proportions and its interval.

    value = a k1/n1 + b k2/n2, with d, e the distances to the lower and upper Wilson limit,
    exchanged where the factor is negative
    low = value - sqrt((a d1)² + (b d2)²)   high = value + sqrt((a e1)² + (b e2)²)

    Shapes: all broadcast; counts k1, n1, k2, n2 need not be whole. Range: that of a x + b y over
    0 <= x, y <= 1; low <= value <= high; NaN where n1 = 0 or n2 = 0.
    Errors: ValueError unless 0 <= k <= n and 0 < level < 1.
    Source: Newcombe 1998, Statistics in Medicine 17:873, method 10 (a = 1, b = -1); Zou and Donner
    2008, Statistics in Medicine 27:1693, section 2.
    """
    z = critical_value(level)
    # lowest, highest: the range of the combination
    value = distance_below = distance_above = lowest = highest = np.zeros(())
    for factor, (k, n) in ((a, counts[:2]), (b, counts[2:])):
        weight = np.asarray(factor, np.float64)
        p, distance_to_low, distance_to_high = wilson_distances(k, n, z)
        value = value + weight * p
        distance_below = np.hypot(
            distance_below, weight * np.where(weight > 0, distance_to_low, distance_to_high)
        )
        distance_above = np.hypot(
            distance_above, weight * np.where(weight > 0, distance_to_high, distance_to_low)
        )
        lowest = lowest + np.minimum(weight, 0)
        highest = highest + np.maximum(weight, 0)
    # the method keeps within the range, its rounding may not
    return (
        value,
        np.maximum(value - distance_below, lowest),
        np.minimum(value + distance_above, highest),
    )


def wilson_distances(k: ArrayLike, n: ArrayLike, z: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return k / n and its distances to the lower and upper Wilson limit at z."""
    p, q, successes, failures = parts = score_parts(k, n)
    s = score_spread(parts, z)
    return p, p * part_of_sum(s, successes), q * part_of_sum(s, failures)


def score_spread(parts: Parts, z: ArrayLike) -> Floats:
    """Return the term s of `wilson_limits`."""
    _, q, successes, _ = parts
    width = np.asarray(z, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(width**2 / 2 + width * np.sqrt(successes * q + width**2 / 4))


def part_of_sum(part: Floats, rest: Floats) -> Floats:
    """Return part / (part + rest), 0 where both are 0."""
    return np.asarray(part / np.maximum(part + rest, 5e-324))


def rate_ratio(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, *, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return the ratio of two independent binomial proportions and its log interval.

    value = (k1/n1) / (k2/n2)   limits: value exp(-+ z sqrt(v))
    v = (1-p1) / (n1 p1) + (1-p2) / (n2 p2), the variance of ln value

    LR+ is the ratio with (TP, P, FP, N), LR- with (FN, P, TN, N).

    Shapes: all broadcast; counts need not be whole. Range 0..inf; low <= value <= high. The value
    is inf where k2 alone is 0, NaN where k1 = k2 = 0, n1 = 0 or n2 = 0; the limits are NaN wherever
    one of the four cells k1, n1-k1, k2, n2-k2 is 0.
    Errors: ValueError unless 0 <= k <= n and 0 < level < 1.
    Source: Katz, Baptista, Azen and Pike 1978, Biometrics 34:469; for LR+ and LR-: Simel, Samsa and
    Matchar 1991, Journal of Clinical Epidemiology 44:763.
    """
    numerator, denominator, limit_factor = _rate_products(k1, n1, k2, n2, critical_value(level))
    return _quotient(numerator, denominator, limit_factor)


def odds_ratio(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike, *, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return the diagnostic odds ratio and its log interval.

    value = tp tn / (fp fn)   limits: value exp(-+ z sqrt(1/tp + 1/fp + 1/fn + 1/tn))

    Shapes: all broadcast; counts need not be whole. Range 0..inf; low <= value <= high. The value
    is inf where tp tn > 0 = fp fn, NaN where both are 0; the limits are NaN wherever a count is 0.
    Errors: ValueError when a count is negative or unless 0 < level < 1.
    Source: Woolf 1955, Annals of Human Genetics 19:251; Glas and others 2003, Journal of Clinical
    Epidemiology 56:1129.
    """
    z = critical_value(level)
    a, b, c, d = (np.asarray(count, np.float64) for count in (tp, fp, fn, tn))
    if any(np.any(cell < 0) for cell in (a, b, c, d)):
        raise ValueError("a count must not be negative")
    with np.errstate(divide="ignore"):
        variance = 1 / a + 1 / b + 1 / c + 1 / d
    return _quotient(a * d, b * c, _limit_factor(variance, z))


def predictive_value(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, odds: ArrayLike, *, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return a predictive value for classes in given odds and its logit interval.

    value = odds LR / (1 + odds LR)   LR = (k1/n1) / (k2/n2)
    limits: the same with the limits of LR, see `rate_ratio`; they are logit value -+ z sqrt(v)

    PPV at r positives for one negative is that of (TP, P, FP, N, r), NPV that of (TN, N, FN, P,
    1/r); the odds are taken as known.

    Shapes: all broadcast; counts need not be whole. Range 0..1; low <= value <= high. The value is
    NaN where k1 = k2 = 0, n1 = 0 or n2 = 0, the limits are NaN where those of LR are.
    Errors: ValueError unless 0 <= k <= n, odds >= 0 and 0 < level < 1.
    Source: Mercaldo, Lau and Zhou 2007, Statistics in Medicine 26:2170.
    """
    numerator, denominator, limit_factor = _rate_products(k1, n1, k2, n2, critical_value(level))
    class_odds = np.asarray(odds, np.float64)
    if np.any(class_odds < 0):
        raise ValueError("odds must not be negative")
    # x / (x + y) keeps the digits next to 0 and next to 1, and neither side overflows
    x = numerator * np.minimum(class_odds, 1)
    y = denominator / np.maximum(class_odds, 1)
    with np.errstate(invalid="ignore", over="ignore"):
        value = x / (x + y)
        low = x / (x + y * limit_factor)
        high = x / (x + y / limit_factor)
    return np.asarray(value), np.asarray(low), np.asarray(high)


def _rate_products(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, z: float
) -> tuple[Floats, Floats, Floats]:
    """Return k1 n2 and k2 n1, whose ratio is that of the rates, and the factor to its limits."""
    successes1, rows1, successes2, rows2 = (
        np.asarray(count, np.float64) for count in (k1, n1, k2, n2)
    )
    if (
        np.any(np.minimum(successes1, successes2) < 0)
        or np.any(successes1 > rows1)
        or np.any(successes2 > rows2)
    ):
        raise ValueError("k must lie between 0 and n")
    failures1 = rows1 - successes1
    failures2 = rows2 - successes2
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = failures1 / rows1 / successes1 + failures2 / rows2 / successes2
    is_defined = np.minimum(failures1, failures2) > 0
    return (
        successes1 * rows2,
        successes2 * rows1,
        _limit_factor(np.where(is_defined, variance, np.nan), z),
    )


def _limit_factor(variance: Floats, z: float) -> Floats:
    """Return the factor between a value and its limits, NaN unless the variance is finite."""
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(variance), np.exp(z * np.sqrt(variance)), np.nan)


def _quotient(
    numerator: Floats, denominator: Floats, limit_factor: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return numerator / denominator, and its limits: divided and multiplied by the factor."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.asarray(numerator / denominator)
        return value, np.asarray(value / limit_factor), np.asarray(value * limit_factor)


def clopper_pearson(k: ArrayLike, n: ArrayLike, *, level: float) -> tuple[Floats, Floats]:
    """Return the exact interval of a binomial proportion.

    low solves P(X >= k | n, low) = (1 - level) / 2, high solves P(X <= k | n, high) = the same; low
    is 0 at k = 0, high is 1 at k = n.

    Shapes: k and n broadcast; 0 <= k <= n, fractions where counts were divided by a design effect
    (then the limits are the quantiles of the beta distribution that whole numbers have). Range
    0..1; NaN where n = 0.
    Errors: ValueError unless 0 < level < 1 and 0 <= k <= n.
    Source: Clopper and Pearson 1934, Biometrika 26:404.
    """
    tail = tail_probability(level)
    successes, trials = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    if np.any(successes < 0) or np.any(successes > trials):
        raise ValueError("k must lie between 0 and n")
    pairs, inverse = np.unique(
        np.column_stack([successes.ravel(), trials.ravel()]), axis=0, return_inverse=True
    )
    # the limits of each distinct pair are computed once
    low, high = _exact_limits(pairs[:, 0], pairs[:, 1], tail)
    index = inverse.reshape(successes.shape)
    return low[index], high[index]


def _exact_limits(k: Floats, n: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the exact limits of k of n, (q,) each, NaN where n = 0; tail: beyond each limit."""
    # the bounds of the rarer outcome, and one minus them: no digits are lost next to one
    rarer = np.minimum(k, n - k)
    commoner = np.maximum(k, n - k)
    low = np.where(rarer > 0, special().betaincinv(rarer, commoner + 1, tail), 0.0)
    high = np.where(commoner > 0, special().betainccinv(rarer + 1, commoner, tail), 1.0)
    is_below_half = 2 * k <= n
    # this term makes limits NaN without rows
    undefined_term = np.where(n > 0, 0.0, np.nan)
    lower = np.where(is_below_half, low, 1 - high)
    upper = np.where(is_below_half, high, 1 - low)
    return lower + undefined_term, upper + undefined_term


def weighted_count_limits(
    value: float, variance: float, largest: float, *, level: float
) -> tuple[float, float]:
    """Return the limits of a sum of w x, independent Poisson counts x with known weights.

    low = quantile of a gamma distribution of mean y and variance v, y = sum w x, v = sum w² x
    high = that of mean y + w_m and variance v + w_m², w_m the largest weight; low is 0 at y = 0

    With one weight they are the exact limits of a Poisson count. value: y, variance: v, largest:
    w_m.
    Source: Fay and Feuer 1997, Statistics in Medicine 16:791.
    """
    tail = tail_probability(level)
    low = 0.0
    if value > 0:
        low = variance / value * float(special().gammaincinv(value**2 / variance, tail))
    upper_mean = value + largest
    upper_variance = variance + largest**2
    quantile = float(special().gammainccinv(upper_mean**2 / upper_variance, tail))
    return low, upper_variance / upper_mean * quantile


def wilson(k: ArrayLike, n: ArrayLike, *, level: float) -> tuple[Floats, Floats]:
    """Return the Wilson score limits of k / n."""
    return wilson_limits(score_parts(k, n), critical_value(level))


def jeffreys(k: ArrayLike, n: ArrayLike, *, level: float) -> tuple[Floats, Floats]:
    """Return Jeffreys' limits: quantiles of Beta(k + 1/2, n - k + 1/2), 0 at k = 0, 1 at k = n.

    Source: Brown, Cai and DasGupta 2001, Statistical Science 16:101.
    """
    successes = np.asarray(k, np.float64)
    trials = np.asarray(n, np.float64)
    tail = tail_probability(level)
    # this term makes limits NaN without rows
    undefined_term = np.where(trials > 0, 0.0, np.nan)
    low = np.where(
        successes > 0, special().betaincinv(successes + 0.5, trials - successes + 0.5, tail), 0.0
    )
    high = np.where(
        successes < trials,
        special().betainccinv(successes + 0.5, trials - successes + 0.5, tail),
        1.0,
    )
    return low + undefined_term, high + undefined_term


def agresti_coull(k: ArrayLike, n: ArrayLike, *, level: float) -> tuple[Floats, Floats]:
    """Return the limits p -+ z sqrt(p (1 - p) / m) within 0..1, m = n + z², p = (k + z²/2) / m.

    Source: Agresti and Coull 1998, The American Statistician 52:119.
    """
    z = critical_value(level)
    successes = np.asarray(k, np.float64)
    trials = np.asarray(n, np.float64)
    m = np.where(trials > 0, trials + z * z, np.nan)
    p = (successes + z * z / 2) / m
    half_width = z * np.sqrt(p * (1 - p) / m)
    return np.maximum(p - half_width, 0.0), np.minimum(p + half_width, 1.0)


def bootstrap_share(k: ArrayLike, n: ArrayLike, *, level: float) -> tuple[Floats, Floats]:
    """Return percentiles of k / n in bootstrap samples of the n rows, rounded where not whole.

    They are the quantiles of a binomial of n and k/n, divided by n; at 0 or n successes the exact
    limits. Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13.
    """
    from scipy.stats import binom

    rows = np.asarray(n, np.float64)
    tail = tail_probability(level)
    whole_rows = np.round(rows)
    exact_low, exact_high = clopper_pearson(k, n, level=level)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(k, np.float64) / rows
        lower, upper = (
            binom.ppf(tail_share, whole_rows, p) / whole_rows for tail_share in (tail, 1 - tail)
        )
    is_interior = (p > 0) & (p < 1) & (whole_rows > 0)
    return np.where(is_interior, lower, exact_low), np.where(is_interior, upper, exact_high)


# the methods of --interval for shares of rows
SHARE_LIMITS: Mapping[str, Callable[..., tuple[Floats, Floats]]] = {
    "exact": clopper_pearson,
    "wilson": wilson,
    "jeffreys": jeffreys,
    "agresti-coull": agresti_coull,
    "bootstrap": bootstrap_share,
}
NAMED_SHARES = ("wilson", "jeffreys", "agresti-coull")


def sign_test(a: int, b: int) -> float:
    """Return the exact two-sided p-value that a and b of a + b are equally likely.

    p = min(1, 2 P(X <= min(a, b))) with X binomial(a + b, 1/2); 1 when a + b = 0.
    Source: Conover 1999, Practical Nonparametric Statistics, section 3.4.
    """
    return 1.0 if a == b else min(1.0, 2 * binomial_tail(min(a, b), a + b))


def weighted_sign_test(a: float, b: float, squares: float) -> float:
    """Return the two-sided p-value of the sign test for weights a and b, of these squared weights.

    p = min(1, 2 I(1/2; m - x, x + 1))   m = (a + b)² / squares   x = m min(a, b) / (a + b)

    m is Kish's effective number of rows, x of them for the lesser; I is the distribution function
    of the beta distribution, P(X <= x) of the binomial of m and 1/2 where both are whole.

    Shapes: numbers in one unit, none negative; squares in its square, positive where a and b
    differ.
    Range 0..1; 1 where a = b.
    Source: Kish 1965, Survey Sampling, section 11.7; the binomial distribution of fractions of rows
    of equal information: Korn and Graubard 1998, Survey Methodology 24:193.
    """
    if a == b:
        return 1.0
    m = (a + b) ** 2 / squares
    lesser = m * min(a, b) / (a + b)
    return min(1.0, 2 * float(special().betainc(m - lesser, lesser + 1, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down rule, from the p-value to 1.

    With p sorted upwards, the adjusted i-th of m is max over j <= i of min(1, (m - j + 1) p_j).
    Source: Holm 1979, Scandinavian Journal of Statistics 6:65.
    """
    ascending_indices = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted_p_values = [0.0] * len(ascending_indices)
    running_maximum = 0.0
    for rank, index in enumerate(ascending_indices):
        running_maximum = max(
            running_maximum, min(1.0, (len(ascending_indices) - rank) * p_values[index])
        )
        adjusted_p_values[index] = running_maximum
    return adjusted_p_values


def hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Hochberg's step-up rule, from the p-value to 1.

    With p sorted upwards, the adjusted i-th of m is min over j >= i of (m - j + 1) p_j. It holds
    for independent tests, and for positively dependent ones, as those of models on the same rows.
    Source: Hochberg 1988, Biometrika 75:800; Sarkar 1998, Annals of Statistics 26:494.
    """
    descending_indices = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    adjusted_p_values = [1.0] * len(p_values)
    running_minimum = 1.0
    for rank, index in enumerate(descending_indices):
        running_minimum = min(running_minimum, (rank + 1) * p_values[index])
        adjusted_p_values[index] = running_minimum
    return adjusted_p_values


_MOST_SUMS = 20_000  # a test beyond it takes the normal distribution
_ROUNDING = 1e-9  # of the largest difference: what rounding leaves


def flip_test(differences: ArrayLike) -> float:
    """Return the exact two-sided p-value of the sign-flip permutation test of cluster differences,
    (c,).

    p = P(|sum of s_c |d_c|| >= |sum of d_c|) with each sign s_c = 1 or -1 with probability 1/2

    Normal with continuity correction, variance sum d_c², where sum |d_c| exceeds 20,000 times the
    common unit of the differences. Zeros have no effect. Range 0..1, 1 where all are zero.
    Source: the randomisation test of Fisher 1935, The Design of Experiments, section 21.
    """
    values = np.asarray(differences, np.float64)
    unit = _common_unit(np.unique(np.abs(values)))
    if not unit:
        return 1.0
    if np.abs(values).sum() > _MOST_SUMS * unit:  # possible sums are two units apart
        z = (abs(float(values.sum())) - unit) / math.sqrt(float((values**2).sum()))
        return min(1.0, math.erfc(z / math.sqrt(2)))
    whole_differences = np.rint(values / unit).astype(np.int64)
    sizes, multiplicities = np.unique(
        np.abs(whole_differences[whole_differences != 0]), return_counts=True
    )
    observed = abs(int(whole_differences.sum()))
    greatest = int((sizes * multiplicities).sum())
    if not observed:
        return 1.0
    probabilities = np.ones(1)  # of (sum + greatest) / 2 over the clusters so far
    # of all clusters with one size of difference the number of positive ones is binomial
    for size, multiplicity in zip(sizes.tolist(), multiplicities.tolist(), strict=True):
        size_probabilities = np.zeros(size * multiplicity + 1)
        log_counts = [
            math.lgamma(multiplicity + 1)
            - math.lgamma(positive_count + 1)
            - math.lgamma(multiplicity - positive_count + 1)
            for positive_count in range(multiplicity + 1)
        ]
        size_probabilities[::size] = np.exp(np.array(log_counts) - multiplicity * math.log(2))
        probabilities = np.convolve(probabilities, size_probabilities)
    last_tail_index = (greatest - observed) // 2  # both tails are alike
    return min(1.0, 2 * float(probabilities[: last_tail_index + 1].sum()))


def _common_unit(sizes: Floats) -> float:
    """Return the greatest common divisor of numbers up to rounding, by Euclid's algorithm."""
    divisor = 0.0
    tolerance = _ROUNDING * float(sizes.max(initial=0.0))
    for size in sizes.tolist():
        remainder = size
        while remainder > tolerance:
            previous = divisor
            divisor = remainder
            remainder = abs(previous - divisor * round(previous / divisor))
    return divisor
