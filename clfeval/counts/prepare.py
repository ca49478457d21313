"""Before the pass: the positive class, a long table's models, and label columns that are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from clfeval.counts.complaints import raise_complaints
from clfeval.counts.judge import (
    Judged,
    default_positive,
    resolve_positive,
)
from clfeval.counts.reading import check_structure, distinct_of, find_long_models
from clfeval.errors import DataError, Problem, listing
from clfeval.tables.fingerprint import FingerprintTask
from clfeval.tables.labels import known_labels, natural
from clfeval.tables.layout import ModelColumns
from clfeval.tables.peek import is_score
from clfeval.tables.prediction import Predictions
from clfeval.tables.roles import Kind


def prepare(
    predictions: Predictions, tasks: Sequence[FingerprintTask | None]
) -> tuple[Predictions, str]:
    """Settle what the pass needs to know beforehand: the positive class, a long table's models.

    Label columns whose first values are no labels of the whole truth are refused here, before a
    column of free text makes every row a group of its own.
    """
    roles, layout = predictions.roles, predictions.layout
    name = predictions.files[0].name
    if layout.name == "long" and not layout.models:
        predictions = find_long_models(predictions)
    positive = roles.positive or default_positive(predictions.peeks[layout.truth].texts)
    strange = _strange_labels(predictions, tuple(predictions.peeks[layout.truth].texts))
    unsure = _maybe_labels(predictions)
    if positive is None or strange or unsure:
        classes = tuple(sorted(distinct_of(predictions, layout.truth), key=natural))
        if classes:
            positive = resolve_positive(name, classes, roles)
        strange = _strange_labels(predictions, classes)
        labels = known_labels(classes, roles)
        predictions = with_kinds(
            predictions, {name: "label" for name, texts in unsure.items() if texts <= labels}
        )
        if strange:
            for file, task in zip(predictions.files, tasks, strict=True):
                check_structure(file, task)
            none = np.zeros(0, bool)
            judged = Judged(classes, none, none, strange, {}, bad_flags=False)
            known = sorted(known_labels(classes, roles), key=natural)
            raise_complaints(predictions, judged, known)
    for model in predictions.layout.models:
        if model.kind == "classes" and positive not in model.classes:
            raise DataError(
                Problem(
                    f"model '{model.name}' has no probability column for the positive class "
                    f"'{positive}'; it has {listing(model.classes)}",
                    "no-class-column",
                    name,
                )
            )
    return predictions, str(positive)


def _maybe_labels(predictions: Predictions) -> dict[str, frozenset[str]]:
    """Return score columns of whole numbers: classes of a truth whose first rows lack them?"""
    if predictions.roles.kind is not None:
        return {}
    unsure = {}
    for model in predictions.layout.models:
        texts = predictions.peeks[answer_column(predictions, model)].texts
        if model.kind == "score" and all(is_score(t) and float(t) % 1 == 0 for t in texts):
            unsure[model.name] = texts
    return unsure


def answer_column(predictions: Predictions, model: ModelColumns) -> str:
    """Return the column of the file that holds a model's answers."""
    layout = predictions.layout
    return layout.prediction if layout.name == "long" else model.columns[0]


def with_kinds(predictions: Predictions, kinds: Mapping[str, Kind]) -> Predictions:
    """Return the predictions with models read as another kind; of a long table, all of them."""
    if not kinds:
        return predictions
    layout = predictions.layout
    if layout.name == "long":
        kinds = dict.fromkeys((model.name for model in layout.models), next(iter(kinds.values())))
    models = tuple(
        replace(model, kind=kinds[model.name]) if model.name in kinds else model
        for model in layout.models
    )
    return replace(predictions, layout=replace(layout, models=models))


def _strange_labels(
    predictions: Predictions, classes: tuple[str, ...]
) -> dict[str, frozenset[str]]:
    """Return, per label model, values of the first rows that are no label and no number either."""
    layout, roles = predictions.layout, predictions.roles
    known = known_labels(classes, roles) | set(roles.null_values)
    strange = {}
    for model in layout.models:
        texts = predictions.peeks[answer_column(predictions, model)].texts
        if model.kind == "label" and not (texts <= known or all(map(is_score, texts))):
            strange[model.name] = frozenset(texts - known)
    return strange
