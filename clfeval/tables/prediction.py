"""Prediction tables: the opened files, their layout, and how each column is to be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from clfeval.errors import DataError, Problem, listing
from clfeval.tables.confusion import expand_counts
from clfeval.tables.csv_head import one_column_hint, read_csv_head
from clfeval.tables.layout import Layout, recognise
from clfeval.tables.peek import Peek, peek
from clfeval.tables.roles import Roles
from clfeval.tables.scan import ENGINE_ERRORS, TableFile, check_names, open_typed, unreadable
from clfeval.tables.source import open_sources

FRAME = "<frame>"
KINDS = {"label": "labels", "score": "scores", "classes": "class probabilities"}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files of one schema with the layout recognised in the first."""

    files: tuple[TableFile, ...]
    layout: Layout
    peeks: dict[str, Peek]
    roles: Roles

    @property
    def columns_used(self) -> list[str]:
        """Every column the counts need, each once."""
        layout = self.layout
        names = [layout.truth, *(self.roles.by)]
        if self.roles.weight:
            names.append(self.roles.weight)
        if layout.name == "long":
            names += [str(layout.id), layout.model_column, layout.prediction]
        else:
            names += [column for model in layout.models for column in model.columns]
        return list(dict.fromkeys(names))

    def described(self) -> str:
        """Say in one line how the table was read."""
        layout = self.layout
        parts = [f"{self.files[0].name}: {layout.name}", f"truth '{layout.truth}'"]
        if len(self.files) > 1:
            parts[0] = f"{len(self.files)} files like {parts[0]}"
        if layout.id is not None:
            parts.append(f"id '{layout.id}'")
        if layout.name == "long":
            parts.append(f"models in '{layout.model_column}', answers in '{layout.prediction}'")
        for kind in ("label", "score", "classes"):
            names = [model.name for model in layout.models if model.kind == kind]
            if names:
                parts.append(f"{KINDS[kind]} of {listing(names)}")
        if layout.ignored:
            parts.append(f"ignored {listing(layout.ignored)}")
        return "; ".join(parts)


@contextmanager
def open_predictions(
    tables: Any,
    roles: Roles,
    *,
    input_format: str | None = None,
    delimiter: str | None = None,
) -> Iterator[Predictions]:
    """Open a list of paths, or one data frame, as a prediction table.

    Temporary copies of pipes and packed files live as long as the block.
    """
    if not isinstance(tables, (list, tuple)):
        frame = nw.from_native(tables).lazy()
        columns = tuple(frame.collect_schema().names())
        check_names(FRAME, columns)
        yield _recognised((TableFile(FRAME, columns, native=frame),), roles)
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
        yield _recognised(tuple(files), roles)


def _peeked(file: TableFile, roles: Roles) -> dict[str, Peek]:
    try:
        return peek(file, roles.null_values)
    except ENGINE_ERRORS as error:
        if file.source is None:
            raise
        raise unreadable(file.source, error) from error


def _recognised(files: tuple[TableFile, ...], roles: Roles) -> Predictions:
    first = files[0]
    for other in files[1:]:
        missing = [name for name in first.columns if name not in other.columns]
        extra = [name for name in other.columns if name not in first.columns]
        if missing or extra:
            parts = [f"has no column {listing(missing)}"] if missing else []
            parts += [f"has columns {first.name} has not: {listing(extra)}"] if extra else []
            raise DataError(
                Problem("; ".join(parts), "different-columns", other.name),
                hint="files read together need one set of columns",
            )
    peeks = _peeked(first, roles)
    try:
        layout = recognise(first.name, peeks, roles)
    except DataError as error:
        if first.source and first.source.text:
            hint = one_column_hint(first.columns, first.source.delimiter)
            raise DataError(error.problems, hint=hint or error.hint) from error
        raise
    if layout.name == "counts":
        if len(files) > 1:
            raise DataError(Problem("one counts table at a time", "several-counts", files[1].name))
        file, roles = expand_counts(first, layout.model_column, roles)
        return _recognised((file,), roles)
    return Predictions(files, layout, peeks, roles)
