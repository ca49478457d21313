"""The model that a report names first, and the models tied with it, without the other results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from clfeval.compare import families
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import StoredScores, read_scored_rows
from clfeval.counts.sample import Sample
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.label_measures import (
    effective_class_sizes,
    float_confusion,
    label_estimates,
)
from clfeval.methods.measurement.measure_rows import leading_measure
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.model_order import LEAD_OF_SCORES, ModelOrder
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.model_estimates import row_score_influence, score_estimates


def rank_models(sample: Sample, level: float | None, seed: int) -> ModelOrder:
    """Return the models in the order of a report, with those tied with the first.

    The measure is ROC AUC, or of labels balanced accuracy, or F1 without true negatives.
    level: None for no tests.
    """
    measure = leading_measure(sample)
    requested = RequestedMeasure(measure, CATALOG[measure], {})
    predictions = sample.predictions
    if predictions is not None and measure == LEAD_OF_SCORES:
        values, estimates = _score_values(predictions, requested, for_tests=level is not None)
    else:
        values, estimates = _label_values(sample, requested)
    ties: Mapping[str, bool | None] = {}
    if estimates is not None and level is not None:
        pairs = families.family_pairs(None, estimates.models)
        family = families.adjusted_family(estimates, pairs, level=level, seed=seed)
        best_set = families.best_set(family, estimates, level=level, seed=seed)
        ties = {} if best_set is None else best_set.ties
    return ModelOrder(measure, _ranked(values, sample.slices[None].models), ties)


def _ranked(values: Mapping[str, float], models: Sequence[str]) -> dict[str, float | None]:
    """Return the values of all models, the largest first."""
    order = sorted(models, key=lambda model: -values.get(model, -inf))
    return {model: values.get(model) for model in order}


def _score_values(
    predictions: PredictionCounts, requested: RequestedMeasure, *, for_tests: bool
) -> tuple[dict[str, float], PairedEstimates | None]:
    """Return the values of models with scores, and paired estimates for tests if rows are known."""
    if predictions.stored is not None or not for_tests:
        return _single_score_values(predictions, requested), None
    scored_rows = read_scored_rows(predictions)
    if isinstance(scored_rows, StoredScores):
        return _single_score_values(predictions, requested), None
    models = [predictions.models[i].name for i in scored_rows.models]
    influence_by_model = {}
    for model_index, model in enumerate(models):
        scores, positions = scored_rows.ranked(model_index)
        threshold = predictions.thresholds.get(model)
        value_and_influence = row_score_influence(
            requested, threshold, scores, positions, scored_rows.truth
        )
        if value_and_influence is not None:
            influence_by_model[model] = value_and_influence
    class_sizes = effective_class_sizes(predictions.patterns, 2)
    estimates = score_estimates(
        scored_rows.weights,
        scored_rows.owners,
        requested,
        influence_by_model,
        class_sizes,
        sampling=scored_rows.weighed,
    )
    return {model: value for model, (value, _) in influence_by_model.items()}, estimates


def _single_score_values(
    predictions: PredictionCounts, requested: RequestedMeasure
) -> dict[str, float]:
    """Return the values of models with scores, one by one."""
    values = dict[str, float]()
    for model_index, model in enumerate(predictions.models):
        if model.kind == "label":
            continue
        scores = predictions.scores(model_index)[None]  # of the whole table
        measured = estimate_score_measure(
            requested.measure, scores, IntervalSettings(None), model.name
        )
        if measured.value.value is not None:
            values[model.name] = measured.value.value
    return values


def _label_values(
    sample: Sample, requested: RequestedMeasure
) -> tuple[dict[str, float], PairedEstimates | None]:
    """Return the values of labels, and their paired estimates if rows are known."""
    counts = sample.slices[None]
    model_values = requested.measure.function(float_confusion(counts)).tolist()
    values = {
        model: value
        for model, value in zip(counts.models, model_values, strict=True)
        if value == value  # no NaN
    }
    patterns = sample.patterns.get(None)
    return values, None if patterns is None else label_estimates(patterns, requested)
