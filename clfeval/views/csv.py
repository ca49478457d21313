"""The CSV view: one table, every estimate as value, low, high and reason, at full precision."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping

from clfeval.result import Cell, Estimate, Result, Row, Table

CHOSEN_FROM = {"selected": "features"}
# columns of tables that may have no rows; True for those that hold estimates
_HERE = {"prevalence": False, "odds": False, "ratio": False}
ALWAYS: Mapping[str, Mapping[str, bool]] = {
    "crossovers": {
        "slice": False, "measure": False, "first": False, "second": False, "crossing": True,
        "odds": False, "leads_below": False, "leads_above": False, "verdict": False,
    },
    "winners": {
        "slice": False, "measure": False, "population": False, **_HERE, "leader": False,
        "value": True, "winner": False, "undecided": False,
    },
    "thresholds": {
        "slice": False, "model": False, "measure": False, "population": False, **_HERE,
        "threshold": False, "rule": False, "sensitivity": False, "specificity": False,
        "value": True, "fixed_threshold": False, "fixed_value": True, "loss": True,
        "honest": True, "honest_gain": True,
    },
    "metrics": {
        "metric": False, "direction": False, "low": False, "high": False, "weight": False,
        "least": False, "average": False, "most": False, "winner_without": False,
        "moved_without": False, "winner_doubled": False, "moved_doubled": False,
    },
    "profile": {"model": False, "metric": False, "value": True, "d": False},
    "cutoffs": {"model": False, "measure": False, "odds": False, "threshold": False, "rule": False},
    "redundant": {"first": False, "second": False, "why": False, "r": False, "note": False},
    "dominance": {"model": False, "dominated_by": False},
}  # fmt: skip


class _Line:
    """A file of one line, for the csv writer."""

    def __init__(self) -> None:
        """Start empty."""
        self.text = ""

    def write(self, text: str) -> int:
        """Keep the line."""
        self.text = text
        return len(text)


def csv_lines(result: Result, table: str) -> Iterator[str]:
    """Yield the lines of one table of the result."""
    rows = result.tables[table]
    # a selection of nothing still has the columns of what it was chosen from
    columns = _columns(rows or result.tables.get(CHOSEN_FROM.get(table, ""), ()))
    columns = columns or ALWAYS.get(table, {})
    if not columns:
        return  # a table without rows has no columns to name
    line = _Line()
    writer = csv.writer(line, lineterminator="\n")
    writer.writerow(name for column, wide in columns.items() for name in _names(column, wide))
    yield line.text
    for row in rows:
        writer.writerow(
            cell for column, wide in columns.items() for cell in _cells(row, column, wide)
        )
        yield line.text


def _columns(rows: Table) -> Mapping[str, bool]:
    """Return the columns in order; True for those that hold estimates."""
    return {column: isinstance(cell, Estimate) for row in rows[:1] for column, cell in row.items()}


def _names(column: str, wide: bool) -> list[str]:
    return [column, f"{column}_low", f"{column}_high", f"{column}_reason"] if wide else [column]


def _cells(row: Row, column: str, wide: bool) -> list[object]:
    cell = row[column]
    if not wide:
        return [_plain(cell)]
    if not isinstance(cell, Estimate):
        return [_plain(cell), None, None, None]
    return [cell.value, cell.low, cell.high, cell.reason]


def _plain(cell: Cell) -> object:
    if isinstance(cell, bool):
        return str(cell).lower()
    return " + ".join(cell) if isinstance(cell, list) else cell
