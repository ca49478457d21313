"""Limits that say nothing of a measure: refused before anything is judged."""

from __future__ import annotations

from collections.abc import Iterable

from clfeval.errors import ErrorCollector, UsageError
from clfeval.limits import Limit
from clfeval.measures.catalog import CATALOG, equivalent_names

ADD = "add --baseline FILE: an earlier table or a saved result"
VALUES = ("value", "low", "high")  # parts that lie where the measure does


def check_ranges(limits: Iterable[Limit]) -> None:
    """Refuse limits that say nothing of their measures, before anything is computed."""
    wrong = ErrorCollector()
    for limit in limits:
        known = (name for name in equivalent_names(limit.metric) if name in CATALOG)
        with wrong.going_on():
            check_limit(limit, next(known, limit.metric))
    wrong.stop()


def check_limit(limit: Limit, metric: str) -> None:
    """Refuse a drop of what has no direction, and a limit beyond what the measure may be."""
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
    """Refuse a limit that compares, where there is nothing to compare with."""
    if limit.compares:
        part = "" if limit.kind == "max-drop" else f": '{limit.metric}.{limit.part}'"
        what = f"--{limit.kind}{part} needs a baseline"
        raise UsageError.new(what, "bad-gate", hint=ADD)
