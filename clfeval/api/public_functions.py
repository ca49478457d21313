"""Public Python functions, and arrays in place of a table as columns of a frame."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial, wraps
from inspect import Parameter, Signature, cleandoc
from typing import Any, cast

import numpy as np

from clfeval.api.array_values import (
    Y_TRUE,
    Values,
    column_values,
    flat_values,
    listed_values,
    polars_series,
    shape_of,
)
from clfeval.api.questions import PUBLIC_FUNCTIONS, OnOpen, Steps, compute_or_ask, with_fixes
from clfeval.api.result import Result
from clfeval.api.result_source import ResultSource
from clfeval.api.signatures import keyword_parameter
from clfeval.api.texts import fill_result
from clfeval.compare.answer_length import limit_answer
from clfeval.compare.gates.kinds import BASELINE, FAIL_UNDER, MAX_DROP
from clfeval.document import Document
from clfeval.errors import ClfevalError, DataError, UsageError, bad_option, list_names, suggestion
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Command, Option, as_list
from clfeval.options.syntax import MEANT, PYTHON, Dialect, fill_error, fill_text
from clfeval.placeholders import END, OPTION
from clfeval.tables.columns import OpenedTable
from clfeval.tables.frames import as_text, first_line_of, pl
from clfeval.tables.predictions import Predictions
from clfeval.tables.source import FRAME

ARGUMENTS = ("table", "predictions")  # of every public function, by position
TRUTH, MODEL = "truth", "model"  # names of columns without a name
MAX_SUM_ERROR = 0.05  # from 1: a larger one is not a sum of probabilities
MOST = 2.0**53  # above it whole floats are not converted to integers
# options that take an array in place of a column's name, and the name of its column
ROLES = {"id": "id", "weight": "weight", "cluster": "cluster", "by": "group", "run": "run"}


def frame_from_arrays(
    table: object, predictions: object, keywords: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return a frame built from arrays, and the options with the names of its columns.

    table: true classes if predictions are given; else a table, or a mapping of names to columns.
    predictions: of one model (n,), of several models by name, a frame with one column per model,
    or class probabilities (n, k). Their columns are in the order of `classes`, by default sorted.
    A table without arrays is returned unchanged. Errors: UsageError for different lengths.
    """
    options = dict(keywords)
    columns: dict[str, Any] = {}
    if predictions is not None:
        table = _truth_values(table)
        model_columns = _models(table, listed_values(predictions), keywords.get("classes"))
        truth_column = str(getattr(table, "name", None) or TRUTH)
        if truth_column in model_columns:
            truth_column = f"true {truth_column}"
        with _values_of(truth_column):
            columns = {truth_column: _integer_classes(table), **model_columns}
        options["truth"] = truth_column
        options.setdefault("model", ("*",))  # whatever is given as predictions
    elif isinstance(table, Mapping) and not _is_name(keywords.get("join")) and _holds_arrays(table):
        columns = {str(name): flat_values(str(name), column) for name, column in table.items()}
    row_count = len(next(iter(columns.values()))) if columns else _rows(table)
    arrays_by_role = {
        role: keywords[role]
        for role in ROLES
        if role in keywords and _holds_rows(keywords[role], row_count, columns or table)
    }
    if arrays_by_role and not columns:
        if _rows(table) is None:
            role = next(iter(arrays_by_role))
            message = f"{OPTION}--{role}{END} is an array, but the table is not in memory"
            raise bad_option(message, "name a column of the table, or give a data frame")
        columns = _columns(table)
    for role, arrays in arrays_by_role.items():
        role_columns = _role_columns(role, arrays, columns)
        for name, column in role_columns.items():
            column_name = name
            if role == "by":  # 'age:4' makes four groups of the array 'age'
                column_name, _, _ = name.partition(":")
            columns[column_name] = column
        options[role] = list(role_columns) if role == "by" else next(iter(role_columns))
    return (_frame(columns), options) if columns else (table, keywords)


def _role_columns(role: str, arrays: object, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a role as columns, with names that the other columns do not have."""
    role_columns = {}
    for array_name, array in _by_name(arrays).items():
        column_name = str(array_name or ROLES[role])
        categories = getattr(getattr(array, "dtype", None), "categories", "")
        if "IntervalIndex" in repr(categories):  # as pandas.cut makes them
            array = array.astype(str)
        column = flat_values(column_name, array)
        if column_name in columns:
            column_name = f"{column_name} ({role})"
        role_columns[column_name] = column
    return role_columns


def _by_name(arrays: object) -> Mapping[str | None, Any]:
    """Return arrays by name: those of a mapping, of a frame, or a single one."""
    if _is_frame(arrays):
        return _columns(arrays)
    if isinstance(arrays, (list, tuple)) and any(map(_is_nested, arrays)):
        hint = "give several arrays by name: {'site': sites, 'age:4': ages}"
        raise bad_option("a list of arrays has no names", hint)
    return arrays if isinstance(arrays, Mapping) else {getattr(arrays, "name", None): arrays}


def _is_nested(value: Any) -> bool:
    """Return whether a value holds values itself; lists are not looked into."""
    return isinstance(value, (list, tuple)) or np.ndim(value) > 0


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_frame(value: object) -> bool:
    return hasattr(type(value), "columns")


def _names(frame: Any) -> list[Any]:
    return list(getattr(frame, "column_names", frame.columns))  # column_names of Arrow


def _columns(frame: Any) -> dict[Any, Any]:
    """Return the columns of a frame by name as text; DataError for two of one name."""
    column_names = _names(frame)
    repeated_names = [name for name, count in Counter(map(str, column_names)).items() if count > 1]
    if repeated_names:
        message = "two columns have this name"
        raise DataError.new(message, "duplicate-column", FRAME, column=repeated_names[0])
    return {str(name): frame[name] for name in column_names}


def _is_array(value: object) -> bool:
    """Return whether a value is an array, series or list, not a name, file or frame."""
    is_no_array = isinstance(value, (str, bytes, os.PathLike, Mapping)) or _is_frame(value)
    return not is_no_array and hasattr(type(value), "__len__")


def _holds_arrays(columns: Mapping[Any, Any]) -> bool:
    return all(map(_is_array, columns.values()))


def _rows(table: Any) -> int | None:
    return len(table) if _is_frame(table) and hasattr(type(table), "__len__") else None


def _holds_rows(value: Any, row_count: int | None, table: Any) -> bool:
    """Return whether an option holds a value for each row, rather than names of columns.

    table: the table, or its columns by name.
    """
    if isinstance(value, Mapping):
        return bool(value) and _holds_arrays(value)
    if not _is_array(value):
        return _is_frame(value)
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        return True
    column_names: Any = table  # of a mapping: its keys
    if not isinstance(table, Mapping):
        column_names = [] if _rows(table) is None else _names(table)
    return len(value) == row_count and not {*value} <= {*column_names}


@contextmanager
def _values_of(name: str) -> Iterator[None]:
    """Raise errors of libraries that cannot read the values of a column as DataError."""
    try:
        yield
    except (ClfevalError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        message = f"these values cannot be read: {first_line_of(error)}"
        hint = "give texts or numbers: a list or an array of one type"
        raise DataError.new(message, "bad-type", FRAME, column=name, hint=hint) from error


def _integer_classes(classes: Any) -> Any:
    """Return whole floats as integers, so that classes 0.0 and 1.0 are named 0 and 1."""
    if type(classes).__module__.partition(".")[0] == "polars" and not classes.dtype.is_float():
        return classes
    numbers = np.asarray(classes)
    if numbers.dtype.kind != "f" or not (np.abs(numbers.astype(np.float64)) < MOST).all():
        return classes
    return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else classes


def _truth_values(true_classes: Values) -> Values:
    """Return the true classes of the first of two arguments; UsageError if it has none."""
    true_classes = listed_values(true_classes)
    if _is_frame(true_classes) and len(_names(true_classes)) == 1:
        true_classes = true_classes[_names(true_classes)[0]]
    if not _is_array(true_classes):
        message = "the first of two arguments must be an array of true classes"
        raise UsageError.new(
            message, "bad-option", hint="use report(y_true, y_prob) or report(table)"
        )
    return flat_values(Y_TRUE, true_classes)


def _models(true_classes: object, predictions: object, class_order: object) -> dict[str, Any]:
    """Return the columns of models by name, `model:class` for class probabilities.

    class_order: the classes of probabilities, in the order of their columns; None: sorted.
    """
    predictions_by_model = predictions
    if _is_frame(predictions):
        column_names = {*map(str, _names(predictions))}
        # a frame with a column for each class holds class probabilities of one model
        if column_names != {*map(as_text, _classes(true_classes))}:
            predictions_by_model = _columns(predictions)
    if not isinstance(predictions_by_model, Mapping):
        model = str(getattr(predictions_by_model, "name", None) or MODEL)
        predictions_by_model = {model: predictions_by_model}
    columns: dict[str, Any] = {}
    for model, model_predictions in predictions_by_model.items():
        if hasattr(model_predictions, "predict"):
            hint = "give its predictions: model.predict_proba(X)"
            raise UsageError.new(f"'{model}' is a model, not an array", "no-input", hint=hint)
        model_values = column_values(str(model), listed_values(model_predictions))
        with _values_of(str(model)):
            columns |= _model_columns(str(model), true_classes, model_values, class_order)
    if not columns:
        raise bad_option("there are no predictions", "give y_prob, or models by name: {'a': p1}")
    return columns


def _model_columns(
    model: str, true_classes: Any, model_values: Any, class_order: Any
) -> dict[str, Any]:
    """Return the column of a model, or its columns of class probabilities, by name."""
    shape = shape_of(model, model_values)
    if len(shape) != 2 or shape[1] == 1:
        return {model: _integer_classes(flat_values(model, model_values))}
    class_labels = _labels(model, true_classes, model_values, class_order)
    return {
        f"{model}:{label}": np.asarray(model_values)[:, i] for i, label in enumerate(class_labels)
    }


def _labels(model: str, true_classes: Any, probabilities: Any, class_order: Any) -> Sequence[Any]:
    """Return the classes of probability columns, in order; UsageError for a wrong shape."""
    shape = np.shape(probabilities)
    distinct_classes = _classes(true_classes)
    has_two_classes = shape == (len(true_classes), 2) and len(distinct_classes) == 2
    row_sums = np.asarray(probabilities, dtype=float).sum(axis=1) if has_two_classes else np.ones(1)
    has_wrong_sum = np.abs(row_sums - 1) > MAX_SUM_ERROR
    # most rows, as some may have to be renormalized
    if shape[0] != len(true_classes) or np.mean(has_wrong_sum) > 0.5:
        message = (
            f"'{model}' has shape {shape}, wrong for class probabilities of {len(true_classes):,} "
        )
        message += "rows"
        hint = "give models by name: {'a': p1, 'b': p2}; class probabilities sum to 1"
        raise UsageError.new(message, "bad-option", hint=hint)
    if _is_frame(probabilities):
        column_names = {*map(str, _names(probabilities))}
        if column_names & {*map(as_text, distinct_classes)}:  # it names the class of each column
            return _names(probabilities)
    class_labels = sorted(distinct_classes) if class_order is None else list(class_order)
    if len(class_labels) != shape[1]:
        message = f"'{model}' has {shape[1]} columns of probabilities"
        message += (
            f", but there are {len(class_labels)} classes: {list_names(map(str, class_labels))}"
        )
        hint = "name the classes in the order of the columns: classes=list(model.classes_)"
        if len(class_labels) > shape[1]:
            hint = "give one column for each class, in the order of model.classes_"
        raise UsageError.new(message, "bad-option", hint=hint)
    return [as_text(label) for label in class_labels]


def _classes(true_classes: object) -> set[Any]:
    return set(np.asarray(true_classes).tolist())


def _frame(columns: Mapping[str, Any]) -> Any:
    """Return a frame of columns of equal length, by position rather than by pandas index."""
    lengths_by_name = dict[str, int]()
    for name, column in columns.items():
        with _values_of(name):
            lengths_by_name[name] = len(column)
    if len(set(lengths_by_name.values())) > 1:
        lengths_text = ", ".join(f"{name} {length:,}" for name, length in lengths_by_name.items())
        message = f"arrays differ in length: {lengths_text}"
        hint = "give one value per row, in the same order"
        raise UsageError.new(message, "bad-option", hint=hint)
    if any(type(column).__module__.startswith("pandas") for column in columns.values()):
        import pandas as pd

        arrays = columns.values()
        _refuse_reordered_index([array for array in arrays if isinstance(array, pd.Series)])
        pandas_columns = {}
        for name, array in columns.items():
            with _values_of(name):
                name.encode()
                pandas_columns[name] = pd.Series(getattr(array, "array", array), copy=False)
        return pd.DataFrame(pandas_columns)
    polars_columns = {}
    for name, column in columns.items():
        with _values_of(name):
            polars_columns[name] = polars_series(name, column)
    return pl.DataFrame(polars_columns)


def _refuse_reordered_index(pandas_series: Sequence[Any]) -> None:
    """Raise UsageError for Series with the same labels of rows in different order."""
    for series in pandas_series[1:]:
        index = series.index
        first_index = pandas_series[0].index
        if not index.equals(first_index) and index.isin(first_index).all():
            message = "the indexes of two Series have the same labels in different order"
            hint = (
                "if rows belong together by index, give y_prob.loc[y_true.index]; if by "
                "position, give y_prob.to_numpy()"
            )
            raise UsageError.new(message, "bad-option", hint=hint)


USAGE = """
Calls:
    clfeval.NAME("preds.csv", truth="outcome")  # a file, a data frame or a dict of columns.
    clfeval.NAME(y_true, y_prob)  # scores or labels (n,), or class probabilities (n, k).
    clfeval.NAME(y_true, {"lr": p1, "rf": p2})  # by, cluster, weight, id and run take arrays too.
Sentences of the result are in `answer`. To get a table call `frame("TABLE")`. To print one call
`show("TABLE")`. Files are written by `save("page.html")`. Gates are judged by
`check(fail_under={"roc_auc": 0.8}, baseline="old.json")`.
"""
# keywords of other libraries, and methods of a result
ELSEWHERE = {
    "sample_weight": "weight=...",
    "pos_label": "positive=...",
    "groups": "cluster=... (intervals) or by=... (slices)",
    "group": "by=...",
    "slices": "by=...",
    "subgroup": "by=...",
    "sensitive_features": "by=...",
    "cutoff": "threshold=...",
    "n_boot": "resamples=...",
    "n_bootstrap": "resamples=...",
    "bootstrap": "interval='bootstrap'",
    "confidence": "level=0.95",
    "confidence_level": "level=0.95",
    "alpha": "level=0.95",
    "ci": "level=0.95 or interval=...",
    "random_state": "seed=...",
    "ref": "reference=...",
    "metric": "measure=...",
    "metrics": "measure=...",
    "costs": "measure='cost:fp=1,fn=5'",
    "n_bins": "by='COLUMN:4' (slices)",
    "output": "result.save('page.html')",
    "y_true": "report(y_true, y_prob)",
    "y_score": "report(y_true, y_score)",
    "y_prob": "report(y_true, y_prob)",
    "y_pred": "report(y_true, y_pred)",
    **{
        kind.option: f"result.check({kind.option}=...)" for kind in (FAIL_UNDER, BASELINE, MAX_DROP)
    },
    "save": "result.save('page.html')",
    "show": "result.show('NAME')",
    "format": "result.to_json() or result.frame('NAME')",
}


def public_function(steps: Steps) -> Callable[..., Document]:
    """Build a public Python function from the options that its command declares.

    The function `compute` takes options by name and raises errors worded for the shell. The
    function `describe` returns the public one with its signature and its documentation, which ends
    with a line for each keyword. The command line needs neither, and a start would wait for them.
    """

    @wraps(steps)
    def call(*tables: object, on_open: OnOpen | None = None, **keywords: object) -> Document:
        command = command_of(steps.__name__)
        signature = describe().__signature__
        options = command.options()
        _refuse_models(steps.__name__, tables)
        try:
            bound_arguments = signature.bind(*tables, on_open=on_open, **keywords)
        except TypeError as error:
            hint = _hint_on_keywords(steps.__name__, keywords, signature)
            raise TypeError(f"{steps.__name__}() {error}{hint}") from None
        dialect = replace(PYTHON, arrays=_options_with_arrays(keywords))
        try:
            opened_tables = _OpenedTables(on_open)
            table, predictions = map(bound_arguments.arguments.get, ARGUMENTS)
            option_values = {
                name: value for name, value in keywords.items() if name not in ARGUMENTS
            }
            table, option_values = frame_from_arrays(table, predictions, option_values)
            if predictions is not None and "source" in signature.parameters:  # that of mlcps
                option_values = {"source": "predictions", **option_values}
            write_call = partial(_python_call, steps.__name__, options, option_values)
            document = compute_or_ask(
                command, steps, table, option_values, opened_tables, write_call
            )
            result = _in_python(document, options, dialect)
            if predictions is not None:
                return result
            return opened_tables.with_source(result, table, option_values)
        except ClfevalError as error:
            fill_error(error, options, dialect)
            raise

    @cache
    def describe() -> Any:
        command = command_of(steps.__name__)
        usage = USAGE.replace("NAME(", f"{call.__name__}(")
        purpose = cleandoc(steps.__doc__ or "")
        keyword_lines = _keyword_lines(command.options())
        public.__doc__ = "\n".join([purpose, usage, "Keywords:", *keyword_lines])
        public.__signature__ = signature_of(command)
        return public

    def compute(*arguments: Any, **keywords: Any) -> Document:
        return compute_or_ask(command_of(steps.__name__), steps, *arguments, **keywords)

    public = cast(Any, call)
    del public.__wrapped__  # its signature is not that of the public function
    public.compute = compute
    public.describe = describe
    PUBLIC_FUNCTIONS[steps.__name__] = public
    return call


def _keyword_lines(options: Sequence[Option]) -> list[str]:
    """Return the lines of the documentation on keywords, one for each option."""
    keyword_lines = []
    for option in options:
        help_text = fill_text(f"    {option.name}: {option.opt.help}", options, PYTHON)
        keyword_lines.append(re.sub(r"([;,]) repeat", r"\1 or several", help_text))
    return keyword_lines


class _OpenedTables:
    """The tables that a call has opened, which it tells a listener."""

    def __init__(self, listener: OnOpen | None) -> None:
        self.listener = listener
        self.tables = list[OpenedTable]()

    def __call__(self, table: OpenedTable) -> None:
        """Add a table, and tell the listener."""
        self.tables.append(table)
        if self.listener is not None:
            self.listener(table)

    def with_source(self, result: Result, table: object, options: Mapping[str, Any]) -> Result:
        """Return a result with what it was computed from; no table in memory that has no ids."""
        opened_predictions = [
            predictions for predictions in self.tables if isinstance(predictions, Predictions)
        ]
        has_ids = any(predictions.columns.id is not None for predictions in opened_predictions)
        files = table if isinstance(table, (list, tuple)) else [table]
        is_in_files = all(isinstance(file, (str, os.PathLike)) for file in files)
        function = result.command.replace("-", "_")
        is_readable = has_ids or is_in_files
        source = ResultSource(function, table if is_readable else None, options)
        object.__setattr__(result, "source", source)
        return result


def _options_with_arrays(keywords: Mapping[str, object]) -> frozenset[str]:
    """Return the options whose columns are given as arrays by name, not by names of columns."""
    names = as_list(keywords.get("by"))
    return frozenset() if all(isinstance(name, str) for name in names) else frozenset({"by"})


def _refuse_models(function: str, tables: Sequence[object]) -> None:
    """Raise UsageError for a model in place of its predictions."""
    if any(hasattr(table, "predict") for table in tables):
        hint = f"clfeval.{function}(y_true, model.predict_proba(X))"
        raise UsageError.new("a model is not a table of predictions", "no-input", hint=hint)


def _hint_on_keywords(function: str, keywords: Mapping[str, Any], signature: Signature) -> str:
    """Return what to use instead of an unknown keyword, or how the function is called."""
    unknown_keyword = next(
        (keyword for keyword in keywords if keyword not in signature.parameters), None
    )
    if unknown_keyword is None:
        return f"; {function}(y_true, y_prob) or (table, truth='outcome')"
    options = command_of(function).options()
    meant_phrase = fill_text(
        MEANT.get(f"--{unknown_keyword.replace('_', '-')}", ""), options, PYTHON
    )
    if replacement := ELSEWHERE.get(unknown_keyword, meant_phrase):
        return f"; use {replacement}"
    # a keyword may be an empty text, which nothing is similar to
    similar_keyword = (
        suggestion(unknown_keyword, [*signature.parameters]) if unknown_keyword else None
    )
    return f"; {similar_keyword}" if similar_keyword else ""


def _in_python(result: Document, options: Sequence[Option], dialect: Dialect) -> Result:
    """Return a result with its texts filled for Python."""
    filled_result = fill_result(
        limit_answer(result), lambda text: fill_text(text, options, dialect)
    )
    methods = {name: _as_result(document) for name, document in filled_result.methods.items()}
    return _as_result(replace(filled_result, methods=methods))


def _as_result(result: Document) -> Result:
    return Result.from_document(replace(result, python=True))


def _python_call(
    function_name: str,
    options: Sequence[Option],
    option_values: Mapping[str, Any],
    fixes: Mapping[str, Any],
) -> str:
    """Write the Python call with fixes added to the values of options."""
    option_names = {option.name for option in options}
    keywords = with_fixes(option_values, fixes)
    keyword_texts = [
        f"{key}={_bare_value(keywords[key])!r}" for key in fixes if key in option_names
    ]
    return f"clfeval.{function_name}(..., {', '.join(keyword_texts)})"


def _bare_value(value: object) -> object:
    """Return the value of a keyword, without the mapping where one value is for all models."""
    if isinstance(value, Mapping) and value.keys() == {None}:
        return value[None]
    return value


def signature_of(command: Command) -> Signature:
    """Return the signature of a command's public function."""
    parameter_kind = Parameter.POSITIONAL_OR_KEYWORD
    table_default = None if command.optional else Parameter.empty
    defaults = (table_default, None)  # of the table, and of the predictions
    table_parameters = [
        Parameter(name, parameter_kind, default=default, annotation=Any)
        for name, default in zip(ARGUMENTS, defaults, strict=True)
    ]
    listener_parameter = Parameter(
        "on_open", Parameter.KEYWORD_ONLY, default=None, annotation=OnOpen | None
    )
    option_parameters = map(_parameter, command.options())
    return Signature(
        [*table_parameters, *option_parameters, listener_parameter], return_annotation=Result
    )


def _parameter(option: Option) -> Parameter:
    """Return the keyword of an option; those of roles take arrays in place of a column's name."""
    return keyword_parameter(option, Any if option.name in ROLES else None)
