"""The rows outside a slice: their number, and every measure of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.clusters_and_weights import ClusterCounts, Owned, subtract_part
from clfeval.counts.count import Sample
from clfeval.counts.patterns import CELLS, ConfusionCounts, PatternCounts, from_units
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate
from clfeval.inference.complement_sums import PowerSums, RankedPairs, RiskSums
from clfeval.methods.design_effects import class_sizes
from clfeval.methods.measurement.label_measures import label_influence
from clfeval.methods.measurement.measure_rows import (
    label_measure_rows,
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
from clfeval.methods.provenance import class_rows
from clfeval.methods.report.model_estimates import score_influence
from clfeval.methods.report.slice_tests import (
    Complement,
    Key,
    Sizes,
    SliceSize,
    complement_estimates,
    shared_cluster_correlation,
    use_default_intervals,
)
from clfeval.records import dataclass, field, replace

_BLOCK = 2**16  # scores per block, few enough to stay in the cache


def slice_complements(
    sample: Sample, labels: Sequence[str] | None = None, without: Sequence[str] = ()
) -> Sample:
    """Return the complement of each slice by its name; without: slices excluded as well."""
    counted, whole = sample.counted, sample.slices[None]
    names = [label for label in sample.slices if label is not None] if labels is None else labels
    every = sample.patterns
    if counted is not None and None in every:
        left: dict[str | None, PatternCounts] = {}
        for label in names:
            part = reduce(add, [every[one] for one in (label, *without)])
            left[label] = subtract_part(every[None], part, "truth", "votes")
        counts = {label: ConfusionCounts.from_patterns(one) for label, one in left.items()}
        return replace(sample, slices=counts, counted=replace(counted, slices=left, _known={}))
    return replace(sample, slices={
        label: _subtract_counts(whole, reduce(add, [sample.slices[i] for i in (label, *without)]))
        for label in names
    })  # fmt: skip


def _subtract_counts(whole: ConfusionCounts, part: ConfusionCounts) -> ConfusionCounts:
    """Return the 2 x 2 tables of the rows that are not in a part."""
    cells = [sign * np.array([getattr(one, name) for name in CELLS])
             for sign, one in ((1, whole), (-1, part))]  # fmt: skip
    models = [*whole.models, *part.models]
    return ConfusionCounts.from_cells(models, np.concatenate(cells, axis=1).T.tolist())


def slice_sizes(sample: Sample, others: Sample) -> Sizes:
    """Return the sizes of each slice and of its complement."""
    found = dict[str, tuple[SliceSize, SliceSize]]()
    for label in filter(None, others.slices):
        patterns = (one.patterns.get(label) for one in (sample, others))
        found[label] = _sizes_of_parts(*(
            (one.slices[label].rows.max().item(),
             [min(rows) for rows in class_rows(one, label)[::-1]],
             None if part is None else part.clusters)
            for one, part in zip((sample, others), patterns, strict=True)
        ))  # fmt: skip
    return found


def multiclass_slice_sizes(
    whole: ClassPatterns, part: ClassPatterns, left: ClassPatterns
) -> tuple[SliceSize, SliceSize]:
    """Return the sizes of a slice and of its complement with several classes."""
    there = class_sizes(whole, len(whole.classes)) > 0
    return _sizes_of_parts(*(
        (from_units(one.n.sum(), one.unit).item(),
         class_sizes(one, len(one.classes))[there].tolist(), one.clusters) for one in (part, left)
    ))  # fmt: skip


def _sizes_of_parts(
    *parts: tuple[Any, Sequence[float], Owned | None],
) -> tuple[SliceSize, SliceSize]:
    """Return the sizes of two parts, from rows, rows of each class (of any model), and clusters."""
    spans = _shared_clusters(*(owned for *_, owned in parts)) is not None
    found = list[SliceSize]()
    for rows, classes, owned in parts:
        least = min(classes, default=0.0)
        if isinstance(owned, ClusterCounts):
            least = min(least, owned.size)
        found.append(SliceSize(rows, tuple(classes), least, owned is None, spans))
    return found[0], found[1]


def _shared_clusters(
    one: Owned | None, other: Owned | None
) -> tuple[ClusterCounts, ClusterCounts, tuple[Ints, Ints]] | None:
    """Return the clusters of two parts and the places of those in both; None without any."""
    if not (isinstance(one, ClusterCounts) and isinstance(other, ClusterCounts)):
        return None
    places = one.shared(other)
    return (one, other, places) if len(places[0]) else None


def label_complement_estimates(
    sample: Sample, others: Sample, held: Sequence[RequestedMeasure], wanted: IntervalSettings
) -> Iterator[tuple[Key, Complement]]:
    """Yield the measures of the labels of rows outside a slice."""
    rho = dict[Key, float]()
    for label, left in others.patterns.items():
        part = sample.patterns[label]
        shared = _shared_clusters(part.clusters, left.clusters)
        if label is None or shared is None:
            continue
        for one in held:
            if not takes_scores(one):
                f, g = (label_influence(each, one.measure)[1] for each in (part, left))
                found = shared_cluster_correlation(*shared, f, g)
                for model, each in zip(part.models, found.tolist(), strict=True):
                    rho[label, model, one.name] = each
    rows = label_measure_rows(others, held, use_default_intervals(wanted))
    yield from complement_estimates(rows, rho)


@dataclass(frozen=True, eq=False)
class ComplementScores:
    """Scores of a model in all rows, to compute measures `held` of the rows outside a slice."""

    model: str
    whole: ScoreCounts
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
            if self.whole.clusters is None and len(self.whole.scores):
                value = self._subtract_sums(one, part, at)
            if value is None:
                anew.append(one)
            else:
                yield (label, self.model, one.name), Complement(value)
        if any(map(takes_scores, anew)):
            yield from self._anew(label, part, anew)

    def _subtract_sums(self, one: RequestedMeasure, part: ScoreCounts, at: Ints) -> Estimate | None:
        """Return a measure of the complement by subtraction of sums; None if impossible."""
        whole, measure, level = self.whole, one.measure, self.wanted.level
        totals, sides = ((each.positives, each.negatives) for each in (whole, part))
        if measure.interval == "delong":
            pairs = self._once("pairs", lambda: RankedPairs.from_counts(*totals))
            area = pairs and pairs.complement(at, *sides, level=level or 0.95)
            if not area:
                return None
            value = 2 * area.value - 1 if measure.low < 0 else area.value
            return delong_estimate(measure, area, value, level).value
        t, loss = risk_threshold(one, self.cut), measure.loss
        if not (whole.scores[0] >= 0 and whole.scores[-1] <= 1):
            return None
        if t is not None:
            cut = np.array([t])
            all_of = self._once(f"at {t}", lambda: confusions_at(whole, cut))
            table = _subtract_counts(all_of, confusions_at(part, cut))
            return net_benefit_of_table(table, t, level)[0]
        sizes = self._once("sizes", lambda: [int(n.sum()) for n in totals])
        few = min(size - int(some.sum()) for size, some in zip(sizes, sides, strict=True))
        if one.name == "oe_ratio":
            sums = self._once("risks", lambda: RiskSums.from_probabilities(whole.scores, *totals))
            found = sums.complement(RiskSums.from_probabilities(part.scores, *sides), fewest=few)
            return found and influence_estimate(measure, found[0], found[1], level).value
        if loss is None:
            return None
        # the mean of some of the scores, so that sums keep their digits
        some = slice(None, None, max(1, len(whole.scores) // _BLOCK))
        centre = self._once(
            f"{one.name} mean",
            lambda: measure.function(whole.scores[some], *(n[some] for n in totals)),
        )
        every = self._once(one.name, lambda: _loss_powers(loss, whole, centre))
        found = every.complement(_loss_powers(loss, part, centre), fewest=few)
        return (
            found and influence_estimate(measure, float(centre) + found[0], found[1], level).value
        )

    def _anew(
        self, label: str, part: ScoreCounts, held: Sequence[RequestedMeasure]
    ) -> Iterator[tuple[Key, Complement]]:
        left, rho = self.whole.subtract(part).frozen(), dict[Key, float]()
        shared = _shared_clusters(part.clusters, left.clusters)
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


def _loss_powers(loss: Callable[..., Floats], counts: ScoreCounts, centre: float) -> PowerSums:
    """Return the power sums of the losses of rows, by blocks that stay in the cache."""
    blocks = (slice(i, i + _BLOCK) for i in range(0, len(counts.scores), _BLOCK))
    return PowerSums.from_values(
        (loss(counts.scores[part], y) - centre, n[part])
        for part in blocks
        for y, n in ((True, counts.positives), (False, counts.negatives))
    )
