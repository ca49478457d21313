"""The tables of a recalibration: methods in force, all methods, and recalibrated values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import CellsByColumn, Estimate, Row, as_row, cell_value
from clfeval.measures.calibrators import LogOddsCalibrator
from clfeval.measures.class_calibrators import (
    AnyCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
)
from clfeval.measures.venn_abers import VennAbersCalibrator
from clfeval.methods.estimates import Design
from clfeval.methods.recalibration.assessment import Assessment
from clfeval.methods.recalibration.cross_fitting import LOSSES, LossName, class_rows
from clfeval.methods.recalibration.model_recalibration import WITHOUT_LIMITS, ModelRecalibration
from clfeval.methods.score_groups import calibration_rows

PLACES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


def model_rows(models: Sequence[ModelRecalibration]) -> list[Row]:
    """Return the method in force of each model, its gains, and the losses without it."""
    return [
        as_row(
            {
                "model": model.model,
                "method": model.selected,
                "verdict": None if model.gain is None else model.gain.verdict,
                "loss": model.loss,
                "before": model.losses.get(model.loss),
                "gain": _gain_cell(model, model.in_force, model.loss),
                **{f"{loss}_gain": _gain_cell(model, model.in_force, loss) for loss in LOSSES},
                **_parameter_cells(model.calibrator),
            }
        )
        for model in models
    ]


def method_rows(models: Sequence[ModelRecalibration]) -> Iterator[Row]:
    """Yield the gains of every method of every model."""
    for model in models:
        for assessment in model.assessments:
            gain = assessment.gains.get(model.loss)
            yield as_row(
                {
                    "model": model.model,
                    "method": assessment.method,
                    "chosen": assessment.selected,
                    "verdict": None if gain is None else gain.verdict,
                    **{f"{loss}_gain": _gain_cell(model, assessment, loss) for loss in LOSSES},
                    **_parameter_cells(assessment.calibrator),
                }
            )


def _gain_cell(
    model: ModelRecalibration, assessment: Assessment | None, loss: LossName
) -> Estimate:
    """Return the gain in one loss, or why it is undefined."""
    reason = model.reason if assessment is None else assessment.reason
    if reason is not None:
        return Estimate(None, reason=reason)
    if loss == "log_loss" and model.contradicted:
        return Estimate(None, reason="contradicted")
    assert assessment is not None
    gain = assessment.gains[loss]
    return Estimate(gain.value, gain.low, gain.high)


def _parameter_cells(calibrator: AnyCalibrator | None) -> CellsByColumn:
    """Return intercept and powers of a calibrator on log odds, or a power; None of others."""
    columns = ("intercept", "power", "complement_power")
    if isinstance(calibrator, TemperatureCalibrator):
        return {**dict.fromkeys(columns), "power": calibrator.power}
    if not isinstance(calibrator, LogOddsCalibrator):
        return dict.fromkeys(columns)
    return {column: getattr(calibrator, column) for column in columns}


def group_rows(model: ModelRecalibration, counts: ScoreCounts, level: float) -> list[Row]:
    """Return tenths of the rows by score: mean score, mean recalibrated score, observed share.

    counts: the scores of the model, from which its calibrator was fitted.
    """
    calibrator = model.calibrator
    if calibrator is None or model.reason not in (None, *WITHOUT_LIMITS):
        return []
    rows_by_score = class_rows(counts).sum(axis=0)
    recalibrated = calibrator.calibrate(counts.scores)
    groups = list[Row]()
    for row in calibration_rows(None, model.model, counts, level, Design()):
        bin_slice = _scores_of_bin(counts, row)
        mean_recalibrated = np.average(recalibrated[bin_slice], weights=rows_by_score[bin_slice])
        groups.append(
            as_row(
                {
                    "model": model.model,
                    **{name: row[name] for name in ("bin", "rows", "mean_score")},
                    "mean_recalibrated": float(mean_recalibrated),
                    "observed": row["observed"],
                }
            )
        )
    return groups


def _scores_of_bin(counts: ScoreCounts, row: Row) -> slice:
    """Return which scores are in a bin, a row of `calibration_rows`."""
    first_index, last_index = np.searchsorted(counts.scores, score_limits(row))
    return slice(first_index, last_index + 1)


def score_limits(row: Row) -> tuple[float, float]:
    """Return the lowest and the highest score of a bin, a row of `calibration_rows`."""
    lowest, highest = (cell_value(row[column]) for column in ("from", "to"))
    return lowest or 0.0, highest or 0.0


def mapping_rows(models: Sequence[ModelRecalibration]) -> list[Row]:
    """Return what the method in force makes of probabilities, by model."""
    rows = list[Row]()
    for model in models:
        calibrator = model.final_calibrator
        if calibrator is None or isinstance(
            calibrator, TemperatureCalibrator | OneVsRestCalibrator
        ):  # what it makes of a probability depends on the other classes
            continue
        recalibrated = calibrator.calibrate(np.array(PLACES)).tolist()
        limits = _venn_abers_limits(calibrator)
        rows += [
            as_row(
                {
                    "model": model.model,
                    "method": model.selected,
                    "probability": probability,
                    "recalibrated": recalibrated_value,
                    "low": low,
                    "high": high,
                }
            )
            for probability, recalibrated_value, (low, high) in zip(
                PLACES, recalibrated, limits, strict=True
            )
        ]
    return rows


def _venn_abers_limits(calibrator: AnyCalibrator) -> list[tuple[float | None, float | None]]:
    """Return p0 and p1 at the places of the mapping; None of other methods."""
    if not isinstance(calibrator, VennAbersCalibrator):
        return [(None, None)] * len(PLACES)
    low, high = calibrator.limits(np.array(PLACES))
    return [*zip(low.tolist(), high.tolist(), strict=True)]
