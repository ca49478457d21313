"""JSON files as tables of rows: a list of records, or in spite of their name one record a line."""

from __future__ import annotations

import io
import json
import re

import polars as pl

from clfeval.errors import DataError, Problem
from clfeval.tables.source import Source

_RESULT = re.compile(rb'\s*\{\s*"schema"\s*:\s*"clfeval\.result/')
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*[{\]]")
_HEAD = 1 << 12


def refuse_result(source: Source) -> None:
    """Raise for a result of clfeval, which holds measures, not rows."""
    with source.path.open("rb") as stream:
        if _RESULT.match(stream.read(_HEAD)):
            raise DataError(
                Problem("is a result of clfeval, no table of rows", "wrong-format", source.name),
                hint="name the table it was computed from; clfeval mlcps ranks the models of "
                "results",
            )


def holds_lines(source: Source) -> bool:
    """Tell whether a JSON file is one record a line: its first line is an object of values."""
    with source.path.open("rb") as stream:
        first = next((line.strip() for line in stream if line.strip()), b"")
    if not first.startswith(b"{"):
        return False
    try:
        record = json.loads(first)
    except ValueError:
        return False
    return any(not isinstance(value, (dict, list)) for value in record.values())


def json_frame(source: Source) -> pl.DataFrame:
    """Read a list of records, columns in the order of the first; PolarsError for broken ones."""
    data = source.path.read_bytes()
    if not _LIST.match(data):
        raise DataError(
            Problem("is no list of records", "wrong-format", source.name),
            hint="one object per row is needed, as pandas writes with orient='records', or "
            "--input-format ndjson for one object a line",
        )
    frame = pl.read_json(io.BytesIO(data), infer_schema_length=None)
    if not frame.columns:
        raise DataError(
            Problem("no rows to evaluate", "empty-table", source.name),
            hint="the list holds no record",
        )
    text = data.decode("utf-8-sig")
    first, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    place = {key: i for i, key in enumerate(first)}
    return frame.select(sorted(frame.columns, key=lambda name: (place.get(name, len(place)), name)))
