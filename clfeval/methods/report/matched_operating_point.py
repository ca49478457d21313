"""Scored models at the operating point of a reference that has labels only.

At equal specificity models are tested; at an equal number of flagged rows they are described.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.compare.change import Change, DifferenceErrors, errors_of_rows
from clfeval.compare.families import EVERY, adjusted_family, family_pairs
from clfeval.compare.paired_estimates import PairedEstimates, PairLimits
from clfeval.counts.patterns import ConfusionCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import ScoredRows, StoredScores
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row, Rows, as_row
from clfeval.inference.distributions import student_quantile
from clfeval.inference.influence_and_clusters import measure_difference
from clfeval.measures.catalog import CATALOG
from clfeval.methods.curves import RocPoints, roc_points
from clfeval.methods.measurement.label_measures import effective_class_sizes
from clfeval.methods.report.options import ReportOptions
from clfeval.records import dataclass

TABLE, MEASURE = "same_specificity", "sensitivity"
FEWEST = 5  # negatives of the reference on each side of its operating point, and clusters
SQUARE_AND_ADD = "square-and-add through the ROC curve, t"
FEW_NEGATIVES = f"none: the reference has fewer than {FEWEST} false positives or true negatives"
FEW_CLUSTERS = f"none: a class has fewer than {FEWEST} clusters"
BUCKETS = "none: scores are counted in buckets, not one by one"
NO_ROWS = "none: counts do not show which rows the labels and the scores share"


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The 2 x 2 table of a reference with labels, in units of weight."""

    name: str
    tp: float
    fp: float
    positives: float
    negatives: float

    @classmethod
    def from_confusions(cls, confusions: ConfusionCounts, name: str) -> LabelCounts:
        """Build from the counts of all models."""
        model_index = confusions.models.index(name)
        counts_by_model = (confusions.tp, confusions.fp, confusions.positives, confusions.negatives)
        return cls(name, *(float(counts[model_index]) for counts in counts_by_model))

    @property
    def sensitivity(self) -> float:
        """Share of positives that are predicted positive."""
        return self.tp / self.positives

    @property
    def specificity(self) -> float:
        """Share of negatives that are predicted negative."""
        return 1 - self.fp / self.negatives


@dataclass(frozen=True, slots=True, eq=False)
class MatchedCurve:
    """The ROC curve of a model, and where it has as many false positives as a reference.

    point_index: of the last of its `points` with at most as many false positives. step_share: how
    much of the step to the next point reaches their number, 0 to below 1.
    """

    model: str
    reference: LabelCounts
    points: RocPoints
    point_index: int
    step_share: float

    @classmethod
    def from_counts(cls, model: str, counts: ScoreCounts, reference: LabelCounts) -> MatchedCurve:
        """Find the false positives of the reference on the curve of a model."""
        points = roc_points(counts)
        point_index = int(np.searchsorted(points.fp, reference.fp, side="right")) - 1
        step_share = 0.0
        if point_index + 1 < len(points.fp):
            false_positive_step = float(points.fp[point_index + 1] - points.fp[point_index])
            step_share = (reference.fp - float(points.fp[point_index])) / false_positive_step
        return cls(model, reference, points, point_index, step_share)

    def sensitivity_at(self, fpr: float) -> float:
        """Return the sensitivity of the interpolated curve at a false positive rate.

        Of points with the same rate it is the highest one.
        """
        false_positives = fpr * self.reference.negatives
        true_positives = np.interp(false_positives, self.points.fp, self.points.tp)
        return float(true_positives) / self.reference.positives

    @property
    def sensitivity(self) -> float:
        """The sensitivity at the specificity of the reference."""
        true_positives = np.interp(self.reference.fp, self.points.fp, self.points.tp)
        return float(true_positives) / self.reference.positives

    @property
    def difference(self) -> float:
        """The sensitivity minus that of the reference."""
        return self.sensitivity - self.reference.sensitivity

    @property
    def sensitivity_at_flagged(self) -> float:
        """The sensitivity where as many rows are flagged as by the reference."""
        flagged = self.reference.tp + self.reference.fp
        true_positives = np.interp(flagged, self.points.tp + self.points.fp, self.points.tp)
        return float(true_positives) / self.reference.positives

    @property
    def threshold(self) -> float | None:
        """The lowest score from which on no more negatives are flagged; None without any."""
        threshold = float(self.points.thresholds[self.point_index])
        return threshold if isfinite(threshold) else None

    @property
    def rates_at_threshold(self) -> tuple[float, float]:
        """Sensitivity and specificity at the threshold."""
        false_positive_rate = float(self.points.fp[self.point_index]) / self.reference.negatives
        true_positives = float(self.points.tp[self.point_index])
        return true_positives / self.reference.positives, 1 - false_positive_rate

    def votes(self, scores: Floats) -> Floats:
        """Return the share of each row that is predicted positive at the interpolated point."""
        positive_shares = np.zeros(len(scores))
        if self.point_index:
            positive_shares[scores >= self.points.thresholds[self.point_index]] = 1.0
        if self.step_share:
            positive_shares[scores == self.points.thresholds[self.point_index + 1]] = (
                self.step_share
            )
        return positive_shares


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedClasses:
    """The rows of both classes with their weights, clusters (or None), and effective sizes.

    owners: the cluster of each row. sampling: weights are sampling weights.
    sizes (2,): effective rows or clusters of negatives and of positives.
    """

    truth: Bools
    weights: Counts | None
    owners: Ints | None
    sampling: bool
    sizes: Floats

    @classmethod
    def from_rows(cls, rows: ScoredRows, sizes: Floats) -> EvaluatedClasses:
        """Take what the errors of differences need."""
        return cls(rows.truth, rows.weights, rows.owners, rows.weighed, sizes)

    @property
    def fewest(self) -> float:
        """The effective rows, or clusters, of the smaller class."""
        return float(self.sizes.min())

    @property
    def mean_weight(self) -> float:
        """The weight of one row more, where rows are sampled by weight or in clusters."""
        if self.weights is None or not (self.sampling or self.owners is not None):
            return 1.0
        return float(self.weights.mean())

    def effective_rows(self, in_subset: Bools) -> float:
        """Return how many rows a mask (n,) selects; of sampling weights Kish's effective number."""
        if self.weights is None:
            return float(in_subset.sum())
        weights = self.weights[in_subset].astype(np.float64)
        if not self.sampling:
            return float(weights.sum())
        return float(weights.sum() ** 2 / max((weights**2).sum(), 1.0))

    def errors(self, influence: Sequence[Floats]) -> DifferenceErrors:
        """Return the errors of estimates from the influence of rows, one (n,) of each."""
        return errors_of_rows(
            influence, self.weights, self.owners, sampling=self.sampling, fewest=self.fewest
        )


@dataclass(frozen=True, slots=True, eq=False)
class ClassInfluence:
    """The influence of positives on a difference, and of negatives on the false positive rate.

    positives, negatives (n,): 0 for rows of the other class. Their sum, with negatives times the
    slope of the ROC curve, is the influence on the difference at equal specificity.
    """

    positives: Floats
    negatives: Floats
    differs: bool

    @classmethod
    def from_votes(
        cls, curve: MatchedCurve, rows: EvaluatedClasses, votes: Floats, reference_labels: Bools
    ) -> ClassInfluence:
        """Build from the votes of the model, 0 to 1, and the labels of the reference, (n,) each."""
        reference = curve.reference
        row_total = reference.positives + reference.negatives
        discordance = votes - reference_labels
        centred_discordance = (discordance - curve.difference) * (row_total / reference.positives)
        positives = np.where(rows.truth, centred_discordance, 0.0)
        negatives = np.where(rows.truth, 0.0, -discordance * (row_total / reference.negatives))
        return cls(positives, negatives, bool(discordance.any()))


def label_reference_pairs(
    predictions: PredictionCounts, options: ReportOptions
) -> list[tuple[str, str]]:
    """Return the pairs of a model with scores and a named reference that has labels only.

    None over runs, which may repeat rows.
    """
    reference = options.reference
    if reference is None or reference in EVERY or options.runs:
        return []
    kind_by_model = {model.name: model.kind for model in predictions.models}
    model_names = list(kind_by_model)
    pairs = [(model_names[i], model_names[j]) for i, j in family_pairs(reference, model_names)]
    return [
        (model, label_model)
        for model, label_model in pairs
        if kind_by_model[model] != "label" and kind_by_model[label_model] == "label"
    ]


def same_specificity_table(
    predictions: PredictionCounts,
    confusions: ConfusionCounts,
    scored_rows: ScoredRows,
    options: ReportOptions,
) -> dict[str, Rows]:
    """Return the table of models at the specificity of a reference; none without one."""
    rows = same_specificity_rows(predictions, confusions, scored_rows, options)
    return {TABLE: rows} if rows else {}


def same_specificity_rows(
    predictions: PredictionCounts,
    confusions: ConfusionCounts,
    scored_rows: ScoredRows,
    options: ReportOptions,
) -> list[Row]:
    """Return the differences in sensitivity at the specificity of a reference with labels.

    One row for each model with scores: values only where counts do not show the rows.
    """
    pairs = label_reference_pairs(predictions, options)
    if not pairs or not (confusions.positives.all() and confusions.negatives.all()):
        return []
    score_indices = {predictions.models[i].name: j for j, i in enumerate(scored_rows.models)}
    references = {name: LabelCounts.from_confusions(confusions, name) for _, name in pairs}

    def match_curve(pair: tuple[str, str]) -> MatchedCurve:
        model, reference = pair
        counts, _ = scored_rows.ranked(score_indices[model])
        return MatchedCurve.from_counts(model, counts, references[reference])

    curves = list(scored_rows.map_parts(match_curve, pairs))
    if isinstance(scored_rows, StoredScores):
        reason = BUCKETS if predictions.stored is None else NO_ROWS
        return [_untested_row(curve, confusions.unit, reason) for curve in curves]
    classes = EvaluatedClasses.from_rows(
        scored_rows, effective_class_sizes(predictions.patterns, 2)
    )
    scores = {model: scored_rows.scores[score_indices[model]] for model, _ in pairs}
    estimates = matched_estimates(curves, classes, scores, scored_rows.labels, options.level)
    return _tested_rows(curves, estimates, confusions.unit, options)


def _tested_rows(
    curves: Sequence[MatchedCurve], estimates: PairedEstimates, unit: float, options: ReportOptions
) -> list[Row]:
    """Return the rows of the table, adjusted for all models with scores."""
    model_indices = {name: i for i, name in enumerate(estimates.models)}
    pairs = [(model_indices[curve.model], model_indices[curve.reference.name]) for curve in curves]
    family = adjusted_family(estimates, pairs, level=options.level, seed=options.seed)
    assert family is not None
    assert estimates.limits is not None
    rows = list[Row]()
    for curve, change, pair in zip(curves, family.changes(), family.pairs, strict=True):
        method = estimates.limits.method[pair]
        if method == SQUARE_AND_ADD:
            method = estimates.method(*pair, wide=False)
        rows.append(_curve_row(curve, unit, change, method, options.level))
    return rows


def _untested_row(curve: MatchedCurve, unit: float, reason: str) -> Row:
    """Return the row of a model without an interval."""
    reference = curve.reference
    change = Change(
        Estimate(reference.sensitivity), Estimate(curve.sensitivity), Estimate(curve.difference)
    )
    fewest_negatives = min(reference.fp, reference.negatives - reference.fp)
    is_defined = from_units(fewest_negatives, unit) >= FEWEST
    return _curve_row(curve, unit, change, reason if is_defined else FEW_NEGATIVES)


def _curve_row(
    curve: MatchedCurve, unit: float, change: Change, method: str, level: float = 0.95
) -> Row:
    """Return the row of a model in the table `same_specificity`; change: from the reference."""
    reference = curve.reference
    is_undefined = method == FEW_NEGATIVES
    sensitivity_at_threshold, specificity_at_threshold = curve.rates_at_threshold
    sensitivity_at_flagged = curve.sensitivity_at_flagged
    flagged_count = int(reference.tp + reference.fp)
    if is_undefined:
        undefined = Estimate(None, reason="too_few_rows")
        change = Change(undefined, undefined, undefined)
    return as_row(
        {
            "model": curve.model,
            "reference": reference.name,
            "specificity": reference.specificity,
            "sensitivity": None if is_undefined else curve.sensitivity,
            "reference_sensitivity": reference.sensitivity,
            "difference": change.difference,
            "p": change.p,
            "p_adjusted": change.adjusted,
            "difference_adjusted": change.simultaneous or change.difference,
            "verdict": change.verdict(MEASURE, level),
            "method": method,
            "threshold": curve.threshold,
            "threshold_sensitivity": sensitivity_at_threshold,
            "threshold_specificity": specificity_at_threshold,
            "flagged": from_units(flagged_count, unit),
            "flagged_sensitivity": sensitivity_at_flagged,
            "flagged_difference": sensitivity_at_flagged - reference.sensitivity,
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class MatchedPairs:
    """The pairs of a model and its reference, with models before references in all arrays."""

    curves: Sequence[MatchedCurve]

    @property
    def references(self) -> Mapping[str, LabelCounts]:
        """The references by name."""
        return {curve.reference.name: curve.reference for curve in self.curves}

    @property
    def names(self) -> tuple[str, ...]:
        """The models, then the references."""
        return (*(curve.model for curve in self.curves), *self.references)

    @property
    def pair_indices(self) -> tuple[Ints, Ints]:
        """The indices in `names` of the models and of their references, (k,) each."""
        reference_indices = [self.names.index(curve.reference.name) for curve in self.curves]
        return np.arange(len(self.curves)), np.array(reference_indices)

    def list_index_pairs(self) -> list[tuple[int, int]]:
        """Return the indices of model and reference of each pair."""
        model_indices, reference_indices = self.pair_indices
        return list(zip(model_indices.tolist(), reference_indices.tolist(), strict=True))

    @property
    def sensitivities(self) -> Floats:
        """The sensitivities of models and references."""
        of_models = [curve.sensitivity for curve in self.curves]
        of_references = [counts.sensitivity for counts in self.references.values()]
        return np.array([*of_models, *of_references])

    def by_pair(self, pair_values: Floats, fill_value: float = nan) -> Floats:
        """Return a square matrix with the values (k,) of pairs, and the fill value elsewhere."""
        matrix = np.full((len(self.names), len(self.names)), fill_value)
        matrix[self.pair_indices] = pair_values
        return matrix

    def covariance(self, model_covariance: Floats) -> Floats:
        """Return the covariance of models and references; that of references is 0.

        model_covariance: its first k rows and columns are those of the models.
        """
        k = len(self.curves)
        padded_covariance = np.zeros((len(self.names), len(self.names)))
        padded_covariance[:k, :k] = model_covariance[:k, :k]
        return padded_covariance

    def steps(self, slopes: Floats) -> Floats:
        """Return the changes of each sensitivity when all positives, or all negatives, change."""
        sensitivity_steps = np.ones((len(self.names), 2))
        sensitivity_steps[: len(slopes), 1] = slopes
        return sensitivity_steps


def matched_estimates(
    curves: Sequence[MatchedCurve],
    rows: EvaluatedClasses,
    scores: Mapping[str, Floats],
    labels: Mapping[str, Bools],
    level: float,
) -> PairedEstimates:
    """Return the sensitivities of models and references, and the errors of their differences.

    scores, labels: by name, (n,) each. The covariance is that of the differences: the references
    have none.
    """
    pairs = MatchedPairs(curves)
    class_influences = [
        ClassInfluence.from_votes(
            curve, rows, curve.votes(scores[curve.model]), labels[curve.reference.name]
        )
        for curve in curves
    ]
    limits = MatchedLimits.from_influence(curves, rows, class_influences)
    joint_errors = _joint_errors(rows, class_influences, limits.slopes)
    df = joint_errors.df[:-1, -1]  # of models against a column without influence, the last one
    lower, upper = limits.at_quantile(student_quantile(np.where(df > 0, df, nan), level=level))
    methods = [
        _reason_for_no_interval(rows, labels[curve.reference.name]) or SQUARE_AND_ADD
        for curve in curves
    ]
    has_interval = np.array([method == SQUARE_AND_ADD for method in methods])
    is_discordant = np.array([influence.differs for influence in class_influences])
    errors = np.where(is_discordant, limits.errors, 0.0)
    assert joint_errors.covariance is not None
    return PairedEstimates(
        MEASURE,
        CATALOG[MEASURE],
        pairs.names,
        pairs.sensitivities,
        DifferenceErrors(
            pairs.by_pair(np.where(has_interval, errors, nan)),
            pairs.by_pair(np.where(has_interval, df, 0.0), fill_value=0.0),
            pairs.covariance(joint_errors.covariance),
        ),
        rows.fewest,
        pairs.steps(limits.slopes),
        rows.sizes[::-1],
        PairLimits(
            pairs.by_pair(np.where(has_interval, lower, nan)),
            pairs.by_pair(np.where(has_interval, upper, nan)),
            level,
            dict(zip(pairs.list_index_pairs(), methods, strict=True)),
        ),
    )


def _joint_errors(
    rows: EvaluatedClasses, class_influences: Sequence[ClassInfluence], slopes: Floats
) -> DifferenceErrors:
    """Return the errors of k differences at equal specificity, and of a constant 0 as the last."""
    row_influences = [
        influence.positives + slope * influence.negatives
        for influence, slope in zip(class_influences, slopes.tolist(), strict=True)
    ]
    return rows.errors([*row_influences, np.zeros(len(rows.truth))])


def _reason_for_no_interval(rows: EvaluatedClasses, labels: Bools) -> str | None:
    """Return why differences from a reference have no interval; None if they have one."""
    if rows.owners is not None and rows.fewest < FEWEST:
        return FEW_CLUSTERS
    for is_on_side in (labels, ~labels):
        if rows.effective_rows(is_on_side & ~rows.truth) < FEWEST:
            return FEW_NEGATIVES
    return None


@dataclass(frozen=True, slots=True, eq=False)
class MatchedLimits:
    """Confidence limits of k differences at equal specificity.

    covariance (2k, 2k): of the differences at given thresholds, then of the false positive rates of
    the references minus those of the models.
    """

    curves: Sequence[MatchedCurve]
    rows: EvaluatedClasses
    covariance: Floats

    @classmethod
    def from_influence(
        cls,
        curves: Sequence[MatchedCurve],
        rows: EvaluatedClasses,
        class_influences: Sequence[ClassInfluence],
    ) -> MatchedLimits:
        """Build from the influence of rows."""
        row_influences = [influence.positives for influence in class_influences]
        row_influences += [influence.negatives for influence in class_influences]
        covariance = rows.errors(row_influences).covariance
        assert covariance is not None
        return cls(curves, rows, covariance)

    @property
    def errors(self) -> Floats:
        """Standard errors of the differences at equal specificity, (k,)."""
        positive_errors = self.positive_errors
        curve_errors = self.slopes * self.negative_errors
        products = 2 * self.correlations * positive_errors * curve_errors
        return np.asarray(np.sqrt(positive_errors**2 + products + curve_errors**2))

    @property
    def positive_errors(self) -> Floats:
        """Standard errors of the differences at given thresholds, (k,).

        Half a row more in each direction, as of shares (Agresti and Min 2005).
        """
        k = len(self.curves)
        one_row_changes = [
            self.rows.mean_weight / curve.reference.positives for curve in self.curves
        ]
        return np.asarray(np.sqrt(np.diag(self.covariance)[:k] + np.square(one_row_changes)))

    @property
    def negative_errors(self) -> Floats:
        """Standard errors of the differences of false positive rates, (k,)."""
        k = len(self.curves)
        one_row_changes = [
            self.rows.mean_weight / curve.reference.negatives for curve in self.curves
        ]
        return np.asarray(np.sqrt(np.diag(self.covariance)[k:] + np.square(one_row_changes)))

    @property
    def correlations(self) -> Floats:
        """Correlations of both, (k,); 0 of independent rows."""
        k = len(self.curves)
        variances = np.diag(self.covariance)
        error_products = np.sqrt(variances[:k] * variances[k:])
        covariances = np.diag(self.covariance[:k, k:])
        correlations = np.divide(
            covariances, error_products, out=np.zeros(k), where=error_products > 0
        )
        return np.clip(correlations, -1, 1)

    @property
    def slopes(self) -> Floats:
        """Slopes of the ROC curves: secants one standard error to each side, (k,)."""
        errors = self.negative_errors
        rate_widths = self._shifted_rates(errors) - self._shifted_rates(-errors)
        sensitivity_rises = self._rises(errors) - self._rises(-errors)
        return np.asarray(sensitivity_rises / rate_widths)

    def at_quantile(self, quantiles: Floats) -> tuple[Floats, Floats]:
        """Return limits that lie so many standard errors from the differences, (k,) each.

        The distance of a limit is the root of d² + 2 r d e + e²: d that of the difference at given
        thresholds, e the rise or fall of the ROC curve within the limits of the difference of the
        false positive rates, r the correlation of both.
        Source: Zou and Donner 2008, Statistics in Medicine 27:1693.
        """
        differences = np.array([curve.difference for curve in self.curves])
        positive_distances = quantiles * self.positive_errors
        rate_shifts = quantiles * self.negative_errors
        _, lower, upper = measure_difference(
            differences,
            differences - positive_distances,
            differences + positive_distances,
            np.zeros(len(differences)),
            -self._rises(rate_shifts),
            -self._rises(-rate_shifts),
            -self.correlations,
        )
        return lower, upper

    def _shifted_rates(self, shifts: Floats) -> Floats:
        """Return the false positive rates of the references plus shifts, within 0 to 1."""
        rates = [curve.reference.fp / curve.reference.negatives for curve in self.curves]
        return np.clip(np.add(rates, shifts), 0.0, 1.0)

    def _rises(self, shifts: Floats) -> Floats:
        """Return how much the curves rise where false positive rates are shifted, (k,)."""
        shifted_rates = self._shifted_rates(np.nan_to_num(shifts, nan=0.0))
        return np.array(
            [
                curve.sensitivity_at(rate) - curve.sensitivity
                for curve, rate in zip(self.curves, shifted_rates.tolist(), strict=True)
            ]
        )
