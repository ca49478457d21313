"""Rows made on access: a million subsets stay a few arrays until a row is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, TypeVar, cast, overload

from clfeval.document.cells import CellsByColumn, Row, Rows

R = TypeVar("R", bound=CellsByColumn)
CellColumns = Mapping[str, Sequence[Any]]


class RowWithLateCells(Row):
    """A row of first cells, followed by late ones, computed when the first of them is read."""

    __slots__ = ("_first_cells", "_late_cells", "_late_names")

    def __init__(
        self,
        first_cells: CellsByColumn,
        late_names: Sequence[str],
        late_cells: Callable[[], CellsByColumn],
    ) -> None:
        """Keep the first cells, and the function that computes the late ones."""
        self._first_cells = first_cells
        self._late_names = late_names
        self._late_cells = late_cells

    def __getitem__(self, name: str) -> Any:
        """Return a cell."""
        if name in self._late_names:
            return self._late_cells()[name]
        return self._first_cells[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of cells."""
        return chain(self._first_cells, self._late_names)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self._first_cells) + len(self._late_names)

    def __repr__(self) -> str:
        """Show the cells as a dictionary does."""
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a plain dictionary of the cells."""
        return dict, (dict(self),)


class LazyRows(Sequence[Row]):
    """A sequence of rows made on access, of which only some whole columns may be stored."""

    __slots__ = ("_length", "_make_row", "columns")

    def __init__(
        self,
        length: int,
        make_row: Callable[[int], CellsByColumn],
        columns: CellColumns | None = None,
    ) -> None:
        """Keep the number of rows, the function that makes row i, and the columns at hand."""
        self._length = length
        self._make_row = cast("Callable[[int], Row]", make_row)
        self.columns = columns or {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> Row | Rows:
        """Make one row, or a list of them for a slice."""
        if isinstance(index, slice):
            return [self._make_row(i) for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._make_row(index % self._length)

    def __eq__(self, rows: object) -> bool:
        """Compare with another sequence, row by row."""
        if isinstance(rows, Sequence) and not isinstance(rows, str):
            return len(self) == len(rows) and all(
                row == second_row for row, second_row in zip(self, rows, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a plain list of the rows."""
        return list, ([*self],)


def deferred_rows(
    length: int, make: Callable[[], Sequence[CellsByColumn]], columns: CellColumns | None = None
) -> LazyRows:
    """Return `length` lazy rows, all made when the first of them is read."""
    make_once = cache(make)
    return LazyRows(length, lambda i: make_once()[i], columns)


def column_values(rows: Sequence[R], name: str) -> Sequence[Any]:
    """Return the values of a column, without making lazy rows if possible; () if there is none."""
    if isinstance(rows, LazyRows) and name in rows.columns:
        return rows.columns[name]
    return [row.get(name) for row in rows] if len(rows) and name in rows[0] else ()


def rows_where(rows: Sequence[R], name: str, value: object) -> Sequence[R]:
    """Return the rows with a value in a column, or all rows if there is no such column."""
    cells = column_values(rows, name)
    indices = [i for i, cell in enumerate(cells) if cell == value]
    if len(indices) == len(cells):
        return rows
    if isinstance(rows, LazyRows) and name in rows.columns:  # each made on access
        columns = {key: [column[i] for i in indices] for key, column in rows.columns.items()}
        lazy_rows = LazyRows(len(indices), lambda i: rows[indices[i]], columns)
        return cast("Sequence[R]", lazy_rows)
    return [rows[i] for i in indices]


def stack_rows(parts: Sequence[tuple[str | None, str, Sequence[CellsByColumn]]]) -> LazyRows:
    """Return the rows of parts (slice, model, rows) one below the other, made on access."""
    start_of_part = [0, *accumulate(len(rows) for *_, rows in parts)]

    def make_row(index: int) -> CellsByColumn:
        part_index = bisect_right(start_of_part, index) - 1
        return parts[part_index][2][index - start_of_part[part_index]]

    slices: list[str | None] = []
    models: list[str] = []
    for slice_name, model, rows in parts:
        slices += [slice_name] * len(rows)
        models += [model] * len(rows)
    return LazyRows(start_of_part[-1], make_row, {"slice": slices, "model": models})


class RowsBySlice(LazyRows):
    """The rows of the whole table, followed by those of its slices, which are made on access."""

    __slots__ = ("_all_rows", "first")

    def __init__(
        self, first: Sequence[CellsByColumn], others: Callable[[], Sequence[CellsByColumn]]
    ) -> None:
        """Keep the rows of the whole table, and the function that makes those of the slices."""
        self.first = cast("Rows", first)
        self.columns = {}
        self._all_rows = cache(lambda: [*first, *others()])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._all_rows())

    def __getitem__(self, index: Any) -> Any:
        """Return rows; those of the slices are not made for the first row."""
        last_index = index.stop - 1 if isinstance(index, slice) and index == slice(1) else index
        is_in_first = isinstance(last_index, int) and 0 <= last_index < len(self.first)
        return (self.first if is_in_first else self._all_rows())[index]
