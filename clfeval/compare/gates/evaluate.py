"""Evaluation of gates: one for each limit and model it applies to, and changes of a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from os.path import basename

from clfeval.compare.baseline.changes import LEVEL, Baseline
from clfeval.compare.baseline.read import (
    EarlierResult,
    better_direction,
    read_baseline,
    slice_names,
)
from clfeval.compare.gates.limit_targets import (
    is_number,
    match_metric,
    match_models,
    match_slices,
    slice_gaps,
    slice_rows,
    whole_table_rows,
)
from clfeval.compare.gates.limit_tests import (
    GateDraft,
    change_gate,
    check_compared,
    check_limit,
    drop_gate,
    row_count_gates,
    slack,
    still_best_gates,
    value_gate,
)
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.document import Answer, Cell, Document, Estimate, Gate, ResultNote, Row, shorten_answer
from clfeval.errors import ErrorCollector, UsageError
from clfeval.formatting import format_count
from clfeval.measures.catalog import CATALOG
from clfeval.pages import page_of
from clfeval.schema import BASELINE, CHANGES, COMPARISONS, GATE_CODES

NO_BASELINE = "baseline_missing"


def evaluate_gates(result: Document, gates: Gates, beside: Baseline | None = None) -> Document:
    """Return the result with a Gate for each limit; beside: the baseline, where it is a table."""
    if not gates.any and gates.baseline is None:
        return result
    limits = gates.limits
    if beside is None and gates.baseline is not None:
        found = read_baseline(gates.baseline, result)
        if found is None:
            return _evaluate_without_baseline(result, limits, gates)
        beside = Baseline.from_results(result, found)
    return evaluate_limits(result, limits, beside, gates)


def _evaluate_without_baseline(result: Document, limits: Sequence[Limit], gates: Gates) -> Document:
    """Return the result with gates that need no baseline; its own gate is missed or skipped."""
    assert isinstance(gates.baseline, (str, PathLike))
    name = basename(fspath(gates.baseline))
    left = [limit for limit in limits if not limit.compares]
    result = evaluate_limits(result, left, None, gates)
    skips = gates.baseline_missing == "skip"
    what = "its gates are skipped" if skips else "the gate is missed"
    said = ResultNote("baseline-missing", f"the baseline '{name}' does not exist: {what}")
    missing = Gate("baseline", name, None, 0.0, None, skips, NO_BASELINE)
    return replace(result, gates=(*result.gates, missing), warnings=(*result.warnings, said))


def evaluate_limits(
    result: Document, limits: Iterable[Limit], baseline: Baseline | Document | None = None,
    gates: Gates | None = None,
) -> Document:  # fmt: skip
    """Return the result with one Gate for each limit and model it applies to."""
    gates, limits = Gates() if gates is None else gates, list(limits)
    beside = baseline if not isinstance(baseline, Document) else (
        Baseline.from_results(result, EarlierResult(baseline, "the baseline")))  # fmt: skip
    result = _remove_gate_answers(result, compared=beside is not None)
    looked, found, wrong = _GateRows(result, beside, gates), list[Gate](), ErrorCollector()
    targets = list[_LimitTarget]()
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
            found += looked.judged(target, shares)
    known = slice_names(result)
    parts = dict.fromkeys(gate.slice for gate in found if gate.slice in known)
    with wrong.going_on():
        found += row_count_gates(
            result, gates, [str(part) for part in parts], _paired_row_count(targets, beside)
        )
    with wrong.going_on():
        found += still_best_gates(result, gates.still_best)
    wrong.stop()
    warnings = (*result.warnings, *_direction_warnings(looked, targets))
    result = replace(result, gates=tuple(found), warnings=warnings)
    result = result if beside is None else beside.shown(result)
    return replace(result, answer=shorten_answer([*_missed_gate_answer(found), *result.answer]))


def _remove_gate_answers(result: Document, *, compared: bool) -> Document:
    """Return a result without sentences of earlier gates; compared: nor changes of a baseline."""
    answer = tuple(one for one in result.answer
                   if one.code not in (GATE_CODES if compared else GATE_CODES[:1]))  # fmt: skip
    tables = {name: rows for name, rows in result.tables.items() if name != CHANGES or not compared}
    rows = [row for row in tables.get(COMPARISONS, ()) if row.get("against") != BASELINE]
    if compared and len(rows) < len(tables.get(COMPARISONS, ())):
        tables[COMPARISONS] = rows
    return replace(result, tables=tables, answer=answer)


def _missed_gate_answer(gates: Sequence[Gate]) -> Iterator[Answer]:
    """Yield the sentence on the first missed gate and the number of others."""
    missed = [gate for gate in gates if gate.failed]
    for gate in missed[:1]:
        more = f" (and {format_count(len(missed) - 1, 'more gate')})" if len(missed) > 1 else ""
        models, text = () if gate.model is None else (gate.model,), f"Gate missed: {gate}{more}."
        yield Answer("gates-missed", text, models, gate.measure, gate.value)


@dataclass(frozen=True, slots=True)
class _LimitTarget:
    """The target of a limit in a result: its measure, models and slices."""

    limit: Limit
    metric: str
    models: tuple[str, ...] = ()
    slices: tuple[str, ...] | None = None

    @property
    def subject(self) -> tuple[object, ...]:
        """The target without the limit's number."""
        one = self.limit
        return one.kind, one.any, one.part, self.metric, self.models, self.slices


class _GateRows:
    """The rows of a result that limits apply to, those of slices made on demand."""

    def __init__(self, result: Document, beside: Baseline | None, gates: Gates) -> None:
        self.result, self.beside, self.gates = result, beside, gates
        self.whole = whole_table_rows(result)
        self.slices: dict[str, Mapping[str, Row]] = {}

    @property
    def cells(self) -> dict[str, Cell]:
        """The cells of the whole table by name."""
        rows = {name: cell for row in self.whole.values() for name, cell in row.items()}
        return {**rows, **self.result.summary}

    def target(self, limit: Limit) -> _LimitTarget:
        """Return the target of a limit; UsageError where it is missing or cannot be judged."""
        metric = match_metric(limit, self.cells, self.result)
        check_limit(limit, metric)
        if self.beside is None:
            check_compared(limit)
        slices = None
        if limit.slices is not None and not limit.apart:
            known = slice_names(self.result)
            if self.beside is not None and limit.compares and not limit.any:
                known = list(dict.fromkeys([*known, *slice_names(self.beside.before)]))
            slices = tuple(match_slices(limit, known))
        models = tuple(self.whole)
        if limit.model is not None:
            models = tuple(self._named(limit, metric, self.whole, None))
        return _LimitTarget(limit, metric, models, slices)

    def judged(self, target: _LimitTarget, shares: Sequence[float]) -> list[Gate]:
        """Return the gates of one limit: of each model, or the best of them."""
        limit, metric = target.limit, target.metric
        best, severity = (
            better_direction(self.result.command, metric),
            self.gates.severity(limit.kind),
        )
        level = self.result.parameters.get("level") or LEVEL
        asked = GateDraft(limit, metric, best, severity, shares, self.gates.significant, level)
        if limit.apart:
            found = self._gaps(asked)
        elif metric in self.result.summary and limit.model is None and limit.slices is None:
            found = [self._summary(asked)]
        elif target.slices is None:
            found = self._rows(asked, self.whole, None)
        else:
            found = []
            for part in target.slices:
                if part not in self.slices:
                    self.slices[part] = slice_rows(self.result, part)
                found += self._rows(asked, self.slices[part], part)
        return [_best_of_any(found)] if limit.any else found

    def _summary(self, asked: GateDraft) -> Gate:
        value, limit, metric = self.result.summary[asked.metric], asked.limit, asked.metric
        if not isinstance(value, (int, float)):
            why = "is not a number" if value is not None else "differs between models"
            raise UsageError.new(f"'{metric}' {why}", "bad-gate")
        if limit.part != "value":
            raise UsageError.new(f"'{metric}' is a count and has no .{limit.part}", "bad-gate")
        if limit.kind == "max-drop" and self.beside is not None:
            return drop_gate(asked, None, None, self.beside.change_of_summary(metric, value))
        return value_gate(asked, None, None, value)

    def _rows(self, asked: GateDraft, rows: Mapping[str, Row], part: str | None) -> list[Gate]:
        limit, metric = asked.limit, asked.metric
        gone = [replace(asked.gate(model, part), reason="gone")
                for model in self._gone(limit, metric, part, rows)]  # fmt: skip
        if limit.model is not None:
            rows = self._named(limit, metric, rows, part)
        # the reference has no difference from itself
        rows = {model: row for model, row in rows.items() if metric in row}
        if not rows and gone:
            return gone
        if not rows:
            whose = f"'{limit.model}'" if part is None else f"the slice '{part}'"
            what = f"--{limit.kind}: {whose} has no '{metric}'"
            raise UsageError.new(what, "bad-gate", hint="remove this gate, or name another measure")
        cells = [row[metric] for row in rows.values()]
        cell = next(filter(is_number, cells), cells[0])
        if limit.part != "value" and is_number(cell) and not isinstance(cell, Estimate):
            raise UsageError.new(f"'{metric}' is a count and has no .{limit.part}", "bad-gate")
        if not is_number(cell):
            raise UsageError.new(f"--{limit.kind}: '{metric}' is not a number", "bad-gate")
        if self.beside is None or not limit.compares:
            return [value_gate(asked, model, part, row[metric]) for model, row in rows.items()]
        judge_one = drop_gate if limit.kind == "max-drop" else change_gate
        found = [judge_one(asked, model, part, self.beside.change(model, metric, row[metric], part))
                 for model, row in rows.items()]  # fmt: skip
        return [*found, *gone]

    def _gone(
        self, limit: Limit, metric: str, part: str | None, rows: Mapping[str, Row]
    ) -> list[str]:
        """Return the models that only the baseline has, where a limit compares with it."""
        if self.beside is None or not limit.compares or limit.any:
            return []
        return self.beside.gone(metric, limit.model, part, rows)

    def _named(
        self, limit: Limit, metric: str, rows: Mapping[str, Row], part: str | None
    ) -> Mapping[str, Row]:
        """Return the rows of a limit's models; none where only the baseline has them."""
        try:
            return match_models(rows, str(limit.model), limit.kind)
        except UsageError:
            if self._gone(limit, metric, part, rows):
                return {}
            raise

    def _gaps(self, asked: GateDraft) -> list[Gate]:
        limit = asked.limit
        wanted = self.whole
        if limit.model is not None:
            wanted = match_models(self.whole, limit.model, limit.kind)
        return [
            value_gate(asked, model, part, cell)
            for model, part, cell in slice_gaps(self.result, limit, asked.metric)
            if model in wanted
        ]


def _paired_row_count(targets: Sequence[_LimitTarget], beside: Baseline | None) -> float | None:
    """Return the number of rows in both tables on which changes are judged, or None."""
    if beside is None or not any(one.limit.compares for one in targets):
        return None
    rows = [one.rows for (*_, part), one in beside.shared.items() if one.paired and part is None]
    return min((one for one in rows if one is not None), default=None)


def _best_of_any(gates: Sequence[Gate]) -> Gate:
    """Return the gate of the model with the largest margin, by its worst slice."""
    worst: dict[str | None, Gate] = {}
    for gate in gates:
        known = worst.get(gate.model)
        worst[gate.model] = gate if known is None else min(known, gate, key=slack)
    return replace(max(worst.values(), key=slack), among=len(worst))


def _direction_warnings(looked: _GateRows, targets: Sequence[_LimitTarget]) -> Iterator[ResultNote]:
    """Yield warnings on limits that fail better values, unless both ends have one; UsageError."""
    for target in targets:
        limit, metric = target.limit, target.metric
        word, _, side = limit.kind.partition("-")
        other = {"under": f"{word}-over", "over": f"{word}-under"}.get(side)
        if other is None or limit.apart:
            continue
        column = page_of(looked.result.command).column(metric)
        sure = metric.partition(":")[0] in CATALOG or (column is not None and column.best)
        wrong = {"under": "min", "over": "max"}[side]
        ends = [one.limit.kind for one in targets if one.metric == metric]
        if sure and better_direction(looked.result.command, metric) == wrong and other not in ends:
            part = "" if limit.part == "value" else f".{limit.part}"
            what = "lower" if wrong == "min" else "higher"
            if limit.kind == "fail-under":  # it would pass bad values
                instead = f"--{other} {limit.metric}{part}={limit.limit:g}"
                text = f"--{limit.kind} {limit.metric}{part}: {what} values are better"
                raise UsageError.new(text, "bad-gate", hint=f"use {instead}")
            text = f"--{limit.kind} {limit.metric}{part}: {what} values are better; did you mean " \
                   f"--{other} {limit.metric}{part}={limit.limit:g}?"  # fmt: skip
            yield ResultNote("gate-turned", text)
