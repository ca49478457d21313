"""Columns of a table: their roles, what a first look at their values says, opened predictions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, Literal, Protocol, cast

from clfeval.errors import list_names
from clfeval.records import dataclass, field, replace
from clfeval.tables.column_guesses import spell_as_truth
from clfeval.tables.csv import SAMPLE_ROWS
from clfeval.tables.frames import (
    Frame,
    as_text,
    collect,
    engine_errors,
    nw,
    pl,
    unreadable_frame_error,
)
from clfeval.tables.input import Input, Kind, LayoutName
from clfeval.tables.invalid_cells import Check, Suspicion
from clfeval.tables.scan import Reading, TableFile, unreadable_error

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
    if not strange or not column.mostly_numeric:
        return "label"
    return "score" if column.all_numbers or are_mostly_numbers(strange) else "label"


_NUMBER = r"(?:0|-?(?:[1-9]\d*|(?:0|[1-9]\d*)\.\d*|\.\d+)(?:[eE][+-]?\d+)?|-?inf|nan|NaN)"
_SCORE = rf"(?a){_NUMBER}"
_SCORES = rf"(?a)(?:{_NUMBER}\n)*+{_NUMBER}"  # one a line
FIRST = 30  # values kept in row order
_PERCENT = re.compile(r"-?\d+(?:[.,]\d+)?\s*%")
_COMMA = re.compile(r"-?\d+,\d+(?:\s*%)?")


@dataclass(frozen=True, slots=True)
class ColumnPeek:
    """The distinct values of a column's sample, as text.

    typed_number: of a numeric type. percent: most values have a percent sign, and are divided by
    100. commas: most have an undeclared decimal comma. distinct: no value is repeated. first: the
    first values in order, None where missing. all_numbers: every value is a number.
    """

    texts: frozenset[str]
    typed_number: bool = False
    percent: bool = False
    commas: bool = False
    distinct: bool = False
    mostly_numeric: bool = False
    first: tuple[str | None, ...] = ()
    all_numbers: bool = False

    @classmethod
    def from_column(
        cls, column: Sequence[str | None], decimal: str, *, typed_number: bool = False
    ) -> ColumnPeek:
        """Build the peek of a column from its texts."""
        values = [text for text in column if text is not None]
        texts, first = frozenset(values), tuple(column[:FIRST])
        distinct = len(values) == len(texts) > 1
        if typed_number:
            return cls(
                texts,
                typed_number,
                distinct=distinct,
                mostly_numeric=True,
                first=first,
                all_numbers=True,
            )
        percent = _most_match(_PERCENT, "%", texts)
        commas = decimal == "." and _most_match(_COMMA, ",", texts)
        if percent or decimal == ",":
            texts = frozenset(map(_plain_number, texts))
            first = tuple(text and _plain_number(text) for text in first)
        numbers = count_numbers(texts)
        return cls(
            texts,
            percent=percent,
            commas=commas,
            distinct=distinct,
            mostly_numeric=2 * numbers > len(texts),
            first=first,
            all_numbers=numbers == len(texts),
        )

    def in_bits(self, pair: str) -> ColumnPeek:
        """Return the peek with 0/1 values spelled as a pair such as `False/True`."""
        no, yes = pair.split("/")
        written = {text: yes if text.casefold() in ("1", "true") else no for text in self.texts}
        first = tuple(text and written.get(text, text) for text in self.first)
        texts = frozenset(written.values())
        return replace(self, texts=texts, first=first, all_numbers=False)

    @property
    def is_binary(self) -> bool:
        """True if every value is 0 or 1."""
        return not self.typed_number and bool(self.texts) and self.texts <= {"0", "1"}

    @property
    def is_integer(self) -> bool:
        """True if all values are whole numbers."""
        return all(is_score(text) and float(text) % 1 == 0 for text in self.texts)

    @property
    def is_nonnegative(self) -> bool:
        """True if no number is negative."""
        return all(float(text) >= 0 for text in self.texts if is_score(text))

    @property
    def shares(self) -> bool:
        """True if all numbers lie between 0 and 1."""
        return all(0 <= float(text) <= 1 for text in self.texts if is_score(text))

    @property
    def classes(self) -> bool:
        """True if the values may be classes: texts, or whole numbers."""
        return all(not is_score(text) or float(text) % 1 == 0 for text in self.texts)


def are_mostly_numbers(texts: Collection[str]) -> bool:
    """Return whether most texts are numbers: a bad cell does not turn scores into labels."""
    return 2 * count_numbers(texts) > len(texts)


def count_numbers(texts: Collection[str]) -> int:
    """Return how many texts are numbers: by one match of all, or else by one of each."""
    lines = "\n".join(texts)
    if lines.count("\n") == len(texts) - 1 and re.fullmatch(_SCORES, lines):
        return len(texts)
    return sum(map(is_score, texts))


def _most_match(written: re.Pattern[str], sign: str, texts: Collection[str]) -> bool:
    """Return whether most texts match a pattern, in each of whose matches a sign stands."""
    return sum(sign in text and bool(written.fullmatch(text)) for text in texts) * 2 > len(texts)


def _plain_number(text: str) -> str:
    """Return a number with a decimal comma or a percent sign as a plain one, other texts as is."""
    if not (_COMMA.fullmatch(text) or _PERCENT.fullmatch(text)):
        return text
    bare = text.rstrip("% ").replace(",", ".")
    return repr(float(f"{bare}e-2")) if text.endswith("%") else bare


def peek_columns(
    file: TableFile, null_values: Sequence[str] = (), decimal: str = ".", *, fold: bool = False
) -> dict[str, ColumnPeek]:
    """Return the peek of each column; fold: in lower case and stripped. Raises DataError."""
    without = set(null_values)
    if file.head is not None:
        sample = file.head.sample
        columns = zip(*sample, strict=True) if sample else [()] * len(file.columns)
        found = {
            name: ([None if v in without else v for v in values], False)
            for name, values in zip(file.columns, columns, strict=True)
        }
    else:
        assert file.native is not None
        try:
            native = file.native.head(SAMPLE_ROWS)
            if native.implementation.is_duckdb():  # some types, and infinite dates, are its own
                kinds = native.collect_schema()
                odd = [
                    name
                    for name, kind in kinds.items()
                    if not (kind.is_numeric() or kind.is_nested()) and kind != nw.Boolean
                ]
                native = native.with_columns(nw.col(name).cast(nw.String) for name in odd)
            frame = collect(native)
        except engine_errors() as error:
            if file.source is None:
                raise unreadable_frame_error(file.name, error) from error
            raise unreadable_error(file.name, file.source.format, error) from error
        found = {
            name: (_texts(frame[name].to_list(), without), frame.schema[name].is_numeric())
            for name in file.columns
        }
    return {
        name: ColumnPeek.from_column(
            [text and text.strip().lower() for text in values] if fold else values,
            decimal,
            typed_number=typed,
        )
        for name, (values, typed) in found.items()
    }


def _texts(values: Sequence[Any], without: Collection[str]) -> list[str | None]:
    """Return values as texts; none for lists and objects."""
    if any(isinstance(value, (list, dict)) for value in values[:1]):
        return []
    floats = {*map(type, values)} == {float}  # faster for many numbers
    texts = (str(v) if v == v else None for v in values) if floats else map(as_text, values)
    return [None if text in without else text for text in texts]


def is_score(text: str) -> bool:
    """Return whether text is a number as programs write it: `0.3`, `-2`, `1e-5`; not `01`, ` 1`."""
    return bool(re.fullmatch(_SCORE, text))


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


Facts = Mapping[str, object]  # counts of rows, models, classes etc. by name
KINDS = {"label": "labels", "score": "scores", "classes": "class probabilities"}
WHY = {
    "label": "its values are truth's labels",
    "score": "its values are numbers",
    "classes": "its name contains a class",
}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files with the same columns, and the layout recognised in the first."""

    files: tuple[TableFile, ...]
    layout: Layout
    columns: Columns
    peeks: Mapping[str, ColumnPeek]
    roles: Input
    joined: str = ""  # what was joined, and how

    def described(self) -> str:
        """Return one line on how the table was read."""
        columns = self.columns
        left = len(self.files) - 1
        files = self.files[0].name + f" and {left:,} more file{'s' * (left > 1)}" * bool(left)
        ids = None if self.joined else columns.id
        named = {
            "truth": columns.truth or None,
            "ids": ids,
            "clusters": columns.cluster,
            "weights": columns.weight,
            "models": columns.naming or None,
            "predictions": (columns.naming and columns.answer) or None,
        }
        places = [f"{what} in '{name}'" for what, name in named.items() if name is not None]
        parts = [self.joined or f"{files}: {self.layout.name} table", ", ".join(places)]
        for kind, what in KINDS.items():
            names = [model.name for model in columns.models if model.kind == kind]
            if names:
                parts.append(f"{what} of {list_names(names)}")
        for pair in dict.fromkeys(columns.bits.values()):
            alike = list_names(name for name, one in columns.bits.items() if one == pair)
            no, yes = pair.split("/")
            given = "false and true" if yes in ("1", "1.0") else "0 and 1"
            parts.append(f"{given} of {alike} read as '{no}' and '{yes}'")
        if columns.ignored:
            parts.append(f"ignored {list_names(columns.ignored)}")
        return "; ".join(parts)

    def column_roles(self) -> list[ColumnRole]:
        """Return the role of every column of the files, with the reason."""
        columns, roles = self.columns, self.roles
        known: dict[str | None, tuple[str, str]] = {
            columns.truth: ("truth", "--truth" if roles.truth else "its name"),
            columns.id: ("id", "--join" if self.joined else "--id" if roles.id else "its name"),
            columns.naming: ("model names", "its name"),
            columns.answer: ("predictions", "its name"),
            columns.weight: ("weight", "--weight"),
            columns.cluster: ("cluster", "--cluster"),
            **dict.fromkeys(columns.by, ("slice" if columns.run is None else "run", "--by")),
        }
        for model in columns.models:
            if model.beside:
                known[model.beside] = (f"labels of '{model.name}'", "its name")
            for name, label in zip_longest(model.columns, model.classes):
                what = f"{KINDS[model.kind]} of '{model.name}'"
                if label is not None:
                    what = f"probability of '{label}' by '{model.name}'"
                classes = model.kind == "classes"
                why = "--kind" if roles.kind and not classes else WHY[model.kind]
                known.setdefault(name, (what, why))
        said = dict.fromkeys(columns.ignored, ("left out", "--ignore"))
        other = ("not used", "no option names it")
        names = self.files[0].columns
        return [ColumnRole(name, *known.get(name) or said.get(name, other)) for name in names]
