"""Sheets: a metric table sorted into models x metrics, and the refusals on the way there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Floats, Ints
from clfeval.errors import DataError, Problem, listing, unknown_column
from clfeval.tables.csv import one_column_hint
from clfeval.tables.metric.cells import MISSING, Cells, Flaw, Grid, Numbers, flaw_of, texts_of
from clfeval.tables.names import MODEL_NAMES, TRUTH_NAMES, find, is_index, match_names

Layout = Literal["wide", "long", "cv", "result"]
FROM_PREDICTIONS = "it looks like predictions: add --from predictions"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller said about a metric table."""

    wanted: tuple[str, ...] = ()
    id: str | None = None
    transpose: bool = False
    layout: Literal["wide", "long"] | None = None
    missing: Literal["error", "drop"] = "error"


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where each value stands in the file; a row of 0 is no row."""

    rows: Ints  # (k, n), or anything that broadcasts to it
    columns: tuple[str, ...]  # one for each metric, or for each model with `by_model`
    by_model: bool = False

    def of(self, i: int, j: int) -> tuple[int | None, str | None]:
        """Return row and column of the value of model i and metric j."""
        rows = self.rows
        row = int(rows[min(i, rows.shape[0] - 1), min(j, rows.shape[1] - 1)])
        return (row, self.columns[i if self.by_model else j]) if row else (None, None)

    def kept(self, models: NDArray[np.intp]) -> Places:
        """Return the places of some models."""
        rows = self.rows if self.rows.shape[0] == 1 else self.rows[models]
        columns = tuple(self.columns[i] for i in models) if self.by_model else self.columns
        return replace(self, rows=rows, columns=columns)


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Models x metrics before the checks; a value is NaN where `flaws` or a gap stands."""

    layout: Layout
    models: list[str | None]
    metrics: tuple[str, ...]
    values: Floats
    flaws: Mapping[tuple[int, int], Flaw]
    places: Places
    rows: Sequence[int] | None  # of the models
    model_column: str | None
    named_by: str  # said on stderr
    sds: Floats | None = None
    splits: tuple[str, ...] = ()
    by_split: Floats | None = None
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def by_rows(
    grid: Grid,
    names: Sequence[str | None],
    keep: Sequence[int],
    columns: Mapping[str, int],
    parsed: Mapping[int, Numbers],
    *,
    layout: Layout,
    named: int | None,
    reasons: Mapping[int, int] | None = None,
    ignored: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Sheet:
    """Build the sheet of a table with one row per model: `keep` are its records.

    `named` is the column of the names, None where they are made of parameters; `columns` maps
    metrics to columns; `parsed` holds the numbers of the records kept, and `reasons` says which
    column tells why a column's cells are empty.
    """
    rows = np.array([grid.rows[i] for i in keep], np.int64)
    flaws = {}
    for j, column in enumerate(columns.values()):
        why = (reasons or {}).get(column)
        for i in np.flatnonzero(parsed[column].status > MISSING).tolist():
            reason = None if why is None else grid.cells[why][keep[i]]
            cell = grid.cells[column][keep[i]]
            flaws[i, j] = flaw_of(cell, int(parsed[column].status[i]), reason)
    return Sheet(
        layout=layout,
        models=list(names),
        metrics=tuple(columns),
        values=np.column_stack([parsed[column].values for column in columns.values()]),
        flaws=flaws,
        places=Places(rows[:, None], tuple(grid.columns[i] for i in columns.values())),
        rows=[int(row) for row in rows],
        model_column=None if named is None else grid.columns[named],
        named_by=named_by(grid, named),
        ignored=ignored,
        notes=notes,
    )


def chosen(
    grid: Grid, asked: Asked, measured: Mapping[str, int], others: Mapping[str, int]
) -> dict[str, int]:
    """Return the metrics asked for, all that are measured by default; others by exact name."""
    exact = {name: others[name] for name in asked.wanted if name in others}
    pool = {**measured, **exact}
    if not pool:
        raise no_metrics(grid)
    if not asked.wanted:
        return dict(pool)
    names = match_names(grid.name, list(pool), asked.wanted, what="metric")
    return {name: pool[name] for name in names}


def column_of(grid: Grid, asked: Asked, names: Sequence[str] = MODEL_NAMES) -> int | None:
    """Return the column that --id or its name says holds the names; None if neither does."""
    if asked.id is not None:
        if asked.id not in grid.columns:
            raise unknown_column(grid.name, asked.id, grid.titles())
        return grid.columns.index(asked.id)
    if grid.outer:
        return 0
    found = find(grid.columns, names)
    return None if found is None else grid.columns.index(found)


def first_of_names(grid: Grid, parsed: Mapping[int, Numbers]) -> int | None:
    """Return the first column of text, that of a nameless row index before all others."""
    order = sorted(range(len(grid.columns)), key=lambda i: not is_index(grid.columns[i]))
    return next((i for i in order if parsed[i].mostly_text and not _flags(grid.cells[i])), None)


def _flags(cells: Cells) -> bool:
    return all(str(name).casefold() in ("true", "false") for name in texts_of(cells) if name)


def named_by(grid: Grid, column: int | None) -> str:
    """Say where the models' names stand."""
    if column is None:
        return "models by their parameters"
    if grid.outer and column == 0:
        return "models by the outer names"
    name = grid.columns[column]
    return f"models in '{name}'" if name else "models in the column without a name"


def truth_among(names: Sequence[str]) -> str | None:
    """Return the column that only a table of predictions would have."""
    return find(names, TRUTH_NAMES)


def no_models(grid: Grid) -> DataError:
    """Build the error for a table without a column of names."""
    what = f"no column names the models; columns: {listing(grid.titles())}"
    hint = "name it with --id COLUMN; a table whose columns are models needs --transpose"
    if grid.sha256 is None:
        hint += "; names in the index become a column with reset_index()"
    return DataError(Problem(what, "no-models", grid.name), hint=_better(grid) or hint)


def no_metrics(grid: Grid) -> DataError:
    """Build the error for a table without numbers."""
    what = f"no column holds numbers; columns: {listing(grid.titles())}"
    hint = "each metric is a column of numbers; a table whose rows are metrics needs --transpose"
    return DataError(Problem(what, "no-metrics", grid.name), hint=_better(grid) or hint)


def no_rows(grid: Grid, why: str) -> DataError:
    """Build the error for a table without models."""
    return DataError(Problem("no rows to evaluate", "empty-table", grid.name), hint=why)


def _better(grid: Grid) -> str | None:
    """Return a hint for a file of one column, or of predictions."""
    if grid.delimiter is not None and (hint := one_column_hint(grid.columns, grid.delimiter)):
        return hint
    return FROM_PREDICTIONS if truth_among(grid.columns) else None


def with_models(grid: Grid, sheet: Sheet, patterns: Sequence[str]) -> Sheet:
    """Keep the models named exactly or by glob, in the order of the table; all without patterns."""
    if not patterns:
        return sheet
    named = [name for name in sheet.models if name is not None]
    wanted = set(match_names(grid.name, list(dict.fromkeys(named)), patterns))
    return kept(sheet, np.array([i for i, name in enumerate(sheet.models) if name in wanted]))


def kept(sheet: Sheet, models: NDArray[np.intp]) -> Sheet:
    """Return the sheet of some models, given by their numbers in order."""
    place = {int(old): new for new, old in enumerate(models)}
    return replace(
        sheet,
        models=[sheet.models[i] for i in models],
        values=sheet.values[models],
        flaws={(place[i], j): flaw for (i, j), flaw in sheet.flaws.items() if i in place},
        places=sheet.places.kept(models),
        rows=None if sheet.rows is None else [sheet.rows[i] for i in models],
        sds=None if sheet.sds is None else sheet.sds[models],
        by_split=None if sheet.by_split is None else sheet.by_split[:, models],
    )


def with_whole_splits(sheet: Sheet) -> Sheet:
    """Leave the splits out when they lack a value, and say so."""
    if sheet.by_split is None or np.isfinite(sheet.by_split).all():
        return sheet
    notes = (*sheet.notes, "splits left out, for they lack values")
    return replace(sheet, splits=(), by_split=None, notes=notes)
