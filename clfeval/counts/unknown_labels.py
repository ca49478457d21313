"""Errors on labels that truth does not have: of other names, of some models, several in a cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError, OfferedReading, Problem, list_names
from clfeval.placeholders import END, OPTION
from clfeval.tables.frames import pl
from clfeval.tables.invalid_cells import FILE, ROW, column_as_number, column_as_text
from clfeval.tables.profiles import is_score
from clfeval.tables.readings.labels import guess_positive
from clfeval.tables.readings.notations import means_missing

FOREIGN = 10  # so many different values without a known label are not labels with typing errors


def refuse_disjoint_labels(
    settings: CountSettings, truth_labels: Sequence[str], unknown: Collection[str]
) -> None:
    """Raise if no model predicts any label of truth: the classes are named differently."""
    models, columns = settings.columns.models, settings.columns
    predicted_labels = frozenset[str]().union(*map(settings.texts, models))
    if not 1 < len(predicted_labels) < FOREIGN or len(unknown) < len(models):
        return
    are_numbers = all(map(is_score, predicted_labels))
    are_two_numbers = len(predicted_labels) == len(truth_labels) == 2 and are_numbers
    if not are_two_numbers:
        if predicted_labels & {*truth_labels}:
            return
        if any(is_score(text) or means_missing(text) for text in predicted_labels):
            return  # the other values are the invalid ones
    message = f"predicts {list_names(sorted(predicted_labels))}, but truth '{columns.truth}' has "
    message += list_names(truth_labels)
    hint = "write the same labels in both columns"
    if len(predicted_labels) == len(truth_labels) == 2:
        (predicted_positive, is_predicted_clear), (truth_positive, is_truth_clear) = (
            guess_positive(dict.fromkeys(sorted(labels), 1))
            for labels in (predicted_labels, truth_labels)
        )
        if is_predicted_clear and is_truth_clear:
            hint += f", such as '{truth_positive}' instead of '{predicted_positive}'"
            hint += " if they mean the same"
    source_columns = dict.fromkeys(columns.source(model) for model in models)
    problems = [
        Problem(message, "unknown-label", settings.name, None, column) for column in source_columns
    ]
    if predicted_labels <= {"0", "1"} and settings.roles.ranks and settings.roles.kind is None:
        scores_phrase = f"0 and 1 are scores: rows with 1 are predicted '{settings.positive}'"
        raise DataError(problems, readings=[OfferedReading(scores_phrase, {"kind": "score"})])
    raise DataError(problems, hint=hint)


def refuse_mixed_predictions(settings: CountSettings, truth_labels: Sequence[str]) -> None:
    """Raise for a long table in which some models predict labels, and others scores."""
    columns, answer_text = settings.columns, pl.col("a")
    if not columns.answer:
        return
    models = [model.name for model in columns.models]
    model = column_as_text(str(columns.naming))
    answer = column_as_text(columns.answer)
    rows = settings.numbered_rows(m=model, a=answer).drop_nulls()
    kinds_of_models = rows.group_by("m", maintain_order=True).agg(
        label=answer_text.is_in(list(truth_labels)).all(),
        score=column_as_number("a").is_not_null().all(),
    )
    decided_models = kinds_of_models.filter(
        pl.col("m").is_in(models), pl.col("label") != pl.col("score")
    ).collect()
    label_models, score_models = (
        decided_models.filter(kind)["m"].to_list() for kind in ("label", "score")
    )
    if not (label_models and score_models):
        return
    message = (
        f"has labels of {list_names(label_models, 3)} and scores of {list_names(score_models, 3)}"
    )
    readings = [
        OfferedReading(
            f"the {kind}s of {list_names(kind_models, 3)}, "
            f"without the {other_kind}s of {list_names(other_models, 3)}",
            {"model": tuple(kind_models), "kind": kind},
        )
        for kind, kind_models, other_kind, other_models in (
            ("score", score_models, "label", label_models),
            ("label", label_models, "score", score_models),
        )
    ]
    problem = Problem(message, "wrong-layout", settings.name, None, columns.answer)
    raise DataError([problem], readings=readings)


SEPARATORS = r"\s*[;|,]\s*"
RECIPE = (
    "write one row per label, with columns row, label, truth and prediction (1 where the label "
    f"applies), then add {OPTION}--by label{END} {OPTION}--cluster row{END} "
    f"{OPTION}--positive 1{END}"
)


def refuse_multilabel_cells(
    settings: CountSettings, classes: Iterable[str], others: Iterable[Iterable[str]] = ()
) -> None:
    """Raise for cells with several labels, as `a;b`, unless declared.

    Their parts are labels, or parts of other cells. others: predictions that are not classes.
    """
    input_options, columns = settings.roles, settings.columns
    label_models = [model for model in columns.models if model.kind == "label"]
    texts = {*classes}.union(*others, *(settings.texts(model) for model in label_models))
    parts_of_cells = _cells_of_several_labels(
        texts, {*input_options.classes, input_options.positive}
    )
    if not parts_of_cells:
        return
    message = f"{list_names(parts_of_cells, 3)}: a cell has several classes "
    message += f"({list_names(next(iter(parts_of_cells.values())), 3)})"
    location = (settings.name, None, columns.truth)
    cell_texts = [name.strip() for name in parts_of_cells]
    # the first cell with one of them
    for column in dict.fromkeys(
        [columns.truth, *(columns.source(model) for model in label_models)]
    ):
        is_multilabel = column_as_text(column).str.strip_chars().is_in(cell_texts)
        frame = settings.numbered_rows(FILE, ROW, found=is_multilabel)
        rows = frame.filter("found").head(1).collect()
        if len(rows):
            location = (*rows.row(0)[:2], column)
            break
    raise DataError.new(message, "multi-label", *location, hint=RECIPE)


def _cells_of_several_labels(
    texts: Collection[str], declared: Collection[str | None]
) -> dict[str, list[str]]:
    """Return the parts of each text that are other texts, or parts of several texts."""
    parts_of_text = {}
    for text in sorted({*texts} - {*declared}):
        parts = [part for part in re.split(SEPARATORS, text.strip()) if part]
        if len(parts) > 1:
            parts_of_text[text] = parts
    labels = {*texts} - parts_of_text.keys()
    part_counts = Counter[str]()
    for text, parts in parts_of_text.items():
        part_counts.update(() if "," in text else {*parts})
    labels |= {part for part, part_count in part_counts.items() if part_count > 1}
    return {text: parts for text, parts in parts_of_text.items() if {*parts} <= labels}
