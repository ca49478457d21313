"""The rows of tables: what a cell may hold, which columns hold text, and how a cell is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal, cast, get_args, overload


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence limits; `value` is None if undefined, and `reason` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    def negative(self) -> Estimate:
        """Return minus the value, with its limits exchanged."""
        value, low, high = (
            None if number is None else -number for number in (self.value, self.high, self.low)
        )
        return Estimate(value, low, high, self.reason)


Cell = None | bool | int | float | str | list[str] | Estimate
CellsByColumn = Mapping[str, Cell]

# columns that hold a text in every row of every table (of gates of a whole run, `model` is empty)
TextColumnName = Literal[
    "corner",
    "direction",
    "feature",
    "label",
    "measure",
    "metric",
    "model",
    "predicted",
    "run",
    "second",
    "text",
    "truth",
]
TEXT_COLUMNS: frozenset[str] = frozenset(get_args(TextColumnName))

if TYPE_CHECKING:

    class Row(Mapping[str, Cell]):
        """One row of a table; what a column holds follows from its name."""

        @overload
        def __getitem__(self, column: TextColumnName) -> str: ...
        @overload
        def __getitem__(self, column: str) -> Cell: ...
        def __getitem__(self, column: str) -> Cell:
            """Return a cell."""
            ...

else:
    Row = CellsByColumn  # a plain dictionary, or one whose cells are computed when they are read
Rows = Sequence[Row]


def as_row(cells: CellsByColumn) -> Row:
    """Return cells by column as a row of a table; its text columns hold text."""
    return cast("Row", cells)


EMPTY_ROW = as_row({})


def as_estimate(cell: object) -> Estimate:
    """Return a cell if it is an estimate, else an estimate without value."""
    return cell if isinstance(cell, Estimate) else Estimate(None)


def cell_value(cell: object) -> float | None:
    """Return the number in a cell, or the value of an estimate; None if there is none."""
    number = cell.value if isinstance(cell, Estimate) else cell
    return number if isinstance(number, (int, float)) else None


def cell_text(cell: object) -> str:
    """Return the text in a cell that has one; TypeError for another cell."""
    if not isinstance(cell, str):
        raise TypeError(f"{cell!r} is not a text")
    return cell


def cell_number(cell: object) -> float:
    """Return the number in a cell that has one, also as text; TypeError for another cell."""
    if not isinstance(cell, (int, float, str)):
        raise TypeError(f"{cell!r} is not a number")
    return float(cell)


def sort_value(cell: object) -> float | None:
    """Return the value of an estimate for sorting, with infinite ones as +inf or -inf."""
    value_of_reason = {"infinite": inf, "minus_infinite": -inf}
    return value_of_reason.get(as_estimate(cell).reason or "", as_estimate(cell).value)
