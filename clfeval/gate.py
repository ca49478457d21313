"""What a result is held to: how limits are given, and a Gate, one of them judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clfeval.formatting import format_p_value

Bounds = str | Sequence[str] | Mapping[str, float | str | Sequence[float | str]]
Severity = Literal["fail", "warn"]
GateState = Literal["met", "missed", "undefined", "warned", "skipped"]
# what of a measure a gate looks at: an end of its interval, how it moved, how slices lie apart
Part = Literal["value", "low", "high", "change", "change.low", "change.high",
               "gap", "gap.low", "gap.high",
               "extremes", "extremes.low", "extremes.high"]  # fmt: skip
PARTS: tuple[Part, ...] = (
    "change.low", "change.high", "change", "gap.low", "gap.high", "gap",
    "extremes.low", "extremes.high", "extremes", "low", "high",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gate:
    """One limit and whether it was met, judged on unrounded values.

    limit: of a drop in absolute terms; `limit_text`: as given, where a share of the baseline's
    value. slice: None for the whole table. among: number of models of which any one may meet it.
    run: of a batch.
    """

    kind: str  # fail-under, fail-over, warn-under, warn-over, max-drop, min-rows, still-best ...
    metric: str
    model: str | None
    limit: float
    value: float | None
    passed: bool
    reason: str | None = None
    severity: Severity = "fail"
    slice: str | None = None
    limit_text: str | None = None
    among: int | None = None
    run: str | None = None
    p: float | None = None

    @property
    def failed(self) -> bool:
        """True where it was missed and that is more than a warning."""
        return not self.passed and self.severity == "fail"

    @property
    def state(self) -> GateState:
        """What became of it: skipped is what a baseline is missing for, undefined is missed too."""
        if self.passed:
            return "skipped" if self.kind == "baseline" else "met"
        if not self.failed:
            return "warned"
        return "missed" if self.value is not None or self.kind == "baseline" else "undefined"

    @property
    def measure(self) -> str:
        """The measure it is on, without the part of it."""
        ends = (f".{part}" for part in PARTS if self.metric.endswith(f".{part}"))
        return self.metric.removesuffix(next(ends, ""))

    @property
    def subject(self) -> str:
        """What it is on: the model, the measure, the slice and the part."""
        who = "".join(f"{one}: " for one in (self.run, self.model) if one)
        who = f"any of {self.among}: {who}" if self.among else who
        if self.slice is None:
            return f"{who}{self.metric}"
        return f"{who}{self.measure}[{self.slice}]{self.metric.removeprefix(self.measure)}"

    @property
    def bound(self) -> str:
        """What it is held to."""
        return f"{self.kind} {self.limit_text or repr(self.limit)}"

    def __str__(self) -> str:
        """Say what was measured and against what, with as many digits as decide."""
        drop, value, is_ = self.kind == "max-drop", self.value, f"{self.subject} is"
        of = f"{self.run}: " if self.run else ""
        if self.kind == "still-best":
            may = "not " if self.passed else "" if value is not None else f"({self.reason}) "
            return f"{is_} {may}significantly worse than the best, {self.kind}"
        if self.kind == "baseline":
            add = "add --baseline-missing skip to go on without it"
            more = "skipped" if self.passed else add
            return f"{of}the baseline {self.metric} does not exist ({more})"
        if self.kind.startswith("min-"):
            which = f"{self.slice}: " if self.slice else ""
            many = "unknown" if value is None else f"{value:,.10g}"
            return f"{of}{which}{many} {self.metric}, {self.kind} {self.limit:g}"
        if value is None and self.reason == "gone":
            what = "model" if self.slice is None else "slice"
            return f"{is_} missing: only the baseline has this {what}, {self.bound}"
        if value is None and self.reason in ("infinite", "minus_infinite"):
            worse = " worse than the baseline by" if drop else ""
            return f"{is_}{worse} {self.reason.replace('_', ' ')}, {self.bound}"
        if value is None:
            return f"{is_} undefined ({self.reason}), {self.bound}"
        more = "" if self.p is None else f"; {format_p_value(self.p)}"
        more += ", not significant" * (self.reason == "not_significant")
        if not drop:
            return f"{is_} {_format_deciding_digits(value, self.limit)}, {self.bound}{more}"
        moved = f"worse than the baseline by {_format_deciding_digits(value, self.limit)}"
        if value < 0:
            moved = f"better than the baseline by {_format_deciding_digits(-value, 0.0)}"
        amounts = f" ({self.limit:.3g})" if self.limit_text else ""
        return f"{is_} {moved if value else 'as in the baseline'}, {self.bound}{amounts}{more}"


def _format_deciding_digits(value: float, limit: float) -> str:
    """Write a number with three digits, or with as many as show how far from its limit it is."""
    for digits in range(3, 17):
        near = float(f"{value:.{digits}g}")
        if isinstance(value, float) and abs(near - value) <= abs(value - limit) / 2:
            return repr(near)
    return repr(value)
