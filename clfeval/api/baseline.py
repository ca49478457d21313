"""Results with gates: baselines that are tables or histories, and lines appended to a history."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike, fspath
from typing import Any

import clfeval
from clfeval.api.commands import add_gate_measures
from clfeval.api.paired_rows import table_baseline
from clfeval.api.questions import Offer, OnOpen
from clfeval.compare.answer_length import limit_answer
from clfeval.compare.baseline import read as reading
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history import file as history
from clfeval.document import Document
from clfeval.errors import DataError, UsageError, list_names, suggestion
from clfeval.options.declaration import Command
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.columns import OpenedTable


def history_entries(
    result: Document, label: str, run: str | None = None
) -> list[history.HistoryEntry]:
    """Return a history line for each model of a result; run: of a batch. UsageError if none."""
    entries: list[history.HistoryEntry] = [
        *reading.result_lines(result, label, reading.rows_by_label(result), run)
    ]
    if not entries:
        raise UsageError.new("the result has no model to append", history.CODE)
    return entries


def history_trend(
    name: str, command: str | None = None, *, accept: bool = False, label: str | None = None
) -> Document:
    """Return how measures of a command, by default report, changed over a history.

    name: the history file. label: the last label to show. accept: mark this label, or else the
    last, as the one later results are compared with, and show all labels. Raises UsageError.
    """
    from clfeval.compare.history.trend import trend_result

    history_lines = history.read_history(name)
    if not command:
        command_names = list(dict.fromkeys(line.command for line in history_lines.lines))
        command = "report" if "report" in command_names or not command_names else command_names[0]
    known_labels = history_lines.labels(command)
    if label is not None and label not in known_labels:
        hint = suggestion(label, known_labels) or f"labels: {list_names(known_labels)}"
        raise UsageError.new(
            f"{OPTION}--label{END}: there is no label '{label}'", history.CODE, name, hint=hint
        )
    if accept:
        accepted_label = label or known_labels[-1]
        labelled_lines = [
            line
            for line in history_lines.lines
            if line.command == command and line.label == accepted_label
        ]
        if not all(
            history_lines.accepted.get(history.series_key(line)) == line for line in labelled_lines
        ):
            history.append_entries(name, [history.AcceptedLabel(command, accepted_label)])
            history_lines = history.read_history(name)
    elif label is not None:
        history_lines = history_lines.up_to_label(command, label)
    return trend_result(history_lines, command)


@dataclass(frozen=True, slots=True, eq=False)
class Listeners:
    """Functions that are called while tables are read.

    on_table, on_baseline: with the table, and with a baseline that is a table, when they are open.
    offer: with the fixes of an error; it writes the command that has them.
    """

    on_table: OnOpen
    on_baseline: OnOpen
    offer: Offer


def compute_with_gates(
    command: Command,
    table: object,
    options: Mapping[str, Any],
    gates: Gates,
    listeners: Listeners,
    *,
    label: str | None,
    run: str | None = None,
) -> Document:
    """Return the result of a command with its gates, judged against the baseline if there is one.

    label: of the lines that will be appended to a history, if any. run: of a batch.
    """
    public_function = _function_of(command)
    opened_tables: list[OpenedTable] = []

    def note_opened(opened_table: OpenedTable) -> None:
        opened_tables.append(opened_table)
        listeners.on_table(opened_table)

    offer = listeners.offer
    options = add_gate_measures(command, table, options, gates)
    needs_truth = label is not None or reading.is_history(gates.baseline)
    result: Document = public_function.compute(
        table, options, note_opened, offer, truth=needs_truth
    )
    if not gates.any and gates.baseline is None:
        return limit_answer(result)
    from clfeval.compare.gates.evaluate import evaluate_gates

    last_opened_table = opened_tables[-1] if opened_tables else None
    try:
        baseline = table_baseline(
            public_function, table, options, gates, result, last_opened_table, listeners.on_baseline
        )
    except DataError as error:
        error.add_commands(offer)
        raise
    if isinstance(gates.baseline, (str, PathLike)):
        history_baseline = reading.HistoryBaseline(fspath(gates.baseline), run, label)
        gates = replace(gates, baseline=history_baseline)
    return limit_answer(evaluate_gates(result, gates, baseline))


def check_with_gates(
    command: Command, table: object, options: Mapping[str, Any], gates: Gates, listeners: Listeners
) -> Document:
    """Return the result of a dry run of a command; UsageError for limits outside their ranges."""
    options = add_gate_measures(command, table, options, gates)
    compute = _function_of(command).compute
    result: Document = compute(table, options, listeners.on_table, listeners.offer)
    if not gates.any and gates.baseline is None:
        return limit_answer(result)
    from clfeval.compare.gates.limit_tests import check_ranges

    check_ranges(gates.limits)
    return result


def _function_of(command: Command) -> Any:
    """Return the public function of a command, without its documentation, which takes time."""
    function_name = command.name.replace("-", "_")
    module = import_module(clfeval._HOMES[function_name])  # type: ignore[attr-defined]
    return getattr(module, function_name)
