"""Knocking at the door of metric tables: write a file, read it, keep the table or the refusal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from clfeval.options.declaration import build_group, options_of
from clfeval.tables.input import InputOptions
from clfeval.tables.metric import table as metric_tables
from clfeval.tables.metric.table import MetricTable
from tests.tables.door import Door, encoded, write

Shown = tuple[tuple[str, ...], tuple[str, ...], list[list[float]]]


def read_metrics(
    table: Any, *, wanted: Sequence[str] = (), transpose: bool = False, **said: Any
) -> MetricTable:
    """Read a list of one path, or a frame, with the options of a table said by name."""
    known = {option.name for option in options_of(InputOptions)}
    assert said.keys() <= known, f"no options: {said.keys() - known}"
    given = build_group(InputOptions, said)
    return metric_tables.read_metrics(table, given, requested=wanted, transpose=transpose)


def metric_table_of(content: str | bytes, name: str = "t.csv", **options: Any) -> MetricTable:
    """Write a file and return the metric table that is read from it."""
    return read_metrics([write(name, content)], **options)


def metric_content(table: MetricTable) -> Shown:
    """Return models, metrics and values, which are finite, to be compared."""
    assert table.values.dtype == np.float64
    assert np.isfinite(table.values).all()
    assert table.values.shape == (len(table.models), len(table.metrics))
    return table.models, table.metrics, table.values.tolist()


def problem_rows(table: MetricTable) -> tuple[int | None, ...]:
    """Return in which row a problem of each model's first value would be said to stand."""
    places = range(len(table.models))
    return tuple(table.problem(i, 0, "is low", "too-low").row for i in places)


def _read(table: Any, **options: Any) -> MetricTable:
    return read_metrics([table] if isinstance(table, str) else table, **options)


METRICS = Door(_read)
data_message, usage_message = METRICS.data_message, METRICS.usage_message
places, told = METRICS.places, METRICS.told


def _file(name: str, encode: Callable[[pl.DataFrame], bytes]) -> Callable[[pl.DataFrame], Any]:
    return lambda frame: [write(name, encode(frame))]


def _json(frame: pl.DataFrame, *, by_column: bool) -> bytes:
    document = frame.to_dict(as_series=False) if by_column else frame.to_dicts()
    return json.dumps(document, indent=1, ensure_ascii=False).encode()


def _pandas(frame: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(frame.to_dict(as_series=False))


def _indexed(frame: pl.DataFrame) -> bytes:
    out = io.StringIO()
    _pandas(frame).to_json(out, double_precision=15)
    return out.getvalue().encode()


# every way in: a frame of polars becomes what read_metrics is given
WAYS: dict[str, Callable[[pl.DataFrame], Any]] = {
    **{
        how: _file(f"t.{how}", lambda frame, how=how: encoded(frame, how))  # type: ignore[misc]
        for how in ("csv", "tsv", "parquet", "arrow", "ndjson")
    },
    "records": _file("t.json", lambda frame: _json(frame, by_column=False)),
    "columns": _file("t.json", lambda frame: _json(frame, by_column=True)),
    "pandas json": _file("t.json", _indexed),
    "pandas csv": _file("t.csv", lambda frame: _pandas(frame).to_csv().encode()),
    "pandas": _pandas,
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pyarrow": lambda frame: frame.to_arrow(),
}
FILES = [way for way in WAYS if way not in ("pandas", "polars", "lazy", "pyarrow")]
FRAMES = [way for way in WAYS if way not in FILES]
