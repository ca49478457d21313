"""How much a run tries: the gate's few examples, or with --full all there is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

GATE = 10  # examples of a property in the gate

settings.register_profile("gate", deadline=None, max_examples=GATE, derandomize=True)
settings.register_profile("full", deadline=None)


def full() -> bool:
    """Tell whether everything is asked for."""
    return settings.get_current_profile_name() == "full"


def examples(most: int, *, gate: int = GATE, **others: Any) -> settings:
    """Ask for so many examples of a property, of which the gate tries the first few."""
    return settings(max_examples=most if full() else min(most, gate), **others)


def thinned(grid: Iterable[Any], gate: Collection[Any]) -> list[Any]:
    """Return the grid of a test; what is not among the gate's own is slow."""
    return [
        one
        if one in gate
        else pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.slow)
        for one in grid
    ]
