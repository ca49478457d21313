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
from clfeval.compare.change import UNDECIDED, Change, change_of_independent
from clfeval.compare.history.file import HistoryLine, HistoryLines
from clfeval.document import Answer, Document, Estimate, InputFile, Row, as_estimate, cell_value
from clfeval.formatting import join_names, join_words, quote_if_ambiguous
from clfeval.inference.distributions import critical_value
from clfeval.pages.schema import COMPARISONS, HISTORY, gateable_names, page_of

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
    found, sides = dict[ChangeKey, Change](), dict[str, HistoryLine]()
    for name, lines in series.items():
        now, base = lines[-1], accepted.get(name, lines[-2] if len(lines) > 1 else None)
        if now.label == last and base is not None and base != now:
            sides[name] = base
            for measure in dict.fromkeys((*now.measures, *base.measures)):
                found[name, measure] = change_between(base, now, measure)
    rows = change_rows(
        "label", found, command, lambda name: (sides[name].label, series[name][-1].level or LEVEL)
    )
    steps = list[Row]()
    for row in rows:
        if row["p_adjusted"] is None or row["verdict"] not in SIGNIFICANT:
            continue
        model, measure = str(row["model"]), str(row["measure"])
        base, labels = sides[model], [line.label for line in series[model]]
        after = labels.index(base.label) + 1 if base.label in labels else 0
        path = [base, *(series[model][after:] or series[model][-1:])]
        at = change_point(path, measure)
        since = None if at is None else path[at].label
        cause = "" if at is None else ", ".join(line_changes(path)[at])
        steps.append({"model": model, "measure": measure, "since": since, "cause": cause})
    return rows, steps


def change_between(base: HistoryLine, now: HistoryLine, measure: str) -> Change:
    """Return the change of a measure from line to line, as of two independent samples."""
    old, new = (
        one.measures[measure].estimate if measure in one.measures else None for one in (base, now)
    )
    change = change_of_independent(old, new, level=now.level or LEVEL)
    if base.settings != now.settings:
        return Change(change.old, change.new, Estimate(None, reason="other_settings"))
    return change


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
            "(--baseline TABLE) has narrower intervals."
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
    series: dict[str, list[HistoryLine]] = {}
    for line in sorted(lines, key=lambda line: labels.index(line.label)):
        series.setdefault(line.name, []).append(line)
    accepted = {one.name: one for key, one in past.accepted.items() if key[0] == command}
    marks = dict[tuple[str, str], Sequence[str]]()
    for name, mine in series.items():
        marks |= zip([(name, line.label) for line in mine], line_changes(mine), strict=True)
    # the measures with a value in the last lines: in the page's order, then by name
    ends = [cell for mine in series.values() for cell in mine[-1].measures.items()]
    known = {name for name, cell in ends if cell.value is not None}
    usual = [name for name in gateable_names(page_of(command)) if name in known]
    order = list(dict.fromkeys([*usual, *sorted(known)]))
    changes, steps = measure_changes(series, accepted, labels[-1], command)
    ordered = [
        line for label in labels for mine in series.values() for line in mine if line.label == label
    ]
    changed = [(line, what) for line in ordered for what in marks[line.name, line.label]]
    events: list[Row] = [
        {"label": line.label, "model": line.name, "changed": what} for line, what in changed
    ]
    kept = {one.label for one in accepted.values()}
    return Document(
        command=HISTORY,
        signature=f"cmd:{HISTORY}|of:{command}|data:{past.sha256[:8]}|clfeval:{__version__}",
        inputs=(InputFile(os.path.basename(past.name), past.sha256, len(lines)),),
        parameters={
            "of": command,
            "accepted": [label for label in labels if label in kept],
            "last": labels[-1],
            "level": next((o.level for o in reversed(lines) if o.level), LEVEL),
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


def _history_rows(
    lines: Sequence[HistoryLine],
    series: Mapping[str, Sequence[HistoryLine]],
    accepted: Mapping[str, HistoryLine],
    marks: Mapping[tuple[str, str], Sequence[str]],
) -> Iterator[Row]:
    """Yield a row for each line and measure."""
    pairs = [pair for mine in series.values() for pair in pairwise(mine)]
    befores = {(line.name, line.label): before for before, line in pairs}
    for line in lines:
        before = befores.get((line.name, line.label))
        for measure, cell in line.measures.items():
            change = Estimate(None, reason="first")
            if before is not None:
                change = change_between(before, line, measure).difference
            yield {
                "label": line.label,
                "model": line.name,
                "measure": measure,
                "value": cell.estimate,
                "se": cell.se,
                "change": change,
                "marks": list(marks[line.name, line.label]),
                "accepted": accepted.get(line.name) == line,
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
