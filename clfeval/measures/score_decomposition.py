"""Decomposition of Brier score and log loss into miscalibration, discrimination, uncertainty.

score = miscalibration - discrimination + uncertainty, each 0 or more. With the mean losses S of the
given probabilities, C of the isotonically recalibrated ones, and U of the share of positives as the
probability of every row: S - C, U - C, and U. The isotonic regression of truth on the score is by
pool adjacent violators, without bins.

Scores (m,), ascending, are distinct probabilities of the positive class, with positives and
negatives (..., m) at each; results are (...), NaN without rows. ValueError for scores outside 0..1.
The log loss has its convention: probabilities of the truth below 2**-52 count as 2**-52.
Source: Dimitriadis, Gneiting and Jordan 2021, PNAS 118:e2016191118.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats, Influence, divide
from clfeval.measures.isotonic import isotonic_values
from clfeval.measures.probability import (
    Loss,
    Prior,
    brier_of_share,
    check_probabilities,
    class_totals,
    log_loss_of_share,
    log_losses,
    mean_class_loss,
    squared_errors,
)
from clfeval.measures.record import Measure


def recalibrated_loss(prior: Prior, scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the mean loss C of the isotonically recalibrated probabilities.

    prior: the loss of a share as the forecast of rows with that share of positives.
    """
    shares = isotonic_values(check_probabilities(scores), positives, negatives)
    rows = positives + negatives
    losses, _ = prior(shares)
    return divide((rows * losses).sum(axis=-1), rows.sum(axis=-1))


def uncertainty(prior: Prior, scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the mean loss U of the share of positives as the forecast of every row.

    Of the Brier score o (1 - o), 0..1/4; of the log loss -o ln o - (1 - o) ln(1 - o), 0..ln 2.
    """
    check_probabilities(scores)
    p, n = class_totals(positives, negatives)
    loss, _ = prior(divide(p, p + n))
    return np.where(p + n > 0, loss, np.nan)


def miscalibration(
    loss: Loss, prior: Prior, scores: Counts, positives: Counts, negatives: Counts
) -> Floats:
    """Return S - C: how far isotonic recalibration on the same rows lowers the mean loss.

    Range: 0 up, best 0; biased upwards, above 0 for calibrated probabilities too.
    """
    mean = mean_class_loss(loss, scores, positives, negatives)
    return np.asarray(mean - recalibrated_loss(prior, scores, positives, negatives))


def discrimination(prior: Prior, scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return U - C: how far the recalibrated probabilities are better than the share of positives.

    Range: 0, without any rising relation of truth and score, to U, where scores separate the
    classes; biased upwards.
    """
    constant_loss = uncertainty(prior, scores, positives, negatives)
    return np.asarray(constant_loss - recalibrated_loss(prior, scores, positives, negatives))


def uncertainty_influence(
    prior: Prior, scores: Counts, positives: Counts, negatives: Counts
) -> Influence:
    """Return the influence on the uncertainty U(o): its slope in o, times y - o."""
    p, n = class_totals(positives, negatives)
    prevalence = divide(p, p + n)
    _, slope = prior(prevalence)
    slope = np.nan_to_num(slope, posinf=0.0, neginf=0.0)  # of one class the error is 0
    positive_influence, negative_influence = (
        np.full(len(scores), slope * (y - prevalence)) for y in (1, 0)
    )
    return Influence.from_arrays(positive_influence, negative_influence)


_CORP = "Dimitriadis, Gneiting and Jordan 2021, PNAS 118:e2016191118"
_MURPHY = "Murphy 1973, Journal of Applied Meteorology 12:595"
_FEW = ("too_few_rows",)


def _parts(
    name: str, title: str, loss: Loss, prior: Prior, share_loss: str, largest_uncertainty: float
) -> tuple[Measure, ...]:
    """Return the records of the three parts of a mean loss.

    share_loss: the formula of the loss of forecasting the share of positives.
    """
    isotonic_title = f"{title} after isotonic recalibration"
    common_fields: dict[str, Any] = {"needs": "probabilities", "undefined": _FEW}
    return (
        Measure(
            f"{name}_miscalibration",
            f"{title} miscalibration",
            partial(miscalibration, loss, prior),
            interval="null",
            formula=f"{title} - {isotonic_title}",
            source=_CORP,
            best="min",
            high=inf if loss is log_losses else 1,
            caveat="biased upwards: compare it with its mean under perfect calibration",
            **common_fields,
        ),
        Measure(
            f"{name}_discrimination",
            f"{title} discrimination",
            partial(discrimination, prior),
            interval="none",
            formula=f"{title} of the share of positives - {isotonic_title}",
            source=_CORP,
            high=largest_uncertainty,
            caveat="biased upwards, most with few rows",
            **common_fields,
        ),
        Measure(
            f"{name}_uncertainty",
            f"{title} uncertainty",
            partial(uncertainty, prior),
            interval="influence",
            formula=f"{share_loss}, o the share of positives",
            source=_MURPHY,
            best="min",
            high=largest_uncertainty,
            influence=partial(uncertainty_influence, prior),
            caveat="it depends on the rows only, not on the predictions",
            **common_fields,
        ),
    )


DECOMPOSITION = (
    *_parts("brier", "Brier", squared_errors, brier_of_share, "o (1 - o)", 0.25),
    *_parts(
        "log_loss",
        "log loss",
        log_losses,
        log_loss_of_share,
        "-o ln o - (1 - o) ln(1 - o)",
        float(np.log(2)),
    ),
)
