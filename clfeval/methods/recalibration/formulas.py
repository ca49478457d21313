"""The formula of a calibrator, and the names of losses, as sentences have them."""

from __future__ import annotations

from clfeval.formatting import format_exact
from clfeval.measures.calibrators import LogOddsCalibrator
from clfeval.measures.class_calibrators import (
    AnyCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
)
from clfeval.methods.recalibration.cross_fitting import LossName
from clfeval.placeholders import END, OPTION
from clfeval.tables.calibrator_files import LOSS_TITLES


def loss_title(loss: LossName) -> str:
    """Return the name of a loss in a sentence."""
    return LOSS_TITLES[loss]


def calibrator_formula(calibrator: AnyCalibrator | None) -> str:
    """Return the formula of a calibrator; of steps, where they are saved."""
    if isinstance(calibrator, TemperatureCalibrator):
        return f"p_k' proportional to p_k^{format_exact(calibrator.power)}"
    if isinstance(calibrator, OneVsRestCalibrator):
        return "p_k' proportional to logit⁻¹(a_k + b_k logit p_k)"
    if not isinstance(calibrator, LogOddsCalibrator):
        return f"its steps are those of {OPTION}--save NAME.calibrator.json{END}"
    intercept = format_exact(calibrator.intercept)
    power = format_exact(calibrator.power)
    if calibrator.power != calibrator.complement_power:
        complement_power = format_exact(calibrator.complement_power)
        return f"p' = logit⁻¹({intercept} + {power} ln p - {complement_power} ln(1 - p))"
    slope = "logit p" if calibrator.power == 1 else f"{power} logit p"
    terms = slope if calibrator.intercept == 0 else f"{intercept} + {slope}"
    return f"p' = logit⁻¹({terms})"
