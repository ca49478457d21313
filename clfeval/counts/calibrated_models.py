"""Checks of models that are read through a calibrator: their scores, the class, and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clfeval.counts.classes import ClassScores
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.settings import CountSettings
from clfeval.errors import DataError, list_names, quote_name
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.columns import CalibratedColumn, ModelColumns
from clfeval.tables.frames import collect, concatenate_frames, nw
from clfeval.tables.input import DEFAULT_THRESHOLD

TOLERANCE = 1e-9  # of a calibrated score


def refuse_scores_outside(
    settings: CountSettings, ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Raise for scores outside 0 to 1 that a calibrator should change; ranges: of each model."""
    for name, column in settings.columns.calibrated.items():
        low, high = ranges.get(name, (0.0, 1.0))
        if low < 0 or high > 1:
            worst_score = low if low < 0 else high
            message = f"a calibrator needs probabilities, but a score is {worst_score:g}"
            model = column.stored.model
            hint = f"leave out {OPTION}--model {model}:{column.file.name}{END}"
            if low < 0:
                hint += f"; if the scores are log odds, add {OPTION}--model {model}:logit{END}"
            raise DataError.new(
                message, "not-probabilities", settings.name, None, column.source, hint=hint
            )


def check_calibrators(counts: PredictionCounts) -> None:
    """Raise for calibrators of another class, and for those fitted to the counted rows."""
    calibrated = counts.evaluated.settled.columns.calibrated
    for name, column in calibrated.items():
        if column.file.classes:
            _check_classes(counts, column)
        elif counts.positive != column.file.positive:
            message = f"{column.file.name} was fitted with positive class "
            message += f"{quote_name(column.file.positive)}, but here it is "
            message += quote_name(counts.positive)
            hint = f"choose that class by {OPTION}--positive{END}, or fit a calibrator of this one"
            raise DataError.new(message, "other-positive", counts.name, hint=hint)
        if _may_have_fitted(counts, name, column) and _has_fitted(counts, column):
            message = f"these rows fitted the calibrator of {quote_name(column.stored.model)} in "
            message += f"{column.file.name}, and cannot judge it"
            hint = "judge it on rows that it was not fitted to; recalibrate estimates its gain"
            raise DataError.new(message, "fitted-rows", counts.name, hint=hint)


def _check_classes(counts: PredictionCounts, column: CalibratedColumn) -> None:
    """Raise for classes of the rows that a calibrator was not fitted to."""
    unknown = [label for label in counts.order if label not in column.file.classes]
    if unknown:
        message = f"{column.file.name} was fitted without class {list_names(unknown)}"
        hint = "fit a calibrator to rows of all classes"
        raise DataError.new(message, "other-classes", counts.name, hint=hint)


def _may_have_fitted(counts: PredictionCounts, name: str, column: CalibratedColumn) -> bool:
    """Return whether the calibrated scores include the ends of those of the fitted rows."""
    if column.class_sources:
        return True
    low, high = counts.ranges[name]
    lowest_fitted, highest_fitted = column.stored.calibrator.calibrate(
        column.stored.score_range
    ).tolist()
    return bool(low <= lowest_fitted + TOLERANCE and high >= highest_fitted - TOLERANCE)


def _has_fitted(counts: PredictionCounts, column: CalibratedColumn) -> bool:
    """Return whether the scores and the truth of the rows are those the calibrator was fitted to.

    One more pass over the rows.
    """
    settings = counts.evaluated.settled
    source = ModelColumns(column.stored.model, "score", (column.source,))
    if column.class_sources:
        source = replace(
            source, kind="classes", columns=column.sources, classes=tuple(column.class_sources)
        )
    columns = replace(settings.columns, models=(*counts.models, source))
    thresholds = {**settings.thresholds, source.name: DEFAULT_THRESHOLD}
    evaluated = replace(
        counts.evaluated, settled=replace(settings, columns=columns, thresholds=thresholds)
    )
    model_index = len(counts.models)
    if column.class_sources:
        with_classes = replace(counts, evaluated=evaluated, models=columns.models, _known={})
        class_scores = with_classes.class_scores(model_index)[None]
        return _digest_of_rows(class_scores, column.file.classes) == column.stored.digest
    scores = nw.col(f"s{model_index}")
    rows = concatenate_frames(evaluated.frames(scores=(model_index,)))
    limits = collect(rows.select(scores.min().alias("low"), scores.max().alias("high")))
    with_source = replace(
        counts,
        evaluated=evaluated,
        models=columns.models,
        thresholds={**counts.thresholds, source.name: DEFAULT_THRESHOLD},
        ranges={**counts.ranges, source.name: (limits["low"].item(), limits["high"].item())},
        _known={},
    )
    raw_scores = with_source.scores(model_index)[None].probabilities
    return raw_scores.digest(clusters=False) == column.stored.digest


def _digest_of_rows(scores: ClassScores, classes: Sequence[str]) -> str | None:
    """Return the digest of rows with the classes in another order, whatever their clusters.

    None where they are of other classes.
    """
    if {*scores.classes} != {*classes}:
        return None
    class_indices = np.array([scores.classes.index(label) for label in classes])
    truth = np.argsort(class_indices)[scores.truth]
    reordered = ClassScores.from_probabilities(
        classes, truth, scores.p[:, class_indices], scores.n, scores.unit
    )
    return reordered.digest()
