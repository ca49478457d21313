"""Models compared by measures of their labels on the same rows, as a report compares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.compare.change import Change, comparison_row
from clfeval.compare.families import BestSet, adjusted_family, best_set, family_pairs
from clfeval.compare.paired import PairedEstimates
from clfeval.compare.reference import reference_rows, slice_reference_rows
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.units import from_units
from clfeval.document import Estimate, Row, Rows, as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.methods.clustered import enough_rows
from clfeval.methods.measured.asked import RequestedMeasure
from clfeval.methods.measured.label_estimates import label_estimates

SEED = 0  # of the draws that adjust p-values


def comparison_rows(
    patterns: Mapping[str | None, PatternCounts], models: Rows, reference: str,
    level: float | None, margins: Mapping[str, float], metrics: Sequence[str],
) -> Iterator[Row]:  # fmt: skip
    """Yield differences of each model from the reference by measure; without a level no limits."""
    for metric in metrics:
        one = _paired_estimates(patterns[None], metric)
        if one is None:
            continue
        found = {row["model"]: row.get(metric) for row in models if row["slice"] is None}
        values = [as_estimate(found[name] or Estimate(value))
                  for name, value in zip(one.models, one.values.tolist(), strict=True)]  # fmt: skip
        if level is None:
            yield from _without_intervals(one, reference)
            continue
        family = adjusted_family(one, family_pairs(reference, one.models), level=level, seed=SEED)
        size = float(from_units(patterns[None].n.sum(), patterns[None].unit))
        if family is not None:
            yield from reference_rows(family, values, size, reference,
                                      margin=margins.get(metric))  # fmt: skip
    if level is not None:
        yield from slice_comparison_rows(patterns, reference, level, margins, metrics)


def slice_comparison_rows(
    patterns: Mapping[str | None, PatternCounts], reference: str, level: float,
    margins: Mapping[str, float], metrics: Sequence[str],
) -> Iterator[Row]:  # fmt: skip
    """Yield the same within each slice that is large enough."""
    each = {label: part for label, part in patterns.items() if label is not None}
    inside = {metric: {label: one for label, part in each.items()
                       if (one := _paired_estimates(part, metric)) is not None}
              for metric in metrics}  # fmt: skip
    sizes = {label: enough_rows(part) for label, part in each.items()}
    yield from slice_reference_rows(inside, {}, sizes, reference, level=level, seed=SEED,
                                    margins=margins)  # fmt: skip


def tied_with_best(patterns: PatternCounts, level: float) -> BestSet | None:
    """Return who is tied with the largest delta, all pairs of models compared."""
    one = _paired_estimates(patterns, "delta")
    if one is None:
        return None
    family = adjusted_family(one, family_pairs(None, one.models), level=level, seed=SEED)
    return best_set(family, one, seed=SEED)


def _paired_estimates(patterns: PatternCounts, metric: str) -> PairedEstimates | None:
    return label_estimates(patterns, RequestedMeasure(metric, CATALOG[metric], {}))


def _without_intervals(one: PairedEstimates, reference: str) -> Iterator[Row]:
    for i, j in family_pairs(reference, one.models):
        old, new = (Estimate(float(one.values[at])) for at in (j, i))
        change = Change(old, new, Estimate(float(one.values[i] - one.values[j])), paired=True)
        yield comparison_row("reference", one.metric, one.models[i], one.models[j], change, 0.95)
