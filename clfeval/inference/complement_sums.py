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
    """A part of the rows, such as a slice, at the d scores where it has any.

    Pairs are of the first and the second class, as in `RankedPairs`. sizes, remaining: rows of the
    part, and outside it. counts, all_counts (d,): rows of the part and of all at each score. below
    (4, d): `RankedPairs.below` at these scores. lower (d,): all rows below, ties one half. beaten,
    beaten_within (d,): how many rows of the other class a row of this one beats, of all and of the
    part. beating (d,): how many rows of this class outside the part beat one of the other class.
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
        no_first_left, no_second_left = map(np.equal, self.all_counts, self.counts)
        return int(np.count_nonzero(no_first_left & no_second_left))


@dataclass(frozen=True, slots=True, eq=False)
class RankedPairs:
    """Counts of ordered pairs of rows of two classes at m scores, for AUCs outside of slices.

    The first class is the positives where the area is at most a half, else the negatives (swapped).
    A row of the first class beats those of the second below it, one of the second class beats those
    of the first above it; ties count one half. rows: of both classes at each score. below
    (m + 1, 4): at the lower scores the rows of both classes, and twice the pairs that the rows of
    each class win. totals: rows of both classes. squares: of both classes the sums of squares of
    the share of the other that each row beats, less the area. used: how many scores have rows.
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
        pairs_up_to = _sum_of_products(positives, np.cumsum(negatives))  # tied ones included
        tied_pairs = _sum_of_products(positives, negatives)
        won = 2 * pairs_up_to - tied_pairs
        swapped = won > pairs
        if swapped:
            rows = (negatives, positives)
            totals = (totals[1], totals[0])
            won = 2 * pairs - won
        below, squares = _cumulate_pairs(rows, totals, won / (2 * pairs))
        used_scores = int(np.count_nonzero(positives + negatives))
        return cls(rows, below, totals, squares, used_scores, swapped)

    def complement(
        self, positions: Ints, positives: Counts, negatives: Counts, *, level: float
    ) -> AucInterval | None:
        """Return the AUC and interval of `delong_auc` for the rows outside a part.

        There a row beats u = (N x - n y) / (N - n) of the other class where it beats a share x of
        the N of all rows and y of the n of the part. positions (d,): at which of the scores the
        part has rows, ascending; positives and negatives (d,): its rows there. None where less than
        half of a class is left.
        """
        part = self._pairs_of_part(positions, positives, negatives)
        remaining = part.remaining
        if self.totals[0] > 2 * remaining[0] or self.totals[1] > 2 * remaining[1]:
            return None
        pairs = 2 * remaining[0] * remaining[1]
        # subtract the pairs with a row of the part; both products have those of two such rows
        won = self.won + 2 * _sum_of_products(
            part.counts[0], part.beaten_within[0] - part.beaten[0]
        )
        won -= 2 * _sum_of_products(part.counts[1], part.beaten[1])
        shift = won / pairs - self.area
        squares = (self._squares_outside(0, part, shift), self._squares_outside(1, part, shift))
        has_one_score = self.used - part.emptied == 1
        if self.swapped:
            won = pairs - won
            remaining = (remaining[1], remaining[0])
            squares = (squares[1], squares[0])
        return auc_interval(won, pairs - won, remaining, squares, tied=has_one_score, level=level)

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
        # rows of the part below each score, by class; those at it count one half
        first_below = np.cumsum(rows[0]) - rows[0] / 2
        second_below = np.cumsum(rows[1]) - rows[1] / 2
        return _PartPairs(
            sizes,
            remaining,
            counts,
            all_counts,
            below,
            lower,
            beaten=(lower[1], self.totals[0] - lower[0]),
            beaten_within=(second_below, sizes[0] - first_below),
            beating=(remaining[0] - (lower[0] - first_below), lower[1] - second_below),
        )

    def _squares_outside(self, k: int, part: _PartPairs, shift: float) -> float:
        """Return the sum of squares, as `squares`, of class k outside a part.

        shift: the area there less that of all rows.
        """
        other_total = self.totals[1 - k]
        other_remaining = other_total - part.sizes[1 - k]
        centred_shares = part.beaten[k] / other_total - self.area
        weighted_shares = part.counts[k] * centred_shares
        factor = other_total / other_remaining
        factor_within = part.sizes[1 - k] / other_remaining
        cross = self._cross_products(k, part, weighted_shares)
        squares = factor**2 * (self.squares[k] - _sum_of_products(weighted_shares, centred_shares))
        squares += (
            factor_within**2 * self._products_within(k, part)
            - 2 * factor * factor_within * cross
            - part.remaining[k] * shift**2
        )
        return squares if squares > _DUST * factor**2 * self.squares[k] else 0.0

    def _cross_products(self, k: int, part: _PartPairs, weighted_shares: Floats) -> float:
        """Return the sum of (x - A) t over the rows of class k outside; t = y - A, A the area.

        x, y: the shares of `complement`. weighted_shares: x - A times the rows of the part.
        """
        area = self.area
        other_counts = part.counts[1 - k]
        # the shares of rows on one side, half of those with it; less the area they add up to 0
        x = (part.below[2 + k] + part.all_counts[k] * part.beaten[k]) / (2 * self.totals[1 - k])
        sign = 1 if k else -1
        products_x_y = sign * (
            _sum_of_products(other_counts, x) - area * _sum_of_products(other_counts, part.lower[k])
        ) - _sum_of_products(weighted_shares, part.beaten_within[k])
        return products_x_y / max(part.sizes[1 - k], 1) + area * float(weighted_shares.sum())

    def _products_within(self, k: int, part: _PartPairs) -> float:
        """Return the sum of t² over the rows of class k outside; t as in `_cross_products`."""
        area = self.area
        n = max(part.sizes[1 - k], 1)
        other_counts = part.counts[1 - k]
        beating_products = other_counts * part.beating[k]
        squares = 2 * _sum_of_products(beating_products, part.beaten_within[k])
        if not self.distinct:
            outside_counts = part.all_counts[k] - part.counts[k]
            squares -= _sum_of_products(other_counts, other_counts, outside_counts) / 4
        return (
            squares / n**2
            - 2 * area * float(beating_products.sum()) / n
            + area**2 * part.remaining[k]
        )


def _cumulate_pairs(
    rows: tuple[Counts, Counts], totals: tuple[int, int], area: float
) -> tuple[Ints, tuple[float, float]]:
    """Return `below` and `squares` of ranked pairs of two classes, (m,) each, block by block."""
    m = len(rows[0])
    below = np.zeros((m + 1, 4), np.int64)
    squares = [0.0, 0.0]
    for start in range(0, m, _BLOCK):
        first_counts, second_counts = (counts[start : start + _BLOCK] for counts in rows)
        block_below = below[start + 1 : start + 1 + len(first_counts)]
        for k, counts in enumerate((first_counts, second_counts)):
            np.cumsum(counts, out=block_below[:, k])
            block_below[:, k] += below[start, k]
        twice_beaten = (
            2 * block_below[:, 1] - second_counts,
            2 * (totals[0] - block_below[:, 0]) + first_counts,
        )
        for k, counts in enumerate((first_counts, second_counts)):
            np.cumsum(counts * twice_beaten[k], out=block_below[:, 2 + k])
            block_below[:, 2 + k] += below[start, 2 + k]
            centred_shares = twice_beaten[k] / (2 * totals[1 - k]) - area
            squares[k] += _sum_of_products(counts, centred_shares, centred_shares)
    return below, (squares[0], squares[1])


def _sum_of_products(*factors: Counts) -> float:
    """Return the sum of products, without the idle threads of a matrix product."""
    return float(np.einsum(",".join("i" * len(factors)) + "->", *factors, dtype=np.float64))


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
        # the sums outside: of power 0, the rows, and s1 to s4 of powers 1 to 4
        rows, s1, s2, s3, s4 = (self.sums - part.sums).tolist()
        if not 0 < self.sums[0] <= 2 * rows:
            return None
        mean = s1 / rows
        squares = s2 - rows * mean**2
        if not squares > _DUST * self.sums[2]:
            squares = 0.0
        s4 += -4 * mean * s3 + 6 * mean**2 * s2 - 3 * rows * mean**4
        return mean, _mean_estimate(squares, s4, rows, fewest)


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
        n = self.every - part.every  # sums of p^k over rows outside, k the index
        y = self.positive - part.positive  # the same over positives
        if not (0 < self.every[0] <= 2 * n[0] and n[1] > 0):
            return None
        r = float(y[0] / n[1])
        # sums of (y - r p)² and of (y - r p)⁴
        squares = y[0] - 2 * r * y[1] + r**2 * n[2]
        fourth_powers = y[0] - 4 * r * y[1] + 6 * r**2 * y[2] - 4 * r**3 * y[3] + r**4 * n[4]
        return r, _mean_estimate(
            max(squares, 0.0), fourth_powers, float(n[0]), fewest, float(n[0] / n[1])
        )


def _mean_estimate(
    second_powers: float, fourth_powers: float, rows: float, fewest: float, unit: float = 1.0
) -> CovarianceEstimate:
    """Return the covariance of a mean from sums of second and fourth powers of values / unit.

    fewest: the rows of the smaller class.
    """
    squares = np.array([second_powers * unit**2])
    kurtosis = divide(rows * max(fourth_powers, 0.0) * unit**4, squares**2)
    df = degrees_of_freedom(rows, kurtosis, fewest)
    covariance = mean_covariance(squares[:, None], rows, rows)
    return CovarianceEstimate(covariance, df, effect=np.ones(1), size=rows)
