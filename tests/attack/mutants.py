"""Tables of every format, and what chance makes of their bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import polars as pl

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


def tables() -> dict[str, pl.DataFrame]:
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


WRITERS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    "csv": lambda frame: encoded(frame, "csv"),
    "tsv": lambda frame: encoded(frame, "tsv"),
    "csv.gz": lambda frame: packed(encoded(frame, "csv"), "gzip"),
    "csv.zst": lambda frame: packed(encoded(frame, "csv"), "zstd"),
    "parquet": lambda frame: encoded(frame, "parquet"),
    "arrow": lambda frame: encoded(frame, "arrow"),
    "ndjson": lambda frame: encoded(frame, "ndjson"),
    "json": as_json,
}
TABLES = {
    (kind, name): write(frame)
    for kind, frame in tables().items()
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
