"""Populations as callers name them: shares of positives, or odds as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clfeval.api.roles import Names
from clfeval.measures.population import Population


def populations_of(prevalence: float | Sequence[float], odds: Names) -> tuple[Population, ...]:
    """Return the populations in the order given, each once; UsageError for what is none."""
    found = [
        *(Population.of_prevalence(float(share)) for share in _listed(prevalence)),
        *(Population.of_odds(str(text)) for text in _listed(odds)),
    ]
    return tuple({one.ratio: one for one in found}.values())


def _listed(values: Any) -> list[Any]:
    """Return one value, or several of whatever kind, as a list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [] if values is None else [values]
    return list(values)
