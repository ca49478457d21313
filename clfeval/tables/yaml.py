"""YAML files of one YAML 1.2 document: plain values, with line and column of each key.

Only PyYAML's parser is used: its resolver follows YAML 1.1 (`no` is False, 010 is 8) and keeps the
last of two equal keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from clfeval.errors import NO_SUCH_FILE, Problem, UsageError, quote_name, suggestion
from clfeval.records import dataclass, field, replace

CODE = "configuration"
MOST_VALUES = 100_000  # with every alias written out
DEEPEST_LEVEL = 50

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BASES = ((r"[-+]?[0-9]+", 10), (r"0o[0-7]+", 8), (r"0x[0-9a-fA-F]+", 16))
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_NO_FLOAT = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """Line and column, from 1, of a key, item or value; text: of an unquoted scalar."""

    line: int
    column: int
    positions: dict[str | int, SourcePosition] = field(default_factory=dict)
    text: str | None = None


def plain_scalar_value(text: str) -> bool | int | float | str | None:
    """Return the value of an unquoted scalar; text if the core schema has no other type for it.

    Source: YAML 1.2.2, section 10.3.2.
    """
    if text in _WORDS:
        return _WORDS[text]
    for pattern, base in _BASES:
        # int() refuses longer ones itself, and no option needs as many digits
        if re.fullmatch(pattern, text) and len(text) <= 400:
            return int(text, base)
    if re.fullmatch(_FLOAT, text):
        return float(text)
    if re.fullmatch(_NO_FLOAT, text):
        return float(text.replace(".", ""))
    return text


@dataclass(slots=True)
class Composer:
    """Builds a value from the events of one file; collects problems that do not stop it."""

    name: str
    events: Iterator[Any]
    problems: list[Problem] = field(default_factory=list)
    hint: str | None = None
    values: int = 0
    anchors: dict[str, tuple[Value, SourcePosition, int] | None] = field(default_factory=dict)

    def document(self) -> tuple[Value, SourcePosition]:
        """Return the value of the only document; problems with its keys are collected."""
        next(self.events)  # the start of the stream
        if event_kind(next(self.events)) == "StreamEnd":
            raise UsageError.new("the file contains only comments", CODE, self.name)
        value, position = self.compose(next(self.events), 0)
        next(self.events)  # the end of the document
        next_event = next(self.events)
        if event_kind(next_event) != "StreamEnd":
            self.stop(next_event, "a second document starts", "keep one document per file")
        return value, position

    def compose(self, event: Any, depth: int) -> tuple[Value, SourcePosition]:
        """Return the value that starts with an event, consuming all of its events."""
        if depth > DEEPEST_LEVEL:
            self.stop(event, f"nested more than {DEEPEST_LEVEL} levels deep")
        count_before = self.values
        self.count(event, 1)
        if event_kind(event) == "Alias":
            return self._repeated(event)
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.add_problem(event, f"tags are not supported: {quote_name(tag)}", "quote the text")
        if event.anchor is not None:
            self.anchors[event.anchor] = None  # begun, not complete
        position = event_position(event)
        value: Value
        if event_kind(event) == "Scalar":
            value = event.value if event.style else plain_scalar_value(event.value)
            position = position if event.style else replace(position, text=event.value)
        elif event_kind(event) == "SequenceStart":
            value = []
            while event_kind(item_event := next(self.events)) != "SequenceEnd":
                member, position.positions[len(value)] = self.compose(item_event, depth + 1)
                value.append(member)
        else:
            value = self._pairs(position, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = value, position, self.values - count_before
        return value, position

    def _pairs(self, mapping_position: SourcePosition, depth: int) -> dict[str, Value]:
        """Return the pairs of a mapping; add the positions of its keys to `mapping_position`."""
        pairs: dict[str, Value] = {}
        while event_kind(key_event := next(self.events)) != "MappingEnd":
            self.compose(key_event, depth + 1)
            value, inner_position = self.compose(next(self.events), depth + 1)
            if event_kind(key_event) != "Scalar":
                self.add_problem(key_event, "a key must be a single text")
            elif key_event.value in pairs:
                first_place = f"{self.name}:{mapping_position.positions[key_event.value].line}"
                first_place += f":{mapping_position.positions[key_event.value].column}"
                message = (
                    f"key {quote_name(key_event.value)} is given twice, first at {first_place}"
                )
                self.add_problem(key_event, message, "keep one of the two")
            elif key_event.value == "<<" and not key_event.style:
                hint = "write the keys out, or repeat a whole value with &name and *name"
                self.add_problem(key_event, "merge keys ('<<') are not supported", hint)
            else:
                pairs[key_event.value] = value
                key_position = event_position(key_event)
                mapping_position.positions[key_event.value] = replace(
                    inner_position, line=key_position.line, column=key_position.column
                )
        return pairs

    def _repeated(self, event: Any) -> tuple[Value, SourcePosition]:
        """Return the value of the anchor that an alias names, at the position of the alias."""
        position = event_position(event)
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            reason = "contains itself" if event.anchor in self.anchors else "is not defined above"
            message = f"{quote_name(f'*{event.anchor}')} {reason}"
            self.add_problem(event, message, "quote a text that starts with *")
            return None, position
        value, anchor_position, value_count = anchor
        self.count(event, value_count)
        return value, replace(anchor_position, line=position.line, column=position.column)

    def count(self, event: object, value_count: int) -> None:
        """Count values, with aliases expanded; UsageError above the limit of a configuration."""
        self.values += value_count
        if self.values > MOST_VALUES:
            self.stop(event, f"more than {MOST_VALUES:,} values after expanding aliases")

    def add_problem(self, event: object, message: str, hint: str | None = None) -> None:
        """Collect a problem at an event; the first hint is kept."""
        position = event_position(event)
        self.problems.append(
            Problem(message, CODE, f"{self.name}:{position.line}:{position.column}")
        )
        self.hint = self.hint or hint

    def stop(self, event: object, message: str, hint: str | None = None) -> None:
        """Raise UsageError for a problem that stops the reading."""
        self.add_problem(event, message)
        raise UsageError(self.problems[-1], hint=hint)


def event_kind(event: object) -> str:
    """Return the kind of an event, such as Scalar."""
    return type(event).__name__.removesuffix("Event")


def event_position(event: Any) -> SourcePosition:
    """Return the position where an event starts."""
    return SourcePosition(event.start_mark.line + 1, event.start_mark.column + 1)


MOST_BYTES = 2**20

# start of a PyYAML message, its meaning, a hint
_COMPLAINTS: tuple[tuple[str, str, str | None], ...] = (
    (r"mapping values are", "':' is not allowed here", "check the indentation, or quote the text"),
    (r"found character '\\t'", "a key or value starts with a tab", "indent with spaces"),
    (r"found character", "a text cannot start with this character", "quote the text"),
    (
        r"expected alphabetic or numeric",
        "an alias has no name",
        "quote a text that starts with * or &",
    ),
    (r"sequence entries are", "'-' is not allowed here", "start the list on a new line"),
    (r"expected the node content", "a value cannot start like this", "quote the text"),
    (r"found unknown escape", "unknown escape sequence in double quotes", "use single quotes"),
    (r"found undefined tag", "tags are not supported", "quote the text"),
    (r"could not find expected ':'", "a key has no ':'", "write key: value with a space after ':'"),
    (
        r"expected <block end>",
        "this line does not fit the lines above",
        "align the keys of a mapping, and the items of a list, in one column",
    ),
    (r"found unexpected end of", "this quote is not closed", None),
    (
        r"expected ',' or",
        "this bracket is not closed, or a ',' is missing",
        "quote texts that contain a bracket or a comma",
    ),
    (r"expected '<document start>'", "there is text after the end of the value", None),
    (r"special characters", "control characters are not allowed", "write \\x07 in double quotes"),
)
# for these the start of the construct is more helpful than the place of the error
_BEGUN_EARLIER = "could not find expected ':'|found unexpected end of|expected ',' or"


@dataclass(frozen=True, slots=True)
class YamlFile:
    """A file's single document: `value` holds plain values only, keys as text."""

    name: str
    value: Value
    spot: SourcePosition

    def place(self, *path: str | int) -> str:
        """Return `file:line:column` of a key or item, or of the last existing one on its path."""
        position = self.spot
        for key in path:
            if key not in position.positions:
                break
            position = position.positions[key]
        return f"{self.name}:{position.line}:{position.column}"

    def written(self, *path: str | int) -> str | None:
        """Return the text of an unquoted scalar as written; None for other values."""
        position: SourcePosition | None = self.spot
        for key in path:
            position = None if position is None else position.positions.get(key)
        return None if position is None else position.text

    def problem(self, path: Sequence[str | int], message: str, code: str = CODE) -> Problem:
        """Build the problem of the value at a path."""
        return Problem(message, code, self.place(*path))

    def error_at(
        self, path: Sequence[str | int], message: str, hint: str | None = None
    ) -> UsageError:
        """Build the error of the value at a path."""
        return UsageError(self.problem(path, message), hint=hint)


def read_yaml(
    name: str | os.PathLike[str], collect: Callable[[UsageError], object] | None = None
) -> YamlFile:
    """Read a file that holds one document.

    collect: receives errors of keys, tags and aliases, instead of raising them. Keys are text as
    written; other scalars follow the core schema of YAML 1.2. Refused are tags, merge keys, keys
    given twice, aliases of an enclosing value, a second document.

    Errors: UsageError with file, line and column for all that cannot be read so.
    """
    import yaml

    name = os.fspath(name)
    text = _read_text(name)
    try:
        if len(text) > MOST_VALUES:
            _count_soon(name, text)
        composer = Composer(name, yaml.parse(text, Loader=yaml.SafeLoader))
        file = YamlFile(name, *composer.document())
        if composer.problems:
            error = UsageError(composer.problems, hint=composer.hint)
            if collect is None:
                raise error
            collect(error)
        return file
    except yaml.MarkedYAMLError as error:
        complaint = str(error.problem)
        place = error.problem_mark
        if re.match(_BEGUN_EARLIER, complaint) and error.context_mark:
            place = error.context_mark
        line, column = (place.line + 1, place.column + 1) if place else (1, 1)
    except yaml.reader.ReaderError as error:
        complaint, line, column = error.reason, *_line_and_column(text[: error.position])
    explanations = (
        (meaning, remedy)
        for pattern, meaning, remedy in _COMPLAINTS
        if re.match(pattern, complaint)
    )
    message, hint = next(explanations, (complaint, None))
    raise UsageError.new(f"not valid YAML: {message}", CODE, f"{name}:{line}:{column}", hint=hint)


def _count_soon(name: str, text: str) -> None:
    """Raise early for too many values, with the faster parser in C if there is one."""
    import yaml

    counter = Composer(name, iter(()))
    loader = getattr(yaml, "CSafeLoader", None)
    with suppress(yaml.YAMLError):  # the other parser reports it
        for event in yaml.parse(text, Loader=loader) if loader else ():
            begins_value = event_kind(event) in ("Scalar", "Alias", "SequenceStart", "MappingStart")
            counter.count(event, begins_value)


def _read_text(name: str) -> str:
    """Return the text of a file; UsageError if it cannot be read, is too large, or is empty."""
    path = Path(name)
    if os.path.isdir(path):
        raise UsageError.new("is a directory, not a YAML file", CODE, name)
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        if error.errno in NO_SUCH_FILE:
            raise _missing_file_error(path, name) from error
        raise UsageError.new(f"cannot be read: {error.strerror}", CODE, name) from error
    if len(content) > MOST_BYTES:
        message = "larger than 1 MiB, the limit of a configuration"
        raise UsageError.new(message, CODE, name, hint="is this a table, not a configuration?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _line_and_column(content[: error.start].decode(errors="replace"))
        hint = "save it as UTF-8: iconv -f latin1 -t utf-8 FILE > NEW"
        raise UsageError.new("not UTF-8", CODE, f"{name}:{line}:{column}", hint=hint) from error
    if not text.strip():
        raise UsageError.new("the file is empty", CODE, name)
    return text


def _missing_file_error(path: Path, name: str) -> UsageError:
    """Build the error of a file that is not there, with one of a similar name."""
    folder = path.parent if os.path.isdir(path.parent) else Path()
    names: list[str] = []
    with suppress(OSError):
        names = sorted(os.listdir(folder))
    hint = suggestion(path.name, names, cutoff=0.75)
    return UsageError.new("no such file", "no-such-file", name, hint=hint)


def _line_and_column(text: str) -> tuple[int, int]:
    """Return the line and column, from 1, that follow a text."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")
