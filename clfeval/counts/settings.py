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
    input_options: InputOptions,
    models: Iterable[ModelColumns] = (),
) -> str:
    """Return the positive class: the declared one, or the one that follows from the words.

    If none is needed (see `is_multiclass`) the first that all models can predict; classes: counts.
    """
    if input_options.positive is not None:
        if input_options.positive not in {*classes, *input_options.classes} and len(classes) > 1:
            classes_text = list_names(classes)
            missing_class = f"truth has no class '{input_options.positive}'"
            message = f"{missing_class}; its classes are {classes_text}"
            hint = suggestion(input_options.positive, classes)
            raise DataError.new(message, "unknown-positive", file, hint=hint)
        return input_options.positive
    models = list(models)
    if is_multiclass(classes, input_options, models):
        classes_of_models = [model.classes for model in models if model.kind == "classes"]
        lacking_counts = {
            name: sum(name not in labels for labels in classes_of_models) for name in classes
        }
        return min(classes, key=lambda name: (lacking_counts[name], natural_sort_key(name)))
    default = default_positive(classes)
    if default is not None:
        return default
    choices = positive_choices(truth, classes, input_options, [*models])
    question = positive_question(classes)
    readings = [
        OfferedReading(choice.words, choice.options) for choice in choices if choice.options
    ]
    problem = Problem(question.text, question.code, file)
    raise DataError(problem, readings=readings[:MOST_OFFERED], further=_further(readings))


def _further(readings: Sequence[OfferedReading]) -> str | None:
    """Return the classes that are not offered as positive, with their option; None if all are."""
    other_classes = [str(reading.options["positive"]) for reading in readings[MOST_OFFERED:]]
    return (
        f"{len(other_classes)} more: {OPTION}--positive{END} with {list_names(other_classes, 5)}"
        if other_classes
        else None
    )


def refuse_truth_of_values(
    file: str, truth: str, rows: Mapping[str, int], input_options: InputOptions, *, scored: bool
) -> None:
    """Raise for a truth of many distinct numbers, as in regression, of ids, or of many classes.

    rows: of each value. scored: models predict fractions.
    """
    numbers = [float(name) for name in rows if is_score(name)]
    fraction_count = sum(number % 1 != 0 for number in numbers)
    are_measurements = scored or 2 * fraction_count > MAX_NUMERIC_CLASSES
    hint = None
    if (
        input_options.positive is None
        and len(numbers) == len(rows) > MAX_NUMERIC_CLASSES
        and are_measurements
    ):
        message = f"truth has {len(rows):,} different numbers, but clfeval evaluates classifiers"
        hint = "replace the numbers with classes, such as 1 at or above a threshold and 0 below"
        raise DataError.new(message, "truth-of-numbers", file, None, truth, hint=hint)
    if input_options.positive is not None or {*rows} <= {*input_options.classes}:
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
    for file_part in (file_part for file in files for file_part in file.files):
        if file_part.head and file_part.source:
            inspect_structure(file_part.source, file_part.columns)
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
        texts_of_models = (
            self.texts(model) for model in self.columns.models if model.kind == "label"
        )
        return frozenset().union(*texts_of_models)

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
        null_values = self.columns.null_values
        frames = [numbered_rows(file, null_values, first=True) for file in self.files]
        return pl.concat([frame.select(*columns, **expressions) for frame in frames])

    def refuse_similar_labels(
        self, rows: Mapping[str, int], unknown: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """Raise for labels that differ only in case or spaces; unknown: labels not in truth."""
        unknown_by_column = {
            self.column(model): labels for model, labels in (unknown or {}).items()
        }
        columns = self.columns
        refuse_similar_labels(
            self.name,
            columns.truth,
            rows,
            self.roles,
            columns.models,
            unknown_by_column,
            self.predicted,
        )


def resolve_settings(opened_table: Predictions) -> CountSettings:
    """Resolve settings that the first rows leave open, reading the whole truth column if needed."""
    first_classes = opened_table.profiles[opened_table.columns.truth].texts
    positive = opened_table.roles.positive or default_positive(first_classes)
    settings = _with_positive(_settings_of_first_rows(opened_table, str(positive)))
    integer_scores = _scores_like_classes(settings)
    if positive and not (integer_scores or _strange_values(settings, tuple(first_classes))):
        return settings
    columns, input_options = settings.columns, settings.roles
    reading = columns.readings("plain")[columns.truth]
    counts = count_distinct_values(opened_table.files, columns.truth, columns.null_values, reading)
    row_counts = {name: counts[name] for name in sorted(counts, key=natural_sort_key)}
    classes = tuple(row_counts)
    if classes:
        settings.refuse_similar_labels(row_counts)
        has_fractions = any(
            model.kind == "score" and model.name not in integer_scores for model in columns.models
        )
        refuse_truth_of_values(
            settings.name, columns.truth, row_counts, input_options, scored=has_fractions
        )
    strange_values = _strange_values(settings, classes)
    settings = with_model_kinds(
        settings, _label_kinds(integer_scores, known_labels(row_counts, input_options))
    )
    # labels that may be declared are reported first
    if classes and not (input_options.several and declarable_labels(settings, strange_values)):
        models = settings.columns.models
        resolved = resolve_positive(settings.name, columns.truth, row_counts, input_options, models)
        settings = _with_positive(replace(settings, positive=resolved))
    return replace(settings, classes=classes, strange=strange_values)


def _with_positive(settings: CountSettings) -> CountSettings:
    """Return the settings with the positive class among the columns, if confidences need it."""
    if not any(model.confidence for model in settings.columns.models):
        return settings
    return replace(settings, columns=replace(settings.columns, positive=settings.positive))


def _label_kinds(texts_of: Mapping[str, frozenset[str]], labels: set[str]) -> dict[str, Kind]:
    """Return the models whose values are all labels, to be read as such."""
    return {name: "label" for name, texts in texts_of.items() if texts <= labels}


def _settings_of_first_rows(opened_table: Predictions, positive: str) -> CountSettings:
    """Return the settings that follow from the options and the first rows."""
    files, columns, input_options = opened_table.files, opened_table.columns, opened_table.roles
    if opened_table.layout.models is not None:
        columns = opened_table.layout.models(files, columns, opened_table.profiles, input_options)
        input_options = replace(input_options, model=(*input_options.model, *columns.calibrated))
    # with more than two classes the most probable is predicted, unless a threshold is given
    thresholds = {
        model.name: _threshold_of(model, columns, input_options) for model in columns.models
    }
    for model in columns.models:
        if len(model.columns) > 2 and not input_options.has_threshold(model.name):
            thresholds[model.name] = float("nan")
    opened_fields = (opened_table.layout, files, start_fingerprints(files), opened_table.profiles)
    return CountSettings(columns, positive, thresholds, input_options, *opened_fields)


def _threshold_of(model: ModelColumns, columns: Columns, input_options: InputOptions) -> float:
    """Return the threshold of a model on the scale of its scores as they are evaluated."""
    threshold = input_options.threshold_of(model.name)
    if model.name in columns.calibrated:
        return threshold
    if columns.source(model) in columns.log_odds:
        return threshold_of_log_odds(model.name, threshold)
    offset, divisor = columns.scale(columns.source(model))
    is_percentage = abs(divisor) > 1 and threshold > 1
    is_rescaled = divisor < 0 or is_percentage
    if not (is_rescaled and input_options.has_threshold(model.name)):
        return threshold
    threshold_divisor = divisor if is_percentage or abs(divisor) == 1 else -1.0
    return offset + threshold / threshold_divisor


def _scores_like_classes(settings: CountSettings) -> dict[str, frozenset[str]]:
    """Return the first values of scores that are integers, by model.

    They may be classes that truth lacks in its first rows.
    """
    models = settings.columns.models
    calibrated = settings.columns.calibrated
    scored = [
        model
        for model in models
        if model.kind == "score" and not settings.roles.kind and model.name not in calibrated
    ]
    texts_of = {model.name: settings.texts(model) for model in scored}
    return {
        name: texts
        for name, texts in texts_of.items()
        if all(is_score(text) and float(text) % 1 == 0 for text in texts)
    }


def declarable_labels(
    settings: CountSettings, unknown: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """Return labels absent from truth that may be declared; none if one may be a typo."""
    columns, row_counts = settings.columns, Counter[str]()
    truth_labels = {*settings.profiles[columns.truth].texts, *settings.roles.classes}
    model_columns = [columns.source(model) for model in columns.models if model.name in unknown]
    if not model_columns or any(
        not settings.profiles[name].texts & truth_labels for name in model_columns
    ):
        return ()
    if any(len(settings.profiles[name].texts) <= len(truth_labels) for name in model_columns):
        return ()  # as many labels as truth has: they may be written otherwise
    for name in dict.fromkeys(model_columns):
        row_counts += count_distinct_values(
            settings.files, name, columns.null_values, columns.label(name)
        )
    unknown_labels = {label for labels in unknown.values() for label in labels}
    has_typo = any(row_counts[label] < OFTEN or means_missing(label) for label in unknown_labels)
    if has_typo or len(unknown_labels) > MOST_DECLARED:
        return ()
    return tuple(sorted(unknown_labels, key=natural_sort_key))


class OtherFacts(Exception):  # noqa: N818
    """All rows show other facts than the first ones; denied: pairs of labels and scores."""

    def __init__(self, denied: Sequence[tuple[str, str]] = ()) -> None:
        """Keep the pairs of columns that do not belong together in all rows."""
        super().__init__()
        self.denied = tuple(denied)


def with_label_thresholds(
    settings: CountSettings, opened_table: Predictions | None = None
) -> CountSettings:
    """Return the settings with thresholds at which scores reproduce labels.

    Raises OtherFacts where no threshold does, so that the table is read again; DataError where it
    was read so.
    """
    columns, thresholds = settings.columns, dict(settings.thresholds)
    related: dict[str, tuple[float, float]] = {}
    for model in columns.models:
        if model.label_column is None:
            continue
        column_pair = (model.label_column, _score_of(model, settings.positive))
        try:
            if isnan(thresholds[model.name]):
                column_pair = (model.label_column, model.columns[0])
                check_labels_most_probable(settings.files, columns, model)
            elif model.confidence or not settings.roles.has_threshold(model.name):
                threshold_and_range = _threshold_of_labels(settings, model, column_pair[1])
                if threshold_and_range is not None:
                    thresholds[model.name], low, high = threshold_and_range
                    related[model.name] = low, high
        except DataError:
            if (
                opened_table is None
                or opened_table.requested is None
                or column_pair in opened_table.requested.denied
            ):
                raise
            # the positive class may be unknown until all rows were looked at
            raise OtherFacts([column_pair] if opened_table.is_whole else []) from None
    return replace(settings, thresholds=thresholds, related=related)


def _score_of(model: ModelColumns, positive: str) -> str:
    """Return the column with the scores of the positive class."""
    return dict(zip(model.classes, model.columns, strict=False)).get(positive, model.columns[0])


def _threshold_of_labels(
    settings: CountSettings, model: ModelColumns, score: str
) -> tuple[float, float, float] | None:
    """Return the threshold at which scores reproduce the labels of a model, and its range."""
    classes = settings.classes or settings.profiles[settings.columns.truth].texts
    labels = known_labels(classes, settings.roles)
    write = partial(settings.format_like_column, model)
    return threshold_from_labels(
        settings.files, settings.columns, model, score, settings.positive, write, labels
    )


def with_model_kinds(settings: CountSettings, kinds: Mapping[str, Kind]) -> CountSettings:
    """Return the settings with models read as another kind; all models if they share a column."""
    if not kinds:
        return settings
    columns = settings.columns
    if columns.answer:
        kinds = dict.fromkeys((model.name for model in columns.models), next(iter(kinds.values())))
    models = tuple(
        replace(model_columns, kind=kinds.get(model_columns.name, model_columns.kind))
        for model_columns in columns.models
    )
    return replace(settings, columns=replace(columns, models=models))


def _strange_values(settings: CountSettings, classes: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return, per label model, values of the first rows that are neither labels nor numbers."""
    labels = known_labels(classes, settings.roles) | set(settings.columns.null_values)
    strange = {}
    for model in settings.columns.models:
        texts = settings.texts(model)
        if model.kind == "label" and not (texts <= labels or all(map(is_score, texts))):
            strange[model.name] = frozenset(texts - labels)
    return strange
