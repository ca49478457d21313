"""Entries of a configuration: keys and numbers checked one by one, all that is wrong kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from numbers import Real
from typing import Literal, TypeAlias

from clfeval.errors import Problem, UsageError, quoted, suggestion

CODE = "configuration"
LONGEST = 40  # of a text in a message
Path: TypeAlias = "tuple[str | int, ...]"
Bound = Literal["", ">= 0", "> 0"]


@dataclass(slots=True)
class Entries:
    """Checks entries; `place` says for messages where the key or item at a path stands."""

    place: Callable[..., str]
    problems: list[Problem] = field(default_factory=list)
    hint: str | None = None

    def wrong(self, path: Path, what: str, hint: str | None = None) -> None:
        """Keep a problem; the first hint is the one given."""
        self.problems.append(Problem(what, CODE, self.place(*path)))
        self.hint = self.hint or hint

    def done(self) -> None:
        """Raise UsageError with all that is wrong, if anything is."""
        if self.problems:
            raise UsageError(self.problems, hint=self.hint)

    def keys(self, path: Path, entry: Mapping[str, object], known: Sequence[str], who: str) -> None:
        """Say of every key that is not known which are."""
        for key, value in entry.items():
            if key not in known:
                name = str(key)
                hint = suggestion(name, known) or f"{who} takes {', '.join(known)}"
                if ":" in name and value is None:
                    hint = "a space goes after the ':'"
                self.wrong((*path, key), f"{who} takes no {quoted(name)}", hint)

    def number(self, path: Path, name: str, value: object, bound: Bound = "") -> float | None:
        """Return a finite number within the bound; None for anything else."""
        if not isinstance(value, Real) or isinstance(value, bool):
            self.wrong(path, f"{name} is {shown(value)}, not a number", _remedy(value))
            return None
        try:
            number = float(value)
        except OverflowError:
            number = inf
        if not isfinite(number):
            self.wrong(path, f"{name} is {number:g}, not a finite number")
        elif (number < 0 and bound) or (number == 0 and bound == "> 0"):
            what = "is negative" if bound == ">= 0" else "is not above 0"
            self.wrong(path, f"{name} {number:.10g} {what}")
        else:
            return number
        return None

    def pair(
        self, path: Path, name: str, value: object, names: tuple[str, str], bound: Bound = ""
    ) -> tuple[float, float] | None:
        """Return two finite numbers of a list; None for anything else."""
        both = items_of(value)
        if both is None or len(both) != 2:
            wanted = f"[{', '.join(names)}]"
            count = "" if both is None else f" of {len(both)}"
            self.wrong(path, f"{name} is {shown(value)}{count}, not a list of two: {wanted}")
            return None
        first, second = (
            self.number((*path, i), f"{name} ({part})", item, bound)
            for i, (part, item) in enumerate(zip(names, both, strict=True))
        )
        return None if first is None or second is None else (first, second)


def items_of(value: object) -> list[object] | None:
    """Return the items of a list, a tuple or an array; None for anything else."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else None


def shown(value: object) -> str:
    """Name a value for a message as its file has it."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        line = " ".join(value.split())
        return quoted(line if len(line) <= LONGEST else line[:LONGEST].rstrip() + "...")
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Real):
        return f"{value}"
    return "a list" if items_of(value) is not None else f"a {type(value).__name__}"


def _remedy(value: object) -> str | None:
    """Return how a number is written that a text was meant to be."""
    text = value.strip() if isinstance(value, str) else ""
    percent = text.endswith("%")
    try:
        number = float(text.rstrip("% ")) / (100 if percent else 1)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    return f"write {number:.10g}" + ("" if percent else ", a plain number without quotes")
