"""Numeric and category features of a wide table, a block of columns in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from clfeval.counts.feature_counts import FeatureCounts
from clfeval.counts.feature_cuts import Cut, Split, split_rows
from clfeval.counts.feature_rows import POSITIVE, WEIGHT, Rows
from clfeval.counts.patterns import Bools, Counts
from clfeval.errors import DataError, Problem
from clfeval.tables.peek import as_text
from clfeval.tables.scan import Reading

MOST_CATEGORIES = 1000


def count_numbers(
    columns: Sequence[str], rows: Rows, cut: Cut, reading: Reading
) -> Iterator[FeatureCounts]:
    """Yield the counts of numeric columns, block by block, each made true or false by the cut."""
    for block, table in rows.blocks(columns, reading):
        truth, n = _classes(table)
        yield FeatureCounts.joined([_number(name, table, truth, n, cut, rows) for name in block])


def count_categories(columns: Sequence[str], rows: Rows) -> Iterator[FeatureCounts]:
    """Yield the counts of text columns, block by block: one feature for each text that occurs."""
    for block, table in rows.blocks(columns, "text"):
        truth, n = _classes(table)
        for name in block:
            yield _categories(name, table[name].to_list(), truth, n, rows)


def _classes(table: nw.DataFrame[Any]) -> tuple[Bools, Counts | None]:
    truth = table[POSITIVE].to_numpy() == 1
    return truth, table[WEIGHT].to_numpy() if WEIGHT in table.columns else None


def _number(
    name: str, table: nw.DataFrame[Any], truth: Bools, n: Counts | None, cut: Cut, rows: Rows
) -> FeatureCounts:
    x = table[name].cast(nw.Float64).to_numpy()
    there = ~np.isnan(x)
    if there.all():
        there = np.ones(len(x), bool)
    else:
        x, truth, n = x[there], truth[there], None if n is None else n[there]
    if cut in ("mean", "soft") and not np.isfinite(x).all():
        raise DataError(
            Problem(
                f"holds infinity, which has no {'mean' if cut == 'mean' else 'scale'}",
                "infinite-value", rows.table.files[0].name, column=name,
            ),
            hint="--cut median and --cut best take it",
        )  # fmt: skip
    done = split_rows(x, truth, n, cut)
    weights = np.ones(len(x), np.int64) if n is None else n
    positives = weights[truth].sum()
    return _one(name, name, "numeric", done, positives, weights.sum() - positives, (~there).sum())


def _categories(
    column: str, values: list[Any], truth: Bools, n: Counts | None, rows: Rows
) -> FeatureCounts:
    codes: dict[str | None, int] = {}
    known: dict[Any, int] = {}
    for value in dict.fromkeys(values):
        known[value] = codes.setdefault(as_text(value), len(codes))
    index = np.fromiter((known[value] for value in values), np.int64, len(values))
    weights: Any = np.ones(len(values), np.int64) if n is None else n
    total = np.bincount(index, weights, minlength=len(codes)).astype(weights.dtype)
    hits = np.bincount(index[truth], weights[truth], minlength=len(codes)).astype(weights.dtype)
    gap = codes.pop(None, None)
    missing = int((index == gap).sum()) if gap is not None else 0
    there = np.array(list(codes.values()), np.int64)
    positives, everything = hits[there].sum(), total[there].sum()
    if len(codes) > MOST_CATEGORIES:
        raise DataError(
            Problem(
                f"holds {len(codes):,} different texts: an id or free text, no feature",
                "too-many-categories", rows.table.files[0].name, column=column,
            ),
            hint="name the id with --id, or the features with --feature",
        )  # fmt: skip
    if (
        codes
        and {name.casefold() for name in codes if name} <= {"true", "false"}
        and (len({name.casefold() for name in codes if name}) == len(codes))
    ):
        place = next((i for name, i in codes.items() if str(name).casefold() == "true"), None)
        done = Split(np.nan, None, *((0, 0) if place is None else _pair(hits, total, place)))
        return _one(column, column, "binary", done, positives, everything - positives, missing)
    parts = [
        _one(
            f"{column}={name}", column, "category", Split(np.nan, None, *_pair(hits, total, place)),
            positives, everything - positives, missing,
        )
        for name, place in sorted(codes.items(), key=lambda item: str(item[0]))
    ]  # fmt: skip
    if not parts:
        done = Split(np.nan, None, 0, 0)
        parts = [_one(column, column, "category", done, positives, positives, missing)]
    return FeatureCounts.joined(parts)


def _pair(hits: Counts, total: Counts, place: int) -> tuple[float, float]:
    return hits[place].item(), (total[place] - hits[place]).item()


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
        missing=np.array([int(missing)]),
    )
