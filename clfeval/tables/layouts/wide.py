"""Wide tables: one row per observation, a truth column, and the models of the other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clfeval.tables import invalid_cells as checks
from clfeval.tables.columns import KEY, Also, Columns, Mode
from clfeval.tables.frames import Frame, in_polars, nw, pl
from clfeval.tables.predictions import Layout
from clfeval.tables.readings.score_scales import with_scaled_numbers
from clfeval.tables.readings.wide_tables import probability_readings, wide_readings
from clfeval.tables.scan import TableFile, scan


def scan_rows(files: Sequence[TableFile], columns: Columns, mode: Mode, extra: Also) -> list[Frame]:
    """Scan the files, one row per observation."""
    column_readings, watch = columns.readings(mode), extra == "watch"
    if extra == "key" and columns.id is not None:
        column_readings.setdefault(columns.id, "text")
    frames = [
        scan(file, column_readings, null_values=columns.null_values, watch=watch) for file in files
    ]
    frames = [with_positive_probabilities(frame, columns) for frame in frames]
    if extra != "key":
        return frames
    if columns.id is not None:
        return [frame.with_columns(nw.col(columns.id).alias(KEY)) for frame in frames]
    return [
        # header is row 1
        nw.from_native(in_polars(frame).with_row_index(KEY, offset=2 if file.head else 1))
        if not file.numbered
        else with_positive_probabilities(
            scan(file, {**column_readings, checks.ROW: "integer"}, null_values=columns.null_values),
            columns,
        ).rename({checks.ROW: KEY})
        for frame, file in zip(frames, files, strict=True)
    ]


def with_positive_probabilities(frame: Frame, columns: Columns) -> Frame:
    """Return a frame with probabilities of the positive class in place of confidences.

    Of a row whose label is the positive class it is the confidence, else 1 - confidence. Scores on
    other scales are as they are evaluated.
    """
    frame = with_scaled_numbers(frame, columns)
    for model in columns.models:
        if not model.confidence:
            continue
        (name,) = model.columns
        label = nw.col(str(model.label_column))
        confidence = nw.col(name)
        is_positive = label.cast(nw.String) == columns.positive
        probability = nw.when(is_positive).then(confidence).otherwise(1 - confidence)
        frame = frame.with_columns(nw.when(~label.is_null()).then(probability).alias(name))
    return frame


def row_checks(
    columns: Columns, suspicion: checks.Suspicion, frames: Sequence[pl.LazyFrame]
) -> list[tuple[pl.LazyFrame, list[checks.Check]]]:
    """Return the checks of truth, models, runs, clusters, ids and weights."""
    cell_checks = [checks.missing_value(columns.truth)] if suspicion.strict else []
    checked = set[str]()  # of several models that are read from one
    for model in columns.models:
        sources = [name for name in columns.sources(model) if name not in checked]
        checked.update(sources)
        for column in sources:
            number, unknown = model.kind != "label", model.name in suspicion.unknown
            cell_checks += checks.prediction_checks(
                column, columns, suspicion, number=number, unknown=unknown
            )
        if model.confidence and suspicion.strict:
            cell_checks.append(checks.missing_value(str(model.label_column)))
        if model.shares and suspicion.strict:
            cell_checks.append(
                checks.zero_probabilities(model.name, model.columns, columns.written)
            )
    if columns.run is not None:
        cell_checks.append(checks.missing_value(columns.run))
    if columns.cluster is not None:
        cell_checks.append(checks.missing_cell(columns.cluster, frames[0]))
    if columns.id is not None:
        cell_checks.append(checks.duplicate_id(*columns.row))
    if suspicion.weights and columns.weight:
        cell_checks.append(checks.bad_weight(columns.weight, columns.written))
    return [(frame, cell_checks) for frame in frames]


LAYOUT = Layout(
    name="wide",
    needs="truth and one for each model",
    readings=wide_readings,
    rows=scan_rows,
    checks=row_checks,
)

PROBABILITIES = replace(
    LAYOUT,
    name="probabilities",
    needs="rf:cat, .pred_cat or prob_cat for truth's classes",
    readings=probability_readings,
)
