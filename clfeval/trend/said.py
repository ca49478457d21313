"""What a history says in sentences: what moved, since when, rows or model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.baseline.compare import BETTER, MOVED, OPEN, SAME, WORSE
from clfeval.history.line import PastLine
from clfeval.result import Answer, Row, estimate, value_of
from clfeval.trend.judge import MODEL, OTHER, ROWS, same_rows
from clfeval.words import between, close, listed, many, named, quoted

MOST = 5  # sentences
WHY = {
    ROWS: ", where the rows changed",
    MODEL: ", where the model changed and the rows did not",
}


def trend_answer(
    changes: Sequence[Row], events: Sequence[Row], series: Mapping[str, Sequence[PastLine]],
    accepted: Mapping[str, PastLine], labels: Sequence[str],
) -> tuple[Answer, ...]:  # fmt: skip
    """Return at most five sentences: what moved first, then what changed at which label."""
    said = [
        *_moves(changes, accepted, labels[-1]), *_still(changes, accepted, labels[-1]),
        *_events(events, labels), *_gone(series, labels[-1]), *_unpaired(series, changes, accepted),
    ]  # fmt: skip
    return tuple(said[:MOST])


def _moves(changes: Sequence[Row], accepted: Mapping[str, PastLine], last: str) -> Iterator[Answer]:
    """Say of what is worse, better or otherwise moved the first measure, and how many more."""
    for verdict, words in ((WORSE, "is worse"), (BETTER, "is better"), (MOVED, "has moved")):
        rows = [row for row in changes if row["verdict"] == verdict]
        if not rows:
            continue
        first, *others = rows
        change, cause = estimate(first["change"]), str(first["cause"])
        since = f", since {quoted(str(first['since']))}" if first["since"] else ""
        why = WHY.get(cause, f", where {cause} changed" if cause else "") if since else ""
        at = f"at {quoted(last)} {words}, beside {_reference(first, accepted)}"
        old, new = (close(value_of(first[side]) or 0.0, 3) for side in ("old", "new"))
        moved = between(change.value or 0.0, change.low, change.high)
        text = f"{first['measure']} of {quoted(str(first['model']))} {at}: {new}, was {old} " \
               f"(change {moved}){since}{why}"  # fmt: skip
        text += f"; likewise {many(len(others), 'more measure')}" if others else ""
        yield Answer(
            "moved", f"{text}.", (str(first["model"]),), str(first["measure"]), change.value,
            change.low, change.high,
        )  # fmt: skip


def _reference(row: Row, accepted: Mapping[str, PastLine]) -> str:
    held = accepted.get(str(row["model"]))
    known = held is not None and held.label == row["reference"]
    return f"{quoted(str(row['reference']))}, {'which was accepted' if known else 'the one before'}"


def _still(changes: Sequence[Row], accepted: Mapping[str, PastLine], last: str) -> Iterator[Answer]:
    """Say that nothing moved, that nothing can be compared, or that there is nothing to compare."""
    verdicts = [row["verdict"] for row in changes]
    if OTHER in verdicts:
        names = list(dict.fromkeys(str(row["model"]) for row in changes if row["verdict"] == OTHER))
        text = f"The settings of {named(names)} at {quoted(last)} are others: nothing is compared."
        yield Answer("other-settings", text, tuple(names))
    if not {*verdicts} & {WORSE, BETTER, MOVED, OTHER}:
        held = [row for row in changes if row["verdict"] in (SAME, OPEN)]
        if held:
            beside = _reference(held[0], accepted)
            text = f"Nothing at {quoted(last)} is told apart from {beside}: " \
                   f"{many(len(held), 'measure')}, judged together."  # fmt: skip
        elif any(line.label == last for line in accepted.values()):
            text = f"{quoted(last)} is accepted, and nothing came after it."
        else:
            text = f"{quoted(last)} has nothing before it to be compared with."
        yield Answer("nothing-moved", text)


def _events(events: Sequence[Row], labels: Sequence[str]) -> Iterator[Answer]:
    """Say at which labels rows changed, and at which others models did."""
    rows = _labels(events, ROWS)
    if rows and len(rows) == len(labels) - 1 and len(rows) > 1:
        text = "The rows change at every label, so nobody can tell whether a model changed too."
        yield Answer("events", text)
        return
    parts = [f"The rows changed at {named(rows)}"] if rows else []
    models = dict.fromkeys(str(row["model"]) for row in events if row["changed"] == MODEL)
    mine = [row for row in events if row["changed"] == MODEL]
    for model in [*models][:3]:
        at = [str(row["label"]) for row in mine if row["model"] == model]
        parts.append(f"{quoted(model)} itself {'' if parts else 'changed '}at {named(at)}")
    if parts:
        yield Answer("events", f"{listed(parts)}.", tuple(models))


def _labels(events: Sequence[Row], what: str) -> list[str]:
    return list(dict.fromkeys(str(row["label"]) for row in events if row["changed"] == what))


def _gone(series: Mapping[str, Sequence[PastLine]], last: str) -> Iterator[Answer]:
    gone = [name for name, lines in series.items() if lines[-1].label != last]
    if gone:
        verb = "has" if len(gone) == 1 else "have"
        yield Answer("gone", f"{named(gone)} {verb} no line at {quoted(last)}.", tuple(gone))


def _unpaired(
    series: Mapping[str, Sequence[PastLine]],
    changes: Sequence[Row],
    accepted: Mapping[str, PastLine],
) -> Iterator[Answer]:
    """Say where a comparison of the same rows would see more than that of two samples."""
    models = dict.fromkeys(str(row["model"]) for row in changes if row["verdict"] == OPEN)
    same = [
        name
        for name in models
        for lines in [series[name]]
        if same_rows(lines[-1], accepted.get(name, lines[-2] if len(lines) > 1 else lines[-1]))
    ]
    if same:
        text = "The rows are the same, and intervals are wider than they need be, as those of " \
               "two samples: --baseline TABLE, with the table of then, sees more."  # fmt: skip
        yield Answer("not-paired", text, tuple(same))
