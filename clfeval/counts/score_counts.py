"""Score counts: how many positives and negatives stand at each distinct score of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from clfeval.counts.judge import slice_label
from clfeval.counts.patterns import Bools, Counts
from clfeval.counts.predictions import Counted
from clfeval.counts.raw import collect
from clfeval.counts.scores import score_rows
from clfeval.tables.csv_head import SAMPLE_ROWS
from clfeval.tables.labels import natural

Floats = NDArray[np.float64]

_PIECE = 2**20  # numbers turned into bytes at a time
_MOST_SORTED = 2**25  # rows put in order in memory


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts:
    """The sufficient statistic of a ranking: m distinct scores, ascending, and (m,) counts."""

    scores: Floats
    positives: Counts
    negatives: Counts

    def digest(self) -> str:
        """Return the sha256 of scores and counts."""
        found = sha256()
        for column in (self.scores, self.positives, self.negatives):
            for start in range(0, len(column), _PIECE):
                found.update(column[start : start + _PIECE].astype("<f8").tobytes())
        return found.hexdigest()

    @classmethod
    def of(cls, scores: Floats, positives: Counts, negatives: Counts) -> ScoreCounts:
        """Merge equal scores and put them in order."""
        if (scores[1:] < scores[:-1]).any():
            order = np.argsort(scores, kind="stable")
            scores, positives, negatives = scores[order], positives[order], negatives[order]
        new = _changes(scores)
        if new.all():
            return cls(scores, positives, negatives)
        place = np.cumsum(new) - 1
        return cls(
            scores[new],
            np.bincount(place, positives).astype(positives.dtype),
            np.bincount(place, negatives).astype(negatives.dtype),
        )


def model_scores(counted: Counted, i: int) -> Mapping[str | None, ScoreCounts]:
    """Count the scores of model i, for the whole table (None) and for each slice.

    Rows are those that were counted: with --missing drop, all that lack no model's answer. One
    model at a time, because ten million distinct scores are a quarter of a gigabyte.
    """
    rows, by = score_rows(counted, i), counted.predictions.roles.by
    if not by and counted.plan.weight is None and _mostly_distinct(counted, i):
        return {None: _sorted(rows)}
    keys = ["s", *(f"b{j}" for j in range(len(by)))]
    weighed = rows.select(*keys, n=nw.col("w"), positives=nw.col("w") * nw.col("t"))
    table = collect(weighed.group_by(*keys).agg(nw.col("n", "positives").sum()).sort("s"))
    kind: Any = np.int64 if counted.slices[None].n.dtype == np.int64 else np.float64
    scores = table["s"].to_numpy()
    hits, n = (table[name].to_numpy().astype(kind) for name in ("positives", "n"))
    found: dict[str | None, ScoreCounts] = {None: ScoreCounts.of(scores, hits, n - hits)}
    if by:
        labels = np.array([slice_label(by, row) for row in table.select(keys[1:]).rows()], object)
        for label in sorted(set(labels.tolist()), key=natural):
            mask = labels == label
            found[label] = ScoreCounts.of(scores[mask], hits[mask], (n - hits)[mask])
    return found


def _mostly_distinct(counted: Counted, i: int) -> bool:
    """Tell whether the first rows hardly share a score, so that grouping would not shrink them.

    A table too large for that to be kept in memory is grouped all the same.
    """
    peeks, layout = counted.predictions.peeks, counted.predictions.layout
    name = layout.prediction if layout.name == "long" else counted.models[i].columns[0]
    few = len(peeks[name].texts) < 0.95 * SAMPLE_ROWS
    return not few and sum(file.rows for file in counted.files) <= _MOST_SORTED


def _sorted(rows: nw.LazyFrame[Any]) -> ScoreCounts:
    """Count scores by putting the rows in order: for those that hardly ever tie."""
    table = collect(rows.select("s", "t").sort("s"))
    scores, hits = table["s"].to_numpy(), table["t"].to_numpy()
    new = _changes(scores)
    if new.all():
        positives = hits.astype(np.int64)
        return ScoreCounts(scores, positives, 1 - positives)
    first = np.flatnonzero(new)
    positives = np.add.reduceat(hits, first, dtype=np.int64)
    return ScoreCounts(scores[first], positives, np.diff(first, append=len(hits)) - positives)


def _changes(scores: Floats) -> Bools:
    """Mark where a score differs from the one before it."""
    new = np.ones(len(scores), bool)
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    return new
