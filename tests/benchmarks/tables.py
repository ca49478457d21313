"""The benchmark tables: built once into .bench, chunk by chunk, the same bytes for every run.

Truth is positive in 30 % of the rows and each of the models errs in 20 %, independently.
Run as a module (`tables KIND PATH ROWS`) it builds one table, in a process of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.feature_tables import chunks
from tests.benchmarks.measure import MIB, ROOT, module, python, run, warm

FOLDER = ROOT / ".bench"
SEED = 20220411
CHUNK = 1_000_000
LABEL_MODELS = 8
LABELS = ("bits", "rows", "text", "id")  # the kinds of this module
COLUMNS = ("truth", *(f"m{i}" for i in range(LABEL_MODELS)))
SUFFIXES = {
    "bits": "csv",
    "rows": "parquet",
    "text": "csv",
    "id": "csv",
    "dense": "parquet",
    "entries": "parquet",
    "classes": "parquet",
    "curves": "parquet",
    "normal": "parquet",
}


def table(kind: str, rows: int) -> Path:
    """Return a table that is in the page cache, building it when it is absent.

    Kinds: `bits` 0/1 as CSV, `rows` the same as Parquet, `text` benign/malignant as CSV, `id` as
    `bits` with a row number before it; those of `feature_tables`.
    """
    path = FOLDER / f"{kind}-{rows}.{SUFFIXES[kind]}"
    if not path.exists():
        print(f"building {path.relative_to(ROOT)} ...", end=" ", flush=True)
        FOLDER.mkdir(exist_ok=True)
        done = run(module("tests.benchmarks.tables", kind, str(path), str(rows)))
        print(f"{done.seconds:.0f} s, at most {done.peak / MIB:,.0f} MiB of memory")
    warm(path)
    return path


def built(name: str, script: str, *arguments: object) -> Path:
    """Return a file in the page cache; a script, told where, writes it when it is absent."""
    path = FOLDER / name
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        part = path.with_name(f"part-{name}")
        run(python(script, str(part), *map(str, arguments)))
        part.rename(path)
    warm(path)
    return path


def size(path: Path) -> str:
    """Return the size on disk for titles."""
    return f"{path.stat().st_size / MIB:,.0f} MiB"


def build(kind: str, path: Path, rows: int) -> None:
    """Write a table beside its place and move it there when it is whole."""
    partial = path.with_suffix(".partial")
    write: Callable[..., None] = _write_parquet if SUFFIXES[kind] == "parquet" else _write_csv
    write(partial, _chunks(kind, rows) if kind in LABELS else chunks(kind, rows))
    os.replace(partial, path)


def _chunks(kind: str, rows: int) -> Iterator[Any]:
    """Yield polars frames; every chunk has a seed of its own, so tables of one kind nest."""
    import numpy as np
    import polars as pl

    for start in range(0, rows, CHUNK):
        length = min(CHUNK, rows - start)
        rng = np.random.default_rng([SEED, start])
        truth = rng.integers(0, 10, length, np.uint8) < 3
        wrong = rng.integers(0, 5, (LABEL_MODELS, length), np.uint8) == 0
        votes = [truth, *(truth ^ row for row in wrong)]
        bits = {name: vote.astype(np.int8) for name, vote in zip(COLUMNS, votes, strict=True)}
        frame = pl.DataFrame(bits)
        if kind == "text":
            labels = pl.when(pl.all() == 1).then(pl.lit("malignant")).otherwise(pl.lit("benign"))
            frame = frame.select(labels.name.keep())
        if kind == "id":
            frame = frame.with_row_index("id", offset=start)
        yield frame


def _write_csv(path: Path, chunks: Iterator[Any]) -> None:
    with path.open("wb") as stream:
        for number, frame in enumerate(chunks):
            frame.write_csv(stream, include_header=number == 0, float_precision=6)


def _write_parquet(path: Path, chunks: Iterator[Any]) -> None:
    """Write one row group per chunk: integers of one byte, packed by dictionary and zstd."""
    import pyarrow.parquet as pq

    first = next(chunks).to_arrow()
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for frame in chunks:
            writer.write_table(frame.to_arrow())


if __name__ == "__main__":
    build(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
