"""Knocking at a door: write a table, ask, keep the answer or the refusal; MARS is the first."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clfeval.api.commands import mars
from clfeval.api.result import Result
from clfeval.errors import ClfevalError, DataError, UsageError
from clfeval.tables.predictions import Predictions
from tests.results import four_cells, rows_by
from tests.shell import at_shell
from tests.texts import check_text

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
        str(model): four_cells(row)
        for model, row in rows_by(result, "models", "model", slice=None).items()
    }


def mars_confusion(table: Any = "t.csv", **options: Any) -> dict[str, Confusion]:
    """Return tp, fp, fn, tn of every model of a table that is accepted."""
    return confusion(mars(table, **{"interval": "none"} | options))


def opened(table: Any, **options: Any) -> Predictions:
    """Return the columns as they were recognised, of a table that is accepted."""
    seen: list[Predictions] = []
    mars(table, on_open=seen.append, **options)
    return seen[0]


def spots(error: ClfevalError) -> str:
    """Return where which problems are: `3:a bad-number` in t.csv, `u.csv:3:a bad-number` else."""
    found = []
    for one in error.problems:
        file = None if (one.file or "t.").startswith(("t.", "<frame>")) else one.file
        place = ":".join(str(part) for part in (file, one.row, one.column) if part is not None)
        found.append(f"{place} {one.code}".strip())
    return ", ".join(found)


@dataclass(frozen=True)
class Door:
    """A function that takes a table and options, and how it says no."""

    ask: Callable[..., object]

    def refusal(self, table: Any = None, **options: Any) -> ClfevalError:
        """Return the error a request is refused with; its exit code is that of its kind."""
        with pytest.raises(ClfevalError) as caught:
            self.ask(table, **options)
        error = caught.value
        assert type(error) in (DataError, UsageError)
        assert int(error.exit_code) == (3 if isinstance(error, DataError) else 2)
        return error

    def places(self, table: Any, name: str = "t.csv", *, exit_code: int = 3, **options: Any) -> str:
        """Write a table (or hand one over), see it refused; return where which problems are."""
        return spots(self._refused(table, name, exit_code, options))

    def told(self, table: Any, name: str = "t.csv", *, exit_code: int = 3, **options: Any) -> str:
        """Do the same, and check that the message is the one that is kept."""
        error = self._refused(table, name, exit_code, options)
        check_text(str(error))
        return spots(error)

    def _refused(
        self, table: Any, name: str, exit_code: int, options: dict[str, Any]
    ) -> ClfevalError:
        table = write(name, table) if isinstance(table, (str, bytes)) else table
        error = self.refusal(table, **options)
        assert int(error.exit_code) == exit_code, str(error)
        return error

    def data_message(self, content: Any, name: str = "t.csv", **options: Any) -> str:
        """Write a table (or hand over a frame), see it refused for its data, return the message."""
        return str(self._refused(content, name, 3, options))

    def usage_message(self, content: Any = None, name: str = "t.csv", **options: Any) -> str:
        """Write a table (or hand over one, or none), see the request refused, the same way."""
        return str(self._refused(content, name, 2, options))


MARS = Door(at_shell(mars))
refusal, data_message, usage_message = MARS.refusal, MARS.data_message, MARS.usage_message
places, told = MARS.places, MARS.told
