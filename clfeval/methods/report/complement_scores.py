"""Measures of the scores of rows outside slices, by subtraction of sums where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.rows import ScoredRows
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate
from clfeval.inference.complement_sums import PowerSums, RankedPairs, RiskSums
from clfeval.measures.probability import given_probabilities, loss_powers
from clfeval.measures.record import Measure
from clfeval.methods.measurement.joint_sums import score_influence
from clfeval.methods.measurement.measure_rows import (
    risk_threshold,
    score_measure_rows,
    takes_scores,
)
from clfeval.methods.measurement.net_benefits import confusions_at, net_benefit_of_table
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import delong_estimate, influence_estimate
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.slice_sizes import shared_clusters
from clfeval.methods.report.slice_tests import (
    Complement,
    Key,
    Retest,
    complement_estimates,
    label_complement_estimates,
    shared_cluster_correlation,
    slice_complements,
    subtract_counts,
)
from clfeval.records import dataclass, field, replace


@dataclass(frozen=True, slots=True, eq=False)
class ComplementsOfModels:
    """Measures of the scores of rows outside slices; settings: of their intervals."""

    rows: ScoredRows
    models: Sequence[str]
    thresholds: Mapping[str, float | None]
    measures: Sequence[RequestedMeasure]
    settings: IntervalSettings

    def measure(
        self, model: str, slice_names: Sequence[str], excluded_slices: Sequence[str]
    ) -> dict[Key, Complement]:
        """Measure the rows outside each slice and outside `excluded_slices`."""
        if model not in self.models:
            return {}
        all_scores, score_indices = self.rows.ranked(self.models.index(model))
        complement = ComplementScores(
            model, all_scores, self.thresholds.get(model), self.measures, self.settings
        )
        estimates: dict[Key, Complement] = {}
        for slice_name in slice_names:
            row_indices = np.concatenate(
                [self.rows.slices[name] for name in (slice_name, *excluded_slices)]
            )
            slice_rows = replace(self.rows, slices={slice_name: row_indices})
            slice_scores, slice_indices = slice_rows.slice_scores(
                all_scores, score_indices, slice_name
            )
            estimates.update(
                complement.complement_measures(slice_name, slice_scores.frozen(), slice_indices)
            )
        return estimates


@dataclass(frozen=True, eq=False)
class ComplementScores:
    """Scores of a model in all rows, to compute `measures` of the rows outside a slice.

    _known: sums over all rows that are already computed, by name.
    """

    model: str
    all_scores: ScoreCounts
    cut: float | None  # the threshold in force
    measures: Sequence[RequestedMeasure]
    intervals: IntervalSettings
    _known: dict[str, Any] = field(default_factory=dict)

    def complement_measures(
        self, slice_name: str, slice_scores: ScoreCounts, score_indices: Ints
    ) -> Iterator[tuple[Key, Complement]]:
        """Yield the measures of the complement of a slice.

        score_indices: the indices of the scores of the slice among all scores.
        """
        remaining_measures = list[RequestedMeasure]()
        for measure in self.measures:
            value = None
            if self.all_scores.clusters is None and len(self.all_scores.scores):
                value = self._subtract_sums(measure, slice_scores, score_indices)
            if value is None:
                remaining_measures.append(measure)
            else:
                yield (slice_name, self.model, measure.name), Complement(value)
        if any(map(takes_scores, remaining_measures)):
            yield from self._anew(slice_name, slice_scores, remaining_measures)

    def _subtract_sums(
        self, requested: RequestedMeasure, slice_scores: ScoreCounts, score_indices: Ints
    ) -> Estimate | None:
        """Return a measure of the complement by subtraction of sums; None if impossible."""
        all_scores = self.all_scores
        if requested.measure.interval == "delong":
            return self._subtract_pairs(requested.measure, slice_scores, score_indices)
        # other sums are those of probabilities
        if not (all_scores.scores[0] >= 0 and all_scores.scores[-1] <= 1):
            return None
        threshold = risk_threshold(requested, self.cut)
        if threshold is not None:
            thresholds = np.array([threshold])
            all_rows_table = self._once(
                f"at {threshold}", lambda: confusions_at(all_scores, thresholds)
            )
            complement_table = subtract_counts(
                all_rows_table, confusions_at(slice_scores, thresholds)
            )
            estimate, _ = net_benefit_of_table(complement_table, threshold, self.intervals.level)
            return estimate
        if all_scores.buckets is not None:
            return None
        return self._subtract_losses(requested, slice_scores)

    def _subtract_pairs(
        self, measure: Measure, slice_scores: ScoreCounts, score_indices: Ints
    ) -> Estimate | None:
        """Return the AUC of the complement, or a linear function of it."""
        level = self.intervals.level
        all_counts = (self.all_scores.positives, self.all_scores.negatives)
        pairs = self._once("pairs", lambda: RankedPairs.from_counts(*all_counts))
        slice_counts = (slice_scores.positives, slice_scores.negatives)
        area = pairs and pairs.complement(score_indices, *slice_counts, level=level or 0.95)
        if not area:
            return None
        value = 2 * area.value - 1 if measure.low < 0 else area.value
        return delong_estimate(measure, area, value, level).value

    def _subtract_losses(
        self, requested: RequestedMeasure, slice_scores: ScoreCounts
    ) -> Estimate | None:
        """Return the O:E ratio or a mean loss of the complement; None for other measures."""
        all_scores = self.all_scores
        measure = requested.measure
        loss = measure.loss
        all_counts = (all_scores.positives, all_scores.negatives)
        class_totals = self._once("sizes", lambda: [int(n.sum()) for n in all_counts])
        slice_counts = (slice_scores.positives, slice_scores.negatives)
        smaller_class_rows = min(
            class_total - int(n.sum())
            for class_total, n in zip(class_totals, slice_counts, strict=True)
        )
        centre = 0.0
        if requested.name == "oe_ratio":
            risks = self._once("risks", lambda: _risk_sums(all_scores))
            value_and_covariance = risks.complement(
                _risk_sums(slice_scores), fewest=smaller_class_rows
            )
        elif loss is None:
            return None
        else:
            centre = self._once(
                f"{requested.name} mean",
                lambda: float(measure.function(all_scores.scores, *all_counts)),
            )
            sums = self._once(requested.name, lambda: _power_sums(loss, all_scores, centre))
            value_and_covariance = sums.complement(
                _power_sums(loss, slice_scores, centre), fewest=smaller_class_rows
            )
        if not value_and_covariance:
            return None
        value, covariance = value_and_covariance
        return influence_estimate(measure, centre + value, covariance, self.intervals.level).value

    def _anew(
        self, slice_name: str, slice_scores: ScoreCounts, measures: Sequence[RequestedMeasure]
    ) -> Iterator[tuple[Key, Complement]]:
        """Yield measures of the complement from its own scores, which are all minus the slice's."""
        complement = self.all_scores.subtract(slice_scores).frozen()
        correlations = dict[Key, float]()
        units_of_both = shared_clusters(slice_scores.clusters, complement.clusters)
        for measure in measures if units_of_both is not None else ():
            slice_influence = score_influence(measure, self.cut, slice_scores)
            complement_influence = score_influence(measure, self.cut, complement)
            if (
                units_of_both is not None
                and slice_influence is not None
                and complement_influence is not None
            ):
                measure_correlations = shared_cluster_correlation(
                    *units_of_both, slice_influence[1], complement_influence[1]
                )
                correlations[slice_name, self.model, measure.name] = float(measure_correlations[0])
        measure_rows = score_measure_rows(
            slice_name, self.model, complement, self.cut, measures, self.intervals
        )
        yield from complement_estimates(measure_rows, correlations)

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what is made under a name, computed once."""
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]


def measure_complements(
    sample: Sample,
    measures: Sequence[RequestedMeasure],
    settings: IntervalSettings,
    retest_scores: Retest,
    model: str,
    slice_names: Sequence[str],
    excluded_slices: Sequence[str],
) -> dict[Key, Complement]:
    """Measure labels and scores in the rows outside each slice and outside `excluded_slices`."""
    complements = slice_complements(sample, slice_names, excluded_slices)
    label_estimates = label_complement_estimates(sample, complements, measures, settings)
    return {**dict(label_estimates), **retest_scores(model, slice_names, excluded_slices)}


def _power_sums(loss: Callable[..., Floats], counts: ScoreCounts, centre: float) -> PowerSums:
    """Return the sums over rows of powers of the loss less the centre."""
    score_counts = counts.scores, counts.positives, counts.negatives
    return PowerSums(loss_powers(loss, score_counts, 1.0, -centre, -centre).sum(axis=0))


def _risk_sums(counts: ScoreCounts) -> RiskSums:
    """Return the sums of powers of the probability, over all rows and over positives."""
    score_counts = counts.scores, counts.positives, counts.negatives
    class_sums = loss_powers(given_probabilities, score_counts, 1.0, 0.0, 0.0)
    return RiskSums(class_sums.sum(axis=0), class_sums[0, :4])
