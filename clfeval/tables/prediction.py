"""Prediction tables: the opened files, their layout, and how each column is to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from clfeval.errors import DataError, Problem, listing, no_table, unknown_column
from clfeval.late import nw
from clfeval.tables.cells import FRAME
from clfeval.tables.columns import Columns, Layout
from clfeval.tables.csv import one_column_hint, read_csv_head
from clfeval.tables.input import Input
from clfeval.tables.layouts import layouts
from clfeval.tables.layouts.counts import expand_counts
from clfeval.tables.scan import (
    FILE_NAME,
    Peek,
    TableFile,
    check_names,
    engine_errors,
    open_typed,
    peek,
    unreadable,
)
from clfeval.tables.source import open_sources


@contextmanager
def open_files(tables: Any, said: Input) -> Iterator[tuple[TableFile, ...]]:
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
    with open_sources(tables, said) as sources:
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
    except engine_errors() as error:
        if file.source is None:
            raise
        raise unreadable(file.source, error) from error


def with_delimiter_hint(file: TableFile, error: DataError) -> DataError:
    """Return the error with a better hint when the table seems to have another delimiter."""
    hint = None
    if file.source and file.source.text:
        hint = one_column_hint(file.columns, file.source.delimiter)
    return DataError(error.problems, hint=hint or error.hint)


def recognise(file: str, peeks: Mapping[str, Peek], roles: Input) -> tuple[Layout, Columns]:
    """Recognise the layout of a table, and its columns, from its header and first rows."""
    columns = list(peeks)
    for name in (roles.truth, roles.id, roles.weight, *roles.by):
        if name is not None and name not in peeks and name != FILE_NAME:
            raise unknown_column(file, name, columns)
    wanted = roles.layout
    for layout in layouts():
        if wanted in (None, layout.name, *layout.asked):
            found = layout.recognise(file, peeks, roles)
            if found is not None:
                return layout, replace(
                    found, by=roles.by, weight=roles.weight, run=roles.run,
                    null_values=roles.null_value,
                )  # fmt: skip
    layout = next(layout for layout in layouts() if layout.name == wanted)
    raise DataError(
        Problem(f"{layout.lacking}: columns {listing(columns)}", "wrong-layout", file),
        hint=f"that layout needs columns like {layout.needs}",
    )


KINDS = {"label": "labels", "score": "scores", "classes": "class probabilities"}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files of one schema with the layout recognised in the first."""

    files: tuple[TableFile, ...]
    layout: Layout
    columns: Columns
    peeks: Mapping[str, Peek]
    roles: Input

    def described(self) -> str:
        """Say in one line how the table was read."""
        columns = self.columns
        parts = [f"{self.files[0].name}: {self.layout.name}"]
        if len(self.files) > 1:
            parts[0] = f"{len(self.files)} files like {parts[0]}"
        if columns.truth:
            parts.append(f"truth '{columns.truth}'")
        if columns.id is not None:
            parts.append(f"id '{columns.id}'")
        if columns.naming:
            answers = f", answers in '{columns.answer}'" if columns.answer else ""
            parts.append(f"models in '{columns.naming}'{answers}")
        for kind in ("label", "score", "classes"):
            names = [model.name for model in columns.models if model.kind == kind]
            if names:
                parts.append(f"{KINDS[kind]} of {listing(names)}")
        if columns.ignored:
            parts.append(f"ignored {listing(columns.ignored)}")
        return "; ".join(parts)


@contextmanager
def open_predictions(
    tables: Any, roles: Input, *, keep_counts: bool = False
) -> Iterator[Predictions]:
    """Open a list of paths, or one data frame, as a prediction table.

    A counts table of one model becomes the predictions it counts, unless `keep_counts`: then the
    layout is `counts`, for `read_confusions`.
    Temporary copies of pipes and packed files live as long as the block.
    """
    with open_files(tables, roles) as files:
        yield _recognised(files, roles, keep_counts=keep_counts)


def _recognised(
    files: tuple[TableFile, ...], roles: Input, *, keep_counts: bool = False
) -> Predictions:
    first = files[0]
    peeks = dict(peek_at(first, roles.null_value))
    try:
        layout, columns = recognise(first.name, peeks, roles)
    except DataError as error:
        raise with_delimiter_hint(first, error) from error
    if layout.counts is not None and not keep_counts:
        if len(files) > 1:
            raise DataError.of("one counts table at a time", "several-counts", files[1].name)
        file, roles = expand_counts(first, columns.naming, roles)
        return _recognised((file,), roles)
    return Predictions(files, layout, columns, peeks, roles)
