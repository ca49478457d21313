"""The trend of a history: changes from line to line, change points, sentences and the result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from clfeval import __version__
from clfeval.compare.answer_length import WORDS, shorten_answer
from clfeval.compare.baseline.changes import LEVEL, ChangeKey, change_rows
from clfeval.compare.baseline.read import same_rows, same_values
from clfeval.compare.change import Change, changes_of_independent
from clfeval.compare.history.change_point import ChangePoint, change_points
from clfeval.compare.history.file import HistoryLine, HistoryLines
from clfeval.compare.history.trend_answer import MODEL, ROWS, SETTINGS, Trend, trend_answer
from clfeval.document import Document, InputFile
from clfeval.document.cells import Cell, Estimate, Row, as_row
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import COMPARISONS, HISTORY, gateable_names

EITHER, PROGRAM = "rows or model", "model or program"  # where it is unknown


def line_changes(lines: Sequence[HistoryLine]) -> list[tuple[str, ...]]:
    """Return what changed at each of one model's lines since the line before.

    Rows changed where their digest did; the model where only a value did.
    """
    changes: list[tuple[str, ...]] = [()]
    for earlier, line in pairwise(lines):
        has_other_settings = earlier.settings != line.settings
        has_same_rows = same_rows(line, earlier)
        line_change: tuple[str, ...] = (SETTINGS,) if has_other_settings else ()
        if has_same_rows is False:
            line_change += (ROWS,)
        elif not has_other_settings and not same_values(line, earlier):
            model = MODEL if earlier.version == line.version else PROGRAM
            line_change = (EITHER if has_same_rows is None else model,)
        changes.append(line_change)
    return changes


def reference_lines(
    series: Mapping[str, Sequence[HistoryLine]], accepted: Mapping[str, HistoryLine], last: str
) -> dict[str, HistoryLine]:
    """Return the line that the line at the last label is compared with, by model.

    The accepted line, else the first line before that missed no gate: of the settings of the last
    line if there is one.
    """
    references: dict[str, HistoryLine] = {}
    for name, lines in series.items():
        last_line = lines[-1]
        if last_line.label != last:
            continue
        passing_lines = [earlier for earlier in lines[:-1] if all(earlier.gates.values())]
        same_settings = [
            earlier for earlier in passing_lines if earlier.settings == last_line.settings
        ]
        reference = accepted.get(name, next(iter(same_settings or passing_lines), None))
        if reference is not None and reference != last_line:
            references[name] = reference
    return references


def measure_changes(
    series: Mapping[str, Sequence[HistoryLine]], references: Mapping[str, HistoryLine], command: str
) -> list[Row]:
    """Return rows of `comparisons`: changes of measures in the last lines from their references."""
    steps: dict[ChangeKey, MeasureStep] = {}
    for name, reference in references.items():
        line = series[name][-1]
        for measure in dict.fromkeys((*line.measures, *reference.measures)):
            steps[name, measure] = (reference, line, measure)
    changes = dict(zip(steps, changes_between([*steps.values()]), strict=True))

    def label_and_level(name: str) -> tuple[str, float]:
        return references[name].label, series[name][-1].level or LEVEL

    return change_rows("label", changes, command, label_and_level)


MeasureStep = tuple[HistoryLine, HistoryLine, str]  # a line, a later line, a measure


def changes_between(steps: Sequence[MeasureStep]) -> list[Change]:
    """Return the change of each measure from line to line, as of two independent samples."""
    indices_by_level: dict[float, list[int]] = {}
    for step_index, (_, line, _) in enumerate(steps):
        indices_by_level.setdefault(line.level or LEVEL, []).append(step_index)
    changes: dict[int, Change] = {}
    for level, step_indices in indices_by_level.items():
        estimate_pairs = [_measured_pair(*steps[step_index]) for step_index in step_indices]
        level_changes = changes_of_independent(estimate_pairs, level=level)
        changes |= zip(step_indices, level_changes, strict=True)
    return [
        _change_of_same_settings(changes[step_index], earlier, line)
        for step_index, (earlier, line, _) in enumerate(steps)
    ]


def _measured_pair(earlier: HistoryLine, line: HistoryLine, measure: str) -> tuple[Cell, Cell]:
    """Return the estimates of a measure in two lines, None where a line has none."""
    old = earlier.measures.get(measure)
    new = line.measures.get(measure)
    return None if old is None else old.estimate, None if new is None else new.estimate


def _change_of_same_settings(change: Change, earlier: HistoryLine, line: HistoryLine) -> Change:
    """Return the change; undefined where the settings of the two lines differ."""
    if earlier.settings == line.settings:
        return change
    return Change(change.old, change.new, Estimate(None, reason="other_settings"))


LEADING = 3  # measures that are shown, where fewer are gated or changed
MAX_LEADING = 6  # of them


def trend_result(history: HistoryLines, command: str) -> Document:
    """Return changes of measures over the lines of a command.

    Tables: `comparisons` of the last label with the accepted line of each model, else the first
    that missed no gate; `steps`: change points; `events`: changes of rows, models or settings;
    `history`: each label, model and measure.
    """
    command_lines = history.lines_of_command(command)
    labels = list(dict.fromkeys(line.label for line in command_lines))
    series, ordered_lines = _lines_by_time(command_lines, labels)
    accepted = {
        line.name: line
        for (line_command, _, _), line in history.accepted.items()
        if line_command == command
    }
    marks_by_line = _change_marks(series)
    events: list[Row] = [
        as_row({"label": line.label, "model": line.name, "changed": mark})
        for line in ordered_lines
        for mark in marks_by_line[line.name, line.label]
    ]
    file_name = os.path.basename(history.name)
    trend = _trend(file_name, command, labels, series, accepted, events)
    steps = [point.row(cause) for point, cause in zip(trend.points, trend.causes, strict=True)]
    accepted_labels = {line.label for line in accepted.values()}
    return Document(
        command=HISTORY,
        signature=f"cmd:{HISTORY}|of:{command}|data:{history.sha256[:8]}|clfeval:{__version__}",
        inputs=(InputFile(file_name, history.sha256, len(command_lines)),),
        parameters={
            "of": command,
            "accepted": [label for label in labels if label in accepted_labels],
            "last": labels[-1],
            "level": next((line.level for line in reversed(command_lines) if line.level), LEVEL),
            "leading": _leading_measures(trend.order, series, steps),
        },
        summary={"labels": len(labels), "models": len(series)},
        tables={
            COMPARISONS: trend.changes,
            "steps": steps,
            "events": trend.events,
            "history": list(_history_rows(ordered_lines, series, accepted, marks_by_line)),
        },
        answer=shorten_answer(trend_answer(trend), WORDS),
    )


def _lines_by_time(
    lines: Sequence[HistoryLine], labels: Sequence[str]
) -> tuple[dict[str, list[HistoryLine]], list[HistoryLine]]:
    """Return the lines of each model in the order of labels, and all lines in that order."""
    label_order = {label: label_index for label_index, label in enumerate(labels)}
    series: dict[str, list[HistoryLine]] = {}
    for line in sorted(lines, key=lambda line: label_order[line.label]):
        series.setdefault(line.name, []).append(line)
    all_lines = [line for model_lines in series.values() for line in model_lines]
    return series, sorted(all_lines, key=lambda line: label_order[line.label])


def _change_marks(
    series: Mapping[str, Sequence[HistoryLine]],
) -> dict[tuple[str, str], Sequence[str]]:
    """Return what changed at each line: see `line_changes`; by model and label."""
    marks_by_line: dict[tuple[str, str], Sequence[str]] = {}
    for name, model_lines in series.items():
        line_keys = [(name, line.label) for line in model_lines]
        marks_by_line |= zip(line_keys, line_changes(model_lines), strict=True)
    return marks_by_line


def _trend(
    file_name: str,
    command: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[HistoryLine]],
    accepted: Mapping[str, HistoryLine],
    events: Sequence[Row],
) -> Trend:
    """Return changes of the last label, and change points with their causes."""
    references = reference_lines(series, accepted, labels[-1])
    points = change_points(series, labels[-1], command)
    return Trend(
        file_name,
        command,
        labels,
        series,
        accepted,
        references,
        measure_changes(series, references, command),
        points,
        [_change_cause(point) for point in points],
        events,
        _measures_in_order(series, command),
    )


def _change_cause(point: ChangePoint) -> str:
    """Return what changed at a change point since the line before."""
    _, changes = line_changes([point.until, point.since])
    return ", ".join(changes)


def _measures_in_order(series: Mapping[str, Sequence[HistoryLine]], command: str) -> list[str]:
    """Return the measures with a value in the last lines: in the page's order, then by name."""
    measured = {
        name
        for lines in series.values()
        for name, measure in lines[-1].measures.items()
        if measure.value is not None
    }
    page_measures = [name for name in gateable_names(page_of(command)) if name in measured]
    return list(dict.fromkeys([*page_measures, *sorted(measured)]))


def _history_rows(
    lines: Sequence[HistoryLine],
    series: Mapping[str, Sequence[HistoryLine]],
    accepted: Mapping[str, HistoryLine],
    marks_by_line: Mapping[tuple[str, str], Sequence[str]],
) -> Iterator[Row]:
    """Yield a row for each line and measure."""
    line_pairs = [
        line_pair for model_lines in series.values() for line_pair in pairwise(model_lines)
    ]
    earlier_by_line = {(line.name, line.label): earlier for earlier, line in line_pairs}
    steps = [
        (earlier_by_line[line.name, line.label], line, measure)
        for line in lines
        if (line.name, line.label) in earlier_by_line
        for measure in line.measures
    ]
    changes = iter(changes_between(steps))
    for line in lines:
        has_earlier = (line.name, line.label) in earlier_by_line
        is_accepted = accepted.get(line.name) == line
        for measure, cell in line.measures.items():
            first_change = Estimate(None, reason="first")
            yield as_row(
                {
                    "label": line.label,
                    "model": line.name,
                    "measure": measure,
                    "value": cell.estimate,
                    "se": cell.se,
                    "change": next(changes).difference if has_earlier else first_change,
                    "marks": list(marks_by_line[line.name, line.label]),
                    "accepted": is_accepted,
                    "met": line.gates.get(measure),
                    "limit": line.limits.get(measure),
                }
            )


def _leading_measures(
    order: Sequence[str], series: Mapping[str, Sequence[HistoryLine]], steps: Sequence[Row]
) -> list[str]:
    """Return the leading measures: those of gates, those that changed, then the first ones."""
    gated_measures = {name for lines in series.values() for name in lines[-1].gates}
    changed_measures = {row["measure"] for row in steps}
    leading_measures = [name for name in order if name in gated_measures]
    leading_measures += [
        name for name in order if name in changed_measures and name not in leading_measures
    ]
    filling_measures = [name for name in order if name not in leading_measures][
        : max(LEADING - len(leading_measures), 0)
    ]
    return [*leading_measures[:MAX_LEADING], *filling_measures]
