"""The CSV view: one table, every estimate as value, low, high and reason, at full precision."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from clfeval.pages import page_of
from clfeval.result import Cell, Estimate, Result
from clfeval.schema import header, is_wide

ENDS = ("", "_low", "_high", "_reason")  # of an estimate's columns


class _Echo:
    def write(self, text: str) -> str:
        return text


def csv_lines(result: Result, table: str) -> Iterator[str]:
    """Yield the lines of one table of the result; one without rows has its columns all the same."""
    rows = result.tables[table]
    if len(rows):
        wide = {name: isinstance(cell, Estimate) for name, cell in rows[0].items()}
    else:
        declared = header(page_of(result.command).table(table), result)
        wide = {column.name: is_wide(column) for column in declared}
    if not wide:
        return
    write = csv.writer(_Echo(), lineterminator="\n").writerow
    yield write(name + end for name in wide for end in (ENDS if wide[name] else ENDS[:1]))
    for row in rows:
        yield write(part for name in wide for part in _parts(row[name], wide[name]))


def _parts(cell: Cell, wide: bool) -> list[object]:
    if isinstance(cell, Estimate):
        return [cell.value, cell.low, cell.high, cell.reason]
    if isinstance(cell, bool):
        cell = str(cell).lower()
    elif isinstance(cell, list):
        cell = " + ".join(cell)
    return [cell, None, None, None] if wide else [cell]
