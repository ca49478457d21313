"""Random parts of tables that tests share: scores and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats


def logistic(log_odds: Any, digits: int | None = None) -> Any:
    """Return the probability 1 / (1 + e^-x) of log odds x, perhaps rounded."""
    probability = 1 / (1 + np.exp(-log_odds))
    return probability if digits is None else np.round(probability, digits)


def informed_scores(
    dice: np.random.Generator, truth: Any, share: float, digits: int | None = None
) -> Floats:
    """Return share x truth + (1 - share) x a uniform number, in 0..1, perhaps rounded.

    1 - .9 is not .1 to the last bit: numbers drawn by such a formula differ from these.
    """
    scores = np.clip(share * truth + (1 - share) * dice.random(len(truth)), 0, 1)
    return scores if digits is None else np.round(scores, digits)


def labels_right_at(dice: np.random.Generator, truth: Any, rate: float) -> Any:
    """Return labels 0 and 1 that are the truth at this rate, whatever the class."""
    right: Bools = dice.random(len(truth)) < rate
    return np.where(right, truth, 1 - truth)


def detections(dice: np.random.Generator, truth: Any, rate: float) -> Any:
    """Return "yes" for the positives that a model detects, at this rate, and "no" for the rest."""
    detected: Bools = dice.random(len(truth)) < rate
    return np.where(detected & truth, "yes", "no")
