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
    rows = WideRowReader(table, classes)
    binary = [column for column, kind in kinds.items() if kind == "binary"]
    parts, numeric, short = _count_binary_columns(binary, rows)
    kinds |= dict.fromkeys(numeric, "numeric")
    check_structure(table.files, tasks, short_rows=short)
    try:
        features = _count_other_columns(rows, kinds, cut)
    except engine_errors():
        check_wide_rows(table, kinds)
        raise
    parts += [FeatureCounts.from_features(features, classes.unit)] if features else []
    counts = FeatureCounts.concatenate(parts)
    null_value = table.roles.null_value
    doubled = table.id is not None and not all_distinct(table.files, table.id, null_value)
    if doubled or (table.roles.missing == "error" and counts.missing.any()):
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
    missing = sum(classes.missing)
    strict = table.roles.missing == "error"
    if classes.bad_weights or (strict and missing and missing > sum(map(count_blank, table.files))):
        check_structure(table.files, tasks)
        check_wide_rows(table, kinds)
    return classes


def _count_binary_columns(
    columns: list[str], rows: WideRowReader
) -> tuple[list[FeatureCounts], list[str], bool | None]:
    """Return the counts of 0/1 columns, the columns of other values, and whether rows are short."""
    # as numbers if the text has more values; not at all if it has no numbers
    readings: tuple[CellReading, ...] = ("bit", "number") if columns else ()
    for reading in readings:
        try:
            counts, good, no_tail = count_binary(columns, rows, reading)
        except engine_errors():
            continue
        numeric = [column for column, fine in zip(columns, good, strict=True) if not fine]
        short = None if no_tail is None else no_tail > 0
        return [counts.take(good.nonzero()[0])], numeric, short
    return [], columns, None


def _count_other_columns(rows: WideRowReader, kinds: Mapping[str, str], cut: Cut) -> list[Feature]:
    """Return the features of numeric columns, then of columns of categories."""
    numeric = [column for column, kind in kinds.items() if kind == "numeric"]
    categories = [column for column, kind in kinds.items() if kind == "category"]
    features = [*count_numbers(numeric, rows, cut)]
    name = rows.table.files[0].name
    for block, frame in rows.blocks(categories, "text"):
        for column in block:
            features += _categories(column, frame, name)
    return features


def count_numbers(columns: Sequence[str], rows: WideRowReader, cut: Cut) -> Iterator[Feature]:
    """Yield the features of numeric columns, block by block, dichotomised at the threshold."""
    file = rows.table.files[0].name

    def count(name: str, x: Floats, truth: Bools, n: Counts | None) -> Feature:
        absent = np.isnan(x)
        missing = mask_weight(absent, n)
        if missing:
            x, truth, n = x[~absent], truth[~absent], None if n is None else n[~absent]
        refuse_infinite(x, cut, file, name)
        split = split_rows(x, truth, n, cut)
        return name, name, "numeric", split, mask_weight(truth, n), mask_weight(~truth, n), missing

    for block, table in rows.blocks(columns, "number"):
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
    positive = nw.col(POSITIVE)
    sides = [(weight * positive).alias(HITS), (weight * (1 - positive)).alias(MISSES)]
    rows = table.select(column, *sides).group_by(column).agg(nw.col(HITS, MISSES).sum()).rows()
    sums: dict[str | None, tuple[Any, Any]] = {}
    for value, hits, misses in rows:
        text = as_text(value)
        p, n = sums.get(text, (0, 0))
        sums[text] = (p + hits, n + misses)
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
    totals = (sum(pair[0] for pair in sums.values()), sum(pair[1] for pair in sums.values()))
    kind, features = _features_of_texts(column, sums)
    return [
        (name, column, kind, BinaryFeature(np.nan, None, *pair), *totals, missing)
        for name, pair in features.items()
    ]


def _features_of_texts(
    column: str, sums: Mapping[str | None, tuple[Any, Any]]
) -> tuple[str, dict[str, tuple[Any, Any]]]:
    """Return the kind of a text column, and the sums of its features; true and false are one."""
    words = {str(text).casefold(): pair for text, pair in sums.items()}
    if sums and len(words) == len(sums) and set(words) <= {"true", "false"}:
        return "binary", {column: words.get("true", (0, 0))}
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
        for position, file in enumerate(self.table.files):
            frame = _scan_rows(self.table, file, readings, watch=watch)
            marks = [NO_TAIL] if NO_TAIL in frame.collect_schema() else []
            file_readings = [self.classes.is_positive(truth, position).alias(POSITIVE)]
            if any(self.classes.missing):  # a filter copies every column
                frame = frame.filter(~nw.col(truth).is_null())
            if weight is not None:
                frame = frame.filter(nw.col(weight).cast(nw.Float64) > 0)
                units = in_units(nw.col(weight), self.classes.weight_unit)
                file_readings.append(units.cast(nw.Int64).alias(WEIGHT))
            frames.append(frame.select(*file_readings, nw.col(*columns, *marks)))
        return frames

    def blocks(
        self, columns: Sequence[str], reading: CellReading
    ) -> Iterator[tuple[Sequence[str], nw.DataFrame[Any]]]:
        """Yield blocks of a few columns, with the rows of all files."""
        wide = max(1, CELLS // max(1, sum(self.classes.rows)))
        for start in range(0, len(columns), wide):
            block = columns[start : start + wide]
            frames = self.frames(block, reading)
            if len(frames) > 1:  # the same column may be text in one file and numbers in another
                shared = nw.String if reading == "text" else nw.Float64
                frames = [frame.with_columns(nw.col(*block).cast(shared)) for frame in frames]
            parts = [collect(frame) for frame in frames]
            yield block, parts[0] if len(parts) == 1 else nw.concat(parts)


def _scan_rows(
    table: FeatureTable,
    file: TableFile,
    readings: Mapping[str, CellReading],
    *,
    watch: bool = False,
) -> nw.LazyFrame[Any]:
    roles = table.roles
    column_readings: dict[str, CellReading] = {str(table.truth): "text"}
    if roles.weight is not None:
        column_readings[roles.weight] = "number"
    return scan(file, column_readings | dict(readings), null_values=roles.null_value, watch=watch)


def count_binary(
    columns: Sequence[str], rows: WideRowReader, reading: CellReading
) -> tuple[FeatureCounts, Bools, int | None]:
    """Count 0/1 columns (k,); return also which are valid, and the rows without last field."""
    roles = rows.table.roles
    weighted = roles.weight is not None
    drop = roles.missing == "drop"
    frames = rows.frames(columns, reading, watch=True)
    sums_and_tails = [_sums(frame, columns, weighted=weighted, drop=drop) for frame in frames]
    sums = [file_sums for file_sums, _ in sums_and_tails]
    tails = [tail for _, tail in sums_and_tails if tail is not None]
    counts = _binary_counts(columns, sums, rows.classes, drop=drop)
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
    drop: bool,
) -> FeatureCounts:
    """Return the counts of 0/1 columns from the sums of each file."""
    k = len(columns)
    total = classes.positives + classes.negatives
    positives: NDArray[Any] = np.full(k, classes.positives)
    rows: NDArray[Any] = np.full(k, total)
    missing = _total(sums, "missing")
    if drop:  # missing values are counted by weight
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
    frame: nw.LazyFrame[Any], columns: Sequence[str], *, weighted: bool, drop: bool
) -> tuple[dict[str, NDArray[Any]], int | None]:
    """Return the sums of one file, (k,) each, and its number of rows without their last field."""
    schema = frame.collect_schema()
    flags = [name for name in columns if schema[name] == nw.Boolean]
    if flags:
        frame = frame.with_columns(nw.col(*flags).cast(nw.Int8))
    cells = nw.col(*columns)
    positive = nw.col(POSITIVE)
    values = cells
    known_weight = (~cells.is_null()).cast(nw.Int8)
    if weighted:
        values = values * nw.col(WEIGHT)
        known_weight = known_weight * nw.col(WEIGHT)
    expressions = {"all": values.sum(), "positive": (values * positive).sum()}
    expressions |= {"low": cells.min(), "high": cells.max(), "missing": cells.null_count()}
    # between 0 and 1 only these equal their squares; integers need no such check
    if any(schema[name].is_float() for name in columns):
        expressions |= {"squares": (cells**2).sum(), "plain": cells.sum()}
    if drop:
        expressions |= {
            "known": known_weight.sum(),
            "known_positive": (known_weight * positive).sum(),
        }
    sums = [expression.name.prefix(f"{name}:") for name, expression in expressions.items()]
    sums += [nw.col(NO_TAIL).sum()] if NO_TAIL in schema else []
    row = np.array(collect(frame.select(*sums)).row(0), np.float64)
    tail = int(row[-1]) if NO_TAIL in schema else None
    table = row[: len(expressions) * len(columns)].reshape(len(expressions), -1)
    return dict(zip(expressions, table, strict=True)), tail


def check_wide_rows(table: FeatureTable, kinds: Mapping[str, str]) -> None:
    """Raise DataError with all problems in the rows of a wide table, if any."""
    roles, strict = table.roles, table.roles.missing == "error"
    numbers = [name for name, kind in kinds.items() if kind != "category"]
    empty = _count_missing_cells(table, list(kinds), "text")
    absent = _count_missing_cells(table, numbers, "loose")
    checks = [missing_value(str(table.truth))] if strict else []
    checks += [bad_weight(roles.weight)] if roles.weight else []
    checks += [bad_number(name) for name in numbers if absent[name] > empty[name]]
    if strict:
        checks += [missing_value(name, number=True) for name in numbers if absent[name]]
        checks += [missing_value(name) for name in kinds if name not in absent and empty[name]]
    checks += [duplicate_id(table.id)] if table.id is not None else []
    raise_problems(table.files, checks, roles.null_value)


def _count_missing_cells(
    table: FeatureTable, columns: Sequence[str], reading: CellReading
) -> dict[str, int]:
    """Count the missing cells (empty or NaN) of each column when read in this way."""
    totals = np.zeros(len(columns), np.int64)
    for file in table.files if columns else ():
        frame = scan(file, dict.fromkeys(columns, reading), null_values=table.roles.null_value)
        schema = frame.collect_schema()
        floats = [name for name in columns if schema[name].is_float()]
        nans = collect(frame.select(nw.col(*floats).is_nan().sum())).row(0) if floats else ()
        counts = dict(zip(floats, nans, strict=True))
        totals += np.array(collect(frame.select(nw.all().null_count())).row(0), np.int64)
        totals += np.array([counts.get(name) or 0 for name in columns], np.int64)
    return dict(zip(columns, totals.tolist(), strict=True))
