"""What a history says in sentences: what moved, since when, rows or model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.baseline.answer import change_answers, rows_answer, sentence_title
from clfeval.baseline.changes import LEVEL, UNMOVED
from clfeval.compare.change import UNDECIDED, Change
from clfeval.document import Answer, Row, as_estimate, cell_value
from clfeval.history.line import HistoryLine, same_rows
from clfeval.trend.judge import MODEL, ROWS
from clfeval.words import join_names, join_words, quote_if_ambiguous

MOST = 5  # sentences
ROWS_DIFFER_EACH_LABEL = Answer(
    "events", "Each label has different rows: changes may come from the rows or the models."
)
WHY = {
    ROWS: ", where the rows changed",
    MODEL: ", where the model changed and the rows did not",
}


def trend_answer(
    changes: Sequence[Row], steps: Sequence[Row], events: Sequence[Row],
    series: Mapping[str, Sequence[HistoryLine]], accepted: Mapping[str, HistoryLine],
    labels: Sequence[str], order: Sequence[str],
) -> tuple[Answer, ...]:  # fmt: skip
    """Return at most five sentences: what changed first, then what changed at which label."""
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
        if rows:  # what prevalence alone changes comes later
            same.sort(key=lambda row: str(row["measure"]) not in UNMOVED)
        said += change_answers(same, join_words([*names]), lead=next(iter(order), None))
        said += rows
    other_rows = [*_events_answer(events, labels)]
    said += [*_since_answer(steps, always=not events or other_rows[:1] == [ROWS_DIFFER_EACH_LABEL])]
    said += [*_nothing_compared_answer(changes, sorted(other), accepted, last), *other_rows]
    said += [*_absent_models_answer(series, labels), *_unpaired_answer(series, same, accepted)]
    return tuple(said[:MOST])


def _prevalence_answer(changes: Sequence[Row], level: float) -> Iterator[Answer]:
    """Say how prevalence and the mean score changed, if prevalence changed significantly."""
    model = str(changes[0]["model"])
    titles = {
        "prevalence": "prevalence",
        "mean_score": f"mean score of {quote_if_ambiguous(model)}",
    }
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
    return f"{quote_if_ambiguous(label)}{mark}"


def _since_answer(steps: Sequence[Row], *, always: bool) -> Iterator[Answer]:
    """Say since when the largest change is there, and what changed then; always: rows do."""
    for row in [row for row in steps if row["since"] is not None][:1]:
        cause, model = str(row["cause"]), str(row["model"])
        why = WHY.get(cause, f", where {cause} changed" if cause else "")
        why = "" if always and cause == ROWS else why
        text = f"{sentence_title(str(row['measure']))} of {quote_if_ambiguous(model)} changed at "
        yield Answer("since", f"{text}{quote_if_ambiguous(str(row['since']))}{why}.", (model,),
                     str(row["measure"]))  # fmt: skip


def _nothing_compared_answer(
    changes: Sequence[Row], other: Sequence[str], accepted: Mapping[str, HistoryLine], last: str
) -> Iterator[Answer]:
    """Say that settings are different, or that there is nothing to compare with."""
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
    """Say at which labels rows changed, and at which others models did."""
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


def _absent_models_answer(
    series: Mapping[str, Sequence[HistoryLine]], labels: Sequence[str]
) -> Iterator[Answer]:
    """Say which models have no line at the last label, and which have none before it."""
    last = labels[-1]
    gone = [name for name, lines in series.items() if lines[-1].label != last]
    new = [name for name, lines in series.items() if lines[0].label == last and len(labels) > 1]
    for code, names, where in (("gone", gone, "at"), ("new", new, "before")):
        if names:
            verb = "has" if len(names) == 1 else "have"
            text = f"{join_names(names)} {verb} no line {where} {quote_if_ambiguous(last)}."
            yield Answer(code, text, tuple(names))


def _unpaired_answer(
    series: Mapping[str, Sequence[HistoryLine]],
    changes: Sequence[Row],
    accepted: Mapping[str, HistoryLine],
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
