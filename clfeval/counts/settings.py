"""Settings of a pass over the rows: fingerprints, models, kinds, thresholds, positive class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from math import isnan
from typing import Any, TypeAlias

from clfeval.counts.ambiguous_labels import (
    check_labels_most_probable,
    refuse_similar_labels,
    threshold_from_labels,
)
from clfeval.document import InputFile
from clfeval.errors import DataError, format_option, join_texts, list_names, suggestion
from clfeval.formatting import format_count
from clfeval.records import dataclass, replace
from clfeval.tables.column_guesses import (
    default_positive,
    guess_positive,
    known_labels,
    missing_word_hint,
)
from clfeval.tables.columns import ColumnPeek, Columns, Layout, ModelColumns, Predictions, is_score
from clfeval.tables.csv import FingerprintTask, inspect_structure, start_fingerprint
from clfeval.tables.engines import counts_only
from clfeval.tables.frames import as_text, collect, natural_sort_key, nw, pl, unreadable_frame_error
from clfeval.tables.input import Input, Kind
from clfeval.tables.invalid_cells import numbered_rows
from clfeval.tables.scan import (
    NO_TAIL,
    TEXT_BYTES,
    TableFile,
    count_distinct_values,
    scan,
    unreadable_error,
)

MOST_CLASSES = 1000
MAX_NUMERIC_CLASSES = 20  # more distinct fractions, or numbers with scores, are not classes
MISSING_CODES = ("-1", "-9", "-99", "-999", "99", "999")  # next to other classes
OFTEN, MOST_DECLARED = 5, 10  # rows of a label that is no typo; labels that are no free text


def resolve_positive(
    file: str, classes: Mapping[str, int], roles: Input, models: Iterable[ModelColumns] = ()
) -> str:
    """Return the positive class: the declared one, or 1 / true of a 0 / 1 or false / true truth.

    If none is needed (see `is_multiclass`) the first that all models can predict; classes: counts.
    """
    if roles.positive is not None:
        if roles.positive not in {*classes, *roles.classes} and len(classes) > 1:
            what = f"truth has no class '{roles.positive}'; its classes are {list_names(classes)}"
            hint = suggestion(roles.positive, classes)
            raise DataError.new(what, "unknown-positive", file, hint=hint)
        return roles.positive
    if is_multiclass(classes, roles, models):
        columns = [model.classes for model in models if model.kind == "classes"]
        lacking = {name: sum(name not in one for one in columns) for name in classes}
        return min(classes, key=lambda name: (lacking[name], natural_sort_key(name)))
    default = default_positive(classes)
    if default is not None:
        return default
    rows = [f"'{name}' ({format_count(count, 'row')})" for name, count in classes.items()]
    codes = [name for name in classes if len(classes) > 2 and name in MISSING_CODES]
    likely = {name: n for name, n in classes.items() if name not in codes}
    guess, _ = guess_positive(likely or classes)
    what = f"which class is positive? truth has {join_texts(rows)}"
    hint = f"add {format_option('--positive', guess, bare=True)} if '{guess}' is the class to "
    hint += "detect; all other classes are then negative"
    fixes = {"positive": guess}
    if codes:
        null = format_option("--null-value", codes[0], bare=True)
        hint, fixes = f"if '{codes[0]}' means missing, add {null}; otherwise {hint}", {}
    raise DataError.new(what, "positive-needed", file, hint=hint, fixes=fixes)


def refuse_truth_of_values(
    file: str, truth: str, rows: Mapping[str, int], roles: Input, *, scored: bool
) -> None:
    """Raise for a truth of many distinct numbers, as in regression, of ids, or of many classes.

    rows: of each value. scored: models predict fractions.
    """
    numbers = [float(name) for name in rows if is_score(name)]
    many = scored or 2 * sum(number % 1 != 0 for number in numbers) > MAX_NUMERIC_CLASSES
    hint = None
    if roles.positive is None and len(numbers) == len(rows) > MAX_NUMERIC_CLASSES and many:
        what = f"truth has {len(rows):,} different numbers, but clfeval evaluates classifiers"
        hint = "replace the numbers with classes, such as 1 at or above a threshold and 0 below"
        raise DataError.new(what, "truth-of-numbers", file, None, truth, hint=hint)
    if roles.positive is not None or {*rows} <= {*roles.classes}:
        return
    if len(rows) > MAX_NUMERIC_CLASSES and max(rows.values()) == 1:
        what = f"each of its {len(rows):,} values occurs once: is it an id?"
        raise DataError.new(what, "truth-of-ids", file, None, truth, hint="add --truth COLUMN")
    if len(rows) > MOST_CLASSES:
        what = f"truth has {len(rows):,} classes"
        hint = f"use a column with at most {MOST_CLASSES:,} classes, or merge rare classes"
        raise DataError.new(what, "too-many-classes", file, None, truth, hint=hint)


def is_multiclass(
    classes: Iterable[str], roles: Input, models: Iterable[ModelColumns] = ()
) -> bool:
    """Return whether truth, --classes and probability columns have more than two classes in all.

    False if a positive class is declared, or a model has one score per row.
    """
    if not roles.several or roles.positive is not None:
        return False
    if any(model.kind == "score" for model in models):
        return False
    named = {*classes, *roles.classes}
    return len(named.union(*(model.classes for model in models if model.kind == "classes"))) > 2


def raw_values_of(values: Iterable[Any], label: str) -> tuple[Any, ...]:
    """Return the distinct raw values whose text is the label."""
    return tuple(value for value in set(values) if as_text(value) == label)


Tasks: TypeAlias = "Sequence[FingerprintTask | None]"


def start_fingerprints(files: Sequence[TableFile]) -> tuple[FingerprintTask | None, ...]:
    """Start hashing the bytes of every file, of joined ones each, in parallel with the counting."""
    sources = [part.source for file in files for part in file.files]
    return tuple(start_fingerprint(source) if source else None for source in sources)


def input_file(
    file: TableFile, task: FingerprintTask | None, rows: int, dropped: int = 0
) -> InputFile:
    """Return the record of an input file: its name, hash, and rows used and dropped."""
    return InputFile(file.display_name, task.result().sha256 if task else None, rows, dropped)


def check_structure(
    files: Sequence[TableFile], tasks: Tasks, *, short_rows: bool | None = None
) -> None:
    """Raise for ragged rows, NUL bytes and wrong encodings.

    `short_rows`: whether some row lacks its last field; None if unknown.
    """
    parts = [part for file in files for part in file.files]
    for file, task in zip(parts, tasks, strict=False):
        if file.head is None or file.source is None or task is None:
            continue
        seen, short = task.result(), short_rows
        # without quotes every line must have this many delimiters
        ragged = not seen.quotes and seen.delimiters != seen.lines * (len(file.columns) - 1)
        suspect = seen.damaged or ragged
        if not suspect and short is None:
            marks = nw.col(NO_TAIL, TEXT_BYTES).sum()
            short = bool(collect(scan(file, {}, watch=True).select(marks))[NO_TAIL].item())
        if suspect or (seen.quotes and short):
            inspect_structure(file.source, file.columns)


def convert_read_error(files: Sequence[TableFile], error: Exception) -> DataError:
    """Convert a reader's error into one with the invalid rows, or with the file and the reason."""
    for part in (part for file in files for part in file.files):
        if part.head and part.source:
            inspect_structure(part.source, part.columns)
    if files[0].source:
        return unreadable_error(files[0].name, files[0].source.format, error)
    return unreadable_frame_error(files[0].name, error)


@dataclass(frozen=True, slots=True)
class CountSettings:
    """Settings for counting a table: how columns are read, and the positive class.

    thresholds: per model; NaN means the most probable class.
    classes: truth's labels, if known. strange: per label model, first values that are neither
    labels nor numbers. reread: models whose first rows looked like labels and which hold scores.
    related: of models with labels and scores, the range (low, high] of thresholds that give the
    labels, or None. unit: units per weight of 1; rounding: largest relative error of a weight.
    """

    columns: Columns
    positive: str
    thresholds: Mapping[str, float]
    roles: Input
    layout: Layout
    files: tuple[TableFile, ...]
    tasks: Tasks
    peeks: Mapping[str, ColumnPeek]
    classes: tuple[str, ...] = ()
    strange: Mapping[str, frozenset[str]] | None = None
    reread: frozenset[str] = frozenset()
    related: Mapping[str, tuple[float, float]] | None = None
    unit: float = 1
    rounding: float = 0.0

    @property
    def name(self) -> str:
        """Name of the table in messages."""
        return self.files[0].name

    @property
    def weighed(self) -> bool:
        """True if rows have sampling weights and no clusters: variances need their squares."""
        return self.unit != 1 and self.columns.cluster is None

    def column(self, name: str) -> str:
        """Return the column with the predictions of a model."""
        models = self.columns.models
        return next(self.columns.source(model) for model in models if model.name == name)

    def format_like_column(self, model: ModelColumns, *values: float) -> list[str]:
        """Format numbers like the column of a model's predictions, with its percent signs."""
        if self.peeks[self.columns.source(model)].percent:
            return [f"{100 * value:g}%" for value in values]
        return [f"{value:g}" for value in values]

    @property
    def predicted(self) -> frozenset[str]:
        """Labels that models predict in the first rows."""
        labels = (self.texts(model) for model in self.columns.models if model.kind == "label")
        return frozenset().union(*labels)

    def texts(self, model: ModelColumns) -> frozenset[str]:
        """Return the distinct values of a model's predictions in the first rows."""
        return self.peeks[self.columns.source(model)].texts

    @property
    def numbers_rows(self) -> bool:
        """True if rows have numbers: not those of Spark."""
        return not counts_only(self.files[0].native, Input())

    def numbered_rows(self, *columns: str, **named: pl.Expr) -> pl.LazyFrame:
        """Return columns of the rows of all files, with their numbers; of Spark of the first rows.

        See `numbered_rows`.
        """
        nulls = self.columns.null_values
        frames = [numbered_rows(file, nulls, first=True) for file in self.files]
        return pl.concat([frame.select(*columns, **named) for frame in frames])

    def refuse_similar_labels(
        self, rows: Mapping[str, int], unknown: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """Raise for labels that differ only in case or spaces; unknown: labels not in truth."""
        others = {self.column(model): labels for model, labels in (unknown or {}).items()}
        columns = self.columns
        refuse_similar_labels(
            self.name, columns.truth, rows, self.roles, columns.models, others, self.predicted
        )


def resolve_settings(opened: Predictions) -> CountSettings:
    """Resolve settings that the first rows leave open, reading the whole truth column if needed."""
    files, columns, roles = opened.files, opened.columns, opened.roles
    if opened.layout.models is not None:
        columns = opened.layout.models(files, columns, opened.peeks, roles)
    found = opened.peeks[columns.truth].texts
    positive = roles.positive or default_positive(found)
    # with more than two classes the most probable is predicted, unless a threshold is given
    thresholds = {model.name: roles.threshold_of(model.name) for model in columns.models}
    for model in columns.models:
        if len(model.columns) > 2 and not roles.has_threshold(model.name):
            thresholds[model.name] = float("nan")
    opening = (opened.layout, files, start_fingerprints(files), opened.peeks)
    settled = CountSettings(columns, str(positive), thresholds, roles, *opening)
    # scores that are integers may be classes that truth lacks in its first rows
    scored = [one for one in columns.models if one.kind == "score" and not roles.kind]
    texts = {one.name: settled.texts(one) for one in scored}
    unsure = {
        name: some
        for name, some in texts.items()
        if all(is_score(text) and float(text) % 1 == 0 for text in some)
    }
    if positive and not (unsure or _strange_values(settled, tuple(found))):
        return settled
    reading = columns.readings("plain")[columns.truth]
    everywhere = count_distinct_values(files, columns.truth, columns.null_values, reading)
    rows = {name: everywhere[name] for name in sorted(everywhere, key=natural_sort_key)}
    classes, labels = tuple(rows), known_labels(rows, roles)
    if classes:
        settled.refuse_similar_labels(rows)
        fractions = any(one.kind == "score" and one.name not in unsure for one in columns.models)
        refuse_truth_of_values(settled.name, columns.truth, rows, roles, scored=fractions)
    strange = _strange_values(settled, classes)
    whole: dict[str, Kind] = {name: "label" for name, some in unsure.items() if some <= labels}
    settled = with_model_kinds(settled, whole)
    # labels that may be declared are reported first
    if classes and not (roles.several and declarable_labels(settled, strange)):
        sure = resolve_positive(settled.name, rows, roles, settled.columns.models)
        settled = replace(settled, positive=sure)
    return replace(settled, classes=classes, strange=strange)


def declarable_labels(
    settled: CountSettings, unknown: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """Return labels absent from truth that may be declared; none if one may be a typo."""
    columns, said = settled.columns, Counter[str]()
    known = {*settled.peeks[columns.truth].texts, *settled.roles.classes}
    names = [columns.source(model) for model in columns.models if model.name in unknown]
    if not names or any(not settled.peeks[name].texts & known for name in names):
        return ()
    for name in dict.fromkeys(names):
        said += count_distinct_values(settled.files, name, columns.null_values, columns.label(name))
    words = {label for labels in unknown.values() for label in labels}
    slips = any(said[label] < OFTEN or missing_word_hint(label) for label in words)
    return () if slips or len(words) > MOST_DECLARED else tuple(sorted(words, key=natural_sort_key))


def with_label_thresholds(settled: CountSettings) -> CountSettings:
    """Return the settings with thresholds at which scores reproduce labels; or DataError."""
    columns, cuts, related = settled.columns, dict(settled.thresholds), {}
    known = known_labels(settled.classes or settled.peeks[columns.truth].texts, settled.roles)
    for model in columns.models:
        if model.beside and isnan(cuts[model.name]):
            check_labels_most_probable(settled.files, columns, model)
        elif model.beside and not settled.roles.has_threshold(model.name):
            classes = dict(zip(model.classes, model.columns, strict=False))
            score, write = (
                classes.get(settled.positive, model.columns[0]),
                settled.format_like_column,
            )
            found = threshold_from_labels(
                settled.files, columns, model, score, settled.positive, partial(write, model), known
            )
            if found is not None:
                cuts[model.name], *ends = found
                related[model.name] = ends[0], ends[1]
    return replace(settled, thresholds=cuts, related=related)


def with_model_kinds(settled: CountSettings, kinds: Mapping[str, Kind]) -> CountSettings:
    """Return the settings with models read as another kind; all models if they share a column."""
    if not kinds:
        return settled
    columns = settled.columns
    if columns.answer:
        kinds = dict.fromkeys((model.name for model in columns.models), next(iter(kinds.values())))
    models = tuple(replace(one, kind=kinds.get(one.name, one.kind)) for one in columns.models)
    return replace(settled, columns=replace(columns, models=models))


def _strange_values(settled: CountSettings, classes: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return, per label model, values of the first rows that are neither labels nor numbers."""
    known = known_labels(classes, settled.roles) | set(settled.columns.null_values)
    strange = {}
    for model in settled.columns.models:
        texts = settled.texts(model)
        if model.kind == "label" and not (texts <= known or all(map(is_score, texts))):
            strange[model.name] = frozenset(texts - known)
    return strange
