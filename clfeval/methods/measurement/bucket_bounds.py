"""Bounds of measures whose scores are known by bucket: what no order inside buckets can exceed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, divide
from clfeval.counts.buckets import Buckets
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import CATALOG
from clfeval.measures.logistic import log_odds
from clfeval.measures.probability import MIN_PROBABILITY, brier_of_share, log_loss_of_share
from clfeval.measures.record import Measure
from clfeval.measures.score_decomposition import recalibrated_loss
from clfeval.methods.measurement.label_measures import MeasureEstimate
from clfeval.records import dataclass

# measures that never fall when a positive moves up, or a negative down
RISING = (
    "roc_auc",
    "gini",
    "partial_auc",
    "auprg",
    "precision@k",
    "recall@k",
    "gain@k",
    "lift@k",
    "net_benefit@t",
    "net_benefit_standardised",
    "interventions_avoided",
)
SLOPE, INTERCEPT = "calibration_slope", "calibration_intercept"
IN_THE_LARGE = "calibration_in_the_large"
LINES = (SLOPE, INTERCEPT, IN_THE_LARGE)
UNCERTAINTIES = ("brier_uncertainty", "log_loss_uncertainty")
# parts that compare a loss with that of recalibrated probabilities
PARTS = {
    f"{loss}_{part}": (loss, prior)
    for loss, prior in (("brier", brier_of_share), ("log_loss", log_loss_of_share))
    for part in ("miscalibration", "discrimination")
}
SKILLS = {"brier_skill": "brier", "log_loss_skill": "log_loss"}
MARGIN = 1.02  # of distances of limits: there are more arrangements than those that are tried
ROUNDING = 1e-12  # of a sum of many terms, relative to its value
# second derivatives of losses in the probability of the true class
CURVATURES: Mapping[str, Callable[[Floats], Floats]] = {
    "brier": lambda p: np.full_like(p, 2.0),
    "brier_sum": lambda p: np.full_like(p, 4.0),
    "log_loss": lambda p: np.maximum(p, MIN_PROBABILITY) ** -2.0,
    "mean_score": np.zeros_like,
}


def bounded_value(
    measure: Measure, counts: ScoreCounts, value: float
) -> tuple[float, float] | None:
    """Return a value within its bounds, and how far it can be from that of single scores.

    None where that is unknown. value: of the grouped scores.
    """
    assert counts.buckets is not None
    groups = _ScoreGroups.from_counts(counts, counts.buckets)
    if measure.id in UNCERTAINTIES:
        return value, 0.0
    bounds = _bounds(measure, groups)
    if bounds is None or not np.isfinite(bounds).all():
        return None
    low, high = bounds
    clipped_value = min(max(value, low), high)
    if np.isinf(counts.buckets.unit).any():  # for hidden counts the middle is nearest
        clipped_value = (low + high) / 2
    largest_distance = max(high - clipped_value, clipped_value - low)
    return clipped_value, largest_distance + ROUNDING * abs(clipped_value)


def widest_limits(
    estimates: Sequence[MeasureEstimate], measure: Measure, value: float, bound: float
) -> MeasureEstimate:
    """Return a value within its bound, with limits as wide as those of any order in the groups.

    estimates: of scores arranged within the groups as far as they can lie apart; the first is that
    of the groups. The limits lie beyond the ends of the bound by the largest distance of a limit of
    an arrangement from its value, and include the limits of all arrangements.
    """
    values_and_limits = [
        (estimate.value.value, estimate.value.low, estimate.value.high) for estimate in estimates
    ]
    limited_rows = np.array([row for row in values_and_limits if None not in row], np.float64)
    interval: tuple[float | None, float | None] = (None, None)
    if len(limited_rows):
        values, lower, upper = limited_rows.T
        reach_below, reach_above = MARGIN * np.array(
            [(values - lower).max(), (upper - values).max()]
        )
        low = float(min(value - bound - reach_below, lower.min()))
        high = float(max(value + bound + reach_above, upper.max()))
        interval = (max(low, measure.low), min(high, measure.high))
    error = max(
        (estimate.error for estimate in estimates if not np.isnan(estimate.error)), default=np.nan
    )
    return estimates[0]._replace(value=Estimate(value, *interval), error=error, bound=bound)


def arranged_scores(counts: ScoreCounts) -> list[ScoreCounts]:
    """Return scores at the ends of their groups: as good, bad, low, high and wide as they can lie.

    Wide: half of the rows of a class at either end, or all at the end away from the mean score,
    which is where squares are largest. In the wide groups of hidden counts also one row far from
    all others, which is where an error has the fewest degrees of freedom.
    """
    assert counts.buckets is not None
    groups = _ScoreGroups.from_counts(counts, counts.buckets)
    positives_low, negatives_low = groups.low
    positives_high, negatives_high = groups.high
    half_counts = groups.n // 2
    arrangements = [
        groups.with_scores(positives_high, negatives_low),
        groups.with_scores(positives_low, negatives_high),
        groups.with_scores(positives_low, negatives_low),
        groups.with_scores(positives_high, negatives_high),
        groups.at_both_ends(half_counts),
        groups.at_outer_ends(),
    ]
    if np.isinf(counts.buckets.unit).any():
        arrangements += groups.with_outliers()
    return arrangements


@dataclass(frozen=True, slots=True, eq=False)
class _ScoreGroups:
    """Groups of scores of positives and of negatives, (2, m): n rows from low to high.

    mean; variance: not below the true one. error, slack: the largest error of the mean, and of the
    variance.
    """

    counts: ScoreCounts
    n: Counts
    low: Floats
    high: Floats
    mean: Floats
    variance: Floats
    error: Floats
    slack: Floats

    @classmethod
    def from_counts(cls, counts: ScoreCounts, buckets: Buckets) -> _ScoreGroups:
        n = np.array([counts.positives, counts.negatives])
        mean, variance, error = buckets.moments(n)
        slack = 8 * error * np.minimum(buckets.unit, 1.0)
        return cls(counts, n, buckets.low, buckets.high, mean, variance, error, slack)

    @property
    def disjoint(self) -> bool:
        """True if no two groups overlap."""
        low = self.low.min(axis=0)
        high = self.high.max(axis=0)
        return bool((low[1:] > high[:-1]).all())

    def extreme(self, *, best: bool) -> ScoreCounts:
        """Return the highest positives with the lowest negatives; if not best, the reverse."""
        if best:
            return self.with_scores(self.high[0], self.low[1])
        return self.with_scores(self.low[0], self.high[1])

    def with_scores(self, positive_scores: Floats, negative_scores: Floats) -> ScoreCounts:
        """Return the rows with one score for each class of a group, (m,) each."""
        return _scores_with_rows([positive_scores, negative_scores], [*self.n])

    def at_both_ends(self, low_counts: Counts) -> ScoreCounts:
        """Return the rows of each class with `low_counts` (2, m) of them at the low end."""
        end_scores = [
            np.concatenate([self.low[class_index], self.high[class_index]])
            for class_index in (0, 1)
        ]
        high_counts = self.n - low_counts
        end_counts = [
            np.concatenate([low_counts[class_index], high_counts[class_index]])
            for class_index in (0, 1)
        ]
        return _scores_with_rows(end_scores, end_counts)

    def at_outer_ends(self) -> ScoreCounts:
        """Return the rows at the end of their group that is farther from the mean of all scores."""
        centre = (self.n * np.where(self.n > 0, self.mean, 0.0)).sum() / self.n.sum()
        outer = np.where(self.mean < centre, self.low, self.high)
        return self.with_scores(outer[0], outer[1])

    def with_outliers(self) -> list[ScoreCounts]:
        """Return arrangements of one class at one end but for one row, the other at either end."""
        arrangements = []
        for class_index in (0, 1):
            widths = self.high[class_index] - self.low[class_index]
            widest_group = int(np.argmax(np.where(self.n[class_index] > 0, widths, -1)))
            outlier_counts = np.zeros_like(self.n)
            outlier_counts[class_index, widest_group] = 1
            for other_counts, class_counts in product(
                (0 * self.n, self.n), (outlier_counts, self.n - outlier_counts)
            ):
                low_counts = other_counts.copy()
                low_counts[class_index] = class_counts[class_index]
                arrangements.append(self.at_both_ends(low_counts))
        return arrangements

    def splits(self, edges: Floats) -> bool:
        """Return whether one of the edges divides a group."""
        low_bin = np.searchsorted(edges, self.low, side="right")
        high_bin = np.searchsorted(edges, self.high, side="right")
        return bool((low_bin != high_bin)[self.n > 0].any())


def _scores_with_rows(scores: Sequence[Floats], row_counts: Sequence[Counts]) -> ScoreCounts:
    """Return counts of scores of positives and of negatives, leaving out those without rows."""
    has_rows = [class_counts > 0 for class_counts in row_counts]
    positives, negatives = (
        class_counts[mask] for class_counts, mask in zip(row_counts, has_rows, strict=True)
    )
    present_scores = np.concatenate(
        [class_scores[mask] for class_scores, mask in zip(scores, has_rows, strict=True)]
    )
    no_positives = np.zeros_like(negatives)
    no_negatives = np.zeros_like(positives)
    return ScoreCounts.from_scores(
        present_scores,
        np.concatenate([positives, no_positives]),
        np.concatenate([no_negatives, negatives]),
    )


def _bounds(measure: Measure, groups: _ScoreGroups) -> tuple[float, float] | None:
    """Return the lowest and the highest value that the scores in the groups can have."""
    measure_id = measure.id
    if measure_id in RISING:
        lowest_value = _value_of_scores(measure, groups.extreme(best=False))
        return lowest_value, _value_of_scores(measure, groups.extreme(best=True))
    if measure_id == "ks":
        return _ks_bounds(groups)
    if measure_id in ("average_precision", "pr_auc"):
        if not groups.disjoint:
            return None
        return _precision_bounds(groups, trapezoids=measure_id == "pr_auc")
    if measure_id in CURVATURES:
        return _loss_bounds(measure, groups)
    if measure_id in SKILLS:
        return _skill_bounds(CATALOG[SKILLS[measure_id]], groups)
    if measure_id == "oe_ratio":
        return _ratio_bounds(groups)
    if measure_id in ("ece", "mce", "ece_debiased"):
        return _binned_error_bounds(measure, groups)
    if measure_id in PARTS:
        return _part_bounds(measure_id, groups)
    return _line_bounds(measure_id, groups) if measure_id in LINES else None


def _value_of_scores(measure: Measure, counts: ScoreCounts) -> float:
    """Return a measure of scores."""
    return float(measure.function(counts.scores, counts.positives, counts.negatives))


def _ks_bounds(groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of the largest distance of the rates."""
    worst_differences = _rates_apart(groups.extreme(best=False))
    best_differences = _rates_apart(groups.extreme(best=True))
    low = max(worst_differences.max(), (-best_differences).max(), 0.0)
    return float(low), float(max(np.abs(worst_differences).max(), np.abs(best_differences).max()))


def _skill_bounds(loss: Measure, groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of a skill, 1 less the loss over that of the prevalence."""
    positives, negatives = (float(class_counts.sum()) for class_counts in groups.n)
    prevalence = np.array([positives / (positives + negatives)])
    prevalence_loss = float(loss.function(prevalence, np.array([positives]), np.array([negatives])))
    lowest_loss, highest_loss = _loss_bounds(loss, groups)
    return 1 - highest_loss / prevalence_loss, 1 - lowest_loss / prevalence_loss


def _ratio_bounds(groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of observed over expected positives."""
    expected = (groups.n * groups.mean).sum()
    expected_error = (groups.n * groups.error).sum()
    observed = groups.n[0].sum()
    lowest_sum = (groups.n * np.where(groups.n > 0, groups.low, 0.0)).sum()
    least_expected = max(expected - expected_error, lowest_sum)
    return float(observed / (expected + expected_error)), float(divide(observed, least_expected))


def _binned_error_bounds(measure: Measure, groups: _ScoreGroups) -> tuple[float, float] | None:
    """Return the bounds of a calibration error by bins; None where an edge divides a group."""
    bin_count = getattr(measure.function, "keywords", {}).get("bins", 10)
    if groups.splits(np.arange(1, bin_count) / bin_count):
        return None
    mean_error = (groups.n * groups.error).sum() / groups.n.sum()
    largest_error = groups.error.max() if measure.id == "mce" else mean_error
    value = _value_of_scores(measure, groups.counts.probabilities)
    return value - 3 * float(largest_error), value + 3 * float(largest_error)


def _part_bounds(measure_id: str, groups: _ScoreGroups) -> tuple[float, float] | None:
    """Return the bounds of the miscalibration or discrimination of a mean loss.

    The recalibrated loss is at most that of one share for each group, which rises with the scores
    too. It is least where all negatives of a group lie below its positives.
    None where groups overlap.
    """
    if not groups.disjoint:
        return None
    loss_name, loss_of_share = PARTS[measure_id]
    group_scores = groups.low.min(axis=0)
    grouped_loss = float(recalibrated_loss(loss_of_share, group_scores, *groups.n))
    is_single_score = (groups.low.min(axis=0) == groups.high.max(axis=0))[:, None]
    split_counts = np.stack([groups.n * [[0], [1]], groups.n * [[1], [0]]], axis=-1)
    pooled_counts = np.stack([groups.n, 0 * groups.n], axis=-1)
    half_count = 2 * len(group_scores)
    ordered_scores = np.arange(half_count) / half_count  # only their order matters
    best_counts = np.where(is_single_score, pooled_counts, split_counts).reshape(2, -1)
    split_loss = float(recalibrated_loss(loss_of_share, ordered_scores, *best_counts))
    if measure_id.endswith("discrimination"):
        uncertainty = float(CATALOG[f"{loss_name}_uncertainty"].function(group_scores, *groups.n))
        return uncertainty - grouped_loss, uncertainty - split_loss
    low, high = _loss_bounds(CATALOG[loss_name], groups)
    return max(low - grouped_loss, 0.0), high - split_loss


def _rates_apart(counts: ScoreCounts) -> Floats:
    """Return the difference of the shares of positives and of negatives from each score up."""
    p, n = (class_counts[::-1].cumsum() for class_counts in (counts.positives, counts.negatives))
    return np.asarray(p / max(p[-1], 1) - n / max(n[-1], 1))


def _precision_bounds(groups: _ScoreGroups, *, trapezoids: bool) -> tuple[float, float]:
    """Return the bounds of a mean precision over positives, of groups in a known order.

    k, f: positives and negatives of each group, from high to low scores; a, b: those above it. The
    h-th positive has the precision h / (h + negatives above it): b at best, b + f at worst. Equal
    positives have the precision of the last of them, for trapezoids the mean of it and of the one
    before. So a group has at least the integral of the worst precision from a to a + k, for
    trapezoids k times the mean of its ends; at most k times the best precision at a + k, for
    trapezoids k times the mean of it and of that with b negatives.
    """
    k, f = (class_counts[::-1].astype(np.float64) for class_counts in groups.n)
    low = groups.low[:, ::-1]
    high = groups.high[:, ::-1]
    a = k.cumsum() - k
    b = f.cumsum() - f
    with np.errstate(invalid="ignore"):
        most_above = b + np.where(high[1] < low[0], 0.0, f)
        fewest_above = b + np.where(low[1] >= high[0], f, 0.0)
        upper = k * np.divide(a + k, a + k + fewest_above, out=np.zeros_like(k), where=k > 0)
        if trapezoids:
            upper = (upper + k * np.divide(a + k, a + k + b, out=np.zeros_like(k), where=k > 0)) / 2
            precision_before = np.divide(a, a + most_above, out=np.zeros_like(k), where=a > 0)
            precision_at_end = np.divide(
                a + k, a + k + most_above, out=np.zeros_like(k), where=a + k > 0
            )
            lower = k * (precision_before + precision_at_end) / 2
        else:
            log_growth = np.log1p(
                np.divide(k, a + most_above, out=np.zeros_like(k), where=a + most_above > 0)
            )
            lower = np.where(most_above > 0, k - most_above * log_growth, k)
            is_tied = groups.low[0][::-1] == groups.high[0][::-1]
            tied_lower = k * np.divide(a + k, a + k + most_above, out=np.zeros_like(k), where=k > 0)
            lower = np.where(is_tied, tied_lower, lower)
    return float(lower.sum() / k.sum()), float(upper.sum() / k.sum())


def _loss_bounds(measure: Measure, groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of the mean of a loss that is convex in the score, within each group.

    With mean m and variance v of the scores of a group its mean loss is at least g(m) + c v / 2 and
    at most g(m) + C v / 2, c and C the least and the largest second derivative there; nor above the
    chord of g. The log loss is constant, not convex, where the true class has less than
    `MIN_PROBABILITY`: a group that reaches there has any loss between those of its ends.
    """
    total = np.array(_loss_sums(measure, groups, y=True))
    total += _loss_sums(measure, groups, y=False)
    lowest, highest = (total / groups.n.sum()).tolist()
    return lowest, highest


def _loss_sums(measure: Measure, groups: _ScoreGroups, *, y: bool) -> tuple[float, float]:
    """Return the lowest and the highest sum of a loss over positives (y) or over negatives."""
    loss = measure.loss
    assert loss is not None
    class_index = 0 if y else 1
    is_present = groups.n[class_index] > 0
    n = groups.n[class_index][is_present]
    low, high, mean, error = (
        class_moments[class_index][is_present]
        for class_moments in (groups.low, groups.high, groups.mean, groups.error)
    )
    losses_at_mean = np.array(
        [loss(np.clip(mean + step, low, high), y) for step in (-error, error)]
    )
    curvatures = np.array([CURVATURES[measure.id](end if y else 1 - end) for end in (low, high)])
    least_variance = (groups.variance - groups.slack)[class_index][is_present]
    lower = losses_at_mean.min(axis=0) + curvatures.min(axis=0) * np.maximum(least_variance, 0) / 2
    losses_at_ends = np.array([loss(low, y), loss(high, y)])
    upper = losses_at_mean.max(axis=0)
    upper = upper + curvatures.max(axis=0) * groups.variance[class_index][is_present] / 2
    upper = np.minimum(
        upper, _chord(losses_at_ends, low, mean, high) + np.ptp(losses_at_mean, axis=0)
    )
    upper = np.clip(upper, losses_at_ends.min(axis=0), losses_at_ends.max(axis=0))
    if measure.id == "log_loss":
        is_constant = (low if y else 1 - high) < MIN_PROBABILITY
        lower = np.where(is_constant, losses_at_ends.min(axis=0), lower)
        upper = np.where(is_constant, losses_at_ends.max(axis=0), upper)
    return float((n * lower).sum()), float((n * upper).sum())


def _chord(losses_at_ends: Floats, low: Floats, mean: Floats, high: Floats) -> Floats:
    """Return the value at the mean of the line through the values at both ends, (2, m)."""
    high_weight = np.divide(mean - low, high - low, out=np.zeros_like(mean), where=high > low)
    return np.asarray((1 - high_weight) * losses_at_ends[0] + high_weight * losses_at_ends[1])


def _line_bounds(name: str, groups: _ScoreGroups) -> tuple[float, float] | None:
    """Return the bounds of a coefficient of the logistic regression on the log odds.

    At the estimate g from points of the same moments the gradient of the true likelihood is within
    E of 0, from the second derivatives in the score and the variance of each group. With the
    curvature H, within D of that of the points, the true coefficients are within 4 |E| of g in the
    norm of H if |E| R is at most 1/2, R the largest norm of a row.
    Source: Bach 2010, Electronic Journal of Statistics 4:384, proposition 2.
    """
    has_rows = groups.n > 0
    has_log_odds = (groups.low >= MIN_PROBABILITY) & (groups.high <= 1 - MIN_PROBABILITY)
    is_used = has_rows & has_log_odds
    overlaps_range = (groups.high >= MIN_PROBABILITY) & (groups.low <= 1 - MIN_PROBABILITY)
    intercept, slope = _fit_line(name, groups)
    if (has_rows & ~is_used & overlaps_range).any() or not np.isfinite(intercept + slope):
        return None
    terms = _LineTerms.from_groups(groups, is_used, intercept, slope)
    coefficient_count = 1 if name == IN_THE_LARGE else 2
    direction = {SLOPE: [0.0, 1.0], INTERCEPT: [1.0, -terms.centre], IN_THE_LARGE: [1.0]}[name]
    distance = _coefficient_bound(terms, coefficient_count, np.array(direction))
    if distance is None:
        return None
    value = slope if name == SLOPE else intercept
    return value - distance, value + distance


def _fit_line(name: str, groups: _ScoreGroups) -> tuple[float, float]:
    """Return intercept and slope from points of the same moments.

    Of calibration-in-the-large the slope is 1.
    """
    points = groups.counts.probabilities
    score_counts = (points.scores, points.positives, points.negatives)
    if name == IN_THE_LARGE:
        return float(CATALOG[name].function(*score_counts)), 1.0
    intercept, slope = (
        float(CATALOG[coefficient].function(*score_counts)) for coefficient in (INTERCEPT, SLOPE)
    )
    return intercept, slope


@dataclass(frozen=True, slots=True, eq=False)
class _LineTerms:
    """What the m groups of a logistic regression on the log odds contribute, (m,) each.

    n, variance, error: those of `_ScoreGroups`. steepness: the largest derivative of the log odds
    in the score. span: the difference of the log odds of both ends.
    weight: the largest mu (1 - mu) in the group, mu the probability of the line; curvature: that at
    the mean score. residual: the largest |y - mu|. From the weighted mean of all, `centre`, the log
    odds of the mean score lie `offset`, and those of the farther end `reach`.
    """

    slope: float
    centre: float
    n: Counts
    variance: Floats
    error: Floats
    steepness: Floats
    span: Floats
    weight: Floats
    curvature: Floats
    residual: Floats
    offset: Floats
    reach: Floats

    @classmethod
    def from_groups(
        cls, groups: _ScoreGroups, is_used: Bools, intercept: float, slope: float
    ) -> _LineTerms:
        """Compute the terms of the groups that are used, (2, groups), of both classes."""
        n = groups.n[is_used]
        y = np.broadcast_to([[1.0], [0.0]], groups.n.shape)[is_used]
        group_ends = [scores[is_used] for scores in (groups.low, groups.high)]
        low, high = (log_odds(scores) for scores in group_ends)
        mean_log_odds = log_odds(groups.mean[is_used])
        mu_low, mu_high, mu = (
            1 / (1 + np.exp(-(intercept + slope * x))) for x in (low, high, mean_log_odds)
        )
        includes_half = (mu_low - 0.5) * (mu_high - 0.5) <= 0
        larger_end_weight = np.maximum(mu_low * (1 - mu_low), mu_high * (1 - mu_high))
        weight = np.where(includes_half, 0.25, larger_end_weight)
        centre = float((n * weight * mean_log_odds).sum() / (n * weight).sum())
        return cls(
            slope,
            centre,
            n,
            groups.variance[is_used],
            groups.error[is_used],
            steepness=1 / np.minimum(*(scores * (1 - scores) for scores in group_ends)),
            span=high - low,
            weight=weight,
            curvature=mu * (1 - mu),
            residual=np.maximum(np.abs(y - mu_low), np.abs(y - mu_high)),
            offset=mean_log_odds - centre,
            reach=np.maximum(np.abs(low - centre), np.abs(high - centre)),
        )

    def gradient_bounds(self) -> Floats:
        """Return the bounds E of the gradient for intercept and slope, (2,)."""
        slope, w = self.slope, self.weight
        # derivatives of (y - mu) and of (y - mu) z in the log odds, then in the score
        first_derivatives = [abs(slope) * w, abs(slope) * w * self.reach + self.residual]
        second_derivatives = [
            slope * slope * w,
            slope * slope * w * self.reach + 2 * abs(slope) * w,
        ]
        bounds: list[Floats] = []
        for first_derivative, second_derivative in zip(
            first_derivatives, second_derivatives, strict=True
        ):
            variance_term = (
                second_derivative * self.steepness**2 + first_derivative * self.steepness**2
            ) * self.variance
            error_term = first_derivative * self.steepness * 2 * self.error
            bounds.append((self.n * (variance_term + error_term)).sum())
        return np.array(bounds)

    def curvature_matrix(self) -> Floats:
        """Return the curvature H of the likelihood at the points, (2, 2)."""
        moments = [(self.n * self.curvature * self.offset**k).sum() for k in (0, 1, 2)]
        return _moment_matrix(moments)

    def curvature_changes(self) -> Floats:
        """Return how far the curvature of the rows can be from that of the points, D, (2, 2)."""
        weighted_spans = self.n * self.span
        moments = [
            (
                weighted_spans * abs(self.slope) * self.weight * self.reach**k
                + k * weighted_spans * self.weight * self.reach ** max(k - 1, 0)
            ).sum()
            for k in (0, 1, 2)
        ]
        return _moment_matrix(moments)


def _moment_matrix(moments: Sequence[Floats]) -> Floats:
    """Return the matrix of the moments 0, 1 and 2 of a line."""
    return np.array([[moments[0], moments[1]], [moments[1], moments[2]]])


def _coefficient_bound(
    terms: _LineTerms, coefficient_count: int, direction: Floats
) -> float | None:
    """Return how far the coefficients can be in a direction; None where that is unknown.

    coefficient_count: 1, the intercept, or 2, the slope too; direction (coefficients,).
    """
    curvature = terms.curvature_matrix()[:coefficient_count, :coefficient_count]
    curvature_changes = terms.curvature_changes()[:coefficient_count, :coefficient_count]
    inverse = np.linalg.inv(curvature)
    coefficient_errors = np.sqrt(np.diag(inverse))
    # eta is how far the curvature can change, relative to the curvature itself
    eta = float(coefficient_errors @ curvature_changes @ coefficient_errors)
    gradient = terms.gradient_bounds()[:coefficient_count]
    distance = float(np.sqrt(gradient @ np.abs(inverse) @ gradient))
    design_rows = np.array([np.ones_like(terms.reach), terms.reach])[:coefficient_count]
    largest_row = float(np.sqrt((design_rows * (np.abs(inverse) @ design_rows)).sum(axis=0).max()))
    if not eta < 0.5 or distance * largest_row > 0.5 * (1 - eta):
        return None
    return 4 * distance / (1 - eta) * float(np.sqrt(direction @ inverse @ direction))
