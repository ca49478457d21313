"""What became of gates, as every view and every annotation shows it."""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.bounds import GateState

FAILING: tuple[GateState, ...] = ("missed", "undefined")  # these make the program exit with 1
SIGNS: Mapping[GateState, str] = {
    "met": "✅", "missed": "❌", "undefined": "❌", "warned": "⚠️", "skipped": "⏭️",
}  # fmt: skip
