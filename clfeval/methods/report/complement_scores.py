"""Measures of the scores of rows outside slices, by subtraction of sums where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.rows import ScoredRows
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate
from clfeval.inference.complement_sums import PowerSums, RankedPairs, RiskSums
from clfeval.measures.probability import given_probabilities, loss_powers
from clfeval.methods.measurement.joint_sums import score_influence
from clfeval.methods.measurement.measure_rows import (
    risk_threshold,
    score_measure_rows,
    takes_scores,
)
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import (
    confusions_at,
    delong_estimate,
    influence_estimate,
    net_benefit_of_table,
)
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.slice_tests import (
    Complement,
    Key,
    complement_estimates,
    shared_cluster_correlation,
    shared_clusters,
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
    """Scores of a model in all rows, to compute measures `held` of the rows outside a slice."""

    model: str
    all_scores: ScoreCounts
    cut: float | None  # the threshold in force
    held: Sequence[RequestedMeasure]
    wanted: IntervalSettings
    _known: dict[str, Any] = field(default_factory=dict)

    def complement_measures(
        self, label: str, part: ScoreCounts, at: Ints
    ) -> Iterator[tuple[Key, Complement]]:
        """Yield the measures of the complement of a slice; at: indices of its scores."""
        anew = list[RequestedMeasure]()
        for one in self.held:
            value = None
            if self.all_scores.clusters is None and len(self.all_scores.scores):
                value = self._subtract_sums(one, part, at)
            if value is None:
                anew.append(one)
            else:
                yield (label, self.model, one.name), Complement(value)
        if any(map(takes_scores, anew)):
            yield from self._anew(label, part, anew)

    def _subtract_sums(self, one: RequestedMeasure, part: ScoreCounts, at: Ints) -> Estimate | None:
        """Return a measure of the complement by subtraction of sums; None if impossible."""
        all_scores, measure, level = self.all_scores, one.measure, self.wanted.level
        totals, sides = ((each.positives, each.negatives) for each in (all_scores, part))
        if measure.interval == "delong":
            pairs = self._once("pairs", lambda: RankedPairs.from_counts(*totals))
            area = pairs and pairs.complement(at, *sides, level=level or 0.95)
            if not area:
                return None
            value = 2 * area.value - 1 if measure.low < 0 else area.value
            return delong_estimate(measure, area, value, level).value
        t, loss = risk_threshold(one, self.cut), measure.loss
        if not (all_scores.scores[0] >= 0 and all_scores.scores[-1] <= 1):
            return None
        if all_scores.buckets is not None and t is None:
            return None
        if t is not None:
            cut = np.array([t])
            all_of = self._once(f"at {t}", lambda: confusions_at(all_scores, cut))
            table = subtract_counts(all_of, confusions_at(part, cut))
            return net_benefit_of_table(table, t, level)[0]
        sizes = self._once("sizes", lambda: [int(n.sum()) for n in totals])
        few = min(size - int(some.sum()) for size, some in zip(sizes, sides, strict=True))
        if one.name == "oe_ratio":
            risks, other = self._once("risks", lambda: _risk_sums(all_scores)), _risk_sums(part)
            found = risks.complement(other, fewest=few)
            return found and influence_estimate(measure, found[0], found[1], level).value
        if loss is None:
            return None
        mean = self._once(
            f"{one.name} mean", lambda: float(measure.function(all_scores.scores, *totals))
        )
        every = self._once(one.name, lambda: _power_sums(loss, all_scores, mean))
        found = every.complement(_power_sums(loss, part, mean), fewest=few)
        return found and influence_estimate(measure, mean + found[0], found[1], level).value

    def _anew(
        self, label: str, part: ScoreCounts, held: Sequence[RequestedMeasure]
    ) -> Iterator[tuple[Key, Complement]]:
        left, rho = self.all_scores.subtract(part).frozen(), dict[Key, float]()
        shared = shared_clusters(part.clusters, left.clusters)
        for one in held if shared is not None else ():
            f, g = (score_influence(one, self.cut, each) for each in (part, left))
            if shared is not None and f is not None and g is not None:
                found = shared_cluster_correlation(*shared, f[1], g[1])
                rho[label, self.model, one.name] = float(found[0])
        rows = score_measure_rows(label, self.model, left, self.cut, held, self.wanted)
        yield from complement_estimates(rows, rho)

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]


def _power_sums(loss: Callable[..., Floats], counts: ScoreCounts, centre: float) -> PowerSums:
    parts = counts.scores, counts.positives, counts.negatives
    return PowerSums(loss_powers(loss, parts, 1.0, -centre, -centre).sum(axis=0))


def _risk_sums(counts: ScoreCounts) -> RiskSums:
    parts = counts.scores, counts.positives, counts.negatives
    sums = loss_powers(given_probabilities, parts, 1.0, 0.0, 0.0)
    return RiskSums(sums.sum(axis=0), sums[0, :4])
