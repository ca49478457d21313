"""Cells of a metric table, as any format gives them, and the numbers they hold."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Floats
from clfeval.tables.cells import as_text, is_absent

Cells = Sequence[object] | NDArray[Any]

# what stands in a cell
NUMBER, MISSING, TEXT, INFINITE, UNDEFINED, SPELLED = range(6)
CODES = ("", "missing-value", "bad-number", "infinite-value", "missing-value", "bad-number")
SHOWN = 60  # characters of a cell in a message
_ESTIMATE = {"value", "low", "high", "reason"}
# meant as a number, but with a decimal comma or a percent sign
COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")
PERCENT = re.compile(r"\s*[-+]?\d*[.,]?\d+\s*%\s*")
_ENDLESS = ("infinite", "minus_infinite")


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column as numbers: NaN where there is none, and in `status` what is there instead."""

    values: Floats
    status: NDArray[np.uint8]

    @property
    def any_number(self) -> bool:
        """True when a cell holds a number, be it infinite or badly spelled."""
        return bool(numeric(self.status).any())

    @property
    def texts(self) -> int:
        """How many cells hold text."""
        return int((self.status == TEXT).sum())

    @property
    def mostly_text(self) -> bool:
        """True when text is in at least half of the cells that are not missing."""
        return 0 < int((self.status != MISSING).sum()) <= 2 * self.texts


def numeric(status: NDArray[np.uint8]) -> Bools:
    """Tell which cells hold a number, be it infinite or badly spelled."""
    return np.isin(status, (NUMBER, INFINITE, SPELLED))


def numbers_of(cells: Cells, reasons: Cells | None = None) -> Numbers:
    """Read a column as numbers: what float() takes, but no underscores and no words.

    `reasons` is the column beside it that says why cells are empty.
    """
    values = _at_once(cells)
    if values is None:
        look = _spelled if all_text(cells) else _look
        found = [look(cell) for cell in cells]
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
    return Numbers(values, status)


def _at_once(cells: Cells) -> Floats | None:
    """Convert a column that holds nothing but numbers; None when a closer look is needed."""
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    kinds = set(map(type, cells))
    try:
        if kinds <= {int, float}:
            return np.array(cells, np.float64)
        if kinds == {str} and "_" not in "".join(cells):  # type: ignore[arg-type]
            return np.fromiter(map(float, cells), np.float64, len(cells))  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        pass
    return None


def _look(cell: object) -> tuple[float, int]:
    """Return the number in a cell, else NaN, and what is there."""
    if is_estimate(cell):
        value, status = _look(cell["value"])
        return value, _without_value(cell["reason"]) if status == MISSING else status
    if isinstance(cell, str):
        return _spelled(cell)
    if is_blank(cell):
        return math.nan, MISSING
    if isinstance(cell, bool) or not isinstance(cell, (Real, Decimal)):
        return math.nan, TEXT
    try:
        value = float(cell)
    except OverflowError:
        value = math.inf
    return (math.nan, INFINITE) if math.isinf(value) else (value, NUMBER)


def _spelled(text: Any) -> tuple[float, int]:
    if is_blank(text):
        return math.nan, MISSING
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        meant = COMMA.fullmatch(text) or PERCENT.fullmatch(text)
        return math.nan, SPELLED if meant else TEXT
    if math.isnan(value):
        return math.nan, TEXT if "_" in text else MISSING
    return (math.nan, INFINITE) if math.isinf(value) else (value, NUMBER)


def _without_value(reason: object) -> int:
    if reason in _ENDLESS:
        return INFINITE
    return UNDEFINED if text_of(reason) else MISSING


def flaw_of(cell: object, status: int, reason: object = None) -> str:
    """Say in words what is wrong with a cell."""
    if is_estimate(cell):
        return flaw_of(cell["value"], status, cell["reason"])
    if status == INFINITE:
        return "is infinite"
    if status == UNDEFINED:
        return f"undefined ({reason})"
    if status == MISSING:
        return "missing"
    text = str(text_of(cell)).strip()
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return f"'{text}' is not a number"


def is_estimate(cell: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a cell is a measure as results hold it."""
    return isinstance(cell, dict) and cell.keys() == _ESTIMATE


def is_blank(cell: object) -> bool:
    """Tell whether a cell is missing; here blank text is."""
    return not cell or cell.isspace() if isinstance(cell, str) else is_absent(cell)


def text_of(cell: object) -> str | None:
    """Write a name as text; None where it is missing."""
    return None if is_blank(cell) else as_text(cell)


def texts_of(cells: Cells) -> list[str | None]:
    """Write a column of names as text."""
    if all_text(cells) and all(map(str.strip, cells)):
        return list(cells)
    return list(map(text_of, cells))


def all_text(cells: Cells) -> bool:
    """Tell whether a column holds text and nothing else."""
    return not isinstance(cells, np.ndarray) and set(map(type, cells)) == {str}
