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
    """Rows by class; `values` are truth's raw values that mean the positive class.

    missing: rows without a class; bad_weights: rows whose weight is no weight.
    """

    classes: tuple[str, ...]
    positive: str
    values: tuple[Any, ...]
    positives: int | float
    negatives: int | float
    rows: tuple[int, ...]  # of each file, those that have a class
    missing: tuple[int, ...]
    bad_weights: int
    fractional: bool

    def is_positive(self, truth: str) -> nw.Expr:
        """Return 1 for positive rows and 0 for negative ones."""
        return nw.col(truth).is_in(list(self.values)).cast(nw.Int8)


def count_classes(
    file: str, frames: Sequence[nw.LazyFrame[Any]], truth: str, weight: str | None, roles: Roles
) -> ClassCounts:
    """Count the rows of each class; raises DataError for no rows, one class, or too many."""
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
        raise DataError(Problem("no rows to evaluate", "empty-table", file), hint=HEADER_ONLY)
    positive = resolve_positive(file, classes, roles)
    count = "rows" if weight is None else "n"
    fractional = weight is not None and any(row["broken"] for row in found)
    totals = {True: 0.0, False: 0.0}
    for row, text in zip(found, texts, strict=True):
        if text is not None:
            totals[text == positive] += row[count]
    if not totals[True] or not totals[False]:
        which = "positive" if not totals[True] else "negative"
        what = f"no {which} row: truth holds {' and '.join(map(quoted, classes))}"
        raise DataError(
            Problem(what, "single-class", file, column=truth),
            hint="what a feature tells of a class shows only beside rows of another",
        )
    kind = float if fractional else int
    return ClassCounts(
        classes=classes,
        positive=positive,
        values=values_of([row[truth] for row in found if not is_absent(row[truth])], positive),
        positives=kind(totals[True]),
        negatives=kind(totals[False]),
        rows=tuple(_rows(table, truth, absent=False) for table in tables),
        missing=tuple(_rows(table, truth, absent=True) for table in tables),
        bad_weights=sum(row["bad"] for row in found) if weight is not None else 0,
        fractional=fractional,
    )


def _rows(table: nw.DataFrame[Any], truth: str, *, absent: bool) -> int:
    pairs = zip(table[truth].to_list(), table["rows"].to_list(), strict=True)
    return sum(rows for value, rows in pairs if is_absent(value) == absent)
