"""What a pass over the rows needs to know beforehand: models, kinds, the positive class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from clfeval.counts.files import Tasks, fingerprints
from clfeval.counts.labels import default_positive, resolve_positive
from clfeval.tables.columns import Columns, Layout, ModelColumns
from clfeval.tables.input import Input, Kind
from clfeval.tables.names import known_labels, natural
from clfeval.tables.peek import Peek, distinct_of, is_score
from clfeval.tables.prediction import Predictions
from clfeval.tables.scan import TableFile


@dataclass(frozen=True, slots=True)
class Settled:
    """A table that can be counted: how every column is read, and which class is positive.

    thresholds: per model; NaN asks for the largest class probability.
    classes: truth's labels, where they were looked up beforehand.
    strange: per label model, values of the first rows that are no label and no number either.
    reread: models whose first rows looked like labels and which hold scores.
    """

    columns: Columns
    positive: str
    thresholds: Mapping[str, float]
    roles: Input
    layout: Layout
    files: tuple[TableFile, ...] = ()
    tasks: Tasks = ()
    peeks: Mapping[str, Peek] | None = None
    classes: tuple[str, ...] = ()
    strange: Mapping[str, frozenset[str]] | None = None
    reread: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return what the table is called in messages."""
        return self.files[0].name if self.files else ""

    def texts(self, model: ModelColumns) -> frozenset[str]:
        """Return the first values of a model's answers."""
        return (self.peeks or {})[self.columns.source(model)].texts


def settle(opened: Predictions, cuts: Mapping[str, float]) -> Settled:
    """Settle what the first values leave open, with one look at the whole truth where they do.

    `cuts` replaces thresholds by model. Label columns whose first values are no labels of the whole
    truth are found strange here, before a column of free text makes every row a group of its own.
    """
    files, columns, roles = opened.files, opened.columns, opened.roles
    if opened.layout.models is not None:
        columns = opened.layout.models(files, columns, opened.peeks, roles)
    found = opened.peeks[columns.truth].texts
    settled = Settled(
        columns=columns,
        positive=str(roles.positive or default_positive(found)),
        thresholds=_thresholds(columns, roles) | dict(cuts),
        roles=roles,
        layout=opened.layout,
        files=files,
        tasks=fingerprints(files),
        peeks=opened.peeks,
    )
    unsure = _maybe_labels(settled)
    if not (unsure or _strange(settled, tuple(found))) and (
        roles.positive or default_positive(found)
    ):
        return settled
    everywhere = distinct_of(files, columns.truth, columns.null_values)
    classes = tuple(sorted(everywhere, key=natural))
    if classes:
        settled = replace(settled, positive=resolve_positive(settled.name, classes, roles))
    labels = known_labels(classes, roles)
    strange = _strange(settled, classes)
    kinds: dict[str, Kind] = {name: "label" for name, texts in unsure.items() if texts <= labels}
    return replace(with_kinds(settled, kinds), classes=classes, strange=strange)


def with_kinds(settled: Settled, kinds: Mapping[str, Kind]) -> Settled:
    """Return the table with models read as another kind: all of them, if they share a column."""
    if not kinds:
        return settled
    columns = settled.columns
    if columns.answer:
        kinds = dict.fromkeys((model.name for model in columns.models), next(iter(kinds.values())))
    models = tuple(
        replace(model, kind=kinds[model.name]) if model.name in kinds else model
        for model in columns.models
    )
    return replace(settled, columns=replace(columns, models=models))


def _thresholds(columns: Columns, roles: Input) -> dict[str, float]:
    """Return the cut of each model: more than two classes vote by the largest, unless asked."""
    return {
        model.name: float("nan")
        if len(model.columns) > 2 and not roles.has_threshold(model.name)
        else roles.threshold_of(model.name)
        for model in columns.models
    }


def _maybe_labels(settled: Settled) -> dict[str, frozenset[str]]:
    """Return score columns of whole numbers: classes of a truth whose first rows lack them?"""
    if settled.roles.kind is not None:
        return {}
    unsure = {}
    for model in settled.columns.models:
        texts = settled.texts(model)
        if model.kind == "score" and all(is_score(t) and float(t) % 1 == 0 for t in texts):
            unsure[model.name] = texts
    return unsure


def _strange(settled: Settled, classes: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return, per label model, values of the first rows that are no label and no number either."""
    roles = settled.roles
    known = known_labels(classes, roles) | set(settled.columns.null_values)
    strange = {}
    for model in settled.columns.models:
        texts = settled.texts(model)
        if model.kind == "label" and not (texts <= known or all(map(is_score, texts))):
            strange[model.name] = frozenset(texts - known)
    return strange
