"""Tables of a page, laid out as headings and cells of text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import get_args

from clfeval import COMMANDS
from clfeval.document import Document, Gate, GateState
from clfeval.document.cells import Cell, Estimate, Row
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

MAX_GATES = 50  # gates shown one by one
FEW_MODELS = 4  # models from which on they are not named
INTERVAL = "% CI"
MAX_EXPLAINED_ROWS = 1000  # rows of a table looked through for undefined cells
EXACT_KINDS = ("cut", "p", "prevalence")  # kinds of numbers written with all digits that count
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
NAMES_OF_EVERY_COMMAND = {
    schema.ALL,
    schema.INTERVALS,
}  # names that apply to the tables of every command


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

    main: one line per row. fixed_columns: how many are never left out. signs: marks of rows.
    independence: what its intervals assume.
    """

    title: str
    columns: tuple[TextColumn, ...]
    note: str = ""
    main: bool = False
    fixed_columns: int = 0
    signs: tuple[str, ...] = ()
    independence: str = ""

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of all columns."""
        return tuple(column.heading for column in self.columns)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The cells row by row."""
        return tuple(zip(*(column.cells for column in self.columns), strict=True))

    @property
    def legend(self) -> list[str]:
        """The meanings of its columns and signs."""
        sign_meanings = [
            f"{sign} {meaning}" for sign, meaning in SIGNS.items() if sign in self.signs
        ]
        first_line = "; ".join(filter(None, (", ".join(sign_meanings), self.independence)))
        meaning_of_name = {column.name: column.words for column in self.columns}
        lines = [f"{heading}: {meaning}" for heading, meaning in meaning_of_name.items() if meaning]
        return [first_line, *lines] if first_line else lines


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
    page = page_of(result.command)
    all_changes = not {schema.BASELINE, schema.ALL}.isdisjoint(names)
    views = [*baseline_tables(result, every=all_changes), *page.views(result, digits)]
    names_of_views = {_name_of(view) for view in views}
    # tables for which the page has no view, with all their columns
    views += [
        schema.TableView(name, name, " ".join(next(iter(result.tables[name]), ())))
        for name in names
        if name in {*result.tables} - names_of_views
    ]
    views = [replace(view, rank="asked") if _name_of(view) in names else view for view in views]
    views.sort(key=lambda view: RANKS.index(view.rank))
    opened = [view for view in views if view.rank != "detail" or schema.ALL in names]
    folded = views[len(opened) :]
    return PageTables(
        tuple(opened), tuple(folded), wide=not NAMES_OF_EVERY_COMMAND.isdisjoint(names)
    )


def _name_of(view: schema.TableView) -> str:
    """Return the name that requests a table."""
    return view.name or view.table


def more_table_names(result: Document, page: PageTables, names: Collection[str]) -> list[str]:
    """Return the names of further tables that can be requested."""
    if schema.ALL in names:
        return []
    folded_names = map(_name_of, page.folded)
    group_names = (name for name in _group_names(result) if name not in names)
    return [*dict.fromkeys((*folded_names, *group_names))]


def check_available(result: Document, names: Collection[str]) -> None:
    """Raise UsageError for names of which this result has nothing, though another may."""
    if {*names} <= {*result.tables, schema.ALL}:
        return
    page = page_of(result.command)
    available_names = {*result.tables, *_group_names(result), *_plot_names(result), schema.ALL}
    views = (*baseline_tables(result, every=True), *page.views(result, DIGITS))
    available_names.update(map(_name_of, views))
    for name in names:
        if name not in available_names and name in page.pictures:
            hint = f"{ADD} {OPTION}--save {name}.svg{END}"
            raise UsageError.new(f"'{name}' is a picture for a file", "unknown-table", hint=hint)
        if name not in available_names:
            message = (
                f"no '{name}' in this result; there are {list_names(sorted(available_names), 40)}"
            )
            needed_option = page.table(name).when.removesuffix("?")
            hint = "some need an option"
            if needed_option.isidentifier():
                hint = f"it needs {OPTION}--{needed_option.replace('_', '-')}{END}"
            raise UsageError.new(message, "unknown-table", hint=hint)


def _group_names(result: Document) -> Iterator[str]:
    """Yield the names of groups that this result has: intervals, plots."""
    first_table = next(iter(result.tables.values()), ())
    if any(parts.format_interval(cell) for row in first_table[:1] for cell in row.values()):
        yield schema.INTERVALS
    if any(_plot_names(result)):
        yield schema.PLOTS


def _plot_names(result: Document) -> Iterator[str]:
    """Yield the names of the plots of this result; the diamond, not a chart, is always one."""
    page = page_of(result.command)
    yield from (chart.name for chart in page.charts(result))
    yield from page.plots if page.command == "phidelta" else ()


def layout_table(
    view: schema.TableView, result: Document, digits: int = DIGITS, *, wide: bool = True
) -> TextTable:
    """Return the laid out columns of a table, with intervals, if `wide` of all estimates."""
    page = page_of(result.command)
    declared_columns = {column.name: column for column in page.table(view.table).columns}
    all_rows = result.tables.get(view.table, ()) if view.rows is None else view.rows
    rows = all_rows[: view.most]
    headings_and_sources = _headings_and_sources(view, declared_columns, rows)
    signs = _row_signs(view, result, rows, [source for _, source in headings_and_sources])
    columns: list[TextColumn] = []
    fixed_columns = 0
    for heading, source in headings_and_sources:
        cells = _values_of_column(source, rows, page.all_rows_name)
        declared_column = declared_columns.get(source) if isinstance(source, str) else None
        column = _text_column(view, heading, declared_column, cells, digits)
        meaning_key = source if isinstance(source, str) else column.name
        columns.append(replace(column, words=_meaning(view, result, meaning_key)))
        if len(columns) == 1 and signs:
            columns.append(TextColumn("", signs, numeric=False))
        if wide or view.lead in ("", source):
            columns += _interval_columns(view, result, cells, digits)
        if source == view.lead or view.keep_columns:
            fixed_columns = len(columns)
    has_intervals = any(column.heading.endswith(INTERVAL) for column in columns)
    return TextTable(
        fill_for_caller(result, view.title),
        tuple(columns),
        fill_for_caller(result, _closing_note(view, len(all_rows), len(rows))),
        main=view.rank != "detail" and bool(view.lead) and not wide,
        fixed_columns=fixed_columns,
        signs=signs,
        independence=(
            parts.independence_note(result) if has_intervals and view.rank == "main" else ""
        ),
    )


def _values_of_column(source: schema.Source, rows: Sequence[Row], all_rows_name: str) -> list[Cell]:
    """Return the values of a column, that of the slice with a name for the whole table."""
    if source == "slice":
        return [row.get("slice") or all_rows_name for row in rows]
    return [row.get(source) if isinstance(source, str) else source(row) for row in rows]


def _meaning(view: schema.TableView, result: Document, key: str) -> str:
    """Return the meaning of a column in this result or, if it is in the legend, the glossary."""
    meaning = ""
    if key in view.words:
        meaning = view.words[key]
    elif key in view.legend:
        meaning = page_of(result.command).meaning(key, view.table)
    return fill_for_caller(result, meaning)


def _interval_columns(
    view: schema.TableView, result: Document, values: Sequence[Cell], digits: int
) -> list[TextColumn]:
    """Return the column of the intervals of values; none where no value has an interval."""
    format_value = view.write or format_number
    interval_texts = tuple(parts.format_interval(value, digits, format_value) for value in values)
    if not any(interval_texts):
        return []
    default_heading = f"{result.parameters['level'] * 100:g}{INTERVAL}"
    return [TextColumn(view.interval_heading or default_heading, interval_texts, numeric=True)]


def _text_column(
    view: schema.TableView,
    heading: str,
    declared_column: schema.Column | None,
    values: Sequence[Cell],
    digits: int,
) -> TextColumn:
    """Return a column as text, without its meaning; declared_column: None if not declared."""
    if declared_column is not None and declared_column.kind.rstrip("?") in EXACT_KINDS:
        cell_texts = tuple(map(parts.format_exact, values))
    else:
        format_value = view.write or format_number
        cell_texts = tuple(parts.format_cell(value, digits, format_value) for value in values)
    is_numeric = heading in view.right or not any(
        isinstance(value, (str, list)) for value in values
    )
    is_threshold = declared_column is not None and declared_column.kind == "cut"
    return TextColumn(heading.strip(), cell_texts, is_numeric, cut=is_threshold)


def _closing_note(view: schema.TableView, row_count: int, shown_count: int) -> str:
    """Return the note below a table, first how many rows are left and how to get them."""
    notes = [view.note]
    omitted_count = (row_count if view.total is None else view.total) - shown_count
    if omitted_count > 0:
        default_hint = f"{OPTION}--format csv --show {view.table}{END}"
        hint = default_hint if view.rest_hint is None else view.rest_hint
        request = f": {ADD} {hint}" if hint else " not shown"
        notes.insert(0, f"{format_count(omitted_count, 'more row')}{request}")
    return "; ".join(filter(None, notes))


def _row_signs(
    view: schema.TableView, result: Document, rows: Sequence[Row], sources: Sequence[schema.Source]
) -> tuple[str, ...]:
    """Return the signs of the models that the answer names as the best or as tied with it."""
    if view.places is not None:
        place_signs = tuple({"best": BEST, "equal": EQUAL, "": ""}[sign] for sign in view.places)
        return place_signs if any(place_signs) else ()
    if view.rank != "main" or not result.answer:
        return ()
    sign_of_model: dict[str, str] = {}
    for sentence in result.answer:
        if sentence.code == "not-significantly-different":
            sign_of_model |= dict.fromkeys(sentence.models, EQUAL)
    model_sentences = [
        sentence for sentence in result.answer if sentence.code not in schema.GATE_CODES
    ]
    if model_sentences:
        sign_of_model |= dict.fromkeys(model_sentences[0].models, BEST)
    first_column = next(source for source in sources if isinstance(source, str))
    signs_of_rows = tuple(sign_of_model.get(str(row.get(first_column)), "") for row in rows)
    return signs_of_rows if any(signs_of_rows) else ()


def _headings_and_sources(
    view: schema.TableView, columns: Mapping[str, schema.Column], rows: Sequence[Row]
) -> list[tuple[str, schema.Source]]:
    """Return the headings and sources of a table's columns, without those that are empty."""
    if not isinstance(view.columns, str):
        return list(view.columns.items())
    names_with_marks = view.columns.split() or [
        f"{column.name}?" if column.when or column.kind.endswith("?") else column.name
        for column in columns.values()
    ]
    names = (
        name.removesuffix("?")
        for name in names_with_marks
        if not name.endswith("?") or any(row.get(name[:-1]) is not None for row in rows)
    )
    return [(parts.column_heading(columns.get(name, name)), name) for name in names]


def visible_notes(result: Document, opened: Sequence[schema.TableView]) -> list[str]:
    """Return the notes, without those on tables that are not open."""
    parts_by_warning = page_of(result.command).parts_by_warning
    opened_names = set(map(_name_of, opened))
    return [
        warning.message
        for warning in result.warnings
        if warning.code not in parts_by_warning
        or not opened_names.isdisjoint(parts_by_warning[warning.code])
    ]


def other_results(
    result: Document, names: Collection[str]
) -> Iterator[tuple[str, Document, Collection[str]]]:
    """Yield results of other commands, without notes that this one has, and names to show."""
    messages = {warning.message for warning in result.warnings}
    for command, document in result.methods.items():
        warnings = tuple(note for note in document.warnings if note.message not in messages)
        yield command, replace(document, warnings=warnings), NAMES_OF_EVERY_COMMAND & {*names}


def gates_to_show(result: Document) -> tuple[list[Gate], str]:
    """Return the gates to show, missed ones first, and a note on those left out."""
    is_batch = result.command == schema.SUITE
    gates = [gate for gate in result.gates if gate.state != "met" or not is_batch]
    gates.sort(key=lambda gate: not gate.failed)
    if len(gates) <= MAX_GATES:
        return gates, ""
    missed_gates = [gate for gate in result.gates if not gate.passed]
    not_shown_count = len(missed_gates) - MAX_GATES
    met_count = len(result.gates) - len(missed_gates)
    missed_note = f"{not_shown_count:,} more missed, " if not_shown_count > 0 else ""
    note = f"{missed_note}{met_count:,} gates met; for all, {ADD} {OPTION}--format json{END}"
    return missed_gates[:MAX_GATES], fill_for_caller(result, note)


# reason -> title of a column -> models whose cells it explains; None: not of one model
UndefinedCells = dict[str, dict[str, set[Cell]]]


def undefined_reasons(result: Document, views: Sequence[schema.TableView]) -> list[str]:
    """Return explanations of dashes: which measures are undefined, of which models, and why."""
    cells_of_reason: UndefinedCells = {}
    for name in ("models", "pairs", "ranges", "agreement", "thresholds"):
        # a reason given for the first table is not repeated
        explained_reasons = {*parts.INFINITE, *cells_of_reason}
        for view in views:
            if view.table == name:
                _add_undefined_cells(result, view, explained_reasons, cells_of_reason)
    has_several = len(cells_of_reason) > 1
    sentences = (
        _undefined_sentence(reason, models_of_title, has_several=has_several)
        for reason, models_of_title in cells_of_reason.items()
    )
    return [fill_for_caller(result, sentence) for sentence in sentences]


def _add_undefined_cells(
    result: Document,
    view: schema.TableView,
    explained_reasons: Collection[str],
    cells_of_reason: UndefinedCells,
) -> None:
    """Add the undefined cells of a table, without those of reasons that are explained."""
    columns, rows = _explained_part(result, view)
    rows = (row for row in rows if row.get("population") != "sweep")
    for row in islice(rows, MAX_EXPLAINED_ROWS):
        for column, cell in row.items():
            if not isinstance(cell, Estimate) or cell.value is not None:
                continue
            reason = cell.reason
            if (
                reason
                and reason not in explained_reasons
                and (columns is None or column in columns)
            ):
                title = _column_title(result, column, view.table)
                has_model = view.table == "models" and not row.get("slice")
                models = cells_of_reason.setdefault(reason, {}).setdefault(title, set())
                models.add(row.get("model") if has_model else None)


def _explained_part(
    result: Document, view: schema.TableView
) -> tuple[Collection[str] | None, Iterable[Row]]:
    """Return the columns of a view whose dashes are explained, None for all, and its rows."""
    rows = result.tables.get(view.table, ())
    if isinstance(view.columns, str):
        return set(view.columns.replace("?", "").split()), rows
    if view.lead:
        sources = {source for source in view.columns.values() if isinstance(source, str)}
        return sources, rows if view.rows is None else view.rows
    return None, rows  # cells are rearranged


def _column_title(result: Document, column: str, table: str) -> str:
    """Return the title of a column of a table of the result."""
    declared = page_of(result.command).column(column, table)
    return parts.column_title(column, result.parameters.get("beta"), declared)


def _undefined_sentence(
    reason: str, models_of_title: Mapping[str, set[Cell]], *, has_several: bool
) -> str:
    """Return why columns are undefined; has_several: whether other columns have other reasons."""
    reason_text = parts.REASONS.get(reason, reason.replace("_", " "))
    first_models, *other_models = models_of_title.values()
    same_models = None not in first_models and all(
        first_models == models_of_column for models_of_column in other_models
    )
    names_clause = ""
    if same_models and len(first_models) < FEW_MODELS:
        names_clause = f" for {join_names(sorted(map(str, first_models)))}"
    verb = "is" if len(models_of_title) == 1 else "are"
    titles_clause = ""
    if has_several or not names_clause:
        titles_clause = f"{join_words([*models_of_title], most=len(models_of_title))} {verb} "
    return f"{parts.ABSENT} {titles_clause}undefined{names_clause}: {reason_text}"


def baseline_tables(result: Document, *, every: bool) -> list[schema.TableView]:
    """Return tables of changes tested together or limited, worst first; none without baseline.

    every: all of them, else the first.
    """
    change_rows = schema.comparison_rows(result, schema.BASELINE)
    if not change_rows:
        return []
    limited_measures = {gate.measure for gate in result.gates}
    tested_rows = [
        row
        for row in change_rows
        if row["p_adjusted"] is not None or row["measure"] in limited_measures
    ]
    paired_flags = {bool(row["paired"]) for row in tested_rows}
    pairing_clause = (
        "" if False not in paired_flags else " or, where not paired, on independent samples"
    )
    views = [
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
            tested_rows or change_rows,
            None if every else 15,
            "p: adjusted (Benjamini-Hochberg) over these measures and models; –: not adjusted",
            rank="asked",
            lead="difference",
            keep_columns=True,
            name=schema.BASELINE,
            total=len(change_rows),
            rest_hint=f"{OPTION}--show baseline{END}; all measures: "
            f"{OPTION}--format csv --show comparisons{END}",
            words={"change": f"new - old, on the same rows{pairing_clause}"}
            if True in paired_flags
            else {},
        )
    ]
    if result.tables.get(schema.CHANGES):
        views.append(
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
    return views
