"""Asking for features: the result, its rows by name, or the refusal with its exit code."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.shell import at_shell
from tests.tables.door import Door

Row = dict[str, Any]
PLACE = (
    "rows",
    "missing",
    "support",
    "tp",
    "fp",
    "fn",
    "tn",
    "sensitivity",
    "fpr",
    "phi",
    "delta",
    "role",
    "implications",
)


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


FEATURES = Door(partial(at_shell(clfeval.phidelta), features=True))
refusal, data_message, usage_message = (
    FEATURES.refusal,
    FEATURES.data_message,
    FEATURES.usage_message,
)
