"""Gates: limits and a baseline, judged on unrounded values; an undefined value never passes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import partial

from clfeval import COMMANDS
from clfeval.baseline import (
    baseline_rows,
    best_of,
    check_comparable,
    difference,
    gone_note,
    labelled,
    name_of,
    read_baseline,
)
from clfeval.errors import UsageError, listing, suggestion
from clfeval.limits import PARTS, Gates, Limit
from clfeval.measures.catalog import CATALOG, at_cut, find_measure, same_measure
from clfeval.measures.record import AIMS
from clfeval.pages import page_of
from clfeval.result import Cell, Estimate, Gate, Result, Row, Warn
from clfeval.schema import BASELINE, gated


def judged(result: Result, gates: Gates) -> Result:
    """Return the result with a Gate for each limit that is asked for, the baseline read."""
    limits = gates.limits
    if not limits and gates.baseline is None:
        return result
    baseline = None if gates.baseline is None else read_baseline(gates.baseline)
    return judge(result, limits, baseline)


def judge(result: Result, limits: Iterable[Limit], baseline: Result | None = None) -> Result:
    """Return the result with one Gate for each limit and model it applies to."""
    gates: list[Gate] = []
    limits = list(limits)
    if baseline is not None:
        check_comparable(result, baseline)
    elif any(limit.kind == "max-drop" for limit in limits):
        hint = "add --baseline RESULT.json, a result saved earlier"
        raise UsageError.of("--max-drop compares with a saved result", "bad-gate", hint=hint)
    rows, before = _models(result), _models(baseline) if baseline else None
    for limit in limits:
        gates += _judge_one(result, limit, baseline, rows, before)
    warnings = (*result.warnings, *_turned(result, limits))
    if baseline is None:
        return replace(result, gates=tuple(gates), warnings=warnings)
    warnings = (*warnings, *gone_note(result, baseline))
    tables = {**result.tables, BASELINE: baseline_rows(result, baseline)}
    return replace(result, gates=tuple(gates), tables=tables, warnings=warnings)


def _judge_one(
    result: Result, limit: Limit, baseline: Result | None, rows: Mapping[str, Row],
    before: Mapping[str, Row] | None,
) -> list[Gate]:  # fmt: skip
    cells = {
        **{name: cell for row in rows.values() for name, cell in row.items()},
        **result.summary,
    }
    metric = _metric(limit, cells)
    named = metric if limit.part == "value" else f"{metric}.{limit.part}"
    best = best_of(result, metric)
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
        rows = _named(rows, limit.model, limit.kind)
    known = [name for name, cell in cells.items() if _is_number(cell)]
    if metric not in known:
        what = f"--{limit.kind}: no metric '{limit.metric}'"
        close = _left_out(result, limit.metric) or _part_of(limit.metric, known)
        close = close or at_cut(limit.metric) or _elsewhere(result.command, metric)
        close = close or suggestion(limit.metric, known) or f"metrics: {listing(known)}"
        raise UsageError.of(what, "unknown-metric", hint=close)
    # the reference has no difference from itself
    rows = {model: row for model, row in rows.items() if metric in row}
    if not rows:
        what = f"--{limit.kind}: '{metric}' is nothing that '{limit.model}' has"
        raise UsageError.of(what, "bad-gate", hint="leave out the model, or name another")
    _check_limit(limit, metric, next(iter(rows.values()))[metric])
    gates = []
    for model, row in rows.items():
        now, then = row[metric], (before or {}).get(model, {}).get(metric)
        if limit.part.startswith("change"):
            now = _changed(limit, now, then, baseline)
        part = limit.part.removeprefix("change.").replace("change", "value")
        value, reason = _part(now, part)
        gates.append(_gate(limit, named, model, value, _part(then, part)[0], reason, best))
    return gates


def _metric(limit: Limit, cells: Mapping[str, Cell]) -> str:
    """Return what a limit is on: a cell of this name, or the only one with parameters."""
    for name in same_measure(limit.metric):
        if name in cells:
            return name
        found = [cell for cell in cells if cell.startswith(f"{name}:")]
        if len(found) > 1:
            what = f"--{limit.kind}: '{limit.metric}' is several here"
            raise UsageError.of(what, "bad-gate", hint=f"which: {listing(found)}")
        if found:
            return found[0]
    return limit.metric


def _named(rows: Mapping[str, Row], model: str, kind: str) -> dict[str, Row]:
    """Return the rows of a model, or of those that a pattern fits."""
    found = {k: row for k, row in rows.items() if model in (k, name_of(row))}
    found = found or {k: row for k, row in rows.items() if fnmatchcase(name_of(row), model)}
    if not found:
        names = list(dict.fromkeys(name_of(row) for row in rows.values()))
        hint = suggestion(model, names) or f"models: {listing(names)}"
        raise UsageError.of(f"--{kind}: no model '{model}'", "unknown-model", hint=hint)
    return found


def _check_limit(limit: Limit, metric: str, cell: Cell) -> None:
    """Refuse a part that a count does not have, and a limit beyond what the measure may be."""
    if limit.part != "value" and not isinstance(cell, Estimate):
        raise UsageError.of(f"'{metric}' is a count: it has no .{limit.part}", "bad-gate")
    _check_range(limit, metric)


def check_ranges(limits: Iterable[Limit]) -> None:
    """Refuse limits beyond what their measures may be, before anything is computed."""
    for limit in limits:
        known = (name for name in same_measure(limit.metric) if name in CATALOG)
        _check_range(limit, next(known, limit.metric))


def _check_range(limit: Limit, metric: str) -> None:
    name = metric.partition(":")[0]
    if name not in CATALOG:
        return
    low, high = CATALOG[name].low, CATALOG[name].high
    if limit.kind == "max-drop" or limit.part.startswith("change"):
        low, high = low - high, high - low
    if limit.limit > high or (limit.limit < low and limit.kind != "fail-under"):
        hint = f"{limit.limit:g} % is {limit.limit / 100:g}" if 1 < limit.limit <= 100 else None
        what = (
            f"--{limit.kind}: {limit.limit:g} is beyond '{metric}', which lies in {low:g}..{high:g}"
        )
        raise UsageError.of(what, "bad-gate", hint=hint)


def _changed(limit: Limit, now: Cell, then: Cell, baseline: Result | None) -> Cell:
    if baseline is None:
        hint = "add --baseline RESULT.json, a result saved earlier"
        what = f"--{limit.kind}: '{limit.metric}.change' compares with a saved result"
        raise UsageError.of(what, "bad-gate", hint=hint)
    if not (isinstance(now, Estimate) and isinstance(then, Estimate)):
        return Estimate(None, reason="not_in_baseline")
    return difference(then, now)


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
        if best in AIMS:
            before, now = (abs(one - AIMS[best]) for one in (before, now))
        worse = Decimal(0) if now == before else before - now if best == "max" else now - before
        value, met = float(worse), worse <= allowed
    if math.isfinite(value):
        return gate(value, met)
    # what is beyond every number is judged as that, and named by a reason
    return gate(None, met, "infinite" if value > 0 else "minus_infinite")


def _models(result: Result) -> Mapping[str, Row]:
    """Return the rows gates look at by label, with what a comparison says of them."""
    rows = dict(labelled(result))
    for table in ("comparisons", "run_comparisons"):
        for row in result.tables.get(table, ()):
            label = str(row["model"])
            mine = row.get("slice") is None and label in rows
            if mine and row["reference"] == result.parameters.get("reference"):
                more = {name: cell for name, cell in row.items() if name.endswith("_difference")}
                rows[label] = {**rows[label], **more}
    return rows


def _elsewhere(command: str, metric: str) -> str | None:
    """Say which other commands have a measure that this one has not."""
    names = {metric, *same_measure(metric)}
    others = [n for n in COMMANDS if n != command and not names.isdisjoint(gated(page_of(n)))]
    named = " and ".join(filter(None, (", ".join(others[:-1]), *others[-1:])))
    return f"{command} has none; {named} can limit it" if others else None


def _left_out(result: Result, metric: str) -> str | None:
    """Say how to get a measure that this result has not, where it can be asked for."""
    needs = {"measures": ("confusion",), "measure": ("confusion", "scores", "probabilities")}
    measure = None if at_cut(metric) else find_measure(metric.partition(":")[0])
    if measure is None or not any(
        option in result.parameters and measure.needs in known for option, known in needs.items()
    ):
        return None
    return f"it is left out of this result: add --measure {metric}"


def _part_of(metric: str, known: Iterable[str]) -> str | None:
    """Suggest a part of a measure that is there: `.low` for `.lo`."""
    name, dot, _ = metric.rpartition(".")
    names = [one for one in same_measure(name) if one in {*known}] if dot else []
    parts = [f"{name}.{part}" for part in PARTS if names]
    return suggestion(metric, parts) or (f"its parts: {listing(parts)}" if parts else None)


def _turned(result: Result, limits: Iterable[Limit]) -> Iterator[Warn]:
    """Yield a note for each limit that fails what is better, and is no end of a range."""
    limits, cells = list(limits), dict(result.summary)
    for row in _models(result).values():
        cells |= row
    turned = {"fail-under": "fail-over", "fail-over": "fail-under"}
    for limit in limits:
        other = turned.get(limit.kind)
        metric = _metric(limit, cells)
        column = page_of(result.command).column(metric)
        sure = metric.partition(":")[0] in CATALOG or (column is not None and column.best)
        wrong = {"fail-under": "min", "fail-over": "max"}.get(limit.kind)
        ends = [one.kind for one in limits if one.metric == limit.metric]
        if sure and best_of(result, metric) == wrong and other not in ends:
            part = "" if limit.part == "value" else f".{limit.part}"
            what = "less" if wrong == "min" else "more"
            text = f"--{limit.kind} {limit.metric}{part}: of '{metric}' {what} is better; is " \
                   f"--{other} {limit.metric}{part}={limit.limit:g} meant?"  # fmt: skip
            yield Warn("gate-turned", text)


def _part(cell: Cell, part: str) -> tuple[float | None, str | None]:
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
