"""Tests of slices straight from arrays, without a table: fast enough for thousands of tables.

Independent rows of several models with scores: what the report makes of such a table, by the same
intervals and the same family, but with sums of its own. A test compares it with the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Bools, Floats, Ints
from clfeval.document.cells import Estimate, Row
from clfeval.inference.complement_sums import RiskSums
from clfeval.inference.proportions import SHARE_LIMITS
from clfeval.inference.rank_statistics import auc_interval
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import influence_estimate
from clfeval.methods.report.slice_answer import SliceModels
from clfeval.methods.report.slice_sizes import SliceSize
from clfeval.methods.report.slice_tests import OF_TWO, Complement, Key, SliceEstimates, SlicesTested

LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class ModelSums:
    """Sums of a model by slice; shares of pairs of slices: placements of rows of a class."""

    site: tuple[Ints, Ints]  # of positives, of negatives
    won: tuple[Floats, Floats]  # (slices, rows): rows of the other class that each row beats
    above: tuple[Ints, Ints]  # rows of a class at or above the threshold, by slice
    sizes: tuple[Ints, Ints]
    every: Floats  # powers 0 to 4 of the scores, (slices, 5)
    positive: Floats  # powers 0 to 3 of those of positives, (slices, 4)

    @classmethod
    def from_rows(
        cls, scores: Floats, truth: Bools, site: Ints, slices: int, threshold: float
    ) -> ModelSums:
        """Count in all slices."""
        sides = [scores[truth], scores[~truth]]
        sites = (site[truth], site[~truth])
        won = []
        for side, sign in ((0, 1), (1, -1)):
            other, place = sign * sides[1 - side], sites[1 - side]
            sorted_others = [np.sort(other[place == s]) for s in range(slices)]
            below = [np.searchsorted(each, sign * sides[side]) for each in sorted_others]
            won.append(np.array(below, np.float64))
        powers = scores[:, None] ** np.arange(5)
        sums = np.array([powers[site == s].sum(axis=0) for s in range(slices)])
        of_positives = np.array(
            [powers[truth & (site == s), :4].sum(axis=0) for s in range(slices)]
        )
        flagged = [side >= threshold for side in sides]
        above = [np.bincount(sites[k][flagged[k]], minlength=slices) for k in (0, 1)]
        sizes = [np.bincount(each, minlength=slices) for each in sites]
        return cls(
            sites, (won[0], won[1]), (above[0], above[1]), (sizes[0], sizes[1]), sums, of_positives
        )

    def estimates(self, chosen: Bools) -> list[dict[str, Estimate]]:
        """Return the four measures of the rows of some of the slices, chosen (c, slices)."""
        totals = np.array([(chosen * size).sum(axis=1) for size in self.sizes], np.float64)
        flagged = np.array([(chosen * above).sum(axis=1) for above in self.above], np.float64)
        correct = np.array([flagged[0], totals[1] - flagged[1]])
        low, high = SHARE_LIMITS["exact"](correct, totals, level=LEVEL)
        found = []
        for i, some in enumerate(chosen):
            sizes = [int(n) for n in totals[:, i]]
            rates = [
                Estimate(correct[k, i] / totals[k, i], float(low[k, i]), float(high[k, i]))
                for k in (0, 1)
            ]
            values = dict(zip(("sensitivity", "specificity"), rates, strict=True))
            values["roc_auc"] = self._area(some, sizes)
            values["oe_ratio"] = self._ratio(some, min(sizes))
            found.append(values)
        return found

    def _area(self, chosen: Bools, totals: Sequence[int]) -> Estimate:
        shares = []
        for k in (0, 1):
            mine = chosen[self.site[k]]
            shares.append(self.won[k][chosen][:, mine].sum(axis=0) / totals[1 - k])
        area = float(shares[0].mean())
        pairs = totals[0] * totals[1]
        spread = [float(((share - area) ** 2).sum()) for share in shares]
        found = auc_interval(
            2 * area * pairs,
            2 * (1 - area) * pairs,
            (totals[0], totals[1]),
            (spread[0], spread[1]),
            tied=False,
            level=LEVEL,
        )
        return Estimate(area, found.low, found.high)

    def _ratio(self, chosen: Bools, fewest: int) -> Estimate:
        mine = RiskSums(self.every[chosen].sum(axis=0), self.positive[chosen].sum(axis=0))
        nothing = RiskSums(np.zeros(5), np.zeros(4))
        found = mine.complement(nothing, fewest=fewest)
        assert found is not None
        estimate = influence_estimate(CATALOG["oe_ratio"], found[0], found[1], LEVEL).value
        assert isinstance(estimate, Estimate)
        return estimate


def slices_tested(
    scores: Mapping[str, Floats], truth: Bools, site: Ints, slices: int, threshold: float = 0.5
) -> SlicesTested:
    """Return the tests of slices s0, s1, ... of models that are all judged."""
    labels = [f"site=s{s}" for s in range(slices)]
    sums = {
        name: ModelSums.from_rows(x, truth, site, slices, threshold) for name, x in scores.items()
    }
    values: dict[tuple[str, str], dict[str, Estimate]] = {}

    def outside(model: str, some: Sequence[str], excluded: Sequence[str]) -> dict[Key, Complement]:
        chosen = [[one != label and one not in excluded for one in labels] for label in some]
        estimates = sums[model].estimates(np.array(chosen))
        return {
            (label, model, name): Complement(value)
            for label, values in zip(some, estimates, strict=True)
            for name, value in values.items()
        }

    rest: dict[Key, Complement] = {}
    for model, of_model in sums.items():
        for label, of_slice in zip(labels, of_model.estimates(np.eye(slices) == 1), strict=True):
            for name, value in of_slice.items():
                values.setdefault((model, name), {})[label] = value
        rest |= outside(model, labels, ())
    sizes = {}
    positives, negatives = (np.bincount(site[mine], minlength=slices) for mine in (truth, ~truth))
    for s, label in enumerate(labels):
        pair = []
        for inside in (True, False):
            classes = [float(n[s] if inside else n.sum() - n[s]) for n in (negatives, positives)]
            pair.append(SliceSize(sum(classes), tuple(classes), min(classes), True, False))
        sizes[label] = (pair[0], pair[1])
    measures = [RequestedMeasure(name, CATALOG[name], {}, "default") for name in OF_TWO]
    tests = SliceEstimates(values, measures, sizes, LEVEL, (("site",),))
    counts = dict(zip(labels, positives.tolist(), strict=True))
    return tests.tested(SliceModels([*scores], every=True), rest, outside, counts)


def worse_slices(tested: SlicesTested) -> set[tuple[str, str, str]]:
    """Return model, slice and measure of everything that is named as worse."""
    rows: Sequence[Row] = tested.comparisons
    return {
        (str(row["model"]), str(row["slice"]), str(row["measure"]))
        for row in rows
        if row["verdict"] == "worse"
    }
