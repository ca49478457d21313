"""The best models of a ranking, which the screens show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import inf
from typing import Any

from clfeval.document import Cell, Document, Row, Rows
from clfeval.lazy import LazyRows
from clfeval.pages.write import ABSENT
from clfeval.schema import Source, TableView
from clfeval.words import join_names

BEST = 20  # models on a screen; files have all
PER_MODEL = ("models", "ranks", "weights", "desirability", "compared")
MAX_METRIC_ROWS = 60  # rows of tables of metrics
SCORES = {
    "mlcps": "MLcps", "order_free": "order-free", "lowest": "lowest", "highest": "highest",
    "mean": "mean", "sd": "SD", "desirability": "D",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BestModels:
    """The best models of a result: their places in its tables and their rows."""

    result: Document
    places: tuple[int, ...]
    rows: tuple[Row, ...]

    @classmethod
    def from_result(cls, result: Document, most: int = BEST) -> BestModels:
        """Return them by rank, then in the order of the table; models without rank are last."""
        ranks, by = result.tables["ranks"], result.parameters["ranked_by"]
        columns = ranks.columns if isinstance(ranks, LazyRows) else {}  # without making rows
        column = columns[by] if by in columns else (row[by] for row in ranks)
        order = ((rank if isinstance(rank, int) else inf, i) for i, rank in enumerate(column))
        places = tuple(i for _, i in nsmallest(most, order))
        return cls(result, places, tuple(result.tables["models"][i] for i in places))

    def few(self, most: int) -> BestModels:
        """Return the best of the best."""
        return BestModels(self.result, self.places[:most], self.rows[:most])

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(str(row["model"]) for row in self.rows)

    @property
    def by_desirability(self) -> bool:
        """True where desirability ranks them."""
        return bool(self.result.parameters["ranked_by"] == "desirability")

    @property
    def score(self) -> str:
        """The name of the score that ranks them."""
        return SCORES[str(self.result.parameters["ranked_by"])]

    def of_table(self, name: str) -> list[list[Row]]:
        """Return the rows of each model in a table with equally many rows for every model."""
        table = self.result.tables[name]
        size = len(table) // len(self.result.tables["models"])
        return [list(table[i * size : (i + 1) * size]) for i in self.places]

    def found_in(self, table: Rows) -> list[Row]:
        """Return their rows of a table that has at most one for each model, in any order."""
        found = {str(row["model"]): row for row in table}
        return [found[name] for name in self.names if name in found]

    def table(
        self, name: str, title: str, columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None, /, **more: Any,
    ) -> TableView:  # fmt: skip
        """Show the models' rows of a table, or other rows of it."""
        rows = self.rows if rows is None else rows
        # how many models are not among the best, whatever of them is shown
        left = len(self.result.tables["models"]) - len(self.rows)
        total = {"total": len(rows) + left} if name in PER_MODEL else {}
        whole = {"more": "--format csv"} if name == "models" else {}
        return TableView(name, title, columns, rows, **{**whole, **total, **more})


def format_names(cell: Cell) -> str:
    """List the names in a cell, so that commas in them cannot mislead."""
    return join_names(cell) if isinstance(cell, list) and cell else ABSENT
