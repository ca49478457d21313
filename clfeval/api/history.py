"""What is done with a history: lines of a result are added, and all of them are looked at."""

from __future__ import annotations

from clfeval.baseline.compare import labelled
from clfeval.errors import UsageError, listing, suggestion
from clfeval.history.file import CODE, append, read_past
from clfeval.history.line import Accepted, PastEntry, lines_of
from clfeval.result import Result
from clfeval.trend.result import trend_result


def added(
    name: str, result: Result, label: str, *, accept: bool = False, run: str | None = None
) -> str:
    """Add a line for each model of a result to a history; return the name of the file.

    accept: what is added is what later lines are held to. run: of a batch. Raises UsageError.
    """
    append(name, entries_of(result, label, accept=accept, run=run))
    return name


def entries_of(
    result: Result, label: str, *, accept: bool = False, run: str | None = None
) -> list[PastEntry]:
    """Return what `added` adds: of several results to be added at once."""
    entries: list[PastEntry] = [*lines_of(result, label, labelled(result), run)]
    if not entries:
        raise UsageError.of("the result has no model to keep", CODE)
    return [*entries, Accepted(result.command, label)] if accept else entries


def trend(name: str, command: str, *, accept: bool = False, label: str | None = None) -> Result:
    """Return how measures of a command moved over the lines of a history.

    accept: first mark this label, or else the last, as what later lines are held to. Raises
    UsageError.
    """
    past = read_past(name)
    labels = list(dict.fromkeys(line.label for line in past.of(command)))
    if accept:
        chosen = labels[-1] if label is None else label
        if chosen not in labels:
            hint = suggestion(chosen, labels) or f"labels: {listing(labels)}"
            raise UsageError.of(f"--label: no label '{chosen}'", CODE, name, hint=hint)
        append(name, [Accepted(command, chosen)])
        past = read_past(name)
    return trend_result(past, command)
