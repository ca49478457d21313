"""Files of other formats, recognised by their first bytes, and the errors that name a remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from errno import EINVAL
from pathlib import Path

from clfeval.errors import DataError, UsageError, format_command_line

FIRST = 8  # bytes that are examined
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
_HISTORY = re.compile(r'"schema":\s*"clfeval\.history/')
_HEAD = 1 << 20  # bytes in which a line of a history is found
_RESULT = re.compile(r'\s*\{\s*"schema"\s*:\s*"clfeval\.result/')
_TOP = r"""^["']?(version|set|defaults|runs|history|x-[\w-]+)["']?[ \t]*:(?=\s|$)"""
_KEYS = re.compile(_TOP, re.MULTILINE)
_BATCH = re.compile(rf"(?:(?:[ \t]*#.*|---.*|[ \t]*)\n)*{_TOP}", re.MULTILINE)


def refuse_foreign_file(name: str, path: Path, magic: bytes) -> None:
    """Raise DataError for workbooks, archives, pickles, pages; UsageError for files of clfeval."""
    try:
        if magic.startswith(b"PK\x03\x04"):
            what, hint = _zip(path)
        else:
            known = ((what, hint) for mark, what, hint in _MARKS if magic.startswith(mark))
            what, hint = next(known, ("", ""))
        if not what and not magic.startswith((b"PAR1", b"ARROW1")):
            text = _beginning(path)
            if _BATCH.match(text) and len({found[1] for found in _KEYS.finditer(text)}) > 1:
                raise _own_file_error(name, "a batch of runs", "batch")
            if text.lstrip().startswith(("{", "<<<<")) and _HISTORY.search(text):
                raise _own_file_error(name, "a history of clfeval", "history")
    except OSError as error:
        raise DataError.new(f"cannot be read: {error.strerror}", "not-readable", name) from error
    if what:
        raise DataError.new(f"this is {what}, not a table", "wrong-format", name, hint=hint)


def holds_result(path: Path) -> bool:
    """Return whether a file is a saved result of clfeval."""
    return bool(_RESULT.match(_beginning(path)))


def refuse_result(name: str, path: Path) -> None:
    """Raise UsageError for a saved result of clfeval, which only mlcps reads as a table."""
    if holds_result(path):
        raise _own_file_error(name, "a saved result of clfeval", "report")


def _beginning(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(_HEAD).decode("utf-8-sig", errors="replace")


def _own_file_error(name: str, what: str, command: str) -> UsageError:
    file = "FILE" if name.startswith("<") else name
    hint = format_command_line(["clfeval", command, file])
    return UsageError.new(f"this is {what}, not a table", "wrong-format", name, hint=hint)


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
    for part, what, hint in _ZIPPED:
        if any(name.startswith(part) or name.endswith(part) for name in names):
            return what, hint
    if len(names) != 1:
        return f"a zip archive of {len(names)} files", "unpack it: unzip FILE"
    packed = "; the file in it can be read directly" * names[0].endswith((".gz", ".zst"))
    return f"a zip archive of '{names[0]}'", f"unpack it: unzip FILE{packed}"
