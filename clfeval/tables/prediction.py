"""Prediction tables: the opened files, the roles of their columns, and the layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Any, Literal, cast

from clfeval.errors import DataError, bad_option, list_names, unknown_column
from clfeval.tables.cells import FRAME, known_labels, spell_as_truth
from clfeval.tables.column_names import refuse_decimal_commas
from clfeval.tables.csv import read_csv_head, skip_comments
from clfeval.tables.input import Input, Kind, match_names, parse_facets, refuse_ignored_columns
from clfeval.tables.invalid_cells import Check, Suspicion
from clfeval.tables.layouts import LayoutName, layouts
from clfeval.tables.lazy_imports import pl
from clfeval.tables.peek import ColumnPeek, ColumnRole, are_mostly_numbers, peek_columns
from clfeval.tables.row_selection import (
    filter_columns,
    filtered_rows,
    find_bin_edges,
    refuse_score_slices,
    refuse_train_and_test,
)
from clfeval.tables.run_files import run_files
from clfeval.tables.scan import (
    FILE_NAME,
    Frame,
    Reading,
    TableFile,
    check_names,
    file_of_frame,
    open_typed,
)
from clfeval.tables.source import SourceFile, open_sources, refuse_named_tables, table_paths
from clfeval.tables.unreadable_text import (
    check_same_columns,
    converting_engine_errors,
    title_error,
    with_delimiter_hint,
)

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
        loose = mode == "loose"

        def number(column: str) -> Reading:
            if column in self.written:
                return "loose written" if loose else "written"
            return "loose" if loose else "number"

        chosen: dict[str, Reading] = dict.fromkeys(self.constants, "text")
        chosen |= {name: cast(Reading, f"bins {edges}") for name, edges in self.edges.items()}
        if self.truth:
            chosen[self.truth] = self.label(self.truth, mode)
        if self.answer:
            chosen |= dict.fromkeys((str(self.id), self.naming), "text")
        for model in self.models:
            columns = (self.answer,) if self.answer else model.columns
            labels = model.kind == "label"
            chosen |= {n: self.label(n, mode) if labels else number(n) for n in columns}
        return chosen | ({self.weight: number(self.weight)} if self.weight else {})


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout of prediction tables, with the functions that read it.

    needs: required columns; lacking: the error without them. recognise: roles of columns, from the
    header and the first values, or None. rows: lazy frames with a row per observation and a column
    for each prediction; one per file, or one for all. checks: numbered rows and their checks.
    models: finds models in rows. expand: the predictions of rows that are 2 x 2 tables. asked:
    further choices of --layout for it. joined: from several files.
    """

    name: LayoutName
    needs: str
    lacking: str
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


@contextmanager
def open_files(tables: Any, said: Input) -> Iterator[tuple[TableFile, ...]]:
    """Open paths, or one data frame; all files must have the columns of the first."""
    paths = table_paths(tables)
    refuse_named_tables(tables)
    if not paths:
        yield (filtered_rows(file_of_frame(tables, FRAME), said.where),)
        return
    with open_sources(paths, said) as sources, converting_engine_errors(sources):
        files = tuple(map(open_source, sources))
        check_same_columns(files)
        yield tuple(filtered_rows(file, said.where) for file in files)


def open_source(source: SourceFile) -> TableFile:
    """Open a source as a table, with its header if it is text."""
    if not source.text:
        return open_typed(source)
    source = skip_comments(source)
    try:
        head = read_csv_head(source)
    except DataError as error:
        raise title_error(source) or error from error
    check_names(source.name, head.columns, row=head.header_row)
    return TableFile(source.name, head.columns, source, head=head)


def recognise(file: str, peeks: Mapping[str, ColumnPeek], roles: Input) -> tuple[Layout, Columns]:
    """Recognise the layout of a table, and the roles of its columns, from header and first rows."""
    columns = list(peeks)
    facets, asked = parse_facets(roles, columns), roles.by
    roles = replace(roles, by=tuple(dict.fromkeys(chain(*facets))))
    alone = {"truth": roles.truth, "id": roles.id, "weight": roles.weight, "cluster": roles.cluster}
    named: dict[str, Sequence[str | None]] = {f"--{one}": (name,) for one, name in alone.items()}
    named["--by"] = roles.by
    used = {*chain(*named.values()), *roles.model, roles.run}
    ignored = match_names(file, columns, roles.ignore, what="column")
    ignored += filter_columns(roles, peeks, (*used, *ignored))
    peeks = {name: column for name, column in peeks.items() if name not in ignored}
    refuse_ignored_columns(ignored, {**named, "--model": roles.model})
    for flag, name in ((flag, name) for flag, names in named.items() for name in names):
        if name is not None and name not in peeks and name != FILE_NAME:
            raise unknown_column(file, name, columns, flag)
    wanted = roles.layout
    for layout in layouts():
        if wanted not in (None, layout.name, *layout.asked):
            continue
        if (found := layout.recognise(file, peeks, roles)) is not None:
            few = found.truth in peeks and len(peeks[found.truth].texts) < 3
            for flag in ("--cluster", "--weight", "--id", *["--by"] * few):  # slices are classes
                if found.truth in named[flag]:
                    classes = "results of each class: add --show confusion"
                    raise bad_option(f"{flag} '{found.truth}' is the column of true labels",
                                     classes if flag == "--by" else None)  # fmt: skip
            for name in {*asked}:
                refuse_score_slices(name, peeks.get(name))
            if roles.decimal == ".":
                numbers = [name for one in found.models for name in one.columns]
                refuse_decimal_commas(file, [*numbers, found.answer], found.truth, peeks, roles)
            return layout, replace(
                found,
                facets=facets,
                weight=roles.weight,
                run=roles.run,
                cluster=roles.cluster,
                null_values=roles.null_value,
                fold=roles.fold_labels,
                ignored=(*found.ignored, *ignored),
                bits=_recoded_columns(found, peeks, roles),
                written=frozenset(
                    name
                    for name, column in peeks.items()
                    if column.percent or (roles.decimal == "," and not column.typed_number)
                ),
            )
    layout = next(layout for layout in layouts() if layout.name == wanted)
    what = f"{layout.lacking}; columns: {list_names(columns)}"
    hint = f"that layout needs columns such as {layout.needs}"
    raise DataError.new(what, "wrong-layout", file, hint=hint)


def _recoded_columns(
    columns: Columns, peeks: Mapping[str, ColumnPeek], roles: Input
) -> dict[str, Reading]:
    """Return the 0/1 columns of labels that truth spells differently, with truth's spelling."""
    if columns.truth not in peeks:
        return {}
    labels = [name for one in columns.models if one.kind == "label" for name in one.columns]
    labels += [one.beside for one in columns.models if one.beside]
    labels += [columns.answer] if columns.answer and roles.kind != "score" else []
    classes = known_labels(peeks[columns.truth].texts, roles)
    found = {name: spell_as_truth(peeks[name].texts, classes) for name in labels}
    return {name: cast(Reading, "/".join(pair)) for name, pair in found.items() if pair}


KINDS = {"label": "labels", "score": "scores", "classes": "class probabilities"}


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
        named = {"truth": columns.truth or None, "ids": ids, "clusters": columns.cluster,
                 "weights": columns.weight, "models": columns.naming or None,
                 "predictions": (columns.naming and columns.answer) or None}  # fmt: skip
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

    def taken(self) -> list[ColumnRole]:
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
                known.setdefault(name, (what, _kind_of(model, roles)))
        said = dict.fromkeys(columns.ignored, ("left out", "--ignore"))
        return [
            ColumnRole(
                name, *known.get(name) or said.get(name) or ("not used", "no option names it")
            )
            for name in self.files[0].columns
        ]


def _kind_of(model: ModelColumns, roles: Input) -> str:
    """Return the reason why a column is a model's."""
    if model.kind == "classes":
        return "its name contains a class"
    if roles.kind:
        return "--kind"
    return "its values are truth's labels" if model.kind == "label" else "its values are numbers"


@contextmanager
def open_predictions(
    tables: Any, roles: Input, *, keep_counts: bool = False
) -> Iterator[Predictions]:
    """Open paths, or one data frame, as a prediction table.

    A counts table of one model becomes weighted predictions, unless `keep_counts`: then the layout
    is `counts`, for `read_confusions`. With `join` the files become one table.
    """
    roles = roles.folded()
    if roles.join is not None:
        from clfeval.tables.join import open_joined

        with open_joined(tables, roles) as whole:
            yield whole
        return
    with open_files(tables, roles) as files:
        files = run_files(files) if roles.run == FILE_NAME else files
        found = _recognise_predictions(files, roles)
        expand = found.layout.expand
        if expand is not None and not keep_counts:
            if len(files) > 1:
                raise DataError.new("more than one counts table", "several-counts", files[1].name)
            file, roles = expand(files[0], found.columns.naming, roles)
            found = _recognise_predictions((file,), roles)
        yield found


def _recognise_predictions(files: tuple[TableFile, ...], roles: Input) -> Predictions:
    peeks = peek_columns(files[0], roles.null_value, roles.decimal, fold=roles.fold_labels)
    if not roles.model:
        refuse_train_and_test(files, peeks, roles)
    try:
        layout, columns = recognise(files[0].name, peeks, roles)
    except DataError as error:
        raise with_delimiter_hint(files[0], error) from error
    peeks |= {name: peeks[name].in_bits(pair) for name, pair in columns.bits.items()}
    edges = find_bin_edges(files, roles.by, files[0].columns, roles.null_value)
    return Predictions(files, layout, replace(columns, edges=edges), peeks, roles)
