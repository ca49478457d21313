"""Errors on labels: similar ones, several in a cell, not truth's, or other than the scores say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, isinf, nextafter
from typing import TYPE_CHECKING, Any

from clfeval.errors import (
    DataError,
    Problem,
    bad_option,
    format_option,
    join_texts,
    list_names,
    quote_word,
)
from clfeval.tables.column_guesses import guess_positive, missing_word_hint
from clfeval.tables.columns import Columns, ModelColumns, is_score
from clfeval.tables.frames import as_text, collect, engine_errors, is_missing, nw, pl
from clfeval.tables.input import DEFAULT_THRESHOLD, Input
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, column_as_text
from clfeval.tables.scan import Reading, TableFile, scan

if TYPE_CHECKING:
    from clfeval.counts.count import PredictionCounts
    from clfeval.counts.settings import CountSettings

MAX_LABELS_IN_HINT = 4  # labels in a hint


def refuse_missing_words(
    file: str, truth: str, classes: Mapping[str, int], said: set[str | None], predicted: set[str]
) -> None:
    """Raise for a word for missing values that would be a third class.

    Not if `said`: declared, positive, with a column of probabilities, or predicted among text
    labels.
    """
    if any(not missing_word_hint(name) and not is_score(name) for name in classes):
        said = said | predicted
    words = [name for name in classes if missing_word_hint(name) and name not in said]
    if words and len(classes) - len(words) > 1:
        rows = join_texts([f"'{word}' ({classes[word]:,})" for word in words])
        what = f"is this a class or a missing value: {rows}?"
        flags = " ".join(format_option("--classes", word) for word in words)
        gap = format_option("--null-value", words[0])
        hint = f"add {gap} if it is missing, or {flags} if it is a class"
        fixes = {"null_value": tuple(words)}
        raise DataError.new(what, "missing-word", file, None, truth, hint=hint, fixes=fixes)


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
            what = f"--classes {quote_word(label)} names one class, which truth does not have"
            raise bad_option(what, hint)
    said = {*roles.classes, roles.positive}.union(*(model.classes for model in models))
    refuse_missing_words(file, truth, classes, said, {*predicted})

    def twins(labels: Iterable[str]) -> list[list[str]]:
        alike: dict[str, list[str]] = {}
        for label in labels:
            alike.setdefault(label.strip().lower(), []).append(label)
        declared = {*roles.classes}
        return [same for same in alike.values() if len(same) > 1 and not {*same} <= declared]

    found = [
        (truth, join_texts([f"'{label}' ({classes[label]:,})" for label in same]), same)
        for same in twins(classes)
    ]
    for column, strange in (others or {}).items():
        mixed = [same for same in twins([*classes, *sorted(strange)]) if {*same} & {*strange}]
        found += [(column, list_names(same), same) for same in mixed]
    if not found:
        return
    what = "labels differ only in case or outer spaces: "
    problems = [Problem(what + text, "label-twins", file, None, at) for at, text, _ in found]
    every = list(dict.fromkeys(label for _, _, same in found for label in same))
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
    known: Collection[str],
) -> tuple[float, float, float] | None:
    """Return a threshold t at which scores reproduce a model's labels, and its range (low, high].

    t is 0.5, or else the shortest number in the range. None where the scores cannot be read. write:
    numbers as in the score column. known: the labels of truth. Raises DataError where no threshold
    gives the labels, and where no label is a known one.
    """
    label = str(model.beside)
    chosen = columns.readings("plain")
    readings: dict[str, Reading] = {label: columns.label(label), score: chosen[score]}
    # lowest score of positives, highest score of all others
    least, most, lowest = inf, -inf, inf
    labels = set()
    for file in files:
        frame = scan(file, readings, null_values=columns.null_values)
        number = nw.col(score).cast(nw.Float64)
        frame = frame.filter(~nw.col(label).is_null(), ~number.is_null(), ~number.is_nan())
        ends = [number.min().alias("least"), number.max().alias("most")]
        try:
            found = collect(frame.group_by(label).agg(*ends)).rows(named=True)
        except engine_errors():
            return None
        for row in (row for row in found if not is_missing(row[label])):
            text = as_text(row[label])
            labels.add(text)
            lowest = min(lowest, row["least"])
            if text == positive:
                least = min(least, row["least"])
            else:
                most = max(most, row["most"])
    sure = lowest >= DEFAULT_THRESHOLD
    if labels and not labels & {*known}:
        what = f"its values ({list_names(sorted(map(str, labels)), 3)}) are not classes of truth "
        what += f"({list_names(sorted(known), 3)})"
        what += "; none of the scores is below 0.5: are they of the predicted class?" * sure
        raise _labels_differ_error(what, model, files[0].name, sure=sure, code="unknown-label")
    if most >= least:
        low, high = write(least, most)
        what = f"no single threshold on '{score}' gives its labels: '{positive}' has scores from "
        what += f"{low}, other labels have scores up to {high}"
        what += "; none is below 0.5: are they probabilities of the predicted class?" * sure
        raise _labels_differ_error(what, model, files[0].name, sure=sure or len(labels) > 2)
    return _shortest_number_between(most, least), most, least


def check_labels_most_probable(
    files: Sequence[TableFile], columns: Columns, model: ModelColumns
) -> None:
    """Raise DataError if a label next to class probabilities is not the most probable class."""
    label, chosen = str(model.beside), columns.readings("plain")
    readings: dict[str, Reading] = {name: chosen[name] for name in model.columns}
    readings[label] = columns.label(label)
    largest = nw.max_horizontal(*model.columns)
    text, pairs = nw.col(label).cast(nw.String), zip(model.classes, model.columns, strict=True)
    said = [(text == name) & (nw.col(column) >= largest) for name, column in pairs]
    differ = (~nw.any_horizontal(*said, ignore_nulls=True)).cast(nw.Int64).sum()
    other = rows = 0
    for file in files:
        frame = scan(file, readings, null_values=columns.null_values)
        frame = frame.filter(~nw.col(label).is_null(), ~largest.is_null(), ~largest.is_nan())
        try:
            found = collect(frame.select(differ.alias("other"), nw.len().alias("rows"))).row(0)
        except engine_errors():
            return
        other, rows = other + (found[0] or 0), rows + found[1]
    if other:
        what = f"its labels differ from the most probable class in {other:,} of {rows:,} rows"
        raise _labels_differ_error(what, model, files[0].name)


def _labels_differ_error(
    what: str, model: ModelColumns, file: str, *, sure: bool = False, code: str = "labels-differ"
) -> DataError:
    """Build the error of labels that contradict the scores; sure: scores of the predicted class."""
    label, many = str(model.beside), len(model.columns) > 1
    others = " ".join(format_option("--ignore", name) for name in model.columns[:2])
    hint = f"add {format_option('--ignore', label)} to evaluate the "
    hint += f"{'probabilities' if many else 'scores'}, or "
    hint += f"{others}{' and so on' * (len(model.columns) > 2)} to evaluate the labels"
    fixes = {"ignore": model.columns if sure else (label,)}
    return DataError.new(what, code, file, None, label, hint=hint, fixes=fixes)


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
    settled: CountSettings, known: Sequence[str], unknown: Collection[str]
) -> None:
    """Raise if no model predicts any label of truth: the classes are named differently."""
    models, columns = settled.columns.models, settled.columns
    said = frozenset[str]().union(*map(settled.texts, models))
    if not 1 < len(said) < FOREIGN or said & {*known} or len(unknown) < len(models):
        return
    if any(is_score(text) or missing_word_hint(text) for text in said):
        return  # the other values are the invalid ones
    what = f"predicts {list_names(sorted(said))}, but truth '{columns.truth}' has "
    what += list_names(known)
    hint = "write the same labels in both columns"
    if len(said) == len(known) == 2:
        (ours, one_named), (theirs, two_named) = (
            guess_positive(dict.fromkeys(sorted(one), 1)) for one in (said, known)
        )
        if one_named and two_named:
            hint += f", such as '{theirs}' instead of '{ours}' if they mean the same"
    hint += "; if a column is not a model, add --ignore COLUMN"
    names = dict.fromkeys(columns.source(model) for model in models)
    raise DataError(
        [Problem(what, "unknown-label", settled.name, None, name) for name in names], hint=hint
    )


def refuse_mixed_predictions(settled: CountSettings, known: Sequence[str]) -> None:
    """Raise for a long table in which some models predict labels, and others scores."""
    columns, text = settled.columns, pl.col("a")
    if not columns.answer:
        return
    names = [model.name for model in columns.models]
    model, answer = column_as_text(str(columns.naming)), column_as_text(columns.answer)
    rows = settled.numbered_rows(m=model, a=answer).drop_nulls()
    every = rows.group_by("m", maintain_order=True).agg(
        label=text.is_in(list(known)).all(), score=column_as_number("a").is_not_null().all()
    )
    found = every.filter(pl.col("m").is_in(names), pl.col("label") != pl.col("score")).collect()
    labels, scores = (found.filter(kind)["m"].to_list() for kind in ("label", "score"))
    if not (labels and scores):
        return
    what = f"has labels of {list_names(labels, 3)} and scores of {list_names(scores, 3)}"
    label_flags, score_flags = (
        " ".join([*(format_option("--model", name) for name in some), f"--kind {kind}"])
        for some, kind in ((labels, "label"), (scores, "score"))
    )
    hint = f"add {score_flags} to evaluate the scores, or {label_flags} to evaluate the labels"
    fixes: dict[str, Any] = {"model": tuple(scores), "kind": "score"}
    if len(labels) > len(scores):
        fixes = {"model": tuple(labels), "kind": "label"}
    problem = Problem(what, "wrong-layout", settled.name, None, columns.answer)
    raise DataError([problem], hint=hint, fixes=fixes)


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
            what = f"truth has no such class, and {list_names(lacking, 3)} {have} no column"
            problems += [Problem(what, "class-column", file, 1, name) for name in columns]
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


def refuse_multilabel(counted: PredictionCounts) -> None:
    """Raise for cells with several classes, as `a;b`, and for columns of classes not in truth."""
    classes = [*counted.classes]
    refuse_multilabel_cells(counted.kept.settled, classes)
    declared = (name for name in counted.roles.classes if name not in classes)
    refuse_class_columns_not_in_truth(counted.name, counted.models, [*classes, *declared])


def refuse_multilabel_cells(
    settled: CountSettings, classes: Iterable[str], others: Iterable[Iterable[str]] = ()
) -> None:
    """Raise for cells with several labels, as `a;b`, unless declared.

    Their parts are labels, or parts of other cells. others: predictions that are not classes.
    """
    roles, columns = settled.roles, settled.columns
    models = [model for model in columns.models if model.kind == "label"]
    every = {*classes}.union(*others, *(settled.texts(model) for model in models))
    cells = {}
    for name in sorted(every - {*roles.classes, roles.positive}):
        parts = [part for part in re.split(SEPARATORS, name.strip()) if part]
        if len(parts) > 1:
            cells[name] = parts
    known = every - cells.keys()
    repeated = Counter[str]()
    for name, parts in cells.items():
        repeated.update(() if "," in name else {*parts})
    known |= {part for part, times in repeated.items() if times > 1}
    joined = [name for name, parts in cells.items() if {*parts} <= known]
    if joined:
        names = dict.fromkeys([columns.truth, *(columns.source(model) for model in models)])
        what = f"{list_names(joined, 3)}: a cell has several classes "
        what += f"({list_names(cells[joined[0]], 3)})"
        wanted, place = [name.strip() for name in joined], (settled.name, None, columns.truth)
        for column in names:  # the first cell with one of them
            found = column_as_text(column).str.strip_chars().is_in(wanted)
            rows = settled.numbered_rows(FILE, ROW, found=found).filter("found").head(1).collect()
            if len(rows):
                place = (*rows.row(0)[:2], column)
                break
        raise DataError.new(what, "multi-label", *place, hint=RECIPE)
