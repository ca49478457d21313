"""Sources: the files a TABLE argument names (path, glob or stdin), their format, unpacked."""

from __future__ import annotations

import glob
import io
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, get_args

from clfeval.errors import DataError, Problem, UsageError, list_names, not_a_table_error, suggestion
from clfeval.output_files import ReadOnceCopy
from clfeval.records import dataclass, replace
from clfeval.tables.foreign_files import FIRST, refuse_foreign_file
from clfeval.tables.input import Format, Input
from clfeval.tables.lazy_imports import pl

CHUNK = 1 << 20


def packing_of(magic: bytes) -> str | None:
    """Return the compression by the file's first bytes; None for a plain file."""
    starts = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
    return next((one for start, one in starts.items() if magic.startswith(start)), None)


def unpack(name: str, packed: Any, put: Callable[[bytes], object], packing: str) -> None:
    """Decompress what `packed.read` returns, passing each piece to `put`; DataError if damaged."""
    import gzip
    import zlib

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    unpacker: Any = gzip if packing == "gzip" else zstd
    broken = (gzip.BadGzipFile, EOFError, zlib.error, ValueError, zstd.ZstdError)
    try:
        with unpacker.open(packed) as stream:
            while piece := stream.read(CHUNK):
                put(piece)
    except broken as error:
        what = f"the {packing} data is damaged: {error}"
        raise DataError.new(what, "damaged-file", name) from error


BINARY = ("parquet", "arrow")
STDIN = "<stdin>"

_SUFFIXES: dict[str, Format] = {f".{name}": name for name in get_args(Format)}
_SUFFIXES |= {".tab": "tsv", ".pq": "parquet", ".jsonl": "ndjson"}
_SUFFIXES |= {".feather": "arrow", ".ipc": "arrow"}


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


def split_path(text: str) -> tuple[str | None, str]:
    """Split `NAME=FILE` into name and path; no name if the whole text is an existing path."""
    parts = text.split("=")
    if len(parts) == 1 or not parts[0] or os.path.exists(text) or glob.glob(text):
        return None, text
    for i in range(1, len(parts)):
        name, path = "=".join(parts[:i]), "=".join(parts[i:])
        if path == "-" or os.path.exists(path) or glob.glob(path):
            return name, path
    return parts[0], text.removeprefix(f"{parts[0]}=")


def table_paths(table: Any) -> list[str]:
    """Return the paths of a table given as one path or a list; an empty list for a data frame."""
    if isinstance(table, (str, os.PathLike)):
        table = [table]
    if not isinstance(table, (list, tuple)):
        return []
    if not table:
        raise UsageError.new("no table given", "no-input")
    for path in table:
        if not isinstance(path, (str, os.PathLike)):
            raise not_a_table_error(path)
    return [os.fspath(path) for path in table]


def refuse_named_tables(table: Any) -> None:
    """Raise for named tables without --join."""
    given = [split_path(path)[0] for path in table_paths(table)]
    if isinstance(table, Mapping):
        given = [
            name
            for name, one in table.items()
            if isinstance(one, (str, os.PathLike)) or hasattr(type(one), "columns")
        ]
    if names := [str(name) for name in given if name is not None]:
        what = f"{list_names(names, 3)}: named files are joined by row id"
        raise UsageError.new(what, "bad-option", hint="add --join COLUMN to name the id column")


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
def open_sources(names: Sequence[str], said: Input) -> Iterator[list[SourceFile]]:
    """Open every named table; unpacked and piped copies exist until the block ends.

    A name that is not a file but has a wildcard is expanded; `-` is standard input, once.
    """
    delimiter = said.delimiter and {"\\t": "\t", "tab": "\t"}.get(said.delimiter, said.delimiter)
    plain = delimiter is None or (len(delimiter) == 1 and delimiter.isascii())
    if not plain or delimiter in ('"', "\r", "\n"):
        what = f"delimiter '{said.delimiter}' is not one ASCII character"
        hint = r"for example --delimiter ';' or --delimiter '\t'"
        raise UsageError.new(what, "bad-delimiter", hint=hint)
    streams = _STREAMS.get()
    with ExitStack() as stack:
        sources = []
        for name in _expand_patterns(names):
            source = streams and streams[1].get(name)  # the copy of a pipe that was read before
            if source:
                source = replace(source, format=said.input_format or source.format)
            else:
                opened = _from_pipe if name == "-" else _from_path
                source = opened(stack, name, said.input_format)
            tab_or_comma = "\t" if source.format == "tsv" else ","
            sources.append(replace(source, delimiter=delimiter or tab_or_comma))
        yield sources


def _expand_patterns(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        matches = [name]
        if name != "-" and not os.path.exists(name) and glob.has_magic(name):
            if "**" in name and os.path.dirname(name[: name.index("*")]) == os.sep:
                what = "the pattern searches the whole file system"
                hint = "begin the pattern with a folder"
                raise UsageError.new(what, "whole-disk", name, hint=hint)
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise DataError.new("no file matches this pattern", "no-such-file", name)
        found += matches
    seen: set[str] = set()
    for name in found:
        real = name if name == "-" else os.path.realpath(name)
        if real in seen:
            what = "the file is named twice, so every row would count twice"
            raise UsageError.new(what, "repeated-file", name)
        seen.add(real)
    return found


def _from_path(stack: ExitStack, name: str, input_format: Format | None) -> SourceFile:
    path = Path(name)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst", ".zstd"):
        suffixes.pop()
    by_suffix = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    try:
        if path.is_dir():
            hint = f"name its files, for example '{name.rstrip('/')}/*.csv'"
            raise DataError.new("is a directory, not a table", "is-directory", name, hint=hint)
        with path.open("rb") as stream:
            magic = stream.read(FIRST)
            if not magic:
                raise DataError.new("the file is empty (0 bytes)", "empty-table", name)
            mode = os.fstat(stream.fileno()).st_mode
            if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not stream.isatty():
                what = "is a device, not a file"
                raise DataError.new(what, "not-readable", name, hint="pipe the table from it")
            # polars opens only files with UTF-8 names
            plain = path.is_file() and name.encode(errors="ignore").decode() == name
            if not plain or packing_of(magic):
                return _copy_stream(stack, name, stream, magic, input_format or by_suffix)
    except FileNotFoundError as error:
        folder = path.parent if path.parent.is_dir() else Path()
        close = suggestion(path.name, sorted(os.listdir(folder)), cutoff=0.75)
        raise DataError.new("no such file", "no-such-file", name, hint=close) from error
    except PermissionError as error:
        hint = "make it readable: chmod u+r FILE"
        raise DataError.new("permission denied", "not-readable", name, hint=hint) from error
    except OSError as error:
        raise DataError.new(f"cannot be read: {error.strerror}", "not-readable", name) from error
    refuse_foreign_file(name, path, magic)
    binary = _by_magic(magic)
    if input_format is None and by_suffix not in (None, *BINARY) and binary in BINARY:
        what = f"its name says {by_suffix}, but it is {binary}"
        hint = f"rename it to end with .{binary}"
        raise DataError.new(what, "wrong-format", name, hint=hint)
    return SourceFile(name, path, input_format or by_suffix or binary)


def _from_pipe(stack: ExitStack, _: str, input_format: Format | None) -> SourceFile:
    if sys.stdin is None or sys.stdin.closed:
        raise DataError.new("standard input is closed", "not-readable", STDIN)
    if sys.stdin.isatty():
        what = "standard input is a terminal, not a table"
        hint = "pipe a table in, or name a file: clfeval mars preds.csv"
        raise UsageError.new(what, "no-input", STDIN, hint=hint)
    try:
        stream = sys.stdin.buffer
        return _copy_stream(stack, STDIN, stream, stream.read(FIRST), input_format)
    except OSError as error:
        raise DataError.new(f"cannot be read: {error.strerror}", "not-readable", STDIN) from error


class _HashedStream:
    """A stream whose bytes are hashed as they are read."""

    def __init__(self, stream: IO[bytes], start: bytes) -> None:
        """Continue after a start that was already read."""
        self._stream = stream
        self._ahead = start
        self.digest = sha256()

    def read(self, size: int = CHUNK) -> bytes:
        """Return the next bytes, none at the end."""
        piece, self._ahead = self._ahead[:size], self._ahead[size:]
        piece = piece or self._stream.read(size)
        self.digest.update(piece)
        return piece


def _copy_stream(
    stack: ExitStack, name: str, stream: IO[bytes], start: bytes, known: Format | None
) -> SourceFile:
    """Copy a pipe or compressed file to an anonymous plain file, hashing the original bytes."""
    streams = _STREAMS.get()
    stack = stack if streams is None else streams[0]
    given = _HashedStream(stream, start)
    if not start:
        raise DataError.new("the input is empty (0 bytes)", "empty-table", name)
    packing = packing_of(start)
    with _room_for(name):
        copy = ReadOnceCopy()
    stack.callback(copy.close)

    def put(piece: bytes) -> None:
        with _room_for(name):
            copy.write(piece)

    if packing:
        unpack(name, given, put, packing)
    else:
        while piece := given.read():
            put(piece)
    with _room_for(name):
        path = copy.path()
    with path.open("rb") as plain:
        magic = plain.read(FIRST)
    if not magic:
        raise DataError.new("the compressed file is empty", "empty-table", name)
    refuse_foreign_file(name, path, magic)
    source = SourceFile(name, path, known or _by_magic(magic), sha256=given.digest.hexdigest())
    if streams is not None:
        streams[1]["-" if name == STDIN else name] = source
    return source


@contextmanager
def _room_for(name: str) -> Iterator[None]:
    """Convert OSError of a copy into UsageError: no space for the copy."""
    try:
        yield
    except OSError as error:
        what = f"no space for a temporary copy in '{tempfile.gettempdir()}': {error.strerror}"
        hint = "use a folder with free space: TMPDIR=FOLDER clfeval ..."
        raise UsageError.new(what, "output", name, hint=hint) from error


def _by_magic(magic: bytes) -> Format:
    if magic.startswith(b"PAR1"):
        return "parquet"
    if magic.startswith(b"ARROW1"):
        return "arrow"
    start = magic.lstrip()
    # a header may begin with a bracket too, a list of records continues with a brace
    if start[:1] == b"[" and start[1:].lstrip()[:1] in (b"", b"{", b"]"):
        return "json"
    return "ndjson" if start[:1] == b"{" else "csv"


_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*[{\]]")
_SPLIT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:columns|index|data)"\s*:\s*\[')


def first_record(source: SourceFile) -> dict[str, Any]:
    """Return the object in the first line that is not blank; {} if that is not an object."""
    with source.path.open("rb") as stream:
        first = next((line.strip() for line in stream if line.strip()), b"")
    if not first.startswith(b"{"):
        return {}
    try:
        return dict(json.loads(first))
    except ValueError:
        return {}


def order_columns(columns: Iterable[str], first: Iterable[str]) -> list[str]:
    """Order columns as in the first record; keys of later records follow by name."""
    place = {key: i for i, key in enumerate(first)}
    return sorted(columns, key=lambda name: (place.get(name, len(place)), name))


def json_frame(source: SourceFile) -> pl.DataFrame:
    """Read a list of records, columns in the order of the first; PolarsError for invalid JSON."""
    data = source.path.read_bytes()
    if _SPLIT.match(data):
        frame = _split_frame(data)
        if frame is not None:
            return frame
    if not _LIST.match(data):
        raise DataError(
            Problem("is not a list of records", "wrong-format", source.name),
            hint="write one object per row, as pandas does with orient='records' or 'split', "
            "or one object per line in a file named .ndjson",
        )
    frame = pl.read_json(io.BytesIO(data), infer_schema_length=None)
    if not frame.columns:
        hint = "the list is empty"
        raise DataError.new("no rows to evaluate", "empty-table", source.name, hint=hint)
    text = data.decode("utf-8-sig")
    first, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    return frame.select(order_columns(frame.columns, first))


def _split_frame(data: bytes) -> pl.DataFrame | None:
    """Read columns and rows of pandas' orient='split'; None if the data is not of that form."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
        names, rows = [str(name) for name in found["columns"]], found["data"]
        return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
        return None
