"""Layouts of metric tables as sheets: wide, transposed, long, grid search, or a clfeval result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Ints
from clfeval.document import whole_table_rows
from clfeval.errors import HEADER_ONLY, MAX_PROBLEMS, DataError, Problem, list_names
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.formats.metrics import columns_of_settings
from clfeval.tables.input import ColumnNames, InputOptions, find_column, is_index_name
from clfeval.tables.metric.grid import (
    PREDICTIONS,
    Grid,
    MetricLayout,
    Sheet,
    ValuePlaces,
    is_estimate,
    is_numeric,
    name_column,
    name_or_text_column,
    name_problems,
    name_text,
    no_metrics_error,
    no_models_error,
    no_rows_error,
    not_transposed_error,
    requested_metrics,
    rows_left_out,
)


def sheet_by_rows(
    grid: Grid,
    models: Sequence[str | None],
    columns: Mapping[str, int],
    layout: MetricLayout,
    name_column: int | None,
    keep: Sequence[int] | None = None,
) -> Sheet:
    """Build the sheet of a table with one row per model; keep: its records, by default all.

    `name_column` is the column of the names, None if they are built from parameters; `columns` maps
    metrics to columns.
    """
    keep = range(len(grid.rows)) if keep is None else keep
    places = ValuePlaces(np.array(keep)[:, None], np.array([list(columns.values())]))
    roles = {} if name_column is None else {grid.columns[name_column]: "names of models"}
    return Sheet(layout, models, tuple(columns), places, name_column=name_column, roles=roles)


MOST = 20  # cells of the sheet per row of the table; with more the table is not a long one
SMALL = 1_000_000  # cells that are always allowed


def build_sheet(
    grid: Grid, roles: InputOptions, requested: Sequence[str], *, transpose: bool
) -> Sheet:
    """Arrange the cells as models x metrics; DataError for a table without such a layout."""
    if not grid.rows or not grid.columns:
        raise no_rows_error(grid, HEADER_ONLY if grid.delimiter else "the table has no records")
    search = any(name.startswith(_MEAN) for name in grid.columns)
    if transpose:
        if search or _long_columns(grid, roles):
            message = "its models are in rows, not in columns"
            raise not_transposed_error(grid.name, message)
        return _transposed(grid, roles, requested)
    if roles.layout == "wide":
        return _wide(grid, roles, requested)
    if roles.layout is None and search:
        return _grid_search_sheet(grid, roles, requested)
    long = _long_columns(grid, roles)
    if long is not None:
        return _long(grid, roles, requested, long)
    if roles.layout == "long":
        message = f"not a long table; columns: {list_names(grid.titles)}"
        hint = "a long table needs columns like model, metric, value"
        raise DataError.new(message, "wrong-layout", grid.name, hint=hint, fixes={"layout": None})
    measured = _measure_columns(grid)
    return (
        _of_result(grid, roles, requested, measured) if measured else _wide(grid, roles, requested)
    )


def _columns(grid: Grid, name_column: int) -> dict[str, int]:
    """Return the columns except that of the names and the row index of a data frame."""
    return {
        name: i
        for i, name in enumerate(grid.columns)
        if i != name_column and not (is_index_name(name) and not grid.numbers(i).texts)
    }


def _wide(grid: Grid, roles: InputOptions, requested: Sequence[str]) -> Sheet:
    """Read a wide table: one row per model, one column per metric."""
    names_at = name_or_text_column(grid, roles)
    if names_at is None or (
        roles.id is None and grid.columns[names_at].strip() in ColumnNames.METRIC
    ):
        raise no_models_error(grid)
    further = _columns(grid, names_at)
    settings = columns_of_settings([*further])
    measured = {
        name: i
        for name, i in further.items()
        if name not in settings and grid.numbers(i).any_number
    }
    columns = requested_metrics(grid, requested, measured, further)
    truth = find_column(columns, ColumnNames.TRUTH)
    if (
        truth is None and grid.columns[names_at].strip().casefold() in ColumnNames.ID
    ):  # labels and ids
        truth = find_column(further, ColumnNames.TRUTH)
    if truth and not requested and roles.layout is None:
        message = f"column '{truth}' suggests a table of predictions"
        hint = (
            f"add {OPTION}--from predictions{END}; if the column is a metric, add "
            f"{OPTION}--layout wide{END}"
        )
        raise DataError.new(message, "which-layout", grid.name, hint=hint, fixes=PREDICTIONS)
    ignored = [
        name or "(no name)" for name in further if name not in measured and name not in columns
    ]
    return replace(
        sheet_by_rows(grid, grid.texts(names_at), columns, "wide", names_at), ignored=ignored
    )


def _transposed(grid: Grid, roles: InputOptions, requested: Sequence[str]) -> Sheet:
    """Read a transposed table: one row per metric, one column per model."""
    name_column = name_or_text_column(grid, roles, ColumnNames.METRIC)
    if name_column is None:
        message = f"no column contains metric names; columns: {list_names(grid.titles)}"
        raise DataError.new(
            message, "no-metrics", grid.name, hint=f"name it with {OPTION}--id COLUMN{END}"
        )
    columns = _columns(grid, name_column)
    parsed = {name: grid.numbers(i) for name, i in columns.items()}
    models = [name for name, cells in parsed.items() if cells.any_number or not cells.texts]
    if not models:
        raise no_metrics_error(grid)
    names = grid.texts(name_column)
    if problems := name_problems(grid, grid.rows, names, name_column, "duplicate-column"):
        raise DataError(problems, hint="give every metric a unique name")
    numeric = np.any(is_numeric(np.array([parsed[name].status for name in models])), axis=0)
    metrics = {str(name): row for row, name in enumerate(names)}
    measured = {name: row for name, row in metrics.items() if numeric[row]}
    rows = requested_metrics(grid, requested, measured, metrics)
    used = set(models)
    ignored = [name or "(no name)" for name in columns if name not in used]
    ignored += [name for name in metrics if name not in measured and name not in rows]
    model_columns = np.array([columns[name] for name in models])[:, None]
    return Sheet(
        "wide",
        models,
        tuple(rows),
        ValuePlaces(np.array([list(rows.values())]), model_columns),
        turned=True,
        roles={grid.columns[name_column]: "names of metrics", **dict.fromkeys(models, "model")},
        ignored=ignored,
    )


_MEAN, _PARAM = "mean_test_", "param_"
_SPLIT = re.compile(r"split(\d+)_test_(.*)", re.DOTALL)


def _grid_search_sheet(grid: Grid, roles: InputOptions, requested: Sequence[str]) -> Sheet:
    """Read a grid search: one row per candidate; metrics are the names after mean_test_."""
    place = grid.place
    measured = {name.removeprefix(_MEAN): i for name, i in place.items() if name.startswith(_MEAN)}
    columns = requested_metrics(grid, requested, measured, place)
    names_at = name_column(grid, roles, names=())
    names = _candidate_names(grid) if names_at is None else grid.texts(names_at)
    kinds = grid.find(ColumnNames.MODEL) if names_at is None else None
    if kinds is not None:  # searches of several models, concatenated
        models = grid.texts(kinds)
        names = [f"{m} {n}" if m and n else m or n for m, n in zip(models, names, strict=True)]
    splits = {
        f"split{number}": [place.get(f"split{number}_test_{metric}", -1) for metric in columns]
        for number in _split_numbers(place, columns)
    }
    return replace(
        sheet_by_rows(grid, names, columns, "cv", names_at),
        sds=[place.get(f"std_test_{metric}", -1) for metric in columns],
        # none unless every metric has all splits
        splits={} if any(-1 in split for split in splits.values()) else splits,
    )


def _split_numbers(names: Iterable[str], metrics: Container[str]) -> list[int]:
    """Return the numbers of the splits whose values of some metrics are columns, in order."""
    matches = filter(None, map(_SPLIT.fullmatch, names))
    return sorted({int(match[1]) for match in matches if match[2] in metrics})


def _candidate_names(grid: Grid) -> list[str | None]:
    """Name candidates by their parameters: `C=1, kernel=rbf`, without those they do not have.

    Constant ones are left out too, and pipeline steps where the parameter is unique. An empty cell
    is None when the column `params` has the parameter.
    """
    place = grid.place
    parameters = {name: i for name, i in place.items() if name.startswith(_PARAM)}
    texts = {name.removeprefix(_PARAM): grid.texts(i) for name, i in parameters.items()}
    texts = {name: column for name, column in texts.items() if len(set(column)) > 1} or texts
    short = {name: name.rpartition("__")[2] for name in texts}
    if len(set(short.values())) < len(short):
        short = {name: name for name in texts}
    params = grid.cells[place["params"]] if "params" in place else [None] * len(grid.rows)
    names: list[str | None] = []
    for i, row in enumerate(grid.rows):
        parts = [
            f"{short[name]}={column[i]}"
            for name, column in texts.items()
            if column[i] is not None or f"'{name}':" in str(params[i])
        ]
        names.append(", ".join(parts) or name_text(params[i]) or f"row {row}")
    return names


def _measure_columns(grid: Grid) -> dict[str, int]:
    """Return the columns of measures: estimates in JSON, four columns each in CSV."""
    return {
        name: i
        for i, name in enumerate(grid.columns)
        if all(name + end in grid.columns for end in ("_low", "_high", "_reason"))
        or is_estimate(next((cell for cell in grid.cells[i] if cell is not None), None))
    }


def _of_result(
    grid: Grid, roles: InputOptions, requested: Sequence[str], measured: dict[str, int]
) -> Sheet:
    """Read a clfeval result: one row per model and target population, without slices."""
    place = grid.place
    name_column = name_or_text_column(grid, roles)
    if name_column is None:
        raise no_models_error(grid)
    columns = requested_metrics(grid, requested, measured, place)
    rows, notes = _rows_of_whole_table(grid)
    names = grid.texts(name_column)
    # several target populations distinguish the rows of one model
    targets = rows and rows[0].get("population") == "target"
    if targets and len({row.get("odds") for row in rows}) > 1:
        for row in rows:
            i = row["record"]
            names[i] = names[i] and f"{names[i]} at {row['odds']}"
    records = [row["record"] for row in rows]
    reasons = {i: place[f"{name}_reason"] for name, i in place.items() if f"{name}_reason" in place}
    models = [names[i] for i in records]
    sheet = sheet_by_rows(grid, models, columns, "result", name_column, records)
    return replace(sheet, reasons=reasons, notes=notes)


def _rows_of_whole_table(grid: Grid) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of a result that belong to no slice, of one kind of population, and notes."""
    parts = [name for name in ("slice", "population", "odds") if name in grid.place]
    texts = [range(len(grid.rows)), *(grid.texts(grid.place[name]) for name in parts)]
    rows: list[dict[str, Any]] = [
        dict(zip(("record", *parts), row, strict=True)) for row in zip(*texts, strict=True)
    ]
    unsliced = [row for row in rows if row.get("slice") is None]
    if not unsliced:
        raise no_rows_error(grid, "every row belongs to a slice; choose rows of the whole table")
    notes = rows_left_out(len(rows) - len(unsliced), "of slices")
    rows = list(whole_table_rows(unsliced))
    kind = rows[0].get("population") if rows else None
    populations = dict.fromkeys(row.get("population") for row in unsliced)
    if others := [str(name) for name in populations if name not in (kind, None)]:
        notes.append(f"population '{kind}' is used, {list_names(others)} left out")
    return rows, notes


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Columns of a long metric table: models, metrics, values, and optional ones."""

    model: int
    metric: int
    value: int
    estimator: int | None
    reason: int | None
    parts: tuple[int, ...]  # slice and class: rows with one are not for the whole table


def _long_columns(grid: Grid, roles: InputOptions) -> LongColumns | None:
    """Recognise a long table by its header; None if it is not one."""
    metric = grid.find(ColumnNames.METRIC)
    value = grid.find(ColumnNames.METRIC_VALUE, but=metric)
    if metric is None or value is None:
        return None
    estimator = grid.find(ColumnNames.ESTIMATOR)
    reason = grid.find((f"{grid.columns[value]}_reason", "reason"))
    slice_columns = (grid.find((name,)) for name in ColumnNames.SLICE)
    parts = tuple(i for i in slice_columns if i is not None)
    used = {metric, value, estimator, reason, *parts}
    model = name_column(grid, roles)
    if model is None:
        unused = (i for i in range(len(grid.columns)) if i not in used)
        model = next((i for i in unused if grid.numbers(i).mostly_text), None)
    if model is None or model in used:
        return None
    return LongColumns(model, metric, value, estimator, reason, parts)


def _long(grid: Grid, roles: InputOptions, requested: Sequence[str], columns: LongColumns) -> Sheet:
    """Read a long table, one value per row; models and metrics in order of appearance."""
    parts = [grid.texts(i) for i in columns.parts]
    keep = [i for i in range(len(grid.rows)) if all(part[i] is None for part in parts)]
    if not keep:
        raise no_rows_error(
            grid, "every row belongs to a slice or a class; drop that column or choose rows"
        )
    notes = rows_left_out(len(grid.rows) - len(keep), "of slices or classes")
    models = grid.texts(columns.model)
    metrics = grid.texts(columns.metric)
    if unnamed := [i for i in keep if models[i] is None or metrics[i] is None]:
        if roles.missing == "error" or len(unnamed) == len(keep):
            problems = [
                Problem("missing", "missing-value", grid.name, grid.rows[i], grid.columns[column])
                for i in unnamed
                for column, names in ((columns.model, models), (columns.metric, metrics))
                if names[i] is None
            ]
            raise DataError(
                problems[:MAX_PROBLEMS],
                hint="give every row a model and a metric, or leave such rows out with "
                f"{OPTION}--missing drop{END}drop",
                totals=Counter(problem.code for problem in problems),
                fixes={"missing": "drop"} if len(unnamed) < len(grid.rows) else {},
            )
        gone = set(unnamed)
        keep = [i for i in keep if i not in gone]
        notes += rows_left_out(len(unnamed), "without a model or a metric")
    names = [metrics[i] for i in keep]
    if columns.estimator is not None:
        estimators = grid.texts(columns.estimator)
        pairs = [(metrics[i], estimators[i]) for i in keep]
        several = Counter(metric for metric, _ in dict.fromkeys(pairs))
        # a metric with several estimators is named by both, as in f1_macro
        names = [f"{m}_{e}" if e is not None and several[m] > 1 else m for m, e in pairs]
    sheet = _sheet_of_cells(
        grid, requested, columns, np.array(keep), [models[i] for i in keep], names
    )
    return replace(sheet, notes=notes)


def _sheet_of_cells(
    grid: Grid,
    requested: Sequence[str],
    columns: LongColumns,
    rows: NDArray[np.intp],
    models: Sequence[str | None],
    metrics: Sequence[str | None],
) -> Sheet:
    """Return the sheet of some rows of a long table, with the model and metric of each."""
    model_codes, i = _encode_names(models)
    metric_codes, code = _encode_names(metrics)
    status = grid.numbers(columns.value, columns.reason).status[rows]
    counts = np.bincount(code[is_numeric(status)], minlength=len(metric_codes))
    measured = {name: number for name, number in metric_codes.items() if counts[number]}
    shown_metrics = requested_metrics(grid, requested, measured, metric_codes)
    shape = (len(model_codes), len(shown_metrics))
    _refuse_mostly_missing(grid, columns, len(rows), shape)
    column = np.full(len(metric_codes), -1)
    column[list(shown_metrics.values())] = range(len(shown_metrics))
    j = column[code]
    used = np.flatnonzero(j >= 0)
    cells = (i[used], j[used], rows[used])
    metric_column = grid.columns[columns.metric]
    _refuse_twice(grid, metric_column, list(model_codes), list(shown_metrics), cells)
    records = np.full(shape, -1)
    records[cells[0], cells[1]] = cells[2]
    return Sheet(
        layout="result" if grid.columns[columns.value] in _measure_columns(grid) else "long",
        models=list(model_codes),
        metrics=list(shown_metrics),
        places=ValuePlaces(records, np.array([[columns.value]])),
        name_column=columns.model,
        roles={
            grid.columns[columns.model]: "names of models",
            metric_column: "names of metrics",
            grid.columns[columns.value]: "values",
        },
        reasons={} if columns.reason is None else {columns.value: columns.reason},
        ignored=[
            name for name in metric_codes if name not in measured and name not in shown_metrics
        ],
    )


def _refuse_mostly_missing(
    grid: Grid, columns: LongColumns, rows: int, shape: tuple[int, int]
) -> None:
    """Raise DataError for a large table of models and metrics that has few values."""
    k, n = shape
    if k * n > max(SMALL, MOST * rows):
        message = f"most values are missing: {rows:,} rows for {k:,} models and {n:,} metrics"
        hint = (
            f"if '{grid.columns[columns.metric]}' does not name a metric, add "
            f"{OPTION}--layout wide{END}"
        )
        fixes = {"layout": "wide"}
        raise DataError.new(message, "missing-value", grid.name, hint=hint, fixes=fixes)


def _encode_names(names: Sequence[str | None]) -> tuple[dict[str, int], NDArray[np.intp]]:
    """Return the distinct names with their codes, in order, and the code of each row."""
    codes: dict[str, int] = {}
    row_codes = [codes.setdefault(str(name), len(codes)) for name in names]
    return codes, np.array(row_codes, np.intp)


def _refuse_twice(
    grid: Grid, column: str, models: Sequence[str], metrics: Sequence[str], used: Sequence[Ints]
) -> None:
    """Raise for repeated values, naming the first row with each later one."""
    i, j, record = used
    pairs, first, pair_of_value = np.unique(
        i * len(metrics) + j, return_index=True, return_inverse=True
    )
    if len(pairs) == len(i):
        return
    again = np.flatnonzero(first[pair_of_value] != np.arange(len(i)))
    problems = []
    for r in again[:MAX_PROBLEMS]:
        first_row = grid.rows[record[first[pair_of_value[r]]]]
        message = f"'{metrics[j[r]]}' of model '{models[i[r]]}' is already in row {first_row}"
        problems.append(Problem(message, "duplicate-cell", grid.name, grid.rows[record[r]], column))
    raise DataError(
        problems,
        hint="keep one row per model and metric; use separate tables for slices, classes or runs",
        totals=Counter({"duplicate-cell": len(again)}),
    )
