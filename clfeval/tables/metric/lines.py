"""Why a delimited text does not read as a table: another delimiter, or words above the names."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from clfeval.errors import DataError, listing
from clfeval.shell import given
from clfeval.tables.source import SourceFile

LOOKED_AT = 50  # lines


def with_delimiter(error: DataError, other: str, columns: Sequence[str]) -> DataError:
    """Return an error with the delimiter that the text seems to have."""
    shown = r"\t" if other == "\t" else other
    found = "only one column was found; " if len(columns) == 1 else ""
    hint = f"{found}is the delimiter another? {given('--delimiter', shown)}"
    return DataError(error.problems, hint=hint, totals=error.totals, fixes={"delimiter": shown})


def titled(source: SourceFile, data: bytes) -> DataError | None:
    """Return the error of a text with a title or comments above its names; None without them."""
    lines = data.decode("utf-8-sig", errors="replace").splitlines()[:LOOKED_AT]
    for delimiter in dict.fromkeys((source.delimiter, ",", ";", "\t", "|")):
        records = list(_records(lines, delimiter))
        heads = [n for n, (_, cells) in enumerate(records) if _is_header(cells)]
        if not heads or heads[0] == 0 or len(records) < heads[0] + 2:
            continue
        row, names = records[heads[0]]
        if {len(cells) for _, cells in records[heads[0] :]} == {len(names)}:
            first = records[0]
            what = f"{listing([next(filter(None, first[1]))])} is a title or a comment, no header"
            hint = f"the names stand in row {row}: tail -n +{row} FILE > NEW"
            return DataError.of(what, "no-header", source.name, first[0], hint=hint)
    return None


def _records(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error:
        return


def _is_header(cells: Sequence[str]) -> bool:
    """Tell whether several names stand in a line that is no comment."""
    return sum(map(bool, map(str.strip, cells))) > 1 and not cells[0].lstrip().startswith("#")
