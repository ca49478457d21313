"""From the lines of a history to the Result of its trend."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from clfeval import __version__
from clfeval.baseline.changes import LEVEL
from clfeval.document import Document, Estimate, InputFile, Row
from clfeval.history.file import HistoryLines
from clfeval.history.line import HistoryLine
from clfeval.pages import HISTORY, page_of
from clfeval.schema import COMPARISONS, gateable_names
from clfeval.trend.judge import change_between, line_changes, measure_changes
from clfeval.trend.said import trend_answer

LEADING = 3  # measures that are shown, where fewer are gated or moved
MOST = 6  # of them


def trend_result(past: HistoryLines, command: str) -> Document:
    """Return changes of measures over the lines of a command.

    Tables: `comparisons` of the last label with the accepted line of each model, else the line
    before; `steps`: change points; `events`: changes of rows, models or settings; `history`: each
    label, model and measure.
    """
    lines = past.of(command)
    labels = list(dict.fromkeys(line.label for line in lines))
    series: dict[str, list[HistoryLine]] = {}
    for line in sorted(lines, key=lambda line: labels.index(line.label)):
        series.setdefault(line.name, []).append(line)
    accepted = {one.name: one for key, one in past.accepted.items() if key[0] == command}
    marks = {
        (line.name, line.label): mark
        for mine in series.values()
        for line, mark in zip(mine, line_changes(mine), strict=True)
    }
    order = _in_order(command, series)
    changes, steps = measure_changes(series, accepted, labels[-1], command)
    ordered = [line for label in labels for mine in series.values() for line in mine
               if line.label == label]  # fmt: skip
    events: list[Row] = [
        {"label": line.label, "model": line.name, "changed": what}
        for line in ordered
        for what in marks[line.name, line.label]
    ]
    leading = _leading_measures(order, series, steps)
    held = {one.label for one in accepted.values()}
    return Document(
        command=HISTORY,
        signature=f"cmd:{HISTORY}|of:{command}|data:{past.sha256[:8]}|clfeval:{__version__}",
        inputs=(InputFile(os.path.basename(past.name), past.sha256, len(lines)),),
        parameters={
            "of": command, "accepted": [label for label in labels if label in held],
            "last": labels[-1], "level": next((o.level for o in reversed(lines) if o.level), LEVEL),
            "leading": leading,
        },
        summary={"labels": len(labels), "models": len(series)},
        tables={
            COMPARISONS: changes, "steps": steps, "events": events,
            "history": list(_history_rows(ordered, series, accepted, marks)),
        },
        answer=trend_answer(changes, steps, events, series, accepted, labels, order),
    )  # fmt: skip


def _history_rows(
    lines: Sequence[HistoryLine], series: Mapping[str, Sequence[HistoryLine]],
    accepted: Mapping[str, HistoryLine], marks: Mapping[tuple[str, str], Sequence[str]],
) -> Iterator[Row]:  # fmt: skip
    """Yield a row for each line and measure."""
    befores = {
        (line.name, line.label): before
        for mine in series.values()
        for before, line in zip([None, *mine], mine, strict=False)
    }
    for line in lines:
        before = befores[line.name, line.label]
        for measure, cell in line.measures.items():
            change = Estimate(None, reason="first")
            if before is not None:
                change = change_between(before, line, measure).difference
            yield {
                "label": line.label, "model": line.name, "measure": measure,
                "value": cell.estimate, "se": cell.se, "change": change,
                "marks": list(marks[line.name, line.label]),
                "accepted": accepted.get(line.name) == line, "met": line.gates.get(measure),
            }  # fmt: skip


def _in_order(command: str, series: Mapping[str, Sequence[HistoryLine]]) -> list[str]:
    """Return the measures that have a value at the end: as the page has them, then by name."""
    ends = [lines[-1].measures.items() for lines in series.values()]
    known = {name for end in ends for name, cell in end if cell.value is not None}
    usual = [name for name in gateable_names(page_of(command)) if name in known]
    return list(dict.fromkeys([*usual, *sorted(known)]))


def _leading_measures(
    order: Sequence[str], series: Mapping[str, Sequence[HistoryLine]], steps: Sequence[Row]
) -> list[str]:
    """Return the measures to be shown: what gates name, what moved, the first of all."""
    gates = {name for lines in series.values() for name in lines[-1].gates}
    moved = {row["measure"] for row in steps}
    first = [name for name in order if name in gates]
    first += [name for name in order if name in moved and name not in first]
    least = [name for name in order if name not in first][: max(LEADING - len(first), 0)]
    return [*first[:MOST], *least]
