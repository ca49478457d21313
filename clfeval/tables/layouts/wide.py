"""Wide tables: one row per observation, a truth column, and columns recognised as models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from clfeval.errors import DataError, format_option, list_names
from clfeval.tables.column_guesses import (
    find_truth,
    known_labels,
    likely_id,
    no_truth_error,
    refuse_covariates,
    refuse_run_columns,
    refuse_two_truths,
    refuse_weight_columns,
)
from clfeval.tables.columns import KEY, Also, ColumnPeek, Columns, Layout, Mode, ModelColumns
from clfeval.tables.frames import Frame, in_polars, nw, pl
from clfeval.tables.input import ColumnNames, Input, find_column, match_names
from clfeval.tables.invalid_cells import (
    ROW,
    Check,
    Suspicion,
    bad_weight,
    duplicate_id,
    missing_cell,
    missing_value,
    prediction_checks,
    zero_probabilities,
)
from clfeval.tables.model_columns import models_of_columns, refuse_confidence
from clfeval.tables.scan import TableFile, scan


def recognise(
    file: str, peeks: Mapping[str, ColumnPeek], roles: Input, *, probabilities: bool = False
) -> Columns | None:
    """Recognise a wide table: every column without another role is a model.

    probabilities: only a table with columns of class probabilities, which are one model.
    """
    truth = find_truth(peeks, roles)
    if truth is None:
        raise no_truth_error(file, peeks)
    spare = {name: peek for name, peek in peeks.items() if name != roles.cluster}
    row_id = roles.id or likely_id(spare, truth)
    taken = {truth, row_id, roles.weight, *roles.by, roles.cluster, ""}
    free = {name: peek for name, peek in peeks.items() if name not in taken}
    refuse_two_truths(file, free, truth, roles)
    classes = frozenset(known_labels(peeks[truth].texts, roles))
    refuse_weight_columns(file, free, classes, roles)
    refuse_run_columns(file, free, roles)
    models = models_of_columns(free, classes, roles)
    refuse_confidence(file, models, peeks, classes, roles)
    alone = {model.columns[0] for model in models if len(model.columns) == 1 and not model.beside}
    refuse_covariates(file, {name: free[name] for name in free if name in alone}, roles)
    if probabilities and all(model.kind != "classes" for model in models):
        return None
    return Columns(truth, row_id, _select_models(file, peeks, models, roles))


def _select_models(
    file: str, columns: Iterable[str], models: Sequence[ModelColumns], roles: Input
) -> tuple[ModelColumns, ...]:
    """Return the models named exactly or by glob, in the requested order; all if none is named."""
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


def scan_rows(files: Sequence[TableFile], columns: Columns, mode: Mode, also: Also) -> list[Frame]:
    """Scan the files, one row per observation."""
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
    """Return the checks of truth, models, runs, clusters, ids and weights."""
    wanted = [missing_value(columns.truth)] if suspicion.strict else []
    for model in columns.models:
        for column in model.columns:
            number, unknown = model.kind != "label", model.name in suspicion.unknown
            wanted += prediction_checks(column, columns, suspicion, number=number, unknown=unknown)
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
    recognise=recognise,
    rows=scan_rows,
    checks=row_checks,
)

PROBABILITIES = replace(
    LAYOUT,
    name="probabilities",
    needs="rf:cat, .pred_cat or prob_cat for truth's classes",
    recognise=partial(recognise, probabilities=True),
    asked=("wide",),
)
