"""Numeric and category features of a wide table, a block of columns in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from clfeval.counts.feature_counts import FeatureCounts, Floats
from clfeval.counts.feature_cuts import Cut, Split, split_rows, weight_of
from clfeval.counts.feature_rows import POSITIVE, WEIGHT, Rows
from clfeval.counts.patterns import Bools, Counts
from clfeval.errors import DataError, Problem
from clfeval.tables.peek import as_text

MOST_CATEGORIES = 1000
HITS, MISSES = "__clfeval_hits", "__clfeval_misses"


def count_numbers(columns: Sequence[str], rows: Rows, cut: Cut) -> Iterator[FeatureCounts]:
    """Yield the counts of numeric columns, block by block, each made true or false by the cut."""
    for block, table in rows.blocks(columns, "number"):
        yield FeatureCounts.joined(_numbers(block, table, cut, rows))


def count_categories(columns: Sequence[str], rows: Rows) -> Iterator[FeatureCounts]:
    """Yield the counts of text columns, block by block: one feature for each text that occurs."""
    for block, table in rows.blocks(columns, "text"):
        for name in block:
            yield _categories(name, table, rows)


def _numbers(
    block: Sequence[str], table: nw.DataFrame[Any], cut: Cut, rows: Rows
) -> list[FeatureCounts]:
    truth = table[POSITIVE].to_numpy() == 1
    n = table[WEIGHT].to_numpy() if WEIGHT in table.columns else None

    def count(name: str, x: Floats) -> FeatureCounts:
        return _number(name, x, truth, n, cut, rows)

    numbers = (table[name].cast(nw.Float64).to_numpy() for name in block)
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:  # numpy sorts side by side
        return list(pool.map(count, block, numbers))


def _number(
    name: str, x: Floats, truth: Bools, n: Counts | None, cut: Cut, rows: Rows
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
        raise DataError(
            Problem(what, "infinite-value", file, column=column),
            hint="--cut median and --cut best take it",
        )


def _categories(column: str, table: nw.DataFrame[Any], rows: Rows) -> FeatureCounts:
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
