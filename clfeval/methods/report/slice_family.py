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
    """The changes of tested models; labels: of slices; remeasure: None where nothing is excluded.

    named_slices: the changes of slices in which a model is significantly worse, adjusted when
    these are named.
    """

    changes: Mapping[str, Changes]
    labels: Sequence[str]
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
            worse = self._significantly_worse(tests, q)
            if not worse:
                break
            pairs = worse[:1] if len(self.named_slices) < MOST_STEPS else worse
            for model, label in dict.fromkeys(pairs):
                self._name(model, label, tests, q)
        return self._with_named(tests, q)

    def _open_tests(self) -> list[Test]:
        """Return the tests of slices that are not named."""
        return [
            (model, label, metric)
            for model, changes in self.changes.items()
            for label, metric in changes
            if (model, label) not in self.named_slices
        ]

    def _p_values(self, tests: Sequence[Test]) -> Floats:
        changes = (self.changes[model][label, metric] for model, label, metric in tests)
        return np.array([nan if change.p is None else change.p for change in changes])

    def _significantly_worse(self, tests: Sequence[Test], q: Floats) -> list[tuple[str, str]]:
        """Return the models and slices that are significantly worse, the smallest q and p first."""
        p = self._p_values(tests)
        pairs = list[tuple[str, str]]()
        for i in np.lexsort((p, q)).tolist():
            if not q[i] < 1 - self.level:
                break
            model, label, metric = tests[i]
            change = replace(self.changes[model][label, metric], adjusted=float(q[i]))
            if change.verdict(metric, self.level) == WORSE:
                pairs.append((model, label))
        return pairs

    def _name(self, model: str, label: str, tests: Sequence[Test], q: Floats) -> None:
        """Keep the adjusted changes of a slice, and measure the others of its facet without it."""
        self.named_slices[model, label] = {
            (label, metric): replace(
                self.changes[model][label, metric], adjusted=number_or_none(float(q[i]))
            )
            for i, (of_model, of_label, metric) in enumerate(tests)
            if (of_model, of_label) == (model, label)
        }
        facet = facet_of(label, self.facets)
        labels = [part for part in self.labels if facet_of(part, self.facets) == facet]
        excluded = [part for part in labels if (model, part) in self.named_slices]
        remaining = [part for part in labels if (model, part) not in self.named_slices]
        if self.remeasure is None or not remaining:
            return
        for key, change in self.remeasure(model, remaining, excluded).items():
            if change.difference.value is not None:
                self.changes[model][key] = change

    def _with_named(self, tests: Sequence[Test], q: Floats) -> dict[str, Changes]:
        """Return all changes with their q, in the order of tests."""
        adjusted = dict(zip(tests, q.tolist(), strict=True))
        return {
            model: {
                (label, metric): self.named_slices[model, label][label, metric]
                if (model, label) in self.named_slices
                else replace(change, adjusted=number_or_none(adjusted[model, label, metric]))
                for (label, metric), change in changes.items()
            }
            for model, changes in self.changes.items()
        }


def with_simultaneous_intervals(
    changes: Mapping[str, Changes], freedom: Callable[[str, Sequence[str]], Floats], level: float
) -> dict[str, Changes]:
    """Return changes with limits that hold jointly for all tests (Bonferroni).

    Each limit is as many times farther from the difference as the quantile of Student's t at
    1 - (1 - level) / tests is larger than that at level. freedom: of a measure in slices.
    """
    count = sum(change.p is not None for tests in changes.values() for change in tests.values())
    joint_level = 1 - (1 - level) / max(count, 1)
    labels_by_metric = dict[str, list[str]]()
    for label, metric in dict.fromkeys(key for tests in changes.values() for key in tests):
        labels_by_metric.setdefault(metric, []).append(label)
    ratios = dict[tuple[str, str], float]()
    for metric, labels in labels_by_metric.items():
        df = freedom(metric, labels)
        ratio = student_quantile(df, level=joint_level) / student_quantile(df, level=level)
        keys = [(label, metric) for label in labels]
        ratios.update(zip(keys, ratio.tolist(), strict=True))
    return {
        model: {key: _widened(change, key[1], ratios[key]) for key, change in tests.items()}
        for model, tests in changes.items()
    }


def _widened(change: Change, metric: str, ratio: float) -> Change:
    """Return a change with simultaneous limits inside the range of the measure."""
    d, low, high = change.difference.value, change.difference.low, change.difference.high
    if change.p is None or d is None or low is None or high is None:
        return change
    measure = CATALOG[metric.partition(":")[0]]
    span = measure.high - measure.low
    lower = d - ratio * (d - low)
    upper = d + ratio * (high - d)
    if isfinite(span):
        lower = max(lower, -span)
        upper = min(upper, span)
    return replace(change, simultaneous=Estimate(d, lower, upper))
