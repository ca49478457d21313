"""Gates: limits and a baseline, judged on unrounded values; an undefined value never passes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Literal

from clfeval.errors import UsageError, listing, suggestion
from clfeval.measures.catalog import CATALOG, find_measure, same_measure
from clfeval.pages import page_of
from clfeval.result import POPULATIONS, Cell, Estimate, Gate, Result, Row, Warn

LimitKind = Literal["fail-under", "fail-over", "max-drop"]
Part = Literal["value", "low", "high"]


@dataclass(frozen=True, slots=True)
class Limit:
    """A parsed `[MODEL:]METRIC[.low|.high]=VALUE`."""

    kind: LimitKind
    metric: str
    part: Part
    model: str | None
    limit: float


def parse_limit(kind: LimitKind, text: str) -> Limit:
    """Parse a gate; a model's name may hold any character, the metric's may not hold `:` or `=`."""
    left, equals, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        equals = ""
    if not equals or not math.isfinite(limit):
        hint = f"for example --{kind} recall=0.9 or --{kind} 'rf:recall.low=0.8'"
        raise UsageError.of(f"--{kind} '{text}' is not [MODEL:]METRIC=VALUE", "bad-gate", hint=hint)
    model, colon, metric = left.rpartition(":")
    part: Part = "value"
    for name in ("low", "high"):
        if metric.endswith(f".{name}"):
            metric, part = metric.removesuffix(f".{name}"), name
    return Limit(kind, metric, part, model if colon else None, limit)


def judge(result: Result, limits: Iterable[Limit], baseline: Result | None = None) -> Result:
    """Return the result with one Gate for each limit and model it applies to."""
    gates: list[Gate] = []
    limits = list(limits)
    if baseline is not None:
        _check_comparable(result, baseline)
    elif any(limit.kind == "max-drop" for limit in limits):
        hint = "add --baseline RESULT.json (made with --save RESULT.json)"
        raise UsageError.of("--max-drop compares with a saved result", "bad-gate", hint=hint)
    for limit in limits:
        gates += _judge_one(result, limit, baseline)
    warnings = result.warnings
    if baseline is not None:
        gone = sorted(set(_models(baseline)) - set(_models(result)))
        if gone:
            text = f"models of the baseline that are gone: {listing(gone)}"
            warnings = (*warnings, Warn("baseline-models", text))
    return replace(result, gates=tuple(gates), warnings=warnings)


def _judge_one(result: Result, limit: Limit, baseline: Result | None) -> list[Gate]:
    rows = _models(result)
    cells = {**next(iter(rows.values()), {}), **result.summary}
    metric = next((name for name in same_measure(limit.metric) if name in cells), limit.metric)
    named = metric if limit.part == "value" else f"{metric}.{limit.part}"
    best = _best(result, metric)
    if metric in result.summary and limit.model is None:
        value = result.summary[metric]
        if not isinstance(value, (int, float)):
            why = "is no number" if value is not None else "is not the same for all models"
            raise UsageError.of(f"'{metric}' {why}", "bad-gate")
        if limit.part != "value":
            raise UsageError.of(f"'{metric}' is a count: it has no .{limit.part}", "bad-gate")
        base = baseline.summary.get(metric) if baseline else None
        return [_gate(limit, named, None, value, base, None, best)]
    if limit.model is not None:
        names = list(dict.fromkeys(_name(row) for row in rows.values()))
        if limit.model not in (*names, *rows):
            what = f"--{limit.kind}: no model '{limit.model}'"
            hint = suggestion(limit.model, names) or f"models: {listing(names)}"
            raise UsageError.of(what, "unknown-model", hint=hint)
        rows = {k: row for k, row in rows.items() if limit.model in (k, _name(row))}
    first: Row = next(iter(rows.values()), {})
    known = [name for name, cell in first.items() if _is_number(cell)]
    known += [name for name, value in result.summary.items() if isinstance(value, (int, float))]
    if metric not in known:
        what = f"--{limit.kind}: no metric '{limit.metric}'"
        close = _left_out(result, limit.metric) or suggestion(limit.metric, known)
        raise UsageError.of(what, "unknown-metric", hint=close or f"metrics: {listing(known)}")
    if limit.part != "value" and not isinstance(first.get(metric), Estimate):
        raise UsageError.of(f"'{metric}' is a count: it has no .{limit.part}", "bad-gate")
    before = _models(baseline) if baseline else {}
    gates = []
    for model, row in rows.items():
        value, reason = _part(row.get(metric), limit.part)
        old = _part(before[model].get(metric), limit.part)[0] if model in before else None
        gates.append(_gate(limit, named, model, value, old, reason, best))
    return gates


def _gate(
    limit: Limit,
    metric: str,
    model: str | None,
    value: float | None,
    base: float | None,
    reason: str | None,
    best: str,
) -> Gate:
    gate = partial(Gate, limit.kind, metric, model, limit.limit)
    if value is None:
        return gate(None, False, reason or "undefined")
    met = value >= limit.limit if limit.kind == "fail-under" else value <= limit.limit
    if limit.kind == "max-drop":
        if base is None:
            return gate(None, False, "not_in_baseline")
        # as written in decimals, for in binary .8 - .7 is a hair more than .1
        before, now, allowed = (Decimal(repr(number)) for number in (base, value, limit.limit))
        if best == "zero":
            before, now = abs(before), abs(now)
        worse = Decimal(0) if now == before else before - now if best == "max" else now - before
        value, met = float(worse), worse <= allowed
    if math.isfinite(value):
        return gate(value, met)
    # what is beyond every number is judged as that, and named by a reason
    return gate(None, met, "infinite" if value > 0 else "minus_infinite")


def _best(result: Result, metric: str) -> str:
    """Say which way is better: of a measure as it says, of another column as its table says."""
    column = page_of(result.command).column(metric)
    return CATALOG[metric].best if metric in CATALOG else (column and column.best) or "max"


def _models(result: Result) -> Mapping[str, Row]:
    """Return the rows gates look at by label: models, or features, of the whole table."""
    whole = result.whole("models" if "models" in result.tables else "features")
    several = bool(len(whole)) and whole[0].get("population") == POPULATIONS[0]
    return {f"{_name(row)} at {row['odds']}" if several else _name(row): row for row in whole}


def _left_out(result: Result, metric: str) -> str | None:
    """Say how to get a measure that this result was told to leave out."""
    chosen = result.parameters.get("measures")
    if chosen is None or find_measure(metric) is None:
        return None
    return f"it is left out of this result: add --measure {metric}"


def _name(row: Row) -> str:
    return str(row.get("model", row.get("feature")))


def _part(cell: Cell, part: Part) -> tuple[float | None, str | None]:
    """Return a value or a limit, infinite ones included; or None and why there is none."""
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
        return number, reason or (None if number is not None else "no_interval")
    if isinstance(cell, (int, float)):
        return cell, None
    return None, "undefined"


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (Estimate, int, float)) and not isinstance(cell, bool)


def _check_comparable(result: Result, baseline: Result) -> None:
    """Refuse a baseline made with other settings; the data may differ, that is the point."""

    def settings(item: Result) -> dict[str, str]:
        pairs = (part.partition(":") for part in item.signature.split("|"))
        return {key: value for key, _, value in pairs if key not in ("data", "stats", "clfeval")}

    ours, theirs = settings(result), settings(baseline)
    if ours != theirs:
        differ = [
            f"{key} {theirs.get(key, 'not given')} there, {ours.get(key, 'not given')} here"
            for key in ours | theirs
            if ours.get(key) != theirs.get(key)
        ]
        what = f"the baseline was made with other settings: {'; '.join(differ)}"
        hint = "compare like with like: make the baseline with the same options"
        raise UsageError.of(what, "baseline", hint=hint)
