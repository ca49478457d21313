"""The record of a format: how a table of a tool is recognised, and what its columns are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from clfeval.records import dataclass, field
from clfeval.tables.input import InputOptions
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.scan import TableFile

# Cells of a column. labels: at most 20 texts or whole numbers; texts: labels of which some are no
# numbers; unit: numbers in 0 to 1; counts: whole numbers from 0 on; vectors: lists of numbers, such
# as `[0.2,0.8]`; any: whatever they are.
FormatCells = Literal["any", "labels", "texts", "unit", "numbers", "counts", "vectors"]
# Parts of a column: truth, ids of rows, clusters, counts of rows, the labels that a model predicts,
# the confidence of these, the class probabilities of a model, a setting of which each value has all
# rows, or none. outcome: truth, if it is the
# only column so called that has classes of the predicted labels; the others have no part.
ColumnPart = Literal[
    "truth",
    "outcome",
    "id",
    "cluster",
    "count",
    "labels",
    "confidence",
    "probability",
    "setting",
    "unused",
]


@dataclass(frozen=True, eq=False)
class FormatTable:
    """A table whose format is to be recognised, with the profiles of its columns.

    names: of the columns. options: those of the user. joined: other files are joined to it.
    """

    file: TableFile
    options: InputOptions
    profile_columns: Callable[[TableFile, InputOptions], Mapping[str, ColumnProfile]]
    joined: bool = False

    @cached_property
    def profiles(self) -> Mapping[str, ColumnProfile]:
        """The profiles of the first rows."""
        return self.profile_columns(self.file, self.options)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, without those that --ignore names."""
        ignored = {*self.options.ignore}
        return tuple(name for name in self.file.columns if name not in ignored)

    def classes(self, columns: Sequence[str]) -> frozenset[str]:
        """Return all values of some columns of labels."""
        return frozenset[str]().union(*(self.profiles[name].texts for name in columns))


@dataclass(frozen=True, slots=True)
class Converted:
    """A table in columns that the layouts read, with the options that say what these are.

    remark: what was done, for the line on how the table is read.
    """

    file: TableFile
    options: Mapping[str, object] = field(default_factory=dict)
    remark: str = ""


Convert = Callable[[FormatTable, Mapping[str, Sequence[str]]], Converted | None]


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of tables that a tool writes.

    tool: its name in messages. needs: patterns of column names, each with the cells of every column
    that it matches; a table without such a column has another format. parts: what columns are, by
    pattern, the first that fits. others: the part of further columns; None if they decide
    themselves. convert: returns the table in other columns, given the columns by pattern of
    `needs`; None if it has another format after all. by_first_rows: all tables have such names, so
    the first rows decide; else all rows do.
    """

    tool: str
    needs: Mapping[str, FormatCells]
    parts: Mapping[str, ColumnPart] = field(default_factory=dict)
    others: ColumnPart | None = None
    convert: Convert | None = None
    by_first_rows: bool = False

    def columns_by_pattern(self, names: Sequence[str]) -> dict[str, list[str]] | None:
        """Return the columns that each pattern of `needs` matches; None if one matches none."""
        columns = {
            pattern: [name for name in names if re.fullmatch(pattern, name)]
            for pattern in self.needs
        }
        return columns if all(columns.values()) else None

    def part_of(self, name: str) -> ColumnPart | None:
        """Return the part of a column."""
        fitting_parts = (
            part for pattern, part in self.parts.items() if re.fullmatch(pattern, name)
        )
        return next(fitting_parts, self.others)
