"""The entries of a sparse table and the classes of its rows, as frames with names of our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from clfeval.tables.feature import Classes, FeatureTable
from clfeval.tables.scan import Reading, TableFile, scan

ROW, FEATURE, VALUE, CLASS, KNOWN = (f"__clfeval_{n}" for n in ("r", "f", "v", "c", "k"))

Frame = nw.LazyFrame[Any]


def read_entries(table: FeatureTable) -> Frame:
    """Return ROW, FEATURE, and VALUE and CLASS where the table has them; no blank lines."""
    names = {ROW: table.row, FEATURE: table.feature}
    readings: dict[str, Reading] = {table.row: "text", table.feature: "text"}
    if table.value is not None:
        names[VALUE], readings[table.value] = table.value, "number"
    if table.truth is not None:
        names[CLASS], readings[table.truth] = table.truth, "text"
    frame = _read(table.files, names, readings, table.roles.null_values)
    blank = nw.all_horizontal(*[nw.col(name).is_null() for name in names], ignore_nulls=True)
    return frame.filter(~blank) if table.files[0].head else frame


def read_owners(classes: Classes, null_values: Sequence[str]) -> Frame:
    """Return ROW and CLASS of a table of classes; no blank lines."""
    readings: dict[str, Reading] = {classes.row: "text", classes.truth: "text"}
    names = {ROW: classes.row, CLASS: classes.truth}
    frame = _read(classes.files, names, readings, null_values)
    return frame.filter(~(nw.col(ROW).is_null() & nw.col(CLASS).is_null()))


def owners_of(entries: Frame) -> Frame:
    """Return ROW, CLASS and the least class of each row that has entries: they should agree."""
    named = entries.filter(~nw.col(ROW).is_null())
    return named.group_by(ROW).agg(nw.col(CLASS).max(), nw.col(CLASS).min().alias("low"))


def with_owners(entries: Frame, owners: Frame) -> Frame:
    """Give every entry the class of its row; KNOWN is missing where there is no such row."""
    if entries.collect_schema()[ROW] != owners.collect_schema()[ROW]:
        entries, owners = (
            frame.with_columns(nw.col(ROW).cast(nw.String)) for frame in (entries, owners)
        )
    return entries.join(owners.with_columns(nw.lit(1).alias(KNOWN)), on=ROW, how="left")


def _read(
    files: Sequence[TableFile],
    names: Mapping[str, str],
    readings: Mapping[str, Reading],
    null_values: Sequence[str],
) -> Frame:
    wanted = [nw.col(column).alias(name) for name, column in names.items()]
    frames = [scan(file, readings, null_values=null_values).select(*wanted) for file in files]
    if len({tuple(frame.collect_schema().items()) for frame in frames}) > 1:
        # numbers in one file and their text in another are the same labels
        labels = [name for name in names if name != VALUE]
        frames = [frame.with_columns(nw.col(*labels).cast(nw.String)) for frame in frames]
    return nw.concat(frames) if len(frames) > 1 else frames[0]
