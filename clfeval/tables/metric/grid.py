"""The cells of a metric table by column, as text and as numbers, and the places of its values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Floats, Ints
from clfeval.tables.cells import FRAME, as_text, is_missing
from clfeval.tables.input import find_column

GridCells = Sequence[object] | NDArray[Any]

# kinds of cells
NUMBER, MISSING, TEXT, INFINITE, UNDEFINED, SPELLED, PERCENT = range(7)
CODES = (
    "", "missing-value", "bad-number", "infinite-value", "missing-value", "bad-number",
    "bad-number",
)  # fmt: skip
MAX_CELL_LENGTH = 60  # characters of a cell in a message
_ESTIMATE = {"value", "low", "high", "reason"}
# a number with another decimal sign, or with a thousands separator
_OTHER_DECIMAL = {
    ".": re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?"),
    ",": re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?"),
}
_ENDLESS = ("infinite", "minus_infinite")


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn:
    """A column as numbers, NaN if a cell has none, with the kind of each cell in `status`."""

    values: Floats
    status: NDArray[np.uint8]

    @property
    def any_number(self) -> bool:
        """True if a cell holds a number, even an infinite or misspelled one."""
        return bool(is_numeric(self.status).any())

    @property
    def texts(self) -> int:
        """Number of cells with text."""
        return int((self.status == TEXT).sum())

    @property
    def mostly_text(self) -> bool:
        """True if text is in at least half of the cells that are not missing."""
        return 0 < int((self.status != MISSING).sum()) <= 2 * self.texts


def is_numeric(status: NDArray[np.uint8]) -> Bools:
    """Return which cells hold a number, even an infinite or misspelled one."""
    return np.isin(status, (NUMBER, INFINITE, SPELLED, PERCENT))


def parse_numbers(
    cells: GridCells, reasons: GridCells | None = None, decimal: str = "."
) -> NumberColumn:
    """Parse a column as numbers, as float() does but without underscores and words.

    reasons: the column that explains empty cells; decimal: the decimal sign in text. A number
    with a percent sign is divided by 100, and has its own status.
    """
    values = _at_once(cells, decimal)
    if values is None:
        found = [_parse_cell(cell, decimal) for cell in cells]
        values = np.array([value for value, _ in found], np.float64)
        status = np.array([status for _, status in found], np.uint8)
    else:
        status = np.where(np.isnan(values), MISSING, NUMBER).astype(np.uint8)
        endless = np.isinf(values)
        if endless.any():
            status[endless] = INFINITE
            values = np.where(endless, np.nan, values)
    if reasons is not None:
        for i in np.flatnonzero(status == MISSING).tolist():
            status[i] = _without_value(reasons[i])
    return NumberColumn(values, status)


def _at_once(cells: GridCells, decimal: str) -> Floats | None:
    """Convert a column of valid numbers; None if cells have to be parsed one by one."""
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    kinds = set(map(type, cells))
    try:
        if kinds <= {int, float}:
            return np.array(cells, np.float64)
        if kinds == {str} and decimal == "." and "_" not in "".join(cells):  # type: ignore[arg-type]
            return np.fromiter(map(float, cells), np.float64, len(cells))  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        pass
    return None


def _parse_cell(cell: object, decimal: str) -> tuple[float, int]:
    """Return the number in a cell, else NaN, and the kind of the cell."""
    if is_estimate(cell):
        value, status = _parse_cell(cell["value"], decimal)
        return value, _without_value(cell["reason"]) if status == MISSING else status
    if isinstance(cell, str):
        return _parse_spelled(cell, decimal)
    if is_blank(cell):
        return math.nan, MISSING
    if isinstance(cell, bool) or not isinstance(cell, (Real, Decimal)):
        return math.nan, TEXT
    try:
        value = float(cell)
    except OverflowError:
        value = math.inf
    return (math.nan, INFINITE) if math.isinf(value) else (value, NUMBER)


def _parse_spelled(text: str, decimal: str) -> tuple[float, int]:
    if is_blank(text):
        return math.nan, MISSING
    plain = text.strip()
    percent = plain.endswith("%")
    bare = plain[:-1].rstrip() if percent else plain
    if _OTHER_DECIMAL[decimal].fullmatch(bare):
        return math.nan, SPELLED
    try:
        written = bare.replace(decimal, ".")
        value = math.nan if "_" in text else float(f"{written}e-2" if percent else written)
    except ValueError:
        return math.nan, TEXT
    if math.isnan(value):
        return math.nan, TEXT if "_" in text or percent else MISSING
    return (math.nan, INFINITE) if math.isinf(value) else (value, PERCENT if percent else NUMBER)


def _without_value(reason: object) -> int:
    if reason in _ENDLESS:
        return INFINITE
    return UNDEFINED if name_text(reason) else MISSING


def describe_flaw(cell: object, status: int, reason: object = None) -> str:
    """Describe the problem of a cell in words."""
    if is_estimate(cell):
        return describe_flaw(cell["value"], status, cell["reason"])
    if status == INFINITE:
        return "is infinite"
    if status == UNDEFINED:
        return f"undefined ({reason})"
    if status == MISSING:
        return "missing"
    text = str(name_text(cell)).strip()
    text = text if len(text) <= MAX_CELL_LENGTH else f"{text[:MAX_CELL_LENGTH]}..."
    return f"'{text}' is not a number"


def is_estimate(cell: object) -> TypeGuard[dict[str, object]]:
    """Return whether a cell is an estimate of a saved result."""
    return isinstance(cell, dict) and cell.keys() == _ESTIMATE


def is_blank(cell: object) -> bool:
    """Return whether a cell is missing; blank text is."""
    return not cell or cell.isspace() if isinstance(cell, str) else is_missing(cell)


def name_text(cell: object) -> str | None:
    """Return a name as text; None if it is missing."""
    return None if is_blank(cell) else as_text(cell)


def is_all_text(cells: GridCells) -> TypeGuard[Sequence[str]]:
    """Return whether every cell of a column holds text that is not blank."""
    if isinstance(cells, np.ndarray) or set(map(type, cells)) != {str}:
        return False
    return all(map(str.strip, cells))  # type: ignore[arg-type]


Status = NDArray[np.uint8]
EVERY = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The cells of a table by column; rows: the numbers of its records in messages."""

    name: str
    columns: tuple[str, ...]
    cells: tuple[GridCells, ...]
    rows: Sequence[int]
    display: str = FRAME
    sha256: str | None = None  # of the original bytes; None for data frames
    outer: bool = False  # the first column holds the outer names of an object of objects
    delimiter: str | None = None  # of delimited text
    other: str | None = None  # the delimiter it more likely has
    decimal: str = "."
    _numbers: dict[tuple[int, int | None], NumberColumn] = field(default_factory=dict, init=False)

    @property
    def titles(self) -> list[str]:
        """Names of the columns for messages."""
        return [name or "(no name)" for name in self.columns]

    @property
    def place(self) -> dict[str, int]:
        """Index of each column by name."""
        return {name: i for i, name in enumerate(self.columns)}

    def find(self, names: Sequence[str], *, but: int | None = None) -> int | None:
        """Return the index of the column with one of the names; but: a column to skip."""
        found = find_column((name for i, name in enumerate(self.columns) if i != but), names)
        return None if found is None else self.columns.index(found)

    def taking(self, records: Sequence[int]) -> Grid:
        """Return the grid with some of its records."""
        keep = list(records)
        cells = tuple(
            column[keep] if isinstance(column, np.ndarray) else [column[i] for i in keep]
            for column in self.cells
        )
        return replace(self, cells=cells, rows=[self.rows[i] for i in keep])

    def texts(self, column: int) -> list[str | None]:
        """Return a column as texts, None where missing."""
        cells = self.cells[column]
        return list(cells) if is_all_text(cells) else list(map(name_text, cells))

    def numbers(self, column: int, reason: int | None = None) -> NumberColumn:
        """Return a column as numbers, parsed once; reason: the column that explains empty cells."""
        key = column, reason
        if key not in self._numbers:
            reasons = None if reason is None else self.cells[reason]
            self._numbers[key] = parse_numbers(self.cells[column], reasons, self.decimal)
        return self._numbers[key]

    def gathered(self, places: ValuePlaces, reasons: Mapping[int, int]) -> tuple[Floats, Status]:
        """Return the values (k, n) at some places, NaN where there is none, and their status."""
        shape = np.broadcast_shapes(places.records.shape, places.columns.shape)
        values, status = np.full(shape, np.nan), np.full(shape, MISSING, np.uint8)
        records = np.broadcast_to(places.records, shape)
        for at in np.ndindex(places.columns.shape):
            column = int(places.columns[at])
            if column < 0:
                continue
            # a column with the values of all models, or of all metrics, is read at once
            here = tuple(
                EVERY if n == 1 else i for i, n in zip(at, places.columns.shape, strict=True)
            )
            found = self.numbers(column, reasons.get(column))
            values[here] = found.values[records[here]]
            status[here] = found.status[records[here]]
        values[records < 0], status[records < 0] = np.nan, MISSING
        return values, status


@dataclass(frozen=True, slots=True, eq=False)
class ValuePlaces:
    """The place of each value: its record and its column, negative if it has none."""

    records: Ints  # both broadcast to (k, n)
    columns: Ints

    def of(self, i: int, j: int) -> tuple[int, int]:
        """Return the record and the column of the value of model i and metric j."""
        records, columns = np.broadcast_arrays(self.records, self.columns)
        return int(records[i, j]), int(columns[i, j])

    def kept(self, models: NDArray[np.intp]) -> ValuePlaces:
        """Return the places of some of the models."""
        records, columns = (a if len(a) == 1 else a[models] for a in (self.records, self.columns))
        return ValuePlaces(records, columns)
