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

_MOST = 2**53  # twice the pairs of rows that floats count
_BLOCK = 2**14  # scores looked at together, few enough to stay in the cache
_DUST = 1e-13  # of a sum of squares: what rounding leaves of none


@dataclass(frozen=True, slots=True, eq=False)
class RankedPairs:
    """The pairs of a positive and a negative row at m scores: which are in order.

    at (m, 6): of each score the rows of both classes at it, the rows at lower scores, and the sums
    over these of the share of the other class that each beats, less the area. totals, squares: of
    both classes the rows, and the sum of the squares of these shares. won: twice the pairs in
    order, ties once. used: how many scores have rows.
    """

    at: Floats
    totals: tuple[int, int]
    squares: tuple[float, float]
    won: float
    used: int

    @classmethod
    def of(cls, positives: Counts, negatives: Counts) -> RankedPairs | None:
        """Take the whole numbers of rows at ascending scores, (m,).

        None without rows of a class, or with more pairs than floats count.
        """
        p, n = positives.sum().item(), negatives.sum().item()
        if not 0 < 2 * p * n < _MOST:
            return None
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(positives), _BLOCK)]
        at, before = np.empty((len(positives), 6)), np.zeros(4)
        for here in blocks:
            for k, rows in enumerate((positives[here], negatives[here])):
                at[here, k] = rows
                at[here, 2 + k] = before[k] + (np.cumsum(rows) - rows)
                before[k] += rows.sum()
        won = 2 * sum(_summed(at[here, 0], at[here, 3] + at[here, 1] / 2) for here in blocks)
        area, squares = won / (2 * p * n), np.zeros(2)
        for here in blocks:
            hits, misses, low, high = at[here, :4].T
            shares = (high + misses / 2) / n - area, (p - low - hits / 2) / p - area
            for k, (rows, share) in enumerate(zip((hits, misses), shares, strict=True)):
                each = rows * share
                squares[k] += _summed(each, share)
                at[here, 4 + k] = before[2 + k] + (np.cumsum(each) - each)
                before[2 + k] += each.sum()
        used = int(np.count_nonzero(positives + negatives))
        return cls(at, (p, n), (float(squares[0]), float(squares[1])), won, used)

    def outside(
        self, at: Ints, positives: Counts, negatives: Counts, *, level: float
    ) -> AucInterval | None:
        """Return what `delong_auc` does of the rows outside a part.

        There a row beats u = (N x - n y) / (N - n) of the other class, less a constant, where it
        beats x of the N of all rows and y of the n of the part: y is a step at each row of these.
        So the squares of u are those of x, and products and squares of sums between the steps.

        at (d,): at which of the scores the part has rows, ascending; positives and negatives (d,).
        None where less than half of a class is left: differences would lose their digits.
        """
        mine = positives.sum().item(), negatives.sum().item()
        left = self.totals[0] - mine[0], self.totals[1] - mine[1]
        if self.totals[0] > 2 * left[0] or self.totals[1] > 2 * left[1]:
            return None
        here = np.ascontiguousarray(self.at.take(at, axis=0).T)  # (6, d)
        p, n = self.totals
        area, pairs = self.won / (2 * p * n), 2 * left[0] * left[1]
        hits, misses = (np.concatenate([[0], np.cumsum(part)]) for part in (positives, negatives))
        beaten = here[3] + here[1] / 2, p - here[2] - here[0] / 2
        won = self.won - 2 * _summed(positives, beaten[0]) - 2 * _summed(negatives, beaten[1])
        won += _summed(positives, misses[:-1] + misses[1:])
        moved, spread = won / pairs - area, list[float]()
        for k, (part, other) in enumerate(((positives, misses), (negatives, mine[0] - hits))):
            o = 1 - k  # of the other class
            share = beaten[k] / self.totals[o] - area
            theirs = _steps(other) / max(mine[o], 1) - area
            all_of, less = self.totals[o] / left[o], mine[o] / left[o]
            rows = np.diff(_ends(here[2 + k], here[k], self.totals[k]))
            rows[1::2] -= part
            sums = np.diff(_ends(here[4 + k], here[k] * share, 0.0))  # all shares add up to 0
            sums[1::2] -= part * share
            found = all_of**2 * (self.squares[k] - _summed(part * share, share))
            found -= 2 * all_of * less * _summed(sums, theirs)
            found += less**2 * _summed(rows * theirs, theirs) - left[k] * moved**2
            spread.append(found if found > _DUST * all_of**2 * self.squares[k] else 0.0)
        emptied = np.count_nonzero((here[0] == positives) & (here[1] == negatives))
        tied = self.used - emptied == 1
        return auc_of(won, pairs - won, left, (spread[0], spread[1]), tied=tied, level=level)


def _ends(before: Floats, there: Floats, whole: float) -> Floats:
    """Return sums up to before and behind each of d scores, from 0 to that of all: (2 d + 2,)."""
    found = np.empty(2 * len(before) + 2)
    found[0], found[-1] = 0.0, whole
    found[1:-1:2], found[2:-1:2] = before, before + there
    return found


def _steps(between: Counts) -> Floats:
    """Return numbers between d scores, (d + 1,), and at each the mean of both sides: (2 d + 1,)."""
    found = np.empty(2 * len(between) - 1)
    found[::2] = between
    found[1::2] = (between[1:] + between[:-1]) / 2
    return found


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
