"""Metric tables: models x metrics with unique names and finite values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Floats, Ints
from clfeval.errors import (
    MAX_PROBLEMS,
    DataError,
    OfferedReading,
    Problem,
    bad_option,
    list_names,
    quote_name,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.columns import ColumnRole
from clfeval.tables.input import (
    ColumnNames,
    InputOptions,
    find_column,
    match_names,
    refuse_ignored_columns,
)
from clfeval.tables.invalid_cells import with_delimiter
from clfeval.tables.metric.grid import (
    FROM_PREDICTIONS,
    MISSING,
    NUMBER,
    PERCENT,
    PREDICTIONS,
    UNDEFINED,
    Grid,
    MetricLayout,
    Sheet,
    Status,
    ValuePlaces,
    name_problems,
    no_metrics_error,
    no_rows_error,
)
from clfeval.tables.metric.layouts import build_sheet
from clfeval.tables.metric.reading import read_grid
from clfeval.tables.metric.values import check_values, percent_metrics
from clfeval.tables.readings.names import is_likely_truth


def select_models(sheet: Sheet, models: NDArray[np.intp]) -> Sheet:
    """Return the sheet with some of its models, given by index."""
    places = sheet.places
    parts = (part if len(part) == 1 else part[models] for part in (places.records, places.columns))
    return replace(sheet, models=[sheet.models[i] for i in models], places=ValuePlaces(*parts))


def select_metrics(sheet: Sheet, metrics: Sequence[int]) -> Sheet:
    """Return the sheet with some of its metrics, given by index."""
    selected = list(metrics)

    def select(places: Ints) -> Ints:
        return places if places.shape[1] == 1 else places[:, selected]

    return replace(
        sheet,
        metrics=[sheet.metrics[j] for j in selected],
        places=ValuePlaces(select(sheet.places.records), select(sheet.places.columns)),
        sds=[sheet.sds[j] for j in selected] if sheet.sds else (),
        splits={name: [columns[j] for j in selected] for name, columns in sheet.splits.items()},
    )


def without_columns(grid: Grid, patterns: Sequence[str]) -> tuple[Grid, list[str]]:
    """Return the grid without columns that match names or globs, and the names of those."""
    gone = _match_patterns(grid.columns, patterns)
    if not gone:
        return grid, []
    keep = [i for i, name in enumerate(grid.columns) if name not in gone]
    columns = tuple(grid.columns[i] for i in keep)
    cells = tuple(grid.cells[i] for i in keep)
    return replace(grid, columns=columns, cells=cells, outer=grid.outer and 0 in keep), gone


def without_metrics(
    grid: Grid, sheet: Sheet, patterns: Sequence[str], columns: Sequence[str]
) -> tuple[Sheet, list[str]]:
    """Return the sheet without metrics that match patterns, and those; UsageError if none does."""
    gone = _match_patterns(sheet.metrics, patterns)
    for pattern in patterns:
        if not _match_patterns([*columns, *gone], [pattern]):
            match_names(grid.name, [*grid.titles, *sheet.metrics], [pattern], kind="column")
    keep = [j for j, name in enumerate(sheet.metrics) if name not in gone]
    if not keep:
        raise no_metrics_error(grid)
    return (select_metrics(sheet, keep) if gone else sheet), gone


def _match_patterns(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names, in their order, that match exact names or globs."""
    exact = {*names}
    matching = {*patterns} & exact
    for pattern in {*patterns} - exact:
        matching.update(name for name in names if fnmatchcase(name, pattern))
    return [name for name in names if name in matching]


def check_names(grid: Grid, sheet: Sheet) -> None:
    """Raise for models without a name and for repeated names."""
    if sheet.turned:
        return  # the header was checked
    rows = [grid.rows[record] for record in sheet.places.records[:, 0]]
    problems = name_problems(grid, rows, sheet.models, sheet.name_column, "duplicate-model")
    if not problems:
        return
    totals = Counter(problem.code for problem in problems)
    hint = f"give every model a unique name, or drop unnamed ones with {OPTION}--missing drop{END}"
    if totals["duplicate-model"]:
        hint = "keep one row per model (one slice, population or run), or make its names unique"
        if find_column(grid.columns, ColumnNames.TRUTH):
            raise DataError(
                problems[:MAX_PROBLEMS], hint=FROM_PREDICTIONS, totals=+totals, fixes=PREDICTIONS
            )
        if likely := next(filter(is_likely_truth, grid.columns), None):
            words = f"predictions, with {quote_name(likely)} as truth"
            options = {**PREDICTIONS, "truth": likely}
            readings = [OfferedReading(words, options)]
            printed_problems = problems[:MAX_PROBLEMS]
            raise DataError(printed_problems, hint=hint, totals=+totals, readings=readings)
    fixes = {} if totals["duplicate-model"] or len(problems) == len(rows) else {"missing": "drop"}
    raise DataError(problems[:MAX_PROBLEMS], hint=hint, totals=+totals, fixes=fixes)


@dataclass(frozen=True, slots=True, eq=False)
class MetricTable:
    """Finite values (k, n) of models by metrics, and the place of each in the file.

    by_split: (s, k, n) of cross-validation splits; sds: (k, n), NaN where a metric has none.
    """

    name: str
    display: str
    sha256: str | None
    layout: MetricLayout
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Floats
    splits: tuple[str, ...]
    by_split: Floats | None
    sds: Floats | None
    dropped: int
    ignored: tuple[str, ...]
    named_by: str
    notes: tuple[str, ...]
    places: ValuePlaces
    records: Sequence[int]  # the row of each record
    columns: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # by --ignore
    unfit: tuple[str, ...] = ()  # metrics of a result of clfeval excluded by default
    percent: tuple[str, ...] = ()  # metrics whose numbers have a percent sign
    roles: Mapping[str, str] = field(default_factory=dict)  # of columns that are not metrics

    def described(self) -> str:
        """Return one line on how the table was read."""
        parts = [f"{self.name}: {self.layout} table of metrics", self.named_by]
        count = len(self.metrics)
        parts.append(f"{count:,} metric{'s' * (count != 1)}: {list_names(self.metrics, 4)}")
        if self.splits:
            parts.append(f"means over {len(self.splits)} splits")
        parts += self.notes
        if self.dropped:
            models = f"model{'s' * (self.dropped > 1)}"
            parts.append(f"{self.dropped:,} {models} with missing values left out")
        if self.percent:
            parts.append(f"percentages, read as shares: {list_names(self.percent, 4)}")
        if ignored := (*self.ignored, *self.left_out, *self.unfit):
            parts.append(f"ignored {list_names(ignored)}")
        return "; ".join(parts)

    def column_roles(self) -> list[ColumnRole]:
        """Return the role of every column of the table, with the reason."""
        reasons = dict.fromkeys(self.metrics, ("metric", "its values are numbers"))
        shares = "its values have percent signs; 57.1% is 0.571"
        reasons |= dict.fromkeys(self.percent, ("metric", shares))
        reasons |= dict.fromkeys(self.ignored, ("left out", "it has no numbers"))
        reasons |= dict.fromkeys(self.left_out, ("left out", f"{OPTION}--ignore{END}"))
        reasons |= dict.fromkeys(self.unfit, ("left out", "it has no range"))
        reasons |= {name: (role, self.named_by) for name, role in self.roles.items()}
        unused = ("not used", f"{self.named_by}, a {self.layout} table")
        names = dict.fromkeys((*self.columns, *self.left_out))
        return [ColumnRole(name, *reasons.get(name, unused)) for name in names]

    def problem(self, i: int, j: int, message: str, code: str) -> Problem:
        """Build a problem of the value of model i and metric j, with its place in the file."""
        record, column = self.places.place_of(i, j)
        return Problem(message, code, self.name, self.records[record], self.columns[column])


def read_metrics(
    table: object,
    reading_options: InputOptions,
    *,
    requested: Sequence[str] = (),
    transpose: bool = False,
    check: Callable[[str, Sheet], None] = lambda *_: None,
    unfit: Callable[[str], bool] = lambda _: False,
) -> MetricTable:
    """Read one path, or a data frame (never changed), as a metric table.

    Values (k, n) in the order of the table, or of `requested`: names or globs of metrics. The id is
    the column of the models' names, of the metrics' when `transpose` says that columns are models.
    A missing value is an error, or excludes its model. `check` runs on models and metrics before
    values. unfit: metrics of a result excluded by default. Raises UsageError and DataError.
    """
    grid, ignored_columns = _read_used_columns(table, reading_options, requested)
    sheet = _build_sheet(grid, reading_options, requested, transpose=transpose)
    sheet, ignored_metrics = without_metrics(grid, sheet, reading_options.ignore, ignored_columns)
    check(grid.name, sheet)
    is_default = sheet.layout == "result" and not requested
    unfit_metrics = [name for name in sheet.metrics if is_default and unfit(name)]
    sheet = _select_part(grid, sheet, unfit_metrics, reading_options.model)
    drop = reading_options.missing == "drop"
    complete = _gather_values(grid, sheet, drop=drop)
    dropped = len(sheet.models) - len(complete.sheet.models)
    sheet = complete.sheet
    check_names(grid, sheet)
    check_values(grid, sheet, complete.status, is_chosen=bool(requested), drop=drop)
    splits = _gather_splits(grid, sheet)
    has_sds = max(sheet.sds, default=-1) >= 0
    return MetricTable(
        name=grid.name,
        display=grid.display,
        sha256=grid.sha256,
        layout=sheet.layout,
        models=tuple(map(str, sheet.models)),
        metrics=tuple(sheet.metrics),
        values=complete.values,
        splits=() if splits is None else tuple(sheet.splits),
        by_split=splits,
        sds=grid.gathered(sheet.same_records(sheet.sds), {})[0] if has_sds else None,
        dropped=dropped,
        ignored=tuple(sheet.ignored),
        named_by=_named_by(grid, sheet),
        notes=(*sheet.notes, *_split_notes(sheet, splits)),
        places=sheet.places,
        records=grid.rows,
        columns=grid.columns,
        left_out=(*ignored_columns, *ignored_metrics),
        unfit=tuple(unfit_metrics),
        roles=sheet.roles,
        percent=complete.percent,
    )


def _read_used_columns(
    table: object, reading_options: InputOptions, metrics: Sequence[str]
) -> tuple[Grid, list[str]]:
    """Return the grid without ignored columns, and the names of these."""
    if reading_options.layout not in (None, "wide", "long"):
        message = f"{OPTION}--layout{END} {reading_options.layout} is for predictions"
        raise bad_option(
            message,
            f"for a metric table use {OPTION}--layout wide{END} or {OPTION}--layout long{END}",
        )
    grid, ignored = without_columns(read_grid(table, reading_options), reading_options.ignore)
    required = {"--id": [reading_options.id], "--metric": metrics, "--model": reading_options.model}
    refuse_ignored_columns(ignored, required)
    return grid, ignored


def _build_sheet(
    grid: Grid, reading_options: InputOptions, metrics: Sequence[str], *, transpose: bool
) -> Sheet:
    """Return models and metrics; an error names the delimiter if another one is likely."""
    try:
        return build_sheet(grid, reading_options, metrics, transpose=transpose)
    except DataError as error:
        raise (
            with_delimiter(error, grid.likely_delimiter, grid.columns)
            if grid.likely_delimiter
            else error
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class SheetValues:
    """A sheet with its values and their status, (k, n); percent: metrics with percent signs."""

    sheet: Sheet
    values: Floats
    status: Status
    percent: tuple[str, ...]


def _gather_values(grid: Grid, sheet: Sheet, *, drop: bool) -> SheetValues:
    """Return the values of a sheet; drop: without models that lack a name or a value."""
    values, status = grid.gathered(sheet.places, sheet.reasons)
    shares = percent_metrics(status)
    status[:, shares] = np.where(status[:, shares] == PERCENT, NUMBER, status[:, shares])
    percent = tuple(sheet.metrics[j] for j in np.flatnonzero(shares).tolist())
    if not drop:
        return SheetValues(sheet, values, status, percent)
    incomplete = np.isin(status, (MISSING, UNDEFINED)).any(axis=1)
    incomplete |= np.array([name is None for name in sheet.models])
    if incomplete.all():
        message = f"{OPTION}--missing drop{END} left out every model, as all have missing values"
        raise no_rows_error(grid, message)
    models = np.flatnonzero(~incomplete)
    return SheetValues(select_models(sheet, models), values[models], status[models], percent)


def _gather_splits(grid: Grid, sheet: Sheet) -> Floats | None:
    """Return the values of cross-validation splits, (s, k, n); None if some are missing."""
    if not sheet.splits:
        return None
    splits = np.array(
        [grid.gathered(sheet.same_records(columns), {})[0] for columns in sheet.splits.values()]
    )
    return splits if np.isfinite(splits).all() else None


def _split_notes(sheet: Sheet, splits: Floats | None) -> list[str]:
    """Return a note that splits are left out, if they are."""
    return ["splits left out, as values are missing"] if sheet.splits and splits is None else []


def _select_part(grid: Grid, sheet: Sheet, unfit: Sequence[str], patterns: Sequence[str]) -> Sheet:
    """Return the sheet without some metrics, with the models of some names or globs, if any."""
    if unfit:
        fit = [j for j, name in enumerate(sheet.metrics) if name not in unfit]
        sheet = select_metrics(sheet, fit)
    if not patterns:
        return sheet
    names = list(dict.fromkeys(name for name in sheet.models if name is not None))
    selected = {*match_names(grid.name, names, patterns)}
    models = [i for i, name in enumerate(sheet.models) if name in selected]  # in table order
    return select_models(sheet, np.array(models))


def _named_by(grid: Grid, sheet: Sheet) -> str:
    if sheet.turned:
        return "models are columns"
    if sheet.name_column is None:
        return "models by their parameters"
    if grid.outer and sheet.name_column == 0:
        return "models by the outer names"
    name = grid.columns[sheet.name_column]
    return f"models in '{name}'" if name else "models in the column without a name"
