"""What the first rows hold, and whether all ids differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from clfeval.late import nw, pl
from clfeval.tables.cells import distinct_texts
from clfeval.tables.csv import SAMPLE_ROWS
from clfeval.tables.scan import TableFile, collect, scan, together

_SCORE = re.compile(
    r"0|-?(?:[1-9]\d*|(?:0|[1-9]\d*)\.\d*|\.\d+)(?:[eE][+-]?\d+)?|-?inf|nan|NaN", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Peek:
    """The distinct values of a column's sample, as text."""

    texts: frozenset[str]
    typed_number: bool = False

    @property
    def numeric(self) -> bool:
        """True when there are values and all are numbers."""
        return self.typed_number or (bool(self.texts) and all(map(is_score, self.texts)))

    @property
    def mostly_numeric(self) -> bool:
        """True when numbers outweigh the rest: a bad cell does not turn scores into labels."""
        numbers = sum(map(is_score, self.texts))
        return self.numeric or numbers > len(self.texts) - numbers

    @property
    def bit(self) -> bool:
        """True when every value is a bare 0 or 1."""
        return not self.typed_number and bool(self.texts) and self.texts <= {"0", "1"}


def peek(file: TableFile, null_values: Sequence[str] = ()) -> dict[str, Peek]:
    """Return a Peek for every column of a table; the null values are left out."""
    if file.head is not None:
        sample = file.head.sample
        columns = zip(*sample, strict=True) if sample else [()] * len(file.columns)
        without = set(null_values)
        return {
            name: Peek(frozenset(v for v in values if v is not None and v not in without))
            for name, values in zip(file.columns, columns, strict=True)
        }
    assert file.native is not None
    frame = file.native.head(SAMPLE_ROWS).collect()
    return {
        name: Peek(
            frozenset(distinct_texts(frame[name].to_list()).difference(null_values)),
            typed_number=frame.schema[name].is_numeric(),
        )
        if not frame.schema[name].is_nested()
        else Peek(frozenset())
        for name in file.columns
    }


def distinct_of(files: Sequence[TableFile], column: str, null_values: Sequence[str]) -> set[str]:
    """Return the distinct values of one column of all files, as text."""
    values: set[str] = set()
    for file in files:
        frame = scan(file, {column: "text"}, null_values=null_values)
        found = collect(frame.group_by(column).agg(nw.len().alias("n")))
        values |= distinct_texts(found[column].to_list())
    return values


def is_score(text: str) -> bool:
    """Tell whether text is a number as programs write them: `0.3`, `-2`, `1e-5`; not `01`, ` 1`."""
    return bool(_SCORE.fullmatch(text))


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
    ids = together([scan(file, {column: "text"}) for file in files])
    return _distinct_hashes(ids.drop_nulls())


def _distinct_hashes(frame: nw.LazyFrame[Any]) -> bool:
    if frame.implementation.is_polars():
        native: pl.LazyFrame = frame.to_native()
        found = native.select(pl.all().hash().n_unique().alias("n"), pl.len().alias("rows"))
        return bool(found.select(pl.col("n") == pl.col("rows")).collect(engine="streaming").item())
    name = frame.collect_schema().names()[0]
    counted = frame.select(n=nw.col(name).n_unique(), rows=nw.len()).collect()
    return bool(counted["n"].item() == counted["rows"].item())
