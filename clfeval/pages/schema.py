"""Schema of tables, what their columns mean, their display: views, gates and files follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
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
    """One column of a table: its name in files, its title and its meaning for readers.

    kind: as in `$defs` of the JSON Schema; `?` it may be null, `*` a list, `+` one not empty.
    title: else that of the measure of this name, with an arrow over a column, else the name.
    when: empty for always; `?` optional; `key=value` where a parameter is so, `key` where it is
    given; `+table` where the result has that table; `one` of the columns marked so; `?` may follow.
    meaning: for legends and `--explain`; a measure explains itself, and its page may say in words
    what the formula hides. headings: further ones on screens, in which `…` represents any name.
    """

    name: str
    kind: str
    title: str | None = None
    when: str = ""
    best: Literal["max", "min"] | None = None  # a gate may limit it though it is not a measure
    among: tuple[str | None, ...] = ()
    json_schema: Json | None = None  # further rules of its values
    meaning: str = ""
    headings: tuple[str, ...] = ()

    def is_called(self, name: str) -> bool:
        """Return whether a name is that of this column in files, or one of its headings."""
        return name in (self.name, self.title, *self.headings)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a result; rule: JSON Schema of each row."""

    name: str
    columns: tuple[Column, ...]
    when: str = "?"
    min_rows: int = 0
    rule: Json | None = None


Sign = Literal["best", "equal", ""]  # among rows


def cols(kind: str, names: str | Mapping[str, str], **fields: Any) -> tuple[Column, ...]:
    """Declare several columns of one kind.

    names: separated by blanks, or with the meaning of each. fields: further ones of `Column`, the
    same for all.
    """
    meaning_of_name = dict.fromkeys(names.split(), "") if isinstance(names, str) else names
    return tuple(
        Column(name, kind, meaning=meaning, **fields) for name, meaning in meaning_of_name.items()
    )


COMPARISONS, BASELINE, CHANGES = "comparisons", "baseline", "baseline_changes"
MOST_CHANGES = 100  # rows of a model in the last
# sentences on gates and a baseline
GATE_CODES = ("gates-missed", "baseline", "baseline-rows", "baseline-choice")
VERDICTS = ("worse", "better", "changed", "equivalent", "not worse", "undecided")
# columns of tables of several commands
SLICE = Column(
    "slice",
    "slice",
    meaning=f"the rows with one value of the {OPTION}--by{END} columns; without it the whole table",
)
MODEL = Column("model", "text", meaning="the name of the classifier")
P_VALUE = Column(
    "p", "p?", meaning="two-sided p-value of no difference; it agrees with the interval"
)
P_ADJUSTED_HEADING, P_OF_MEASURE_HEADING = "p, adjusted", "p (this measure)"
P_ADJUSTED = Column(
    "p_adjusted",
    "p?",
    P_ADJUSTED_HEADING,
    meaning="p adjusted for multiple comparisons: joint maximum for pairs of models, "
    "Benjamini-Hochberg for slices and changes",
    headings=(P_OF_MEASURE_HEADING,),
)
DIFFERENCE_ADJUSTED = Column(
    "difference_adjusted",
    "estimate",
    "simultaneous difference",
    meaning="the difference with a simultaneous confidence interval",
)
VERDICT = Column(
    "verdict",
    "text",
    among=(None, *VERDICTS),
    meaning="better, worse: significant after adjustment; changed: significant without a "
    f"direction; equivalent, not worse: within {OPTION}--margin{END}",
)
DETECTABLE = Column(
    "detectable",
    "number?",
    meaning="the smallest difference that is detected with power 0.8; unknown below 10 rows of a "
    "class",
)
# tables of every command's result that is compared with a baseline
COMMON = (
    Table(
        COMPARISONS,
        (
            Column(
                "against",
                "text",
                among=("reference", "slice", "run", "baseline", "label"),
                meaning="what the model is compared with: a reference on the same rows, the rows "
                "outside a slice, runs, a baseline, or a label of a history",
            ),
            SLICE,
            Column("measure", "text", meaning="the measure compared"),
            MODEL,
            Column(
                "reference",
                "text",
                meaning="the other side: a model, the rows outside, a baseline or a label",
                headings=("minus",),
            ),
            *cols(
                "estimate",
                {
                    "old": "the value of the other side",
                    "new": "the value of the model",
                    "difference": "new - old, with its confidence interval",
                },
            ),
            P_VALUE,
            P_ADJUSTED,
            DIFFERENCE_ADJUSTED,
            VERDICT,
            Column("paired", "flag", meaning="whether both sides have the same rows"),
            Column("rows", "weight?", meaning="number of rows compared, or of runs"),
            Column("se", "number?", "standard error", meaning="standard error of the difference"),
            Column(
                "df",
                "number?",
                meaning="degrees of freedom of Student's t, by which interval and p are computed",
            ),
            DETECTABLE,
            Column("method", "text?", meaning="method of the interval and p"),
            Column(
                "bound",
                "number?",
                when="?",
                meaning="how far the difference can be from that of single scores",
            ),
        ),
    ),
    Table(
        CHANGES,
        (
            MODEL,
            *cols(
                "text",
                {
                    "id": "the id of the row",
                    "truth": "the true class of the row",
                    "before": "the prediction in the baseline, which was correct",
                    "after": "the prediction now, which is wrong",
                },
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class TableView:
    """A table, or part of it, as displayed.

    columns: names, with `?` if shown only when not empty; or heading -> source, equal headings made
    unique by blanks; by default all that the table declares, of which those that may be absent are
    shown when not empty. Those of a main table in order of weight: a narrow screen omits the last.
    rows: by default those of the table. most: maximum of rows. right: right-aligned headings.
    rest_hint: how to get all rows. total: number of rows, if more. write: rounds numbers. name:
    requests it, by default the table's. lead: the leading column, with intervals by default.
    keep_columns: whether no column is omitted. legend: columns or headings that are explained.
    words: meanings in this result. places: marks of rows.
    """

    table: str
    title: str
    columns: str | Mapping[str, Source] = ""
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


INTERVAL_WORD = "interval"  # of screens
SHARED_WORDS: Mapping[str, str] = {
    INTERVAL_WORD: f"confidence interval, at the level of {OPTION}--level{END}"
}


@dataclass(frozen=True, slots=True)
class Page:
    """The layout of a command's results.

    views: yields the tables in reading order, for a number of digits. summary: keys a gate may
    limit. parts_by_warning: of warnings that apply to some parts only, by code. glossary: meanings
    of words of screens, and of measures in whichever table; headings: their further headings on
    screens, with the word or measure of each. beyond: further options.
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

    def meaning(self, name: str, table: str = "") -> str:
        """Return the meaning of a column or heading in a table, else of the word, else elsewhere.

        It is empty of a measure that only its formula explains, and of an unknown name.
        """
        columns = [column for column in self.table(table).columns if column.is_called(name)]
        meaning = columns[0].meaning if columns else ""
        meaning = meaning or self.glossary.get(self.headings.get(name, name), "")
        if meaning or columns:
            return meaning
        all_columns = chain.from_iterable(declared.columns for declared in self.every)
        meanings = (column.meaning for column in all_columns if column.is_called(name))
        return next(filter(None, meanings), "")


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
