"""How a lazy frame is run, joined and numbered: what stands above writes no library's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from clfeval.late import nw, pl

Frame: TypeAlias = "nw.LazyFrame[Any]"


def collect(frame: Frame) -> nw.DataFrame[Any]:
    """Run the lazy frame, on polars with the streaming engine."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    return frame.collect()


def together(frames: Sequence[Frame]) -> Frame:
    """Put the rows of several frames under one another."""
    return nw.concat(list(frames)) if len(frames) > 1 else frames[0]


def with_rows(frame: Frame, name: str, *, first: int) -> Frame:
    """Add a column with the number of each row."""
    native: Any = frame.to_native()
    if not isinstance(native, pl.LazyFrame):
        native = frame.collect("polars").to_native().lazy()
    numbered: pl.LazyFrame = native.with_row_index(name, offset=first)
    return nw.from_native(numbered)
