"""Sparse feature tables: one row per observation and feature, counted without a dense matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from clfeval.counts.classes import ClassCounts, count_classes
from clfeval.counts.complaints import check_ids
from clfeval.counts.feature_complaints import raise_problems, sparse_checks, unknown_rows
from clfeval.counts.feature_counts import FeatureCounts, Floats, Rule
from clfeval.counts.feature_cuts import Cut, Distribution, split
from clfeval.counts.patterns import Counts
from clfeval.counts.raw import collect
from clfeval.errors import HEADER_ONLY, DataError, Problem, UsageError
from clfeval.tables.diagnose import missing_label
from clfeval.tables.feature import Classes, FeatureTable
from clfeval.tables.layout import match_names
from clfeval.tables.peek import Peek, as_text
from clfeval.tables.scan import Reading, scan

ROW, FEATURE, VALUE, CLASS, KNOWN = (f"__clfeval_{n}" for n in ("r", "f", "v", "c", "k"))


def count_sparse(table: FeatureTable, cut: Cut | None) -> tuple[FeatureCounts, ClassCounts]:
    """Count the features of a sparse table; a row without an entry has the value 0.

    Without a cut a feature is true where its value is not 0, or where it has an entry at all.
    """
    _check_cut(table, cut)
    entries = _entries(table)
    if table.classes is not None:
        owners = _owners(table.classes)
        classes = _count_owners(table, table.classes, owners)
        entries = _joined(entries, owners)
    else:
        per_row = entries.filter(~nw.col(ROW).is_null()).group_by(ROW).agg(
            nw.col(CLASS).max(), nw.col(CLASS).min().alias("low"),
        )  # fmt: skip
        name = table.files[0].name
        classes = count_classes(name, [per_row], CLASS, None, table.roles)
        uneven = collect(per_row.select((nw.col("low") != nw.col(CLASS)).sum()))
        if uneven.item():
            _complain(table)
    counts = _counted(table, entries, classes, cut)
    if table.wanted:
        names = match_names(table.files[0].name, counts.names, table.wanted, what="feature")
        place = {name: i for i, name in enumerate(counts.names)}
        counts = counts.take(np.array([place[name] for name in names]))
    return counts, classes


def _check_cut(table: FeatureTable, cut: Cut | None) -> None:
    if cut is not None and table.value is None:
        raise UsageError(
            Problem("--cut has nothing to act on: no column of values", "needs-numbers"),
            hint="a sparse table may have a third column named value",
        )
    if isinstance(cut, float) and cut <= 0:
        raise UsageError(
            Problem(f"--cut {cut:g} would be met by every row without an entry", "bad-option"),
            hint="the value of a row without an entry is 0: give a cut above 0",
        )


def _entries(table: FeatureTable) -> nw.LazyFrame[Any]:
    names = {ROW: table.row, FEATURE: table.feature}
    readings: dict[str, Reading] = {table.row: "text", table.feature: "text"}
    if table.value is not None:
        names[VALUE], readings[table.value] = table.value, "number"
    if table.truth is not None:
        names[CLASS], readings[table.truth] = table.truth, "text"
    frames = [
        scan(file, readings, null_values=table.roles.null_values).select(
            *[nw.col(column).alias(name) for name, column in names.items()]
        )
        for file in table.files
    ]
    frame = nw.concat(frames) if len(frames) > 1 else frames[0]
    blank = nw.all_horizontal(*[nw.col(name).is_null() for name in names], ignore_nulls=True)
    return frame.filter(~blank) if table.files[0].head else frame


def _owners(classes: Classes) -> nw.LazyFrame[Any]:
    frames = [
        scan(file, {classes.row: "text", classes.truth: "text"}).select(
            nw.col(classes.row).alias(ROW), nw.col(classes.truth).alias(CLASS)
        )
        for file in classes.files
    ]
    return (nw.concat(frames) if len(frames) > 1 else frames[0]).filter(~nw.col(ROW).is_null())


def _count_owners(table: FeatureTable, classes: Classes, owners: nw.LazyFrame[Any]) -> ClassCounts:
    first = classes.files[0]
    counted = count_classes(first.name, [owners], CLASS, None, table.roles)
    check_ids(classes.files, classes.row, Peek(frozenset()))
    if sum(counted.missing) and table.roles.missing == "error":
        raise_problems(classes.files, [missing_label(classes.truth)], table.roles.null_values)
    return counted


def _joined(entries: nw.LazyFrame[Any], owners: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Give every entry the class of its row; KNOWN is missing where there is no such row."""
    if type(owners.to_native()) is not type(entries.to_native()):
        entries, owners = (
            nw.from_native(frame.collect("polars").to_native().lazy())
            for frame in (entries, owners)
        )
    if entries.collect_schema()[ROW] != owners.collect_schema()[ROW]:
        entries, owners = (
            frame.with_columns(nw.col(ROW).cast(nw.String)) for frame in (entries, owners)
        )
    return entries.join(owners.with_columns(nw.lit(1).alias(KNOWN)), on=ROW, how="left")


def _counted(
    table: FeatureTable, entries: nw.LazyFrame[Any], classes: ClassCounts, cut: Cut | None
) -> FeatureCounts:
    strict = table.roles.missing == "error"
    columns = entries.collect_schema().names()
    shown = nw.lit(1) if table.value is None else (nw.col(VALUE) != 0).cast(nw.Int64)
    if isinstance(cut, float):
        shown = (nw.col(VALUE) >= cut).cast(nw.Int64)
    gaps = [nw.col(ROW).is_null(), nw.col(CLASS).is_null()]
    if table.value is not None:
        gaps.append(nw.col(VALUE).is_null() | nw.col(VALUE).is_nan())
    gap = nw.any_horizontal(*gaps, ignore_nulls=True)
    spread = cut in ("median", "mean", "best", "soft")
    keys = [FEATURE, VALUE] if spread else [FEATURE]
    unknown = nw.col(KNOWN).is_null() & ~nw.col(ROW).is_null() if KNOWN in columns else nw.lit(0)
    grouped = collect(
        entries.select(
            *keys, gap.cast(nw.Int64).alias("gap"), unknown.cast(nw.Int64).alias("unknown"),
            nw.when(~gap).then(shown).otherwise(nw.lit(0)).alias("n"),
            classes.is_positive(CLASS).alias("t"),
        )
        .with_columns((nw.col("n") * nw.col("t")).alias("tp"))
        .group_by(*keys)
        .agg(nw.col("gap", "unknown", "n", "tp").sum())
    )  # fmt: skip
    if not len(grouped):
        name = table.files[0].name
        raise DataError(Problem("no rows to evaluate", "empty-table", name), hint=HEADER_ONLY)
    if table.classes is not None and grouped["unknown"].sum():
        raise_problems(table.files, unknown_rows(table, table.classes), table.roles.null_values)
    nameless = grouped[FEATURE].is_null()
    if strict and (grouped["gap"].sum() or nameless.any()):
        _complain(table)
    if not _pairs_differ(entries):
        _complain(table)
    grouped = grouped.filter(~nameless)
    if cut is None or isinstance(cut, float):
        done = _terms(grouped.sort(FEATURE), classes)
        rule: Rule | None = ">=" if cut else None
        return replace(done, cuts=np.full(len(done), cut or np.nan), rules=(rule,) * len(done))
    return _spread(grouped, classes, cut)


def _terms(grouped: nw.DataFrame[Any], classes: ClassCounts) -> FeatureCounts:
    tp = grouped["tp"].to_numpy().astype(np.int64)
    fp = grouped["n"].to_numpy().astype(np.int64) - tp
    k = len(tp)
    return FeatureCounts(
        names=tuple(str(as_text(value)) for value in grouped[FEATURE].to_list()),
        columns=(FEATURE,) * k,
        kinds=("term",) * k,
        cuts=np.full(k, np.nan),
        rules=(None,) * k,
        tp=tp,
        fp=fp,
        positives=np.full(k, classes.positives),
        negatives=np.full(k, classes.negatives),
        missing=np.zeros(k, np.int64),
    )


def _spread(grouped: nw.DataFrame[Any], classes: ClassCounts, cut: Cut) -> FeatureCounts:
    """Split every feature by its own values; the rows without an entry are added as zeros."""
    ordered = grouped.filter(~nw.col(VALUE).is_null()).sort(FEATURE, VALUE)
    texts = ordered[FEATURE].to_list()
    values = ordered[VALUE].to_numpy().astype(np.float64)
    hits, alls = ordered["tp"].to_numpy(), ordered["n"].to_numpy()
    starts = [i for i, text in enumerate(texts) if i == 0 or text != texts[i - 1]]
    done = [
        split(_with_zeros(values[a:b], hits[a:b], alls[a:b] - hits[a:b], classes), cut)
        for a, b in zip(starts, [*starts[1:], len(texts)], strict=True)
    ]
    firsts = ordered[starts] if starts else ordered
    kept = _terms(firsts, classes)
    return replace(
        kept,
        cuts=np.array([one.cut for one in done]),
        rules=tuple(one.rule for one in done),
        tp=np.array([one.tp for one in done]),
        fp=np.array([one.fp for one in done]),
    )


def _with_zeros(
    values: Floats, positives: Counts, negatives: Counts, classes: ClassCounts
) -> Distribution:
    shown = values != 0
    values, positives, negatives = values[shown], positives[shown], negatives[shown]
    rest = (classes.positives - positives.sum(), classes.negatives - negatives.sum())
    place = int(np.searchsorted(values, 0.0))
    if sum(rest):
        values = np.insert(values, place, 0.0)
        positives, negatives = (
            np.insert(column, place, zeros)
            for column, zeros in zip((positives, negatives), rest, strict=True)
        )
    return Distribution(values, positives, negatives)


def _pairs_differ(entries: nw.LazyFrame[Any]) -> bool:
    """Tell whether no row shows a feature twice; equal hashes may be chance: somebody must look."""
    pairs = entries.select(ROW, FEATURE).drop_nulls()
    if isinstance(native := pairs.to_native(), pl.LazyFrame):
        hashed = native.select(pl.struct(ROW, FEATURE).hash().alias("h"))
        counted = hashed.select(pl.col("h").n_unique().alias("n"), pl.len().alias("rows"))
        n, rows = counted.collect(engine="streaming").row(0)
        return bool(n == rows)
    most = collect(pairs.group_by(ROW, FEATURE).agg(nw.len().alias("n")))["n"].max()
    return most is None or most <= 1


def _complain(table: FeatureTable) -> None:
    checks = sparse_checks(table, strict=table.roles.missing == "error")
    raise_problems(table.files, checks, table.roles.null_values)
