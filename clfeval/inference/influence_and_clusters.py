"""Standard errors from influence values, confidence limits, and design effects of clusters.

The residual of a cluster for a share k / n is r = k_c - (k/n) n_c; the variance of the share is the
sum of r² over clusters, against k (n-k) / n for independent rows. Their ratio is the design effect,
the divisor of counts for intervals of independent rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Counts, Floats, Influence, divide
from clfeval.inference.distributions import critical_value, student_quantile
from clfeval.records import dataclass

_BLOCK = 2**16  # kinds of rows per block, few enough to stay in the cache
FEWEST_CLUSTERS = 5  # with fewer, the variance between clusters is unknown: nothing has limits
FEW_CLUSTERS = "few_clusters"  # the reason


class SamplingUnits(Protocol):
    """Sampling units, such as clusters, of rows of m kinds: sums over units of their totals."""

    @property
    def size(self) -> float:
        """The number of units; for unequal ones the effective number."""

    @property
    def too_few(self) -> bool:
        """True for fewer than FEWEST_CLUSTERS clusters: their variance is unknown."""

    def products(self, weights: Floats) -> Floats:
        """Return the sums over units of products of two totals, (w, w); weights (w, m) by kind."""

    def moments(self, weights: Floats | Influence) -> tuple[Floats, Floats]:
        """Return the products, and the kurtosis size sum F⁴ / (sum F²)² of each total, (w,)."""

    def pairs(self, first: Bools) -> float:
        """Return the number of pairs of a row of the first kinds and another in different units."""


def power_sums(
    values: Floats | Influence, counts: Sequence[Counts], weights: Sequence[Counts]
) -> tuple[Floats, Floats, Floats]:
    """Return the weighted sums over rows of f f', (k, k), of f² and of f⁴, (k,) each.

    values (k, m): f; counts and weights q, one (m,) each: kinds of 0 counts are ignored.
    Or values is the Influence on one measure; counts and weights of positives and of negatives.
    """
    k = 1 if isinstance(values, Influence) else len(values)
    products = np.zeros((k, k))
    square_sums = np.zeros(k)
    fourth_power_sums = np.zeros(k)
    if isinstance(values, Influence) and values.powers is not None and weights is counts:
        square_sums[0], fourth_power_sums[0] = values.powers()
        return square_sums[None], square_sums, fourth_power_sums
    for y, class_counts, class_weights in zip((True, False), counts, weights, strict=False):
        for start in range(0, len(class_counts), _BLOCK):
            block = slice(start, start + _BLOCK)
            row_kinds = np.flatnonzero(class_counts[block] > 0)
            if not len(row_kinds):
                continue
            if isinstance(values, Influence):
                f = values.values_at(row_kinds + start, y)[None]
            else:
                f = values[:, block][:, row_kinds]
            n = class_weights[block][row_kinds]
            squares = f * f
            weighted_squares = n * squares
            block_square_sums = weighted_squares.sum(axis=1)
            square_sums += block_square_sums
            fourth_power_sums += np.multiply(weighted_squares, squares, out=squares).sum(axis=1)
            # for one measure without a matrix product, whose idle threads wait at full speed
            products += (f * n) @ f.T if k > 1 else block_square_sums
    return products, square_sums, fourth_power_sums


_LEAST_FREE = 0.5  # as where one row has all the weight: t reaches 1e100 and more
_DUST = 1e-12  # of a value: what rounding leaves of an error of 0


@dataclass(frozen=True, slots=True)
class CovarianceEstimate:
    """Covariance (k, k) and degrees of freedom (k,) of k measures of one sample.

    covariance: NaN with a single row, or fewer than FEWEST_CLUSTERS clusters. df: of Student's t,
    NaN where nothing varies.
    effect (k,): design effect, 1 without clusters. size: rows, clusters, or Kish's effective number
    of rows.
    """

    covariance: Floats
    df: Floats
    effect: Floats
    size: float

    @property
    def errors(self) -> Floats:
        """The standard errors, (k,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def influence_covariance(
    f: ArrayLike | Influence,
    n: Any,
    *,
    fewest: float = np.inf,
    clusters: SamplingUnits | None = None,
) -> CovarianceEstimate:
    """Return the covariances of k measures from influence values of m kinds of rows.

    Rows: V = M / (M - 1) sum n f f' / M², M = sum n. Weights: V = g / (g - 1) sum q f f' / M², q
    the sums of squared weights, g = M² / sum q. Clusters: V = C / (C - 1) sum over C clusters of
    F F' / M², F = sum n f over its rows. df = 2 m / (k - 1), with the kurtosis k = m sum f⁴ /
    (sum f²)² of m rows (or g, or clusters), and at most clusters (or g) - 1 and `fewest` - 1, where
    fewest is that of `smaller_class_size`.

    Shapes: f (m,) or (k, m); n (m,), the rows of each kind, or their weight. Or f is the Influence
    on one measure; n those of positives and of negatives, (m,) each. clusters: those of the rows,
    or their weights. ValueError where shapes differ.
    Source: Hampel 1974, Journal of the American Statistical Association 69:383; clusters: Liang and
    Zeger 1986, Biometrika 73:13; weights: Binder 1983, International Statistical Review 51:279;
    Kish 1965, Survey Sampling, section 11.7; df: Satterthwaite 1946, Biometrics Bulletin 2:110.
    """
    values = f if isinstance(f, Influence) else np.atleast_2d(np.asarray(f, np.float64))
    counts = [np.asarray(class_counts) for class_counts in (n if isinstance(f, Influence) else [n])]
    kind_count = values.m if isinstance(values, Influence) else values.shape[1]
    if any(class_counts.shape != (kind_count,) for class_counts in counts):
        raise ValueError("influence values and counts differ in length")
    row_total = float(sum(class_counts.sum() for class_counts in counts))
    products, square_sums, fourth_power_sums = power_sums(values, counts, counts)
    covariance = mean_covariance(products, row_total, row_total)
    if clusters is None:
        df = degrees_of_freedom(
            row_total, divide(row_total * fourth_power_sums, square_sums**2), fewest
        )
        return CovarianceEstimate(covariance, df, np.ones(len(square_sums)), row_total)
    products, kurtosis = clusters.moments(values)
    unit_count = clusters.size
    clustered_covariance = mean_covariance(
        products, row_total, 0.0 if clusters.too_few else unit_count
    )
    row_variances = np.diag(covariance)
    effect = np.divide(
        np.diag(clustered_covariance),
        row_variances,
        out=np.full_like(row_variances, np.nan),
        where=row_variances > 0,
    )
    df = degrees_of_freedom(unit_count, kurtosis, min(fewest, unit_count))
    return CovarianceEstimate(clustered_covariance, df, effect, unit_count)


def smaller_class_size(n: ArrayLike, clusters: SamplingUnits | None = None) -> float:
    """Return the rows of the smaller class, or its effective number of clusters.

    n (2 m,): the rows of each kind, positives first, or their weight. See `smaller_group_size`.
    """
    counts = np.asarray(n, np.float64)
    return smaller_group_size(counts, np.arange(len(counts)) < len(counts) // 2, clusters)


def smaller_group_size(
    n: ArrayLike, in_first: Bools, clusters: SamplingUnits | None = None
) -> float:
    """Return the rows of the smaller of two groups, or its effective number of clusters.

    The least of R² / sum R_c² of both groups, R_c rows in a cluster; 0 for a group without rows.
    n (m,): the rows of each kind, or their weight; in_first (m,): the kinds of the first group.
    """
    groups = np.array([in_first, ~in_first], np.float64)
    rows = groups @ np.asarray(n, np.float64)
    if clusters is None or not rows.all():
        return float(rows.min())
    return float((rows**2 / np.diag(clusters.products(groups))).min())


def degrees_of_freedom(parts: float, kurtosis: Floats, fewest: float) -> Floats:
    """Return 2 parts / (kurtosis - 1), at most fewest - 1: see `influence_covariance`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return drop_small_df(np.minimum(2 * parts / np.maximum(kurtosis - 1, 0.0), fewest - 1))


def drop_small_df(df: Floats) -> Floats:
    """Return degrees of freedom, 0 where below 1/2: Student's t then gives no limits."""
    return np.asarray(np.where(df < _LEAST_FREE, 0.0, df))


def mean_covariance(squares: Floats, total: float, parts: float) -> Floats:
    """Return the covariance of a mean from sums of squares over `parts` units, of `total` rows."""
    if parts <= 1:
        return np.full_like(squares, np.nan)
    return np.asarray(squares / total**2 * (parts / (parts - 1)))


def confidence_limits(
    value: ArrayLike,
    error: ArrayLike,
    *,
    scale: Literal["identity", "logit", "fisher", "log"],
    low: float,
    high: float,
    level: float,
    df: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Return confidence limits of measures, symmetric on a transformed scale.

    g(value) -+ q error g'(value), back from g: g(x) = x, or ln x (log; ln of high - x where low is
    infinite), or ln of (x - low) / (high - x) (logit; fisher: the same of -1..1, twice the inverse
    hyperbolic tangent); q is the normal quantile, or that of Student's t with df degrees of
    freedom.

    Shapes: value, error and df broadcast. low..high is the range of the measure: limits stay within
    it, low <= value <= high. NaN where the value lies at an end of it, where the error is 0 or
    undefined, and without a degree of freedom.
    Errors: ValueError unless 0 < level < 1, and for a logit of a range without ends.
    """
    x, standard_errors = np.broadcast_arrays(
        np.asarray(value, np.float64), np.asarray(error, np.float64)
    )
    if scale in ("logit", "fisher") and not np.isfinite(high - low):
        raise ValueError("an unbounded range has no logit")
    if scale == "log" and not np.isfinite(low):
        # the limits of high - x
        reflected_low, reflected_high = confidence_limits(
            high - x, standard_errors, scale=scale, low=0, high=np.inf, level=level, df=df
        )
        return high - reflected_high, high - reflected_low
    quantile = student_quantile(np.inf if df is None else df, level=level)
    is_defined = (
        (x > low)
        & (x < high)
        & (standard_errors > _DUST * np.abs(x))
        & np.isfinite(standard_errors)
    )
    x = np.where(is_defined, x, np.nan)
    half_width = quantile * np.where(is_defined, standard_errors, np.nan)
    if scale == "identity":
        lower, upper = x - half_width, x + half_width
    elif scale == "log":
        factor = np.exp(np.minimum(half_width / x, 700))
        with np.errstate(over="ignore"):
            lower, upper = x / factor, x * factor
    else:
        lower, upper = _logit_limits(x, half_width, low, high)
    # rounding must not put a limit on the wrong side of its value, or outside the range
    return np.maximum(np.minimum(lower, x), low), np.minimum(np.maximum(upper, x), high)


def _logit_limits(x: Floats, half_width: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the limits of x that are symmetric for ln of (x - low) / (high - x).

    half_width: the quantile times the standard error of x.
    """
    from_low = x - low
    to_high = high - x
    factor = np.exp(np.minimum(half_width * (high - low) / (from_low * to_high), 700))
    lower_divisor = from_low + to_high * factor
    upper_divisor = from_low + to_high / factor
    width = high - low
    return low + width * from_low / lower_divisor, low + width * from_low / upper_divisor


def measure_difference(
    value1: ArrayLike,
    low1: ArrayLike,
    high1: ArrayLike,
    value2: ArrayLike,
    low2: ArrayLike,
    high2: ArrayLike,
    rho: ArrayLike,
) -> tuple[Floats, Floats, Floats]:
    """Return the difference of two estimates of correlation rho and its interval.

    value = f1 - f2, with d, e the distances of each estimate to its lower and upper limit
    low = value - sqrt(d1² - 2 rho d1 e2 + e2²)   high = value + sqrt(e1² - 2 rho e1 d2 + d2²)

    Shapes: all broadcast. low1 - high2 <= low <= value <= high <= high1 - low2. A limit on the
    wrong side of its value, as a percentile may be, counts as the value. An infinite limit makes
    those it enters infinite. Where the value is infinite so is the limit beyond it; the other one
    is NaN. Limits are NaN where any argument is.
    Errors: ValueError unless low <= high in both and -1 <= rho <= 1.
    Source: Newcombe 1998, Statistics in Medicine 17:2635, method 10; Zou and Donner 2008,
    Statistics in Medicine 27:1693.
    """
    f1, l1, u1, f2, l2, u2, correlation = (
        np.asarray(argument, np.float64)
        for argument in (value1, low1, high1, value2, low2, high2, rho)
    )
    if np.any(l1 > u1) or np.any(l2 > u2):
        raise ValueError("a low limit must not exceed its high one")
    if np.any(np.abs(correlation) > 1):
        raise ValueError("a correlation must lie between -1 and 1")
    l1 = np.minimum(l1, f1)
    u1 = np.maximum(u1, f1)
    l2 = np.minimum(l2, f2)
    u2 = np.maximum(u2, f2)
    is_defined = ~np.logical_or.reduce(
        np.broadcast_arrays(*map(np.isnan, (l1, u1, l2, u2, correlation)))
    )
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.asarray(f1 - f2)
        # the method keeps within these bounds, its rounding may not
        low = np.maximum(difference - _third_side(f1 - l1, u2 - f2, correlation), l1 - u2)
        high = np.minimum(difference + _third_side(u1 - f1, f2 - l2, correlation), u1 - l2)
    is_finite = is_defined & np.isfinite(difference)
    return (
        difference,
        np.where(
            is_finite, low, np.where(is_defined & (difference == -np.inf), difference, np.nan)
        ),
        np.where(
            is_finite, high, np.where(is_defined & (difference == np.inf), difference, np.nan)
        ),
    )


def mean_limits(
    values: Floats, low: Floats, high: Floats, covariance: Floats, *, level: float
) -> tuple[float, float]:
    """Return limits of the mean of k correlated estimates, from the limits of each.

    low = mean - max(sqrt(sum r_ij d_i d_j), z sqrt(sum r_ij s_i s_j)) / k, high likewise

    d are the distances of the estimates to their lower (upper) limits, s their standard errors,
    r their correlations, those below 0 as 0. Limits of single estimates with few rows are too
    short on the side of an end of their range; the standard error of the mean is then the
    wider one.

    Shapes: (k,) each, covariance (k, k).
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693; the second term is the linear
    interval of a mean.
    """
    standard_errors = np.sqrt(np.diag(covariance))
    correlation = np.clip(divide(covariance, standard_errors[:, None] * standard_errors), 0.0, 1.0)
    correlation = np.nan_to_num(correlation)
    np.fill_diagonal(correlation, 1.0)
    mean = float(values.mean())
    distances = (values - low, high - values, critical_value(level) * standard_errors)
    distance_below, distance_above, linear_distance = (
        float(np.sqrt(x @ correlation @ x)) / len(x) for x in distances
    )
    return mean - max(distance_below, linear_distance), mean + max(distance_above, linear_distance)


def _third_side(x: Floats, y: Floats, cosine: Floats) -> Floats:
    """Return sqrt(x² - 2 cosine x y + y²), of no negative number; infinite where x or y is."""
    side = np.hypot(x - y, np.sqrt(2 * (1 - cosine)) * np.sqrt(x) * np.sqrt(y))
    return np.where(np.isinf(x) | np.isinf(y), np.inf, side)


_LEAST_FACTOR = 0.05  # of the variance of a sum: bounds of correlated shares
_MOST_FACTOR = 2.0
_ROUNDING = 1e-9  # of numbers of clusters: what rounding leaves
FEW_ERRORS = 3  # weighted rows of an outcome, below which their weights say nothing of others


def design_effect(
    k: ArrayLike,
    n: ArrayLike,
    kk: ArrayLike,
    kn: ArrayLike,
    nn: ArrayLike,
    cautious: bool = True,
    heavy: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
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
    successes, rows, success_squares, products, row_squares = (
        np.asarray(argument, np.float64) for argument in (k, n, kk, kn, nn)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        p = successes / rows
        g = np.maximum(rows**2 / row_squares, 1.0)
        residual_squares = np.maximum(
            success_squares - 2 * p * products + p**2 * row_squares, 0
        ) * (g / (g - 1))
        cluster_rows = np.maximum(row_squares / rows, heavy)
        if cautious:
            residual_squares = residual_squares + (cluster_rows * (0.5 - p)) ** 2 / 2
        binomial_variance = successes * (1 - p)
        effect = np.where(
            binomial_variance > 0, np.maximum(residual_squares / binomial_variance, 1), cluster_rows
        )
    return np.where(rows > 0, np.where(g > 1 + _ROUNDING, effect, np.inf), np.nan), g


def least_effect(
    k: ArrayLike, n: ArrayLike, kk: ArrayLike, kn: ArrayLike, nn: ArrayLike, largest: ArrayLike
) -> Floats:
    """Return the least design effect of a share k / n of weighted rows: the largest weight, or 0.

    The largest weight where one of both outcomes has fewer than FEW_ERRORS effective rows k² / kk:
    the heaviest rows of the outcome may be those that are not seen. At most n / largest rows count.
    Shapes: as for `design_effect`; all broadcast.
    """
    successes, rows, success_squares, products, row_squares = (
        np.asarray(argument, np.float64) for argument in (k, n, kk, kn, nn)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        effective_successes = successes**2 / success_squares
        effective_failures = (rows - successes) ** 2 / (
            row_squares - 2 * products + success_squares
        )
        rarer_outcome = np.minimum(
            np.nan_to_num(effective_successes), np.nan_to_num(effective_failures)
        )
    return np.where(rarer_outcome < FEW_ERRORS * (1 - _ROUNDING), largest, 0.0)


def count_divisor(effect: ArrayLike, clusters: ArrayLike, *, level: float) -> Floats:
    """Return the divisor of counts effect (t / z)², with g - 1 degrees of freedom for t.

    Both broadcast; from the effect up, infinite with fewer than two clusters. ValueError unless
    0 < level < 1. Source: Korn and Graubard 1998, Survey Methodology 24:193.
    """
    effects = np.asarray(effect, np.float64)
    df = np.asarray(clusters, np.float64) - 1
    with np.errstate(invalid="ignore", over="ignore"):
        t = student_quantile(df, level=level)
        divisor = effects * np.maximum(t / critical_value(level), 1) ** 2
    return np.where(df > 0, divisor, np.where(np.isnan(effects), np.nan, np.inf))


def sum_variance_factor(variances: ArrayLike, covariances: ArrayLike) -> Floats:
    """Return the variance of a sum relative to independent parts: 1 + 2 cov / var.

    variances: of the parts; covariances: of every two. Range 0.05 to 2 for each further part; 1
    where no part varies.
    """
    part_variances = np.asarray(variances)
    covariance_total = 2 * np.sum(covariances, axis=0)
    variance_total = part_variances.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(variance_total > 0, 1 + covariance_total / variance_total, 1.0)
    return np.clip(factor, _LEAST_FACTOR, _MOST_FACTOR * (len(part_variances) - 1))


def joint_shares(
    sums: ArrayLike,
    totals: ArrayLike,
    numerators: ArrayLike,
    denominators: ArrayLike,
    heavy: ArrayLike = 0.0,
    largest: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return design effects and g (j, m), covariances (j, j, m) of shares k / n of the same rows.

    k = a . x   n = b . x   r = (a - (k/n) b) . x_c   h = g / (g-1)
    cov_ij = sum of r_i r_j sqrt(h_i h_j) / (n_i n_j)

    Shapes: totals (m, d) are the counts x of m tables, sums (m, d, d) the sums over their clusters
    of the products of any two; numerators a and denominators b (j, m, d) or (j, 1, d) select the
    counts of each share; heavy (j, m) as for `design_effect`; largest (m,) as for `least_effect`.
    NaN where n = 0; cov is infinite in one cluster.
    Source: as for `design_effect`; the residuals are the influence values of a ratio.
    """
    s = np.asarray(sums, np.float64)
    x = np.asarray(totals, np.float64)
    shape = (len(np.asarray(numerators)), *x.shape)
    a = np.broadcast_to(np.asarray(numerators, np.float64), shape)
    b = np.broadcast_to(np.asarray(denominators, np.float64), shape)
    k = np.einsum("jmd,md->jm", a, x)
    n = np.einsum("jmd,md->jm", b, x)
    kk, kn, nn = (
        np.einsum("jmd,mde,jme->jm", left_vectors, s, right_vectors)
        for left_vectors, right_vectors in ((a, a), (a, b), (b, b))
    )
    effect, g = design_effect(k, n, kk, kn, nn, heavy=heavy)
    if largest is not None:
        effect = np.maximum(effect, least_effect(k, n, kk, kn, nn, largest))
    with np.errstate(divide="ignore", invalid="ignore"):
        residuals = (a - (k / n)[..., None] * b) * (np.sqrt(g / (g - 1)) / n)[..., None]
        covariances = np.einsum("imd,mde,jme->ijm", residuals, s, residuals)
    return effect, g, covariances


def share_divisor(
    sums: ArrayLike,
    totals: ArrayLike,
    numerator: ArrayLike,
    denominator: ArrayLike,
    *,
    level: float,
    largest: Floats | None = None,
) -> Floats:
    """Return the divisors of the counts of a share of m tables, (m,): see `joint_shares`.

    totals (m, 4) are TP, FP, P and N. `heavy` is the weight of the heavier class of the share.
    """
    s, x, w = (np.asarray(array, np.float64) for array in (sums, totals, denominator))
    # where no cluster has rows of both classes, nor both predictions of one class
    rows_are_clusters = s[:, 2, 3] == 0
    for hit_index, total_index in ((0, 2), (1, 3)):
        rows_are_clusters &= np.isclose(
            s[:, hit_index, hit_index], s[:, hit_index, total_index], rtol=1e-9, atol=0
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        class_weights = np.nan_to_num(
            [s[:, total_index, total_index] / x[:, total_index] for total_index in (2, 3)]
        )
    # whether positives, and negatives, are in the denominator
    class_in_share = np.stack([w[..., [0, 2]].any(axis=-1), w[..., [1, 3]].any(axis=-1)])
    heavy = np.where(
        rows_are_clusters, np.where(class_in_share, class_weights, 0.0).max(axis=0), 0.0
    )
    shares = (np.asarray(numerator)[None], w[None])
    effect, g, _ = joint_shares(s, x, *shares, heavy=heavy, largest=largest)
    (divisor,) = count_divisor(effect, g, level=level)  # of one share
    return np.asarray(divisor)


def rate_divisors(
    sums: ArrayLike,
    totals: ArrayLike,
    slopes: ArrayLike,
    *,
    level: float,
    largest: Floats | None = None,
) -> Floats:
    """Return divisors of counts for a function of TP / P, FP / N and optionally P / (P + N).

    totals (m, 4) are TP, FP, P and N, sums (m, 4, 4); slopes (2, m) or (3, m) are those of the
    function along each share, the result has their shape.
    """
    slope_array = np.nan_to_num(np.asarray(slopes, np.float64))
    q = len(slope_array)  # shares
    denominators = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]], np.float64)[:q, None]
    numerators = np.eye(4)[:q, None]
    effect, g, covariances = joint_shares(sums, totals, numerators, denominators, largest=largest)
    contributions = np.einsum(
        "im,jm,ijm->ijm", slope_array, slope_array, np.nan_to_num(covariances)
    )
    diagonal = np.arange(q)
    pairs = np.triu_indices(q, 1)
    factor = sum_variance_factor(contributions[diagonal, diagonal], contributions[pairs])
    return count_divisor(effect, g, level=level) * factor


def rate_correlation(sums: ArrayLike, totals: ArrayLike) -> Floats:
    """Return the correlation of TP / P and FP / N over clusters, (m,); 0 where one is constant."""
    _, _, covariances = joint_shares(sums, totals, np.eye(4)[:2, None], np.eye(4)[2:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = covariances[0, 1] / np.sqrt(covariances[0, 0] * covariances[1, 1])
    return np.where(np.isfinite(rho), np.clip(rho, -1, 1), 0.0)
