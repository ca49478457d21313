"""Estimates of the rows outside a slice, from sums over all rows and over the slice."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.inference.influence_and_clusters import (
    CovarianceEstimate,
    degrees_of_freedom,
    mean_covariance,
)
from clfeval.inference.rank_statistics import AucInterval, auc_interval
from clfeval.records import dataclass

_MAX_TWICE_PAIRS = 2**53  # twice the pairs of rows that floats count
_BLOCK = 2**16  # scores per block, few enough to stay in the cache
_DUST = 1e-13  # of a sum of squares: what rounding leaves of 0


@dataclass(frozen=True, slots=True, eq=False)
class _PartPairs:
    """A part of the rows at the d scores where it has any, by class: the first, the second.

    sizes, remaining: rows of the part, and outside it. counts, all_counts (d,): rows of the part
    and of all at each score. below (4, d), lower (d,): what lies below a score in all rows, and the
    mid-ranks there. beaten, beaten_within (d,): how many a row of the class beats, of all and of
    the part. beating (d,): how many outside the part beat a row of the other class.
    """

    sizes: tuple[int, int]
    remaining: tuple[int, int]
    counts: tuple[Counts, Counts]
    all_counts: tuple[Counts, Counts]
    below: Ints
    lower: tuple[Floats, Floats]
    beaten: tuple[Floats, Floats]
    beaten_within: tuple[Floats, Floats]
    beating: tuple[Floats, Floats]

    @property
    def emptied(self) -> int:
        """How many scores have no rows outside the part."""
        first, second = map(np.equal, self.all_counts, self.counts)
        return int(np.count_nonzero(first & second))


@dataclass(frozen=True, slots=True, eq=False)
class RankedPairs:
    """Counts of ordered pairs of rows of two classes at m scores, for AUCs outside of slices.

    The first class is the positives where the area is at most a half. rows: those of both classes
    at each score; below (m + 1, 4): of the lower ones the rows of both classes, and twice the pairs
    that each win, ties once. won: these of the first, of all. squares: of both classes the sums of
    squares of the share of the other that each row beats, less the area. used: scores with rows.
    """

    rows: tuple[Counts, Counts]
    below: Ints
    totals: tuple[int, int]
    squares: tuple[float, float]
    used: int
    swapped: bool

    @property
    def won(self) -> int:
        """Twice the concordant pairs, ties counted once."""
        return int(self.below[-1, 2])

    @property
    def area(self) -> float:
        """The area under the ROC curve of all rows, at most a half."""
        return self.won / (2 * self.totals[0] * self.totals[1])

    @property
    def distinct(self) -> bool:
        """Whether every row has a score of its own."""
        return self.used == sum(self.totals)

    @classmethod
    def from_counts(cls, positives: Counts, negatives: Counts) -> RankedPairs | None:
        """Return the pairs at ascending scores, (m,); None without a class, or for too many."""
        rows = (positives, negatives)
        totals = (positives.sum().item(), negatives.sum().item())
        pairs = totals[0] * totals[1]
        if not 0 < 2 * pairs < _MAX_TWICE_PAIRS:
            return None
        won = 2 * _sum_of_products(positives, np.cumsum(negatives)) - _sum_of_products(
            positives, negatives
        )
        swapped = won > pairs
        if swapped:
            rows = (negatives, positives)
            totals = (totals[1], totals[0])
            won = 2 * pairs - won
        below, squares = _cumulate_pairs(rows, totals, won / (2 * pairs))
        used = int(np.count_nonzero(positives + negatives))
        return cls(rows, below, totals, squares, used, swapped)

    def complement(
        self, positions: Ints, positives: Counts, negatives: Counts, *, level: float
    ) -> AucInterval | None:
        """Return the AUC and interval of `delong_auc` for the rows outside a part.

        There a row beats u = (N x - n y) / (N - n) of the other class where it beats a share x of
        the N of all rows and y of the n of the part. positions (d,): at which of the scores the
        part has rows, ascending; positives and negatives (d,). None where less than half of a class
        is left.
        """
        part = self._pairs_of_part(positions, positives, negatives)
        remaining = part.remaining
        if self.totals[0] > 2 * remaining[0] or self.totals[1] > 2 * remaining[1]:
            return None
        pairs = 2 * remaining[0] * remaining[1]
        won = self.won + 2 * _sum_of_products(
            part.counts[0], part.beaten_within[0] - part.beaten[0]
        )
        won -= 2 * _sum_of_products(part.counts[1], part.beaten[1])
        shift = won / pairs - self.area
        squares = (self._squares_outside(0, part, shift), self._squares_outside(1, part, shift))
        tied = self.used - part.emptied == 1
        if self.swapped:
            won = pairs - won
            remaining = (remaining[1], remaining[0])
            squares = (squares[1], squares[0])
        return auc_interval(won, pairs - won, remaining, squares, tied=tied, level=level)

    def _pairs_of_part(self, positions: Ints, positives: Counts, negatives: Counts) -> _PartPairs:
        """Return what a part of the rows beats, at the scores (d,) where it has rows."""
        rows = (negatives, positives) if self.swapped else (positives, negatives)
        sizes = (int(rows[0].sum()), int(rows[1].sum()))
        remaining = (self.totals[0] - sizes[0], self.totals[1] - sizes[1])
        counts = (rows[0].astype(np.float64), rows[1].astype(np.float64))
        all_counts = counts
        if not self.distinct:
            all_counts = (self.rows[0].take(positions), self.rows[1].take(positions))
        below = np.ascontiguousarray(self.below.take(positions, axis=0).T)
        lower = (below[0] + all_counts[0] / 2, below[1] + all_counts[1] / 2)
        # of rows of either class at a score: how many they beat, and outside how many beat them
        first = np.cumsum(rows[0]) - rows[0] / 2
        second = np.cumsum(rows[1]) - rows[1] / 2
        return _PartPairs(
            sizes,
            remaining,
            counts,
            all_counts,
            below,
            lower,
            beaten=(lower[1], self.totals[0] - lower[0]),
            beaten_within=(second, sizes[0] - first),
            beating=(remaining[0] - (lower[0] - first), lower[1] - second),
        )

    def _squares_outside(self, k: int, part: _PartPairs, shift: float) -> float:
        """Return the sum of squares of class k outside a part; shift: of the area there."""
        total = self.totals[1 - k]
        remaining = total - part.sizes[1 - k]
        share = part.beaten[k] / total - self.area
        weighed = part.counts[k] * share
        factor = total / remaining
        factor_within = part.sizes[1 - k] / remaining
        cross = self._cross_products(k, part, weighed)
        squares = factor**2 * (self.squares[k] - _sum_of_products(weighed, share))
        squares += (
            factor_within**2 * self._products_within(k, part)
            - 2 * factor * factor_within * cross
            - part.remaining[k] * shift**2
        )
        return squares if squares > _DUST * factor**2 * self.squares[k] else 0.0

    def _cross_products(self, k: int, part: _PartPairs, weighed: Floats) -> float:
        """Return the sum of x t of the rows of class k outside; t = y / n less the area."""
        area = self.area
        opposite = part.counts[1 - k]
        # the shares of rows on one side, half of those with it; less the area they add up to 0
        x = (part.below[2 + k] + part.all_counts[k] * part.beaten[k]) / (2 * self.totals[1 - k])
        x_y = (1 if k else -1) * (
            _sum_of_products(opposite, x) - area * _sum_of_products(opposite, part.lower[k])
        ) - _sum_of_products(weighed, part.beaten_within[k])
        return x_y / max(part.sizes[1 - k], 1) + area * float(weighed.sum())

    def _products_within(self, k: int, part: _PartPairs) -> float:
        """Return the sum of t² of the rows of class k outside; t = y / n less the area."""
        area = self.area
        n = max(part.sizes[1 - k], 1)
        opposite = part.counts[1 - k]
        beating = opposite * part.beating[k]
        squared = 2 * _sum_of_products(beating, part.beaten_within[k])
        if not self.distinct:
            outside_counts = part.all_counts[k] - part.counts[k]
            squared -= _sum_of_products(opposite, opposite, outside_counts) / 4
        return squared / n**2 - 2 * area * float(beating.sum()) / n + area**2 * part.remaining[k]


def _cumulate_pairs(
    rows: tuple[Counts, Counts], totals: tuple[int, int], area: float
) -> tuple[Ints, tuple[float, float]]:
    """Return `below` and `squares` of ranked pairs of two classes, (m,) each, block by block."""
    m = len(rows[0])
    below = np.zeros((m + 1, 4), np.int64)
    squares = [0.0, 0.0]
    for start in range(0, m, _BLOCK):
        first, second = (counts[start : start + _BLOCK] for counts in rows)
        sums = below[start + 1 : start + 1 + len(first)]
        for k, counts in enumerate((first, second)):
            np.cumsum(counts, out=sums[:, k])
            sums[:, k] += below[start, k]
        twice_beaten = (2 * sums[:, 1] - second, 2 * (totals[0] - sums[:, 0]) + first)
        for k, counts in enumerate((first, second)):
            np.cumsum(counts * twice_beaten[k], out=sums[:, 2 + k])
            sums[:, 2 + k] += below[start, 2 + k]
            share = twice_beaten[k] / (2 * totals[1 - k]) - area
            squares[k] += _sum_of_products(counts, share, share)
    return below, (squares[0], squares[1])


def _sum_of_products(*parts: Counts) -> float:
    """Return the sum of products, without the idle threads of a matrix product."""
    return float(np.einsum(",".join("i" * len(parts)) + "->", *parts, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class PowerSums:
    """The sums over rows of the powers 0 to 4 of centred values, (5,)."""

    sums: Floats

    def complement(
        self, part: PowerSums, *, fewest: float
    ) -> tuple[float, CovarianceEstimate] | None:
        """Return the mean over the rows outside a part, minus the centre, and its covariance.

        fewest: the rows of the smaller class. None where less than half of the rows are left.
        """
        rows, first, second, third, fourth = (self.sums - part.sums).tolist()
        if not 0 < self.sums[0] <= 2 * rows:
            return None
        mean = first / rows
        centred = second - rows * mean**2
        squares = centred if centred > _DUST * self.sums[2] else 0.0
        fourth += -4 * mean * third + 6 * mean**2 * second - 3 * rows * mean**4
        return mean, _mean_estimate(squares, fourth, rows, fewest)


@dataclass(frozen=True, slots=True, eq=False)
class RiskSums:
    """Sums of p^k, k 0 to 4, over rows with probability p, and k 0 to 3 over positives."""

    every: Floats
    positive: Floats

    def complement(
        self, part: RiskSums, *, fewest: float
    ) -> tuple[float, CovarianceEstimate] | None:
        """Return observed / expected positives outside a part, and its covariance.

        f = (y - r p) M / sum p, r the ratio. fewest: the rows of the smaller class. None where less
        than half of the rows are left, or nothing is expected.
        """
        n = self.every - part.every
        y = self.positive - part.positive
        if not (0 < self.every[0] <= 2 * n[0] and n[1] > 0):
            return None
        r = float(y[0] / n[1])
        second = y[0] - 2 * r * y[1] + r**2 * n[2]
        fourth = y[0] - 4 * r * y[1] + 6 * r**2 * y[2] - 4 * r**3 * y[3] + r**4 * n[4]
        return r, _mean_estimate(max(second, 0.0), fourth, float(n[0]), fewest, float(n[0] / n[1]))


def _mean_estimate(
    second: float, fourth: float, rows: float, fewest: float, unit: float = 1.0
) -> CovarianceEstimate:
    """Return the covariance of a mean from sums of second and fourth powers of values / unit."""
    squares = np.array([second * unit**2])
    df = degrees_of_freedom(rows, divide(rows * max(fourth, 0.0) * unit**4, squares**2), fewest)
    return CovarianceEstimate(mean_covariance(squares[:, None], rows, rows), df, np.ones(1), rows)
