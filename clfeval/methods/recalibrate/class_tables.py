"""Tables of a recalibration of more than two classes: groups by confidence, lines of classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.classes import ClassScores
from clfeval.document.cells import Row, as_row
from clfeval.measures.class_calibrators import (
    ClassCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
)
from clfeval.methods.estimates import Design
from clfeval.methods.recalibrate.tables import score_limits
from clfeval.methods.recalibration.model_recalibration import ModelRecalibration
from clfeval.methods.score_groups import calibration_rows

_AT_ONCE = 2**15  # rows


def confidence_group_rows(
    model: ModelRecalibration, scores: ClassScores, level: float
) -> Iterator[Row]:
    """Yield tenths of the rows by the probability of the most probable class.

    Its mean before and after the recalibration, and the share of rows in which the class is true.
    """
    calibrator = model.final_calibrator
    if not isinstance(calibrator, TemperatureCalibrator | OneVsRestCalibrator):
        return
    predicted_classes = scores.p.argmax(axis=1)
    confidence = scores.p.max(axis=1)
    recalibrated_confidence = _probabilities_of(calibrator, scores.p, predicted_classes)
    for row in calibration_rows(None, model.model, scores.most_probable(), level, Design()):
        low, high = score_limits(row)
        group_weights = np.where((confidence >= low) & (confidence <= high), scores.n, 0)
        weighted_sum = (recalibrated_confidence * group_weights).sum()
        yield as_row(
            {
                "model": model.model,
                **{name: row[name] for name in ("bin", "rows", "mean_score")},
                "mean_recalibrated": float(weighted_sum / group_weights.sum()),
                "observed": row["observed"],
            }
        )


def _probabilities_of(calibrator: ClassCalibrator, p: Floats, class_indices: Ints) -> Floats:
    """Return the recalibrated probability of one class of each row, (m,)."""
    recalibrated = np.empty(len(p))
    for start in range(0, len(p), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        block_probabilities = calibrator.calibrate(p[block])
        row_indices = np.arange(len(block_probabilities))
        recalibrated[block] = block_probabilities[row_indices, class_indices[block]]
    return recalibrated


def class_line_rows(model: ModelRecalibration) -> Iterator[Row]:
    """Yield intercept and power of each class by one-vs-rest."""
    for assessment in model.assessments:
        calibrator = assessment.calibrator
        if assessment.method == "one-vs-rest" and isinstance(calibrator, OneVsRestCalibrator):
            intercepts = calibrator.intercepts.tolist()
            powers = calibrator.powers.tolist()
            for class_name, intercept, power in zip(model.classes, intercepts, powers, strict=True):
                yield as_row(
                    {
                        "model": model.model,
                        "class": class_name,
                        "intercept": intercept,
                        "power": power,
                    }
                )
