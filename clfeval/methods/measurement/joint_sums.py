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
    x = counts.scores
    if measure.needs == "probabilities" and len(x) and not (x[0] >= 0 and x[-1] <= 1):
        return None
    parts = (x, counts.positives, counts.negatives)
    value = float(measure.function(*parts))
    return (value, measure.influence(*parts)) if isfinite(value) else None


def small_sample_scales(requested: RequestedMeasure, counts: ScoreCounts) -> dict[bool, float]:
    """Return the factors of the influence of each class: DeLong's variances have P - 1 and N - 1.

    sqrt(P / (P - 1) (M - 1) / M) of positives; 1 for other measures.
    """
    factors = {True: 1.0, False: 1.0}
    if requested.measure.interval == "delong" and counts.clusters is None:
        p = float(counts.positives.sum())
        n = float(counts.negatives.sum())
        for y, size in ((True, p), (False, n)):
            factors[y] = sqrt(size / (size - 1) * (p + n - 1) / (p + n)) if size > 1 else 1.0
    return factors


def group_influence(
    requested: RequestedMeasure, threshold: float | None, counts: ScoreCounts
) -> tuple[float, Floats] | None:
    """Return a measure of the scores of a model, and the influence of a row of each group, (2, m).

    Of buckets the mean influence of its rows of each class: of positives, of negatives.
    """
    measure = measure_at_threshold(requested, threshold)
    ranks = counts.buckets is None or measure.needs == "scores" or measure.id in RISING
    points = replace(counts, buckets=None) if ranks else counts.probabilities
    value_and_influence = score_influence(requested, threshold, points)
    if value_and_influence is None:
        return None
    value = value_and_influence[0]
    influence = np.asarray(value_and_influence[1]).reshape(2, -1)
    if not ranks:
        group = np.searchsorted(counts.scores, points.scores, side="right") - 1
        m = len(counts.scores)
        n = (points.positives, points.negatives)
        sums = [np.bincount(group, f * k, m) for f, k in zip(influence, n, strict=True)]
        influence = np.array(sums) / np.maximum([counts.positives, counts.negatives], 1)
    factors = small_sample_scales(requested, counts)
    return (value, influence * [[factors[True]], [factors[False]]]) if isfinite(value) else None


def sums_of_table(
    predictions: PredictionCounts, merged: PredictionCounts, scores: Mapping[int, ScoreCounts]
) -> dict[str, Any]:
    """Return the sums over the rows of a table for its counts file, by measure.

    merged: the counts of all tables, with their scores by model, by which the influence of a row is
    known.
    """
    influence = dict[str, GroupInfluence]()
    for requested in set_row_units(parse_measures(("default", "all")), merged):
        if not takes_scores(requested):
            continue
        by_model = {
            merged.models[i].name: group_influence(
                requested, merged.thresholds[merged.models[i].name], counts
            )
            for i, counts in scores.items()
        }
        influence[requested.name] = {
            name: values for name, values in by_model.items() if values is not None
        }
    grids = {merged.models[i].name: (i, counts.scores) for i, counts in scores.items()}
    return {
        name: {
            "models": [*influence[name]],
            "mass": sums.mass,
            **{key: getattr(sums, field).tolist() for key, field in SUMS.items()},
        }
        for name, sums in joint_sums(predictions.evaluated, grids, influence).items()
    }


def stored_sums(
    stored: StoredCounts, influence: Mapping[str, GroupInfluence]
) -> dict[str, DifferenceSums]:
    """Return the sums of counts files for each measure that they have for all of its models."""
    sums_by_measure = dict[str, DifferenceSums]()
    for joint in stored.joint:
        for name in influence.keys() & joint.keys():
            models = joint[name]["models"]
            if not {*influence[name]} <= {*models} or not influence[name]:
                continue
            places = np.ix_(*[[models.index(model) for model in influence[name]]] * 2)
            arrays = {
                field: np.array(joint[name][key], np.float64)[places] for key, field in SUMS.items()
            }
            sums = DifferenceSums(**arrays, mass=joint[name]["mass"])
            sums_by_measure[name] = (
                sums_by_measure[name] + sums if name in sums_by_measure else sums
            )
    return sums_by_measure


def joint_sums(
    evaluated: EvaluatedRows,
    models: Mapping[str, tuple[int, Floats]],
    influence: Mapping[str, GroupInfluence],
) -> dict[str, DifferenceSums]:
    """Return the sums over rows of each measure: one more pass.

    models: the place of each among all, and its counted scores (m,), ascending; influence: by
    measure.
    """
    if not any(influence.values()):
        return {}
    sums_by_measure = dict[str, DifferenceSums]()
    for truth, n, scores in _blocks(evaluated, [i for i, _ in models.values()]):
        places = {
            name: count_up_to(grid, model_scores) - 1
            for (name, (_, grid)), model_scores in zip(models.items(), scores, strict=True)
        }
        side = (~truth).astype(np.intp)
        for measure, by_model in influence.items():
            terms = [table[side, places[name]] for name, (_, table) in by_model.items()]
            if terms:
                sums = DifferenceSums.from_terms(terms, n)
                sums_by_measure[measure] = (
                    sums_by_measure[measure] + sums if measure in sums_by_measure else sums
                )
    return sums_by_measure


def _blocks(
    evaluated: EvaluatedRows, models: Sequence[int]
) -> Iterator[tuple[Bools, Counts | None, list[Floats]]]:
    """Yield truth, weights and scores of `BLOCK` rows at a time."""
    names = [f"s{i}" for i in models]
    frame = in_polars(concatenate_frames(evaluated.frames(scores=models))).select("t", "w", *names)
    pending = list[pl.DataFrame]()
    weighted = evaluated.settled.columns.weight is not None

    def to_arrays(table: pl.DataFrame) -> tuple[Bools, Counts | None, list[Floats]]:
        n = table["w"].to_numpy() if weighted else None
        truth = table["t"].cast(pl.Boolean).to_numpy()
        return truth, n, [table[name].to_numpy() for name in names]

    for batch in frame.collect_batches(engine="streaming"):
        pending.append(batch)
        while sum(map(len, pending)) >= BLOCK:
            table = pl.concat(pending)
            yield to_arrays(table[:BLOCK])
            pending = [table[BLOCK:]]
    yield to_arrays(pl.concat(pending))
