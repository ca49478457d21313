"""Comparisons of models whose scores are counted: sums over rows by a second scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.compare.change import DifferenceSums
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.count import PredictionCounts
from clfeval.counts.evaluated_rows import EvaluatedRows
from clfeval.counts.rows import ScoredRows
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Row, as_estimate, cell_value
from clfeval.methods.measurement.bucket_bounds import RISING
from clfeval.methods.measurement.measure_rows import measure_at_threshold
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.report.model_estimates import (
    score_estimates,
    score_influence,
    small_sample_scales,
)
from clfeval.records import replace
from clfeval.tables.frames import concatenate_frames, in_polars, pl

BLOCK = 2**18  # rows added at a time

GroupInfluence = Mapping[str, tuple[float, Floats]]  # by model: value, and the influence of each group


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


def group_estimates(
    counted: PredictionCounts, every: ScoredRows, held: Sequence[RequestedMeasure],
    moved: Mapping[str, GroupInfluence], measures: Sequence[Row], sizes: Floats,
) -> dict[str, PairedEstimates]:  # fmt: skip
    """Return paired estimates by measures of counted scores, with the bounds of their values.

    moved: by measure, of each model; measures: their rows; sizes: rows of each class.
    """
    names = {counted.models[i].name: (i, every.ranked(j)[0].scores)
             for j, i in enumerate(every.models)}  # fmt: skip
    sums = {} if counted.stored is not None else joint_sums(counted.kept, names, moved)
    rows = {(str(row["model"]), row["measure"]): row for row in measures if row["slice"] is None}
    found = dict[str, PairedEstimates]()
    for one in held:
        if one.name not in sums:
            continue
        mine = {model: rows[model, one.name] for model in moved[one.name]}
        each = {
            model: (as_estimate(row["value"]).value or 0.0, moved[one.name][model][1])
            for model, row in mine.items()
        }
        made = score_estimates(None, None, one, each, sizes, sampling=False, sums=sums[one.name])
        if made is not None:
            off = [cell_value(row.get("bound")) or 0.0 for row in mine.values()]
            found[one.name] = replace(made, bounds=np.array(off))
    return found


def joint_sums(
    kept: EvaluatedRows, models: Mapping[str, tuple[int, Floats]], moved: Mapping[str, GroupInfluence]
) -> dict[str, DifferenceSums]:
    """Return the sums over rows of each measure: one more pass.

    models: the place of each among all, and its counted scores (m,), ascending; moved: by measure.
    """
    if not any(moved.values()):
        return {}
    found = dict[str, DifferenceSums]()
    for truth, n, scores in _blocks(kept, [i for i, _ in models.values()]):
        at = {
            name: np.searchsorted(grid, one, side="right") - 1
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
