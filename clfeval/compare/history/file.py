"""Histories: options, lines as JSON, reading with positions of errors, and atomic appending."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from errno import EACCES
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from clfeval.document import Estimate, refuse_nonfinite, settings_of
from clfeval.errors import Problem, UsageError, bad_option, list_names
from clfeval.json_schema import JsonSchema
from clfeval.options.declaration import Opt
from clfeval.output_files import Draft, ProtectedFiles
from clfeval.placeholders import COMMAND, END, OPTION
from clfeval.records import dataclass, field, field_values, read_record

# history: 1 the first. Adding keys keeps it; removing, renaming or retyping one raises it.
LINE_KIND = "clfeval.history"
LINE_VERSION = 1
LINE = f"{LINE_KIND}/{LINE_VERSION}"


class NewerVersionError(ValueError):
    """A line of a later version of this program."""


@dataclass(frozen=True, slots=True)
class HistoryMeasure:
    """A measure: the fields of an `Estimate`, and its standard error where known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    se: float | None = None
    reason: str | None = None

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        return Estimate(self.value, self.low, self.high, self.reason)


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The line of one model of one run.

    run: its name in a batch. settings: the signature without the data. data: the sha256 of the
    files. truth: the digest of ids and truth. rows, positives: None where models differ. gates:
    measures of gates, and whether all were met or only warn. limits: of gates, by measure.
    """

    command: str
    label: str
    model: str
    settings: str = ""
    version: str = ""
    run: str | None = None
    data: tuple[str | None, ...] = ()
    truth: str | None = None
    rows: float | None = None
    positives: float | None = None
    level: float | None = None
    measures: Mapping[str, HistoryMeasure] = field(default_factory=dict)
    gates: Mapping[str, bool] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in the trend: the model, after its run if it has one."""
        return self.model if self.run is None else f"{self.run}: {self.model}"

    def text(self) -> str:
        """Return the line with its newline."""
        measures = {name: field_values(cell) for name, cell in self.measures.items()}
        return _json_line({**field_values(self), "measures": measures})


@dataclass(frozen=True, slots=True)
class AcceptedLabel:
    """An accepted label: its lines so far are the baseline of later lines of the command."""

    command: str
    accepted: str

    def text(self) -> str:
        """Return the line with its newline."""
        return _json_line(field_values(self))


HistoryEntry = HistoryLine | AcceptedLabel

TEXT = {"type": "string"}
OPTIONAL_TEXT = {"type": ["string", "null"]}
OPTIONAL_NUMBER = {"type": ["number", "null"]}
MEASURE = {
    "type": "object",
    "required": ["value"],
    "properties": {
        **dict.fromkeys(("value", "low", "high"), OPTIONAL_NUMBER),
        "se": {**OPTIONAL_NUMBER, "minimum": 0},
        "reason": OPTIONAL_TEXT,
    },
    "ascending": ["low", "high"],
}


@cache
def _line_schema() -> JsonSchema:
    """Return the schema of a line of a model."""
    rows = {**OPTIONAL_NUMBER, "minimum": 0}
    properties = {
        **dict.fromkeys(("command", "label", "model", "settings", "version"), TEXT),
        **dict.fromkeys(("run", "truth"), OPTIONAL_TEXT),
        "data": {"type": "array", "items": OPTIONAL_TEXT},
        **dict.fromkeys(("rows", "positives"), rows),
        "level": {**OPTIONAL_NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "measures": {"type": "object", "additionalProperties": MEASURE},
        "gates": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "limits": {"type": "object", "additionalProperties": {"type": "number"}},
    }
    required = ["command", "label", "model", "measures"]
    return JsonSchema({"type": "object", "required": required, "properties": properties})


@cache
def _accepted_schema() -> JsonSchema:
    """Return the schema of a line that accepts a label."""
    properties = dict.fromkeys(("command", "accepted"), TEXT)
    required = [*properties]
    return JsonSchema({"type": "object", "required": required, "properties": properties})


def _json_line(said: Mapping[str, Any]) -> str:
    found = {"schema": LINE, **said}
    text = json.dumps(found, sort_keys=True, allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a name with an unpaired surrogate
        text = json.dumps(found, sort_keys=True, allow_nan=False)
    return f"{text}\n"


def parse_line(text: str) -> HistoryEntry:
    """Return the parsed line; ValueError, in words, where it is invalid or of a newer version."""
    try:
        fields = json.loads(text, parse_constant=refuse_nonfinite)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(fields, dict):
        raise ValueError("is not a line of a history")
    kind, _, number = str(fields.get("schema", "")).partition("/")
    if kind != LINE_KIND or not (number.isascii() and number.isdigit()):
        raise ValueError("is not a line of a history: the key 'schema' is missing or unknown")
    if int(number) > LINE_VERSION:
        raise NewerVersionError(f"{kind}/{number} is too new for this program ({LINE})")
    schema = _accepted_schema() if "accepted" in fields else _line_schema()
    if violation := schema.violation(fields):
        raise ValueError(str(violation))
    if "accepted" in fields:
        return read_record(AcceptedLabel, fields)
    measures = {
        name: read_record(HistoryMeasure, measure) for name, measure in fields["measures"].items()
    }
    parts = {
        "data": tuple(fields.get("data", ())),
        "settings": settings_of(fields.get("settings", "")),
        "measures": measures,
    }
    return read_record(HistoryLine, {**fields, **parts})


HISTORY = "History"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HistoryOptions:
    """Options that append the measures of this run to a history."""

    append: Annotated[
        str | None,
        Opt(
            "Append one line per model to this history.",
            HISTORY,
            metavar="HISTORY.jsonl",
            needs=("label", "needs a label"),
        ),
    ] = None
    label: Annotated[str | None, Opt("Label of the appended lines: a week, a commit.", HISTORY)] = (
        None
    )

    def check(self) -> None:
        """Raise UsageError for an empty label, or a label without a history."""
        if self.label is not None and self.append is None:
            hint = f"add {OPTION}--append HISTORY.jsonl{END}"
            raise bad_option(f"{OPTION}--label{END} needs a history to append to", hint)
        if self.label is not None and not self.label.strip():
            raise bad_option(f"{OPTION}--label{END} is empty")


CODE = "history"
CONFLICTS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
MERGED = "a merge left conflict markers: remove them, and keep the lines of both sides"
UPDATE = "update clfeval: a newer version added these lines"
REMOVE = "remove the line, or restore the file from version control"
SeriesKey = tuple[str, str | None, str]  # command, run and model


@dataclass(frozen=True, slots=True)
class HistoryLines:
    """The last line of each label, run and model of a history, and the accepted lines.

    lines: in the order of the file. accepted: by command, run and model, as they were then.
    """

    name: str
    sha256: str
    entries: tuple[HistoryEntry, ...]
    lines: tuple[HistoryLine, ...]
    accepted: Mapping[SeriesKey, HistoryLine]

    @classmethod
    def from_entries(cls, name: str, sha256: str, entries: Sequence[HistoryEntry]) -> HistoryLines:
        """Return the lines, those accepted searched above the entry, or anywhere after a merge."""
        every = [one for one in entries if isinstance(one, HistoryLine)]
        lines: dict[tuple[SeriesKey, str], HistoryLine] = {}
        accepted: dict[SeriesKey, HistoryLine] = {}
        for entry in entries:
            if isinstance(entry, HistoryLine):
                lines[series_key(entry), entry.label] = entry
                continue
            wanted = (entry.command, entry.accepted)
            above, anywhere = (
                {series_key(one): one for one in some if (one.command, one.label) == wanted}
                for some in (lines.values(), every)
            )
            accepted |= above or anywhere
        return cls(name, sha256, tuple(entries), tuple(lines.values()), accepted)

    def lines_of_command(self, command: str) -> list[HistoryLine]:
        """Return the lines of a command; UsageError where it has none."""
        found = [line for line in self.lines if line.command == command]
        if not found:
            others = sorted({line.command for line in self.lines})
            what = f"has no line of {command}"
            what += f", only of {list_names(others)}" if others else ""
            hint = (
                "add a line: "
                f"{COMMAND}clfeval {command} TABLE --append {self.name} --label LABEL{END}"
            )
            raise UsageError.new(what, CODE, self.name, hint=hint)
        return found

    def labels(self, command: str) -> list[str]:
        """Return the labels of a command in the order of time; UsageError where it has no line."""
        return list(dict.fromkeys(line.label for line in self.lines_of_command(command)))

    def upto(self, command: str, label: str) -> HistoryLines:
        """Return the history of a command up to this label."""
        labels = self.labels(command)
        kept = labels[: labels.index(label) + 1]
        mine = [
            one
            for one in self.entries
            if one.command == command
            and (one.label if isinstance(one, HistoryLine) else one.accepted) in kept
        ]
        return HistoryLines.from_entries(self.name, self.sha256, mine)


def series_key(line: HistoryLine) -> SeriesKey:
    """Return the key that lines of one model share over labels: command, run and model."""
    return line.command, line.run, line.model


def read_history(name: str) -> HistoryLines:
    """Return a history; UsageError names every invalid line and its problem."""
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # some never end
            hint = "write its content into a file"
            raise UsageError.new(f"cannot read '{name}': it is a device", CODE, hint=hint)
        content = Path(name).read_bytes()
    except OSError as error:
        raise UsageError.new(f"cannot read '{name}': {error.strerror}", CODE) from error
    entries: list[tuple[int, HistoryEntry]] = []
    problems: list[Problem] = []
    hints: set[str] = set()
    for number, text in enumerate(content.split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            entries.append((number, parse_line(text.decode())))
        except UnicodeDecodeError:
            problems.append(Problem("is not UTF-8", CODE, name, number))
        except ValueError as error:
            problems.append(Problem(str(error), CODE, name, number))
            hints.add(
                MERGED
                if text.startswith(CONFLICTS)
                else UPDATE
                if isinstance(error, NewerVersionError)
                else REMOVE
            )
    if problems and not entries and LINE_KIND.encode() not in content:
        hint = f"create one with {COMMAND}clfeval report TABLE --append FILE.jsonl{END}"
        raise UsageError.new("not a history file", CODE, name, hint=hint)
    known = {(one.command, one.label) for _, one in entries if isinstance(one, HistoryLine)}
    for number, one in entries:
        if isinstance(one, AcceptedLabel) and (one.command, one.accepted) not in known:
            what = f"accepts '{one.accepted}', which has no line of {one.command}"
            problems.append(Problem(what, CODE, name, number))
    if problems:
        alone = UPDATE if hints == {UPDATE} else REMOVE
        raise UsageError(problems, hint=MERGED if MERGED in hints else alone)
    return HistoryLines.from_entries(name, sha256(content).hexdigest(), [one for _, one in entries])


def check_target(name: str, inputs: Sequence[str]) -> None:
    """Refuse a history that cannot be appended to, before anything is computed; UsageError."""
    if name in ProtectedFiles(inputs):
        raise bad_option(f"{OPTION}--append{END} '{name}' names the input table")
    _lock_module()
    path = os.path.realpath(name)
    folder, why = os.path.dirname(path), ""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        why = "it is not a regular file"
    elif not os.path.isdir(folder):
        why = f"the folder '{os.path.dirname(name)}' does not exist"
    elif not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        why = os.strerror(EACCES)
    if why:
        raise UsageError.new(f"cannot append to '{name}': {why}", "output")
    if os.path.exists(path):
        read_history(name)


def append_entries(name: str, entries: Iterable[HistoryEntry]) -> int:
    """Append lines to a history under its lock, all or none; return their number.

    The file is replaced atomically. Raises UsageError where the last line is cut short, the disk is
    full, or locks are not supported.
    """
    texts = [entry.text() for entry in entries]
    path = Path(os.path.realpath(name))
    try:
        with _lock_file(path) as handle:
            old = _check_last_line(path.read_bytes(), name)
            with closing(Draft(path)) as draft:
                draft.stream.buffer.write(old + "".join(texts).encode())
                draft.stream.flush()
                os.fsync(draft.stream.fileno())
                draft.replace_target(stat.S_IMODE(os.fstat(handle).st_mode))
            _sync_folder(path.parent)
    except OSError as error:
        raise UsageError.new(f"cannot append to '{name}': {error.strerror}", "output") from error
    return len(texts)


@contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    """Hold the lock of a file, created if need be, even where it is replaced meanwhile."""
    locks = _lock_module()
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            locks.flock(handle, locks.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(handle), os.stat(path)):
                yield handle
                return
        finally:
            os.close(handle)


def _lock_module() -> ModuleType:
    """Return the module that locks files; UsageError where the system has none."""
    try:
        return import_module("fcntl")
    except ImportError:
        what = "appending to a history needs file locks, which this system lacks"
        raise UsageError.new(what, "output") from None


def _check_last_line(old: bytes, name: str) -> bytes:
    """Return the file with a newline at its end; UsageError where its last line is incomplete."""
    if not old or old.endswith(b"\n"):
        return old
    *before, last = old.split(b"\n")
    try:
        json.loads(last)
    except ValueError:
        number = len(before) + 1
        hint = f"a write was interrupted: remove line {number}"
        raise UsageError.new("the last line is incomplete", CODE, name, number, hint=hint) from None
    return old + b"\n"


def _sync_folder(folder: Path) -> None:
    """Flush a new file name to the disk, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
