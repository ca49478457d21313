"""YAML values: scalars by the core schema of YAML 1.2, and mappings and lists from parser events.

YAML 1.1, which PyYAML follows, reads `no` as False, 1e-3 as text, 12:30 as 750 and 010 as 8, and
keeps the last of two equal keys in silence. Here only its parser is used, and what an event means
is decided below: no file can build anything but plain values, and keys are text as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from clfeval.errors import Problem, UsageError, quoted

CODE = "configuration"
MOST_VALUES = 100_000  # with every alias written out
DEEPEST = 50

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
class Spot:
    """Line and column, from 1, of a key, an item or a whole value, and what is inside."""

    line: int
    column: int
    inside: dict[str | int, Spot] = field(default_factory=dict)


def plain(text: str) -> bool | int | float | str | None:
    """Return what a scalar without quotes stands for; all that the core schema lacks is text.

    Source: YAML 1.2.2, section 10.3.2.
    """
    if text in _WORDS:
        return _WORDS[text]
    for pattern, base in _BASES:
        # longer ones are refused by int() itself, and no number of ours has as many digits
        if re.fullmatch(pattern, text) and len(text) <= 400:
            return int(text, base)
    if re.fullmatch(_FLOAT, text):
        return float(text)
    if re.fullmatch(_NO_FLOAT, text):
        return float(text.replace(".", ""))
    return text


@dataclass(slots=True)
class Composer:
    """Turns the events of one file into a value; keeps problems that do not end the reading."""

    name: str
    events: Iterator[Any]
    problems: list[Problem] = field(default_factory=list)
    hint: str | None = None
    values: int = 0
    anchors: dict[str, tuple[Value, Spot, int] | None] = field(default_factory=dict)

    def document(self) -> tuple[Value, Spot]:
        """Return the value of the only document; UsageError with all problems of its keys."""
        next(self.events)  # the start of the stream
        if kind(next(self.events)) == "StreamEnd":
            raise UsageError(Problem("the file holds nothing but comments", CODE, self.name))
        value, spot = self.compose(next(self.events), 0)
        next(self.events)  # the end of the document
        after = next(self.events)
        if kind(after) != "StreamEnd":
            self.stop(after, "a second document starts", "one file, one document")
        if self.problems:
            raise UsageError(self.problems, hint=self.hint)
        return value, spot

    def compose(self, event: Any, depth: int) -> tuple[Value, Spot]:
        """Return the value that starts with this event, taking all of its events."""
        if depth > DEEPEST:
            self.stop(event, f"nested more than {DEEPEST} deep")
        before = self.values
        self.count(event, 1)
        if kind(event) == "Alias":
            return self._repeated(event)
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.complain(event, f"tags are not read: {quoted(tag)}", "for text use 'quotes'")
        if event.anchor is not None:
            self.anchors[event.anchor] = None  # begun, not whole
        spot = spot_of(event)
        value: Value
        if kind(event) == "Scalar":
            value = event.value if event.style else plain(event.value)
        elif kind(event) == "SequenceStart":
            value = self._items(spot, depth)
        else:
            value = self._pairs(spot, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = value, spot, self.values - before
        return value, spot

    def _items(self, spot: Spot, depth: int) -> list[Value]:
        items: list[Value] = []
        while kind(event := next(self.events)) != "SequenceEnd":
            value, inner = self.compose(event, depth + 1)
            spot.inside[len(items)] = inner
            items.append(value)
        return items

    def _pairs(self, spot: Spot, depth: int) -> dict[str, Value]:
        pairs: dict[str, Value] = {}
        while kind(event := next(self.events)) != "MappingEnd":
            self.compose(event, depth + 1)
            value, inner = self.compose(next(self.events), depth + 1)
            if kind(event) != "Scalar":
                self.complain(event, "a key must be one text, written out")
            elif event.value in pairs:
                first = f"{self.name}:{spot.inside[event.value].line}"
                first += f":{spot.inside[event.value].column}"
                what = f"key {quoted(event.value)} is given twice, first at {first}"
                self.complain(event, what, "keep one of the two")
            elif event.value == "<<" and not event.style:
                hint = "write the keys out; a whole value is repeated by &name and *name"
                self.complain(event, "'<<' merges nothing in YAML 1.2", hint)
            else:
                pairs[event.value] = value
                here = spot_of(event)
                spot.inside[event.value] = Spot(here.line, here.column, inner.inside)
        return pairs

    def _repeated(self, event: Any) -> tuple[Value, Spot]:
        here = spot_of(event)
        found = self.anchors.get(event.anchor)
        if found is None:
            why = "stands inside itself" if event.anchor in self.anchors else "is not defined above"
            self.complain(event, f"*{event.anchor} {why}", "a text that starts with * needs quotes")
            return None, here
        value, spot, values = found
        self.count(event, values)
        return value, Spot(here.line, here.column, spot.inside)

    def count(self, event: Any, values: int) -> None:
        """Count values, aliases written out; UsageError beyond what a configuration can hold."""
        self.values += values
        if self.values > MOST_VALUES:
            self.stop(event, f"more than {MOST_VALUES:,} values, aliases written out")

    def complain(self, event: Any, what: str, hint: str | None = None) -> None:
        """Keep a problem at an event; the first hint is the one given."""
        here = spot_of(event)
        self.problems.append(Problem(what, CODE, f"{self.name}:{here.line}:{here.column}"))
        self.hint = self.hint or hint

    def stop(self, event: Any, what: str, hint: str | None = None) -> None:
        """Raise UsageError for what cannot be read on from."""
        self.complain(event, what)
        raise UsageError(self.problems[-1], hint=hint)


def kind(event: Any) -> str:
    """Return the name of an event's kind, such as Scalar."""
    return type(event).__name__.removesuffix("Event")


def spot_of(event: Any) -> Spot:
    """Return where an event starts."""
    return Spot(event.start_mark.line + 1, event.start_mark.column + 1)
