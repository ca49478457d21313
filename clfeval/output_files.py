"""Output files: drafts next to their targets, copies of pipes, protected inputs."""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from errno import EACCES, EAGAIN, EINVAL
from fnmatch import fnmatchcase
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path, PurePath
from typing import IO, Any, ClassVar

from clfeval.interrupt import CleanupState

ANY_FOLDERS = "**"  # in a pattern: any folders


def target_path(name: str) -> str:
    """Return the path a file is written to: links of its folder are resolved, its own is not."""
    folder, base_name = os.path.split(name)
    return os.path.join(os.path.realpath(folder or os.curdir), base_name)


class ProtectedFiles:
    """Input files that must not be overwritten, by their names and patterns."""

    def __init__(self, names: Iterable[str]) -> None:
        """Resolve the files and patterns; patterns of nested folders (`**`) are not expanded."""
        self._patterns: list[str] = []
        self._files: set[str] = set()
        for name in names:
            if glob.has_magic(name) and not os.path.exists(name):
                self._patterns.append(target_path(name))
                matches = [] if ANY_FOLDERS in name else glob.glob(name)
                self._files |= {os.path.realpath(match) for match in matches}
            else:
                self._files.add(os.path.realpath(name))

    def __contains__(self, name: str) -> bool:
        """Return whether a file of this name is one of the protected files."""
        if os.path.realpath(name) in self._files:
            return True
        path = target_path(name)
        return any(
            fnmatchcase(path, pattern.replace(f"{ANY_FOLDERS}/", "*"))
            if ANY_FOLDERS in pattern
            else PurePath(path).match(pattern)
            for pattern in self._patterns
        )


OPEN_FILES_FOLDER = Path("/proc/self/fd")  # where Linux lets an open file be opened once more
IN_MEMORY = 64 << 20  # bytes, above which a copy is written to the disk
_MEMORY = hasattr(os, "memfd_create")
_HAS_LOCKS = os.name == "posix"


def open_scratch_file() -> IO[bytes]:
    """Open an anonymous temporary file, in memory if possible."""
    if _MEMORY:
        return open(os.memfd_create("clfeval"), "w+b")
    return tempfile.TemporaryFile(dir=temporary_folder())


def temporary_folder() -> str:
    """Return the folder of temporary files: that of TMPDIR, TEMP or TMP, else the system's.

    `tempfile` tries a folder by writing a file there, which an interrupted process would
    leave behind.
    """
    if os.name != "posix" or tempfile.tempdir is not None:
        return tempfile.gettempdir()
    declared_folders = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    for folder in (*declared_folders, "/tmp", "/var/tmp", "/usr/tmp"):
        if folder and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return os.path.abspath(folder)
    return os.getcwd()


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
            return tempfile.TemporaryFile(prefix="clfeval-", dir=temporary_folder())
        handle, self._name = tempfile.mkstemp(prefix="clfeval-", dir=temporary_folder())
        CleanupState.litter.add(self._name)
        return open(handle, "w+b")


DRAFT = ".clfeval-"  # start of the names of drafts
_DRAFT_NAME = re.compile(re.escape(DRAFT) + r"[a-z0-9_]{8}")


class Draft:
    """A temporary file next to its target, which replaces the target when it is complete.

    It is locked as long as it exists: an unlocked one is of a run that was killed. The first draft
    of a process in a folder removes those.
    """

    _cleaned: ClassVar[set[str]] = set()  # folders

    def __init__(self, target: Path) -> None:
        """Create the file; OSError where the folder or the target is not writable."""
        self.target = target
        with suppress(FileNotFoundError):
            mode = target.lstat().st_mode  # a name that is not valid fails here
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
                raise OSError(EINVAL, "it is a pipe or a device, not a file")
            if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(EACCES, os.strerror(EACCES))
        folder = os.path.realpath(target.parent)
        if folder not in Draft._cleaned:
            remove_dead_drafts(folder)
            Draft._cleaned.add(folder)
        handle, self._name = _create_draft(target.parent)
        self._lock = os.dup(handle)  # keeps the lock until the file has its name
        self.stream: TextIOWrapper = os.fdopen(handle, "w", encoding="utf-8", newline="")

    @property
    def path(self) -> Path:
        """The path of the file, for a writer that takes no stream."""
        return Path(self._name)

    def replace_target(self, mode: int) -> None:
        """Close the file and replace the target by it; OSError where that is not allowed."""
        os.chmod(self._name, mode)
        self.stream.close()
        if not _HAS_LOCKS:  # such a system renames no open file
            self._unlock()
        os.replace(self._name, self.target)
        CleanupState.litter.discard(self._name)
        self._unlock()

    def close(self) -> None:
        """Delete the file unless it has replaced its target."""
        if not _HAS_LOCKS:
            self._unlock()
        _close_and_delete(self.stream, self._name)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _create_draft(folder: Path) -> tuple[int, str]:
    """Create a draft and lock it, where files can be locked; return its handle and name."""
    for _attempt in range(100):
        handle, name = tempfile.mkstemp(prefix=DRAFT, dir=folder)
        CleanupState.litter.add(name)
        try:
            with suppress(BlockingIOError):
                _try_lock(handle)
                if os.path.samestat(os.fstat(handle), os.stat(name)):
                    return handle, name
        except FileNotFoundError:
            pass
        # another run took the file for a dead one before it was locked
        CleanupState.litter.discard(name)
        os.close(handle)
    raise BlockingIOError(EAGAIN, os.strerror(EAGAIN))


def remove_dead_drafts(folder: str) -> None:
    """Remove the drafts that runs which were killed left in a folder, as far as is allowed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for file in entries:
            if _DRAFT_NAME.fullmatch(file.name) and file.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_dead(file.path)


def _remove_if_dead(name: str) -> None:
    """Remove a draft that no process has locked; BlockingIOError for others, OSError."""
    handle = os.open(name, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if _try_lock(handle):
            os.unlink(name)
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    """Lock an open file; False where that is not possible, BlockingIOError if it is locked."""
    if not _HAS_LOCKS:
        return False
    locks = import_module("fcntl")
    try:
        locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return False
    return True


def _close_and_delete(stream: IO[Any], name: str | None) -> None:
    with suppress(OSError):  # bytes that a full disk refuses are not needed any more
        stream.close()
    if name in CleanupState.litter:
        with suppress(OSError):  # a folder may allow files to be created, not deleted
            os.unlink(name)
        CleanupState.litter.discard(name)
