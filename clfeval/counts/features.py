"""From an opened feature table to feature counts, with every check on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw

from clfeval.counts.classes import ClassCounts, count_classes
from clfeval.counts.complaints import check_ids
from clfeval.counts.feature_binary import count_binary
from clfeval.counts.feature_columns import count_categories, count_numbers
from clfeval.counts.feature_complaints import raise_wide
from clfeval.counts.feature_counts import FeatureCounts
from clfeval.counts.feature_cuts import Cut
from clfeval.counts.feature_rows import Rows, class_frames
from clfeval.counts.feature_sparse import count_sparse
from clfeval.counts.predictions import FileCount
from clfeval.counts.raw import collect
from clfeval.counts.reading import check_structure
from clfeval.errors import DataError, Problem
from clfeval.tables.csv_check import inspect_structure
from clfeval.tables.diagnose import count_blank
from clfeval.tables.feature import FeatureTable
from clfeval.tables.fingerprint import FingerprintTask
from clfeval.tables.peek import Peek
from clfeval.tables.scan import ENGINE_ERRORS, TableFile, scan, unreadable


@dataclass(frozen=True, slots=True)
class CountedFeatures:
    """Feature counts, the classes they are of, and the files they come from."""

    counts: FeatureCounts
    classes: ClassCounts
    files: tuple[FileCount, ...]
    table: FeatureTable


def count_features(table: FeatureTable, cut: Cut | None) -> CountedFeatures:
    """Count every feature; `cut` makes numeric ones true or false (None: the default).

    Raises DataError with the rows to blame, found in a second pass.
    """
    files = [*table.files, *(table.classes.files if table.classes else ())]
    tasks = [FingerprintTask(file.source) if file.source else None for file in files]
    try:
        if table.layout == "long":
            counts, classes = count_sparse(table, cut)
            for file, task in zip(files, tasks, strict=True):
                check_structure(file, task)
        else:
            counts, classes = _count_wide(table, "median" if cut is None else cut, tasks)
    except ENGINE_ERRORS as error:
        raise _explained(files, error) from error
    return CountedFeatures(counts, classes, _files(table, files, tasks, classes), table)


def _count_wide(
    table: FeatureTable, cut: Cut, tasks: Sequence[FingerprintTask | None]
) -> tuple[FeatureCounts, ClassCounts]:
    strict, weight = table.roles.missing == "error", table.roles.weight
    name, truth = table.files[0].name, str(table.truth)
    try:
        classes = count_classes(name, class_frames(table), truth, weight, table.roles)
    except ENGINE_ERRORS:
        raise_wide(table, weights=True)
        raise
    if strict and sum(classes.missing) > sum(map(count_blank, table.files)):
        raise_wide(table, classes=True, weights=True)
    if classes.bad_weights:
        raise_wide(table, weights=True)
    rows = Rows(table, classes)
    kinds = dict(table.kinds or {})
    parts: list[FeatureCounts] = []
    binary = [column for column, kind in kinds.items() if kind == "binary"]
    numeric = [column for column, kind in kinds.items() if kind == "numeric"]
    no_tail = None
    if binary:
        try:
            done = count_binary(binary, rows, "bit")
        except ENGINE_ERRORS:  # more than 0 and 1 after all
            numeric += binary
        else:
            parts.append(done.counts.take(done.binary.nonzero()[0]))
            numeric += [c for c, good in zip(binary, done.binary, strict=True) if not good]
            no_tail = done.no_tail
    for file, task in zip(table.files, tasks, strict=True):
        check_structure(file, task, short_rows=None if no_tail is None else no_tail > 0)
    try:
        parts += count_numbers(numeric, rows, cut, "number")
    except ENGINE_ERRORS:
        raise_wide(table, numbers=_bad_numbers(table, numeric))
        raise
    categories = [column for column, kind in kinds.items() if kind == "category"]
    parts += count_categories(categories, rows)
    counts = FeatureCounts.joined(parts)
    gaps = [c for c, n in zip(counts.columns, counts.missing, strict=True) if n]
    if strict and gaps:
        raise_wide(table, gaps=list(dict.fromkeys(gaps)))
    if table.id is not None:
        check_ids(table.files, table.id, Peek(frozenset()))
    return counts, classes


def _bad_numbers(table: FeatureTable, columns: Sequence[str]) -> list[str]:
    """Return the columns of text in which something is no number."""
    found: list[str] = []
    for file in table.files:
        texts = scan(file, dict.fromkeys(columns, "text"), null_values=table.roles.null_values)
        loose = scan(file, dict.fromkeys(columns, "loose"), null_values=table.roles.null_values)
        gaps = [collect(frame.select(nw.all().null_count())).row(0) for frame in (texts, loose)]
        found += [c for c, a, b in zip(columns, *gaps, strict=True) if a != b]
    return list(dict.fromkeys(found))


def _files(
    table: FeatureTable,
    files: Sequence[TableFile],
    tasks: Sequence[FingerprintTask | None],
    classes: ClassCounts,
) -> tuple[FileCount, ...]:
    """Return what each file gave: observations counted, and observations left out."""
    rows, missing = list(classes.rows), list(classes.missing)
    if table.layout == "long" and table.classes is not None:
        rows, missing = [0] * len(table.files) + rows, [0] * len(table.files) + missing
    elif table.layout == "long":
        spare = [0] * (len(files) - 1)
        rows, missing = rows + spare, missing + spare
    return tuple(
        FileCount(
            name=file.source.display if file.source else file.name,
            sha256=task.result().sha256 if task else None,
            rows=n,
            dropped=dropped,
        )
        for file, task, n, dropped in zip(files, tasks, rows, missing, strict=True)
    )


def _explained(files: Sequence[TableFile], error: Exception) -> DataError:
    for file in files:
        if file.head and file.source:
            inspect_structure(file.source, file.columns)
    if files[0].source:
        return unreadable(files[0].source, error)
    return DataError(Problem(f"cannot be read: {error}", "bad-file", files[0].name))
