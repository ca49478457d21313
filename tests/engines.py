"""The same rows handed to every engine narwhals speaks: polars, pandas, Arrow, DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl


def duck(frame: pl.DataFrame) -> Any:
    """Return a DuckDB relation."""
    rows = frame.to_arrow()  # noqa: F841 - duckdb finds the table by the name of this variable
    return duckdb.sql("select * from rows")


def plain_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Return labels as objects with None, numbers as NumPy floats whose missing values are NaN."""
    columns = {}
    for name in frame.columns:
        text = frame.schema[name] == pl.String
        columns[name] = pd.Series(frame[name].to_list(), dtype=object if text else None)
    return pd.DataFrame(columns)


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pandas": plain_pandas,
    "pandas nullable": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": duck,
}
