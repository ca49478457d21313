"""The file of a history: read with places of what is wrong, added to whole or not at all."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EACCES
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType

from clfeval.errors import Problem, UsageError, bad_option, listing, suggestion
from clfeval.history.line import Accepted, PastEntry, PastLine, as_result, parsed
from clfeval.result import Result
from clfeval.targets import Spared
from clfeval.unnamed import Draft

CODE = "history"
CONFLICTS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
SeriesKey = tuple[str, str | None, str]  # command, run and model


@dataclass(frozen=True, slots=True)
class Past:
    """What a history says: the last line of each label, run and model, and what was accepted.

    lines: in the order of the file, a run that was repeated in its first place. accepted: the line
    that later ones of a command, run and model are held to, as it was when it was accepted.
    """

    name: str
    sha256: str
    lines: tuple[PastLine, ...] = ()
    accepted: dict[SeriesKey, PastLine] = field(default_factory=dict)

    def of(self, command: str) -> list[PastLine]:
        """Return the lines of a command; UsageError where it has none."""
        found = [line for line in self.lines if line.command == command]
        if not found:
            others = sorted({line.command for line in self.lines})
            what = f"holds no line of {command}"
            what += f", only of {listing(others)}" if others else ""
            hint = f"clfeval {command} TABLE --append {self.name} --label LABEL adds the first"
            raise UsageError.of(what, CODE, self.name, hint=hint)
        return found

    def runs(self, command: str) -> list[str]:
        """Return the names of the runs of a command."""
        return list(dict.fromkeys(line.run or "" for line in self.lines if line.command == command))


def key_of(line: PastLine) -> SeriesKey:
    """Return what lines of different labels have in common when they are of one model."""
    return line.command, line.run, line.model


def read_past(name: str) -> Past:
    """Read a history; UsageError names every line that is none, and what is wrong with it."""
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise UsageError.of(f"cannot read '{name}': {error.strerror}", CODE) from error
    lines: dict[tuple[SeriesKey, str], PastLine] = {}
    accepted: dict[SeriesKey, PastLine] = {}
    problems: list[Problem] = []
    hint = None
    for number, text in enumerate(content.split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            entry = parsed(text.decode())
            if isinstance(entry, PastLine):
                lines[key_of(entry), entry.label] = entry
            else:
                accepted |= _accepted(entry, lines.values())
        except UnicodeDecodeError:
            problems.append(Problem("is no UTF-8", CODE, name, number))
        except ValueError as error:
            problems.append(Problem(str(error), CODE, name, number))
            if text.startswith(CONFLICTS):
                hint = "a merge left its marks: remove them, and keep the lines of both sides"
    if problems:
        raise UsageError(problems, hint=hint or "remove the line, or take the file from git again")
    return Past(name, sha256(content).hexdigest(), tuple(lines.values()), accepted)


def _accepted(entry: Accepted, lines: Iterable[PastLine]) -> dict[SeriesKey, PastLine]:
    found = {
        key_of(line): line
        for line in lines
        if (line.command, line.label) == (entry.command, entry.accepted)
    }
    if not found:
        above = f"of which no line of {entry.command} stands above"
        raise ValueError(f"accepts '{entry.accepted}', {above}")
    return found


def baseline_of(
    name: str, command: str, *, label: str | None = None, run: str | None = None
) -> Result:
    """Return what to compare with as a saved result: of each model the last accepted line.

    Of a model of which none was accepted the last one. label: the lines of this label, and no
    others. run: of a batch. UsageError where there is none, and where several runs are there.
    """
    past = read_past(name)
    lines = [line for line in past.of(command) if run is None or line.run == run]
    labels = list(dict.fromkeys(line.label for line in lines))
    if not labels or (label is not None and label not in labels):
        what, known = ("run", past.runs(command)) if not labels else ("label", labels)
        asked = str(label if labels else run)
        hint = suggestion(asked, known) or f"{what}s: {listing(known)}"
        raise UsageError.of(f"no {what} '{asked}'", CODE, name, hint=hint)
    if len({line.run for line in lines}) > 1:
        what = f"holds several runs: {listing(past.runs(command))}"
        raise UsageError.of(what, CODE, name, hint="name the one to compare with")
    if label is not None:
        return as_result({line.model: line for line in lines if line.label == label})
    last = {key_of(line): line for line in lines}
    return as_result({key[2]: past.accepted.get(key, line) for key, line in last.items()})


def check_target(name: str, inputs: Sequence[str]) -> None:
    """Refuse a file that nothing can be added to, before anything is computed; UsageError."""
    if name in Spared(inputs):
        raise bad_option(f"--append '{name}' is the table itself")
    _locks()
    path = os.path.realpath(name)
    folder, why = os.path.dirname(path), ""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        why = "it is no regular file"
    elif not os.path.isdir(folder):
        why = f"there is no folder '{os.path.dirname(name)}'"
    elif not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        why = os.strerror(EACCES)
    if why:
        raise UsageError.of(f"cannot append to '{name}': {why}", "output")
    if os.path.exists(path):
        read_past(name)


def append(name: str, entries: Iterable[PastEntry]) -> int:
    """Add lines to a history under its lock, all or none; return how many.

    The file is written anew beside itself, forced to the disk and put in its place: who reads it,
    or ends this program at any moment, finds the old or the new one. A last line without its end is
    ended where it is whole. Raises UsageError: where that line is cut short, where the disk is
    full, where the system knows no locks.
    """
    texts = [entry.text() for entry in entries]
    path = Path(os.path.realpath(name))
    try:
        with _locked(path) as handle:
            old = _whole(path.read_bytes(), name)
            draft = Draft(path)
            try:
                draft.stream.buffer.write(old + "".join(texts).encode())
                draft.stream.flush()
                os.fsync(draft.stream.fileno())
                draft.put(stat.S_IMODE(os.fstat(handle).st_mode))
            finally:
                draft.close()
            _sync_folder(path.parent)
    except OSError as error:
        raise UsageError.of(f"cannot append to '{name}': {error.strerror}", "output") from error
    return len(texts)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Hold the lock of a file, which is made if need be; it may be replaced while one waits."""
    locks = _locks()
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            locks.flock(handle, locks.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(handle), os.stat(path)):
                yield handle
                return
        finally:
            os.close(handle)


def _locks() -> ModuleType:
    """Return what locks files; UsageError where the system has no such thing."""
    try:
        return import_module("fcntl")
    except ImportError:
        what = "a history is added to under a lock of the file, and this system has none"
        raise UsageError.of(what, "output") from None


def _whole(old: bytes, name: str) -> bytes:
    """Return the lines there are, the last one ended; UsageError where it is cut short."""
    if not old or old.endswith(b"\n"):
        return old
    *before, last = old.split(b"\n")
    try:
        json.loads(last)
    except ValueError:
        number = len(before) + 1
        hint = f"another program broke off while it wrote: remove line {number}"
        raise UsageError.of("the last line is cut short", CODE, name, number, hint=hint) from None
    return old + b"\n"


def _sync_folder(folder: Path) -> None:
    """Force a new name to the disk, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
