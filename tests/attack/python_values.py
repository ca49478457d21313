"""Columns, tables and options of every type that a Python program can hand over."""

from __future__ import annotations

import array
import io
import random
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

ROWS = 24
TRUTH = [row % 2 for row in range(ROWS)]
SCORES = [round((row * 7 % 24) / 24, 3) for row in range(ROWS)]
LABELS = ["yes" if row % 3 else "no" for row in range(ROWS)]
NIGHT = datetime(2024, 3, 31, 1, 30)


class Unequal:
    """An object that cannot be compared."""

    def __eq__(self, value: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = object.__hash__


class NoArray:
    """An object that says it is an array, and is none."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        return ROWS


class Shrinking(list[Any]):
    """A list whose length is not that of its values."""

    def __len__(self) -> int:
        return ROWS + 1


def _pandas(dtype: Any, values: Any = TRUTH) -> Callable[[], Any]:
    return lambda: pd.Series(values, dtype=dtype)


def _arrow(kind: Any, values: Any = SCORES) -> Callable[[], Any]:
    return lambda: pa.array(values, kind)


def _polars(dtype: Any, values: Any = SCORES) -> Callable[[], Any]:
    return lambda: pl.Series(values, dtype=dtype, strict=False)


# a column of `ROWS` values, most of which are neither labels nor scores
COLUMNS: Mapping[str, Callable[[], Any]] = {
    "pandas Int64": _pandas("Int64"),
    "pandas Int64 with NA": _pandas("Int64", [1, pd.NA, 0] * 8),
    "pandas boolean": _pandas("boolean"),
    "pandas Float32": _pandas("Float32", SCORES),
    "pandas string": _pandas("string", LABELS),
    "pandas string of arrow": _pandas("string[pyarrow]", LABELS),
    "pandas category": _pandas("category", LABELS),
    "pandas category of numbers": lambda: pd.Categorical(TRUTH, [1, 0, 7], ordered=True),
    "pandas category of intervals": lambda: pd.cut(np.array(SCORES), 3),
    "pandas periods": lambda: pd.period_range("2024-01", periods=ROWS, freq="M").to_series(),
    "pandas times": lambda: pd.date_range("2024-03-31", periods=ROWS, freq="h", tz="Europe/Berlin"),
    "pandas differences of times": lambda: pd.to_timedelta(range(ROWS), unit="s"),
    "pandas sparse": lambda: pd.arrays.SparseArray(SCORES),
    "pandas arrow dictionary": _pandas(
        pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())), LABELS
    ),
    "pandas arrow decimal": _pandas(
        pd.ArrowDtype(pa.decimal128(10, 3)), [Decimal(score) for score in TRUTH]
    ),
    "pandas arrow list": _pandas(pd.ArrowDtype(pa.list_(pa.int64())), [[1]] * ROWS),
    "pandas objects": _pandas(object, [1, "1", None, 0.5, [1], pd.NA] * 4),
    "pandas index": lambda: pd.Index(SCORES, name=("a", 1)),
    "pandas several levels": lambda: pd.MultiIndex.from_product([range(12), ["a", "b"]]),
    "pandas unordered": lambda: pd.Series(SCORES, index=range(ROWS, 0, -1)),
    "pandas index twice": lambda: pd.Series(SCORES, index=[1] * ROWS),
    "polars categorical": _polars(pl.Categorical, LABELS),
    "polars enum": _polars(pl.Enum(["no", "yes", "never"]), LABELS),
    "polars decimal": _polars(pl.Decimal(10, 3)),
    "polars list": _polars(pl.List(pl.Int64), [[1]] * ROWS),
    "polars array": lambda: pl.Series([[1, 2]] * ROWS, dtype=pl.Array(pl.Int64, 2)),
    "polars struct": lambda: pl.Series([{"a": 1}] * ROWS),
    "polars objects": lambda: pl.Series([object()] * ROWS, dtype=pl.Object),
    "polars binary": lambda: pl.Series([b"\xff"] * ROWS),
    "polars duration": lambda: pl.Series([timedelta(1)] * ROWS),
    "polars time": lambda: pl.Series([time(1)] * ROWS),
    "polars null": lambda: pl.Series([None] * ROWS),
    "polars large": lambda: pl.Series([2**64 - 1, 0] * 12, dtype=pl.UInt64),
    "polars 128 bits": lambda: pl.Series([2**100, 0] * 12, dtype=pl.Int128),
    "arrow dictionary": lambda: pa.array(LABELS).dictionary_encode(),
    "arrow dictionary of numbers": lambda: pa.array(TRUTH).dictionary_encode(),
    "arrow runs": lambda: pa.RunEndEncodedArray.from_arrays([12, ROWS], pa.array([0.1, 0.9])),
    "arrow halves": lambda: pa.array(np.float16(SCORES), pa.float16()),
    "arrow large text": _arrow(pa.large_string(), LABELS),
    "arrow view of text": _arrow(pa.string_view(), LABELS),
    "arrow decimal of 256 bits": _arrow(pa.decimal256(50, 3), [Decimal(x) for x in TRUTH]),
    "arrow months": lambda: pa.array([pa.MonthDayNano([1, 2, 3])] * ROWS),
    "arrow maps": _arrow(pa.map_(pa.string(), pa.int64()), [[("a", 1)]] * ROWS),
    "arrow union": lambda: pa.UnionArray.from_sparse(
        pa.array([0, 1] * 12, pa.int8()), [pa.array(SCORES), pa.array(LABELS)]
    ),
    "arrow bytes": _arrow(pa.binary(2), [b"ab"] * ROWS),
    "arrow chunks": lambda: pa.chunked_array([SCORES[:5], SCORES[5:]]),
    "arrow null": lambda: pa.nulls(ROWS),
    "arrow scalar": lambda: pa.scalar(1),
    "numpy objects": lambda: np.array([1, "a", None, 0.5] * 6, dtype=object),
    "numpy objects of numbers": lambda: np.array(SCORES, dtype=object),
    "numpy records": lambda: np.zeros(ROWS, [("x", float), ("y", int)]),
    "numpy long": lambda: np.array(SCORES, np.longdouble),
    "numpy half": lambda: np.array(SCORES, np.float16),
    "numpy complex": lambda: np.array(SCORES) * 1j,
    "numpy days": lambda: np.arange(ROWS).astype("M8[D]"),
    "numpy no time": lambda: np.full(ROWS, np.datetime64("NaT")),
    "numpy text": lambda: np.array(LABELS),
    "numpy bytes": lambda: np.array(LABELS, "S3"),
    "numpy masked": lambda: np.ma.array(SCORES, mask=TRUTH),
    "numpy matrix": lambda: np.reshape(SCORES, (ROWS, 1)),
    "numpy cube": lambda: np.zeros((ROWS, 2, 2)),
    "numpy wide": lambda: np.zeros((ROWS, 3)),
    "numpy scalar": lambda: np.float64(0.5),
    "numpy empty": lambda: np.array([]),
    "numpy reversed": lambda: np.array(SCORES)[::-1],
    "numpy big-endian": lambda: np.array(SCORES, ">f8"),
    "numpy infinite": lambda: np.array([np.inf, -np.inf, np.nan] * 8),
    "numpy views": lambda: np.lib.stride_tricks.as_strided(np.zeros(1), (ROWS,), (0,)),
    "list of scores": lambda: [*SCORES],
    "list of labels": lambda: [*LABELS],
    "list of mixed": lambda: [1, "a", None, 0.5, True, b"x"] * 4,
    "list of ragged": lambda: [[1], [1, 2]] * 12,
    "list of fractions": lambda: [Fraction(1, 3)] * ROWS,
    "list of decimals": lambda: [Decimal("0.1"), Decimal("NaN")] * 12,
    "list of large": lambda: [10**400, 0] * 12,
    "list of dates": lambda: [date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)] * 12,
    "list of times": lambda: [NIGHT] * ROWS,
    "list of surrogates": lambda: ["\ud800", "a"] * 12,
    "list of NUL": lambda: ["\0", "a"] * 12,
    "list of types": lambda: [int, str] * 12,
    "list of sets": lambda: [{1}, {2}] * 12,
    "list of objects": lambda: [object()] * ROWS,
    "list of uncomparable": lambda: [Unequal() for _ in range(ROWS)],
    "list with another length": lambda: Shrinking(SCORES),
    "short list": lambda: SCORES[:-1],
    "empty list": list,
    "tuple": lambda: tuple(TRUTH),
    "range": lambda: range(ROWS),
    "deque": lambda: deque(TRUTH),
    "array": lambda: array.array("d", SCORES),
    "bytes": lambda: bytes(TRUTH),
    "bytearray": lambda: bytearray(TRUTH),
    "memory": lambda: memoryview(array.array("d", SCORES)),
    "text": lambda: "a" * ROWS,
    "set": lambda: {*range(ROWS)},
    "keys": lambda: dict.fromkeys(range(ROWS)).keys(),
    "mapping": lambda: dict(zip(range(ROWS), SCORES, strict=True)),
    "generator": lambda: (score for score in SCORES),
    "no array": NoArray,
    "uncomparable": Unequal,
    "function": lambda: len,
    "nothing": lambda: None,
    "number": lambda: 7,
}

# an option's value: of another type than it takes, or out of its range
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    3,
    10**30,
    0.5,
    -0.5,
    float("nan"),
    float("inf"),
    1j,
    "",
    " ",
    "a",
    "b",
    "site",
    "truth",
    "no such",
    "all",
    "\0",
    "\ud800",
    "x" * 20_000,
    b"a",
    (),
    [],
    {},
    set(),
    ["a"],
    ["a", None],
    [["a"]],
    (0.1, 0.9),
    (0, 0, 0, 0),
    {"a": 0.5},
    {"a": "x"},
    {"a": None},
    {1: 2},
    {"a": {"b": 1}},
    {None: 0.5},
    np.float64(0.5),
    np.int64(1),
    np.array([]),
    np.array(0.5),
    np.array(["a"]),
    np.datetime64("2024-01-01"),
    pd.NA,
    pd.NaT,
    Decimal("0.5"),
    Fraction(1, 2),
    date(2024, 1, 1),
    len,
    int,
    object(),
    Path("a"),
    pl.col("a"),
    pd.Series(SCORES),
    pl.Series("x", TRUTH),
    range(ROWS),
    io.StringIO("a"),
    Unequal(),
)
NAMES: tuple[Any, ...] = (
    *(
        "truth",
        "a",
        "b",
        "site",
        "id",
        "",
        " ",
        "a:b",
        "a.b",
        "a,b",
        "\ud800",
        "\0",
        "é",
        "x" * 300,
    ),
    *("x" * 300, 0, 1.5, None, True, ("a", "x"), ("a", ""), b"a", date(2024, 1, 1), float("nan")),
)


# those that may be scores or labels
EVALUATED = (
    *("pandas Int64", "pandas boolean", "pandas Float32", "pandas category of numbers"),
    *("pandas sparse", "pandas index", "pandas unordered", "polars decimal", "arrow halves"),
    *("arrow dictionary of numbers", "arrow runs", "arrow chunks", "numpy objects of numbers"),
    *("numpy long", "numpy half", "numpy matrix", "numpy reversed", "numpy big-endian"),
    *("numpy views", "list of scores", "tuple", "range", "deque", "array", "bytes", "memory"),
)


def column_of(dice: random.Random) -> Any:
    """Return a column of any type, half of the time one that may be evaluated."""
    return COLUMNS[dice.choice(EVALUATED if dice.randrange(2) else [*COLUMNS])]()


def columns_of(dice: random.Random) -> dict[str, Any]:
    """Return a truth, a model, and up to two columns of any type."""
    columns: dict[str, Any] = {"truth": [*TRUTH], "a": [*SCORES]}
    for name in dice.sample(("truth", "a", "b", "site"), dice.choice((1, 1, 2))):
        columns[name] = column_of(dice)
    return columns


def pandas_frame(dice: random.Random) -> Any:
    """Return a frame of pandas with an index and names of any kind."""
    frame = pd.DataFrame(columns_of(dice))
    change = dice.randrange(7)
    if change == 0:
        frame.columns = pd.MultiIndex.from_product([["top"], frame.columns])
    elif change == 1:
        frame = frame.set_index("a", append=True)
    elif change == 2:
        frame.columns = pd.Index(dice.choices(NAMES, k=len(frame.columns)), dtype=object)
    elif change == 3:
        frame = pd.concat([frame, frame["a"]], axis=1)
    elif change == 4:
        frame.index = pd.Index(dice.choices(NAMES, k=len(frame)), dtype=object)
    elif change == 5:
        frame = frame.groupby("truth")
    return frame


def polars_frame(dice: random.Random) -> Any:
    """Return a frame of polars, eager, lazy, failing, or grouped."""
    frame = pl.DataFrame(columns_of(dice), strict=False)
    others: tuple[Callable[[], Any], ...] = (
        lambda: frame,
        lambda: frame.lazy(),
        lambda: frame.lazy().select(truth=pl.lit("x").cast(int)),
        lambda: frame.lazy().with_columns(pl.col("a").cast(pl.Int8) // 0),
        lambda: frame.group_by("truth"),
        lambda: frame["a"],
        lambda: frame.clear(),
        lambda: frame.select(),
        lambda: frame.rename({"a": dice.choice([str(name) for name in NAMES[4:14]])}),
    )
    return dice.choice(others)()


def arrow_table(dice: random.Random) -> Any:
    """Return a table of Arrow, a batch, or what reads some."""
    table = pa.table({name: _as_arrow(column) for name, column in columns_of(dice).items()})
    others: tuple[Callable[[], Any], ...] = (
        lambda: table,
        lambda: table.append_column("a", table["a"]),
        lambda: table.to_batches()[0],
        lambda: table.to_reader(),
        lambda: table.slice(3),
        lambda: table["a"],
        lambda: table.rename_columns(["\0"] * table.num_columns),
        lambda: duckdb.sql("select * from table"),
    )
    return dice.choice(others)()


def _as_arrow(column: Any) -> Any:
    return column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)


def plain_table(dice: random.Random) -> Any:
    """Return a mapping, a list of records, a structured array, or nothing that is a table."""
    columns = columns_of(dice)
    others: tuple[Callable[[], Any], ...] = (
        lambda: columns,
        lambda: {dice.choice(NAMES): column for column in columns.values()},
        lambda: [{"truth": row % 2, "a": 0.5} for row in range(ROWS)],
        lambda: np.array([*zip(TRUTH, SCORES, strict=True)], [("truth", int), ("a", float)]),
        lambda: np.array([TRUTH, SCORES]).T,
        lambda: [columns, columns],
        lambda: io.BytesIO(b"truth,a\n1,1\n"),
        lambda: dice.choice(VALUES),
        lambda: Path(dice.choice(("absent.csv", ".", "a\0b", "x" * 300))),
        lambda: iter(columns.items()),
    )
    return dice.choice(others)()


TABLES: tuple[Callable[[random.Random], Any], ...] = (
    pandas_frame,
    polars_frame,
    arrow_table,
    plain_table,
)


def make_table(make: Callable[[random.Random], Any], dice: random.Random) -> Any:
    """Return a table, or another one where its library refuses to make it."""
    for _ in range(200):
        try:
            return make(dice)
        except (KeyboardInterrupt, TimeoutError):
            raise
        except BaseException:
            continue
    raise AssertionError(f"no table can be made by {make.__name__}")
