"""Options of a history: where the measures of a run are kept, and under which label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clfeval.errors import bad_option
from clfeval.options import Opt

HISTORY = "History"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HistoryOptions:
    """Where measures of this run are kept."""

    append: Annotated[
        str | None,
        Opt("Append one line per model to this history.", HISTORY,
            metavar="HISTORY.jsonl", needs=("label", "needs a label")),
    ] = None  # fmt: skip
    label: Annotated[str | None, Opt("Label of the appended lines: a week, a commit.", HISTORY)] = (
        None
    )

    def check(self) -> None:
        """Refuse a label of nothing; UsageError."""
        if self.label is not None and self.append is None:
            hint = "add --append HISTORY.jsonl"
            raise bad_option("--label needs a history to append to", hint)
        if self.label is not None and not self.label.strip():
            raise bad_option("--label is empty")
