"""What MARS is asked for, checked before any table is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clfeval.errors import bad_option
from clfeval.methods.estimates import check_level

Target = Literal["positive", "negative"]
Rule = Literal["all", "any"]
Interval = Literal["exact", "none"]
Sweep = Literal["threshold", "top"]


@dataclass(frozen=True, slots=True)
class MarsOptions:
    """What to compute, for which class, under which rule."""

    target: Target = "positive"
    rule: Rule = "all"
    level: float = 0.95
    interval: Interval = "exact"
    subsets: int | Literal["all"] | None = None
    best: int | None = None
    max_effort: float | None = None
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    top: str | None = None
    sweep: Sweep | None = None
    points: int | Literal["all"] | None = None
    lists: tuple[str, ...] = ()  # of found, missed

    def check(self) -> None:
        """Raise UsageError for values no computation accepts."""
        allowed: dict[str, tuple[object, tuple[str | None, ...]]] = {
            "target": (self.target, ("positive", "negative")),
            "occlusion": (self.rule, ("all", "any")),
            "interval": (self.interval, ("exact", "none")),
            "sweep": (self.sweep, (None, "threshold", "top")),
        }
        for name, (value, choices) in allowed.items():
            if value not in choices:
                known = ", ".join(choice for choice in choices if choice)
                raise bad_option(f"--{name} is one of {known}, not '{value}'")
        for item in self.lists:
            if item not in ("found", "missed"):
                raise bad_option(f"--list is one of found, missed, not '{item}'")
        if self.points is not None and self.sweep is None:
            raise bad_option("--points says how many cuts a sweep lists: add --sweep")
        for name, members in self.groups:
            if not members:
                raise bad_option(f"--group {name} has no members")
        check_level(self.level)
        counts = {"subsets": self.subsets, "best": self.best, "points": self.points}
        for name, number in counts.items():
            if number not in (None, "all") and (not isinstance(number, int) or number < 1):
                raise bad_option(f"--{name} '{number}' is not a whole number from 1 up")
        if self.max_effort is not None and not self.max_effort >= 0:
            raise bad_option(f"--max-effort {self.max_effort} is no number of rows")

    @property
    def confidence(self) -> float | None:
        """The level, None where no intervals are wanted."""
        return self.level if self.interval == "exact" else None

    @property
    def found_name(self) -> str:
        """The column of exclusive finds: true positives, or true negatives."""
        return "exclusive_tp" if self.target == "positive" else "exclusive_tn"

    @property
    def missed_name(self) -> str:
        """The column of exclusive misses: false negatives, or false positives."""
        return "exclusive_fn" if self.target == "positive" else "exclusive_fp"
