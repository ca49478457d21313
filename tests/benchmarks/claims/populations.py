"""Populations whose truth is known: calibrated models, and tables with one fault in them.

A model's latent value is normal, `apart` standard deviations between the classes, and shares half
of its variance with the other models. Its score is the probability of the positive class at a
prevalence of 37 %, so it is calibrated, and its ROC AUC is Phi(apart / sqrt 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log, sqrt

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.stats import norm

from clfeval.arrays import Bools, Floats

PREVALENCE, DRIFTED = 0.37, 0.20
LEADER, SECOND = 2.0, 1.5  # how far apart the classes are: ROC AUC 0.921 and 0.856
ALIKE = 0.5  # of the variance within a class that models share
SHIFT, LESS_SENSITIVE, FLIPPED = 0.7, 0.10, 0.20
LESS_SPECIFIC, MORE_SENSITIVE = 0.10, 0.08
FAULTS = ("shift", "prevalence", "sensitivity", "labels")
PRIOR = log(PREVALENCE / (1 - PREVALENCE))
CUT = LEADER / 2 - PRIOR / LEADER  # of the leader's latent value, where its score is 0.5
SENSITIVITY, SPECIFICITY = norm.cdf(LEADER - CUT), norm.cdf(CUT)


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a population: classes (n,) and log odds of each model (k, n)."""

    truth: Bools
    logits: Floats

    def frame(self, names: Sequence[str], first: int = 0, **more: Sequence[str]) -> pl.DataFrame:
        """Return a table of scores, with ids from `first` on."""
        n = len(self.truth)
        ids = np.arange(first, first + n)
        scores = 1 / (1 + np.exp(-self.logits))
        return pl.DataFrame(
            {"id": ids, "truth": self.truth * 1, **more, **dict(zip(names, scores, strict=True))}
        )


def join(parts: Sequence[Sample]) -> Sample:
    """Return the rows of all parts."""
    return Sample(
        np.concatenate([one.truth for one in parts]),
        np.concatenate([one.logits for one in parts], axis=1),
    )


def sample(
    rng: np.random.Generator,
    rows: int,
    apart: Sequence[float] = (LEADER, SECOND),
    fault: str | None = None,
) -> Sample:
    """Draw rows, with a fault of the first model, of the labels or of the prevalence."""
    truth = rng.random(rows) < (DRIFTED if fault == "prevalence" else PREVALENCE)
    latent = latents(rng, truth, apart)
    d = np.array(apart)[:, None]
    logits = d * latent - d**2 / 2 + PRIOR
    if fault == "shift":
        logits[0] += SHIFT
    elif fault == "sensitivity":  # positives just above the threshold fall as far below it
        width = apart[0] * (LEADER - CUT - norm.ppf(SENSITIVITY - LESS_SENSITIVE))
        logits[0] = np.where(truth & (logits[0] >= 0) & (logits[0] < width), -logits[0], logits[0])
    elif fault == "labels":
        truth = truth ^ (rng.random(rows) < FLIPPED)
    return Sample(truth, logits)


def latents(rng: np.random.Generator, truth: Bools, apart: Sequence[float]) -> Floats:
    """Return latent values of k models, (k, n), standard normal within a class."""
    shared, own = rng.standard_normal(len(truth)), rng.standard_normal((len(apart), len(truth)))
    return np.array(apart)[:, None] * truth + sqrt(ALIKE) * shared + sqrt(1 - ALIKE) * own


@dataclass(frozen=True, slots=True)
class Crossing:
    """A model of the leader's ROC AUC whose ROC curve crosses the leader's.

    Rows of one class whose latent value lies less than `width` below the threshold `cut` lie above
    it, a quarter as far: of negatives, specificity is lower; of positives, sensitivity is higher.
    `apart` is what makes up for it in the area.
    """

    positives: bool
    apart: float
    cut: float
    width: float

    def logits(self, latent: Floats, truth: Bools) -> Floats:
        """Return log odds, 0 at the threshold."""
        return self.apart * (self._placed(latent, truth == self.positives) - self.cut)

    def _placed(self, latent: Floats, rows: Bools) -> Floats:
        below = self.cut - latent
        moved = rows & (below > 0) & (below < self.width)
        return np.where(moved, self.cut + below / 4, latent)

    @property
    def area(self) -> float:
        """The ROC AUC, by the midpoint rule over 200,000 quantiles of the class that is moved."""
        z = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
        x = self._placed(z + self.apart * self.positives, np.ones(len(z), bool))
        below, above = norm.cdf(x), norm.sf(x - self.apart)
        return float((below if self.positives else above).mean())


@cache
def crossing(fault: str) -> Crossing:
    """Return the model less specific, or more sensitive, than the leader; all else is equal."""

    def at(apart: float) -> Crossing:
        if fault == "less specific":
            cut = apart - norm.ppf(SENSITIVITY)
            return Crossing(False, apart, cut, cut - norm.ppf(SPECIFICITY - LESS_SPECIFIC))
        width = norm.ppf(SENSITIVITY + MORE_SENSITIVE) - apart + CUT
        return Crossing(True, apart, CUT, width)

    wanted = norm.cdf(LEADER / sqrt(2))
    return at(brentq(lambda apart: at(apart).area - wanted, 1.7, 2.4))


def against_old(rng: np.random.Generator, rows: int, fault: str) -> Sample:
    """Draw rows of a new model, and of the old one that it is compared with."""
    truth = rng.random(rows) < PREVALENCE
    new = crossing(fault)
    latent = latents(rng, truth, (new.apart, LEADER))
    old = LEADER * (latent[1] - CUT)
    return Sample(truth, np.array([new.logits(latent[0], truth), old]))


def equal(rng: np.random.Generator, rows: int, models: int, apart: float = SECOND) -> Sample:
    """Draw rows of both classes and of exchangeable, calibrated models."""
    truth = rng.random(rows) < PREVALENCE
    while truth.all() or not truth.any():
        truth = rng.random(rows) < PREVALENCE
    latent = latents(rng, truth, [apart] * models)
    return Sample(truth, apart * latent - apart**2 / 2 + PRIOR)
