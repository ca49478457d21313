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
SUMS = ("products", "apart", "powers")

GroupInfluence = Mapping[str, tuple[float, Floats]]  # by model: value, influence of each group


def score_influence(
    asked: RequestedMeasure, threshold: float | None, counts: ScoreCounts
) -> tuple[float, Influence] | None:
    """Return a measure of the scores of a model and its influence, or None."""
    measure = measure_at_threshold(asked, threshold)
    if measure.influence is None or measure.needs not in ("scores", "probabilities"):
        return None
    x = counts.scores
    if measure.needs == "probabilities" and len(x) and not (x[0] >= 0 and x[-1] <= 1):
        return None
    parts = (x, counts.positives, counts.negatives)
    value = float(measure.function(*parts))
    return (value, measure.influence(*parts)) if isfinite(value) else None


def small_sample_scales(asked: RequestedMeasure, counts: ScoreCounts) -> dict[bool, float]:
    """Return the factors of the influence of each class: DeLong's variances have P - 1 and N - 1.

    sqrt(P / (P - 1) (M - 1) / M) of positives; 1 for other measures.
    """
    by = {True: 1.0, False: 1.0}
    if asked.measure.interval == "delong" and counts.clusters is None:
        p, n = float(counts.positives.sum()), float(counts.negatives.sum())
        for y, size in ((True, p), (False, n)):
            by[y] = sqrt(size / (size - 1) * (p + n - 1) / (p + n)) if size > 1 else 1.0
    return by


def group_influence(
    asked: RequestedMeasure, threshold: float | None, counts: ScoreCounts
) -> tuple[float, Floats] | None:
    """Return a measure of the scores of a model, and the influence of a row of each group, (2, m).

    Of buckets the mean influence of its rows of each class: of positives, of negatives.
    """
    measure = measure_at_threshold(asked, threshold)
    ranks = counts.buckets is None or measure.needs == "scores" or measure.id in RISING
    points = replace(counts, buckets=None) if ranks else counts.probabilities
    found = score_influence(asked, threshold, points)
    if found is None:
        return None
    value, each = found[0], np.asarray(found[1]).reshape(2, -1)
    if not ranks:
        at = np.searchsorted(counts.scores, points.scores, side="right") - 1
        m, n = len(counts.scores), (points.positives, points.negatives)
        sums = [np.bincount(at, f * k, m) for f, k in zip(each, n, strict=True)]
        each = np.array(sums) / np.maximum([counts.positives, counts.negatives], 1)
    by = small_sample_scales(asked, counts)
    return (value, each * [[by[True]], [by[False]]]) if isfinite(value) else None


def sums_of_table(
    counted: PredictionCounts, merged: PredictionCounts, scores: Mapping[int, ScoreCounts]
) -> dict[str, Any]:
    """Return the sums over the rows of a table for its counts file, by measure.

    merged: the counts of all tables, with their scores by model, by which the influence of a row is
    known.
    """
    asked = set_row_units(parse_measures(("default", "all")), merged)
    of = {merged.models[i].name: found for i, found in scores.items()}
    moved = {
        one.name: {
            name: found
            for name, counts in of.items()
            if (found := group_influence(one, merged.thresholds[name], counts))
        }
        for one in asked
        if takes_scores(one)
    }
    grids = {merged.models[i].name: (i, found.scores) for i, found in scores.items()}
    return {
        name: {
            "models": [*moved[name]],
            "mass": found.mass,
            **{key: getattr(found, key).tolist() for key in SUMS},
        }
        for name, found in joint_sums(counted.kept, grids, moved).items()
    }


def stored_sums(
    stored: StoredCounts, moved: Mapping[str, GroupInfluence]
) -> dict[str, DifferenceSums]:
    """Return the sums of counts files for each measure that they have for all of its models."""
    found = dict[str, DifferenceSums]()
    for held in stored.joint:
        for name in moved.keys() & held.keys():
            models = held[name]["models"]
            if not {*moved[name]} <= {*models} or not moved[name]:
                continue
            at = np.ix_(*[[models.index(one) for one in moved[name]]] * 2)
            arrays = {key: np.array(held[name][key], np.float64)[at] for key in SUMS}
            sums = DifferenceSums(**arrays, mass=held[name]["mass"])
            found[name] = found[name] + sums if name in found else sums
    return found


def joint_sums(
    kept: EvaluatedRows,
    models: Mapping[str, tuple[int, Floats]],
    moved: Mapping[str, GroupInfluence],
) -> dict[str, DifferenceSums]:
    """Return the sums over rows of each measure: one more pass.

    models: the place of each among all, and its counted scores (m,), ascending; moved: by measure.
    """
    if not any(moved.values()):
        return {}
    found = dict[str, DifferenceSums]()
    for truth, n, scores in _blocks(kept, [i for i, _ in models.values()]):
        at = {
            name: count_up_to(grid, one) - 1
            for (name, (_, grid)), one in zip(models.items(), scores, strict=True)
        }
        side = (~truth).astype(np.intp)
        for measure, each in moved.items():
            terms = [table[side, at[name]] for name, (_, table) in each.items()]
            if terms:
                sums = DifferenceSums.from_terms(terms, n)
                found[measure] = found[measure] + sums if measure in found else sums
    return found


def _blocks(
    kept: EvaluatedRows, models: Sequence[int]
) -> Iterator[tuple[Bools, Counts | None, list[Floats]]]:
    """Yield truth, weights and scores of `BLOCK` rows at a time."""
    names = [f"s{i}" for i in models]
    frame = in_polars(concatenate_frames(kept.frames(scores=models))).select("t", "w", *names)
    rest, weighted = list[pl.DataFrame](), kept.settled.columns.weight is not None

    def made(table: pl.DataFrame) -> tuple[Bools, Counts | None, list[Floats]]:
        n = table["w"].to_numpy() if weighted else None
        truth = table["t"].cast(pl.Boolean).to_numpy()
        return truth, n, [table[name].to_numpy() for name in names]

    for batch in frame.collect_batches(engine="streaming"):
        rest.append(batch)
        while sum(map(len, rest)) >= BLOCK:
            table = pl.concat(rest)
            yield made(table[:BLOCK])
            rest = [table[BLOCK:]]
    yield made(pl.concat(rest))
