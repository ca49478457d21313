"""Evaluation of gates: for each limit and model, for numbers of rows, and for the best model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from clfeval.compare.baseline import read
from clfeval.compare.baseline.changes import LEVEL, Baseline, ValueKey, value_bounds
from clfeval.compare.change import change_of_independent
from clfeval.compare.gates import limit_tests
from clfeval.compare.gates.excess import EXCESS, excess_gates
from clfeval.compare.gates.kinds import (
    BASELINE,
    GateEvaluation,
    gate_sentence,
    gates_without_limits,
    is_drop,
    limit_kind,
)
from clfeval.compare.gates.limit_tests import GateDraft
from clfeval.compare.gates.limits import Gates, Limit
from clfeval.document import Answer, Document, Gate, ResultNote
from clfeval.document.cells import Cell, Estimate, Row, as_estimate
from clfeval.errors import DataError, ErrorCollector, UsageError
from clfeval.formatting import format_bound, format_count
from clfeval.measures.catalog import CATALOG
from clfeval.pages import schema
from clfeval.pages.command_pages import page_of
from clfeval.placeholders import END, OPTION


def evaluate_gates(result: Document, gates: Gates, baseline: Baseline | None = None) -> Document:
    """Return the result with a Gate for each limit; baseline: the one of a table.

    Without the file of the baseline its own gate is missed, or skipped.
    """
    if not gates.any and gates.baseline is None:
        return result
    limits = gates.limits
    if baseline is None and gates.baseline is not None:
        try:
            earlier = read.read_baseline(gates.baseline, result)
        except read.NoReferenceError:
            if gates.baseline_missing != "skip":
                raise
            problem = "has no line without a missed gate"
            return _evaluate_without_baseline(result, limits, gates, problem)
        if earlier is None:
            return _evaluate_without_baseline(result, limits, gates)
        baseline = Baseline.from_results(result, earlier)
    return evaluate_limits(result, limits, baseline, gates)


def _evaluate_without_baseline(
    result: Document, limits: Iterable[Limit], gates: Gates, problem: str = "does not exist"
) -> Document:
    """Return the result with the gates that need no baseline, and the gate of the missing one."""
    limits_without_baseline = [limit for limit in limits if not limit.compares]
    result = evaluate_limits(result, limits_without_baseline, baseline=None, gates=gates)
    (gate,) = BASELINE.check(gate_evaluation(result, gates))
    consequence = "its gates are skipped" if gate.passed else "the gate is missed"
    message = f"the baseline '{gate.metric}' {problem}: {consequence}"
    note = ResultNote("baseline-missing", message)
    return replace(result, gates=(*result.gates, gate), warnings=(*result.warnings, note))


def gate_evaluation(
    result: Document, gates: Gates, slices: Sequence[str] = (), paired_rows: float | None = None
) -> GateEvaluation:
    """Return a result with what its gates need.

    slices: those with limits. paired_rows: the fewest rows that both sides of a change share.
    """
    rows = limit_tests.slice_rows(result, None)
    match_models = partial(limit_tests.match_models, rows)
    return GateEvaluation(result, gates, rows, match_models, slices, paired_rows)


def evaluate_limits(
    result: Document,
    limits: Iterable[Limit],
    baseline: Baseline | Document | None = None,
    gates: Gates | None = None,
) -> Document:
    """Return the result with one Gate for each limit and model it applies to."""
    gates = Gates() if gates is None else gates
    if isinstance(baseline, Document):
        earlier = read.EarlierResult(baseline, "the baseline")
        baseline = Baseline.from_results(result, earlier)
    result = _remove_gate_answers(result, is_compared=baseline is not None)
    limit_rows = _GateRows(result, baseline, gates)
    errors = ErrorCollector()
    drafts: list[GateDraft] = []
    for limit in limits:
        with errors.going_on():
            drafts.append(limit_rows.draft(limit))
    outcomes: list[Gate] = []
    for draft in _drafts_with_shares(drafts):
        with errors.going_on():
            outcomes += limit_rows.evaluate_limit(draft)
    slices = _limited_slices(result, outcomes)
    paired_rows = None if baseline is None else _fewest_paired_rows(drafts, baseline)
    evaluation = gate_evaluation(result, gates, slices, paired_rows)
    outcomes += gates_without_limits(evaluation, errors)
    errors.raise_problems()
    refuse_unknown_outcomes(result, outcomes, None if baseline is None else baseline.bounds)
    warnings = (*result.warnings, *_direction_warnings(result.command, drafts))
    result = replace(result, gates=tuple(outcomes), warnings=warnings)
    result = result if baseline is None else baseline.with_changes(result)
    answer = (*_answer_on_missed_gates(outcomes), *result.answer)
    return replace(result, answer=answer)


def _drafts_with_shares(drafts: Sequence[GateDraft]) -> Iterator[GateDraft]:
    """Yield the drafts, those on the same subject but for shares of the baseline's value as one.

    An absolute limit stands for the shares, else the first of them.
    """
    for draft in drafts:
        drafts_of_subject = [
            subject_draft for subject_draft in drafts if subject_draft.subject == draft.subject
        ]
        absolute_drafts = (
            subject_draft for subject_draft in drafts_of_subject if not subject_draft.limit.share
        )
        if not draft.limit.share or draft is next(absolute_drafts, drafts_of_subject[0]):
            shares = [
                subject_draft.limit.limit
                for subject_draft in drafts_of_subject
                if subject_draft.limit.share
            ]
            yield replace(draft, shares=shares)


def _limited_slices(result: Document, gates: Iterable[Gate]) -> list[str]:
    """Return the slices that gates are on, in the order of the gates."""
    names = read.slice_names(result)
    return [str(name) for name in dict.fromkeys(gate.slice for gate in gates) if name in names]


def _fewest_paired_rows(drafts: Iterable[GateDraft], baseline: Baseline) -> float | None:
    """Return the fewest rows of the table that a change is measured on; None without any."""
    if not any(draft.limit.compares for draft in drafts):
        return None
    row_counts = [
        change.rows
        for (_, _, slice_name), change in baseline.shared.items()
        if change.paired and slice_name is None and change.rows is not None
    ]
    return min(row_counts, default=None)


def _answer_on_missed_gates(gates: Iterable[Gate]) -> Iterator[Answer]:
    """Yield the sentence on the first missed gate, and the number of the others."""
    failed_gates = [gate for gate in gates if gate.failed]
    for gate in failed_gates[:1]:
        more_count = len(failed_gates) - 1
        more_clause = f" (and {format_count(more_count, 'more gate')})" if more_count else ""
        text = f"Gate missed: {gate_sentence(gate, fill=str)}{more_clause}."
        models = () if gate.model is None else (gate.model,)
        yield Answer("gates-missed", text, models, gate.measure, gate.value, harm=True)


def refuse_unknown_outcomes(
    result: Document, gates: Iterable[Gate], changes: Mapping[ValueKey, float] | None = None
) -> None:
    """Raise DataError for a limit that is nearer than the bound of a value, or a value without one.

    changes: the bounds of changes from the baseline.
    """
    bound_of_value = value_bounds(result)
    bound_of_change = changes or {}
    hint = f"count scores one by one: add {OPTION}--scores exact{END}"
    if "min_cell" in result.summary:
        hint = f"give another limit, or count with a smaller {OPTION}--min-cell{END}"
    for gate in gates:
        if gate.reason in ("hidden_counts", "needs_exact_scores"):
            message = f"gate {gate.subject} cannot be judged from these counts"
            raise DataError.new(message, "gate-within-bound", hint=hint)
        is_change = is_drop(gate) or ".change" in gate.metric
        bound_of_key = bound_of_change if is_change else bound_of_value
        bound = bound_of_key.get((gate.model, gate.measure, gate.slice), 0.0)
        interval_side = "" if is_change else gate.metric.rpartition(".")[2]
        lowest, highest = _possible_values(result, gate, bound, interval_side)
        if gate.value is not None and bound and lowest <= gate.limit <= highest:
            message = f"gate {gate.subject}: from these counts the value is known within "
            message += f"{format_bound(bound)}: {gate.value:.9g}, and the limit is {gate.limit:g}"
            raise DataError.new(message, "gate-within-bound", hint=hint)


def _possible_values(
    result: Document, gate: Gate, bound: float, interval_side: str
) -> tuple[float, float]:
    """Return the lowest and the highest number that a gate can have for the rows.

    interval_side: low or high for a confidence limit, any other text for a value. The limit of the
    rows is not beyond that of their counts, which is cautious; it may be nearer to the value by any
    amount.
    """
    value = gate.value or 0.0
    if interval_side not in ("low", "high"):
        return value - bound, value + bound
    estimates = [
        as_estimate(row["value"]).value
        for row in result.tables.get("measures", ())
        if (row["model"], row["measure"], row["slice"]) == (gate.model, gate.measure, gate.slice)
    ]
    distances = [abs(estimate - value) for estimate in estimates if estimate is not None]
    max_distance = max(distances, default=inf) + bound
    return (
        (value, value + max_distance) if interval_side == "low" else (value - max_distance, value)
    )


def _remove_gate_answers(result: Document, *, is_compared: bool) -> Document:
    """Return a result without the sentences of earlier gates.

    is_compared: also without the sentences and rows on an earlier baseline.
    """
    codes = schema.GATE_CODES if is_compared else schema.GATE_CODES[:1]
    answer = tuple(sentence for sentence in result.answer if sentence.code not in codes)
    tables = dict(result.tables)
    if is_compared:
        tables.pop(schema.CHANGES, None)
        comparisons = tables.get(schema.COMPARISONS, ())
        rows = [row for row in comparisons if row.get("against") != schema.BASELINE]
        if len(rows) < len(comparisons):
            tables[schema.COMPARISONS] = rows
    return replace(result, tables=tables, answer=answer)


class _GateRows:
    """The rows of a result that limits apply to, those of slices made on demand."""

    def __init__(self, result: Document, baseline: Baseline | None, gates: Gates) -> None:
        self.result = result
        self.baseline = baseline
        self.gates = gates
        self.rows = limit_tests.slice_rows(result, slice_name=None)
        self.cells = {name: cell for row in self.rows.values() for name, cell in row.items()}
        self.cells |= result.summary
        self.rows_by_slice: dict[str, Mapping[str, Row]] = {}

    def draft(self, limit: Limit) -> GateDraft:
        """Return a limit with its measure, models and slices; UsageError where one is missing."""
        metric = limit_tests.match_metric(limit, self.cells, self.result)
        limit_tests.check_limit(limit, metric)
        if self.baseline is None:
            limit_tests.check_compared(limit)
        slices = self._slices_of_limit(limit)
        rows, _ = self._rows_of_limit(limit, metric, self.rows, slice_name=None)
        return GateDraft(
            limit,
            metric,
            tuple(rows),
            slices,
            read.better_direction(self.result.command, metric),
            limit_kind(limit.kind).severity(strict=self.gates.strict),
            significant=self.gates.significant,
            level=self.result.parameters.get("level") or LEVEL,
        )

    def _slices_of_limit(self, limit: Limit) -> tuple[str, ...] | None:
        """Return the slices that a limit names; None for the whole table, and for gaps."""
        if limit.slices is None or limit.is_gap:
            return None
        names = read.slice_names(self.result)
        if self.baseline is not None and limit.compares and not limit.any:
            names = list(dict.fromkeys([*names, *read.slice_names(self.baseline.earlier)]))
        return tuple(limit_tests.match_slices(limit, names))

    def evaluate_limit(self, draft: GateDraft) -> list[Gate]:
        """Return the gates of one limit: of each model, or the best of them by its worst slice."""
        limit = draft.limit
        if limit.is_gap:
            gates = self._gap_gates(draft)
        elif draft.metric in self.result.summary and limit.model is None and limit.slices is None:
            gates = [self._summary_gate(draft, self.result.summary[draft.metric])]
        elif draft.slices is None:
            gates = self._model_gates(draft, self.rows, slice_name=None)
        else:
            gates = []
            for slice_name in draft.slices:
                if slice_name not in self.rows_by_slice:
                    self.rows_by_slice[slice_name] = limit_tests.slice_rows(self.result, slice_name)
                gates += self._model_gates(draft, self.rows_by_slice[slice_name], slice_name)
        return [_best_model_gate(gates)] if limit.any else gates

    def _gap_gates(self, draft: GateDraft) -> list[Gate]:
        """Return the gates of the gaps between slices."""
        limit = draft.limit
        models = limit_tests.match_models(self.rows, limit.model, limit.kind)
        gaps = limit_tests.slice_gaps(self.result, limit, draft.metric)
        return [limit_tests.value_gate(draft, *gap) for gap in gaps if gap[0] in models]

    def _summary_gate(self, draft: GateDraft, value: object) -> Gate:
        """Return the gate of a number in the summary."""
        if not isinstance(value, (int, float)):
            problem = "is not a number" if value is not None else "differs between models"
            raise UsageError.new(f"'{draft.metric}' {problem}", "bad-gate")
        _check_interval(draft, value)
        if not draft.kind.drop or self.baseline is None:
            return limit_tests.value_gate(draft, model=None, slice_name=None, cell=value)
        old = self.baseline.earlier.summary.get(draft.metric)
        change = change_of_independent(old, value, level=self.baseline.level)
        return limit_tests.drop_gate(draft, model=None, slice_name=None, change=change)

    def _model_gates(
        self, draft: GateDraft, rows: Mapping[str, Row], slice_name: str | None
    ) -> list[Gate]:
        """Return the gates of the models of a limit; rows: of the slice or the whole table."""
        limit, metric = draft.limit, draft.metric
        limited_rows, missing_models = self._rows_of_limit(limit, metric, rows, slice_name)
        missing_gates = [
            replace(draft.gate(model, slice_name), reason="gone") for model in missing_models
        ]
        # the reference has no difference from itself
        cells = {model: row[metric] for model, row in limited_rows.items() if metric in row}
        if not cells and missing_gates:
            return missing_gates
        _check_cells(draft, [*cells.values()], slice_name)
        if limit.part == EXCESS:
            return [*excess_gates(self.result, draft, cells, slice_name), *missing_gates]
        baseline = self.baseline
        if baseline is None or not limit.compares:
            return [
                limit_tests.value_gate(draft, model, slice_name, cell)
                for model, cell in cells.items()
            ]
        make_gate = limit_tests.drop_gate if draft.kind.drop else limit_tests.change_gate
        gates = [
            make_gate(draft, model, slice_name, baseline.change(model, metric, cell, slice_name))
            for model, cell in cells.items()
        ]
        return [*gates, *missing_gates]

    def _rows_of_limit(
        self, limit: Limit, metric: str, rows: Mapping[str, Row], slice_name: str | None
    ) -> tuple[Mapping[str, Row], list[str]]:
        """Return the rows of a limit's models, and its models that only the baseline has."""
        missing_models = []
        if self.baseline is not None and limit.compares and not limit.any:
            missing_models = self.baseline.missing_models(metric, limit.model, slice_name, rows)
        try:
            return limit_tests.match_models(rows, limit.model, limit.kind), missing_models
        except UsageError:
            if missing_models:
                return {}, missing_models
            raise


def _check_cells(draft: GateDraft, cells: Sequence[Cell], slice_name: str | None) -> None:
    """Raise UsageError where a limit applies to no cell, or to cells that are no numbers."""
    limit, metric = draft.limit, draft.metric
    if not cells:
        owner = f"'{limit.model}'" if slice_name is None else f"the slice '{slice_name}'"
        message = f"{OPTION}--{limit.kind}{END}: {owner} has no '{metric}'"
        hint = "remove this gate, or name another measure"
        raise UsageError.new(message, "bad-gate", hint=hint)
    cell = next(filter(limit_tests.is_number, cells), cells[0])
    if not limit_tests.is_number(cell):
        raise UsageError.new(f"{OPTION}--{limit.kind}{END}: '{metric}' is not a number", "bad-gate")
    _check_interval(draft, cell)


def _check_interval(draft: GateDraft, cell: Cell) -> None:
    """Raise UsageError for a limit on the confidence interval of a count, which has none."""
    part = draft.limit.part
    if part != "value" and not isinstance(cell, Estimate):
        raise UsageError.new(f"'{draft.metric}' is a count and has no .{part}", "bad-gate")


def _best_model_gate(gates: Iterable[Gate]) -> Gate:
    """Return the gate of the best model, by the worst of its slices."""
    worst_gate_of_model: dict[str | None, Gate] = {}
    for gate in gates:
        worst_gate_of_model[gate.model] = min(
            worst_gate_of_model.get(gate.model, gate), gate, key=limit_tests.slack
        )
    best_gate = max(worst_gate_of_model.values(), key=limit_tests.slack)
    return replace(best_gate, among=len(worst_gate_of_model))


def _direction_warnings(command: str, drafts: Sequence[GateDraft]) -> Iterator[ResultNote]:
    """Yield warnings on limits that fail better values, unless both sides have one; UsageError."""
    page = page_of(command)
    for draft in drafts:
        limit, metric, kind = draft.limit, draft.metric, draft.kind
        opposite_kind = kind.opposite
        column = page.column(metric)
        has_direction = metric.partition(":")[0] in CATALOG or bool(column and column.best)
        if opposite_kind is None or limit.is_gap or not has_direction:
            continue
        better_phrase, direction = ("lower", "min") if kind.lower else ("higher", "max")
        has_opposite = any(
            (other_draft.metric, other_draft.kind) == (metric, opposite_kind)
            for other_draft in drafts
        )
        if draft.best != direction or has_opposite:
            continue
        name = limit.metric if limit.part == "value" else f"{limit.metric}.{limit.part}"
        message = f"{OPTION}--{kind.name}{END} {name}: {better_phrase} values are better"
        option = f"{OPTION}--{opposite_kind.name}{END} {name}={limit.limit:g}"
        if kind.lower and not kind.warns:  # it would pass bad values
            raise UsageError.new(message, "bad-gate", hint=f"use {option}")
        yield ResultNote("gate-turned", f"{message}; did you mean {option}?")
