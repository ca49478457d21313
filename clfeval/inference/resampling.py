"""Bootstrap counts of rows, random folds, posterior draws of counts, and multinomial intervals."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.inference.distributions import critical_value, student_quantile, tail_probability
from clfeval.inference.influence_and_clusters import measure_difference
from clfeval.inference.proportions import score_parts, wilson_limits

CELLS = 2**18  # counts drawn at a time
_DRAWN_BY_ROW = 8  # rows per distinct row up to which sampling rows is faster than binomials


def resampled_counts(n: ArrayLike, *, resamples: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield counts of resampled rows, some replicates at a time: Multinomial(N, n / N), N = sum n.

    n (m,); yields (b, m), in all `resamples` replicates, each b x m at most CELLS or one replicate.
    Errors: ValueError unless counts are a vector of whole numbers above 0.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 6.
    """
    count_array = np.asarray(n)
    is_valid = (count_array > 0) & (count_array < np.inf) & (count_array == np.floor(count_array))
    if count_array.ndim != 1 or not count_array.size or not is_valid.all():
        raise ValueError("counts must be a vector of whole numbers above 0")
    counts = count_array.astype(np.int64)
    m = len(counts)
    row_total = int(counts.sum())
    starts = np.cumsum(counts) - counts
    for batch_size in batch_sizes(resamples, m):
        if row_total > _DRAWN_BY_ROW * m:
            yield rng.multinomial(row_total, counts / row_total, size=batch_size).astype(
                np.int64, copy=False
            )
            continue
        replicates = np.empty((batch_size, m), np.int64)
        for replicate in replicates:
            drawn_counts = np.bincount(rng.integers(0, row_total, row_total), minlength=row_total)
            replicate[:] = drawn_counts if row_total == m else np.add.reduceat(drawn_counts, starts)
        yield replicates


def batch_sizes(draws: int, m: int) -> Iterator[int]:
    """Yield the sizes of batches of draws of m numbers each, at most CELLS or a single draw."""
    most_draws = max(1, CELLS // max(1, m))
    yield from (min(most_draws, draws - start) for start in range(0, draws, most_draws))


_LEAST_SHAPE = 1e-3  # of a beta distribution whose odds fit a float
_GREATEST_SHAPE = 1e18
_GREATEST_LOGIT = 1022 * math.log(2)


def random_stream(seed: int, name: str) -> np.random.Generator:
    """Return a random generator for a seed and a name, independent of all other names.

    The state is that of PCG64 from the 256 bits of SHA-256 of "seed:name". ValueError when the seed
    is no whole number.
    Source: O'Neill 2014, PCG (Harvey Mudd College HMC-CS-2014-0905); numpy's SeedSequence.
    """
    text = f"{seed:d}:{name}".encode("utf-8", "surrogatepass")
    words = np.frombuffer(hashlib.sha256(text).digest(), "<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))


def resampled_rates(
    tp: float,
    positives: float,
    fp: float,
    negatives: float,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return the true and false positive rates of resampled positives and resampled negatives.

    Each class is resampled separately: Binomial(P, TP / P) and Binomial(N, FP / N).

    Shapes: (resamples,) each. Range 0..1; all NaN for a class without rows.
    Errors: ValueError unless counts are whole with 0 <= tp <= positives and 0 <= fp <= negatives
    (rows of fractional weight cannot be drawn).
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 8 (two samples).
    """
    rates = []
    for k, n in ((tp, positives), (fp, negatives)):
        if not (float(k).is_integer() and float(n).is_integer() and 0 <= k <= n):
            raise ValueError(f"k must lie between 0 and n, both whole, not {k} of {n}")
        class_rates = (
            rng.binomial(int(n), k / n, resamples) / n if n else np.full(resamples, np.nan)
        )
        rates.append(class_rates)
    return rates[0], rates[1]


def resampled_weights(
    n: ArrayLike, squares: ArrayLike, *, resamples: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield Bayesian bootstrap weights of kinds of rows.

    Gamma(n² / q) q / n   with q the sum of squared weights: mean n, variance q

    Shapes: n, squares (m,), both 0 for a kind without rows, which has none in any replicate; yields
    (b, m), in all `resamples` replicates.
    Source: Rubin 1981, Annals of Statistics 9:130; Newton and Raftery 1994, Journal of the Royal
    Statistical Society B 56:3.
    """
    row_counts = np.asarray(n, np.float64)
    squared_weights = np.asarray(squares, np.float64)
    has_rows = row_counts > 0
    shape = row_counts[has_rows] ** 2 / squared_weights[has_rows]
    scale = squared_weights[has_rows] / row_counts[has_rows]
    for batch_size in batch_sizes(resamples, len(shape)):
        weights = np.zeros((batch_size, len(row_counts)))
        weights[:, has_rows] = rng.standard_gamma(shape, (batch_size, len(shape))) * scale
        yield weights


def resampled_clusters(counts: ArrayLike, *, resamples: int, rng: np.random.Generator) -> Floats:
    """Return the totals (resamples, d) of c of c clusters drawn with replacement, of counts (c, d).

    Errors: ValueError where there is no cluster.
    Source: Davison and Hinkley 1997, Bootstrap Methods and their Application, section 3.8.
    """
    cluster_counts = np.asarray(counts, np.float64)
    repetition_batches = resampled_counts(
        np.ones(len(cluster_counts)), resamples=resamples, rng=rng
    )
    return np.concatenate([repetitions @ cluster_counts for repetitions in repetition_batches])


def correlate_draws(
    first: Floats, second: Floats, rho: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the draws of two variables, (r,) each, reordered to about the rank correlation rho.

    Source: Iman and Conover 1982, Communications in Statistics - Simulation and Computation 11:311.
    """
    if not rho:
        return first, second
    first_normal, second_normal = rng.standard_normal((2, len(first)))
    normals = (first_normal, rho * first_normal + math.sqrt(1 - rho * rho) * second_normal)
    # an argsort of an argsort is the rank of each number
    ranks = (normal.argsort().argsort() for normal in normals)
    reordered_first, reordered_second = (
        np.sort(draws)[draw_ranks] for draws, draw_ranks in zip((first, second), ranks, strict=True)
    )
    return reordered_first, reordered_second


def percentile_limits(values: ArrayLike, *, level: float) -> tuple[Floats, Floats, Ints]:
    """Return the percentile limits of replicates and how many of them are undefined.

    The low limit is at h = (m-1) (1-level) / 2 of m sorted values, numbered from 0, interpolated
    linearly; the high limit is symmetric. Next to an infinite value the outer neighbour is the
    limit.

    Shapes: values (r, ...), replicates first; the limits and the count (...). NaN replicates
    are left out and counted; limits are NaN where fewer than half of all are defined.
    Errors: ValueError unless 0 < level < 1.
    Source: Efron 1979, Annals of Statistics 7:1; Hyndman and Fan 1996, American Statistician
    50:361, definition 7.
    """
    tail = tail_probability(level)
    draws = np.asarray(values, np.float64)
    draw_count = len(draws)
    undefined_count = np.asarray(np.isnan(draws).sum(axis=0), np.int64)
    if not draw_count:
        return (
            np.full(undefined_count.shape, np.nan),
            np.full(undefined_count.shape, np.nan),
            undefined_count,
        )
    last_index = np.maximum(draw_count - undefined_count - 1, 0)
    position = last_index * tail
    # the rounding of (1 - level) / 2 must not move a whole position
    position = np.where(np.abs(position - np.rint(position)) < 1e-9, np.rint(position), position)
    lower_index = np.floor(position).astype(np.int64)
    upper_index = np.minimum(lower_index + 1, last_index)
    limits = []
    # the high limit is minus the low one of the negated draws; NaN is sorted last
    for sorted_draws in (np.sort(draws, axis=0), np.sort(-draws, axis=0)):
        lower, upper = (
            np.take_along_axis(sorted_draws, index[None], axis=0)[0]
            for index in (lower_index, upper_index)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            interpolated = lower + (position - lower_index) * (upper - lower)
        is_finite = np.isfinite(lower) & np.isfinite(upper)
        limit = np.where(is_finite, interpolated, lower)
        limits.append(np.where(2 * undefined_count <= draw_count, limit, np.nan))
    return limits[0], 0.0 - limits[1], undefined_count  # never -0.0


def significantly_above_zero(
    observed: ArrayLike, draws: ArrayLike, *, rows: int, level: float
) -> Bools:
    """Return which values are significantly above 0, by two bootstrap intervals.

    observed > sqrt(m / (m-1)) t s   and   the low percentile limit > 0

    with m rows of the class that has fewer, s the standard deviation of the replicates and t the
    two-sided quantile of Student's distribution with m - 1 degrees of freedom.

    Shapes: observed (...), draws (r, ...), replicates first. False with fewer than two rows, or
    fewer than half of the replicates defined. ValueError unless 0 < level < 1.
    Source: Hesterberg 2015, American Statistician 69:371, sections 4.2 and 5 (why both factors).
    """
    low, _, undefined_count = percentile_limits(draws, level=level)
    if rows < 2:
        return np.zeros(low.shape, bool)
    draw_array = np.asarray(draws, np.float64)
    defined_count = len(draw_array) - undefined_count
    with np.errstate(invalid="ignore", divide="ignore"):
        squared_deviations = (draw_array - np.nansum(draw_array, axis=0) / defined_count) ** 2
        standard_error = np.sqrt(np.nansum(squared_deviations, axis=0) / (defined_count - 1))
        error_factor = float(student_quantile(rows - 1, level=level)) * math.sqrt(rows / (rows - 1))
        return np.asarray((low > 0) & (np.asarray(observed) > error_factor * standard_error))


def beta_odds(a: float, b: float, *, draws: int, rng: np.random.Generator) -> Floats:
    """Return draws of the odds p / (1-p) of a proportion p of distribution Beta(a, b), (draws,).

    odds = X / Y with X of distribution Gamma(a), Y of Gamma(b), independent, taken of logarithms

    A draw is repeated when its odds or their inverse would not fit a float: the distribution is
    that of p given that they fit. Range 2**-1022 to 2**1022.
    Errors: ValueError unless 0.001 <= a, b <= 10**18.
    Source: Devroye 1986, Non-Uniform Random Variate Generation, sections IX.3.5 and IX.4.1.
    """
    if not (min(a, b) >= _LEAST_SHAPE and max(a, b) <= _GREATEST_SHAPE):
        raise ValueError(f"a and b must lie between {_LEAST_SHAPE} and {_GREATEST_SHAPE}")
    logits = np.empty(draws)
    repeated_indices = np.arange(draws)
    while repeated_indices.size:
        with np.errstate(invalid="ignore"):
            logits[repeated_indices] = _log_gamma(a, repeated_indices.size, rng) - _log_gamma(
                b, repeated_indices.size, rng
            )
        repeated_indices = repeated_indices[
            ~(np.abs(logits[repeated_indices]) <= _GREATEST_LOGIT)
        ]  # NaN is repeated too
    return np.exp(logits)


def _log_gamma(shape: float, draws: int, rng: np.random.Generator) -> Floats:
    """Return logarithms of gamma variables: Gamma(s) is Gamma(s+1) U**(1/s), U uniform on 0..1."""
    with np.errstate(divide="ignore"):
        if shape >= 1:
            return np.log(rng.standard_gamma(shape, draws))
        log_divisor = rng.standard_exponential(draws) / shape
        return np.log(rng.standard_gamma(shape + 1, draws)) - log_divisor


MASS = 1.0  # rows added to a class, shared by all patterns of predictions
MIN_PRIOR_ROWS = 64  # rows that share it


def prior_error_patterns(models: int, min_rows: int = MIN_PRIOR_ROWS) -> Bools:
    """Return which models err in each of m pseudo-rows of the prior, (m, models).

    Every model errs in half of the rows, and every two agree in half of them: columns of a
    Hadamard matrix, an orthogonal array of strength 2. m is the least power of 2 above the number
    of models, and at least `min_rows`.

    Source: Sylvester 1867, Philosophical Magazine 34:461; Plackett and Burman 1946, Biometrika
    33:305.
    """
    rows = 1 << (max(min_rows, models + 1) - 1).bit_length()
    # the parity of the bits that row and column share; column 0 is constant
    shared_bits = np.arange(rows)[:, None] & np.arange(1, models + 1)
    return np.asarray(np.bitwise_count(shared_bits) % 2 == 1)


def dirichlet_counts(
    shapes: ArrayLike, positive: ArrayLike, *, resamples: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield posterior weights of rows, in batches of draws.

    Within a class the weights are Dirichlet with the shapes; the share of positives is Beta(P +
    1/2, N + 1/2). With shapes that are the counts, and MASS more in each class, half right and half
    wrong, this is Perks' posterior, and the rate of each model is Beta(hits + 1/2, misses + 1/2),
    Jeffreys' distribution. No weight is 0 where it matters.

    Shapes: shapes and positive (m,); yields (b, m), in all `resamples` draws. Each adds up to
    M = P + N, the shapes less MASS in each class; a class of no rows has none.
    Errors: ValueError unless shapes are a vector of positive numbers.
    Source: Perks 1947, Journal of the Institute of Actuaries 73:285; Jeffreys 1946, Proceedings of
    the Royal Society A 186:453; Rubin 1981, Annals of Statistics 9:130 (without MASS).
    """
    a = np.asarray(shapes, np.float64)
    is_positive = np.asarray(positive, bool)
    if a.ndim != 1 or not a.size or not ((a > 0) & (a < np.inf)).all():
        raise ValueError("shapes must be a vector of numbers above 0")
    class_masks = [class_mask for class_mask in (is_positive, ~is_positive) if class_mask.any()]
    class_sizes = np.array([a[class_mask].sum() - MASS for class_mask in class_masks])
    gamma_shapes = np.concatenate([a, class_sizes + MASS / 2])
    m = len(a)  # before the shapes of the class sizes
    for batch_size in batch_sizes(resamples, m):
        # one draw after the other, so that draws do not depend on the size of a batch
        gammas = rng.standard_gamma(gamma_shapes, (batch_size, len(gamma_shapes)))
        weights = gammas[:, :m]
        size_gammas = gammas[:, m:]
        size_gammas *= class_sizes.sum() / size_gammas.sum(axis=1, keepdims=True)
        for class_mask, class_totals in zip(class_masks, size_gammas.T, strict=True):
            weights[:, class_mask] *= (class_totals / weights[:, class_mask].sum(axis=1))[:, None]
        yield weights


def weighted_difference(
    a: ArrayLike,
    first: ArrayLike,
    b: ArrayLike,
    second: ArrayLike,
    rows: ArrayLike,
    *,
    level: float,
    z: float | Floats | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return a p - b q and its interval, p and q the shares of rows of two kinds.

    By square-and-add of the score limits of a p and b q, which are correlated as counts of one
    multinomial sample are: rho = -sqrt(p q / ((1 - p) (1 - q))). z: the quantile, where it is not
    the normal one at `level`.

    Shapes: all broadcast; counts first + second <= rows, weights not negative. Range -b..a.
    ValueError for counts beyond the rows, and unless 0 < level < 1.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693; Wilson's limits.
    """
    z = critical_value(level) if z is None else z
    row_counts = np.asarray(rows, np.float64)
    first_parts = score_parts(first, row_counts)
    second_parts = score_parts(second, row_counts)
    p, p_complement = first_parts[:2]
    q, q_complement = second_parts[:2]
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = -np.sqrt(p * q / (p_complement * q_complement))
    rho = np.where(np.isfinite(rho), np.maximum(rho, -1.0), 0.0)
    low1, high1 = wilson_limits(first_parts, z)
    low2, high2 = wilson_limits(second_parts, z)
    p_weight = np.asarray(a, np.float64)
    q_weight = np.asarray(b, np.float64)
    return measure_difference(
        p_weight * p,
        p_weight * low1,
        p_weight * high1,
        q_weight * q,
        q_weight * low2,
        q_weight * high2,
        rho,
    )


_MAX_EXACT_ROWS = 10**9  # rows up to which numpy samples exactly


def split_into_folds(counts: Counts, folds: int, rng: np.random.Generator) -> Ints:
    """Return random folds of equal size, (folds, m), of rows in m groups of `counts` (m,)."""
    if counts.sum() >= _MAX_EXACT_ROWS:
        return rng.multinomial(counts, np.full(folds, 1 / folds)).T
    remaining_counts = counts
    remaining_rows = int(counts.sum())
    fold_counts: list[Ints] = []
    for folds_left in range(folds, 1, -1):
        fold_size = remaining_rows // folds_left
        fold_rows = rng.multivariate_hypergeometric(remaining_counts, fold_size, method="marginals")
        fold_counts.append(fold_rows)
        remaining_counts = remaining_counts - fold_rows
        remaining_rows -= fold_size
    return np.array([*fold_counts, remaining_counts])
