"""Errors on labels: similar ones, several in a cell, not truth's, or other than the scores say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, isinf, nextafter
from typing import TYPE_CHECKING

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
from clfeval.records import replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.frames import as_text, collect, engine_errors, is_missing, nw, pl
from clfeval.tables.input import DEFAULT_THRESHOLD, Input
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, column_as_text
from clfeval.tables.layouts.wide import with_positive_probabilities
from clfeval.tables.profiles import is_score
from clfeval.tables.readings.labels import guess_positive
from clfeval.tables.readings.notations import missing_word_hint
from clfeval.tables.scan import CellReading, TableFile, scan

if TYPE_CHECKING:
    from clfeval.counts.count import PredictionCounts
    from clfeval.counts.settings import CountSettings

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
    if any(not missing_word_hint(name) and not is_score(name) for name in classes):
        declared = declared | predicted
    words = [name for name in classes if missing_word_hint(name) and name not in declared]
    if words and len(classes) - len(words) > 1:
        rows = join_texts([f"'{word}' ({classes[word]:,})" for word in words])
        message = f"is this a class or a missing value: {rows}?"
        flags = " ".join(format_option("--classes", word) for word in words)
        gap = format_option("--null-value", words[0])
        hint = f"add {gap} if it is missing, or {flags} if it is a class"
        fixes = {"null_value": tuple(words)}
        raise DataError.new(message, "missing-word", file, None, truth, hint=hint, fixes=fixes)


def refuse_similar_labels(
    file: str,
    truth: str,
    classes: Mapping[str, int],
    roles: Input,
    models: Iterable[ModelColumns] = (),
    others: Mapping[str, Collection[str]] | None = None,
    predicted: Collection[str] = (),
) -> None:
    """Raise for labels that differ only in case or in spaces around them.

    Not if all are declared. classes: rows of each label of truth; others: further labels by column.
    predicted: labels that some model predicts.
    """
    for label in roles.classes:  # `--classes a,b,c` if it is not a class, but several parts are
        parts = [part.strip() for part in label.split(",")]
        if label not in classes and len({*parts} & {*classes}) > 1:
            hint = "name each one: " + " ".join(format_option("--classes", part) for part in parts)
            message = f"--classes {quote_word(label)} names one class, which truth does not have"
            raise bad_option(message, hint)
    declared_labels = {*roles.classes, roles.positive}.union(*(model.classes for model in models))
    refuse_missing_words(file, truth, classes, declared_labels, {*predicted})

    def twins(labels: Iterable[str]) -> list[list[str]]:
        spellings_of: dict[str, list[str]] = {}
        for label in labels:
            spellings_of.setdefault(label.strip().lower(), []).append(label)
        declared = {*roles.classes}
        return [
            spellings
            for spellings in spellings_of.values()
            if len(spellings) > 1 and not {*spellings} <= declared
        ]

    groups = [
        (truth, join_texts([f"'{label}' ({classes[label]:,})" for label in spellings]), spellings)
        for spellings in twins(classes)
    ]
    for column, strange in (others or {}).items():
        mixed = [
            spellings
            for spellings in twins([*classes, *sorted(strange)])
            if {*spellings} & {*strange}
        ]
        groups += [(column, list_names(spellings), spellings) for spellings in mixed]
    if not groups:
        return
    message = "labels differ only in case or outer spaces: "
    problems = [
        Problem(message + text, "label-twins", file, None, column_name)
        for column_name, text, _ in groups
    ]
    every = list(dict.fromkeys(label for _, _, spellings in groups for label in spellings))
    keep = " ".join(format_option("--classes", label) for label in every[:MAX_LABELS_IN_HINT])
    hint = f"add --fold-labels to merge them, or {keep} to keep them separate"
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
    numbers as in the score column. Raises DataError where no threshold gives the labels, and where
    no label is one of `truth_labels`.
    """
    ranges = _score_ranges(files, columns, str(model.beside), score)
    if ranges is None:
        return None
    lowest_positive = ranges.get(positive, (inf, -inf))[0]
    most = max((high for label, (_, high) in ranges.items() if label != positive), default=-inf)
    lowest = min((low for low, _ in ranges.values()), default=inf)
    all_high = lowest >= DEFAULT_THRESHOLD
    strange_labels = ranges.keys() - {*truth_labels}
    if strange_labels and (model.confidence or len(strange_labels) == len(ranges)):
        message = (
            f"its values ({list_names(sorted(map(str, strange_labels)), 3)}) are not classes of "
            f"truth ({list_names(sorted(truth_labels), 3)})"
        )
        message += "; none of the scores is below 0.5: are they of the predicted class?" * all_high
        raise _labels_differ_error(message, model, files[0].name, code="unknown-label")
    if most >= lowest_positive:
        low, high = write(lowest_positive, most)
        message = (
            f"no single threshold on '{score}' gives its labels: '{positive}' has scores from "
        )
        message += f"{low}, other labels have scores up to {high}"
        message += "; none is below 0.5: are they probabilities of the predicted class?" * all_high
        message += " (--kind confidence)" * all_high
        raise _labels_differ_error(message, model, files[0].name)
    return _shortest_number_between(most, lowest_positive), most, lowest_positive


def _score_ranges(
    files: Sequence[TableFile], columns: Columns, label: str, score: str
) -> dict[str | None, tuple[float, float]] | None:
    """Return the lowest and the highest score of each label; None if scores cannot be read."""
    plain_readings = columns.readings("plain")
    readings: dict[str, CellReading] = {label: columns.label(label), score: plain_readings[score]}
    paired = [model for model in columns.models if model.beside == label]
    columns = replace(columns, models=tuple(paired))
    ranges: dict[str | None, tuple[float, float]] = {}
    for file in files:
        frame = scan(file, readings, null_values=columns.null_values)
        frame = with_positive_probabilities(frame, columns)
        number = nw.col(score).cast(nw.Float64)
        frame = frame.filter(~nw.col(label).is_null(), ~number.is_null(), ~number.is_nan())
        extremes = [number.min().alias("least"), number.max().alias("most")]
        try:
            rows = collect(frame.group_by(label).agg(*extremes)).rows(named=True)
        except engine_errors():
            return None
        for row in (row for row in rows if not is_missing(row[label])):
            low, high = ranges.get(as_text(row[label]), (inf, -inf))
            ranges[as_text(row[label])] = (min(low, row["least"]), max(high, row["most"]))
    return ranges


def check_labels_most_probable(
    files: Sequence[TableFile], columns: Columns, model: ModelColumns
) -> None:
    """Raise DataError if a label next to class probabilities is not the most probable class."""
    label, plain_readings = str(model.beside), columns.readings("plain")
    readings: dict[str, CellReading] = {name: plain_readings[name] for name in model.columns}
    readings[label] = columns.label(label)
    largest = nw.max_horizontal(*model.columns)
    text, pairs = nw.col(label).cast(nw.String), zip(model.classes, model.columns, strict=True)
    agrees = [(text == name) & (nw.col(column) >= largest) for name, column in pairs]
    differ = (~nw.any_horizontal(*agrees, ignore_nulls=True)).cast(nw.Int64).sum()
    differing = rows = 0
    for file in files:
        frame = scan(file, readings, null_values=columns.null_values)
        frame = frame.filter(~nw.col(label).is_null(), ~largest.is_null(), ~largest.is_nan())
        try:
            counts = collect(frame.select(differ.alias("other"), nw.len().alias("rows"))).row(0)
        except engine_errors():
            return
        differing, rows = differing + (counts[0] or 0), rows + counts[1]
    if differing:
        message = (
            f"its labels differ from the most probable class in {differing:,} of {rows:,} rows"
        )
        raise _labels_differ_error(message, model, files[0].name)


def _labels_differ_error(
    message: str, model: ModelColumns, file: str, *, code: str = "labels-differ"
) -> DataError:
    """Build the error of labels that contradict the scores."""
    hint = "name the model with --model: the column of its labels, or that of its scores"
    return DataError.new(message, code, file, None, str(model.beside), hint=hint)


def _shortest_number_between(above: float, up_to: float) -> float:
    """Return 0.5 if above < 0.5 <= up_to, else the shortest number in this range."""
    if above < DEFAULT_THRESHOLD <= up_to:
        return DEFAULT_THRESHOLD
    if isinf(above) or isinf(up_to):
        return up_to if isinf(above) else nextafter(above, inf)
    for digits in range(17):
        number = round((above + up_to) / 2, digits)
        if above < number <= up_to:
            return number
    return up_to


FOREIGN = 10  # so many different values without a known label are not labels with typing errors


def refuse_disjoint_labels(
    settled: CountSettings, truth_labels: Sequence[str], unknown: Collection[str]
) -> None:
    """Raise if no model predicts any label of truth: the classes are named differently."""
    models, columns = settled.columns.models, settled.columns
    predicted = frozenset[str]().union(*map(settled.texts, models))
    if not 1 < len(predicted) < FOREIGN or len(unknown) < len(models):
        return
    two_numbers = len(predicted) == len(truth_labels) == 2 and all(map(is_score, predicted))
    if not two_numbers:
        if predicted & {*truth_labels}:
            return
        if any(is_score(text) or missing_word_hint(text) for text in predicted):
            return  # the other values are the invalid ones
    message = f"predicts {list_names(sorted(predicted))}, but truth '{columns.truth}' has "
    message += list_names(truth_labels)
    hint = "write the same labels in both columns"
    if len(predicted) == len(truth_labels) == 2:
        (ours, one_named), (theirs, two_named) = (
            guess_positive(dict.fromkeys(sorted(labels), 1)) for labels in (predicted, truth_labels)
        )
        if one_named and two_named:
            hint += f", such as '{theirs}' instead of '{ours}' if they mean the same"
    names = dict.fromkeys(columns.source(model) for model in models)
    problems = [Problem(message, "unknown-label", settled.name, None, name) for name in names]
    if predicted <= {"0", "1"} and settled.roles.ranks and settled.roles.kind is None:
        words = f"0 and 1 are scores: rows with 1 are predicted '{settled.positive}'"
        raise DataError(problems, readings=[OfferedReading(words, {"kind": "score"})])
    raise DataError(problems, hint=hint)


def refuse_mixed_predictions(settled: CountSettings, truth_labels: Sequence[str]) -> None:
    """Raise for a long table in which some models predict labels, and others scores."""
    columns, text = settled.columns, pl.col("a")
    if not columns.answer:
        return
    names = [model.name for model in columns.models]
    model, answer = column_as_text(str(columns.naming)), column_as_text(columns.answer)
    rows = settled.numbered_rows(m=model, a=answer).drop_nulls()
    every = rows.group_by("m", maintain_order=True).agg(
        label=text.is_in(list(truth_labels)).all(), score=column_as_number("a").is_not_null().all()
    )
    decided = every.filter(pl.col("m").is_in(names), pl.col("label") != pl.col("score")).collect()
    labels, scores = (decided.filter(kind)["m"].to_list() for kind in ("label", "score"))
    if not (labels and scores):
        return
    message = f"has labels of {list_names(labels, 3)} and scores of {list_names(scores, 3)}"
    readings = [
        OfferedReading(
            f"the {kind}s of {list_names(selected, 3)}, "
            f"without the {unused_kind}s of {list_names(rest, 3)}",
            {"model": tuple(selected), "kind": kind},
        )
        for kind, selected, unused_kind, rest in (
            ("score", scores, "label", labels),
            ("label", labels, "score", scores),
        )
    ]
    problem = Problem(message, "wrong-layout", settled.name, None, columns.answer)
    raise DataError([problem], readings=readings)


def refuse_class_columns_not_in_truth(
    file: str, models: Iterable[ModelColumns], classes: Collection[str]
) -> None:
    """Raise for probability columns of classes not in truth, if a class of truth has no column."""
    problems = []
    for model in models:
        strange = [name for name in model.classes if name not in classes]
        lacking = [name for name in classes if name not in model.classes]
        if strange and lacking and model.kind == "classes":
            columns = (model.columns[model.classes.index(name)] for name in strange)
            have = "has" if len(lacking) == 1 else "have"
            message = f"truth has no such class, and {list_names(lacking, 3)} {have} no column"
            problems += [Problem(message, "class-column", file, 1, name) for name in columns]
    if problems:
        hint = (
            "name the columns as truth writes the classes, or add --classes CLASS for a class "
            "without rows in truth"
        )
        raise DataError(problems, hint=hint)


SEPARATORS = r"\s*[;|,]\s*"
RECIPE = (
    "write one row per label, with columns row, label, truth and prediction (1 where the label "
    "applies), then add --by label --cluster row --positive 1"
)


def refuse_multilabel(counts: PredictionCounts) -> None:
    """Raise for cells with several classes, as `a;b`, and for columns of classes not in truth."""
    classes = [*counts.classes]
    refuse_multilabel_cells(counts.kept.settled, classes)
    declared = (name for name in counts.roles.classes if name not in classes)
    refuse_class_columns_not_in_truth(counts.name, counts.models, [*classes, *declared])


def refuse_multilabel_cells(
    settled: CountSettings, classes: Iterable[str], others: Iterable[Iterable[str]] = ()
) -> None:
    """Raise for cells with several labels, as `a;b`, unless declared.

    Their parts are labels, or parts of other cells. others: predictions that are not classes.
    """
    roles, columns = settled.roles, settled.columns
    models = [model for model in columns.models if model.kind == "label"]
    texts = {*classes}.union(*others, *(settled.texts(model) for model in models))
    cells = _cells_of_several_labels(texts, {*roles.classes, roles.positive})
    if not cells:
        return
    message = f"{list_names(cells, 3)}: a cell has several classes "
    message += f"({list_names(next(iter(cells.values())), 3)})"
    place = (settled.name, None, columns.truth)
    joined = [name.strip() for name in cells]
    # the first cell with one of them
    for column in dict.fromkeys([columns.truth, *(columns.source(model) for model in models)]):
        is_joined = column_as_text(column).str.strip_chars().is_in(joined)
        frame = settled.numbered_rows(FILE, ROW, found=is_joined)
        rows = frame.filter("found").head(1).collect()
        if len(rows):
            place = (*rows.row(0)[:2], column)
            break
    raise DataError.new(message, "multi-label", *place, hint=RECIPE)


def _cells_of_several_labels(
    texts: Collection[str], declared: Collection[str | None]
) -> dict[str, list[str]]:
    """Return the parts of each text that are other texts, or parts of several texts."""
    cells = {}
    for text in sorted({*texts} - {*declared}):
        parts = [part for part in re.split(SEPARATORS, text.strip()) if part]
        if len(parts) > 1:
            cells[text] = parts
    labels = {*texts} - cells.keys()
    repeated = Counter[str]()
    for text, parts in cells.items():
        repeated.update(() if "," in text else {*parts})
    labels |= {part for part, times in repeated.items() if times > 1}
    return {text: parts for text, parts in cells.items() if {*parts} <= labels}
