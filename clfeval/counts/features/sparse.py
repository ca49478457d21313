"""Sparse feature tables: one row per observation and feature, counted without a dense matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.features.cuts import (
    ClassCounts,
    Cut,
    FeatureCounts,
    Split,
    count_classes,
    need_both,
    raise_problems,
    split,
)
from clfeval.counts.features.wide import refuse_infinite
from clfeval.counts.judge import check_ids
from clfeval.counts.scores import ScoreCounts
from clfeval.errors import HEADER_ONLY, DataError, Problem, UsageError
from clfeval.late import nw, pl
from clfeval.tables.cells import as_text
from clfeval.tables.diagnose import PLACE, Check, bad_number, missing_value, numbered
from clfeval.tables.feature import Classes, FeatureTable
from clfeval.tables.input import match_names
from clfeval.tables.scan import Frame, Peek, Reading, TableFile, collect, scan

ROW, FEATURE, VALUE, CLASS, KNOWN = (f"__clfeval_{n}" for n in ("r", "f", "v", "c", "k"))


def read_entries(table: FeatureTable) -> Frame:
    """Return ROW, FEATURE, and VALUE and CLASS where the table has them; no blank lines."""
    names = {ROW: table.row, FEATURE: table.feature}
    readings: dict[str, Reading] = {table.row: "text", table.feature: "text"}
    if table.value is not None:
        names[VALUE], readings[table.value] = table.value, "number"
    if table.truth is not None:
        names[CLASS], readings[table.truth] = table.truth, "text"
    frame = _read(table.files, names, readings, table.roles.null_value)
    blank = nw.all_horizontal(*[nw.col(name).is_null() for name in names], ignore_nulls=True)
    return frame.filter(~blank) if table.files[0].head else frame


def read_owners(classes: Classes, null_values: Sequence[str]) -> Frame:
    """Return ROW and CLASS of a table of classes; no blank lines."""
    readings: dict[str, Reading] = {classes.row: "text", classes.truth: "text"}
    names = {ROW: classes.row, CLASS: classes.truth}
    frame = _read(classes.files, names, readings, null_values)
    return frame.filter(~(nw.col(ROW).is_null() & nw.col(CLASS).is_null()))


def owners_of(entries: Frame) -> Frame:
    """Return ROW, CLASS and the least class of each row that has entries: they should agree."""
    named = entries.filter(~nw.col(ROW).is_null())
    return named.group_by(ROW).agg(nw.col(CLASS).max(), nw.col(CLASS).min().alias("low"))


def with_owners(entries: Frame, owners: Frame) -> Frame:
    """Give every entry the class of its row; KNOWN is missing where there is no such row."""
    if entries.collect_schema()[ROW] != owners.collect_schema()[ROW]:
        entries, owners = (
            frame.with_columns(nw.col(ROW).cast(nw.String)) for frame in (entries, owners)
        )
    return entries.join(owners.with_columns(nw.lit(1).alias(KNOWN)), on=ROW, how="left")


def _read(
    files: Sequence[TableFile],
    names: Mapping[str, str],
    readings: Mapping[str, Reading],
    null_values: Sequence[str],
) -> Frame:
    wanted = [nw.col(column).alias(name) for name, column in names.items()]
    frames = [scan(file, readings, null_values=null_values).select(*wanted) for file in files]
    if len({tuple(frame.collect_schema().items()) for frame in frames}) > 1:
        # numbers in one file and their text in another are the same labels
        labels = [name for name in names if name != VALUE]
        frames = [frame.with_columns(nw.col(*labels).cast(nw.String)) for frame in frames]
    return nw.concat(frames) if len(frames) > 1 else frames[0]


SPREAD = ("median", "mean", "best", "soft")


@dataclass(frozen=True, slots=True)
class SparseCount:
    """Counts of every feature, the classes of rows, entries left out for want of a name."""

    counts: FeatureCounts
    classes: ClassCounts
    nameless: int


def count_sparse(table: FeatureTable, cut: Cut | None) -> SparseCount:
    """Count the features of a sparse table; a row without an entry has the value 0.

    Without a cut a feature is true where its value is not 0, or where it has an entry at all.
    """
    _check_cut(table, cut)
    plain = entries = read_entries(table)
    name, strict = table.files[0].name, table.roles.missing == "error"
    if table.classes is not None:
        owners = read_owners(table.classes, table.roles.null_value)
        classes = _count_owners(table, table.classes, owners)
        entries = with_owners(plain, owners)
    else:
        owners = collect(owners_of(entries)).lazy()
        classes = count_classes(name, [owners], CLASS, None, table.roles, column=table.truth)
        if collect(owners.select((nw.col("low") != nw.col(CLASS)).sum())).item():
            complain_sparse(table)
        need_both(name, classes, str(table.truth))
        gaps = collect(entries.select(nw.col(CLASS).is_null().sum())).item()
        if strict and gaps:
            complain_sparse(table)
        if gaps:  # a row's class holds for all its entries
            bare = entries.select(nw.exclude(CLASS))
            entries = with_owners(bare, owners.select(ROW, CLASS))
    grouped = _grouped(entries, classes, table, cut)
    if not len(grouped):
        raise DataError.of("no rows to evaluate", "empty-table", name, hint=HEADER_ONLY)
    if table.classes is not None and grouped["unknown"].sum():
        raise_problems(table.files, unknown_rows(table, table.classes), table.roles.null_value)
    absent = grouped[FEATURE].is_null()
    nameless = int(grouped.filter(absent)["entries"].sum() + grouped["rowless"].sum())
    if (strict and (nameless or grouped["gap"].sum())) or not _pairs_differ(plain):
        complain_sparse(table)
    kept = grouped.filter(~absent).filter(nw.col("kept") > 0)
    keys = [FEATURE, VALUE] if cut in SPREAD else [FEATURE]
    counts = _counts(kept.sort(*keys), classes, table, cut)
    if table.wanted:
        names = match_names(name, counts.names, table.wanted, what="feature")
        place = {name: i for i, name in enumerate(counts.names)}
        counts = counts.take(np.array([place[name] for name in names]))
    return SparseCount(counts, classes, nameless)


def complain_sparse(table: FeatureTable) -> None:
    """Raise what is wrong with the entries; return if nothing is."""
    checks = sparse_checks(table, strict=table.roles.missing == "error")
    raise_problems(table.files, checks, table.roles.null_value)


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


def _count_owners(table: FeatureTable, classes: Classes, owners: Frame) -> ClassCounts:
    file, nulls = classes.files[0].name, table.roles.null_value
    counted = count_classes(file, [owners], CLASS, None, table.roles, column=classes.truth)
    check_ids(classes.files, classes.row, Peek(frozenset()))
    if table.roles.missing == "error":
        nameless = collect(owners.select(nw.col(ROW).is_null().sum())).item()
        checks = [missing_value(name) for name in (classes.row, classes.truth)]
        if nameless or sum(counted.missing):
            raise_problems(classes.files, checks, nulls)
    need_both(file, counted, classes.truth)
    return counted


def _grouped(
    entries: Frame, classes: ClassCounts, table: FeatureTable, cut: Cut | None
) -> nw.DataFrame[Any]:
    """Sum the entries of each feature (and value): n and tp where it is true, gaps where unknown.

    An entry without a row, or of a row without a class, counts for nothing; one without a value
    leaves its row out of that feature's counts.
    """
    # first by what an entry is, and then the few that are left by what that means
    kinds = {"class": nw.col(CLASS), "rowless": nw.col(ROW).is_null()}
    shown, gap, unknown = nw.lit(True), nw.lit(False), nw.lit(False)
    if KNOWN in entries.collect_schema().names():
        kinds["unknown"], unknown = nw.col(KNOWN).is_null(), nw.col("unknown")
    if table.value is not None:
        value = nw.col(VALUE)
        kinds["gap"], gap = value.is_null() | value.is_nan(), nw.col("gap")
        kinds["shown"] = value >= cut if isinstance(cut, float) else value != 0
        shown = nw.col("shown")
    keys = [FEATURE, VALUE] if cut in SPREAD else [FEATURE]
    few = entries.select(*keys, **kinds).group_by(*keys, *kinds).agg(nw.len().alias("entries"))
    rowless, positive = nw.col("rowless"), classes.is_positive("class") == 1
    owned = ~rowless & ~nw.col("class").is_null()
    sums = {
        "entries": nw.lit(True),
        "rowless": rowless,
        "unknown": unknown & ~rowless,
        "kept": owned,
        "gap": owned & gap,
        "gap_tp": owned & gap & positive,
        "n": owned & ~gap & shown,
        "tp": owned & ~gap & shown & positive,
    }
    n = nw.col("entries").cast(nw.Int64)
    picked = few.select(*keys, **{name: nw.when(kind).then(n) for name, kind in sums.items()})
    return collect(picked.group_by(*keys).agg(nw.col(*sums).sum()))


def _counts(
    grouped: nw.DataFrame[Any], classes: ClassCounts, table: FeatureTable, cut: Cut | None
) -> FeatureCounts:
    """Turn the sums, in order of features and values, into counts of each feature."""
    columns = {
        name: grouped[name].to_numpy().astype(np.int64) for name in ("tp", "n", "gap", "gap_tp")
    }
    feature = grouped[FEATURE]
    starts = np.flatnonzero((feature != feature.shift(1)).fill_null(value=True).to_numpy())
    names, stops = feature[starts].to_list(), [*starts[1:], len(feature)]
    gaps, gap_tp = (np.add.reduceat(columns[name], starts) for name in ("gap", "gap_tp"))
    positives, negatives = classes.positives - gap_tp, classes.negatives - (gaps - gap_tp)
    if cut in SPREAD and cut is not None:
        values = grouped[VALUE].to_numpy().astype(np.float64)
        refuse_infinite(values[columns["n"] > 0], cut, table.files[0].name, str(table.value))
        hits, misses = columns["tp"], columns["n"] - columns["tp"]
        done = [
            split(_with_zeros(values[a:b], hits[a:b], misses[a:b], (p, n)), cut)
            for a, b, p, n in zip(starts, stops, positives, negatives, strict=True)
        ]
    else:
        place, rule = (float(cut), ">=") if isinstance(cut, float) else (np.nan, None)
        done = [
            Split(place, rule, tp, n - tp)  # type: ignore[arg-type]
            for tp, n in zip(columns["tp"].tolist(), columns["n"].tolist(), strict=True)
        ]
    return FeatureCounts(
        names=tuple(str(as_text(name)) for name in names),
        columns=(table.feature,) * len(starts),
        kinds=("term",) * len(starts),
        cuts=np.array([one.cut for one in done], np.float64),
        rules=tuple(one.rule for one in done),
        tp=np.array([one.tp for one in done]),
        fp=np.array([one.fp for one in done]),
        positives=positives,
        negatives=negatives,
        missing=gaps,
    )


def _with_zeros(
    values: Floats, positives: Counts, negatives: Counts, totals: tuple[int, int]
) -> ScoreCounts:
    """Add the rows without an entry, whose value is 0."""
    shown = (values != 0) & (positives + negatives > 0)
    values, positives, negatives = values[shown], positives[shown], negatives[shown]
    rest = (totals[0] - positives.sum(), totals[1] - negatives.sum())
    place = int(np.searchsorted(values, 0.0))
    if sum(rest):
        values = np.insert(values, place, 0.0)
        positives, negatives = (
            np.insert(column, place, zeros)
            for column, zeros in zip((positives, negatives), rest, strict=True)
        )
    return ScoreCounts(values, positives, negatives)


def _pairs_differ(entries: Frame) -> bool:
    """Tell whether no row shows a feature twice; equal hashes may be chance: somebody must look."""
    native: pl.LazyFrame = entries.select(ROW, FEATURE).drop_nulls().to_native()
    hashed = native.select(pl.struct(ROW, FEATURE).hash().alias("h"))
    hashes = hashed.collect(engine="streaming")["h"]
    return hashes.sort().n_unique() == len(hashes)  # sorted they take half the room of a set


def sparse_checks(table: FeatureTable, *, strict: bool) -> list[Check]:
    """Return what to look for in the entries of a sparse table."""
    row, feature = table.row, table.feature
    pair = pl.struct(row, feature)
    first = pl.col(PLACE).first().over(pair)
    both = pl.col(row).is_not_null() & pl.col(feature).is_not_null()
    checks = [
        Check(
            feature, "duplicate-row", "'{value}' stands in {extra} for this row already",
            (pl.col(PLACE) != first) & both, first,
        )
    ]  # fmt: skip
    needed = [row, feature, *([table.truth] if table.truth else [])]
    if strict:
        checks += [missing_value(name) for name in needed]
    if table.value:
        checks.append(bad_number(table.value))
        checks += [missing_value(table.value, number=True)] if strict else []
    if table.truth:
        truth = pl.col(table.truth).cast(pl.String)
        known = truth.drop_nulls().first().over(row)
        what = "'{value}' where an earlier entry of this row has '{extra}'"
        bad = (truth != known) & pl.col(row).is_not_null()
        checks.append(Check(table.truth, "conflicting-truth", what, bad, known))
    return checks


def unknown_rows(table: FeatureTable, classes: Classes) -> list[Check]:
    """Return the check for entries whose row the table of classes does not have."""
    known = pl.concat([numbered(file).select(classes.row) for file in classes.files])
    names = known.select(pl.col(classes.row).cast(pl.String)).collect().to_series()
    bad = (
        ~pl.col(table.row).cast(pl.String).is_in(names.implode()) & pl.col(table.row).is_not_null()
    )
    return [Check(table.row, "unknown-row", "row '{value}' has no class", bad)]
