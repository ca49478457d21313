"""What the columns of a metric table are: plain, of a grid search, or of a clfeval result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clfeval.errors import HEADER_ONLY, DataError, Problem, listing
from clfeval.result import whole
from clfeval.tables.metric.grid import Grid, Places, is_estimate, numeric, text_of
from clfeval.tables.metric.long import long_columns, long_sheet
from clfeval.tables.metric.sheet import (
    Asked,
    Sheet,
    by_rows,
    chosen,
    column_of,
    first_of_names,
    name_problems,
    no_metrics,
    no_models,
    no_rows,
    truth_among,
)
from clfeval.tables.names import ID_NAMES, METRIC_NAMES, MODEL_NAMES, find


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
            Problem(f"no long table: columns {listing(grid.titles)}", "wrong-layout", grid.name),
            hint="that layout needs columns like model, metric, value",
        )
    measured = measured_columns(grid)
    return result_sheet(grid, asked, measured) if measured else _wide(grid, asked)


def _wide(grid: Grid, asked: Asked) -> Sheet:
    """One row per model, one column per metric."""
    by_name = column_of(grid, asked)
    named = first_of_names(grid) if by_name is None else by_name
    if named is None or (by_name is None and grid.columns[named].strip() in METRIC_NAMES):
        raise no_models(grid)
    rest = {name: i for name, i in grid.place.items() if i != named and not grid.silent(i)}
    measured = {name: i for name, i in rest.items() if grid.numbers(i).any_number}
    columns = chosen(grid, asked, measured, rest)
    truth = truth_among(list(columns))
    if truth is None and grid.columns[named].strip().casefold() in ID_NAMES:  # labels, and ids
        truth = truth_among(list(rest))
    if truth and not asked.wanted and asked.layout is None:
        raise DataError(
            Problem(f"column '{truth}' makes it a table of predictions", "which-layout", grid.name),
            hint="add --from predictions; if the column is a metric, add --layout wide",
        )
    taken = {**measured, **columns}
    ignored = [name or "(no name)" for name in rest if name not in taken]
    return replace(by_rows(grid, grid.texts(named), columns, "wide", named), ignored=ignored)


def _transposed(grid: Grid, asked: Asked) -> Sheet:
    """One row per metric, one column per model."""
    named = column_of(grid, asked, METRIC_NAMES)
    named = first_of_names(grid) if named is None else named
    if named is None:
        what = f"no column names the metrics; columns: {listing(grid.titles)}"
        raise DataError.of(what, "no-metrics", grid.name, hint="name it with --id COLUMN")
    rest = {name: i for name, i in grid.place.items() if i != named and not grid.silent(i)}
    parsed = {name: grid.numbers(i) for name, i in rest.items()}
    models = [name for name, found in parsed.items() if found.any_number or not found.texts]
    if not models:
        raise no_metrics(grid)
    names = grid.texts(named)
    problems = name_problems(grid, grid.rows, names, named, "duplicate-column")
    if problems:
        raise DataError(problems, hint="give every metric a name of its own")
    some = np.any(numeric(np.array([parsed[name].status for name in models])), axis=0)
    every = {str(name): row for row, name in enumerate(names)}
    measured = {name: row for name, row in every.items() if some[row]}
    rows = chosen(grid, asked, measured, every)
    taken = {**measured, **rows}
    used = set(models)
    ignored = [name or "(no name)" for name in rest if name not in used]
    return Sheet(
        "wide", models, tuple(rows),
        Places(np.array([list(rows.values())]), np.array([rest[name] for name in models])[:, None]),
        rows=None,
        ignored=[*ignored, *(name for name in every if name not in taken)],
    )  # fmt: skip


_MEAN, _PARAM = "mean_test_", "param_"
_SPLIT = re.compile(r"split(\d+)_test_(.*)", re.DOTALL)


def is_cv(grid: Grid) -> bool:
    """Tell whether a table has means over test splits."""
    return any(name.startswith(_MEAN) for name in grid.columns)


def cv_sheet(grid: Grid, asked: Asked) -> Sheet:
    """One row per candidate; metrics are the names after mean_test_."""
    place = grid.place
    measured = {name.removeprefix(_MEAN): i for name, i in place.items() if name.startswith(_MEAN)}
    columns = chosen(grid, asked, measured, place)
    named = column_of(grid, asked) if asked.id is not None or grid.outer else None
    names = _candidates(grid) if named is None else grid.texts(named)
    kinds = find(grid.columns, MODEL_NAMES) if named is None else None
    if kinds is not None:  # searches of several models, one below the other
        models = grid.texts(place[kinds])
        names = [f"{m} {n}" if m and n else m or n for m, n in zip(models, names, strict=True)]
    return replace(
        by_rows(grid, names, columns, "cv", named),
        sds=[place.get(f"std_test_{metric}", -1) for metric in columns],
        splits=_splits(place, list(columns)),
    )


def _candidates(grid: Grid) -> list[str | None]:
    """Name candidates by their parameters: `C=1, kernel=rbf`; a parameter not theirs is left out.

    So is one that is the same for all, where others are not, and the step of a pipeline it belongs
    to, where its own name is enough. An empty cell is a parameter that is None when the column
    `params` knows the parameter.
    """
    place = grid.place
    texts = {
        name.removeprefix(_PARAM): grid.texts(i)
        for name, i in place.items()
        if name.startswith(_PARAM)
    }
    varying = {name: column for name, column in texts.items() if len(set(column)) > 1}
    texts = varying or texts
    short = {name: name.rpartition("__")[2] for name in texts}
    if len(set(short.values())) < len(short):
        short = {name: name for name in texts}
    params = grid.cells[place["params"]] if "params" in place else [None] * len(grid.rows)
    names: list[str | None] = []
    for i, row in enumerate(grid.rows):
        parts = [
            f"{short[name]}={column[i]}"
            for name, column in texts.items()
            if column[i] is not None or _knows(params[i], name)
        ]
        names.append(", ".join(parts) or text_of(params[i]) or f"row {row}")
    return names


def _knows(params: object, name: str) -> bool:
    """Tell whether a candidate's parameters, a mapping or its text, have this one."""
    if isinstance(params, Mapping):
        return name in params
    return isinstance(params, str) and f"'{name}':" in params


def _splits(place: Mapping[str, int], metrics: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns of each split; none unless every metric has them all."""
    found: dict[int, dict[str, int]] = {}
    for name, i in place.items():
        match = _SPLIT.fullmatch(name)
        if match and match[2] in metrics:
            found.setdefault(int(match[1]), {})[match[2]] = i
    if any(len(columns) < len(metrics) for columns in found.values()):
        return {}
    return {f"split{one}": [found[one][metric] for metric in metrics] for one in sorted(found)}


_BESIDE = ("_low", "_high", "_reason")
_PARTS = ("slice", "population", "odds")


def measured_columns(grid: Grid) -> dict[str, int]:
    """Return the columns of measures: estimates in JSON, four columns each in CSV."""
    place = grid.place
    return {
        name: i
        for name, i in place.items()
        if all(name + end in place for end in _BESIDE)
        or is_estimate(next((cell for cell in grid.cells[i] if cell is not None), None))
    }


def result_sheet(grid: Grid, asked: Asked, measured: dict[str, int]) -> Sheet:
    """One row per model, and per target population; what speaks for no model is left out."""
    place = grid.place
    named = column_of(grid, asked)
    named = first_of_names(grid) if named is None else named
    if named is None:
        raise no_models(grid)
    columns = chosen(grid, asked, measured, place)
    texts = {name: grid.texts(place[name]) for name in _PARTS if name in place}
    rows: list[dict[str, Any]] = [
        {"record": i, **{name: text[i] for name, text in texts.items()}}
        for i in range(len(grid.rows))
    ]
    free = [row for row in rows if row.get("slice") is None]
    if not free:
        raise no_rows(grid, "every row belongs to a slice")
    left = len(rows) - len(free)
    notes = [f"{left:,} row{'s' * (left > 1)} of slices left out"] if left else []
    rows = list(whole(free))
    kind = rows[0].get("population") if rows else None
    known = dict.fromkeys(row.get("population") for row in free)
    if others := [str(one) for one in known if one not in (kind, None)]:
        notes.append(f"population '{kind}' taken, {listing(others)} left out")
    keep = [row["record"] for row in rows]
    names = grid.texts(named)
    # several target populations tell the rows of one model apart
    if kind == "target" and len({row.get("odds") for row in rows}) > 1:
        for row in rows:
            i = row["record"]
            names[i] = names[i] and f"{names[i]} at {row['odds']}"
    reasons = {i: place[f"{name}_reason"] for name, i in place.items() if f"{name}_reason" in place}
    sheet = by_rows(grid, [names[i] for i in keep], columns, "result", named, keep)
    return replace(sheet, reasons=reasons, notes=notes)
