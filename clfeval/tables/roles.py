"""Roles: what the user said about the columns; everything unsaid is recognised from the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from clfeval.errors import Problem, UsageError
from clfeval.tables.layouts import LayoutName as LayoutName

Kind = Literal["label", "score"]
Missing = Literal["error", "drop"]
LAYOUTS: tuple[str, ...] = get_args(LayoutName)

DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Roles:
    """Column roles and reading rules, with the same meaning in every command.

    `thresholds` maps a model to its threshold; the key None holds the one for all others.
    """

    truth: str | None = None
    models: tuple[str, ...] = ()
    id: str | None = None
    positive: str | None = None
    labels: tuple[str, ...] = ()
    kind: Kind | None = None
    thresholds: Mapping[str | None, float] = field(default_factory=dict)
    weight: str | None = None
    by: tuple[str, ...] = ()
    run: str | None = None  # also in `by`: an observation stands once in each run
    missing: Missing = "error"
    null_values: tuple[str, ...] = ()
    layout: LayoutName | None = None

    def check(self) -> None:
        """Raise UsageError for words no option knows."""
        for option, value, known in (
            ("--missing", self.missing, get_args(Missing)),
            ("--kind", self.kind, (None, *get_args(Kind))),
            ("--layout", self.layout, (None, *LAYOUTS)),
        ):
            if value not in known:
                names = ", ".join(name for name in known if name)
                what = f"{option} is one of {names}, not '{value}'"
                raise UsageError(Problem(what, "bad-option"))

    def threshold(self, model: str) -> float:
        """Return the threshold in force for a model: scores at or above it are positive."""
        return self.thresholds.get(model, self.thresholds.get(None, DEFAULT_THRESHOLD))

    def has_threshold(self, model: str) -> bool:
        """Tell whether the user gave this model's threshold."""
        return model in self.thresholds or None in self.thresholds
