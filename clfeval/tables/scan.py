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
        others = {name: reading for name, reading in readings.items() if name != FILE_NAME}
        frame = scan(file, others, null_values=null_values, watch=watch)
        frame = frame.with_columns(nw.lit(file.run).alias(FILE_NAME))
        return frame if watch else frame.select(list(readings))
    coded = {
        name: column_reading
        for name, column_reading in readings.items()
        if column_reading.startswith((SPELLED, BINS))
    }
    if coded:
        texts: dict[str, CellReading] = dict.fromkeys(coded, "text")
        frame = scan(file, {**readings, **texts}, null_values=null_values, watch=watch)
        return frame.with_columns(_recode(nw.col(name), coded[name]).alias(name) for name in coded)
    if file.native is not None:
        return _scan_typed(file, file.native, readings, null_values)
    return nw.from_native(_scan_text(file, readings, null_values, watch))


def _scan_text(
    file: TableFile, readings: Mapping[str, CellReading], null_values: Sequence[str], watch: bool
) -> pl.LazyFrame:
    assert file.source is not None
    refuse_low_memory(file.source)
    raw_names = _names_in_polars(file)
    frame = pl.scan_csv(
        file.source.path,
        separator=file.source.delimiter,
        schema={
            raw: getattr(pl, _DTYPES.get(readings.get(name, "text"), "String"))()
            for name, raw in raw_names.items()
        },
        null_values=list(null_values) or None,
        glob=False,
        skip_lines=file.source.comments.count(b"\n"),
    ).rename({raw: name for name, raw in raw_names.items() if raw != name})
    expressions = [_read_text(name, reading) for name, reading in readings.items()]
    if watch:
        texts = [name for name in file.columns if readings.get(name) not in _DTYPES]
        if "bit" not in readings.values():  # then they only need to be read
            texts = [name for name in texts if name not in readings]
        lengths = [pl.col(name).str.len_bytes() for name in texts]
        length = pl.sum_horizontal(lengths) if lengths else pl.lit(0)
        expressions.append(length.cast(pl.Int64).alias(TEXT_BYTES))
        expressions.append(pl.col(file.columns[-1]).is_null().cast(pl.Int64).alias(NO_TAIL))
    return frame.select(expressions)


def _read_text(name: str, reading: CellReading) -> pl.Expr:
    """Return the expression that reads a column of text as requested."""
    column = pl.col(name)
    if reading == "loose":
        return column.cast(pl.Float64, strict=False)
    if reading == "folded":
        small: pl.Expr = fold_text(column)
        return small
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
    spelled: nw.Expr = spell_labels(nw, column.cast(nw.String), reading)
    return spelled


def spell_labels(library: Any, text: Any, reading: CellReading) -> Any:
    """Return labels as truth spells them; reading: the variants of each; library: that of `text`.

    Variants are in lower case, without outer spaces.
    """
    variants = literal_eval(reading.removeprefix(SPELLED))
    folded = fold_text(text)
    for label, texts in variants.items():
        text = library.when(folded.is_in(list(texts))).then(library.lit(label)).otherwise(text)
    return text


def parse_number_text(text: pl.Expr, *, strict: bool = False) -> pl.Expr:
    """Parse formatted numbers: `12.5%` is 0.125, `0,5` is 0.5."""
    bare = text.str.strip_chars().str.replace(",", ".", literal=True)
    share = bare.str.ends_with("%")
    # not divided: 57.1e-2 is the float nearest to 0.571, which 57.1 / 100 need not be
    parts = pl.concat_str([bare.str.strip_suffix("%").str.strip_chars_end(), pl.lit("e-2")])
    return pl.when(share).then(parts).otherwise(bare).cast(pl.Float64, strict=strict)


def _names_in_polars(file: TableFile) -> dict[str, str]:
    """Return the polars name of each column of a text table, which keeps quote marks."""
    assert file.source is not None
    if not any('"' in name for name in file.columns):
        return {name: name for name in file.columns}
    bare = pl.scan_csv(
        file.source.path,
        separator=file.source.delimiter,
        infer_schema=False,
        glob=False,
        skip_lines=file.source.comments.count(b"\n"),
    )
    return dict(zip(file.columns, bare.collect_schema().names(), strict=True))


def _scan_typed(
    file: TableFile,
    frame: nw.LazyFrame[Any],
    readings: Mapping[str, CellReading],
    null_values: Sequence[str],
) -> nw.LazyFrame[Any]:
    schema = frame.collect_schema()
    marks = list(null_values)
    written = [name for name in readings if marks and schema[name] == nw.String]
    if written:
        # before they become numbers, which only polars does with invalid ones
        frame = frame.with_columns(
            nw.when(~nw.col(name).is_in(marks)).then(nw.col(name)).alias(name) for name in written
        )
    texts = {
        name: reading
        for name, reading in readings.items()
        if reading in _AS_WRITTEN and schema[name] in (nw.String, nw.Object)
    }
    if texts and isinstance(native := frame.to_native(), pl.LazyFrame):
        # only polars can turn invalid numbers into null
        frame = nw.from_native(
            native.with_columns(_read_text(*text_column) for text_column in texts.items())
        )
        schema = frame.collect_schema()
    for name in readings:
        if schema[name].is_nested() or schema[name] == nw.Binary:
            message = f"holds {schema[name]}, not single values"
            raise DataError.new(message, "bad-type", file.name, None, name)
    expressions = []
    # one expression for neighbours that are treated alike: a table may have 20 000 columns
    for casts, names in groupby(readings, lambda name: _cast_types(schema[name], readings[name])):
        columns = nw.col(*names)
        for dtype in casts:
            columns = columns.cast(dtype)
        expressions.append(columns)
    try:
        frame = frame.select(*expressions)
    except NotImplementedError as error:  # a type of Arrow that it does not convert itself
        message = f"the type of a column is not supported: {first_line_of(error)}"
        raise DataError.new(message, "bad-type", file.name) from error
    except ValueError as error:  # pandas computes at once, and raises for text that is not a number
        raise pl.exceptions.ComputeError(str(error)) from error
    folded = [
        name
        for name, reading in readings.items()
        if reading == "folded" and schema[name] != nw.Boolean
    ]
    if folded:
        frame = frame.with_columns(fold_text(nw.col(name).cast(nw.String)) for name in folded)
    if marks:
        cells = [(nw.col(name), nw.col(name).cast(nw.String).is_in(marks)) for name in readings]
        frame = frame.select(*[nw.when(~marked).then(cell) for cell, marked in cells])
    return frame


def _cast_types(dtype: nw.dtypes.DType, reading: CellReading) -> tuple[Any, ...]:
    """Return the types a typed column is cast to, in order."""
    casts: tuple[Any, ...] = (nw.Float64,) if dtype.is_decimal() else ()
    number = reading in ("number", *_AS_WRITTEN)
    if dtype == nw.Datetime and not number:
        return ()  # engines write times differently
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.String, nw.Object)):
        casts = (nw.String,)
    if number and not dtype.is_numeric():
        casts += (nw.Float64,)
    return casts


def _scan_arrow(path: Path) -> pl.LazyFrame:
    """Scan an Arrow IPC file; a stream, which has no footer, is read."""
    with path.open("rb") as file:
        stream = file.read(len(ARROW_STREAM)) == ARROW_STREAM
    return pl.read_ipc_stream(path).lazy() if stream else pl.scan_ipc(path, glob=False)


ADDRESSES = 3 << 29  # bytes of address space that the engine takes besides the rows
COPIES = 3  # of the rows in memory: below it, reports of two and five million rows aborted


def refuse_low_memory(source: SourceFile) -> None:
    """Raise UsageError where the limit of the address space (`ulimit -v`) is too low for a file.

    The engine aborts the process, or waits for ever, where it cannot allocate memory; Python and
    numpy, which need more for the columns, raise MemoryError.
    """
    with suppress(ImportError):  # only POSIX has limits
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return
        needed = ADDRESSES + COPIES * _size_in_memory(source, countable=limit > ADDRESSES)
        if limit < needed:
            message = f"the limit of {limit / 1e9:.1f} GB of address space is too low"
            hint = f"raise it to at least {needed / 1e9:.1f} GB: ulimit -v {needed // 1000}"
            raise UsageError.new(message, "memory", source.name, hint=hint)


def _size_in_memory(source: SourceFile, *, countable: bool) -> int:
    """Return the bytes of all numbers of a file; countable: the engine can count packed rows."""
    size = source.path.stat().st_size
    if countable and source.format == "parquet":
        with suppress(pl.exceptions.PolarsError, OSError):  # damage is reported later
            frame = pl.scan_parquet(source.path, glob=False)
            rows: int = frame.select(pl.len()).collect().item()
            return 8 * rows * len(frame.collect_schema())
    return size if source.format in BINARY else 2 * size  # numbers of text are shorter


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
    names = [name for name in schema if schema[name] == nw.Object]
    if not names or not frame.implementation.is_polars():
        return frame
    table: pl.DataFrame = frame.to_native().collect()
    texts = [pl.Series(name, map(as_text, table[name]), dtype=pl.String) for name in names]
    with_texts: nw.LazyFrame[Any] = nw.from_native(table.with_columns(texts).lazy())
    return with_texts


def _with_text_columns(frame: Any, name: str) -> Any:
    pandas = hasattr(frame, "columns") and hasattr(frame, "set_axis")
    names = list(frame.columns if pandas else getattr(frame, "column_names", ()))
    texts = [
        " ".join(filter(None, map(str, label))) if isinstance(label, tuple) else str(label)
        for label in names
    ]
    if twice := [text for text, count in Counter(texts).items() if count > 1]:
        raise DataError.new("two columns have this name", "duplicate-column", name, None, twice[0])
    if not pandas:
        return frame
    refuse_unwritable_names(name, texts)
    written = {}
    for i, text in enumerate(texts):
        present = (
            frame.iloc[:, i].dropna() if frame.dtypes.iloc[i].kind == "O" else frame.iloc[:0, i]
        )
        kinds = {*map(type, present)}
        odd = [kind for kind in kinds if kind is complex or not issubclass(kind, CELLS)]
        if odd:
            value = next(cell for cell in present if type(cell) is odd[0])
            message = f"holds values such as {value!r:.40}, which are not texts, numbers or dates"
            raise DataError.new(message, "bad-type", name, None, text)
        if len(kinds) > 1 or not kinds <= {str, bool}:  # as in a file
            written[i] = present.map(str).reindex(frame.index)
        elif frame.dtypes.iloc[i] in ("float16", "longdouble"):  # which pandas cannot group
            written[i] = frame.iloc[:, i].astype("float64")
    frame = frame if texts == names else frame.set_axis(texts, axis=1)
    return frame.assign(**{texts[i]: cells for i, cells in written.items()})


def unreadable_error(file: str, form: str, cause: object, row: int | None = None) -> DataError:
    """Build the error for bytes the format's own reader refuses; UsageError without memory."""
    raise_shortage(cause)
    reason = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
    hint = "if the suffix is wrong, rename the file"
    return DataError.new(f"cannot be read as {form}: {reason}", "bad-file", file, row, hint=hint)


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
    values: Counter[str] = Counter()
    for file in files:
        frame = scan(file, {column: reading}, null_values=null_values)
        kind = frame.implementation
        if most is not None and (kind.is_duckdb() or kind.is_spark_like()):
            n = collect(frame.select(nw.col(column).n_unique()))[column].item()
            if n > most:
                message = f"column '{column}' has {n:,} different values, too many to be read here"
                hint = f"give the edges of bins, for example {OPTION}--by '{column}:40,65'{END}"
                raise UsageError.new(message, "too-many-slices", file.name, hint=hint)
        counts = collect(frame.group_by(column).agg(nw.len().alias("__clfeval_n")))
        values += count_texts(counts[column].to_list(), counts["__clfeval_n"].to_list())
    return values


def all_distinct(
    files: Sequence[TableFile], column: str, null_values: Sequence[str], first: Collection[str] = ()
) -> bool:
    """Return whether no value of a column repeats, ignoring missing ones; hashes may collide."""
    if all(text.isdecimal() for text in first) and len(files) == 1 and files[0].head:
        frame = scan(files[0], {column: "integer"}).to_native()
        rising = pl.col(column).is_not_null().all() & (pl.col(column).diff() > 0).all()
        with suppress(pl.exceptions.PolarsError):  # not whole numbers
            if frame.select(rising).collect(engine="streaming").item():
                return True
    ids = concatenate_frames(
        [scan(file, {column: "text"}, null_values=null_values) for file in files]
    )
    present = ids.drop_nulls()
    if present.implementation.is_polars():
        hashes = present.to_native().select(pl.all().hash().n_unique() == pl.len())
        return bool(hashes.collect(engine="streaming").item())
    totals = collect(present.select(n=nw.col(column).n_unique(), rows=nw.len()))
    return bool(totals["n"].item() == totals["rows"].item())


def assign_bins(column: nw.Expr, edges: Sequence[float]) -> nw.Expr:
    """Return the bin of each number as text: `under 40`, `40 to <65`, `65 or more`."""
    number = column.cast(nw.Float64)
    texts = [f"{low:g} to <{high:g}" for low, high in pairwise(edges)] + [f"{edges[-1]:g} or more"]
    without_missing = nw.when(number.is_nan() | number.is_null()).then(nw.lit(None, nw.String))
    label = nw.lit(texts[-1])
    for edge, text in zip(edges[:0:-1], texts[-2::-1], strict=True):
        below = (number < edge) & (number >= edges[0])
        label = nw.when(below).then(nw.lit(text)).otherwise(label)
    label = nw.when(number < edges[0]).then(nw.lit(f"under {edges[0]:g}")).otherwise(label)
    return without_missing.otherwise(label)
