"""JSON documents as metric tables: records, columns, objects of objects, results of clfeval."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clfeval.errors import DataError, Problem, listing
from clfeval.tables.metric.grid import Grid, is_estimate
from clfeval.tables.names import MODEL_NAMES, find

RESULT = "clfeval.result/"
_FORMS = (
    'a table is a list of records, {"column": [values]}, {"model": {"metric": value}}, or a '
    "result of clfeval"
)
_BLANK = re.compile(r"[ \t\r\n]*")
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}

Object = dict[str, Any]


def json_grid(text: str, name: str, id_column: str | None) -> Grid:
    """Read one document, or objects one after the other; DataError names the line or record.

    `id_column` is the column the caller says names the models.
    """
    documents, lines = _decoded(text, name)
    if len(documents) > 1:
        return _of_records(name, documents, lines)
    document = documents[0]
    if isinstance(document, list):
        return _of_records(name, document)
    if not isinstance(document, dict):
        raise DataError.of(f"holds {_kind(document)}, no table", "bad-file", name, hint=_FORMS)
    if str(document.get("schema", "")).startswith(RESULT):
        if document["schema"] != f"{RESULT}1":
            raise DataError(
                Problem(f"{document['schema']} is newer than this program", "wrong-format", name),
                hint="a result of this version has the schema clfeval.result/1",
            )
        return replace(_of_records(name, _rows_of_result(name, document)), result=True)
    if set(document) in ({"columns", "data"}, {"columns", "index", "data"}):  # pandas' split
        return _of_split(name, document)
    if set(document) == {"schema", "data"} and isinstance(document["data"], list):
        return _of_records(name, _without_index(document))  # pandas' table
    if document and all(isinstance(value, list) for value in document.values()):
        return _of_columns(name, document)
    if document and all(isinstance(v, dict) and not is_estimate(v) for v in document.values()):
        numbered = list(document) == [str(i) for i in range(len(document))]
        if numbered and find(next(iter(document.values())), MODEL_NAMES):  # rows of pandas' index
            return _of_records(name, list(document.values()))
        if _by_column(document, id_column):
            return _of_indexed(name, document)
        return replace(_of_models(name, document), outer=True)
    return _of_records(name, [document])


def _decoded(text: str, name: str) -> tuple[list[Any], list[int]]:
    """Decode every document in the text, and say in which line each begins."""
    repeated: list[tuple[str, Object]] = []

    def built(pairs: list[tuple[str, Any]]) -> Object:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend((key, found) for key in found if keys.count(key) > 1)
        return found

    decoder = json.JSONDecoder(object_pairs_hook=built)
    documents: list[Any] = []
    lines: list[int] = []
    place, line = 0, 1
    try:
        while (start := _blank(text, place)) < len(text):
            line += text.count("\n", place, start)
            document, place = decoder.raw_decode(text, start)
            documents.append(document)
            lines.append(line)
            line += text.count("\n", start, place)
    except json.JSONDecodeError as error:
        raise _unreadable(name, error.msg, line if documents else error.lineno) from error
    except (ValueError, RecursionError) as error:  # numbers or depths beyond all measure
        raise _unreadable(name, str(error), None) from error
    if not documents:
        raise DataError.of("the input holds nothing but blanks", "empty-table", name)
    if repeated:
        listed = documents[0] if isinstance(documents[0], list) else documents
        rows = lines if listed is documents else range(1, len(listed) + 1)
        where = {id(record): row for record, row in zip(listed, rows, strict=True)}
        raise DataError(
            [
                Problem(
                    f"the key '{key}' stands in one object twice",
                    "duplicate-column", name, where.get(id(record)),
                )
                for key, record in repeated
            ],
            hint="give every value a key of its own",
        )  # fmt: skip
    return documents, lines


def _blank(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    return match.end() if match else start


def _unreadable(name: str, why: str, line: int | None) -> DataError:
    return DataError(
        Problem(f"cannot be read as json: {why}", "bad-file", name, line),
        hint="name the format with --input-format if the suffix misleads",
    )


def _of_records(name: str, records: Sequence[Any], rows: Sequence[int] | None = None) -> Grid:
    """One object per row; a key that one lacks is a missing value."""
    rows = rows or range(1, len(records) + 1)
    problems = [
        Problem(f"is {_kind(record)}, no object", "bad-record", name, row)
        for row, record in zip(rows, records, strict=True)
        if not isinstance(record, dict)
    ]
    if problems:
        raise DataError(problems, hint=_FORMS)
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    cells = tuple([record.get(key) for record in records] for key in columns)
    return Grid(name, columns, cells, rows)


def _of_columns(name: str, document: dict[str, list[Any]]) -> Grid:
    """One list per column."""
    first, length = next((key, len(values)) for key, values in document.items())
    problems = [
        Problem(f"{len(v)} values where '{first}' has {length}", "ragged-columns", name, None, key)
        for key, v in document.items()
        if len(v) != length
    ]
    if problems:
        raise DataError(problems, hint=_FORMS)
    return Grid(name, tuple(document), tuple(document.values()), range(1, length + 1))


def _without_index(document: Object) -> list[Any]:
    """Return the records without the row numbers that pandas writes into each."""
    schema = document["schema"]
    keys = schema.get("primaryKey") if isinstance(schema, dict) else None
    if keys != ["index"]:
        return list(document["data"])
    return [
        {key: value for key, value in row.items() if key != "index"}
        if isinstance(row, dict) and isinstance(row.get("index"), int)
        else row
        for row in document["data"]
    ]


def _of_split(name: str, document: Object) -> Grid:
    """Names of columns and lists of values, record by record; an index of text names the models."""
    columns, data = document["columns"], document["data"]
    if not (isinstance(columns, list) and isinstance(data, list)) or any(
        not isinstance(row, list) or len(row) != len(columns) for row in data
    ):
        raise DataError.of(
            "'data' is no list of rows as long as 'columns'", "bad-record", name, hint=_FORMS
        )
    rows = [dict(zip(map(str, columns), row, strict=True)) for row in data]
    index = document.get("index", [])
    if any(isinstance(one, str) for one in index) and len(index) == len(rows):
        return _of_models(name, dict(zip(map(str, index), rows, strict=True)))
    return _of_records(name, rows)


def _of_models(name: str, document: dict[str, Object]) -> Grid:
    """One object per model: the outer names become a first column without a name."""
    grid = _of_records(name, list(document.values()))
    cells = (list(document), *grid.cells)
    return replace(grid, columns=("", *grid.columns), cells=cells)


def _of_indexed(name: str, document: dict[str, Object]) -> Grid:
    """One object per column, its keys the row index, as pandas writes by default."""
    keys = list(dict.fromkeys(key for column in document.values() for key in column))
    cells = tuple([column.get(key) for key in keys] for column in document.values())
    return Grid(name, tuple(document), cells, range(1, len(keys) + 1))


def _by_column(document: dict[str, Object], id_column: str | None) -> bool:
    """Tell whether outer names are columns: inner ones count rows, or one holds models' names."""
    columns = list(document.values())
    if all(list(column) == [str(i) for i in range(len(columns[0]))] for column in columns):
        return True
    named = id_column if id_column in document else find(document, MODEL_NAMES)
    return named is not None and any(isinstance(cell, str) for cell in document[named].values())


def _rows_of_result(name: str, document: Object) -> list[Any]:
    """Return the tidy table of measures, or the table of models."""
    tables = document.get("tables")
    tables = tables if isinstance(tables, dict) else {}
    for key in ("metrics", "models"):
        rows = tables.get(key)
        tidy = isinstance(rows, list) and any(isinstance(r, dict) and "value" in r for r in rows)
        if isinstance(rows, list) and (tidy or key == "models"):
            return rows
    what = f"a result of clfeval without a table of models; tables: {listing(tables) or 'none'}"
    raise DataError.of(
        what, "no-models", name, hint="results about classifiers have a table 'models'"
    )


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a number")
