"""What a run would do, as a result: how the table is read, what is doubtful, what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clfeval import __version__
from clfeval.document import Answer, Document, Row
from clfeval.errors import MAX_PRINTED_PROBLEMS, ClfevalError, join_texts
from clfeval.options import Command, Option, changed_options, format_value
from clfeval.pages import DRY_RUN
from clfeval.tables.cells import FRAME
from clfeval.tables.source import display_name, table_paths
from clfeval.tables.taken import Facts, Read
from clfeval.words import format_count


def dry_result(
    command: Command, groups: Sequence[object], read: Sequence[Read], asked: ClfevalError | None,
    facts: Facts,
) -> Document:  # fmt: skip
    """Return how tables are read, what is ambiguous, and what a command would compute.

    groups: its options. read: none where a table could not be opened. Tables: `reading`
    (column taken why), `doubts` (code file row column text hint), `plan` (what value).
    """
    parts = (asked.parts or (asked,)) if asked else ()
    doubts = [row for part in parts for row in _question_problems(part)]
    reading: list[Row] = [
        {"column": one.column, "taken": one.role, "why": one.why}
        for table in read
        for one in table.taken()
    ]
    wanted = {
        o.flag: _shell_value(o, getattr(one, o.field))
        for one in groups
        for o in changed_options(one)
    }
    plan: list[Row] = [
        {"what": name, "value": str(value)} for name, value in {**facts, **wanted}.items()
    ]
    said = Answer("readable", f"Nothing is ambiguous: {command.name} can evaluate this table.")
    if asked:
        text = f"Resolve {format_count(len(parts), 'problem')} before {command.name} can run."
        said = Answer("ambiguous", text)
    return Document(
        command=DRY_RUN,
        signature=f"cmd:{DRY_RUN}|of:{command.name}|clfeval:{__version__}",
        inputs=(),
        parameters={"of": command.name, "offer": asked and asked.offer},
        summary={"ambiguities": len(parts)},
        tables={"reading": reading, "ambiguities": doubts, "plan": plan},
        answer=(said,),
    )


def _question_problems(part: ClfevalError) -> Iterator[Row]:
    """Yield the first problems of one question, and how many more there are."""
    shown = part.problems[:MAX_PRINTED_PROBLEMS]
    for one in shown:
        yield {"code": one.code, "file": one.file, "row": one.row, "column": one.column,
               "text": one.what, "hint": part.hint}  # fmt: skip
    for code, left in (part.totals - Counter(one.code for one in shown)).items():
        yield {"code": code, "file": None, "row": None, "column": None,
               "text": f"and {left:,} more", "hint": None}  # fmt: skip


def _shell_value(option: Option, value: Any) -> str:
    """Write the value of an option as a shell takes it; a table by its name alone."""
    if option.opt.reads:
        return join_texts([display_name(path) for path in table_paths(value)] or [FRAME])
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return join_texts([f"{key}={_shell_value(option, one)}" for key, one in value.items()])
    if option.opt.write is not format_value or not isinstance(value, tuple):
        return option.opt.write(value)
    return join_texts([format_value(one) for one in value])
