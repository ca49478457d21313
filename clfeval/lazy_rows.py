"""Rows made when asked for: a million subsets stay a few arrays until somebody reads them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, TypeVar, cast, overload

LazyRow = Mapping[str, Any]
R = TypeVar("R", bound=Mapping[str, Any])
CellColumns = Mapping[str, Sequence[Any]]


class LazyRows(Sequence[LazyRow]):
    """Rows made when asked for: a million subsets stay a few arrays until somebody reads them."""

    __slots__ = ("_length", "_make_row", "columns")

    def __init__(
        self, length: int, make_row: Callable[[int], LazyRow], columns: CellColumns | None = None
    ) -> None:
        """Hold the number of rows and the function that makes row i; whole columns, if at hand."""
        self._length, self._make_row, self.columns = length, make_row, columns or {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> LazyRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LazyRow]: ...
    def __getitem__(self, index: int | slice) -> LazyRow | Sequence[LazyRow]:
        """Make one row, or a list of them for a slice."""
        if isinstance(index, slice):
            return [self._make_row(i) for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._make_row(index % self._length)

    def __eq__(self, other: object) -> bool:
        """Compare as the list of rows it stands for."""
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the list of rows it stands for."""
        return list, ([*self],)


def deferred_rows(
    length: int, make: Callable[[], Sequence[LazyRow]], columns: CellColumns | None = None
) -> LazyRows:
    """Return so many rows, all made when the first of them is asked for."""
    made: list[Sequence[LazyRow]] = []

    def row(i: int) -> LazyRow:
        if not made:
            made.append(make())
        return made[0][i]

    return LazyRows(length, row, columns)


def select_rows(rows: LazyRows, places: Sequence[int]) -> LazyRows:
    """Return the rows at some places, none of which is made for it."""
    columns = {name: [cells[i] for i in places] for name, cells in rows.columns.items()}
    return LazyRows(len(places), lambda i: rows[places[i]], columns)


def column_values(rows: Sequence[R], name: str) -> Sequence[Any]:
    """Return a column of a table, of lazy rows if it may be without making them; or nothing."""
    if isinstance(rows, LazyRows) and name in rows.columns:
        return rows.columns[name]
    return [row.get(name) for row in rows] if len(rows) and name in rows[0] else ()


def rows_where(rows: Sequence[R], name: str, value: object) -> Sequence[R]:
    """Return the rows with a value in a column, all where there is no such column."""
    cells = column_values(rows, name)
    places = [i for i, cell in enumerate(cells) if cell == value]
    if len(places) == len(cells):
        return rows
    if isinstance(rows, LazyRows) and name in rows.columns:  # each when asked for
        return cast("Sequence[R]", select_rows(rows, places))
    return [rows[i] for i in places]


def stack_rows(parts: Sequence[tuple[str | None, str, Sequence[LazyRow]]]) -> LazyRows:
    """Return the rows of slices and models below one another; of each alone without the others."""
    starts = [0, *accumulate(len(rows) for *_, rows in parts)]

    def row(i: int) -> LazyRow:
        part = bisect_right(starts, i) - 1
        return parts[part][2][i - starts[part]]

    columns = (chain.from_iterable([one[k]] * len(one[2]) for one in parts) for k in (0, 1))
    return LazyRows(starts[-1], row, dict(zip(("slice", "model"), map(list, columns), strict=True)))


class RowsBySlice(LazyRows):
    """Rows of the whole table, and those of its slices below, made when somebody asks for them."""

    __slots__ = ("_every", "first")

    def __init__(self, first: Sequence[LazyRow], others: Callable[[], Sequence[LazyRow]]) -> None:
        """Hold the rows of the whole table, and the function that makes the others."""
        self.first, self.columns = first, {}
        self._every = cache(lambda: [*first, *others()])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._every())

    @overload
    def __getitem__(self, index: int) -> LazyRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LazyRow]: ...
    def __getitem__(self, index: int | slice) -> LazyRow | Sequence[LazyRow]:
        """Return rows; the first of the whole table without making any other."""
        first = index.stop - 1 if isinstance(index, slice) and index == slice(1) else index
        known = isinstance(first, int) and 0 <= first < len(self.first)
        return (self.first if known else self._every())[index]
