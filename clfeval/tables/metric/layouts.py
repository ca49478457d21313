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
    column_of_metric: Mapping[str, int],
    layout: MetricLayout,
    name_column: int | None,
    records: Sequence[int] | None = None,
) -> Sheet:
    """Build the sheet of a table with one row per model; records: its records, by default all.

    name_column: the column of the names, None if they are built from parameters.
    """
    records = range(len(grid.rows)) if records is None else records
    places = ValuePlaces(np.array(records)[:, None], np.array([list(column_of_metric.values())]))
    column_roles = {} if name_column is None else {grid.columns[name_column]: "names of models"}
    return Sheet(
        layout, models, tuple(column_of_metric), places, name_column=name_column, roles=column_roles
    )


MOST_CELLS_PER_ROW = 20  # of the sheet, per row of the table; with more it is not a long one
SMALL_SHEET_CELLS = 1_000_000  # cells that are always allowed


def build_sheet(
    grid: Grid, input_options: InputOptions, metric_patterns: Sequence[str], *, transpose: bool
) -> Sheet:
    """Arrange the cells as models x metrics; DataError for a table without such a layout.

    metric_patterns: names or globs of the metrics; none for all.
    """
    if not grid.rows or not grid.columns:
        raise no_rows_error(grid, HEADER_ONLY if grid.delimiter else "the table has no records")
    is_grid_search = any(name.startswith(_MEAN) for name in grid.columns)
    if transpose:
        if is_grid_search or _long_columns(grid, input_options):
            message = "its models are in rows, not in columns"
            raise not_transposed_error(grid.name, message)
        return _transposed(grid, input_options, metric_patterns)
    if input_options.layout == "wide":
        return _wide(grid, input_options, metric_patterns)
    if input_options.layout is None and is_grid_search:
        return _grid_search_sheet(grid, input_options, metric_patterns)
    long_columns = _long_columns(grid, input_options)
    if long_columns is not None:
        return _long(grid, input_options, metric_patterns, long_columns)
    if input_options.layout == "long":
        message = f"not a long table; columns: {list_names(grid.titles)}"
        hint = "a long table needs columns like model, metric, value"
        raise DataError.new(message, "wrong-layout", grid.name, hint=hint, fixes={"layout": None})
    measure_columns = _measure_columns(grid)
    return (
        _of_result(grid, input_options, metric_patterns, measure_columns)
        if measure_columns
        else _wide(grid, input_options, metric_patterns)
    )


def _columns(grid: Grid, name_column: int) -> dict[str, int]:
    """Return the columns except that of the names and the row index of a data frame."""
    return {
        name: i
        for i, name in enumerate(grid.columns)
        if i != name_column and not (is_index_name(name) and not grid.numbers(i).texts)
    }


def _wide(grid: Grid, input_options: InputOptions, metric_patterns: Sequence[str]) -> Sheet:
    """Read a wide table: one row per model, one column per metric."""
    name_index = name_or_text_column(grid, input_options)
    if name_index is None or (
        input_options.id is None and grid.columns[name_index].strip() in ColumnNames.METRIC
    ):
        raise no_models_error(grid)
    other_columns = _columns(grid, name_index)
    setting_columns = columns_of_settings([*other_columns])
    measured_columns = {
        name: index
        for name, index in other_columns.items()
        if name not in setting_columns and grid.numbers(index).any_number
    }
    metric_columns = requested_metrics(grid, metric_patterns, measured_columns, other_columns)
    truth_column = find_column(metric_columns, ColumnNames.TRUTH)
    has_ids = grid.columns[name_index].strip().casefold() in ColumnNames.ID
    if truth_column is None and has_ids:  # then truth may have labels
        truth_column = find_column(other_columns, ColumnNames.TRUTH)
    if truth_column and not metric_patterns and input_options.layout is None:
        message = f"column '{truth_column}' suggests a table of predictions"
        hint = (
            f"add {OPTION}--from predictions{END}; if the column is a metric, add "
            f"{OPTION}--layout wide{END}"
        )
        raise DataError.new(message, "which-layout", grid.name, hint=hint, fixes=PREDICTIONS)
    ignored = [
        name or "(no name)"
        for name in other_columns
        if name not in measured_columns and name not in metric_columns
    ]
    return replace(
        sheet_by_rows(grid, grid.texts(name_index), metric_columns, "wide", name_index),
        ignored=ignored,
    )


def _transposed(grid: Grid, input_options: InputOptions, metric_patterns: Sequence[str]) -> Sheet:
    """Read a transposed table: one row per metric, one column per model."""
    name_column = name_or_text_column(grid, input_options, ColumnNames.METRIC)
    if name_column is None:
        message = f"no column contains metric names; columns: {list_names(grid.titles)}"
        raise DataError.new(
            message, "no-metrics", grid.name, hint=f"name it with {OPTION}--id COLUMN{END}"
        )
    columns = _columns(grid, name_column)
    numbers_by_name = {name: grid.numbers(index) for name, index in columns.items()}
    models = [
        name for name, cells in numbers_by_name.items() if cells.any_number or not cells.texts
    ]
    if not models:
        raise no_metrics_error(grid)
    names = grid.texts(name_column)
    if problems := name_problems(grid, grid.rows, names, name_column, "duplicate-column"):
        raise DataError(problems, hint="give every metric a unique name")
    status = np.array([numbers_by_name[name].status for name in models])
    has_number = np.any(is_numeric(status), axis=0)
    row_of_metric = {str(name): row for row, name in enumerate(names)}
    measured = {name: row for name, row in row_of_metric.items() if has_number[row]}
    sheet_metrics = requested_metrics(grid, metric_patterns, measured, row_of_metric)
    model_names = set(models)
    ignored = [name or "(no name)" for name in columns if name not in model_names]
    ignored += [
        name for name in row_of_metric if name not in measured and name not in sheet_metrics
    ]
    model_columns = np.array([columns[name] for name in models])[:, None]
    return Sheet(
        "wide",
        models,
        tuple(sheet_metrics),
        ValuePlaces(np.array([list(sheet_metrics.values())]), model_columns),
        turned=True,
        roles={grid.columns[name_column]: "names of metrics", **dict.fromkeys(models, "model")},
        ignored=ignored,
    )


_MEAN, _PARAM = "mean_test_", "param_"
_SPLIT = re.compile(r"split(\d+)_test_(.*)", re.DOTALL)


def _grid_search_sheet(
    grid: Grid, input_options: InputOptions, metric_patterns: Sequence[str]
) -> Sheet:
    """Read a grid search: one row per candidate; metrics are the names after mean_test_."""
    index_of_column = grid.place
    mean_columns = {
        name.removeprefix(_MEAN): index
        for name, index in index_of_column.items()
        if name.startswith(_MEAN)
    }
    metric_columns = requested_metrics(grid, metric_patterns, mean_columns, index_of_column)
    name_index = name_column(grid, input_options, default_names=())
    names = _candidate_names(grid) if name_index is None else grid.texts(name_index)
    model_column = grid.find(ColumnNames.MODEL) if name_index is None else None
    if model_column is not None:  # searches of several models, concatenated
        model_names = grid.texts(model_column)
        names = [
            f"{model} {name}" if model and name else model or name
            for model, name in zip(model_names, names, strict=True)
        ]
    split_columns = {
        f"split{split_number}": [
            index_of_column.get(f"split{split_number}_test_{metric}", -1)
            for metric in metric_columns
        ]
        for split_number in _split_numbers(index_of_column, metric_columns)
    }
    return replace(
        sheet_by_rows(grid, names, metric_columns, "cv", name_index),
        sds=[index_of_column.get(f"std_test_{metric}", -1) for metric in metric_columns],
        # none unless every metric has all splits
        splits={}
        if any(-1 in columns_of_split for columns_of_split in split_columns.values())
        else split_columns,
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
    index_of_column = grid.place
    parameters = {name: i for name, i in index_of_column.items() if name.startswith(_PARAM)}
    texts_of_parameter = {
        name.removeprefix(_PARAM): grid.texts(i) for name, i in parameters.items()
    }
    texts_of_parameter = {
        name: values for name, values in texts_of_parameter.items() if len(set(values)) > 1
    } or texts_of_parameter
    title_of_parameter = {name: name.rpartition("__")[2] for name in texts_of_parameter}
    if len(set(title_of_parameter.values())) < len(title_of_parameter):
        title_of_parameter = {name: name for name in texts_of_parameter}
    params_cells = (
        grid.cells[index_of_column["params"]]
        if "params" in index_of_column
        else [None] * len(grid.rows)
    )
    names: list[str | None] = []
    for i, row in enumerate(grid.rows):
        settings = [
            f"{title_of_parameter[name]}={values[i]}"
            for name, values in texts_of_parameter.items()
            if values[i] is not None or f"'{name}':" in str(params_cells[i])
        ]
        names.append(", ".join(settings) or name_text(params_cells[i]) or f"row {row}")
    return names


def _measure_columns(grid: Grid) -> dict[str, int]:
    """Return the columns of measures: estimates in JSON, four columns each in CSV."""
    return {
        name: index
        for index, name in enumerate(grid.columns)
        if all(name + suffix in grid.columns for suffix in ("_low", "_high", "_reason"))
        or is_estimate(next((cell for cell in grid.cells[index] if cell is not None), None))
    }


def _of_result(
    grid: Grid,
    input_options: InputOptions,
    metric_patterns: Sequence[str],
    measured_columns: dict[str, int],
) -> Sheet:
    """Read a clfeval result: one row per model and target population, without slices."""
    index_of_column = grid.place
    name_column = name_or_text_column(grid, input_options)
    if name_column is None:
        raise no_models_error(grid)
    metric_columns = requested_metrics(grid, metric_patterns, measured_columns, index_of_column)
    rows, notes = _rows_of_whole_table(grid)
    names = grid.texts(name_column)
    # several target populations distinguish the rows of one model
    are_targets = rows and rows[0].get("population") == "target"
    if are_targets and len({row.get("odds") for row in rows}) > 1:
        for row in rows:
            record = row["record"]
            if names[record]:
                names[record] = f"{names[record]} at {row['odds']}"
    records = [row["record"] for row in rows]
    reasons = {
        index: index_of_column[f"{name}_reason"]
        for name, index in index_of_column.items()
        if f"{name}_reason" in index_of_column
    }
    models = [names[record] for record in records]
    sheet = sheet_by_rows(grid, models, metric_columns, "result", name_column, records)
    return replace(sheet, reasons=reasons, notes=notes)


def _rows_of_whole_table(grid: Grid) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of a result that belong to no slice, of one kind of population, and notes."""
    keys = [name for name in ("slice", "population", "odds") if name in grid.place]
    record_and_texts = [range(len(grid.rows)), *(grid.texts(grid.place[name]) for name in keys)]
    rows: list[dict[str, Any]] = [
        dict(zip(("record", *keys), row, strict=True))
        for row in zip(*record_and_texts, strict=True)
    ]
    unsliced_rows = [row for row in rows if row.get("slice") is None]
    if not unsliced_rows:
        raise no_rows_error(grid, "every row belongs to a slice; choose rows of the whole table")
    notes = rows_left_out(len(rows) - len(unsliced_rows), "of slices")
    rows = list(whole_table_rows(unsliced_rows))
    population = rows[0].get("population") if rows else None
    populations = dict.fromkeys(row.get("population") for row in unsliced_rows)
    if other_populations := [str(name) for name in populations if name not in (population, None)]:
        notes.append(f"population '{population}' is used, {list_names(other_populations)} left out")
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


def _long_columns(grid: Grid, input_options: InputOptions) -> LongColumns | None:
    """Recognise a long table by its header; None if it is not one."""
    metric = grid.find(ColumnNames.METRIC)
    value = grid.find(ColumnNames.METRIC_VALUE, but=metric)
    if metric is None or value is None:
        return None
    estimator = grid.find(ColumnNames.ESTIMATOR)
    reason = grid.find((f"{grid.columns[value]}_reason", "reason"))
    slice_columns = (grid.find((name,)) for name in ColumnNames.SLICE)
    part_columns = tuple(index for index in slice_columns if index is not None)
    used_columns = {metric, value, estimator, reason, *part_columns}
    model = name_column(grid, input_options)
    if model is None:
        unused = (index for index in range(len(grid.columns)) if index not in used_columns)
        model = next((index for index in unused if grid.numbers(index).mostly_text), None)
    if model is None or model in used_columns:
        return None
    return LongColumns(model, metric, value, estimator, reason, part_columns)


def _long(
    grid: Grid,
    input_options: InputOptions,
    metric_patterns: Sequence[str],
    long_columns: LongColumns,
) -> Sheet:
    """Read a long table, one value per row; models and metrics in order of appearance."""
    part_texts = [grid.texts(index) for index in long_columns.parts]
    records = [
        record
        for record in range(len(grid.rows))
        if all(texts[record] is None for texts in part_texts)
    ]
    if not records:
        raise no_rows_error(
            grid, "every row belongs to a slice or a class; drop that column or choose rows"
        )
    notes = rows_left_out(len(grid.rows) - len(records), "of slices or classes")
    models = grid.texts(long_columns.model)
    metrics = grid.texts(long_columns.metric)
    if unnamed_records := [
        record for record in records if models[record] is None or metrics[record] is None
    ]:
        if input_options.missing == "error" or len(unnamed_records) == len(records):
            problems = [
                Problem(
                    "missing", "missing-value", grid.name, grid.rows[record], grid.columns[column]
                )
                for record in unnamed_records
                for column, names in ((long_columns.model, models), (long_columns.metric, metrics))
                if names[record] is None
            ]
            raise DataError(
                problems[:MAX_PROBLEMS],
                hint="give every row a model and a metric, or leave such rows out with "
                f"{OPTION}--missing drop{END}",
                totals=Counter(problem.code for problem in problems),
                fixes={"missing": "drop"} if len(unnamed_records) < len(grid.rows) else {},
            )
        removed_records = set(unnamed_records)
        records = [record for record in records if record not in removed_records]
        notes += rows_left_out(len(unnamed_records), "without a model or a metric")
    metric_names = [metrics[record] for record in records]
    if long_columns.estimator is not None:
        estimators = grid.texts(long_columns.estimator)
        pairs = [(metrics[record], estimators[record]) for record in records]
        estimator_counts = Counter(metric for metric, _ in dict.fromkeys(pairs))
        # a metric with several estimators is named by both, as in f1_macro
        metric_names = [
            f"{metric}_{estimator}"
            if estimator is not None and estimator_counts[metric] > 1
            else metric
            for metric, estimator in pairs
        ]
    record_models = [models[record] for record in records]
    sheet = _sheet_of_cells(
        grid, metric_patterns, long_columns, np.array(records), record_models, metric_names
    )
    return replace(sheet, notes=notes)


def _sheet_of_cells(
    grid: Grid,
    metric_patterns: Sequence[str],
    columns: LongColumns,
    rows: NDArray[np.intp],
    models: Sequence[str | None],
    metrics: Sequence[str | None],
) -> Sheet:
    """Return the sheet of some rows of a long table, with the model and metric of each."""
    code_of_model, model_codes = _encode_names(models)
    code_of_metric, metric_codes = _encode_names(metrics)
    status = grid.numbers(columns.value, columns.reason).status[rows]
    counts = np.bincount(metric_codes[is_numeric(status)], minlength=len(code_of_metric))
    measured = {name: code for name, code in code_of_metric.items() if counts[code]}
    shown_metrics = requested_metrics(grid, metric_patterns, measured, code_of_metric)
    shape = (len(code_of_model), len(shown_metrics))
    _refuse_mostly_missing(grid, columns, len(rows), shape)
    metric_index_of_code = np.full(len(code_of_metric), -1)  # -1: not shown
    metric_index_of_code[list(shown_metrics.values())] = range(len(shown_metrics))
    metric_indices = metric_index_of_code[metric_codes]
    shown_rows = np.flatnonzero(metric_indices >= 0)
    cells = (model_codes[shown_rows], metric_indices[shown_rows], rows[shown_rows])
    metric_column = grid.columns[columns.metric]
    _refuse_twice(grid, metric_column, list(code_of_model), list(shown_metrics), cells)
    records = np.full(shape, -1)
    records[cells[0], cells[1]] = cells[2]
    return Sheet(
        layout="result" if grid.columns[columns.value] in _measure_columns(grid) else "long",
        models=list(code_of_model),
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
            name for name in code_of_metric if name not in measured and name not in shown_metrics
        ],
    )


def _refuse_mostly_missing(
    grid: Grid, columns: LongColumns, row_count: int, shape: tuple[int, int]
) -> None:
    """Raise DataError for a large table of models and metrics that has few values.

    shape: the numbers of models and metrics.
    """
    model_count, metric_count = shape
    if model_count * metric_count > max(SMALL_SHEET_CELLS, MOST_CELLS_PER_ROW * row_count):
        message = f"most values are missing: {row_count:,} rows for {model_count:,} models "
        message += f"and {metric_count:,} metrics"
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
    grid: Grid, column: str, models: Sequence[str], metrics: Sequence[str], cells: Sequence[Ints]
) -> None:
    """Raise for repeated values, naming the first row with each later one.

    cells: model index, metric index and record of each value.
    """
    model_indices, metric_indices, records = cells
    pairs, first_values, pair_of_value = np.unique(
        model_indices * len(metrics) + metric_indices, return_index=True, return_inverse=True
    )
    if len(pairs) == len(model_indices):
        return
    first_of_value = first_values[pair_of_value]  # the first value of the same model and metric
    repetitions = np.flatnonzero(first_of_value != np.arange(len(model_indices)))
    problems = []
    for i in repetitions[:MAX_PROBLEMS]:
        first_row = grid.rows[records[first_of_value[i]]]
        metric, model = metrics[metric_indices[i]], models[model_indices[i]]
        message = f"'{metric}' of model '{model}' is already in row {first_row}"
        row = grid.rows[records[i]]
        problems.append(Problem(message, "duplicate-cell", grid.name, row, column))
    raise DataError(
        problems,
        hint="keep one row per model and metric; use separate tables for slices, classes or runs",
        totals=Counter({"duplicate-cell": len(repetitions)}),
    )
