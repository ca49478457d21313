"""Sources: the files a TABLE argument names, unpacked, their format, and files of other formats."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from errno import EINVAL
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import IO, Any, get_args

from clfeval.errors import (
    NO_SUCH_FILE,
    DataError,
    UsageError,
    format_command_line,
    raise_shortage,
    suggestion,
)
from clfeval.output_files import ReadOnceCopy, temporary_folder
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.input import Format, InputOptions

CHUNK = 1 << 20


def packing_of(first_bytes: bytes) -> str | None:
    """Return the compression by the file's first bytes; None for a plain file."""
    packing_of_start = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
    return next(
        (packing for start, packing in packing_of_start.items() if first_bytes.startswith(start)),
        None,
    )


def unpack(name: str, packed: object, write: Callable[[bytes], object], packing: str) -> None:
    """Decompress what `packed.read` returns, each piece passed to `write`; DataError if damaged."""
    import gzip
    import zlib

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    unpacker: Any = gzip if packing == "gzip" else zstd
    damage_errors = (gzip.BadGzipFile, EOFError, zlib.error, ValueError, zstd.ZstdError)
    try:
        with unpacker.open(packed) as stream:
            while piece := stream.read(CHUNK):
                write(piece)
    except damage_errors as error:
        message = f"the {packing} data is damaged: {error}"
        raise DataError.new(message, "damaged-file", name) from error


BINARY = ("parquet", "arrow")
STDIN = "<stdin>"

_SUFFIXES: dict[str, Format] = {f".{name}": name for name in get_args(Format)}
_SUFFIXES |= {".tab": "tsv", ".pq": "parquet", ".jsonl": "ndjson"}
_SUFFIXES |= {".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow"}
ARROW_STREAM = b"\xff\xff\xff\xff"  # start of Arrow IPC without a footer


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A table file: its name, the path of its plain bytes, and how to read them.

    comments: bytes of the lines above the header that begin with `#`.
    """

    name: str
    path: Path
    format: Format
    delimiter: str = ","
    sha256: str | None = None  # of the original bytes, if they were copied
    comments: bytes = b""

    @property
    def text(self) -> bool:
        """True for formats of delimited text."""
        return self.format in ("csv", "tsv")

    @property
    def display(self) -> str:
        """The file's name in results."""
        return display_name(self.name)


def display_name(name: str) -> str:
    """Return a name without its folders, for results; `<pipe>` for a pipe."""
    if name in ("-", STDIN):
        return STDIN
    if name.startswith(("/dev/fd/", "/proc/self/fd/")):
        return "<pipe>"
    return Path(name).name.encode(errors="replace").decode()


_STREAMS: ContextVar[tuple[ExitStack, dict[str, SourceFile]] | None] = ContextVar(
    "streams", default=None
)


@contextmanager
def reading_pipes_once() -> Iterator[None]:
    """Read every pipe once within the block, keeping its copy for later reads."""
    with ExitStack() as stack:
        token = _STREAMS.set((stack, {}))
        try:
            yield
        finally:
            _STREAMS.reset(token)


@contextmanager
def open_sources(names: Sequence[str], input_options: InputOptions) -> Iterator[list[SourceFile]]:
    """Open every named table; unpacked and piped copies exist until the block ends.

    A name that is not a file but has a wildcard is expanded; `-` is standard input, once.
    """
    delimiter = input_options.delimiter and {"\\t": "\t", "tab": "\t"}.get(
        input_options.delimiter, input_options.delimiter
    )
    is_one_character = delimiter is None or (len(delimiter) == 1 and delimiter.isascii())
    if not is_one_character or delimiter in ('"', "\r", "\n"):
        message = f"delimiter '{input_options.delimiter}' is not one ASCII character"
        hint = f"for example {OPTION}--delimiter ';'{END} or {OPTION}--delimiter '\\t'{END}"
        raise UsageError.new(message, "bad-delimiter", hint=hint)
    pipe_streams = _STREAMS.get()
    with ExitStack() as stack:
        sources = []
        for name in _expand_patterns(names):
            # the copy of a pipe that was read before
            source = pipe_streams and pipe_streams[1].get(name)
            if source:
                source = replace(source, format=input_options.input_format or source.format)
            else:
                open_source = _from_pipe if name == "-" else _from_path
                source = open_source(stack, name, input_options.input_format)
            tab_or_comma = "\t" if source.format == "tsv" else ","
            sources.append(replace(source, delimiter=delimiter or tab_or_comma))
        yield sources


def _expand_patterns(names: Sequence[str]) -> list[str]:
    """Return names with patterns expanded; UsageError for a file that is named twice."""
    paths: list[str] = []
    for name in names:
        matches = [name]
        if name != "-" and not os.path.exists(name) and glob.has_magic(name):
            if "**" in name and os.path.dirname(name[: name.index("*")]) == os.sep:
                message = "the pattern searches the whole file system"
                hint = "begin the pattern with a folder"
                raise UsageError.new(message, "whole-disk", name, hint=hint)
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise DataError.new("no file matches this pattern", "no-such-file", name)
        paths += matches
    real_paths: set[str] = set()
    for name in paths:
        _refuse_impossible_name(name)
        real_path = name if name == "-" else os.path.realpath(name)
        if real_path in real_paths:
            message = "the file is named twice, so every row would count twice"
            raise UsageError.new(message, "repeated-file", name)
        real_paths.add(real_path)
    return paths


def _refuse_impossible_name(name: str) -> None:
    """Raise DataError for a name that no file has."""
    try:
        is_possible = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise DataError.new("no such file", "no-such-file", ascii(name))


def _from_path(stack: ExitStack, name: str, input_format: Format | None) -> SourceFile:
    """Return the source of a path: of a copy until `stack` ends if it is packed or not plain."""
    path = Path.cwd() / name if name.startswith("~") else Path(name)  # polars would read the home
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst", ".zstd"):
        suffixes.pop()
    suffix_format = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    try:
        if os.path.isdir(path):
            hint = f"name its files, for example '{name.rstrip('/')}/*.csv'"
            raise DataError.new("is a directory, not a table", "is-directory", name, hint=hint)
        with path.open("rb") as stream:
            first_bytes = stream.read(FIRST_BYTES)
            if not first_bytes:
                raise DataError.new("the file is empty (0 bytes)", "empty-table", name)
            mode = os.fstat(stream.fileno()).st_mode
            if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not stream.isatty():
                message = "is a device, not a file"
                raise DataError.new(message, "not-readable", name, hint="pipe the table from it")
            # polars opens only files with UTF-8 names
            is_plain = path.is_file() and name.encode(errors="ignore").decode() == name
            if not is_plain or packing_of(first_bytes):
                return _copy_stream(stack, name, stream, first_bytes, input_format or suffix_format)
    except OSError as error:
        raise _opening_error(name, path, error) from error
    refuse_foreign_file(name, path, first_bytes)
    content_format = _by_magic(first_bytes)
    if input_format is None and suffix_format not in (None, *BINARY) and content_format in BINARY:
        message = f"its name says {suffix_format}, but it is {content_format}"
        hint = f"rename it to end with .{content_format}"
        raise DataError.new(message, "wrong-format", name, hint=hint)
    return SourceFile(name, path, input_format or suffix_format or content_format)


def _opening_error(name: str, path: Path, error: OSError) -> DataError:
    """Build the error of a file that cannot be opened or read."""
    if error.errno in NO_SUCH_FILE:
        folder = path.parent if os.path.isdir(path.parent) else Path()
        similar_name = suggestion(path.name, sorted(os.listdir(folder)), cutoff=0.75)
        return DataError.new("no such file", "no-such-file", name, hint=similar_name)
    if isinstance(error, PermissionError):
        hint = "make it readable: chmod u+r FILE"
        return DataError.new("permission denied", "not-readable", name, hint=hint)
    raise_shortage(error)
    return DataError.new(f"cannot be read: {error.strerror}", "not-readable", name)


def _from_pipe(stack: ExitStack, _: str, input_format: Format | None) -> SourceFile:
    """Return the source of standard input: a copy, which exists until `stack` ends."""
    if sys.stdin is None or sys.stdin.closed:
        raise DataError.new("standard input is closed", "not-readable", STDIN)
    if sys.stdin.isatty():
        message = "standard input is a terminal, not a table"
        hint = "pipe a table in, or name a file: clfeval mars preds.csv"
        raise UsageError.new(message, "no-input", STDIN, hint=hint)
    try:
        stream = sys.stdin.buffer
        return _copy_stream(stack, STDIN, stream, stream.read(FIRST_BYTES), input_format)
    except OSError as error:
        raise DataError.new(f"cannot be read: {error.strerror}", "not-readable", STDIN) from error


LONGEST_LINE = 64 << 20  # bytes of a line of a table that is read from a copy
LONGEST_LIST = 1 << 30  # bytes of a list of records, which may be one line
LARGEST_RATIO = 2000  # of unpacked to packed bytes, beyond the size of one line


class _SizeLimit:
    """Refuses content of a size that no table has, but a file made to exhaust the memory."""

    def __init__(self, name: str) -> None:
        """Begin before the first bytes of the content; name: that of the file in errors."""
        self._name = name
        self._longest_line: float = 0  # 0 before the first bytes
        self._line_bytes = 0  # since the last line end
        self._unpacked_bytes = 0

    def check(self, piece: bytes, packed_bytes: int | None) -> None:
        """Count the next bytes; DataError for too many.

        packed_bytes: how many packed bytes were read; None for content that is not packed.
        """
        if not self._longest_line:
            content_format = _by_magic(piece[:FIRST_BYTES])
            self._longest_line = {"json": LONGEST_LIST, "csv": LONGEST_LINE}.get(
                content_format, inf
            )
            self._longest_line = LONGEST_LINE if content_format == "ndjson" else self._longest_line
        self._unpacked_bytes += len(piece)
        line_end = piece.rfind(b"\n")
        self._line_bytes = (
            self._line_bytes + len(piece) if line_end < 0 else len(piece) - line_end - 1
        )
        if self._line_bytes > self._longest_line:
            message = f"a line has more than {int(self._longest_line) >> 20:,} MiB"
            raise self._error(message)
        if packed_bytes and self._unpacked_bytes > max(LONGEST_LINE, LARGEST_RATIO * packed_bytes):
            message = f"the content is more than {LARGEST_RATIO:,} times as large as the file"
            raise self._error(message)

    def _error(self, message: str) -> DataError:
        hint = "is this a table? if so, unpack it, and write it as Parquet"
        return DataError.new(message, "too-large", self._name, hint=hint)


class _HashedStream:
    """A stream whose bytes are hashed and counted as they are read."""

    def __init__(self, stream: IO[bytes], first_bytes: bytes) -> None:
        """Continue after a start that was already read."""
        self._stream = stream
        self._ahead = first_bytes
        self.digest = sha256()
        self.size = 0

    def read(self, size: int = CHUNK) -> bytes:
        """Return the next bytes, none at the end."""
        piece, self._ahead = self._ahead[:size], self._ahead[size:]
        piece = piece or self._stream.read(size)
        self.digest.update(piece)
        self.size += len(piece)
        return piece


def _copy_stream(
    stack: ExitStack, name: str, stream: IO[bytes], packed_start: bytes, input_format: Format | None
) -> SourceFile:
    """Copy a pipe or compressed file to an anonymous plain file, hashing the original bytes."""
    pipe_streams = _STREAMS.get()
    stack = stack if pipe_streams is None else pipe_streams[0]
    hashed_stream = _HashedStream(stream, packed_start)
    if not packed_start:
        raise DataError.new("the input is empty (0 bytes)", "empty-table", name)
    packing = packing_of(packed_start)
    with _room_for(name):
        copy = ReadOnceCopy()
    stack.callback(copy.close)
    size_limit = _SizeLimit(name)

    def put(piece: bytes) -> None:
        size_limit.check(piece, hashed_stream.size if packing else None)
        with _room_for(name):
            copy.write(piece)

    if packing:
        unpack(name, hashed_stream, put, packing)
    else:
        while piece := hashed_stream.read():
            put(piece)
    with _room_for(name):
        path = copy.path()
    with path.open("rb") as plain_stream:
        first_bytes = plain_stream.read(FIRST_BYTES)
    if not first_bytes:
        raise DataError.new("the compressed file is empty", "empty-table", name)
    refuse_foreign_file(name, path, first_bytes)
    source = SourceFile(
        name, path, input_format or _by_magic(first_bytes), sha256=hashed_stream.digest.hexdigest()
    )
    if pipe_streams is not None:
        pipe_streams[1]["-" if name == STDIN else name] = source
    return source


@contextmanager
def _room_for(name: str) -> Iterator[None]:
    """Convert OSError of a copy into UsageError: no space for the copy."""
    try:
        yield
    except OSError as error:
        message = f"no space for a temporary copy in '{temporary_folder()}': {error.strerror}"
        hint = "use a folder with free space: TMPDIR=FOLDER clfeval ..."
        raise UsageError.new(message, "output", name, hint=hint) from error


def _by_magic(first_bytes: bytes) -> Format:
    """Return the format of content by its first bytes."""
    if first_bytes.startswith(b"PAR1"):
        return "parquet"
    if first_bytes.startswith((b"ARROW1", ARROW_STREAM)):
        return "arrow"
    stripped_bytes = first_bytes.lstrip()
    # a header may begin with a bracket too, a list of records continues with a brace
    if stripped_bytes[:1] == b"[" and stripped_bytes[1:].lstrip()[:1] in (b"", b"{", b"]"):
        return "json"
    return "ndjson" if stripped_bytes[:1] == b"{" else "csv"


FRAME = "<frame>"  # name of a table that is not a file
FIRST_BYTES = 8  # bytes that are examined
_SAVE = "save the sheet as CSV"
_PICKLE = "write its content with .to_csv() or .to_parquet()"
_MARKS: Sequence[tuple[bytes, str, str]] = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)", _SAVE),
    (b"%PDF", "a PDF", "copy its table into a CSV file"),
    (b"\x93NUMPY", "a numpy array", "name columns: pandas.DataFrame(array, columns=...).to_csv()"),
    (b"\x89HDF", "an HDF5 file", "write the table with pandas.read_hdf(...).to_parquet()"),
    (b"SQLite f", "an SQLite database", "export the table: sqlite3 -csv -header FILE 'select ...'"),
    (b"ORC", "an ORC file", "write it as Parquet: polars.from_arrow(...).write_parquet()"),
    (b"Obj\x01", "an Avro file", "write it as Parquet: polars.read_avro(...).write_parquet()"),
    (b"RDX", "an R workspace", "write the table with write.csv(..., row.names = FALSE)"),
    (b"BZh", "packed with bzip2", "unpack it: bunzip2 -k FILE"),
    (b"\xfd7zXZ", "packed with xz", "unpack it: unxz -k FILE"),
    (b"7z\xbc\xaf", "a 7-Zip archive", "unpack it: 7z x FILE"),
    (b"Rar!", "a RAR archive", "unpack it: unrar x FILE"),
    (b"\x89PNG", "a picture", "it contains no table"),
    (b"{\\rtf", "a text document (RTF)", "copy its table into a CSV file"),
    (b"<!DOCTYP", "a web page", "save its table as CSV"),
    (b"<!doctyp", "a web page", "save its table as CSV"),
    (b"<html", "a web page", "save its table as CSV"),
    (b"<?xml", "an XML file", "save its table as CSV"),
    *((bytes([0x80, protocol]), "a Python pickle", _PICKLE) for protocol in range(2, 6)),
)
_ZIPPED = (
    ("xl/", "an Excel workbook", _SAVE),
    ("content.xml", "an OpenDocument file", _SAVE),
    ("word/", "a Word document", "copy its table into a CSV file"),
    ("Index/", "a Numbers or Pages document", "export it as CSV"),
    (".npy", "a numpy archive", "write its arrays as columns of a CSV file"),
)
_DAMAGED = "a damaged zip archive", "pack or save it again"
_HISTORY = r'"schema":\s*"clfeval\.history/'
_HEAD = 1 << 20  # bytes in which a line of a history is found
_RESULT = r'\s*\{\s*"schema"\s*:\s*"clfeval\.result/'
_COUNT_SUMMARY = rf'{_RESULT}[^"]*"\s*,\s*"command"\s*:\s*"count"'
SUMMARY_SUFFIX = r"(\.counts)?(\.json|\.csv)$"
_COUNT_TABLE = r"model,kind,threshold,distinct_scores,counts\b"  # of a summary as CSV
_TOP = r"""^["']?(version|set|defaults|runs|history|x-[\w-]+)["']?[ \t]*:(?=\s|$)"""
_KEYS = "(?m)" + _TOP
_BATCH = rf"(?m)(?:(?:[ \t]*#.*|---.*|[ \t]*)\n)*{_TOP}"


def refuse_foreign_file(name: str, path: Path, first_bytes: bytes) -> None:
    """Raise DataError for workbooks, archives, pickles, pages; UsageError for files of clfeval."""
    try:
        if first_bytes.startswith(b"PK\x03\x04"):
            description, hint = _zip(path)
        else:
            descriptions = (
                (description, hint)
                for file_start, description, hint in _MARKS
                if first_bytes.startswith(file_start)
            )
            description, hint = next(descriptions, ("", ""))
        if not description and not first_bytes.startswith((b"PAR1", b"ARROW1")):
            text = _beginning(path)
            batch_keys = {key[1] for key in re.finditer(_KEYS, text)}
            if re.match(_BATCH, text) and len(batch_keys) > 1:
                raise _own_file_error(name, "a batch of runs", "batch")
            if text.lstrip().startswith(("{", "<<<<")) and re.search(_HISTORY, text):
                raise _own_file_error(name, "a history of clfeval", "history")
    except OSError as error:
        raise DataError.new(f"cannot be read: {error.strerror}", "not-readable", name) from error
    if description:
        raise DataError.new(f"this is {description}, not a table", "wrong-format", name, hint=hint)


def holds_result(path: Path) -> bool:
    """Return whether a file is a saved result of clfeval; False for one that cannot be read."""
    try:
        return bool(re.match(_RESULT, _beginning(path)))
    except OSError:  # whoever reads the table says why
        return False


def refuse_result(name: str, path: Path) -> None:
    """Raise UsageError for a saved result of clfeval, which only mlcps reads as a table."""
    if not holds_result(path):
        return
    refuse_count_summary(name, path)
    raise _own_file_error(name, "a saved result of clfeval", "report")


def refuse_count_summary(name: str, path: Path) -> None:
    """Raise UsageError for a saved result of `count`, which does not hold the counts."""
    beginning = _beginning(path)
    if not (re.search(_COUNT_SUMMARY, beginning) or re.match(_COUNT_TABLE, beginning)):
        return
    counts_file = f"{re.sub(SUMMARY_SUFFIX, '', name)}.counts.parquet"
    hint = format_command_line(["clfeval", "count", "TABLE", "--save", counts_file])
    message = "this is a summary of clfeval count, which holds no counts"
    raise UsageError.new(message, "wrong-format", name, hint=hint)


def _beginning(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(_HEAD).decode("utf-8-sig", errors="replace")


def _own_file_error(name: str, description: str, command_name: str) -> UsageError:
    """Build the error of a file of clfeval, with the command that reads it."""
    file = "FILE" if name.startswith("<") else name
    hint = format_command_line(["clfeval", command_name, file])
    return UsageError.new(f"this is {description}, not a table", "wrong-format", name, hint=hint)


def _zip(path: Path) -> tuple[str, str]:
    """Return what a zip archive is, and a hint, from the names in it."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
    except OSError as error:
        if error.errno != EINVAL:  # EINVAL: the archive has offsets before its start
            raise
        return _DAMAGED
    except (BadZipFile, NotImplementedError, ValueError):
        return _DAMAGED
    for name_part, description, hint in _ZIPPED:
        if any(name.startswith(name_part) or name.endswith(name_part) for name in names):
            return description, hint
    if len(names) != 1:
        return f"a zip archive of {len(names)} files", "unpack it: unzip FILE"
    packed_note = ""
    if names[0].endswith((".gz", ".zst")):
        packed_note = "; the file in it can be read directly"
    return f"a zip archive of '{names[0]}'", f"unpack it: unzip FILE{packed_note}"
