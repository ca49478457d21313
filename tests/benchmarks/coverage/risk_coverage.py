"""Areas under the risk-coverage curve of two and of three classes, in clusters and single rows.

Scores of a class are alike in a cluster; in half of the settings so is the class of all its rows.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from clfeval.counts.classes import ClassScores
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import as_estimate
from clfeval.measures.calibration import risk_coverage_area
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.multiclass_estimates import multiclass_probability_rows
from tests.benchmarks.coverage import Line

LEAST, FEWER, RESAMPLES, ALIKE = 0.93, 2, 500, 0.3
POPULATION = 200_000
# clusters, rows of each, whether a cluster has one class
SETTINGS = ((20, 10, False), (20, 10, True), (40, 5, False), (40, 5, True), (300, 1, False))
SHARES = {2: (0.7, 0.3), 3: (0.6, 0.3, 0.1)}  # of the classes
APART = 1.5
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return a line per setting and number of classes, of half as many tables."""
    tables = max(replicates // FEWER, 1)
    return [_line(classes, *setting, tables) for classes in SHARES for setting in SETTINGS]


def _line(classes: int, clusters: int, members: int, one_class: bool, tables: int) -> Line:
    rng = np.random.default_rng([31, classes, clusters, members, one_class])
    truth, p, _ = _draw(rng, classes, (POPULATION // members, members), one_class)
    right, confidence = p.argmax(axis=1) == truth, p.max(axis=1)
    population = float(risk_coverage_area(confidence, right * 1, ~right * 1))
    ends = []
    for _ in range(tables):
        estimate = _estimate(*_draw(rng, classes, (clusters, members), one_class))
        if estimate.low is not None:
            ends.append((estimate.low, estimate.high))
    text = (
        f"{classes} classes, {clusters} clusters of {members}" + ", each of one class" * one_class
    )
    return Line.of("AURC", text, ends, population, LEAST)


def _draw(
    rng: np.random.Generator, classes: int, shape: tuple[int, int], one_class: bool
) -> tuple[Arrays, Arrays, Arrays]:
    """Return truth (n,), calibrated probabilities (n, C), and the cluster of each row."""
    clusters, members = shape
    owner = np.repeat(np.arange(clusters), members)
    if one_class:
        truth = rng.choice(classes, clusters, p=SHARES[classes])[owner]
    else:
        truth = rng.choice(classes, len(owner), p=SHARES[classes])
    shared = rng.standard_normal((clusters, classes))[owner]
    own = rng.standard_normal((len(owner), classes))
    latent = np.sqrt(ALIKE) * shared + np.sqrt(1 - ALIKE) * own
    latent[np.arange(len(owner)), truth] += APART
    odds = np.exp(APART * latent + [log(share) for share in SHARES[classes]])
    return truth, odds / odds.sum(axis=1, keepdims=True), owner


def _estimate(truth: Arrays, p: Arrays, owner: Arrays) -> Any:
    """Return the area with its interval, of two classes as of a score."""
    settings, one = IntervalSettings(0.95, resamples=RESAMPLES), np.ones(len(truth), np.int64)
    if p.shape[1] > 2:
        names = tuple(f"c{k}" for k in range(p.shape[1]))
        owners = [f"{cluster}" for cluster in owner]
        counts = ClassScores.from_probabilities(names, truth, p, one, owners=owners)
        aurc = RequestedMeasure("aurc", CATALOG["aurc"], {})
        (row,) = multiclass_probability_rows(None, "m", counts, (aurc,), settings)
        return as_estimate(row["value"])
    scores, place = np.unique(p[:, 1], return_inverse=True)
    sides = [np.bincount(place[truth == y], minlength=len(scores)) for y in (1, 0)]
    kinds = np.where(truth == 1, place, place + len(scores))
    clusters = ClusterCounts.from_entries(owner, kinds, one)
    table = ScoreCounts(scores, *sides, clusters=clusters)
    return estimate_score_measure(CATALOG["aurc"], table, settings, "m").value
