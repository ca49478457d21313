"""Schema of tables, their display, meanings of shared columns: views, gates and files follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from clfeval.document import Document
from clfeval.document.cells import Cell, Row
from clfeval.pages.chart import Chart, Rank
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field

Json = Mapping[str, Any]
PLAIN = (
    "any",
    "text",
    "flag",
    "number",
    "cut",
    "p",
    "level",
    "prevalence",
    "count",
    "weight",
    "slice",
    "part",
    "positive",
    "odds",
    "rank",
    "measure",
    "whole",
    "correlation",
)
# requested by name, as the tables and plots of a page are
INTERVALS, PLOTS, ALL = "intervals", "plots", "all"
Source = str | Callable[[Row], Cell]  # a column of the table, or how to make one
Write = Callable[[float, int], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its name in files, and its title for readers.

    kind: as in `$defs` of the JSON Schema; `?` it may be null, `*` a list, `+` one not empty.
    title: else that of the measure of this name, with an arrow over a column, else the name.
    when: empty for always; `?` optional; `key=value` where a parameter is so, `key` where it is
    given; `+table` where the result has that table; `one` of the columns marked so; `?` may follow.
    """

    name: str
    kind: str
    title: str | None = None
    when: str = ""
    best: Literal["max", "min"] | None = None  # a gate may limit it though it is not a measure
    among: tuple[str | None, ...] = ()
    json_schema: Json | None = None  # further rules of its values


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a result; rule: JSON Schema of each row."""

    name: str
    columns: tuple[Column, ...]
    when: str = "?"
    min_rows: int = 0
    rule: Json | None = None


Sign = Literal["best", "equal", ""]  # among rows


def cols(kind: str, names: str, **fields: Any) -> tuple[Column, ...]:
    """Declare several columns of one kind; fields: further ones of `Column`, the same for all."""
    return tuple(Column(name, kind, **fields) for name in names.split())


COMPARISONS, BASELINE, CHANGES = "comparisons", "baseline", "baseline_changes"
MOST_CHANGES = 100  # rows of a model in the last
# sentences on gates and a baseline
GATE_CODES = ("gates-missed", "baseline", "baseline-rows", "baseline-choice")
VERDICTS = ("worse", "better", "changed", "equivalent", "not worse", "undecided")
# tables of every command's result that is compared with a baseline
COMMON = (
    Table(
        COMPARISONS,
        (
            Column("against", "text", among=("reference", "slice", "run", "baseline", "label")),
            *cols("slice", "slice"),
            *cols("text", "measure model reference"),
            *cols("estimate", "old new difference"),
            Column("p", "p?"),
            Column("p_adjusted", "p?", "p, adjusted"),
            Column("difference_adjusted", "estimate", "simultaneous difference"),
            Column("verdict", "text", among=(None, *VERDICTS)),
            *cols("flag", "paired"),
            Column("rows", "weight?"),
            Column("se", "number?", "standard error"),
            *cols("number?", "df detectable"),
            *cols("text?", "method"),
            *cols("number?", "bound", when="?"),
        ),
    ),
    Table(CHANGES, (*cols("text", "model id truth before after"),)),
)
# Meanings of columns, for legends and for `--explain`. A key is a column, `table.column` where a
# table means something else by it, or the heading of what is made for the screen. Measures explain
# themselves: an entry says in words what a formula hides.
COUNT_MEANINGS = {
    "tp": "true positives",
    "fp": "false positives",
    "fn": "false negatives",
    "tn": "true negatives",
}
SHARED: Mapping[str, str] = {
    "slice": f"the rows with one value of the {OPTION}--by{END} columns; without it the whole "
    "table",
    "model": "the name of the classifier",
    "threshold": "score at or above which a row is predicted positive; empty for models that "
    "have labels only",
    **COUNT_MEANINGS,
    "rows": "number of rows; repeated rows count each time",
    "positives": "rows of the positive class",
    "negatives": "rows of all other classes",
    "prevalence": "share of positives in the population",
    "odds": "positives : negatives in the population",
    "measure": "the measure of this row of the table",
    "interval": f"confidence interval, at the level of {OPTION}--level{END}",
    "comparisons.against": "what the model is compared with: a reference on the same rows, the "
    "rows outside a slice, runs, a baseline, or a label of a history",
    "comparisons.measure": "the measure compared",
    "comparisons.reference": "the other side: a model, the rows outside, a baseline or a label",
    "old": "the value of the other side",
    "new": "the value of the model",
    "difference": "new - old, with its confidence interval",
    "p": "two-sided p-value of no difference; it agrees with the interval",
    "p_adjusted": "p adjusted for multiple comparisons: joint maximum for pairs of models, "
    "Benjamini-Hochberg for slices and changes",
    "difference_adjusted": "the difference with a simultaneous confidence interval",
    "verdict": "better, worse: significant after adjustment; changed: significant without a "
    f"direction; equivalent, not worse: within {OPTION}--margin{END}",
    "paired": "whether both sides have the same rows",
    "comparisons.rows": "number of rows compared, or of runs",
    "se": "standard error of the difference",
    "comparisons.df": "degrees of freedom of Student's t, by which interval and p are computed",
    "detectable": "the smallest difference that is detected with power 0.8; unknown below 10 rows "
    "of a class",
    "comparisons.method": "method of the interval and p",
    "comparisons.bound": "how far the difference can be from that of single scores",
    "baseline_changes.id": "the id of the row",
    "baseline_changes.truth": "the true class of the row",
    "baseline_changes.before": "the prediction in the baseline, which was correct",
    "baseline_changes.after": "the prediction now, which is wrong",
}


@dataclass(frozen=True, slots=True)
class TableView:
    """A table, or part of it, as displayed.

    columns: names, with `?` if shown only when not empty; or heading -> source, equal headings made
    unique by blanks. Those of a main table in order of weight: a narrow screen omits the last.
    rows: by default those of the table. most: maximum of rows. right: right-aligned headings.
    rest_hint: how to get all rows. total: number of rows, if more. write: rounds numbers. name:
    requests it, by default the table's. lead: the leading column, with intervals by default.
    keep_columns: whether no column is omitted. legend: columns or headings in the glossary; words:
    meanings in this result. places: marks of rows.
    """

    table: str
    title: str
    columns: str | Mapping[str, Source]
    rows: Sequence[Row] | None = None
    most: int | None = 60
    note: str = ""
    right: Sequence[str] = ()
    rest_hint: str | None = None
    total: int | None = None
    write: Write | None = None
    interval_heading: str = ""
    name: str = ""
    rank: Rank = "detail"
    lead: str = ""
    legend: Sequence[str] = ()
    keep_columns: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    places: Sequence[Sign] | None = None


# headings of tables that every page may have
SHARED_HEADINGS: Mapping[str, str] = {"p (this measure)": "p_adjusted"}


@dataclass(frozen=True, slots=True)
class Page:
    """The layout of a command's results.

    views: yields the tables in reading order, for a number of digits. summary: keys a gate may
    limit. parts_by_warning: of warnings that apply to some parts only, by code. glossary: meanings
    of columns, by name or `table.name`; headings: keys of the glossary by heading, in which `…`
    represents any name. beyond: further options.
    """

    command: str
    tables: tuple[Table, ...]
    headline: Callable[[Document], list[str]]
    views: Callable[[Document, int], Iterable[TableView]]
    charts: Callable[[Document], Iterable[Chart]]
    summary: tuple[Column, ...] = ()
    all_rows_name: str = "(all)"  # the whole table among its slices
    parts: tuple[str, ...] = ()  # names of displayed parts other than tables
    plots: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()  # names of pictures that are no plots on a terminal
    parts_by_warning: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    glossary: Mapping[str, str] = field(default_factory=dict)
    headings: Mapping[str, str] = field(default_factory=dict)
    beyond: Callable[[Document], str] = lambda _: ""

    def table(self, name: str) -> Table:
        """Return the table of a name, without columns if it is not declared."""
        return next((table for table in self.every if table.name == name), Table(name, ()))

    @property
    def every(self) -> tuple[Table, ...]:
        """All tables, including those common to every command."""
        return (*self.tables, *COMMON)

    @property
    def names(self) -> list[str]:
        """Names that can be requested: of parts, tables and plots."""
        table_names = [table.name for table in self.every]
        of_every_page = (BASELINE, INTERVALS, PLOTS, ALL)
        return [*dict.fromkeys((*self.parts, *table_names, *self.all_pictures, *of_every_page))]

    @property
    def all_pictures(self) -> tuple[str, ...]:
        """Names of all pictures: those that letters can draw, and the others."""
        return (*self.plots, *self.pictures)

    def column(self, name: str, table: str | None = None) -> Column | None:
        """Return a column of a table, or of the first table that has it, or of the summary."""
        tables = [self.table(table)] if table else [*self.tables, Table("", self.summary)]
        all_columns = (column for declared in tables for column in declared.columns)
        return next((column for column in all_columns if column.name == name), None)

    @property
    def all_headings(self) -> Mapping[str, str]:
        """The headings of this page, and those that every page has."""
        return {**SHARED_HEADINGS, **self.headings}

    def meaning(self, name: str, table: str = "") -> str:
        """Return the meaning of a column or heading; empty if the glossary lacks it."""
        key = self.all_headings.get(name, name)
        return self.glossary.get(f"{table}.{key}", self.glossary.get(key, ""))


def comparison_rows(result: Document, kind: str, *, within_slices: bool = False) -> list[Row]:
    """Return the comparisons of one kind: of the whole table, or those within slices."""
    return [
        row
        for row in result.tables.get(COMPARISONS, ())
        if row["against"] == kind and (row["slice"] is not None) == within_slices
    ]


def is_present(when: str, result: Document) -> bool | None:
    """Return whether a column or table is in the result; None if that is unknown."""
    if when in ("?", "one"):
        return None
    condition = when.removesuffix("?")
    key, _, value = condition.partition("=")
    if key.startswith("+"):
        is_there = key[1:] in result.tables
    elif value:
        is_there = result.parameters.get(key) == value
    else:
        is_there = not key or result.parameters.get(key) not in (None, {})
    return is_there if condition == when or not is_there else None


def certain_columns(table: Table, result: Document) -> list[Column]:
    """Return the columns that a table of this result always has."""
    return [column for column in table.columns if is_present(column.when, result)]


def holds_estimates(column: Column) -> bool:
    """Return whether a column holds estimates, which are four columns in CSV."""
    return column.kind.rstrip("?*+") not in PLAIN


def gateable_names(page: Page) -> list[str]:
    """Return the names that gates may limit: measures of the first table, and `best` columns."""
    measures = [
        column.name
        for table in page.tables[:1]
        for column in table.columns
        if holds_estimates(column)
    ]
    return [*measures, *(column.name for column in page.summary if column.best)]


DRY_RUN = "dry-run"  # a result of every command
HISTORY = "history"  # likewise, of the lines of earlier runs
SUITE = "suite"  # likewise, of a batch
