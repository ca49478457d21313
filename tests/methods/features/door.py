"""Asking for features: the result, its rows by name, or the refusal with its exit code."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import clfeval
from clfeval.api.result import Result
from tests.results import Line, four_cells, rows_by
from tests.shell import at_shell
from tests.tables.door import Door

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
    """Return the result of phidelta on the features of a table that is accepted."""
    return clfeval.phidelta(table, features=True, **options)


def rows_by_feature(table: Any, **options: Any) -> dict[str, Line]:
    """Return the rows of the table `features` by the name of the feature."""
    return rows_by(features(table, **options), "features", "feature")


def cells_of(table: Any, **options: Any) -> dict[str, tuple[Any, ...]]:
    """Return tp, fp, fn, tn of every feature."""
    return {name: four_cells(row) for name, row in rows_by_feature(table, **options).items()}


def place(row: Line) -> tuple[Any, ...]:
    """Return what a row tells of a feature beside its name, kind and cut."""
    return tuple(row[column] for column in PLACE)


def table_text(result: Result) -> str:
    """Return all tables of a result as JSON text."""
    return json.dumps(result.to_dict()["tables"], allow_nan=False)


FEATURES = Door(partial(at_shell(clfeval.phidelta), features=True))
refusal, data_message, usage_message = (
    FEATURES.refusal,
    FEATURES.data_message,
    FEATURES.usage_message,
)
