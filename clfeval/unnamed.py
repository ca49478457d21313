"""Files without a name: the kernel takes them back however the program ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from errno import EACCES, EEXIST
from hashlib import sha256
from pathlib import Path
from typing import IO

from clfeval.interrupt import State

OWN = Path("/proc/self/fd")  # where Linux lets an open file be opened once more
IN_MEMORY = 64 << 20  # bytes, beyond which a copy goes to the disk
_MEMORY = hasattr(os, "memfd_create")


def kept_aside() -> IO[bytes]:
    """Return a file for a few words."""
    if _MEMORY:
        return open(os.memfd_create("clfeval"), "w+b")
    return tempfile.TemporaryFile()


class Copy:
    """A copy of what may be read once only: a small one in memory, a larger one on the disk."""

    def __init__(self) -> None:
        """Begin with nothing; OSError where there is no room."""
        self._name: str | None = None
        self._small = _MEMORY and OWN.is_dir()
        self._stream = kept_aside() if self._small else self._on_disk()
        self._size = 0

    def write(self, chunk: bytes) -> int:
        """Add bytes; OSError where the disk is full."""
        self._size += len(chunk)
        if self._small and self._size > IN_MEMORY:
            self._small = False
            with self._stream as small:
                self._stream = self._on_disk()
                small.seek(0)
                shutil.copyfileobj(small, self._stream)
        return self._stream.write(chunk)

    def path(self) -> Path:
        """Return where all that was written can be opened until the copy is closed."""
        self._stream.flush()
        return Path(self._name) if self._name else OWN / str(self._stream.fileno())

    def close(self) -> None:
        """Give its room back."""
        with suppress(OSError):  # what a full disk did not take is not wanted any more
            self._stream.close()
        if self._name is not None:
            with suppress(OSError):
                os.unlink(self._name)
            State.litter.discard(self._name)

    def _on_disk(self) -> IO[bytes]:
        if OWN.is_dir():
            return tempfile.TemporaryFile(prefix="clfeval-")
        handle, self._name = tempfile.mkstemp(prefix="clfeval-")
        State.litter.add(self._name)
        return open(handle, "w+b")


class Draft:
    """A file beside its target that has no name until it is put in its place.

    Where the file system knows no such files it has a hidden one. Its name, and the one in between
    where a target is replaced, tell the target: what a killed program left is removed by the next
    draft of the same file. Every living draft holds a lock, by which it is told from a dead one.
    """

    def __init__(self, target: Path) -> None:
        """Open it; OSError where the folder does not take it."""
        self.target = target
        self._hidden: Path | None = None
        with suppress(FileNotFoundError):
            target.lstat()  # a name that no folder takes is found now
            if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(EACCES, os.strerror(EACCES))
        for name in self._names():
            if not os.path.lexists(name):
                break
            _remove_dead(name)
        handle = _nameless(target.parent)
        if handle is None:
            self._hidden, handle = self._claimed()
        _lock(handle)
        self.stream = os.fdopen(handle, "w", encoding="utf-8", newline="")

    def put(self, mode: int) -> None:
        """Close it and put it in place of the target, whole; OSError where that is not allowed."""
        self.stream.flush()
        handle = self.stream.fileno()
        os.chmod(handle, mode)
        if self._hidden is None and not _linked(handle, self.target):
            for name in self._names():
                State.litter.add(str(name))
                self._hidden = name
                if _linked(handle, name):
                    break
        if self._hidden is not None:
            os.replace(self._hidden, self.target)
            State.litter.discard(str(self._hidden))
            self._hidden = None
        self.stream.close()

    def close(self) -> None:
        """Remove what was not put in its place."""
        if self._hidden is not None:
            with suppress(OSError):  # a folder may let files be made and not removed
                self._hidden.unlink(missing_ok=True)
            State.litter.discard(str(self._hidden))
        with suppress(OSError):  # a full disk does not take the rest, which nobody wants
            self.stream.close()

    def _names(self) -> Iterator[Path]:
        """Yield the names of drafts of the target: one for each program that writes it now."""
        stem = f".clfeval-{sha256(os.fsencode(self.target.name)).hexdigest()[:16]}"
        for number in range(100):
            yield self.target.with_name(f"{stem}-{number}" if number else stem)

    def _claimed(self) -> tuple[Path, int]:
        for name in self._names():
            State.litter.add(str(name))
            with suppress(FileExistsError):
                return name, os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            State.litter.discard(str(name))
        raise FileExistsError(EEXIST, os.strerror(EEXIST))


def _nameless(folder: Path) -> int | None:
    """Open a file without a name in a folder; None where it could get none later."""
    if not (hasattr(os, "O_TMPFILE") and OWN.is_dir()):
        return None
    with suppress(OSError):  # if the folder is why, the file with a name meets it too
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    return None


def _linked(handle: int, name: Path) -> bool:
    """Give a file without a name one; False where the name is taken."""
    folder = os.open(name.parent, os.O_PATH)  # with one, Python follows the link in /proc
    try:
        os.link(OWN / str(handle), name.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        return False
    finally:
        os.close(folder)
    return True


def _lock(handle: int) -> bool:
    """Take the lock of a draft; False where it is a living program's, or nobody can tell."""
    try:
        import fcntl
    except ImportError:
        return False
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _remove_dead(name: Path) -> None:
    with suppress(OSError):
        handle = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _lock(handle) and os.path.samestat(os.fstat(handle), os.stat(name)):
                os.unlink(name)
        finally:
            os.close(handle)
