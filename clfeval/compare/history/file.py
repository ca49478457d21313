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

from clfeval.document import refuse_nonfinite, settings_of
from clfeval.document.cells import Estimate
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
    row_count_schema = {**OPTIONAL_NUMBER, "minimum": 0}
    properties = {
        **dict.fromkeys(("command", "label", "model", "settings", "version"), TEXT),
        **dict.fromkeys(("run", "truth"), OPTIONAL_TEXT),
        "data": {"type": "array", "items": OPTIONAL_TEXT},
        **dict.fromkeys(("rows", "positives"), row_count_schema),
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


def _json_line(fields: Mapping[str, Any]) -> str:
    line = {"schema": LINE, **fields}
    text = json.dumps(line, sort_keys=True, allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a name with an unpaired surrogate
        text = json.dumps(line, sort_keys=True, allow_nan=False)
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
    kind, _, version_text = str(fields.get("schema", "")).partition("/")
    if kind != LINE_KIND or not (version_text.isascii() and version_text.isdigit()):
        raise ValueError("is not a line of a history: the key 'schema' is missing or unknown")
    if int(version_text) > LINE_VERSION:
        raise NewerVersionError(f"{kind}/{version_text} is too new for this program ({LINE})")
    schema = _accepted_schema() if "accepted" in fields else _line_schema()
    if violation := schema.violation(fields):
        raise ValueError(str(violation))
    if "accepted" in fields:
        return read_record(AcceptedLabel, fields)
    measures = {
        name: read_record(HistoryMeasure, measure) for name, measure in fields["measures"].items()
    }
    parsed_fields = {
        "data": tuple(fields.get("data", ())),
        "settings": settings_of(fields.get("settings", "")),
        "measures": measures,
    }
    return read_record(HistoryLine, {**fields, **parsed_fields})


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
        """Return the lines; those accepted are above the entry, after a merge anywhere."""
        all_lines = [
            history_entry for history_entry in entries if isinstance(history_entry, HistoryLine)
        ]
        lines: dict[tuple[SeriesKey, str], HistoryLine] = {}
        accepted: dict[SeriesKey, HistoryLine] = {}
        for history_entry in entries:
            if isinstance(history_entry, HistoryLine):
                lines[series_key(history_entry), history_entry.label] = history_entry
            else:
                accepted |= _labelled_lines(lines.values(), history_entry) or _labelled_lines(
                    all_lines, history_entry
                )
        return cls(name, sha256, tuple(entries), tuple(lines.values()), accepted)

    def lines_of_command(self, command: str) -> list[HistoryLine]:
        """Return the lines of a command; UsageError where it has none."""
        lines = [line for line in self.lines if line.command == command]
        if not lines:
            commands = sorted({line.command for line in self.lines})
            message = f"has no line of {command}"
            message += f", only of {list_names(commands)}" if commands else ""
            hint = (
                "add a line: "
                f"{COMMAND}clfeval {command} TABLE --append {self.name} --label LABEL{END}"
            )
            raise UsageError.new(message, CODE, self.name, hint=hint)
        return lines

    def labels(self, command: str) -> list[str]:
        """Return the labels of a command in the order of time; UsageError where it has no line."""
        return list(dict.fromkeys(line.label for line in self.lines_of_command(command)))

    def up_to_label(self, command: str, label: str) -> HistoryLines:
        """Return the history of a command up to this label."""
        labels = self.labels(command)
        included_labels = labels[: labels.index(label) + 1]
        entries = [
            history_entry
            for history_entry in self.entries
            if history_entry.command == command
            and (
                history_entry.label
                if isinstance(history_entry, HistoryLine)
                else history_entry.accepted
            )
            in included_labels
        ]
        return HistoryLines.from_entries(self.name, self.sha256, entries)


def _labelled_lines(
    lines: Iterable[HistoryLine], accepted: AcceptedLabel
) -> dict[SeriesKey, HistoryLine]:
    """Return the last line of each series at an accepted label."""
    label = (accepted.command, accepted.accepted)
    return {series_key(line): line for line in lines if (line.command, line.label) == label}


def series_key(line: HistoryLine) -> SeriesKey:
    """Return the key that lines of one model share over labels: command, run and model."""
    return line.command, line.run, line.model


def read_history(name: str) -> HistoryLines:
    """Return a history; UsageError names every invalid line and its problem."""
    try:
        file_mode = os.stat(name).st_mode
        if stat.S_ISCHR(file_mode) or stat.S_ISBLK(file_mode):  # some never end
            hint = "write its content into a file"
            raise UsageError.new(f"cannot read '{name}': it is a device", CODE, hint=hint)
        content = Path(name).read_bytes()
    except OSError as error:
        raise UsageError.new(f"cannot read '{name}': {error.strerror}", CODE) from error
    entries: list[tuple[int, HistoryEntry]] = []
    problems: list[Problem] = []
    hints: set[str] = set()
    for line_number, line_text in enumerate(content.split(b"\n"), 1):
        if not line_text.strip():
            continue
        try:
            entries.append((line_number, parse_line(line_text.decode())))
        except UnicodeDecodeError:
            problems.append(Problem("is not UTF-8", CODE, name, line_number))
        except ValueError as error:
            problems.append(Problem(str(error), CODE, name, line_number))
            hints.add(
                MERGED
                if line_text.startswith(CONFLICTS)
                else UPDATE
                if isinstance(error, NewerVersionError)
                else REMOVE
            )
    if problems and not entries and LINE_KIND.encode() not in content:
        hint = f"create one with {COMMAND}clfeval report TABLE --append FILE.jsonl{END}"
        raise UsageError.new("not a history file", CODE, name, hint=hint)
    problems += _unknown_label_problems(name, entries)
    if problems:
        hint = UPDATE if hints == {UPDATE} else REMOVE
        raise UsageError(problems, hint=MERGED if MERGED in hints else hint)
    lines = [line for _, line in entries]
    return HistoryLines.from_entries(name, sha256(content).hexdigest(), lines)


def _unknown_label_problems(
    name: str, entries: Sequence[tuple[int, HistoryEntry]]
) -> Iterator[Problem]:
    """Yield a problem for each accepted label that has no line; entries: with line numbers."""
    known_labels = {
        (line.command, line.label) for _, line in entries if isinstance(line, HistoryLine)
    }
    for line_number, line in entries:
        if isinstance(line, AcceptedLabel) and (line.command, line.accepted) not in known_labels:
            message = f"accepts '{line.accepted}', which has no line of {line.command}"
            yield Problem(message, CODE, name, line_number)


def check_target(name: str, inputs: Sequence[str]) -> None:
    """Refuse a history that cannot be appended to, before anything is computed; UsageError."""
    if name in ProtectedFiles(inputs):
        raise bad_option(f"{OPTION}--append{END} '{name}' names the input table")
    _lock_module()
    path = os.path.realpath(name)
    folder = os.path.dirname(path)
    obstacle = ""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        obstacle = "it is not a regular file"
    elif not os.path.isdir(folder):
        obstacle = f"the folder '{os.path.dirname(name)}' does not exist"
    elif not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        obstacle = os.strerror(EACCES)
    if obstacle:
        raise UsageError.new(f"cannot append to '{name}': {obstacle}", "output")
    if os.path.exists(path):
        read_history(name)


def append_entries(name: str, entries: Iterable[HistoryEntry]) -> int:
    """Append lines to a history under its lock, all or none; return their number.

    The file is replaced atomically. Raises UsageError where the last line is cut short, the disk is
    full, or locks are not supported.
    """
    line_texts = [line.text() for line in entries]
    path = Path(os.path.realpath(name))
    try:
        with _lock_file(path) as handle:
            old_content = _check_last_line(path.read_bytes(), name)
            with closing(Draft(path)) as draft:
                draft.stream.buffer.write(old_content + "".join(line_texts).encode())
                draft.stream.flush()
                os.fsync(draft.stream.fileno())
                draft.replace_target(stat.S_IMODE(os.fstat(handle).st_mode))
            _sync_folder(path.parent)
    except OSError as error:
        raise UsageError.new(f"cannot append to '{name}': {error.strerror}", "output") from error
    return len(line_texts)


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
        message = "appending to a history needs file locks, which this system lacks"
        raise UsageError.new(message, "output") from None


def _check_last_line(content: bytes, name: str) -> bytes:
    """Return the file with a newline at its end; UsageError where its last line is incomplete."""
    if not content or content.endswith(b"\n"):
        return content
    lines = content.split(b"\n")
    try:
        json.loads(lines[-1])
    except ValueError:
        line_number = len(lines)
        hint = f"a write was interrupted: remove line {line_number}"
        raise UsageError.new(
            "the last line is incomplete", CODE, name, line_number, hint=hint
        ) from None
    return content + b"\n"


def _sync_folder(folder: Path) -> None:
    """Flush a new file name to the disk, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
