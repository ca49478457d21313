"""Gates: limits on measures of a result, each with its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clfeval.formatting import format_p_value

Bounds = str | Sequence[str] | Mapping[str, float | str | Sequence[float | str]]
Severity = Literal["fail", "warn"]
GateState = Literal["met", "missed", "undefined", "warned", "skipped"]
# part of a measure that is limited: confidence limit, change, gap or extremes between slices
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
        """True if the gate was missed and is more than a warning."""
        return not self.passed and self.severity == "fail"

    @property
    def state(self) -> GateState:
        """The outcome: `skipped` without a baseline, `undefined` if missed without a value."""
        if self.passed:
            return "skipped" if self.kind == "baseline" else "met"
        if not self.failed:
            return "warned"
        return "missed" if self.value is not None or self.kind == "baseline" else "undefined"

    @property
    def measure(self) -> str:
        """The measure the gate limits, without the part of it."""
        ends = (f".{part}" for part in PARTS if self.metric.endswith(f".{part}"))
        return self.metric.removesuffix(next(ends, ""))

    @property
    def subject(self) -> str:
        """The subject of the gate: run, model, measure, slice and part."""
        who = "".join(f"{one}: " for one in (self.run, self.model) if one)
        who = f"any of {self.among}: {who}" if self.among else who
        if self.slice is None:
            return f"{who}{self.metric}"
        return f"{who}{self.measure}[{self.slice}]{self.metric.removeprefix(self.measure)}"

    @property
    def bound(self) -> str:
        """The limit with its kind: `fail-under 0.8`."""
        return f"{self.kind} {self.limit_text or repr(self.limit)}"

    def __str__(self) -> str:
        """Return the line on the measured value and its limit, with as many digits as decide."""
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
    """Write a number with three digits, or as many as distinguish it from its limit."""
    for digits in range(3, 17):
        near = float(f"{value:.{digits}g}")
        if isinstance(value, float) and abs(near - value) <= abs(value - limit) / 2:
            return repr(near)
    return repr(value)
