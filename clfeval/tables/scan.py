"""Scans: files and frames as lazy frames of text or numbers, and how these are collected."""

from __future__ import annotations

import glob
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import groupby, pairwise
from numbers import Number
from pathlib import Path
from typing import Any, Literal

from clfeval.errors import DataError, Problem, UsageError, not_a_table_error, raise_shortage
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.csv import NAMES_HINT, CsvHead
from clfeval.tables.frames import (
    as_text,
    collect,
    concatenate_frames,
    count_texts,
    first_line_of,
    nw,
    pl,
    reading_frame,
)
from clfeval.tables.input import FILE_NAME
from clfeval.tables.json_records import first_record, json_frame, order_columns
from clfeval.tables.source import ARROW_STREAM, BINARY, SourceFile, refuse_result

# How a column of text is read. `bit`, `integer` and `number` are guesses from a sample that polars
# verifies while parsing; `loose` turns invalid numbers into null, for the pass that names bad rows;
# `written` and `loose written` read `12.5%` and, if declared, a decimal comma; `folded` is text in
# lower case without outer spaces. `spelled {...}` are labels in truth's spelling, `bins (...)` the
# bins of numbers with their edges.
CellReading = (
    Literal["bit", "integer", "number", "loose", "written", "loose written", "text", "folded"] | str
)
SPELLED, BINS = "spelled ", "bins "
# Columns that `watch` adds for the pass to sum: the bytes of the text fields (reading them makes
# polars refuse rows that are too long), and whether the last field is absent (short rows end so).
TEXT_BYTES, NO_TAIL = "__clfeval_text_bytes", "__clfeval_no_tail"

Origin = Callable[[int | None, str | None], tuple[str, int | None, str | None] | None]

_DTYPES = {"bit": "Int8", "integer": "Int64", "number": "Float64"}  # the others are text
_AS_WRITTEN = ("loose", "written", "loose written")  # parsed from text


@dataclass(frozen=True, slots=True)
class TableFile:
    """A source with its columns; head: only for delimited text, native: only for typed data.

    parts: the files joined, if any; lost: rows excluded, missing in some; place: the original file,
    row and column of a cell. run: its name where every file is a run. numbered: `native` has a
    column of row numbers. format: the tool that writes such tables, and what was converted.
    options: what its header says of columns.
    """

    name: str
    columns: tuple[str, ...]
    source: SourceFile | None = None
    head: CsvHead | None = None
    native: nw.LazyFrame[Any] | None = None
    parts: tuple[TableFile, ...] = ()
    lost: int = 0
    place: Origin | None = None
    run: str = ""
    numbered: bool = False
    format: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def files(self) -> tuple[TableFile, ...]:
        """The joined files, else the file itself."""
        return self.parts or (self,)

    @property
    def display_name(self) -> str:
        """Name in results: without folders."""
        return self.source.display if self.source else self.name


def scan(
    file: TableFile,
    readings: Mapping[str, CellReading],
    *,
    null_values: Sequence[str] = (),
    watch: bool = False,
) -> nw.LazyFrame[Any]:
    """Scan the named columns; watch: read every field of a text table, and add the flag columns.

    FILE_NAME among the columns is the name of the file's run, in every row.
    """
    if FILE_NAME in readings:
        other_readings = {name: reading for name, reading in readings.items() if name != FILE_NAME}
        frame = scan(file, other_readings, null_values=null_values, watch=watch)
        frame = frame.with_columns(nw.lit(file.run).alias(FILE_NAME))
        return frame if watch else frame.select(list(readings))
    # labels in another spelling, and bins, are read as text first
    coded_readings = {
        name: column_reading
        for name, column_reading in readings.items()
        if column_reading.startswith((SPELLED, BINS))
    }
    if coded_readings:
        text_readings: dict[str, CellReading] = dict.fromkeys(coded_readings, "text")
        frame = scan(file, {**readings, **text_readings}, null_values=null_values, watch=watch)
        return frame.with_columns(
            _recode(nw.col(name), coded_readings[name]).alias(name) for name in coded_readings
        )
    if file.native is not None:
        return _scan_typed(file, file.native, readings, null_values)
    return nw.from_native(_scan_text(file, readings, null_values, watch))


def _scan_text(
    file: TableFile, readings: Mapping[str, CellReading], null_values: Sequence[str], watch: bool
) -> pl.LazyFrame:
    """Scan the columns of a text table; watch: read every field, and add the flag columns."""
    assert file.source is not None
    refuse_low_memory(file.source)
    raw_names = _names_in_polars(file)
    frame = pl.scan_csv(
        file.source.path,
        separator=file.source.delimiter,
        schema={
            raw_name: getattr(pl, _DTYPES.get(readings.get(name, "text"), "String"))()
            for name, raw_name in raw_names.items()
        },
        null_values=list(null_values) or None,
        glob=False,
        skip_lines=file.source.comments.count(b"\n"),
    ).rename({raw_name: name for name, raw_name in raw_names.items() if raw_name != name})
    expressions = [_read_text(name, reading) for name, reading in readings.items()]
    if watch:
        text_names = [name for name in file.columns if readings.get(name) not in _DTYPES]
        if "bit" not in readings.values():  # then they only need to be read
            text_names = [name for name in text_names if name not in readings]
        lengths = [pl.col(name).str.len_bytes() for name in text_names]
        total_length = pl.sum_horizontal(lengths) if lengths else pl.lit(0)
        expressions.append(total_length.cast(pl.Int64).alias(TEXT_BYTES))
        expressions.append(pl.col(file.columns[-1]).is_null().cast(pl.Int64).alias(NO_TAIL))
    return frame.select(expressions)


def _read_text(name: str, reading: CellReading) -> pl.Expr:
    """Return the expression that reads a column of text as requested."""
    column = pl.col(name)
    if reading == "loose":
        return column.cast(pl.Float64, strict=False)
    if reading == "folded":
        folded_text: pl.Expr = fold_text(column)
        return folded_text
    if "written" in reading:
        return parse_number_text(column, strict=reading == "written")
    return column


def fold_text(column: Any) -> Any:
    """Return text in lower case, without spaces around it."""
    return column.str.strip_chars().str.to_lowercase()


def _recode(column: nw.Expr, reading: CellReading) -> nw.Expr:
    """Return the bins of numbers, or labels in another spelling, as a reading says."""
    if reading.startswith(BINS):
        return assign_bins(column, literal_eval(reading.removeprefix(BINS)))
    spelled_labels: nw.Expr = spell_labels(nw, column.cast(nw.String), reading)
    return spelled_labels


def spell_labels(library: Any, text: Any, reading: CellReading) -> Any:
    """Return labels as truth spells them; reading: the variants of each; library: that of `text`.

    Variants are in lower case, without outer spaces.
    """
    texts_of_label = literal_eval(reading.removeprefix(SPELLED))
    folded_text = fold_text(text)
    for label, texts in texts_of_label.items():
        text = library.when(folded_text.is_in(list(texts))).then(library.lit(label)).otherwise(text)
    return text


def parse_number_text(text: pl.Expr, *, strict: bool = False) -> pl.Expr:
    """Parse formatted numbers: `12.5%` is 0.125, `0,5` is 0.5."""
    bare_number = text.str.strip_chars().str.replace(",", ".", literal=True)
    is_percent = bare_number.str.ends_with("%")
    # not divided: 57.1e-2 is the float nearest to 0.571, which 57.1 / 100 need not be
    hundredths = pl.concat_str(
        [bare_number.str.strip_suffix("%").str.strip_chars_end(), pl.lit("e-2")]
    )
    return (
        pl.when(is_percent).then(hundredths).otherwise(bare_number).cast(pl.Float64, strict=strict)
    )


def _names_in_polars(file: TableFile) -> dict[str, str]:
    """Return the polars name of each column of a text table, which keeps quote marks."""
    assert file.source is not None
    if not any('"' in name for name in file.columns):
        return {name: name for name in file.columns}
    header_frame = pl.scan_csv(
        file.source.path,
        separator=file.source.delimiter,
        infer_schema=False,
        glob=False,
        skip_lines=file.source.comments.count(b"\n"),
    )
    return dict(zip(file.columns, header_frame.collect_schema().names(), strict=True))


def _scan_typed(
    file: TableFile,
    frame: nw.LazyFrame[Any],
    readings: Mapping[str, CellReading],
    null_values: Sequence[str],
) -> nw.LazyFrame[Any]:
    """Scan columns of typed data, converted as their readings say; DataError for nested types."""
    schema = frame.collect_schema()
    null_texts = list(null_values)
    text_columns = [name for name in readings if null_texts and schema[name] == nw.String]
    if text_columns:
        # before they become numbers, which only polars does with invalid ones
        frame = frame.with_columns(
            nw.when(~nw.col(name).is_in(null_texts)).then(nw.col(name)).alias(name)
            for name in text_columns
        )
    number_texts = {
        name: reading
        for name, reading in readings.items()
        if reading in _AS_WRITTEN and schema[name] in (nw.String, nw.Object)
    }
    if number_texts and isinstance(native := frame.to_native(), pl.LazyFrame):
        # only polars can turn invalid numbers into null
        frame = nw.from_native(
            native.with_columns(_read_text(name, reading) for name, reading in number_texts.items())
        )
        schema = frame.collect_schema()
    _refuse_nested_types(file.name, {name: schema[name] for name in readings})
    expressions = []
    # one expression for neighbours that are treated alike: a table may have 20 000 columns
    for cast_types, names in groupby(
        readings, lambda name: _cast_types(schema[name], readings[name])
    ):
        columns = nw.col(*names)
        for dtype in cast_types:
            columns = columns.cast(dtype)
        expressions.append(columns)
    try:
        frame = frame.select(*expressions)
    except NotImplementedError as error:  # a type of Arrow that it does not convert itself
        message = f"the type of a column is not supported: {first_line_of(error)}"
        raise DataError.new(message, "bad-type", file.name) from error
    except ValueError as error:  # pandas computes at once, and raises for text that is not a number
        raise pl.exceptions.ComputeError(str(error)) from error
    folded_columns = [
        name
        for name, reading in readings.items()
        if reading == "folded" and schema[name] != nw.Boolean
    ]
    if folded_columns:
        frame = frame.with_columns(
            fold_text(nw.col(name).cast(nw.String)) for name in folded_columns
        )
    if null_texts:
        cells_and_nulls = [
            (nw.col(name), nw.col(name).cast(nw.String).is_in(null_texts)) for name in readings
        ]
        frame = frame.select(*[nw.when(~is_null).then(cell) for cell, is_null in cells_and_nulls])
    return frame


def _refuse_nested_types(file: str, column_types: Mapping[str, nw.dtypes.DType]) -> None:
    """Raise DataError for a column of lists, structs or bytes."""
    for name, dtype in column_types.items():
        if dtype.is_nested() or dtype == nw.Binary:
            message = f"holds {dtype}, not single values"
            raise DataError.new(message, "bad-type", file, None, name)


def _cast_types(dtype: nw.dtypes.DType, reading: CellReading) -> tuple[Any, ...]:
    """Return the types a typed column is cast to, in order."""
    cast_types: tuple[Any, ...] = (nw.Float64,) if dtype.is_decimal() else ()
    is_number = reading in ("number", *_AS_WRITTEN)
    if dtype == nw.Datetime and not is_number:
        return ()  # engines write times differently
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.String, nw.Object)):
        cast_types = (nw.String,)
    if is_number and not dtype.is_numeric():
        cast_types += (nw.Float64,)
    return cast_types


def _scan_arrow(path: Path) -> pl.LazyFrame:
    """Scan an Arrow IPC file; a stream, which has no footer, is read."""
    with path.open("rb") as file:
        is_stream = file.read(len(ARROW_STREAM)) == ARROW_STREAM
    return pl.read_ipc_stream(path).lazy() if is_stream else pl.scan_ipc(path, glob=False)


ADDRESS_BYTES = 3 << 29  # bytes of address space that the engine takes besides the rows
# as many copies have to fit in memory: with fewer, reports of two and five million rows aborted
COPIES_OF_ROWS = 3


def refuse_low_memory(source: SourceFile) -> None:
    """Raise UsageError where the limit of the address space (`ulimit -v`) is too low for a file.

    The engine aborts the process, or waits for ever, where it cannot allocate memory; Python and
    numpy, which need more for the columns, raise MemoryError.
    """
    with suppress(ImportError):  # only POSIX has limits
        import resource

        byte_limit, _hard_limit = resource.getrlimit(resource.RLIMIT_AS)
        if byte_limit == resource.RLIM_INFINITY:
            return
        needed_bytes = ADDRESS_BYTES + COPIES_OF_ROWS * _size_in_memory(
            source, countable=byte_limit > ADDRESS_BYTES
        )
        if byte_limit < needed_bytes:
            message = f"the limit of {byte_limit / 1e9:.1f} GB of address space is too low"
            hint = f"raise it to at least {needed_bytes / 1e9:.1f} GB: "
            hint += f"ulimit -v {needed_bytes // 1000}"
            raise UsageError.new(message, "memory", source.name, hint=hint)


def _size_in_memory(source: SourceFile, *, countable: bool) -> int:
    """Return the bytes of all numbers of a file; countable: the engine can count packed rows."""
    file_size = source.path.stat().st_size
    if countable and source.format == "parquet":
        with suppress(pl.exceptions.PolarsError, OSError):  # damage is reported later
            frame = pl.scan_parquet(source.path, glob=False)
            rows: int = frame.select(pl.len()).collect().item()
            return 8 * rows * len(frame.collect_schema())
    return file_size if source.format in BINARY else 2 * file_size  # numbers of text are shorter


def open_typed(source: SourceFile) -> TableFile:
    """Open Parquet, Arrow IPC, NDJSON or JSON; DataError for other content."""
    refuse_low_memory(source)
    if source.format in ("ndjson", "json"):
        refuse_result(source.name, source.path)
    if source.format == "json" and any(
        not isinstance(value, (dict, list)) for value in first_record(source).values()
    ):  # one record per line: the first is an object of values
        source = replace(source, format="ndjson")
    scanners = {
        "parquet": lambda: pl.scan_parquet(source.path, glob=False),
        "arrow": lambda: _scan_arrow(source.path),
        # this one expands wildcards in names, which cannot be switched off
        "ndjson": lambda: pl.scan_ndjson(glob.escape(str(source.path)), infer_schema_length=None),
        "json": lambda: json_frame(source).lazy(),
    }
    try:
        frame = scanners[source.format]()
        columns = tuple(frame.collect_schema().names())
        if source.format == "ndjson":  # polars changes the order of many keys
            columns = tuple(order_columns(columns, first_record(source)))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_error(source.name, source.format, error) from error
    check_names(source.name, columns)
    return TableFile(source.name, columns, source, native=nw.from_native(frame))


def check_names(file: str, columns: Sequence[str], *, row: int | None = None) -> None:
    """Raise for column names that polars interprets as patterns."""
    problems = []
    for position, name in enumerate(columns, start=1):
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            message = f"the name '{name}' of column {position} is reserved for patterns"
            problems.append(Problem(message, "bad-column-name", file, row))
    if problems:
        raise DataError(problems, hint=NAMES_HINT)


def refuse_unwritable_names(file: str, columns: Iterable[str]) -> None:
    """Raise DataError for a name that cannot be written as UTF-8."""
    for name in columns:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            message = f"the name {name!r:.60} is not UTF-8 text"
            raise DataError.new(message, "bad-column-name", file, hint=NAMES_HINT) from error


def file_of_frame(frame: Any, name: str) -> TableFile:
    """Return a data frame as a table of this name; UsageError for any other object.

    Names of columns become text, as do mixed cells; DataError for cells of other types.
    """
    if type(frame).__module__.partition(".")[0] in ("pandas", "pyarrow"):
        frame = _with_text_columns(frame, name)
    try:
        native = nw.from_native(frame).lazy()
    except TypeError as error:
        raise not_a_table_error(frame) from error
    with reading_frame(name):
        native = _with_texts_of_objects(native)
        columns = tuple(native.collect_schema().names())
    check_names(name, columns)
    return TableFile(name, columns, native=native)


def _with_texts_of_objects(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return a frame of polars with objects of Python as text, as polars cannot compare them."""
    schema = frame.collect_schema()
    object_names = [name for name in schema if schema[name] == nw.Object]
    if not object_names or not frame.implementation.is_polars():
        return frame
    table: pl.DataFrame = frame.to_native().collect()
    text_columns = [
        pl.Series(name, map(as_text, table[name]), dtype=pl.String) for name in object_names
    ]
    with_texts: nw.LazyFrame[Any] = nw.from_native(table.with_columns(text_columns).lazy())
    return with_texts


def _with_text_columns(frame: Any, name: str) -> Any:
    """Return a frame of pandas with texts as names and for mixed cells, one of Arrow as it is.

    DataError for repeated names. name: of the table, in errors.
    """
    is_pandas = hasattr(frame, "columns") and hasattr(frame, "set_axis")
    labels = list(frame.columns if is_pandas else getattr(frame, "column_names", ()))
    texts = [
        " ".join(filter(None, map(str, label))) if isinstance(label, tuple) else str(label)
        for label in labels
    ]
    repeated_names = [text for text, count in Counter(texts).items() if count > 1]
    if repeated_names:
        message = "two columns have this name"
        raise DataError.new(message, "duplicate-column", name, None, repeated_names[0])
    if not is_pandas:
        return frame
    refuse_unwritable_names(name, texts)
    new_columns = {}
    for column_index, text in enumerate(texts):
        dtype = frame.dtypes.iloc[column_index]
        # other types than object need no look at their cells
        cells = (
            frame.iloc[:, column_index].dropna()
            if dtype.kind == "O"
            else frame.iloc[:0, column_index]
        )
        cell_types = {*map(type, cells)}
        bad_types = [
            cell_type
            for cell_type in cell_types
            if cell_type is complex or not issubclass(cell_type, CELLS)
        ]
        if bad_types:
            value = next(cell for cell in cells if type(cell) is bad_types[0])
            message = f"holds values such as {value!r:.40}, which are not texts, numbers or dates"
            raise DataError.new(message, "bad-type", name, None, text)
        if len(cell_types) > 1 or not cell_types <= {str, bool}:  # as in a file
            new_columns[text] = cells.map(str).reindex(frame.index)
        elif dtype in ("float16", "longdouble"):  # which pandas cannot group
            new_columns[text] = frame.iloc[:, column_index].astype("float64")
    frame = frame if texts == labels else frame.set_axis(texts, axis=1)
    return frame.assign(**new_columns)


def unreadable_error(
    file: str, format_name: str, cause: object, row: int | None = None
) -> DataError:
    """Build the error for bytes the format's own reader refuses; UsageError without memory."""
    raise_shortage(cause)
    reason = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
    hint = "if the suffix is wrong, rename the file"
    return DataError.new(
        f"cannot be read as {format_name}: {reason}", "bad-file", file, row, hint=hint
    )


CELLS = (str, Number, date)  # types of cells of a frame


def count_distinct_values(
    files: Sequence[TableFile],
    column: str,
    null_values: Sequence[str],
    reading: CellReading = "text",
    *,
    most: int | None = None,
) -> Counter[str]:
    """Return the count of each value of a column over all files, as text.

    UsageError for more than `most` values off polars, which would be brought to this machine.
    """
    total_counts: Counter[str] = Counter()
    for file in files:
        frame = scan(file, {column: reading}, null_values=null_values)
        engine = frame.implementation
        if most is not None and (engine.is_duckdb() or engine.is_spark_like()):
            distinct_count = collect(frame.select(nw.col(column).n_unique()))[column].item()
            if distinct_count > most:
                message = f"column '{column}' has {distinct_count:,} different values, "
                message += "too many to be read here"
                hint = f"give the edges of bins, for example {OPTION}--by '{column}:40,65'{END}"
                raise UsageError.new(message, "too-many-slices", file.name, hint=hint)
        counts = collect(frame.group_by(column).agg(nw.len().alias("__clfeval_n")))
        total_counts += count_texts(counts[column].to_list(), counts["__clfeval_n"].to_list())
    return total_counts


def all_distinct(
    files: Sequence[TableFile],
    column: str,
    null_values: Sequence[str],
    first_texts: Collection[str] = (),
) -> bool:
    """Return whether no value of a column repeats, ignoring missing ones; hashes may collide.

    first_texts: the values of the first rows.
    """
    if all(text.isdecimal() for text in first_texts) and len(files) == 1 and files[0].head:
        frame = scan(files[0], {column: "integer"}).to_native()
        is_rising = pl.col(column).is_not_null().all() & (pl.col(column).diff() > 0).all()
        with suppress(pl.exceptions.PolarsError):  # not whole numbers
            if frame.select(is_rising).collect(engine="streaming").item():
                return True
    values = concatenate_frames(
        [scan(file, {column: "text"}, null_values=null_values) for file in files]
    )
    present_values = values.drop_nulls()
    if present_values.implementation.is_polars():
        has_distinct_hashes = present_values.to_native().select(
            pl.all().hash().n_unique() == pl.len()
        )
        return bool(has_distinct_hashes.collect(engine="streaming").item())
    totals = collect(present_values.select(n=nw.col(column).n_unique(), rows=nw.len()))
    return bool(totals["n"].item() == totals["rows"].item())


def assign_bins(column: nw.Expr, edges: Sequence[float]) -> nw.Expr:
    """Return the bin of each number as text: `under 40`, `40 to <65`, `65 or more`."""
    number = column.cast(nw.Float64)
    bin_texts = [f"{low:g} to <{high:g}" for low, high in pairwise(edges)] + [
        f"{edges[-1]:g} or more"
    ]
    null_if_missing = nw.when(number.is_nan() | number.is_null()).then(nw.lit(None, nw.String))
    label = nw.lit(bin_texts[-1])
    for edge, bin_text in zip(edges[:0:-1], bin_texts[-2::-1], strict=True):
        is_in_bin = (number < edge) & (number >= edges[0])
        label = nw.when(is_in_bin).then(nw.lit(bin_text)).otherwise(label)
    label = nw.when(number < edges[0]).then(nw.lit(f"under {edges[0]:g}")).otherwise(label)
    return null_if_missing.otherwise(label)
