"""Frames of formats: the rows of a table with their numbers, and a table of other columns."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.records import replace
from clfeval.tables.frames import in_polars, nw, pl
from clfeval.tables.invalid_cells import ROW
from clfeval.tables.scan import TableFile, scan


def numbered_frame(file: TableFile) -> pl.LazyFrame:
    """Return the rows with the column ROW of their numbers in the file; text files as text."""
    rows_of_file = file.native
    if file.head is not None:
        rows_of_file = scan(file, dict.fromkeys(file.columns, "text"))
    assert rows_of_file is not None
    polars_rows = in_polars(rows_of_file)
    if file.numbered:
        return polars_rows
    return polars_rows.with_row_index(ROW, offset=file.head.header_row + 1 if file.head else 1)


def with_frame(file: TableFile, frame: pl.LazyFrame, columns: Sequence[str]) -> TableFile:
    """Return a table with other rows or columns, which have the numbers of rows in the file."""
    return replace(
        file,
        columns=tuple(columns),
        native=nw.from_native(frame),
        head=None,
        parts=file.parts or (file,),
        numbered=True,
    )


def replaced_columns(
    file: TableFile,
    removed_columns: Sequence[str],
    new_columns: Sequence[pl.Expr],
    new_names: Sequence[str],
) -> TableFile:
    """Return a table with new columns, of the given names, in place of some of its columns."""
    frame = numbered_frame(file).with_columns(new_columns)
    columns = [name for name in file.columns if name not in {*removed_columns} - {*new_names}]
    columns += [name for name in new_names if name not in columns]
    return with_frame(file, frame.select(ROW, *columns), columns)
