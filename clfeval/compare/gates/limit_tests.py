"""Tests of one limit: exact at the limit, drops as decimals, row counts, ties with the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import cast

from clfeval.compare.change import MISSING, WORSE, Change
from clfeval.compare.gates.limit_targets import match_models, whole_table_rows
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.document import Cell, Document, Estimate, Gate, Row
from clfeval.errors import ErrorCollector, UsageError
from clfeval.gate import Severity
from clfeval.measures.catalog import CATALOG, equivalent_names
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
    """Return whether a gate is met, and its margin, as a sort key."""
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
    for name, least in gates.least:
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
    for table in ("models", "slices"):
        for row in result.tables.get(table, ()):
            if row.get("slice") == part:
                found += _row_count(row, name)
    if not found:  # of several classes
        each: dict[Cell, float] = {}
        for row in result.tables.get("confusion", ()):
            positive = row["truth"] == result.parameters.get("positive")
            if row["slice"] == part and (name == "rows" or positive):
                each[row["model"]] = each.get(row["model"], 0) + cast("float", row["rows"])
        found = [*each.values()]
    return min(found, default=None)


def _row_count(row: Row, name: str) -> list[float]:
    """Return the rows of a table's row: its own number, or the sum of its cells; else nothing."""
    own = row.get(name)
    if isinstance(own, (int, float)):
        return [own]
    cells = [row.get(cell) for cell in CELLS[name]]
    known = [cell for cell in cells if isinstance(cell, (int, float))]
    return [sum(known)] if len(known) == len(cells) else []


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
        found = [
            _still_best_gate(lead, name, may.get(name))
            for name in match_models(rows, model if few else text, "still-best")
        ]
        if few and which == "any":
            found = [replace(max(found, key=lambda gate: gate.passed), among=len(found))]
        yield from found


def _still_best_gate(lead: str, model: str, may: Cell) -> Gate:
    known = isinstance(may, bool)
    return Gate("still-best", lead, model, 1.0, float(bool(may)) if known else None, may is True,
                None if known else "undefined")  # fmt: skip


ADD = "add --baseline FILE: an earlier table or a saved result"
VALUES = ("value", "low", "high")  # parts that lie where the measure does


def check_ranges(limits: Iterable[Limit]) -> None:
    """Refuse limits outside the ranges of their measures, before anything is computed."""
    wrong = ErrorCollector()
    for limit in limits:
        known = (name for name in equivalent_names(limit.metric) if name in CATALOG)
        with wrong.going_on():
            check_limit(limit, next(known, limit.metric))
    wrong.stop()


def check_limit(limit: Limit, metric: str) -> None:
    """Refuse a drop of a measure without a direction, and a limit outside its range."""
    name = metric.partition(":")[0]
    if limit.kind == "max-drop":
        _check_drop(limit, name)
    if name not in CATALOG or limit.share:
        return
    low, high = CATALOG[name].low, CATALOG[name].high
    where = f"the range of '{limit.metric}'"
    if limit.compares or limit.part not in VALUES:
        low, high = low - high, high - low
        where = f"the range of {'gaps' if limit.apart else 'changes'} in '{limit.metric}'"
    if not low <= limit.limit <= high:
        part, share = limit.limit / 100, 1 < limit.limit <= 100
        hint = f"write {part:g} for {limit.limit:g}%" if share else None
        what = f"--{limit.kind}: {limit.limit:g} is outside {where}: {low:g} to {high:g}"
        raise UsageError.new(what, "bad-gate", hint=hint)


def _check_drop(limit: Limit, name: str) -> None:
    """Refuse drops of measures without a worse direction."""
    flag, metric, part = f"--{limit.kind}", limit.metric, limit.part
    if part not in VALUES:
        what = f"{flag}: '{metric}.{part}' is not a value that can drop"
        hint = f"use --fail-under '{metric}.{part}=VALUE', or --fail-over"
        raise UsageError.new(what, "bad-gate", hint=hint)
    if name in CATALOG and CATALOG[name].best == "none":
        what = f"{flag}: neither low nor high values of '{metric}' are worse"
        hint = f"limit its change: --fail-under {metric}.change=VALUE, or --fail-over"
        raise UsageError.new(what, "bad-gate", hint=hint)


def check_compared(limit: Limit) -> None:
    """Refuse a limit that needs a comparison which the result does not have."""
    if limit.compares:
        part = "" if limit.kind == "max-drop" else f": '{limit.metric}.{limit.part}'"
        what = f"--{limit.kind}{part} needs a baseline"
        raise UsageError.new(what, "bad-gate", hint=ADD)
