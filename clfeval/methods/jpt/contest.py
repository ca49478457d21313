"""Two models in one population: how much better one is by a measure, on the rows they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clfeval.counts.confusion import ConfusionCounts
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.differences import Table
from clfeval.inference.paired_measures import correlation, difference, slopes
from clfeval.measures.catalog import CATALOG
from clfeval.measures.jpt import Floats, Jpt
from clfeval.measures.table import Measure, Stakes, measures
from clfeval.methods.jpt.cells import Cells
from clfeval.methods.jpt.limits import limits

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """k models and the measure they are compared by; level None means no intervals.

    patterns: which rows the models share; without them they are taken as judged on other rows.
    """

    name: str
    counts: ConfusionCounts
    patterns: PatternCounts | None
    level: float | None
    beta: float = 1.0
    stakes: Stakes | None = None

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if CATALOG[self.name].best == "min" else 1

    @property
    def measure(self) -> Measure:
        """The measure as a function of tables."""
        return measures(self.beta, self.stakes)[self.name]

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """The true and false positive rates of the models, (k,) each."""
        return Cells.of(self.counts, [1.0]).rates

    def values(self, ratios: Floats) -> Floats:
        """Return the measure of every model at every ratio: (g, k)."""
        return self.measure(Cells.of(self.counts, ratios).tuned).reshape(len(ratios), -1)

    def duel(self, first: Index, second: Index, ratios: Floats) -> tuple[Floats, Floats, Floats]:
        """Return by how much `first` is better than `second` at a ratio, and its limits: (m,) each.

        The limits of two estimates are put together by square-and-add, with the correlation that
        the rows in common give them. NaN without intervals; more than 0 is better for `first`
        whichever way the measure goes.
        """
        one, other = (self._at(index, ratios) for index in (first, second))
        mine, theirs = (self.measure(cells.tuned) for cells in (one, other))
        if self.level is None:
            with np.errstate(invalid="ignore"):
                value = np.asarray(mine - theirs)
            low = high = np.full(len(ratios), np.nan)
        else:
            (low1, high1), (low2, high2) = (self._limits(cells) for cells in (one, other))
            rho = self._correlation(first, second, ratios)
            value, low, high = difference(
                mine, np.fmin(low1, mine), np.fmax(high1, mine),
                theirs, np.fmin(low2, theirs), np.fmax(high2, theirs), rho,
            )  # fmt: skip
        return (-value, -high, -low) if self.sign < 0 else (value, low, high)

    def _at(self, models: Index, ratios: Floats) -> Cells:
        return Cells.of(self.counts, [1.0]).at(models, ratios)

    def _limits(self, cells: Cells) -> tuple[Floats, Floats]:
        return limits(
            self.name, cells, level=self.level or 0.95, beta=self.beta, stakes=self.stakes
        )

    def _correlation(self, first: Index, second: Index, ratios: Floats) -> Floats:
        """Return how two estimates go together, 0 for models judged on other rows."""
        if self.patterns is None:
            return np.zeros(len(ratios))
        tp, fp = self.rates

        def at(tp: Floats, fp: Floats) -> Floats:
            return self.measure(Jpt.of_rates(tp, fp, ratios))

        one, other = (slopes(at, tp[index], fp[index]) for index in (first, second))
        positives, negatives = self._shared(first, second)
        return np.asarray(correlation(one, other, positives, negatives))

    def _shared(self, first: Index, second: Index) -> list[Table]:
        """Return how many positives, then negatives, both, one, the other, neither says are so."""
        patterns = self.patterns
        if patterns is None:
            return []
        pairs, place = np.unique(np.column_stack([first, second]), axis=0, return_inverse=True)
        tables = np.empty((2, 4, len(pairs)))
        for m, (i, j) in enumerate(pairs.tolist()):
            a, b = patterns.votes[:, i], patterns.votes[:, j]
            for side, rows in enumerate((patterns.truth, ~patterns.truth)):
                for cell, both in enumerate((a & b, a & ~b, ~a & b, ~a & ~b)):
                    tables[side, cell, m] = patterns.n[rows & both].sum()
        place = place.ravel()
        return [(a[place], b[place], c[place], d[place]) for a, b, c, d in tables]
