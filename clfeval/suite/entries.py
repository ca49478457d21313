"""A value of a YAML file with its place, and all that is wrong with such values, told at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from clfeval.errors import ClfevalError, Problem, UsageError
from clfeval.yaml import CODE, Value, YamlFile

TOLD = 20  # problems that are told one by one, each with its hint

Keypath: TypeAlias = "tuple[str | int, ...]"


class Filled(str):
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
        """Yield the entries of a mapping, but those whose key begins with `x-`."""
        for key, one in self.inside():
            if isinstance(key, str) and not key.startswith("x-"):
                yield key, one


@dataclass(slots=True)
class Wrong:
    """What is wrong in the files of a batch, each thing once."""

    parts: list[UsageError] = field(default_factory=list)
    told: set[tuple[str | None, str]] = field(default_factory=set)

    def say(self, where: Node | str, what: str, hint: str | None = None) -> None:
        """Keep what is wrong at a place."""
        place = where if isinstance(where, str) else where.place
        self.take(UsageError.of(what, CODE, place, hint=hint))

    def take(self, error: ClfevalError, where: Node | None = None) -> None:
        """Keep an error; where: of those of its problems that tell no place."""
        fresh: list[Problem] = []
        for one in error.problems:
            problem = replace(one, file=where.place) if where and one.file is None else one
            if (problem.file, problem.what) not in self.told:
                self.told.add((problem.file, problem.what))
                fresh.append(problem)
        if fresh:
            self.parts.append(UsageError(fresh, hint=error.hint))

    def stop(self) -> None:
        """Raise UsageError with everything, if there is anything."""
        if not self.parts:
            return
        shown, rest = self.parts[:TOLD], self.parts[TOLD:]
        if rest:
            left = [problem for part in rest for problem in part.problems]
            shown = [*shown, UsageError(left)]
        raise shown[0] if len(shown) == 1 else UsageError.together(shown)
