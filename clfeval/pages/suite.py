"""The page of a batch: sentences of each run, errors, gates, and a table of all runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from clfeval.document import Document, GateState, Severity
from clfeval.formatting import format_count
from clfeval.pages.dry_run import READING
from clfeval.pages.schema import Column, Page, Source, Table, TableView, cols

STATES = (
    "computed", "gates met", "gate missed", "not computed", "left out", "ready", "ambiguous",
    "waits", "warned",
)  # fmt: skip
COMPUTED, MET, MISSED, FAILED, LEFT_OUT, READY, DOUBTFUL, WAITS, WARNED = STATES
RUN = Column("run", "text")
TABLES = (
    Table("runs", (
        RUN, *cols("text", "command"), *cols("text?", "input"),
        Column("state", "text", among=STATES), *cols("count", "code"), *cols("count?", "rows"),
        *cols("count", "gates missed warnings"), *cols("text?", "answer"),
    ), when=""),
    Table("answers", (RUN, *cols("text", "code text"))),
    Table("gates", (
        RUN, *cols("text", "kind metric"), *cols("text?", "model slice"), *cols("number", "limit"),
        *cols("text?", "limit_text"), *cols("number?", "value"), *cols("count?", "among"),
        Column("severity", "text", among=get_args(Severity)),
        Column("state", "text?", among=get_args(GateState)), *cols("flag?", "passed"),
        *cols("text?", "reason"), *cols("text", "text"),
    ), when=""),
    Table("problems", (RUN, *cols("text", "text")), when=""),
    Table("reading", (RUN, *cols("text", "column taken why"))),
    Table("files", (RUN, *cols("text", "use file"))),
)  # fmt: skip
GLOSSARY = {
    "run": "name in the YAML file, with the values of the matrix or the file",
    "runs.command": "command of the run", "runs.input": "table that the run reads",
    "runs.state": "outcome of the run", "runs.code": "exit code of the run alone",
    "runs.gates": "number of gates", "missed": "number of missed gates",
    "runs.warnings": "number of missed gates that only warn",
    "runs.answer": "first error of the run, or the first sentence of its answer",
    "answers.code": "code of the sentence", "answers.text": "sentence of the answer",
    "gates.text": "the gate as a sentence", "problems.text": "line of an error",
    "limit_text": "the limit as written, if it is a percentage of the baseline",
    "severity": "whether a missed gate fails or only warns", "gates.state": "outcome of the gate",
    "among": "number of models of which one must meet the gate", "use": "read, write or append",
}  # fmt: skip


def headline(result: Document) -> list[str]:
    """Return the headline: the files, and the number of runs."""
    names = ", ".join(item.name for item in result.inputs)
    what = "Dry run of a batch" if result.parameters["dry_run"] else "Batch"
    return [f"{what}: {names}, {format_count(result.summary['runs'], 'run')}"]


def page_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield errors and the first sentence of each run, then the table of all runs."""
    tables, dry = result.tables, result.parameters["dry_run"]
    if tables["problems"]:
        title = "Problems to fix" if dry else "Errors"
        yield TableView("problems", title, "run text", rank="asked")
    if dry:
        yield TableView("reading", "Columns as read", {"run": "run", **READING}, rank="asked")
        yield TableView("files", "Files", "run use file", rank="asked")
        if tables["gates"]:
            yield TableView("gates", "Gates", "run text", rank="asked")
    else:
        first = {row["run"]: row for row in reversed(tables["answers"])}
        rows = [first[row["run"]] for row in tables["runs"] if row["run"] in first]
        if rows:
            yield TableView("answers", "First sentence of each run", "run text", rows, name="first",
                        rank="asked")  # fmt: skip
        yield TableView("answers", "All sentences of each run", "run text")
        if tables["gates"]:
            yield TableView("gates", "Gates", "run state text")
    counts = "" if dry else "missed warnings rows "
    heads: dict[str, Source] = {
        name: name for name in f"run state gates {counts}command input".split()
    }
    title = "Planned runs" if dry else "Runs"
    yield TableView("runs", title, heads, rank="main", most=1000, lead="state")


PAGE = Page(
    "suite", TABLES, headline, page_tables, lambda _: (), parts=("first",), glossary=GLOSSARY
)
