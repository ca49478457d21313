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

    @classmethod
    def from_counts(cls, positives: Counts, negatives: Counts) -> RankedPairs | None:
        """Return the pairs at ascending scores, (m,); None without a class, or for too many."""
        rows, m = (positives, negatives), len(positives)
        p, n = (part.sum().item() for part in rows)
        if not 0 < 2 * p * n < _MAX_TWICE_PAIRS:
            return None
        won = 2 * _sum_of_products(positives, np.cumsum(negatives)) - _sum_of_products(
            positives, negatives
        )
        swapped = won > p * n
        if swapped:
            rows, (p, n), won = rows[::-1], (n, p), 2 * p * n - won
        below, area, squares = np.zeros((m + 1, 4), np.int64), won / (2 * p * n), [0.0, 0.0]
        for start in range(0, m, _BLOCK):
            first, second = here = [part[start : start + _BLOCK] for part in rows]
            found = below[start + 1 : start + 1 + len(first)]
            for k, part in enumerate(here):
                np.cumsum(part, out=found[:, k])
                found[:, k] += below[start, k]
            beaten = 2 * found[:, 1] - second, 2 * (p - found[:, 0]) + first
            for k, (part, twice) in enumerate(zip(here, beaten, strict=True)):
                np.cumsum(part * twice, out=found[:, 2 + k])
                found[:, 2 + k] += below[start, 2 + k]
                share = twice / (2 * (n, p)[k]) - area
                squares[k] += _sum_of_products(part, share, share)
        used = int(np.count_nonzero(positives + negatives))
        return cls(rows, below, (p, n), (squares[0], squares[1]), used, swapped)

    def complement(
        self, at: Ints, positives: Counts, negatives: Counts, *, level: float
    ) -> AucInterval | None:
        """Return the AUC and interval of `delong_auc` for the rows outside a part.

        There a row beats u = (N x - n y) / (N - n) of the other class where it beats a share x of
        the N of all rows and y of the n of the part. at (d,): at which of the scores the part has
        rows, ascending; positives and negatives (d,). None where less than half of a class is left.
        """
        given = (negatives, positives) if self.swapped else (positives, negatives)
        mine = [part.astype(np.float64) for part in given]
        own = [int(part.sum()) for part in given]
        left = self.totals[0] - own[0], self.totals[1] - own[1]
        if self.totals[0] > 2 * left[0] or self.totals[1] > 2 * left[1]:
            return None
        alone = self.used == sum(self.totals)  # every row has a score of its own
        rows = mine if alone else [part.take(at) for part in self.rows]
        below = np.ascontiguousarray(self.below.take(at, axis=0).T)
        lower = [below[k] + rows[k] / 2 for k in (0, 1)]
        inside = [np.cumsum(part) - part / 2 for part in given]
        # of rows of either class at a score: how many they beat, and outside how many beat them
        beaten, mine_beaten = (
            (second, of_first - first)
            for (first, second), of_first in ((lower, self.totals[0]), (inside, own[0]))
        )
        by = left[0] - (lower[0] - inside[0]), lower[1] - inside[1]
        area, pairs = self.won / (2 * self.totals[0] * self.totals[1]), 2 * left[0] * left[1]
        won = self.won + 2 * _sum_of_products(mine[0], mine_beaten[0] - beaten[0])
        won -= 2 * _sum_of_products(mine[1], beaten[1])
        moved, spread = won / pairs - area, list[float]()
        for k, side in ((0, -1), (1, 1)):
            part, other, y, n = mine[k], mine[1 - k], mine_beaten[k], max(own[1 - k], 1)
            share = beaten[k] / self.totals[1 - k] - area
            weighed = part * share
            # the shares of rows on one side, half of those with it; less the area they add up to 0
            x = (below[2 + k] + rows[k] * beaten[k]) / (2 * self.totals[1 - k])
            x_y = side * (
                _sum_of_products(other, x) - area * _sum_of_products(other, lower[k])
            ) - _sum_of_products(weighed, y)
            met = other * by[k]
            squared = 2 * _sum_of_products(met, y)
            if not alone:
                squared -= _sum_of_products(other, other, rows[k] - part) / 4
            x_t = x_y / n + area * float(weighed.sum())  # t = y / n less the area
            t_t = squared / n**2 - 2 * area * float(met.sum()) / n + area**2 * left[k]
            all_of, less = self.totals[1 - k] / left[1 - k], own[1 - k] / left[1 - k]
            found = all_of**2 * (self.squares[k] - _sum_of_products(weighed, share))
            found += less**2 * t_t - 2 * all_of * less * x_t - left[k] * moved**2
            spread.append(found if found > _DUST * all_of**2 * self.squares[k] else 0.0)
        emptied = sum(map(np.equal, rows, mine)) == 2
        tied = self.used - np.count_nonzero(emptied) == 1
        if self.swapped:
            won, left, spread = pairs - won, left[::-1], spread[::-1]
        return auc_interval(won, pairs - won, left, (spread[0], spread[1]), tied=tied, level=level)


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
        around = second - rows * mean**2
        squares = around if around > _DUST * self.sums[2] else 0.0
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
        n, y = self.every - part.every, self.positive - part.positive
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
