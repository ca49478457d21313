"""Numeric columns of --by in bins: `age:4` cut at quantiles, `age:0,40,65` at these numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, pairwise

import numpy as np

from clfeval.errors import DataError, bad_option
from clfeval.late import nw
from clfeval.shell import format_option
from clfeval.tables.peek import ColumnPeek
from clfeval.tables.scan import TableFile, count_distinct_values

MOST = 20  # bins of a column
_SPEC = re.compile(r"[-+0-9.eE,\s]+")


def refuse_score_slices(name: str, column: ColumnPeek | None) -> None:
    """Raise for slices by fractions of which nearly each row has another."""
    if column and column.mostly_numeric and not column.classes and len(column.texts) > MOST:
        hint = f"use {format_option('--by', f'{name}:4')} to make four groups"
        hint += f"; then '{name}' is not evaluated as a model" if column.shares else ""
        what = (
            f"--by '{name}' has too many distinct values for slices "
            f"({len(column.texts)} in the first rows)"
        )
        raise bad_option(what, hint)


def parse_bins(entry: str, columns: Collection[str]) -> tuple[str, str]:
    """Return the column of an entry of --by, and how it is cut; nothing where it is not."""
    name, colon, spec = entry.rpartition(":")
    if entry in columns or not colon or name not in columns or not _SPEC.fullmatch(spec):
        return entry, ""
    return name, spec


def find_bin_edges(
    files: Sequence[TableFile], by: Sequence[str], columns: Collection[str],
    null_values: Sequence[str],
) -> dict[str, tuple[float, ...]]:  # fmt: skip
    """Return the numbers at which columns of --by are cut.

    A whole number N cuts at the quantiles 1/N, 2/N, ..., or behind the least number where all are;
    a list at its numbers. UsageError for other bins, DataError for a cell that is no number.
    """
    found: dict[str, tuple[float, ...]] = {}
    for entry in chain(*([one] if one in columns else one.split("*") for one in by)):
        name, spec = parse_bins(entry.strip(), columns)
        if not spec:
            continue
        try:
            numbers = [float(one) for one in spec.split(",")]
        except ValueError:
            numbers = []
        count = "," not in spec and spec.strip().isdecimal()
        if not numbers or numbers != sorted({*numbers}) or (count and not 2 <= numbers[0] <= MOST):
            hint = f"use --by '{name}:4' for quarters, or --by '{name}:40,65' to split there"
            raise bad_option(f"--by '{entry}' needs 2 to {MOST} bins, or ascending numbers", hint)
        values = _numbers(files[0].name, name, count_distinct_values(files, name, null_values))
        found[name] = tuple(numbers)
        if count:
            x, n = (np.array(part) for part in zip(*sorted(values.items()), strict=True))
            share = np.cumsum(n) / n.sum()
            cuts = [x[np.searchsorted(share, k / numbers[0])] for k in range(1, int(numbers[0]))]
            above = {float(one) for one in cuts if one > x[0]} or {float(x[:2][-1])}
            found[name] = tuple(sorted(above))
    return found


def _numbers(file: str, column: str, texts: Mapping[str, int]) -> Counter[float]:
    """Return how often each number occurs; DataError for a text that is none, or without any."""
    found = Counter[float]()
    for text, times in texts.items():
        try:
            found[float(text)] += times
        except ValueError:
            hint = f"use --by '{column}' for one slice per value"
            what = f"'{text}' is not a number, and --by makes bins of numbers only"
            raise DataError.new(what, "bad-number", file, None, column, hint=hint) from None
    if not found:
        raise DataError.new("it has no numbers", "bad-number", file, None, column)
    return found


def assign_bins(column: nw.Expr, edges: Sequence[float]) -> nw.Expr:
    """Return the bin of each number as text: `under 40`, `40 to <65`, `65 or more`."""
    number = column.cast(nw.Float64)
    texts = [f"{low:g} to <{high:g}" for low, high in pairwise(edges)] + [f"{edges[-1]:g} or more"]
    found = nw.when(number < edges[0]).then(nw.lit(f"under {edges[0]:g}"))
    known = nw.when(number.is_nan() | number.is_null()).then(nw.lit(None, nw.String))
    label = found.otherwise(nw.lit(texts[-1]))
    for edge, text in zip(edges[:0:-1], texts[-2::-1], strict=True):
        below = (number < edge) & (number >= edges[0])
        label = nw.when(below).then(nw.lit(text)).otherwise(label)
    return known.otherwise(label)
