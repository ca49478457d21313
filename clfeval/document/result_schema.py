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

    Besides what JSON Schema can say, a measure that is a column of one row of a table is a column
    of all its rows: which measures there are depends on the request, so that none is required.
    """
    violation = _result_schema().violation(document) or _missing_measure(document)
    if violation:
        raise DamagedResultError(str(violation))


def _missing_measure(document: Mapping[str, Any]) -> Violation | None:
    """Return the first place at which a row lacks a measure that another row of its table has."""
    for table, rows in document["tables"].items():
        for index, row in enumerate(rows):
            if row.keys() == rows[0].keys():
                continue
            for lacking_index, lacking_row, other_row in ((index, row, rows[0]), (0, rows[0], row)):
                for column, cell in other_row.items():
                    if column not in lacking_row and isinstance(cell, dict):
                        return Violation(("tables", table, lacking_index, column), "is missing")
    for name, method_document in document.get("methods", {}).items():
        violation = _missing_measure(method_document)
        if violation:
            return Violation(("methods", name, *violation.path), violation.problem)
    return None
