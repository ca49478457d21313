"""The change of a measure from one side to another: standard error, interval, p-value, verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned
from clfeval.document.cells import Cell, Estimate, Row, as_row
from clfeval.inference.distributions import student_quantile, student_tail, tail_probability
from clfeval.inference.influence_and_clusters import (
    FEWEST_CLUSTERS,
    drop_small_df,
    mean_covariance,
    measure_difference,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import AIMS
from clfeval.records import dataclass, replace

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"
NOT_WORSE, UNDECIDED, CHANGED = "not worse", "undecided", "changed"
VERDICTS = (WORSE, BETTER, CHANGED, EQUIVALENT, NOT_WORSE, UNDECIDED)
MISSING = "not_in_both"


@dataclass(frozen=True, slots=True)
class Change:
    """Old and new value of a measure, their difference, confidence intervals and p-values.

    difference: new - old with its own interval. p: two-sided, below 1 - level where that interval
    excludes 0, or None. adjusted: p for the family. simultaneous: the difference with simultaneous
    limits of the family. paired: both sides are measured on the same rows.
    """

    old: Estimate
    new: Estimate
    difference: Estimate
    p: float | None = None
    adjusted: float | None = None
    simultaneous: Estimate | None = None
    paired: bool = False
    rows: float | None = None

    def turned(self) -> Change:
        """Return the reverse change, from new to old."""

        def negated(estimate: Estimate) -> Estimate:
            reversed_limits = (estimate.value, estimate.high, estimate.low)
            value, low, high = (None if limit is None else 0.0 - limit for limit in reversed_limits)
            return Estimate(value, low, high, estimate.reason)

        return replace(
            self,
            old=self.new,
            new=self.old,
            difference=negated(self.difference),
            simultaneous=None if self.simultaneous is None else negated(self.simultaneous),
        )

    def significant(self, level: float) -> bool:
        """Return whether the difference is significant, adjusted for its family if there is one."""
        p = self.p if self.adjusted is None else self.adjusted
        return p is not None and p < 1 - level and bool(self.difference.value)

    def verdict(
        self, metric: str, level: float, *, margin: float | None = None, best: str | None = None
    ) -> str | None:
        """Return the verdict on the difference; None where it is undefined.

        better, worse: significant in the family. changed: significant, without a direction, or on
        the other side of the target. equivalent: the simultaneous interval lies inside -+ margin.
        not worse: it lies above -margin. undecided: none of these.

        best: the direction where the catalogue does not know the metric.
        Source: Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15:657.
        """
        difference = self.difference.value
        if difference is None:
            return None
        aim = direction(metric, best)
        sign = {"max": 1, "min": -1}.get(aim, 0)
        interval = self.simultaneous or self.difference
        low, high = -math.inf, math.inf
        if sign and interval.low is not None and interval.high is not None:
            low, high = sorted((sign * interval.low, sign * interval.high))
        if margin is not None and -margin < low and high < margin:
            return EQUIVALENT
        if self.significant(level):
            worsening = -sign * difference if sign else self._farther(AIMS.get(aim))
            if not worsening:
                return CHANGED
            return WORSE if worsening > 0 else BETTER
        return NOT_WORSE if margin is not None and low > -margin else UNDECIDED

    def _farther(self, aim: float | None) -> float:
        """Return the increase of the distance from the target; 0 where it is not known."""
        old = self.old.value
        new = self.new.value
        difference = self.difference.value or 0.0
        if aim is None or old is None or new is None:
            return 0.0
        if (old - aim) * (new - aim) < 0:  # on two sides: only if clearly farther
            low, high = self.difference.low, self.difference.high
            half_width = difference - (low or 0.0) if difference > 0 else (high or 0.0) - difference
            if not abs(new + old - 2 * aim) > half_width:
                return 0.0
        return abs(new - aim) - abs(old - aim)


def direction(metric: str, best: str | None = None) -> str:
    """Return the better direction of a measure: max, min, zero, one or none."""
    measure = CATALOG.get(metric.partition(":")[0])
    return measure.best if measure is not None else best or "none"


def change_of_independent(
    old: Cell, new: Cell, *, level: float = 0.95, rho: float = 0.0, bound: float = 0.0
) -> Change:
    """Return the change between two independent samples, or two that share some rows.

    rho: correlation of the errors, 0 in the formula: see `square_and_add`. bound: how far the
    change can be from that of the rows, by which its interval is wider.

    difference = new - old   low = difference - sqrt((new - new.low)² + (old.high - old)²)
    high = difference + sqrt((new.high - new)² + (old - old.low)²)

    No interval or p where one of the two has none; infinite where one is, undefined where one is.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693 (MOVER).
    """
    (change,) = changes_of_independent([(old, new)], level=level, rho=rho, bound=bound)
    return change


def changes_of_independent(
    pairs: Sequence[tuple[Cell, Cell]], *, level: float = 0.95, rho: float = 0.0, bound: float = 0.0
) -> list[Change]:
    """Return the change of each pair of an old and a new value: see `change_of_independent`."""
    changes = [_change_of_values(*map(_estimate_of_cell, pair)) for pair in pairs]
    change_indices = [
        change_index for change_index, change in enumerate(changes) if _has_both_intervals(change)
    ]
    old_limits = values_and_limits([changes[change_index].old for change_index in change_indices])
    new_limits = values_and_limits([changes[change_index].new for change_index in change_indices])
    differences, lower, upper = square_and_add(new_limits, old_limits, rho)
    lower = lower - bound
    upper = upper + bound
    p_values = p_from_limits(differences, lower, upper, math.inf, level=level)
    intervals = map(estimate_or_none, differences.tolist(), lower.tolist(), upper.tolist())
    for change_index, interval, p in zip(change_indices, intervals, p_values.tolist(), strict=True):
        changes[change_index] = Change(
            changes[change_index].old, changes[change_index].new, interval, number_or_none(p)
        )
    return changes


def _estimate_of_cell(cell: Cell) -> Estimate:
    """Return the estimate of a cell: a number has no interval, and any other value is missing."""
    if isinstance(cell, Estimate):
        return cell
    return Estimate(cell) if isinstance(cell, (int, float)) else Estimate(None, reason=MISSING)


def _change_of_values(old: Estimate, new: Estimate) -> Change:
    """Return the change without its interval; the reason where it is undefined."""
    if old.value is not None and new.value is not None:
        return Change(old, new, Estimate(new.value - old.value))
    infinities = {"infinite": math.inf, "minus_infinite": -math.inf}
    old_value = infinities.get(str(old.reason), old.value)
    new_value = infinities.get(str(new.reason), new.value)
    if old_value is None or new_value is None:
        reason = (new if new_value is None else old).reason or "undefined"
    else:
        reasons_by_value = {infinity: name for name, infinity in infinities.items()}
        reason = reasons_by_value.get(new_value - old_value, "undefined")
    return Change(old, new, Estimate(None, reason=reason))


def _has_both_intervals(change: Change) -> bool:
    """Return whether both values of a change are defined and have intervals."""
    limits = (change.old.low, change.old.high, change.new.low, change.new.high)
    return change.difference.value is not None and None not in limits


def shared_correlation(change: Change, share: float) -> float:
    """Return the correlation of the errors of two values that share some of their rows.

    share (r_old² + r_new² - r²) / (2 r_old r_new), r the lengths of their intervals and of that of
    their difference on the rows of both, share those rows of sqrt(n_old n_new). 0 without any.
    """
    old_length, new_length, difference_length = (
        0.0 if estimate.low is None or estimate.high is None else estimate.high - estimate.low
        for estimate in (change.old, change.new, change.difference)
    )
    if not (old_length and new_length and change.difference.low is not None):
        return 0.0
    squares = old_length**2 + new_length**2 - difference_length**2
    return share * min(1.0, max(-1.0, squares / (2 * old_length * new_length)))


def square_and_add(new: Floats, old: Floats, rho: ArrayLike = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return new - old with limits, (m,) each, from value, low and high of both, (3, m).

    rho: the correlation of their errors. Source: `measure_difference`.
    """
    new_values, new_low, new_high = new
    old_values, old_low, old_high = old
    return measure_difference(new_values, new_low, new_high, old_values, old_low, old_high, rho)


def p_from_limits(
    d: ArrayLike, low: ArrayLike, high: ArrayLike, df: ArrayLike, *, level: float
) -> Floats:
    """Return two-sided p-values of differences, consistent with their limits at a level.

    p = 2 P(T > |d| t / r), r the distance to the limit towards 0, t the quantile at `level`

    T is Student's with df degrees of freedom. NaN where limits are; 1 where d = 0, and 0 where a
    limit is d itself. Shapes: (m,) each.
    """
    d = np.asarray(d, np.float64)
    distance = np.where(d > 0, d - np.asarray(low), np.asarray(high) - d)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * student_tail(df, np.abs(d) / distance * student_quantile(df, level=level))
    return np.where(np.isnan(distance), np.nan, np.where(d == 0, 1.0, p))


def t_limits(d: Floats, s: Floats, df: Floats, most: Floats, level: float) -> tuple[Floats, Floats]:
    """Return d -+ t s, or 0 -+ most where no row differs; NaN where s is unknown, or 0 unlike d.

    d: differences, s: their errors, t: the quantile at `level` with df degrees of freedom.
    """
    t = student_quantile(np.where(df > 0, df, np.nan), level=level)
    half_width = np.where((s == 0) & (d == 0), most, t * np.where(s > 0, s, np.nan))
    return d - half_width, d + half_width


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
        limits = steps * (1 - tail_probability(level) ** (1 / sizes))
    return limits.max(axis=1) if steps.shape[1] else np.full(len(steps), np.nan)


def comparison_row(  # noqa: PLR0913 - the columns of a row
    kind: str,
    metric: str,
    model: str,
    reference: str,
    change: Change,
    level: float,
    *,
    margin: float | None = None,
    label: str | None = None,
    best: str | None = None,
    se: float | None = None,
    df: float | None = None,
    detectable: float | None = None,
    method: str | None = None,
) -> Row:
    """Return a row of the table `comparisons`: the change of a measure between two sides.

    kind: of the reference, the column `against`. label: of a slice. df: degrees of freedom where
    interval and p are those of Student's t.
    """
    return as_row(
        {
            "against": kind,
            "slice": label,
            "measure": metric,
            "model": model,
            "reference": reference,
            "old": change.old,
            "new": change.new,
            "difference": change.difference,
            "p": change.p,
            "p_adjusted": change.adjusted,
            "difference_adjusted": change.simultaneous or change.difference,
            "verdict": change.verdict(metric, level, margin=margin, best=best),
            "paired": change.paired,
            "rows": change.rows,
            "se": se,
            "df": df,
            "detectable": detectable,
            "method": method,
        }
    )


def values_and_limits(estimates: Sequence[Estimate]) -> Floats:
    """Return values and limits, (3, m); NaN for none."""
    rows = [(estimate.value, estimate.low, estimate.high) for estimate in estimates]
    return np.array(rows, np.float64).reshape(-1, 3).T


def estimate_or_none(value: float, low: float, high: float, reason: str | None = None) -> Estimate:
    """Return an estimate of numbers that may be NaN; both limits, or none."""
    has_limits = not (math.isnan(low) or math.isnan(high))
    return Estimate(
        number_or_none(value),
        float(low) if has_limits else None,
        float(high) if has_limits else None,
        reason,
    )


def number_or_none(number: float) -> float | None:
    """Return a number; None for NaN."""
    return None if math.isnan(number) else float(number)


_BLOCK = 2**13  # rows per block: those of all models stay in the cache
_DIGITS = 11  # that are kept: sums over rows in another order differ beyond
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


def errors_of_kinds(
    f: Floats,
    n: Counts,
    clusters: Owned | None,
    *,
    fewest: float = np.inf,
    flips: Floats | None = None,
) -> DifferenceErrors:
    """Return the errors of k estimates from their influence on m kinds of rows, f (k, m).

    n (m,): rows of each kind, or their weight; clusters: the sampling units, None for rows. fewest,
    flips: as in `errors_of_rows`.
    """
    total = float(n.sum())
    parts, weights = (total, n.astype(np.float64)) if clusters is None else (clusters.size, None)
    if isinstance(clusters, ClusterCounts):
        f = clusters.totals(f)
        parts = 0.0 if clusters.too_few else parts
    elif clusters is not None:
        row_weights, weights = clusters.equal_rows()
        f = f * row_weights
    return _difference_errors(list(f), weights, total, parts, fewest, flips)


def errors_of_rows(
    f: Sequence[Floats],
    weights: Counts | None,
    owners: Ints | None,
    *,
    sampling: bool = False,
    fewest: float = np.inf,
    flips: Floats | None = None,
) -> DifferenceErrors:
    """Return the errors of k estimates from their influence on n rows, f[i] (n,).

    V = sum n f f' parts / (parts - 1) / M² over rows; over clusters of their totals; of weights sum
    w² f f'. s_ij² = V_ii + V_jj - 2 V_ij. Degrees of freedom: of a variance of terms with that
    kurtosis (see `influence_covariance`), at most fewest - 1.

    weights (n,): frequencies, with `sampling` sampling weights. owners (n,): the cluster of each
    row, numbered from 0. fewest: rows, or clusters, of the smallest class. flips (k, k): squares
    added to those of f_i - f_j, of half a row more in each class and direction.
    Source: Hampel 1974, Journal of the American Statistical Association 69:383; half a row, of
    shares: Agresti and Min 2005, Statistics in Medicine 24:729.
    """
    n = np.ones(len(f[0])) if weights is None else weights.astype(np.float64)
    total = float(n.sum())
    if owners is not None:
        cluster_count = int(owners.max(initial=-1)) + 1
        terms = [
            np.bincount(owners, influence * n, cluster_count).astype(np.float64) for influence in f
        ]
        parts = float(cluster_count) if cluster_count >= FEWEST_CLUSTERS else 0.0
        return _difference_errors(terms, None, total, parts, fewest, flips)
    if sampling:
        terms = [influence * n for influence in f]
        effective_rows = total**2 / float((n**2).sum())
        return _difference_errors(terms, None, total, effective_rows, fewest, flips)
    return _difference_errors(f, None if weights is None else n, total, total, fewest, flips)


def _difference_errors(
    f: Sequence[Floats],
    q: Floats | None,
    total: float,
    parts: float,
    fewest: float,
    flips: Floats | None,
) -> DifferenceErrors:
    """Return the errors from k values of each of r terms, (r,) each, with weights q (r,).

    total: the sum of weights of rows; parts: the number of sampling units, of sampling weights
    Kish's effective one; 0 of too few clusters.
    """
    return DifferenceSums.from_terms(f, q).errors(total, parts, fewest, flips)


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceSums:
    """Sums over terms of f_i f_j, (f_i - f_j)² and (f_i - f_j)⁴, (k, k) each, and of weights."""

    products: Floats
    squares: Floats
    fourth_powers: Floats
    mass: float

    @classmethod
    def from_terms(cls, f: Sequence[Floats], q: Floats | None) -> DifferenceSums:
        """Add k values of each of r terms, (r,) each, with weights q (r,)."""
        products, cube_products, square_products = _sums_of_products(f, q)
        second_moments = np.diag(products)
        fourth_moments = np.diag(square_products)
        total_squares = second_moments[:, None] + second_moments[None]
        squares = total_squares - 2 * products
        fourth_powers = fourth_moments[:, None] + fourth_moments[None] + 6 * square_products
        fourth_powers -= 4 * (cube_products + cube_products.T)
        weights = 1 if q is None else q
        for i, j in np.argwhere(np.triu(squares < _CLOSE * total_squares, 1)).tolist():
            pair_squares = (f[i] - f[j]) ** 2
            squares[i, j] = squares[j, i] = (weights * pair_squares).sum()
            fourth_powers[i, j] = fourth_powers[j, i] = (weights * pair_squares**2).sum()
        mass = float(len(f[0])) if q is None else float(q.sum())
        return cls(products, squares, fourth_powers, mass)

    def __add__(self, addend: DifferenceSums) -> DifferenceSums:
        """Return the sums over the terms of both."""
        return DifferenceSums(
            self.products + addend.products,
            self.squares + addend.squares,
            self.fourth_powers + addend.fourth_powers,
            self.mass + addend.mass,
        )

    def errors(
        self, total: float, parts: float, fewest: float, flips: Floats | None
    ) -> DifferenceErrors:
        """Return the errors of differences: see `errors_of_rows`.

        total, parts: as in `_difference_errors`.
        """
        second_moments = np.diag(self.products)
        rounding = _ROUNDING * (second_moments[:, None] + second_moments[None])
        squares = np.where(self.squares > rounding, self.squares, 0.0)
        fourth_powers = self.mass * np.maximum(self.fourth_powers, 0.0)
        kurtosis = divide(fourth_powers, np.where(squares > 0, squares**2, np.nan))
        with np.errstate(divide="ignore", invalid="ignore"):
            df = drop_small_df(np.fmin(2 * parts / np.maximum(kurtosis - 1, 0.0), fewest - 1))
        if flips is not None:
            squares = squares + flips
        errors = np.sqrt(mean_covariance(squares, total, parts))
        covariance = mean_covariance(self.products, total, parts)
        largest_covariance = np.broadcast_to(np.abs(covariance).max(initial=0.0), covariance.shape)
        return DifferenceErrors(
            _round_to_digits(errors, errors),
            _round_to_digits(df, df),
            _round_to_digits(covariance, largest_covariance),
        )


def _sums_of_products(f: Sequence[Floats], q: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return the sums over terms of f_i f_j, f_i³ f_j and f_i² f_j², (k, k) each."""
    k = len(f)
    products = np.zeros((k, k))
    cube_products = np.zeros((k, k))
    square_products = np.zeros((k, k))
    for first_row in range(0, len(f[0]), _BLOCK):
        block_rows = slice(first_row, first_row + _BLOCK)
        block = np.array([influence[block_rows] for influence in f])
        weighted_block = block if q is None else block * q[block_rows]
        squares = block * block
        products += weighted_block @ block.T
        cube_products += (weighted_block * squares) @ block.T
        square_products += (weighted_block * block) @ squares.T
    return products, cube_products, square_products


def _round_to_digits(x: Floats, size: Floats) -> Floats:
    """Return x rounded relative to `size`, so that row order and other models have no effect."""
    is_rounded = np.isfinite(x) & (size > 0)
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.where(is_rounded, size, 1.0))))
    return np.where(is_rounded, np.round(x * scale) / scale, x)
