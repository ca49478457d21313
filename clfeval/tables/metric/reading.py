"""CellReading of metric tables: bytes of a file (CSV, JSON, Parquet) or a data frame to a grid."""

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


def read_grid(table: object, roles: InputOptions) -> Grid:
    """Read one path, or a data frame; null values become None, blank records are skipped."""
    if paths := table_paths(table):
        with open_sources(paths, roles) as sources, invalid_cells.converting_engine_errors(sources):
            refuse_counts(sources, f"add {OPTION}--from predictions{END}")
            if len(sources) != 1:
                raise UsageError.new("more than one metric table; give one", "several-tables")
            grid = _of_file(sources[0], roles.id)
    else:
        with reading_frame(FRAME):
            grid = _of_frame(table)
    if roles.null_value:
        grid = replace(
            grid, cells=tuple(_drop_null_values(cells, roles.null_value) for cells in grid.cells)
        )
    blank: Collection[int] = range(len(grid.rows))
    for cells in grid.cells:
        blank = () if is_all_text(cells) else {i for i in blank if is_blank(cells[i])}
    if blank:
        grid = grid.taking([i for i in range(len(grid.rows)) if i not in blank])
    grid = replace(grid, decimal=roles.decimal)
    if roles.where is None:
        return grid
    texts = pl.DataFrame({name: grid.texts(i) for i, name in enumerate(grid.columns)})
    frame = texts.with_columns(pl.Series(invalid_cells.ROW, grid.rows)).lazy()
    file = TableFile(grid.name, grid.columns, native=nw.from_native(frame), numbered=True)
    selected = filtered_rows(file, roles.where).native
    assert selected is not None
    rows = {*selected.collect()[invalid_cells.ROW].to_list()}
    return grid.taking([i for i, row in enumerate(grid.rows) if row in rows])


def _of_file(source: SourceFile, id_column: str | None) -> Grid:
    fingerprint = csv.compute_fingerprint(source)
    if source.format in BINARY:
        try:
            grid = replace(_of_frame(open_typed(source).native), name=source.name)
        except engine_errors() as error:
            raise unreadable_error(source.name, source.format, error) from error
    elif source.text:
        grid = _of_text(source, plain=not (fingerprint.damaged or fingerprint.returns))
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


def _of_text(source: SourceFile, *, plain: bool) -> Grid:
    """Read delimited text; plain: it is UTF-8 without NUL and without carriage returns."""
    source, head = invalid_cells.read_head(source)
    likely_delimiter = csv.other_delimiter(source, head.columns)
    records = list(csv.read_records(source)) if plain else []
    if {len(record) for _, record in records} != {len(head.columns)}:  # blank lines, or ragged rows
        try:
            csv.inspect_structure(source, head.columns)
        except DataError as error:
            if likely_delimiter is not None:
                raise invalid_cells.with_delimiter(error, likely_delimiter, head.columns) from error
            raise invalid_cells.title_error(source) or error from error
        records = list(csv.read_records(source))
    body = [(row, record) for row, record in records if record and row > head.header_row]
    cells = tuple([record[i] for _, record in body] for i in range(len(head.columns)))
    rows = [row for row, _ in body]
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
        names = [line[2:] for line in str(error).splitlines() if line.startswith("- ")]
        raise DataError(
            [Problem(f"{name} is not unique", "duplicate-column", FRAME) for name in names],
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
    if series.dtype.is_float():
        return series.cast(nw.Float64).to_numpy()
    if series.dtype.is_integer() and not series.is_null().any():
        return series.to_numpy()
    return series.to_list()


def _drop_null_values(cells: GridCells, null_values: Sequence[str]) -> GridCells:
    """Return cells with null values as missing; numbers are compared by value."""
    if isinstance(cells, np.ndarray):
        numbers = []
        for mark in null_values:
            with suppress(ValueError):
                numbers.append(float(mark))
        values = cells.astype(np.float64)
        return np.where(np.isin(values, numbers), np.nan, values) if numbers else cells
    marks = set(null_values)
    return [None if str(cell) in marks else cell for cell in cells]


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
    if document and all(isinstance(v, dict) and not is_estimate(v) for v in document.values()):
        numbered = list(document) == [str(i) for i in range(len(document))]
        if numbered and find_column(
            next(iter(document.values())), ColumnNames.MODEL
        ):  # rows of pandas' index
            return _of_records(name, list(document.values()))
        if _by_column(document, id_column):
            keys = list(dict.fromkeys(key for column in document.values() for key in column))
            cells = tuple([column.get(key) for key in keys] for column in document.values())
            return Grid(name, tuple(document), cells, range(1, len(keys) + 1))
        return replace(_of_models(name, document), outer=True)
    return _of_records(name, [document])


def _decode_documents(text: str, name: str) -> tuple[list[Any], list[int]]:
    """Decode all JSON documents in a text; return them with the lines they start in."""
    repeated: list[tuple[str, dict[str, Any]]] = []

    def built(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend((key, record) for key in record if keys.count(key) > 1)
        return record

    decoder = json.JSONDecoder(object_pairs_hook=built)
    documents: list[Any] = []
    lines: list[int] = []
    place = 0
    line = 1
    try:
        while begin := _VISIBLE.search(text, place):
            line += text.count("\n", place, begin.start())
            document, place = decoder.raw_decode(text, begin.start())
            documents.append(document)
            lines.append(line)
            line += text.count("\n", begin.start(), place)
    except json.JSONDecodeError as error:
        row = line if documents else error.lineno
        raise unreadable_error(name, "json", error.msg, row) from error
    except (ValueError, RecursionError) as error:  # numbers too large, or nested too deeply
        raise unreadable_error(name, "json", error) from error
    if not documents:
        raise DataError.new("the input is empty", "empty-table", name)
    if repeated:
        raise _repeated_key_error(name, documents, lines, repeated)
    return documents, lines


def _repeated_key_error(
    name: str,
    documents: list[Any],
    lines: Sequence[int],
    repeated: Sequence[tuple[str, dict[str, Any]]],
) -> DataError:
    """Build the error for keys that occur twice in an object; repeated: each, and its object."""
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
        for key, record in repeated
    ]
    return DataError(problems, hint="give every value a unique key")


def _of_records(name: str, records: Sequence[Any], rows: Sequence[int] | None = None) -> Grid:
    """Read one object per row; a missing key is a missing value."""
    rows = rows or range(1, len(records) + 1)
    kinds = (_KINDS.get(type(record), "a number") for record in records)
    if problems := [
        Problem(f"is {kind}, not an object", "bad-record", name, row)
        for row, kind in zip(rows, kinds, strict=True)
        if kind != _KINDS[dict]
    ]:
        raise DataError(problems, hint=_FORMS)
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    cells = tuple([record.get(key) for record in records] for key in columns)
    return Grid(name, columns, cells, rows)


def _of_columns(name: str, document: dict[str, list[Any]]) -> Grid:
    """Read one list of values per column."""
    first, length = next((key, len(values)) for key, values in document.items())
    if problems := [
        Problem(f"{len(v)} values, but '{first}' has {length}", "ragged-columns", name, None, key)
        for key, v in document.items()
        if len(v) != length
    ]:
        raise DataError(problems, hint=_FORMS)
    return Grid(name, tuple(document), tuple(document.values()), range(1, length + 1))


def _without_index(document: dict[str, Any]) -> list[Any]:
    """Return the records without the row numbers of pandas' orient='table'."""
    schema, rows = document["schema"], list(document["data"])
    if not isinstance(schema, dict) or schema.get("primaryKey") != ["index"]:
        return rows
    numbered = (isinstance(row, dict) and isinstance(row.get("index"), int) for row in rows)
    return [
        {key: value for key, value in row.items() if key != "index"} if drop else row
        for row, drop in zip(rows, numbered, strict=True)
    ]


def _of_split(name: str, document: dict[str, Any]) -> Grid:
    """Read pandas' orient='split': column names and rows; an index of text names the models."""
    columns = document["columns"]
    table = document["data"]
    if not (isinstance(columns, list) and isinstance(table, list)) or any(
        not isinstance(row, list) or len(row) != len(columns) for row in table
    ):
        message = "'data' is not a list of rows as long as 'columns'"
        raise DataError.new(message, "bad-record", name, hint=_FORMS)
    rows = [dict(zip(map(str, columns), row, strict=True)) for row in table]
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
