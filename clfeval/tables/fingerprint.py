"""One read of a file's bytes beside the main pass: its hash, and what polars would not tell."""

from __future__ import annotations

import codecs
import threading
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from clfeval.tables.source import Source

CHUNK = 1 << 18  # small enough to stay in the processor's cache between the counts


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The hash of the given bytes and, for delimited text, counts of the bytes that shape it."""

    sha256: str
    size: int = 0
    newlines: int = 0
    returns: int = 0  # carriage returns, each before a newline or not
    delimiters: int = 0
    quotes: int = 0
    ascii: bool = True
    ends_with_newline: bool = True
    has_nul: bool = False
    bad_utf8: bool = False

    @property
    def lines(self) -> int:
        """Physical lines, the last one counted with or without its newline."""
        return self.newlines + (not self.ends_with_newline)

    @property
    def field_bytes(self) -> int:
        """Bytes that are neither delimiter nor line end (meaningful without quotes)."""
        return self.size - self.newlines - self.returns - self.delimiters


_AT_ONCE = threading.BoundedSemaphore(2)  # files read beside the main pass


class FingerprintTask:
    """Takes a fingerprint in a thread of its own: hashing and counting release the interpreter."""

    def __init__(self, source: Source) -> None:
        """Start at once."""
        self._source = source
        self._result: Fingerprint | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with _AT_ONCE:
                self._result = take_fingerprint(self._source)
        except BaseException as error:  # handed to the thread that waits in result()
            self._error = error

    def result(self) -> Fingerprint:
        """Wait for the fingerprint; raises what the reading raised."""
        self._thread.join()
        if self._result is None:
            raise self._error or RuntimeError("the fingerprint thread left no result")
        return self._result


def take_fingerprint(source: Source) -> Fingerprint:
    """Read the file once: hash it and, for delimited text, count the bytes that shape it."""
    digest = sha256()
    size = 0
    counts = dict.fromkeys((ord("\n"), ord("\r"), ord(source.delimiter), ord('"')), 0)
    has_nul = bad_utf8 = False
    is_ascii, last = True, b"\n"
    decoder = codecs.getincrementaldecoder("utf-8")()
    with source.path.open("rb", buffering=0) as stream:
        while chunk := stream.read(CHUNK):
            if source.sha256 is None:
                digest.update(chunk)
            if source.text:
                view = np.frombuffer(chunk, np.uint8)
                for byte in counts:
                    counts[byte] += int(np.count_nonzero(view == byte))
                has_nul = has_nul or b"\0" in chunk
                if not bad_utf8 and not (chunk.isascii() and not decoder.getstate()[0]):
                    is_ascii = False
                    bad_utf8 = not _decodes(decoder, chunk)
            size += len(chunk)
            last = chunk[-1:]
    bad_utf8 = bad_utf8 or bool(decoder.getstate()[0])  # a character cut off at the end
    newlines, returns, delimiters, quotes = counts.values()
    return Fingerprint(
        source.sha256 or digest.hexdigest(), size, newlines, returns, delimiters, quotes,
        is_ascii, last == b"\n", has_nul, bad_utf8,
    )  # fmt: skip


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes) -> bool:
    try:
        decoder.decode(chunk)
    except UnicodeDecodeError:
        return False
    return True
