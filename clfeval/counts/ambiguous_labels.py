"""Errors on labels: similar ones, words for missing values, or other than the scores say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, isinf, nextafter

from clfeval.errors import (
    DataError,
    OfferedReading,
    Problem,
    bad_option,
    format_option,
    join_texts,
    list_names,
    quote_word,
)
from clfeval.placeholders import END, OPTION, SWITCH
from clfeval.records import replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.frames import as_text, collect, engine_errors, is_missing, nw
from clfeval.tables.input import DEFAULT_THRESHOLD, InputOptions
from clfeval.tables.layouts.wide import with_positive_probabilities
from clfeval.tables.profiles import is_score
from clfeval.tables.readings.notations import is_mark, means_missing, null_value_hint
from clfeval.tables.scan import CellReading, TableFile, scan

MAX_LABELS_IN_HINT = 4  # labels in a hint


def refuse_missing_words(
    file: str,
    truth: str,
    classes: Mapping[str, int],
    declared: set[str | None],
    predicted: set[str],
) -> None:
    """Raise for a word for missing values that would be a third class.

    Not if `declared`: declared, positive, with a column of probabilities, or predicted among text
    labels.
    """
    has_text_labels = any(not means_missing(name) and not is_score(name) for name in classes)
    exempt = declared | predicted if has_text_labels else declared
    missing_words = [name for name in classes if means_missing(name) and name not in exempt]
    if "+" in classes:
        missing_words = [name for name in missing_words if name != "-"]
    if missing_words and len(classes) - len(missing_words) > 1:
        raise _missing_words_error(file, truth, {word: classes[word] for word in missing_words})


def _missing_words_error(file: str, truth: str, words: Mapping[str, int]) -> DataError:
    """Build the error that asks whether words of truth are missing values; words: with rows."""
    counts_phrase = join_texts([f"'{word}' ({count:,})" for word, count in words.items()])
    message = f"is this a class or a missing value: {counts_phrase}?"
    class_flags = " ".join(format_option("--classes", word) for word in words)
    classes_mean = "it is a class" if len(words) == 1 else "they are classes"
    hint = f"{null_value_hint(*words, drop=True)}; if {classes_mean}, add {class_flags}"
    marks = tuple(word for word in words if is_mark(word))
    possible_classes = tuple(word for word in words if not is_mark(word))
    if not possible_classes:
        return DataError.new(
            message, "missing-word", file, None, truth, hint=hint, fixes={"null_value": marks}
        )
    names = list_names(possible_classes)
    mark_options = {"null_value": marks} if marks else {}
    readings = [
        OfferedReading(f"{names}: missing values", {"null_value": tuple(words)}),
        OfferedReading(f"{names}: classes", {**mark_options, "classes": possible_classes}),
    ]
    return DataError(
        Problem(message, "missing-word", file, None, truth), hint=hint, readings=readings
    )


def _refuse_joined_classes(classes: Mapping[str, int], input_options: InputOptions) -> None:
    """Raise for `--classes a,b,c` if it is not a class, but several of its parts are."""
    for label in input_options.classes:
        parts = [part.strip() for part in label.split(",")]
        if label not in classes and len({*parts} & {*classes}) > 1:
            hint = "name each one: " + " ".join(format_option("--classes", part) for part in parts)
            message = (
                f"{OPTION}--classes{END} {quote_word(label)} names one class, which truth does not "
                "have"
            )
            raise bad_option(message, hint)


def refuse_similar_labels(
    file: str,
    truth: str,
    classes: Mapping[str, int],
    input_options: InputOptions,
    models: Iterable[ModelColumns] = (),
    others: Mapping[str, Collection[str]] | None = None,
    predicted: Collection[str] = (),
) -> None:
    """Raise for labels that differ only in case or in spaces around them.

    Not if all are declared. classes: rows of each label of truth; others: further labels by column.
    predicted: labels that some model predicts.
    """
    _refuse_joined_classes(classes, input_options)
    declared_labels = {*input_options.classes, input_options.positive}.union(
        *(model.classes for model in models)
    )
    refuse_missing_words(file, truth, classes, declared_labels, {*predicted})

    def twins(labels: Iterable[str]) -> list[list[str]]:
        """Return sets of labels that differ only in case or outer spaces, not all declared."""
        spellings_of: dict[str, list[str]] = {}
        for label in (label for label in labels if not is_mark(label)):
            spellings_of.setdefault(label.strip().lower(), []).append(label)
        declared = {*input_options.classes}
        return [
            spellings
            for spellings in spellings_of.values()
            if len(spellings) > 1 and not {*spellings} <= declared
        ]

    twin_groups = [
        (truth, join_texts([f"'{label}' ({classes[label]:,})" for label in spellings]), spellings)
        for spellings in twins(classes)
    ]
    for column, column_labels in (others or {}).items():
        mixed_spellings = [
            spellings
            for spellings in twins([*classes, *sorted(column_labels)])
            if {*spellings} & {*column_labels}
        ]
        twin_groups += [(column, list_names(spellings), spellings) for spellings in mixed_spellings]
    if not twin_groups:
        return
    message = "labels differ only in case or outer spaces: "
    problems = [
        Problem(message + spellings_phrase, "label-twins", file, None, column_name)
        for column_name, spellings_phrase, _ in twin_groups
    ]
    twin_labels = list(dict.fromkeys(label for _, _, labels in twin_groups for label in labels))
    class_flags = [format_option("--classes", label) for label in twin_labels[:MAX_LABELS_IN_HINT]]
    keep_flags = " ".join(class_flags)
    hint = f"add {SWITCH}--fold-labels{END} to merge them, or {keep_flags} to keep them separate"
    raise DataError(problems, hint=hint, fixes={"fold_labels": True})


def threshold_from_labels(
    files: Sequence[TableFile],
    columns: Columns,
    model: ModelColumns,
    score: str,
    positive: str,
    write: Callable[..., list[str]],
    truth_labels: Collection[str],
) -> tuple[float, float, float] | None:
    """Return a threshold t at which scores reproduce a model's labels, and its range (low, high].

    t is 0.5, or else the shortest number in the range. None where the scores cannot be read. write:
    formats numbers like the score column. Raises DataError where no threshold gives the labels, and
    where no label (with a confidence: not every label) is one of `truth_labels`.
    """
    ranges = _score_ranges(files, columns, str(model.label_column), score)
    if ranges is None:
        return None
    lowest_positive, _ = ranges.get(positive, (inf, -inf))
    highest_other = max(
        (high for label, (_, high) in ranges.items() if label != positive), default=-inf
    )
    lowest_score = min((low for low, _ in ranges.values()), default=inf)
    all_are_high = lowest_score >= DEFAULT_THRESHOLD
    unknown_labels = ranges.keys() - {*truth_labels}
    if unknown_labels and (model.confidence or len(unknown_labels) == len(ranges)):
        message = (
            f"its values ({list_names(sorted(map(str, unknown_labels)), 3)}) are not classes of "
            f"truth ({list_names(sorted(truth_labels), 3)})"
        )
        if all_are_high:
            message += "; none of the scores is below 0.5: are they of the predicted class?"
        raise _labels_differ_error(message, model, files[0].name, code="unknown-label")
    if highest_other >= lowest_positive:
        low, high = write(lowest_positive, highest_other)
        message = (
            f"no single threshold on '{score}' gives its labels: '{positive}' has scores from "
        )
        message += f"{low}, other labels have scores up to {high}"
        if all_are_high:
            message += "; none is below 0.5: are they probabilities of the predicted class?"
            message += f" ({OPTION}--kind confidence{END})"
        raise _labels_differ_error(message, model, files[0].name)
    return _shortest_number_between(highest_other, lowest_positive), highest_other, lowest_positive


def _score_ranges(
    files: Sequence[TableFile], columns: Columns, label_column: str, score: str
) -> dict[str | None, tuple[float, float]] | None:
    """Return the lowest and the highest score of each label; None if scores cannot be read."""
    plain_readings = columns.readings("plain")
    readings: dict[str, CellReading] = {
        label_column: columns.label(label_column),
        score: plain_readings[score],
    }
    paired_models = [model for model in columns.models if model.label_column == label_column]
    columns = replace(columns, models=tuple(paired_models))
    ranges: dict[str | None, tuple[float, float]] = {}
    for file in files:
        frame = scan(file, readings, null_values=columns.null_values)
        frame = with_positive_probabilities(frame, columns)
        number = nw.col(score).cast(nw.Float64)
        frame = frame.filter(~nw.col(label_column).is_null(), ~number.is_null(), ~number.is_nan())
        extremes = [number.min().alias("least"), number.max().alias("most")]
        try:
            rows = collect(frame.group_by(label_column).agg(*extremes)).rows(named=True)
        except engine_errors():
            return None
        for row in (row for row in rows if not is_missing(row[label_column])):
            low, high = ranges.get(as_text(row[label_column]), (inf, -inf))
            ranges[as_text(row[label_column])] = (min(low, row["least"]), max(high, row["most"]))
    return ranges


def check_labels_most_probable(
    files: Sequence[TableFile], columns: Columns, model: ModelColumns
) -> None:
    """Raise DataError if a label next to class probabilities is not the most probable class."""
    label_column = str(model.label_column)
    plain_readings = columns.readings("plain")
    readings: dict[str, CellReading] = {column: plain_readings[column] for column in model.columns}
    readings[label_column] = columns.label(label_column)
    largest = nw.max_horizontal(*model.columns)
    difference_count = (~_is_most_probable(label_column, model, largest)).cast(nw.Int64).sum()
    differing_rows = rows = 0
    for file in files:
        frame = scan(file, readings, null_values=columns.null_values)
        frame = frame.filter(~nw.col(label_column).is_null(), ~largest.is_null(), ~largest.is_nan())
        try:
            counts = collect(frame.select(difference_count.alias("other"), nw.len().alias("rows")))
        except engine_errors():
            return  # probabilities that cannot be read are reported by the pass over the rows
        file_differences, file_rows = counts.row(0)
        differing_rows += file_differences or 0  # null without rows
        rows += file_rows
    if differing_rows:
        message = "its labels differ from the most probable class "
        message += f"in {differing_rows:,} of {rows:,} rows"
        raise _labels_differ_error(message, model, files[0].name)


def _is_most_probable(label_column: str, model: ModelColumns, largest: nw.Expr) -> nw.Expr:
    """Return whether a label is a class whose probability is the largest one."""
    text = nw.col(label_column).cast(nw.String)
    return nw.any_horizontal(
        *[
            (text == class_name) & (nw.col(column) >= largest)
            for class_name, column in zip(model.classes, model.columns, strict=True)
        ],
        ignore_nulls=True,
    )


def _labels_differ_error(
    message: str, model: ModelColumns, file: str, *, code: str = "labels-differ"
) -> DataError:
    """Build the error of labels that contradict the scores."""
    hint = (
        f"name the model with {OPTION}--model{END}: the column of its labels, or that of its scores"
    )
    return DataError.new(message, code, file, None, str(model.label_column), hint=hint)


def _shortest_number_between(low: float, high: float) -> float:
    """Return 0.5 if it is in the range (low, high], else the shortest number in this range.

    Of an infinite range: `high` if `low` is infinite, else the next number above `low`.
    """
    if low < DEFAULT_THRESHOLD <= high:
        return DEFAULT_THRESHOLD
    if isinf(low) or isinf(high):
        return high if isinf(low) else nextafter(low, inf)
    for digits in range(17):
        number = round((low + high) / 2, digits)
        if low < number <= high:
            return number
    return high


def refuse_class_columns_not_in_truth(
    file: str, models: Iterable[ModelColumns], classes: Collection[str]
) -> None:
    """Raise for probability columns of classes not in truth, if a class of truth has no column."""
    problems = []
    for model in models:
        unknown_classes = [name for name in model.classes if name not in classes]
        lacking_classes = [name for name in classes if name not in model.classes]
        if unknown_classes and lacking_classes and model.kind == "classes":
            columns = (model.columns[model.classes.index(name)] for name in unknown_classes)
            verb = "has" if len(lacking_classes) == 1 else "have"
            message = (
                f"truth has no such class, and {list_names(lacking_classes, 3)} {verb} no column"
            )
            problems += [Problem(message, "class-column", file, 1, name) for name in columns]
    if problems:
        hint = (
            f"name the columns as truth writes the classes, or add {OPTION}--classes CLASS{END} "
            "for a class without rows in truth"
        )
        raise DataError(problems, hint=hint)
