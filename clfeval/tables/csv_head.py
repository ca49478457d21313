"""The first mebibyte of a delimited file: its header, a sample of rows, and early refusals."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from clfeval.errors import DataError, Problem, listing
from clfeval.tables.source import Source

HEAD_BYTES = 1 << 20
SAMPLE_ROWS = 5000


@dataclass(frozen=True, slots=True)
class CsvHead:
    """Header and sample of a delimited file; an empty cell is None, all else is text."""

    columns: tuple[str, ...]
    sample: tuple[tuple[str | None, ...], ...]
    header_bytes: int  # of the names alone, without delimiters and line end
    header_row: int = 1  # more when blank lines stand above it


def read_csv_head(source: Source) -> CsvHead:
    """Read and check the header; raises DataError for what no parser could read rightly."""
    with source.path.open("rb") as stream:
        raw = stream.read(HEAD_BYTES)
    whole = len(raw) < HEAD_BYTES
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(
            Problem("the file is UTF-16, not UTF-8", "not-utf8", source.name, 1),
            hint="convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW",
        )
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if b"\r" in raw and b"\n" not in raw:
        raise DataError(
            Problem("lines end with a bare carriage return (CR)", "cr-only", source.name, 1),
            hint=r"convert it: tr '\r' '\n' < FILE > NEW",
        )
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(raw, final=whole)
    records = _records(source, text, whole)
    header_row, header = next(records, (1, []))
    columns = tuple(header)
    if not any(columns):
        raise DataError(Problem("no header line", "empty-table", source.name, 1))
    _check_names(source, columns)
    sample = tuple(
        tuple(cell or None for cell in row) for _, row in records if len(row) == len(columns)
    )
    return CsvHead(columns, sample, sum(len(name.encode()) for name in columns), header_row)


def _records(source: Source, text: str, whole: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of the head that are surely complete, with their rows; no blank lines."""
    if not whole:
        text = text[: text.rfind("\n") + 1]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=source.delimiter)
    try:
        for row, record in enumerate(reader, start=1):
            if row > SAMPLE_ROWS:
                return
            if record:
                yield row, record
    except csv.Error as error:
        raise DataError(
            Problem(f"not a delimited table: {error}", "bad-csv", source.name, reader.line_num)
        ) from error


def _check_names(source: Source, columns: tuple[str, ...]) -> None:
    problems = []
    seen: dict[str, int] = {}
    for position, name in enumerate(columns, start=1):
        first = seen.setdefault(name, position)
        if first < position:
            shown = f"'{name}'" if name else "(no name)"
            what = f"column {position} has the name {shown} of column {first}"
            problems.append(Problem(what, "duplicate-column", source.name, 1))
        elif "\ufffd" in name:
            what = f"the name of column {position} is not UTF-8"
            problems.append(Problem(what, "not-utf8", source.name, 1))
        elif "\0" in name:
            what = f"the name of column {position} holds a NUL byte"
            problems.append(Problem(what, "nul-byte", source.name, 1))
    if problems:
        codes = {problem.code for problem in problems}
        hint = "give every column a plain name of its own"
        if "duplicate-column" not in codes:
            hint = ENCODING_HINT if "not-utf8" in codes else NUL_HINT
        raise DataError(problems, hint=hint)


ENCODING_HINT = "often it is Latin-1: iconv -f LATIN1 -t UTF-8 FILE > NEW"
NUL_HINT = r"remove them: tr -d '\0' < FILE > NEW"


def one_column_hint(columns: tuple[str, ...], delimiter: str) -> str | None:
    """Say which delimiter the file seems to have when it was read as a single column."""
    if len(columns) > 1:
        return None
    for other in (";", "\t", "|", ","):
        if other != delimiter and other in columns[0]:
            shown = r"'\t'" if other == "\t" else f"'{other}'"
            return f"only one column was found; is the delimiter another? --delimiter {shown}"
    return f"only one column was found: {listing(columns)}"
