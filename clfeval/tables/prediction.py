"""Prediction tables: the opened files, their layout, and how each column is to be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw

from clfeval.errors import DataError, Problem, listing, no_table, unknown_column
from clfeval.tables.confusion import expand_counts
from clfeval.tables.csv import one_column_hint, read_csv_head
from clfeval.tables.names import (
    COUNT_NAMES,
    ID_NAMES,
    LONG_TRUTH_NAMES,
    MODEL_NAMES,
    PREDICTION_NAMES,
    TRUTH_NAMES,
    find,
    known_labels,
    match_names,
)
from clfeval.tables.peek import Peek, peek
from clfeval.tables.roles import Kind, LayoutName, Roles
from clfeval.tables.scan import (
    ENGINE_ERRORS,
    FILE_NAME,
    TableFile,
    check_names,
    open_typed,
    unreadable,
)
from clfeval.tables.source import open_sources

FRAME = "<frame>"


@contextmanager
def open_files(
    tables: Any, *, input_format: str | None = None, delimiter: str | None = None
) -> Iterator[tuple[TableFile, ...]]:
    """Open a list of paths, or one data frame; all files must have the columns of the first.

    Temporary copies of pipes and packed files live as long as the block.
    """
    if not isinstance(tables, (list, tuple)):
        try:
            frame = nw.from_native(tables).lazy()
        except TypeError as error:
            raise no_table(tables) from error
        columns = tuple(frame.collect_schema().names())
        check_names(FRAME, columns)
        yield (TableFile(FRAME, columns, native=frame),)
        return
    with open_sources(tables, input_format=input_format, delimiter=delimiter) as sources:
        files = []
        for source in sources:
            if source.text:
                head = read_csv_head(source)
                check_names(source.name, head.columns, row=head.header_row)
                files.append(TableFile(source.name, head.columns, source, head=head))
            else:
                files.append(open_typed(source))
        _check_same_columns(files)
        yield tuple(files)


def _check_same_columns(files: Sequence[TableFile]) -> None:
    first = files[0]
    for other in files[1:]:
        ours, theirs = set(first.columns), set(other.columns)
        missing = [name for name in first.columns if name not in theirs]
        extra = [name for name in other.columns if name not in ours]
        if missing or extra:
            parts = [f"has no column {listing(missing)}"] if missing else []
            parts += [f"has columns {first.name} has not: {listing(extra)}"] if extra else []
            raise DataError(
                Problem("; ".join(parts), "different-columns", other.name),
                hint="files read together need one set of columns",
            )


def peek_at(file: TableFile, null_values: Sequence[str]) -> Mapping[str, Peek]:
    """Look at each column's first values; raises DataError when the file's reader refuses."""
    try:
        return peek(file, null_values)
    except ENGINE_ERRORS as error:
        if file.source is None:
            raise
        raise unreadable(file.source, error) from error


def with_delimiter_hint(file: TableFile, error: DataError) -> DataError:
    """Return the error with a better hint when the table seems to have another delimiter."""
    hint = None
    if file.source and file.source.text:
        hint = one_column_hint(file.columns, file.source.delimiter)
    return DataError(error.problems, hint=hint or error.hint)


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
class Layout:
    """The recognised layout: which column is truth, id and model."""

    name: LayoutName
    truth: str
    id: str | None
    models: tuple[ModelColumns, ...] = ()
    model_column: str = ""  # long and counts: the column with the models' names
    prediction: str = ""  # long: the column with what they said
    ignored: tuple[str, ...] = ()


def recognise(file: str, peeks: Mapping[str, Peek], roles: Roles) -> Layout:
    """Recognise the layout of a table from its header and first rows."""
    columns = list(peeks)
    for name in (roles.truth, roles.id, roles.weight, *roles.by):
        if name is not None and name not in peeks and name != FILE_NAME:
            raise unknown_column(file, name, columns)
    model = find(columns, MODEL_NAMES)
    wanted = roles.layout
    if model and not roles.truth and (wanted in (None, "counts")):
        counts = [find(columns, (name,)) for name in COUNT_NAMES]
        if all(counts):
            return Layout("counts", "", None, model_column=model)
    prediction = find([name for name in columns if name != roles.truth], PREDICTION_NAMES)
    truth = roles.truth or find(columns, LONG_TRUTH_NAMES)
    if wanted in (None, "long") and model and prediction and truth and truth != prediction:
        return _long(file, columns, roles, truth, model, prediction)
    if wanted in ("long", "counts"):
        needs = "model, tp, fp, fn, tn" if wanted == "counts" else "id, model, prediction, truth"
        raise DataError(
            Problem(f"no {wanted} table: columns {listing(columns)}", "wrong-layout", file),
            hint=f"that layout needs columns like {needs}",
        )
    return _wide(file, peeks, roles)


def _long(
    file: str, columns: list[str], roles: Roles, truth: str, model: str, prediction: str
) -> Layout:
    row_id = roles.id or find(columns, ID_NAMES)
    if row_id is None:
        raise DataError(
            Problem("a long table needs a column that names the observation", "no-id", file),
            hint="name it with --id COLUMN",
        )
    return Layout("long", truth, row_id, model_column=model, prediction=prediction)


def _wide(file: str, peeks: Mapping[str, Peek], roles: Roles) -> Layout:
    columns = list(peeks)
    truth = roles.truth or find(columns, TRUTH_NAMES)
    if truth is None:
        raise DataError(
            Problem(f"no truth column; columns: {listing(columns)}", "no-truth", file),
            hint="name it with --truth COLUMN",
        )
    row_id = roles.id or find([name for name in columns if name != truth], ID_NAMES)
    taken = {truth, row_id, roles.weight, *roles.by, ""}
    free = [name for name in columns if name not in taken]
    labels = frozenset(known_labels(peeks[truth].texts, roles))
    models = [_ordered(m, roles.labels) for m in _models(free, peeks, labels, roles.kind)]
    name: LayoutName = "wide"
    if roles.layout == "probabilities" and all(model.kind != "classes" for model in models):
        raise DataError(
            Problem(f"no class probabilities: columns {listing(columns)}", "wrong-layout", file),
            hint="that layout needs columns like rf:cat, .pred_cat or prob_cat for truth's classes",
        )
    ignored: tuple[str, ...] = ()
    if any(model.kind == "classes" for model in models):
        name = "probabilities"
        # tidymodels writes the hard label beside the probabilities it comes from
        ignored = tuple(m.name for m in models if m.name == ".pred_class")
        models = [m for m in models if m.name not in ignored or m.name in roles.models]
    models = select_models(file, models, roles.models)
    if not models:
        raise DataError(
            Problem(f"no model columns; columns: {listing(columns)}", "no-models", file),
            hint="a wide table has one column per model beside the truth",
        )
    return Layout(name, truth, row_id, tuple(models), ignored=ignored)


def _models(
    free: list[str], peeks: Mapping[str, Peek], classes: frozenset[str], kind: Kind | None
) -> list[ModelColumns]:
    """Fold probability columns into models; every other column is a model of its own."""
    sets: dict[str, list[tuple[str, str]]] = {}
    for name in free:
        split = _probability_name(name, classes) if peeks[name].mostly_numeric else None
        if split:
            sets.setdefault(split[0], []).append((name, split[1]))
    folded = {
        column: model
        for model, pairs in sets.items()
        if _binds(pairs, classes)
        for column, _ in pairs
    }
    models: dict[str, ModelColumns] = {}
    for name in free:
        if name in folded:
            model = folded[name]
            pairs = sets[model]
            models[model] = ModelColumns(
                model, "classes", tuple(c for c, _ in pairs), tuple(c for _, c in pairs)
            )
        else:
            models[name] = ModelColumns(name, kind or guess_kind(peeks[name], classes), (name,))
    return list(models.values())


def _ordered(model: ModelColumns, labels: tuple[str, ...]) -> ModelColumns:
    """Put the class columns in the declared order: the first of equal probabilities wins."""
    if model.kind != "classes" or not labels:
        return model
    pairs = sorted(
        zip(model.columns, model.classes, strict=True),
        key=lambda pair: labels.index(pair[1]) if pair[1] in labels else len(labels),
    )
    columns, classes = zip(*pairs, strict=True)
    return replace(model, columns=columns, classes=classes)


def guess_kind(column: Peek, classes: frozenset[str]) -> Kind:
    """Labels when the values are truth's labels, scores when they are numbers, else labels.

    One bad cell among numbers leaves them numbers, and one odd cell among labels (`01`) labels.
    """
    strange = Peek(column.texts - classes, column.typed_number)
    if column.texts <= classes or not strange.mostly_numeric:
        return "label"
    return "score" if column.mostly_numeric else "label"


def _probability_name(name: str, classes: Iterable[str]) -> tuple[str, str] | None:
    """Split `.pred_<class>`, `prob_<class>` or `<model>:<class>` into model and class."""
    for prefix in (".pred_", "prob_"):
        if name.startswith(prefix):
            return prefix.strip("._"), name.removeprefix(prefix)
    for label in sorted(classes, key=len, reverse=True):
        if name.endswith(f":{label}") and name != f":{label}":
            return name.removesuffix(f":{label}"), label
    model, colon, label = name.rpartition(":")
    return (model, label) if colon and model and label else None


def _binds(pairs: Sequence[tuple[str, str]], classes: frozenset[str]) -> bool:
    return any(label in classes for _, label in pairs)


def select_models(
    file: str, models: Sequence[ModelColumns], patterns: Sequence[str]
) -> list[ModelColumns]:
    """Keep the models named exactly or by glob, in the order asked for; all without patterns."""
    if not patterns:
        return list(models)
    names = match_names(file, [model.name for model in models], patterns)
    return [next(model for model in models if model.name == name) for name in names]


KINDS = {"label": "labels", "score": "scores", "classes": "class probabilities"}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files of one schema with the layout recognised in the first."""

    files: tuple[TableFile, ...]
    layout: Layout
    peeks: dict[str, Peek]
    roles: Roles

    @property
    def columns_used(self) -> list[str]:
        """Every column the counts need, each once."""
        layout = self.layout
        names = [layout.truth, *(self.roles.by)]
        if self.roles.weight:
            names.append(self.roles.weight)
        if layout.name == "long":
            names += [str(layout.id), layout.model_column, layout.prediction]
        else:
            names += [column for model in layout.models for column in model.columns]
        return list(dict.fromkeys(names))

    def described(self) -> str:
        """Say in one line how the table was read."""
        layout = self.layout
        parts = [f"{self.files[0].name}: {layout.name}"]
        if layout.name == "counts":
            parts.append(f"models in '{layout.model_column}'")
        else:
            parts.append(f"truth '{layout.truth}'")
        if len(self.files) > 1:
            parts[0] = f"{len(self.files)} files like {parts[0]}"
        if layout.id is not None:
            parts.append(f"id '{layout.id}'")
        if layout.name == "long":
            parts.append(f"models in '{layout.model_column}', answers in '{layout.prediction}'")
        for kind in ("label", "score", "classes"):
            names = [model.name for model in layout.models if model.kind == kind]
            if names:
                parts.append(f"{KINDS[kind]} of {listing(names)}")
        if layout.ignored:
            parts.append(f"ignored {listing(layout.ignored)}")
        return "; ".join(parts)


@contextmanager
def open_predictions(
    tables: Any,
    roles: Roles,
    *,
    input_format: str | None = None,
    delimiter: str | None = None,
    keep_counts: bool = False,
) -> Iterator[Predictions]:
    """Open a list of paths, or one data frame, as a prediction table.

    A counts table of one model becomes the predictions it counts, unless `keep_counts`: then the
    layout is `counts`, for `read_confusions`.
    Temporary copies of pipes and packed files live as long as the block.
    """
    with open_files(tables, input_format=input_format, delimiter=delimiter) as files:
        yield _recognised(files, roles, keep_counts=keep_counts)


def _recognised(
    files: tuple[TableFile, ...], roles: Roles, *, keep_counts: bool = False
) -> Predictions:
    first = files[0]
    peeks = dict(peek_at(first, roles.null_values))
    try:
        layout = recognise(first.name, peeks, roles)
    except DataError as error:
        raise with_delimiter_hint(first, error) from error
    if layout.name == "counts" and not keep_counts:
        if len(files) > 1:
            raise DataError(Problem("one counts table at a time", "several-counts", files[1].name))
        file, roles = expand_counts(first, layout.model_column, roles)
        return _recognised((file,), roles)
    return Predictions(files, layout, peeks, roles)
