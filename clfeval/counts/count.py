"""From opened predictions to pattern counts: count, judge, and count again if a guess failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clfeval.counts.judge import (
    Judged,
    check_ids,
    default_positive,
    judge,
    needs_rows,
    raise_complaints,
    refuse_unbounded,
    resolve_positive,
    slices_of,
    values_of,
)
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.raw import CountPlan
from clfeval.counts.reading import (
    Mode,
    Pass,
    check_structure,
    constants,
    distinct_of,
    explained,
    find_long_models,
    run_pass,
)
from clfeval.errors import HEADER_ONLY, DataError, Problem, listing
from clfeval.tables.csv import FingerprintTask
from clfeval.tables.diagnose import count_blank
from clfeval.tables.names import known_labels, natural
from clfeval.tables.peek import is_score
from clfeval.tables.prediction import ModelColumns, Predictions
from clfeval.tables.roles import Kind
from clfeval.tables.scan import ENGINE_ERRORS


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


@dataclass(frozen=True, slots=True)
class FileCount:
    """What one file contributed: observations counted and observations left out."""

    name: str
    sha256: str | None
    rows: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Counted:
    """Pattern counts of a prediction table, with what later steps must know about it.

    slices: the whole table under None, then one entry per slice.
    thresholds: per model the cut in force, None for labels and for largest-class votes.
    reread: models whose first rows looked like labels and which hold scores.
    positive_values, vote_values: the raw values of truth, and of each label model, that mean the
    positive class.
    """

    slices: Mapping[str | None, PatternCounts]
    files: tuple[FileCount, ...]
    positive: str
    classes: tuple[str, ...]
    predictions: Predictions
    thresholds: Mapping[str, float | None]
    ties: Mapping[str, int]
    blank_rows: int
    reread: tuple[str, ...]
    plan: CountPlan
    mode: Mode
    positive_values: tuple[Any, ...]
    vote_values: tuple[tuple[Any, ...], ...]

    @property
    def models(self) -> tuple[ModelColumns, ...]:
        """The models counted, in the order of the table."""
        return self.predictions.layout.models


def count_predictions(
    predictions: Predictions,
    *,
    cuts: Mapping[str, float] | None = None,
    any_range: bool = False,
) -> Counted:
    """Count the patterns of a prediction table.

    `cuts` replaces thresholds by model; `any_range` admits scores outside 0..1 without threshold.

    Raises DataError with every problem of the table, found in one second pass.
    """
    try:
        return _count(predictions, cuts or {}, any_range=any_range)
    except ENGINE_ERRORS as error:
        raise explained(predictions, error) from error


def _count(predictions: Predictions, cuts: Mapping[str, float], *, any_range: bool) -> Counted:
    tasks = [FingerprintTask(file.source) if file.source else None for file in predictions.files]
    predictions, positive = prepare(predictions, tasks)
    name, roles = predictions.files[0].name, predictions.roles
    reread: set[str] = set()
    while True:
        plan = _plan(predictions, positive, cuts)
        done = run_pass(predictions, plan, tasks)
        judged = judge(done.raw, plan, roles)
        scores = _numeric_after_all(judged) if roles.kind is None else set()
        said = resolve_positive(name, judged.classes, roles) if judged.classes else positive
        if not scores and said == positive:
            break
        positive = said
        reread |= scores
        predictions = with_kinds(predictions, dict.fromkeys(scores, "score"))
    raw = done.raw
    blank = _blank_rows(predictions, done, judged)
    # rows without any value are blank lines, unless there are more of them than blank lines
    excused = judged.empty & (raw.rows[judged.empty].sum() <= blank)
    if needs_rows(judged, raw, predictions, excused, loose=done.loose):
        known = sorted(known_labels(judged.classes, roles), key=natural)
        raise_complaints(predictions, judged, known, bad_weights=raw.bad_weights > 0)
        if judged.unknown or judged.bad_flags or raw.bad_weights:
            raise DataError(Problem("values that fit no role, not found again", "bad-values", name))
    if judged.unbounded:
        probabilities = {m.name for m in plan.models if m.kind == "classes"}
        refuse_unbounded(name, judged.unbounded, probabilities, any_range=any_range)
    keep = ~judged.missing
    if not raw.n[keep].sum() > 0:
        hint = HEADER_ONLY
        if raw.rows.sum() > blank or roles.weight:
            hint = "every row lacks a value or has weight 0"
        raise DataError(Problem("no rows to evaluate", "empty-table", name), hint=hint)
    layout = predictions.layout
    if layout.name != "long" and layout.id is not None:
        check_ids(predictions.files, layout.id, predictions.peeks[layout.id], roles.run)
    return Counted(
        slices=slices_of(
            raw, plan, roles.by, keep, positive, "--by" if roles.run is None else "--run"
        ),
        files=tuple(
            FileCount(
                name=file.source.display if file.source else file.name,
                sha256=task.result().sha256 if task else None,
                rows=int(raw.rows[keep & (raw.origin == index)].sum()),
                dropped=int(raw.rows[~keep & ~excused & (raw.origin == index)].sum()),
            )
            for index, (file, task) in enumerate(zip(predictions.files, tasks, strict=True))
        ),
        positive=positive,
        classes=judged.classes,
        predictions=predictions,
        thresholds={
            model.name: cut if model.kind != "label" and np.isfinite(cut) else None
            for model in plan.models
            for cut in [plan.thresholds[model.name]]
        },
        ties={model: count for model, count in raw.ties.items() if count},
        blank_rows=blank,
        reread=tuple(sorted(reread)),
        plan=plan,
        mode=done.mode,
        positive_values=values_of(raw.truth, positive),
        vote_values=tuple(
            values_of(votes, positive) if model.kind == "label" else ()
            for model, votes in zip(plan.models, raw.votes, strict=True)
        ),
    )


def _plan(predictions: Predictions, positive: str, cuts: Mapping[str, float]) -> CountPlan:
    layout, roles = predictions.layout, predictions.roles
    thresholds = {}
    for model in layout.models:
        # more than two classes vote by the largest probability unless a threshold is asked for
        largest = len(model.columns) > 2 and not roles.has_threshold(model.name)
        thresholds[model.name] = cuts.get(
            model.name, float("nan") if largest else roles.threshold(model.name)
        )
    long = layout.name == "long"
    fixed = [f"k{i}" for i in range(len(constants(predictions)))]
    models = layout.models
    return CountPlan(
        truth="k0" if long else layout.truth,
        models=models,
        thresholds=thresholds,
        positive=positive,
        by=tuple(fixed[1 : 1 + len(roles.by)]) if long else roles.by,
        weight=(fixed[-1] if long else roles.weight) if roles.weight else None,
        flags=(
            *(f"c{i}" for i in range(len(models))),
            *(f"d{i}" for i in range(len(fixed))),
            "nameless",
        )
        if long
        else (),
    )


def _numeric_after_all(judged: Judged) -> set[str]:
    """Models guessed to hold labels whose unknown values are all numbers: they hold scores."""
    return {name for name, values in judged.unknown.items() if all(map(is_score, values))}


def _blank_rows(predictions: Predictions, done: Pass, judged: Judged) -> int:
    """Count blank lines, if some rows look like them: without truth and without any answer."""
    if not done.raw.rows[judged.empty].sum():
        return 0
    return sum(map(count_blank, predictions.files))
