"""The slow, exact look at a delimited file, taken only when the fast pass saw something wrong."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from typing import IO

from clfeval.errors import KEPT, DataError, Problem
from clfeval.tables.csv_head import ENCODING_HINT, NUL_HINT
from clfeval.tables.fingerprint import Fingerprint
from clfeval.tables.source import Source

_HINTS = {
    "not-utf8": ENCODING_HINT,
    "nul-byte": NUL_HINT,
    "short-row": "every row needs as many fields as the header; quote fields that hold a delimiter",
    "long-row": "every row needs as many fields as the header; quote fields that hold a delimiter",
    "cr-only": r"convert line ends: tr -s '\r' '\n' < FILE > NEW",
    "bad-csv": "a quoted field ends with a single quote mark; one inside it is doubled",
}


def looks_ragged(fingerprint: Fingerprint, columns: int) -> bool:
    """Tell from byte counts alone whether some line has too few or too many delimiters.

    Exact for files without quote marks: every line must hold columns - 1 delimiters.
    """
    return not fingerprint.quotes and fingerprint.delimiters != fingerprint.lines * (columns - 1)


def inspect_structure(source: Source, columns: tuple[str, ...]) -> None:
    """Read the whole file record by record and raise what is wrong with its shape.

    The header is row 1; blank lines count as rows and are nothing wrong.
    """
    problems = _bare_returns(source)
    totals = Counter(problem.code for problem in problems)
    for row, record in () if problems else _records(source):
        for problem in _record_problems(source.name, row, record, columns) if record else ():
            totals[problem.code] += 1
            if len(problems) < KEPT:
                problems.append(problem)
    if problems:
        hint = next((_HINTS[p.code] for p in problems if p.code in _HINTS), None)
        raise DataError(problems, hint=hint, totals=totals)


def _bare_returns(source: Source) -> list[Problem]:
    """Find lines with a carriage return amid them, where no quote mark may make it a character."""
    found: list[Problem] = []
    with source.path.open("rb") as stream:
        for row, line in enumerate(stream, start=1):
            if b'"' in line:
                return []
            if b"\r" in line.rstrip(b"\r\n") and len(found) < KEPT:
                what = "a bare carriage return (CR) amid the line, a line end to some programs"
                found.append(Problem(what, "cr-only", source.name, row))
    return found


def read_records(source: Source) -> list[list[str]]:
    """Read all records at once, blank lines as empty ones; DataError for what is no CSV."""
    try:
        with _text(source) as stream:
            return list(csv.reader(stream, delimiter=source.delimiter, strict=True))
    except csv.Error:
        return [record for _, record in _records(source)]  # knows the row of the error


def _records(source: Source) -> Iterator[tuple[int, list[str]]]:
    with _text(source) as stream:
        reader = csv.reader(stream, delimiter=source.delimiter, strict=True)
        row = 0
        try:
            for row, record in enumerate(reader, start=1):
                yield row, record
        except csv.Error as error:
            problem = Problem(f"not a delimited table: {error}", "bad-csv", source.name, row + 1)
            raise DataError(problem, hint=_HINTS["bad-csv"]) from error


def _text(source: Source) -> IO[str]:
    return source.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _record_problems(
    file: str, row: int, record: list[str], columns: tuple[str, ...]
) -> Iterator[Problem]:
    if len(record) < len(columns):
        what = f"{len(record)} fields where the header has {len(columns)}"
        yield Problem(what, "short-row", file, row, columns[len(record)])
    elif len(record) > len(columns):
        what = f"{len(record)} fields where the header has {len(columns)}"
        yield Problem(what, "long-row", file, row)
    for column, cell in zip(columns, record, strict=False):
        if "\0" in cell:
            yield Problem("holds a NUL byte", "nul-byte", file, row, column)
        if not cell.isascii() and any("\udc80" <= character <= "\udcff" for character in cell):
            shown = cell.encode(errors="surrogateescape").decode("latin-1")
            what = f"not UTF-8 (as Latin-1 it reads '{shown}')"
            yield Problem(what, "not-utf8", file, row, column)
