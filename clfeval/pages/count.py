"""The page of count: how many counts the file holds, by model."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.document import Document
from clfeval.formatting import join_names
from clfeval.pages.schema import MODEL, SHARED_WORDS, Column, Page, Table, TableView, cols
from clfeval.pages.shared_tables import THRESHOLD
from clfeval.pages.table_parts import format_class_counts

TABLES = (
    Table(
        "models",
        (
            MODEL,
            Column(
                "kind",
                "text",
                among=("labels", "scores"),
                meaning="whether the model predicts labels or scores",
            ),
            THRESHOLD,
            Column(
                "distinct_scores",
                "count?",
                "distinct scores",
                meaning="number of different scores of the model",
            ),
            Column(
                "counts",
                "count",
                meaning="number of rows of the file: of a score, a class and a slice",
            ),
        ),
        "",
        1,
    ),
)
SUMMARY = cols("count", "rows positives negatives models counts patterns")


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, and the rows of each class."""
    names = join_names([file.name for file in result.inputs])
    return [f"Counts of {names}: {format_class_counts(result)}"]


def page_tables(_: Document, __: int) -> Iterator[TableView]:
    """Yield the only table."""
    columns = {
        "model": "model",
        "kind": "kind",
        "threshold": "threshold",
        "distinct\nscores": "distinct_scores",
        "counts": "counts",
    }
    yield TableView("models", "Counts by model", columns, rank="main")


GLOSSARY = {
    **SHARED_WORDS,
    "patterns": "number of different combinations of truth, predictions and slices",
    "models": "number of models",
}
PAGE = Page("count", TABLES, headline, page_tables, lambda _: (), SUMMARY, glossary=GLOSSARY)
