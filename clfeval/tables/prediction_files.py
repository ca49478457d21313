"""Prediction files: the recognition of their layout and columns; one opened, or several joined."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import chain
from typing import Any

from clfeval.errors import (
    ClfevalError,
    DataError,
    Problem,
    UsageError,
    bad_option,
    list_names,
    unknown_column_error,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables import engines, invalid_cells, row_selection
from clfeval.tables.formats.headers import open_formatted
from clfeval.tables.formats.recognise import read_format
from clfeval.tables.input import (
    FILE_NAME,
    JOIN_NOTHING,
    InputOptions,
    parse_facets,
    split_path,
    table_paths,
)
from clfeval.tables.layouts.counts_file import are_counts_files, open_counts_files
from clfeval.tables.predictions import Predictions
from clfeval.tables.readings.calibrated_scores import refuse_calibrators
from clfeval.tables.readings.rows_in_files import check_same_columns
from clfeval.tables.recognition import recognise_predictions
from clfeval.tables.scan import TableFile, check_names, file_of_frame, open_typed
from clfeval.tables.source import FRAME, SourceFile, open_sources


def open_source(source: SourceFile) -> TableFile:
    """Open a source as a table, with its header if it is text."""
    if not source.text:
        return open_typed(source)
    if (formatted := open_formatted(source)) is not None:
        return formatted
    source, head = invalid_cells.read_head(source)
    check_names(source.name, head.columns, row=head.header_row)
    return TableFile(source.name, head.columns, source, head=head)


@contextmanager
def open_joined(tables: object, input_options: InputOptions) -> Iterator[Predictions]:
    """Open files with different columns, each with its name, and join them.

    `NAME=FILE`, or a mapping of names to files or data frames. Errors name the original cells.
    """
    from clfeval.tables.joined_table import join_files

    named_tables: list[tuple[str | None, Any]] = [(None, tables)]
    if isinstance(tables, Mapping):
        named_tables = [(str(name), table) for name, table in tables.items()]
    elif paths := table_paths(tables):
        named_tables = [split_path(path) for path in paths]
    files: list[tuple[str | None, TableFile]] = []
    with ExitStack() as stack:
        for name, table in named_tables:
            paths = table_paths(table)
            if not paths:
                files.append((name, file_of_frame(table, FRAME if name is None else f"<{name}>")))
                continue
            sources = stack.enter_context(open_sources(paths, input_options))
            if name is not None and len(sources) > 1:
                raise bad_option(f"'{name}' must name one file, not {len(sources)}")
            stack.enter_context(invalid_cells.converting_engine_errors(sources))
            files += [(name, open_source(source)) for source in sources]
        # only files with all columns of --where are filtered
        filter_names = row_selection.filter_columns(input_options)
        are_filtered = [{*filter_names} <= {*file.columns} for _, file in files]
        if not any(are_filtered):
            _, first_file = files[0]
            absent_column = next(name for name in filter_names if name not in first_file.columns)
            raise unknown_column_error(first_file.name, absent_column, first_file.columns)
        files = [
            (name, row_selection.filtered_rows(file, input_options.where if is_filtered else None))
            for (name, file), is_filtered in zip(files, are_filtered, strict=True)
        ]
        formatted_tables = [
            (name, read_format(file, input_options, joined=True)) for name, file in files
        ]
        files = [(name, table.file) for name, table in formatted_tables]
        predictions = join_files(files, replace(input_options, where=None))
        try:
            yield predictions
        except ClfevalError as error:
            _place_in_files(error, predictions.files[0])
            raise


def _place_in_files(error: ClfevalError, joined_table: TableFile) -> None:
    """Name the cells of the joined files in an error on a joined table."""
    for error_part in error.parts:
        _place_in_files(error_part, joined_table)
    assert joined_table.place is not None
    placed_problems: list[Problem] = []
    for problem in error.problems:
        is_joined = problem.file == joined_table.name
        cell = joined_table.place(problem.row, problem.column) if is_joined else None
        placed_problems.append(
            problem if cell is None else Problem(problem.message, problem.code, *cell)
        )
    error.problems = tuple(placed_problems)
    error.args = ("\n".join(error.lines()),)


@contextmanager
def open_files(tables: object, input_options: InputOptions) -> Iterator[tuple[TableFile, ...]]:
    """Open paths, or one data frame; all files must have the columns of the first."""
    paths = table_paths(tables)
    _refuse_named_tables(tables)
    if input_options.engine != "spark" and input_options.spark_conf:
        message = f"{OPTION}--spark-conf{END} needs {OPTION}--engine spark{END}"
        raise bad_option(message, "add it, or leave both out")
    if not paths and not engines.counts_only(tables, input_options):
        is_relation = "duckdb" in type(tables).__module__
        with engines.engine_failures(FRAME, "duckdb") if is_relation else nullcontext():
            file = file_of_frame(tables, FRAME)
            slice_columns = chain(*parse_facets(input_options, file.columns))
            filter_names = [
                name for name in row_selection.filter_columns(input_options) if name in file.columns
            ]
            engines.refuse_unseen_nan(file, [*filter_names, *slice_columns, input_options.weight])
            yield (row_selection.filtered_rows(file, input_options.where),)
        return
    if not paths or engines.reads_elsewhere(paths, input_options):
        name = paths[0] if paths else FRAME
        with engines.engine_failures(
            name, input_options.engine or ("polars" if paths else "spark")
        ):
            if hasattr(tables, "sparkSession"):
                engines.refuse_lenient_session(tables.sparkSession)
            file = (
                engines.open_in_engine(paths, input_options)
                if paths
                else file_of_frame(tables, FRAME)
            )
            yield (row_selection.filtered_rows(file, input_options.where),)
        return
    with (
        open_sources(paths, input_options) as sources,
        invalid_cells.converting_engine_errors(sources),
    ):
        files = tuple(map(open_source, sources))
        if not are_counts_files(files):
            check_same_columns(files, input_options)
        yield tuple(row_selection.filtered_rows(file, input_options.where) for file in files)


@contextmanager
def open_predictions(
    tables: object, input_options: InputOptions, *, keep_counts: bool = False
) -> Iterator[Predictions]:
    """Open paths, or one data frame, as a prediction table.

    A counts table of one model becomes weighted predictions, unless `keep_counts`: then the layout
    is `counts`, for `read_confusions`. With `join` the files become one table.
    """
    input_options = input_options.folded().with_confidences().with_weight_kind().with_scales()
    if input_options.join not in (None, JOIN_NOTHING):
        if input_options.engine not in (None, "polars"):
            raise bad_option(
                f"{OPTION}--join{END} and {OPTION}--engine{END} cannot be combined",
                "join the tables there",
            )
        with open_joined(tables, input_options) as joined_predictions:
            yield joined_predictions
        return
    with open_files(tables, input_options) as files:
        if are_counts_files(files):
            refuse_calibrators(input_options)
            yield open_counts_files(files, input_options)
            return
        files = row_selection.run_files(files) if input_options.run == FILE_NAME else files
        if input_options.layout is None and len(files) == 1:
            formatted_table = read_format(files[0], input_options)
            files, input_options = (formatted_table.file,), formatted_table.options
        predictions = recognise_predictions(files, input_options)
        expand = predictions.layout.expand
        if expand is not None and not keep_counts:
            if len(files) > 1:
                raise DataError.new("more than one counts table", "several-counts", files[1].name)
            file, input_options = expand(files[0], predictions.columns.naming, input_options)
            predictions = recognise_predictions((file,), input_options)
        yield predictions


def _refuse_named_tables(tables: object) -> None:
    """Raise for named tables without --join."""
    table_names = [split_path(path)[0] for path in table_paths(tables)]
    if isinstance(tables, Mapping):
        table_names = [
            name
            for name, value in tables.items()
            if isinstance(value, (str, os.PathLike)) or hasattr(type(value), "columns")
        ]
    if names := [str(name) for name in table_names if name is not None]:
        message = f"{list_names(names, 3)}: named files are joined by row id"
        raise UsageError.new(
            message, "bad-option", hint=f"add {OPTION}--join COLUMN{END} to name the id column"
        )
