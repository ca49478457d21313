"""Reading of metric tables: bytes of a file (CSV, JSON, Parquet) or a data frame to a grid."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from clfeval.errors import DataError, Problem, UsageError, list_names, not_a_table_error
from clfeval.placeholders import END, OPTION
from clfeval.tables import csv, invalid_cells
from clfeval.tables.frames import engine_errors, nw, pl, reading_frame
from clfeval.tables.input import ColumnNames, InputOptions, find_column, table_paths
from clfeval.tables.layouts.counts_file import refuse_counts
from clfeval.tables.metric.grid import Grid, GridCells, is_all_text, is_blank, is_estimate
from clfeval.tables.row_selection import filtered_rows
from clfeval.tables.scan import TableFile, open_typed, unreadable_error
from clfeval.tables.source import BINARY, FRAME, SourceFile, open_sources, refuse_count_summary


def read_grid(table: object, input_options: InputOptions) -> Grid:
    """Read one path, or a data frame; null values become None, blank records are skipped."""
    if paths := table_paths(table):
        with (
            open_sources(paths, input_options) as sources,
            invalid_cells.converting_engine_errors(sources),
        ):
            refuse_counts(sources, f"add {OPTION}--from predictions{END}")
            if len(sources) != 1:
                raise UsageError.new("more than one metric table; give one", "several-tables")
            grid = _of_file(sources[0], input_options.id)
    else:
        with reading_frame(FRAME):
            grid = _of_frame(table)
    if input_options.null_value:
        grid = replace(
            grid,
            cells=tuple(_drop_null_values(cells, input_options.null_value) for cells in grid.cells),
        )
    blank_records: Collection[int] = range(len(grid.rows))
    for cells in grid.cells:
        blank_records = (
            () if is_all_text(cells) else {i for i in blank_records if is_blank(cells[i])}
        )
    if blank_records:
        grid = grid.taking([i for i in range(len(grid.rows)) if i not in blank_records])
    grid = replace(grid, decimal=input_options.decimal)
    if input_options.where is None:
        return grid
    text_frame = pl.DataFrame({name: grid.texts(i) for i, name in enumerate(grid.columns)})
    numbered_frame = text_frame.with_columns(pl.Series(invalid_cells.ROW, grid.rows)).lazy()
    file = TableFile(grid.name, grid.columns, native=nw.from_native(numbered_frame), numbered=True)
    selected_rows = filtered_rows(file, input_options.where).native
    assert selected_rows is not None
    row_numbers = {*selected_rows.collect()[invalid_cells.ROW].to_list()}
    return grid.taking([i for i, row in enumerate(grid.rows) if row in row_numbers])


def _of_file(source: SourceFile, id_column: str | None) -> Grid:
    """Read a file of any format; id_column: with the names of models, in JSON."""
    fingerprint = csv.compute_fingerprint(source)
    if source.format in BINARY:
        try:
            grid = replace(_of_frame(open_typed(source).native), name=source.name)
        except engine_errors() as error:
            raise unreadable_error(source.name, source.format, error) from error
    elif source.text:
        grid = _of_text(source, is_plain=not (fingerprint.damaged or fingerprint.returns))
    else:
        refuse_count_summary(source.name, source.path)
        content = source.path.read_bytes()
        csv.refuse_utf16(source, content)
        try:
            grid = _of_json(content.decode("utf-8-sig"), source.name, id_column)
        except UnicodeDecodeError as error:
            row = content.count(b"\n", 0, error.start) + 1
            message = "not UTF-8"
            raise DataError.new(
                message, "not-utf8", source.name, row, hint=csv.ENCODING_HINT
            ) from error
    return replace(grid, display=source.display, sha256=fingerprint.sha256)


def _of_text(source: SourceFile, *, is_plain: bool) -> Grid:
    """Read delimited text; is_plain: it is UTF-8 without NUL and without carriage returns."""
    source, head = invalid_cells.read_head(source)
    likely_delimiter = csv.other_delimiter(source, head.columns)
    records = list(csv.read_records(source)) if is_plain else []
    if {len(record) for _, record in records} != {len(head.columns)}:  # blank lines, or ragged rows
        try:
            csv.inspect_structure(source, head.columns)
        except DataError as error:
            if likely_delimiter is not None:
                raise invalid_cells.with_delimiter(error, likely_delimiter, head.columns) from error
            raise invalid_cells.title_error(source) or error from error
        records = list(csv.read_records(source))
    table_records = [(row, record) for row, record in records if record and row > head.header_row]
    cells = tuple([record[i] for _, record in table_records] for i in range(len(head.columns)))
    rows = [row for row, _ in table_records]
    return Grid(
        source.name,
        head.columns,
        cells,
        rows,
        delimiter=source.delimiter,
        likely_delimiter=likely_delimiter,
    )


def _of_frame(table: object) -> Grid:
    """Read a data frame of any library; names in a pandas index become the first column."""
    try:
        frame: Any = nw.from_native(table, pass_through=False)
    except TypeError as error:
        raise not_a_table_error(table) from error
    except nw.exceptions.DuplicateError as error:
        repeated_names = [line[2:] for line in str(error).splitlines() if line.startswith("- ")]
        raise DataError(
            [
                Problem(f"{name} is not unique", "duplicate-column", FRAME)
                for name in repeated_names
            ],
            hint="give every column a unique name",
        ) from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    columns = [str(name) for name in frame.columns]
    cells = [_cells(frame.get_column(name)) for name in frame.columns]
    index = nw.maybe_get_index(frame)
    if index is not None and index.nlevels == 1 and any(isinstance(label, str) for label in index):
        name = "" if index.name is None else str(index.name)
        if name not in columns:
            columns = [name, *columns]
            cells = [list(index), *cells]
    return Grid(FRAME, tuple(columns), tuple(cells), range(1, len(frame) + 1))


def _cells(series: nw.Series[Any]) -> GridCells:
    """Return the cells of a column: an array of numbers, else a list."""
    if series.dtype.is_float():
        return series.cast(nw.Float64).to_numpy()
    if series.dtype.is_integer() and not series.is_null().any():
        return series.to_numpy()
    return series.to_list()


def _drop_null_values(cells: GridCells, null_values: Sequence[str]) -> GridCells:
    """Return cells with null values as missing; numbers are compared by value."""
    if isinstance(cells, np.ndarray):
        null_numbers = []
        for null_text in null_values:
            with suppress(ValueError):
                null_numbers.append(float(null_text))
        values = cells.astype(np.float64)
        return np.where(np.isin(values, null_numbers), np.nan, values) if null_numbers else cells
    null_texts = set(null_values)
    return [None if str(cell) in null_texts else cell for cell in cells]


RESULT = "clfeval.result/"
_FORMS = (
    'a table is a list of records, {"column": [values]}, {"model": {"metric": value}}, or a '
    "result of clfeval"
)
_VISIBLE = re.compile(r"[^ \t\r\n]")
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def _of_json(text: str, name: str, id_column: str | None) -> Grid:
    """Read one JSON document, or several objects in sequence; DataError with line or record."""
    documents, lines = _decode_documents(text, name)
    document = documents[0] if len(documents) == 1 else documents
    if isinstance(document, list):
        return _of_records(name, document, lines if document is documents else None)
    if not isinstance(document, dict):
        message = f"is {_KINDS.get(type(document), 'a number')}, not a table"
        raise DataError.new(message, "bad-file", name, hint=_FORMS)
    if str(document.get("schema", "")).startswith(RESULT):
        if document["schema"] != f"{RESULT}1":
            message = f"{document['schema']} is newer than this program"
            hint = "a result of this version has the schema clfeval.result/1"
            raise DataError.new(message, "wrong-format", name, hint=hint)
        return _of_records(name, _rows_of_result(name, document))
    if set(document) in ({"columns", "data"}, {"columns", "index", "data"}):  # pandas' split
        return _of_split(name, document)
    if set(document) == {"schema", "data"} and isinstance(document["data"], list):
        return _of_records(name, _without_index(document))  # pandas' table
    if document and all(isinstance(value, list) for value in document.values()):
        return _of_columns(name, document)
    if document and all(
        isinstance(value, dict) and not is_estimate(value) for value in document.values()
    ):
        are_numbered = list(document) == [str(i) for i in range(len(document))]
        if are_numbered and find_column(
            next(iter(document.values())), ColumnNames.MODEL
        ):  # rows of pandas' index
            return _of_records(name, list(document.values()))
        if _by_column(document, id_column):
            row_keys = list(dict.fromkeys(key for column in document.values() for key in column))
            cells = tuple([column.get(key) for key in row_keys] for column in document.values())
            return Grid(name, tuple(document), cells, range(1, len(row_keys) + 1))
        return replace(_of_models(name, document), outer=True)
    return _of_records(name, [document])


def _decode_documents(text: str, name: str) -> tuple[list[Any], list[int]]:
    """Decode all JSON documents in a text; return them with the lines they start in."""
    repeated_keys: list[tuple[str, dict[str, Any]]] = []

    def build_record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated_keys.extend((key, record) for key in record if keys.count(key) > 1)
        return record

    decoder = json.JSONDecoder(object_pairs_hook=build_record)
    documents: list[Any] = []
    lines: list[int] = []
    offset = 0
    line = 1
    try:
        while start_match := _VISIBLE.search(text, offset):
            line += text.count("\n", offset, start_match.start())
            document, offset = decoder.raw_decode(text, start_match.start())
            documents.append(document)
            lines.append(line)
            line += text.count("\n", start_match.start(), offset)
    except json.JSONDecodeError as error:
        row = line if documents else error.lineno
        raise unreadable_error(name, "json", error.msg, row) from error
    except (ValueError, RecursionError) as error:  # numbers too large, or nested too deeply
        raise unreadable_error(name, "json", error) from error
    if not documents:
        raise DataError.new("the input is empty", "empty-table", name)
    if repeated_keys:
        raise _repeated_key_error(name, documents, lines, repeated_keys)
    return documents, lines


def _repeated_key_error(
    name: str,
    documents: list[Any],
    lines: Sequence[int],
    repeated_keys: Sequence[tuple[str, dict[str, Any]]],
) -> DataError:
    """Build the error of keys given twice in an object; repeated_keys: each with its object."""
    records = documents[0] if isinstance(documents[0], list) else documents
    rows = lines if records is documents else range(1, len(records) + 1)
    row_of_record = {id(record): row for record, row in zip(records, rows, strict=True)}
    problems = [
        Problem(
            f"the key '{key}' occurs twice in one object",
            "duplicate-column",
            name,
            row_of_record.get(id(record)),
        )
        for key, record in repeated_keys
    ]
    return DataError(problems, hint="give every value a unique key")


def _of_records(name: str, records: Sequence[Any], rows: Sequence[int] | None = None) -> Grid:
    """Read one object per row; a missing key is a missing value."""
    rows = rows or range(1, len(records) + 1)
    record_kinds = (_KINDS.get(type(record), "a number") for record in records)
    if problems := [
        Problem(f"is {kind}, not an object", "bad-record", name, row)
        for row, kind in zip(rows, record_kinds, strict=True)
        if kind != _KINDS[dict]
    ]:
        raise DataError(problems, hint=_FORMS)
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    cells = tuple([record.get(key) for record in records] for key in columns)
    return Grid(name, columns, cells, rows)


def _of_columns(name: str, document: dict[str, list[Any]]) -> Grid:
    """Read one list of values per column."""
    first_key, length = next((key, len(values)) for key, values in document.items())
    problems = []
    for key, values in document.items():
        if len(values) != length:
            message = f"{len(values)} values, but '{first_key}' has {length}"
            problems.append(Problem(message, "ragged-columns", name, None, key))
    if problems:
        raise DataError(problems, hint=_FORMS)
    return Grid(name, tuple(document), tuple(document.values()), range(1, length + 1))


def _without_index(document: dict[str, Any]) -> list[Any]:
    """Return the records without the row numbers of pandas' orient='table'."""
    schema = document["schema"]
    rows = list(document["data"])
    if not isinstance(schema, dict) or schema.get("primaryKey") != ["index"]:
        return rows
    has_index = (isinstance(row, dict) and isinstance(row.get("index"), int) for row in rows)
    return [
        {key: value for key, value in row.items() if key != "index"} if drop_index else row
        for row, drop_index in zip(rows, has_index, strict=True)
    ]


def _of_split(name: str, document: dict[str, Any]) -> Grid:
    """Read pandas' orient='split': column names and rows; an index of text names the models."""
    columns = document["columns"]
    row_lists = document["data"]
    if not (isinstance(columns, list) and isinstance(row_lists, list)) or any(
        not isinstance(row, list) or len(row) != len(columns) for row in row_lists
    ):
        message = "'data' is not a list of rows as long as 'columns'"
        raise DataError.new(message, "bad-record", name, hint=_FORMS)
    rows = [dict(zip(map(str, columns), row, strict=True)) for row in row_lists]
    index = document.get("index", [])
    if any(isinstance(label, str) for label in index) and len(index) == len(rows):
        return _of_models(name, dict(zip(map(str, index), rows, strict=True)))
    return _of_records(name, rows)


def _of_models(name: str, document: dict[str, dict[str, Any]]) -> Grid:
    """Read one object per model: the outer names become a first column without a name."""
    grid = _of_records(name, list(document.values()))
    cells = (list(document), *grid.cells)
    return replace(grid, columns=("", *grid.columns), cells=cells)


def _by_column(document: dict[str, dict[str, Any]], id_column: str | None) -> bool:
    """Return whether outer names are columns, as pandas writes them: an object per column.

    Then inner names number the rows, or a column has the names of models.
    """
    columns = list(document.values())
    if all(list(column) == [str(i) for i in range(len(columns[0]))] for column in columns):
        return True
    name_column = id_column if id_column in document else find_column(document, ColumnNames.MODEL)
    return name_column is not None and any(
        isinstance(cell, str) for cell in document[name_column].values()
    )


def _rows_of_result(name: str, document: dict[str, Any]) -> list[Any]:
    """Return the rows of a result's tidy table of measures, or of its table of models."""
    tables = document.get("tables")
    tables = tables if isinstance(tables, dict) else {}
    for key in ("metrics", "models"):
        rows = tables.get(key)
        if isinstance(rows, list) and (
            key == "models" or any(isinstance(row, dict) and "value" in row for row in rows)
        ):
            return rows
    message = (
        f"this result of clfeval has no table of models; tables: {list_names(tables) or 'none'}"
    )
    hint = "give a result with a table 'models', as of clfeval report"
    raise DataError.new(message, "no-models", name, hint=hint)
