"""Tables of every format, documents and counts, and what chance makes of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any

import polars as pl

from clfeval.tables.layouts.counts_file import METADATA
from tests.tables.door import encoded, packed

STRANGE = (
    b"\x1b[31m",
    b"\x07",
    b"\0",
    b"\xff",
    b"\xc2\x9b",
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\r\n",
    b",,,",
    b"nan",
    b"inf",
    b"1e999",
    b"-0",
    b"9" * 400,
    b"[" * 200,
    b"{",
    b"]",
    b"null",
    b"\xef\xbb\xbf",
    "\u202e".encode(),
    b"=cmd",
    b"<b>",
    b"truth",
)


def tables_by_layout() -> dict[str, pl.DataFrame]:
    """Return small tables of every layout."""
    dice = random.Random(1)
    rows = range(24)
    truth = [i % 2 for i in rows]
    wide = {"id": list(rows), "truth": truth, "a": [round(dice.random(), 2) for _ in rows]}
    scores = [round(dice.random(), 3) for _ in rows]
    long = [(i, m, dice.randint(0, 1), truth[i]) for i in range(12) for m in ("a", "b")]
    return {
        "wide": pl.DataFrame({**wide, "s": scores}),
        "text": pl.DataFrame({"truth": ["yes", "no"] * 12, "a": ["yes", "no", "no"] * 8}),
        "long": pl.DataFrame(long, ["id", "model", "prediction", "truth"], orient="row"),
        "classes": pl.DataFrame(
            {
                "truth": ["x", "y", "z"] * 8,
                "prob_x": scores,
                "prob_y": [(1 - s) / 2 for s in scores],
                "prob_z": [(1 - s) / 2 for s in scores],
            }
        ),
        "counts": pl.DataFrame(
            {"model": ["a", "b"], "tp": [5, 6], "fp": [1, 2], "fn": [3, 2], "tn": [9, 8]}
        ),
        "metrics": pl.DataFrame(
            {
                "model": ["a", "b", "c"],
                "f1": [0.5, 0.6, 0.7],
                "auc": [0.9, 0.8, 0.7],
                "mcc": [0.1, 0.2, 0.5],
            }
        ),
    }


def as_json(frame: pl.DataFrame) -> bytes:
    """Return one list of records."""
    return json.dumps(frame.to_dicts()).encode()


def as_stream(frame: pl.DataFrame) -> bytes:
    """Return a stream of Arrow."""
    stream = BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


WRITERS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    "csv": lambda frame: encoded(frame, "csv"),
    "tsv": lambda frame: encoded(frame, "tsv"),
    "csv.gz": lambda frame: packed(encoded(frame, "csv"), "gzip"),
    "csv.zst": lambda frame: packed(encoded(frame, "csv"), "zstd"),
    "parquet": lambda frame: encoded(frame, "parquet"),
    "arrow": lambda frame: encoded(frame, "arrow"),
    "ndjson": lambda frame: encoded(frame, "ndjson"),
    "json": as_json,
    "arrows": as_stream,
    "ndjson.gz": lambda frame: packed(encoded(frame, "ndjson"), "gzip"),
    "json.zst": lambda frame: packed(as_json(frame), "zstd"),
    "tsv.gz": lambda frame: packed(encoded(frame, "tsv"), "gzip"),
    "parquet.zst": lambda frame: packed(encoded(frame, "parquet"), "zstd"),
}
TABLES = {
    (kind, name): write(frame)
    for kind, frame in tables_by_layout().items()
    for name, write in WRITERS.items()
}


def mutated(content: bytes, dice: random.Random) -> bytes:
    """Return the bytes with some flipped, cut, doubled, zeroed or put in."""
    bytes_ = bytearray(content)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        place, length = dice.randrange(len(bytes_) + 1), dice.choice((1, 1, 2, 8, 60))
        how = dice.randrange(6)
        if how == 0 and place < len(bytes_):
            bytes_[place] ^= 1 << dice.randrange(8)
        elif how == 1:
            del bytes_[place : place + length]
        elif how == 2:
            bytes_[place:place] = bytes_[place : place + length]
        elif how == 3:
            bytes_[place : place + length] = bytes(len(bytes_[place : place + length]))
        elif how == 4:
            bytes_[place : place + dice.randint(0, 3)] = dice.choice(STRANGE)
        else:
            bytes_[place:place] = dice.randbytes(length)
    return bytes(bytes_)


SENSELESS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    3,
    0.5,
    -0.5,
    1e308,
    -1e308,
    2**63,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "x",
    "5",
    "\x1b[31m",
    "\ud800",
    "9" * 400,
    [],
    [None],
    [1],
    ["x"],
    [["x", 1]],
    {},
    {"x": 1},
    {"value": "x", "low": None, "high": None, "reason": None},
)
Place = tuple[Any, str | int]  # a list or an object, and which of its values


def places_of(document: Any) -> Iterator[Place]:
    """Yield every place of a document of JSON that has a value."""
    keys = document if isinstance(document, dict) else range(len(document))
    for key in keys:
        yield document, key
        if isinstance(document[key], (dict, list)):
            yield from places_of(document[key])


def mutated_document(document: Any, dice: random.Random) -> Any:
    """Return a copy of a document of JSON with one to three values gone, replaced or exchanged."""
    copy = json.loads(json.dumps(document))
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        # as likely near the top, where there are few values, as in the tables
        places = [*places_of(copy)]
        shallow = [(copy, key) for key in copy] if isinstance(copy, dict) else places
        parent, key = dice.choice(places if dice.randrange(3) else shallow)
        mutate_place(parent, key, dice)
    return copy


def mutate_place(parent: Any, key: str | int, dice: random.Random) -> None:
    """Change one value of an object or a list, or its key."""
    how = dice.randrange(6)
    if how == 0:
        del parent[key]
    elif how == 1 and isinstance(parent, dict):
        other = dice.choice([*parent])
        parent[key], parent[other] = parent[other], parent[key]
    elif how == 2 and isinstance(parent, dict):
        parent[dice.choice(("x", "", f"{key} ", "value", "models"))] = parent.pop(key)
    elif how == 3 and isinstance(parent, list):
        parent.insert(0, parent[key])
    elif how == 4 and isinstance(parent[key], (int, float)) and not isinstance(parent[key], bool):
        parent[key] = dice.choice((-parent[key], parent[key] + 1, parent[key] * 1e6, -1))
    else:
        parent[key] = dice.choice(SENSELESS)


def flipped(content: bytes, dice: random.Random) -> bytes:
    """Return the bytes with one bit flipped."""
    place = dice.randrange(8 * len(content))
    changed = bytearray(content)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def counts_bytes(table: pl.DataFrame, description: Any) -> bytes:
    """Return a counts file of any table and any description."""
    text = description if isinstance(description, str) else json.dumps(description)
    written = BytesIO()
    table.write_parquet(written, metadata={METADATA: text})
    return written.getvalue()


CELLS: tuple[Any, ...] = (None, -1, 0, 1, 7, 2**62, -(2**63), 0.5, float("nan"), float("inf"), "x")


def mutated_cells(table: pl.DataFrame, dice: random.Random) -> pl.DataFrame:
    """Return counts with a cell, a column, or the rows changed."""
    name, row = dice.choice(table.columns), dice.randrange(len(table))
    column = table[name]
    how = dice.randrange(7)
    if how == 0:
        return table.drop(name)
    if how == 1:
        kinds = (pl.Float32, pl.Int8, pl.String, pl.UInt64, pl.Binary, pl.List(pl.Int64))
        with suppress(pl.exceptions.PolarsError):
            return table.with_columns(column.cast(dice.choice(kinds), strict=False))
        return table.with_columns(pl.lit(None).alias(name))
    if how == 2:
        return table.slice(row, dice.choice((1, 2, len(table))))
    if how == 3:
        return pl.concat([table, table[row : row + 1]])
    if how == 4 and column.dtype == pl.Boolean:
        return table.with_columns(~pl.col(name))
    values = column.to_list()
    values[row] = dice.choice((*CELLS, values[dice.randrange(len(values))]))
    return table.with_columns(pl.Series(name, values, column.dtype, strict=False))
