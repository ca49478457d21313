"""Records of JSON files: lists of them, one a line, and the split form of pandas."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from typing import Any

from clfeval.errors import DataError, Problem
from clfeval.tables.frames import pl
from clfeval.tables.source import SourceFile

# how a list of records begins, and how pandas' split of columns and rows does
_LIST = rb"(?:\xef\xbb\xbf)?\s*\[\s*[{\]]"
_SPLIT = rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:columns|index|data)"\s*:\s*\['


def first_record(source: SourceFile) -> dict[str, Any]:
    """Return the object in the first line that is not blank; {} if that is not an object."""
    with source.path.open("rb") as stream:
        first_line = next((line.strip() for line in stream if line.strip()), b"")
    if not first_line.startswith(b"{"):
        return {}
    try:
        return dict(json.loads(first_line))
    except ValueError:
        return {}


def order_columns(columns: Iterable[str], first_keys: Iterable[str]) -> list[str]:
    """Order columns as in the first record; keys of later records follow by name."""
    key_index = {key: index for index, key in enumerate(first_keys)}
    return sorted(columns, key=lambda name: (key_index.get(name, len(key_index)), name))


def json_frame(source: SourceFile) -> pl.DataFrame:
    """Read a list of records, columns in the order of the first; PolarsError for invalid JSON."""
    content = source.path.read_bytes()
    if re.match(_SPLIT, content):
        frame = _split_frame(content)
        if frame is not None:
            return frame
    if not re.match(_LIST, content):
        raise DataError(
            Problem("is not a list of records", "wrong-format", source.name),
            hint="write one object per row, as pandas does with orient='records' or 'split', "
            "or one object per line in a file named .ndjson",
        )
    frame = pl.read_json(io.BytesIO(content), infer_schema_length=None)
    if not frame.columns:
        hint = "the list is empty"
        raise DataError.new("no rows to evaluate", "empty-table", source.name, hint=hint)
    text = content.decode("utf-8-sig")
    first_object, _end = json.JSONDecoder().raw_decode(text, text.index("{"))
    return frame.select(order_columns(frame.columns, first_object))


def _split_frame(content: bytes) -> pl.DataFrame | None:
    """Read columns and rows of pandas' orient='split'; None if the data is not of that form."""
    try:
        table = json.loads(content.decode("utf-8-sig"))
        column_names = [str(name) for name in table["columns"]]
        return pl.DataFrame(
            table["data"], schema=column_names, orient="row", infer_schema_length=None
        )
    except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
        return None
