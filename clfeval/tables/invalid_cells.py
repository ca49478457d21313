"""Errors of cells: invalid numbers, missing values, text that is not UTF-8, with their rows."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from clfeval.errors import (
    MAX_PROBLEMS,
    ClfevalError,
    DataError,
    Problem,
    UsageError,
    format_option,
    list_names,
    quote_name,
    raise_shortage,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.csv import (
    HEAD_BYTES,
    TRIED_LINES,
    CsvHead,
    FingerprintTask,
    inspect_structure,
    other_delimiter,
    read_csv_head,
    skip_comments,
    start_fingerprint,
)
from clfeval.tables.frames import collect, engine_errors, in_polars, nw, pl
from clfeval.tables.input import FILE_NAME
from clfeval.tables.scan import (
    NO_TAIL,
    TEXT_BYTES,
    TableFile,
    fold_text,
    open_typed,
    parse_number_text,
    scan,
    spell_labels,
    unreadable_error,
)
from clfeval.tables.source import SourceFile, refuse_count_summary

if TYPE_CHECKING:
    from clfeval.tables.columns import Columns

FILE, ROW, PLACE = FILE_NAME, "__clfeval_row", "__clfeval_place"
FIRST_ROWS = 50_000  # of Spark


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

    `message` may hold {value}, the cell as text, and {extra}, the text of the expression `extra`.
    """

    column: str
    code: str
    message: str
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
    is_absent = pl.col(column).is_null()
    if number:
        is_absent |= column_as_number(column, written).is_nan().fill_null(value=False)
    return Check(column, "missing-value", "missing value", is_absent)


def missing_cell(column: str, frame: pl.LazyFrame) -> Check:
    """Return the check for empty cells, and for NaN if the column is of a numeric type."""
    return missing_value(column, number=frame.collect_schema()[column].is_float())


def bad_number(column: str, written: Container[str] = ()) -> Check:
    """Return the check for text that is not a number."""
    is_bad = pl.col(column).is_not_null() & column_as_number(column, written).is_null()
    return Check(column, "bad-number", "'{value}' is not a number", is_bad)


def prediction_checks(
    column: str, columns: Columns, suspicion: Suspicion, *, number: bool, unknown: bool = True
) -> list[Check]:
    """Return the checks for invalid predictions: not a number, or not a known label.

    number: the column has numbers, else labels. unknown: whether labels are checked.
    """
    written, text = columns.written, column_as_text(column)
    checks = [missing_value(column, number=number, written=written)] if suspicion.strict else []
    if number:
        checks.append(bad_number(column, written))
    elif unknown:
        if column in columns.spelled:
            text = spell_labels(pl, text, columns.spelled[column])
        text = fold_text(text) if columns.fold else text
        is_unknown = pl.col(column).is_not_null() & ~text.is_in(list(suspicion.known))
        message = "'{value}' is not among truth's labels " + escape_braces(
            list_names(suspicion.known)
        )
        checks.append(Check(column, "unknown-label", message, is_unknown))
    return checks


def zero_probabilities(model: str, columns: Sequence[str], written: Container[str] = ()) -> Check:
    """Return the check for class probabilities that are all 0, which cannot be normalised."""
    are_zero = pl.all_horizontal(column_as_number(column, written) == 0 for column in columns)
    message = f"the class probabilities of {escape_braces(quote_name(model))} are all 0"
    return Check(columns[0], "bad-sum", message, are_zero)


def bad_weight(column: str, written: Container[str] = ()) -> Check:
    """Return the check for weights that are missing, negative, infinite or not a number."""
    number = column_as_number(column, written)
    is_valid = (number >= 0) & number.is_finite()
    message = "'{value}' is not a valid weight"
    return Check(column, "bad-weight", message, ~is_valid.fill_null(value=False))


def count_blank(file: TableFile) -> int:
    """Count the blank lines of a text table."""
    if file.head is None:
        return 0
    text_cells: pl.LazyFrame = scan(file, dict.fromkeys(file.columns, "text")).to_native()
    blank_count = pl.all_horizontal(pl.all().is_null()).sum()
    return int(text_cells.select(blank_count).collect(engine="streaming").item())


def duplicate_id(*row: str) -> Check:
    """Return the check for ids in more than one row (of a run, if given), with their first row."""
    first_place = pl.col(PLACE).first().over(row)
    is_repeated = (pl.col(PLACE) != first_place) & pl.col(row[0]).is_not_null()
    return Check(
        row[0], "duplicate-id", "'{value}' is already in {extra}", is_repeated, first_place
    )


def escape_braces(text: str) -> str:
    """Escape braces in a text for str.format."""
    return text.replace("{", "{{").replace("}", "}}")


def unknown_rows_error(name: str) -> DataError:
    """Build the error for invalid values in rows that Spark does not number."""
    message = "some rows have missing or invalid values, and Spark does not say which"
    hint = (
        f"add {OPTION}--missing drop{END} for missing ones, or look at some rows without "
        f"{OPTION}--engine{END}"
    )
    return DataError.new(message, "bad-file", name, hint=hint)


def numbered_rows(
    file: TableFile, null_values: Sequence[str] = (), *, first: bool = False
) -> pl.LazyFrame:
    """Read a table with row numbers (header is row 1), text files as text, without blank lines.

    Raises DataError for Spark, which has no order of rows; first: take some rows, not numbered.
    """
    frame: pl.LazyFrame
    if file.head is not None:
        frame = scan(file, dict.fromkeys(file.columns, "text")).to_native()
    else:  # NaN is a missing value in every column
        assert file.native is not None
        if file.native.implementation.is_spark_like():  # all rows would be brought here
            if not first:
                raise unknown_rows_error(file.name)
            frame = in_polars(file.native.head(FIRST_ROWS)).with_columns(pl.lit(None).alias(ROW))
        else:
            frame = in_polars(file.native)
        frame = frame.with_columns(pl.selectors.float().fill_nan(None))
    if ROW not in frame.collect_schema():  # rows kept by --where have their row numbers in the file
        frame = frame.with_row_index(ROW, offset=file.head.header_row + 1 if file.head else 1)
    place = pl.format("{}:{}", pl.lit(file.name), pl.col(ROW)).alias(PLACE)
    frame = frame.with_columns(pl.lit(file.name).alias(FILE), place)
    if file.head is not None:
        frame = frame.filter(~pl.all_horizontal(pl.col(name).is_null() for name in file.columns))
    null_texts = list(null_values)
    if not null_texts:
        return frame
    # polars names the columns of pandas that have no name
    schema_names = set(frame.collect_schema())
    return frame.with_columns(
        pl.when(~column_as_text(name).is_in(null_texts)).then(pl.col(name))
        for name in file.columns
        if name in schema_names
    )


def run_checks(frame: pl.LazyFrame, checks: Iterable[Check]) -> tuple[list[Problem], Counter[str]]:
    """Run the checks; return the first problems of each and the totals by code."""
    problems: list[Problem] = []
    totals: Counter[str] = Counter()
    for check in checks:
        extra_text = check.extra if check.extra is not None else pl.lit("")
        value_text = column_as_text(check.column).alias("__clfeval_value")
        cells = frame.select(FILE, ROW, value_text, extra=extra_text, is_bad=check.bad)
        bad_cells = cells.filter("is_bad").drop("is_bad")
        bad_rows = bad_cells.collect(engine="streaming").sort(FILE, ROW)
        totals[check.code] += bad_rows.height
        for file, row, value, extra in bad_rows.head(MAX_PROBLEMS).iter_rows():
            message = check.message.format(value="" if value is None else value, extra=extra)
            problems.append(Problem(message, check.code, file, row, check.column))
    return problems, +totals


def with_delimiter(error: DataError, delimiter: str, columns: Sequence[str]) -> DataError:
    """Return an error with the hint to use another delimiter; columns: of a metric table."""
    delimiter_text = r"\t" if delimiter == "\t" else delimiter
    observation = "there is only one column; " if len(columns) == 1 else ""
    option = format_option("--delimiter", delimiter_text)
    hint = f"{observation}if the delimiter is different, add {option}"
    return DataError(
        error.problems, hint=hint, totals=error.totals, fixes={"delimiter": delimiter_text}
    )


def read_head(source: SourceFile) -> tuple[SourceFile, CsvHead]:
    """Read the header of a text below its comments, returned in the source; DataError."""
    refuse_count_summary(source.name, source.path)
    source = skip_comments(source)
    try:
        head = read_csv_head(source)
    except DataError as error:
        if error.problems[0].code == "not-utf8":
            raise
        raise title_error(source) or error from error
    is_explained = not head.ragged or other_delimiter(source, head.columns) or title_error(source)
    if not is_explained:
        inspect_structure(source, head.columns)
    return source, head


def refuse_different_delimiters(first_file: TableFile, later_file: TableFile) -> None:
    """Raise DataError for two text files with different delimiters."""
    text_sources = [
        file.source for file in (first_file, later_file) if file.source and file.source.text
    ]
    if len(text_sources) < 2:
        return
    likely_delimiters = [
        other_delimiter(file.source, file.columns)
        for file in (first_file, later_file)
        if file.source
    ]
    if likely_delimiters[0] == likely_delimiters[1]:
        return
    first_delimiter, later_delimiter = (
        delimiter or text_source.delimiter
        for delimiter, text_source in zip(likely_delimiters, text_sources, strict=True)
    )
    later_text, first_text = (
        "a tab" if delimiter == "\t" else f"'{delimiter}'"
        for delimiter in (later_delimiter, first_delimiter)
    )
    message = f"its delimiter is {later_text}, but that of {first_file.name} is {first_text}"
    hint = "files read as one table need the same delimiter; .tsv files are read with tabs"
    raise DataError.new(message, "different-columns", later_file.name, hint=hint)


def with_delimiter_hint(file: TableFile, error: DataError) -> DataError:
    """Return an error with the delimiter, title or single column that probably causes it."""
    if not file.source or not file.source.text:
        return error
    delimiter = other_delimiter(file.source, file.columns)
    if delimiter is not None:
        return with_delimiter(error, delimiter, ())
    if title := title_error(file.source):
        return title
    if len(file.columns) == 1:
        hint = f"there is only one column: {list_names(file.columns)}"
        return DataError(
            error.problems, hint=error.hint or hint, fixes=error.fixes, readings=error.readings
        )
    return error


def refuse_other_structure(files: Sequence[TableFile]) -> None:
    """Raise for ragged rows, NUL bytes and wrong encodings.

    Not where another delimiter, or a title above the header, is the cause.
    """
    for file in files:
        if file.source is None or file.head is None:
            continue
        if other_delimiter(file.source, file.columns) is None and not title_error(file.source):
            try:
                check_structure([file], [start_fingerprint(file.source)])
            except engine_errors():
                inspect_structure(file.source, file.columns)


Tasks: TypeAlias = "Sequence[FingerprintTask | None]"


def check_structure(
    files: Sequence[TableFile], tasks: Tasks, *, short_rows: bool | None = None
) -> None:
    """Raise for ragged rows, NUL bytes and wrong encodings.

    tasks: of the files that are read, joined ones each. `short_rows`: whether some row lacks its
    last field; None if unknown.
    """
    single_files = [single_file for file in files for single_file in file.files]
    for file, task in zip(single_files, tasks, strict=False):
        if file.head is None or file.source is None or task is None:
            continue
        fingerprint = task.result()
        if fingerprint.quotes:  # delimiters may stand in cells
            is_ragged = _has_short_rows(file) if short_rows is None else short_rows
        else:
            is_ragged = fingerprint.delimiters != fingerprint.lines * (len(file.columns) - 1)
        if is_ragged or fingerprint.damaged:
            inspect_structure(file.source, file.columns)


def _has_short_rows(file: TableFile) -> bool:
    """Return whether some row lacks its last field; of longer rows the reader raises."""
    short_rows = nw.col(NO_TAIL, TEXT_BYTES).sum()
    return bool(collect(scan(file, {}, watch=True).select(short_rows))[NO_TAIL].item())


def _may_be_header(cells: Sequence[str]) -> bool:
    """Return whether cells are several names, and not a comment."""
    filled_cells = [cell for cell in cells if cell.strip()]
    return len(filled_cells) > 1 and not cells[0].lstrip().startswith("#")


def title_error(source: SourceFile) -> DataError | None:
    """Return the error of a text with a title or comments above its header; None if it has none."""
    comment_lines = source.comments.count(b"\n")
    with source.path.open("rb") as stream:
        stream.seek(len(source.comments))
        head_bytes = stream.read(HEAD_BYTES)
    lines = head_bytes.decode("utf-8-sig", errors="replace").splitlines()[:TRIED_LINES]
    for delimiter in dict.fromkeys((source.delimiter, ",", ";", "\t", "|")):
        records = list(_records(lines, delimiter))
        headers = (index for index, (_, cells) in enumerate(records) if _may_be_header(cells))
        header_index = next(headers, None)
        field_counts = [len(cells) for _, cells in records]
        if delimiter == source.delimiter and header_index == 0 and len({*field_counts}) == 1:
            return None
        if not header_index or len(records) < header_index + 2:  # no header below a title
            continue
        if len({*field_counts[header_index:]}) == 1:
            title_row, title_cells = records[0]
            header_row, _ = records[header_index]
            return _title_error(
                source.name, title_cells, comment_lines + title_row, comment_lines + header_row
            )
    return None


def _title_error(file: str, cells: Sequence[str], title_row: int, header_row: int) -> DataError:
    """Build the error of a title in a row above that of the column names."""
    message = f"{quote_name(next(filter(None, cells)))} is a title or comment, not a header"
    hint = f"the column names are in row {header_row}: tail -n +{header_row} FILE > NEW"
    return DataError.new(message, "no-header", file, title_row, hint=hint)


def _records(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of lines that are not blank, with their rows, up to an invalid one."""
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error:
        return


FEWER_THREADS = (
    "raise the limit (ulimit -u), or use fewer threads: POLARS_MAX_THREADS=1 clfeval ..."
)
# messages of Python and of the engine when a thread cannot start
_NO_THREAD = ("can't start new thread", "Resource temporarily unavailable", "WouldBlock")
_OURS = (ClfevalError, KeyboardInterrupt, SystemExit, GeneratorExit)


@contextmanager
def converting_engine_errors(sources: Sequence[SourceFile]) -> Iterator[None]:
    """Convert errors (and panics) of the engine into DataError if a file is the cause."""
    try:
        yield
    except _OURS:
        raise
    except BaseException as error:
        if any(message_part in str(error) for message_part in _NO_THREAD):
            message = "the system cannot start more threads"
            raise UsageError.new(message, "no-threads", hint=FEWER_THREADS) from error
        if isinstance(error, (OSError, *engine_errors())):
            raise_shortage(error)
        if isinstance(error, (*engine_errors(), pl.exceptions.PanicException, RecursionError)):
            for source in sources:
                damage_error = _find_damage(source, error)
                if damage_error is not None:
                    raise damage_error from error
        raise


def _find_damage(source: SourceFile, error: BaseException) -> DataError | None:
    """Return the error of a damaged file, read again by itself; None if it is valid."""
    if isinstance(error, RecursionError):
        if source.format not in ("json", "ndjson"):
            return None
        return unreadable_error(source.name, source.format, "nested too deeply")
    try:
        if source.text:
            inspect_structure(source, read_csv_head(source).columns)
            return None
        native = open_typed(source).native
        assert native is not None
        frame: pl.LazyFrame = native.to_native()
        flat_names = [
            name for name, dtype in frame.collect_schema().items() if not dtype.is_nested()
        ]
        # counting nulls does not read the values, hashing does
        frame.select(pl.all().null_count()).collect(engine="streaming")
        frame.select(pl.col(flat_names).hash().sum()).collect(engine="streaming")
    except DataError as failure:
        return failure
    except BaseException as failure:
        if isinstance(failure, (*engine_errors(), OSError)):
            return unreadable_error(source.name, source.format, failure)
        if not isinstance(failure, pl.exceptions.PanicException):
            raise
        message = f"the {source.format} data is damaged and cannot be read to the end"
        hint = "write or copy the file again"
        return DataError.new(message, "damaged-file", source.name, hint=hint)
    return None
