"""Kinds of gates: a record each, with its check, its sentence, and what is pending before a run.

A new kind is declared here, and its option in `limits.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from os import fspath
from os.path import basename
from typing import cast

from clfeval.compare.gates.limits import Gates
from clfeval.document import NO_BASELINE, Document, Gate, Severity
from clfeval.document.cells import Cell, Row
from clfeval.errors import ErrorCollector, UsageError
from clfeval.formatting import format_deciding_digits, format_p_value
from clfeval.placeholders import END, OPTION, fill_for_shell
from clfeval.records import dataclass, replace

RowsByLabel = Mapping[str, Row]
PendingGate = tuple[Gate, str]  # a gate without an outcome, and its text


@dataclass(frozen=True, slots=True)
class GateEvaluation:
    """A result whose gates are evaluated.

    rows: of the whole table, by label. match_models: returns the rows that the name or pattern of a
    model means, from it and the kind of gate; UsageError where there are none. slices: those with
    limits. paired_rows: the fewest rows that both sides of a change share.
    """

    result: Document
    gates: Gates
    rows: RowsByLabel
    match_models: Callable[[str | None, str], RowsByLabel]
    slices: Sequence[str] = ()
    paired_rows: float | None = None


def no_gates(_: object) -> Iterator[Gate]:
    """Yield nothing: limits on measures are evaluated by `evaluate_limits`."""
    yield from ()


def no_pending_gates(_: object) -> Iterator[PendingGate]:
    """Yield nothing: the gate depends on what the run finds."""
    yield from ()


@dataclass(frozen=True, slots=True)
class GateKind:
    """A kind of gate.

    name: in documents. option: the field of `Gates`. sentence: returns the text of a gate. check:
    yields the gates of a result. pending: yields the requested gates before a run, with their
    texts. commands: those whose results can have it, all if empty.
    """

    name: str
    option: str
    sentence: Callable[[Gate], str]
    check: Callable[[GateEvaluation], Iterator[Gate]] = no_gates
    pending: Callable[[Gates], Iterator[PendingGate]] = no_pending_gates
    commands: tuple[str, ...] = ()

    def applies_to(self, command: str) -> bool:
        """Return whether the results of a command can have this gate."""
        return not self.commands or command in self.commands


@dataclass(frozen=True, slots=True)
class MeasureLimitKind(GateKind):
    """A kind of limit on a measure.

    lower: the limit is a lower bound, else an upper one. warns: a missed limit only warns. drop:
    it limits how much worse a value is than that of the baseline.
    """

    lower: bool = False
    warns: bool = False
    drop: bool = False

    def meets(self, value: float, limit: float) -> bool:
        """Return whether a value meets a limit."""
        return value >= limit if self.lower else value <= limit

    def margin(self, value: float, limit: float) -> float:
        """Return how far a value is inside a limit, negative where it is outside."""
        return value - limit if self.lower else limit - value

    def severity(self, *, strict: bool) -> Severity:
        """Return the severity of a missed limit; strict: warnings count as missed."""
        return "warn" if self.warns and not strict else "fail"

    @property
    def opposite(self) -> MeasureLimitKind | None:
        """The kind with the bound on the other side, if there is one."""
        opposite_flags = (not self.lower, self.warns, self.drop)
        kinds = (
            kind for kind in LIMIT_KINDS if (kind.lower, kind.warns, kind.drop) == opposite_flags
        )
        return next(kinds, None)


def limit_sentence(gate: Gate) -> str:
    """Return the sentence on a value and its limit, with as many digits as decide."""
    if gate.value is None:
        return f"{gate.subject} is {_describe_missing_value(gate)}, {gate.bound}"
    number = format_deciding_digits(gate.value, gate.limit)
    return f"{gate.subject} is {number}, {gate.bound}{_describe_significance(gate)}"


def drop_sentence(gate: Gate) -> str:
    """Return the sentence on how much worse a value is than the baseline's, and the limit."""
    value = gate.value
    if value is None:
        worse_phrase = "worse than the baseline by " if gate.reason in INFINITE else ""
        return f"{gate.subject} is {worse_phrase}{_describe_missing_value(gate)}, {gate.bound}"
    if value > 0:
        change_phrase = f"worse than the baseline by {format_deciding_digits(value, gate.limit)}"
    elif value < 0:
        change_phrase = f"better than the baseline by {format_deciding_digits(-value, 0.0)}"
    else:
        change_phrase = "as in the baseline"
    limit_clause = f" ({gate.limit:.3g})" if gate.limit_text else ""
    significance = _describe_significance(gate)
    return f"{gate.subject} is {change_phrase}, {gate.bound}{limit_clause}{significance}"


INFINITE = ("infinite", "minus_infinite")


def _describe_missing_value(gate: Gate) -> str:
    """Return the words on a gate without a finite value, by its reason."""
    if gate.reason == "gone":
        subject = "model" if gate.slice is None else "slice"
        return f"missing: only the baseline has this {subject}"
    if gate.reason in INFINITE:
        return gate.reason.replace("_", " ")
    return f"undefined ({gate.reason})"


def _describe_significance(gate: Gate) -> str:
    """Return the p-value of a change, where the gate has one, and whether it is significant."""
    p_clause = "" if gate.p is None else f"; {format_p_value(gate.p)}"
    return f"{p_clause}, not significant" if gate.reason == "not_significant" else p_clause


def pending_limits(name: str, gates: Gates) -> Iterator[PendingGate]:
    """Yield the limits of a kind as requested."""
    severity = limit_kind(name).severity(strict=gates.strict)
    for limit, (_, text) in zip(gates.limits, gates.written, strict=True):
        if limit.kind == name:
            metric = limit.metric if limit.part == "value" else f"{limit.metric}.{limit.part}"
            gate = Gate(
                name,
                metric,
                limit.model,
                limit.limit,
                value=None,
                passed=True,
                severity=severity,
                slice=limit.slices,
            )
            yield gate, f"{name} {text}"


FAIL_UNDER = MeasureLimitKind(
    "fail-under",
    "fail_under",
    limit_sentence,
    pending=partial(pending_limits, "fail-under"),
    lower=True,
)
FAIL_OVER = MeasureLimitKind(
    "fail-over", "fail_over", limit_sentence, pending=partial(pending_limits, "fail-over")
)
WARN_UNDER = MeasureLimitKind(
    "warn-under",
    "warn_under",
    limit_sentence,
    pending=partial(pending_limits, "warn-under"),
    lower=True,
    warns=True,
)
WARN_OVER = MeasureLimitKind(
    "warn-over",
    "warn_over",
    limit_sentence,
    pending=partial(pending_limits, "warn-over"),
    warns=True,
)
MAX_DROP = MeasureLimitKind(
    "max-drop", "max_drop", drop_sentence, pending=partial(pending_limits, "max-drop"), drop=True
)
VALUE_LIMIT_KINDS = (FAIL_UNDER, FAIL_OVER)  # of values, missed rather than warned of
LIMIT_KINDS = (FAIL_UNDER, FAIL_OVER, WARN_UNDER, WARN_OVER, MAX_DROP)
_LIMIT_KINDS_BY_NAME = {kind.name: kind for kind in LIMIT_KINDS}


def limit_kind(name: str) -> MeasureLimitKind:
    """Return the kind of a limit by its name."""
    return _LIMIT_KINDS_BY_NAME[name]


def is_drop(gate: Gate) -> bool:
    """Return whether the number of a gate is how much worse a value is than the baseline's."""
    kind = _LIMIT_KINDS_BY_NAME.get(gate.kind)
    return kind is not None and kind.drop


@dataclass(frozen=True, slots=True)
class RowCount:
    """A number of rows that a result counts.

    name: in the summary. cells: of a confusion matrix, whose sum it is. truths: whether rows of the
    positive class (True) and of other classes (False) count.
    """

    name: str
    cells: tuple[str, ...]
    truths: tuple[bool, ...]

    def smallest_of_models(self, result: Document, slice_name: str) -> float | None:
        """Return the number of rows of a slice, the smallest of any model; None if unknown."""
        row_counts = [*self._numbers_by_row(result, slice_name)] or [
            *self._numbers_by_model(result, slice_name)
        ]
        return min(row_counts, default=None)

    def _numbers_by_row(self, result: Document, slice_name: str) -> Iterator[float]:
        """Yield the number in each row of a slice, or the sum of its cells."""
        for row in (*result.tables.get("models", ()), *result.tables.get("slices", ())):
            if row.get("slice") != slice_name:
                continue
            row_count = row.get(self.name)
            cell_values = [row.get(cell) for cell in self.cells]
            counts = [count for count in cell_values if isinstance(count, (int, float))]
            if isinstance(row_count, (int, float)):
                yield row_count
            elif len(counts) == len(cell_values):
                yield sum(counts)

    def _numbers_by_model(self, result: Document, slice_name: str) -> Iterator[float]:
        """Yield the number of rows of a slice for each model, from a matrix of several classes."""
        rows_of_model: dict[Cell, float] = {}
        for row in result.tables.get("confusion", ()):
            is_positive = row["truth"] == result.parameters.get("positive")
            if row["slice"] == slice_name and is_positive in self.truths:
                rows = cast("float", row["rows"])
                rows_of_model[row["model"]] = rows_of_model.get(row["model"], 0) + rows
        yield from rows_of_model.values()


ALL_ROWS = RowCount("rows", ("tp", "fp", "fn", "tn"), (True, False))
POSITIVES = RowCount("positives", ("tp", "fn"), (True,))


def size_gates(
    name: str, option: str, count: RowCount, evaluation: GateEvaluation
) -> Iterator[Gate]:
    """Yield the gates on the number of rows of the table, and of each slice with a limit."""
    minimum = getattr(evaluation.gates, option)
    if minimum is None:
        return
    result = evaluation.result
    if count.name not in result.summary:
        message = f"{OPTION}--{name}{END}: {result.command} does not count {count.name} here"
        raise UsageError.new(message, "bad-gate", hint="remove it, or use report")
    for slice_name in (None, *evaluation.slices):
        if slice_name is None:
            row_count = result.summary[count.name]
        else:
            row_count = count.smallest_of_models(result, slice_name)
        value = row_count if isinstance(row_count, (int, float)) else None
        paired_rows = evaluation.paired_rows if count == ALL_ROWS and slice_name is None else None
        if value is not None and paired_rows is not None:
            value = min(value, paired_rows)
        is_met = value is not None and value >= minimum
        reason = None if value is not None else "not_alike"
        yield Gate(
            name,
            count.name,
            model=None,
            limit=minimum,
            value=value,
            passed=is_met,
            reason=reason,
            slice=slice_name,
        )


def pending_size(name: str, option: str, count: RowCount, gates: Gates) -> Iterator[PendingGate]:
    """Yield the required number of rows, where there is one."""
    minimum = getattr(gates, option)
    if minimum is not None:
        gate = Gate(name, count.name, model=None, limit=minimum, value=None, passed=True)
        yield gate, f"{name} {minimum:,}"


def size_sentence(gate: Gate) -> str:
    """Return the sentence on a number of rows and the required one."""
    count_text = "unknown" if gate.value is None else f"{gate.value:,.10g}"
    prefix = "".join(f"{name}: " for name in (gate.run, gate.slice) if name)
    return f"{prefix}{count_text} {gate.metric}, {gate.kind} {gate.limit:g}"


def size_kind(name: str, option: str, count: RowCount) -> GateKind:
    """Return the kind of gate on a number of rows."""
    check = partial(size_gates, name, option, count)
    pending = partial(pending_size, name, option, count)
    return GateKind(name, option, size_sentence, check, pending)


MIN_ROWS = size_kind("min-rows", "min_rows", ALL_ROWS)
MIN_POSITIVES = size_kind("min-positives", "min_positives", POSITIVES)
SIZE_KINDS = (MIN_ROWS, MIN_POSITIVES)


def still_best_gates(evaluation: GateEvaluation) -> Iterator[Gate]:
    """Yield gates on whether models are tied with the best by the leading measure."""
    model_texts = evaluation.gates.still_best
    result = evaluation.result
    best_rows: Sequence[Row] = result.tables.get("best", ())
    is_ranked = bool(best_rows) and "tied" in best_rows[0]
    if model_texts and not (STILL_BEST.applies_to(result.command) and is_ranked):
        hint = f"use report with several models and without {OPTION}--interval none{END}"
        message = (
            f"{OPTION}--{STILL_BEST.name}{END}: the models of this result are not ranked with "
            "intervals"
        )
        raise UsageError.new(message, "bad-gate", hint=hint)
    for model_text in model_texts:
        quantifier, _, pattern = model_text.partition(":")
        has_quantifier = (
            model_text.startswith(("any:", "all:")) and model_text not in evaluation.rows
        )
        rows = evaluation.match_models(pattern if has_quantifier else model_text, STILL_BEST.name)
        gates = [_still_best_gate(model, best_rows) for model in rows]
        if has_quantifier and quantifier == "any":
            gates = [replace(max(gates, key=lambda gate: gate.passed), among=len(gates))]
        yield from gates


def _still_best_gate(model: str, best_rows: Sequence[Row]) -> Gate:
    """Return the gate of a model; best_rows: of the table `best`, the leading measure first."""
    measure = best_rows[0]["measure"]
    tied_by_model = {row["model"]: row["tied"] for row in best_rows if row["measure"] == measure}
    is_tied = tied_by_model.get(model)
    if isinstance(is_tied, bool):
        return Gate(
            STILL_BEST.name, measure, model, limit=1.0, value=float(is_tied), passed=is_tied
        )
    return Gate(
        STILL_BEST.name, measure, model, limit=1.0, value=None, passed=False, reason="undefined"
    )


def pending_still_best(gates: Gates) -> Iterator[PendingGate]:
    """Yield a gate for each model that has to be tied with the best, as it is written."""
    name = STILL_BEST.name
    for model in gates.still_best:
        yield Gate(name, name, model, limit=1.0, value=None, passed=True), f"{name} {model}"


def still_best_sentence(gate: Gate) -> str:
    """Return the sentence on whether a model is significantly worse than the best."""
    outcome_clause = "" if gate.value is not None else f"({gate.reason}) "
    outcome_clause = "not " if gate.passed else outcome_clause
    return f"{gate.subject} is {outcome_clause}significantly worse than the best, {gate.kind}"


STILL_BEST = GateKind(
    "still-best",
    "still_best",
    still_best_sentence,
    still_best_gates,
    pending_still_best,
    commands=("report",),
)


def missing_baseline_gate(evaluation: GateEvaluation) -> Iterator[Gate]:
    """Yield the gate of a baseline whose file does not exist, missed or skipped as requested."""
    gates = evaluation.gates
    name = basename(fspath(gates.baseline))
    is_skipped = gates.baseline_missing == "skip"
    yield Gate(
        BASELINE.name,
        name,
        model=None,
        limit=0.0,
        value=None,
        passed=is_skipped,
        reason=NO_BASELINE,
    )


def baseline_sentence(gate: Gate) -> str:
    """Return the sentence on a baseline whose file does not exist."""
    prefix = f"{gate.run}: " if gate.run else ""
    remedy = f"add {OPTION}--baseline-missing skip{END} to go on without it"
    consequence = "skipped" if gate.passed else remedy
    return f"{prefix}the baseline {gate.metric} does not exist ({consequence})"


BASELINE = GateKind("baseline", "baseline", baseline_sentence, missing_baseline_gate)
KINDS: tuple[GateKind, ...] = (*LIMIT_KINDS, *SIZE_KINDS, STILL_BEST, BASELINE)
_SENTENCES = {kind.name: kind.sentence for kind in KINDS}


def gates_without_limits(evaluation: GateEvaluation, errors: ErrorCollector) -> list[Gate]:
    """Return the gates of a result that limit no measure; collect an error of each family."""
    gates: list[Gate] = []
    for family in (SIZE_KINDS, (STILL_BEST,)):
        with errors.going_on():
            for kind in family:
                gates += kind.check(evaluation)
    return gates


def gate_sentence(gate: Gate, fill: Callable[[str], str] = fill_for_shell) -> str:
    """Return the sentence on a gate: its value and its limit, or why it has none.

    fill: fills the placeholders of options, by default for a shell.
    """
    return fill(_SENTENCES.get(gate.kind, limit_sentence)(gate))
