"""Sampling weights: rows taken with unequal chances, each with 1 / chance for its weight.

Tables are those of `reporting`, cut at .5, of which a row is kept with a chance that depends on
its score and on luck (by score: Kish's size is some .7 of the rows), or is 1 for a positive and .2
for a negative (by class). Counts are drawn until there are so many rows. What is asked for is the
measure of the population; limits are found as the report finds them.

By clusters, alike as in `reporting`: of each cluster about ten rows are kept in either way, or
whole clusters are, five times as many of those that have more positives than most (by cluster).
Twenty of unlike weight tell as much as fewer: a note says so, and nothing is promised of them.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtr

from clfeval.counts.clusters_and_weights import squares_and_weights
from clfeval.methods.provenance import ENOUGH
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.reporting import (
    APART,
    CLUSTERS,
    LEAST,
    MEMBERS,
    Owning,
    _probabilities,
    measures,
)

PREVALENCES, SIZES, KEPT = (0.5, 0.1), (200, 1000), ("score", "class")
UNIT = 1e6
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, prevalence, rows or clusters, and by what rows are kept."""
    found: list[Line] = []
    for by in KEPT:
        for prevalence in PREVALENCES:
            for rows in SIZES:
                rng = np.random.default_rng([17, rows, round(100 * prevalence), len(by)])
                made = [_table(rng, by, prevalence, rows) for _ in range(replicates)]
                found += measures(f", by {by}", rows, prevalence, made, UNIT)
    for by in (*KEPT, "cluster"):
        for prevalence in PREVALENCES:
            for clusters in CLUSTERS:
                rng = np.random.default_rng([18, clusters, round(100 * prevalence), len(by)])
                made = [_clustered(rng, by, prevalence, clusters) for _ in range(replicates)]
                told = f", by {by}, {clusters} clusters"
                rows, least = clusters * MEMBERS, LEAST if clusters > ENOUGH else None
                found += measures(told, rows, prevalence, made, UNIT, least)
    return found


def _table(
    rng: np.random.Generator, by: str, prevalence: float, rows: int
) -> tuple[Arrays, Arrays, Arrays, Owning]:
    """Draw probabilities, weights of positives and negatives in units, and squares of weights."""
    many = 12 * rows
    truth = rng.random(many) < prevalence
    z = rng.standard_normal(many) + APART * truth
    chance = _chance(rng, by, truth, z)
    kept = np.flatnonzero(rng.random(many) < chance)[:rows]
    p, pos, neg, _ = _weighed(z[kept], truth[kept], chance[kept], prevalence)
    return p, pos, neg, squares_and_weights(pos + neg)


def _clustered(
    rng: np.random.Generator, by: str, prevalence: float, clusters: int
) -> tuple[Arrays, Arrays, Arrays, Owning]:
    """Draw a table of clusters: as by `_table`, and the cluster of each row."""
    shapes = prevalence / 0.3 * 0.7, (1 - prevalence) / 0.3 * 0.7
    alike = rng.beta(*shapes, 12 * clusters)
    whole = np.where(alike > prevalence, 1.0, 0.2) if by == "cluster" else np.ones(len(alike))
    some = np.flatnonzero(rng.random(len(alike)) < whole)[:clusters]
    each = {"cluster": 1.0, "score": 2.3, "class": 1 / (0.2 + 0.8 * prevalence)}[by]
    owner = np.repeat(np.arange(clusters), round(MEMBERS * each))
    truth = rng.random(len(owner)) < alike[some][owner]
    noise = rng.standard_normal(clusters)[owner] + rng.standard_normal(len(owner))
    z = noise / sqrt(2) + APART * truth
    chance = whole[some][owner] if by == "cluster" else _chance(rng, by, truth, z)
    kept = np.ones(len(z), bool) if by == "cluster" else rng.random(len(z)) < chance
    p, pos, neg, order = _weighed(z[kept], truth[kept], chance[kept], prevalence)
    return p, pos, neg, list(map(str, owner[kept][order]))


def _chance(rng: np.random.Generator, by: str, truth: Arrays, z: Arrays) -> Arrays:
    """Return by what chance each row is kept."""
    if by == "class":
        return np.where(truth, 1.0, 0.2)
    return 0.1 + 0.9 * ndtr((z + rng.standard_normal(len(z)) - 1) / 1.2)


def _weighed(
    z: Arrays, truth: Arrays, chance: Arrays, prevalence: float
) -> tuple[Arrays, Arrays, Arrays, Arrays]:
    """Return probabilities that ascend, weights of positives and of negatives, and the order."""
    p = _probabilities(z, APART, prevalence)
    order = np.argsort(p)
    n, none = np.round(UNIT / chance[order]).astype(np.int64), np.zeros(len(z), np.int64)
    return p[order], np.where(truth[order], n, none), np.where(truth[order], none, n), order
