"""The CSV view: one table, every estimate as value, low, high and reason, at full precision."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from clfeval.pages import page_of
from clfeval.result import Cell, Estimate, Result, Row
from clfeval.schema import header, is_wide


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
    """Yield the lines of one table of the result; one without rows has its columns all the same."""
    rows = result.tables[table]
    if len(rows):
        columns = {name: isinstance(cell, Estimate) for name, cell in rows[0].items()}
    else:
        columns = {
            column.name: is_wide(column)
            for column in header(page_of(result.command).table(table), result)
        }
    if not columns:
        return
    line = _Line()
    writer = csv.writer(line, lineterminator="\n")
    writer.writerow(name for column, wide in columns.items() for name in _names(column, wide))
    yield line.text
    for row in rows:
        writer.writerow(
            cell for column, wide in columns.items() for cell in _cells(row, column, wide)
        )
        yield line.text


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
