"""Columns of a prediction table with their roles, and what a layout says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, cast

from clfeval.tables.cells import spell_as_truth
from clfeval.tables.input import Input, Kind, LayoutName
from clfeval.tables.invalid_cells import Check, Suspicion
from clfeval.tables.lazy_imports import pl
from clfeval.tables.peek import ColumnPeek, are_mostly_numbers
from clfeval.tables.scan import Frame, Reading, TableFile

# fast   0/1 columns as integers, proved exact by counting bytes
# plain  labels as text, scores as numbers
# loose  as plain, but invalid numbers become null, to be named in the second pass
Mode = Literal["fast", "plain", "loose"]


# Also in a frame of rows: KEY, the id of the observation, or every field with flags of the scan.
Also = Literal["nothing", "key", "watch"]


KEY, WRONG = "__clfeval_key", "__clfeval_wrong"  # WRONG: the rows of an id conflict


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """A model: its name and the column or columns of its predictions.

    label   one column of class names
    score   one column of numbers; positive at or above the threshold
    classes one column of probabilities per class, in the order of `classes`

    beside: a column with its labels. shares: normalise its probabilities.
    """

    name: str
    kind: Literal["label", "score", "classes"]
    columns: tuple[str, ...]
    classes: tuple[str, ...] = ()
    beside: str | None = None
    shares: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """Roles of columns: truth, id, models, slices, weight and cluster.

    truth: "" for a joined file without truth.
    naming: the column of model names; answer: that of predictions, in a long table. written:
    columns of formatted numbers. fold: labels in lower case, without outer spaces.
    bits: 0/1 columns with a truth of false and true, or the reverse, in truth's spelling.
    """

    truth: str
    id: str | None = None
    models: tuple[ModelColumns, ...] = ()
    naming: str = ""
    answer: str = ""
    ignored: tuple[str, ...] = ()
    facets: tuple[tuple[str, ...], ...] = ()  # columns that define slices, crossed if several
    weight: str | None = None
    run: str | None = None  # also in `by`: an observation occurs once in each run
    cluster: str | None = None
    null_values: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()
    fold: bool = False
    bits: Mapping[str, Reading] = field(default_factory=dict)
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of binned columns

    def source(self, model: ModelColumns) -> str:
        """Return the column of a model's predictions in the file, the first of several."""
        return self.answer or model.columns[0]

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that define slices."""
        return tuple(dict.fromkeys(chain(*self.facets)))

    @property
    def row(self) -> tuple[str, ...]:
        """Columns that identify an observation: its id, and the run if there are runs."""
        return tuple(name for name in (self.id, self.run) if name is not None)

    @property
    def constants(self) -> tuple[str, ...]:
        """Columns with one value per observation: truth, slices, weight, cluster."""
        names = (self.truth, *self.by, self.weight, self.cluster)
        return tuple(dict.fromkeys(name for name in names if name))

    def label(self, column: str, mode: Mode = "plain") -> Reading:
        """Return how a column of labels is read."""
        return self.bits.get(column, "folded" if self.fold else "bit" if mode == "fast" else "text")

    def readings(self, mode: Mode) -> dict[str, Reading]:
        """Return how every used column is read."""
        number: tuple[Reading, Reading] = ("number", "written")  # of plain and formatted numbers
        if mode == "loose":
            number = ("loose", "loose written")
        chosen: dict[str, Reading] = dict.fromkeys(self.constants, "text")
        chosen |= {name: cast(Reading, f"bins {edges}") for name, edges in self.edges.items()}
        if self.truth:
            chosen[self.truth] = self.label(self.truth, mode)
        if self.answer:
            chosen |= dict.fromkeys((str(self.id), self.naming), "text")
        for model in self.models:
            columns = (self.answer,) if self.answer else model.columns
            for name in columns:
                label = model.kind == "label"
                chosen[name] = self.label(name, mode) if label else number[name in self.written]
        if self.weight:
            chosen[self.weight] = number[self.weight in self.written]
        return chosen


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout of prediction tables, with the functions that read it.

    needs: required columns. recognise: roles of columns, from the
    header and the first values, or None. rows: lazy frames with a row per observation and a column
    for each prediction; one per file, or one for all. checks: numbered rows and their checks.
    models: finds models in rows. expand: the predictions of rows that are 2 x 2 tables. asked:
    further choices of --layout for it. joined: from several files.
    """

    name: LayoutName
    needs: str
    recognise: Callable[[str, Mapping[str, ColumnPeek], Input], Columns | None]
    rows: Callable[[Sequence[TableFile], Columns, Mode, Also], list[Frame]]
    checks: Callable[
        [Columns, Suspicion, Sequence[pl.LazyFrame]], list[tuple[pl.LazyFrame, list[Check]]]
    ]
    models: (
        Callable[[Sequence[TableFile], Columns, Mapping[str, ColumnPeek], Input], Columns] | None
    ) = None
    expand: Callable[[TableFile, str, Input], tuple[TableFile, Input]] | None = None
    asked: tuple[str, ...] = ()
    joined: bool = False

    @property
    def gathers(self) -> bool:
        """True if an observation has several rows: one per model, or one per joined file."""
        return self.joined or self.models is not None


def guess_kind(column: ColumnPeek, classes: frozenset[str]) -> Kind:
    """Return "label" for truth's labels, "score" for numbers, else "label".

    One invalid cell does not change the kind. 0 and 1 are labels if truth has false and true.
    """
    if spell_as_truth(column.texts, classes):
        return "label"
    strange = column.texts - classes
    scores = (
        strange and column.mostly_numeric and (column.typed_number or are_mostly_numbers(strange))
    )
    return "score" if scores else "label"
