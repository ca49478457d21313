"""Prediction tables: the opened files, the roles of their columns, and the layouts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from clfeval.errors import DataError
from clfeval.tables.cells import FRAME
from clfeval.tables.input import FILE_NAME, Input
from clfeval.tables.join import open_joined
from clfeval.tables.peek import peek_columns
from clfeval.tables.recognition import Predictions, open_source, recognise
from clfeval.tables.row_selection import (
    filtered_rows,
    find_bin_edges,
    refuse_train_and_test,
    run_files,
)
from clfeval.tables.scan import TableFile, file_of_frame
from clfeval.tables.source import open_sources, refuse_named_tables, table_paths
from clfeval.tables.unreadable_text import (
    check_same_columns,
    converting_engine_errors,
    with_delimiter_hint,
)


@contextmanager
def open_files(tables: Any, said: Input) -> Iterator[tuple[TableFile, ...]]:
    """Open paths, or one data frame; all files must have the columns of the first."""
    paths = table_paths(tables)
    refuse_named_tables(tables)
    if not paths:
        yield (filtered_rows(file_of_frame(tables, FRAME), said.where),)
        return
    with open_sources(paths, said) as sources, converting_engine_errors(sources):
        files = tuple(map(open_source, sources))
        check_same_columns(files)
        yield tuple(filtered_rows(file, said.where) for file in files)


@contextmanager
def open_predictions(
    tables: Any, roles: Input, *, keep_counts: bool = False
) -> Iterator[Predictions]:
    """Open paths, or one data frame, as a prediction table.

    A counts table of one model becomes weighted predictions, unless `keep_counts`: then the layout
    is `counts`, for `read_confusions`. With `join` the files become one table.
    """
    roles = roles.folded()
    if roles.join is not None:
        with open_joined(tables, roles) as whole:
            yield whole
        return
    with open_files(tables, roles) as files:
        files = run_files(files) if roles.run == FILE_NAME else files
        found = _recognise_predictions(files, roles)
        expand = found.layout.expand
        if expand is not None and not keep_counts:
            if len(files) > 1:
                raise DataError.new("more than one counts table", "several-counts", files[1].name)
            file, roles = expand(files[0], found.columns.naming, roles)
            found = _recognise_predictions((file,), roles)
        yield found


def _recognise_predictions(files: tuple[TableFile, ...], roles: Input) -> Predictions:
    peeks = peek_columns(files[0], roles.null_value, roles.decimal, fold=roles.fold_labels)
    if not roles.model:
        refuse_train_and_test(files, peeks, roles)
    try:
        layout, columns = recognise(files[0].name, peeks, roles)
    except DataError as error:
        raise with_delimiter_hint(files[0], error) from error
    peeks |= {name: peeks[name].in_bits(pair) for name, pair in columns.bits.items()}
    edges = find_bin_edges(files, roles.by, files[0].columns, roles.null_value)
    return Predictions(files, layout, replace(columns, edges=edges), peeks, roles)
