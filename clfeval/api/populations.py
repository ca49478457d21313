"""Populations as callers name them: shares of positives, or odds as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clfeval.api.numbers import number
from clfeval.api.roles import Names
from clfeval.measures.population import Population


def populations_of(prevalence: float | Sequence[float], odds: Names) -> tuple[Population, ...]:
    """Return the populations in the order given, each once; UsageError for what is none."""
    found = [
        *(Population.of_prevalence(number("--prevalence", share)) for share in _listed(prevalence)),
        *(Population.of_odds(str(text)) for text in _listed(odds)),
    ]
    out: list[Population] = []
    for one in found:
        # rows are told apart by their odds as written
        if not any(one.ratio == other.ratio or one.odds == other.odds for other in out):
            out.append(one)
    return tuple(out)


def _listed(values: Any) -> list[Any]:
    """Return one value, or several of whatever kind, as a list."""
    if values is None:
        return []
    try:
        return [values] if isinstance(values, str) else list(values)
    except TypeError:
        return [values]
