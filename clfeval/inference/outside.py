"""What is known of the rows outside a part from sums over all rows and over the part.

Twenty parts cost what one look at all rows does: of each only its own rows are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, over
from clfeval.inference.delong import AucInterval, auc_of
from clfeval.inference.influence import Uncertainty, corrected, degrees

_MOST = 2**62  # twice the pairs of rows that whole numbers of numpy hold
_DUST = 1e-13  # of a sum of squares: what rounding leaves of none


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The rows of one class at the scores, (m,), and where each stands among the other's.

    n: how many; share: which part of the other class it beats, less the area; sums (2, m + 1): of
    the rows, and of their shares, at the scores before each; squares: the sum of n share².
    """

    n: Counts
    share: Floats
    sums: Floats
    squares: float

    @classmethod
    def of(cls, n: Counts, beaten: Counts, others: int, area: float) -> _Side:
        """Take twice the rows of the other class that are beaten at each score, ties once."""
        share = beaten / (2 * others) - area
        each = n * share
        sums = np.zeros((2, len(n) + 1))
        np.cumsum(n, out=sums[0, 1:])
        np.cumsum(each, out=sums[1, 1:])
        return cls(n, share, sums, _summed(each, share))

    def spread(
        self, at: Ints, mine: Counts, theirs: Floats, weights: tuple[float, float], moved: float
    ) -> float:
        """Return the sum of squares of the shares that rows outside a part have of such others.

        at (d,): the scores of the part, mine (d,): its rows there. theirs (2 d + 1,): the share of
        the part's other class that is beaten between, at, and between them, less the area.
        weights: what the other class of all rows and of the part counts outside the part.
        moved: the area outside less that of all rows.
        """
        ends = np.concatenate([[0], np.column_stack([at, at + 1]).ravel(), [len(self.n)]])
        rows, shares = np.diff(self.sums[:, ends])
        rows[1::2] -= mine
        here = self.share[at]
        shares[1::2] -= mine * here
        whole, part = weights
        squares = self.squares - _summed(mine, here, here)
        found = whole**2 * squares - 2 * whole * part * _summed(shares, theirs)
        found += part**2 * _summed(rows, theirs, theirs)
        found -= float(rows.sum()) * moved**2
        return found if found > _DUST * whole**2 * self.squares else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The pairs of a positive and a negative row; below, above (m,): as in `delong_auc`."""

    positive: _Side
    negative: _Side
    below: Counts
    above: Counts
    won: int
    pairs: int
    used: int

    @classmethod
    def of(cls, positives: Counts, negatives: Counts) -> Pairs | None:
        """Take the whole numbers of rows at ascending scores, (m,).

        None without rows of a class, or with more pairs than whole numbers of numpy hold.
        """
        p, n = positives.sum().item(), negatives.sum().item()
        if not 0 < 2 * p * n < _MOST:
            return None
        below = 2 * np.cumsum(negatives) - negatives
        above = 2 * p - 2 * np.cumsum(positives) + positives
        won = (positives * below).sum().item()
        area = won / (2 * p * n)
        sides = _Side.of(positives, below, n, area), _Side.of(negatives, above, p, area)
        used = int(np.count_nonzero(positives + negatives))
        return cls(*sides, below, above, won, 2 * p * n, used)

    def outside(
        self, at: Ints, positives: Counts, negatives: Counts, *, level: float
    ) -> AucInterval | None:
        """Return what `delong_auc` does of the rows outside a part.

        at (d,): at which of the scores the part has rows, ascending; positives and negatives (d,).
        None where less than half of a class is left: differences would lose their digits.
        """
        every = (int(self.positive.sums[0, -1]), int(self.negative.sums[0, -1]))
        mine = positives.sum().item(), negatives.sum().item()
        left = every[0] - mine[0], every[1] - mine[1]
        if not (0 < every[0] <= 2 * left[0] and 0 < every[1] <= 2 * left[1]):
            return None
        hits, misses = (np.concatenate([[0], np.cumsum(n)]) for n in (positives, negatives))
        won = self.won - (positives * self.below[at]).sum().item()
        won -= (negatives * self.above[at]).sum().item()
        won += (positives * (misses[:-1] + misses[1:])).sum().item()
        area, pairs = self.won / self.pairs, 2 * left[0] * left[1]
        apart = won / pairs - area
        spread = (
            self.positive.spread(at, positives, _steps(misses, mine[1], area),
                                 (every[1] / left[1], mine[1] / left[1]), apart),
            self.negative.spread(at, negatives, _steps(mine[0] - hits, mine[0], area),
                                 (every[0] / left[0], mine[0] / left[0]), apart),
        )  # fmt: skip
        there = (self.positive.n + self.negative.n)[at]
        emptied = np.count_nonzero((there > 0) & (there == positives + negatives))
        tied = self.used - emptied == 1
        return auc_of(won, pairs - won, left, spread, tied=tied, level=level)


def _steps(beaten: Counts, others: int, area: float) -> Floats:
    """Return which part of `others` is beaten between d scores and at each of them, less the area.

    beaten (d + 1,): how many between them. Shape: (2 d + 1,), before the first to after the last.
    """
    found = np.empty(2 * len(beaten) - 1)
    found[::2] = beaten
    found[1::2] = (beaten[1:] + beaten[:-1]) / 2
    return found / max(others, 1) - area


def _summed(*parts: Counts) -> float:
    """Return the sum of products, without the threads of a matrix product, which wait at speed."""
    return float(np.einsum(",".join("i" * len(parts)) + "->", *parts, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Powers:
    """How many rows, and the sums of the first four powers of what each has, less a centre."""

    rows: float
    sums: tuple[float, ...]

    @classmethod
    def of(cls, parts: Iterable[tuple[Floats, Counts]]) -> Powers:
        """Take values, less the centre, and how many rows have each."""
        rows, sums = 0.0, np.zeros(4)
        for x, n in parts:
            squared, weighed = x * x, n * x
            rows += float(n.sum())
            sums += (weighed.sum(), _summed(weighed, x), _summed(weighed, squared),
                     _summed(weighed, squared, x))  # fmt: skip
        return cls(rows, tuple(sums.tolist()))

    def outside(self, part: Powers, *, fewest: float) -> tuple[float, Uncertainty] | None:
        """Return the mean over the rows outside a part, less the centre, and its uncertainty.

        fewest: the rows of the smaller class. None where less than half of the rows are left.
        """
        rows = self.rows - part.rows
        if not 0 < self.rows <= 2 * rows:
            return None
        first, second, third, fourth = (a - b for a, b in zip(self.sums, part.sums, strict=True))
        mean = first / rows
        around = second - rows * mean**2
        squares = np.array([around if around > _DUST * self.sums[1] else 0.0])
        fourth += -4 * mean * third + 6 * mean**2 * second - 3 * rows * mean**4
        covariance = corrected(squares[:, None], rows, rows)
        df = degrees(rows, over(rows * max(fourth, 0.0), squares**2), fewest)
        return mean, Uncertainty(covariance, df, np.ones(1), rows)
