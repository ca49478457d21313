"""From the bytes of a file, or a data frame, to the grid of a metric table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from operator import itemgetter
from typing import Any

import numpy as np

from clfeval.errors import DataError, Problem, UsageError, no_table
from clfeval.late import nw
from clfeval.tables.cells import FRAME
from clfeval.tables.csv import (
    ENCODING_HINT,
    inspect_structure,
    one_column_hint,
    read_csv_head,
    read_records,
    refuse_utf16,
    take_fingerprint,
)
from clfeval.tables.metric.grid import Grid, GridCells, all_text, is_blank
from clfeval.tables.metric.records import json_grid
from clfeval.tables.scan import engine_errors, open_typed, unreadable
from clfeval.tables.source import BINARY, SourceFile, open_sources


def read_grid(
    table: Any,
    *,
    id_column: str | None = None,
    null_values: Sequence[str] = (),
    input_format: str | None = None,
    delimiter: str | None = None,
) -> Grid:
    """Read a list of one path, or a data frame; cells that are null values become None.

    Records without any value are left out, and count as rows all the same.
    """
    if isinstance(table, (list, tuple)):
        with open_sources(table, input_format=input_format, delimiter=delimiter) as sources:
            if len(sources) != 1:
                what = "one metric table at a time" if sources else "no table given"
                raise UsageError.of(what, "several-tables" if sources else "no-input")
            grid = _of_file(sources[0], id_column)
    else:
        grid = _of_frame(table)
    if null_values:
        grid = replace(grid, cells=tuple(_without(cells, null_values) for cells in grid.cells))
    return _without_blanks(grid)


def _of_file(source: SourceFile, id_column: str | None) -> Grid:
    if source.format in BINARY:
        grid, digest = _of_typed(source), take_fingerprint(source).sha256
    else:
        data = source.path.read_bytes()
        digest = source.sha256 or sha256(data).hexdigest()
        if source.text:
            grid = _of_text(source, data)
        else:
            grid = json_grid(_decoded(source, data), source.name, id_column)
    return replace(grid, display=source.display, sha256=digest)


def _of_text(source: SourceFile, data: bytes) -> Grid:
    head = read_csv_head(source)
    width = len(head.columns)
    records = read_records(source) if _plain(data) else []
    if set(map(len, records)) != {width}:  # blank lines, or worse
        try:
            inspect_structure(source, head.columns)
        except DataError as error:
            hint = one_column_hint(head.columns, source.delimiter) if width == 1 else None
            raise DataError(error.problems, hint=hint or error.hint, totals=error.totals) from error
        records = read_records(source)
    rows: Sequence[int] = range(head.header_row + 1, len(records) + 1)
    if not all(records):
        rows = [row for row in rows if records[row - 1]]
    body = [records[row - 1] for row in rows]
    cells = tuple(list(map(itemgetter(i), body)) for i in range(width))
    return Grid(source.name, head.columns, cells, rows, delimiter=source.delimiter)


def _plain(data: bytes) -> bool:
    """Tell whether the bytes are UTF-8 with the line ends and without the NUL that all agree on."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data and data.count(b"\r") == data.count(b"\r\n")


def _decoded(source: SourceFile, data: bytes) -> str:
    refuse_utf16(source, data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise DataError.of("not UTF-8", "not-utf8", source.name, row, hint=ENCODING_HINT) from error


def _of_typed(source: SourceFile) -> Grid:
    file = open_typed(source)
    try:
        return replace(_of_frame(file.native), name=source.name)
    except engine_errors() as error:
        raise unreadable(source, error) from error


def _of_frame(table: Any) -> Grid:
    """Read a data frame of any library; the names in a pandas index become the first column."""
    try:
        frame: Any = nw.from_native(table, pass_through=False)
    except TypeError as error:
        raise no_table(table) from error
    except nw.exceptions.DuplicateError as error:
        names = [line[2:] for line in str(error).splitlines() if line.startswith("- ")]
        raise DataError(
            [Problem(f"the name {name}", "duplicate-column", FRAME) for name in names],
            hint="give every column a name of its own",
        ) from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    columns = [str(name) for name in frame.columns]
    cells = [_cells(frame.get_column(name)) for name in frame.columns]
    index = nw.maybe_get_index(frame)
    if index is not None and index.nlevels == 1 and any(isinstance(one, str) for one in index):
        name = "" if index.name is None else str(index.name)
        if name not in columns:
            columns, cells = [name, *columns], [list(index), *cells]
    rows = range(1, len(frame) + 1)
    return Grid(FRAME, tuple(columns), tuple(cells), rows)


def _cells(series: Any) -> GridCells:
    dtype = series.dtype
    cells: GridCells
    if dtype.is_float():
        cells = series.cast(nw.Float64).to_numpy()
    elif dtype.is_integer() and not series.is_null().any():
        cells = series.to_numpy()
    else:
        cells = series.to_list()
    return cells


def _without(cells: GridCells, null_values: Sequence[str]) -> GridCells:
    """Return cells without those that mean missing; numbers are compared as numbers."""
    if isinstance(cells, np.ndarray):
        numbers = [number for mark in null_values if (number := _number(mark)) is not None]
        values = cells.astype(np.float64)
        return np.where(np.isin(values, numbers), np.nan, values) if numbers else cells
    marks = set(null_values)
    return [None if str(cell) in marks else cell for cell in cells]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _without_blanks(grid: Grid) -> Grid:
    blank: Sequence[int] = range(len(grid.rows))
    for cells in grid.cells:
        if all_text(cells) and all(map(str.strip, cells)):
            return grid
        blank = [i for i in blank if is_blank(cells[i])]
        if not blank:
            return grid
    gone = set(blank)
    keep = [i for i in range(len(grid.rows)) if i not in gone]
    cells = tuple(
        column[keep] if isinstance(column, np.ndarray) else [column[i] for i in keep]
        for column in grid.cells
    )
    return replace(grid, cells=cells, rows=[grid.rows[i] for i in keep])
