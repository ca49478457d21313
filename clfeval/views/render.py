"""Tables for people: what a page shows, laid out as headings and cells of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from clfeval.pages import page_of
from clfeval.pages.write import (
    ABSENT,
    DIGITS,
    INFINITE,
    REASONS,
    exact,
    heading,
    interval,
    number,
    show,
    title_of,
)
from clfeval.result import Estimate, Gate, Result, Row
from clfeval.schema import Column, Shown, Source

GATES = 50  # gates shown one by one
MANY = 3  # measures undefined for one reason that are named together
INTERVAL = "% interval"
EXPLAINED = 1000  # rows of a table looked through for undefined cells
EXACT = ("cut", "p", "prevalence")  # kinds of numbers written with all digits that count


@dataclass(frozen=True, slots=True)
class Strip:
    """One column as shown: its heading, its cells as text, and whether they are numbers."""

    heading: str
    cells: tuple[str, ...]
    numeric: bool


@dataclass(frozen=True, slots=True)
class Section:
    """One table as shown, with a closing note.

    A table that may be split has its columns put in blocks, rather than lose its intervals, where
    the screen is narrow.
    """

    title: str
    strips: tuple[Strip, ...]
    note: str = ""
    split: bool = False

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings side by side."""
        return tuple(strip.heading for strip in self.strips)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The cells row by row."""
        return tuple(zip(*(strip.cells for strip in self.strips), strict=True))


def headline(result: Result) -> list[str]:
    """Return the lines on top: what was read and what the measures mean here."""
    return page_of(result.command).headline(result)


def sections(result: Result, *, digits: int = DIGITS) -> list[Section]:
    """Return the tables in reading order."""
    return [section(one, result, digits) for one in page_of(result.command).shown(result, digits)]


def section(shown: Shown, result: Result, digits: int = DIGITS) -> Section:
    """Lay out the columns that are shown; an estimate with intervals takes a second column."""
    page = page_of(result.command)
    declared = {column.name: column for column in page.table(shown.table).columns}
    every = result.tables.get(shown.table, ()) if shown.rows is None else shown.rows
    rows = every[: shown.most]
    write = shown.write or number
    strips: list[Strip] = []
    for head, source in _columns(shown, declared, rows):
        values = [row.get(source) if isinstance(source, str) else source(row) for row in rows]
        if source == "slice":
            values = [value or page.whole for value in values]
        column = declared.get(source) if isinstance(source, str) else None
        to_the_digit = column is not None and column.kind.rstrip("?") in EXACT
        texts = tuple(exact(v) if to_the_digit else show(v, digits, write) for v in values)
        numeric = head in shown.right or not any(isinstance(v, (str, list)) for v in values)
        strips.append(Strip(head.strip(), texts, numeric))
        intervals = tuple(interval(value, digits, write) for value in values)
        if any(intervals):
            between = shown.between or f"{result.parameters['level'] * 100:g} {INTERVAL}"
            strips.append(Strip(between, intervals, numeric=True))
    notes, left = [], (len(every) if shown.total is None else shown.total) - len(rows)
    if left > 0:
        more = f"--format csv --table {shown.table}" if shown.more is None else shown.more
        notes = [f"{left:,} more row{'s' * (left > 1)}", f"all of them: {more}" if more else ""]
    note = "; ".join(filter(None, (*notes, shown.note)))
    return Section(shown.title, tuple(strips), note, shown.split)


def _columns(
    shown: Shown, declared: dict[str, Column], rows: Sequence[Row]
) -> list[tuple[str, Source]]:
    if not isinstance(shown.columns, str):
        return list(shown.columns.items())
    names = (
        name.removesuffix("?")
        for name in shown.columns.split()
        if not name.endswith("?") or any(row.get(name[:-1]) is not None for row in rows)
    )
    return [(heading(declared.get(name, name)), name) for name in names]


def gate_lines(result: Result) -> tuple[list[Gate], str]:
    """Return the gates to show, all if they are few, else the first missed; and what was left."""
    if len(result.gates) <= GATES:
        return list(result.gates), ""
    missed = [gate for gate in result.gates if not gate.passed]
    shown = missed[:GATES]
    left = len(missed) - len(shown)
    met = len(result.gates) - len(missed)
    more = f"{left:,} more missed, " if left else ""
    return shown, f"{more}{met:,} gates met; all of them: --format json"


def reasons(result: Result) -> list[str]:
    """Explain the dashes in words: which measures are undefined and why, each once."""
    struck: dict[str, dict[str, None]] = {}
    beta, page = result.parameters.get("beta"), page_of(result.command)
    for name in ("models", "pairs", "ranges", "agreement", "thresholds"):
        known = {*INFINITE, *struck}  # a reason said of the first is not said again of the others
        here = (row for row in result.tables.get(name, ()) if row.get("population") != "sweep")
        for row in islice(here, EXPLAINED):
            for column, cell in row.items():
                reason = cell.reason if isinstance(cell, Estimate) else None
                if reason and reason not in known:
                    title = title_of(column, beta, page.column(column, name))
                    struck.setdefault(reason, {})[title] = None
    said = []
    for reason, titles in struck.items():
        words = REASONS.get(reason, reason.replace("_", " "))
        *names, last = titles
        if len(titles) < MANY:
            said += [f"{ABSENT} {title} is undefined: {words}" for title in titles]
        else:
            said.append(f"{ABSENT} {', '.join(names)} and {last} are undefined: {words}")
    return said
