"""Arrays in place of a table: classes, predictions, weights, groups become columns of a frame."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.errors import UsageError, bad_option, listing
from clfeval.tables.cells import as_text

TRUTH, MODEL = "truth", "model"  # what nameless columns are called
OFF = 0.05  # from 1: no sum of probabilities
MOST = 2.0**53  # beyond, and where infinite, a whole number is not kept as an integer
# options that take an array in place of a column's name, and what its column is called
ROLES = {"id": "id", "weight": "weight", "cluster": "cluster", "by": "group", "run": "run"}


def with_arrays(table: Any, predictions: Any, given: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return a frame made of arrays, and the options with the names of its columns.

    table: true classes if predictions are given; else a table, or a mapping of names to columns.
    predictions: of one model (n,), of several models by name, a frame with one column per model,
    or class probabilities (n, k). Their columns are in the order of `classes`, by default sorted.
    A table without arrays is returned unchanged. Errors: UsageError for different lengths.
    """
    options, columns = dict(given), dict[str, Any]()
    if predictions is not None:
        models = _models(table, predictions, given.get("classes"))
        truth = str(getattr(table, "name", None) or TRUTH)
        truth = truth if truth not in models else f"true {truth}"
        columns = {truth: _whole(table), **models}
        options["truth"] = truth
    elif (
        isinstance(table, Mapping) and not given.get("join") and all(map(_is_array, table.values()))
    ):
        columns = {str(name): column for name, column in table.items()}
    size = len(next(iter(columns.values()))) if columns else _rows(table)
    arrays = {
        role: one for role in ROLES if _of_rows(one := given.get(role), size, columns or table)
    }
    if arrays and not columns:
        columns = _columns(table, arrays)
    for role, one in arrays.items():
        several = _by_name(one)
        named = {}
        for name, column in several.items():
            if "IntervalIndex" in repr(getattr(getattr(column, "dtype", 0), "categories", "")):
                column = column.astype(str)  # as pandas.cut makes them
            name = str(name or ROLES[role])
            named[name if name not in columns else f"{name} ({role})"] = column
        # 'age:4' makes four groups of an array
        columns |= {n.partition(":")[0] if role == "by" else n: one for n, one in named.items()}
        options[role] = list(named) if role == "by" else next(iter(named))
    return (_frame(columns), options) if columns else (table, given)


def _by_name(given: Any) -> Mapping[str | None, Any]:
    """Return arrays by name: those of a mapping, a frame, or one alone."""
    if _is_frame(given):
        return {str(name): given[name] for name in _names(given)}
    if isinstance(given, (list, tuple)) and any(np.ndim(one) for one in given):
        hint = "give several arrays by name: {'site': sites, 'age:4': ages}"
        raise bad_option("a list of arrays has no names", hint)
    return given if isinstance(given, Mapping) else {getattr(given, "name", None): given}


def _is_frame(value: Any) -> bool:
    return hasattr(type(value), "columns")


def _names(frame: Any) -> list[Any]:
    return list(getattr(frame, "column_names", frame.columns))  # the first of Arrow


def _is_array(value: Any) -> bool:
    """Tell arrays, series and lists from names, files and frames."""
    single = isinstance(value, (str, bytes, os.PathLike, Mapping)) or _is_frame(value)
    return not single and hasattr(type(value), "__len__")


def _rows(table: Any) -> int | None:
    return len(table) if _is_frame(table) and hasattr(type(table), "__len__") else None


def _of_rows(value: Any, size: int | None, there: Any) -> bool:
    """Tell whether an option holds a value for each row, and not the name of a column, or some."""
    if isinstance(value, Mapping):
        return bool(value) and all(map(_is_array, value.values()))
    if not _is_array(value):
        return _is_frame(value)
    names = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    known = there if isinstance(there, Mapping) else [] if _rows(there) is None else _names(there)
    return not names or (len(value) == size and not {*value} <= {*known})


def _whole(values: Any) -> Any:
    """Return classes 0.0 and 1.0 as 0 and 1, as they are called elsewhere."""
    numbers = np.asarray(values)
    whole = numbers.dtype.kind == "f" and bool(
        ((numbers == np.floor(numbers)) & (np.abs(numbers) < MOST)).all()
    )
    return numbers.astype(np.int64) if whole else values


def _columns(table: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a frame, beside which arrays are to stand."""
    if _rows(table) is None:
        what = f"--{next(iter(arrays))} is an array, but the table is not in memory"
        raise bad_option(what, "name a column of the table, or give a data frame")
    return {str(name): table[name] for name in _names(table)}


def _models(truth: Any, given: Any, classes: Any) -> dict[str, Any]:
    """Return the columns of models by name; of class probabilities `model:class`."""
    if not _is_array(truth):
        what = "the first of two arguments must be an array of true classes"
        raise UsageError.of(what, "bad-option", hint="use report(y_true, y_prob) or report(table)")
    if _is_frame(given) and {*map(str, _names(given))} != {*map(as_text, _classes(truth))}:
        given = {str(name): given[name] for name in _names(given)}  # a column a model
    if not isinstance(given, Mapping):
        given = {str(getattr(given, "name", None) or MODEL): given}
    found: dict[str, Any] = {}
    for name, column in given.items():
        if hasattr(column, "predict"):
            hint = "give its predictions: model.predict_proba(X)"
            raise UsageError.of(f"'{name}' is a model, not an array", "no-input", hint=hint)
        shape = np.shape(column)
        if len(shape) < 2:
            found[str(name)] = _whole(column)
        elif shape[1:] == (1,):
            found[str(name)] = np.reshape(column, -1)
        else:
            labels = _labels(str(name), truth, column, classes)
            found |= {f"{name}:{one}": np.asarray(column)[:, i] for i, one in enumerate(labels)}
    return found


def _labels(name: str, truth: Any, given: Any, classes: Any) -> Sequence[Any]:
    """Return the classes of columns of probabilities, in their order; UsageError for none."""
    shape, there = np.shape(given), _classes(truth)
    two = shape == (len(truth), 2) and len(there) == 2
    sums = np.asarray(given, dtype=float).sum(axis=1) if two else np.ones(1)
    # most, and not some that are to be renormalized
    if shape[0] != len(truth) or np.mean(np.abs(sums - 1) > OFF) > 0.5:
        what = f"'{name}' has shape {shape}, wrong for class probabilities of {len(truth):,} rows"
        hint = "give models by name: {'a': p1, 'b': p2}; class probabilities sum to 1"
        raise UsageError.of(what, "bad-option", hint=hint)
    if _is_frame(given) and {*map(str, _names(given))} & {*map(as_text, there)}:
        return _names(given)
    known = sorted(there) if classes is None else list(classes)
    if len(known) != shape[1]:
        what = f"'{name}' has {shape[1]} columns of probabilities"
        what += f", but there are {len(known)} classes: {listing(map(str, known))}"
        classes = ", ".join(map(repr, known[:8])) + ", ..." * (len(known) > 8)
        hint = f"name the classes in the order of the columns: classes=[{classes}]"
        raise UsageError.of(what, "bad-option", hint=hint)
    return [as_text(one) for one in known]


def _classes(truth: Any) -> set[Any]:
    return set(np.asarray(truth).tolist())


def _frame(columns: Mapping[str, Any]) -> Any:
    """Return a frame of columns as they are, row by row whatever their indexes say."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        what = f"arrays differ in length: {', '.join(f'{name} {n:,}' for name, n in sizes.items())}"
        raise UsageError.of(what, "bad-option", hint="give one value per row, in the same order")
    if any(type(column).__module__.startswith("pandas") for column in columns.values()):
        import pandas as pd

        indexes = [one.index for one in columns.values() if isinstance(one, pd.Series)]
        for one in indexes[1:]:
            if not one.equals(indexes[0]) and one.isin(indexes[0]).all():
                what = "the indexes of two Series have the same labels in different order"
                hint = "if rows belong together by index, give y_prob.loc[y_true.index]; if by " \
                       "position, give y_prob.to_numpy()"  # fmt: skip
                raise UsageError.of(what, "bad-option", hint=hint)
        return pd.DataFrame({name: getattr(one, "array", one) for name, one in columns.items()})
    import polars as pl

    plain = (list, tuple, pl.Series)
    return pl.DataFrame({
        name: one if isinstance(one, plain) else np.asarray(one) for name, one in columns.items()
    }, strict=False)  # fmt: skip
