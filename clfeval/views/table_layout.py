"""Tables of a page, laid out as headings and cells of text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import get_args

from clfeval import COMMANDS
from clfeval.document import Cell, Document, Estimate, Gate, GateState, Row
from clfeval.errors import UsageError, list_names
from clfeval.formatting import DIGITS, format_count, format_number, join_names, join_words
from clfeval.methods.command_lookup import command_of
from clfeval.options.syntax import PYTHON, fill_text
from clfeval.pages import schema
from clfeval.pages import table_parts as parts
from clfeval.pages.chart import Rank
from clfeval.pages.command_pages import page_of
from clfeval.placeholders import ADD, END, OPTION, fill_for_shell
from clfeval.records import dataclass, replace

GATES = 50  # gates shown one by one
FEW = 4  # models from which on they are not named
INTERVAL = "% CI"
EXPLAINED = 1000  # rows of a table looked through for undefined cells
EXACT = ("cut", "p", "prevalence")  # kinds of numbers written with all digits that count
BEST, EQUAL = "*", "≈"
SIGNS = {BEST: "best", EQUAL: "not significantly different from it"}
GATE_SIGNS: Mapping[GateState, str] = {
    "met": "✅",
    "missed": "❌",
    "undefined": "❌",
    "warned": "⚠️",
    "skipped": "⏭️",
}
RANKS = get_args(Rank)
EVERYWHERE = {schema.ALL, schema.INTERVALS}  # names that apply to the tables of every command


@dataclass(frozen=True, slots=True)
class TextColumn:
    """One column as shown: its heading, its cells as text, and whether they are numbers."""

    heading: str
    cells: tuple[str, ...]
    numeric: bool
    words: str = ""  # what the column means
    cut: bool = False  # a threshold, which a row is about

    @property
    def name(self) -> str:
        """The heading on one line, without that of intervals under their values."""
        lines = self.heading.split("\n")
        return " ".join(line for line in lines if not line.endswith(INTERVAL))


@dataclass(frozen=True, slots=True)
class TextTable:
    """One table as shown, with a closing note.

    main: one line per row. kept: columns never left out. signs: marks of rows. taken: the
    independence that its intervals assume.
    """

    title: str
    strips: tuple[TextColumn, ...]
    note: str = ""
    main: bool = False
    kept: int = 0
    signs: tuple[str, ...] = ()
    taken: str = ""

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of all columns."""
        return tuple(strip.heading for strip in self.strips)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The cells row by row."""
        return tuple(zip(*(strip.cells for strip in self.strips), strict=True))

    @property
    def legend(self) -> list[str]:
        """The meanings of its columns and signs."""
        signs = [f"{sign} {words}" for sign, words in SIGNS.items() if sign in self.signs]
        first = "; ".join(filter(None, (", ".join(signs), self.taken)))
        said = [first] if first else []
        heads = {strip.name: strip.words for strip in self.strips}
        return said + [f"{head}: {words}" for head, words in heads.items() if words]


@dataclass(frozen=True, slots=True)
class PageTables:
    """The open and the folded tables of a page; wide: with the intervals of all open estimates."""

    opened: tuple[schema.TableView, ...]
    folded: tuple[schema.TableView, ...]
    wide: bool


def result_headline(result: Document) -> list[str]:
    """Return the headline of a result, in the words of the shell or of Python."""
    return [fill_for_caller(result, line) for line in page_of(result.command).headline(result)]


def fill_for_caller(result: Document, text: str) -> str:
    """Return a text of a page with options in the words of the caller, a shell or Python."""
    if not result.python or result.command not in COMMANDS:
        return fill_for_shell(text)
    return fill_text(text, command_of(result.command).options(), PYTHON)


def sort_tables(result: Document, names: Collection[str] = (), digits: int = DIGITS) -> PageTables:
    """Return the tables sorted: those requested by option or name, the main one, details."""
    page, wide = page_of(result.command), not EVERYWHERE.isdisjoint(names)
    all_of_them = not {schema.BASELINE, schema.ALL}.isdisjoint(names)
    shown = [*baseline_tables(result, every=all_of_them), *page.shown(result, digits)]
    there = {one.name or one.table for one in shown}
    # tables for which the page has no view, with all their columns
    shown += [
        schema.TableView(name, name, " ".join(next(iter(result.tables[name]), ())))
        for name in names
        if name in {*result.tables} - there
    ]
    every = [
        replace(one, rank="asked") if (one.name or one.table) in names else one for one in shown
    ]
    every.sort(key=lambda one: RANKS.index(one.rank))
    opened = [one for one in every if one.rank != "detail" or schema.ALL in names]
    return PageTables(tuple(opened), tuple(every[len(opened) :]), wide)


def more_table_names(result: Document, page: PageTables, names: Collection[str]) -> list[str]:
    """Return the names of further tables that can be requested."""
    if schema.ALL in names:
        return []
    folded = (one.name or one.table for one in page.folded)
    return [*dict.fromkeys((*folded, *(one for one in _group_names(result) if one not in names)))]


def check_available(result: Document, names: Collection[str]) -> None:
    """Raise UsageError for names of which this result has nothing, though another may."""
    if {*names} <= {*result.tables, schema.ALL}:
        return
    page = page_of(result.command)
    there = {*result.tables, *_group_names(result), *_plot_names(result), schema.ALL}
    shown = (*baseline_tables(result, every=True), *page.shown(result, DIGITS))
    there |= {one.name or one.table for one in shown}
    for name in names:
        if name not in there and name in page.pictures:
            hint = f"{ADD} {OPTION}--save {name}.svg{END}"
            raise UsageError.new(f"'{name}' is a picture for a file", "unknown-table", hint=hint)
        if name not in there:
            what = f"no '{name}' in this result; there are {list_names(sorted(there), 40)}"
            option = page.table(name).when.removesuffix("?")
            hint = "some need an option"
            if option.isidentifier():
                hint = f"it needs {OPTION}--{option.replace('_', '-')}{END}"
            raise UsageError.new(what, "unknown-table", hint=hint)


def _group_names(result: Document) -> Iterator[str]:
    """Yield the names of groups that this result has: intervals, plots."""
    first = next(iter(result.tables.values()), ())
    if any(parts.format_interval(cell) for row in first[:1] for cell in row.values()):
        yield schema.INTERVALS
    if any(_plot_names(result)):
        yield schema.PLOTS


def _plot_names(result: Document) -> Iterator[str]:
    """Yield the names of the plots of this result; the diamond, not a chart, is always one."""
    page = page_of(result.command)
    yield from (chart.name for chart in page.charts(result))
    yield from page.plots if page.command == "phidelta" else ()


def layout_table(
    shown: schema.TableView, result: Document, digits: int = DIGITS, *, wide: bool = True
) -> TextTable:
    """Return the laid out columns of a table, with intervals, if `wide` of all estimates."""
    page = page_of(result.command)
    declared = {column.name: column for column in page.table(shown.table).columns}
    every = result.tables.get(shown.table, ()) if shown.rows is None else shown.rows
    rows = every[: shown.most]
    write = shown.write or format_number
    signs = _row_signs(shown, result, rows)
    strips: list[TextColumn] = []
    meanings = {name: page.meaning(name, shown.table) for name in shown.legend} | dict(shown.words)
    kept = 0
    for head, source in _shown_columns(shown, declared, rows):
        values = [row.get(source) if isinstance(source, str) else source(row) for row in rows]
        if source == "slice":
            values = [value or page.whole for value in values]
        column = declared.get(source) if isinstance(source, str) else None
        if column is not None and column.kind.rstrip("?") in EXACT:
            texts = tuple(map(parts.format_exact, values))
        else:
            texts = tuple(parts.format_cell(value, digits, write) for value in values)
        numeric = head in shown.right or not any(isinstance(v, (str, list)) for v in values)
        at_cut = column is not None and column.kind == "cut"
        strip = TextColumn(head.strip(), texts, numeric, cut=at_cut)
        words = meanings.get(source if isinstance(source, str) else strip.name, "")
        strips.append(replace(strip, words=fill_for_caller(result, words)))
        if len(strips) == 1 and signs:
            strips.append(TextColumn("", signs, numeric=False))
        intervals = tuple(parts.format_interval(value, digits, write) for value in values)
        if any(intervals) and (wide or shown.lead in ("", source)):
            between = shown.between or f"{result.parameters['level'] * 100:g}{INTERVAL}"
            strips.append(TextColumn(between, intervals, numeric=True))
        if source == shown.lead or shown.whole:
            kept = len(strips)
    notes, left = [], (len(every) if shown.total is None else shown.total) - len(rows)
    if left > 0:
        more = (
            f"{OPTION}--format csv --show {shown.table}{END}" if shown.more is None else shown.more
        )
        request = f": {ADD} {more}" if more else " not shown"
        notes = [f"{format_count(left, 'more row')}{request}"]
    note = "; ".join(filter(None, (*notes, shown.note)))
    sure = any(strip.heading.endswith(INTERVAL) for strip in strips)
    taken = parts.independence_note(result) if sure and shown.rank == "main" else ""
    main = shown.rank != "detail" and bool(shown.lead) and not wide
    title, note = fill_for_caller(result, shown.title), fill_for_caller(result, note)
    return TextTable(title, tuple(strips), note, main, kept, signs, taken)


def _row_signs(shown: schema.TableView, result: Document, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the signs of the models that the answer names as the best or as tied with it."""
    if shown.places is not None:
        placed = tuple({"best": BEST, "equal": EQUAL, "": ""}[one] for one in shown.places)
        return placed if any(placed) else ()
    if shown.rank != "main" or not result.answer:
        return ()
    tied = (one for one in result.answer if one.code == "not-significantly-different")
    names = dict.fromkeys((name for one in tied for name in one.models), EQUAL)
    said = [one for one in result.answer if one.code not in schema.GATE_CODES]
    names |= dict.fromkeys((name for one in said[:1] for name in one.models), BEST)
    columns = shown.columns.split() if isinstance(shown.columns, str) else shown.columns.values()
    first = next(column for column in columns if isinstance(column, str))
    signs = tuple(names.get(str(row.get(first)), "") for row in rows)
    return signs if any(signs) else ()


def _shown_columns(
    shown: schema.TableView, declared: dict[str, schema.Column], rows: Sequence[Row]
) -> list[tuple[str, schema.Source]]:
    if not isinstance(shown.columns, str):
        return list(shown.columns.items())
    names = (
        name.removesuffix("?")
        for name in shown.columns.split()
        if not name.endswith("?") or any(row.get(name[:-1]) is not None for row in rows)
    )
    return [(parts.column_heading(declared.get(name, name)), name) for name in names]


def visible_notes(result: Document, opened: Sequence[schema.TableView]) -> list[str]:
    """Return the notes, without those on tables that are not open."""
    aside, names = page_of(result.command).aside, {one.name or one.table for one in opened}
    return [
        warning.message
        for warning in result.warnings
        if warning.code not in aside or not names.isdisjoint(aside[warning.code])
    ]


def other_results(
    result: Document, names: Collection[str]
) -> Iterator[tuple[str, Document, Collection[str]]]:
    """Yield results of other commands, without notes that this one has, and names to show."""
    told = {warning.message for warning in result.warnings}
    for command, one in result.methods.items():
        left = tuple(note for note in one.warnings if note.message not in told)
        yield command, replace(one, warnings=left), EVERYWHERE & {*names}


def gates_to_show(result: Document) -> tuple[list[Gate], str]:
    """Return the gates to show, missed ones first, and a note on those left out."""
    of_runs = result.command == schema.SUITE
    gates = [gate for gate in result.gates if gate.state != "met" or not of_runs]
    gates.sort(key=lambda gate: not gate.failed)
    if len(gates) <= GATES:
        return gates, ""
    missed = [gate for gate in result.gates if not gate.passed]
    left, met = len(missed) - GATES, len(result.gates) - len(missed)
    more = f"{left:,} more missed, " if left > 0 else ""
    return missed[:GATES], fill_for_caller(
        result, f"{more}{met:,} gates met; for all, {ADD} {OPTION}--format json{END}"
    )


def undefined_reasons(result: Document, shown: Sequence[schema.TableView]) -> list[str]:
    """Return explanations of dashes: which measures are undefined, of which models, and why."""
    struck: dict[str, dict[str, set[Cell]]] = {}
    beta, page = result.parameters.get("beta"), page_of(result.command)
    for name in ("models", "pairs", "ranges", "agreement", "thresholds"):
        known = {*parts.INFINITE, *struck}  # a reason given for the first table is not repeated
        for one in shown:
            if one.table != name:
                continue
            rows, columns = (
                result.tables.get(name, ()),
                {schema.ALL},
            )  # all, where cells are rearranged
            if isinstance(one.columns, str):
                columns = set(one.columns.replace("?", "").split())
            elif one.lead:
                columns = {source for source in one.columns.values() if isinstance(source, str)}
                rows = rows if one.rows is None else one.rows
            here = (row for row in rows if row.get("population") != "sweep")
            for row in islice(here, EXPLAINED):
                for column, cell in row.items():
                    reason = None
                    if isinstance(cell, Estimate) and cell.value is None:
                        reason = cell.reason
                    if (
                        reason
                        and reason not in known
                        and (column in columns or schema.ALL in columns)
                    ):
                        title = parts.column_title(column, beta, page.column(column, name))
                        who = None if name != "models" or row.get("slice") else row.get("model")
                        struck.setdefault(reason, {}).setdefault(title, set()).add(who)
    said = []
    for reason, titles in struck.items():
        words = parts.REASONS.get(reason, reason.replace("_", " "))
        models, *others = titles.values()
        same = None not in models and all(models == one for one in others)
        of = f" for {join_names(sorted(map(str, models)))}" if same and len(models) < FEW else ""
        verb = "is" if len(titles) == 1 else "are"
        what = f"{join_words([*titles], most=len(titles))} {verb} " * (len(struck) > 1 or not of)
        said.append(f"{parts.ABSENT} {what}undefined{of}: {words}")
    return [fill_for_caller(result, sentence) for sentence in said]


def baseline_tables(result: Document, *, every: bool) -> list[schema.TableView]:
    """Return tables of changes tested together or limited, worst first; none without baseline.

    every: all of them, else the first.
    """
    found = schema.comparison_rows(result, schema.BASELINE)
    if not found:
        return []
    limited = {gate.measure for gate in result.gates}
    rows = [row for row in found if row["p_adjusted"] is not None or row["measure"] in limited]
    paired = {bool(row["paired"]) for row in rows}
    pairing = "" if False not in paired else " or, where not paired, on independent samples"
    shown = [
        schema.TableView(
            "comparisons",
            "Change since the baseline",
            {
                "model": "model",
                "measure": "measure",
                "old": "old",
                "new": "new",
                "change": "difference",
                "p, adjusted": "p_adjusted",
                "verdict": "verdict",
            },
            rows or found,
            None if every else 15,
            "p: adjusted (Benjamini-Hochberg) over these measures and models; –: not adjusted",
            rank="asked",
            lead="difference",
            whole=True,
            name=schema.BASELINE,
            total=len(found),
            more=f"{OPTION}--show baseline{END}; all measures: "
            f"{OPTION}--format csv --show comparisons{END}",
            words={"change": f"new - old, on the same rows{pairing}"} if True in paired else {},
        )
    ]
    if result.tables.get(schema.CHANGES):
        shown.append(
            schema.TableView(
                schema.CHANGES,
                "Rows predicted correctly before, incorrectly now",
                "model id truth before after",
                most=10,
                rank="asked",
                lead="model",
                note=f"at most {schema.MOST_CHANGES} rows per model",
            )
        )
    return shown
