"""The sentence of a report on the probabilities of its best model."""

from __future__ import annotations

from clfeval.api.result import Result
from clfeval.document import Answer

CODES = ("probabilities", "miscalibrated")


def calibration_answer(result: Result) -> Answer:
    """Return the one sentence that says whether probabilities are miscalibrated."""
    (answer,) = [answer for answer in result.answer if answer.code in CODES]
    return answer
