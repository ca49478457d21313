"""The rows of each slice: by single columns, or by columns crossed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from clfeval.arrays import Ints
from clfeval.errors import DataError
from clfeval.tables.cells import as_text, is_missing, natural_sort_key
from clfeval.tables.input import FILE_NAME
from clfeval.tables.lazy_imports import nw

Facets = tuple[tuple[str, ...], ...]  # each: the columns whose values together define a slice


def slice_label(by: tuple[str, ...], values: Iterable[Any]) -> str:
    """Return the name of a slice: `site=A`, `site=A, sex=f` of crossed columns, or `file=A`."""
    texts = ("(missing)" if is_missing(value) else as_text(value) for value in values)
    names = ("file" if column == FILE_NAME else column for column in by)
    return ", ".join(f"{column}={text}" for column, text in zip(names, texts, strict=True))


def facet_of(label: str, facets: Facets) -> tuple[str, ...]:
    """Return the columns of a slice's name; if several match, the longest list."""
    named = (one for one in facets if label.startswith(f"{one[0]}="))
    return max((one for one in named if all(f", {name}=" in label for name in one[1:])),
               key=len, default=())  # fmt: skip


def slice_rows(facets: Facets, columns: Mapping[str, Sequence[Any]]) -> dict[str, Ints]:
    """Return row indices of each slice, ascending; columns: the values of each row."""

    def of_each() -> Iterator[tuple[list[str], Ints]]:
        for names in facets:
            combined = list(zip(*(columns[name] for name in names), strict=True))
            number = {values: i for i, values in enumerate(dict.fromkeys(combined))}
            code = np.fromiter(map(number.__getitem__, combined), np.int64, len(combined))
            yield [slice_label(names, values) for values in number], code

    return _rows_by_label(of_each())


def slice_rows_of_tables(
    tables: Sequence[nw.DataFrame[Any]], facets: Facets, by: tuple[str, ...]
) -> dict[str, Ints]:
    """Return row indices of each slice of concatenated tables; by: the columns b0, b1, ..."""

    def of_each() -> Iterator[tuple[list[str], Ints]]:
        for facet in facets:
            labels, codes = list[str](), [np.empty(0, np.int64)]
            names = [f"b{by.index(name)}" for name in facet]
            for table in tables:
                head = nw.col("i").min().over(*names)  # the first equal row
                heads = table.select(*names).with_row_index("i").select(head)["i"].to_numpy()
                first, code = np.unique(heads, return_inverse=True)
                codes.append(code + len(labels))
                labels += [slice_label(facet, row) for row in table.select(*names)[first].rows()]
            yield labels, np.concatenate(codes)

    return _rows_by_label(of_each())


def _rows_by_label(facets: Iterable[tuple[list[str], Ints]]) -> dict[str, Ints]:
    """Return row indices of each label, in natural order; DataError for a label of two columns."""
    found: dict[str, Ints] = {}
    for labels, code in facets:
        ordered = sorted({*labels}, key=natural_sort_key)
        rank = {label: i for i, label in enumerate(ordered)}
        kind = np.uint16 if len(ordered) < 2**16 else np.int64  # 16 bits are sorted faster
        rows = np.array([rank[label] for label in labels], kind)[code]
        order = np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], np.arange(len(ordered) + 1)).tolist()
        parts = [order[start:end] for start, end in pairwise(ends)]
        if twice := [label for label in ordered if label in found]:
            raise DataError.new(
                f"slices of different columns have the name '{twice[0]}'", "same-slice",
                hint="run once for each --by column",
            )  # fmt: skip
        found |= dict(zip(ordered, parts, strict=True))
    return found
