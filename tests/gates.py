"""Judging a result by one limit, written as on the command line."""

from __future__ import annotations

from typing import Any

from clfeval.api.result import Result
from clfeval.compare.gates.evaluate import evaluate_limits
from clfeval.compare.gates.limits import parse_limit
from clfeval.document import Gate


def gates_of(
    result: Result, kind: Any, text: str, baseline: Result | None = None
) -> tuple[Gate, ...]:
    """Return the gates of a limit, one for each model that it judges."""
    return evaluate_limits(result, [parse_limit(kind, text)], baseline).gates


def gate_of(result: Result, kind: Any, text: str, baseline: Result | None = None) -> Gate:
    """Return the gate of a limit that judges one model."""
    (gate,) = gates_of(result, kind, text, baseline)
    return gate
