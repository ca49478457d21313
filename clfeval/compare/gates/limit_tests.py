"""One limit in a result: the models, slices and measure it is on, its range, and its gate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fnmatch import fnmatchcase

from clfeval import COMMANDS
from clfeval.compare.baseline.read import Labelled, rows_by_label, slice_names, subject_name
from clfeval.compare.change import MISSING, WORSE, Change
from clfeval.compare.gates.limits import LIMITED, Limit
from clfeval.document import PARTS, Cell, Document, Estimate, Gate, Severity
from clfeval.errors import ErrorCollector, UsageError, list_names, suggestion
from clfeval.measures.catalog import (
    CATALOG,
    TWO_AREAS,
    all_spellings,
    equivalent_names,
    find_measure,
    threshold_hint,
)
from clfeval.measures.record import AIMS
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import COMPARISONS, comparison_rows, gateable_names
from clfeval.records import dataclass, replace

DIFFERENCE_SUFFIX = "_difference"  # behind a measure: the model's value less the reference's


def slice_rows(result: Document, part: str | None) -> Labelled:
    """Return the rows by label, with differences from the reference if there is one.

    part: the slice; None for the whole table.
    """
    found = dict(rows_by_label(result, part))
    if result.parameters.get("reference") == "all-pairs":
        return found
    for row in result.tables.get(COMPARISONS, ()):
        label, name = str(row["model"]), f"{row['measure']}{DIFFERENCE_SUFFIX}"
        if row["against"] in ("reference", "run") and row["slice"] == part and label in found:
            found[label] = {**found[label], name: row["difference"]}
    return found


def match_slices(limit: Limit, known: Sequence[str]) -> list[str]:
    """Return the slices with a name, or that match a pattern; UsageError where there are none."""
    wanted = str(limit.slices)
    found = [wanted] if wanted in known else [one for one in known if fnmatchcase(one, wanted)]
    if not found:
        hint = suggestion(wanted, known) or f"slices: {list_names(known)}"
        if not known:
            hint = "add --by COLUMN to define slices"
        raise UsageError.new(f"--{limit.kind}: no slice '{wanted}'", "unknown-slice", hint=hint)
    return found


def match_models(rows: Labelled, model: str | None, kind: str) -> Labelled:
    """Return the rows of a model, or of the models that match a pattern; all rows for None."""
    if model is None:
        return rows
    found = {k: row for k, row in rows.items() if model in (k, subject_name(row))}
    found = found or {k: row for k, row in rows.items() if fnmatchcase(subject_name(row), model)}
    if not found:
        names = list(dict.fromkeys(subject_name(row) for row in rows.values()))
        hint = suggestion(model, names) or f"models: {list_names(names)}"
        raise UsageError.new(f"--{kind}: no model '{model}'", "unknown-model", hint=hint)
    return found


def match_metric(limit: Limit, cells: Mapping[str, Cell], result: Document) -> str:
    """Return the name of a limit's cell: this name, or the only one of it with parameters."""
    stem = limit.metric.removesuffix(DIFFERENCE_SUFFIX)
    end = limit.metric.removeprefix(stem)
    for name in equivalent_names(stem):
        if name + end in cells:
            return name + end
        found = [cell for cell in cells if cell.startswith(f"{name}:") and cell.endswith(end)]
        if len(found) > 1:
            what = f"--{limit.kind}: '{limit.metric}' matches several measures"
            raise UsageError.new(what, "bad-gate", hint=f"choose one of {list_names(found)}")
        if found:
            return found[0]
    known = [name for name, cell in cells.items() if is_number(cell)]
    wanted = _name_and_parameters(limit.metric)
    if alike := [name for name in known if _name_and_parameters(name) == wanted]:
        return alike[0]
    what = f"--{limit.kind}: no metric '{limit.metric}'"
    model, dot, rest = limit.metric.partition(".")
    if dot and any(row.get("model") == model for row in result.tables.get("models", ())):
        raise UsageError.new(what, "unknown-metric", hint=f"write '{model}:{rest}'")
    if stem.casefold() in TWO_AREAS:
        close: str | None = "write average_precision (steps) or pr_auc (trapezoids)"
    else:
        close = _left_out(result, limit.metric) or _part_of(limit.metric, known)
        if end and {*equivalent_names(stem)} & {*known}:
            close = close or f"add --reference MODEL and --measure {stem}"
        close = close or threshold_hint(limit.metric)
        close = close or _other_command_hint(result.command, limit.metric)
    if not close:  # all names that a limit may use: of cells, and of what a report computes for it
        limited = (one.id for one in CATALOG.values() if one.needs in LIMITED)
        more = limited if result.command == "report" else ()
        names = [*known, *all_spellings([*filter(CATALOG.get, known), *more])]
        close = suggestion(limit.metric, list(dict.fromkeys(names)))
    close = close or f"metrics: {list_names(known)}"
    raise UsageError.new(what, "unknown-metric", hint=close)


def _name_and_parameters(metric: str) -> tuple[frozenset[str], dict[str, str]]:
    """Return the names of a measure, and its parameters: 0.10 is .1."""
    name, _, settings = metric.partition(":")
    found = dict(part.partition("=")[::2] for part in settings.split(",") if part)
    for key, text in found.items():
        with suppress(ValueError):
            found[key] = repr(float(text))
    return frozenset({name, *equivalent_names(name)}), found


def slice_gaps(result: Document, limit: Limit, metric: str) -> Iterator[tuple[str, str, Cell]]:
    """Yield model, slice and gap, or the extreme slices; UsageError without table or measure."""
    every = [(row, "gap") for row in result.tables.get("extremes", ())]
    if limit.part.startswith("gap"):
        every = [(row, "difference") for row in comparison_rows(result, "slice", inside=True)]
    rows = [(row, name) for row, name in every if row["measure"] == metric]
    if not rows:
        hint = "use report with --by COLUMN"
        if every:
            hint = f"compared: {list_names(dict.fromkeys(str(row['measure']) for row, _ in every))}"
            hint += f"; for others add --measure {limit.metric}"
        what = f"--{limit.kind}: slices are not compared by '{limit.metric}'"
        raise UsageError.new(what, "unknown-metric", hint=hint)
    wanted = [] if limit.slices is None else match_slices(limit, slice_names(result))
    for row, name in rows:
        part = (
            str(row["slice"])
            if name == "difference"
            else (f"{row['largest']} less {row['smallest']}")
        )
        if name == "gap" or limit.slices is None or part in wanted:
            yield str(row["model"]), part, row[name]


def is_number(cell: Cell) -> bool:
    """Return whether a cell holds a number or an estimate."""
    return isinstance(cell, (Estimate, int, float)) and not isinstance(cell, bool)


def _other_command_hint(command: str, metric: str) -> str | None:
    """Return the hint on other commands that compute a measure, or None."""
    names = {metric, *equivalent_names(metric)}
    others = [
        n for n in COMMANDS if n != command and not names.isdisjoint(gateable_names(page_of(n)))
    ]
    named = " or ".join(filter(None, (", ".join(others[:-1]), *others[-1:])))
    return f"{command} does not compute it; use {named}" if others else None


def _left_out(result: Document, metric: str) -> str | None:
    """Return the hint on how to request a measure that a result lacks, or None."""
    needs = {"measures": ("confusion",), "measure": LIMITED}
    measure = None if threshold_hint(metric) else find_measure(metric.partition(":")[0])
    if measure is None or not any(
        option in result.parameters and measure.needs in known for option, known in needs.items()
    ):
        return None
    if metric in result.parameters.get("measure", ()):
        return f"this table does not give it: --explain {measure.id} says what it needs"
    return f"it was not computed: add --measure {metric}"


def _part_of(metric: str, known: list[str]) -> str | None:
    """Return a suggestion for an unknown part of a measure: `.low` for `.lo`."""
    name, dot, _ = metric.rpartition(".")
    names = [one for one in equivalent_names(name) if one in known] if dot else []
    parts = [f"{name}.{part}" for part in PARTS if names]
    return suggestion(metric, parts) or (f"parts: {list_names(parts)}" if parts else None)


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
        return Gate(
            limit.kind,
            named,
            model,
            number,
            None,
            False,
            severity=self.severity,
            slice=part,
            limit_text=said,
        )


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
