"""Comparisons of models whose scores are counted: sums over rows by a second scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, count_up_to
from clfeval.compare.change import DifferenceSums
from clfeval.counts.evaluated_rows import EvaluatedRows
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.read_files import StoredCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.methods.measurement.bucket_bounds import RISING
from clfeval.methods.measurement.measure_rows import measure_at_threshold, takes_scores
from clfeval.methods.measurement.requested_measures import (
    RequestedMeasure,
    parse_measures,
    set_row_units,
)
from clfeval.records import replace
from clfeval.tables.frames import concatenate_frames, in_polars, pl

BLOCK = 2**18  # rows added at a time
# the sums of differences by their names in a counts file
SUMS = {"products": "products", "apart": "squares", "powers": "fourth_powers"}

GroupInfluence = Mapping[str, tuple[float, Floats]]  # by model: value, influence of each group


def score_influence(
    requested: RequestedMeasure, threshold: float | None, counts: ScoreCounts
) -> tuple[float, Influence] | None:
    """Return a measure of the scores of a model and its influence, or None."""
    measure = measure_at_threshold(requested, threshold)
    if measure.influence is None or measure.needs not in ("scores", "probabilities"):
        return None
    scores = counts.scores
    if (
        measure.needs == "probabilities"
        and len(scores)
        and not (scores[0] >= 0 and scores[-1] <= 1)
    ):
        return None
    score_counts = (scores, counts.positives, counts.negatives)
    value = float(measure.function(*score_counts))
    return (value, measure.influence(*score_counts)) if isfinite(value) else None


def small_sample_scales(requested: RequestedMeasure, counts: ScoreCounts) -> dict[bool, float]:
    """Return the factors of the influence of each class: DeLong's variances have P - 1 and N - 1.

    sqrt(P / (P - 1) (M - 1) / M) of positives, with M = P + N; 1 for other measures.
    """
    scales = {True: 1.0, False: 1.0}
    if requested.measure.interval == "delong" and counts.clusters is None:
        positives = float(counts.positives.sum())
        negatives = float(counts.negatives.sum())
        for is_positive, class_size in ((True, positives), (False, negatives)):
            scales[is_positive] = (
                sqrt(
                    class_size
                    / (class_size - 1)
                    * (positives + negatives - 1)
                    / (positives + negatives)
                )
                if class_size > 1
                else 1.0
            )
    return scales


def group_influence(
    requested: RequestedMeasure, threshold: float | None, counts: ScoreCounts
) -> tuple[float, Floats] | None:
    """Return a measure of the scores of a model, and the influence of a row of each group, (2, m).

    Of buckets the mean influence of its rows of each class: of positives, of negatives.
    """
    measure = measure_at_threshold(requested, threshold)
    uses_order = counts.buckets is None or measure.needs == "scores" or measure.id in RISING
    score_counts = replace(counts, buckets=None) if uses_order else counts.probabilities
    value_and_influence = score_influence(requested, threshold, score_counts)
    if value_and_influence is None:
        return None
    value, row_influence = value_and_influence
    influence = np.asarray(row_influence).reshape(2, -1)
    if not uses_order:
        group_indices = np.searchsorted(counts.scores, score_counts.scores, side="right") - 1
        group_count = len(counts.scores)
        class_counts = (score_counts.positives, score_counts.negatives)
        influence_sums = [
            np.bincount(group_indices, class_influence * row_counts, group_count)
            for class_influence, row_counts in zip(influence, class_counts, strict=True)
        ]
        influence = np.array(influence_sums) / np.maximum([counts.positives, counts.negatives], 1)
    scales = small_sample_scales(requested, counts)
    return (value, influence * [[scales[True]], [scales[False]]]) if isfinite(value) else None


def sums_of_table(
    predictions: PredictionCounts, merged: PredictionCounts, scores: Mapping[int, ScoreCounts]
) -> dict[str, Any]:
    """Return the sums over the rows of a table for its counts file, by measure.

    merged: the counts of all tables; scores: theirs, by index of the model, from which the
    influence of a row is known.
    """
    influence = dict[str, GroupInfluence]()
    for requested in set_row_units(parse_measures(("default", "all")), merged):
        if not takes_scores(requested):
            continue
        by_model = {
            merged.models[model_index].name: group_influence(
                requested, merged.thresholds[merged.models[model_index].name], model_counts
            )
            for model_index, model_counts in scores.items()
        }
        influence[requested.name] = {
            model: value_and_influence
            for model, value_and_influence in by_model.items()
            if value_and_influence is not None
        }
    grids = {
        merged.models[model_index].name: (model_index, model_counts.scores)
        for model_index, model_counts in scores.items()
    }
    return {
        measure_name: {
            "models": [*influence[measure_name]],
            "mass": sums.mass,
            **{
                stored_name: getattr(sums, sum_field).tolist()
                for stored_name, sum_field in SUMS.items()
            },
        }
        for measure_name, sums in joint_sums(predictions.evaluated, grids, influence).items()
    }


def stored_sums(
    stored: StoredCounts, influence: Mapping[str, GroupInfluence]
) -> dict[str, DifferenceSums]:
    """Return the sums of counts files for each measure that they have for all of its models."""
    sums_by_measure = dict[str, DifferenceSums]()
    for stored_joint in stored.joint:
        for measure in influence.keys() & stored_joint.keys():
            models = stored_joint[measure]["models"]
            if not {*influence[measure]} <= {*models} or not influence[measure]:
                continue
            model_indices = [models.index(model) for model in influence[measure]]
            model_grid = np.ix_(model_indices, model_indices)
            arrays = {
                sum_field: np.array(stored_joint[measure][stored_name], np.float64)[model_grid]
                for stored_name, sum_field in SUMS.items()
            }
            sums = DifferenceSums(**arrays, mass=stored_joint[measure]["mass"])
            sums_by_measure[measure] = (
                sums_by_measure[measure] + sums if measure in sums_by_measure else sums
            )
    return sums_by_measure


def joint_sums(
    evaluated: EvaluatedRows,
    models: Mapping[str, tuple[int, Floats]],
    influence: Mapping[str, GroupInfluence],
) -> dict[str, DifferenceSums]:
    """Return the sums over rows of each measure: one more pass.

    models: the index of each among all models, and its counted scores (m,), ascending. influence:
    by measure.
    """
    if not any(influence.values()):
        return {}
    sums_by_measure = dict[str, DifferenceSums]()
    for is_positive, weights, scores in _blocks(
        evaluated, [model_index for model_index, _ in models.values()]
    ):
        group_indices = {
            name: count_up_to(group_scores, model_scores) - 1
            for (name, (_, group_scores)), model_scores in zip(models.items(), scores, strict=True)
        }
        class_index = (~is_positive).astype(np.intp)
        for measure, by_model in influence.items():
            row_influence = [
                model_influence[class_index, group_indices[name]]
                for name, (_, model_influence) in by_model.items()
            ]
            if row_influence:
                sums = DifferenceSums.from_terms(row_influence, weights)
                sums_by_measure[measure] = (
                    sums_by_measure[measure] + sums if measure in sums_by_measure else sums
                )
    return sums_by_measure


def _blocks(
    evaluated: EvaluatedRows, models: Sequence[int]
) -> Iterator[tuple[Bools, Counts | None, list[Floats]]]:
    """Yield truth, weights and scores of `BLOCK` rows at a time."""
    score_columns = [f"s{model_index}" for model_index in models]
    frame = in_polars(concatenate_frames(evaluated.frames(scores=models))).select(
        "t", "w", *score_columns
    )
    pending_batches = list[pl.DataFrame]()
    are_weighted = evaluated.settled.columns.weight is not None

    def to_arrays(rows: pl.DataFrame) -> tuple[Bools, Counts | None, list[Floats]]:
        weights = rows["w"].to_numpy() if are_weighted else None
        is_positive = rows["t"].cast(pl.Boolean).to_numpy()
        return is_positive, weights, [rows[column].to_numpy() for column in score_columns]

    for batch in frame.collect_batches(engine="streaming"):
        pending_batches.append(batch)
        while sum(map(len, pending_batches)) >= BLOCK:
            rows = pl.concat(pending_batches)
            yield to_arrays(rows[:BLOCK])
            pending_batches = [rows[BLOCK:]]
    yield to_arrays(pl.concat(pending_batches))
