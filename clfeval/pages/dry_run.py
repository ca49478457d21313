"""How a dry run reads: the questions, the columns, what would be computed."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.document import Document
from clfeval.schema import Page, Shown, Table, of

READING = {"column": "column", "read as": "taken", "reason": "why"}
TABLES = (
    Table("reading", of("text", "column taken why"), when=""),
    Table("ambiguities", (
        *of("text", "code"), *of("text?", "file"), *of("whole?", "row"), *of("text?", "column"),
        *of("text", "text"), *of("text?", "hint"),
    ), when=""),
    Table("plan", of("text", "what value"), when=""),
)  # fmt: skip


def headline(result: Document) -> list[str]:
    """Say whose run it would be."""
    return [f"Dry run of {result.parameters['of']}: nothing was computed"]


def shown(result: Document, _: int) -> Iterator[Shown]:
    """Show the questions first, if there are any."""
    if result.tables["ambiguities"]:
        columns = {"problem": "text", "column": "column", "remedy": "hint"}
        yield Shown("ambiguities", "Ambiguities", columns, rank="asked", most=None)
    title = "Columns as read"
    title += " with the suggested options" if result.tables["ambiguities"] else ""
    if result.tables["reading"]:
        yield Shown("reading", title, READING, rank="asked", most=None)
    if result.tables["plan"]:
        yield Shown("plan", "Planned computation", "what value", rank="asked")


PAGE = Page("dry-run", TABLES, headline, shown, lambda _: ())
