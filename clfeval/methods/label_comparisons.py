"""Comparisons of models by labels: with a reference, within slices, and with the best model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.compare import families
from clfeval.compare.change import Change, comparison_row
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.patterns import PatternCounts, from_units
from clfeval.document.cells import Estimate, Row, Rows, as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.label_measures import enough_rows, label_estimates
from clfeval.methods.measurement.requested_measures import RequestedMeasure

SEED = 0  # of the draws that adjust p-values


def comparison_rows(
    patterns: Mapping[str | None, PatternCounts],
    models: Rows,
    reference: str,
    level: float | None,
    margins: Mapping[str, float],
    metrics: Sequence[str],
) -> Iterator[Row]:
    """Yield the differences of models from the reference by measure; no limits without a level.

    models: the rows of the table `models`. metrics: ids of measures.
    """
    for metric in metrics:
        estimates = _paired_estimates(patterns[None], metric)
        if estimates is None:  # without rows of a class, or with unknown errors
            continue
        if level is None:
            yield from _untested_rows(estimates, metric, reference)
            continue
        cells = {row["model"]: row.get(metric) for row in models if row["slice"] is None}
        values = [
            as_estimate(cells[name] or Estimate(value))
            for name, value in zip(estimates.models, estimates.values.tolist(), strict=True)
        ]
        model_pairs = families.family_pairs(reference, estimates.models)
        family = families.adjusted_family(estimates, model_pairs, level=level, seed=SEED)
        row_count = float(from_units(patterns[None].n.sum(), patterns[None].unit))
        if family is not None:
            yield from families.reference_rows(
                family, values, row_count, reference, margin=margins.get(metric)
            )
    if level is not None:
        yield from slice_comparison_rows(patterns, reference, level, margins, metrics)


def slice_comparison_rows(
    patterns: Mapping[str | None, PatternCounts],
    reference: str,
    level: float,
    margins: Mapping[str, float],
    metrics: Sequence[str],
) -> Iterator[Row]:
    """Yield the differences from the reference within each slice that is large enough."""
    patterns_by_slice = {
        slice_name: slice_patterns
        for slice_name, slice_patterns in patterns.items()
        if slice_name is not None
    }
    estimates: dict[str, dict[str, PairedEstimates]] = {}
    for metric in metrics:
        by_slice = {
            slice_name: _paired_estimates(slice_patterns, metric)
            for slice_name, slice_patterns in patterns_by_slice.items()
        }
        estimates[metric] = {
            slice_name: slice_estimates
            for slice_name, slice_estimates in by_slice.items()
            if slice_estimates is not None
        }
    rows_and_enough = {
        slice_name: enough_rows(slice_patterns)
        for slice_name, slice_patterns in patterns_by_slice.items()
    }
    yield from families.slice_reference_rows(
        estimates, {}, rows_and_enough, reference, level=level, seed=SEED, margins=margins
    )


def _untested_rows(estimates: PairedEstimates, metric: str, reference: str) -> Iterator[Row]:
    """Yield the differences from the reference without limits."""
    models = estimates.models
    for model_index, reference_index in families.family_pairs(reference, models):
        reference_estimate = Estimate(float(estimates.values[reference_index]))
        model_estimate = Estimate(float(estimates.values[model_index]))
        difference = Estimate(
            float(estimates.values[model_index] - estimates.values[reference_index])
        )
        change = Change(reference_estimate, model_estimate, difference, paired=True)
        yield comparison_row(
            "reference", metric, models[model_index], models[reference_index], change, level=0.95
        )


def best_model_rows(patterns: PatternCounts, measure: str, level: float) -> Iterator[Row]:
    """Yield which models are tied with the best by a measure of labels, adjusted for all pairs.

    None where the errors of the measure are unknown.
    """
    estimates = _paired_estimates(patterns, measure)
    if estimates is None:
        return
    pairs = families.family_pairs(None, estimates.models)
    family = families.adjusted_family(estimates, pairs, level=level, seed=SEED)
    best_set = families.best_set(family, estimates, level=level, seed=SEED)
    if best_set is not None:
        yield from families.best_set_rows(best_set, measure)


def _paired_estimates(patterns: PatternCounts, metric: str) -> PairedEstimates | None:
    return label_estimates(patterns, RequestedMeasure(metric, CATALOG[metric], {}))
