"""How tables about populations are laid out: odds beside prevalence, measures by their titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clfeval.measures.catalog import CATALOG
from clfeval.pages.write import ABSENT, close, exact, title_of
from clfeval.result import Result, Row
from clfeval.schema import Shown, Source

FEW = 4  # names of models in one cell
PLACE = "positives:\nnegatives\n(prevalence)"
AT_ODDS = "positives:\nnegatives"


@dataclass(frozen=True, slots=True)
class Look:
    """A result, with what all its tables share."""

    result: Result

    def title(self, measure: str) -> str:
        """Name a measure in a sentence or a cell."""
        beta = self.result.parameters.get("beta")
        return title_of(measure, 1.0 if beta is None else beta).split(" (")[0]

    def who(self, *, model: bool = True) -> dict[str, Source]:
        """Return the columns that say whose row it is."""
        sliced = any(row["slice"] is not None for row in self.result.tables["models"])
        return {**({"slice": "slice"} if sliced else {}), **({"model": "model"} if model else {})}

    @property
    def named(self) -> dict[str, Source]:
        """Return the column that says of which measure a row is."""
        return {"measure": lambda row: self.title(str(row["measure"]))}

    def measures(self, measures: Sequence[str]) -> dict[str, Source]:
        """Return the columns of measures."""
        return {f"{self.title(name)} {CATALOG[name].arrow}": name for name in measures}

    def table(
        self, name: str, title: str, columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None, **more: Any,
    ) -> Shown:  # fmt: skip
        """Show rows of a table, with more digits where they are close to 0 or 1."""
        return Shown(name, title, columns, rows, split=True, **{"write": close, **more})

    def swept(self, table: str) -> list[Row]:
        """Return the rows of a table that are of swept odds."""
        rows = self.result.tables.get(table, ())
        return [row for row in rows if row["population"] == "sweep"]


def more(name: str) -> str:
    """Say how to get a whole table."""
    return f"--format csv --table {name}"


def place(row: Row) -> str:
    """Write a row's population: its odds and its prevalence, and whether it is the sample's."""
    kind = "sample " if row.get("population") == "sample" else ""
    return f"{kind}{odds_of(row)} ({exact(row['prevalence'])})"


def odds_of(row: Row) -> str:
    """Write the odds; a sample without one of the classes has none."""
    return ABSENT if row["odds"] is None else str(row["odds"])


def several(names: Sequence[str]) -> str:
    """Name some models, and count the rest."""
    left = len(names) - FEW
    return ", ".join(names[:FEW]) + (f" and {left} more" if left > 0 else "")
