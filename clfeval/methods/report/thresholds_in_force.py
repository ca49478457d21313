"""Chosen thresholds put in force: the rows are counted again at them."""

from __future__ import annotations

from math import isfinite

import numpy as np

from clfeval.counts.count import recount_at_thresholds
from clfeval.counts.sample import Sample
from clfeval.document import ResultNote
from clfeval.errors import format_option
from clfeval.formatting import join_names
from clfeval.methods.curves import roc_points
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.rules_at_prevalence import rules_in_force
from clfeval.methods.report.thresholds import settle_safe_rules


def apply_chosen_thresholds(sample: Sample, options: ReportOptions) -> Sample:
    """Return the sample with the thresholds that the first rule chooses, by model.

    A threshold that is given stays, as does that of a model of which the rule chooses none, or
    predicts every row negative. Counts of files and engines, runs and hidden counts stay too.
    """
    if not _can_recount(sample, options):
        return sample
    assert sample.predictions is not None
    thresholds = chosen_by_first_rule(sample, options)
    if not thresholds:
        return sample
    return Sample.from_predictions(recount_at_thresholds(sample.predictions, thresholds))


def _can_recount(sample: Sample, options: ReportOptions) -> bool:
    """Return whether thresholds are to be chosen, and the rows are there to count again."""
    predictions = sample.predictions
    if not options.best_threshold or options.runs or predictions is None:
        return False
    return predictions.stored is None and not predictions.multiclass and not predictions.min_cell


def chosen_by_first_rule(sample: Sample, options: ReportOptions) -> dict[str, float]:
    """Return the threshold that the first rule chooses, of each model whose threshold is free."""
    predictions = sample.predictions
    if predictions is None:
        return {}
    thresholds = dict[str, float]()
    for i, model in enumerate(predictions.models):
        if model.kind == "label" or sample.roles.has_threshold(model.name):
            continue
        counts = predictions.scores(i)[None]
        [rule] = settle_safe_rules(rules_in_force(options)[:1], counts, options.interval_settings)
        points = roc_points(counts)
        if not np.isfinite(counts.scores).all():
            continue
        point_index = int(rule.places(points.tp, points.fp))
        threshold = points.thresholds[point_index].item() if point_index >= 0 else float("inf")
        if isfinite(threshold):
            thresholds[model.name] = threshold
    return thresholds


def stored_threshold_notes(sample: Sample, options: ReportOptions) -> list[ResultNote]:
    """Return the note on chosen thresholds at which stored counts cannot be counted again."""
    predictions = sample.predictions
    if not options.best_threshold or predictions is None or predictions.stored is None:
        return []
    thresholds = chosen_by_first_rule(sample, options)
    if not thresholds:
        return []
    flags = " ".join(
        format_option("--threshold", f"{model}={threshold!r}")
        for model, threshold in thresholds.items()
    )
    text = "counts of a file keep one threshold per model, at which the tables of predicted "
    text += f"positives are; for those chosen for {join_names([*thresholds])}, count again with "
    return [ResultNote("threshold-not-applied", f"{text}{flags}")]
