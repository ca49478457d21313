"""The second pass, taken only when the counts show something wrong: find the rows to name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clfeval.errors import KEPT, Problem, listing
from clfeval.late import pl
from clfeval.tables.scan import FILE_NAME, TableFile, scan

FILE, ROW, PLACE = FILE_NAME, "__clfeval_row", "__clfeval_place"
VALUE = "__clfeval_value"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look for in one column: rows where `bad` holds are problems with `code`.

    `what` may hold {value}, the cell as text, and {extra}, the text of the expression `extra`.
    """

    column: str
    code: str
    what: str
    bad: pl.Expr
    extra: pl.Expr | None = None


def text_of(column: str) -> pl.Expr:
    """Return a column as text."""
    return pl.col(column).cast(pl.String)


def number_of(column: str) -> pl.Expr:
    """Return a column as numbers, null where it holds none."""
    return pl.col(column).cast(pl.String).cast(pl.Float64, strict=False)


def missing_label(column: str) -> Check:
    """Look for empty cells."""
    return Check(column, "missing-value", "missing", pl.col(column).is_null())


def missing_of(column: str, frame: pl.LazyFrame) -> Check:
    """Look for empty cells, and for NaN where the column holds numbers."""
    numbers = frame.collect_schema()[column].is_float()
    return missing_score(column) if numbers else missing_label(column)


def missing_score(column: str) -> Check:
    """Look for empty cells and NaN."""
    absent = pl.col(column).is_null() | number_of(column).is_nan().fill_null(value=False)
    return Check(column, "missing-value", "missing", absent)


def bad_number(column: str) -> Check:
    """Look for text that is no number."""
    bad = pl.col(column).is_not_null() & number_of(column).is_null()
    return Check(column, "bad-number", "'{value}' is not a number", bad)


def unknown_label(column: str, known: Sequence[str], *, only: pl.Expr | None = None) -> Check:
    """Look for labels that are not among the known ones."""
    bad = pl.col(column).is_not_null() & ~text_of(column).is_in(list(known))
    what = "'{value}' is not among truth's labels " + _plain(listing(known))
    return Check(column, "unknown-label", what, bad if only is None else bad & only)


def bad_weight(column: str) -> Check:
    """Look for weights that are absent, negative, infinite or no number."""
    number = number_of(column)
    good = (number >= 0) & number.is_finite()
    what = "'{value}' is not a weight (a finite number, not negative)"
    return Check(column, "bad-weight", what, ~good.fill_null(value=False))


def count_blank(file: TableFile) -> int:
    """Count the lines of a text table that hold no value at all."""
    if file.head is None:
        return 0
    every = pl.len() - numbered(file).select(pl.len()).collect().item()
    return int(scan(file, {file.columns[0]: "text"}).to_native().select(every).collect().item())


def repeated(column: str, run: str | None = None) -> Check:
    """Look for ids that stand in more than one row; the first row is given with each later one.

    With `run` an id may stand in one row of each run.
    """
    first = pl.col(PLACE).first().over(_within(column, run))
    return Check(
        column, "duplicate-id", "'{value}' stands in {extra} already",
        (pl.col(PLACE) != first) & pl.col(column).is_not_null(), first,
    )  # fmt: skip


def long_checks(
    row_id: str, model: str, constants: Sequence[str], run: str | None = None
) -> list[Check]:
    """Look for rows given twice, and for truth, slices or weights that differ within one id."""
    row = _within(row_id, run)
    pair = pl.struct(*row, model)
    first_pair = pl.col(PLACE).first().over(pair)
    checks = [
        Check(
            model, "duplicate-row", "'{value}' answered this id in {extra} already",
            (pl.col(PLACE) != first_pair) & pl.col(row_id).is_not_null(), first_pair,
        )
    ]  # fmt: skip
    for name in constants:
        code = "conflicting-truth" if name == constants[0] else "conflicting-value"
        if name == constants[0]:
            first = text_of(name).drop_nulls().first().over(row)
            bad = text_of(name) != first
        else:
            first = text_of(name).first().over(row).fill_null("")
            bad = text_of(name).fill_null("") != first
        what = "'{value}' where an earlier row of this id has '{extra}'"
        checks.append(Check(name, code, what, bad & pl.col(row_id).is_not_null(), first))
    return checks


def _within(row_id: str, run: str | None) -> list[str]:
    return [row_id] if run is None else [row_id, run]


def lacking_rows(
    row_id: str, model: str, models: Sequence[str], run: str | None = None
) -> list[Check]:
    """Look for ids some model has no row for, at the first row that has the id."""
    row = _within(row_id, run)
    first = (pl.col(PLACE) == pl.col(PLACE).first().over(row)) & pl.col(row_id).is_not_null()
    return [
        Check(
            model, "unequal-ids", f"id '{{extra}}' has no row of model '{_plain(name)}'",
            first & ~(pl.col(model) == name).any().over(row), text_of(row_id),
        )
        for name in models
    ]  # fmt: skip


def _plain(text: str) -> str:
    """Return text in which braces stand for themselves."""
    return text.replace("{", "{{").replace("}", "}}")


def numbered(file: TableFile, null_values: Sequence[str] = ()) -> pl.LazyFrame:
    """Read a table for naming rows: text files as text, header first; others from row 1.

    Lines without any value are blank and not named.
    """
    if file.head is not None:
        text: pl.LazyFrame = scan(file, dict.fromkeys(file.columns, "text")).to_native()
        blank = pl.all_horizontal(pl.col(name).is_null() for name in file.columns)
        frame = _placed(text, file.name, file.head.header_row + 1).filter(~blank)
    else:
        assert file.native is not None
        typed: pl.DataFrame = file.native.collect("polars").to_native()
        frame = _placed(typed.lazy(), file.name, 1)
    if not null_values:
        return frame
    kept = [
        pl.when(~text_of(name).is_in(list(null_values))).then(pl.col(name)).alias(name)
        for name in file.columns
    ]
    return frame.with_columns(kept)


def _placed(frame: pl.LazyFrame, file: str, first: int) -> pl.LazyFrame:
    place = pl.format("{}:{}", pl.lit(file), pl.col(ROW)).alias(PLACE)
    return frame.with_row_index(ROW, offset=first).with_columns(pl.lit(file).alias(FILE), place)


def run_checks(frame: pl.LazyFrame, checks: Iterable[Check]) -> tuple[list[Problem], Counter[str]]:
    """Run the checks; return the first problems of each and the totals by code."""
    problems: list[Problem] = []
    totals: Counter[str] = Counter()
    for check in checks:
        extra = check.extra if check.extra is not None else pl.lit("")
        found = frame.select(
            FILE, ROW, text_of(check.column).alias(VALUE), extra.alias("extra"),
            check.bad.alias("bad"),
        ).filter("bad").drop("bad")  # fmt: skip
        rows = found.collect(engine="streaming").sort(FILE, ROW)
        totals[check.code] += rows.height
        problems += [
            Problem(
                check.what.format(value="" if value is None else value, extra=extra_text),
                check.code,
                file,
                row,
                check.column,
            )
            for file, row, value, extra_text in rows.head(KEPT).iter_rows()
        ]
    return problems, +totals
