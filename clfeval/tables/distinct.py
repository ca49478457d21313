"""Are all ids different? Answered as cheaply as the ids allow."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import polars as pl

from clfeval.tables.peek import Peek
from clfeval.tables.scan import TableFile, scan


def all_distinct(files: Sequence[TableFile], column: str, peek: Peek) -> bool:
    """Tell whether no value of a column stands in two rows of the files; missing ones are ignored.

    Ascending whole numbers are distinct, also as text. Otherwise distinct hashes are enough; equal
    hashes may be chance, and then False only means that somebody must look.
    """
    if len(files) == 1 and files[0].head and all(text.isdecimal() for text in peek.texts):
        frame = scan(files[0], {column: "integer"}).to_native()
        rising = pl.col(column).is_not_null().all() & (pl.col(column).diff() > 0).all()
        with suppress(pl.exceptions.PolarsError):  # not whole numbers after all
            if frame.select(rising).collect(engine="streaming").item():
                return True
    return _distinct_hashes(_ids(files, column))


def _ids(files: Sequence[TableFile], column: str) -> nw.LazyFrame[Any]:
    frames = [scan(file, {column: "text"}) for file in files]
    return (nw.concat(frames) if len(frames) > 1 else frames[0]).drop_nulls()


def _distinct_hashes(frame: nw.LazyFrame[Any]) -> bool:
    if frame.implementation.is_polars():
        native: pl.LazyFrame = frame.to_native()
        found = native.select(pl.all().hash().n_unique().alias("n"), pl.len().alias("rows"))
        return bool(found.select(pl.col("n") == pl.col("rows")).collect(engine="streaming").item())
    name = frame.collect_schema().names()[0]
    counted = frame.select(n=nw.col(name).n_unique(), rows=nw.len()).collect()
    return bool(counted["n"].item() == counted["rows"].item())
