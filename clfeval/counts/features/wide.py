"""Counts of wide feature tables: blocks of columns, 0/1 columns summed in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.features.cuts import (
    BinaryFeature,
    ClassCounts,
    Cut,
    Feature,
    FeatureCounts,
    count_classes,
    mask_weight,
    raise_problems,
    refuse_single_class,
    split_rows,
)
from clfeval.counts.patterns import in_units
from clfeval.errors import DataError
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.feature import FeatureTable
from clfeval.tables.frames import as_text, collect, engine_errors, nw, pl
from clfeval.tables.invalid_cells import (
    Tasks,
    bad_number,
    bad_weight,
    check_structure,
    count_blank,
    duplicate_id,
    missing_value,
)
from clfeval.tables.scan import NO_TAIL, CellReading, TableFile, all_distinct, scan

CELLS = 1 << 24  # cells held in memory at once
MOST_CATEGORIES = 1000
POSITIVE, WEIGHT = "__clfeval_positive", "__clfeval_n"
HITS, MISSES = "__clfeval_hits", "__clfeval_misses"


def count_wide(table: FeatureTable, cut: Cut, tasks: Tasks) -> tuple[FeatureCounts, ClassCounts]:
    """Count the features and classes of a wide table; DataError for invalid rows."""
    kinds = dict(table.kinds or {})
    classes = _count_wide_classes(table, kinds, tasks)
    reader = WideRowReader(table, classes)
    binary_columns = [column for column, kind in kinds.items() if kind == "binary"]
    parts, numeric_columns, has_short_rows = _count_binary_columns(binary_columns, reader)
    kinds |= dict.fromkeys(numeric_columns, "numeric")
    check_structure(table.files, tasks, short_rows=has_short_rows)
    try:
        features = _count_other_columns(reader, kinds, cut)
    except engine_errors():
        check_wide_rows(table, kinds)
        raise
    parts += [FeatureCounts.from_features(features, classes.unit)] if features else []
    counts = FeatureCounts.concatenate(parts)
    null_value = table.roles.null_value
    has_repeated_ids = table.id is not None and not all_distinct(table.files, table.id, null_value)
    if has_repeated_ids or (table.roles.missing == "error" and counts.missing.any()):
        check_wide_rows(table, kinds)
    refuse_single_class(table.files[0].name, classes, str(table.truth))
    return counts, classes


def _count_wide_classes(table: FeatureTable, kinds: Mapping[str, str], tasks: Tasks) -> ClassCounts:
    """Count the rows of each class; DataError for invalid rows."""
    try:
        frames = [_scan_rows(table, file, {}) for file in table.files]
        classes = count_classes(table.files[0].name, frames, str(table.truth), table.roles)
    except engine_errors():
        check_structure(table.files, tasks)
        check_wide_rows(table, kinds)
        raise
    missing_count = sum(classes.missing)
    is_strict = table.roles.missing == "error"
    if classes.bad_weights or (
        is_strict and missing_count and missing_count > sum(map(count_blank, table.files))
    ):
        check_structure(table.files, tasks)
        check_wide_rows(table, kinds)
    return classes


def _count_binary_columns(
    columns: list[str], reader: WideRowReader
) -> tuple[list[FeatureCounts], list[str], bool | None]:
    """Return the counts of 0/1 columns, the columns of other values, and whether rows are short."""
    # as numbers if the text has more values; not at all if it has no numbers
    readings: tuple[CellReading, ...] = ("bit", "number") if columns else ()
    for reading in readings:
        try:
            counts, is_binary, no_tail_count = count_binary(columns, reader, reading)
        except engine_errors():
            continue
        numeric_columns = [
            column
            for column, has_only_bits in zip(columns, is_binary, strict=True)
            if not has_only_bits
        ]
        has_short_rows = None if no_tail_count is None else no_tail_count > 0
        (binary_indices,) = is_binary.nonzero()
        return [counts.take(binary_indices)], numeric_columns, has_short_rows
    return [], columns, None


def _count_other_columns(
    reader: WideRowReader, kinds: Mapping[str, str], cut: Cut
) -> list[Feature]:
    """Return the features of numeric columns, then of columns of categories."""
    numeric_columns = [column for column, kind in kinds.items() if kind == "numeric"]
    category_columns = [column for column, kind in kinds.items() if kind == "category"]
    features = [*count_numbers(numeric_columns, reader, cut)]
    file_name = reader.table.files[0].name
    for block, frame in reader.blocks(category_columns, "text"):
        for column in block:
            features += _categories(column, frame, file_name)
    return features


def count_numbers(columns: Sequence[str], reader: WideRowReader, cut: Cut) -> Iterator[Feature]:
    """Yield the features of numeric columns, block by block, dichotomised at the threshold."""
    file = reader.table.files[0].name

    def count(name: str, x: Floats, truth: Bools, n: Counts | None) -> Feature:
        """Return the feature of a column of values x, in rows of weight n, or 1 if None."""
        is_absent = np.isnan(x)
        missing_count = mask_weight(is_absent, n)
        if missing_count:
            x, truth, n = x[~is_absent], truth[~is_absent], None if n is None else n[~is_absent]
        refuse_infinite(x, cut, file, name)
        split = split_rows(x, truth, n, cut)
        return (
            name,
            name,
            "numeric",
            split,
            mask_weight(truth, n),
            mask_weight(~truth, n),
            missing_count,
        )

    for block, table in reader.blocks(columns, "number"):
        truth = table[POSITIVE].to_numpy() == 1
        n = table[WEIGHT].to_numpy() if WEIGHT in table.columns else None
        numbers = (table[name].cast(nw.Float64).to_numpy() for name in block)
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:  # numpy sorts in parallel
            yield from pool.map(partial(count, truth=truth, n=n), block, numbers)


def refuse_infinite(x: Floats, cut: Cut, file: str, column: str) -> None:
    """Raise if a mean or a scale is requested of infinite values."""
    if cut in ("mean", "soft") and not np.isfinite(x).all():
        message = f"infinite values have no {'mean' if cut == 'mean' else 'scale'}"
        hint = f"use {OPTION}--cut median{END} or {OPTION}--cut best{END}"
        raise DataError.new(message, "infinite-value", file, None, column, hint=hint)


def _sums_of_texts(column: str, table: nw.DataFrame[Any]) -> dict[str | None, tuple[Any, Any]]:
    """Return the weight of positives and of negatives with each text of a column; None: missing."""
    weight = nw.col(WEIGHT) if WEIGHT in table.columns else nw.lit(1).cast(nw.Int64)
    is_positive = nw.col(POSITIVE)
    weight_columns = [
        (weight * is_positive).alias(HITS),
        (weight * (1 - is_positive)).alias(MISSES),
    ]
    rows = (
        table.select(column, *weight_columns)
        .group_by(column)
        .agg(nw.col(HITS, MISSES).sum())
        .rows()
    )
    sums: dict[str | None, tuple[Any, Any]] = {}
    for value, more_positives, more_negatives in rows:
        text = as_text(value)
        positives, negatives = sums.get(text, (0, 0))
        sums[text] = (positives + more_positives, negatives + more_negatives)
    return sums


def _categories(column: str, table: nw.DataFrame[Any], file: str) -> list[Feature]:
    """Return the features of a text column: one for each distinct text."""
    sums = _sums_of_texts(column, table)
    missing = sum(sums.pop(None, (0, 0)))
    if len(sums) > MOST_CATEGORIES:
        message = f"{len(sums):,} different texts are an id or free text, not a feature"
        hint = (
            f"name the id with {OPTION}--id{END}, or the features with {OPTION}--feature{END} "
            "(Python, batches)"
        )
        raise DataError.new(message, "too-many-categories", file, None, column, hint=hint)
    positives = sum(text_positives for text_positives, _ in sums.values())
    negatives = sum(text_negatives for _, text_negatives in sums.values())
    kind, features = _features_of_texts(column, sums)
    return [
        (name, column, kind, BinaryFeature(np.nan, None, tp, fp), positives, negatives, missing)
        for name, (tp, fp) in features.items()
    ]


def _features_of_texts(
    column: str, sums: Mapping[str | None, tuple[Any, Any]]
) -> tuple[str, dict[str, tuple[Any, Any]]]:
    """Return the kind of a text column, and the sums of its features; true and false are one."""
    sums_by_word = {str(text).casefold(): text_sums for text, text_sums in sums.items()}
    if sums and len(sums_by_word) == len(sums) and set(sums_by_word) <= {"true", "false"}:
        return "binary", {column: sums_by_word.get("true", (0, 0))}
    features = {f"{column}={text}": sums[text] for text in sorted(sums, key=str)}
    return "category", features or {column: (0, 0)}


@dataclass(frozen=True, slots=True)
class WideRowReader:
    """Reads the rows of a wide table, in frames and blocks of columns."""

    table: FeatureTable
    classes: ClassCounts

    def frames(
        self, columns: Sequence[str], reading: CellReading, *, watch: bool = False
    ) -> list[nw.LazyFrame[Any]]:
        """Return rows with a class: class as 1 / 0, weight, columns; watch: add NO_TAIL."""
        readings = dict.fromkeys(columns, reading)
        truth, weight = str(self.table.truth), self.table.roles.weight
        frames = []
        for file_index, file in enumerate(self.table.files):
            frame = _scan_rows(self.table, file, readings, watch=watch)
            mark_columns = [NO_TAIL] if NO_TAIL in frame.collect_schema() else []
            expressions = [self.classes.is_positive(truth, file_index).alias(POSITIVE)]
            if any(self.classes.missing):  # a filter copies every column
                frame = frame.filter(~nw.col(truth).is_null())
            if weight is not None:
                frame = frame.filter(nw.col(weight).cast(nw.Float64) > 0)
                units = in_units(nw.col(weight), self.classes.weight_unit)
                expressions.append(units.cast(nw.Int64).alias(WEIGHT))
            frames.append(frame.select(*expressions, nw.col(*columns, *mark_columns)))
        return frames

    def blocks(
        self, columns: Sequence[str], reading: CellReading
    ) -> Iterator[tuple[Sequence[str], nw.DataFrame[Any]]]:
        """Yield blocks of a few columns, with the rows of all files."""
        block_width = max(1, CELLS // max(1, sum(self.classes.rows)))
        for start in range(0, len(columns), block_width):
            block = columns[start : start + block_width]
            frames = self.frames(block, reading)
            if len(frames) > 1:  # the same column may be text in one file and numbers in another
                shared_type = nw.String if reading == "text" else nw.Float64
                frames = [frame.with_columns(nw.col(*block).cast(shared_type)) for frame in frames]
            tables = [collect(frame) for frame in frames]
            yield block, tables[0] if len(tables) == 1 else nw.concat(tables)


def _scan_rows(
    table: FeatureTable,
    file: TableFile,
    readings: Mapping[str, CellReading],
    *,
    watch: bool = False,
) -> nw.LazyFrame[Any]:
    """Return the rows of a file, with truth, weights and the columns to read."""
    input_options = table.roles
    column_readings: dict[str, CellReading] = {str(table.truth): "text"}
    if input_options.weight is not None:
        column_readings[input_options.weight] = "number"
    return scan(
        file, column_readings | dict(readings), null_values=input_options.null_value, watch=watch
    )


def count_binary(
    columns: Sequence[str], reader: WideRowReader, reading: CellReading
) -> tuple[FeatureCounts, Bools, int | None]:
    """Count 0/1 columns (k,); return also which are valid, and the rows without last field."""
    input_options = reader.table.roles
    has_weights = input_options.weight is not None
    drops_missing = input_options.missing == "drop"
    frames = reader.frames(columns, reading, watch=True)
    sums_and_tails = [
        _sums(frame, columns, has_weights=has_weights, drops_missing=drops_missing)
        for frame in frames
    ]
    sums = [file_sums for file_sums, _ in sums_and_tails]
    tails = [tail for _, tail in sums_and_tails if tail is not None]
    counts = _binary_counts(columns, sums, reader.classes, drops_missing=drops_missing)
    return counts, _have_only_bits(sums), sum(tails) if tails else None


def _total(sums: Sequence[dict[str, NDArray[Any]]], name: str) -> NDArray[Any]:
    """Return a sum over the columns (k,) of all files."""
    zeros = np.zeros(len(sums[0]["low"]))
    return np.asarray(sum(file_sums.get(name, zeros) for file_sums in sums))


def _have_only_bits(sums: Sequence[dict[str, NDArray[Any]]]) -> Bools:
    """Return which columns have no value but 0 and 1, (k,), from the sums of each file."""
    low = np.fmin.reduce([file_sums["low"] for file_sums in sums])
    high = np.fmax.reduce([file_sums["high"] for file_sums in sums])
    return np.asarray(
        ~((low < 0) | (high > 1) | (_total(sums, "squares") != _total(sums, "plain")))
    )


def _binary_counts(
    columns: Sequence[str],
    sums: Sequence[dict[str, NDArray[Any]]],
    classes: ClassCounts,
    *,
    drops_missing: bool,
) -> FeatureCounts:
    """Return the counts of 0/1 columns from the sums of each file."""
    k = len(columns)
    total = classes.positives + classes.negatives
    positives: NDArray[Any] = np.full(k, classes.positives)
    rows: NDArray[Any] = np.full(k, total)
    missing = _total(sums, "missing")
    if drops_missing:  # missing values are counted by weight
        positives = _total(sums, "known_positive")
        rows = _total(sums, "known")
        missing = total - rows
    tp = _total(sums, "positive")
    fp = np.maximum(_total(sums, "all") - tp, 0)
    negatives = np.maximum(rows - positives, 0)
    undefined = np.full(k, np.nan)
    return FeatureCounts(
        tuple(columns),
        tuple(columns),
        ("binary",) * k,
        undefined,
        (None,) * k,
        tp.astype(np.int64),
        fp.astype(np.int64),
        positives.astype(np.int64),
        negatives.astype(np.int64),
        missing.astype(np.int64),
        undefined,
        undefined,
        classes.unit,
    )


def _sums(
    frame: nw.LazyFrame[Any], columns: Sequence[str], *, has_weights: bool, drops_missing: bool
) -> tuple[dict[str, NDArray[Any]], int | None]:
    """Return the sums of one file, (k,) each, and its number of rows without their last field."""
    schema = frame.collect_schema()
    flag_columns = [name for name in columns if schema[name] == nw.Boolean]
    if flag_columns:
        frame = frame.with_columns(nw.col(*flag_columns).cast(nw.Int8))
    cells = nw.col(*columns)
    is_positive = nw.col(POSITIVE)
    weighted_cells = cells
    known_weight = (~cells.is_null()).cast(nw.Int8)
    if has_weights:
        weighted_cells = weighted_cells * nw.col(WEIGHT)
        known_weight = known_weight * nw.col(WEIGHT)
    expressions = {"all": weighted_cells.sum(), "positive": (weighted_cells * is_positive).sum()}
    expressions |= {"low": cells.min(), "high": cells.max(), "missing": cells.null_count()}
    # between 0 and 1 only these equal their squares; integers need no such check
    if any(schema[name].is_float() for name in columns):
        expressions |= {"squares": (cells**2).sum(), "plain": cells.sum()}
    if drops_missing:
        expressions |= {
            "known": known_weight.sum(),
            "known_positive": (known_weight * is_positive).sum(),
        }
    sums = [expression.name.prefix(f"{name}:") for name, expression in expressions.items()]
    sums += [nw.col(NO_TAIL).sum()] if NO_TAIL in schema else []
    row = np.array(collect(frame.select(*sums)).row(0), np.float64)
    tail_count = int(row[-1]) if NO_TAIL in schema else None
    table = row[: len(expressions) * len(columns)].reshape(len(expressions), -1)
    return dict(zip(expressions, table, strict=True)), tail_count


def check_wide_rows(table: FeatureTable, kinds: Mapping[str, str]) -> None:
    """Raise DataError with all problems in the rows of a wide table, if any."""
    input_options, is_strict = table.roles, table.roles.missing == "error"
    numeric_columns = [name for name, kind in kinds.items() if kind != "category"]
    empty_counts = _count_missing_cells(table, list(kinds), "text")
    missing_counts = _count_missing_cells(table, numeric_columns, "loose")
    checks = [missing_value(str(table.truth))] if is_strict else []
    checks += [bad_weight(input_options.weight)] if input_options.weight else []
    checks += [
        bad_number(name) for name in numeric_columns if missing_counts[name] > empty_counts[name]
    ]
    if is_strict:
        checks += [
            missing_value(name, number=True) for name in numeric_columns if missing_counts[name]
        ]
        checks += [
            missing_value(name)
            for name in kinds
            if name not in missing_counts and empty_counts[name]
        ]
    checks += [duplicate_id(table.id)] if table.id is not None else []
    raise_problems(table.files, checks, input_options.null_value)


def _count_missing_cells(
    table: FeatureTable, columns: Sequence[str], reading: CellReading
) -> dict[str, int]:
    """Count the missing cells (empty or NaN) of each column when read in this way."""
    totals = np.zeros(len(columns), np.int64)
    for file in table.files if columns else ():
        frame = scan(file, dict.fromkeys(columns, reading), null_values=table.roles.null_value)
        schema = frame.collect_schema()
        float_columns = [name for name in columns if schema[name].is_float()]
        nan_counts = (
            collect(frame.select(nw.col(*float_columns).is_nan().sum())).row(0)
            if float_columns
            else ()
        )
        nan_count_of = dict(zip(float_columns, nan_counts, strict=True))
        totals += np.array(collect(frame.select(nw.all().null_count())).row(0), np.int64)
        totals += np.array([nan_count_of.get(name) or 0 for name in columns], np.int64)
    return dict(zip(columns, totals.tolist(), strict=True))
