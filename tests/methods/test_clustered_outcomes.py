"""Calibrated outcomes in clusters: right on average, correlated as the observed ones are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri
from scipy.stats import multivariate_normal

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.methods.measurement.clustered_outcomes import (
    ClusteredOutcomes,
    clustered_outcomes,
    latent_correlation,
)
from clfeval.records import replace


def clustered_counts(
    scores: np.ndarray, positive: np.ndarray, owners: np.ndarray, weights: np.ndarray | None = None
) -> ScoreCounts:
    """Return the counts of rows in clusters."""
    counts = ScoreCounts.from_rows(scores, positive, weights)
    place = np.searchsorted(counts.scores, scores) + len(counts.scores) * ~positive
    n = np.ones(len(scores), np.int64) if weights is None else weights
    return replace(counts, clusters=ClusterCounts.from_entries(owners, place, n))


def calibrated_rows(
    clusters: int, size: int, correlation: float, seed: int
) -> tuple[np.ndarray, ...]:
    """Return calibrated scores, outcomes correlated in clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(clusters), size)
    scores = np.round(expit(-0.5 + 1.7 * rng.standard_normal(len(owners))), 3)
    scores = np.clip(scores, 0.001, 0.999)
    shared = rng.standard_normal(clusters)[owners]
    independent = rng.standard_normal(len(owners))
    deviates = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * independent
    return scores, ndtr(deviates) <= scores, owners


def test_draws_have_the_scores_on_average_and_the_bivariate_normal_chance_of_pairs() -> None:
    correlation = 0.4
    thresholds = ndtri(np.array([0.2, 0.6]))
    outcomes = ClusteredOutcomes(
        np.array([0, 2]), np.array([0, 0]), np.ones(2), thresholds, 3, correlation
    )
    positives = np.concatenate([*outcomes.draw_positives(100_000, np.random.default_rng(0))])
    assert positives.shape == (100_000, 3)
    assert positives.mean(axis=0) == pytest.approx([0.2, 0.0, 0.6], abs=0.006)
    both = (positives[:, 0] * positives[:, 2]).mean()
    covariance = [[1, correlation], [correlation, 1]]
    expected = multivariate_normal(cov=covariance).cdf(thresholds)
    assert both == pytest.approx(expected, abs=0.006)


def test_the_correlation_solves_the_equation_of_pairs_summed_one_by_one() -> None:
    """Of calibrated scores .3 and .7, whose recalibration is themselves."""
    scores = np.tile([0.3] * 10 + [0.7] * 10, 4)
    positive = np.tile([True] * 3 + [False] * 7 + [True] * 7 + [False] * 3, 4)
    rng = np.random.default_rng(0)
    owners = np.where(positive, rng.integers(0, 6, 80), rng.integers(3, 9, 80))
    counts = clustered_counts(scores, positive, owners)
    place = np.searchsorted(counts.scores, scores)
    solution = latent_correlation(counts, place, owners, weight=np.ones(80), is_positive=positive)
    pairs = [(i, j) for i in range(80) for j in range(80) if i != j and owners[i] == owners[j]]
    residuals = positive - scores
    products = np.zeros(9)
    for i, j in pairs:
        products[owners[i]] += residuals[i] * residuals[j] * 9 / 7
    observed = products.sum() + np.sqrt(9) * np.std(products, ddof=1)

    def expected(correlation: float) -> float:
        normal = multivariate_normal(cov=[[1, correlation], [correlation, 1]])
        chance = {(a, b): normal.cdf(ndtri([a, b])) - a * b for a in (0.3, 0.7) for b in (0.3, 0.7)}
        return sum(chance[scores[i], scores[j]] for i, j in pairs)

    assert observed > 0
    assert expected(solution) >= observed - 1e-3
    assert expected(solution - 0.005) <= observed + 1e-3


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.7])
def test_the_correlation_of_simulated_outcomes_is_found(correlation: float) -> None:
    """A standard error above it, which is about 0.1 of 60 clusters."""
    estimates = [
        clustered_outcomes(
            clustered_counts(*calibrated_rows(60, 20, correlation, seed))
        ).correlation
        for seed in range(20)
    ]
    assert 0 < np.mean(estimates) - correlation < 0.15


def test_clusters_of_one_row_are_rows() -> None:
    scores, positive, _ = calibrated_rows(100, 1, 0.0, 1)
    outcomes = clustered_outcomes(clustered_counts(scores, positive, np.arange(100)))
    assert outcomes.correlation == 0


def test_rows_of_one_cluster_and_score_are_drawn_singly_and_weights_at_once() -> None:
    scores = np.repeat([0.2, 0.8], 6)
    positive = np.array([True, False] * 6)
    owners = np.repeat(np.arange(6), 2)
    plain = clustered_outcomes(clustered_counts(scores, positive, owners))
    assert plain.weight.tolist() == [1.0] * 12
    (positives,) = plain.draw_positives(50, np.random.default_rng(0))
    assert set(np.unique(positives)) <= {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
