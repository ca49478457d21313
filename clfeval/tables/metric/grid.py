"""The cells of a metric table by column, and where its values stand in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Floats, Ints
from clfeval.tables.cells import FRAME
from clfeval.tables.metric.cells import MISSING, Cells, Numbers, numbers_of, texts_of
from clfeval.tables.names import is_index

Status = NDArray[np.uint8]
EVERY = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The cells of a table by column; `rows` numbers its records as messages do."""

    name: str
    columns: tuple[str, ...]
    cells: tuple[Cells, ...]
    rows: Sequence[int]
    display: str = FRAME
    sha256: str | None = None  # of the bytes as given; data frames have none
    outer: bool = False  # the first column holds the outer names of an object of objects
    result: bool = False  # a table of a clfeval result
    delimiter: str | None = None  # of delimited text
    _numbers: dict[tuple[int, int | None], Numbers] = field(default_factory=dict, init=False)

    @property
    def titles(self) -> list[str]:
        """The names of the columns as messages list them."""
        return [name or "(no name)" for name in self.columns]

    @property
    def place(self) -> dict[str, int]:
        """Where each name stands."""
        return {name: i for i, name in enumerate(self.columns)}

    def texts(self, column: int) -> list[str | None]:
        """Return a column as names."""
        return texts_of(self.cells[column])

    def numbers(self, column: int, reason: int | None = None) -> Numbers:
        """Return a column as numbers, read once; `reason` is the column of reasons beside it."""
        key = column, reason
        if key not in self._numbers:
            reasons = None if reason is None else self.cells[reason]
            self._numbers[key] = numbers_of(self.cells[column], reasons)
        return self._numbers[key]

    def silent(self, column: int) -> bool:
        """Tell whether a column is nothing but the row numbers a data frame was written with."""
        return is_index(self.columns[column]) and not self.numbers(column).texts

    def gathered(self, places: Places, reasons: Mapping[int, int]) -> tuple[Floats, Status]:
        """Return the values (k, n) at some places, NaN where none is, and what is there."""
        shape = np.broadcast_shapes(places.records.shape, places.columns.shape)
        values, status = np.full(shape, np.nan), np.full(shape, MISSING, np.uint8)
        records = np.broadcast_to(places.records, shape)
        for at in np.ndindex(places.columns.shape):
            column = int(places.columns[at])
            if column < 0:
                continue
            # a column that stands for all models, or for all metrics, is taken at once
            here = tuple(
                EVERY if n == 1 else i for i, n in zip(at, places.columns.shape, strict=True)
            )
            found = self.numbers(column, reasons.get(column))
            values[here] = found.values[records[here]]
            status[here] = found.status[records[here]]
        values[records < 0], status[records < 0] = np.nan, MISSING
        return values, status


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where each value stands: its record and its column, below 0 where it has none."""

    records: Ints  # both broadcast to (k, n)
    columns: Ints

    def of(self, i: int, j: int) -> tuple[int, int]:
        """Return record and column of the value of model i and metric j."""
        return _at(self.records, i, j), _at(self.columns, i, j)

    def kept(self, models: NDArray[np.intp]) -> Places:
        """Return the places of some models."""
        records, columns = (a if len(a) == 1 else a[models] for a in (self.records, self.columns))
        return Places(records, columns)


def _at(array: Ints, i: int, j: int) -> int:
    return int(array[min(i, array.shape[0] - 1), min(j, array.shape[1] - 1)])
