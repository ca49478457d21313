"""Columns of a table: their roles, what a first look at their values says, opened predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, Protocol

from clfeval.records import dataclass, field
from clfeval.tables.scan import BINS, CellReading

if TYPE_CHECKING:
    from clfeval.tables.calibrator_files import CalibratorFile, StoredCalibrator

# fast   0/1 columns as integers, proved exact by counting bytes
# plain  labels as text, scores as numbers
# loose  as plain, but invalid numbers become null, to be named in the second pass
Mode = Literal["fast", "plain", "loose"]
# Also in a frame of rows: KEY, the id of the observation, or every field with flags of the scan.
Also = Literal["nothing", "key", "watch"]
AS_WRITTEN = (0.0, 1.0)  # the scale of scores that are not changed
KEY, WRONG = "__clfeval_key", "__clfeval_wrong"  # WRONG: the rows of an id conflict


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """A model: its name and the column or columns of its predictions.

    label   one column of class names
    score   one column of numbers; positive at or above the threshold
    classes one column of probabilities per class, in the order of `classes`

    label_column: one with its labels. shares: normalise its probabilities. confidence: its numbers
    are probabilities of the label there, not of the positive class. rounded: how far its scores
    lie outside 0 to 1 by rounding; they are clipped.
    """

    name: str
    kind: Literal["label", "score", "classes"]
    columns: tuple[str, ...]
    classes: tuple[str, ...] = ()
    label_column: str | None = None
    shares: bool = False
    confidence: bool = False
    rounded: float = 0.0


@dataclass(frozen=True, slots=True)
class CalibratedColumn:
    """A column that is computed from the scores of a model by its calibrator of a file.

    class_sources: of more than two classes, the column of the probabilities of each; then a column
    is computed for each class, by the name of `class_columns`, and `source` is the first.
    """

    source: str
    stored: StoredCalibrator
    file: CalibratorFile
    class_sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that it is computed from."""
        return tuple(self.class_sources.values()) or (self.source,)

    @property
    def class_columns(self) -> dict[str, str]:
        """The source of each column that is computed, of more than two classes."""
        return {
            f"{self.stored.column}:{label}": source for label, source in self.class_sources.items()
        }


@dataclass(frozen=True, slots=True)
class Columns:
    """Roles of columns: truth, id, models, slices, weight and cluster.

    truth: "" for a joined file without truth.
    naming: the column of model names; answer: that of predictions, in a long table. written:
    columns of formatted numbers. fold: labels in lower case, without outer spaces.
    spelled: columns of labels that are read in truth's spelling. positive: the positive class, of
    models with confidences. scaled: columns of scores that are divided by a number, then added to
    another one, such as 100 and 0 for percentages. log_odds: columns of scores that are log odds
    after that, and are read as probabilities. calibrated: the recalibrated models, whose
    columns have their names, and are computed from scores as they are evaluated.
    """

    truth: str
    id: str | None = None
    models: tuple[ModelColumns, ...] = ()
    naming: str = ""
    answer: str = ""
    ignored: tuple[str, ...] = ()
    unused: Mapping[str, str] = field(default_factory=dict)  # why columns have no part
    facets: tuple[tuple[str, ...], ...] = ()  # columns that define slices, crossed if several
    weight: str | None = None
    run: str | None = None  # also in `by`: an observation occurs once in each run
    cluster: str | None = None
    null_values: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()
    fold: bool = False
    spelled: Mapping[str, CellReading] = field(default_factory=dict)
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of binned columns
    positive: str | None = None
    scaled: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    log_odds: frozenset[str] = frozenset()
    calibrated: Mapping[str, CalibratedColumn] = field(default_factory=dict)

    def sources(self, model: ModelColumns) -> tuple[str, ...]:
        """Return the columns of a model's predictions in the file."""
        if self.answer:
            return (self.answer,)
        calibrated = self.calibrated.get(model.name)
        return model.columns if calibrated is None else calibrated.sources

    def source(self, model: ModelColumns) -> str:
        """Return the column of a model's predictions in the file, the first of several."""
        return self.sources(model)[0]

    @property
    def computed(self) -> dict[str, CalibratedColumn]:
        """The columns that calibrators compute, one for each class if there are more than two."""
        computed = dict[str, CalibratedColumn]()
        for name, calibrated in self.calibrated.items():
            computed |= {
                column: CalibratedColumn(source, calibrated.stored, calibrated.file)
                for column, source in calibrated.class_columns.items()
            } or {name: calibrated}
        return computed

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

    def scale(self, column: str) -> tuple[float, float]:
        """Return what is added to the scores of a column, and before by what they are divided."""
        return self.scaled.get(column, AS_WRITTEN)

    def label(self, column: str, mode: Mode = "plain") -> CellReading:
        """Return how a column of labels is read."""
        return self.spelled.get(
            column, "folded" if self.fold else "bit" if mode == "fast" else "text"
        )

    def readings(self, mode: Mode) -> dict[str, CellReading]:
        """Return how every used column is read."""
        plain_number: CellReading = "loose" if mode == "loose" else "number"
        written_number: CellReading = "loose written" if mode == "loose" else "written"
        reading_of: dict[str, CellReading] = dict.fromkeys(self.constants, "text")
        reading_of |= {name: f"{BINS}{edges}" for name, edges in self.edges.items()}
        if self.truth:
            reading_of[self.truth] = self.label(self.truth, mode)
        if self.answer:
            reading_of |= dict.fromkeys((str(self.id), self.naming), "text")
        for model in self.models:
            for name in self.sources(model):
                if model.kind == "label":
                    reading_of[name] = self.label(name, mode)
                else:
                    reading_of[name] = written_number if name in self.written else plain_number
            if model.confidence:
                reading_of[str(model.label_column)] = self.label(str(model.label_column), mode)
        if self.weight:
            is_written = self.weight in self.written
            reading_of[self.weight] = written_number if is_written else plain_number
        return reading_of


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """The role of a column of a table, with the reason."""

    column: str
    role: str
    why: str


class OpenedTable(Protocol):
    """An opened table that describes how it was read."""

    def described(self) -> str:
        """Return one line on how the table was read."""

    def column_roles(self) -> Sequence[ColumnRole]:
        """Return the role of every column, with the reason."""
