"""`clfeval history FILE`: how measures moved over its lines, and which of them are accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from clfeval.cli.output import Output
from clfeval.cli.run import run_command
from clfeval.errors import bad_option
from clfeval.history.options import HistoryOptions
from clfeval.limits import Gates
from clfeval.options import Command, Opt, build_group
from clfeval.pages import HISTORY

if TYPE_CHECKING:
    from clfeval.document import Document

LINES = "Lines"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TrendOptions:
    """Which lines of a history are shown, and whether the last of them are accepted."""

    command: Annotated[str | None, Opt("Command whose lines are shown; default report.", LINES)] = (
        None
    )
    label: Annotated[str | None, Opt("Last label to show, or the label to accept.", LINES)] = None
    accept: Annotated[bool, Opt("Accept a label as reference for later runs.", LINES)] = False


HISTORY_COMMAND = Command(
    "history",
    (TrendOptions,),
    have="a history of results",
    want="what changed, and since when",
    help="Show how measures changed over a history; accept a result.",
    examples="""clfeval history history.jsonl
clfeval history history.jsonl --label 2026-W47 --accept
clfeval report week.csv --append history.jsonl --label 2026-W48
""",
    tables="A history file, written by --append.",
    files="HISTORY.jsonl",
    brief="command label accept format show save",
)


def show_history(_: Command, files: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print a history as a command prints its result; UsageError for several files."""
    trend, (name, *others) = build_group(TrendOptions, given), files
    if others:
        raise bad_option("history takes one file", f"clfeval history {name}")

    def compute() -> Document:
        from clfeval.api.history import history_trend as trend_of

        return trend_of(name, trend.command, accept=trend.accept, label=trend.label)

    def said(result: Document) -> list[str]:
        label = trend.label or result.parameters["last"]
        return [f"accepted {label} in {name}"] if trend.accept else []

    run_command(
        HISTORY,
        [name],
        build_group(Output, given),
        Gates(),
        compute,
        history=HistoryOptions(),
        said=said,
    )


def acceptance_note(name: str, label: str, *, accepted: bool) -> str:
    """Say whether the new lines of a history are those that later results are compared with."""
    if accepted:
        return f"accepted {label} in {name}"
    return f"{label} is not accepted in {name}: a gate was missed, or a run failed"
