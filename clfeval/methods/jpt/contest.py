"""Two models in one population: how much better one is by a measure, on the rows they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clfeval.counts.confusion import ConfusionCounts
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.paired_measures import correlation, difference, slopes
from clfeval.measures.catalog import CATALOG
from clfeval.measures.jpt import Floats, Jpt
from clfeval.measures.table import Measure, Stakes, measures
from clfeval.methods.jpt.cells import Cells
from clfeval.methods.jpt.limits import limits

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What a measure says of models, each at odds of its own: (m,) each; NaN without intervals."""

    value: Floats
    low: Floats
    high: Floats
    slope_tp: Floats
    slope_fp: Floats

    def at(self, index: Index) -> Standing:
        """Return some of them."""
        parts = (self.value, self.low, self.high, self.slope_tp, self.slope_fp)
        return Standing(*(part[index] for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """k models and the measure they are compared by; level None means no intervals.

    both: how many positives, and how many negatives, each two models both call positive, (k, k);
    None where nobody knows which rows they share, and they are taken as judged on other rows.
    """

    name: str
    counts: ConfusionCounts
    both: tuple[Floats, Floats] | None
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

    def values(self, ratios: Floats) -> Floats:
        """Return the measure of every model at every ratio: (g, k)."""
        return self.measure(Cells.of(self.counts, ratios).tuned).reshape(len(ratios), -1)

    def standing(self, models: Index, ratios: Floats) -> Standing:
        """Return what is to be said of models at ratios, (m,) each, before they are compared."""
        cells = Cells.of(self.counts, [1.0]).at(models, ratios)
        value = self.measure(cells.tuned)
        nothing = np.full(len(ratios), np.nan)
        if self.level is None:
            return Standing(value, nothing, nothing, nothing, nothing)
        low, high = limits(self.name, cells, level=self.level, beta=self.beta, stakes=self.stakes)
        low, high = np.minimum(low, value), np.maximum(high, value)
        if self.both is None:
            return Standing(value, low, high, nothing, nothing)

        def at(tp: Floats, fp: Floats) -> Floats:
            return self.measure(Jpt.of_rates(tp, fp, ratios))

        return Standing(value, low, high, *slopes(at, *cells.rates))

    def duel(self, first: Index, second: Index, ratios: Floats) -> tuple[Floats, Floats, Floats]:
        """Return by how much `first` is better than `second` at ratios, with limits: (m,) each."""
        one, other = (self.standing(models, ratios) for models in (first, second))
        return self.compare(first, second, one, other)

    def compare(
        self, first: Index, second: Index, one: Standing, other: Standing
    ) -> tuple[Floats, Floats, Floats]:
        """Return by how much each of `first` is better than that of `second`, with limits: (m,).

        The limits of two estimates are put together by square-and-add, with the correlation that
        the rows in common give them. More than 0 is better for `first`, whichever way the measure
        goes; NaN limits without intervals.
        """
        if self.level is None:
            with np.errstate(invalid="ignore"):
                value = np.asarray(one.value - other.value)
            low = high = np.full(len(value), np.nan)
        else:
            rho = self._correlation(first, second, one, other)
            value, low, high = difference(
                one.value, one.low, one.high, other.value, other.low, other.high, rho
            )
        return (-value, -high, -low) if self.sign < 0 else (value, low, high)

    def _correlation(self, first: Index, second: Index, one: Standing, other: Standing) -> Floats:
        """Return how two estimates go together, 0 for models judged on other rows."""
        if self.both is None:
            return np.zeros(len(first))
        c = self.counts
        tables = []
        for both, called, total in (
            (self.both[0], c.tp, c.positives), (self.both[1], c.fp, c.negatives),
        ):  # fmt: skip
            shared, a, b = both[first, second], called[first], called[second]
            neither = np.maximum(total[first] - a - b + shared, 0)
            tables.append((shared, np.maximum(a - shared, 0), np.maximum(b - shared, 0), neither))
        return correlation(
            (one.slope_tp, one.slope_fp), (other.slope_tp, other.slope_fp), tables[0], tables[1]
        )


def shared_answers(patterns: PatternCounts | None) -> tuple[Floats, Floats] | None:
    """Return how many positives, and negatives, each two models both call positive: (k, k) each."""
    if patterns is None:
        return None
    sides = []
    for rows in (patterns.truth, ~patterns.truth):
        votes = patterns.votes[rows].astype(np.float64)
        sides.append((votes.T * patterns.n[rows]) @ votes)
    return sides[0], sides[1]
