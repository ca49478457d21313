"""The record of one measure: its names, which way is better, and its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure's record; `best` says which way is better, `low` and `high` are its range.

    A measure whose best value is zero errs on either side of it. An invariant one does not change
    with the class ratio while sensitivity and specificity stay.
    """

    id: str
    title: str
    best: Literal["max", "min", "zero"]
    low: float
    high: float
    formula: str
    undefined: str
    source: str
    aliases: tuple[str, ...] = ()
    invariant: bool = False

    @property
    def arrow(self) -> str:
        """The direction sign of table headers."""
        return {"max": "↑", "min": "↓", "zero": "→0"}[self.best]
