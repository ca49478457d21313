"""Long metric tables: one row for each model and metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Ints
from clfeval.errors import KEPT, DataError, Problem
from clfeval.tables.metric.cells import (
    MISSING,
    Grid,
    flaw_of,
    is_absent,
    numbers_of,
    numeric,
    take,
    texts_of,
    with_reasons,
)
from clfeval.tables.metric.sheet import Asked, Places, Sheet, chosen, column_of, named_by, no_rows
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
    place = {name: i for i, name in enumerate(grid.columns)}
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
        model = next((i for i in rest if numbers_of(grid.cells[i]).mostly_text), None)
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
    keep = _whole(grid, columns)
    if not keep:
        raise no_rows(
            grid, "every row belongs to a slice or a class: drop that column, or choose rows"
        )
    left = len(grid.rows) - len(keep)
    models = texts_of(take(grid.cells[columns.model], keep))
    metrics = texts_of(take(grid.cells[columns.metric], keep))
    unnamed = {n for n, pair in enumerate(zip(models, metrics, strict=True)) if None in pair}
    if unnamed:
        if asked.missing == "error" or len(unnamed) == len(keep):
            raise _unnamed(grid, columns, [keep[n] for n in sorted(unnamed)])
        named = [n for n in range(len(keep)) if n not in unnamed]
        keep, models = [keep[n] for n in named], [models[n] for n in named]
        metrics = [metrics[n] for n in named]
    if columns.estimator is not None:
        estimators = texts_of(take(grid.cells[columns.estimator], keep))
        metrics = _with_estimator(metrics, estimators)
    notes = [f"{left:,} row{'s' * (left > 1)} of slices or classes left out"] if left else []
    if unnamed:
        rows = f"{len(unnamed):,} row{'s' * (len(unnamed) > 1)}"
        notes.append(f"{rows} without a model or a metric left out")
    return _scattered(grid, asked, columns, keep, models, metrics, tuple(notes))


def _scattered(
    grid: Grid,
    asked: Asked,
    columns: LongColumns,
    keep: Sequence[int],
    models: Sequence[str | None],
    metrics: Sequence[str | None],
    notes: tuple[str, ...],
) -> Sheet:
    numbers = numbers_of(take(grid.cells[columns.value], keep))
    reasons = None if columns.reason is None else take(grid.cells[columns.reason], keep)
    numbers = numbers if reasons is None else with_reasons(numbers, reasons)
    every, i = _coded(models)
    known, code = _coded(metrics)
    counts = np.bincount(code[numeric(numbers.status)], minlength=len(known))
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
    row = np.array([grid.rows[one] for one in keep], np.int64)
    _refuse_twice(grid, columns, every, list(wanted), (i[used], j[used], row[used]))
    values, rows = np.full((k, n), np.nan), np.zeros((k, n), np.int64)
    values[i[used], j[used]] = numbers.values[used]
    rows[i[used], j[used]] = row[used]
    cells = grid.cells[columns.value]
    flaws = {
        (int(i[r]), int(j[r])): flaw_of(
            cells[keep[r]], int(numbers.status[r]), None if reasons is None else reasons[r]
        )
        for r in used[numbers.status[used] > MISSING]
    }
    first = np.full(k, row[-1])
    np.minimum.at(first, i, row)
    return Sheet(
        layout="result" if grid.result else "long",
        models=list(every),
        metrics=tuple(wanted),
        values=values,
        flaws=flaws,
        places=Places(rows, (grid.columns[columns.value],) * n),
        rows=first.tolist(),
        model_column=grid.columns[columns.model],
        named_by=named_by(grid, columns.model),
        ignored=tuple(name for name in known if name not in measured and name not in wanted),
        notes=notes,
    )


def _coded(names: Sequence[str | None]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct names in order and which of them each row has."""
    codes: dict[str, int] = {}
    found = [codes.setdefault(str(name), len(codes)) for name in names]
    return list(codes), np.array(found, np.intp)


def _whole(grid: Grid, columns: LongColumns) -> list[int]:
    """Return the records that belong to no slice and no class."""
    parts = [texts_of(grid.cells[i]) for i in columns.parts]
    every = range(len(grid.rows))
    return [i for i in every if all(part[i] is None for part in parts)] if parts else list(every)


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
        if is_absent(grid.cells[column][record])
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
    used: tuple[NDArray[np.intp], NDArray[np.intp], Ints],
) -> None:
    """Raise for every value given again; the first row is named with each later one."""
    i, j, row = used
    pairs, first, which = np.unique(i * len(metrics) + j, return_index=True, return_inverse=True)
    if len(pairs) == len(i):
        return
    again = np.flatnonzero(first[which] != np.arange(len(i)))
    column = grid.columns[columns.metric]
    problems = [
        Problem(
            f"'{metrics[j[r]]}' of model '{models[i[r]]}' stands in row {row[first[which[r]]]} "
            "already",
            "duplicate-cell", grid.name, int(row[r]), column,
        )
        for r in again[:KEPT]
    ]  # fmt: skip
    raise DataError(
        problems,
        hint="each model needs one row per metric; rows of slices, classes or runs belong in "
        "tables of their own",
        totals=Counter({"duplicate-cell": len(again)}),
    )
