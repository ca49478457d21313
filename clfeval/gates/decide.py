"""One value against one limit: exact at the limit, a drop as written in decimals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from clfeval.bounds import Severity
from clfeval.compare.change import MISSING, WORSE, Change
from clfeval.document import Cell, Estimate, Gate
from clfeval.limits import Limit
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import AIMS

NOT_THERE, NOT_SIGNIFICANT = "not_in_baseline", "not_significant"
ABSENT = (NOT_THERE, MISSING)  # of a value that the baseline does not have
UNDEFINED_THEN = "undefined_in_baseline"
NO_INTERVAL = "no_interval"


@dataclass(frozen=True, slots=True)
class GateDraft:
    """The fields of a gate before its test; shares: limits relative to the baseline's value."""

    limit: Limit
    metric: str
    best: str
    severity: Severity
    shares: Sequence[float] = ()
    significant: bool = False
    level: float = 0.95

    def gate(self, model: str | None, part: str | None) -> Gate:
        """Return a gate that is not met."""
        limit = self.limit
        named = self.metric if limit.part == "value" else f"{self.metric}.{limit.part}"
        said = None
        if self.shares:
            numbers = [] if limit.share else [repr(limit.limit)]
            said = " and ".join([*numbers, *(f"{100 * share:.12g}%" for share in self.shares)])
        number = 0.0 if limit.share else limit.limit
        return Gate(limit.kind, named, model, number, None, False, severity=self.severity,
                    slice=part, limit_text=said)  # fmt: skip


def value_gate(asked: GateDraft, model: str | None, part: str | None, cell: Cell) -> Gate:
    """Judge a value, or an end of its interval."""
    gate, limit = asked.gate(model, part), asked.limit
    value, reason = estimate_part(cell, limit.part.rpartition(".")[2])
    if value is None:
        return replace(gate, reason=reason or "undefined")
    met = value >= limit.limit if limit.kind.endswith("-under") else value <= limit.limit
    return _set_outcome(gate, value, met)


def change_gate(asked: GateDraft, model: str | None, part: str | None, change: Change) -> Gate:
    """Judge how far a value changed, or an end of the interval of its change."""
    gate = value_gate(asked, model, part, change.difference)
    if "." in asked.limit.part:
        return gate
    return _with_chance(gate, change, significant=change.significant(asked.level))


def drop_gate(asked: GateDraft, model: str | None, part: str | None, change: Change) -> Gate:
    """Judge how much worse a value is than the baseline's.

    worse = old - new, new - old where less is better, or the change of the distance from a target.
    Allowed: the largest of the limit and the shares of the old value, in decimals. With
    `significant` a drop is met where the change is not significantly worse.
    """
    gate, limit = asked.gate(model, part), asked.limit
    was, now = (estimate_part(cell, limit.part) for cell in (change.old, change.new))
    if now[0] is None:
        return replace(gate, reason=now[1] or "undefined")
    if was[0] is None:
        there = NOT_THERE if change.old.reason in ABSENT else UNDEFINED_THEN
        return replace(gate, reason=was[1] if was[1] == NO_INTERVAL else there)
    before, after = Decimal(repr(was[0])), Decimal(repr(now[0]))
    allowed = [] if limit.share else [Decimal(repr(limit.limit))]
    if before.is_finite():
        allowed += [Decimal(repr(share)) * abs(before) for share in asked.shares]
    elif not allowed:
        return replace(gate, reason="infinite")
    most = max(allowed)
    gate = replace(gate, limit=float(most))
    if asked.best in AIMS:
        before, after = (abs(one - AIMS[asked.best]) for one in (before, after))
    worse = Decimal(0)
    if before != after:
        worse = before - after if asked.best == "max" else after - before
    verdict = change.verdict(asked.metric, asked.level, best=asked.best)
    gate = _set_outcome(gate, float(worse), worse <= most)
    gate = _with_chance(gate, change, significant=verdict == WORSE)
    if asked.significant and not gate.passed:
        if change.p is None:
            return replace(gate, reason=NO_INTERVAL)
        gate = replace(gate, passed=gate.reason == NOT_SIGNIFICANT)
    return gate


def _with_chance(gate: Gate, change: Change, *, significant: bool) -> Gate:
    """Return a gate that is not met with the p of its change, and whether that is significant."""
    if gate.passed or gate.value is None or change.p is None:
        return gate
    return replace(gate, p=change.p, reason=None if significant else NOT_SIGNIFICANT)


def estimate_part(cell: Cell, part: str) -> tuple[float | None, str | None]:
    """Return a value or a limit, infinite ones included; or None and why there is none."""
    part = part if part in ("low", "high") else "value"
    if isinstance(cell, Estimate):
        number: float | None = getattr(cell, part)
        endless = {"infinite": math.inf, "minus_infinite": -math.inf}.get(str(cell.reason))
        if number is None and part == "value":
            number = endless
        elif number is None and part == "low" and cell.high is not None:
            number = -math.inf  # an interval that lacks an end has none on that side
        elif number is None and part == "high" and cell.low is not None:
            number = math.inf
        reason = cell.reason if part == "value" or endless is None else None
        return number, reason or (None if number is not None else NO_INTERVAL)
    if isinstance(cell, (int, float)):
        return cell, None
    return None, "undefined"


def slack(gate: Gate) -> tuple[bool, float]:
    """Return whether a gate is met, and by how much, to sort by."""
    if gate.value is None:
        endless = {"infinite": math.inf, "minus_infinite": -math.inf}.get(str(gate.reason))
        if endless is None:
            return gate.passed, -math.inf
        value = endless
    else:
        value = gate.value
    return gate.passed, value - gate.limit if gate.kind.endswith("-under") else gate.limit - value


def _set_outcome(gate: Gate, value: float, met: bool) -> Gate:
    if math.isfinite(value):
        return replace(gate, value=value, passed=met)
    # what is beyond every number is judged as that, and named by a reason; no measure that has both
    # ends is
    known = CATALOG.get(gate.metric.partition(":")[0].partition(".")[0])
    met &= known is None or not (math.isfinite(known.low) and math.isfinite(known.high))
    return replace(gate, passed=met, reason="infinite" if value > 0 else "minus_infinite")
