"""Joint probability tables (JPT): 2 x 2 tables brought to equal classes or to any class ratio.

Source: Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clfeval.arrays import Floats

Number = Any  # a float or an array of numbers


@dataclass(frozen=True, slots=True)
class Jpt:
    """Cells of one or many 2 x 2 tables: rows, shares, or any multiple of them."""

    tp: Number
    fp: Number
    fn: Number
    tn: Number

    @classmethod
    def of_rates(cls, tp: Number, fp: Number, ratio: Number = 1.0) -> Jpt:
        """Return the table with these true and false positive rates at odds `ratio`; total 1."""
        return cls(tp, fp, 1 - tp, 1 - fp).tuned(ratio)

    @property
    def total(self) -> Floats:
        """The sum of the four cells."""
        return np.asarray(self.tp + self.fp + self.fn + self.tn, np.float64)

    def normalised(self) -> Jpt:
        """Return the positives divided by P, the negatives by N: class totals 1, grand total 2."""
        p, n = self.tp + self.fn, self.fp + self.tn
        return Jpt(
            *(over(*pair) for pair in ((self.tp, p), (self.fp, n), (self.fn, p), (self.tn, n)))
        )

    def tuned(self, ratio: Number) -> Jpt:
        """Return the table at odds `ratio` of positives to negatives: total 1, rates kept.

        TP = r tp / (1 + r)   FN = r fn / (1 + r)   FP = fp / (1 + r)   TN = tn / (1 + r)
        """
        one, r = self.normalised(), np.asarray(ratio, np.float64)
        # each share without overflow or loss, whichever class is rare
        p, n = 1 / (1 + 1 / r), 1 / (1 + r)
        return Jpt(p * one.tp, n * one.fp, p * one.fn, n * one.tn)

    def per(self, rows: float) -> Jpt:
        """Return the table scaled to this many rows."""
        factor = over(rows, self.total)
        return Jpt(self.tp * factor, self.fp * factor, self.fn * factor, self.tn * factor)


def over(part: Number, whole: Number) -> Floats:
    """Return part / whole: NaN for 0/0, infinite for more than 0 over 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.divide(np.asarray(part, np.float64), whole))
