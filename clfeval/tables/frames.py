"""Table engines, imported on first use: lazy frames, JSON records, and cells as text."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from clfeval.errors import DataError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
    from narwhals.dtypes import DType


__all__ = ["nw", "pl"]  # for type checkers: names of other libraries


class LazyModule:
    """A stand-in for a module, which is imported on first use."""

    def __init__(self, name: str) -> None:
        """Keep the name of the module."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return an attribute of the module, and keep it for the next time."""
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


if not TYPE_CHECKING:
    nw = LazyModule("narwhals")
    pl = LazyModule("polars")


def engine_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of the engines that are in use for an invalid table."""
    error_names = (
        ("duckdb", "Error"),
        ("pyspark.errors", "PySparkException"),
        ("py4j.protocol", "Py4JError"),
        ("grpc", "RpcError"),
    )
    loaded_errors: list[type[Exception]] = [
        getattr(sys.modules[module], name)
        for module, name in error_names
        if sys.modules.get(module)
    ]
    return pl.exceptions.PolarsError, nw.exceptions.NarwhalsError, *loaded_errors


@contextmanager
def reading_frame(name: str) -> Iterator[None]:
    """Raise errors of a data frame's library as DataError: a failed query, a type without cells."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, (*engine_errors(), NotImplementedError)):
            raise
        raise unreadable_frame_error(name, error) from error


def unreadable_frame_error(name: str, error: BaseException) -> DataError:
    """Build the error of a data frame that its library cannot read."""
    return DataError.new(f"cannot be read: {first_line_of(error)}", "bad-file", name)


Frame: TypeAlias = "nw.LazyFrame[Any]"


class Progress:
    """What is read, for the line of progress of a terminal."""

    step: ClassVar[str] = ""


def collect(frame: Frame, step: str = "") -> nw.DataFrame[Any]:
    """Collect a lazy frame, in polars with the streaming engine; of DuckDB and Spark in polars."""
    Progress.step = step
    engine = frame.implementation
    try:
        if engine.is_polars():
            return _with_plain_times(frame.collect(engine="streaming"))
        if engine.is_duckdb():  # which narwhals would do with pyarrow
            return _with_plain_times(nw.from_native(pl.DataFrame(frame.to_native())))
        if engine.is_spark_like():
            return _with_plain_times(frame.collect("polars"))
        return frame.collect()
    finally:
        Progress.step = ""


def collect_together(frames: Sequence[Frame]) -> list[nw.DataFrame[Any]]:
    """Collect lazy frames of one source; in polars at once, which reads the source once."""
    if len(frames) < 2 or not frames[0].implementation.is_polars():
        return [collect(frame) for frame in frames]
    tables = pl.collect_all([frame.to_native() for frame in frames])
    return [_with_plain_times(nw.from_native(table)) for table in tables]


def _with_plain_times(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a frame of polars with times in UTC, and with nanoseconds as text.

    Times of Python have none, and are equal in both hours of a night when clocks are put back.
    """
    table: pl.DataFrame = frame.to_native()
    time_types = {
        name: dtype for name, dtype in table.schema.items() if isinstance(dtype, pl.Datetime)
    }
    for name, dtype in time_types.items():
        column = pl.col(name)
        if dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC")
        table = table.with_columns(column.cast(pl.String) if dtype.time_unit == "ns" else column)
    return nw.from_native(table) if time_types else frame


def concatenate_frames(frames: Sequence[Frame]) -> Frame:
    """Concatenate the rows of several frames with the same columns.

    Columns whose types differ, such as ids of a CSV and of a Parquet file, get a common one.
    """
    if len(frames) == 1:
        return frames[0]
    types_of_column: dict[str, set[DType]] = {}
    for frame in frames:
        for name, dtype in frame.collect_schema().items():
            types_of_column.setdefault(name, set()).add(dtype)
    casts = [
        nw.col(name).cast(_common_type(types))
        for name, types in types_of_column.items()
        if len(types) > 1
    ]
    if casts:
        frames = [frame.with_columns(casts) for frame in frames]
    return nw.concat(list(frames))


def _common_type(types: Collection[DType]) -> DType:
    """Return the type that columns of different types are read as: integers, numbers or texts."""
    if all(dtype.is_integer() and not isinstance(dtype, nw.UInt64) for dtype in types):
        return nw.Int64()
    return nw.Float64() if all(dtype.is_numeric() for dtype in types) else nw.String()


def in_polars(frame: Frame) -> pl.LazyFrame:
    """Return a lazy frame as one of polars; those of other libraries are collected first."""
    if not frame.implementation.is_polars():
        return collect(frame).to_polars().lazy()
    native: pl.LazyFrame = frame.to_native()
    return native


def with_shortest_decimals(frame: Frame, names: Iterable[str]) -> Frame:
    """Return columns of 32 bits as 64 bits nearest to their shortest decimals, as in CSV.

    Of 6 to 9 digits the fewest that are rounded to the number; below 1e-12 and from 1e6 on the
    number itself. Every operation is correctly rounded, so that every engine has the same numbers.
    """
    if not (names := [*names]):
        return frame
    column_types = frame.collect_schema()
    names = [name for name in names if column_types[name] == nw.Float32]
    if not names:
        return frame
    # of one column at a time: the number, its power of ten, and its shortest decimal
    x = nw.col("__clfeval_x")
    power = nw.col("__clfeval_power")
    shortest = nw.col("__clfeval_shortest")
    for name in names:
        number32 = nw.col(name)
        number64 = number32.cast(nw.Float64)
        frame = frame.with_columns(__clfeval_x=number64, __clfeval_shortest=number64)
        power_expr = nw.lit(0.0)
        for exponent in range(-12, 6):  # 6 digits are whole multiples of 1 / power
            is_reached = x.abs() >= 10.0**exponent
            power_expr = (
                nw.when(is_reached).then(nw.lit(10.0 ** (5 - exponent))).otherwise(power_expr)
            )
        power_expr = nw.when(x.abs() >= 1e6).then(nw.lit(0.0)).otherwise(power_expr)
        frame = frame.with_columns(__clfeval_power=power_expr)
        for factor in (1e3, 1e2, 10.0, 1.0):
            # polars divides by a single number by multiplying with its inverse, which is not exact
            candidate = (x * (power * factor) + 0.5).floor() / (power * factor + x * 0.0)
            is_same = candidate.cast(nw.Float32) == number32
            frame = frame.with_columns(
                __clfeval_shortest=nw.when(is_same).then(candidate).otherwise(shortest)
            )
        frame = frame.with_columns(shortest.alias(name))
    return frame.select(*column_types.names())


def float32_threshold(threshold: float) -> float:
    """Return the smallest float32 whose shortest decimal is at or above the threshold."""
    with np.errstate(over="ignore"):
        candidate = np.float32(threshold)
        infinity = np.float32(np.inf)
        next_below = np.nextafter(candidate, -infinity)
        while float(str(next_below)) >= threshold and next_below < candidate:
            candidate = next_below
            next_below = np.nextafter(candidate, -infinity)
        while float(str(candidate)) < threshold:
            candidate = np.nextafter(candidate, infinity)
    return float(candidate)


def is_missing(value: object) -> bool:
    """Return whether a cell is missing: None, NaN, or pandas' NA (which cannot be compared)."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if hasattr(value, "__len__"):  # an array has no single answer
        return False
    try:
        return bool(value != value)
    except Exception:  # an object that cannot be compared is not NaN
        return False


def first_line_of(error: BaseException) -> str:
    """Return the first line of the message of a library's error, its type if there is none."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)


def as_text(cell: object) -> str | None:
    """Write a label as text: True is true, 1 is 1, 1.0 is 1.0; None and NaN are missing.

    Times with a zone are those of UTC.
    """
    if is_missing(cell):
        return None
    if type(cell).__name__ in ("bool", "bool_"):  # of Python and of numpy
        return "true" if cell else "false"
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(UTC)
    return str(cell)


def distinct_texts(values: Iterable[object]) -> set[str]:
    """Return the distinct values as text, without missing ones."""
    return {text for text in map(as_text, set(values)) if text is not None}


def count_texts(values: Iterable[object], counts: Iterable[int]) -> Counter[str]:
    """Return the total count of each value, as text, without missing ones."""
    totals: Counter[str] = Counter()
    for value, count in zip(values, counts, strict=True):
        text = value if type(value) is str else as_text(value)
        if text is not None:
            totals[text] += count
    return totals


def natural_sort_key(text: str) -> tuple[tuple[int, float, str], ...]:
    """Return the key that sorts numbers in text by value: 2 before 10, fold9 before fold10."""
    text_parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return tuple(
        (0, float(text_part), text_part) if index % 2 else (1, 0.0, text_part)
        for index, text_part in enumerate(text_parts)
        if text_part
    )
