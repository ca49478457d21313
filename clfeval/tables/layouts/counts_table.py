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


def holds_counts(columns: Iterable[str], roles: InputOptions) -> bool:
    """Return whether a table has model names and counts of TP, FP and FN, and no truth."""
    names = tuple(columns)
    needed = (ColumnNames.MODEL, *((name,) for name in ColumnNames.COUNT[:-1]))
    return not roles.truth and all(find_column(names, words) for words in needed)


def counts_readings(
    file: str, profiles: Mapping[str, ColumnProfile], roles: InputOptions
) -> list[Reading]:
    """Return the reading of a table with model names and columns of counts, without truth.

    DataError if there are no true negatives, which all commands but report need.
    """
    model = find_column(profiles, ColumnNames.MODEL)
    if model is None or not holds_counts(profiles, roles):
        return []
    if find_column(profiles, ColumnNames.COUNT[-1:]) is None and not roles.ranks:
        raise _no_negatives_error(file)
    return [Reading("given", Columns("", naming=model), roles)]


def _no_negatives_error(file: str) -> DataError:
    """Build the error of counts without true negatives, where these are needed."""
    tn = ColumnNames.COUNT[-1]
    message = f"counts without a column '{tn}' of true negatives"
    hint = f"add the column '{tn}'; clfeval report measures precision and recall without it"
    return DataError.new(message, "no-tn", file, hint=hint)


def read_confusions(
    file: TableFile, model_column: str, keys: Sequence[str] = ()
) -> list[CountsRow]:
    """Read the counts of every row; DataError for invalid counts and repeated rows."""
    columns = _count_columns(file)
    if file.head and file.source:
        inspect_structure(file.source, file.columns)  # a few lines, read at once
    key_columns = [model_column, *keys]
    frame = in_polars(scan(file, dict.fromkeys([*key_columns, *columns], "text"))).collect()
    problems: list[Problem] = []
    rows: dict[tuple[str, ...], CountsRow] = {}
    for number, values in enumerate(frame.rows(), start=2 if file.head else 1):
        names = [None if is_missing(name) else name for name in values[: len(key_columns)]]
        cells = values[len(key_columns) :]
        counts = [_count(cell) for cell in cells]
        problems += _cell_problems(
            file.name, number, (*columns, *key_columns), (*cells, *names), (*counts, *names)
        )
        place = tuple(map(str, names))
        if None not in names and place in rows:
            problems.append(_repeated_row_problem(file.name, number, place, model_column))
        tp, fp, fn, tn = (count or 0 for count in [*counts, nan][: len(ColumnNames.COUNT)])
        rows[place] = CountsRow(place[0], int(tp), int(fp), int(fn), tn, place[1:])
    if not rows:
        raise DataError.new("no rows to evaluate", "empty-table", file.name, hint=HEADER_ONLY)
    if problems:
        raise _invalid_counts_error(problems, columns, keys)
    if not any(row.tp or row.fp or row.fn or row.tn > 0 for row in rows.values()):
        raise DataError.new("no rows to evaluate: all counts are 0", "empty-table", file.name)
    return list(rows.values())


def _count_columns(file: TableFile) -> list[str]:
    """Return the columns of TP, FP, FN and, if they were counted, TN."""
    columns = (find_column(file.columns, (name,)) for name in ColumnNames.COUNT)
    return [name for name in columns if name is not None]


def _repeated_row_problem(file: str, row: int, place: Sequence[str], model_column: str) -> Problem:
    """Return the problem of a row with the model and the keys of an earlier one."""
    message = f"'{', '.join(place)}' is already in an earlier row"
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
    problems: Sequence[Problem], columns: Sequence[str], keys: Sequence[str]
) -> DataError:
    """Build the error of invalid rows of counts; columns: those of the counts."""
    bad = any(problem.column in columns for problem in problems)
    hint = "use whole numbers of at least 0" if bad else "give one complete row per model"
    if not bad and not keys:
        hint += (
            f"; for slices add {OPTION}--by COLUMN{END}, for runs {OPTION}--run COLUMN{END} "
            "(phidelta)"
        )
    return DataError(problems, hint=hint)


def read_confusion_files(
    files: Sequence[TableFile], model_column: str, keys: Sequence[str], models: Sequence[str]
) -> list[list[CountsRow]]:
    """Read the counts of every file, of some models if any are named; DataError as of one file."""
    parts: list[list[CountsRow]] = []
    for file in files:
        confusions = read_confusions(file, model_column, keys)
        if models:
            selected = match_names(
                file.name, list(dict.fromkeys(row.model for row in confusions)), models
            )
            confusions = [row for name in selected for row in confusions if row.model == name]
        earlier = {(row.model, *row.keys) for part in parts for row in part}
        for again in (row for row in confusions if (row.model, *row.keys) in earlier):
            message = f"'{', '.join((again.model, *again.keys))}' is already in an earlier file"
            hint = f"if each file is a run, add {SWITCH}--run-files{END}"
            raise DataError.new(message, "duplicate-row", file.name, hint=hint)
        parts.append(confusions)
    return parts


def expand_counts(
    file: TableFile, model_column: str, roles: InputOptions
) -> tuple[TableFile, InputOptions]:
    """Convert the counts of a single model into a weighted wide table of four rows.

    DataError for several models, whose joint counts are unknown.
    """
    if roles.cluster is not None:
        message = f"{OPTION}--cluster{END} needs predictions, but the table holds counts"
        raise UsageError.new(message, "needs-predictions", hint="leave it out")
    confusions = read_confusions(file, model_column)
    if roles.model:
        confusions = [row for row in confusions if row.model in roles.model]
    if len(confusions) != 1:
        names = list_names(row.model for row in confusions)
        message = f"counts per model ({names}) do not say which rows the models share"
        hint = (
            f"use predictions with one column per model, or select one {OPTION}--model{END}; "
            "clfeval "
        )
        hint += "phidelta and clfeval tune-jpt read counts of several models"
        raise DataError.new(message, "needs-predictions", file.name, hint=hint)
    confusion = confusions[0]
    if isnan(confusion.tn):
        raise _no_negatives_error(file.name)
    yes = roles.positive or "1"
    no = "0" if yes == "1" else f"not {yes}"
    labels = {"truth": [yes, no, yes, no], confusion.model: [yes, yes, no, no]}
    frame = pl.LazyFrame({**labels, "n": [confusion.tp, confusion.fp, confusion.fn, confusion.tn]})
    plain = InputOptions(
        truth="truth",
        model=(confusion.model,),
        positive=yes,
        classes=(no,),
        weight="n",
        layout="wide",
    )
    columns = ("truth", confusion.model, "n")
    return replace(file, columns=columns, native=nw.from_native(frame), head=None), plain


def _count(cell: object) -> int | None:
    text = str(cell)
    if not text.isdigit():
        try:
            number = float(text)
        except ValueError:
            return None
        text = f"{number:.0f}" if number >= 0 and number.is_integer() else ""
    return int(text) if text and int(text) <= MOST else None


COUNTS_LAYOUT = replace(
    wide.LAYOUT,  # for the predictions counted in it
    name="counts",
    needs="model, tp, fp, fn, tn",
    readings=counts_readings,
    expand=expand_counts,
)
