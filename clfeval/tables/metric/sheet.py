"""Sheets: a metric table sorted into models x metrics, and the refusals on the way there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import DataError, Problem, listing, unknown_column
from clfeval.tables.csv import one_column_hint
from clfeval.tables.input import Input, Names, find, is_index, match_names
from clfeval.tables.metric.grid import Grid, Places

MetricLayout = Literal["wide", "long", "cv", "result"]
FROM_PREDICTIONS = "it looks like predictions: add --from predictions"


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Models x metrics: which cell of the grid holds each value."""

    layout: MetricLayout
    models: Sequence[str | None]
    metrics: Sequence[str]
    places: Places
    turned: bool = False  # columns are models, rows metrics
    named: int | None = None  # the column of the models' names
    reasons: Mapping[int, int] = field(default_factory=dict)  # columns that say why cells are empty
    sds: Sequence[int] = ()  # columns, one for each metric, below 0 for none
    splits: Mapping[str, Sequence[int]] = field(default_factory=dict)  # likewise
    ignored: Sequence[str] = ()
    notes: Sequence[str] = ()

    def beside(self, columns: Sequence[int]) -> Places:
        """Return the places of the same records in other columns."""
        return replace(self.places, columns=np.array([columns]))


def by_rows(
    grid: Grid,
    models: Sequence[str | None],
    columns: Mapping[str, int],
    layout: MetricLayout,
    named: int | None,
    keep: Sequence[int] | None = None,
) -> Sheet:
    """Build the sheet of a table with one row per model: `keep` are its records, all by default.

    `named` is the column of the names, None where they are made of parameters; `columns` maps
    metrics to columns.
    """
    keep = range(len(grid.rows)) if keep is None else keep
    places = Places(np.array(keep)[:, None], np.array([list(columns.values())]))
    return Sheet(layout, models, tuple(columns), places, named=named)


def chosen(
    grid: Grid, wanted: Sequence[str], measured: Mapping[str, int], others: Mapping[str, int]
) -> dict[str, int]:
    """Return the metrics asked for, all that are measured by default; others by exact name."""
    pool = {**measured, **{name: others[name] for name in wanted if name in others}}
    if not pool:
        raise no_metrics(grid)
    if not wanted:
        return pool
    names = match_names(grid.name, list(pool), wanted, what="metric")
    return {name: pool[name] for name in names}


def column_of(grid: Grid, said: Input, names: Sequence[str] = Names.MODEL) -> int | None:
    """Return the column that --id or its name says holds the names; None if neither does."""
    if said.id is not None:
        if said.id not in grid.columns:
            raise unknown_column(grid.name, said.id, grid.titles)
        return grid.columns.index(said.id)
    return 0 if grid.outer else grid.find(names)


def naming_column(grid: Grid, said: Input, names: Sequence[str] = Names.MODEL) -> int | None:
    """Return likewise, or the first column of text, that of a nameless row index before others."""
    found = column_of(grid, said, names)
    if found is None:
        for i in sorted(range(len(grid.columns)), key=lambda i: not is_index(grid.columns[i])):
            words = {str(name).casefold() for name in grid.texts(i) if name}
            if grid.numbers(i).mostly_text and not words <= {"true", "false"}:
                return i
    return found


def rows_left(count: int, which: str) -> str:
    """Say how many rows were left out."""
    return f"{count:,} row{'s' * (count > 1)} {which} left out"


def name_problems(
    grid: Grid, rows: Sequence[int], names: Sequence[str | None], column: int | None, again: str
) -> list[Problem]:
    """Find the names that are missing, and those given twice, whose code is `again`."""
    first: dict[str, int] = {}
    problems = []
    for row, name in zip(rows, names, strict=True):
        place = (grid.name, row, None if column is None else grid.columns[column] or None)
        if name is None:
            problems.append(Problem("missing", "missing-value", *place))
        elif first.setdefault(name, row) < row:
            what = f"'{name}' stands in row {first[name]} already"
            problems.append(Problem(what, again, *place))
    return problems


def no_models(grid: Grid) -> DataError:
    """Build the error for a table without a column of names."""
    what = f"no column names the models; columns: {listing(grid.titles)}"
    hint = "name it with --id COLUMN; a table whose columns are models needs --transpose"
    if grid.sha256 is None:
        hint += "; names in the index become a column with reset_index()"
    return DataError.of(what, "no-models", grid.name, hint=_better(grid) or hint)


def no_metrics(grid: Grid) -> DataError:
    """Build the error for a table without numbers."""
    what = f"no column holds numbers; columns: {listing(grid.titles)}"
    hint = "each metric is a column of numbers; a table whose rows are metrics needs --transpose"
    return DataError.of(what, "no-metrics", grid.name, hint=_better(grid) or hint)


def no_rows(grid: Grid, why: str) -> DataError:
    """Build the error for a table without models."""
    return DataError.of("no rows to evaluate", "empty-table", grid.name, hint=why)


def _better(grid: Grid) -> str | None:
    """Return a hint for a file of one column, or of predictions."""
    if grid.delimiter is not None and (hint := one_column_hint(grid.columns, grid.delimiter)):
        return hint
    return FROM_PREDICTIONS if find(grid.columns, Names.TRUTH) else None


def kept(sheet: Sheet, models: NDArray[np.intp]) -> Sheet:
    """Return the sheet of some models, given by their numbers in order."""
    return replace(
        sheet,
        models=[sheet.models[i] for i in models],
        places=sheet.places.kept(models),
    )
