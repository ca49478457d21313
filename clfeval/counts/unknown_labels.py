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
        if any(is_score(text) or means_missing(text) for text in predicted):
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
    model = column_as_text(str(columns.naming))
    answer = column_as_text(columns.answer)
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


SEPARATORS = r"\s*[;|,]\s*"
RECIPE = (
    "write one row per label, with columns row, label, truth and prediction (1 where the label "
    f"applies), then add {OPTION}--by label{END} {OPTION}--cluster row{END} "
    f"{OPTION}--positive 1{END}"
)


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
