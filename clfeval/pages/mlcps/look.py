"""What all tables of a ranking share: the best models first, lists of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from math import inf
from typing import Any

from clfeval.pages.write import value_of
from clfeval.result import Cell, LazyRows, Result, Row, Rows
from clfeval.schema import Shown, Source

BEST = 20  # models shown to a person; files get them all


@dataclass(frozen=True, slots=True)
class Best:
    """The best models of a result: their places in its tables and their rows."""

    result: Result
    places: tuple[int, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, result: Result, most: int = BEST) -> Best:
        """Find them: by rank, then as in the table; a model without rank is last."""
        table, by = result.tables["ranks"], result.parameters["ranked_by"]  # rows quickly made
        ordered = nsmallest(most, ((_order(rank), i) for i, rank in enumerate(_column(table, by))))
        return cls._at(result, [i for _, i in ordered])

    @classmethod
    def first(cls, result: Result) -> Best:
        """Find those of rank 1, or as many of them as are shown."""
        table, by = result.tables["ranks"], result.parameters["ranked_by"]
        wanted = min(BEST, len(result.summary["best"]))
        found = (i for i, rank in enumerate(_column(table, by)) if rank == 1)
        return cls._at(result, list(islice(found, wanted)))

    @classmethod
    def _at(cls, result: Result, places: Sequence[int]) -> Best:
        table = result.tables["models"]
        return cls(result, tuple(places), tuple(table[i] for i in places))

    def few(self, most: int) -> Best:
        """Return the best of the best."""
        return Best(self.result, self.places[:most], self.rows[:most])

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(str(row["model"]) for row in self.rows)

    @property
    def by_desirability(self) -> bool:
        """True where desirability ranks them."""
        return bool(self.result.parameters["ranked_by"] == "desirability")

    def in_table(self, table: Rows) -> list[Row]:
        """Return their rows of a table of one row for each model; some may have none there."""
        here = [table[i] if i < len(table) else {} for i in self.places]
        if all(row.get("model") == name for row, name in zip(here, self.names, strict=True)):
            return here
        return self.found_in(table)

    def found_in(self, table: Rows) -> list[Row]:
        """Return their rows of a table that has at most one for each model, in any order."""
        found = {str(row["model"]): row for row in table}
        return [found[name] for name in self.names if name in found]

    def blocks(self, table: Rows) -> dict[str, list[Row]]:
        """Return their rows of a table of several rows for each model, one model after another."""
        wanted: dict[str, list[Row]] = {name: [] for name in self.names}
        size = 1
        while size < len(table) and table[size]["model"] == table[0]["model"]:
            size += 1
        for place, name in zip(self.places, self.names, strict=True):
            wanted[name] = list(table[place * size : (place + 1) * size])
        if all(row["model"] == name for name, rows in wanted.items() for row in rows):
            return wanted
        wanted = {name: [] for name in self.names}
        for row in table:
            if str(row["model"]) in wanted:
                wanted[str(row["model"])].append(row)
        return wanted

    def table(
        self, name: str, title: str, columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None, **more: Any,
    ) -> Shown:  # fmt: skip
        """Show the models' rows of a table, or other rows of it."""
        rows = self.rows if rows is None else rows
        # how many models are not among the best, whatever of them is shown
        left = len(self.result.tables["models"]) - len(self.rows)
        total = {"total": len(rows) + left} if name in PER_MODEL else {}
        whole = {"more": "--format csv"} if name == "models" else {}
        return Shown(name, title, columns, rows, split=True, **{**whole, **total, **more})


PER_MODEL = ("models", "ranks", "weights", "desirability", "compared")


def ends(limits: object) -> str:
    """Write a range as `-1..1`."""
    if not isinstance(limits, (list, tuple)):
        return ""
    return "..".join(f"{end:g}" for end in limits)


def rays(result: Result) -> list[str]:
    """Return the metrics of the polygon in their order."""
    return list(result.parameters["metrics"])


def estimate(row: Row, column: str) -> float | None:
    """Return the value of a column; None where there is none."""
    return value_of(row.get(column))


def _column(table: Rows, name: str) -> Iterable[Cell]:
    """Return a column, without making the rows where it is at hand."""
    columns = table.columns if isinstance(table, LazyRows) else {}
    return columns[name] if name in columns else (row[name] for row in table)


def _order(rank: Cell) -> float:
    return inf if rank is None else float(str(rank))
