"""Tables and slices with fewer clusters than limits need, and the reason beside their values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import PatternCounts
from clfeval.document import Document
from clfeval.document.cells import Cell, Estimate, Row, Rows, as_row
from clfeval.document.rows import LazyRows
from clfeval.inference.influence_and_clusters import FEW_CLUSTERS, FEWEST_CLUSTERS
from clfeval.measures.catalog import CATALOG
from clfeval.records import replace

PatternsBySlice = Mapping[str | None, PatternCounts] | Mapping[str | None, ClassPatterns]
UNTESTED = f"No significance test: there are fewer than {FEWEST_CLUSTERS} clusters."


def has_few_clusters(patterns: PatternCounts | ClassPatterns | None) -> bool:
    """Return whether rows are of too few clusters for limits and tests."""
    clusters = None if patterns is None else patterns.clusters
    return clusters is not None and clusters.too_few


def confidence_level(slices: PatternsBySlice, level: float | None) -> float | None:
    """Return the level of limits and tests of the whole table; None for too few clusters."""
    return None if has_few_clusters(slices.get(None)) else level


def explain_missing_limits(
    document: Document, slices: PatternsBySlice, level: float | None
) -> Document:
    """Return a document with the reason beside values without limits for too few clusters."""
    slice_names = {
        slice_name for slice_name, patterns in slices.items() if has_few_clusters(patterns)
    }
    if level is None or not slice_names:
        return document
    tables = {name: _explain_rows(rows, slice_names) for name, rows in document.tables.items()}
    return replace(document, tables=tables)


def _explain_rows(rows: Rows, slice_names: Collection[str | None]) -> Rows:
    stored_columns: Mapping[str, Any] = rows.columns if isinstance(rows, LazyRows) else {}
    columns = {name: stored_columns[name] for name in ("slice", "model") if name in stored_columns}
    return LazyRows(
        len(rows), lambda row_index: _explain_row(rows[row_index], slice_names), columns
    )


def _explain_row(row: Row, slice_names: Collection[str | None]) -> Row:
    """Return a row with the reason beside values without limits, if its slice is in `slice_names`.

    Values of a measure that never has limits have other reasons.
    """
    measure = CATALOG.get(str(row.get("measure")).partition(":")[0])
    if row.get("slice") not in slice_names or (measure is not None and measure.interval == "null"):
        return row
    return as_row({name: _explain_cell(cell) for name, cell in row.items()})


def _explain_cell(cell: Cell) -> Cell:
    """Return a cell; if it is a value without limits and a reason, with the reason."""
    if not isinstance(cell, Estimate) or cell.value is None or cell.reason is not None:
        return cell
    has_limits = cell.low is not None or cell.high is not None
    return cell if has_limits else replace(cell, reason=FEW_CLUSTERS)
