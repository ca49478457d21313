"""Wide feature tables counted: rows by blocks of columns, 0/1 columns summed in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.features.cuts import (
    ClassCounts,
    Cut,
    FeatureCounts,
    Split,
    raise_problems,
    split_rows,
    weight_of,
)
from clfeval.errors import DataError, Problem
from clfeval.late import nw, pl
from clfeval.tables.cells import as_text
from clfeval.tables.diagnose import bad_number, bad_weight, missing_value, repeated
from clfeval.tables.feature import FeatureTable
from clfeval.tables.scan import NO_TAIL, Reading, collect, scan

MOST_CATEGORIES = 1000
HITS, MISSES = "__clfeval_hits", "__clfeval_misses"


def count_numbers(columns: Sequence[str], rows: ClassRows, cut: Cut) -> Iterator[FeatureCounts]:
    """Yield the counts of numeric columns, block by block, each made true or false by the cut."""
    for block, table in rows.blocks(columns, "number"):
        yield FeatureCounts.joined(_numbers(block, table, cut, rows))


def count_categories(columns: Sequence[str], rows: ClassRows) -> Iterator[FeatureCounts]:
    """Yield the counts of text columns, block by block: one feature for each text that occurs."""
    for block, table in rows.blocks(columns, "text"):
        for name in block:
            yield _categories(name, table, rows)


def _numbers(
    block: Sequence[str], table: nw.DataFrame[Any], cut: Cut, rows: ClassRows
) -> list[FeatureCounts]:
    truth = table[POSITIVE].to_numpy() == 1
    n = table[WEIGHT].to_numpy() if WEIGHT in table.columns else None

    def count(name: str, x: Floats) -> FeatureCounts:
        return _number(name, x, truth, n, cut, rows)

    numbers = (table[name].cast(nw.Float64).to_numpy() for name in block)
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:  # numpy sorts side by side
        return list(pool.map(count, block, numbers))


def _number(
    name: str, x: Floats, truth: Bools, n: Counts | None, cut: Cut, rows: ClassRows
) -> FeatureCounts:
    absent = np.isnan(x)
    missing = weight_of(absent, n)
    if missing:
        x, truth, n = x[~absent], truth[~absent], None if n is None else n[~absent]
    refuse_infinite(x, cut, rows.table.files[0].name, name)
    done = split_rows(x, truth, n, cut)
    positives, negatives = weight_of(truth, n), weight_of(~truth, n)
    return _one(name, name, "numeric", done, positives, negatives, missing)


def refuse_infinite(x: Floats, cut: Cut, file: str, column: str) -> None:
    """Raise where a mean or a scale is asked of infinite values."""
    if cut in ("mean", "soft") and not np.isfinite(x).all():
        what = f"holds infinity, which has no {'mean' if cut == 'mean' else 'scale'}"
        raise DataError.of(
            what, "infinite-value", file, column=column, hint="--cut median and --cut best take it"
        )


def _categories(column: str, table: nw.DataFrame[Any], rows: ClassRows) -> FeatureCounts:
    sums = _by_text(column, table)
    missing = sum(sums.pop(None, (0, 0)))
    positives, negatives = (sum(pair[side] for pair in sums.values()) for side in (0, 1))
    if len(sums) > MOST_CATEGORIES:
        raise DataError(
            Problem(
                f"holds {len(sums):,} different texts: an id or free text, no feature",
                "too-many-categories", rows.table.files[0].name, column=column,
            ),
            hint="name the id with --id, or the features with --feature",
        )  # fmt: skip
    words = {str(text).casefold(): pair for text, pair in sums.items()}
    if sums and len(words) == len(sums) and set(words) <= {"true", "false"}:
        done = Split(np.nan, None, *words.get("true", (0, 0)))
        return _one(column, column, "binary", done, positives, negatives, missing)
    parts = [
        _one(
            f"{column}={text}", column, "category", Split(np.nan, None, *pair),
            positives, negatives, missing,
        )
        for text, pair in sorted(sums.items(), key=lambda item: str(item[0]))
    ]  # fmt: skip
    if not parts:
        done = Split(np.nan, None, 0, 0)
        parts = [_one(column, column, "category", done, positives, negatives, missing)]
    return FeatureCounts.joined(parts)


def _by_text(column: str, table: nw.DataFrame[Any]) -> dict[str | None, tuple[Any, Any]]:
    """Return the weight of the positives and of the negatives with each text; None is missing."""
    weight = nw.col(WEIGHT) if WEIGHT in table.columns else nw.lit(1).cast(nw.Int64)
    positive = nw.col(POSITIVE)
    sides = [(weight * positive).alias(HITS), (weight * (1 - positive)).alias(MISSES)]
    found = table.select(column, *sides).group_by(column).agg(nw.col(HITS, MISSES).sum())
    sums: dict[str | None, tuple[Any, Any]] = {}
    pairs = zip(found[HITS].to_list(), found[MISSES].to_list(), strict=True)
    for value, (hits, misses) in zip(found[column].to_list(), pairs, strict=True):
        text = as_text(value)
        known = sums.get(text, (0, 0))
        sums[text] = (known[0] + hits, known[1] + misses)
    return sums


def _one(
    name: str, column: str, kind: str, done: Split, positives: Any, negatives: Any, missing: Any
) -> FeatureCounts:
    return FeatureCounts(
        names=(name,),
        columns=(column,),
        kinds=(kind,),
        cuts=np.array([done.cut]),
        rules=(done.rule,),
        tp=np.array([done.tp]),
        fp=np.array([done.fp]),
        positives=np.array([positives]),
        negatives=np.array([negatives]),
        missing=np.array([missing]),
    )


CELLS = 1 << 24  # cells held in memory at once
POSITIVE, WEIGHT = "__clfeval_positive", "__clfeval_n"


@dataclass(frozen=True, slots=True)
class ClassRows:
    """How the rows of a wide table are read and counted."""

    table: FeatureTable
    classes: ClassCounts

    def frames(
        self, columns: Sequence[str], reading: Reading, *, watch: bool = False
    ) -> list[nw.LazyFrame[Any]]:
        """Return the rows that have a class, as 1 / 0 for the class, weight, and the columns."""
        readings = dict.fromkeys(columns, reading)
        return [
            self._kept(position, *_scanned(self.table, position, readings, watch=watch), columns)
            for position in range(len(self.table.files))
        ]

    def blocks(
        self, columns: Sequence[str], reading: Reading
    ) -> Iterator[tuple[Sequence[str], nw.DataFrame[Any]]]:
        """Yield the rows of a few columns at a time, all files together."""
        wide = max(1, CELLS // max(1, sum(self.classes.rows)))
        for start in range(0, len(columns), wide):
            block = columns[start : start + wide]
            frames = self.frames(block, reading)
            if len(frames) > 1:  # the same column may be text in one file and numbers in another
                shared = nw.String if reading == "text" else nw.Float64
                frames = [frame.with_columns(nw.col(*block).cast(shared)) for frame in frames]
            parts = [collect(frame) for frame in frames]
            yield block, parts[0] if len(parts) == 1 else nw.concat(parts)

    def _kept(
        self, position: int, frame: nw.LazyFrame[Any], marks: Sequence[str], columns: Sequence[str]
    ) -> nw.LazyFrame[Any]:
        truth, weight = str(self.table.truth), self.table.roles.weight
        # a filter copies every column
        kept = frame.filter(~nw.col(truth).is_null()) if any(self.classes.missing) else frame
        own = [self.classes.is_positive(truth, position).alias(POSITIVE)]
        if weight is not None:
            number = nw.col(weight).cast(nw.Float64)
            kept = kept.filter(number > 0)
            own.append((number if self.classes.fractional else number.cast(nw.Int64)).alias(WEIGHT))
        return kept.select(*own, nw.col(*columns, *marks))


def class_frames(table: FeatureTable) -> list[nw.LazyFrame[Any]]:
    """Return the class column and the weight of each file."""
    return [_scanned(table, position, {}, watch=False)[0] for position in range(len(table.files))]


def _scanned(
    table: FeatureTable, position: int, readings: dict[str, Reading], *, watch: bool
) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Scan one file; return also the names of the marks a watchful scan of text adds."""
    roles = table.roles
    chosen: dict[str, Reading] = {str(table.truth): "text"}
    if roles.weight is not None:
        chosen[roles.weight] = "number"
    chosen |= readings
    frame = scan(table.files[position], chosen, null_values=roles.null_value, watch=watch)
    known = set(chosen)
    return frame, [name for name in frame.collect_schema().names() if name not in known]


@dataclass(frozen=True, slots=True)
class BinaryPass:
    """What the pass gave: counts of k columns, which of them hold only 0 and 1, short rows."""

    counts: FeatureCounts
    binary: Bools
    no_tail: int | None


def count_binary(columns: Sequence[str], rows: ClassRows, reading: Reading) -> BinaryPass:
    """Count columns of 0 and 1; those that hold other numbers are marked, their counts void."""
    weighted, drop = rows.table.roles.weight is not None, rows.table.roles.missing == "drop"
    frames = rows.frames(columns, reading, watch=True)
    parts = [_sums(frame, columns, weighted=weighted, drop=drop) for frame in frames]
    names = dict.fromkeys(name for part in parts for name in part)
    nothing = np.zeros(len(columns))
    totals = {name: np.sum([p.get(name, nothing) for p in parts], axis=0) for name in names}
    totals.setdefault("squares", nothing)
    totals.setdefault("plain", nothing)
    low = np.fmin.reduce([part["low"] for part in parts])
    high = np.fmax.reduce([part["high"] for part in parts])
    classes = rows.classes
    k, kind = len(columns), float if classes.fractional else np.int64
    positives = totals.get("known_positive", np.full(k, classes.positives))
    known = totals.get("known", np.full(k, classes.positives + classes.negatives))
    tails = [part["no_tail"] for part in parts if "no_tail" in part]
    missing = totals["missing"]
    if drop:  # a row that counts three times lacks its value three times
        missing = classes.positives + classes.negatives - totals["known"]
    counts = FeatureCounts(
        names=tuple(columns),
        columns=tuple(columns),
        kinds=("binary",) * k,
        cuts=np.full(k, np.nan),
        rules=(None,) * k,
        tp=totals["positive"].astype(kind),
        fp=np.maximum(totals["all"] - totals["positive"], 0).astype(kind),
        positives=positives.astype(kind),
        negatives=np.maximum(known - positives, 0).astype(kind),
        missing=missing.astype(kind),
    )
    binary = ~((low < 0) | (high > 1) | (totals["squares"] != totals["plain"]))
    return BinaryPass(counts, binary, int(sum(t.sum() for t in tails)) if tails else None)


def _sums(
    frame: nw.LazyFrame[Any], columns: Sequence[str], *, weighted: bool, drop: bool
) -> dict[str, NDArray[Any]]:
    schema = frame.collect_schema()
    flags = [name for name in columns if schema[name] == nw.Boolean]
    if flags:
        frame = frame.with_columns(nw.col(*flags).cast(nw.Int8))
    many, positive = nw.col(*columns), nw.col(POSITIVE)
    there = (~many.is_null()).cast(nw.Int8)
    # between 0 and 1 only they are their own squares; whole numbers need no such look
    floats = any(schema[name].is_float() for name in columns)
    if weighted:
        values, known = many * nw.col(WEIGHT), there * nw.col(WEIGHT)
    else:
        values, known = many, there
    wanted = {
        "all": values.sum(),
        "positive": (values * positive).sum(),
        "low": many.min(),
        "high": many.max(),
        "missing": many.null_count(),
    }
    wanted |= {"squares": (many**2).sum(), "plain": many.sum()} if floats else {}
    if drop:
        wanted |= {"known": known.sum(), "known_positive": (known * positive).sum()}
    sums = [expression.name.prefix(f"{name}:") for name, expression in wanted.items()]
    if NO_TAIL in schema:
        sums.append(nw.col(NO_TAIL).sum().name.prefix("no_tail:"))
        wanted["no_tail"] = nw.col(NO_TAIL)
    row = iter(collect(frame.select(*sums)).row(0))
    return {
        name: np.array(
            [next(row) for _ in range(1 if name == "no_tail" else len(columns))], np.float64
        )
        for name in wanted
    }


def complain_wide(table: FeatureTable, kinds: Mapping[str, str]) -> None:
    """Raise everything that is wrong with the rows of a wide table; return if nothing is.

    Columns are looked at row by row only where their counts of empty cells, or of cells that are
    no numbers, say that something is wrong: there may be thousands.
    """
    roles, strict = table.roles, table.roles.missing == "error"
    numbers = [name for name, kind in kinds.items() if kind != "category"]
    empty = _gaps(table, list(kinds), "text")
    absent = _gaps(table, numbers, "loose")
    checks = [missing_value(str(table.truth))] if strict else []
    checks += [bad_weight(roles.weight)] if roles.weight else []
    checks += [bad_number(name) for name in numbers if absent[name] > empty[name]]
    if strict:
        checks += [missing_value(name, number=True) for name in numbers if absent[name]]
        checks += [missing_value(name) for name in kinds if name not in absent and empty[name]]
    checks += [repeated(table.id)] if table.id is not None else []
    raise_problems(table.files, checks, roles.null_value)


def _gaps(table: FeatureTable, columns: Sequence[str], reading: Reading) -> dict[str, int]:
    """Count, per column, the cells that are empty, or NaN, when read so."""
    if not columns:
        return {}
    totals = np.zeros(len(columns), np.int64)
    for file in table.files:
        frame = scan(file, dict.fromkeys(columns, reading), null_values=table.roles.null_value)
        schema = frame.collect_schema()
        floats = [name for name in columns if schema[name].is_float()]
        nulls = collect(frame.select(nw.all().null_count())).row(0)
        totals += np.array(nulls, np.int64)
        if floats:
            nans = collect(frame.select(nw.col(*floats).is_nan().sum())).row(0)
            found = dict(zip(floats, nans, strict=True))
            totals += np.array([found.get(name) or 0 for name in columns], np.int64)
    return dict(zip(columns, totals.tolist(), strict=True))
