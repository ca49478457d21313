"""How often calibrated scores in clusters have p below 0.05 under perfect calibration.

Outcomes are alike in a cluster by normal deviates of correlation 0.3, or as a share of the rows
takes the same uniform deviate; scores are alike too, and both are independent of each other.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import expit, ndtr

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.methods.measurement.perfect_calibration import perfect_calibration_values
from clfeval.methods.measurement.requested_measures import parse_measures
from clfeval.methods.options import IntervalSettings
from clfeval.records import replace
from tests.benchmarks.coverage import Line

LEVEL, SEED, RESAMPLES = 0.95, 20261130, 200
MEASURES = ("ici", "e90", "ece", "brier_miscalibration")
CLUSTERS = ((12, 25), (40, 10))  # and rows in each
KINDS = ("normal deviates", "the same deviate", "independent")
CORRELATION = 0.3


def lines(replicates: int) -> list[Line]:
    """Return lines by kind of clusters, their number and measure."""
    return [
        line
        for kind, (clusters, size) in product(KINDS, CLUSTERS)
        for line in _setting_lines(kind, clusters, size, replicates)
    ]


def _setting_lines(kind: str, clusters: int, size: int, replicates: int) -> list[Line]:
    """Return the lines of one setting, one for each measure."""
    rng = np.random.default_rng([SEED, KINDS.index(kind), clusters])
    requested = parse_measures(MEASURES)
    settings = IntervalSettings(level=LEVEL, resamples=RESAMPLES, seed=SEED)
    significant = dict.fromkeys(MEASURES, 0)
    for _ in range(replicates):
        counts = _calibrated_counts(kind, clusters, size, rng)
        rows = perfect_calibration_values(requested, counts, settings, "m")
        for name in MEASURES:
            significant[name] += rows[name]["p"] < 1 - LEVEL
    setting = f"{clusters} clusters of {size}, {kind}"
    return [
        Line(
            f"{name}: p below 0.05 (false)",
            setting,
            replicates,
            times / replicates,
            most=1 - LEVEL,
            slack=3.0,
        )
        for name, times in significant.items()
    ]


def _calibrated_counts(
    kind: str, clusters: int, size: int, rng: np.random.Generator
) -> ScoreCounts:
    """Return the counts of one table of calibrated scores in clusters."""
    owners = np.repeat(np.arange(clusters), size)
    correlation = 0.0 if kind == "independent" else CORRELATION
    shared = rng.standard_normal((2, clusters))[:, owners]
    own = rng.standard_normal((2, len(owners)))
    deviates = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    uniform = ndtr(deviates[1])
    if kind == "the same deviate":
        takes_shared = rng.random(len(owners)) < np.sqrt(correlation)
        uniform = np.where(takes_shared, ndtr(shared[1]), rng.random(len(owners)))
    scores = np.round(expit(-0.5 + 1.7 * deviates[0]), 6)
    positive = uniform < scores
    counts = ScoreCounts.from_rows(scores, positive, None)
    place = np.searchsorted(counts.scores, scores) + len(counts.scores) * ~positive
    ones = np.ones(len(owners), np.int64)
    return replace(counts, clusters=ClusterCounts.from_entries(owners, place, ones))
