"""CSV as bytes: header and sample, structure of every line, hash, and byte counts."""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, TypeAlias

from clfeval.errors import MAX_PROBLEMS, DataError, Problem
from clfeval.records import dataclass, replace
from clfeval.tables.encodings import LATIN_1, Encoding, guess_encoding, wide_encoding
from clfeval.tables.source import SourceFile

if TYPE_CHECKING:
    from concurrent.futures import Future

HEAD_BYTES = 1 << 20
SAMPLE_ROWS = 5000


@dataclass(frozen=True, slots=True)
class CsvHead:
    """Header and sample rows of a delimited file, as text; an empty cell is None.

    is_whole: the sample has all rows. ragged: some row has another number of fields than the
    header.
    """

    columns: tuple[str, ...]
    sample: tuple[tuple[str | None, ...], ...]
    header_bytes: int  # of the names alone, without delimiters and line end
    header_row: int = 1  # more if blank lines or comments precede it
    is_whole: bool = False
    ragged: bool = False


_SEPARATOR = re.compile(rb'"?sep=([\t!-~])\1*"?[\s;,]*', re.IGNORECASE)


def skip_comments(source: SourceFile) -> SourceFile:
    """Return the source with its leading comment lines (`#`) and blank lines, which are skipped.

    `#id,truth` above as many fields is a header, `# id, truth` is not. `sep=;`, which gives Excel
    the delimiter, sets it here too, unless an option does.
    """
    with source.path.open("rb") as stream:
        lines = [stream.readline(HEAD_BYTES)]
        line = lines[0].removeprefix(codecs.BOM_UTF8)
        separator_match = _SEPARATOR.fullmatch(line)
        if separator_match:
            is_default = source.delimiter in ",\t"
            delimiter = separator_match[1].decode() if is_default else source.delimiter
            return replace(source, comments=lines[0], delimiter=delimiter)
        while line.startswith(b"#") or (line and not line.strip() and len(lines) > 1):
            line = stream.readline(HEAD_BYTES)
            lines.append(line)
    *comments, header = lines
    delimiter_byte = source.delimiter.encode()
    header_delimiters = header.count(delimiter_byte)
    for comment in (line.removeprefix(codecs.BOM_UTF8) for line in comments if line.strip()):
        if comment.count(delimiter_byte) == header_delimiters and not comment.startswith(b"# "):
            return source
    return replace(source, comments=b"".join(comments))


def read_csv_head(source: SourceFile) -> CsvHead:
    """Read and check the header; DataError for what no parser could read correctly."""
    with source.path.open("rb") as stream:
        stream.seek(len(source.comments))
        head_bytes = stream.read(HEAD_BYTES)
    is_whole_file = len(head_bytes) < HEAD_BYTES
    refuse_utf16(source, source.comments + head_bytes)
    head_bytes = head_bytes.removeprefix(codecs.BOM_UTF8)
    if b"\r" in head_bytes and b"\n" not in head_bytes:
        message = "lines end with a bare carriage return (CR)"
        hint = r"convert it: tr '\r' '\n' < FILE > NEW"
        raise DataError.new(message, "cr-only", source.name, 1, hint=hint)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head_bytes, final=is_whole_file)
    records = _records(source, text, is_whole_file)
    header_row, header = next(records, (1, []))
    columns = tuple(header)
    if not any(columns):
        raise DataError.new("no header line", "empty-table", source.name, 1)
    _check_names(source, columns)
    numbered_records = list(records)
    sample = tuple(
        tuple(cell or None for cell in row)
        for _, row in numbered_records
        if len(row) == len(columns)
    )
    header_bytes = sum(len(name.encode()) for name in columns)
    comment_lines = source.comments.count(b"\n")
    is_whole = is_whole_file and (not numbered_records or numbered_records[-1][0] < SAMPLE_ROWS)
    return CsvHead(
        columns,
        sample,
        header_bytes,
        header_row=comment_lines + header_row,
        is_whole=is_whole,
        ragged=len(sample) < len(numbered_records),
    )


def refuse_utf16(source: SourceFile, first_bytes: bytes) -> None:
    """Raise for a text in UTF-16 or UTF-32, with a byte-order mark or without."""
    if (encoding := wide_encoding(first_bytes)) is not None:
        hint = f"convert it: {encoding.remedy}"
        message = f"the file is {encoding.title}, not UTF-8"
        raise DataError.new(message, "not-utf8", source.name, 1, hint=hint)


def _records(source: SourceFile, text: str, is_whole: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the complete records of the head with their row numbers, without blank lines.

    is_whole: the text ends with the file; else its last line may be cut.
    """
    if not is_whole:
        text = text[: text.rfind("\n") + 1]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=source.delimiter)
    try:
        for row, record in enumerate(reader, start=1):
            if row > SAMPLE_ROWS:
                return
            if record:
                yield row, record
    except csv.Error as error:
        message = f"not a delimited table: {error}"
        raise DataError.new(message, "bad-csv", source.name, reader.line_num) from error


def _check_names(source: SourceFile, columns: tuple[str, ...]) -> None:
    """Raise DataError for column names that are repeated, hold NUL bytes, or are not UTF-8."""
    problems: list[tuple[str, str]] = []
    first_positions: dict[str, int] = {}
    for position, name in enumerate(columns, start=1):
        first_position = first_positions.setdefault(name, position)
        if first_position < position:
            quoted_name = f"'{name}'" if name else "(no name)"
            message = (
                f"column {position} has the same name as column {first_position}: {quoted_name}"
            )
            problems.append((message, "duplicate-column"))
        elif "\ufffd" in name:
            problems.append((f"the name of column {position} is not UTF-8", "not-utf8"))
        elif "\0" in name:
            problems.append((f"the name of column {position} contains a NUL byte", "nul-byte"))
    if problems:
        codes = {code for _, code in problems}
        hint = next(_HINTS[code] for code in _HINTS if code in codes)  # in the order of `_HINTS`
        if hint == ENCODING_HINT:
            hint = encoding_hint(source)
        raise DataError([Problem(*problem, source.name, 1) for problem in problems], hint=hint)


ENCODING_HINT = f"if it is Latin-1, convert it: {LATIN_1.remedy}"
NAMES_HINT = "give every column a plain, unique name"
TRIED_LINES = 50  # first lines, by which a delimiter or a title is recognised
ENOUGH_BYTES = 1 << 16  # bytes that show an encoding


def likely_encoding(source: SourceFile) -> Encoding:
    """Return the likeliest encoding of a file that is not UTF-8, by its lines with other bytes."""
    other_lines = b""
    with source.path.open("rb") as stream:
        for line in stream:
            if not line.isascii():
                other_lines += line
            if len(other_lines) > ENOUGH_BYTES:
                break
    return guess_encoding(other_lines)


def encoding_hint(source: SourceFile) -> str:
    """Return the hint on the likeliest encoding of a file that is not UTF-8."""
    encoding = likely_encoding(source)
    return f"if it is {encoding.title}, convert it: {encoding.remedy}"


def other_delimiter(source: SourceFile, columns: tuple[str, ...]) -> str | None:
    """Return another delimiter that splits the first lines into equally many fields, if any."""
    with source.path.open("rb") as stream:
        stream.seek(len(source.comments))
        head_bytes = stream.read(HEAD_BYTES)
    text = head_bytes.removeprefix(codecs.BOM_UTF8).decode(errors="replace")
    lines_below = dropwhile(lambda line: line.startswith("#"), text.splitlines())
    lines = [line for line in islice(lines_below, TRIED_LINES + 1) if line][:TRIED_LINES]

    own_count = len(columns) if _fields_of_lines(lines, source.delimiter) else 0
    other_delimiters = [
        delimiter for delimiter in (";", "\t", "|", ",", " ") if delimiter != source.delimiter
    ]
    field_counts = {delimiter: _fields_of_lines(lines, delimiter) for delimiter in other_delimiters}
    best_delimiter = max(field_counts, key=field_counts.__getitem__)
    return best_delimiter if field_counts[best_delimiter] > max(own_count, 1) else None


def _fields_of_lines(lines: Sequence[str], delimiter: str) -> int:
    """Return the number of fields of each line; 0 if lines differ.

    Spaces are delimiters only of names in quotes, as R writes them, without one for row names.
    """
    if delimiter == " " and not re.search('" "', lines[0] if lines else ""):
        return 0
    try:
        field_counts = [len(record) for record in csv.reader(lines, delimiter=delimiter)]
    except csv.Error:
        return 0
    if delimiter == " " and field_counts[1:]:  # the header may lack the column of row names
        field_counts[0] = max(field_counts[0], min(field_counts[0] + 1, field_counts[1]))
    return field_counts[0] if len(set(field_counts)) == 1 else 0


_FIELDS_HINT = "each row needs as many fields as the header; quote fields that contain a delimiter"
_HINTS = {
    "duplicate-column": NAMES_HINT,
    "not-utf8": ENCODING_HINT,
    "nul-byte": r"remove them: tr -d '\0' < FILE > NEW",
    "short-row": _FIELDS_HINT,
    "long-row": _FIELDS_HINT,
    "cr-only": r"convert line ends: tr -s '\r' '\n' < FILE > NEW",
    "bad-csv": "close every quoted field, and double a quote mark inside it",
}


def inspect_structure(source: SourceFile, columns: tuple[str, ...]) -> None:
    """Read the whole file record by record; DataError for ragged rows (the header is row 1)."""
    problems = _bare_returns(source)
    totals = Counter(problem.code for problem in problems)
    encoding = None
    for row, record in () if problems else read_records(source):
        if encoding is None and _has_other_bytes(record):
            encoding = likely_encoding(source)
        for problem in _record_problems(source.name, row, record, columns, encoding):
            totals[problem.code] += 1
            if len(problems) < MAX_PROBLEMS:
                problems.append(problem)
    if not problems:
        return
    code = problems[0].code
    hint = encoding_hint(source) if code == "not-utf8" else _HINTS[code]
    if code == "long-row":
        hint = _hint_on_long_rows(source, columns) or hint
    raise DataError(problems, hint=hint, totals=totals)


def _has_other_bytes(record: Sequence[str]) -> bool:
    """Return whether a record has bytes that are not UTF-8."""
    return any(not cell.isascii() and re.search(_OTHER_BYTE, cell) for cell in record)


_OTHER_BYTE = "[\udc80-\udcff]"  # as the reader escapes it


def _hint_on_long_rows(source: SourceFile, columns: Sequence[str]) -> str | None:
    """Return the hint on rows that each have one field more than the header; None for others.

    The first field is the name of the row, as R writes it, or the last one is empty.
    """
    first_records = islice(read_records(source), 1, TRIED_LINES + 1)
    records = [record for _, record in first_records if record][1:]
    if {len(record) for record in records} != {len(columns) + 1}:
        return None
    delimiter_text = r"\t" if source.delimiter == "\t" else source.delimiter
    if not any(record[-1] for record in records):
        command = f"sed '1s/\\r*$/{delimiter_text}/' FILE > NEW"
        return f"each row ends with a delimiter, but the header does not: {command}"
    row_names = [record[0] for record in records]
    if len(set(row_names)) == len(row_names) > 1:
        command = f"sed '1s/^/row{delimiter_text}/' FILE > NEW"
        return f"if the first fields are row names, as R writes them, name their column: {command}"
    return _FIELDS_HINT


def _bare_returns(source: SourceFile) -> list[Problem]:
    """Return problems for lines with a bare carriage return; none for a file with quotes."""
    problems: list[Problem] = []
    with source.path.open("rb") as stream:
        for row, line in enumerate(stream, start=1):
            if b'"' in line:
                return []
            if b"\r" in line.rstrip(b"\r\n") and len(problems) < MAX_PROBLEMS:
                message = "a bare carriage return (CR) in the line, a line end to some programs"
                problems.append(Problem(message, "cr-only", source.name, row))
    return problems


def read_records(source: SourceFile) -> Iterator[tuple[int, list[str]]]:
    """Yield all records with their rows, blank lines as empty ones; DataError for invalid CSV."""
    with source.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
        reader = csv.reader(stream, delimiter=source.delimiter, strict=True)
        row = comment_lines = source.comments.count(b"\n")
        try:
            for _ in range(comment_lines):
                stream.readline()
            for row, record in enumerate(reader, start=comment_lines + 1):
                yield row, record
        except csv.Error as error:
            problem = Problem(f"not a delimited table: {error}", "bad-csv", source.name, row + 1)
            raise DataError(problem, hint=_HINTS["bad-csv"]) from error


def _record_problems(
    file: str, row: int, record: Sequence[str], columns: tuple[str, ...], encoding: Encoding | None
) -> Iterator[Problem]:
    """Yield the problems of a record; none of a blank line."""
    if not record:
        return
    if len(record) != len(columns):
        field_text = f"{len(record)} field" if len(record) == 1 else f"{len(record)} fields"
        first_absent = next(iter(columns[len(record) :]), None)
        message = f"the row has {field_text}, but the header has {len(columns)}"
        code = "short-row" if len(record) < len(columns) else "long-row"
        yield Problem(message, code, file, row, first_absent)
    for column, cell in zip(columns, record, strict=False):
        if "\0" in cell:
            yield Problem("contains a NUL byte", "nul-byte", file, row, column)
        if encoding is not None and _has_other_bytes([cell]):
            decoded = cell.encode(errors="surrogateescape").decode(encoding.codec, "replace")
            message = f"not UTF-8 (as {encoding.title} it reads '{decoded}')"
            yield Problem(message, "not-utf8", file, row, column)


CHUNK = 1 << 18  # small enough to stay in the processor's cache between the counts


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The hash of a file's bytes and, for delimited text, counts of structural bytes."""

    sha256: str
    size: int = 0
    newlines: int = 0
    returns: int = 0  # carriage returns, each before a newline or not
    delimiters: int = 0
    quotes: int = 0
    ascii: bool = True
    ends_with_newline: bool = True
    damaged: bool = False  # holds NUL bytes, or is not UTF-8

    @property
    def lines(self) -> int:
        """Number of physical lines, with the last one whether or not it ends with a newline."""
        return self.newlines + (not self.ends_with_newline)

    @property
    def field_bytes(self) -> int:
        """Number of bytes that are neither delimiters nor line ends (meaningful without quotes)."""
        return self.size - self.newlines - self.returns - self.delimiters


FingerprintTask: TypeAlias = "Future[Fingerprint]"
_AT_ONCE = threading.BoundedSemaphore(2)  # files read in parallel with the main pass


def start_fingerprint(source: SourceFile) -> FingerprintTask:
    """Compute a fingerprint in a thread of its own: hashing and counting release the GIL."""
    from concurrent.futures import Future

    task: FingerprintTask = Future()

    def run() -> None:
        try:
            with _AT_ONCE:
                task.set_result(compute_fingerprint(source))
        except BaseException as error:  # handed to the thread that waits for the result
            task.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return task


def compute_fingerprint(source: SourceFile) -> Fingerprint:
    """Read a file once to hash it and, for delimited text, to count structural bytes."""
    import numpy as np  # shell completion, which uses this module, does not need it

    digest = sha256()
    size = 0
    byte_counts = dict.fromkeys((ord("\n"), ord("\r"), ord(source.delimiter), ord('"')), 0)
    utf8_check = _Utf8Check()
    has_nul = False
    last_byte = b"\n"
    with source.path.open("rb", buffering=0) as stream:
        if source.comments and source.sha256 is None:
            digest.update(source.comments)
        stream.seek(len(source.comments))
        while chunk := stream.read(CHUNK):
            if source.sha256 is None:
                digest.update(chunk)
            if source.text:
                chunk_bytes = np.frombuffer(chunk, np.uint8)
                for byte_value in byte_counts:
                    byte_counts[byte_value] += int(np.count_nonzero(chunk_bytes == byte_value))
                has_nul = has_nul or b"\0" in chunk
                utf8_check.read(chunk)
            size += len(chunk)
            last_byte = chunk[-1:]
    newlines, returns, delimiters, quotes = byte_counts.values()
    return Fingerprint(
        source.sha256 or digest.hexdigest(),
        size=size,
        newlines=newlines,
        returns=returns,
        delimiters=delimiters,
        quotes=quotes,
        ascii=utf8_check.is_ascii,
        ends_with_newline=last_byte == b"\n",
        damaged=has_nul or utf8_check.is_broken,
    )


class _Utf8Check:
    """Whether the bytes of a file, read in pieces, are ASCII, and whether they are UTF-8."""

    def __init__(self) -> None:
        """Begin before the first piece."""
        self.is_ascii = True
        self._is_invalid = False
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read(self, chunk: bytes) -> None:
        """Look at the next piece."""
        if self._is_invalid or (chunk.isascii() and not self._decoder.getstate()[0]):
            return
        self.is_ascii = False
        try:
            self._decoder.decode(chunk)
        except UnicodeDecodeError:
            self._is_invalid = True

    @property
    def is_broken(self) -> bool:
        """Whether bytes so far are no UTF-8, or end within a character."""
        return self._is_invalid or bool(self._decoder.getstate()[0])
