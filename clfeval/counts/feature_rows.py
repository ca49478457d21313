"""The rows of a feature table as they are counted: class, weight, chosen columns; by blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from clfeval.counts.classes import ClassCounts
from clfeval.counts.raw import collect
from clfeval.tables.feature import FeatureTable
from clfeval.tables.scan import Reading, scan

CELLS = 1 << 24  # cells held in memory at once
POSITIVE, WEIGHT = "__clfeval_positive", "__clfeval_n"


@dataclass(frozen=True, slots=True)
class Rows:
    """How the rows of a wide table are read and counted."""

    table: FeatureTable
    classes: ClassCounts

    def frames(
        self, columns: Sequence[str], reading: Reading, *, watch: bool = False
    ) -> list[nw.LazyFrame[Any]]:
        """Return the rows that have a class, as 1 / 0 for the class, weight, and the columns."""
        readings = dict.fromkeys(columns, reading)
        return [
            self._kept(position, *_scanned(self.table, position, readings, watch=watch), columns)
            for position in range(len(self.table.files))
        ]

    def blocks(
        self, columns: Sequence[str], reading: Reading
    ) -> Iterator[tuple[Sequence[str], nw.DataFrame[Any]]]:
        """Yield the rows of a few columns at a time, all files together."""
        wide = max(1, CELLS // max(1, sum(self.classes.rows)))
        for start in range(0, len(columns), wide):
            block = columns[start : start + wide]
            frames = self.frames(block, reading)
            if len(frames) > 1:  # the same column may be text in one file and numbers in another
                shared = nw.String if reading == "text" else nw.Float64
                frames = [frame.with_columns(nw.col(*block).cast(shared)) for frame in frames]
            parts = [collect(frame) for frame in frames]
            yield block, parts[0] if len(parts) == 1 else nw.concat(parts)

    def _kept(
        self,
        position: int,
        frame: nw.LazyFrame[Any],
        marks: Sequence[str],
        columns: Sequence[str],
    ) -> nw.LazyFrame[Any]:
        truth, weight = str(self.table.truth), self.table.roles.weight
        # a filter copies every column
        kept = frame.filter(~nw.col(truth).is_null()) if any(self.classes.missing) else frame
        own = [self.classes.is_positive(truth, position).alias(POSITIVE)]
        if weight is not None:
            number = nw.col(weight).cast(nw.Float64)
            kept = kept.filter(number > 0)
            own.append((number if self.classes.fractional else number.cast(nw.Int64)).alias(WEIGHT))
        return kept.select(*own, nw.col(*columns, *marks))


def class_frames(table: FeatureTable) -> list[nw.LazyFrame[Any]]:
    """Return the class column and the weight of each file."""
    return [_scanned(table, position, {}, watch=False)[0] for position in range(len(table.files))]


def _scanned(
    table: FeatureTable, position: int, readings: dict[str, Reading], *, watch: bool
) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Scan one file; return also the names of the marks a watchful scan of text adds."""
    roles = table.roles
    chosen: dict[str, Reading] = {str(table.truth): "text"}
    if roles.weight is not None:
        chosen[roles.weight] = "number"
    chosen |= readings
    frame = scan(table.files[position], chosen, null_values=roles.null_values, watch=watch)
    known = set(chosen)
    return frame, [name for name in frame.collect_schema().names() if name not in known]
