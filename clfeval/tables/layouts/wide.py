"""Wide tables: one row per observation, a truth column, and the models of the other columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clfeval.tables import invalid_cells as checks
from clfeval.tables.columns import KEY, Also, Columns, Mode
from clfeval.tables.frames import Frame, in_polars, nw, pl
from clfeval.tables.predictions import Layout
from clfeval.tables.readings.score_scales import with_scaled_numbers
from clfeval.tables.readings.wide_tables import probability_readings, wide_readings
from clfeval.tables.scan import CellReading, TableFile, scan


def scan_rows(
    files: Sequence[TableFile], columns: Columns, mode: Mode, added_columns: Also
) -> list[Frame]:
    """Scan the files, one row per observation.

    mode: how labels and scores are read. added_columns: "key" adds KEY, the id or else the number
    of the row; "watch" adds the flags of the scan.
    """
    cell_readings = columns.readings(mode)
    adds_flags = added_columns == "watch"
    if added_columns == "key" and columns.id is not None:
        cell_readings.setdefault(columns.id, "text")
    frames = [
        scan(file, cell_readings, null_values=columns.null_values, watch=adds_flags)
        for file in files
    ]
    frames = [with_positive_probabilities(frame, columns) for frame in frames]
    if added_columns != "key":
        return frames
    if columns.id is not None:
        return [frame.with_columns(nw.col(columns.id).alias(KEY)) for frame in frames]
    return [
        _frame_with_row_numbers(file, frame, columns, cell_readings)
        for frame, file in zip(frames, files, strict=True)
    ]


def _frame_with_row_numbers(
    file: TableFile, frame: Frame, columns: Columns, cell_readings: Mapping[str, CellReading]
) -> Frame:
    """Return the frame of a file with KEY, the row numbers: stored ones, else as rows are read."""
    if not file.numbered:
        first_row = 2 if file.head else 1  # the header is row 1
        return nw.from_native(in_polars(frame).with_row_index(KEY, offset=first_row))
    numbered_readings = {**cell_readings, checks.ROW: "integer"}
    numbered_frame = scan(file, numbered_readings, null_values=columns.null_values)
    return with_positive_probabilities(numbered_frame, columns).rename({checks.ROW: KEY})


def with_positive_probabilities(frame: Frame, columns: Columns) -> Frame:
    """Return a frame with probabilities of the positive class in place of confidences.

    Of a row whose label is the positive class it is the confidence, else 1 - confidence. Scores on
    other scales are as they are evaluated.
    """
    frame = with_scaled_numbers(frame, columns)
    for model in columns.models:
        if not model.confidence:  # its scores are of the positive class already
            continue
        (score_column,) = model.columns
        label_cell = nw.col(str(model.label_column))
        confidence_cell = nw.col(score_column)
        is_positive = label_cell.cast(nw.String) == columns.positive
        probability = nw.when(is_positive).then(confidence_cell).otherwise(1 - confidence_cell)
        frame = frame.with_columns(
            nw.when(~label_cell.is_null()).then(probability).alias(score_column)
        )
    return frame


def row_checks(
    columns: Columns, suspicion: checks.Suspicion, frames: Sequence[pl.LazyFrame]
) -> list[tuple[pl.LazyFrame, list[checks.Check]]]:
    """Return the checks of truth, models, runs, clusters, ids and weights."""
    cell_checks = [checks.missing_value(columns.truth)] if suspicion.strict else []
    checked_columns = set[str]()  # several models may be read from one column
    for model in columns.models:
        source_columns = [name for name in columns.sources(model) if name not in checked_columns]
        checked_columns.update(source_columns)
        for source_column in source_columns:
            are_numbers = model.kind != "label"
            has_unknown_labels = model.name in suspicion.unknown
            cell_checks += checks.prediction_checks(
                source_column, columns, suspicion, number=are_numbers, unknown=has_unknown_labels
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
