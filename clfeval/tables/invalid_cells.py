"""The second pass over invalid rows, run only when the counts show problems, to name the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clfeval.errors import MAX_PROBLEMS, Problem, list_names, quote_name
from clfeval.tables.input import FILE_NAME
from clfeval.tables.lazy_imports import pl
from clfeval.tables.scan import TableFile, fold_text, parse_number_text, recode_bits, scan

if TYPE_CHECKING:
    from clfeval.tables.columns import Columns

FILE, ROW, PLACE = FILE_NAME, "__clfeval_row", "__clfeval_place"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Problems shown by the counts, whose rows a second pass names.

    known: truth's labels; unknown: models with other labels; strict: missing values are errors;
    wrong: rows of one id contradict each other; weights: some are invalid.
    """

    known: Sequence[str]
    unknown: Container[str]
    strict: bool
    wrong: bool
    weights: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A check of one column: rows where `bad` holds are problems with `code`.

    `what` may hold {value}, the cell as text, and {extra}, the text of the expression `extra`.
    """

    column: str
    code: str
    what: str
    bad: pl.Expr
    extra: pl.Expr | None = None


def column_as_text(column: str) -> pl.Expr:
    """Return the expression of a column as text."""
    return pl.col(column).cast(pl.String)


def column_as_number(column: str, written: Container[str] = ()) -> pl.Expr:
    """Return the expression of a column as numbers, null where it has none."""
    text = column_as_text(column)
    return parse_number_text(text) if column in written else text.cast(pl.Float64, strict=False)


def missing_value(column: str, *, number: bool = False, written: Container[str] = ()) -> Check:
    """Return the check for empty cells, and for NaN in numbers."""
    absent = pl.col(column).is_null()
    if number:
        absent |= column_as_number(column, written).is_nan().fill_null(value=False)
    return Check(column, "missing-value", "missing value", absent)


def missing_cell(column: str, frame: pl.LazyFrame) -> Check:
    """Return the check for empty cells, and for NaN if the column is of a numeric type."""
    return missing_value(column, number=frame.collect_schema()[column].is_float())


def bad_number(column: str, written: Container[str] = ()) -> Check:
    """Return the check for text that is not a number."""
    bad = pl.col(column).is_not_null() & column_as_number(column, written).is_null()
    return Check(column, "bad-number", "'{value}' is not a number", bad)


def bad_answer(
    column: str, columns: Columns, suspicion: Suspicion, *, number: bool, unknown: bool = True
) -> list[Check]:
    """Return the checks for invalid predictions: not a number, or not a known label."""
    written, text = columns.written, column_as_text(column)
    checks = [missing_value(column, number=number, written=written)] if suspicion.strict else []
    if number:
        checks.append(bad_number(column, written))
    elif unknown:
        if column in columns.bits:
            text = recode_bits(pl, text, columns.bits[column])
        text = fold_text(text) if columns.fold else text
        bad = pl.col(column).is_not_null() & ~text.is_in(list(suspicion.known))
        what = "'{value}' is not among truth's labels " + escape_braces(list_names(suspicion.known))
        checks.append(Check(column, "unknown-label", what, bad))
    return checks


def zero_probabilities(model: str, columns: Sequence[str], written: Container[str] = ()) -> Check:
    """Return the check for class probabilities that are all 0, which cannot be normalised."""
    none = pl.all_horizontal(column_as_number(column, written) == 0 for column in columns)
    what = f"the class probabilities of {escape_braces(quote_name(model))} are all 0"
    return Check(columns[0], "bad-sum", what, none)


def bad_weight(column: str, written: Container[str] = ()) -> Check:
    """Return the check for weights that are missing, negative, infinite or not a number."""
    number = column_as_number(column, written)
    good = (number >= 0) & number.is_finite()
    what = "'{value}' is not a valid weight"
    return Check(column, "bad-weight", what, ~good.fill_null(value=False))


def count_blank(file: TableFile) -> int:
    """Count the blank lines of a text table."""
    if file.head is None:
        return 0
    text: pl.LazyFrame = scan(file, dict.fromkeys(file.columns, "text")).to_native()
    blank = pl.all_horizontal(pl.all().is_null()).sum()
    return int(text.select(blank).collect(engine="streaming").item())


def duplicate_id(*row: str) -> Check:
    """Return the check for ids in more than one row (of a run, if given), with their first row."""
    first = pl.col(PLACE).first().over(row)
    again = (pl.col(PLACE) != first) & pl.col(row[0]).is_not_null()
    return Check(row[0], "duplicate-id", "'{value}' is already in {extra}", again, first)


def escape_braces(text: str) -> str:
    """Escape braces in a text for str.format."""
    return text.replace("{", "{{").replace("}", "}}")


def numbered_rows(file: TableFile, null_values: Sequence[str] = ()) -> pl.LazyFrame:
    """Read a table with row numbers (header is row 1), text files as text, without blank lines."""
    frame: pl.LazyFrame
    if file.head is not None:
        frame = scan(file, dict.fromkeys(file.columns, "text")).to_native()
    else:
        assert file.native is not None
        frame = file.native.collect("polars").to_native().lazy()
    if ROW not in frame.collect_schema():  # rows kept by --where have their row numbers in the file
        frame = frame.with_row_index(ROW, offset=file.head.header_row + 1 if file.head else 1)
    place = pl.format("{}:{}", pl.lit(file.name), pl.col(ROW)).alias(PLACE)
    frame = frame.with_columns(pl.lit(file.name).alias(FILE), place)
    if file.head is not None:
        frame = frame.filter(~pl.all_horizontal(pl.col(name).is_null() for name in file.columns))
    marks = list(null_values)
    cells = [pl.when(~column_as_text(n).is_in(marks)).then(pl.col(n)) for n in file.columns]
    return frame.with_columns(cells) if marks else frame


def run_checks(frame: pl.LazyFrame, checks: Iterable[Check]) -> tuple[list[Problem], Counter[str]]:
    """Run the checks; return the first problems of each and the totals by code."""
    problems: list[Problem] = []
    totals: Counter[str] = Counter()
    for check in checks:
        extra = check.extra if check.extra is not None else pl.lit("")
        value = column_as_text(check.column).alias("__clfeval_value")
        found = frame.select(FILE, ROW, value, extra=extra, bad=check.bad).filter("bad").drop("bad")
        rows = found.collect(engine="streaming").sort(FILE, ROW)
        totals[check.code] += rows.height
        for file, row, text, more in rows.head(MAX_PROBLEMS).iter_rows():
            what = check.what.format(value="" if text is None else text, extra=more)
            problems.append(Problem(what, check.code, file, row, check.column))
    return problems, +totals
