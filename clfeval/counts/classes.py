"""The class column of a feature table: its classes, the positive one, and how many rows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from clfeval.counts.judge import resolve_positive, values_of
from clfeval.counts.raw import collect, usable_weight
from clfeval.errors import HEADER_ONLY, DataError, Problem, quoted
from clfeval.tables.labels import natural
from clfeval.tables.peek import as_text, distinct_texts, is_absent
from clfeval.tables.roles import Roles

WEIGHT = "__clfeval_weight"


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Rows by class; `values` are, per frame, truth's raw values that mean the positive class.

    missing: rows without a class; bad_weights: rows whose weight is no weight.
    """

    classes: tuple[str, ...]
    positive: str
    values: tuple[tuple[Any, ...], ...]
    positives: int | float
    negatives: int | float
    rows: tuple[int, ...]  # of each file, those that have a class
    missing: tuple[int, ...]
    bad_weights: int
    fractional: bool

    def is_positive(self, truth: str, frame: int = 0) -> nw.Expr:
        """Return 1 for positive rows and 0 for negative ones of a frame."""
        return nw.col(truth).is_in(list(self.values[frame])).cast(nw.Int8)


def count_classes(
    file: str,
    frames: Sequence[nw.LazyFrame[Any]],
    truth: str,
    weight: str | None,
    roles: Roles,
    *,
    column: str | None = None,
) -> ClassCounts:
    """Count the rows of each class; raises DataError for no rows, and for too many classes.

    `truth` is the column in the frames, `column` its name in the file.
    """
    sums = [nw.len().alias("rows")]
    if weight is not None:
        number = nw.col(weight).cast(nw.Float64)
        good = usable_weight(weight)
        broken = good & (number.round(0) != number)
        sums += [
            nw.when(good).then(number).otherwise(nw.lit(0.0)).sum().alias("n"),
            (~good).cast(nw.Int64).sum().alias("bad"),
            broken.cast(nw.Int64).sum().alias("broken"),
        ]
    tables = [collect(frame.group_by(truth).agg(*sums)) for frame in frames]
    found = [row for table in tables for row in table.rows(named=True)]
    texts = [as_text(row[truth]) for row in found]
    classes = tuple(sorted(distinct_texts(row[truth] for row in found), key=natural))
    if not classes:
        hint = HEADER_ONLY if not found else f"no row has a class in '{column or truth}'"
        raise DataError(Problem("no rows to evaluate", "empty-table", file), hint=hint)
    positive = resolve_positive(file, classes, roles)
    count = "rows" if weight is None else "n"
    fractional = weight is not None and any(row["broken"] for row in found)
    totals = {True: 0.0, False: 0.0}
    for row, text in zip(found, texts, strict=True):
        if text is not None:
            totals[text == positive] += row[count]
    kind = float if fractional else int
    return ClassCounts(
        classes=classes,
        positive=positive,
        values=tuple(
            values_of([v for v in table[truth].to_list() if not is_absent(v)], positive)
            for table in tables
        ),
        positives=kind(totals[True]),
        negatives=kind(totals[False]),
        rows=tuple(_rows(table, truth, absent=False) for table in tables),
        missing=tuple(_rows(table, truth, absent=True) for table in tables),
        bad_weights=sum(row["bad"] for row in found) if weight is not None else 0,
        fractional=fractional,
    )


def need_both(file: str, classes: ClassCounts, column: str) -> None:
    """Raise DataError unless there are rows of both classes."""
    if classes.positives and classes.negatives:
        return
    which = "negative" if classes.positives else "positive"
    what = f"no {which} row: truth holds {' and '.join(map(quoted, classes.classes))}"
    raise DataError(
        Problem(what, "single-class", file, column=column),
        hint="what a feature tells of a class shows only beside rows of another",
    )


def _rows(table: nw.DataFrame[Any], truth: str, *, absent: bool) -> int:
    pairs = zip(table[truth].to_list(), table["rows"].to_list(), strict=True)
    return sum(rows for value, rows in pairs if is_absent(value) == absent)
