"""Values of one column as callers of Python have them: a flat array or list, or an error."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, ValuesView
from typing import Any, TypeAlias

import numpy as np

from clfeval.errors import DataError, UsageError, bad_option, quote_name
from clfeval.tables.frames import as_text, first_line_of, pl
from clfeval.tables.source import FRAME

Values: TypeAlias = Any  # a list, an array, a Series or an iterator
Y_TRUE = "y_true"  # the first of two arguments
WIDEST = 8  # bytes of a number in a table
NO_TEXT = r"<.* object at 0x"  # of objects that are not written as text
NO_CELLS = "cmV"  # kinds of arrays: complex, differences of times, records


def no_array_error(name: str, values: object) -> UsageError:
    """Return the error of a value that holds no value for each row."""
    message = f"{quote_name(name)} is of type {type(values).__name__}, not an array"
    return bad_option(message, "give a value for each row: a list or an array")


def listed_values(values: Values) -> Values:
    """Return a generator, an iterator or a view of a dictionary as a list; else as it is."""
    return list(values) if isinstance(values, (Iterator, ValuesView)) else values


def flat_values(name: str, values: Values) -> Values:
    """Return the values of a column without a second dimension of one column.

    Masked values become missing ones, sparse arrays dense ones and bytes texts. Errors: UsageError
    for a single value and for several columns; DataError for lists of different lengths.
    """
    values = column_values(name, values)
    shape = shape_of(name, values)
    if len(shape) < 2:
        return values
    if shape[1:] == (1,) * (len(shape) - 1):
        return _flattened(values, shape)
    message = f"{quote_name(name)} has shape {shape}, not ({max(shape):,},)"
    hint = "give one value per row"
    if shape[0] == 1:
        hint += f": {name}.ravel()" if name.isidentifier() else ": values.ravel()"
    elif name == Y_TRUE and len(shape) == 2:
        hint += "; of one-hot classes give y_true.argmax(axis=1)"
    raise bad_option(message, hint)


def column_values(name: str, values: Values) -> Values:
    """Return values without masks, of dense arrays; UsageError for a single value."""
    if isinstance(values, (str, bytes, os.PathLike, Mapping)):
        raise no_array_error(name, values)
    if hasattr(values, "toarray") and hasattr(values, "nnz"):  # sparse, of SciPy
        values = values.toarray()
    if isinstance(values, np.matrix):
        values = np.asarray(values)
    if isinstance(values, np.ma.MaskedArray):
        values = _without_mask(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if not hasattr(type(values), "__len__"):
        raise no_array_error(name, values)
    if isinstance(values, np.ndarray) and values.ndim == 0:
        raise bad_option(f"{quote_name(name)} is a single value", "give an array: one per row")
    return values


def shape_of(name: str, values: Values) -> tuple[int, ...]:
    """Return the shape of values; DataError for lists of different lengths and unknown types."""
    try:
        return tuple(np.shape(values))
    except ValueError as error:
        message = "these values are lists of different lengths"
        hint = "give one value per row"
        raise DataError.new(message, "bad-type", FRAME, column=name, hint=hint) from error
    except Exception as error:  # of `__array__` of a caller's type, or of a type of Arrow
        message = f"these values cannot be read: {first_line_of(error)}"
        hint = "give texts or numbers: a list or an array of one type"
        raise DataError.new(message, "bad-type", FRAME, column=name, hint=hint) from error


def _without_mask(values: Values) -> Values:
    """Return a masked array with NaN, or None, in place of its masked values."""
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    objects = np.asarray(values.data).astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def _flattened(values: Values, shape: tuple[int, ...]) -> Values:
    """Return the values of one column, which lists, arrays and Series of lists may hold."""
    if isinstance(values, np.ndarray):
        return values.reshape(-1)
    for _ in shape[1:]:
        values = [value[0] for value in values]
    return values


def polars_series(name: str, cells: Any) -> Any:
    """Return an array as a column of polars; DataError for values that no cell of a table holds."""
    if not isinstance(cells, (list, tuple, pl.Series)):
        array = np.asarray(cells)
        if array.shape[:1] != (len(cells),):  # such as a set
            raise no_array_error(name, cells)
        if array.dtype.kind == "f" and array.dtype.itemsize > WIDEST:
            array = array.astype(np.float64)
        if array.dtype.kind in NO_CELLS:
            raise _no_cells_error(name, array.dtype)
        if array.dtype.kind == "M":
            array = _with_known_unit(array)
        cells = array.tolist() if array.dtype == object else array
    if isinstance(cells, (list, tuple)):
        nested_types = {*map(type, cells)} & {list, tuple}
        if nested_types:  # polars would follow a list that contains itself until it crashes
            raise _no_cells_error(name, nested_types.pop().__name__)
    series = pl.Series(name, cells, strict=False)
    if series.dtype.is_nested():
        raise _no_cells_error(name, series.dtype)
    if series.dtype == pl.Object:  # such as frozensets: as pandas writes them into a file
        cell_texts = [as_text(value) for value in cells]
        if any(re.match(NO_TEXT, text) for text in cell_texts if text):
            raise _no_cells_error(name, type(cells[0]).__name__)
        return pl.Series(name, cell_texts, dtype=pl.String)
    return series


def _with_known_unit(times: Any) -> Any:
    """Return times of numpy with a unit that polars has, in which they are exact."""
    unit, _ = np.datetime_data(times.dtype)
    exact_units = {**dict.fromkeys(("generic", "Y", "M", "W"), "D"), **dict.fromkeys("hms", "ms")}
    return times.astype(f"M8[{exact_units[unit]}]") if unit in exact_units else times


def _no_cells_error(name: str, dtype: object) -> DataError:
    message = f"holds values of type {dtype}, which are not texts, numbers or dates"
    hint = "convert them, for example [str(value) for value in values]"
    return DataError.new(message, "bad-type", FRAME, column=name, hint=hint)
