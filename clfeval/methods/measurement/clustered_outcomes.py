"""Outcomes of calibrated scores in clusters: Bernoulli(p), correlated within a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

import numpy as np

from clfeval.arrays import Bools, Floats, Ints
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.scipy_special import special
from clfeval.measures.logistic import fit_line, log_odds, log_odds_slice
from clfeval.measures.logistic_regression import inverse_logit
from clfeval.records import dataclass

_TERMS = 8  # of the series of the bivariate normal distribution
_CORRELATIONS = np.linspace(0.0, 0.95, 191)  # among which one is chosen
_FITTED = 2  # coefficients of the fit around which residuals are
_AT_ONCE = 2**20  # numbers drawn


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredOutcomes:
    """Rows of scores in clusters, sorted by score, whose outcomes are drawn.

    place (n,): the score of each row; cluster (n,): its cluster; weight (n,): its counts; threshold
    (n,): the normal quantile of its score, which the deviate of a positive does not exceed. scores:
    how many there are, also without rows. correlation: of two deviates in a cluster.
    """

    place: Ints
    cluster: Ints
    weight: Floats
    threshold: Floats
    scores: int
    correlation: float

    def draw_positives(self, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield the weight of positives at each score, (b, m), of all draws.

        y = 1 where sqrt(r) g + sqrt(1 - r) e is at most the threshold, g a normal deviate of the
        cluster, e one of the row, r their correlation.
        """
        clusters = int(self.cluster.max()) + 1
        places, starts = np.unique(self.place, return_index=True)
        step = max(1, _AT_ONCE // len(self.place))
        for start in range(0, draws, step):
            size = min(step, draws - start)
            cluster_deviates = rng.standard_normal((size, clusters))[:, self.cluster]
            row_deviates = rng.standard_normal((size, len(self.place)))
            deviates = (
                self.correlation**0.5 * cluster_deviates
                + (1 - self.correlation) ** 0.5 * row_deviates
            )
            weights = (deviates <= self.threshold) * self.weight
            positives = np.zeros((size, self.scores))
            positives[:, places] = np.add.reduceat(weights, starts, axis=1)
            yield positives


def clustered_outcomes(counts: ScoreCounts) -> ClusteredOutcomes:
    """Return the outcomes of scores in clusters.

    Rows of a cluster with equal score and truth are single where rows are counted, and one where
    they are weighted. The correlation is that of the residuals: see `latent_correlation`.
    """
    clusters = counts.clusters
    assert isinstance(clusters, ClusterCounts)
    m = len(counts.scores)
    entry_cluster = np.repeat(
        np.arange(len(clusters)), np.diff([*clusters.starts, len(clusters.n)])
    )
    copies = clusters.n if counts.unit == 1 else np.ones_like(clusters.n)
    place = np.repeat(clusters.place, copies)
    score_place = place % m
    order = np.argsort(score_place, kind="stable")
    cluster = np.repeat(entry_cluster, copies)
    weight = np.repeat(clusters.n / copies, copies)
    is_positive = place < m
    correlation = latent_correlation(
        counts, score_place, cluster, weight=weight, is_positive=is_positive
    )
    return ClusteredOutcomes(
        score_place[order],
        cluster[order],
        weight[order],
        special().ndtri(counts.scores[score_place[order]]),
        m,
        correlation,
    )


def latent_correlation(
    counts: ScoreCounts, place: Ints, cluster: Ints, *, weight: Floats, is_positive: Bools
) -> float:
    """Return the correlation within clusters of the normal deviates below outcomes, 0 to 0.95.

    sum over pairs of r_i r_j = sum over pairs of Phi2(t_i, t_j; r) - p_i p_j

    r_i residuals around the logistic recalibration of all rows, so that miscalibration is no
    correlation, p_i its probabilities, t_i their normal quantiles; the left side times
    C / (C - 2) of C clusters, plus its standard error between clusters: with the left side itself,
    p of calibrated models is below 0.05 in up to 9 % of tables of 12 clusters. Phi2 by eight terms
    of Mehler's series.

    Shapes: place, the score of a row, cluster, weight and is_positive (n,).
    Source: Pearson 1900, Philosophical Transactions A 195:1 (tetrachoric correlation).
    """
    fitted = _recalibrated(counts)[place]
    size = int(cluster.max()) + 1
    residuals = weight * (is_positive - fitted)
    products = _pair_products(residuals, cluster) * size / max(size - _FITTED, 1)
    observed = products.sum() + np.sqrt(size) * products.std(ddof=1)
    reaches = _expected_products(fitted, cluster, weight) >= observed
    return float(_CORRELATIONS[reaches.argmax()] if reaches.any() else _CORRELATIONS[-1])


def _expected_products(p: Floats, cluster: Ints, weight: Floats) -> Floats:
    """Return the sum over pairs of Phi2(t_i, t_j; r) - p_i p_j at each of `_CORRELATIONS`."""
    expected = np.zeros_like(_CORRELATIONS)
    quantile = special().ndtri(p)
    density = np.exp(-(quantile**2) / 2) / np.sqrt(2 * np.pi)
    for term in range(1, _TERMS + 1):
        hermite = np.polynomial.hermite_e.HermiteE.basis(term - 1)(quantile)
        pairs = _pair_products(weight * density * hermite, cluster).sum()
        expected += _CORRELATIONS**term / factorial(term) * pairs
    return expected


def _recalibrated(counts: ScoreCounts) -> Floats:
    """Return the logistic recalibration at each score; the scores without a fit, and 0 and 1."""
    inner = log_odds_slice(counts.scores)
    x = log_odds(counts.scores)[inner]
    intercept, slope = fit_line(x, counts.positives[inner], counts.negatives[inner])
    fitted = np.clip(counts.scores, 2.0**-52, 1 - 2.0**-52)
    if np.isfinite(slope):
        fitted[inner] = np.clip(inverse_logit(intercept + slope * x), 2.0**-52, 1 - 2.0**-52)
    return fitted


def _pair_products(values: Floats, cluster: Ints) -> Floats:
    """Return the sum of products of all ordered pairs of different rows in each cluster, (c,)."""
    totals = np.bincount(cluster, values)
    squares = np.bincount(cluster, values**2)
    return np.asarray(totals**2 - squares)
