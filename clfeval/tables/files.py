"""Opened tables: several files of one schema, or a data frame, with header and sample checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals as nw

from clfeval.errors import DataError, Problem, listing, no_table
from clfeval.tables.csv_head import one_column_hint, read_csv_head
from clfeval.tables.peek import Peek, peek
from clfeval.tables.scan import ENGINE_ERRORS, TableFile, check_names, open_typed, unreadable
from clfeval.tables.source import open_sources

FRAME = "<frame>"


@contextmanager
def open_files(
    tables: Any, *, input_format: str | None = None, delimiter: str | None = None
) -> Iterator[tuple[TableFile, ...]]:
    """Open a list of paths, or one data frame; all files must have the columns of the first.

    Temporary copies of pipes and packed files live as long as the block.
    """
    if not isinstance(tables, (list, tuple)):
        try:
            frame = nw.from_native(tables).lazy()
        except TypeError as error:
            raise no_table(tables) from error
        columns = tuple(frame.collect_schema().names())
        check_names(FRAME, columns)
        yield (TableFile(FRAME, columns, native=frame),)
        return
    with open_sources(tables, input_format=input_format, delimiter=delimiter) as sources:
        files = []
        for source in sources:
            if source.text:
                head = read_csv_head(source)
                check_names(source.name, head.columns, row=head.header_row)
                files.append(TableFile(source.name, head.columns, source, head=head))
            else:
                files.append(open_typed(source))
        _check_same_columns(files)
        yield tuple(files)


def _check_same_columns(files: Sequence[TableFile]) -> None:
    first = files[0]
    for other in files[1:]:
        ours, theirs = set(first.columns), set(other.columns)
        missing = [name for name in first.columns if name not in theirs]
        extra = [name for name in other.columns if name not in ours]
        if missing or extra:
            parts = [f"has no column {listing(missing)}"] if missing else []
            parts += [f"has columns {first.name} has not: {listing(extra)}"] if extra else []
            raise DataError(
                Problem("; ".join(parts), "different-columns", other.name),
                hint="files read together need one set of columns",
            )


def peek_at(file: TableFile, null_values: Sequence[str]) -> Mapping[str, Peek]:
    """Look at each column's first values; raises DataError when the file's reader refuses."""
    try:
        return peek(file, null_values)
    except ENGINE_ERRORS as error:
        if file.source is None:
            raise
        raise unreadable(file.source, error) from error


def with_delimiter_hint(file: TableFile, error: DataError) -> DataError:
    """Return the error with a better hint when the table seems to have another delimiter."""
    hint = None
    if file.source and file.source.text:
        hint = one_column_hint(file.columns, file.source.delimiter)
    return DataError(error.problems, hint=hint or error.hint)
