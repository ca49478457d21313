"""What to do with the probabilities of a miscalibrated model: the formula, and what it gains."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.counts.sample import Sample
from clfeval.document import Answer
from clfeval.document.cells import Row
from clfeval.formatting import format_number, quote_if_ambiguous, with_interval
from clfeval.methods.recalibration.formulas import calibrator_formula, loss_title
from clfeval.methods.recalibration.method_names import RecalibrationSettings
from clfeval.methods.recalibration.model_recalibration import ModelRecalibration, recalibrate_model
from clfeval.methods.report.calibration_answer import ADVICE_CODE
from clfeval.placeholders import COMMAND, END

MOST_AT_HAND = 2**16  # rows times classes whose recalibration takes a third of a second


def recalibration_advice(
    sample: Sample, calibration_tests: Sequence[Row], model: str, level: float, seed: int
) -> list[Answer]:
    """Return the sentence on recalibrating a model, if the tests call it miscalibrated.

    calibration_tests: rows of the table of that name, with their verdicts.
    """
    verdicts = {row.get("verdict") for row in calibration_tests if row["model"] == model}
    predictions = sample.predictions
    is_miscalibrated = bool(verdicts & {"miscalibrated", "slightly miscalibrated"})
    if not is_miscalibrated or predictions is None or predictions.min_cell:
        return []
    model_index = [model_columns.name for model_columns in predictions.models].index(model)
    settings = RecalibrationSettings(level=level, seed=seed, methods=("auto",))
    if predictions.multiclass:
        if predictions.size * len(predictions.order) > MOST_AT_HAND:
            text = f"Whether recalibrating {quote_if_ambiguous(model)} helps on new rows, and how, "
            text += f"is what {COMMAND}clfeval recalibrate{END} estimates."
            return [Answer(ADVICE_CODE, text, (model,))]
        from clfeval.methods.recalibration.class_recalibration import recalibrate_classes

        scores = predictions.class_scores(model_index)[None]
        text = _advice_text(recalibrate_classes(model, scores, settings), level)
    else:
        counts = predictions.scores(model_index)[None].probabilities
        text = _advice_text(recalibrate_model(model, counts, settings), level)
    return [Answer(ADVICE_CODE, text, (model,))] if text else []


def _advice_text(recalibration: ModelRecalibration, level: float) -> str:
    """Return whether recalibration helps on new rows, and the command; empty without a gain."""
    gain = recalibration.gain
    command = f"{COMMAND}clfeval recalibrate{END}"
    model_name = quote_if_ambiguous(recalibration.model)
    if gain is None:
        return ""
    loss_name = loss_title(recalibration.loss)
    if gain.verdict == "helps":
        gain_text = with_interval(gain.value, gain.low, gain.high, level)
        formula = calibrator_formula(recalibration.calibrator)
        text = f"Recalibrate {model_name} by {formula}: it lowers the {loss_name} of new rows "
        return f"{text}by {gain_text} ({command})."
    text = f"Whether recalibrating {model_name} lowers the {loss_name} of new rows is undecided "
    return f"{text}(by up to {format_number(gain.high)}; {command})."
