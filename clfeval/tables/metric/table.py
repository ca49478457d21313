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


def select_models(sheet: Sheet, model_indices: NDArray[np.intp]) -> Sheet:
    """Return the sheet with some of its models, given by index."""
    places = sheet.places
    new_places = (
        place_array if len(place_array) == 1 else place_array[model_indices]
        for place_array in (places.records, places.columns)
    )
    return replace(
        sheet, models=[sheet.models[i] for i in model_indices], places=ValuePlaces(*new_places)
    )


def select_metrics(sheet: Sheet, metric_indices: Sequence[int]) -> Sheet:
    """Return the sheet with some of its metrics, given by index."""
    indices = list(metric_indices)

    def select_columns(place_array: Ints) -> Ints:
        return place_array if place_array.shape[1] == 1 else place_array[:, indices]

    return replace(
        sheet,
        metrics=[sheet.metrics[j] for j in indices],
        places=ValuePlaces(
            select_columns(sheet.places.records), select_columns(sheet.places.columns)
        ),
        sds=[sheet.sds[j] for j in indices] if sheet.sds else (),
        splits={name: [columns[j] for j in indices] for name, columns in sheet.splits.items()},
    )


def without_columns(grid: Grid, patterns: Sequence[str]) -> tuple[Grid, list[str]]:
    """Return the grid without columns that match names or globs, and the names of those."""
    removed_columns = _match_patterns(grid.columns, patterns)
    if not removed_columns:
        return grid, []
    kept_indices = [i for i, name in enumerate(grid.columns) if name not in removed_columns]
    columns = tuple(grid.columns[i] for i in kept_indices)
    cells = tuple(grid.cells[i] for i in kept_indices)
    has_outer_names = grid.outer and 0 in kept_indices
    reduced_grid = replace(grid, columns=columns, cells=cells, outer=has_outer_names)
    return reduced_grid, removed_columns


def without_metrics(
    grid: Grid, sheet: Sheet, patterns: Sequence[str], columns: Sequence[str]
) -> tuple[Sheet, list[str]]:
    """Return the sheet without metrics that match patterns, and those; UsageError if none does."""
    removed_metrics = _match_patterns(sheet.metrics, patterns)
    for pattern in patterns:
        if not _match_patterns([*columns, *removed_metrics], [pattern]):
            match_names(grid.name, [*grid.titles, *sheet.metrics], [pattern], kind="column")
    kept_indices = [j for j, name in enumerate(sheet.metrics) if name not in removed_metrics]
    if not kept_indices:
        raise no_metrics_error(grid)
    return (select_metrics(sheet, kept_indices) if removed_metrics else sheet), removed_metrics


def _match_patterns(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names, in their order, that match exact names or globs."""
    exact_names = {*names}
    matching_names = {*patterns} & exact_names
    for pattern in {*patterns} - exact_names:
        matching_names.update(name for name in names if fnmatchcase(name, pattern))
    return [name for name in names if name in matching_names]


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
        if likely_truth := next(filter(is_likely_truth, grid.columns), None):
            reading_text = f"predictions, with {quote_name(likely_truth)} as truth"
            readings = [OfferedReading(reading_text, {**PREDICTIONS, "truth": likely_truth})]
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
        phrases = [f"{self.name}: {self.layout} table of metrics", self.named_by]
        metric_count = len(self.metrics)
        metric_noun = "metric" if metric_count == 1 else "metrics"
        phrases.append(f"{metric_count:,} {metric_noun}: {list_names(self.metrics, 4)}")
        if self.splits:
            phrases.append(f"means over {len(self.splits)} splits")
        phrases += self.notes
        if self.dropped:
            noun = "models" if self.dropped > 1 else "model"
            phrases.append(f"{self.dropped:,} {noun} with missing values left out")
        if self.percent:
            phrases.append(f"percentages, read as shares: {list_names(self.percent, 4)}")
        if ignored := (*self.ignored, *self.left_out, *self.unfit):
            phrases.append(f"ignored {list_names(ignored)}")
        return "; ".join(phrases)

    def column_roles(self) -> list[ColumnRole]:
        """Return the role of every column of the table, with the reason."""
        role_and_reason = dict.fromkeys(self.metrics, ("metric", "its values are numbers"))
        percent_reason = "its values have percent signs; 57.1% is 0.571"
        role_and_reason |= dict.fromkeys(self.percent, ("metric", percent_reason))
        role_and_reason |= dict.fromkeys(self.ignored, ("left out", "it has no numbers"))
        role_and_reason |= dict.fromkeys(self.left_out, ("left out", f"{OPTION}--ignore{END}"))
        role_and_reason |= dict.fromkeys(self.unfit, ("left out", "it has no range"))
        role_and_reason |= {name: (role, self.named_by) for name, role in self.roles.items()}
        unused_role = ("not used", f"{self.named_by}, a {self.layout} table")
        names = dict.fromkeys((*self.columns, *self.left_out))
        return [ColumnRole(name, *role_and_reason.get(name, unused_role)) for name in names]

    def problem(self, model_index: int, metric_index: int, message: str, code: str) -> Problem:
        """Build a problem of the value of a model and a metric, with its place in the file."""
        record, column = self.places.place_of(model_index, metric_index)
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
    drop_missing = reading_options.missing == "drop"
    sheet_values = _gather_values(grid, sheet, drop_missing=drop_missing)
    dropped_count = len(sheet.models) - len(sheet_values.sheet.models)
    sheet = sheet_values.sheet
    check_names(grid, sheet)
    check_values(grid, sheet, sheet_values.status, is_chosen=bool(requested), drop=drop_missing)
    split_values = _gather_splits(grid, sheet)
    has_sds = max(sheet.sds, default=-1) >= 0
    return MetricTable(
        name=grid.name,
        display=grid.display,
        sha256=grid.sha256,
        layout=sheet.layout,
        models=tuple(map(str, sheet.models)),
        metrics=tuple(sheet.metrics),
        values=sheet_values.values,
        splits=() if split_values is None else tuple(sheet.splits),
        by_split=split_values,
        sds=_gather_columns(grid, sheet, sheet.sds) if has_sds else None,
        dropped=dropped_count,
        ignored=tuple(sheet.ignored),
        named_by=_named_by(grid, sheet),
        notes=(*sheet.notes, *_split_notes(sheet, split_values)),
        places=sheet.places,
        records=grid.rows,
        columns=grid.columns,
        left_out=(*ignored_columns, *ignored_metrics),
        unfit=tuple(unfit_metrics),
        roles=sheet.roles,
        percent=sheet_values.percent,
    )


def _read_used_columns(
    table: object, reading_options: InputOptions, metric_patterns: Sequence[str]
) -> tuple[Grid, list[str]]:
    """Return the grid without ignored columns, and the names of these."""
    if reading_options.layout not in (None, "wide", "long"):
        message = f"{OPTION}--layout{END} {reading_options.layout} is for predictions"
        raise bad_option(
            message,
            f"for a metric table use {OPTION}--layout wide{END} or {OPTION}--layout long{END}",
        )
    grid, ignored = without_columns(read_grid(table, reading_options), reading_options.ignore)
    required = {
        "--id": [reading_options.id],
        "--metric": metric_patterns,
        "--model": reading_options.model,
    }
    refuse_ignored_columns(ignored, required)
    return grid, ignored


def _build_sheet(
    grid: Grid, reading_options: InputOptions, metric_patterns: Sequence[str], *, transpose: bool
) -> Sheet:
    """Return models and metrics; an error names the delimiter if another one is likely."""
    try:
        return build_sheet(grid, reading_options, metric_patterns, transpose=transpose)
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


def _gather_values(grid: Grid, sheet: Sheet, *, drop_missing: bool) -> SheetValues:
    """Return the values of a sheet; drop_missing: without models that lack a name or a value."""
    values, status = grid.gathered(sheet.places, sheet.reasons)
    is_percent = percent_metrics(status)
    status[:, is_percent] = np.where(
        status[:, is_percent] == PERCENT, NUMBER, status[:, is_percent]
    )
    percent_names = tuple(sheet.metrics[j] for j in np.flatnonzero(is_percent).tolist())
    if not drop_missing:
        return SheetValues(sheet, values, status, percent_names)
    is_incomplete = np.isin(status, (MISSING, UNDEFINED)).any(axis=1)
    is_incomplete |= np.array([name is None for name in sheet.models])
    if is_incomplete.all():
        message = f"{OPTION}--missing drop{END} left out every model, as all have missing values"
        raise no_rows_error(grid, message)
    model_indices = np.flatnonzero(~is_incomplete)
    return SheetValues(
        select_models(sheet, model_indices),
        values[model_indices],
        status[model_indices],
        percent_names,
    )


def _gather_splits(grid: Grid, sheet: Sheet) -> Floats | None:
    """Return the values of cross-validation splits, (s, k, n); None if some are missing."""
    if not sheet.splits:
        return None
    split_values = np.array(
        [_gather_columns(grid, sheet, columns) for columns in sheet.splits.values()]
    )
    return split_values if np.isfinite(split_values).all() else None


def _gather_columns(grid: Grid, sheet: Sheet, columns: Sequence[int]) -> Floats:
    """Return the values (k, n) of other columns, one for each metric, in the same records."""
    values, _status = grid.gathered(sheet.same_records(columns), {})
    return values


def _split_notes(sheet: Sheet, split_values: Floats | None) -> list[str]:
    """Return a note that splits are left out, if they are."""
    return (
        ["splits left out, as values are missing"] if sheet.splits and split_values is None else []
    )


def _select_part(
    grid: Grid, sheet: Sheet, unfit_metrics: Sequence[str], patterns: Sequence[str]
) -> Sheet:
    """Return the sheet without some metrics, and with the models that patterns match.

    patterns: names or globs; none for all models.
    """
    if unfit_metrics:
        fit_indices = [j for j, name in enumerate(sheet.metrics) if name not in unfit_metrics]
        sheet = select_metrics(sheet, fit_indices)
    if not patterns:
        return sheet
    names = list(dict.fromkeys(name for name in sheet.models if name is not None))
    selected_names = {*match_names(grid.name, names, patterns)}
    # in the order of the table
    model_indices = [i for i, name in enumerate(sheet.models) if name in selected_names]
    return select_models(sheet, np.array(model_indices))


def _named_by(grid: Grid, sheet: Sheet) -> str:
    """Return by what the models of a sheet are named, in words."""
    if sheet.turned:
        return "models are columns"
    if sheet.name_column is None:
        return "models by their parameters"
    if grid.outer and sheet.name_column == 0:
        return "models by the outer names"
    name = grid.columns[sheet.name_column]
    return f"models in '{name}'" if name else "models in the column without a name"
