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
from clfeval.compare.change import UNDECIDED, Change, change_of_independent
from clfeval.compare.history.file import HistoryLines
from clfeval.compare.history.line import HistoryLine, same_rows, same_values
from clfeval.document import Answer, Document, Estimate, InputFile, Row, as_estimate, cell_value
from clfeval.formatting import join_names, join_words, quoted_name
from clfeval.inference.distributions import critical_value
from clfeval.pages import HISTORY, page_of
from clfeval.schema import COMPARISONS, gateable_names

ROWS, MODEL, SETTINGS = "rows", "model", "settings"
EITHER, PROGRAM = "rows or model", "model or program"  # where it is unknown


def line_changes(lines: Sequence[HistoryLine]) -> list[tuple[str, ...]]:
    """Return what changed at each of one model's lines since the line before.

    Rows changed where their digest did; the model where only a value did.
    """
    return [(), *(_changes_since(*pair) for pair in pairwise(lines))]


def _changes_since(before: HistoryLine, now: HistoryLine) -> tuple[str, ...]:
    settings = (SETTINGS,) if before.settings != now.settings else ()
    same = same_rows(before, now)
    if same is False:
        return (*settings, ROWS)
    if settings or same_values(now, before):
        return settings
    if same is None:
        return (EITHER,)
    return (MODEL,) if before.version == now.version else (PROGRAM,)


def measure_changes(
    series: Mapping[str, Sequence[HistoryLine]], accepted: Mapping[str, HistoryLine], last: str,
    command: str,
) -> tuple[list[Row], list[Row]]:  # fmt: skip
    """Return changes of measures at the last label from the accepted line, and change points.

    Rows of `comparisons`: from the line before where none was accepted. Rows of `steps`, of
    significant changes: since: the label of the change point of the mean; cause: what changed
    there.
    """
    found, sides = dict[ChangeKey, Change](), dict[str, HistoryLine]()
    for name, lines in series.items():
        now, base = lines[-1], accepted.get(name, lines[-2] if len(lines) > 1 else None)
        if now.label == last and base is not None and base != now:
            sides[name] = base
            for measure in dict.fromkeys((*now.measures, *base.measures)):
                found[name, measure] = change_between(base, now, measure)
    rows = change_rows(
        "label", found, command,
        lambda name: (sides[name].label, series[name][-1].level or LEVEL),
    )  # fmt: skip
    told = [row for row in rows if row["p_adjusted"] is not None and row["verdict"] in SIGNIFICANT]
    return rows, [_step_row(row,
                            lines_since_accepted(series[str(row["model"])],
                                                 sides[str(row["model"])]))
                  for row in told]  # fmt: skip


def change_between(base: HistoryLine, now: HistoryLine, measure: str) -> Change:
    """Return the change of a measure from line to line, as of two independent samples."""
    old, new = (one.measures[measure].estimate if measure in one.measures else None
                for one in (base, now))  # fmt: skip
    change = change_of_independent(old, new, level=now.level or LEVEL)
    if base.settings != now.settings:
        return Change(change.old, change.new, Estimate(None, reason="other_settings"))
    return change


def _step_row(row: Row, path: Sequence[HistoryLine]) -> Row:
    """Return the label of the change point of a measure, and what changed there."""
    at = change_point(path, str(row["measure"]))
    cause = "" if at is None else ", ".join(line_changes(path)[at])
    return {"model": row["model"], "measure": row["measure"],
            "since": None if at is None else path[at].label, "cause": cause}  # fmt: skip


def lines_since_accepted(lines: Sequence[HistoryLine], base: HistoryLine) -> list[HistoryLine]:
    """Return the line that was accepted and those of later labels."""
    labels = [line.label for line in lines]
    after = labels.index(base.label) + 1 if base.label in labels else 0
    return [base, *(lines[after:] or lines[-1:])]


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
    changes: Sequence[Row], steps: Sequence[Row], events: Sequence[Row],
    series: Mapping[str, Sequence[HistoryLine]], accepted: Mapping[str, HistoryLine],
    labels: Sequence[str], order: Sequence[str],
) -> tuple[Answer, ...]:  # fmt: skip
    """Return at most five sentences: on changes of measures first, then on labels of changes."""
    last, other = labels[-1], {str(row["model"]) for row in changes
             if as_estimate(row["difference"]).reason == "other_settings"}  # fmt: skip
    same = [row for row in changes if row["model"] not in other]
    said = list[Answer]()
    if same:
        names = dict.fromkeys(_reference_name(row, accepted) for row in same)
        rows = [
            *_prevalence_answer(
                same, next(line.level for line in series[str(same[0]["model"])]) or LEVEL
            )
        ]
        if rows:  # measures that depend on prevalence come later
            same.sort(key=lambda row: str(row["measure"]) not in UNMOVED)
        said += change_answers(same, join_words([*names]), lead=next(iter(order), None))
        said += rows
    other_rows = [*_events_answer(events, labels)]
    said += [*_since_answer(steps, always=not events or other_rows[:1] == [ROWS_DIFFER_EACH_LABEL])]
    said += [*_nothing_compared_answer(changes, sorted(other), accepted, last), *other_rows]
    said += [*_absent_models_answer(series, labels), *_unpaired_answer(series, same, accepted)]
    return tuple(said[:MAX_SENTENCES])


def _prevalence_answer(changes: Sequence[Row], level: float) -> Iterator[Answer]:
    """Yield the sentence on prevalence and mean score, if prevalence changed significantly."""
    model = str(changes[0]["model"])
    titles = {"prevalence": "prevalence", "mean_score": f"mean score of {quoted_name(model)}"}
    found = {
        titles[str(row["measure"])]: Change(
            as_estimate(row["old"]), as_estimate(row["new"]), as_estimate(row["difference"]),
            cell_value(row["p"]))
        for row in changes if row["model"] == model and row["measure"] in titles
    }  # fmt: skip
    described = {title: found[title] for title in titles.values() if title in found}
    if "prevalence" in found and found["prevalence"].significant(level):
        yield from rows_answer((), (), described, ((), ()), level)


def _reference_name(row: Row, accepted: Mapping[str, HistoryLine]) -> str:
    held, label = accepted.get(str(row["model"])), str(row["reference"])
    mark = " (accepted)" if held is not None and held.label == label else ""
    return f"{quoted_name(label)}{mark}"


def _since_answer(steps: Sequence[Row], *, always: bool) -> Iterator[Answer]:
    """Yield the sentence on the label of the largest change, and its cause; always: rows change."""
    for row in [row for row in steps if row["since"] is not None][:1]:
        cause, model = str(row["cause"]), str(row["model"])
        why = WHY.get(cause, f", where {cause} changed" if cause else "")
        why = "" if always and cause == ROWS else why
        text = f"{sentence_title(str(row['measure']))} of {quoted_name(model)} changed at "
        yield Answer("since", f"{text}{quoted_name(str(row['since']))}{why}.", (model,),
                     str(row["measure"]))  # fmt: skip


def _nothing_compared_answer(
    changes: Sequence[Row], other: Sequence[str], accepted: Mapping[str, HistoryLine], last: str
) -> Iterator[Answer]:
    """Yield the sentence on different settings, or on nothing to compare with."""
    if other:
        text = f"The settings of {join_names(other)} at {quoted_name(last)} differ from "
        yield Answer("other-settings", f"{text}those before, so nothing is compared.", tuple(other))
    elif not changes:
        text = f"There is no earlier label to compare {quoted_name(last)} with."
        if any(line.label == last for line in accepted.values()):
            text = f"{quoted_name(last)} is the accepted label, "
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
        parts.append(f"{quoted_name(model)} changed at {join_names(at)} on unchanged rows")
    if parts:
        yield Answer("events", f"{join_words(parts)}.", tuple(models))


def _absent_models_answer(
    series: Mapping[str, Sequence[HistoryLine]], labels: Sequence[str]
) -> Iterator[Answer]:
    """Yield the sentences on models without a line at the last label, or only there."""
    last = labels[-1]
    gone = [name for name, lines in series.items() if lines[-1].label != last]
    new = [name for name, lines in series.items() if lines[0].label == last and len(labels) > 1]
    for code, names, where in (("gone", gone, "at"), ("new", new, "before")):
        if names:
            verb = "has" if len(names) == 1 else "have"
            text = f"{join_names(names)} {verb} no line {where} {quoted_name(last)}."
            yield Answer(code, text, tuple(names))


def _unpaired_answer(
    series: Mapping[str, Sequence[HistoryLine]],
    changes: Sequence[Row],
    accepted: Mapping[str, HistoryLine],
) -> Iterator[Answer]:
    """Yield the sentence on where a paired comparison would be more precise."""
    models = dict.fromkeys(str(row["model"]) for row in changes if row["verdict"] == UNDECIDED)
    same = [
        name
        for name in models
        for lines in [series[name]]
        if same_rows(lines[-1], accepted.get(name, lines[-2] if len(lines) > 1 else lines[-1]))
    ]
    if same:
        text = "Both labels have the same rows: a paired comparison with the earlier table " \
               "(--baseline TABLE) has narrower intervals."  # fmt: skip
        yield Answer("not-paired", text, tuple(same))


LEADING = 3  # measures that are shown, where fewer are gated or changed
MAX_LEADING = 6  # of them


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
    """Return the measures with a value in the last lines: in the page's order, then by name."""
    ends = [lines[-1].measures.items() for lines in series.values()]
    known = {name for end in ends for name, cell in end if cell.value is not None}
    usual = [name for name in gateable_names(page_of(command)) if name in known]
    return list(dict.fromkeys([*usual, *sorted(known)]))


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
