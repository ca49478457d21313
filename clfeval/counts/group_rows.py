"""One pass over the rows: counts of combinations of raw values, with any narwhals backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.ambiguous_labels import refuse_class_columns_not_in_truth
from clfeval.counts.patterns import in_units, sums_of_weights
from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError, OfferedReading, Problem, list_names, quote_name
from clfeval.records import dataclass
from clfeval.tables.columns import WRONG, Mode, ModelColumns
from clfeval.tables.engines import unseen_nan_error
from clfeval.tables.frames import (
    Frame,
    collect,
    engine_errors,
    float32_threshold,
    is_missing,
    natural_sort_key,
    nw,
)
from clfeval.tables.invalid_cells import check_structure
from clfeval.tables.readings.reading import MOST_OFFERED
from clfeval.tables.scan import NO_TAIL, TEXT_BYTES

_PLAIN = {str, int, bool, type(None)}  # cells of these types need no conversion
Types = Mapping[str, Any]  # of the columns of a frame
MISSING = 2  # the vote code of an absent score; 0 is negative, 1 is positive


@dataclass(frozen=True, slots=True)
class RawPatterns:
    """Distinct combinations of raw values with their counts, all columns of equal length.

    votes: per model the raw labels, or codes 0, 1, MISSING of thresholded scores.
    ranges: per score model the lowest and highest score, of class probabilities over all classes.
    farthest_off: per model of these, largest distance of their sum from 1. origin: the number of
    the file of each combination. clusters: the cluster of each combination, which is then counted
    by cluster; else None. squares (r, 2): sums of squared sampling weights, and the largest weight;
    None for rows and for clusters. bad_weights: rows of invalid weight; invalid: observations with
    contradicting rows. text_bytes, no_tail: bytes in fields read as text, rows without their last
    field.
    """

    truth: list[Any]
    by: tuple[list[Any], ...]
    votes: tuple[list[Any], ...]
    rows: Ints
    n: Floats | Ints  # fractional only until their unit is known
    bad_weights: int
    invalid: int
    ranges: Mapping[str, tuple[float, float]]
    farthest_off: Mapping[str, float]
    ties: Mapping[str, int]
    text_bytes: int
    no_tail: int
    origin: Ints
    clusters: list[Any] | None
    squares: Floats | None
    mode: Mode

    @classmethod
    def from_frames(
        cls, tables: Sequence[nw.DataFrame[Any]], settings: CountSettings, mode: Mode
    ) -> RawPatterns:
        """Concatenate the results of `group_frame` of all files; missing values become None."""
        columns = settings.columns

        def column(name: str) -> list[Any]:
            """Return the cells of a column in all files."""
            cells = [value for table in tables for value in table[name].to_list()]
            other_types = {*map(type, cells)} - _PLAIN
            return [None if is_missing(cell) else cell for cell in cells] if other_types else cells

        def total(name: str) -> int:
            """Return the sum of a column in all files, 0 without it."""
            return sum(sum(table[name].to_list()) for table in tables if name in table.columns)

        rows: Ints = np.array(column("rows"), np.int64)
        n: Any = rows
        if columns.weight is not None and settings.weight_unit != 1:
            n = np.array([value or 0 for value in column("w")], np.int64)
        elif columns.weight is not None:
            n = np.array([value or 0.0 for value in column("w")], np.float64)
            n = n if total("y") else n.astype(np.int64)
        ranges = {}
        ties = {}
        farthest_off = {}
        for i, model in enumerate(columns.models):
            if f"tie{i}" in tables[0].columns:
                ties[model.name] = total(f"tie{i}")
            if f"off{i}" in tables[0].columns:
                deviations = [value for value in column(f"off{i}") if value is not None]
                farthest_off[model.name] = max(deviations, default=0.0)
            if model.kind != "label":
                lows = [table[f"lo{i}"].min() for table in tables]
                highs = [table[f"hi{i}"].max() for table in tables]
                lowest = [low for low in lows if not is_missing(low)]
                highest = [high for high in highs if not is_missing(high)]
                if lowest:
                    ranges[model.name] = (min(lowest), max(highest))
        return cls(
            truth=column("t"),
            by=tuple(column(f"b{i}") for i in range(len(columns.by))),
            votes=tuple(column(f"v{i}") for i in range(len(columns.models))),
            rows=rows,
            n=n,
            bad_weights=total("x"),
            invalid=total(WRONG),
            ranges=ranges,
            farthest_off=farthest_off,
            ties=ties,
            text_bytes=total(TEXT_BYTES),
            no_tail=total(NO_TAIL),
            origin=np.repeat(np.arange(len(tables)), [len(table) for table in tables]),
            clusters=None if columns.cluster is None else column("c"),
            squares=np.array([column("q"), column("h")], np.float64).T
            if settings.weighed
            else None,
            mode=mode,
        )


def group_rows(settings: CountSettings) -> RawPatterns:
    """Count the raw values of all files, with slower readers if a faster one fails."""
    for model in settings.columns.models:
        if model.kind == "classes" and settings.positive not in model.classes:
            if settings.roles.several and settings.roles.positive is None:
                labels = sorted(
                    settings.profiles[settings.columns.truth].texts, key=natural_sort_key
                )
                refuse_class_columns_not_in_truth(settings.name, settings.columns.models, labels)
            message = f"model '{model.name}' has no probability column for the positive class "
            message += f"'{settings.positive}'; it has {list_names(model.classes)}"
            readings = [
                OfferedReading(f"{quote_name(label)} is positive", {"positive": label})
                for label in model.classes[:MOST_OFFERED]
            ]
            problem = Problem(message, "no-class-column", settings.name)
            raise DataError(problem, readings=readings)
    modes: tuple[Mode, ...] = ("fast", "plain", "loose")
    for mode in modes if _all_bits(settings) else modes[1:]:
        try:
            frames = settings.layout.rows(settings.files, settings.columns, mode, "watch")
            raw_patterns = RawPatterns.from_frames(
                [group_frame(frame, settings) for frame in frames], settings, mode
            )
        except engine_errors():
            if mode == "loose":
                raise
            continue
        if mode != "fast" or _single_bytes(settings, raw_patterns):
            break
    has_short_rows = None if settings.layout.gathers else raw_patterns.no_tail > 0
    check_structure(settings.files, settings.tasks, short_rows=has_short_rows)
    return raw_patterns


def group_frame(frame: Frame, settings: CountSettings) -> nw.DataFrame[Any]:
    """Group the rows of a frame by truth, slices and every model's label or thresholded score."""
    columns = settings.columns
    types = frame.collect_schema()
    keys = {"t": nw.col(columns.truth)}
    keys |= {f"b{i}": slice_column(name, types) for i, name in enumerate(columns.by)}
    if columns.cluster is not None:
        keys["c"] = nw.col(columns.cluster)
    row_values = dict[str, Any]()
    sums = [nw.len().alias("rows")]
    for i, model in enumerate(columns.models):
        keys[f"v{i}"] = _vote_code(model, settings, types)
        model_values, model_sums = _model_checks(i, model)
        row_values |= model_values
        sums += model_sums
    if columns.weight is not None:
        row_values |= weight_sums(columns.weight, settings.weight_unit)
        sums.append(nw.col("w", "x", "y").sum())
        sums += sums_of_weights() if settings.weighed else []
        # rows of weight 0 are dropped; invalid weights are kept, to be named
        weight = nw.col(columns.weight)
        frame = frame.filter((weight != 0) | weight.is_null())
    for mark_column in (name for name in (TEXT_BYTES, NO_TAIL, WRONG) if name in types):
        row_values[mark_column] = nw.col(mark_column).cast(nw.Int64)
        sums.append(nw.col(mark_column).sum())
    selected = [expression.alias(name) for name, expression in {**keys, **row_values}.items()]
    with catch_warnings():  # pandas warns that simpler sums were faster
        simplefilter("ignore", UserWarning)
        table = collect(frame.select(*selected).group_by(*keys).agg(*sums), "labels")
    if frame.implementation.is_duckdb():
        _refuse_unseen_nan(table, settings)
    return table


def _vote_code(model: ModelColumns, settings: CountSettings, types: Types) -> nw.Expr:
    """Return the raw label of a model, or the code 0, 1, MISSING of its thresholded score."""
    if model.kind == "label":
        return nw.col(model.columns[0])
    vote = predicts_positive(model, settings, types).cast(nw.Int8)
    absent_code = nw.when(lacks_score(model, settings)).then(nw.lit(MISSING, nw.Int8))
    return absent_code.otherwise(vote)


def _model_checks(i: int, model: ModelColumns) -> tuple[dict[str, Any], list[nw.Expr]]:
    """Return values of model i in each row, and their sums: range, sum of probabilities, ties."""
    row_values = dict[str, Any]()
    sums = list[nw.Expr]()
    if model.kind != "label":
        numbers = (nw.col(name).cast(nw.Float64) for name in model.columns)
        # without NaN: polars orders it above every number
        scores = [nw.when(~_is_missing_score(number)).then(number) for number in numbers]
        high_column = f"u{i}" if len(scores) > 1 else f"s{i}"
        row_values[f"s{i}"] = nw.min_horizontal(*scores) if len(scores) > 1 else scores[0]
        row_values |= {high_column: nw.max_horizontal(*scores)} if len(scores) > 1 else {}
        sums += [nw.col(f"s{i}").min().alias(f"lo{i}"), nw.col(high_column).max().alias(f"hi{i}")]
    if model.kind == "classes" and len(model.columns) > 1 and not model.shares:
        total = reduce(add, (nw.col(name).cast(nw.Float64) for name in model.columns))
        row_values[f"d{i}"] = (total - 1).abs()
        sums.append(nw.col(f"d{i}").max().alias(f"off{i}"))
    if model.kind == "classes" and len(model.columns) > 2:
        probabilities = [nw.col(name) for name in model.columns]
        largest = nw.max_horizontal(*probabilities)
        ties = [(probability == largest).cast(nw.Int64) for probability in probabilities]
        row_values[f"e{i}"] = (nw.sum_horizontal(*ties) > 1).cast(nw.Int64)
        sums.append(nw.col(f"e{i}").sum().alias(f"tie{i}"))
    return row_values, sums


def _refuse_unseen_nan(table: nw.DataFrame[Any], settings: CountSettings) -> None:
    """Raise the error of a model whose highest score is NaN."""
    for i, model in enumerate(settings.columns.models):
        if model.kind == "label":
            continue
        if any(score != score for score in table[f"hi{i}"].to_list() if score):  # NaN
            raise unseen_nan_error(settings.name, model.columns[0])


def slice_column(name: str, types: Types) -> nw.Expr:
    """Return the expression of a column of --by, in which -0.0 is 0.0."""
    values = nw.col(name)
    if types[name].is_float():
        values = nw.when(values == 0).then(nw.lit(0.0)).otherwise(values)
    return values


def score_column_name(model: ModelColumns, positive: str | None) -> str:
    """Return the name of the column with the score of the positive class."""
    class_index = model.classes.index(str(positive)) if model.kind == "classes" else 0
    return model.columns[class_index]


def score_column(model: ModelColumns, positive: str | None) -> nw.Expr:
    """Return the expression of the score of the positive class."""
    column_index = model.columns.index(score_column_name(model, positive))
    return score_columns(model)[column_index]


def score_columns(model: ModelColumns) -> list[nw.Expr]:
    """Return the expressions of the scores in every column of a model; -0 becomes 0."""
    scores = [nw.col(name).cast(nw.Float64) for name in model.columns]
    if model.shares:
        total = reduce(add, scores)
        scores = [score / total for score in scores]
    if model.rounded:
        scores = [_clip(score, model.rounded) for score in scores]
    return [nw.when(score == 0).then(nw.lit(0.0)).otherwise(score) for score in scores]


def _clip(score: nw.Expr, rounded: float) -> nw.Expr:
    """Return scores that lie outside 0 to 1 by rounding as 0 and 1; NaN is kept."""
    is_above = (score > 1) & (score <= 1 + 2 * rounded)
    below_one = nw.when(is_above).then(nw.lit(1.0)).otherwise(score)
    return nw.when(score < 0).then(nw.lit(0.0)).otherwise(below_one)


def most_probable_class(model: ModelColumns) -> nw.Expr:
    """Return the index of the largest class probability of a row, the first of ties."""
    probabilities = [nw.col(name) for name in model.columns]
    largest = nw.max_horizontal(*probabilities)
    class_indices = (
        nw.when(probability == largest).then(nw.lit(k))
        for k, probability in enumerate(probabilities)
    )
    return nw.min_horizontal(*class_indices)


def predicts_positive(model: ModelColumns, settings: CountSettings, types: Types) -> nw.Expr:
    """True where score >= threshold; for NaN, where the positive class is most probable."""
    threshold = settings.thresholds[model.name]
    name = score_column_name(model, settings.positive)
    if threshold == threshold:  # not NaN
        if model.shares:
            return score_column(model, settings.positive) >= threshold
        is_single_precision = types[name] == nw.Float32
        column_threshold = float32_threshold(threshold) if is_single_precision else threshold
        return nw.col(name).cast(nw.Float64) >= column_threshold
    probability = nw.col(name)
    index = model.columns.index(name)
    is_beaten = [probability <= nw.col(rival_column) for rival_column in model.columns[:index]]
    is_beaten += [probability < nw.col(rival_column) for rival_column in model.columns[index + 1 :]]
    return ~nw.any_horizontal(*is_beaten, ignore_nulls=True)


def lacks_score(model: ModelColumns, settings: CountSettings) -> nw.Expr:
    """True where a model has no score to predict with."""
    threshold = settings.thresholds[model.name]
    if threshold == threshold and not model.shares:  # not NaN
        return _is_missing_score(nw.col(score_column_name(model, settings.positive)))
    is_lacking = [_is_missing_score(nw.col(name)) for name in model.columns]
    if model.shares:  # a sum of 0
        is_lacking.append(
            reduce(add, (nw.col(name).cast(nw.Float64) for name in model.columns)) == 0
        )
    return nw.any_horizontal(*is_lacking, ignore_nulls=True)


def weight_sums(column: str, unit: float = 1) -> dict[str, nw.Expr]:
    """Return columns to sum: valid weights w in units, invalid x (0/1), fractional y (0/1)."""
    weight = nw.col(column)
    is_valid = ~_is_missing_score(weight) & (weight >= 0) & (weight < float("inf"))
    number = weight.cast(nw.Float64)
    is_fractional = (is_valid & (number.round(0) != number)).cast(nw.Int64)
    units = nw.when(is_valid).then(in_units(number, unit))
    return {"w": units, "x": (~is_valid).cast(nw.Int64), "y": is_fractional}


def _is_missing_score(score: nw.Expr) -> nw.Expr:
    return score.is_null() | score.cast(nw.Float64).is_nan()


def _all_bits(settings: CountSettings) -> bool:
    """Return whether truth and every model's column have only 0 and 1 in the sample."""
    columns, profiles = settings.columns, settings.profiles
    if settings.layout.gathers or columns.weight or columns.null_values or columns.spelled:
        return False
    names = [columns.truth, *map(columns.source, columns.models)]
    has_only_labels = all(model.kind == "label" for model in columns.models)
    return (
        has_only_labels
        and all(file.head for file in settings.files)
        and all(profiles[name].is_binary for name in names)
    )


def _single_bytes(settings: CountSettings, raw_patterns: RawPatterns) -> bool:
    """Check that every field read as an integer is one byte long, so that 01 is not read as 1.

    Bytes other than headers, delimiters, line ends and text columns must equal non-empty fields.
    """
    spare_bytes = -raw_patterns.text_bytes
    for file, task in zip(settings.files, settings.tasks, strict=True):
        if task is not None and file.head is not None:
            fingerprint = task.result()
            if fingerprint.quotes or not fingerprint.ascii:
                return False
            spare_bytes += fingerprint.field_bytes - file.head.header_bytes
    columns = (raw_patterns.truth, *raw_patterns.votes)
    missing_count = sum(
        int(raw_patterns.rows[[value is None for value in column]].sum()) for column in columns
    )
    return spare_bytes == int(raw_patterns.rows.sum()) * len(columns) - missing_count
