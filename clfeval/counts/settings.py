"""Settings of a pass over the rows: fingerprints, models, kinds, thresholds, positive class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from math import isnan
from typing import Any

from clfeval.counts.ambiguous_labels import (
    check_labels_most_probable,
    refuse_similar_labels,
    threshold_from_labels,
)
from clfeval.document import InputFile
from clfeval.errors import DataError, OfferedReading, Problem, list_names, suggestion
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.csv import FingerprintTask, inspect_structure, start_fingerprint
from clfeval.tables.engines import counts_only
from clfeval.tables.frames import as_text, natural_sort_key, pl, unreadable_frame_error
from clfeval.tables.input import InputOptions, Kind
from clfeval.tables.invalid_cells import Tasks, numbered_rows
from clfeval.tables.predictions import Layout, Predictions
from clfeval.tables.profiles import ColumnProfile, is_score
from clfeval.tables.readings.labels import default_positive, known_labels
from clfeval.tables.readings.notations import means_missing
from clfeval.tables.readings.positive import is_multiclass, positive_choices, positive_question
from clfeval.tables.readings.reading import MOST_OFFERED
from clfeval.tables.readings.score_scales import threshold_of_log_odds
from clfeval.tables.scan import TableFile, count_distinct_values, unreadable_error

MOST_CLASSES = 1000
MAX_NUMERIC_CLASSES = 20  # more distinct fractions, or numbers with scores, are not classes
OFTEN, MOST_DECLARED = 5, 10  # rows of a label that is no typo; labels that are no free text


def resolve_positive(
    file: str,
    truth: str,
    classes: Mapping[str, int],
    roles: InputOptions,
    models: Iterable[ModelColumns] = (),
) -> str:
    """Return the positive class: the declared one, or the one that follows from the words.

    If none is needed (see `is_multiclass`) the first that all models can predict; classes: counts.
    """
    if roles.positive is not None:
        if roles.positive not in {*classes, *roles.classes} and len(classes) > 1:
            message = (
                f"truth has no class '{roles.positive}'; its classes are {list_names(classes)}"
            )
            hint = suggestion(roles.positive, classes)
            raise DataError.new(message, "unknown-positive", file, hint=hint)
        return roles.positive
    models = list(models)
    if is_multiclass(classes, roles, models):
        columns = [model.classes for model in models if model.kind == "classes"]
        lacking = {name: sum(name not in labels for labels in columns) for name in classes}
        return min(classes, key=lambda name: (lacking[name], natural_sort_key(name)))
    default = default_positive(classes)
    if default is not None:
        return default
    choices = positive_choices(truth, classes, roles, [*models])
    question = positive_question(classes)
    readings = [
        OfferedReading(choice.words, choice.options) for choice in choices if choice.options
    ]
    problem = Problem(question.text, question.code, file)
    raise DataError(problem, readings=readings[:MOST_OFFERED], further=_further(readings))


def _further(readings: Sequence[OfferedReading]) -> str | None:
    """Return the classes that are not offered as positive, with their option; None if all are."""
    left = [str(reading.options["positive"]) for reading in readings[MOST_OFFERED:]]
    return f"{len(left)} more: {OPTION}--positive{END} with {list_names(left, 5)}" if left else None


def refuse_truth_of_values(
    file: str, truth: str, rows: Mapping[str, int], roles: InputOptions, *, scored: bool
) -> None:
    """Raise for a truth of many distinct numbers, as in regression, of ids, or of many classes.

    rows: of each value. scored: models predict fractions.
    """
    numbers = [float(name) for name in rows if is_score(name)]
    are_values = scored or 2 * sum(number % 1 != 0 for number in numbers) > MAX_NUMERIC_CLASSES
    hint = None
    if roles.positive is None and len(numbers) == len(rows) > MAX_NUMERIC_CLASSES and are_values:
        message = f"truth has {len(rows):,} different numbers, but clfeval evaluates classifiers"
        hint = "replace the numbers with classes, such as 1 at or above a threshold and 0 below"
        raise DataError.new(message, "truth-of-numbers", file, None, truth, hint=hint)
    if roles.positive is not None or {*rows} <= {*roles.classes}:
        return
    if len(rows) > MAX_NUMERIC_CLASSES and max(rows.values()) == 1:
        message = f"each of its {len(rows):,} values occurs once: is it an id?"
        raise DataError.new(
            message, "truth-of-ids", file, None, truth, hint="if not, use a column of classes"
        )
    if len(rows) > MOST_CLASSES:
        message = f"truth has {len(rows):,} classes"
        hint = f"use a column with at most {MOST_CLASSES:,} classes, or merge rare classes"
        raise DataError.new(message, "too-many-classes", file, None, truth, hint=hint)


def raw_values_of(values: Iterable[Any], label: str) -> tuple[Any, ...]:
    """Return the distinct raw values whose text is the label."""
    return tuple(value for value in set(values) if as_text(value) == label)


def start_fingerprints(files: Sequence[TableFile]) -> tuple[FingerprintTask | None, ...]:
    """Start hashing the bytes of every file, of joined ones each, in parallel with the counting."""
    sources = [part.source for file in files for part in file.files]
    return tuple(start_fingerprint(source) if source else None for source in sources)


def input_file(
    file: TableFile, task: FingerprintTask | None, rows: int, dropped: int = 0
) -> InputFile:
    """Return the record of an input file: its name, hash, and rows used and dropped."""
    return InputFile(file.display_name, task.result().sha256 if task else None, rows, dropped)


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
    labels nor numbers. related: of models with labels and scores, the range (low, high] of
    thresholds that give the labels, or None. weight_unit: units per weight of 1; unit: units per
    row, of sampling weights those of their mean, so that their sum is the number of rows; rounding:
    largest relative error of a weight.
    """

    columns: Columns
    positive: str
    thresholds: Mapping[str, float]
    roles: InputOptions
    layout: Layout
    files: tuple[TableFile, ...]
    tasks: Tasks
    profiles: Mapping[str, ColumnProfile]
    classes: tuple[str, ...] = ()
    strange: Mapping[str, frozenset[str]] | None = None
    related: Mapping[str, tuple[float, float]] | None = None
    weight_unit: float = 1
    unit: float = 1
    rounding: float = 0.0

    @property
    def name(self) -> str:
        """Name of the table in messages."""
        return self.files[0].name

    @property
    def weighed(self) -> bool:
        """True if rows have sampling weights and no clusters: variances need their squares."""
        return self.weight_unit != 1 and self.columns.cluster is None

    def column(self, name: str) -> str:
        """Return the column with the predictions of a model."""
        models = self.columns.models
        return next(self.columns.source(model) for model in models if model.name == name)

    def format_like_column(self, model: ModelColumns, *values: float) -> list[str]:
        """Format numbers like the column of a model's predictions, with its percent signs."""
        if self.profiles[self.columns.source(model)].percent:
            return [f"{100 * value:g}%" for value in values]
        return [f"{value:g}" for value in values]

    @property
    def predicted(self) -> frozenset[str]:
        """Labels that models predict in the first rows."""
        labels = (self.texts(model) for model in self.columns.models if model.kind == "label")
        return frozenset().union(*labels)

    def texts(self, model: ModelColumns) -> frozenset[str]:
        """Return the distinct values of a model's predictions in the first rows."""
        return self.profiles[self.columns.source(model)].texts

    @property
    def numbers_rows(self) -> bool:
        """True if rows have numbers: not those of Spark."""
        return not counts_only(self.files[0].native, InputOptions())

    def numbered_rows(self, *columns: str, **expressions: pl.Expr) -> pl.LazyFrame:
        """Return columns of the rows of all files, with their numbers; of Spark of the first rows.

        See `numbered_rows`.
        """
        nulls = self.columns.null_values
        frames = [numbered_rows(file, nulls, first=True) for file in self.files]
        return pl.concat([frame.select(*columns, **expressions) for frame in frames])

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
    first_classes = opened.profiles[opened.columns.truth].texts
    positive = opened.roles.positive or default_positive(first_classes)
    settled = _with_positive(_settings_of_first_rows(opened, str(positive)))
    unsure = _scores_like_classes(settled)
    if positive and not (unsure or _strange_values(settled, tuple(first_classes))):
        return settled
    columns, roles = settled.columns, settled.roles
    reading = columns.readings("plain")[columns.truth]
    counts = count_distinct_values(opened.files, columns.truth, columns.null_values, reading)
    rows = {name: counts[name] for name in sorted(counts, key=natural_sort_key)}
    classes = tuple(rows)
    if classes:
        settled.refuse_similar_labels(rows)
        fractions = any(
            model.kind == "score" and model.name not in unsure for model in columns.models
        )
        refuse_truth_of_values(settled.name, columns.truth, rows, roles, scored=fractions)
    strange = _strange_values(settled, classes)
    settled = with_model_kinds(settled, _label_kinds(unsure, known_labels(rows, roles)))
    # labels that may be declared are reported first
    if classes and not (roles.several and declarable_labels(settled, strange)):
        models = settled.columns.models
        resolved = resolve_positive(settled.name, columns.truth, rows, roles, models)
        settled = _with_positive(replace(settled, positive=resolved))
    return replace(settled, classes=classes, strange=strange)


def _with_positive(settled: CountSettings) -> CountSettings:
    """Return the settings with the positive class among the columns, if confidences need it."""
    if not any(model.confidence for model in settled.columns.models):
        return settled
    return replace(settled, columns=replace(settled.columns, positive=settled.positive))


def _label_kinds(texts_of: Mapping[str, frozenset[str]], labels: set[str]) -> dict[str, Kind]:
    """Return the models whose values are all labels, to be read as such."""
    return {name: "label" for name, texts in texts_of.items() if texts <= labels}


def _settings_of_first_rows(opened: Predictions, positive: str) -> CountSettings:
    """Return the settings that follow from the options and the first rows."""
    files, columns, roles = opened.files, opened.columns, opened.roles
    if opened.layout.models is not None:
        columns = opened.layout.models(files, columns, opened.profiles, roles)
        roles = replace(roles, model=(*roles.model, *columns.calibrated))
    # with more than two classes the most probable is predicted, unless a threshold is given
    thresholds = {model.name: _threshold_of(model, columns, roles) for model in columns.models}
    for model in columns.models:
        if len(model.columns) > 2 and not roles.has_threshold(model.name):
            thresholds[model.name] = float("nan")
    opening = (opened.layout, files, start_fingerprints(files), opened.profiles)
    return CountSettings(columns, positive, thresholds, roles, *opening)


def _threshold_of(model: ModelColumns, columns: Columns, roles: InputOptions) -> float:
    """Return the threshold of a model on the scale of its scores as they are evaluated."""
    threshold = roles.threshold_of(model.name)
    if model.name in columns.calibrated:
        return threshold
    if columns.source(model) in columns.log_odds:
        return threshold_of_log_odds(model.name, threshold)
    offset, divisor = columns.scale(columns.source(model))
    is_percentage = abs(divisor) > 1 and threshold > 1
    if not roles.has_threshold(model.name) or not (divisor < 0 or is_percentage):
        return threshold
    return offset + threshold / (divisor if is_percentage or abs(divisor) == 1 else -1.0)


def _scores_like_classes(settled: CountSettings) -> dict[str, frozenset[str]]:
    """Return the first values of scores that are integers, by model.

    They may be classes that truth lacks in its first rows.
    """
    models = settled.columns.models
    calibrated = settled.columns.calibrated
    scored = [
        model
        for model in models
        if model.kind == "score" and not settled.roles.kind and model.name not in calibrated
    ]
    texts_of = {model.name: settled.texts(model) for model in scored}
    return {
        name: texts
        for name, texts in texts_of.items()
        if all(is_score(text) and float(text) % 1 == 0 for text in texts)
    }


def declarable_labels(
    settled: CountSettings, unknown: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """Return labels absent from truth that may be declared; none if one may be a typo."""
    columns, row_counts = settled.columns, Counter[str]()
    truth_labels = {*settled.profiles[columns.truth].texts, *settled.roles.classes}
    names = [columns.source(model) for model in columns.models if model.name in unknown]
    if not names or any(not settled.profiles[name].texts & truth_labels for name in names):
        return ()
    if any(len(settled.profiles[name].texts) <= len(truth_labels) for name in names):
        return ()  # as many labels as truth has: they may be written otherwise
    for name in dict.fromkeys(names):
        row_counts += count_distinct_values(
            settled.files, name, columns.null_values, columns.label(name)
        )
    words = {label for labels in unknown.values() for label in labels}
    slips = any(row_counts[label] < OFTEN or means_missing(label) for label in words)
    return () if slips or len(words) > MOST_DECLARED else tuple(sorted(words, key=natural_sort_key))


class OtherFacts(Exception):  # noqa: N818
    """All rows show other facts than the first ones; denied: pairs of labels and scores."""

    def __init__(self, denied: Sequence[tuple[str, str]] = ()) -> None:
        """Keep the pairs of columns that do not belong together in all rows."""
        super().__init__()
        self.denied = tuple(denied)


def with_label_thresholds(
    settled: CountSettings, opened: Predictions | None = None
) -> CountSettings:
    """Return the settings with thresholds at which scores reproduce labels.

    Raises OtherFacts where no threshold does, so that the table is read again; DataError where it
    was read so.
    """
    columns, cuts = settled.columns, dict(settled.thresholds)
    related: dict[str, tuple[float, float]] = {}
    for model in columns.models:
        if model.label_column is None:
            continue
        pair = (model.label_column, _score_of(model, settled.positive))
        try:
            if isnan(cuts[model.name]):
                pair = (model.label_column, model.columns[0])
                check_labels_most_probable(settled.files, columns, model)
            elif model.confidence or not settled.roles.has_threshold(model.name):
                cut = _threshold_of_labels(settled, model, pair[1])
                if cut is not None:
                    cuts[model.name], low, high = cut
                    related[model.name] = low, high
        except DataError:
            if opened is None or opened.requested is None or pair in opened.requested.denied:
                raise
            # the positive class may be unknown until all rows were looked at
            raise OtherFacts([pair] if opened.is_whole else []) from None
    return replace(settled, thresholds=cuts, related=related)


def _score_of(model: ModelColumns, positive: str) -> str:
    """Return the column with the scores of the positive class."""
    return dict(zip(model.classes, model.columns, strict=False)).get(positive, model.columns[0])


def _threshold_of_labels(
    settled: CountSettings, model: ModelColumns, score: str
) -> tuple[float, float, float] | None:
    """Return the threshold at which scores reproduce the labels of a model, and its range."""
    classes = settled.classes or settled.profiles[settled.columns.truth].texts
    labels = known_labels(classes, settled.roles)
    write = partial(settled.format_like_column, model)
    return threshold_from_labels(
        settled.files, settled.columns, model, score, settled.positive, write, labels
    )


def with_model_kinds(settled: CountSettings, kinds: Mapping[str, Kind]) -> CountSettings:
    """Return the settings with models read as another kind; all models if they share a column."""
    if not kinds:
        return settled
    columns = settled.columns
    if columns.answer:
        kinds = dict.fromkeys((model.name for model in columns.models), next(iter(kinds.values())))
    models = tuple(
        replace(model_columns, kind=kinds.get(model_columns.name, model_columns.kind))
        for model_columns in columns.models
    )
    return replace(settled, columns=replace(columns, models=models))


def _strange_values(settled: CountSettings, classes: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return, per label model, values of the first rows that are neither labels nor numbers."""
    labels = known_labels(classes, settled.roles) | set(settled.columns.null_values)
    strange = {}
    for model in settled.columns.models:
        texts = settled.texts(model)
        if model.kind == "label" and not (texts <= labels or all(map(is_score, texts))):
            strange[model.name] = frozenset(texts - labels)
    return strange
