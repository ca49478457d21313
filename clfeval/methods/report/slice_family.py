"""The tests of slices of all tested models as one family: stepwise, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, nan

import numpy as np

from clfeval.arrays import Floats
from clfeval.compare.change import WORSE, Change, number_or_none
from clfeval.counts.evaluated_rows import Facets, facet_of
from clfeval.document.cells import Estimate
from clfeval.inference.distributions import student_quantile
from clfeval.inference.hypothesis_tests import benjamini_hochberg
from clfeval.measures.catalog import CATALOG
from clfeval.records import dataclass, field, replace

MOST_STEPS = 40  # slices of a model that are named one at a time
Changes = dict[tuple[str, str], Change]  # of one model, by slice and measure
Test = tuple[str, str, str]  # model, slice, measure
# the changes of a model in slices, measured outside these and outside the excluded ones
Remeasure = Callable[[str, Sequence[str], Sequence[str]], Changes]


@dataclass(frozen=True, slots=True, eq=False)
class SliceFamily:
    """The changes of tested models; remeasure: None where nothing is excluded.

    named_slices: the changes of slices in which a model is significantly worse, adjusted when
    these are named.
    """

    changes: Mapping[str, Changes]
    slice_names: Sequence[str]
    facets: Facets
    level: float
    remeasure: Remeasure | None
    named_slices: dict[tuple[str, str], Changes] = field(default_factory=dict)

    def adjusted_changes(self) -> dict[str, Changes]:
        """Return the changes of each model, adjusted over models, slices and measures.

        p by Benjamini and Hochberg. The slice of a model that is most significantly worse leaves
        the family, with its q, and the rows outside other slices of the model, which are measured
        again, until none is added: what is false of one slice does not make others significant.
        """
        while True:
            tests = self._open_tests()
            q = benjamini_hochberg(self._p_values(tests))
            worse_pairs = self._significantly_worse(tests, q)
            if not worse_pairs:
                break
            next_pairs = worse_pairs[:1] if len(self.named_slices) < MOST_STEPS else worse_pairs
            for model, slice_name in dict.fromkeys(next_pairs):
                self._name(model, slice_name, tests, q)
        return self._with_named(tests, q)

    def _open_tests(self) -> list[Test]:
        """Return the tests of slices that are not named."""
        return [
            (model, slice_name, metric)
            for model, changes in self.changes.items()
            for slice_name, metric in changes
            if (model, slice_name) not in self.named_slices
        ]

    def _p_values(self, tests: Sequence[Test]) -> Floats:
        changes = (self.changes[model][slice_name, metric] for model, slice_name, metric in tests)
        return np.array([nan if change.p is None else change.p for change in changes])

    def _significantly_worse(self, tests: Sequence[Test], q: Floats) -> list[tuple[str, str]]:
        """Return the models and slices that are significantly worse, the smallest q and p first."""
        p = self._p_values(tests)
        worse_pairs = list[tuple[str, str]]()
        for i in np.lexsort((p, q)).tolist():
            if not q[i] < 1 - self.level:
                break
            model, slice_name, metric = tests[i]
            change = replace(self.changes[model][slice_name, metric], adjusted=float(q[i]))
            if change.verdict(metric, self.level) == WORSE:
                worse_pairs.append((model, slice_name))
        return worse_pairs

    def _name(self, model: str, slice_name: str, tests: Sequence[Test], q: Floats) -> None:
        """Keep the adjusted changes of a slice, and measure the others of its facet without it."""
        self.named_slices[model, slice_name] = {
            (slice_name, metric): replace(
                self.changes[model][slice_name, metric], adjusted=number_or_none(float(q[i]))
            )
            for i, (test_model, test_slice, metric) in enumerate(tests)
            if (test_model, test_slice) == (model, slice_name)
        }
        facet = facet_of(slice_name, self.facets)
        facet_slices = [
            other_slice
            for other_slice in self.slice_names
            if facet_of(other_slice, self.facets) == facet
        ]
        excluded_slices = [
            other_slice for other_slice in facet_slices if (model, other_slice) in self.named_slices
        ]
        remaining_slices = [
            other_slice
            for other_slice in facet_slices
            if (model, other_slice) not in self.named_slices
        ]
        if self.remeasure is None or not remaining_slices:
            return
        for key, change in self.remeasure(model, remaining_slices, excluded_slices).items():
            if change.difference.value is not None:
                self.changes[model][key] = change

    def _with_named(self, tests: Sequence[Test], q: Floats) -> dict[str, Changes]:
        """Return all changes with their q, in the order of tests."""
        q_by_test = dict(zip(tests, q.tolist(), strict=True))
        return {
            model: {
                (slice_name, metric): self.named_slices[model, slice_name][slice_name, metric]
                if (model, slice_name) in self.named_slices
                else replace(change, adjusted=number_or_none(q_by_test[model, slice_name, metric]))
                for (slice_name, metric), change in changes.items()
            }
            for model, changes in self.changes.items()
        }


def with_simultaneous_intervals(
    changes: Mapping[str, Changes], df_of: Callable[[str, Sequence[str]], Floats], level: float
) -> dict[str, Changes]:
    """Return changes with limits that hold jointly for all tests (Bonferroni).

    Each limit is as many times farther from the difference as the quantile of Student's t at
    1 - (1 - level) / tests is larger than that at level. df_of: degrees of freedom of a measure
    in slices.
    """
    test_count = sum(
        change.p is not None
        for model_changes in changes.values()
        for change in model_changes.values()
    )
    joint_level = 1 - (1 - level) / max(test_count, 1)
    slices_by_metric = dict[str, list[str]]()
    for slice_name, metric in dict.fromkeys(
        key for model_changes in changes.values() for key in model_changes
    ):
        slices_by_metric.setdefault(metric, []).append(slice_name)
    quantile_ratios = dict[tuple[str, str], float]()
    for metric, slice_names in slices_by_metric.items():
        df = df_of(metric, slice_names)
        slice_ratios = student_quantile(df, level=joint_level) / student_quantile(df, level=level)
        keys = [(slice_name, metric) for slice_name in slice_names]
        quantile_ratios.update(zip(keys, slice_ratios.tolist(), strict=True))
    return {
        model: {
            key: _widened(change, key[1], quantile_ratios[key])
            for key, change in model_changes.items()
        }
        for model, model_changes in changes.items()
    }


def _widened(change: Change, metric: str, quantile_ratio: float) -> Change:
    """Return a change with simultaneous limits inside the range of the measure.

    quantile_ratio: how many times farther they are from the difference than those of the change.
    """
    d, low, high = change.difference.value, change.difference.low, change.difference.high
    if change.p is None or d is None or low is None or high is None:
        return change
    measure = CATALOG[metric.partition(":")[0]]
    measure_range = measure.high - measure.low
    lower = d - quantile_ratio * (d - low)
    upper = d + quantile_ratio * (high - d)
    if isfinite(measure_range):
        lower = max(lower, -measure_range)
        upper = min(upper, measure_range)
    return replace(change, simultaneous=Estimate(d, lower, upper))
