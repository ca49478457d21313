"""Measures of predicted probabilities, for one table of counts or for many resampled ones.

p (m,) is the probability of the positive class, truth (m,) is True for it, and n (..., m) says how
often each row counts; axes before the last may be bootstrap replicates.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, over
from clfeval.measures.record import Measure

LEAST = 2.0**-52  # smaller probabilities of the truth count as this one


def clipped(p: ArrayLike, truth: ArrayLike, n: Counts) -> Counts:
    """Return how many rows, or what weight, gave their truth a probability below 2**-52, (...)."""
    low = np.where(np.asarray(truth, bool), p, 1 - np.asarray(p, np.float64)) < LEAST
    return np.asarray(n[..., low].sum(axis=-1))


def squared_errors(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return (truth - p)² of each row, (m,), whose mean is the Brier score; 0..1, best 0.

    Of the two classes this is half the sum over both, (1/2) sum (y_k - p_k)².

    Errors: ValueError for probabilities outside 0..1.
    Source: Brier 1950, Monthly Weather Review 78:1; Kuhn and Johnson, AML4TD, equation 15.24.
    """
    return np.asarray((np.asarray(truth, bool) - _probabilities(p)) ** 2)


def log_losses(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return -ln(probability of the truth) of each row, (m,), whose mean is cross-entropy.

    Range 0..52 ln 2, best 0: probabilities of the truth below 2**-52 count as 2**-52; `clipped`
    says how many are.

    Errors: ValueError for probabilities outside 0..1.
    Source: Good 1952, Journal of the Royal Statistical Society B 14:107.
    """
    given = _probabilities(p)
    # ln(1 - p) has all its digits from p where p is small
    right = np.log(np.maximum(given, LEAST))
    wrong = np.log1p(-np.minimum(given, 1 - LEAST))
    return np.asarray(0.0 - np.where(np.asarray(truth, bool), right, wrong))  # never -0.0


def mean_loss(losses: Floats, n: Counts) -> Floats:
    """Return the mean loss of a row: sum n x loss / sum n; NaN where n is all 0.

    Shapes: losses (m,), n (..., m), result (...).
    """
    # a sum row by row, for a matrix product rounds otherwise with every number of rows
    return over((n * losses).sum(axis=-1), n.sum(axis=-1))


def _probabilities(p: ArrayLike) -> Floats:
    """Return probabilities as floats."""
    given = np.asarray(p, np.float64)
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("probabilities lie between 0 and 1")
    return given


_BRIER = "Brier 1950, Monthly Weather Review 78:1"
_FEW = ("too_few_rows",)

# what computes them is the loss of each row, whose mean they are
MEASURES = (
    Measure("brier", "Brier", squared_errors, "probabilities", "min", 0, 1, _FEW, "drawn",
            "mean of sum (y - p)² / 2 over classes", _BRIER,
            ("brier_score", "brier_class", "brier_score_loss")),
    Measure("log_loss", "log loss", log_losses, "probabilities", "min", 0, inf, _FEW, "drawn",
            "mean of -ln p, of predicted probabilities p of the true class",
            "Good 1952, Journal of the Royal Statistical Society B 14:107",
            ("cross_entropy", "logloss", "mn_log_loss")),
    Measure("log_loss_skill", "log loss skill", None, "probabilities", "max", -inf, 1,
            ("single_class",), "drawn", "1 - log loss / log loss of the sample's class shares",
            "textbook", ("d2_log_loss", "d2_log_loss_score")),
    Measure("brier_sum", "Brier (sum)", None, "probabilities", "min", 0, 2, _FEW, "drawn",
            "mean of sum (y - p)² over classes", _BRIER),
    Measure("brier_skill", "Brier skill", None, "probabilities", "max", -inf, 1, ("single_class",),
            "drawn", "1 - Brier / Brier of the sample's class shares", _BRIER,
            ("d2_brier_score",)),
    Measure("ece", "ECE", None, "probabilities", "min", 0, 1, _FEW, "drawn",
            "mean over bins of |share of positives - mean score|",
            "Naeini et al. 2015, AAAI 29:2901", ("expected_calibration_error",)),
    Measure("mce", "MCE", None, "probabilities", "min", 0, 1, _FEW, "drawn",
            "greatest |share of positives - mean score| over bins",
            "Naeini et al. 2015, AAAI 29:2901", ("maximum_calibration_error",)),
    Measure("ece_debiased", "ECE (debiased)", None, "probabilities", "min", 0, 1, _FEW, "drawn",
            "ECE less what chance adds to each bin", "Kumar et al. 2019, NeurIPS 32"),
)  # fmt: skip
