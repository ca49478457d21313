"""Asking for features: the result, its rows by name, or the refusal with its exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

import clfeval
from clfeval.errors import ClfevalError, DataError, UsageError
from clfeval.result import Estimate, Result
from tests.tables.door import write

Row = dict[str, Any]
PLACE = ("rows", "missing", "support", "tp", "fp", "fn", "tn", "sensitivity", "fpr", "phi",
         "delta", "role", "implications")  # fmt: skip


def features(table: Any, **options: Any) -> Result:
    """Return what phidelta says of the features of a table that is accepted."""
    return clfeval.phidelta(table, features=True, **options)


def rows_of(table: Any, **options: Any) -> dict[str, Row]:
    """Return the rows of the table `features` by the name of the feature."""
    rows = [dict(row) for row in features(table, **options).tables["features"]]
    named = {str(row["feature"]): row for row in rows}
    assert len(named) == len(rows), "two features of one name"
    return named


def cells(row: Row) -> tuple[Any, ...]:
    """Return tp, fp, fn, tn."""
    return row["tp"], row["fp"], row["fn"], row["tn"]


def cells_of(table: Any, **options: Any) -> dict[str, tuple[Any, ...]]:
    """Return tp, fp, fn, tn of every feature."""
    return {name: cells(row) for name, row in rows_of(table, **options).items()}


def place(row: Row) -> tuple[Any, ...]:
    """Return what a row tells of a feature beside its name, kind and cut."""
    return tuple(row[column] for column in PLACE)


def value(row: Row, column: str) -> float:
    """Return the value of an estimate that is defined."""
    estimate = row[column]
    assert isinstance(estimate, Estimate)
    assert estimate.value is not None, f"{row['feature']}: {column} is {estimate.reason}"
    return estimate.value


def table_text(result: Result) -> str:
    """Return all tables of a result as JSON text."""
    return json.dumps(result.to_dict()["tables"], allow_nan=False)


def refusal(table: Any, **options: Any) -> ClfevalError:
    """Return the error a table or a request is refused with."""
    with pytest.raises(ClfevalError) as caught:
        features(table, **options)
    error = caught.value
    assert isinstance(error, (DataError, UsageError))
    assert int(error.exit_code) == (3 if isinstance(error, DataError) else 2)
    return error


def data_message(content: Any, name: str = "t.csv", **options: Any) -> str:
    """Write a table (or hand over a frame), see it refused for its data, return the message."""
    table = write(name, content) if isinstance(content, (str, bytes)) else content
    error = refusal(table, **options)
    assert isinstance(error, DataError), str(error)
    return str(error)


def usage_message(content: Any, name: str = "t.csv", **options: Any) -> str:
    """Write a table (or hand over a frame), see the request refused, return the message."""
    table = write(name, content) if isinstance(content, (str, bytes)) else content
    error = refusal(table, **options)
    assert isinstance(error, UsageError), str(error)
    return str(error)


def problem(message: str) -> str:
    """Return a message without its hint."""
    return "\n".join(line for line in message.splitlines() if not line.startswith("hint: "))
