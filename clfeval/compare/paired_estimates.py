"""Estimates of several models on the same rows, and standard errors of their differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide
from clfeval.compare.change import p_from_limits
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned
from clfeval.inference.distributions import student_quantile, student_tail, tail_probability
from clfeval.inference.proportions import ENOUGH, MIN_ERRORS_FROM_END
from clfeval.inference.standard_errors import (
    confidence_limits,
    drop_small_df,
    mean_covariance,
    measure_difference,
)
from clfeval.measures.record import Measure
from clfeval.records import dataclass, field

DELONG, INFLUENCE_T, NO_ROW = "DeLong, t", "influence, t", "exact 0-of-n limit: no row differs"
UNKNOWN = "none: all differences are equal"
TOO_FEW = "none: too few rows, clusters or weights"
REACHING = ", extended to square-and-add of logits"
MIDDLE = 0.5  # an area under the ROC curve of equal scores
_BLOCK = 2**13  # rows per block: those of all models stay in the cache
_DIGITS = 11  # that are kept: sums over rows in another order differ beyond
_EQUAL_VALUES = 1e-13  # of two values: what sums of weights in another order leave
_ROUNDING = 1e-24  # of two variances: what rounding leaves where two never differ
_CLOSE = 1e-2  # of two variances: below, squares are summed for the pair itself


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceErrors:
    """Standard errors and degrees of freedom of the differences of k estimates, (k, k) each.

    An error is 0 where two estimates differ in no row, NaN where it is unknown. covariance: of the
    estimates; None of a bootstrap, which draws two models at a time.
    """

    errors: Floats
    df: Floats
    covariance: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapLimits:
    """Limits of differences at a level from a bootstrap, (k, k), NaN for pairs not drawn."""

    low: Floats
    high: Floats
    level: float
    method: dict[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class PairedEstimates:
    """Values (k,) of k models by one measure on the same rows, and errors of their differences.

    metric: the measure with its parameters. fewest: rows, or clusters, of the smaller class. steps
    (k, c), sizes (c,) or (k, c): change of each estimate when all rows of one of c kinds change,
    and the number of rows of the kind.
    """

    metric: str
    measure: Measure
    models: tuple[str, ...]
    values: Floats
    known: DifferenceErrors
    fewest: float
    steps: Floats
    sizes: Floats
    bootstrap: BootstrapLimits | None = None

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is, 0 where neither is."""
        return self.measure.sign

    @property
    def span(self) -> float:
        """The largest possible difference of two values."""
        if self.measure.id.startswith("net_benefit") and self.steps.shape[1]:
            return float(self.steps.sum(axis=1).max())
        return self.measure.high - self.measure.low

    def intervals(
        self, first: Ints, second: Ints, *, level: float
    ) -> tuple[Floats, Floats, Floats, Bools]:
        """Return differences of pairs with their limits at a level, (q,), and which are widened.

        d -+ t s, Student's t. Where no row differs: 0 -+ the largest step of a kind of rows of
        which none among n changes, 1 - tail**(1/n) of them at the most. NaN where the error is
        unknown. Areas under curves: see `_areas`.
        """
        d = self._differences(first, second)
        s, df = self.known.errors[first, second], self.known.df[first, second]
        most = no_differing_row_limit(self.steps, self.sizes, level)[first]
        low, high = t_limits(d, s, df, most, level)
        if self.bootstrap is not None:
            free = np.where(df > 0, df, np.nan)
            t, own = (student_quantile(free, level=at) for at in (level, self.bootstrap.level))
            ends = self.bootstrap.low[first, second], self.bootstrap.high[first, second]
            same = (s == 0) & (d == 0)
            low = np.where(same, low, d - (d - ends[0]) * t / own)
            high = np.where(same, high, d + (ends[1] - d) * t / own)
        ranks = self.measure.needs == "scores" and self.measure.scale == "logit"
        wide = np.zeros(len(d), bool)
        if self.bootstrap is None and (ranks or self.measure.interval == "delong"):
            low, high, wide = self._areas(first, second, low, high, level)
        return d, np.maximum(low, -self.span), np.minimum(high, self.span), wide

    def p_values(self, first: Ints, second: Ints) -> Floats:
        """Return the two-sided p-values of differences, (q,), consistent with the limits.

        p = 2 P(T > |d| / s); 1 where no row differs, NaN where the error is unknown. Of areas and
        rows alike d / s is that of DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44:837. Of
        areas without an error (see `_areas`) 2 (1 - |d| / sqrt(m))**fewest, m how many are 0 or 1.
        """
        s, df = self.known.errors[first, second], self.known.df[first, second]
        d = self._differences(first, second)
        free = np.where(df > 0, df, np.nan)
        if self.bootstrap is not None:
            low, high = self.bootstrap.low[first, second], self.bootstrap.high[first, second]
            p = p_from_limits(d, low, high, free, level=self.bootstrap.level)
        else:
            p = t_p_values(d, s, df)
            if self.measure.interval == "delong":
                ends = sum(self.values[at] != MIDDLE for at in (first, second))
                tail = (1 - np.abs(d) / np.sqrt(np.maximum(ends, 1))) ** self.fewest
                p = np.where(self._fixed(first, second), np.minimum(2 * tail, 1.0), p)
        return np.where((s == 0) & (d == 0), 1.0, p)

    def method(self, first: int, second: int, *, wide: bool) -> str:
        """Return the method of the confidence limits of a pair."""
        if not self.known.errors[first, second] and not wide:
            return UNKNOWN if self._differences(first, second) else NO_ROW
        if self.known.df[first, second] == 0:
            return TOO_FEW
        if self.bootstrap is not None:
            return self.bootstrap.method.get((first, second), "bootstrap")
        plain = DELONG if self.measure.interval == "delong" else INFLUENCE_T
        return f"{plain}{REACHING}" if wide else plain

    def _differences(self, first: Ints | int, second: Ints | int) -> Floats:
        """Return differences of values, 0 where only rounding differs."""
        one, other = self.values[first], self.values[second]
        return np.where(np.abs(one - other) > _EQUAL_VALUES * np.abs(one), one - other, 0.0)

    def _fixed(self, first: Ints, second: Ints) -> Bools:
        """Return which pairs of areas differ though both have a standard error of 0."""
        assert self.known.covariance is not None
        still = np.diag(self.known.covariance) == 0
        both = still[first] & still[second] & (self._differences(first, second) != 0)
        return np.asarray(both & (self.known.df[first, second] > 0))

    def _areas(
        self, first: Ints, second: Ints, least: Floats, most: Floats, level: float
    ) -> tuple[Floats, Floats, Bools]:
        """Return limits of differences of areas under curves of ranks, and which are widened.

        Where a class has fewer than 30 rows, or an area lies within 3 errors of an end of its
        range, a limit that does not lie between 0 and the difference is the outer one of d -+ t s
        and of square-and-add of the limits of both areas, on the logit scale with t of fewest - 1;
        at an end tail**(1 / fewest) from the other end. Two areas without an error have limits of
        square-and-add alone.
        Source: Zou and Donner 2008, Statistics in Medicine 27:1693.
        """
        assert self.known.covariance is not None
        low, high = self.measure.low, self.measure.high
        s, df = self.known.errors[first, second], max(self.fewest - 1, 1.0)
        errors = np.sqrt(np.diag(self.known.covariance))
        near = np.minimum(self.values - low, high - self.values) < MIN_ERRORS_FROM_END * errors
        bare = self._fixed(first, second)
        wide = bare | ((s > 0) & ((self.fewest < ENOUGH) | near[first] | near[second]))
        bound = (high - low) * tail_probability(level) ** (1 / max(self.fewest, 1.0))

        def with_limits(x: Floats, error: Floats) -> tuple[Floats, Floats, Floats]:
            under, above = confidence_limits(
                x, error, scale="logit", low=low, high=high, level=level, df=df
            )
            under, above = (np.where(error == 0, x, end) for end in (under, above))
            bottom, top = x <= low, x >= high
            under = np.where(top, low + bound, np.where(bottom, low, under))
            return x, under, np.where(bottom, high - bound, np.where(top, high, above))

        one, other = (with_limits(self.values[at], errors[at]) for at in (first, second))
        rho = divide(self.known.covariance[first, second], errors[first] * errors[second])
        _, below, beyond = measure_difference(*one, *other, np.clip(np.nan_to_num(rho), -1, 1))
        down = bare | (wide & ~(least > 0) & (below < least))
        up = bare | (wide & ~(most < 0) & (beyond > most))
        return np.where(down, below, least), np.where(up, beyond, most), down | up


def t_limits(d: Floats, s: Floats, df: Floats, most: Floats, level: float) -> tuple[Floats, Floats]:
    """Return d -+ t s, or 0 -+ most where no row differs; NaN where s is unknown, or 0 unlike d."""
    t = student_quantile(np.where(df > 0, df, np.nan), level=level)
    reach = np.where((s == 0) & (d == 0), most, t * np.where(s > 0, s, np.nan))
    return d - reach, d + reach


def t_p_values(d: Floats, s: Floats, df: Floats) -> Floats:
    """Return 2 P(T > |d| / s), or 1 where no row differs; NaN where s is unknown, or 0 unlike d."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * student_tail(np.where(df > 0, df, np.nan), np.abs(d) / np.where(s > 0, s, np.nan))
    return np.where((s == 0) & (d == 0), 1.0, p)


def no_differing_row_limit(steps: Floats, sizes: Floats, level: float) -> Floats:
    """Return 0-of-n limits of the difference of estimates that differ in no row, (k,).

    The largest step (k, c) of a kind of rows times 1 - tail**(1 / n), n (c,) or (k, c) of them.
    """
    with np.errstate(divide="ignore"):
        found = steps * (1 - tail_probability(level) ** (1 / sizes))
    return found.max(axis=1) if steps.shape[1] else np.full(len(steps), np.nan)


def errors_of_kinds(
    f: Floats, n: Counts, clusters: Owned | None, *, fewest: float = np.inf,
    flips: Floats | None = None,
) -> DifferenceErrors:  # fmt: skip
    """Return the errors of k estimates from their influence on m kinds of rows, f (k, m).

    n (m,): rows of each kind, or their weight; clusters: sampling units. fewest, flips: as in
    `errors_of_rows`.
    """
    total = float(n.sum())
    parts, weights = (total, n.astype(np.float64)) if clusters is None else (clusters.size, None)
    if isinstance(clusters, ClusterCounts):
        f = clusters.totals(f)
    elif clusters is not None:
        weights = clusters.squares
    return _difference_errors(list(f), weights, total, parts, fewest, flips)


def errors_of_rows(
    f: Sequence[Floats], weights: Counts | None, owners: Ints | None, *, sampling: bool = False,
    fewest: float = np.inf, flips: Floats | None = None,
) -> DifferenceErrors:  # fmt: skip
    """Return the errors of k estimates from their influence on n rows, f[i] (n,).

    V = sum n f f' parts / (parts - 1) / M² over rows; over clusters of their totals; of weights sum
    w² f f'. s_ij² = V_ii + V_jj - 2 V_ij. Degrees of freedom: of a variance of terms with that
    kurtosis (see `influence_covariance`), at most fewest - 1.

    weights (n,): frequencies, with `sampling` sampling weights. owners (n,): the cluster of each
    row, numbered from 0. flips (k, k): squares added to those of f_i - f_j, of half a row more in
    each class and direction.
    Source: Hampel 1974, Journal of the American Statistical Association 69:383; half a row, of
    shares: Agresti and Min 2005, Statistics in Medicine 24:729.
    """
    n = np.ones(len(f[0])) if weights is None else weights.astype(np.float64)
    total = float(n.sum())
    if owners is not None:
        c = int(owners.max(initial=-1)) + 1
        each = [np.bincount(owners, one * n, c).astype(np.float64) for one in f]
        return _difference_errors(each, None, total, float(c), fewest, flips)
    q = n**2 if sampling else None if weights is None else n
    parts = total**2 / float((n**2).sum()) if sampling else total
    return _difference_errors(f, q, total, parts, fewest, flips)


def _difference_errors(
    f: Sequence[Floats], q: Floats | None, total: float, parts: float, fewest: float,
    flips: Floats | None,
) -> DifferenceErrors:  # fmt: skip
    """Return the errors from k values of each of r terms, (r,) each, with weights q (r,)."""
    k, r = len(f), len(f[0])
    products, third, fourth = (np.zeros((k, k)) for _ in range(3))
    for start in range(0, r, _BLOCK):
        some = slice(start, start + _BLOCK)
        block = np.array([one[some] for one in f])
        weighed = block if q is None else block * q[some]
        squares = block * block
        products += weighed @ block.T
        third += (weighed * squares) @ block.T  # sums of f_i³ f_j
        fourth += (weighed * block) @ squares.T
    own, quarts = np.diag(products), np.diag(fourth)
    spread = own[:, None] + own[None]
    apart = spread - 2 * products
    powers = quarts[:, None] + quarts[None] + 6 * fourth - 4 * (third + third.T)
    for i, j in np.argwhere(np.triu(apart < _CLOSE * spread, 1)).tolist():
        squares = (f[i] - f[j]) ** 2
        for sums, power in ((apart, 1), (powers, 2)):
            sums[i, j] = sums[j, i] = ((1 if q is None else q) * squares**power).sum()
    apart = np.where(apart > _ROUNDING * spread, apart, 0.0)
    mass = float(r) if q is None else float(q.sum())
    kurtosis = divide(mass * np.maximum(powers, 0.0), np.where(apart > 0, apart**2, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        df = drop_small_df(np.fmin(2 * parts / np.maximum(kurtosis - 1, 0.0), fewest - 1))
    if flips is not None:
        apart = apart + flips
    errors = np.sqrt(mean_covariance(apart, total, parts))
    v = mean_covariance(products, total, parts)
    largest = np.broadcast_to(np.abs(v).max(initial=0.0), v.shape)
    return DifferenceErrors(
        _round_to_digits(errors, errors), _round_to_digits(df, df), _round_to_digits(v, largest)
    )


def _round_to_digits(x: Floats, size: Floats) -> Floats:
    """Return x rounded relative to `size`, so that row order and other models have no effect."""
    known = np.isfinite(x) & (size > 0)
    power = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.where(known, size, 1.0))))
    return np.where(known, np.round(x * power) / power, x)
