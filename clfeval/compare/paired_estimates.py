"""Estimates of several models on the same rows, or from their rates: differences of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clfeval.arrays import Bools, Floats, Ints, divide
from clfeval.compare.change import (
    DifferenceErrors,
    no_differing_row_limit,
    p_from_limits,
    t_limits,
    t_p_values,
)
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.distributions import student_quantile, tail_probability
from clfeval.inference.influence_and_clusters import confidence_limits, measure_difference
from clfeval.inference.proportions import ENOUGH, MIN_ERRORS_FROM_END
from clfeval.inference.region_intervals import partial_derivatives
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.records import dataclass, field

if TYPE_CHECKING:
    from clfeval.compare.label_swaps import LabelSwaps

DELONG, INFLUENCE_T, NO_ROW = "DeLong, t", "influence, t", "exact 0-of-n limit: no row differs"
UNKNOWN = "none: all differences are equal"
TOO_FEW = "none: too few rows, clusters or weights"
REACHING = ", extended to square-and-add of logits"
SWAPPED = ", extended to the exact test of few differing rows"
_EQUAL_VALUES = 1e-13  # of two values: what sums of weights in another order leave


@dataclass(frozen=True, slots=True, eq=False)
class PairLimits:
    """Limits of differences at a level, (k, k), that do not follow from their errors.

    From a bootstrap, NaN for pairs not drawn, or by square-and-add. method: by pair. normal: their
    quantiles are those of the normal distribution, else of Student's t.
    """

    low: Floats
    high: Floats
    level: float
    method: dict[tuple[int, int], str] = field(default_factory=dict)
    normal: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PairedEstimates:
    """Values (k,) of k models by one measure on the same rows, and errors of their differences.

    metric: the measure with its parameters. fewest: rows, or clusters, of the smaller class. steps
    (k, c), sizes (c,) or (k, c): change of each estimate when all rows of one of c kinds change,
    and the number of rows of the kind. bounds (k,): how far values in buckets of scores can be from
    those of single scores, by which intervals are wider. limits: in place of those by the errors.
    swaps: the labels, for the exact test of pairs that differ in few rows.
    """

    metric: str
    measure: Measure
    models: tuple[str, ...]
    values: Floats
    pair_errors: DifferenceErrors
    fewest: float
    steps: Floats
    sizes: Floats
    limits: PairLimits | None = None
    bounds: Floats | None = None
    swaps: LabelSwaps | None = None

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
        self, first_models: Ints, second_models: Ints, *, level: float
    ) -> tuple[Floats, Floats, Floats, Bools]:
        """Return differences of pairs with their limits at a level, (q,), and which are widened.

        first_models, second_models (q,): indices. d: the differences, s: their errors.

        d -+ t s, Student's t. Where no row differs: 0 -+ the largest step of a kind of rows of
        which none among n changes, 1 - tail**(1/n) of them at the most. NaN where the error is
        unknown. Areas under curves: see `_areas`. Limits of labels that differ in few rows reach 0
        where the exact test does not exclude it at the level.
        """
        d = self._differences(first_models, second_models)
        s = self.pair_errors.errors[first_models, second_models]
        df = np.asarray(self._quantile_df(first_models, second_models))
        no_row_limit = no_differing_row_limit(self.steps, self.sizes, level)[first_models]
        low, high = t_limits(d, s, df, no_row_limit, level)
        if self.limits is not None:
            is_equal = (s == 0) & (d == 0)
            pair_low, pair_high = self._limits_at_level(first_models, second_models, level)
            low = np.where(is_equal, low, pair_low)
            high = np.where(is_equal, high, pair_high)
        uses_ranks = self.measure.needs == "scores" and self.measure.scale == "logit"
        is_widened = np.zeros(len(d), bool)
        if self.limits is None and (uses_ranks or self.measure.interval == "delong"):
            low, high, is_widened = self._areas(first_models, second_models, low, high, level)
        if self.swaps is not None:
            low, high, is_widened = self._extended_to_zero(
                first_models, second_models, (d, low, high), level
            )
        bound = self._bound(first_models, second_models)
        return (
            d,
            np.maximum(low - bound, -self.span),
            np.minimum(high + bound, self.span),
            is_widened,
        )

    def _limits_at_level(
        self, first_models: Ints, second_models: Ints, level: float
    ) -> tuple[Floats, Floats]:
        """Return the limits of pairs that do not follow from errors, at another level, (q,)."""
        assert self.limits is not None
        df = self._quantile_df(first_models, second_models)
        known_df = np.where(df > 0, df, np.nan)
        quantile_ratio = student_quantile(known_df, level=level) / student_quantile(
            known_df, level=self.limits.level
        )
        d = self._differences(first_models, second_models)
        low = d - (d - self.limits.low[first_models, second_models]) * quantile_ratio
        high = d + (self.limits.high[first_models, second_models] - d) * quantile_ratio
        return low, high

    def p_values(self, first_models: Ints, second_models: Ints) -> Floats:
        """Return the two-sided p-values of differences, (q,), consistent with the limits.

        p = 2 P(T > |d| / s); 1 where no row differs, NaN where the error is unknown. Of areas and
        rows alike d / s is that of DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44:837. Of
        areas without an error (see `_areas`) 2 (1 - |d| / (w sqrt(m)))**fewest, m how many are at
        an end of their range, w its width. Of labels that differ in few rows at least that of the
        exact test.
        """
        p = self._p_values_by_error(first_models, second_models)
        return (
            p
            if self.swaps is None
            else np.maximum(p, self.swaps.p_values(first_models, second_models))
        )

    def _extended_to_zero(
        self,
        first_models: Ints,
        second_models: Ints,
        estimates: tuple[Floats, Floats, Floats],
        level: float,
    ) -> tuple[Floats, Floats, Bools]:
        """Return limits that contain 0 unless the exact test excludes it, and which are extended.

        estimates: differences and their limits at the level, (q,) each.
        """
        assert self.swaps is not None
        d, low, high = estimates
        is_extended = (low > 0) | (high < 0)
        excluding_indices = np.flatnonzero(is_extended)
        p = self.swaps.p_values(first_models[excluding_indices], second_models[excluding_indices])
        is_extended[excluding_indices] = p >= 1 - level
        extended_low = np.where(is_extended & (d > 0), 0.0, low)
        extended_high = np.where(is_extended & (d < 0), 0.0, high)
        return extended_low, extended_high, is_extended

    def _p_values_by_error(self, first_models: Ints, second_models: Ints) -> Floats:
        """Return the p-values of pairs by the errors of their differences, or by their limits."""
        s = self.pair_errors.errors[first_models, second_models]
        df = np.asarray(self._quantile_df(first_models, second_models))
        d = self._differences(first_models, second_models)
        d = np.sign(d) * np.maximum(np.abs(d) - self._bound(first_models, second_models), 0.0)
        known_df = np.where(df > 0, df, np.nan)
        if self.limits is not None:
            low = self.limits.low[first_models, second_models]
            high = self.limits.high[first_models, second_models]
            p = p_from_limits(d, low, high, known_df, level=self.limits.level)
        else:
            p = t_p_values(d, s, df)
            if self.measure.interval == "delong":
                middle = (self.measure.low + self.measure.high) / 2  # of equal scores
                end_count = (self.values[first_models] != middle) + 1 * (
                    self.values[second_models] != middle
                )
                scaled_width = self.span * np.sqrt(np.maximum(end_count, 1))
                tail_p = (1 - np.abs(d) / scaled_width) ** self.fewest
                p = np.where(
                    self._fixed(first_models, second_models), np.minimum(2 * tail_p, 1.0), p
                )
        return np.where((s == 0) & (d == 0), 1.0, p)

    def method(self, first_model: int, second_model: int, *, wide: bool) -> str:
        """Return the method of the confidence limits of a pair; wide: whether they are widened."""
        limits = self.limits
        if not self.pair_errors.errors[first_model, second_model] and not wide:
            if not self._differences(first_model, second_model):
                return NO_ROW
            if limits is None or np.isnan(limits.low[first_model, second_model]):
                return UNKNOWN
        if self._quantile_df(first_model, second_model) == 0:
            return TOO_FEW
        extension = ""
        if wide:
            extension = SWAPPED if self.swaps is not None else REACHING
        if limits is not None:
            return limits.method.get((first_model, second_model), "bootstrap") + extension
        error_method = DELONG if self.measure.interval == "delong" else INFLUENCE_T
        return f"{error_method}{extension}"

    def student_df(self, first_model: int, second_model: int) -> float | None:
        """Return the degrees of freedom of Student's t of a pair; None of another method."""
        df = float(self._quantile_df(first_model, second_model))
        return (
            df
            if 0 < df < np.inf and self.pair_errors.errors[first_model, second_model] > 0
            else None
        )

    def _quantile_df(self, first_models: Ints | int, second_models: Ints | int) -> Floats:
        """Return the degrees of freedom of the quantiles of pairs, infinite of normal ones."""
        df = self.pair_errors.df[first_models, second_models]
        if self.limits is not None and self.limits.normal:
            return np.full_like(df, np.inf)
        return np.asarray(df)

    def _bound(self, first_models: Ints, second_models: Ints) -> Floats:
        """Return how far differences can be from those of single scores."""
        if self.bounds is None:
            return np.zeros(len(first_models))
        return np.asarray(self.bounds[first_models] + self.bounds[second_models])

    def _differences(self, first_models: Ints | int, second_models: Ints | int) -> Floats:
        """Return differences of values, 0 where only rounding differs."""
        first_values = self.values[first_models]
        d = first_values - self.values[second_models]
        return np.where(np.abs(d) > _EQUAL_VALUES * np.abs(first_values), d, 0.0)

    def _fixed(self, first_models: Ints, second_models: Ints) -> Bools:
        """Return which pairs of areas differ though both have a standard error of 0."""
        assert self.pair_errors.covariance is not None
        has_no_error = np.diag(self.pair_errors.covariance) == 0
        differs = self._differences(first_models, second_models) != 0
        has_df = self.pair_errors.df[first_models, second_models] > 0
        return np.asarray(
            has_no_error[first_models] & has_no_error[second_models] & differs & has_df
        )

    def _areas(
        self, first_models: Ints, second_models: Ints, lower: Floats, upper: Floats, level: float
    ) -> tuple[Floats, Floats, Bools]:
        """Return limits of differences of areas under curves of ranks, and which are widened.

        Where a class has fewer than 30 rows, or an area lies within 3 errors of an end of its
        range, a limit that does not lie between 0 and the difference is the outer one of d -+ t s
        and of square-and-add of the limits of both areas, on the logit scale with t of fewest - 1;
        at an end tail**(1 / fewest) from the other end. Two areas without an error have limits of
        square-and-add alone.
        Source: Zou and Donner 2008, Statistics in Medicine 27:1693.
        """
        assert self.pair_errors.covariance is not None
        pair_errors = self.pair_errors.errors[first_models, second_models]
        errors = np.sqrt(np.diag(self.pair_errors.covariance))
        end_distance = np.minimum(self.values - self.measure.low, self.measure.high - self.values)
        is_near_end = end_distance < MIN_ERRORS_FROM_END * errors
        is_certain = self._fixed(first_models, second_models)
        is_unreliable = (
            (self.fewest < ENOUGH) | is_near_end[first_models] | is_near_end[second_models]
        )
        can_widen = is_certain | ((pair_errors > 0) & is_unreliable)
        rho = divide(
            self.pair_errors.covariance[first_models, second_models],
            errors[first_models] * errors[second_models],
        )
        _, added_low, added_high = measure_difference(
            *self._area_limits(first_models, errors[first_models], level),
            *self._area_limits(second_models, errors[second_models], level),
            np.clip(np.nan_to_num(rho), -1, 1),
        )
        is_lowered = is_certain | (can_widen & ~(lower > 0) & (added_low < lower))
        is_raised = is_certain | (can_widen & ~(upper < 0) & (added_high > upper))
        is_widened = is_lowered | is_raised
        return (
            np.where(is_lowered, added_low, lower),
            np.where(is_raised, added_high, upper),
            is_widened,
        )

    def _area_limits(
        self, models: Ints, errors: Floats, level: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return areas with their limits on the logit scale; at an end by the rows of a class."""
        low = self.measure.low
        high = self.measure.high
        areas = self.values[models]
        df = max(self.fewest - 1, 1.0)
        lower, upper = confidence_limits(
            areas, errors, scale="logit", low=low, high=high, level=level, df=df
        )
        lower = np.where(errors == 0, areas, lower)
        upper = np.where(errors == 0, areas, upper)
        row_distance = (high - low) * tail_probability(level) ** (1 / max(self.fewest, 1.0))
        lower = np.where(areas >= high, low + row_distance, np.where(areas <= low, low, lower))
        upper = np.where(areas <= low, high - row_distance, np.where(areas >= high, high, upper))
        return areas, lower, upper


@dataclass(frozen=True, slots=True, eq=False)
class RateCovariance:
    """True and false positive rates of k models in each of s parts, and their covariance.

    counts: of all s k models, part by part. covariance (s, 2k, 2k): true positive rates first; or
    variances (2, s k), of models on independent rows. differ (2, s k, k): whether a model and each
    of its part differ in any positive, in any negative; None for independent rows. sizes (2, s k):
    (effective) rows or clusters of each class. weight, parts (s k,): weight of a row, and number of
    sampling units.
    """

    counts: ConfusionCounts
    covariance: Floats
    differ: Bools | None
    sizes: Floats
    weight: Floats
    parts: Floats

    @property
    def crossed(self) -> bool:
        """Whether rates of the two classes are correlated, as they may be over clusters."""
        k = self.covariance.shape[-1] // 2
        return self.differ is not None and bool(self.covariance[:, :k, k:].any())

    def measures_at_odds(self, measure: Measure, models: Ints, ratios: Floats) -> RateEstimates:
        """Return models by a measure at ratios of positives to negatives, (e,) each.

        Slopes are those at the observed rates; steps those with half a row more of each kind.
        """
        counts = self.counts
        row_weight = self.weight[models]
        cells = [cell[models] for cell in (counts.tp, counts.fp, counts.fn, counts.tn)]
        values = np.asarray(measure.function(Confusion(*cells).tuned(ratios)), np.float64)
        tp, fp, fn, tn = (np.concatenate([cell, cell + row_weight / 2]) for cell in cells)
        sizes = np.stack([tp + fn, fp + tn])  # of both classes, then with half a row more
        slopes, steps = _slopes_at_odds(measure, (tp, fp), sizes, ratios)
        row_count = (sizes[0] + sizes[1])[: len(row_weight)]
        parts = self.parts[models]
        with np.errstate(invalid="ignore"):  # a class without rows has no error
            growth = divide(row_count + 2 * row_weight, row_count) * np.sqrt(
                divide(parts, parts - 1)
            )
            jumps = steps * divide(row_weight, sizes[:, len(row_weight) :]) * growth
        values = np.where(np.isfinite(values), values, np.nan)
        return RateEstimates(self, measure, models, values, slopes, np.abs(steps), np.abs(jumps))


def _slopes_at_odds(
    measure: Measure, hits: tuple[Floats, Floats], sizes: Floats, ratios: Floats
) -> tuple[Floats, Floats]:
    """Return slopes along both rates of tables, and of those with half a row more, (2, e) each.

    hits: TP and FP of the former and then of the latter, (2e,); sizes (2, 2e): of both classes.
    """
    tp, fp = hits
    positives, negatives = sizes
    odds = np.concatenate([ratios, ratios])
    derivatives = partial_derivatives(
        lambda x, y: measure.function(Confusion.from_rates(x, y, odds)),
        np.minimum(divide(tp, positives), 1.0),
        np.minimum(divide(fp, negatives), 1.0),
    )
    slopes, steps = np.moveaxis(np.reshape(derivatives, (2, 2, -1)), 1, 0)
    return slopes, steps


@dataclass(frozen=True, slots=True, eq=False)
class RateEstimates:
    """Estimates of models by a measure, each at a class ratio, and errors of differences.

    values (e,), NaN unless finite; slopes (2, e): along the true and the false positive rate;
    steps (2, e): the same with half a row more; jumps (2, e): change of an estimate by one row that
    changes sides.
    """

    rates: RateCovariance
    measure: Measure
    models: Ints
    values: Floats
    slopes: Floats
    steps: Floats
    jumps: Floats

    def errors(self, first_estimates: Ints, second_estimates: Ints) -> tuple[Floats, Floats]:
        """Return the standard errors and degrees of freedom of differences of pairs, (q,) each.

        s² = w' V w + sum over classes of (J_i² + J_j²) / 2

        V are the covariances of the four rates, w the slopes along them. J, half a row more of each
        class and direction, is added where two models differ in any row that affects the measure. 0
        where they differ in none.
        Source: the delta method; half a row: Agresti and Min 2005, Statistics in Medicine 24:729.
        """
        i = self.models[first_estimates]
        j = self.models[second_estimates]
        rates = self.rates
        # along both rates of the first, then of the second, which is subtracted
        w = np.concatenate([self.slopes[:, first_estimates], -self.slopes[:, second_estimates]])
        jump_squares = (
            self.jumps[:, first_estimates] ** 2 + self.jumps[:, second_estimates] ** 2
        ) / 2
        if rates.differ is None:
            v = np.concatenate([rates.covariance[:, i], rates.covariance[:, j]])
            squares = (w**2 * v).sum(axis=0)
            differs = np.ones((2, len(i)), bool)
        else:
            k = rates.differ.shape[-1]
            rate_indices = np.stack([i % k, i % k + k, j % k, j % k + k])  # of both rates
            v = rates.covariance[i // k, rate_indices[:, None], rate_indices]
            squares = np.maximum(np.einsum("am,abm,bm->m", w, v, w), 0.0)
            differs = rates.differ[:, i, j % k]
        sizes = np.minimum(rates.sizes[:, i], rates.sizes[:, j]).min(axis=0)
        has_change = (differs & (jump_squares > 0)).any(axis=0)
        return np.where(has_change, np.sqrt(squares + jump_squares.sum(axis=0)), 0.0), sizes - 1

    def intervals(
        self, first_estimates: Ints, second_estimates: Ints, *, level: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return differences of pairs with limits as of `PairedEstimates.intervals`, (q,) each."""
        d = self.values[first_estimates] - self.values[second_estimates]
        span = self.measure.high - self.measure.low
        sizes = self.rates.sizes[:, self.models[first_estimates]].T
        no_row_limit = no_differing_row_limit(self.steps[:, first_estimates].T, sizes, level)
        low, high = t_limits(
            d, *self.errors(first_estimates, second_estimates), no_row_limit, level
        )
        return d, np.maximum(low, -span), np.minimum(high, span)

    def p_values(self, first_estimates: Ints, second_estimates: Ints) -> Floats:
        """Return the two-sided p-values of differences of pairs, (q,)."""
        return t_p_values(
            self.values[first_estimates] - self.values[second_estimates],
            *self.errors(first_estimates, second_estimates),
        )

    def paired(self, name: str, positions: Ints) -> PairedEstimates:
        """Return the estimates of the k models at `positions`: of one part, at one class ratio."""
        models = self.models[positions]
        k = len(models)
        s, df = self.errors(np.repeat(positions, k), np.tile(positions, k))
        slopes = self.slopes[:, positions]
        v = self.rates.covariance
        if self.rates.differ is None:
            covariance = np.diag((slopes**2 * v[:, models]).sum(axis=0))
        else:
            w = np.hstack([np.diag(slopes[0]), np.diag(slopes[1])])
            covariance = w @ v[models[0] // k] @ w.T
        sizes = self.rates.sizes[:, models].T
        return PairedEstimates(
            name,
            self.measure,
            tuple(self.rates.counts.models[model_index] for model_index in models.tolist()),
            self.values[positions],
            DifferenceErrors(s.reshape(k, k), df.reshape(k, k), covariance),
            float(sizes.min()),
            self.steps[:, positions].T,
            sizes,
        )
