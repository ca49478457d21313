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

    None where that is unknown.
    """
    assert counts.buckets is not None
    groups = _ScoreGroups.from_counts(counts, counts.buckets)
    if measure.id in UNCERTAINTIES:
        return value, 0.0
    bounds = _bounds(measure, groups)
    if bounds is None or not np.isfinite(bounds).all():
        return None
    low, high = bounds
    value = min(max(value, low), high)
    if np.isinf(counts.buckets.unit).any():  # of hidden counts nothing is nearer than the middle
        value = (low + high) / 2
    return value, max(high - value, value - low) + ROUNDING * abs(value)


def widest_limits(
    estimates: Sequence[MeasureEstimate], measure: Measure, value: float, bound: float
) -> MeasureEstimate:
    """Return a value within its bound, with limits as wide as those of any order in the groups.

    estimates: of scores arranged within the groups as far as they can lie apart; the first is that
    of the groups. From the ends of the bound the limits are as far as the farthest of an
    arrangement from its value, and no nearer than any limit of an arrangement.
    """
    limits = [
        (estimate.value.value, estimate.value.low, estimate.value.high) for estimate in estimates
    ]
    limited = np.array([row for row in limits if None not in row], np.float64)
    interval: tuple[float | None, float | None] = (None, None)
    if len(limited):
        values, lower, upper = limited.T
        reach = MARGIN * np.array([(values - lower).max(), (upper - values).max()])
        low = float(min(value - bound - reach[0], lower.min()))
        high = float(max(value + bound + reach[1], upper.max()))
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
    low, high = groups.low, groups.high
    half = groups.n // 2
    arranged = [
        groups.with_scores(high[0], low[1]),
        groups.with_scores(low[0], high[1]),
        groups.with_scores(low[0], low[1]),
        groups.with_scores(high[0], high[1]),
        groups.at_both_ends(half),
        groups.at_outer_ends(),
    ]
    if np.isinf(counts.buckets.unit).any():
        arranged += groups.with_outliers()
    return arranged


@dataclass(frozen=True, slots=True, eq=False)
class _ScoreGroups:
    """Groups of scores: n, low, high, mean, variance (not below the true one), and error, (2, m).

    error, slack: the largest error of the mean, and of the variance.
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
        """Return the scores with positives as high and negatives as low as they can be, or v.v."""
        if best:
            return self.with_scores(self.high[0], self.low[1])
        return self.with_scores(self.low[0], self.high[1])

    def with_scores(self, positive_scores: Floats, negative_scores: Floats) -> ScoreCounts:
        """Return the rows with one score for each class of a group, (m,) each."""
        return _scores_with_rows([positive_scores, negative_scores], [*self.n])

    def at_both_ends(self, low_rows: Counts) -> ScoreCounts:
        """Return the rows of each class with `low_rows` (2, m) of them at the low end."""
        scores = [np.concatenate([self.low[side], self.high[side]]) for side in (0, 1)]
        high_rows = self.n - low_rows
        rows = [np.concatenate([low_rows[side], high_rows[side]]) for side in (0, 1)]
        return _scores_with_rows(scores, rows)

    def at_outer_ends(self) -> ScoreCounts:
        """Return the rows at the end of their group that is farther from the mean of all scores."""
        centre = (self.n * np.where(self.n > 0, self.mean, 0.0)).sum() / self.n.sum()
        outer = np.where(self.mean < centre, self.low, self.high)
        return self.with_scores(outer[0], outer[1])

    def with_outliers(self) -> list[ScoreCounts]:
        """Return rows of one class at one end but for one row, and the others at either end."""
        arranged = []
        for side in (0, 1):
            group = int(np.argmax(np.where(self.n[side] > 0, self.high[side] - self.low[side], -1)))
            alone = np.zeros_like(self.n)
            alone[side, group] = 1
            for other_rows, rows in product((0 * self.n, self.n), (alone, self.n - alone)):
                low_rows = other_rows.copy()
                low_rows[side] = rows[side]
                arranged.append(self.at_both_ends(low_rows))
        return arranged

    def splits(self, edge: Floats) -> bool:
        """Return whether an edge divides a group."""
        first = np.searchsorted(edge, self.low, side="right")
        last = np.searchsorted(edge, self.high, side="right")
        return bool((first != last)[self.n > 0].any())


def _scores_with_rows(scores: Sequence[Floats], rows: Sequence[Counts]) -> ScoreCounts:
    """Return counts of scores of positives and of negatives, leaving out those without rows."""
    used = [n > 0 for n in rows]
    positives, negatives = (n[mask] for n, mask in zip(rows, used, strict=True))
    values = np.concatenate([x[mask] for x, mask in zip(scores, used, strict=True)])
    no_positives = np.zeros_like(negatives)
    no_negatives = np.zeros_like(positives)
    return ScoreCounts.from_scores(
        values, np.concatenate([positives, no_positives]), np.concatenate([no_negatives, negatives])
    )


def _bounds(measure: Measure, groups: _ScoreGroups) -> tuple[float, float] | None:
    """Return the lowest and the highest value that the scores in the groups can have."""
    name = measure.id
    if name in RISING:
        worst = _value_of_scores(measure, groups.extreme(best=False))
        return worst, _value_of_scores(measure, groups.extreme(best=True))
    if name == "ks":
        return _ks_bounds(groups)
    if name in ("average_precision", "pr_auc"):
        return _precision_bounds(groups, halves=name == "pr_auc") if groups.disjoint else None
    if name in CURVATURES:
        return _loss_bounds(measure, groups)
    if name in SKILLS:
        return _skill_bounds(CATALOG[SKILLS[name]], groups)
    if name == "oe_ratio":
        return _ratio_bounds(groups)
    if name in ("ece", "mce", "ece_debiased"):
        return _binned_error_bounds(measure, groups)
    if name in PARTS:
        return _part_bounds(name, groups)
    return _line_bounds(name, groups) if name in LINES else None


def _value_of_scores(measure: Measure, counts: ScoreCounts) -> float:
    """Return a measure of scores."""
    return float(measure.function(counts.scores, counts.positives, counts.negatives))


def _ks_bounds(groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of the largest distance of the rates."""
    at_worst = _rates_apart(groups.extreme(best=False))
    at_best = _rates_apart(groups.extreme(best=True))
    low = max(at_worst.max(), (-at_best).max(), 0.0)
    return float(low), float(max(np.abs(at_worst).max(), np.abs(at_best).max()))


def _skill_bounds(loss: Measure, groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of a skill, 1 less the loss over that of the prevalence."""
    p, n = (float(rows.sum()) for rows in groups.n)
    prior = float(loss.function(np.array([p / (p + n)]), np.array([p]), np.array([n])))
    lowest_loss, highest_loss = _loss_bounds(loss, groups)
    return 1 - highest_loss / prior, 1 - lowest_loss / prior


def _ratio_bounds(groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of observed over expected positives."""
    expected = (groups.n * groups.mean).sum()
    error = (groups.n * groups.error).sum()
    observed = groups.n[0].sum()
    smallest = (groups.n * np.where(groups.n > 0, groups.low, 0.0)).sum()
    fewest = max(expected - error, smallest)
    return float(observed / (expected + error)), float(divide(observed, fewest))


def _binned_error_bounds(measure: Measure, groups: _ScoreGroups) -> tuple[float, float] | None:
    """Return the bounds of a calibration error by bins; None where an edge divides a group."""
    bins = getattr(measure.function, "keywords", {}).get("bins", 10)
    if groups.splits(np.arange(1, bins) / bins):
        return None
    mean_error = (groups.n * groups.error).sum() / groups.n.sum()
    error = groups.error.max() if measure.id == "mce" else mean_error
    value = _value_of_scores(measure, groups.counts.probabilities)
    return value - 3 * float(error), value + 3 * float(error)


def _part_bounds(name: str, groups: _ScoreGroups) -> tuple[float, float] | None:
    """Return the bounds of the miscalibration or discrimination of a mean loss.

    The recalibrated loss is at most that of one share for each group, which rises with the scores
    too. It is least where all negatives of a group lie below its positives.
    None where groups overlap.
    """
    if not groups.disjoint:
        return None
    loss, prior = PARTS[name]
    middle = groups.low.min(axis=0)
    grouped_loss = float(recalibrated_loss(prior, middle, *groups.n))
    single = (groups.low.min(axis=0) == groups.high.max(axis=0))[:, None]
    split = np.stack([groups.n * [[0], [1]], groups.n * [[1], [0]]], axis=-1)
    pooled = np.stack([groups.n, 0 * groups.n], axis=-1)
    places = np.arange(2 * len(middle)) / (2 * len(middle))  # only their order matters
    arranged = np.where(single, pooled, split).reshape(2, -1)
    split_loss = float(recalibrated_loss(prior, places, *arranged))
    if name.endswith("discrimination"):
        constant = float(CATALOG[f"{loss}_uncertainty"].function(middle, *groups.n))
        return constant - grouped_loss, constant - split_loss
    low, high = _loss_bounds(CATALOG[loss], groups)
    return max(low - grouped_loss, 0.0), high - split_loss


def _rates_apart(counts: ScoreCounts) -> Floats:
    """Return the difference of the shares of positives and of negatives from each score up."""
    p, n = (part[::-1].cumsum() for part in (counts.positives, counts.negatives))
    return np.asarray(p / max(p[-1], 1) - n / max(n[-1], 1))


def _precision_bounds(groups: _ScoreGroups, *, halves: bool) -> tuple[float, float]:
    """Return the bounds of a mean precision over positives, of groups in a known order.

    Of the h-th positive the precision is h / (h + f), f negatives above it: as many as lie above
    its group at the best, those of its group too at the worst, from low to high scores. Equal
    positives have the precision of the last of them, for trapezoids the mean of it and of the one
    before, so that a group of k after a has between the integral of the worst precision from a to
    a + k, for trapezoids less the mean of both ends, and k times the best at a + k,
    for trapezoids less that of the negatives above the group and the best.
    """
    k, f = (rows[::-1].astype(np.float64) for rows in groups.n)
    low = groups.low[:, ::-1]
    high = groups.high[:, ::-1]
    a = k.cumsum() - k
    b = f.cumsum() - f
    with np.errstate(invalid="ignore"):
        worst = b + np.where(high[1] < low[0], 0.0, f)
        best = b + np.where(low[1] >= high[0], f, 0.0)
        top = k * np.divide(a + k, a + k + best, out=np.zeros_like(k), where=k > 0)
        if halves:
            top = (top + k * np.divide(a + k, a + k + b, out=np.zeros_like(k), where=k > 0)) / 2
            first = np.divide(a, a + worst, out=np.zeros_like(k), where=a > 0)
            last = np.divide(a + k, a + k + worst, out=np.zeros_like(k), where=a + k > 0)
            bottom = k * (first + last) / 2
        else:
            log = np.log1p(np.divide(k, a + worst, out=np.zeros_like(k), where=a + worst > 0))
            bottom = np.where(worst > 0, k - worst * log, k)
            tied = groups.low[0][::-1] == groups.high[0][::-1]
            of_tied = k * np.divide(a + k, a + k + worst, out=np.zeros_like(k), where=k > 0)
            bottom = np.where(tied, of_tied, bottom)
    return float(bottom.sum() / k.sum()), float(top.sum() / k.sum())


def _loss_bounds(measure: Measure, groups: _ScoreGroups) -> tuple[float, float]:
    """Return the bounds of the mean of a loss that is convex in the score, within each group.

    With mean m and variance v of the scores of a group its mean loss is at least g(m) + c v / 2 and
    at most g(m) + C v / 2, c and C the least and the largest second derivative there; nor above the
    chord of g.
    """
    total = np.array(_loss_sums(measure, groups, y=True))
    total += _loss_sums(measure, groups, y=False)
    lowest, highest = (total / groups.n.sum()).tolist()
    return lowest, highest


def _loss_sums(measure: Measure, groups: _ScoreGroups, *, y: bool) -> tuple[float, float]:
    """Return the lowest and the highest sum of a loss over the rows of a class."""
    loss = measure.loss
    assert loss is not None
    i = 0 if y else 1
    is_present = groups.n[i] > 0
    low, high, mean, error = (
        moment[i][is_present] for moment in (groups.low, groups.high, groups.mean, groups.error)
    )
    at_mean = np.array([loss(np.clip(mean + step, low, high), y) for step in (-error, error)])
    curvatures = np.array([CURVATURES[measure.id](end if y else 1 - end) for end in (low, high)])
    variance = (groups.variance - groups.slack)[i][is_present]
    lower = at_mean.min(axis=0) + curvatures.min(axis=0) * np.maximum(variance, 0) / 2
    at_ends = np.array([loss(low, y), loss(high, y)])
    chord = _chord(at_ends, low, mean, high) + np.abs(at_mean - at_mean[::-1]).max(axis=0)
    variance = groups.variance[i][is_present]
    upper = np.minimum(at_mean.max(axis=0) + curvatures.max(axis=0) * variance / 2, chord)
    upper = np.clip(upper, at_ends.min(axis=0), at_ends.max(axis=0))
    n = groups.n[i][is_present]
    return float((n * lower).sum()), float((n * upper).sum())


def _chord(at_ends: Floats, low: Floats, mean: Floats, high: Floats) -> Floats:
    """Return the value at the mean of the line through the values at both ends, (2, m)."""
    share = np.divide(mean - low, high - low, out=np.zeros_like(mean), where=high > low)
    return np.asarray((1 - share) * at_ends[0] + share * at_ends[1])


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
    meets_range = (groups.high >= MIN_PROBABILITY) & (groups.low <= 1 - MIN_PROBABILITY)
    intercept, slope = _fit_line(name, groups)
    if (has_rows & ~is_used & meets_range).any() or not np.isfinite(intercept + slope):
        return None
    terms = _LineTerms.from_groups(groups, is_used, intercept, slope)
    coefficients = 1 if name == IN_THE_LARGE else 2
    direction = {SLOPE: [0.0, 1.0], INTERCEPT: [1.0, -terms.centre], IN_THE_LARGE: [1.0]}[name]
    step = _coefficient_bound(terms, coefficients, np.array(direction))
    if step is None:
        return None
    value = slope if name == SLOPE else intercept
    return value - step, value + step


def _fit_line(name: str, groups: _ScoreGroups) -> tuple[float, float]:
    """Return intercept and slope from points of the same moments.

    Of calibration-in-the-large the slope is 1.
    """
    points = groups.counts.probabilities
    parts = (points.scores, points.positives, points.negatives)
    if name == IN_THE_LARGE:
        return float(CATALOG[name].function(*parts)), 1.0
    intercept, slope = (float(CATALOG[line].function(*parts)) for line in (INTERCEPT, SLOPE))
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
        limits = [scores[is_used] for scores in (groups.low, groups.high)]
        low, high = (log_odds(scores) for scores in limits)
        middle = log_odds(groups.mean[is_used])
        mu_low, mu_high, mu = (
            1 / (1 + np.exp(-(intercept + slope * x))) for x in (low, high, middle)
        )
        crosses_half = (mu_low - 0.5) * (mu_high - 0.5) <= 0
        end_weight = np.maximum(mu_low * (1 - mu_low), mu_high * (1 - mu_high))
        weight = np.where(crosses_half, 0.25, end_weight)
        centre = float((n * weight * middle).sum() / (n * weight).sum())
        return cls(
            slope,
            centre,
            n,
            groups.variance[is_used],
            groups.error[is_used],
            steepness=1 / np.minimum(*(scores * (1 - scores) for scores in limits)),
            span=high - low,
            weight=weight,
            curvature=mu * (1 - mu),
            residual=np.maximum(np.abs(y - mu_low), np.abs(y - mu_high)),
            offset=middle - centre,
            reach=np.maximum(np.abs(low - centre), np.abs(high - centre)),
        )

    def gradient_bounds(self) -> Floats:
        """Return the bounds E of the gradient for intercept and slope, (2,)."""
        slope, w = self.slope, self.weight
        # derivatives of (y - mu) and of (y - mu) z in the log odds, then in the score
        first = [abs(slope) * w, abs(slope) * w * self.reach + self.residual]
        second = [slope * slope * w, slope * slope * w * self.reach + 2 * abs(slope) * w]
        bounds: list[Floats] = []
        for once, twice in zip(first, second, strict=True):
            bend = (twice * self.steepness**2 + once * self.steepness**2) * self.variance
            bounds.append((self.n * (bend + once * self.steepness * 2 * self.error)).sum())
        return np.array(bounds)

    def curvature_matrix(self) -> Floats:
        """Return the curvature H of the likelihood at the points, (2, 2)."""
        moments = [(self.n * self.curvature * self.offset**k).sum() for k in (0, 1, 2)]
        return _moment_matrix(moments)

    def curvature_changes(self) -> Floats:
        """Return how far the curvature of the rows can be from that of the points, D, (2, 2)."""
        wide = self.n * self.span
        moments = [
            (
                wide * abs(self.slope) * self.weight * self.reach**k
                + k * wide * self.weight * self.reach ** max(k - 1, 0)
            ).sum()
            for k in (0, 1, 2)
        ]
        return _moment_matrix(moments)


def _moment_matrix(moments: Sequence[Floats]) -> Floats:
    """Return the matrix of the moments 0, 1 and 2 of a line."""
    return np.array([[moments[0], moments[1]], [moments[1], moments[2]]])


def _coefficient_bound(terms: _LineTerms, coefficients: int, direction: Floats) -> float | None:
    """Return how far the coefficients can be in a direction; None where that is unknown.

    coefficients: 1, the intercept, or 2, the slope too; direction (coefficients,).
    """
    curvature = terms.curvature_matrix()[:coefficients, :coefficients]
    changes = terms.curvature_changes()[:coefficients, :coefficients]
    inverse = np.linalg.inv(curvature)
    spans = np.sqrt(np.diag(inverse))
    eta = float(spans @ changes @ spans)
    gradient = terms.gradient_bounds()[:coefficients]
    distance = float(np.sqrt(gradient @ np.abs(inverse) @ gradient))
    rows = np.array([np.ones_like(terms.reach), terms.reach])[:coefficients]
    largest_row = float(np.sqrt((rows * (np.abs(inverse) @ rows)).sum(axis=0).max()))
    if not eta < 0.5 or distance * largest_row > 0.5 * (1 - eta):
        return None
    return 4 * distance / (1 - eta) * float(np.sqrt(direction @ inverse @ direction))
