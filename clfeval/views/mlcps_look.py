"""What all tables of a ranking share: the best models first, bars of blocks, lists of names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import islice
from math import inf

from clfeval.result import Cell, LazyRows, Result, Row, Table
from clfeval.views.rows import DIGITS, Section, Write, heading, number, section, value_of

BEST = 20  # models shown to a person; files get them all
LISTED = 60  # rows of tables of metrics
NAMED = 4  # names in one sentence or cell
WIDE = 12  # columns of a bar
EIGHTHS = "▏▎▍▌▋▊▉"
TRACK = "·"
ARROWS = {"max": "↑", "min": "↓"}

Column = str | Callable[[Row], Cell]  # a column of the table, or how to make one


@dataclass(frozen=True, slots=True)
class Best:
    """The best models of a result: their places in its tables and their rows."""

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
        return cls(tuple(places), tuple(table[i] for i in places))

    def few(self, most: int) -> Best:
        """Return the best of the best."""
        return Best(self.places[:most], self.rows[:most])

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(str(row["model"]) for row in self.rows)

    def in_table(self, table: Table) -> list[Row]:
        """Return their rows of a table of one row for each model; some may have none there."""
        here = [table[i] if i < len(table) else {} for i in self.places]
        if all(row.get("model") == name for row, name in zip(here, self.names, strict=True)):
            return here
        found = {str(row["model"]): row for row in table}
        return [found[name] for name in self.names if name in found]

    def blocks(self, table: Table) -> dict[str, list[Row]]:
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


@dataclass(frozen=True, slots=True)
class Look:
    """How the tables of one result are written: digits, level, its best models."""

    result: Result
    best: Best
    digits: int = DIGITS

    def table(
        self,
        title: str,
        rows: Sequence[Row],
        columns: Mapping[str, Column],
        *,
        note: str = "",
        left_out: str = "",
        right: Sequence[str] = (),
        write: Write = number,
    ) -> Section:
        """Lay out rows under the headings given; those in `right` stand at the right edge.

        Columns of one heading differ by blanks around it. `left_out` says what of the table is not
        shown, and how to get it.
        """
        shown = [
            {head: row.get(made) if isinstance(made, str) else made(row)
             for head, made in columns.items()}
            for row in rows
        ]  # fmt: skip
        note = "; ".join(part for part in (left_out, note) if part)
        part = section(
            title, shown, list(columns), digits=self.digits, note=note, write=write, split=True,
            level=self.result.parameters["level"],
        )  # fmt: skip
        heads = _as_given(part.headings, columns)
        pairs = zip(heads, part.numeric, strict=True)
        numeric = tuple(head in right or is_number for head, is_number in pairs)
        return replace(part, headings=tuple(map(str.strip, heads)), numeric=numeric)

    def rest(self, table: str) -> str:
        """Say how many models are not shown and how to get the table with all of them."""
        left = len(self.result.tables["models"]) - len(self.best.rows)
        which = "" if table == "models" else f" --table {table}"
        return f"{many(left, 'more row')}; all of them: --format csv{which}" if left else ""


def bar(share: float | None, wide: int = WIDE) -> str:
    """Draw 0..1 as blocks on a dotted track; full only for 1, empty only for 0."""
    if share is None:
        return ""
    steps = 8 * wide
    filled = min(max(round(share * steps), 0), steps)
    if 0 < share < 1:
        filled = min(max(filled, 1), steps - 1)
    whole, eighths = divmod(filled, 8)
    text = "█" * whole + (EIGHTHS[eighths - 1] if eighths else "")
    return text + TRACK * (wide - len(text))


def named(names: Sequence[str], *, most: int = NAMED, word: str = "and") -> str:
    """List names in a sentence, and count what is beyond the first few."""
    left = len(names) - most
    *others, last = [*names[:most], f"{left:,} more"] if left > 0 else names
    return f"{', '.join(others)} {word} {last}" if others else last


def many(count: int, thing: str) -> str:
    """Write a number of things: `1 model`, `1,000 models`."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def ends(limits: object) -> str:
    """Write a range as `-1..1`."""
    if not isinstance(limits, (list, tuple)):
        return ""
    return "..".join(f"{end:g}" for end in limits)


def rays(result: Result) -> list[str]:
    """Return the metrics of the polygon in their order."""
    return list(result.parameters["metrics"])


def _as_given(headings: Sequence[str], columns: Iterable[str]) -> list[str]:
    """Undo what was made of the names of columns: names of metrics stay as they are."""
    left = list(columns)
    return [left.pop(0) if left and head == heading(left[0]) else head for head in headings]


def _column(table: Table, name: str) -> Iterable[Cell]:
    """Return a column, without making the rows where it is at hand."""
    columns = table.columns if isinstance(table, LazyRows) else {}
    return columns[name] if name in columns else (row[name] for row in table)


def _order(rank: Cell) -> float:
    return inf if rank is None else float(str(rank))


def estimate(row: Row, column: str) -> float | None:
    """Return the value of a column; None where there is none."""
    return value_of(row.get(column))
