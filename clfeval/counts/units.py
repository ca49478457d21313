"""Fractional weights as whole numbers of a small unit: sums are exact in every order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, frexp, inf, log10
from typing import Any

from clfeval.arrays import MOST, Number
from clfeval.late import nw
from clfeval.tables.scan import Frame, collect

_PLACES = 15  # decimal places looked for
_MAX_EXACT_UNITS = (
    2.0**50
)  # a weight of fewer units of 10**-d is such a decimal, or is seen to be none
_FINEST = 1000  # bits after the point


class WeightedCounts:
    """Counts of rows, or of weights in units."""

    __slots__ = ()
    unit: float

    @property
    def fractional(self) -> bool:
        """True where weights are no whole numbers, and no rows."""
        return self.unit != 1


def weight_unit(frames: Sequence[Frame], column: str, *, most: int = MOST) -> float:
    """Return the units per weight of 1, for finite weights >= 0.

    10**d where every weight has at most d decimal places (as it is written shortest), else 2**k as
    large as the sum of all weights allows, which is at most `most` units; weights are rounded to
    that, by less than one part in 10**12 of the greatest for a million rows.
    """
    weight, places = nw.col("w"), range(1, _PLACES + 1)
    # polars divides by a number as it multiplies with its inverse, which is not the same
    rounded = ((weight * 10.0**d).round(0) / (weight * 0.0 + 10.0**d) for d in places)
    others = [
        (back != weight).cast(nw.Int64).sum().alias(f"d{d}")
        for d, back in zip(places, rounded, strict=True)
    ]
    most_of = nw.col("w").max().alias("greatest")
    picked = (frame.select(w=nw.col(column).cast(nw.Float64)) for frame in frames)
    found = [
        collect(frame.select(nw.len().alias("rows"), most_of, *others)).rows(named=True)[0]
        for frame in picked
    ]
    greatest = max(row["greatest"] or 0.0 for row in found)
    bound = greatest * sum(row["rows"] for row in found)
    for d in places:
        small = greatest * 10.0**d < _MAX_EXACT_UNITS and bound * 10.0**d <= most
        if small and not any(row[f"d{d}"] for row in found):
            return 10.0**d
    return 2.0 ** min(frexp(most)[1] - 1 - frexp(bound)[1], _FINEST)


def rounding_error(frames: Sequence[Frame], column: str, unit: float) -> float:
    """Return the relative rounding error of the least weight above 0; 0 for decimal units."""
    if unit == 1 or log10(unit).is_integer():
        return 0.0
    weight = nw.col(column).cast(nw.Float64)
    least = [
        value
        for frame in frames
        for value in collect(frame.select(w=weight).filter(nw.col("w") > 0).select(
            nw.col("w").min()))["w"].to_list()
        if value is not None
    ]  # fmt: skip
    return 0.5 / (min(least) * unit) if least else 0.0


def in_units(weight: nw.Expr, unit: float) -> nw.Expr:
    """Return weights as whole numbers of units, one at the least but for 0; as is for unit 1."""
    number = weight.cast(nw.Float64)
    if unit == 1:
        return number
    whole = (number * unit).round(0).cast(nw.Int64)
    return nw.when(number > 0).then(nw.max_horizontal(whole, nw.lit(1))).otherwise(whole)


def squares_of(column: str) -> nw.Expr:
    """Return squares of whole numbers, which may fit no 64 bits, as floats."""
    number = nw.col(column).cast(nw.Float64)
    return number * number


def limit_in_units(limit: float, unit: float) -> int | float:
    """Return the most units that do not pass a limit, the decimal number it is written as."""
    if unit == 1 or limit == inf:
        return limit
    exact = Fraction(repr(limit)) * Fraction(unit)
    # weights that are no decimals were rounded: what shows as the limit keeps it
    return floor(exact if unit % 10 == 0 else exact * (1 + Fraction(1, 10**12)))


def from_units(n: Number, unit: float) -> Any:
    """Return counts as people read them: rows, or the weight that so many units are."""
    return n if unit == 1 else n / unit
