"""The layout of counts: a 2 x 2 table of each model in a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan, nan

from clfeval.arrays import MOST
from clfeval.errors import HEADER_ONLY, DataError, Problem, UsageError, list_names
from clfeval.placeholders import END, OPTION, SWITCH
from clfeval.records import dataclass, replace
from clfeval.tables.columns import Columns
from clfeval.tables.csv import inspect_structure
from clfeval.tables.frames import in_polars, is_missing, nw, pl
from clfeval.tables.input import ColumnNames, InputOptions, find_column, match_names
from clfeval.tables.layouts import wide
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.reading import Reading
from clfeval.tables.scan import TableFile, scan


@dataclass(frozen=True, slots=True)
class CountsRow:
    """One model's 2 x 2 table: whole numbers, positives tp + fn, negatives fp + tn.

    keys: the run or slice. tn: NaN if it was not counted.
    """

    model: str
    tp: int
    fp: int
    fn: int
    tn: float
    keys: tuple[str, ...] = ()


def holds_counts(columns: Iterable[str], input_options: InputOptions) -> bool:
    """Return whether a table has model names and counts of TP, FP and FN; not with --truth."""
    column_names = tuple(columns)
    required_names = (ColumnNames.MODEL, *((name,) for name in ColumnNames.COUNT[:-1]))
    return not input_options.truth and all(
        find_column(column_names, usual_names) for usual_names in required_names
    )


def counts_readings(
    file: str, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> list[Reading]:
    """Return the reading of a table with model names and columns of counts, without truth.

    DataError if there are no true negatives, which all commands but report need.
    """
    model_column = find_column(profiles, ColumnNames.MODEL)
    if model_column is None or not holds_counts(profiles, input_options):
        return []
    if find_column(profiles, ColumnNames.COUNT[-1:]) is None and not input_options.ranks:
        raise _no_negatives_error(file)
    return [Reading("given", Columns("", naming=model_column), input_options)]


def _no_negatives_error(file: str) -> DataError:
    """Build the error of counts without true negatives, where these are needed."""
    tn_column = ColumnNames.COUNT[-1]
    message = f"counts without a column '{tn_column}' of true negatives"
    hint = f"add the column '{tn_column}'; clfeval report measures precision and recall without it"
    return DataError.new(message, "no-tn", file, hint=hint)


def read_confusions(
    file: TableFile, model_column: str, keys: Sequence[str] = ()
) -> list[CountsRow]:
    """Read the counts of every row; DataError for invalid counts and repeated rows.

    keys: the columns of runs or slices.
    """
    count_columns = _count_columns(file)
    if file.head and file.source:
        inspect_structure(file.source, file.columns)  # a few lines, read at once
    key_columns = [model_column, *keys]
    frame = in_polars(scan(file, dict.fromkeys([*key_columns, *count_columns], "text"))).collect()
    problems: list[Problem] = []
    rows_by_key: dict[tuple[str, ...], CountsRow] = {}
    for row_number, row_cells in enumerate(frame.rows(), start=2 if file.head else 1):
        key_cells = [
            None if is_missing(key_cell) else key_cell for key_cell in row_cells[: len(key_columns)]
        ]
        count_cells = row_cells[len(key_columns) :]
        counts = [_count(cell) for cell in count_cells]
        problems += _cell_problems(
            file.name,
            row_number,
            (*count_columns, *key_columns),
            (*count_cells, *key_cells),
            (*counts, *key_cells),
        )
        row_key = tuple(map(str, key_cells))  # the model, and the run or slice
        if None not in key_cells and row_key in rows_by_key:
            problems.append(_repeated_row_problem(file.name, row_number, row_key, model_column))
        rows_by_key[row_key] = _counts_row(row_key, counts)
    if not rows_by_key:
        raise DataError.new("no rows to evaluate", "empty-table", file.name, hint=HEADER_ONLY)
    if problems:
        raise _invalid_counts_error(problems, count_columns, keys)
    if not any(row.tp or row.fp or row.fn or row.tn > 0 for row in rows_by_key.values()):
        raise DataError.new("no rows to evaluate: all counts are 0", "empty-table", file.name)
    return list(rows_by_key.values())


def _counts_row(row_key: Sequence[str], counts: Sequence[int | None]) -> CountsRow:
    """Return the counts of a row: NaN for true negatives without a column, 0 for an invalid count.

    row_key: the model, and the run or slice.
    """
    padded_counts = [*counts, nan][: len(ColumnNames.COUNT)]
    tp, fp, fn, tn = (0 if count is None else count for count in padded_counts)
    model, *slice_key = row_key
    return CountsRow(model, int(tp), int(fp), int(fn), tn, tuple(slice_key))


def _count_columns(file: TableFile) -> list[str]:
    """Return the columns of TP, FP, FN and, if they were counted, TN."""
    columns = (find_column(file.columns, (name,)) for name in ColumnNames.COUNT)
    return [name for name in columns if name is not None]


def _repeated_row_problem(
    file: str, row: int, row_key: Sequence[str], model_column: str
) -> Problem:
    """Return the problem of a row with the model and the keys of an earlier one."""
    message = f"'{', '.join(row_key)}' is already in an earlier row"
    return Problem(message, "duplicate-row", file, row, model_column)


def _cell_problems(
    file: str, row: int, columns: Sequence[str], cells: Sequence[object], values: Sequence[object]
) -> Iterator[Problem]:
    """Yield the problems of the cells without a value: missing ones, and those not a count."""
    for column, cell, value in zip(columns, cells, values, strict=True):
        if value is None and cell is None:
            yield Problem("missing value", "missing-value", file, row, column)
        elif value is None:
            yield Problem(f"'{cell}' is not a count", "bad-count", file, row, column)


def _invalid_counts_error(
    problems: Sequence[Problem], count_columns: Sequence[str], keys: Sequence[str]
) -> DataError:
    """Build the error of invalid rows of counts; keys: the columns of runs or slices."""
    has_bad_count = any(problem.column in count_columns for problem in problems)
    hint = "use whole numbers of at least 0" if has_bad_count else "give one complete row per model"
    if not has_bad_count and not keys:
        hint += (
            f"; for slices add {OPTION}--by COLUMN{END}, for runs {OPTION}--run COLUMN{END} "
            "(phidelta)"
        )
    return DataError(problems, hint=hint)


def read_confusion_files(
    files: Sequence[TableFile], model_column: str, keys: Sequence[str], models: Sequence[str]
) -> list[list[CountsRow]]:
    """Read the counts of every file, of some models if any are named; DataError as of one file."""
    rows_by_file: list[list[CountsRow]] = []
    for file in files:
        rows = read_confusions(file, model_column, keys)
        if models:
            selected_models = match_names(
                file.name, list(dict.fromkeys(row.model for row in rows)), models
            )
            rows = [row for model in selected_models for row in rows if row.model == model]
        earlier_keys = {(row.model, *row.keys) for file_rows in rows_by_file for row in file_rows}
        row_keys = [(row.model, *row.keys) for row in rows]
        repeated_keys = [row_key for row_key in row_keys if row_key in earlier_keys]
        if repeated_keys:
            message = f"'{', '.join(repeated_keys[0])}' is already in an earlier file"
            hint = f"if each file is a run, add {SWITCH}--run-files{END}"
            raise DataError.new(message, "duplicate-row", file.name, hint=hint)
        rows_by_file.append(rows)
    return rows_by_file


def expand_counts(
    file: TableFile, model_column: str, input_options: InputOptions
) -> tuple[TableFile, InputOptions]:
    """Convert the counts of a single model into a weighted wide table of four rows.

    DataError for several models, whose joint counts are unknown.
    """
    if input_options.cluster is not None:
        message = f"{OPTION}--cluster{END} needs predictions, but the table holds counts"
        raise UsageError.new(message, "needs-predictions", hint="leave it out")
    rows = read_confusions(file, model_column)
    if input_options.model:
        rows = [row for row in rows if row.model in input_options.model]
    if len(rows) != 1:
        models_text = list_names(row.model for row in rows)
        message = f"counts per model ({models_text}) do not say which rows the models share"
        hint = (
            f"use predictions with one column per model, or select one {OPTION}--model{END}; "
            "clfeval "
        )
        hint += "phidelta and clfeval tune-jpt read counts of several models"
        raise DataError.new(message, "needs-predictions", file.name, hint=hint)
    counts_row = rows[0]
    if isnan(counts_row.tn):
        raise _no_negatives_error(file.name)
    positive_label = input_options.positive or "1"
    negative_label = "0" if positive_label == "1" else f"not {positive_label}"
    label_columns = {
        "truth": [positive_label, negative_label, positive_label, negative_label],
        counts_row.model: [positive_label, positive_label, negative_label, negative_label],
    }
    frame = pl.LazyFrame(
        {**label_columns, "n": [counts_row.tp, counts_row.fp, counts_row.fn, counts_row.tn]}
    )
    wide_options = InputOptions(
        truth="truth",
        model=(counts_row.model,),
        positive=positive_label,
        classes=(negative_label,),
        weight="n",
        layout="wide",
    )
    columns = ("truth", counts_row.model, "n")
    return replace(file, columns=columns, native=nw.from_native(frame), head=None), wide_options


def _count(cell: object) -> int | None:
    """Return the whole number that a cell holds, from 0 to `MOST`; None for other cells."""
    number_text = str(cell)
    if not number_text.isdecimal():
        try:
            number = float(number_text)
        except ValueError:
            return None
        number_text = f"{number:.0f}" if number >= 0 and number.is_integer() else ""
    return int(number_text) if number_text and int(number_text) <= MOST else None


COUNTS_LAYOUT = replace(
    wide.LAYOUT,  # for the predictions counted in it
    name="counts",
    needs="model, tp, fp, fn, tn",
    readings=counts_readings,
    expand=expand_counts,
)
