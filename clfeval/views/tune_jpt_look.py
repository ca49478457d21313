"""How tables about populations are laid out: odds beside prevalence, measures by their titles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from clfeval.measures.catalog import CATALOG
from clfeval.result import Cell, Result, Row
from clfeval.views.rows import ABSENT, DIGITS, Section, Write, close, exact, section, title_of

LISTED = 60  # rows of a table shown to a person; files get them all
FEW = 4  # names of models in one cell
PLACE = "positives:\nnegatives\n(prevalence)"
AT_ODDS = "positives:\nnegatives"

Column = str | Callable[[Row], Cell]  # a column of the table, or how to make one


@dataclass(frozen=True, slots=True)
class Look:
    """What all tables of one result share: digits, level, slices, the weight of recall in F."""

    digits: int
    level: float
    sliced: bool
    beta: float

    @classmethod
    def of(cls, result: Result, digits: int = DIGITS) -> Look:
        """Read it from the result."""
        sliced = any(row["slice"] is not None for row in result.tables["models"])
        beta = result.parameters.get("beta")
        return cls(digits, result.parameters["level"], sliced, 1.0 if beta is None else beta)

    def title(self, measure: str) -> str:
        """Name a measure in a sentence or a cell."""
        return title_of(measure, self.beta).split(" (")[0]

    def heading(self, measure: str) -> str:
        """Name a measure on top of its column, with an arrow towards better."""
        return f"{self.title(measure)} {CATALOG[measure].arrow}"

    def who(self, *, model: bool = True) -> dict[str, Column]:
        """Return the columns that say whose row it is."""
        slices: dict[str, Column] = {"slice": lambda row: row["slice"] or "(all)"}
        return {**(slices if self.sliced else {}), **({"model": "model"} if model else {})}

    def measures(self, measures: Sequence[str]) -> dict[str, Column]:
        """Return the columns of measures."""
        return {self.heading(name): name for name in measures}

    def table(
        self,
        title: str,
        rows: Sequence[Row],
        columns: Mapping[str, Column],
        name: str,
        *,
        note: str = "",
        right: Sequence[str] = (),
        write: Write = close,
    ) -> Section:
        """Lay out the first rows of table `name`; headings in `right` stand at the right edge.

        Columns of one heading differ by blanks around it.
        """
        shown = [
            {head: row.get(made) if isinstance(made, str) else made(row)
             for head, made in columns.items()}
            for row in rows[:LISTED]
        ]  # fmt: skip
        if len(rows) > LISTED:
            note = "; ".join(part for part in (f"all of them: {more(name)}", note) if part)
        part = section(
            title, shown, list(columns), digits=self.digits, level=self.level, total=len(rows),
            note=note, write=write, split=True,
        )  # fmt: skip
        pairs = zip(part.headings, part.numeric, strict=True)
        numeric = tuple(head in right or number for head, number in pairs)
        return replace(part, headings=tuple(map(str.strip, part.headings)), numeric=numeric)


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


def amount(number: float, digits: int) -> str:
    """Write an expected number of rows, with as many digits as tell something."""
    size = len(f"{number:.0f}") if number >= 1 else 0
    if not number:
        return "0"
    if not size:
        return f"{number:#.{max(1, digits)}g}" if number >= 1e-4 else f"{number:.{digits}g}"
    return f"{number:,.{max(1 if size < 4 else 0, digits - size)}f}"


def listed(names: Sequence[str]) -> str:
    """Name some models, and count the rest."""
    left = len(names) - FEW
    return ", ".join(names[:FEW]) + (f" and {left} more" if left > 0 else "")
