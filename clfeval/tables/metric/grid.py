"""Cells of a metric table by column, its columns of names and metrics, and the sheet of both."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Floats, Ints
from clfeval.errors import DataError, Problem, list_names, quote_word, unknown_column_error
from clfeval.placeholders import END, OPTION, SWITCH
from clfeval.records import dataclass, field, replace
from clfeval.tables.frames import as_text, is_missing
from clfeval.tables.input import ColumnNames, InputOptions, find_column, is_index_name, match_names
from clfeval.tables.source import FRAME

GridCells = Sequence[object] | NDArray[Any]
Status = NDArray[np.uint8]

# kinds of cells
NUMBER, MISSING, TEXT, INFINITE, UNDEFINED, SPELLED, PERCENT = range(7)
CODES = (
    "",
    "missing-value",
    "bad-number",
    "infinite-value",
    "missing-value",
    "bad-number",
    "bad-number",
)
# a number with another decimal sign, or with a thousands separator
_OTHER_DECIMAL = {
    ".": re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?"),
    ",": re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?"),
}


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn:
    """A column as numbers, NaN if a cell has none, with the kind of each cell in `status`."""

    values: Floats
    status: Status

    @property
    def any_number(self) -> bool:
        """True if a cell holds a number, even an infinite or misspelled one."""
        return bool(is_numeric(self.status).any())

    @property
    def texts(self) -> int:
        """Number of cells with text."""
        return int((self.status == TEXT).sum())

    @property
    def mostly_text(self) -> bool:
        """True if text is in at least half of the cells that are not missing."""
        return 0 < int((self.status != MISSING).sum()) <= 2 * self.texts


def is_numeric(status: Status) -> Bools:
    """Return which cells hold a number, even an infinite or misspelled one."""
    return np.isin(status, (NUMBER, INFINITE, SPELLED, PERCENT))


def _at_once(cells: GridCells, decimal_sign: str) -> Floats | None:
    """Convert a column of valid numbers; None if cells have to be parsed one by one."""
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    cell_types = set(map(type, cells))
    try:
        if cell_types <= {int, float}:
            return np.array(cells, np.float64)
        if cell_types == {str} and decimal_sign == "." and "_" not in "".join(cells):  # type: ignore[arg-type]
            return np.fromiter(map(float, cells), np.float64, len(cells))  # type: ignore[arg-type]
    except (ValueError, OverflowError):  # parsing cells one by one says which it is
        pass
    return None


def _parse_cell(cell: object, decimal_sign: str) -> tuple[float, int]:
    """Return the number in a cell, else NaN, and the kind of the cell.

    Text is read as float() does, without underscores and words; with a percent sign it is divided
    by 100.
    """
    if is_estimate(cell):
        value, status = _parse_cell(cell["value"], decimal_sign)
        return value, _without_value(cell["reason"]) if status == MISSING else status
    if is_blank(cell):
        return math.nan, MISSING
    if isinstance(cell, str):
        return _parse_text(cell.strip(), decimal_sign)
    if isinstance(cell, bool) or not isinstance(cell, (Real, Decimal)):
        return math.nan, TEXT
    try:
        value = float(cell)
    except OverflowError:
        value = math.inf
    return (math.nan, INFINITE) if math.isinf(value) else (value, NUMBER)


def _parse_text(text: str, decimal_sign: str) -> tuple[float, int]:
    """Return the number in a text, else NaN, and the kind of the cell."""
    is_percent = text.endswith("%")
    bare_number = text[:-1].rstrip() if is_percent else text
    if _OTHER_DECIMAL[decimal_sign].fullmatch(bare_number):
        return math.nan, SPELLED
    try:
        with_point = bare_number.replace(decimal_sign, ".")
        value = math.nan if "_" in text else float(f"{with_point}e-2" if is_percent else with_point)
    except ValueError:
        return math.nan, TEXT
    if math.isnan(value):
        return math.nan, TEXT if "_" in text or is_percent else MISSING
    if math.isinf(value):
        return math.nan, INFINITE
    return value, PERCENT if is_percent else NUMBER


def _without_value(reason: object) -> int:
    """Return the kind of an empty cell with a reason, as in a saved result."""
    if reason in ("infinite", "minus_infinite"):
        return INFINITE
    return UNDEFINED if name_text(reason) else MISSING


def describe_flaw(cell: object, status: int, reason: object = None) -> str:
    """Describe the problem of a cell in words."""
    if is_estimate(cell):
        return describe_flaw(cell["value"], status, cell["reason"])
    if status == INFINITE:
        return "is infinite"
    if status == UNDEFINED:
        return f"undefined ({reason})"
    if status == MISSING:
        return "missing"
    text = str(name_text(cell)).strip()
    text = text if len(text) <= 60 else f"{text[:60]}..."
    return f"'{text}' is not a number"


def is_estimate(cell: object) -> TypeGuard[dict[str, object]]:
    """Return whether a cell is an estimate of a saved result."""
    return isinstance(cell, dict) and cell.keys() == {"value", "low", "high", "reason"}


def is_blank(cell: object) -> bool:
    """Return whether a cell is missing; blank text is."""
    return not cell or cell.isspace() if isinstance(cell, str) else is_missing(cell)


def name_text(cell: object) -> str | None:
    """Return a name as text; None if it is missing."""
    return None if is_blank(cell) else as_text(cell)


def is_all_text(cells: GridCells) -> TypeGuard[Sequence[str]]:
    """Return whether every cell of a column holds text that is not blank."""
    if isinstance(cells, np.ndarray) or set(map(type, cells)) != {str}:
        return False
    return all(map(str.strip, cells))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The cells of a table by column; rows: the numbers of its records in messages."""

    name: str
    columns: tuple[str, ...]
    cells: tuple[GridCells, ...]
    rows: Sequence[int]
    display: str = FRAME
    sha256: str | None = None  # of the original bytes; None for data frames
    outer: bool = False  # the first column holds the outer names of an object of objects
    delimiter: str | None = None  # of delimited text
    likely_delimiter: str | None = None  # the delimiter it more likely has
    decimal: str = "."
    _numbers: dict[tuple[int, int | None], NumberColumn] = field(default_factory=dict, init=False)

    @property
    def titles(self) -> list[str]:
        """Names of the columns for messages."""
        return [name or "(no name)" for name in self.columns]

    @property
    def place(self) -> dict[str, int]:
        """Index of each column by name."""
        return {name: i for i, name in enumerate(self.columns)}

    def find(self, names: Sequence[str], *, but: int | None = None) -> int | None:
        """Return the index of the column with one of the names; but: a column to skip."""
        column = find_column((name for i, name in enumerate(self.columns) if i != but), names)
        return None if column is None else self.columns.index(column)

    def taking(self, records: Sequence[int]) -> Grid:
        """Return the grid with some of its records."""
        kept_indices = list(records)
        cells = tuple(
            column[kept_indices]
            if isinstance(column, np.ndarray)
            else [column[i] for i in kept_indices]
            for column in self.cells
        )
        return replace(self, cells=cells, rows=[self.rows[i] for i in kept_indices])

    def texts(self, column: int) -> list[str | None]:
        """Return a column as texts, None where missing."""
        cells = self.cells[column]
        return list(cells) if is_all_text(cells) else list(map(name_text, cells))

    def numbers(self, column: int, reason_column: int | None = None) -> NumberColumn:
        """Return a column as numbers, parsed once; reason_column: it explains empty cells."""
        key = column, reason_column
        if key in self._numbers:
            return self._numbers[key]
        values = _at_once(self.cells[column], self.decimal)
        if values is None:
            parsed = [_parse_cell(cell, self.decimal) for cell in self.cells[column]]
            values = np.array([value for value, _ in parsed], np.float64)
            status = np.array([kind for _, kind in parsed], np.uint8)
        else:
            status = np.where(np.isnan(values), MISSING, NUMBER).astype(np.uint8)
            status[np.isinf(values)] = INFINITE
            values = np.where(np.isinf(values), np.nan, values)
        if reason_column is not None:
            for i in np.flatnonzero(status == MISSING).tolist():
                status[i] = _without_value(self.cells[reason_column][i])
        return self._numbers.setdefault(key, NumberColumn(values, status))

    def gathered(
        self, places: ValuePlaces, reason_columns: Mapping[int, int]
    ) -> tuple[Floats, Status]:
        """Return the values (k, n) at some places, NaN where there is none, and their status.

        reason_columns: by the index of a column, the column that explains its empty cells.
        """
        used_columns, column_codes = np.unique(places.columns, return_inverse=True)
        row_count = len(self.rows)
        empty_column = NumberColumn(
            np.full(row_count, np.nan), np.full(row_count, MISSING, np.uint8)
        )
        number_columns = [
            empty_column if i < 0 else self.numbers(i, reason_columns.get(i))
            for i in used_columns.tolist()
        ]
        value_indices = column_codes.reshape(places.columns.shape), places.records
        values = np.ascontiguousarray(
            np.array([column.values for column in number_columns])[value_indices]
        )
        status = np.ascontiguousarray(
            np.array([column.status for column in number_columns])[value_indices]
        )
        is_absent = np.broadcast_to(places.records < 0, values.shape)
        values[is_absent] = np.nan
        status[is_absent] = MISSING
        return values, status


@dataclass(frozen=True, slots=True, eq=False)
class ValuePlaces:
    """The place of each value: its record and its column, negative if it has none."""

    records: Ints  # both broadcast to (k, n)
    columns: Ints

    def place_of(self, model_index: int, metric_index: int) -> tuple[int, int]:
        """Return the record and the column of the value of a model and a metric."""
        records, columns = np.broadcast_arrays(self.records, self.columns)
        return int(records[model_index, metric_index]), int(columns[model_index, metric_index])


FROM_PREDICTIONS = f"for a table of predictions add {OPTION}--from predictions{END}"
PREDICTIONS = {"source": "predictions"}
_NUMBERS = {*ColumnNames.ROW, "index", "trial", "run", "seed", "fold", "epoch", "step", "candidate"}


def requested_metrics(
    grid: Grid,
    metric_patterns: Sequence[str],
    measured_metrics: Mapping[str, int],
    other_metrics: Mapping[str, int],
) -> dict[str, int]:
    """Return the metrics that patterns request, by default all with numbers, and their indices.

    Metrics without numbers are requested by their exact names only.
    """
    available = {
        **measured_metrics,
        **{name: other_metrics[name] for name in metric_patterns if name in other_metrics},
    }
    if not available:
        raise no_metrics_error(grid)
    if not metric_patterns:
        return available
    names = match_names(grid.name, list(available), metric_patterns, kind="metric")
    return {name: available[name] for name in names}


def name_column(
    grid: Grid, input_options: InputOptions, default_names: Sequence[str] = ColumnNames.MODEL
) -> int | None:
    """Return the column of names, given by --id or recognised by its name; else None."""
    if input_options.id is not None:
        if input_options.id not in grid.columns:
            raise unknown_column_error(grid.name, input_options.id, grid.titles)
        return grid.columns.index(input_options.id)
    return 0 if grid.outer else grid.find(default_names)


def name_or_text_column(
    grid: Grid, input_options: InputOptions, default_names: Sequence[str] = ColumnNames.MODEL
) -> int | None:
    """Return the column of names, else the first column of text, an unnamed row index first."""
    column_index = name_column(grid, input_options, default_names)
    if column_index is None:
        for text_index in sorted(
            range(len(grid.columns)),
            key=lambda text_index: not is_index_name(grid.columns[text_index]),
        ):
            folded_names = {str(name).casefold() for name in grid.texts(text_index) if name}
            if grid.numbers(text_index).mostly_text and not folded_names <= {"true", "false"}:
                return text_index
    return column_index


def rows_left_out(count: int, row_kind: str) -> list[str]:
    """Return the note on the number of rows left out, none if it is 0."""
    return [f"{count:,} row{'s' * (count > 1)} {row_kind} left out"] if count else []


def name_problems(
    grid: Grid,
    rows: Sequence[int],
    names: Sequence[str | None],
    column_index: int | None,
    repetition_code: str,
) -> list[Problem]:
    """Return problems for missing and for repeated names; repetition_code: of the latter."""
    first_rows: dict[str, int] = {}
    problems = []
    column_name = None if column_index is None else grid.columns[column_index] or None
    for row, name in zip(rows, names, strict=True):
        place = (grid.name, row, column_name)
        if name is None:
            problems.append(Problem("missing", "missing-value", *place))
        elif first_rows.setdefault(name, row) < row:
            message = f"'{name}' is already in row {first_rows[name]}"
            problems.append(Problem(message, repetition_code, *place))
    return problems


def no_models_error(grid: Grid) -> DataError:
    """Build the error for a table without a column of model names."""
    message = f"no column contains model names; columns: {list_names(grid.titles)}"
    hint = (
        f"name it with {OPTION}--id COLUMN{END}; a table whose columns are models needs "
        f"{OPTION}--transpose{END}"
    )
    fixes: dict[str, object] = {}
    if find_column(grid.columns, ColumnNames.METRIC) is not None:
        hint = f"add {SWITCH}--transpose{END}, as its rows are metrics"
        fixes = {"transpose": True}
    elif (number_column := _row_number_column(grid)) is not None:
        hint = (
            f"to use row numbers add {OPTION}--id {quote_word(number_column)}{END}; "
            f"{hint.partition('; ')[2]}"
        )
        fixes = {"id": number_column}
    if grid.sha256 is None:
        hint += "; reset_index() turns an index into a column"
    return _table_error(grid, message, "no-models", hint, fixes)


def _row_number_column(grid: Grid) -> str | None:
    """Return the first column with an index-like name, if its values are distinct integers."""
    for i, name in enumerate(grid.columns):
        folded_name = name.strip().casefold()
        if is_index_name(name) or folded_name in _NUMBERS or folded_name.endswith("_id"):
            values = grid.numbers(i).values
            if np.isfinite(values).all() and (values % 1 == 0).all():
                return name if len(np.unique(values)) == len(values) > 1 else None
    return None


def no_metrics_error(grid: Grid) -> DataError:
    """Build the error for a table without numbers."""
    message = f"no column with numbers; columns: {list_names(grid.titles)}"
    hint = (
        "give each metric as a column of numbers; if rows are metrics, add "
        f"{SWITCH}--transpose{END}"
    )
    return _table_error(grid, message, "no-metrics", hint, {})


def _table_error(
    grid: Grid, message: str, code: str, hint: str, fixes: Mapping[str, object]
) -> DataError:
    """Build the error for a table without names or numbers, which may be one of predictions."""
    if find_column(grid.columns, ColumnNames.TRUTH) is not None:
        hint = FROM_PREDICTIONS
        fixes = PREDICTIONS
    elif grid.delimiter is not None and len(grid.columns) == 1:
        hint = f"the table has only one column: {list_names(grid.columns)}"
    return DataError.new(message, code, grid.name, hint=hint, fixes=fixes)


def not_transposed_error(name: str, message: str) -> DataError:
    """Build the error for --transpose of a table with models in rows."""
    hint = f"leave out {OPTION}--transpose{END}"
    return DataError.new(message, "turned-table", name, hint=hint, fixes={"transpose": False})


def no_rows_error(grid: Grid, hint: str) -> DataError:
    """Build the error for a table without models."""
    return DataError.new("no rows to evaluate", "empty-table", grid.name, hint=hint)


MetricLayout = Literal["wide", "long", "cv", "result"]


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Models x metrics, with the place of each value in the grid."""

    layout: MetricLayout
    models: Sequence[str | None]
    metrics: Sequence[str]
    places: ValuePlaces
    turned: bool = False  # columns are models, rows metrics
    name_column: int | None = None  # the column of the models' names
    reasons: Mapping[int, int] = field(default_factory=dict)  # columns that explain empty cells
    sds: Sequence[int] = ()  # columns, one for each metric, below 0 for none
    splits: Mapping[str, Sequence[int]] = field(default_factory=dict)  # likewise
    roles: Mapping[str, str] = field(default_factory=dict)  # of columns that are not metrics
    ignored: Sequence[str] = ()
    notes: Sequence[str] = ()

    def same_records(self, columns: Sequence[int]) -> ValuePlaces:
        """Return the places of other columns in the same records."""
        return replace(self.places, columns=np.array([columns]))
