"""Which columns of a prediction table are what, and what a layout has to say of itself."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clfeval.errors import DataError, Problem, listing
from clfeval.late import pl
from clfeval.tables.diagnose import Check
from clfeval.tables.input import Input, Kind
from clfeval.tables.layouts import LayoutName
from clfeval.tables.names import match_names
from clfeval.tables.scan import Frame, Peek, Reading, TableFile

# fast   0/1 columns as integers, proved exact by counting bytes
# plain  labels as text, scores as numbers
# loose  as plain, but what is no number becomes null for the second look to name
Mode = Literal["fast", "plain", "loose"]
# What a frame of rows may have beside the columns named: KEY, what names the observation, or every
# field of the file, with the marks of a watchful scan.
Also = Literal["nothing", "key", "watch"]
# Columns of such frames; WRONG where the rows of one observation contradict each other.
KEY, WRONG = "__clfeval_key", "__clfeval_wrong"


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """One model: its name and the column or columns that hold what it said.

    label   one column of class names
    score   one column of numbers; positive at or above the threshold
    classes one column of probabilities per class, in the order of `classes`
    """

    name: str
    kind: Literal["label", "score", "classes"]
    columns: tuple[str, ...]
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column is truth, id, model, slice and weight.

    naming: the column with the models' names; answer: the one with what all of them said.
    """

    truth: str
    id: str | None = None
    models: tuple[ModelColumns, ...] = ()
    naming: str = ""
    answer: str = ""
    ignored: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    weight: str | None = None
    run: str | None = None  # also in `by`: an observation stands once in each run
    null_values: tuple[str, ...] = ()

    def source(self, model: ModelColumns) -> str:
        """Return the column of the file that holds a model's answers, or the first of them."""
        return self.answer or model.columns[0]

    @property
    def row(self) -> tuple[str, ...]:
        """What names an observation: its id, in each run where there are several."""
        return tuple(name for name in (self.id, self.run) if name is not None)

    @property
    def constants(self) -> tuple[str, ...]:
        """Columns with one value per observation: truth, slices, weight."""
        names = [self.truth, *self.by, *([self.weight] if self.weight else [])]
        return tuple(dict.fromkeys(names))

    def readings(self, mode: Mode) -> dict[str, Reading]:
        """Say how every column that is counted is read."""
        number: Reading = "loose" if mode == "loose" else "number"
        label: Reading = "bit" if mode == "fast" else "text"
        chosen: dict[str, Reading] = dict.fromkeys(self.constants, "text")
        chosen[self.truth] = label
        if self.answer:
            chosen |= dict.fromkeys((str(self.id), self.naming), "text")
        for model in self.models:
            columns = (self.answer,) if self.answer else model.columns
            chosen |= dict.fromkeys(columns, label if model.kind == "label" else number)
        return chosen | ({self.weight: number} if self.weight else {})


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What the counts show to be wrong, for the second look to name the rows.

    known: truth's labels; unknown: models that say others; strict: missing values are errors;
    wrong: rows of one observation contradict each other; weights: some are none.
    """

    known: Sequence[str]
    unknown: Container[str] = ()
    strict: bool = True
    wrong: bool = False
    weights: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to lay out a table of predictions.

    needs: the columns it lives by, lacking: what a table is not that lacks them.
    recognise: which columns are what, from the header and the first values; None if it is another.
    rows: lazy frames in which a row is an observation with a column for each answer; one per file,
    unless an observation has rows in several. checks: numbered rows, and what to look for in them.
    models: finds them where they stand in rows; gathers: an observation has a row per model.
    counts: reads 2 x 2 tables, where a row is one.
    asked: the choices of --layout, beside its own name and none, that mean this one too.
    """

    name: LayoutName
    needs: str
    lacking: str
    recognise: Callable[[str, Mapping[str, Peek], Input], Columns | None]
    rows: Callable[[Sequence[TableFile], Columns, Mode, Also], list[Frame]]
    checks: Callable[
        [Columns, Suspicion, Sequence[pl.LazyFrame]], list[tuple[pl.LazyFrame, list[Check]]]
    ]
    models: Callable[[Sequence[TableFile], Columns, Mapping[str, Peek], Input], Columns] | None = (
        None
    )
    gathers: bool = False
    counts: Callable[[TableFile, str, Sequence[str]], Any] | None = None
    asked: tuple[str, ...] = ()


def guess_kind(column: Peek, classes: frozenset[str]) -> Kind:
    """Labels when the values are truth's labels, scores when they are numbers, else labels.

    One bad cell among numbers leaves them numbers, and one odd cell among labels (`01`) labels.
    """
    strange = Peek(column.texts - classes, column.typed_number)
    if column.texts <= classes or not strange.mostly_numeric:
        return "label"
    return "score" if column.mostly_numeric else "label"


def select_models(
    file: str, columns: Sequence[str], models: Sequence[ModelColumns], patterns: Sequence[str]
) -> tuple[ModelColumns, ...]:
    """Keep the models named exactly or by glob, in the order asked for; all without patterns."""
    if patterns:
        names = match_names(file, [model.name for model in models], patterns)
        return tuple(next(model for model in models if model.name == name) for name in names)
    if not models:
        raise DataError(
            Problem(f"no model columns; columns: {listing(columns)}", "no-models", file),
            hint="a wide table has one column per model beside the truth",
        )
    return tuple(models)
