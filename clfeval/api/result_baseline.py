"""Baselines of a result in Python: a table, read as that of the result was, or another result."""

from __future__ import annotations

from os import PathLike, fspath
from os.path import basename

from clfeval.api.paired_rows import (
    ComparedTables,
    ReadResult,
    baseline_of_rows,
    is_read_once,
    join_obstacle,
    read_table,
    read_table_baseline,
    refuse_without_rows,
)
from clfeval.api.questions import PUBLIC_FUNCTIONS
from clfeval.api.result_source import ResultSource
from clfeval.compare.baseline.changes import Baseline
from clfeval.compare.baseline.read import baseline_kind
from clfeval.compare.gates.limits import Gates
from clfeval.document import Document
from clfeval.records import replace

CHANGED_SINCE = "a table has changed since its result was computed"
NO_IDS = "the table of this result has no ids"


def result_baseline(result: Document, source: ResultSource, gates: Gates) -> Baseline | None:
    """Return the baseline that is a table, or a result whose rows have ids; else None.

    A table is read as that of the result was. Changes are paired as those of the command line, if
    the tables are still those of the results.
    """
    baseline = gates.baseline
    if isinstance(baseline, (str, PathLike)):
        return _table_baseline(result, source, fspath(baseline), gates)
    earlier_source = getattr(baseline, "source", None)
    if not isinstance(baseline, Document) or not isinstance(earlier_source, ResultSource):
        return None
    if not (_can_be_read(source) and _can_be_read(earlier_source)):
        return None
    current_read, is_changed = _read_again(source, result)
    earlier_read, was_changed = _read_again(earlier_source, baseline)
    if any(_has_no_ids(read) for read in (current_read, earlier_read)):
        return None
    obstacle = join_obstacle(result, current_read.predictions, earlier_read.predictions)
    obstacle = CHANGED_SINCE if is_changed or was_changed else obstacle
    compared_tables = ComparedTables(source.table, earlier_source.table, "the baseline")
    return baseline_of_rows(
        compared_tables, current_read, earlier_read, source.options, gates, obstacle
    )


def _table_baseline(
    result: Document, source: ResultSource, path: str, gates: Gates
) -> Baseline | None:
    """Return the baseline that is a table; None for other files."""
    if baseline_kind(path) != "table":
        return None
    refuse_without_rows(result, source.options)
    function = PUBLIC_FUNCTIONS[source.function]
    earlier_read = read_table_baseline(function, path, source.options, result, lambda _: None)
    current_read = ReadResult(result, None)
    obstacle: str | None = NO_IDS
    if _can_be_read(source):
        current_read, is_changed = _read_again(source, result)
        obstacle = join_obstacle(result, current_read.predictions, earlier_read.predictions)
        obstacle = CHANGED_SINCE if is_changed else obstacle
    compared_tables = ComparedTables(source.table, path, basename(path))
    return baseline_of_rows(
        compared_tables, current_read, earlier_read, source.options, gates, obstacle
    )


def _can_be_read(source: ResultSource) -> bool:
    """Return whether the table of a result is still there."""
    return source.table is not None and not is_read_once(source.table)


def _read_again(source: ResultSource, result: Document) -> tuple[ReadResult, bool]:
    """Return a result with how its predictions are read, and whether these have changed."""
    read_now = read_table(PUBLIC_FUNCTIONS[source.function], source.table, source.options)
    return replace(read_now, document=result), read_now.document.signature != result.signature


def _has_no_ids(result_read: ReadResult) -> bool:
    return result_read.predictions is None or result_read.predictions.columns.id is None
