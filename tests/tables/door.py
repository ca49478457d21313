"""Knocking at the door: write a table, ask for MARS, keep the counts or the refusal."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clfeval.api.mars import mars
from clfeval.errors import ClfevalError, DataError, UsageError
from clfeval.result import Result
from clfeval.tables.prediction import Predictions

Confusion = tuple[int, int, int, int]  # tp, fp, fn, tn

# a finds the first positive and one negative; b finds the second positive
ROWS = [("1", 1, 1, 0), ("2", 0, 0, 0), ("3", 1, 0, 1), ("4", 0, 1, 0)]
FRAME = pl.DataFrame(ROWS, schema=["id", "truth", "a", "b"], orient="row")
EXPECTED: dict[str, Confusion] = {"a": (1, 1, 1, 1), "b": (1, 0, 1, 2)}


def write(name: str, content: str | bytes) -> str:
    """Write a file in the working directory and return its name."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def encoded(frame: pl.DataFrame, how: str) -> bytes:
    """Return the bytes of a frame as csv, tsv, parquet, arrow or ndjson."""
    out = io.BytesIO()
    if how == "tsv":
        frame.write_csv(out, separator="\t")
    else:
        writer = {"arrow": "write_ipc"}.get(how, f"write_{how}")
        getattr(frame, writer)(out)
    return out.getvalue()


def packed(content: bytes, how: str) -> bytes:
    """Return gzip or zstd bytes."""
    if how == "gzip":
        return gzip.compress(content, mtime=0)
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return bytes(zstd.compress(content))


def confusion(result: Result) -> dict[str, Confusion]:
    """Return tp, fp, fn, tn of every model over the whole table."""
    return {
        str(row["model"]): (row["tp"], row["fp"], row["fn"], row["tn"])  # type: ignore[misc]
        for row in result.tables["models"]
        if row["slice"] is None
    }


def counted(table: Any, **options: Any) -> dict[str, Confusion]:
    """Return tp, fp, fn, tn of every model of a table that is accepted."""
    return confusion(mars(table, **options))


def opened(table: Any, **options: Any) -> Predictions:
    """Return the columns as they were recognised, of a table that is accepted."""
    seen: list[Predictions] = []
    mars(table, on_open=seen.append, **options)
    return seen[0]


def refusal(table: Any, **options: Any) -> ClfevalError:
    """Return the error a table is refused with; its exit code is that of its kind."""
    with pytest.raises(ClfevalError) as caught:
        mars(table, **options)
    error = caught.value
    assert isinstance(error, (DataError, UsageError))
    assert int(error.exit_code) == (3 if isinstance(error, DataError) else 2)
    return error


def data_message(content: str | bytes, name: str = "t.csv", **options: Any) -> str:
    """Write a table, see it refused for its data (exit 3), and return the whole message."""
    error = refusal(write(name, content), **options)
    assert isinstance(error, DataError)
    return str(error)


def usage_message(content: str | bytes, name: str = "t.csv", **options: Any) -> str:
    """Write a table, see the request refused (exit 2), and return the whole message."""
    error = refusal(write(name, content), **options)
    assert isinstance(error, UsageError)
    return str(error)
