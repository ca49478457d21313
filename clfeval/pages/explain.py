"""Explanations of headings, measures and codes, from glossaries, catalogue and codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import inf

from clfeval.measures.catalog import CATALOG, equivalent_names, find_measure, match_measure
from clfeval.measures.record import Measure
from clfeval.pages.codes import ANSWERS, ERRORS, GATES, WARNINGS
from clfeval.pages.formatting import REASONS, column_heading
from clfeval.pages.shared_columns import SHARED
from clfeval.pages.show_names import name_meanings
from clfeval.schema import Page

ALL = "all"
ANY = "…"  # at the end of a heading: whatever name follows
CODES: Mapping[str, Mapping[str, str]] = {
    "an error": ERRORS, "a warning": WARNINGS, "an answer": ANSWERS, "an undefined value": REASONS,
    "a gate": GATES,
}  # fmt: skip
BETTER = {
    "max": "higher is better",
    "min": "lower is better",
    "zero": "nearer to 0 is better",
    "one": "nearer to 1 is better",
    "none": "neither high nor low is better",
}
_ARROW = re.compile(r" ?(?:↑|↓|→ ?[01])$")
_LEVEL = re.compile(r"^\d+(?:\.\d+)?% ?")  # before what an interval's column is called
_BETA = re.compile(r"^F[\d.]+(?= odds$|$)", re.IGNORECASE)
_INTERVAL_WORD = "interval"  # the one of the shared words that is no column


@dataclass(frozen=True, slots=True)
class Term:
    """An explained term: a column with the tables that have it, or another word on screens."""

    name: str
    heading: str
    meaning: str
    tables: tuple[str, ...] = ()
    measure: Measure | None = None

    @property
    def called(self) -> str:
        """Its name, with its heading where that differs."""
        there, name = heading_on_one_line(self.heading), self.name
        same = there.replace("-", "_").casefold() == name.casefold()
        return name if same or there == name.replace("_", " ") else f"{name} ({there})"

    @property
    def short(self) -> str:
        """Its meaning in one sentence; for a measure without one its formula."""
        return self.meaning or (self.measure.formula if self.measure else "")

    def lines(self, *, known: bool = False) -> Iterator[str]:
        """Yield the full explanation; known: without the lines on its measure."""
        if self.meaning:
            yield self.meaning
        if self.measure is not None and not known:
            yield from _measure_lines(self.measure)
        if self.tables:
            yield f"in {'table' if len(self.tables) == 1 else 'tables'} {', '.join(self.tables)}"


def heading_on_one_line(head: str) -> str:
    """Return a heading on one line, without its arrow."""
    joined = " ".join(re.sub(r"-\s*\n\s*", "-", head).split())
    return _LEVEL.sub("", _ARROW.sub("", joined))


def page_terms(page: Page) -> list[Term]:
    """Return columns of a page's tables, headings made for its screens, and names of --show."""
    places: dict[tuple[str, str, str], list[str]] = {}
    columns: set[str] = set()
    for one in page.every:
        for column in one.columns:
            key = (column.name, column_heading(column), page.meaning(column.name, one.name))
            places.setdefault(key, []).append(one.name)
            columns.add(column.name)
    found = []
    for (name, head, meaning), where in places.items():
        declared, measure = page.column(name, where[0]), CATALOG.get(name)
        if declared is None or declared.kind == "rank" or (measure and measure.best == "none"):
            measure = None  # ranks and settings
        found.append(Term(name, head, meaning, tuple(where), measure))
    for entry, meaning in page.glossary.items():
        table, _, name = entry.rpartition(".")
        known = {column.name for column in page.table(table).columns} if table else columns
        if name not in known and (entry not in SHARED or entry == _INTERVAL_WORD):
            found.append(Term(name, name, meaning, (table,) if table else ()))
    return found + [Term(name, name, text) for name, text in name_meanings(page.command).items()]


def find_terms(page: Page, asked: str) -> list[Term]:
    """Return the terms with a name on a page, as written or in any case; else the measure."""
    every, name = page_terms(page), heading_on_one_line(asked)
    loose = [term for term in every if _name_fits(page, term, name, str.casefold)]
    strict = {term.name for term in loose if _name_fits(page, term, name, str)}
    found = [term for term in loose if not strict or term.name in strict]
    code = name if strict else name.casefold()
    found += [Term(code, code, f"code of {what}: {table[code]}")
              for what, table in CODES.items() if code in table]  # fmt: skip
    if found:
        measure = None if any(term.measure for term in found) else CATALOG.get(name)
        return found + ([Term(name, measure.title, "", (), measure)] if measure else [])
    for spelling in (name, _BETA.sub("F", name)):
        here = [term for term in every if term.measure is not None]
        mine = match_measure(spelling, list(dict.fromkeys(term.name for term in here)))
        if mine is not None:
            return [term for term in here if term.name == mine]
        if (measure := find_measure(spelling)) is not None:
            return [Term(measure.id, measure.title, "", (), measure)]
    return []


def explainable_names(page: Page) -> list[str]:
    """Return all names that can be explained, each once, for suggestions and completion."""
    names = chain.from_iterable(_term_names(page, term) for term in page_terms(page))
    every = chain((ALL,), (n for n in names if not n.endswith(ANY)), *CODES.values(), CATALOG)
    return list(dict.fromkeys(every))


def explain_page(page: Page) -> Iterator[tuple[str, list[str]]]:
    """Yield the explanations of a page: columns by table, other words, measures, codes."""
    every = page_terms(page)
    for table in page.every:
        here = [term for term in every if table.name in term.tables]
        first = [term for term in here if term.tables[0] == table.name]
        above = [term.name for term in here if term.tables[0] != table.name]
        lines = [f"{term.called}: {term.short}" for term in first]
        if above:
            lines.append(f"as above: {', '.join(above)}")
        yield f"table {table.name}", lines
    made = [term for term in every if not term.tables]
    yield "other words on screens", [f"{term.called}: {term.short}" for term in made]
    measures = {term.name: term.measure for term in every if term.measure is not None}
    for name, measure in measures.items():
        yield f"measure {name} ({measure.title})", list(_measure_lines(measure))
    for what, codes in CODES.items():
        yield f"codes of {what}", [f"{code}: {sentence}" for code, sentence in codes.items()]


def _term_names(page: Page, term: Term) -> Iterator[str]:
    """Yield the names of a term in files and on screens."""
    yield term.name
    yield heading_on_one_line(term.heading)
    keys = {term.name, *(f"{table}.{term.name}" for table in term.tables)}
    yield from (head for head, key in page.headings.items() if key in keys)
    if term.name == _INTERVAL_WORD:
        yield "CI"


def _name_fits(page: Page, term: Term, name: str, fold: Callable[[str], str]) -> bool:
    """Return whether a name is one of a term's, or starts as its heading that ends in any name."""
    wanted, heads = fold(name), map(fold, _term_names(page, term))
    return any(
        head == wanted or (head.endswith(ANY) and wanted.startswith(head[: -len(ANY)]))
        for head in heads
    )


def _measure_lines(measure: Measure) -> Iterator[str]:
    """Yield formula, range, direction, other names, when it is undefined, and source."""
    yield f"formula: {measure.formula}"
    low, high = _format_end(measure.low), _format_end(measure.high)
    yield f"range: {low} to {high}; {BETTER[measure.best]}"
    if measure.invariant:
        yield "independent of the class ratio"
    others = [name for name in equivalent_names(measure.id) if name != measure.id]
    if others:
        yield f"also called: {', '.join(others)}"
    whys = [REASONS.get(reason, reason.replace("_", " ")) for reason in measure.undefined]
    yield f"undefined if: {'; '.join(whys)}"
    if measure.caveat:
        yield f"note: {measure.caveat}"
    yield f"source: {measure.source}"


def _format_end(limit: float) -> str:
    return f"{'-' * (limit < 0)}∞" if abs(limit) == inf else f"{limit:.4g}"
