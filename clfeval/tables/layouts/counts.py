"""Counts tables: `model,tp,fp,fn,tn`, one row per model, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clfeval.arrays import MOST
from clfeval.errors import HEADER_ONLY, DataError, Problem, UsageError, list_names
from clfeval.tables.cells import is_missing
from clfeval.tables.columns import Columns
from clfeval.tables.csv import inspect_structure
from clfeval.tables.input import ColumnNames, Input, find_column
from clfeval.tables.layouts import wide
from clfeval.tables.lazy_imports import nw, pl
from clfeval.tables.peek import ColumnPeek
from clfeval.tables.scan import TableFile, scan


@dataclass(frozen=True, slots=True)
class CountsRow:
    """One model's 2 x 2 table: whole numbers, positives tp + fn, negatives fp + tn.

    keys: the run or slice.
    """

    model: str
    tp: int
    fp: int
    fn: int
    tn: int
    keys: tuple[str, ...] = ()


def recognise(file: str, peeks: Mapping[str, ColumnPeek], roles: Input) -> Columns | None:  # noqa: ARG001
    """Recognise a table with a model column, four columns of counts, and no truth option."""
    model = find_column(peeks, ColumnNames.MODEL)
    whole = all(find_column(peeks, (name,)) for name in ColumnNames.COUNT)
    return Columns("", naming=model) if model and whole and not roles.truth else None


def read_confusions(
    file: TableFile, model_column: str, keys: Sequence[str] = ()
) -> list[CountsRow]:
    """Read the counts of every row; DataError for invalid counts and repeated rows."""
    columns = [str(find_column(file.columns, (name,))) for name in ColumnNames.COUNT]
    if file.head and file.source:
        inspect_structure(file.source, file.columns)  # a few lines, read at once
    named = [model_column, *keys]
    frame = scan(file, dict.fromkeys([*named, *columns], "text")).collect("polars")
    problems: list[Problem] = []
    rows: dict[tuple[str, ...], CountsRow] = {}
    for number, values in enumerate(frame.rows(), start=2 if file.head else 1):
        names = [None if is_missing(name) else name for name in values[: len(named)]]
        cells = values[len(named) :]
        counts = [_count(cell) for cell in cells]
        parts = zip((*columns, *named), (*cells, *names), (*counts, *names), strict=True)
        for column, cell, found in parts:
            if found is None:
                what = "missing value" if cell is None else f"'{cell}' is not a count"
                code = "missing-value" if cell is None else "bad-count"
                problems.append(Problem(what, code, file.name, number, column))
        place = tuple(map(str, names))
        if None not in names and place in rows:
            what = f"'{', '.join(place)}' is already in an earlier row"
            problems.append(Problem(what, "duplicate-row", file.name, number, model_column))
        tp, fp, fn, tn = (count or 0 for count in counts)
        rows[place] = CountsRow(place[0], tp, fp, fn, tn, place[1:])
    if not rows:
        raise DataError.new("no rows to evaluate", "empty-table", file.name, hint=HEADER_ONLY)
    if problems:
        bad = any(problem.column in columns for problem in problems)
        hint = "use whole numbers of at least 0" if bad else "give one complete row per model"
        if not bad and not keys:
            hint += "; for slices add --by COLUMN, for runs --run COLUMN (phidelta)"
        raise DataError(problems, hint=hint)
    if not any(row.tp or row.fp or row.fn or row.tn for row in rows.values()):
        raise DataError.new("no rows to evaluate: all counts are 0", "empty-table", file.name)
    return list(rows.values())


def expand_counts(file: TableFile, model_column: str, roles: Input) -> tuple[TableFile, Input]:
    """Convert the counts of a single model into a weighted wide table of four rows.

    DataError for several models, whose joint counts are unknown.
    """
    if roles.cluster is not None:
        what = "--cluster needs predictions, but the table holds counts"
        raise UsageError.new(what, "needs-predictions", hint="leave it out")
    confusions = read_confusions(file, model_column)
    if roles.model:
        confusions = [item for item in confusions if item.model in roles.model]
    if len(confusions) != 1:
        names = list_names(item.model for item in confusions)
        what = f"counts per model ({names}) do not say which rows the models share"
        hint = "use predictions with one column per model, or select one --model; clfeval "
        hint += "phidelta and clfeval tune-jpt read counts of several models"
        raise DataError.new(what, "needs-predictions", file.name, hint=hint)
    one = confusions[0]
    yes = roles.positive or "1"
    no = "0" if yes == "1" else f"not {yes}"
    said = {"truth": [yes, no, yes, no], one.model: [yes, yes, no, no]}
    frame = pl.LazyFrame({**said, "n": [one.tp, one.fp, one.fn, one.tn]})
    plain = Input(
        truth="truth", model=(one.model,), positive=yes, classes=(no,), weight="n", layout="wide"
    )
    columns = ("truth", one.model, "n")
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


LAYOUT = replace(
    wide.LAYOUT,  # for the predictions counted in it
    name="counts",
    needs="model, tp, fp, fn, tn",
    recognise=recognise,
    expand=expand_counts,
)
