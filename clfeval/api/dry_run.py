"""What a run would do, as a result: how the table is read, what is doubtful, what was counted."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval import __version__
from clfeval.errors import ClfevalError
from clfeval.pages import DRY_RUN
from clfeval.result import Answer, Result, Row
from clfeval.tables.taken import Facts, Read
from clfeval.words import many


def dry_result(
    command: str, read: Sequence[Read], asked: ClfevalError | None, facts: Facts
) -> Result:
    """Return how tables are read, what is to be asked of them, and what a command would compute on.

    read: none where a table could not be opened. Tables: `reading` (column taken why), `doubts`
    (code file row column text hint), `plan` (what value).
    """
    parts = (asked.parts or (asked,)) if asked else ()
    doubts: list[Row] = [
        {"code": one.code, "file": one.file, "row": one.row, "column": one.column,
         "text": one.what, "hint": part.hint}
        for part in parts for one in part.problems
    ]  # fmt: skip
    reading: list[Row] = [
        {"column": one.column, "taken": one.role, "why": one.why}
        for table in read
        for one in table.taken()
    ]
    plan: list[Row] = [{"what": name, "value": str(value)} for name, value in facts.items()]
    said = Answer("readable", f"Nothing is doubtful: {command} would compute on this reading.")
    if asked:
        them = many(len(doubts), "question")
        text = f"{them} must be answered before {command} computes."
        said = Answer("doubtful", text)
    return Result(
        command=DRY_RUN,
        signature=f"cmd:{DRY_RUN}|of:{command}|clfeval:{__version__}",
        inputs=(),
        parameters={"of": command, "offer": asked and asked.offer},
        summary={"doubts": len(doubts)},
        tables={"reading": reading, "doubts": doubts, "plan": plan},
        answer=(said,),
    )
