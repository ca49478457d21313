"""The context that all tables of tune-jpt share: measures, populations, and their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clfeval.document import Cell, Document, Estimate, Row, comparable_rows
from clfeval.document.rows import RowsBySlice, rows_where
from clfeval.formatting import format_class_ratio, format_close, format_share, quoted_name
from clfeval.measures.catalog import CATALOG
from clfeval.pages.formatting import ABSENT, column_title, format_exact
from clfeval.pages.schema import Source, TableView
from clfeval.records import dataclass

FEW = 4  # names of models in one cell
PLACE = "positives:\nnegatives\n(prevalence)"
AT_ODDS = "positives:\nnegatives"
LATER = ("tor", "f_odds")  # after EPA and its two terms
MAX_ROWS = 20  # rows of requested tables
MAIN = ("ppv", "npv", "sensitivity", "specificity")
SWEPT = 7  # odds of a sweep on a screen
OPEN = "…"  # a confidence limit beyond the swept odds
EXPLAINED = ("tar", "ppv", "npv", "ic", "epa", "tor", "lr_pos", "lr_neg", "dor", "dp")


@dataclass(frozen=True, slots=True)
class TableContext:
    """A result, with the context that all its tables share."""

    result: Document

    def title(self, measure: str) -> str:
        """Return the name of a measure for a sentence or a cell."""
        beta = self.result.parameters.get("beta")
        return column_title(measure, 1.0 if beta is None else beta).split(" (")[0]

    @property
    def available_measures(self) -> list[str]:
        """The measures that the result has."""
        rows = self.result.tables["models"]
        return [name for name, cell in rows[0].items() if isinstance(cell, Estimate)]

    @property
    def compared(self) -> str:
        """The measure by which models are, or would be, compared."""
        wanted = self.result.parameters.get("compared_by")
        return self.lead if wanted is None else str(wanted)

    @property
    def lead(self) -> str:
        """The measure that sorts models: the one compared, else the first that is not constant."""
        wanted = str(self.result.parameters.get("compared_by"))
        moving = [name for name in self.available_measures if not CATALOG[name].invariant]
        first = [name for name in (wanted, "expected_cost") if name in self.available_measures]
        better = [
            n for n in (*first, *moving, *self.available_measures) if CATALOG[n].best != "zero"
        ]
        return better[0] if better else ""

    @property
    def requested_measures(self) -> list[str]:
        """The requested measures with TAR, and cost and benefit."""
        asked = self.result.parameters.get("measure") or ()
        asked = ("tar", *asked) if asked else ()
        return [n for n in self.available_measures if n in asked or "stakes" in CATALOG[n].takes]

    @property
    def has_intervals(self) -> bool:
        """Whether differences of models have intervals."""
        return has_sample(self.result) and self.result.parameters.get("interval") != "none"

    @property
    def sliced(self) -> bool:
        """Whether there are slices."""
        return any(row["slice"] is not None for row in self.result.tables["models"])

    @property
    def contests(self) -> dict[Cell, Row]:
        """The row of `winners` of the whole table by odds, at the odds all models share."""
        rows = self.result.tables.get("winners", ())
        ordered = sorted(rows, key=lambda row: row["population"] != "sweep")
        odds = {row["odds"] for row in comparable_rows(self.result.tables["models"])}
        return {row["odds"]: row for row in ordered if row["slice"] is None and row["odds"] in odds}

    def where(self, row: Row) -> str:
        """Return the prevalence of a row for a title."""
        share = format_prevalence(row["prevalence"])
        if row["population"] == "sample":
            return f"at the prevalence of these rows ({share})"
        return f"at prevalence {share} ({format_odds(row)})"

    def who(self, *, model: bool = True) -> dict[str, Source]:
        """Return the columns of slice and model."""
        return {name: name for name in ("slice",) * self.sliced + ("model",) * model}

    @property
    def measure_column(self) -> dict[str, Source]:
        """Return the column of the measure."""
        return {"measure": lambda row: self.title(str(row["measure"]))}

    def measures(self, measures: Sequence[str], **heads: str) -> dict[str, Source]:
        """Return the columns of those measures that the result has; heads: short headings."""
        known = self.available_measures
        there = (name for name in measures if name in known)
        return {heads.get(n, f"{self.title(n)} {CATALOG[n].arrow}"): n for n in there}

    def table(
        self, table: str, title: str, columns: Mapping[str, Source],
        rows: Sequence[Row] | None = None, **more: Any,
    ) -> TableView:  # fmt: skip
        """Return a view of rows of a table, with more digits where they are close to 0 or 1."""
        return TableView(table, title, columns, rows, **{"write": format_close, **more})

    def swept(self, table: str) -> Sequence[Row]:
        """Return the rows of a table that are of swept odds: they are of no slice."""
        rows = self.result.tables.get(table, ())
        rows = rows.first if isinstance(rows, RowsBySlice) else rows
        return rows_where(rows, "population", "sweep")


def format_population(row: Row) -> str:
    """Return a row's population as text: odds, prevalence, and whether it is the sample's."""
    kind = "sample " if row.get("population") == "sample" else ""
    return f"{kind}{format_odds(row)} ({format_prevalence(row['prevalence'])})"


def format_odds(row: Row) -> str:
    """Return the odds as text; a sample without one of the classes has none."""
    return ABSENT if row["odds"] is None else format_class_ratio(row["odds"])


def format_prevalence(share: Cell) -> str:
    """Return a prevalence as text, with three digits or as it was given."""
    return format_share(share) if isinstance(share, float) else format_exact(share)


def format_some_names(names: Sequence[str]) -> str:
    """Return the names of some models, and the number of the rest."""
    left = len(names) - FEW
    return ", ".join(map(quoted_name, names[:FEW])) + (f" and {left} more" if left > 0 else "")


def has_sample(result: Document) -> bool:
    """Return whether rows were counted, so that there is a sample."""
    return any(row["population"] == "sample" for row in result.tables["models"])
