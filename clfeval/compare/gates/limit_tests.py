"""Tests of one limit: exact at the limit, drops as decimals, row counts, ties with the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import cast

from clfeval.compare.change import MISSING, WORSE, Change
from clfeval.compare.gates.limit_targets import match_models, whole_table_rows
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.document import Cell, Document, Estimate, Gate, Row, Severity
from clfeval.errors import ErrorCollector, UsageError
from clfeval.measures.catalog import CATALOG, equivalent_names
from clfeval.measures.record import AIMS
from clfeval.records import dataclass, replace

NOT_THERE, NOT_SIGNIFICANT = "not_in_baseline", "not_significant"
ABSENT = (NOT_THERE, MISSING)  # of a value that the baseline does not have
UNDEFINED_THEN = "undefined_in_baseline"
NO_INTERVAL = "no_interval"
ENDLESS = {"infinite": math.inf, "minus_infinite": -math.inf}


@dataclass(frozen=True, slots=True)
class GateDraft:
    """A limit before its test, with its measure, models and slices in a result.

    best: the better direction; shares: limits relative to the baseline's value.
    """

    limit: Limit
    metric: str
    models: tuple[str, ...]
    slices: tuple[str, ...] | None
    best: str
    severity: Severity
    shares: Sequence[float] = ()
    significant: bool = False
    level: float = 0.95

    @property
    def subject(self) -> tuple[object, ...]:
        """All but the limit's number."""
        one = self.limit
        return one.kind, one.any, one.part, self.metric, self.models, self.slices

    def gate(self, model: str | None, part: str | None) -> Gate:
        """Return the gate, as one that is not met."""
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
    """Return the gate of a value, or of a limit of its confidence interval."""
    gate, limit = asked.gate(model, part), asked.limit
    value, reason = estimate_part(cell, limit.part.rpartition(".")[2])
    if value is None:
        return replace(gate, reason=reason or "undefined")
    met = value >= limit.limit if limit.kind.endswith("-under") else value <= limit.limit
    return _set_outcome(gate, value, met)


def change_gate(asked: GateDraft, model: str | None, part: str | None, change: Change) -> Gate:
    """Return the gate of the change of a value, or of a limit of its confidence interval."""
    gate = value_gate(asked, model, part, change.difference)
    if "." in asked.limit.part:
        return gate
    return _with_chance(gate, change, significant=change.significant(asked.level))


def drop_gate(asked: GateDraft, model: str | None, part: str | None, change: Change) -> Gate:
    """Return the gate of how much worse a value is than the baseline's.

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
    """Return the gate, if missed, with the p-value of its change, and whether it is significant."""
    if gate.passed or gate.value is None or change.p is None:
        return gate
    return replace(gate, p=change.p, reason=None if significant else NOT_SIGNIFICANT)


def estimate_part(cell: Cell, part: str) -> tuple[float | None, str | None]:
    """Return a value or a confidence limit, infinite ones included; or None and the reason."""
    if not isinstance(cell, Estimate):
        return (cell, None) if isinstance(cell, (int, float)) else (None, "undefined")
    part = part if part in ("low", "high") else "value"
    number: float | None = getattr(cell, part)
    endless = ENDLESS.get(str(cell.reason))
    if number is None and part == "value":
        number = endless
    elif number is None and (cell.high if part == "low" else cell.low) is not None:
        # an interval that lacks an end has none on that side
        number = -math.inf if part == "low" else math.inf
    reason = cell.reason if part == "value" or endless is None else None
    return number, reason or (None if number is not None else NO_INTERVAL)


def slack(gate: Gate) -> tuple[bool, float]:
    """Return whether a gate is met, and its margin, as a sort key."""
    value = ENDLESS.get(str(gate.reason)) if gate.value is None else gate.value
    if value is None:
        return gate.passed, -math.inf
    return gate.passed, value - gate.limit if gate.kind.endswith("-under") else gate.limit - value


def _set_outcome(gate: Gate, value: float, met: bool) -> Gate:
    if math.isfinite(value):
        return replace(gate, value=value, passed=met)
    # an infinite value is judged as infinite, and its reason names it; a measure with a finite
    # range has none
    known = CATALOG.get(gate.metric.partition(":")[0].partition(".")[0])
    met &= known is None or not (math.isfinite(known.low) and math.isfinite(known.high))
    return replace(gate, passed=met, reason="infinite" if value > 0 else "minus_infinite")


CELLS = {"rows": ("tp", "fp", "fn", "tn"), "positives": ("tp", "fn")}


def row_count_gates(
    result: Document, gates: Gates, slices: Iterable[str], paired: float | None = None
) -> Iterator[Gate]:
    """Yield gates for the rows of the table and of each slice; paired: rows of changes."""
    for name, least in gates.required_sizes.items():
        kind = f"min-{name}"
        if name not in result.summary:
            what = f"--{kind}: {result.command} does not count {name} here"
            raise UsageError.new(what, "bad-gate", hint="remove it, or use report")
        for part in (None, *slices):
            rows = result.summary[name] if part is None else _rows_of(result, name, part)
            value = rows if isinstance(rows, (int, float)) else None
            if value is not None and paired is not None and (name, part) == ("rows", None):
                value = min(value, paired)
            reason = None if value is not None else "not_alike"
            yield Gate(kind, name, None, least, value, value is not None and value >= least,
                       reason, slice=part)  # fmt: skip


def _rows_of(result: Document, name: str, part: str) -> float | None:
    """Return the number of rows of a slice, the fewest of any model; None where unknown."""
    found: list[float] = []
    for row in (*result.tables.get("models", ()), *result.tables.get("slices", ())):
        if row.get("slice") == part:  # its own number, or the sum of its cells
            own, cells = row.get(name), [row.get(cell) for cell in CELLS[name]]
            known = [cell for cell in cells if isinstance(cell, (int, float))]
            if isinstance(own, (int, float)):
                found.append(own)
            elif len(known) == len(cells):
                found.append(sum(known))
    if not found:  # of several classes
        each: dict[Cell, float] = {}
        for row in result.tables.get("confusion", ()):
            positive = row["truth"] == result.parameters.get("positive")
            if row["slice"] == part and (name == "rows" or positive):
                each[row["model"]] = each.get(row["model"], 0) + cast("float", row["rows"])
        found = [*each.values()]
    return min(found, default=None)


def still_best_gates(result: Document, models: Sequence[str]) -> Iterator[Gate]:
    """Yield gates on whether models are tied with the best by the leading measure."""
    best: Sequence[Row] = result.tables.get("best", ())
    if models and (result.command != "report" or not best or "tied" not in best[0]):
        hint = "use report with several models and without --interval none"
        what = "--still-best: the models of this result are not ranked with intervals"
        raise UsageError.new(what, "bad-gate", hint=hint)
    rows: Mapping[str, Row] = whole_table_rows(result)
    for text in models:
        which, colon, model = text.partition(":")
        few = bool(colon) and which in ("any", "all") and text not in rows
        lead = str(best[0]["measure"])
        may = {row["model"]: row["tied"] for row in best if row["measure"] == lead}
        found = []
        for name in match_models(rows, model if few else text, "still-best"):
            tied = may.get(name)
            value, reason = (float(tied), None) if isinstance(tied, bool) else (None, "undefined")
            found.append(Gate("still-best", lead, name, 1.0, value, tied is True, reason))
        if few and which == "any":
            found = [replace(max(found, key=lambda gate: gate.passed), among=len(found))]
        yield from found


ADD = "add --baseline FILE: an earlier table or a saved result"
VALUES = ("value", "low", "high")  # parts that lie where the measure does


def check_ranges(limits: Iterable[Limit]) -> None:
    """Refuse limits outside the ranges of their measures, before anything is computed."""
    wrong = ErrorCollector()
    for limit in limits:
        known = (name for name in equivalent_names(limit.metric) if name in CATALOG)
        with wrong.going_on():
            check_limit(limit, next(known, limit.metric))
    wrong.raise_problems()


def check_limit(limit: Limit, metric: str) -> None:
    """Refuse a drop of a measure without a direction, and a limit outside its range."""
    known, named, flag = CATALOG.get(metric.partition(":")[0]), limit.metric, f"--{limit.kind}"
    if limit.kind == "max-drop" and limit.part not in VALUES:
        what = f"{flag}: '{named}.{limit.part}' is not a value that can drop"
        hint = f"use --fail-under '{named}.{limit.part}=VALUE', or --fail-over"
        raise UsageError.new(what, "bad-gate", hint=hint)
    if limit.kind == "max-drop" and known is not None and known.best == "none":
        what = f"{flag}: neither low nor high values of '{named}' are worse"
        hint = f"limit its change: --fail-under {named}.change=VALUE, or --fail-over"
        raise UsageError.new(what, "bad-gate", hint=hint)
    if known is None or limit.share:
        return
    low, high, where = known.low, known.high, f"the range of '{named}'"
    if limit.compares or limit.part not in VALUES:
        low, high = low - high, high - low
        where = f"the range of {'gaps' if limit.is_gap else 'changes'} in '{named}'"
    if not low <= limit.limit <= high:
        hint = f"write {limit.limit / 100:g} for {limit.limit:g}%"
        what = f"{flag}: {limit.limit:g} is outside {where}: {low:g} to {high:g}"
        share = 1 < limit.limit <= 100
        raise UsageError.new(what, "bad-gate", hint=hint if share else None)


def check_compared(limit: Limit) -> None:
    """Refuse a limit that needs a comparison which the result does not have."""
    if limit.compares:
        part = "" if limit.kind == "max-drop" else f": '{limit.metric}.{limit.part}'"
        what = f"--{limit.kind}{part} needs a baseline"
        raise UsageError.new(what, "bad-gate", hint=ADD)
