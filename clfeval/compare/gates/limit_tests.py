"""One limit in a result: the models, slices and measure it is on, its range, and its gate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fnmatch import fnmatchcase

from clfeval import COMMANDS
from clfeval.compare.baseline.read import Labelled, rows_by_label, slice_names, subject_name
from clfeval.compare.change import MISSING, WORSE, Change
from clfeval.compare.gates.kinds import FAIL_OVER, FAIL_UNDER, MeasureLimitKind, limit_kind
from clfeval.compare.gates.limits import LIMITED, Limit
from clfeval.document import PARTS, Document, Gate, Severity
from clfeval.document.cells import Cell, Estimate, as_row, cell_text
from clfeval.errors import ErrorCollector, UsageError, list_names, quote_word, suggestion
from clfeval.inference.influence_and_clusters import FEW_CLUSTERS
from clfeval.measures.catalog import (
    CATALOG,
    TWO_AREAS,
    all_spellings,
    equivalent_names,
    find_measure,
    normalize_name,
    suggest_name,
    threshold_hint,
)
from clfeval.measures.other_names import macro_stem, missing_measure
from clfeval.measures.record import AIMS, Measure
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import COMPARISONS, comparison_rows, gateable_names
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace

DIFFERENCE_SUFFIX = "_difference"  # behind a measure: the model's value less the reference's


def slice_rows(result: Document, slice_name: str | None) -> Labelled:
    """Return the rows by label, with differences from the reference if there is one.

    slice_name: None for the whole table.
    """
    rows = dict(rows_by_label(result, slice_name))
    if result.parameters.get("reference") == "all-pairs":
        return rows
    for row in result.tables.get(COMPARISONS, ()):
        model = row["model"]
        if row["against"] in ("reference", "run") and row["slice"] == slice_name and model in rows:
            name = f"{row['measure']}{DIFFERENCE_SUFFIX}"
            rows[model] = as_row({**rows[model], name: row["difference"]})
    return rows


def match_slices(limit: Limit, slices: Sequence[str]) -> list[str]:
    """Return the slices with a name, or that match a pattern; UsageError where there are none."""
    pattern = str(limit.slices)
    if pattern in slices:
        return [pattern]
    matches = [slice_name for slice_name in slices if fnmatchcase(slice_name, pattern)]
    if not matches:
        hint = suggestion(pattern, slices) or f"slices: {list_names(slices)}"
        if not slices:
            hint = f"add {OPTION}--by COLUMN{END} to define slices"
        raise UsageError.new(
            f"{OPTION}--{limit.kind}{END}: no slice '{pattern}'", "unknown-slice", hint=hint
        )
    return matches


def match_models(rows: Labelled, model: str | None, kind: str) -> Labelled:
    """Return the rows of a model, or of the models that match a pattern; all rows for None."""
    if model is None:
        return rows
    exact_rows = {label: row for label, row in rows.items() if model in (label, subject_name(row))}
    if exact_rows:
        return exact_rows
    matching_rows = {
        label: row for label, row in rows.items() if fnmatchcase(subject_name(row), model)
    }
    if not matching_rows:
        names = list(dict.fromkeys(subject_name(row) for row in rows.values()))
        hint = suggestion(model, names) or f"models: {list_names(names)}"
        raise UsageError.new(
            f"{OPTION}--{kind}{END}: no model '{model}'", "unknown-model", hint=hint
        )
    return matching_rows


def match_metric(limit: Limit, cells: Mapping[str, Cell], result: Document) -> str:
    """Return the name of a limit's cell: this name, or the only one of it with parameters."""
    stem = limit.metric.removesuffix(DIFFERENCE_SUFFIX)
    suffix = limit.metric.removeprefix(stem)
    for name in _names_in(result, stem):
        if name + suffix in cells:
            return name + suffix
        matching_cells = [
            cell for cell in cells if cell.startswith(f"{name}:") and cell.endswith(suffix)
        ]
        if len(matching_cells) > 1:
            message = f"{OPTION}--{limit.kind}{END}: '{limit.metric}' matches several measures"
            raise UsageError.new(
                message, "bad-gate", hint=f"choose one of {list_names(matching_cells)}"
            )
        if matching_cells:
            return matching_cells[0]
    metric_names = [name for name, cell in cells.items() if is_number(cell)]
    limited_measure = _name_and_parameters(limit.metric)
    for name in metric_names:
        if _name_and_parameters(name) == limited_measure:
            return name
    message = f"{OPTION}--{limit.kind}{END}: no metric '{limit.metric}'"
    hint = _unknown_metric_hint(limit, metric_names, result)
    raise UsageError.new(message, "unknown-metric", hint=hint)


def _unknown_metric_hint(limit: Limit, metrics: list[str], result: Document) -> str:
    """Return what to write in place of a metric that a result lacks; metrics: those it has.

    UsageError for a name of another program that has no measure.
    """
    metric = limit.metric
    stem = metric.removesuffix(DIFFERENCE_SUFFIX)
    model, separator, metric_of_model = metric.partition(".")
    if separator and any(row.get("model") == model for row in result.tables.get("models", ())):
        return f"write '{model}:{metric_of_model}'"
    if stem.casefold() in TWO_AREAS:
        return "write average_precision (steps) or pr_auc (trapezoids)"
    _refuse_missing_measure(limit, stem)
    hint = _not_computed_hint(result, metric) or _part_suggestion(metric, metrics)
    if not hint and stem != metric and {*equivalent_names(stem)} & {*metrics}:
        hint = f"add {OPTION}--reference MODEL{END} and {OPTION}--measure {stem}{END}"
    return (
        hint
        or threshold_hint(metric)
        or _other_command_hint(result.command, metric)
        or suggest_name(metric, _limit_names(metrics, result.command))
        or f"metrics: {list_names(metrics)}"
    )


def _limit_names(metrics: Sequence[str], command: str) -> list[str]:
    """Return all names that a limit may use: of cells, and of what a report computes for it."""
    measure_ids = [*filter(CATALOG.get, metrics)]
    if command == "report":
        measure_ids += [measure.id for measure in CATALOG.values() if measure.needs in LIMITED]
    return list(dict.fromkeys([*metrics, *all_spellings(measure_ids)]))


def _names_in(result: Document, stem: str) -> list[str]:
    """Return the names that a measure may have in a result, macro averages among them."""
    names = [*equivalent_names(stem), normalize_name(stem)]
    has_several_classes = "positive" in result.parameters and result.parameters["positive"] is None
    if has_several_classes and (averaged_measure := macro_stem(normalize_name(stem))) is not None:
        names += equivalent_names(averaged_measure)
    return names


def _refuse_missing_measure(limit: Limit, stem: str) -> None:
    """Raise UsageError for a name of another program that has no measure."""
    if (reason := _missing_measure(limit, stem)) is not None:
        message = f"{OPTION}--{limit.kind}{END}: '{limit.metric}' {reason[0]}"
        raise UsageError.new(message, "unknown-metric", hint=reason[1])


def _missing_measure(limit: Limit, stem: str) -> tuple[str, str] | None:
    """Return why a name has no measure, and the gate to use in its place; None for other names."""
    if find_measure(stem.partition(":")[0]) is not None:
        return None
    reason = missing_measure(normalize_name(stem))
    negated_match = re.fullmatch(r"(?:.*_)?neg_(\w+)", normalize_name(stem))
    opposite_kind = limit_kind(limit.kind).opposite
    if reason is None or negated_match is None or opposite_kind is None or limit.part != "value":
        return reason
    if find_measure(negated_match[1]) is None:
        return reason
    model = "" if limit.model is None else f"{limit.model}:"
    gate_text = quote_word(f"{model}{negated_match[1]}={-limit.limit + 0:g}")
    return reason[0], f"use {OPTION}--{opposite_kind.name} {gate_text}{END}"


def _name_and_parameters(metric: str) -> tuple[frozenset[str], dict[str, str]]:
    """Return the names of a measure, and its parameters: 0.10 is .1."""
    name, _, parameters_text = metric.partition(":")
    parameters = dict(
        assignment.partition("=")[::2] for assignment in parameters_text.split(",") if assignment
    )
    for key, text in parameters.items():
        with suppress(ValueError):
            parameters[key] = repr(float(text))
    return frozenset({name, *equivalent_names(name)}), parameters


def slice_gaps(result: Document, limit: Limit, metric: str) -> Iterator[tuple[str, str, Cell]]:
    """Yield model, slice and gap, or the extreme slices; UsageError without table or measure."""
    is_difference = limit.part.startswith("gap")
    gap_rows = result.tables.get("extremes", ())
    if is_difference:
        gap_rows = comparison_rows(result, "slice", within_slices=True)
    rows = [row for row in gap_rows if row["measure"] == metric]
    if not rows:
        hint = f"use report with {OPTION}--by COLUMN{END}"
        if len(gap_rows):
            hint = f"compared: {list_names(dict.fromkeys(str(row['measure']) for row in gap_rows))}"
            hint += f"; for others add {OPTION}--measure {limit.metric}{END}"
        message = f"{OPTION}--{limit.kind}{END}: slices are not compared by '{limit.metric}'"
        raise UsageError.new(message, "unknown-metric", hint=hint)
    slices = None if limit.slices is None else match_slices(limit, slice_names(result))
    for row in rows:
        if not is_difference:
            yield row["model"], f"{row['largest']} less {row['smallest']}", row["gap"]
        elif slices is None or cell_text(row["slice"]) in slices:
            yield row["model"], cell_text(row["slice"]), row["difference"]


def is_number(cell: Cell) -> bool:
    """Return whether a cell holds a number or an estimate."""
    return isinstance(cell, (Estimate, int, float)) and not isinstance(cell, bool)


def _other_command_hint(command: str, metric: str) -> str | None:
    """Return the hint on other commands that compute a measure, or None."""
    names = {metric, *equivalent_names(metric)}
    commands = [
        name
        for name in COMMANDS
        if name != command and not names.isdisjoint(gateable_names(page_of(name)))
    ]
    if not commands:
        return None
    alternatives = " or ".join(filter(None, (", ".join(commands[:-1]), commands[-1])))
    return f"{command} does not compute it; use {alternatives}"


def _not_computed_hint(result: Document, metric: str) -> str | None:
    """Return the hint on how to request a measure that a result lacks, or None."""
    measure = None if threshold_hint(metric) else find_measure(metric.partition(":")[0])
    if measure is None:
        return None
    needs_by_option = {"measures": ("confusion",), "measure": LIMITED}
    if not any(
        option in result.parameters and measure.needs in needs
        for option, needs in needs_by_option.items()
    ):
        return None
    if metric in result.parameters.get("measure", ()):
        return (
            f"this table does not give it: {OPTION}--explain {measure.id}{END} says what it needs"
        )
    return f"it was not computed: add {OPTION}--measure {metric}{END}"


def _part_suggestion(metric: str, metrics: list[str]) -> str | None:
    """Return a suggestion for an unknown part of a measure: `.low` for `.lo`."""
    name, separator, part_text = metric.rpartition(".")
    if separator and not part_text and find_measure(name):  # as a heading abbreviates it
        return f"use '{name}'"
    is_computed = bool(separator) and any(
        spelling in metrics for spelling in equivalent_names(name)
    )
    spelled_parts = [f"{name}.{part_text}" for part_text in PARTS] if is_computed else []
    return suggestion(metric, spelled_parts) or (
        f"parts: {list_names(spelled_parts)}" if spelled_parts else None
    )


NOT_IN_BASELINE, NOT_SIGNIFICANT = "not_in_baseline", "not_significant"
ABSENCE_REASONS = (NOT_IN_BASELINE, MISSING)  # of a value that the baseline does not have
UNDEFINED_IN_BASELINE = "undefined_in_baseline"
NO_INTERVAL = "no_interval"
INTERVAL_REASONS = (NO_INTERVAL, FEW_CLUSTERS)
INFINITY_OF_REASON = {"infinite": math.inf, "minus_infinite": -math.inf}


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
        limit = self.limit
        return limit.kind, limit.any, limit.part, self.metric, self.models, self.slices

    @property
    def kind(self) -> MeasureLimitKind:
        """The kind of the limit."""
        return limit_kind(self.limit.kind)

    def gate(self, model: str | None, slice_name: str | None) -> Gate:
        """Return the gate, as one that is not met."""
        limit = self.limit
        metric = self.metric if limit.part == "value" else f"{self.metric}.{limit.part}"
        limit_text = None
        if self.shares:
            limit_texts = [] if limit.share else [repr(limit.limit)]
            percentages = [f"{100 * share:.12g}%" for share in self.shares]
            limit_text = " and ".join([*limit_texts, *percentages])
        return Gate(
            limit.kind,
            metric,
            model,
            limit=0.0 if limit.share else limit.limit,
            value=None,
            passed=False,
            severity=self.severity,
            slice=slice_name,
            limit_text=limit_text,
        )


def value_gate(draft: GateDraft, model: str | None, slice_name: str | None, cell: Cell) -> Gate:
    """Return the gate of a value, or of a limit of its confidence interval."""
    gate = draft.gate(model, slice_name)
    limit = draft.limit
    value, reason = estimate_part(cell, limit.part.rpartition(".")[2])
    if value is None:
        return replace(gate, reason=reason or "undefined")
    return _set_outcome(gate, value, draft.kind.meets(value, limit.limit))


def change_gate(
    draft: GateDraft, model: str | None, slice_name: str | None, change: Change
) -> Gate:
    """Return the gate of the change of a value, or of a limit of its confidence interval."""
    gate = value_gate(draft, model, slice_name, change.difference)
    if "." in draft.limit.part:
        return gate
    return _with_p_value(gate, change, significant=change.significant(draft.level))


def drop_gate(draft: GateDraft, model: str | None, slice_name: str | None, change: Change) -> Gate:
    """Return the gate of how much worse a value is than the baseline's.

    Allowed: the largest of the limit and the shares of the old value. With `significant` a drop is
    met where the change is not significantly worse.
    """
    gate = draft.gate(model, slice_name)
    old_value, old_reason = estimate_part(change.old, draft.limit.part)
    new_value, new_reason = estimate_part(change.new, draft.limit.part)
    if new_value is None:
        return replace(gate, reason=new_reason or "undefined")
    if old_value is None:
        absence_reason = (
            NOT_IN_BASELINE if change.old.reason in ABSENCE_REASONS else UNDEFINED_IN_BASELINE
        )
        return replace(
            gate, reason=old_reason if old_reason in INTERVAL_REASONS else absence_reason
        )
    max_drop = _allowed_drop(draft, old_value)
    if max_drop is None:
        return replace(gate, reason="infinite")
    drop = _measured_drop(draft.best, old_value, new_value)
    gate = _set_outcome(replace(gate, limit=float(max_drop)), float(drop), drop <= max_drop)
    verdict = change.verdict(draft.metric, draft.level, best=draft.best)
    gate = _with_p_value(gate, change, significant=verdict == WORSE)
    if draft.significant and not gate.passed:
        if change.p is None:
            reasons = (change.new.reason, change.old.reason)
            return replace(gate, reason=FEW_CLUSTERS if FEW_CLUSTERS in reasons else NO_INTERVAL)
        gate = replace(gate, passed=gate.reason == NOT_SIGNIFICANT)
    return gate


def _allowed_drop(draft: GateDraft, old: float) -> Decimal | None:
    """Return the largest allowed drop in decimals; None for a share of an infinite value."""
    limit = draft.limit
    allowed_drops = [] if limit.share else [Decimal(repr(limit.limit))]
    if math.isfinite(old):
        old_size = abs(Decimal(repr(old)))
        allowed_drops += [Decimal(repr(share)) * old_size for share in draft.shares]
    return max(allowed_drops, default=None)


def _measured_drop(best: str, old: float, new: float) -> Decimal:
    """Return how much worse a value is, in decimals.

    best: the better direction. max: old - new; min: new - old; a target: the increase of the
    distance from it.
    """
    old_value = Decimal(repr(old))
    new_value = Decimal(repr(new))
    if best in AIMS:
        old_value = abs(old_value - AIMS[best])
        new_value = abs(new_value - AIMS[best])
    if old_value == new_value:  # infinite ones too, which have no difference
        return Decimal(0)
    return old_value - new_value if best == "max" else new_value - old_value


def _with_p_value(gate: Gate, change: Change, *, significant: bool) -> Gate:
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
    infinite_value = INFINITY_OF_REASON.get(str(cell.reason))
    if number is None and part == "value":
        number = infinite_value
    elif number is None and (cell.high if part == "low" else cell.low) is not None:
        # an interval that lacks an end has none on that side
        number = -math.inf if part == "low" else math.inf
    reason = cell.reason if part == "value" or infinite_value is None else None
    return number, reason or (None if number is not None else NO_INTERVAL)


def slack(gate: Gate) -> tuple[bool, float]:
    """Return whether a gate is met, and its margin, as a sort key."""
    value = INFINITY_OF_REASON.get(str(gate.reason)) if gate.value is None else gate.value
    margin = -math.inf if value is None else limit_kind(gate.kind).margin(value, gate.limit)
    return gate.passed, margin


def _set_outcome(gate: Gate, value: float, is_met: bool) -> Gate:
    if math.isfinite(value):
        return replace(gate, value=value, passed=is_met)
    # an infinite value is judged as infinite, and its reason names it; a measure with a finite
    # range has none
    measure = CATALOG.get(gate.metric.partition(":")[0].partition(".")[0])
    is_met &= measure is None or not (math.isfinite(measure.low) and math.isfinite(measure.high))
    return replace(gate, passed=is_met, reason="infinite" if value > 0 else "minus_infinite")


BASELINE_HINT = f"add {OPTION}--baseline FILE{END}: an earlier table or a saved result"
VALUE_PARTS = ("value", "low", "high")  # parts that lie where the measure does


def check_ranges(limits: Iterable[Limit]) -> None:
    """Refuse limits outside the ranges of their measures, before anything is computed."""
    errors = ErrorCollector()
    for limit in limits:
        measures = (name for name in equivalent_names(limit.metric) if name in CATALOG)
        with errors.going_on():
            check_limit(limit, next(measures, limit.metric))
    errors.raise_problems()


def check_limit(limit: Limit, metric: str) -> None:
    """Refuse a drop of a measure without a direction, and a limit outside its range."""
    measure = CATALOG.get(metric.partition(":")[0])
    if limit_kind(limit.kind).drop:
        _check_drop(limit, measure)
    if measure is None or limit.share:
        return
    low, high, description = measure.low, measure.high, f"the range of '{limit.metric}'"
    if limit.compares or limit.part not in VALUE_PARTS:
        low, high = low - high, high - low
        subject = "gaps" if limit.is_gap else "excesses" if limit.part == "excess" else "changes"
        description = f"the range of {subject} in '{limit.metric}'"
    if not low <= limit.limit <= high:
        message = (
            f"{OPTION}--{limit.kind}{END}: {limit.limit:g} is outside {description}: {low:g} to "
            f"{high:g}"
        )
        hint = None
        if 1 < limit.limit <= 100:
            hint = f"write {limit.limit / 100:g} for {limit.limit:g}%"
        raise UsageError.new(message, "bad-gate", hint=hint)


def _check_drop(limit: Limit, measure: Measure | None) -> None:
    """Refuse a drop of what is no value, and of a measure without a direction."""
    minimum = f"{OPTION}--{FAIL_UNDER.name}{END}"
    maximum = f"{OPTION}--{FAIL_OVER.name}{END}"
    if limit.part not in VALUE_PARTS:
        metric = f"{limit.metric}.{limit.part}"
        message = f"{OPTION}--{limit.kind}{END}: '{metric}' is not a value that can drop"
        hint = f"use {minimum} '{metric}=VALUE', or {maximum}"
        raise UsageError.new(message, "bad-gate", hint=hint)
    if measure is not None and measure.best == "none":
        message = (
            f"{OPTION}--{limit.kind}{END}: neither low nor high values of '{limit.metric}' are "
            "worse"
        )
        hint = f"limit its change: {minimum} {limit.metric}.change=VALUE, or {maximum}"
        raise UsageError.new(message, "bad-gate", hint=hint)


def check_compared(limit: Limit) -> None:
    """Refuse a limit that needs a comparison which the result does not have."""
    if limit.compares:
        part_clause = "" if limit_kind(limit.kind).drop else f": '{limit.metric}.{limit.part}'"
        message = f"{OPTION}--{limit.kind}{END}{part_clause} needs a baseline"
        raise UsageError.new(message, "bad-gate", hint=BASELINE_HINT)
