"""Sheets: a metric table arranged as models x metrics, and errors of tables that are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import DataError, Problem, list_names, quote_word, unknown_column_error
from clfeval.records import dataclass, field, replace
from clfeval.tables.input import ColumnNames, Input, find_column, is_index_name, match_names
from clfeval.tables.metric.grid import Grid, ValuePlaces

MetricLayout = Literal["wide", "long", "cv", "result"]
FROM_PREDICTIONS = "for a table of predictions add --from predictions"
PREDICTIONS = {"source": "predictions"}
_NUMBERS = {*ColumnNames.ROW, "index", "trial", "run", "seed", "fold", "epoch", "step", "candidate"}


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Models x metrics, with the place of each value in the grid."""

    layout: MetricLayout
    models: Sequence[str | None]
    metrics: Sequence[str]
    places: ValuePlaces
    turned: bool = False  # columns are models, rows metrics
    named: int | None = None  # the column of the models' names
    reasons: Mapping[int, int] = field(default_factory=dict)  # columns that explain empty cells
    sds: Sequence[int] = ()  # columns, one for each metric, below 0 for none
    splits: Mapping[str, Sequence[int]] = field(default_factory=dict)  # likewise
    roles: Mapping[str, str] = field(default_factory=dict)  # of columns that are not metrics
    ignored: Sequence[str] = ()
    notes: Sequence[str] = ()

    def same_records(self, columns: Sequence[int]) -> ValuePlaces:
        """Return the places of other columns in the same records."""
        return replace(self.places, columns=np.array([columns]))


def sheet_by_rows(
    grid: Grid,
    models: Sequence[str | None],
    columns: Mapping[str, int],
    layout: MetricLayout,
    named: int | None,
    keep: Sequence[int] | None = None,
) -> Sheet:
    """Build the sheet of a table with one row per model; keep: its records, by default all.

    `named` is the column of the names, None if they are built from parameters; `columns` maps
    metrics to columns.
    """
    keep = range(len(grid.rows)) if keep is None else keep
    places = ValuePlaces(np.array(keep)[:, None], np.array([list(columns.values())]))
    roles = {} if named is None else {grid.columns[named]: "names of models"}
    return Sheet(layout, models, tuple(columns), places, named=named, roles=roles)


def requested_metrics(
    grid: Grid, wanted: Sequence[str], measured: Mapping[str, int], others: Mapping[str, int]
) -> dict[str, int]:
    """Return the requested metrics, by default all with numbers; those without by exact name."""
    pool = {**measured, **{name: others[name] for name in wanted if name in others}}
    if not pool:
        raise no_metrics_error(grid)
    if not wanted:
        return pool
    names = match_names(grid.name, list(pool), wanted, what="metric")
    return {name: pool[name] for name in names}


def name_column(grid: Grid, said: Input, names: Sequence[str] = ColumnNames.MODEL) -> int | None:
    """Return the column of names, given by --id or recognised by its name; else None."""
    if said.id is not None:
        if said.id not in grid.columns:
            raise unknown_column_error(grid.name, said.id, grid.titles)
        return grid.columns.index(said.id)
    return 0 if grid.outer else grid.find(names)


def name_or_text_column(
    grid: Grid, said: Input, names: Sequence[str] = ColumnNames.MODEL
) -> int | None:
    """Return the column of names, else the first column of text, an unnamed row index first."""
    found = name_column(grid, said, names)
    if found is None:
        for i in sorted(range(len(grid.columns)), key=lambda i: not is_index_name(grid.columns[i])):
            words = {str(name).casefold() for name in grid.texts(i) if name}
            if grid.numbers(i).mostly_text and not words <= {"true", "false"}:
                return i
    return found


def rows_left_out(count: int, which: str) -> list[str]:
    """Return the note on the number of rows left out, none if it is 0."""
    return [f"{count:,} row{'s' * (count > 1)} {which} left out"] if count else []


def name_problems(
    grid: Grid, rows: Sequence[int], names: Sequence[str | None], column: int | None, again: str
) -> list[Problem]:
    """Return problems for missing names and for repeated ones; again: the code of the latter."""
    first: dict[str, int] = {}
    problems = []
    for row, name in zip(rows, names, strict=True):
        place = (grid.name, row, None if column is None else grid.columns[column] or None)
        if name is None:
            problems.append(Problem("missing", "missing-value", *place))
        elif first.setdefault(name, row) < row:
            what = f"'{name}' is already in row {first[name]}"
            problems.append(Problem(what, again, *place))
    return problems


def no_models_error(grid: Grid) -> DataError:
    """Build the error for a table without a column of model names."""
    what = f"no column contains model names; columns: {list_names(grid.titles)}"
    hint = "name it with --id COLUMN; a table whose columns are models needs --transpose"
    fixes: dict[str, object] = {}
    if find_column(grid.columns, ColumnNames.METRIC) is not None:
        hint = "add --transpose, as its rows are metrics"
        fixes = {"transpose": True}
    elif (numbered := _row_number_column(grid)) is not None:
        hint = f"to use row numbers add --id {quote_word(numbered)}; {hint.partition('; ')[2]}"
        fixes = {"id": numbered}
    if grid.sha256 is None:
        hint += "; reset_index() turns an index into a column"
    return _table_error(grid, what, "no-models", hint, fixes)


def _row_number_column(grid: Grid) -> str | None:
    """Return the first column with an index-like name, if its values are distinct integers."""
    for i, name in enumerate(grid.columns):
        plain = name.strip().casefold()
        if is_index_name(name) or plain in _NUMBERS or plain.endswith("_id"):
            values = grid.numbers(i).values
            if np.isfinite(values).all() and (values % 1 == 0).all():
                return name if len(np.unique(values)) == len(values) > 1 else None
    return None


def no_metrics_error(grid: Grid) -> DataError:
    """Build the error for a table without numbers."""
    what = f"no column with numbers; columns: {list_names(grid.titles)}"
    hint = "give each metric as a column of numbers; if rows are metrics, add --transpose"
    return _table_error(grid, what, "no-metrics", hint, {})


def _table_error(
    grid: Grid, what: str, code: str, hint: str, fixes: Mapping[str, object]
) -> DataError:
    """Build the error for a table without names or numbers, which may be one of predictions."""
    if find_column(grid.columns, ColumnNames.TRUTH) is not None:
        hint, fixes = FROM_PREDICTIONS, PREDICTIONS
    elif grid.delimiter is not None and len(grid.columns) == 1:
        hint = f"the table has only one column: {list_names(grid.columns)}"
    return DataError.new(what, code, grid.name, hint=hint, fixes=fixes)


def not_transposed_error(name: str, what: str) -> DataError:
    """Build the error for --transpose of a table with models in rows."""
    hint = "leave out --transpose"
    return DataError.new(what, "turned-table", name, hint=hint, fixes={"transpose": False})


def no_rows_error(grid: Grid, why: str) -> DataError:
    """Build the error for a table without models; why: the hint."""
    return DataError.new("no rows to evaluate", "empty-table", grid.name, hint=why)


def select_models(sheet: Sheet, models: NDArray[np.intp]) -> Sheet:
    """Return the sheet with some of its models, given by index."""
    places = sheet.places
    parts = (part if len(part) == 1 else part[models] for part in (places.records, places.columns))
    return replace(sheet, models=[sheet.models[i] for i in models], places=ValuePlaces(*parts))


def select_metrics(sheet: Sheet, metrics: Sequence[int]) -> Sheet:
    """Return the sheet with some of its metrics, given by index."""
    at, both = list(metrics), (sheet.places.records, sheet.places.columns)
    return replace(
        sheet,
        metrics=[sheet.metrics[j] for j in at],
        places=ValuePlaces(*(part if part.shape[1] == 1 else part[:, at] for part in both)),
        sds=[sheet.sds[j] for j in at] if sheet.sds else (),
        splits={name: [columns[j] for j in at] for name, columns in sheet.splits.items()},
    )


def without_columns(grid: Grid, patterns: Sequence[str]) -> tuple[Grid, list[str]]:
    """Return the grid without columns that match names or globs, and the names of those."""
    gone = _match_patterns(grid.columns, patterns)
    if not gone:
        return grid, []
    keep = [i for i, name in enumerate(grid.columns) if name not in gone]
    columns, cells = tuple(grid.columns[i] for i in keep), tuple(grid.cells[i] for i in keep)
    return replace(grid, columns=columns, cells=cells, outer=grid.outer and 0 in keep), gone


def without_metrics(
    grid: Grid, sheet: Sheet, patterns: Sequence[str], columns: Sequence[str]
) -> tuple[Sheet, list[str]]:
    """Return the sheet without metrics that match patterns, and those; UsageError if none does."""
    gone = _match_patterns(sheet.metrics, patterns)
    for pattern in patterns:
        if not _match_patterns([*columns, *gone], [pattern]):
            match_names(grid.name, [*grid.titles, *sheet.metrics], [pattern], what="column")
    keep = [j for j, name in enumerate(sheet.metrics) if name not in gone]
    if not keep:
        raise no_metrics_error(grid)
    return (select_metrics(sheet, keep) if gone else sheet), gone


def _match_patterns(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names, in their order, that match exact names or globs."""
    known = {*names}
    found = {*patterns} & known
    for pattern in {*patterns} - known:
        found.update(name for name in names if fnmatchcase(name, pattern))
    return [name for name in names if name in found]
