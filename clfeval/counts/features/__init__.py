"""Counted feature tables: per feature, how often it is true among positives and negatives."""

from __future__ import annotations

from dataclasses import dataclass

from clfeval.counts.features.cuts import ClassCounts, Cut, FeatureCounts
from clfeval.counts.features.sparse import check_sparse_rows, count_sparse
from clfeval.counts.features.wide import count_wide
from clfeval.counts.settings import (
    check_structure,
    explain_read_error,
    input_file,
    start_fingerprints,
)
from clfeval.document import InputFile
from clfeval.tables.feature import FeatureTable
from clfeval.tables.input import Input
from clfeval.tables.invalid_cells import count_blank
from clfeval.tables.peek import Facts
from clfeval.tables.scan import engine_errors


@dataclass(frozen=True, slots=True)
class CountedFeatures:
    """Feature counts, classes, files, and numbers of excluded rows and entries.

    blank_rows: blank lines; nameless: sparse entries without row or feature. wanted: globs of
    features, empty for all; entries: rows are those with an entry.
    """

    counts: FeatureCounts
    classes: ClassCounts
    files: tuple[InputFile, ...]
    roles: Input
    wanted: tuple[str, ...]
    blank_rows: int
    nameless: int
    entries: bool

    @property
    def facts(self) -> Facts:
        """Facts on the counts: rows, classes and features."""
        classes = self.classes
        return {
            "rows": sum(classes.rows), f"positive: '{classes.positive}'": classes.positives,
            "negative": classes.negatives, "features": len(self.counts.names),
        }  # fmt: skip


def count_features(table: FeatureTable, cut: Cut | None) -> CountedFeatures:
    """Count every feature, numeric ones at threshold `cut`; DataError for invalid rows."""
    others = table.classes.files if table.classes else ()
    files, nameless, sparse = [*table.files, *others], 0, table.layout == "long"
    tasks = start_fingerprints(files)
    try:
        if sparse:
            check_structure(files, tasks)
            counts, classes, nameless = count_sparse(table, cut)
        else:
            counts, classes = count_wide(table, "median" if cut is None else cut, tasks)
    except engine_errors() as error:
        if sparse:
            check_sparse_rows(table)
        raise explain_read_error(files, error) from error
    # rows with a class, file by file; for files read together counted in the first
    given = zip(classes.rows, classes.missing, strict=True)
    counted, blank_rows, first = [], 0, len(table.files) if others else 0
    for place, (file, task) in enumerate(zip(files, tasks, strict=True)):
        rows, lacking = next(given, (0, 0)) if place >= first else (0, 0)
        blank = count_blank(file) if lacking else 0
        blank_rows += blank
        counted.append(input_file(file, task, rows, max(lacking - blank, 0)))
    return CountedFeatures(
        counts, classes, tuple(counted), table.roles, table.wanted, blank_rows, nameless,
        entries=sparse and table.classes is None,
    )  # fmt: skip
