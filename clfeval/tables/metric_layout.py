"""The layouts of metric tables: recognised from the header, unless the caller names one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.errors import HEADER_ONLY, DataError, Problem, listing
from clfeval.tables.metric_cells import (
    MISSING,
    Grid,
    flaw_of,
    numbers_of,
    numeric,
    silent,
    texts_of,
)
from clfeval.tables.metric_cv import cv_sheet, is_cv
from clfeval.tables.metric_long import long_columns, long_sheet
from clfeval.tables.metric_result import measured_columns, result_sheet
from clfeval.tables.metric_sheet import (
    Asked,
    Places,
    Sheet,
    by_rows,
    chosen,
    column_of,
    first_of_names,
    no_metrics,
    no_models,
    no_rows,
    truth_among,
)
from clfeval.tables.names import ID_NAMES, METRIC_NAMES


def lay_out(grid: Grid, asked: Asked) -> Sheet:
    """Sort the cells into models x metrics; raises DataError for a table that has no such shape."""
    if not grid.rows or not grid.columns:
        raise no_rows(grid, HEADER_ONLY if grid.delimiter else "the table holds no record")
    if asked.transpose:
        return _transposed(grid, asked)
    if asked.layout == "wide":
        return _wide(grid, asked)
    if asked.layout is None and is_cv(grid):
        return cv_sheet(grid, asked)
    long = long_columns(grid, asked)
    if long is not None:
        return long_sheet(grid, asked, long)
    if asked.layout == "long":
        raise DataError(
            Problem(f"no long table: columns {listing(grid.titles())}", "wrong-layout", grid.name),
            hint="that layout needs columns like model, metric, value",
        )
    measured = measured_columns(grid)
    return result_sheet(grid, asked, measured) if measured else _wide(grid, asked)


def _wide(grid: Grid, asked: Asked) -> Sheet:
    """One row per model, one column per metric."""
    by_name = column_of(grid, asked)
    # names are not looked at as numbers, where they are known to be names
    parsed = {i: numbers_of(cells) for i, cells in enumerate(grid.cells) if i != by_name}
    named = first_of_names(grid, parsed) if by_name is None else by_name
    if named is None or (by_name is None and grid.columns[named].strip() in METRIC_NAMES):
        raise no_models(grid)
    rest = {name: i for i, name in enumerate(grid.columns) if i != named}
    rest = {name: i for name, i in rest.items() if not silent(grid, i, parsed[i])}
    measured = {name: i for name, i in rest.items() if parsed[i].any_number}
    columns = chosen(grid, asked, measured, rest)
    truth = truth_among(list(columns))
    if truth is None and grid.columns[named].strip().casefold() in ID_NAMES:  # labels, and ids
        truth = truth_among(list(rest))
    if truth and not asked.wanted and asked.layout is None:
        raise DataError(
            Problem(f"column '{truth}' makes it a table of predictions", "which-layout", grid.name),
            hint="add --from predictions; if the column is a metric, add --layout wide",
        )
    taken = {*measured.values(), *columns.values()}
    ignored = [name for name, i in rest.items() if i not in taken]
    return by_rows(
        grid, texts_of(grid.cells[named]), range(len(grid.rows)), columns, parsed,
        layout="wide",
        named=named,
        ignored=tuple(name or "(no name)" for name in ignored),
    )  # fmt: skip


def _transposed(grid: Grid, asked: Asked) -> Sheet:
    """One row per metric, one column per model."""
    parsed = {i: numbers_of(cells) for i, cells in enumerate(grid.cells)}
    named = column_of(grid, asked, METRIC_NAMES)
    named = first_of_names(grid, parsed) if named is None else named
    if named is None:
        what = f"no column names the metrics; columns: {listing(grid.titles())}"
        raise DataError(Problem(what, "no-metrics", grid.name), hint="name it with --id COLUMN")
    rest = [i for i in range(len(grid.columns)) if i != named]
    rest = [i for i in rest if not silent(grid, i, parsed[i])]
    models = [i for i in rest if parsed[i].any_number or not parsed[i].texts]
    if not models:
        raise no_metrics(grid)
    names = texts_of(grid.cells[named])
    _check_metrics(grid, names, named)
    status = np.array([parsed[i].status for i in models])
    some = np.array(numeric(status).any(axis=0))
    every = {str(name): row for row, name in enumerate(names)}
    measured = {name: row for name, row in every.items() if some[row]}
    rows = list(chosen(grid, asked, measured, every).values())
    flaws = {
        (int(i), j): flaw_of(grid.cells[models[i]][row], int(status[i, row]))
        for j, row in enumerate(rows)
        for i in np.flatnonzero(status[:, row] > MISSING)
    }
    taken, used = set(models), set(rows)
    left = [grid.columns[i] or "(no name)" for i in rest if i not in taken]
    left += [name for name, row in every.items() if not some[row] and row not in used]
    return Sheet(
        layout="wide",
        models=[grid.columns[i] for i in models],
        metrics=tuple(str(names[row]) for row in rows),
        values=np.array([parsed[i].values[rows] for i in models]),
        flaws=flaws,
        places=Places(
            np.array([[grid.rows[row] for row in rows]]),
            tuple(grid.columns[i] for i in models),
            by_model=True,
        ),
        rows=None,
        model_column=None,
        named_by="models are columns",
        ignored=tuple(left),
    )


def _check_metrics(grid: Grid, names: Sequence[str | None], column: int) -> None:
    """Refuse metrics without a name and those named twice."""
    first: dict[str, int] = {}
    problems = []
    for row, name in zip(grid.rows, names, strict=True):
        place = (grid.name, row, grid.columns[column] or None)
        if name is None:
            problems.append(Problem("missing", "missing-value", *place))
        elif first.setdefault(name, row) < row:
            what = f"'{name}' stands in row {first[name]} already"
            problems.append(Problem(what, "duplicate-column", *place))
    if problems:
        raise DataError(problems, hint="give every metric a name of its own")
