"""Files for programs: CSV with every estimate as four columns, and metrics as JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from clfeval.compare.baseline.read import rows_by_label
from clfeval.document import Cell, Document, Estimate, cell_value, dumps
from clfeval.pages import page_of
from clfeval.schema import certain_columns, holds_estimates

COLUMN_SUFFIXES = ("", "_low", "_high", "_reason")  # of an estimate's columns
TEXTS = ("text", "slice", "odds", "measure")  # kinds of columns
_PLAIN = (float, str, int)


class _Echo:
    def write(self, text: str) -> str:
        return text


def csv_lines(result: Document, table: str) -> Iterator[str]:
    """Yield the CSV lines of one table of the result; without rows its header alone."""
    rows, wide = result.tables[table], _estimate_columns(result, table)
    if not wide:
        return
    write = csv.writer(_Echo(), lineterminator="\n").writerow
    columns = list(wide.items())
    yield write(name + end for name, estimated in columns for end in _suffixes(estimated))
    for row in rows:
        cells: list[Any] = []
        for name, estimated in columns:
            cell = row[name]
            if type(cell) in _PLAIN and not estimated:  # most cells of long tables
                cells.append(cell)
            elif isinstance(cell, bool):
                cells += _cell_parts(str(cell).lower(), estimated)
            else:
                cells += _cell_parts(cell, estimated)
        yield write(cells)


def table_columns(result: Document, table: str) -> dict[str, list[Any]]:
    """Return the columns of the CSV of a table, with true and false unchanged."""
    rows = result.tables[table]
    found: dict[str, list[Any]] = {}
    for name, wide in _estimate_columns(result, table).items():
        cells = zip(*(_cell_parts(row[name], wide) for row in rows), strict=True)
        ends = _suffixes(wide)
        columns = list(map(list, cells)) if len(rows) else [[] for _ in ends]
        found |= {name + end: column for end, column in zip(ends, columns, strict=True)}
    return found


def text_columns(result: Document, table: str) -> set[str]:
    """Return the columns that hold text, also where every cell is empty."""
    columns = page_of(result.command).table(table).columns
    texts = {column.name for column in columns if column.kind.rstrip("?*+") in TEXTS}
    return texts | {
        f"{column.name}{COLUMN_SUFFIXES[3]}" for column in columns if holds_estimates(column)
    }


def _estimate_columns(result: Document, table: str) -> dict[str, bool]:
    """Return the columns of a table, and whether each holds estimates."""
    rows, declared = result.tables[table], page_of(result.command).table(table)
    columns = declared.columns if len(rows) else certain_columns(declared, result)
    known = {column.name: holds_estimates(column) for column in columns}
    if not len(rows):
        return known
    return {
        name: known.get(name, False) if cell is None else isinstance(cell, Estimate)
        for name, cell in rows[0].items()
    }


def _suffixes(wide: bool) -> Sequence[str]:
    return COLUMN_SUFFIXES if wide else COLUMN_SUFFIXES[:1]


def _cell_parts(cell: Cell, wide: bool) -> list[Any]:
    if isinstance(cell, Estimate):
        return [cell.value, cell.low, cell.high, cell.reason]
    if isinstance(cell, list):
        cell = " + ".join(cell)
    return [cell, None, None, None] if wide else [cell]


def as_metrics(result: Document) -> str:
    """Return `{model: {measure: value}}` as JSON, of the measures that gates can name.

    Values are unrounded; undefined and infinite ones are left out, as `dvc metrics` requires.
    """
    models = {
        label: {name: value for name, cell in row.items()
                if not isinstance(cell, bool) and (value := cell_value(cell)) is not None}
        for label, row in rows_by_label(result).items()
    }  # fmt: skip
    lines = [f"{dumps(label)}: {dumps(measures)}" for label, measures in models.items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}\n" if lines else "{}\n"
