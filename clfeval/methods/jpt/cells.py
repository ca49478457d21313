"""Models in populations: flat arrays of 2 x 2 tables, each with the odds it is to be read at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.counts.confusion import ConfusionCounts
from clfeval.counts.patterns import Counts
from clfeval.measures.jpt import Floats, Jpt
from clfeval.methods.estimates import rate


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """m tables: what was counted (m,), and the odds of positives to negatives (m,) to tune to."""

    tp: Counts
    fp: Counts
    positives: Counts
    negatives: Counts
    ratio: Floats

    @classmethod
    def of(cls, counts: ConfusionCounts, ratios: Sequence[float] | Floats) -> Cells:
        """Return k models at each of g odds, population by population: g k tables."""
        g, k = len(ratios), len(counts.models)
        return cls(
            np.tile(counts.tp, g),
            np.tile(counts.fp, g),
            np.tile(counts.positives, g),
            np.tile(counts.negatives, g),
            np.repeat(np.asarray(ratios, np.float64), k),
        )

    @classmethod
    def as_counted(cls, counts: ConfusionCounts) -> Cells:
        """Return k models, each at the odds of its own rows."""
        ratio = np.where(
            counts.negatives > 0, counts.positives / np.maximum(counts.negatives, 1e-300), np.nan
        )
        return cls(counts.tp, counts.fp, counts.positives, counts.negatives, ratio)

    @property
    def counted(self) -> Jpt:
        """The tables as they were counted."""
        return Jpt(self.tp, self.fp, self.positives - self.tp, self.negatives - self.fp)

    @property
    def tuned(self) -> Jpt:
        """The tables at their odds, total 1."""
        return self.counted.tuned(self.ratio)

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """The true and the false positive rate, NaN without the class."""
        return rate(self.tp, self.positives), rate(self.fp, self.negatives)

    def where(self, index: Counts) -> Cells:
        """Return some of the tables."""
        return self.at(index, self.ratio[index])

    def at(self, index: Counts, ratio: Floats) -> Cells:
        """Return some of the tables at other odds."""
        return Cells(
            self.tp[index], self.fp[index], self.positives[index], self.negatives[index], ratio
        )
