"""Confusion counts: TP, FP, FN and TN of several models, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from clfeval.counts.patterns import Counts, PatternCounts
from clfeval.tables.confusion import Confusion


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionCounts:
    """The 2 x 2 tables of k models; the arrays are (k,) and hold rows, or their weight."""

    models: tuple[str, ...]
    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts
    positives: Counts  # TP + FN
    negatives: Counts  # FP + TN

    @classmethod
    def of_patterns(cls, patterns: PatternCounts) -> ConfusionCounts:
        """Sum the patterns of a table of predictions; every model has the same class totals."""
        hits, alarms = (
            patterns.n[rows] @ patterns.votes[rows] for rows in (patterns.truth, ~patterns.truth)
        )
        misses, passes = (
            patterns.n[rows] @ ~patterns.votes[rows] for rows in (patterns.truth, ~patterns.truth)
        )
        # summed once: models on the same rows have the same totals to the last digit
        positives, negatives = (
            np.full(len(patterns.models), patterns.n[rows].sum())
            for rows in (patterns.truth, ~patterns.truth)
        )
        # sums of fractions in another order may pass their total by the last digit
        hits, misses = np.minimum(hits, positives), np.minimum(misses, positives)
        alarms, passes = np.minimum(alarms, negatives), np.minimum(passes, negatives)
        return cls(patterns.models, hits, alarms, misses, passes, positives, negatives)

    @classmethod
    def of_rows(cls, rows: Sequence[Confusion]) -> ConfusionCounts:
        """Add up the rows of a counts table, model by model, in the order they come in."""
        models = tuple(dict.fromkeys(row.model for row in rows))
        place = {model: i for i, model in enumerate(models)}
        totals = np.zeros((4, len(models)), np.int64)
        for row in rows:
            totals[:, place[row.model]] += (row.tp, row.fp, row.fn, row.tn)
        tp, fp, fn, tn = totals
        return cls(models, tp, fp, fn, tn, tp + fn, fp + tn)

    def digest(self) -> str:
        """Return the sha256 of the counts, whatever the order of models was."""
        columns = (self.tp, self.fp, self.fn, self.tn)
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        lines = sorted(
            f"{m!r} {' '.join(map(repr, n))}" for m, n in zip(self.models, numbers, strict=True)
        )
        return sha256("\n".join(lines).encode()).hexdigest()
