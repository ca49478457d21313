"""The trend of a history: changes from line to line, change points, sentences and the result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from clfeval import __version__
from clfeval.compare.baseline.changes import (
    LEVEL,
    SIGNIFICANT,
    UNMOVED,
    ChangeKey,
    change_answers,
    change_rows,
    rows_answer,
    sentence_title,
)
from clfeval.compare.baseline.read import same_rows, same_values
from clfeval.compare.change import UNDECIDED, Change, changes_of_independent
from clfeval.compare.history.file import HistoryLine, HistoryLines
from clfeval.document import (
    Answer,
    Cell,
    Document,
    Estimate,
    InputFile,
    Row,
    as_estimate,
    cell_value,
)
from clfeval.formatting import join_names, join_words, quote_if_ambiguous
from clfeval.inference.distributions import critical_value
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import COMPARISONS, HISTORY, gateable_names
from clfeval.placeholders import END, OPTION

ROWS, MODEL, SETTINGS = "rows", "model", "settings"
EITHER, PROGRAM = "rows or model", "model or program"  # where it is unknown


def line_changes(lines: Sequence[HistoryLine]) -> list[tuple[str, ...]]:
    """Return what changed at each of one model's lines since the line before.

    Rows changed where their digest did; the model where only a value did.
    """
    found: list[tuple[str, ...]] = [()]
    for before, now in pairwise(lines):
        settings, same = before.settings != now.settings, same_rows(before, now)
        changed: tuple[str, ...] = (SETTINGS,) if settings else ()
        if same is False:
            changed += (ROWS,)
        elif not settings and not same_values(now, before):
            model = MODEL if before.version == now.version else PROGRAM
            changed = (EITHER if same is None else model,)
        found.append(changed)
    return found


def measure_changes(
    series: Mapping[str, Sequence[HistoryLine]],
    accepted: Mapping[str, HistoryLine],
    last: str,
    command: str,
) -> tuple[list[Row], list[Row]]:
    """Return changes of measures at the last label from the accepted line, and change points.

    Rows of `comparisons`: from the line before where none was accepted. Rows of `steps`, of
    significant changes: since: the label of the change point of the mean; cause: what changed
    there.
    """
    sides: dict[str, HistoryLine] = {}
    measured: dict[ChangeKey, MeasureStep] = {}
    for name, lines in series.items():
        line = lines[-1]
        base = accepted.get(name, lines[-2] if len(lines) > 1 else None)
        if line.label == last and base is not None and base != line:
            sides[name] = base
            for measure in dict.fromkeys((*line.measures, *base.measures)):
                measured[name, measure] = (base, line, measure)
    changes = dict(zip(measured, changes_between([*measured.values()]), strict=True))

    def label_and_level(name: str) -> tuple[str, float]:
        return sides[name].label, series[name][-1].level or LEVEL

    rows = change_rows("label", changes, command, label_and_level)
    significant = [
        row for row in rows if row["p_adjusted"] is not None and row["verdict"] in SIGNIFICANT
    ]
    steps = [
        _change_point_row(series[str(row["model"])], sides[str(row["model"])], str(row["measure"]))
        for row in significant
    ]
    return rows, steps


def _change_point_row(lines: Sequence[HistoryLine], base: HistoryLine, measure: str) -> Row:
    """Return the row of `steps`: when a measure of a model changed since a line, and the cause."""
    labels = [line.label for line in lines]
    start = labels.index(base.label) + 1 if base.label in labels else 0
    path = [base, *(lines[start:] or lines[-1:])]
    place = change_point(path, measure)
    since = None if place is None else path[place].label
    cause = "" if place is None else ", ".join(line_changes(path)[place])
    return {"model": lines[-1].name, "measure": measure, "since": since, "cause": cause}


MeasureStep = tuple[HistoryLine, HistoryLine, str]  # a line, a later line, a measure


def changes_between(steps: Sequence[MeasureStep]) -> list[Change]:
    """Return the change of each measure from line to line, as of two independent samples."""
    places: dict[float, list[int]] = {}
    for place, (_, line, _) in enumerate(steps):
        places.setdefault(line.level or LEVEL, []).append(place)
    changes: dict[int, Change] = {}
    for level, places_of_level in places.items():
        pairs = [_measured_pair(*steps[place]) for place in places_of_level]
        computed = changes_of_independent(pairs, level=level)
        changes |= zip(places_of_level, computed, strict=True)
    return [
        _change_of_same_settings(changes[place], earlier, line)
        for place, (earlier, line, _) in enumerate(steps)
    ]


def _measured_pair(earlier: HistoryLine, line: HistoryLine, measure: str) -> tuple[Cell, Cell]:
    """Return the estimates of a measure in two lines, None where a line has none."""
    old, new = earlier.measures.get(measure), line.measures.get(measure)
    return None if old is None else old.estimate, None if new is None else new.estimate


def _change_of_same_settings(change: Change, earlier: HistoryLine, line: HistoryLine) -> Change:
    """Return the change; undefined where the settings of the two lines differ."""
    if earlier.settings == line.settings:
        return change
    return Change(change.old, change.new, Estimate(None, reason="other_settings"))


def change_point(path: Sequence[HistoryLine], measure: str) -> int | None:
    """Return the change point of a measure's mean, by least squares.

    The k that makes (mean of k.. - mean of ..k)² a b / (a + b) largest, a and b the sums of the
    weights 1 / se² of either side; equal weights where some se is unknown. None without two lines
    of these settings.
    """
    places, values, errors = [], [], []
    for place, line in enumerate(path):
        cell = line.measures.get(measure)
        if cell is not None and cell.value is not None and line.settings == path[-1].settings:
            places.append(place)
            values.append(cell.value)
            se = cell.se
            if se is None and cell.low is not None and cell.high is not None:
                se = (cell.high - cell.low) / 2 / critical_value(line.level or LEVEL)
            errors.append(se)
    if len(places) < 2:
        return None
    x = np.array(values, np.float64)
    known = np.clip(np.array([one for one in errors if one], np.float64), 1e-50, 1e50)
    w = known**-2.0 if len(known) == len(errors) else np.ones(len(x))
    a, s = np.cumsum(w)[:-1], np.cumsum(w * x)[:-1]
    b, t = (np.cumsum(one[::-1])[-2::-1] for one in (w, w * x))
    return places[1 + int(np.argmax((t / b - s / a) ** 2 * a * b / (a + b)))]


MAX_SENTENCES = 5  # sentences
ROWS_DIFFER_EACH_LABEL = Answer(
    "events", "Each label has different rows: changes may come from the rows or the models."
)
WHY = {ROWS: ", where the rows changed", MODEL: ", where the model changed and the rows did not"}


def trend_answer(
    changes: Sequence[Row],
    steps: Sequence[Row],
    events: Sequence[Row],
    series: Mapping[str, Sequence[HistoryLine]],
    accepted: Mapping[str, HistoryLine],
    labels: Sequence[str],
    order: Sequence[str],
) -> tuple[Answer, ...]:
    """Return at most five sentences: on changes of measures first, then on labels of changes."""
    other = {
        str(row["model"])
        for row in changes
        if as_estimate(row["difference"]).reason == "other_settings"
    }
    same = [row for row in changes if row["model"] not in other]
    said = list[Answer]()
    if same:
        references = dict[str, None]()
        for row in same:
            line, label = accepted.get(str(row["model"])), str(row["reference"])
            mark = " (accepted)" if line is not None and line.label == label else ""
            references[f"{quote_if_ambiguous(label)}{mark}"] = None
        level = series[str(same[0]["model"])][0].level or LEVEL
        rows = [*_prevalence_answer(same, level)]
        if rows:  # measures that depend on prevalence come later
            same.sort(key=lambda row: str(row["measure"]) not in UNMOVED)
        said += change_answers(same, join_words([*references]), lead=next(iter(order), None))
        said += rows
    other_rows = [*_events_answer(events, labels)]
    always = not events or other_rows[:1] == [ROWS_DIFFER_EACH_LABEL]
    for row in [row for row in steps if row["since"] is not None][:1]:
        cause, model = str(row["cause"]), str(row["model"])
        why = WHY.get(cause, f", where {cause} changed" if cause else "")
        why = "" if always and cause == ROWS else why
        text = f"{sentence_title(str(row['measure']))} of {quote_if_ambiguous(model)} changed at "
        text += f"{quote_if_ambiguous(str(row['since']))}{why}."
        said.append(Answer("since", text, (model,), str(row["measure"])))
    said += [*_nothing_compared_answer(changes, sorted(other), accepted, labels[-1]), *other_rows]
    said += _models_answer(series, same, accepted, labels)
    return tuple(said[:MAX_SENTENCES])


def _prevalence_answer(changes: Sequence[Row], level: float) -> Iterator[Answer]:
    """Yield the sentence on prevalence and mean score, if prevalence changed significantly."""
    model = str(changes[0]["model"])
    titles = {
        "prevalence": "prevalence",
        "mean_score": f"mean score of {quote_if_ambiguous(model)}",
    }
    rows = {str(row["measure"]): row for row in changes if row["model"] == model}
    found = dict[str, Change]()
    for measure, title in titles.items():
        if measure in rows:
            row = rows[measure]
            old, new, d = (as_estimate(row[name]) for name in ("old", "new", "difference"))
            found[title] = Change(old, new, d, cell_value(row["p"]))
    if "prevalence" in found and found["prevalence"].significant(level):
        yield from rows_answer((), (), found, ((), ()), level)


def _nothing_compared_answer(
    changes: Sequence[Row], other: Sequence[str], accepted: Mapping[str, HistoryLine], last: str
) -> Iterator[Answer]:
    """Yield the sentence on different settings, or on nothing to compare with."""
    if other:
        text = f"The settings of {join_names(other)} at {quote_if_ambiguous(last)} differ from "
        yield Answer("other-settings", f"{text}those before, so nothing is compared.", tuple(other))
    elif not changes:
        text = f"There is no earlier label to compare {quote_if_ambiguous(last)} with."
        if any(line.label == last for line in accepted.values()):
            text = f"{quote_if_ambiguous(last)} is the accepted label, "
            text += "and there is no later label to compare."
        yield Answer("nothing-before", text)


def _events_answer(events: Sequence[Row], labels: Sequence[str]) -> Iterator[Answer]:
    """Yield the sentence on labels at which rows changed, and on those at which models did."""
    rows = list(dict.fromkeys(str(row["label"]) for row in events if row["changed"] == ROWS))
    if rows and len(rows) == len(labels) - 1 and len(rows) > 1:
        yield ROWS_DIFFER_EACH_LABEL
        return
    parts = [f"The rows changed at {join_names(rows)}"] if rows else []
    models = dict.fromkeys(str(row["model"]) for row in events if row["changed"] == MODEL)
    mine = [row for row in events if row["changed"] == MODEL]
    for model in [*models][:3]:
        at = [str(row["label"]) for row in mine if row["model"] == model]
        parts.append(f"{quote_if_ambiguous(model)} changed at {join_names(at)} on unchanged rows")
    if parts:
        yield Answer("events", f"{join_words(parts)}.", tuple(models))


def _models_answer(
    series: Mapping[str, Sequence[HistoryLine]],
    changes: Sequence[Row],
    accepted: Mapping[str, HistoryLine],
    labels: Sequence[str],
) -> Iterator[Answer]:
    """Yield sentences on models with no line at the last label, or only there, or the same rows."""
    last = labels[-1]
    gone = [name for name, lines in series.items() if lines[-1].label != last]
    new = [name for name, lines in series.items() if lines[0].label == last and len(labels) > 1]
    for code, names, where in (("gone", gone, "at"), ("new", new, "before")):
        if names:
            verb = "has" if len(names) == 1 else "have"
            text = f"{join_names(names)} {verb} no line {where} {quote_if_ambiguous(last)}."
            yield Answer(code, text, tuple(names))
    same = []
    for name in dict.fromkeys(str(row["model"]) for row in changes if row["verdict"] == UNDECIDED):
        before, now = series[name][-2:][0], series[name][-1]
        if same_rows(now, accepted.get(name, before)):
            same.append(name)
    if same:
        text = (
            "Both labels have the same rows: a paired comparison with the earlier table "
            f"({OPTION}--baseline TABLE{END}) has narrower intervals."
        )
        yield Answer("not-paired", text, tuple(same))


LEADING = 3  # measures that are shown, where fewer are gated or changed
MAX_LEADING = 6  # of them


def trend_result(past: HistoryLines, command: str) -> Document:
    """Return changes of measures over the lines of a command.

    Tables: `comparisons` of the last label with the accepted line of each model, else the line
    before; `steps`: change points; `events`: changes of rows, models or settings; `history`: each
    label, model and measure.
    """
    lines = past.lines_of_command(command)
    labels = list(dict.fromkeys(line.label for line in lines))
    label_places = {label: place for place, label in enumerate(labels)}
    series: dict[str, list[HistoryLine]] = {}
    for line in sorted(lines, key=lambda line: label_places[line.label]):
        series.setdefault(line.name, []).append(line)
    by_model = [line for model_lines in series.values() for line in model_lines]
    ordered = sorted(by_model, key=lambda line: label_places[line.label])
    accepted = {line.name: line for key, line in past.accepted.items() if key[0] == command}
    marks: dict[tuple[str, str], Sequence[str]] = {}
    for name, model_lines in series.items():
        keys = [(name, line.label) for line in model_lines]
        marks |= zip(keys, line_changes(model_lines), strict=True)
    order = _measures_in_order(series, command)
    changes, steps = measure_changes(series, accepted, labels[-1], command)
    events: list[Row] = [
        {"label": line.label, "model": line.name, "changed": mark}
        for line in ordered
        for mark in marks[line.name, line.label]
    ]
    accepted_labels = {line.label for line in accepted.values()}
    return Document(
        command=HISTORY,
        signature=f"cmd:{HISTORY}|of:{command}|data:{past.sha256[:8]}|clfeval:{__version__}",
        inputs=(InputFile(os.path.basename(past.name), past.sha256, len(lines)),),
        parameters={
            "of": command,
            "accepted": [label for label in labels if label in accepted_labels],
            "last": labels[-1],
            "level": next((line.level for line in reversed(lines) if line.level), LEVEL),
            "leading": _leading_measures(order, series, steps),
        },
        summary={"labels": len(labels), "models": len(series)},
        tables={
            COMPARISONS: changes,
            "steps": steps,
            "events": events,
            "history": list(_history_rows(ordered, series, accepted, marks)),
        },
        answer=trend_answer(changes, steps, events, series, accepted, labels, order),
    )


def _measures_in_order(series: Mapping[str, Sequence[HistoryLine]], command: str) -> list[str]:
    """Return the measures with a value in the last lines: in the page's order, then by name."""
    known = {
        measure
        for lines in series.values()
        for measure, cell in lines[-1].measures.items()
        if cell.value is not None
    }
    usual = [measure for measure in gateable_names(page_of(command)) if measure in known]
    return list(dict.fromkeys([*usual, *sorted(known)]))


def _history_rows(
    lines: Sequence[HistoryLine],
    series: Mapping[str, Sequence[HistoryLine]],
    accepted: Mapping[str, HistoryLine],
    marks: Mapping[tuple[str, str], Sequence[str]],
) -> Iterator[Row]:
    """Yield a row for each line and measure."""
    pairs = [pair for lines_of_model in series.values() for pair in pairwise(lines_of_model)]
    earlier_line = {(line.name, line.label): earlier for earlier, line in pairs}
    steps = [
        (earlier_line[line.name, line.label], line, measure)
        for line in lines
        if (line.name, line.label) in earlier_line
        for measure in line.measures
    ]
    changes = iter(changes_between(steps))
    for line in lines:
        has_earlier = (line.name, line.label) in earlier_line
        is_accepted = accepted.get(line.name) == line
        for measure, cell in line.measures.items():
            first = Estimate(None, reason="first")
            yield {
                "label": line.label,
                "model": line.name,
                "measure": measure,
                "value": cell.estimate,
                "se": cell.se,
                "change": next(changes).difference if has_earlier else first,
                "marks": list(marks[line.name, line.label]),
                "accepted": is_accepted,
                "met": line.gates.get(measure),
                "limit": line.limits.get(measure),
            }


def _leading_measures(
    order: Sequence[str], series: Mapping[str, Sequence[HistoryLine]], steps: Sequence[Row]
) -> list[str]:
    """Return the leading measures: those of gates, those that changed, then the first ones."""
    gates = {name for lines in series.values() for name in lines[-1].gates}
    moved = {row["measure"] for row in steps}
    first = [name for name in order if name in gates]
    first += [name for name in order if name in moved and name not in first]
    least = [name for name in order if name not in first][: max(LEADING - len(first), 0)]
    return [*first[:MAX_LEADING], *least]
