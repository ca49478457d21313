"""What is done with a history: lines of a result are added, and all of them are looked at."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath

from clfeval.compare.baseline.model_rows import rows_by_label
from clfeval.compare.baseline.read import HistoryBaseline
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import CODE, append_entries, read_history, series_key
from clfeval.compare.history.line import AcceptedLabel, HistoryEntry, result_lines
from clfeval.compare.history.trend import trend_result
from clfeval.document import Document
from clfeval.errors import UsageError, list_names, suggestion


def append_to_history(name: str, result: Document, label: str, *, accept: bool = False) -> bool:
    """Add a line for each model of a result to a history; return whether they are accepted.

    accept: later results are compared with the new lines, if no gate was missed. Raises UsageError.
    """
    accept = accept and result.passed
    entries: list[HistoryEntry] = history_entries(result, label)
    append_entries(name, [*entries, AcceptedLabel(result.command, label)] if accept else entries)
    return accept


def history_entries(result: Document, label: str, run: str | None = None) -> list[HistoryEntry]:
    """Return a line for each model of a result; run: of a batch. Raises UsageError for none."""
    entries: list[HistoryEntry] = [*result_lines(result, label, rows_by_label(result), run)]
    if not entries:
        raise UsageError.new("the result has no model to append", CODE)
    return entries


def history_trend(
    name: str, command: str | None = None, *, accept: bool = False, label: str | None = None
) -> Document:
    """Return how measures of a command, by default report, changed over the lines of a history.

    label: the last label to show. accept: mark this label, or else the last, as the one later
    results are compared with, and show all labels. Raises UsageError.
    """
    past = read_history(name)
    there = dict.fromkeys(line.command for line in past.lines)
    command = command or next((one for one in ("report", *there) if one in there), "report")
    labels = past.labels(command)
    if label is not None and label not in labels:
        hint = suggestion(label, labels) or f"labels: {list_names(labels)}"
        raise UsageError.new(f"--label: there is no label '{label}'", CODE, name, hint=hint)
    if accept:
        chosen = label or labels[-1]
        now = [one for one in past.lines if (one.command, one.label) == (command, chosen)]
        if not all(past.accepted.get(series_key(one)) == one for one in now):
            append_entries(name, [AcceptedLabel(command, chosen)])
            past = read_history(name)
    elif label is not None:
        past = past.upto(command, label)
    return trend_result(past, command)


def with_history_baseline(gates: Gates, run: str | None = None, but: str | None = None) -> Gates:
    """Return the gates, with what a baseline needs to know where it is a history.

    run: of a batch, whose lines count. but: the label that is being added, whose lines do not.
    """
    if not isinstance(gates.baseline, (str, PathLike)):
        return gates
    return replace(gates, baseline=HistoryBaseline(fspath(gates.baseline), run, but))
