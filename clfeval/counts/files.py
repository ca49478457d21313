"""The files that are counted: their bytes, their structure, and what each contributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clfeval.errors import DataError
from clfeval.late import nw
from clfeval.tables.csv import FingerprintTask, inspect_structure, looks_ragged
from clfeval.tables.engine import collect
from clfeval.tables.scan import NO_TAIL, TEXT_BYTES, TableFile, scan, unreadable

Tasks = Sequence[FingerprintTask | None]


@dataclass(frozen=True, slots=True)
class FileCount:
    """What one file contributed: observations counted and observations left out."""

    name: str
    sha256: str | None
    rows: int
    dropped: int


def fingerprints(files: Sequence[TableFile]) -> tuple[FingerprintTask | None, ...]:
    """Start to read the bytes of every file beside the counting."""
    return tuple(FingerprintTask(file.source) if file.source else None for file in files)


def file_count(
    file: TableFile, task: FingerprintTask | None, rows: int, dropped: int = 0
) -> FileCount:
    """Say what a file contributed."""
    return FileCount(file.shown, task.result().sha256 if task else None, rows, dropped)


def check_structure(
    file: TableFile, task: FingerprintTask | None, *, short_rows: bool | None = None
) -> None:
    """Raise for ragged rows, NUL bytes and wrong encodings.

    `short_rows` tells whether some row lacks its last field; None if no pass has read every field.
    Byte counts then settle tables without quote marks, where no row was refused as too long.
    """
    if file.head is None or file.source is None or task is None:
        return
    fingerprint = task.result()
    suspect = fingerprint.has_nul or fingerprint.bad_utf8
    suspect = suspect or looks_ragged(fingerprint, len(file.columns))
    if not suspect and short_rows is None:
        every = scan(file, {}, watch=True).select(nw.col(NO_TAIL).sum(), nw.col(TEXT_BYTES).sum())
        short_rows = bool(collect(every)[NO_TAIL].item())
    if fingerprint.quotes and short_rows:
        suspect = True
    if suspect:
        inspect_structure(file.source, file.columns)


def explained(files: Sequence[TableFile], error: Exception) -> DataError:
    """Turn a reader's refusal into the rows to blame, or at least the file and the reason."""
    for file in files:
        if file.head and file.source:
            inspect_structure(file.source, file.columns)
    if files[0].source:
        return unreadable(files[0].source, error)
    return DataError.of(f"cannot be read: {error}", "bad-file", files[0].name)
