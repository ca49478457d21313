"""Counts of features: of wide tables and of sparse ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts import settings
from clfeval.counts.features import cuts
from clfeval.counts.features.wide import count_wide, refuse_infinite
from clfeval.counts.invalid_rows import check_ids
from clfeval.counts.scores import ScoreCounts
from clfeval.document import InputFile
from clfeval.errors import HEADER_ONLY, DataError, UsageError
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.feature import ClassTable, FeatureTable
from clfeval.tables.frames import Frame, as_text, collect, concatenate_frames, engine_errors, nw, pl
from clfeval.tables.input import InputOptions, match_names
from clfeval.tables.invalid_cells import (
    PLACE,
    Check,
    Tasks,
    bad_number,
    check_structure,
    column_as_text,
    count_blank,
    missing_value,
    numbered_rows,
)
from clfeval.tables.predictions import Facts
from clfeval.tables.scan import CellReading, TableFile, scan


@dataclass(frozen=True, slots=True)
class CountedFeatures:
    """Feature counts, classes, files, and numbers of excluded rows and entries.

    blank_rows: blank lines; nameless: sparse entries without row or feature. requested: globs of
    features, empty for all; entries: rows are those with an entry.
    """

    counts: cuts.FeatureCounts
    classes: cuts.ClassCounts
    files: tuple[InputFile, ...]
    roles: InputOptions
    requested: tuple[str, ...]
    blank_rows: int
    nameless: int
    entries: bool

    @property
    def facts(self) -> Facts:
        """Facts on the counts: rows, classes and features."""
        classes = self.classes
        return {
            "rows": sum(classes.rows),
            f"positive: '{classes.positive}'": classes.positives,
            "negative": classes.negatives,
            "features": len(self.counts.names),
        }


def count_features(table: FeatureTable, cut: cuts.Cut | None) -> CountedFeatures:
    """Count every feature, numeric ones at the threshold `cut`; DataError for invalid rows."""
    class_files = table.classes.files if table.classes else ()
    files = [*table.files, *class_files]
    is_sparse = table.layout == "long"
    tasks = settings.start_fingerprints(files)
    nameless = 0
    try:
        if is_sparse:
            check_structure(files, tasks)
            counts, classes, nameless = count_sparse(table, cut)
        else:
            counts, classes = count_wide(table, "median" if cut is None else cut, tasks)
    except engine_errors() as error:
        if is_sparse:
            check_sparse_rows(table)
        raise settings.convert_read_error(files, error) from error
    first_class_file = len(table.files) if class_files else 0
    input_files, blank_rows = _input_files(files, tasks, classes, first_class_file)
    return CountedFeatures(
        counts,
        classes,
        input_files,
        table.roles,
        table.requested,
        blank_rows,
        nameless,
        entries=is_sparse and table.classes is None,
    )


def _input_files(
    files: Sequence[TableFile], tasks: Tasks, classes: cuts.ClassCounts, first_class_file: int
) -> tuple[tuple[InputFile, ...], int]:
    """Return the files with their rows, and the number of blank rows.

    first_class_file: index of the first file that has classes.
    """
    # rows with a class, file by file; for files read together counted in the first
    row_counts = zip(classes.rows, classes.missing, strict=True)
    input_files = list[InputFile]()
    blank_rows = 0
    for file_index, (file, task) in enumerate(zip(files, tasks, strict=True)):
        rows, missing_count = next(row_counts, (0, 0)) if file_index >= first_class_file else (0, 0)
        blank_count = count_blank(file) if missing_count else 0
        blank_rows += blank_count
        input_files.append(
            settings.input_file(file, task, rows, max(missing_count - blank_count, 0))
        )
    return tuple(input_files), blank_rows


ROW, FEATURE, VALUE, CLASS, KNOWN = (f"__clfeval_{n}" for n in ("r", "f", "v", "c", "k"))


CUTS_BY_VALUE = ("median", "mean", "best", "soft")


def count_sparse(
    table: FeatureTable, cut: cuts.Cut | None
) -> tuple[cuts.FeatureCounts, cuts.ClassCounts, int]:
    """Return the counts of features and classes, and the number of entries without row or feature.

    Missing entries are 0. Without `cut` a feature is true where not 0, or where it has an entry.
    """
    _check_cut(table, cut)
    columns = {ROW: table.row, FEATURE: table.feature, VALUE: table.value, CLASS: table.truth}
    entries = _read_columns(table.files, columns, table)
    if table.files[0].head is not None:
        entries = _without_blank(entries)
    file_name = table.files[0].name
    if table.classes is None:
        classes, classified = _classes_of_entries(entries, table)
    else:
        classes, owners = _classes_apart(table, table.classes)
        classified = _with_owners(entries, owners)
    sums_by_feature = _sum_entries(classified, classes, table, cut)
    if not len(sums_by_feature):
        raise DataError.new("no rows to evaluate", "empty-table", file_name, hint=HEADER_ONLY)
    if table.classes is not None and sums_by_feature["unknown"].sum():
        _refuse_unknown_rows(table, table.classes)
    has_no_feature = sums_by_feature[FEATURE].is_null()
    nameless = int(
        sums_by_feature.filter(has_no_feature)["entries"].sum() + sums_by_feature["rowless"].sum()
    )
    has_repeated_pairs = _has_repeated_pairs(entries)
    is_strict = table.roles.missing == "error"
    if (is_strict and (nameless or sums_by_feature["gap"].sum())) or has_repeated_pairs:
        check_sparse_rows(table)
    feature_sums = (
        sums_by_feature.filter(~has_no_feature).filter(nw.col("kept") > 0).sort(*_keys(cut))
    )
    counts = _feature_counts(feature_sums, classes, table, cut)
    if table.requested:
        names = match_names(file_name, counts.names, table.requested, kind="feature")
        feature_index = {name: i for i, name in enumerate(counts.names)}
        counts = counts.take(np.array([feature_index[name] for name in names]))
    return counts, classes, nameless


def _classes_of_entries(entries: Frame, table: FeatureTable) -> tuple[cuts.ClassCounts, Frame]:
    """Count the classes of rows that stand in the entries; return also entries with classes."""
    file_name = table.files[0].name
    lowest_class = nw.col(CLASS).min().alias("low")  # the classes of a row should agree
    entries_by_row = entries.filter(~nw.col(ROW).is_null()).group_by(ROW)
    owners = collect(entries_by_row.agg(nw.col(CLASS).max(), lowest_class)).lazy()
    classes = cuts.count_classes(file_name, [owners], CLASS, table.roles, column=table.truth)
    if collect(owners.select((nw.col("low") != nw.col(CLASS)).sum())).item():
        check_sparse_rows(table)
    cuts.refuse_single_class(file_name, classes, str(table.truth))
    gap_count = collect(entries.select(nw.col(CLASS).is_null().sum())).item()
    if gap_count and table.roles.missing == "error":
        check_sparse_rows(table)
    if gap_count:  # a row's class holds for all its entries
        entries = _with_owners(entries.select(nw.exclude(CLASS)), owners.select(ROW, CLASS))
    return classes, entries


def _refuse_unknown_rows(table: FeatureTable, class_table: ClassTable) -> None:
    """Raise DataError for the entries whose row has no class in the separate table."""
    row_text = column_as_text(table.row)
    row_columns = [
        numbered_rows(file).select(column_as_text(class_table.row)) for file in class_table.files
    ]
    rows_with_class = pl.concat(row_columns).collect().to_series().implode()
    is_unknown = ~row_text.is_in(rows_with_class) & row_text.is_not_null()
    check = Check(table.row, "unknown-row", "row '{value}' has no class", is_unknown)
    cuts.raise_problems(table.files, [check], table.roles.null_value)


def _has_repeated_pairs(entries: Frame) -> bool:
    """Return whether a row has two entries of a feature, or, to be checked, a hash collision."""
    pairs: pl.LazyFrame = entries.select(ROW, FEATURE).drop_nulls().to_native()
    hash_frame = pairs.select(pl.struct(ROW, FEATURE).hash().alias("h"))
    hashes = hash_frame.collect(engine="streaming")["h"].to_numpy(writable=True)
    hashes.sort()  # needs half the memory of a set
    return bool((hashes[1:] == hashes[:-1]).any())


def _classes_apart(table: FeatureTable, class_table: ClassTable) -> tuple[cuts.ClassCounts, Frame]:
    """Count the classes in a separate table; return also its ROW and CLASS, without blank lines."""
    owners = _without_blank(
        _read_columns(class_table.files, {ROW: class_table.row, CLASS: class_table.truth}, table)
    )
    file_name = class_table.files[0].name
    counts = cuts.count_classes(file_name, [owners], CLASS, table.roles, column=class_table.truth)
    check_ids(class_table.files, class_table.row, table.roles.null_value)
    if table.roles.missing == "error":
        nameless_count = collect(owners.select(nw.col(ROW).is_null().sum())).item()
        if nameless_count or sum(counts.missing):
            checks = [missing_value(name) for name in (class_table.row, class_table.truth)]
            cuts.raise_problems(class_table.files, checks, table.roles.null_value)
    cuts.refuse_single_class(file_name, counts, class_table.truth)
    return counts, owners


def _read_columns(
    files: Sequence[TableFile], columns_by_name: Mapping[str, str | None], table: FeatureTable
) -> Frame:
    """Return the columns of the files that exist, under internal names."""
    columns = {name: column for name, column in columns_by_name.items() if column is not None}
    readings: dict[str, CellReading] = dict.fromkeys(columns.values(), "text")
    if VALUE in columns:
        readings[columns[VALUE]] = "number"
    expressions = [nw.col(column).alias(name) for name, column in columns.items()]
    null_values = table.roles.null_value
    frames = [scan(file, readings, null_values=null_values).select(*expressions) for file in files]
    if len({tuple(frame.collect_schema().items()) for frame in frames}) > 1:
        # numbers in one file are the same labels as their text in another
        labels = [name for name in columns if name != VALUE]
        frames = [frame.with_columns(nw.col(*labels).cast(nw.String)) for frame in frames]
    return concatenate_frames(frames)


def _without_blank(frame: Frame) -> Frame:
    return frame.filter(~nw.all_horizontal(nw.all().is_null(), ignore_nulls=True))


def _with_owners(entries: Frame, owners: Frame) -> Frame:
    """Add the class of its row to every entry; KNOWN is missing if the row has none."""
    if entries.collect_schema()[ROW] != owners.collect_schema()[ROW]:
        text = nw.col(ROW).cast(nw.String)
        entries = entries.with_columns(text)
        owners = owners.with_columns(text)
    return entries.join(owners.with_columns(nw.lit(1).alias(KNOWN)), on=ROW, how="left")


def _keys(cut: cuts.Cut | None) -> list[str]:
    """Return the columns entries are grouped by, with values if the threshold depends on them."""
    return [FEATURE, VALUE] if cut in CUTS_BY_VALUE else [FEATURE]


def _check_cut(table: FeatureTable, cut: cuts.Cut | None) -> None:
    if cut is not None and table.value is None:
        message = f"{OPTION}--cut{END} needs numbers, and the sparse table has no value column"
        hint = f"omit {OPTION}--cut{END}, or add a third column named value"
        raise UsageError.new(message, "needs-numbers", hint=hint)
    if isinstance(cut, float) and cut <= 0:
        message = (
            f"{OPTION}--cut{END} {cut:g} makes the feature true in every row without an entry "
            "(value 0)"
        )
        hint = f"give {OPTION}--cut{END} a number above 0"
        raise UsageError.new(message, "bad-option", hint=hint)


def _sum_entries(
    entries: Frame, classes: cuts.ClassCounts, table: FeatureTable, cut: cuts.Cut | None
) -> nw.DataFrame[Any]:
    """Sum the entries of each feature (and value): n and tp where it is true, gaps where unknown.

    Entries without row or class are ignored; rows without a value not counted for the feature.
    """
    # first group equal entries, then classify the few groups
    group_columns = {"class": nw.col(CLASS), "rowless": nw.col(ROW).is_null()}
    is_set = nw.lit(True)
    is_gap = nw.lit(False)
    is_unknown = nw.lit(False)
    if KNOWN in entries.collect_schema().names():
        group_columns["unknown"] = nw.col(KNOWN).is_null()
        is_unknown = nw.col("unknown")
    if table.value is not None:
        value = nw.col(VALUE)
        group_columns["gap"] = value.is_null() | value.is_nan()
        group_columns["set"] = value >= cut if isinstance(cut, float) else value != 0
        is_gap = nw.col("gap")
        is_set = nw.col("set")
    keys = _keys(cut)
    groups = entries.select(*keys, **group_columns).group_by(*keys, *group_columns)
    group_sizes = groups.agg(nw.len().alias("entries"))
    is_rowless = nw.col("rowless")
    is_positive = classes.is_positive("class") == 1
    is_classified = ~is_rowless & ~nw.col("class").is_null()
    is_true = is_classified & ~is_gap & is_set
    conditions = {
        "entries": nw.lit(True),
        "rowless": is_rowless,
        "unknown": is_unknown & ~is_rowless,
    }
    conditions |= {
        "kept": is_classified,
        "gap": is_classified & is_gap,
        "gap_tp": is_classified & is_gap & is_positive,
    }
    conditions |= {"n": is_true, "tp": is_true & is_positive}
    entry_count = nw.col("entries").cast(nw.Int64)
    counted_groups = group_sizes.select(
        *keys,
        **{name: nw.when(condition).then(entry_count) for name, condition in conditions.items()},
    )
    return collect(counted_groups.group_by(*keys).agg(nw.col(*conditions).sum()))


def _feature_counts(
    sums_by_feature: nw.DataFrame[Any],
    classes: cuts.ClassCounts,
    table: FeatureTable,
    cut: cuts.Cut | None,
) -> cuts.FeatureCounts:
    """Convert the sums, ordered by feature and value, into counts of each feature."""
    tp = sums_by_feature["tp"].to_numpy().astype(np.int64)
    n = sums_by_feature["n"].to_numpy().astype(np.int64)
    feature = sums_by_feature[FEATURE]
    first_indices = np.flatnonzero((feature != feature.shift(1)).fill_null(value=True).to_numpy())
    missing_counts = np.add.reduceat(
        sums_by_feature["gap"].to_numpy().astype(np.int64), first_indices
    )
    missing_tp = np.add.reduceat(
        sums_by_feature["gap_tp"].to_numpy().astype(np.int64), first_indices
    )
    positives = classes.positives - missing_tp
    negatives = classes.negatives - (missing_counts - missing_tp)
    if cut in CUTS_BY_VALUE and cut is not None:
        values = sums_by_feature[VALUE].to_numpy().astype(np.float64)
        refuse_infinite(values[n > 0], cut, table.files[0].name, str(table.value))
        columns = [np.split(column, first_indices[1:]) for column in (values, tp, n - tp)]
        # without features there is one empty part
        value_groups = zip(*columns, zip(positives, negatives, strict=True), strict=False)
        splits = [cuts.split_feature(_with_zeros(*group), cut) for group in value_groups]
    else:
        splits = _splits_without_values(tp, n, cut)
    texts = (str(as_text(name)) for name in feature[first_indices].to_list())
    features = zip(texts, splits, positives, negatives, missing_counts, strict=True)
    return cuts.FeatureCounts.from_features(
        (text, table.feature, "term", *rest) for text, *rest in features
    )


def _splits_without_values(tp: Counts, n: Counts, cut: cuts.Cut | None) -> list[cuts.BinaryFeature]:
    """Return the features at a number, or by their entries; true in n rows, tp of them positive."""
    rule: cuts.Rule | None = ">=" if isinstance(cut, float) else None
    threshold = cut if isinstance(cut, float) else np.nan
    tp_and_n = zip(tp.tolist(), n.tolist(), strict=True)
    return [
        cuts.BinaryFeature(threshold, rule, feature_tp, feature_n - feature_tp)
        for feature_tp, feature_n in tp_and_n
    ]


def _with_zeros(
    values: Floats, positives: Counts, negatives: Counts, totals: tuple[int, int]
) -> ScoreCounts:
    """Return score counts with the rows without an entry added as value 0.

    totals: all positives and all negatives.
    """
    is_nonzero = (values != 0) & (positives + negatives > 0)
    columns = [values[is_nonzero], positives[is_nonzero], negatives[is_nonzero]]
    zero_counts = (0.0, totals[0] - columns[1].sum(), totals[1] - columns[2].sum())
    if sum(zero_counts):
        columns = [
            np.append(column, zero) for column, zero in zip(columns, zero_counts, strict=True)
        ]
    return ScoreCounts.from_scores(*columns)


def check_sparse_rows(table: FeatureTable) -> None:
    """Raise the problems of the entries, if any."""
    row, feature = table.row, table.feature
    is_strict = table.roles.missing == "error"
    first_place = pl.col(PLACE).first().over(pl.struct(row, feature))
    is_named = pl.col(row).is_not_null() & pl.col(feature).is_not_null()
    is_repeated = (pl.col(PLACE) != first_place) & is_named
    message = "'{value}' is already in {extra} for this row"
    checks = [Check(feature, "duplicate-row", message, is_repeated, first_place)]
    if is_strict:
        checks += [missing_value(name) for name in (row, feature, table.truth) if name]
    if table.value:
        checks.append(bad_number(table.value))
        checks += [missing_value(table.value, number=True)] if is_strict else []
    if table.truth:
        truth = column_as_text(table.truth)
        first_truth = truth.drop_nulls().first().over(row)
        message = "'{value}' where an earlier entry of this row has '{extra}'"
        is_conflict = (truth != first_truth) & pl.col(row).is_not_null()
        checks.append(Check(table.truth, "conflicting-truth", message, is_conflict, first_truth))
    cuts.raise_problems(table.files, checks, table.roles.null_value)
