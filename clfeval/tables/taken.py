"""How a table was read: what every column is taken for, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """A column of a table, what it is taken for, and why."""

    column: str
    role: str
    why: str


class Read(Protocol):
    """A table that was opened, and says how it was read."""

    def described(self) -> str:
        """Say it in one line."""

    def taken(self) -> Sequence[ColumnRole]:
        """Say it column by column."""


Facts = Mapping[str, object]  # what was counted of a table, by what it is
