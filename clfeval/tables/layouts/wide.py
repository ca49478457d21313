"""Wide tables: one row per observation, a truth column, and one column per model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from clfeval.errors import DataError, list_names
from clfeval.late import nw, pl
from clfeval.shell import format_option
from clfeval.tables.cells import known_labels
from clfeval.tables.diagnose import (
    ROW,
    Check,
    Suspicion,
    bad_answer,
    bad_weight,
    duplicate_id,
    missing_cell,
    missing_value,
    zero_probabilities,
)
from clfeval.tables.input import ColumnNames, Input, find_column, match_names
from clfeval.tables.layouts.models import models_of_columns, refuse_confidence
from clfeval.tables.names import (
    find_truth,
    likely_id,
    no_truth_error,
    refuse_covariates,
    refuse_run_columns,
    refuse_two_truths,
    refuse_weight_columns,
)
from clfeval.tables.peek import ColumnPeek
from clfeval.tables.prediction import KEY, Also, Columns, Layout, Mode, ModelColumns
from clfeval.tables.scan import Frame, TableFile, in_polars, scan


def recognise(file: str, peeks: Mapping[str, ColumnPeek], roles: Input) -> Columns:
    """Take every column that is nothing else for a model."""
    place, models = _models(file, peeks, roles)
    return Columns(*place, _select_models(file, peeks, models, roles))


def _models(
    file: str, peeks: Mapping[str, ColumnPeek], roles: Input
) -> tuple[tuple[str, str | None], list[ModelColumns]]:
    """Return truth and id, and all other columns as models; those of probabilities are folded."""
    columns = list(peeks)
    truth = find_truth(peeks, roles)
    if truth is None:
        raise no_truth_error(file, peeks)
    spare = {name: peek for name, peek in peeks.items() if name != roles.cluster}
    row_id = roles.id or likely_id(spare, truth)
    taken = {truth, row_id, roles.weight, *roles.by, roles.cluster, ""}
    free = [name for name in columns if name not in taken]
    refuse_two_truths(file, free, truth, roles)
    classes = frozenset(known_labels(peeks[truth].texts, roles))
    refuse_weight_columns(file, free, peeks, classes, roles)
    refuse_run_columns(file, free, roles)
    models = models_of_columns(free, peeks, classes, roles)
    refuse_confidence(file, models, peeks, classes, roles)
    alone = {model.columns[0] for model in models if len(model.columns) == 1 and not model.beside}
    refuse_covariates(file, [name for name in free if name in alone], peeks, roles)
    return (truth, row_id), models


def _select_models(
    file: str, columns: Iterable[str], models: Sequence[ModelColumns], roles: Input
) -> tuple[ModelColumns, ...]:
    """Keep the models named exactly or by glob, in the order asked for; all if none is named."""
    if roles.model:
        known = {model.name: model for model in models}
        return tuple(known[name] for name in match_names(file, list(known), roles.model))
    if not models:
        what = f"no model columns; columns: {list_names(columns)}"
        hint = "a wide table has a truth column and one column per model"
        if row_id := find_column(columns, ColumnNames.ID):
            way = format_option("--join", row_id)
            hint += f"; if predictions are in another file, name both files and add {way}"
        raise DataError.new(what, "no-models", file, hint=hint)
    return tuple(models)


def fold_probabilities(file: str, peeks: Mapping[str, ColumnPeek], roles: Input) -> Columns | None:
    """Fold columns of class probabilities into models; None if there are none."""
    place, models = _models(file, peeks, roles)
    if all(model.kind != "classes" for model in models):
        return None
    return Columns(*place, _select_models(file, peeks, models, roles))


def scan_rows(files: Sequence[TableFile], columns: Columns, mode: Mode, also: Also) -> list[Frame]:
    """Scan the files: a row is an observation."""
    chosen, watch = columns.readings(mode), also == "watch"
    if also == "key" and columns.id is not None:
        chosen.setdefault(columns.id, "text")
    frames = [scan(file, chosen, null_values=columns.null_values, watch=watch) for file in files]
    if also != "key":
        return frames
    if columns.id is not None:
        return [frame.with_columns(nw.col(columns.id).alias(KEY)) for frame in frames]
    return [
        # header is row 1
        nw.from_native(in_polars(frame).with_row_index(KEY, offset=2 if file.head else 1))
        if not file.numbered
        else scan(file, {**chosen, ROW: "integer"}, null_values=columns.null_values).rename(
            {ROW: KEY}
        )
        for frame, file in zip(frames, files, strict=True)
    ]


def row_checks(
    columns: Columns, suspicion: Suspicion, frames: Sequence[pl.LazyFrame]
) -> list[tuple[pl.LazyFrame, list[Check]]]:
    """Look at truth, at each model, at what tells rows apart, and at weights."""
    wanted = [missing_value(columns.truth)] if suspicion.strict else []
    for model in columns.models:
        for column in model.columns:
            number, unknown = model.kind != "label", model.name in suspicion.unknown
            wanted += bad_answer(column, suspicion, number=number, unknown=unknown)
        if model.shares and suspicion.strict:
            wanted.append(zero_probabilities(model.name, model.columns, columns.written))
    if columns.run is not None:
        wanted.append(missing_value(columns.run))
    if columns.cluster is not None:
        wanted.append(missing_cell(columns.cluster, frames[0]))
    if columns.id is not None:
        wanted.append(duplicate_id(*columns.row))
    if suspicion.weights and columns.weight:
        wanted.append(bad_weight(columns.weight, columns.written))
    return [(frame, wanted) for frame in frames]


LAYOUT = Layout(
    name="wide",
    needs="truth and one for each model",
    lacking="not a wide table",
    recognise=recognise,
    rows=scan_rows,
    checks=row_checks,
)

PROBABILITIES = replace(
    LAYOUT,
    name="probabilities",
    needs="rf:cat, .pred_cat or prob_cat for truth's classes",
    lacking="no class probabilities",
    recognise=fold_probabilities,
    asked=("wide",),
)
