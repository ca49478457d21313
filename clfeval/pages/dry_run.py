"""The page of a dry run: questions, columns, and what would be computed."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.document import Document
from clfeval.pages.schema import Page, Table, TableView, cols

READING = {"column": "column", "read as": "taken", "reason": "why"}
TABLES = (
    Table("reading", cols("text", "column taken why"), when=""),
    Table("ambiguities", (
        *cols("text", "code"), *cols("text?", "file"), *cols("whole?", "row"),
        *cols("text?", "column"), *cols("text", "text"), *cols("text?", "hint"),
    ), when=""),
    Table("plan", cols("text", "what value"), when=""),
)  # fmt: skip


def headline(result: Document) -> list[str]:
    """Return the headline: the command of the dry run."""
    return [f"Dry run of {result.parameters['of']}: nothing was computed"]


def page_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield the tables, that of questions first if there are any."""
    title = "Columns as read"
    if result.tables["ambiguities"]:
        columns = {"problem": "text", "column": "column", "remedy": "hint"}
        yield TableView("ambiguities", "Ambiguities", columns, rank="asked", most=None)
        title += " with the suggested options"
    if result.tables["reading"]:
        yield TableView("reading", title, READING, rank="asked", most=None)
    if result.tables["plan"]:
        yield TableView("plan", "Planned computation", "what value", rank="asked")


PAGE = Page("dry-run", TABLES, headline, page_tables, lambda _: ())
