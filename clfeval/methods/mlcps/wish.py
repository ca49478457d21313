"""A wish: what is wanted of one metric's raw values, and what they are worth by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clfeval.measures import desirability

Floats = NDArray[np.float64]
Goal = Literal["maximize", "minimize", "target", "box", "custom"]

SHOWN_POINTS = 6


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of one metric; only the numbers its goal takes are set.

    gamma: one exponent for maximize and minimize, two for target, below it and above it.
    assumed: which of low and high were not given and are ends of the measure's range.
    """

    metric: str
    goal: Goal
    low: float | None = None
    target: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    gamma: tuple[float, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    weight: float = 1.0
    assumed: tuple[str, ...] = field(default=(), compare=False)

    def of(self, x: ArrayLike) -> Floats:
        """Return d of raw values, in their shape, 0..1; NaN for NaN."""
        if self.goal == "box":
            return desirability.box(x, self.low, self.high, above=self.above, below=self.below)
        if self.goal == "custom":
            return desirability.custom(x, self.points)
        low, high = cast(float, self.low), cast(float, self.high)
        if self.goal == "target":
            aim, (rising, falling) = cast(float, self.target), self.gamma
            return desirability.target(x, low, aim, high, gamma_low=rising, gamma_high=falling)
        ramp = desirability.maximize if self.goal == "maximize" else desirability.minimize
        return ramp(x, low, high, gamma=self.gamma[0])

    def described(self) -> str:
        """Say in words what is wanted, for example `minimize from 0.1 down to 0`."""
        n = {name: f"{end:.10g}" for name, end in self.as_dict().items() if isinstance(end, float)}
        if self.goal == "custom":
            corners = [f"({x:.10g}, {d:.10g})" for x, d in self.points]
            if len(corners) > SHOWN_POINTS:
                corners[2:-1] = [f"... {len(corners) - 3} more ..."]
            return f"custom {' '.join(corners)}"
        if self.goal == "box":
            words = {"low": "from", "above": "above", "high": "up to", "below": "below"}
            return "box " + " and ".join(f"{words[k]} {n[k]}" for k in words if k in n)
        text = {
            "maximize": "maximize from {low} to {high}",
            "minimize": "minimize from {high} down to {low}",
            "target": "target {target} within {low} to {high}",
        }[self.goal].format(**n)
        if len(set(self.gamma)) == 2:
            return text + ", γ {:.10g} below it and {:.10g} above".format(*self.gamma)
        return text if self.gamma[0] == 1 else f"{text}, γ {self.gamma[0]:.10g}"

    def as_dict(self) -> dict[str, object]:
        """Return the wish as a mapping that `wishes_of` reads back."""
        entry: dict[str, object] = {"goal": self.goal}
        for name in ("low", "target", "high", "above", "below"):
            if getattr(self, name) is not None:
                entry[name] = getattr(self, name)
        if self.gamma:
            entry["gamma"] = self.gamma[0] if len(self.gamma) == 1 else list(self.gamma)
        if self.points:
            entry["points"] = [list(point) for point in self.points]
        return {**entry, "weight": self.weight}


def desirabilities(wishes: Sequence[Wish], columns: Mapping[str, ArrayLike]) -> Floats:
    """Return d of every wish: columns of shape (...,) by metric give (..., m), m wishes."""
    return np.stack([wish.of(columns[wish.metric]) for wish in wishes], axis=-1)
