"""Evaluation of gates: for each limit and model, for numbers of rows, and for the best model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from os import fspath
from os.path import basename
from typing import cast

from clfeval.compare.baseline import read
from clfeval.compare.baseline.changes import LEVEL, Baseline, ValueKey, value_bounds
from clfeval.compare.change import change_of_independent
from clfeval.compare.gates import limit_tests
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.document import (
    Answer,
    Cell,
    Document,
    Estimate,
    Gate,
    ResultNote,
    Row,
    as_estimate,
    shorten_answer,
)
from clfeval.errors import DataError, ErrorCollector, UsageError
from clfeval.formatting import format_bound, format_count
from clfeval.measures.catalog import CATALOG
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import BASELINE, CHANGES, COMPARISONS, GATE_CODES

NO_BASELINE = "baseline_missing"


def evaluate_gates(result: Document, gates: Gates, beside: Baseline | None = None) -> Document:
    """Return the result with a Gate for each limit; beside: the baseline, where it is a table.

    Without the file of the baseline its own gate is missed, or skipped.
    """
    if not gates.any and gates.baseline is None:
        return result
    limits = gates.limits
    if beside is None and gates.baseline is not None:
        found = read.read_baseline(gates.baseline, result)
        beside = None if found is None else Baseline.from_results(result, found)
    if beside is not None or gates.baseline is None:
        return evaluate_limits(result, limits, beside, gates)
    name, skips = basename(fspath(gates.baseline)), gates.baseline_missing == "skip"
    result = evaluate_limits(result, [limit for limit in limits if not limit.compares], None, gates)
    what = "its gates are skipped" if skips else "the gate is missed"
    said = ResultNote("baseline-missing", f"the baseline '{name}' does not exist: {what}")
    missing = Gate("baseline", name, None, 0.0, None, skips, NO_BASELINE)
    return replace(result, gates=(*result.gates, missing), warnings=(*result.warnings, said))


def evaluate_limits(
    result: Document,
    limits: Iterable[Limit],
    baseline: Baseline | Document | None = None,
    gates: Gates | None = None,
) -> Document:
    """Return the result with one Gate for each limit and model it applies to."""
    gates, limits = Gates() if gates is None else gates, list(limits)
    beside = (
        baseline
        if not isinstance(baseline, Document)
        else (Baseline.from_results(result, read.EarlierResult(baseline, "the baseline")))
    )
    result = _remove_gate_answers(result, compared=beside is not None)
    looked, found, wrong = _GateRows(result, beside, gates), list[Gate](), ErrorCollector()
    targets = list[limit_tests.GateDraft]()
    for limit in limits:
        with wrong.going_on():
            targets.append(looked.target(limit))
    for target in targets:
        same = [one for one in targets if one.subject == target.subject]
        first = next((one for one in same if not one.limit.share), same[0])
        if target.limit.share and target is not first:
            continue  # judged with the other
        shares = [one.limit.limit for one in same if one.limit.share]
        with wrong.going_on():
            found += looked.evaluate_limit(replace(target, shares=shares))
    known = read.slice_names(result)
    parts = [str(part) for part in dict.fromkeys(gate.slice for gate in found) if part in known]
    paired = list[float]()
    if beside is not None and any(one.limit.compares for one in targets):
        whole = [one for (*_, part), one in beside.shared.items() if one.paired and part is None]
        paired = [change.rows for change in whole if change.rows is not None]
    with wrong.going_on():
        found += row_count_gates(result, gates, parts, min(paired, default=None))
    with wrong.going_on():
        found += still_best_gates(result, gates.still_best)
    wrong.raise_problems()
    refuse_unknown_outcomes(result, found, None if beside is None else beside.bounds)
    warnings = (*result.warnings, *_direction_warnings(looked, targets))
    result = replace(result, gates=tuple(found), warnings=warnings)
    result = result if beside is None else beside.with_changes(result)
    missed, said = [gate for gate in found if gate.failed], list[Answer]()
    for gate in missed[:1]:
        more = f" (and {format_count(len(missed) - 1, 'more gate')})" if len(missed) > 1 else ""
        models, text = () if gate.model is None else (gate.model,), f"Gate missed: {gate}{more}."
        said.append(Answer("gates-missed", text, models, gate.measure, gate.value))
    return replace(result, answer=shorten_answer([*said, *result.answer]))


def refuse_unknown_outcomes(
    result: Document, gates: Iterable[Gate], changes: Mapping[ValueKey, float] | None = None
) -> None:
    """Raise DataError for a limit that is nearer than the bound of a value, or a value without one.

    changes: the bounds of changes from the baseline.
    """
    values = value_bounds(result)
    hides = "min_cell" in result.summary
    hint = "count scores one by one: add --scores exact"
    if hides:
        hint = "give another limit, or count with a smaller --min-cell"
    for gate in gates:
        if gate.reason in ("hidden_counts", "needs_exact_scores"):
            message = f"gate {gate.subject} cannot be judged from these counts"
            raise DataError.new(message, "gate-within-bound", hint=hint)
        change = gate.kind == "max-drop" or ".change" in gate.metric
        bounds = (changes or {}) if change else values
        bound = bounds.get((gate.model, gate.measure, gate.slice), 0.0)
        limit = "" if change else gate.metric.rpartition(".")[2]
        least, most = _possible_values(result, gate, bound, limit)
        if gate.value is not None and bound and least <= gate.limit <= most:
            message = f"gate {gate.subject}: from these counts the value is known within "
            message += f"{format_bound(bound)}: {gate.value:.9g}, and the limit is {gate.limit:g}"
            raise DataError.new(message, "gate-within-bound", hint=hint)


def _possible_values(result: Document, gate: Gate, bound: float, limit: str) -> tuple[float, float]:
    """Return the least and the most that the number of a gate can be for the rows.

    A confidence limit of the rows is not beyond that of their counts, which is cautious; it may be
    nearer to the value by any amount.
    """
    value = gate.value or 0.0
    if limit not in ("low", "high"):
        return value - bound, value + bound
    estimates = [
        as_estimate(row["value"]).value
        for row in result.tables.get("measures", ())
        if (row["model"], row["measure"], row["slice"]) == (gate.model, gate.measure, gate.slice)
    ]
    distance = max((abs(e - value) for e in estimates if e is not None), default=inf)
    farthest = distance + bound
    return (value, value + farthest) if limit == "low" else (value - farthest, value)


def _remove_gate_answers(result: Document, *, compared: bool) -> Document:
    """Return a result without sentences of earlier gates; compared: nor changes of a baseline."""
    answer = tuple(
        one for one in result.answer if one.code not in (GATE_CODES if compared else GATE_CODES[:1])
    )
    tables = {name: rows for name, rows in result.tables.items() if name != CHANGES or not compared}
    rows = [row for row in tables.get(COMPARISONS, ()) if row.get("against") != BASELINE]
    if compared and len(rows) < len(tables.get(COMPARISONS, ())):
        tables[COMPARISONS] = rows
    return replace(result, tables=tables, answer=answer)


class _GateRows:
    """The rows of a result that limits apply to, those of slices made on demand."""

    def __init__(self, result: Document, beside: Baseline | None, gates: Gates) -> None:
        self.result, self.beside, self.gates = result, beside, gates
        self.whole = limit_tests.slice_rows(result, None)
        self.cells = {name: cell for row in self.whole.values() for name, cell in row.items()}
        self.cells |= result.summary
        self.slices: dict[str, Mapping[str, Row]] = {}

    def target(self, limit: Limit) -> limit_tests.GateDraft:
        """Return a limit with its measure, models and slices; UsageError where one is missing."""
        metric = limit_tests.match_metric(limit, self.cells, self.result)
        limit_tests.check_limit(limit, metric)
        if self.beside is None:
            limit_tests.check_compared(limit)
        slices = None
        if limit.slices is not None and not limit.is_gap:
            known = read.slice_names(self.result)
            if self.beside is not None and limit.compares and not limit.any:
                known = list(dict.fromkeys([*known, *read.slice_names(self.beside.before)]))
            slices = tuple(limit_tests.match_slices(limit, known))
        return limit_tests.GateDraft(
            limit,
            metric,
            tuple(self._rows_of_limit(limit, metric, self.whole, None)[0]),
            slices,
            read.better_direction(self.result.command, metric),
            self.gates.severity(limit.kind),
            significant=self.gates.significant,
            level=self.result.parameters.get("level") or LEVEL,
        )

    def evaluate_limit(self, asked: limit_tests.GateDraft) -> list[Gate]:
        """Return the gates of one limit: of each model, or the best of them by its worst slice."""
        limit, metric = asked.limit, asked.metric
        if limit.is_gap:
            wanted = limit_tests.match_models(self.whole, limit.model, limit.kind)
            gaps = limit_tests.slice_gaps(self.result, limit, metric)
            found = [limit_tests.value_gate(asked, *gap) for gap in gaps if gap[0] in wanted]
        elif metric in self.result.summary and limit.model is None and limit.slices is None:
            value, where = self.result.summary[metric], (asked, None, None)
            if not isinstance(value, (int, float)):
                why = "is not a number" if value is not None else "differs between models"
                raise UsageError.new(f"'{metric}' {why}", "bad-gate")
            if limit.part != "value":
                raise UsageError.new(f"'{metric}' is a count and has no .{limit.part}", "bad-gate")
            if limit.kind == "max-drop" and self.beside is not None:
                old, level = self.beside.before.summary.get(metric), self.beside.level
                found = [
                    limit_tests.drop_gate(*where, change_of_independent(old, value, level=level))
                ]
            else:
                found = [limit_tests.value_gate(*where, value)]
        elif asked.slices is None:
            found = self._rows(asked, self.whole, None)
        else:
            found = []
            for part in asked.slices:
                if part not in self.slices:
                    self.slices[part] = limit_tests.slice_rows(self.result, part)
                found += self._rows(asked, self.slices[part], part)
        if not limit.any:
            return found
        worst: dict[str | None, Gate] = {}
        for gate in found:
            worst[gate.model] = min(worst.get(gate.model, gate), gate, key=limit_tests.slack)
        return [replace(max(worst.values(), key=limit_tests.slack), among=len(worst))]

    def _rows(
        self, asked: limit_tests.GateDraft, rows: Mapping[str, Row], part: str | None
    ) -> list[Gate]:
        limit, metric = asked.limit, asked.metric
        rows, names = self._rows_of_limit(limit, metric, rows, part)
        gone = [replace(asked.gate(model, part), reason="gone") for model in names]
        # the reference has no difference from itself
        rows = {model: row for model, row in rows.items() if metric in row}
        if not rows and gone:
            return gone
        if not rows:
            whose = f"'{limit.model}'" if part is None else f"the slice '{part}'"
            what = f"--{limit.kind}: {whose} has no '{metric}'"
            raise UsageError.new(what, "bad-gate", hint="remove this gate, or name another measure")
        cells = [row[metric] for row in rows.values()]
        cell = next(filter(limit_tests.is_number, cells), cells[0])
        if not limit_tests.is_number(cell):
            raise UsageError.new(f"--{limit.kind}: '{metric}' is not a number", "bad-gate")
        if limit.part != "value" and not isinstance(cell, Estimate):
            raise UsageError.new(f"'{metric}' is a count and has no .{limit.part}", "bad-gate")
        if self.beside is None or not limit.compares:
            return [
                limit_tests.value_gate(asked, model, part, row[metric])
                for model, row in rows.items()
            ]
        judge_one = limit_tests.drop_gate if limit.kind == "max-drop" else limit_tests.change_gate
        found = [
            judge_one(asked, model, part, self.beside.change(model, metric, row[metric], part))
            for model, row in rows.items()
        ]
        return [*found, *gone]

    def _rows_of_limit(
        self, limit: Limit, metric: str, rows: Mapping[str, Row], part: str | None
    ) -> tuple[Mapping[str, Row], list[str]]:
        """Return the rows of a limit's models, and its models that only the baseline has."""
        gone = []
        if self.beside is not None and limit.compares and not limit.any:
            gone = self.beside.gone(metric, limit.model, part, rows)
        try:
            return limit_tests.match_models(rows, limit.model, limit.kind), gone
        except UsageError:
            if gone:
                return {}, gone
            raise


def _direction_warnings(
    looked: _GateRows, targets: Sequence[limit_tests.GateDraft]
) -> Iterator[ResultNote]:
    """Yield warnings on limits that fail better values, unless both ends have one; UsageError."""
    page = page_of(looked.result.command)
    for target in targets:
        limit, metric = target.limit, target.metric
        word, _, side = limit.kind.partition("-")
        other = {"under": f"{word}-over", "over": f"{word}-under"}.get(side)
        column = page.column(metric)
        sure = metric.partition(":")[0] in CATALOG or (column is not None and column.best)
        wrong, what = ("min", "lower") if side == "under" else ("max", "higher")
        ends = [one.limit.kind for one in targets if one.metric == metric]
        if other is None or limit.is_gap or not sure or target.best != wrong or other in ends:
            continue
        named = limit.metric if limit.part == "value" else f"{limit.metric}.{limit.part}"
        text, instead = f"--{limit.kind} {named}: {what} values are better", f"--{other} {named}"
        if limit.kind == "fail-under":  # it would pass bad values
            hint = f"use {instead}={limit.limit:g}"
            raise UsageError.new(text, "bad-gate", hint=hint)
        yield ResultNote("gate-turned", f"{text}; did you mean {instead}={limit.limit:g}?")


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
            yield Gate(
                kind,
                name,
                None,
                least,
                value,
                value is not None and value >= least,
                reason,
                slice=part,
            )


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
    rows: Mapping[str, Row] = limit_tests.slice_rows(result, None)
    for text in models:
        which, colon, model = text.partition(":")
        few = bool(colon) and which in ("any", "all") and text not in rows
        lead = str(best[0]["measure"])
        may = {row["model"]: row["tied"] for row in best if row["measure"] == lead}
        found = []
        for name in limit_tests.match_models(rows, model if few else text, "still-best"):
            tied = may.get(name)
            value, reason = (float(tied), None) if isinstance(tied, bool) else (None, "undefined")
            found.append(Gate("still-best", lead, name, 1.0, value, tied is True, reason))
        if few and which == "any":
            found = [replace(max(found, key=lambda gate: gate.passed), among=len(found))]
        yield from found
