"""What the columns of a metric table are: plain, of a grid search, or of a clfeval result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from clfeval.arrays import Floats
from clfeval.errors import HEADER_ONLY, DataError, Problem, listing
from clfeval.result import POPULATIONS
from clfeval.tables.metric.cells import (
    MISSING,
    Cells,
    Grid,
    Numbers,
    flaw_of,
    is_estimate,
    numbers_of,
    numeric,
    silent,
    take,
    text_of,
    texts_of,
    with_reasons,
)
from clfeval.tables.metric.long import long_columns, long_sheet
from clfeval.tables.metric.sheet import (
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


_MEAN, _PARAM = "mean_test_", "param_"
_SPLIT = re.compile(r"split(\d+)_test_(.*)", re.DOTALL)


def is_cv(grid: Grid) -> bool:
    """Tell whether a table has means over test splits."""
    return any(name.startswith(_MEAN) for name in grid.columns)


def cv_sheet(grid: Grid, asked: Asked) -> Sheet:
    """One row per candidate; metrics are the names after mean_test_."""
    place = {name: i for i, name in enumerate(grid.columns)}
    measured = {name.removeprefix(_MEAN): i for name, i in place.items() if name.startswith(_MEAN)}
    columns = chosen(grid, asked, measured, place)
    parsed = {i: numbers_of(grid.cells[i]) for i in columns.values()}
    named = column_of(grid, asked) if asked.id is not None or grid.outer else None
    names = _candidates(grid) if named is None else texts_of(grid.cells[named])
    kinds = find(grid.columns, MODEL_NAMES) if named is None else None
    if kinds is not None:  # searches of several models, one below the other
        models = texts_of(grid.cells[place[kinds]])
        names = [f"{m} {n}" if m and n else m or n for m, n in zip(models, names, strict=True)]
    sheet = by_rows(
        grid, names, range(len(grid.rows)), columns, parsed,
        layout="cv",
        named=named,
    )  # fmt: skip
    splits, by_split = _splits(grid, place, sheet.metrics)
    return replace(sheet, sds=_sds(grid, place, sheet.metrics), splits=splits, by_split=by_split)


def _candidates(grid: Grid) -> list[str | None]:
    """Name candidates by their parameters: `C=1, kernel=rbf`; a parameter not theirs is left out.

    So is one that is the same for all, where others are not, and the step of a pipeline it belongs
    to, where its own name is enough. An empty cell is a parameter that is None when the column
    `params` knows the parameter.
    """
    place = {name: i for i, name in enumerate(grid.columns)}
    texts = {
        name.removeprefix(_PARAM): texts_of(grid.cells[i])
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


def _sds(grid: Grid, place: Mapping[str, int], metrics: Sequence[str]) -> Floats | None:
    found = [place.get(f"std_test_{metric}") for metric in metrics]
    if all(column is None for column in found):
        return None
    empty = np.full(len(grid.rows), np.nan)
    return np.column_stack(
        [empty if i is None else numbers_of(grid.cells[i]).values for i in found]
    )


def _splits(
    grid: Grid, place: Mapping[str, int], metrics: Sequence[str]
) -> tuple[tuple[str, ...], Floats | None]:
    """Return the splits and their values (s, k, n); none unless every metric has them all."""
    found: dict[int, dict[str, int]] = {}
    for name, i in place.items():
        match = _SPLIT.fullmatch(name)
        if match and match[2] in metrics:
            found.setdefault(int(match[1]), {})[match[2]] = i
    if not found or any(len(columns) < len(metrics) for columns in found.values()):
        return (), None
    values = [
        np.column_stack([numbers_of(grid.cells[found[split][metric]]).values for metric in metrics])
        for split in sorted(found)
    ]
    return tuple(f"split{split}" for split in sorted(found)), np.array(values)


_BESIDE = ("_low", "_high", "_reason")


def measured_columns(grid: Grid) -> dict[str, int]:
    """Return the columns of measures: estimates in JSON, four columns each in CSV."""
    place = {name: i for i, name in enumerate(grid.columns)}
    return {
        name: i
        for name, i in place.items()
        if all(name + end in place for end in _BESIDE) or _estimates(grid.cells[i])
    }


def _estimates(cells: Cells) -> bool:
    return is_estimate(next((cell for cell in cells if cell is not None), None))


def result_sheet(grid: Grid, asked: Asked, measured: dict[str, int]) -> Sheet:
    """One row per model and population; rows of slices are left out."""
    place = {name: i for i, name in enumerate(grid.columns)}
    named = column_of(grid, asked)
    if named is None:
        named = first_of_names(grid, {i: numbers_of(cells) for i, cells in enumerate(grid.cells)})
    if named is None:
        raise no_models(grid)
    columns = chosen(grid, asked, measured, place)
    keep, notes = _whole(grid, place)
    if not keep:
        raise no_rows(grid, "every row belongs to a slice")
    names = texts_of(take(grid.cells[named], keep))
    keep, names, said = _of_one_population(grid, place, keep, names)
    reasons = {i: place[f"{name}_reason"] for name, i in place.items() if f"{name}_reason" in place}
    parsed = {i: _parsed(grid, i, keep, reasons.get(i)) for i in columns.values()}
    return by_rows(
        grid, names, keep, columns, parsed,
        layout="result",
        named=named,
        reasons=reasons,
        notes=(*notes, *said),
    )  # fmt: skip


def _parsed(grid: Grid, column: int, keep: Sequence[int], reason: int | None) -> Numbers:
    numbers = numbers_of(take(grid.cells[column], keep))
    return numbers if reason is None else with_reasons(numbers, take(grid.cells[reason], keep))


def _whole(grid: Grid, place: dict[str, int]) -> tuple[list[int], tuple[str, ...]]:
    """Return the records of the whole table, and a word on those of slices."""
    every = list(range(len(grid.rows)))
    if "slice" not in place:
        return every, ()
    slices = texts_of(grid.cells[place["slice"]])
    keep = [i for i in every if slices[i] is None]
    left = len(every) - len(keep)
    return keep, (f"{left:,} row{'s' * (left > 1)} of slices left out",) if left else ()


def _of_one_population(
    grid: Grid, place: dict[str, int], keep: list[int], names: list[str | None]
) -> tuple[list[int], list[str | None], tuple[str, ...]]:
    """Keep the target populations, else the sample, else equal classes, as gates do."""
    if "population" not in place:
        return keep, names, ()
    kinds = [text_of(grid.cells[place["population"]][i]) for i in keep]
    kind = next((one for one in POPULATIONS if one in kinds), None)
    kept = [(i, name) for i, name, one in zip(keep, names, kinds, strict=True) if one == kind]
    others = [one for one in dict.fromkeys(kinds) if one not in (kind, None)]
    said = (f"population '{kind}' taken, {listing(map(str, others))} left out",) if others else ()
    if "odds" in place:
        odds = [text_of(grid.cells[place["odds"]][i]) for i, _ in kept]
        if len(set(odds)) > 1 and kind == "target":
            names = [name and f"{name} at {one}" for (_, name), one in zip(kept, odds, strict=True)]
            return [i for i, _ in kept], names, said
    return [i for i, _ in kept], [name for _, name in kept], said
