"""What a command line does with a history: reads it instead of a table, adds to it, accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clfeval.cli.run import unsaid
from clfeval.errors import bad_option
from clfeval.history.options import History
from clfeval.options import Option

if TYPE_CHECKING:
    from clfeval.result import Result


def trend_of(
    command: str, history: History, tables: Sequence[str], given: Mapping[str, Any],
    beside: Sequence[Option],
) -> tuple[str, Callable[[], Result], list[str]]:  # fmt: skip
    """Return the name of its page, what makes the trend of a history, and the file it reads.

    UsageError for what is about a table: a table, and whatever option of `beside` is given.
    """
    from clfeval.pages import HISTORY

    name = history.history or ""
    flags = [one.flag for one in beside if not unsaid(one, given[one.name])]
    if tables or flags:
        what = f"--history shows lines of a file: leave {(*flags, *tables)[0]} out"
        hint = f"a run adds its lines with --append {name} --label LABEL"
        raise bad_option(what, hint)

    def compute() -> Result:
        from clfeval.api.history import trend

        return trend(name, command, accept=history.accept, label=history.label)

    return HISTORY, compute, [name]


def kept(history: History, result: Result) -> list[str]:
    """Add the lines of a result to a history where that is asked for; return what to say of it."""
    if history.append is None:
        last = history.label or result.parameters["last"]
        return [f"accepted {last} in {history.history}"] if history.accept else []
    from clfeval.api.history import added

    name, label, said = history.append, history.label or "", [f"wrote {history.append}"]
    accepted = added(name, result, label, accept=history.accept)
    return [*said, accepting(name, label, accepted=accepted)] if history.accept else said


def accepting(name: str, label: str, *, accepted: bool) -> str:
    """Say whether what was added to a history is what others are held to."""
    if accepted:
        return f"accepted {label} in {name}"
    return f"{label} is not accepted in {name}: a gate was missed, or a run failed"
