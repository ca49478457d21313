"""Long metric tables: one row for each model and metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import KEPT, DataError, Problem
from clfeval.tables.metric.grid import Grid, Places, is_blank, numeric
from clfeval.tables.metric.sheet import Asked, Sheet, chosen, column_of, no_rows, without_parts
from clfeval.tables.names import (
    ESTIMATOR_NAMES,
    METRIC_NAMES,
    METRIC_VALUE_NAMES,
    SLICE_NAMES,
    find,
)

MOST = 20  # cells of the sheet for each row of the table, beyond which it is no such table
SMALL = 1_000_000  # cells that are never too many


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Where models, metrics and values stand; the others only if there."""

    model: int
    metric: int
    value: int
    estimator: int | None
    reason: int | None
    parts: tuple[int, ...]  # slice and class: rows that name one are no whole


def long_columns(grid: Grid, asked: Asked) -> LongColumns | None:
    """Recognise a long table by its header; None when it is none."""
    place = grid.place
    metric = find(place, METRIC_NAMES)
    value = find([name for name in place if name != metric], METRIC_VALUE_NAMES)
    if metric is None or value is None:
        return None
    estimator = find(place, ESTIMATOR_NAMES)
    reason = find(place, (f"{value}_reason", "reason"))
    parts = [name for one in SLICE_NAMES if (name := find(place, (one,)))]
    taken = {metric, value, estimator, reason, *parts}
    model = column_of(grid, asked)
    if model is None:
        rest = [i for name, i in place.items() if name not in taken]
        model = next((i for i in rest if grid.numbers(i).mostly_text), None)
    if model is None or grid.columns[model] in taken:
        return None
    return LongColumns(
        model,
        place[metric],
        place[value],
        place.get(estimator or "") if estimator else None,
        place.get(reason) if reason else None,
        tuple(place[name] for name in parts),
    )


def long_sheet(grid: Grid, asked: Asked, columns: LongColumns) -> Sheet:
    """Sort rows of one value each into models x metrics, both in the order they first appear."""
    keep = without_parts(grid, columns.parts)
    if not keep:
        raise no_rows(
            grid, "every row belongs to a slice or a class: drop that column, or choose rows"
        )
    left = len(grid.rows) - len(keep)
    notes = [f"{left:,} row{'s' * (left > 1)} of slices or classes left out"] if left else []
    models, metrics = grid.texts(columns.model), grid.texts(columns.metric)
    unnamed = [i for i in keep if models[i] is None or metrics[i] is None]
    if unnamed:
        if asked.missing == "error" or len(unnamed) == len(keep):
            raise _unnamed(grid, columns, unnamed)
        gone = set(unnamed)
        keep = [i for i in keep if i not in gone]
        rows = f"{len(unnamed):,} row{'s' * (len(unnamed) > 1)}"
        notes.append(f"{rows} without a model or a metric left out")
    names = [metrics[i] for i in keep]
    if columns.estimator is not None:
        estimators = grid.texts(columns.estimator)
        names = _with_estimator(names, [estimators[i] for i in keep])
    sheet = _scattered(grid, asked, columns, np.array(keep), [models[i] for i in keep], names)
    return replace(sheet, notes=notes)


def _scattered(
    grid: Grid,
    asked: Asked,
    columns: LongColumns,
    keep: NDArray[np.intp],
    models: Sequence[str | None],
    metrics: Sequence[str | None],
) -> Sheet:
    every, i = _coded(models)
    known, code = _coded(metrics)
    status = grid.numbers(columns.value, columns.reason).status[keep]
    counts = np.bincount(code[numeric(status)], minlength=len(known))
    others = {name: number for number, name in enumerate(known)}
    measured = {name: number for name, number in others.items() if counts[number]}
    wanted = chosen(grid, asked, measured, others)
    k, n = len(every), len(wanted)
    if k * n > max(SMALL, MOST * len(keep)):
        what = f"{len(keep):,} rows for {k:,} models and {n:,} metrics: most values are missing"
        name = grid.columns[columns.metric]
        raise DataError(
            Problem(what, "missing-value", grid.name),
            hint=f"if '{name}' does not name a metric, add --layout wide",
        )
    place = np.full(len(known), -1)
    place[list(wanted.values())] = range(n)
    j = place[code]
    used = np.flatnonzero(j >= 0)
    _refuse_twice(grid, columns, every, list(wanted), (i[used], j[used], keep[used]))
    records = np.full((k, n), -1)
    records[i[used], j[used]] = keep[used]
    first = keep[np.unique(i, return_index=True)[1]]
    return Sheet(
        "result" if grid.result else "long", every, tuple(wanted),
        Places(records, np.array([[columns.value]])),
        rows=[grid.rows[record] for record in first],
        named=columns.model,
        reasons={} if columns.reason is None else {columns.value: columns.reason},
        ignored=[name for name in known if name not in measured and name not in wanted],
    )  # fmt: skip


def _coded(names: Sequence[str | None]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct names in order and which of them each row has."""
    codes: dict[str, int] = {}
    found = [codes.setdefault(str(name), len(codes)) for name in names]
    return list(codes), np.array(found, np.intp)


def _with_estimator(
    metrics: Sequence[str | None], estimators: Sequence[str | None]
) -> list[str | None]:
    """Name a metric that has several estimators by both, as in f1_macro."""
    pairs = list(zip(metrics, estimators, strict=True))
    kinds: dict[str | None, set[str | None]] = {}
    for metric, estimator in pairs:
        kinds.setdefault(metric, set()).add(estimator)
    return [f"{m}_{e}" if e is not None and len(kinds[m]) > 1 else m for m, e in pairs]


def _unnamed(grid: Grid, columns: LongColumns, records: Sequence[int]) -> DataError:
    problems = [
        Problem("missing", "missing-value", grid.name, grid.rows[record], grid.columns[column])
        for record in records
        for column in (columns.model, columns.metric)
        if is_blank(grid.cells[column][record])
    ]
    return DataError(
        problems[:KEPT],
        hint="every row names its model and its metric; --missing drop leaves such rows out",
        totals=Counter(problem.code for problem in problems),
    )


def _refuse_twice(
    grid: Grid,
    columns: LongColumns,
    models: Sequence[str],
    metrics: Sequence[str],
    used: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]],
) -> None:
    """Raise for every value given again; the first row is named with each later one."""
    i, j, record = used
    pairs, first, which = np.unique(i * len(metrics) + j, return_index=True, return_inverse=True)
    if len(pairs) == len(i):
        return
    again = np.flatnonzero(first[which] != np.arange(len(i)))
    column = grid.columns[columns.metric]
    problems = [
        Problem(
            f"'{metrics[j[r]]}' of model '{models[i[r]]}' stands in row "
            f"{grid.rows[record[first[which[r]]]]} already",
            "duplicate-cell", grid.name, grid.rows[record[r]], column,
        )
        for r in again[:KEPT]
    ]  # fmt: skip
    raise DataError(
        problems,
        hint="each model needs one row per metric; rows of slices, classes or runs belong in "
        "tables of their own",
        totals=Counter({"duplicate-cell": len(again)}),
    )
