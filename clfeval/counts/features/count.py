"""From an opened feature table to feature counts, with every check on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clfeval.counts.features.cuts import ClassCounts, Cut, FeatureCounts, count_classes, need_both
from clfeval.counts.features.sparse import complain_sparse, count_sparse
from clfeval.counts.features.wide import (
    BinaryPass,
    ClassRows,
    class_frames,
    complain_wide,
    count_binary,
    count_categories,
    count_numbers,
)
from clfeval.counts.settle import (
    FileCount,
    Tasks,
    check_structure,
    explained,
    file_count,
    fingerprints,
)
from clfeval.tables.diagnose import count_blank
from clfeval.tables.feature import FeatureTable
from clfeval.tables.input import Input
from clfeval.tables.scan import Peek, TableFile, all_distinct, engine_errors


@dataclass(frozen=True, slots=True)
class CountedFeatures:
    """Feature counts, the classes they are of, the files they come from, and what was left out.

    blank_rows: blank lines; nameless: entries of a sparse table that lack their row or feature.
    wanted: the globs of the features kept, none for all; entries: rows are those that have one.
    """

    counts: FeatureCounts
    classes: ClassCounts
    files: tuple[FileCount, ...]
    roles: Input
    wanted: tuple[str, ...]
    blank_rows: int
    nameless: int
    entries: bool


def count_features(table: FeatureTable, cut: Cut | None) -> CountedFeatures:
    """Count every feature; `cut` makes numeric ones true or false (None: the default).

    Raises DataError with the rows to blame, found in a second pass.
    """
    others = table.classes.files if table.classes else ()
    files, nameless = [*table.files, *others], 0
    tasks = fingerprints(files)
    try:
        if table.layout == "long":
            for file, task in zip(files, tasks, strict=True):
                check_structure(file, task)
            done = count_sparse(table, cut)
            counts, classes, nameless = done.counts, done.classes, done.nameless
        else:
            counts, classes = _count_wide(table, "median" if cut is None else cut, tasks)
    except engine_errors() as error:
        if table.layout == "long":
            complain_sparse(table)
        raise explained(files, error) from error
    owning = others or table.files
    blank = [count_blank(file) if gone else 0 for file, gone in _pairs(owning, classes)]
    return CountedFeatures(
        counts, classes, _files(files, tasks, owning, classes, blank), table.roles, table.wanted,
        sum(blank), nameless, entries=table.layout == "long" and table.classes is None,
    )  # fmt: skip


def _count_wide(table: FeatureTable, cut: Cut, tasks: Tasks) -> tuple[FeatureCounts, ClassCounts]:
    strict, roles = table.roles.missing == "error", table.roles
    name, truth = table.files[0].name, str(table.truth)
    kinds = dict(table.kinds or {})
    try:
        classes = count_classes(name, class_frames(table), truth, roles.weight, roles)
    except engine_errors():
        _check_structure(table, tasks)
        complain_wide(table, kinds)
        raise
    missing = sum(classes.missing)
    if classes.bad_weights or (strict and missing and missing > sum(map(count_blank, table.files))):
        _check_structure(table, tasks)
        complain_wide(table, kinds)
    rows = ClassRows(table, classes)
    parts: list[FeatureCounts] = []
    binary = [column for column, kind in kinds.items() if kind == "binary"]
    done = _binary(binary, rows) if binary else None
    if done is not None:
        parts.append(done.counts.take(done.binary.nonzero()[0]))
        others = [c for c, good in zip(binary, done.binary, strict=True) if not good]
    else:
        others = binary
    kinds |= dict.fromkeys(others, "numeric")
    _check_structure(table, tasks, None if done is None else done.no_tail)
    try:
        numeric = [column for column, kind in kinds.items() if kind == "numeric"]
        parts += count_numbers(numeric, rows, cut)
        categories = [column for column, kind in kinds.items() if kind == "category"]
        parts += count_categories(categories, rows)
    except engine_errors():
        complain_wide(table, kinds)
        raise
    counts = FeatureCounts.joined(parts)
    repeated = table.id is not None and not all_distinct(table.files, table.id, Peek(frozenset()))
    if repeated or (strict and counts.missing.any()):
        complain_wide(table, kinds)
    need_both(name, classes, truth)
    return counts, classes


def _binary(columns: Sequence[str], rows: ClassRows) -> BinaryPass | None:
    """Count 0/1 columns; as numbers where text holds more; not at all where it holds no numbers."""
    for reading in ("bit", "number"):
        try:
            return count_binary(columns, rows, reading)
        except engine_errors():
            continue
    return None


def _check_structure(table: FeatureTable, tasks: Tasks, no_tail: int | None = None) -> None:
    short = None if no_tail is None else no_tail > 0
    for file, task in zip(table.files, tasks, strict=False):
        check_structure(file, task, short_rows=short)


def _pairs(owning: Sequence[TableFile], classes: ClassCounts) -> list[tuple[TableFile, int]]:
    """Return the files whose rows have classes, with the rows of each that lack one."""
    if len(classes.missing) == len(owning):
        return list(zip(owning, classes.missing, strict=True))
    return [(file, sum(classes.missing) if file is owning[0] else 0) for file in owning]


def _files(
    files: Sequence[TableFile],
    tasks: Tasks,
    owning: Sequence[TableFile],
    classes: ClassCounts,
    blank: Sequence[int],
) -> tuple[FileCount, ...]:
    """Return what each file gave: observations counted, and observations left out."""
    rows = {id(file): n for file, n in zip(owning, classes.rows, strict=False)}
    dropped = {
        id(file): max(gone - lines, 0)
        for (file, gone), lines in zip(_pairs(owning, classes), blank, strict=True)
    }
    return tuple(
        file_count(file, task, rows.get(id(file), 0), dropped.get(id(file), 0))
        for file, task in zip(files, tasks, strict=True)
    )
