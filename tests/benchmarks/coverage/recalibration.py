"""How often the limits of a gain by recalibration are on the wrong side of the true gain.

Scores are logit-normal; the truth has their probability, or one of another slope, shift or bend.
The true gain is that of the procedure: the mean over the tables of the gain, on the whole
population, of the calibrator fitted to all rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.probability import log_losses, squared_errors
from clfeval.methods.recalibration.assessment import Assessment, assess_methods
from clfeval.methods.recalibration.method_fits import FLEXIBLE, FLEXIBLE_ROWS
from clfeval.methods.recalibration.method_names import METHODS
from clfeval.records import replace
from tests.benchmarks.coverage import Line

LEVEL = 0.95
SEED = 20261130  # fixed before the methods were written
MEAN, SPREAD = -0.5, 1.7  # of the log odds of the scores
TRUTHS: dict[str, Callable[[Any], Any]] = {
    "calibrated": lambda x: x,
    "slope 0.5": lambda x: 0.5 * x,
    "slope 0.8": lambda x: 0.8 * x,
    "shift -1": lambda x: x - 1,
    "bent": lambda x: np.where(x < 0, 1.3 * x, 0.4 * x),
}
SIZES = (200, 1000, 5000)
DESIGNS = ("rows", "40 clusters", "weights")
SHARED_LUCK = 0.3  # of the outcomes in a cluster, as a correlation of normal deviates
KEPT_NEGATIVES = 0.25  # of a table with weights, whose negatives then weigh four
LOSSES = {"log_loss": log_losses, "brier": squared_errors}


def lines(replicates: int) -> list[Line]:
    """Return lines by truth, rows, design, method and loss."""
    return [
        line
        for truth, size, design in product(TRUTHS, SIZES, DESIGNS)
        for line in _setting_lines(truth, size, design, replicates)
    ]


def _setting_lines(truth: str, size: int, design: str, replicates: int) -> list[Line]:
    """Return the lines of one setting, for each method and loss."""
    seeds = [SEED, [*TRUTHS].index(truth), size, DESIGNS.index(design)]
    rng = np.random.default_rng(seeds)
    methods = [m for m in METHODS if m != "none" and (size >= FLEXIBLE_ROWS or m not in FLEXIBLE)]
    tables = [
        assess_methods(draw_counts(truth, size, design, rng), methods, LEVEL, rng)
        for _ in range(replicates)
    ]
    population = Population.from_truth(truth)
    return [
        line
        for position, method in enumerate(methods)
        for loss in LOSSES
        for line in _method_lines(
            [table[position] for table in tables],
            population,
            loss,
            f"{method}, {truth}, {size} {design}",
        )
    ]


def _method_lines(
    assessments: list[Assessment], population: Population, loss: Any, setting: str
) -> list[Line]:
    known = [one for one in assessments if one.calibrator is not None]
    true = float(np.mean([population.gain(one.calibrator, loss) for one in known]))
    return limit_lines(known, true, loss, setting)


def limit_lines(known: list[Assessment], true: float, loss: Any, setting: str) -> list[Line]:
    """Return how often each limit of a gain is on the wrong side of the true one."""
    low, high = np.array([(one.gains[loss].low, one.gains[loss].high) for one in known]).T
    most = (1 - LEVEL) / 2
    shares = {
        "lower limit above the true gain": (low > true, most),
        "upper limit below the true gain": (high < true, most),
    }
    if true <= 0:
        shares["said to help (false)"] = (low > 0, 0.01)
    return [
        Line(
            f"{loss}: {name}",
            setting,
            len(known),
            float(wrong.mean()),
            most=limit,
            width=float(np.median(high - low)),
            slack=3.0,
        )
        for name, (wrong, limit) in shares.items()
    ]


@dataclass(frozen=True)
class Population:
    """Scores of a population on a grid, their weight and the probability of a positive."""

    scores: Any
    weights: Any
    chance: Any

    @classmethod
    def from_truth(cls, truth: str) -> Population:
        """Return a fine grid of the scores."""
        deviates = np.linspace(-6, 6, 2001)
        x = MEAN + SPREAD * deviates
        weights = np.exp(-(deviates**2) / 2)
        return cls(expit(x), weights / weights.sum(), expit(TRUTHS[truth](x)))

    def gain(self, calibrator: Any, loss: str) -> float:
        """Return the mean gain of a calibrator in the population."""
        fitted = calibrator.calibrate(self.scores)
        gains = [LOSSES[loss](self.scores, y) - LOSSES[loss](fitted, y) for y in (True, False)]
        return float(self.weights @ (self.chance * gains[0] + (1 - self.chance) * gains[1]))


def draw_counts(truth: str, size: int, design: str, rng: np.random.Generator) -> ScoreCounts:
    """Return the counts of a random table of rows, of clusters, or of sampled negatives."""
    clusters = rng.integers(0, 40, size) if design == "40 clusters" else np.arange(size)
    shared = rng.normal(size=(2, size))[:, clusters]
    own = rng.normal(size=(2, size))
    part = SHARED_LUCK if design == "40 clusters" else 0.0
    deviates = np.sqrt(part) * shared + np.sqrt(1 - part) * own
    x = MEAN + SPREAD * deviates[0]
    positive = ndtr(deviates[1]) < expit(TRUTHS[truth](x))
    if design == "weights":
        kept = positive | (rng.random(size) < KEPT_NEGATIVES)
        return _weighted_counts(x[kept], positive[kept])
    counts = ScoreCounts.from_rows(expit(x), positive, None)
    if design == "rows":
        return counts
    position = np.searchsorted(counts.scores, expit(x)) + len(counts.scores) * ~positive
    return replace(
        counts, clusters=ClusterCounts.from_entries(clusters, position, np.ones(size, np.int64))
    )


def _weighted_counts(x: Any, positive: Any) -> ScoreCounts:
    """Return the counts of rows whose negatives weigh 1 / `KEPT_NEGATIVES`."""
    weights = np.where(positive, 1.0, 1 / KEPT_NEGATIVES)
    counts = ScoreCounts.from_rows(expit(x), positive, weights)
    m = len(counts.scores)
    position = np.searchsorted(counts.scores, expit(x)) + m * ~positive
    owners = np.column_stack([weights**2, weights])
    units = RowWeights.from_entries(owners, position, weights, 2 * m)
    return replace(counts, clusters=units)
