"""What became of a gate as CI servers tell it apart, and which run it belongs to."""

from __future__ import annotations

from typing import Literal

from clfeval.result import Gate, Result

Outcome = Literal["met", "missed", "undefined", "warned", "skipped"]
FAILING: tuple[Outcome, ...] = ("missed", "undefined")  # these make the program exit with 1
SIGNS: dict[Outcome, str] = {
    "met": "✅", "missed": "❌", "undefined": "❌", "warned": "⚠️", "skipped": "⏭️",
}  # fmt: skip


def outcome_of(gate: Gate) -> Outcome:
    """Return what became of a gate: a value that is undefined misses it too."""
    if gate.passed:
        return "met"
    return "missed" if gate.value is not None else "undefined"


def run_of(gate: Gate, result: Result) -> str:
    """Return the run a gate belongs to: the command, where there is but one."""
    del gate
    return result.command
