"""Output files: drafts next to their targets, copies of pipes, protected inputs."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from errno import EACCES
from fnmatch import fnmatchcase
from io import TextIOWrapper
from pathlib import Path, PurePath
from typing import IO, Any

from clfeval.interrupt import CleanupState

DEEP = "**"  # in a pattern: any folders


def target_path(name: str) -> str:
    """Return the path a file is written to: links of its folder are resolved, its own is not."""
    folder, last = os.path.split(name)
    return os.path.join(os.path.realpath(folder or os.curdir), last)


class ProtectedFiles:
    """Input files that must not be overwritten, by their names and patterns."""

    def __init__(self, names: Iterable[str]) -> None:
        """Resolve the files and patterns; patterns of nested folders (`**`) are not expanded."""
        self._patterns: list[str] = []
        self._files: set[str] = set()
        for name in names:
            if glob.has_magic(name) and not os.path.exists(name):
                self._patterns.append(target_path(name))
                files = [] if DEEP in name else glob.glob(name)
                self._files |= {os.path.realpath(one) for one in files}
            else:
                self._files.add(os.path.realpath(name))

    def __contains__(self, name: str) -> bool:
        """Return whether a file of this name is one of the protected files."""
        place = target_path(name)
        known = os.path.realpath(name) in self._files
        return known or any(
            fnmatchcase(place, pattern.replace(f"{DEEP}/", "*"))
            if DEEP in pattern
            else PurePath(place).match(pattern)
            for pattern in self._patterns
        )


OPEN_FILES_FOLDER = Path("/proc/self/fd")  # where Linux lets an open file be opened once more
IN_MEMORY = 64 << 20  # bytes, above which a copy is written to the disk
_MEMORY = hasattr(os, "memfd_create")


def open_scratch_file() -> IO[bytes]:
    """Open an anonymous temporary file, in memory if possible."""
    if _MEMORY:
        return open(os.memfd_create("clfeval"), "w+b")
    return tempfile.TemporaryFile()


class ReadOnceCopy:
    """A copy of input that can be read once only (a pipe): small in memory, large on the disk."""

    def __init__(self) -> None:
        """Create the empty copy; OSError where there is no space."""
        self._name: str | None = None
        self._small = _MEMORY and OPEN_FILES_FOLDER.is_dir()
        self._stream = open_scratch_file() if self._small else self._on_disk()
        self._size = 0

    def write(self, chunk: bytes) -> int:
        """Append bytes; OSError where the disk is full."""
        self._size += len(chunk)
        if self._small and self._size > IN_MEMORY:
            self._small = False
            with self._stream as small:
                self._stream = self._on_disk()
                small.seek(0)
                shutil.copyfileobj(small, self._stream)
        return self._stream.write(chunk)

    def path(self) -> Path:
        """Return the path of the copy, which can be opened until it is closed."""
        self._stream.flush()
        return Path(self._name) if self._name else OPEN_FILES_FOLDER / str(self._stream.fileno())

    def close(self) -> None:
        """Close and delete the copy."""
        _close_and_delete(self._stream, self._name)

    def _on_disk(self) -> IO[bytes]:
        if OPEN_FILES_FOLDER.is_dir():
            return tempfile.TemporaryFile(prefix="clfeval-")
        handle, self._name = tempfile.mkstemp(prefix="clfeval-")
        CleanupState.litter.add(self._name)
        return open(handle, "w+b")


class Draft:
    """A temporary file next to its target, which replaces the target when it is complete."""

    def __init__(self, target: Path) -> None:
        """Create the file; OSError where the folder or the target is not writable."""
        self.target = target
        with suppress(FileNotFoundError):
            target.lstat()  # a name that is not valid fails here
            if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(EACCES, os.strerror(EACCES))
        handle, self._name = tempfile.mkstemp(prefix=".clfeval-", dir=target.parent)
        CleanupState.litter.add(self._name)
        self.stream: TextIOWrapper = os.fdopen(handle, "w", encoding="utf-8", newline="")

    def replace_target(self, mode: int) -> None:
        """Close the file and replace the target by it; OSError where that is not allowed."""
        os.chmod(self._name, mode)
        self.stream.close()
        os.replace(self._name, self.target)
        CleanupState.litter.discard(self._name)

    def close(self) -> None:
        """Delete the file unless it has replaced its target."""
        _close_and_delete(self.stream, self._name)


def _close_and_delete(stream: IO[Any], name: str | None) -> None:
    with suppress(OSError):  # bytes that a full disk refuses are not needed any more
        stream.close()
    if name in CleanupState.litter:
        with suppress(OSError):  # a folder may allow files to be created, not deleted
            os.unlink(name)
        CleanupState.litter.discard(name)
