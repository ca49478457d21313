"""What a history says in sentences: what moved, since when, rows or model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.baseline.answer import change_answers, rows_answer, title_of
from clfeval.baseline.changes import LEVEL, UNMOVED
from clfeval.compare.change import UNDECIDED, Change
from clfeval.document import Answer, Row, estimate, value_of
from clfeval.history.line import PastLine, same_rows
from clfeval.trend.judge import MODEL, ROWS
from clfeval.words import listed, named, quoted

MOST = 5  # sentences
EACH = Answer(
    "events", "Each label has different rows: changes may come from the rows or the models."
)
WHY = {
    ROWS: ", where the rows changed",
    MODEL: ", where the model changed and the rows did not",
}


def trend_answer(
    changes: Sequence[Row], steps: Sequence[Row], events: Sequence[Row],
    series: Mapping[str, Sequence[PastLine]], accepted: Mapping[str, PastLine],
    labels: Sequence[str], order: Sequence[str],
) -> tuple[Answer, ...]:  # fmt: skip
    """Return at most five sentences: what changed first, then what changed at which label."""
    last, other = labels[-1], {str(row["model"]) for row in changes
             if estimate(row["difference"]).reason == "other_settings"}  # fmt: skip
    same = [row for row in changes if row["model"] not in other]
    said = list[Answer]()
    if same:
        names = dict.fromkeys(_called(row, accepted) for row in same)
        rows = [*_rows(same, next(line.level for line in series[str(same[0]["model"])]) or LEVEL)]
        if rows:  # what prevalence alone changes comes later
            same.sort(key=lambda row: str(row["measure"]) not in UNMOVED)
        said += change_answers(same, listed([*names]), lead=next(iter(order), None))
        said += rows
    other_rows = [*_events(events, labels)]
    said += [*_since(steps, always=not events or other_rows[:1] == [EACH])]
    said += [*_nothing(changes, sorted(other), accepted, last), *other_rows]
    said += [*_absent(series, labels), *_unpaired(series, same, accepted)]
    return tuple(said[:MOST])


def _rows(changes: Sequence[Row], level: float) -> Iterator[Answer]:
    """Say how prevalence and the mean score changed, if prevalence changed significantly."""
    model = str(changes[0]["model"])
    titles = {"prevalence": "prevalence", "mean_score": f"mean score of {quoted(model)}"}
    found = {
        titles[str(row["measure"])]: Change(
            estimate(row["old"]), estimate(row["new"]), estimate(row["difference"]),
            value_of(row["p"]))
        for row in changes if row["model"] == model and row["measure"] in titles
    }  # fmt: skip
    described = {title: found[title] for title in titles.values() if title in found}
    if "prevalence" in found and found["prevalence"].significant(level):
        yield from rows_answer((), (), described, ((), ()), level)


def _called(row: Row, accepted: Mapping[str, PastLine]) -> str:
    held, label = accepted.get(str(row["model"])), str(row["reference"])
    return f"{quoted(label)}{' (accepted)' if held is not None and held.label == label else ''}"


def _since(steps: Sequence[Row], *, always: bool) -> Iterator[Answer]:
    """Say since when the largest change is there, and what changed then; always: rows do."""
    for row in [row for row in steps if row["since"] is not None][:1]:
        cause, model = str(row["cause"]), str(row["model"])
        why = WHY.get(cause, f", where {cause} changed" if cause else "")
        why = "" if always and cause == ROWS else why
        text = f"{title_of(str(row['measure']))} of {quoted(model)} changed at "
        yield Answer("since", f"{text}{quoted(str(row['since']))}{why}.", (model,),
                     str(row["measure"]))  # fmt: skip


def _nothing(
    changes: Sequence[Row], other: Sequence[str], accepted: Mapping[str, PastLine], last: str
) -> Iterator[Answer]:
    """Say that settings are different, or that there is nothing to compare with."""
    if other:
        text = f"The settings of {named(other)} at {quoted(last)} differ from those before, "
        yield Answer("other-settings", f"{text}so nothing is compared.", tuple(other))
    elif not changes:
        text = f"There is no earlier label to compare {quoted(last)} with."
        if any(line.label == last for line in accepted.values()):
            text = f"{quoted(last)} is the accepted label, and there is no later label to compare."
        yield Answer("nothing-before", text)


def _events(events: Sequence[Row], labels: Sequence[str]) -> Iterator[Answer]:
    """Say at which labels rows changed, and at which others models did."""
    rows = list(dict.fromkeys(str(row["label"]) for row in events if row["changed"] == ROWS))
    if rows and len(rows) == len(labels) - 1 and len(rows) > 1:
        yield EACH
        return
    parts = [f"The rows changed at {named(rows)}"] if rows else []
    models = dict.fromkeys(str(row["model"]) for row in events if row["changed"] == MODEL)
    mine = [row for row in events if row["changed"] == MODEL]
    for model in [*models][:3]:
        at = [str(row["label"]) for row in mine if row["model"] == model]
        parts.append(f"{quoted(model)} changed at {named(at)} on unchanged rows")
    if parts:
        yield Answer("events", f"{listed(parts)}.", tuple(models))


def _absent(series: Mapping[str, Sequence[PastLine]], labels: Sequence[str]) -> Iterator[Answer]:
    """Say which models have no line at the last label, and which have none before it."""
    last = labels[-1]
    gone = [name for name, lines in series.items() if lines[-1].label != last]
    new = [name for name, lines in series.items() if lines[0].label == last and len(labels) > 1]
    for code, names, where in (("gone", gone, "at"), ("new", new, "before")):
        if names:
            verb = "has" if len(names) == 1 else "have"
            text = f"{named(names)} {verb} no line {where} {quoted(last)}."
            yield Answer(code, text, tuple(names))


def _unpaired(
    series: Mapping[str, Sequence[PastLine]],
    changes: Sequence[Row],
    accepted: Mapping[str, PastLine],
) -> Iterator[Answer]:
    """Say where a paired comparison would be more precise than that of two samples."""
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
