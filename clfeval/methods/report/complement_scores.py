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
        self, model: str, labels: Sequence[str], excluded: Sequence[str]
    ) -> dict[Key, Complement]:
        """Measure the rows outside each slice and outside the `excluded` slices."""
        if model not in self.models:
            return {}
        all_scores, positions = self.rows.ranked(self.models.index(model))
        complement = ComplementScores(
            model, all_scores, self.thresholds.get(model), self.measures, self.settings
        )
        estimates: dict[Key, Complement] = {}
        for label in labels:
            rows = np.concatenate([self.rows.slices[name] for name in (label, *excluded)])
            part = replace(self.rows, slices={label: rows})
            scores, indices = part.slice_scores(all_scores, positions, label)
            estimates.update(complement.complement_measures(label, scores.frozen(), indices))
        return estimates


@dataclass(frozen=True, eq=False)
class ComplementScores:
    """Scores of a model in all rows, to compute `measures` of the rows outside a slice."""

    model: str
    all_scores: ScoreCounts
    cut: float | None  # the threshold in force
    measures: Sequence[RequestedMeasure]
    intervals: IntervalSettings
    _known: dict[str, Any] = field(default_factory=dict)

    def complement_measures(
        self, label: str, part: ScoreCounts, positions: Ints
    ) -> Iterator[tuple[Key, Complement]]:
        """Yield the measures of the complement of a slice; positions: indices of its scores."""
        remaining = list[RequestedMeasure]()
        for measure in self.measures:
            value = None
            if self.all_scores.clusters is None and len(self.all_scores.scores):
                value = self._subtract_sums(measure, part, positions)
            if value is None:
                remaining.append(measure)
            else:
                yield (label, self.model, measure.name), Complement(value)
        if any(map(takes_scores, remaining)):
            yield from self._anew(label, part, remaining)

    def _subtract_sums(
        self, requested: RequestedMeasure, part: ScoreCounts, positions: Ints
    ) -> Estimate | None:
        """Return a measure of the complement by subtraction of sums; None if impossible."""
        all_scores = self.all_scores
        if requested.measure.interval == "delong":
            return self._subtract_pairs(requested.measure, part, positions)
        if not (all_scores.scores[0] >= 0 and all_scores.scores[-1] <= 1):
            return None
        t = risk_threshold(requested, self.cut)
        if t is not None:
            cut = np.array([t])
            table = self._once(f"at {t}", lambda: confusions_at(all_scores, cut))
            table = subtract_counts(table, confusions_at(part, cut))
            return net_benefit_of_table(table, t, self.intervals.level)[0]
        if all_scores.buckets is not None:
            return None
        return self._subtract_losses(requested, part)

    def _subtract_pairs(
        self, measure: Measure, part: ScoreCounts, positions: Ints
    ) -> Estimate | None:
        """Return the AUC of the complement, or a linear function of it."""
        level = self.intervals.level
        all_rows = (self.all_scores.positives, self.all_scores.negatives)
        pairs = self._once("pairs", lambda: RankedPairs.from_counts(*all_rows))
        rows = (part.positives, part.negatives)
        area = pairs and pairs.complement(positions, *rows, level=level or 0.95)
        if not area:
            return None
        value = 2 * area.value - 1 if measure.low < 0 else area.value
        return delong_estimate(measure, area, value, level).value

    def _subtract_losses(self, requested: RequestedMeasure, part: ScoreCounts) -> Estimate | None:
        """Return the O:E ratio or a mean loss of the complement; None for other measures."""
        all_scores = self.all_scores
        measure = requested.measure
        loss = measure.loss
        totals = (all_scores.positives, all_scores.negatives)
        sizes = self._once("sizes", lambda: [int(n.sum()) for n in totals])
        rows = (part.positives, part.negatives)
        fewest = min(size - int(n.sum()) for size, n in zip(sizes, rows, strict=True))
        centre = 0.0
        if requested.name == "oe_ratio":
            risks = self._once("risks", lambda: _risk_sums(all_scores))
            result = risks.complement(_risk_sums(part), fewest=fewest)
        elif loss is None:
            return None
        else:
            centre = self._once(
                f"{requested.name} mean",
                lambda: float(measure.function(all_scores.scores, *totals)),
            )
            sums = self._once(requested.name, lambda: _power_sums(loss, all_scores, centre))
            result = sums.complement(_power_sums(loss, part, centre), fewest=fewest)
        if not result:
            return None
        value, covariance = result
        return influence_estimate(measure, centre + value, covariance, self.intervals.level).value

    def _anew(
        self, label: str, part: ScoreCounts, measures: Sequence[RequestedMeasure]
    ) -> Iterator[tuple[Key, Complement]]:
        complement = self.all_scores.subtract(part).frozen()
        rho = dict[Key, float]()
        shared = shared_clusters(part.clusters, complement.clusters)
        for measure in measures if shared is not None else ():
            f = score_influence(measure, self.cut, part)
            g = score_influence(measure, self.cut, complement)
            if shared is not None and f is not None and g is not None:
                correlations = shared_cluster_correlation(*shared, f[1], g[1])
                rho[label, self.model, measure.name] = float(correlations[0])
        rows = score_measure_rows(label, self.model, complement, self.cut, measures, self.intervals)
        yield from complement_estimates(rows, rho)

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]


def measure_complements(
    sample: Sample,
    measures: Sequence[RequestedMeasure],
    settings: IntervalSettings,
    retest_scores: Retest,
    model: str,
    labels: Sequence[str],
    excluded: Sequence[str],
) -> dict[Key, Complement]:
    """Measure labels and scores in the rows outside each slice and outside `excluded` slices."""
    complements = slice_complements(sample, labels, excluded)
    of_labels = label_complement_estimates(sample, complements, measures, settings)
    return {**dict(of_labels), **retest_scores(model, labels, excluded)}


def _power_sums(loss: Callable[..., Floats], counts: ScoreCounts, centre: float) -> PowerSums:
    parts = counts.scores, counts.positives, counts.negatives
    return PowerSums(loss_powers(loss, parts, 1.0, -centre, -centre).sum(axis=0))


def _risk_sums(counts: ScoreCounts) -> RiskSums:
    parts = counts.scores, counts.positives, counts.negatives
    sums = loss_powers(given_probabilities, parts, 1.0, 0.0, 0.0)
    return RiskSums(sums.sum(axis=0), sums[0, :4])
