"""Areas under the ROC curve of 5 to 12 clusters, whose positives and negatives score alike."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import ndtri

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.inference.rank_statistics import AucInterval, clustered_auc
from tests.benchmarks.coverage import Line

LEVEL, LEAST = 0.95, 0.93
# clusters, rows of each, prevalence (correlated by .1 in a cluster), area
SETTINGS = ((5, 40, 0.3, 0.8), (7, 40, 0.5, 0.9), (9, 20, 0.3, 0.8), (12, 20, 0.3, 0.8))
CORRELATIONS = (0.1, 0.5)  # of the scores of a class in a cluster


def lines(replicates: int) -> list[Line]:
    """Return a line per setting and correlation."""
    return [_line(*one, replicates) for one in product(SETTINGS, CORRELATIONS)]


def _line(setting: tuple[int, int, float, float], correlation: float, replicates: int) -> Line:
    rng, ends = np.random.default_rng([29, *setting[:2]]), list[tuple[float, float]]()
    clusters, members, prevalence, area = setting
    while len(ends) < replicates:
        found = _draw_interval(rng, setting, correlation)
        if found is not None:
            ends.append((found.low, found.high))
    text = f"{clusters} clusters of {members}, prevalence {prevalence:g}, correlation {correlation}"
    return Line.of(f"ROC AUC {area:g}", text, ends, area, LEAST)


def _draw_interval(
    rng: np.random.Generator, setting: tuple[int, int, float, float], correlation: float
) -> AucInterval | None:
    """Return the interval of one table; None without two clusters of each class."""
    clusters, members, prevalence, area = setting
    owner = np.repeat(np.arange(clusters), members)
    shares = rng.beta(9 * prevalence, 9 * (1 - prevalence), clusters)
    truth = rng.random(len(owner)) < shares[owner]
    of_positives, of_negatives = rng.standard_normal((2, clusters))[:, owner]
    shared = np.where(truth, of_positives, of_negatives)
    own = rng.standard_normal(len(owner))
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    scores, place = np.unique(latent + np.sqrt(2) * ndtri(area) * truth, return_inverse=True)
    sides = [np.bincount(place[truth == y], minlength=len(scores)) for y in (True, False)]
    kinds = np.where(truth, place, place + len(scores))
    counts = ClusterCounts.from_entries(owner, kinds, np.ones(len(owner), np.int64))
    found = clustered_auc(*sides, counts, level=LEVEL) if all(map(np.any, sides)) else None
    return None if found is None or np.isnan(found.low) else found
