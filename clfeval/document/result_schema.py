"""The JSON Schema of saved results, by which they are checked before anything reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from clfeval.json_schema import JsonSchema, Violation


class DamagedResultError(ValueError):
    """A saved result lacks a key, or has a value of another type or outside its range."""


@cache
def _result_schema() -> JsonSchema:
    text = resources.files(__package__).joinpath("result-1.json").read_text(encoding="utf-8")
    return JsonSchema(json.loads(text))


def check_document(document: Mapping[str, Any]) -> None:
    """Raise DamagedResultError with the first place at which a result breaks its schema.

    Besides what JSON Schema can say, all rows of a table must have the same columns.
    """
    violation = _result_schema().violation(document) or _uneven_row(document)
    if violation:
        raise DamagedResultError(str(violation))


def _uneven_row(document: Mapping[str, Any]) -> Violation | None:
    """Return the first row of a table that has other columns than the first row of the table."""
    for table, rows in document["tables"].items():
        for index, row in enumerate(rows):
            if row.keys() != rows[0].keys():
                return _column_violation(("tables", table, index), rows[0], row)
    for name, method_document in document.get("methods", {}).items():
        violation = _uneven_row(method_document)
        if violation:
            return Violation(("methods", name, *violation.path), violation.problem)
    return None


def _column_violation(
    path: tuple[str | int, ...], first_row: Mapping[str, Any], row: Mapping[str, Any]
) -> Violation:
    """Return the column that a row lacks, or else the one that only it has."""
    for column in first_row:
        if column not in row:
            return Violation((*path, column), "is missing")
    extra_column = next(column for column in row if column not in first_row)
    return Violation((*path, extra_column), "is not a column of the rows before it")
