"""A value of a YAML file with its place, and all that is wrong with such values, told at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from clfeval.errors import ClfevalError, Problem, UsageError
from clfeval.yaml import CODE, Value, YamlFile

_PLACE = re.compile(r"(.*):(\d+):(\d+)", re.DOTALL)
MAX_ERRORS = 20  # problems that are told one by one, each with its hint

Keypath: TypeAlias = "tuple[str | int, ...]"


class FilledText(str):
    """A text that is one `${name}` and nothing else, filled in: a number where one is wanted."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and the file and the keys it stands under."""

    value: Value
    file: YamlFile
    path: Keypath

    @property
    def place(self) -> str:
        """Where its key stands: `file:line:column`."""
        return self.file.place(*self.path)

    @property
    def written(self) -> str | None:
        """Its text in the file, where it is a scalar without quotes."""
        return self.file.written(*self.path)

    def inside(self) -> Iterator[tuple[str | int, Node]]:
        """Yield the entries of a mapping or list; none of anything else."""
        entries: Sequence[tuple[str | int, Value]] = ()
        if isinstance(self.value, dict):
            entries = [*self.value.items()]
        elif isinstance(self.value, list):
            entries = [*enumerate(self.value)]
        for key, value in entries:
            yield key, replace(self, value=value, path=(*self.path, key))

    def pairs(self) -> Iterator[tuple[str, Node]]:
        """Yield the entries of a mapping."""
        for key, one in self.inside():
            if isinstance(key, str):
                yield key, one

    def meant(self) -> Iterator[tuple[str, Node]]:
        """Yield the entries of a mapping, but for keys that hold anchors: they begin with `x-`."""
        return ((key, one) for key, one in self.pairs() if not key.startswith("x-"))


@dataclass(slots=True)
class BatchErrors:
    """What is wrong in the files of a batch, each thing once."""

    parts: list[UsageError] = field(default_factory=list)
    times: int = 0  # that something was said, again too
    told: set[tuple[str | None, str]] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)  # places where enough is said

    def say(self, where: Node | str, what: str, hint: str | None = None) -> None:
        """Keep what is wrong at a place."""
        place = where if isinstance(where, str) else where.place
        self.take(UsageError.new(what, CODE, place, hint=hint))

    def take(self, error: ClfevalError, where: Node | None = None) -> None:
        """Keep an error; where: of those of its problems that tell no place."""
        self.times += 1
        fresh: list[Problem] = []
        for one in error.problems:
            problem = with_place(one, where.place) if where else one
            seen = (problem.file, problem.what) in self.told or problem.file in self.closed
            if not seen:
                self.told.add((problem.file, problem.what))
                fresh.append(problem)
        if fresh:
            self.parts.append(UsageError(fresh, hint=error.hint))

    def stop(self) -> None:
        """Raise UsageError with everything, if there is anything."""
        if not self.parts:
            return
        parts = sorted(self.parts, key=_error_position)
        shown, rest = parts[:MAX_ERRORS], parts[MAX_ERRORS:]
        if rest:
            left = [problem for part in rest for problem in part.problems]
            shown = [*shown, UsageError(left)]
        raise shown[0] if len(shown) == 1 else UsageError.from_errors(shown)


def with_place(problem: Problem, place: str) -> Problem:
    """Return a problem with a place in a YAML file, if it has none."""
    if _PLACE.fullmatch(problem.file or ""):
        return problem
    named = f"{problem.file}: " if problem.file else ""
    return replace(problem, file=place, what=f"{named}{problem.what}")


def _error_position(error: UsageError) -> tuple[str, int, int]:
    """Return the first place of an error, to sort by."""
    found = _PLACE.fullmatch(error.problems[0].file or "")
    return (found[1], int(found[2]), int(found[3])) if found else ("", 0, 0)
