"""Options of a history: what is added to one, and how one is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clfeval.errors import bad_option
from clfeval.options import Opt

HISTORY = "History"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class History:
    """Where measures of this run are kept, or those of earlier runs are read."""

    append: Annotated[
        str | None,
        Opt("Add a line for each model to this file.", HISTORY, metavar="HISTORY.jsonl",
            needs=("label", "keeps lines under a label")),
    ] = None  # fmt: skip
    label: Annotated[
        str | None,
        Opt("What this run is called there: a week, a commit; or the last to be seen.", HISTORY),
    ] = None
    history: Annotated[
        str | None,
        Opt("No table: how measures moved over the lines of this file.", HISTORY,
            metavar="HISTORY.jsonl", instead=True),
    ] = None  # fmt: skip
    accept: Annotated[
        bool,
        Opt("What is added, or else --label or the last label, is what others are held to.",
            HISTORY),
    ] = False  # fmt: skip

    @property
    def any(self) -> bool:
        """True where there is a history to add to, or to read."""
        return self.append is not None or self.history is not None

    def check(self) -> None:
        """Refuse what says nothing together; UsageError."""
        if self.append is not None and self.history is not None:
            raise bad_option("--append adds to a history and --history reads one: one at a time")
        if self.accept and not self.any:
            raise bad_option("--accept is about a history: add --append or --history")
        if self.label is not None and not self.any:
            hint = "add --append HISTORY.jsonl, or --history HISTORY.jsonl"
            raise bad_option("--label names what is added to a history, or seen in one", hint)
        if self.label is not None and not self.label.strip():
            raise bad_option("--label is empty")
