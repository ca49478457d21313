"""The features of METHODS section 2, one row at a time and in fractions: the tests' reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import Any

Cell = Any  # None is missing
Votes = list[Fraction | None]


@dataclass(frozen=True)
class Placed:
    """A feature in the plane: sums of votes by class, and rows by class that have a value."""

    tp: Fraction
    fp: Fraction
    positives: int
    negatives: int
    missing: int = 0
    cut: float | None = None
    rule: str | None = None
    scaled: bool = True  # False for soft votes of a single value, which has no scale

    @property
    def phi(self) -> Fraction | None:
        """tp + fp - 1 in shares."""
        rates = self.rates
        return None if rates is None else rates[0] + rates[1] - 1

    @property
    def delta(self) -> Fraction | None:
        """tp - fp in shares."""
        rates = self.rates
        return None if rates is None else rates[0] - rates[1]

    @property
    def rates(self) -> tuple[Fraction, Fraction] | None:
        """Shares of positives and of negatives with the feature; None without one of the two."""
        if not self.positives or not self.negatives:
            return None
        return self.tp / self.positives, self.fp / self.negatives

    @property
    def cells(self) -> tuple[float, float, float, float]:
        """tp, fp, fn, tn."""
        tp, fp = self.tp, self.fp
        return float(tp), float(fp), float(self.positives - tp), float(self.negatives - fp)


def absent(cell: Cell) -> bool:
    """Tell whether a cell is missing: None or NaN."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def tally(truth: Sequence[bool], votes: Votes, *, cut: Any = None, rule: Any = None) -> Placed:
    """Add up votes by class; a vote of None is a missing value."""
    known = [
        (is_positive, vote)
        for is_positive, vote in zip(truth, votes, strict=True)
        if vote is not None
    ]
    return Placed(
        tp=sum((vote for is_positive, vote in known if is_positive), Fraction(0)),
        fp=sum((vote for is_positive, vote in known if not is_positive), Fraction(0)),
        positives=sum(is_positive for is_positive, _ in known),
        negatives=sum(not is_positive for is_positive, _ in known),
        missing=len(votes) - len(known),
        cut=cut,
        rule=rule,
    )


def binary(truth: Sequence[bool], cells: Sequence[Cell]) -> Placed:
    """A column of 0 and 1, or of booleans."""
    return tally(truth, [None if absent(cell) else Fraction(int(cell)) for cell in cells])


def category(truth: Sequence[bool], cells: Sequence[Cell], text: str) -> Placed:
    """One category of a text column against the rest."""
    return tally(truth, [None if absent(cell) else Fraction(int(cell == text)) for cell in cells])


def numeric(truth: Sequence[bool], cells: Sequence[Cell], cut: Any) -> Placed:
    """A column of numbers under `--cut median | mean | best | soft | VALUE`.

    Above the median or mean (at it where nothing is above), at or above a number or the best
    value; of two values the greater.
    """
    values = [float(cell) for cell in cells if not absent(cell)]
    different = sorted(set(values))
    if not different:
        return tally(truth, [None] * len(cells))
    if cut == "soft":
        return _soft(truth, cells, different)
    if isinstance(cut, (int, float)):
        return _split(truth, cells, float(cut), ">=")
    if len(different) == 2:
        return _split(truth, cells, different[1], ">=")
    if cut == "best" and len(different) > 1:
        return _best(truth, cells, different)
    middle = sum(map(Fraction, values)) / len(values) if cut == "mean" else median(values)
    above = _split(truth, cells, float(middle), ">")
    if not above.tp + above.fp and len(different) > 1:
        return _split(truth, cells, float(middle), ">=")
    return above


def _split(truth: Sequence[bool], cells: Sequence[Cell], cut: float, rule: str) -> Placed:
    votes: Votes = []
    for cell in cells:
        is_above = None if absent(cell) else cell >= cut if rule == ">=" else cell > cut
        votes.append(None if is_above is None else Fraction(int(is_above)))
    return tally(truth, votes, cut=cut, rule=rule)


def _best(truth: Sequence[bool], cells: Sequence[Cell], different: Sequence[float]) -> Placed:
    """Try every value; largest |delta|, then least |phi|, then the lowest cut."""
    tried = [_split(truth, cells, value, ">=") for value in different]
    return min(tried, key=lambda placed: (-abs(placed.delta or 0), abs(placed.phi or 0)))


def _soft(truth: Sequence[bool], cells: Sequence[Cell], different: Sequence[float]) -> Placed:
    low, high = Fraction(different[0]), Fraction(different[-1])
    if low == high:
        known = tally(truth, [None if absent(cell) else Fraction(0) for cell in cells])
        return replace(known, rule="soft", scaled=False)
    votes: Votes = [
        None if absent(cell) else (Fraction(cell) - low) / (high - low) for cell in cells
    ]
    return tally(truth, votes, rule="soft")
