"""Score counts: how many positives and negatives stand at each distinct score of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from clfeval.counts.judge import slice_label
from clfeval.counts.patterns import Counts
from clfeval.counts.predictions import Counted
from clfeval.counts.raw import collect
from clfeval.counts.scores import score_rows
from clfeval.tables.labels import natural

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts:
    """The sufficient statistic of a ranking: m distinct scores, ascending, and (m,) counts."""

    scores: Floats
    positives: Counts
    negatives: Counts

    def digest(self) -> str:
        """Return the sha256 of scores and counts."""
        columns = (self.scores, self.positives, self.negatives)
        return sha256(b"".join(column.astype("<f8").tobytes() for column in columns)).hexdigest()

    @classmethod
    def of(cls, scores: Floats, positives: Counts, negatives: Counts) -> ScoreCounts:
        """Merge equal scores and put them in order."""
        distinct, place = np.unique(scores, return_inverse=True)
        return cls(
            distinct,
            np.bincount(place, positives, len(distinct)).astype(positives.dtype),
            np.bincount(place, negatives, len(distinct)).astype(negatives.dtype),
        )


def count_scores(counted: Counted) -> Mapping[str | None, Mapping[str, ScoreCounts]]:
    """Count the scores of every scored model, for the whole table (None) and for each slice.

    Rows are those that were counted: with --missing drop, all that lack no model's answer.
    """
    kind: Any = np.int64 if counted.slices[None].n.dtype == np.int64 else np.float64
    slices: dict[str | None, dict[str, ScoreCounts]] = {None: {}}
    for i, model in enumerate(counted.models):
        if model.kind == "label":
            continue
        parts: dict[str | None, list[tuple[Floats, Counts, Counts]]] = {}
        for frame in score_rows(counted):
            for place, columns in _by_slice(frame, f"s{i}", counted.predictions.roles.by):
                parts.setdefault(place, []).append(columns)
        for place, found in parts.items():
            scores, hits, everything = (np.concatenate(c) for c in zip(*found, strict=True))
            hits = hits.astype(kind)
            one = ScoreCounts.of(scores, hits, everything.astype(kind) - hits)
            slices.setdefault(place, {})[model.name] = one
    ordered = sorted((label for label in slices if label is not None), key=natural)
    return {label: slices[label] for label in (None, *ordered)}


def _by_slice(
    frame: nw.LazyFrame[Any], score: str, by: tuple[str, ...]
) -> Iterator[tuple[str | None, tuple[Floats, Counts, Counts]]]:
    """Yield scores, positives and rows of one file, the whole first, then each slice."""
    keys = [score, *(f"b{j}" for j in range(len(by)))]
    weighed = frame.select(*keys, n=nw.col("w"), positives=nw.col("w") * nw.col("t"))
    table = collect(weighed.group_by(*keys).agg(nw.col("n", "positives").sum()))
    scores, hits, n = (table[name].to_numpy() for name in (score, "positives", "n"))
    yield None, (scores, hits, n)
    if by:
        labels = np.array([slice_label(by, row) for row in table.select(keys[1:]).rows()], object)
        for label in sorted(set(labels.tolist())):
            mask = labels == label
            yield label, (scores[mask], hits[mask], n[mask])
