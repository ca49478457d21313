"""The mean over sites and the prediction interval of a new one: ROC AUC and the O:E ratio.

The logit of the AUC of a site, or the log of its O:E ratio, is normal with a standard deviation tau
between sites; 30 % of the rows are positives. What is asked for is the value of a further site.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from clfeval.inference.heterogeneity import random_effects
from clfeval.inference.rank_statistics import delong_auc
from tests.benchmarks.coverage import Line

LEVEL, LEAST, PREVALENCE, MEAN_AREA = 0.95, 0.93, 0.3, 0.8
UNEQUAL = (40, 80, 600, 40, 80)
# rows of each site, tau of the logit AUC; that of the log O:E ratio is half of it
SETTINGS = (
    ((150,) * 5, 0.4),
    ((150,) * 10, 0.15),
    ((150,) * 10, 0.4),
    (UNEQUAL, 0.4),
    (2 * UNEQUAL, 0.4),
    ((150,) * 20, 0.15),
)
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines for the mean and for a new site, by measure and setting."""
    return [
        line
        for rows, tau in SETTINGS
        for measure, draw, spread in (("ROC AUC", _area, tau), ("O:E ratio", _ratio, tau / 2))
        for line in _lines(measure, draw, rows, spread, replicates)
    ]


def _lines(
    measure: str, draw: Any, rows: tuple[int, ...], tau: float, replicates: int
) -> list[Line]:
    rng = np.random.default_rng([31, len(rows), sum(rows), round(100 * tau)])
    center = log(MEAN_AREA / (1 - MEAN_AREA)) if draw is _area else 0.0
    means, new, further = [], [], []
    while len(means) < replicates:
        sites = [draw(rng, n, center + tau * rng.standard_normal()) for n in rows]
        if not all(np.isfinite(site).all() and site[1] > 0 for site in sites):
            continue  # a site without a standard error is left out of a report
        values, errors = np.array(sites).T
        found = random_effects(values, errors, level=LEVEL)
        means.append((found.low, found.high))
        new.append((found.new_low, found.new_high))
        further.append(center + tau * rng.standard_normal())
    sizes = sorted({*rows})
    setting = f"{len(rows)} sites of {', '.join(map(str, sizes))} rows, tau {tau:g}"
    return [
        Line.of(f"{measure}: mean", setting, means, center, LEAST),
        Line.of(f"{measure}: new site", setting, new, np.array(further), LEAST),
    ]


def _area(rng: np.random.Generator, n: int, logit: float) -> tuple[float, float]:
    """Draw a site; return the logit of its AUC and the standard error of that."""
    truth = rng.random(n) < PREVALENCE
    scores = rng.standard_normal(n) + sqrt(2) * ndtri(expit(logit)) * truth
    if not 1 < truth.sum() < n - 1:
        return np.nan, np.nan
    positive = truth[np.argsort(scores)]
    found = delong_auc(positive, ~positive, level=LEVEL)
    area, error = float(found.value), sqrt(float(found.variance))
    if not 0 < area < 1:
        return np.nan, np.nan
    return log(area / (1 - area)), error / (area * (1 - area))


def _ratio(rng: np.random.Generator, n: int, log_ratio: float) -> tuple[float, float]:
    """Draw a site; return the log of observed / expected and its standard error."""
    p = rng.beta(3, 7, n)
    truth = rng.random(n) < np.minimum(p * np.exp(log_ratio), 1)
    observed, expected = truth.sum(), p.sum()
    if not observed:
        return np.nan, np.nan
    ratio = observed / expected
    return float(np.log(ratio)), float(np.sqrt(((truth - ratio * p) ** 2).sum()) / observed)
