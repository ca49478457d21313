"""The area under the ROC curve of rows that share clusters, against pairs of rows written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.rank_statistics import (
    BORDER,
    CLUSTERED,
    FEW_CLUSTERS,
    clustered_auc,
    delong_auc,
)
from tests.texts import check_text


def counts_and_clusters(
    score: np.ndarray, truth: np.ndarray, cluster: np.ndarray
) -> tuple[np.ndarray, np.ndarray, ClusterCounts]:
    """Return positives and negatives by score, and how weights add up in clusters."""
    scores, place = np.unique(score, return_inverse=True)
    pos, neg = (np.bincount(place[truth == t], minlength=len(scores)) for t in (1, 0))
    at = place + np.where(truth == 1, 0, len(scores))
    return (
        pos,
        neg,
        ClusterCounts.from_entries([f"{one:04}" for one in cluster], at, np.ones_like(at)),
    )


def clustered_scores(seed: int, c: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(c), m)
    truth = (rng.random(c * m) < 0.4).astype(int)
    score = rng.normal(size=c * m) + np.repeat(rng.normal(size=c), m) + 1.4 * truth
    return score.round(1), truth, cluster


def by_pairs(
    score: np.ndarray, truth: np.ndarray, cluster: np.ndarray
) -> tuple[float, float, tuple[float, ...]]:
    """Return the area and Obuchowski's variance, from the shares of every row.

    Also degrees of freedom: Welch's, of the sums by their kurtosis, and of the clusters.
    """
    x, y = score[truth == 1], score[truth == 0]
    table = (x[:, None] > y) + (x[:, None] == y) / 2
    area = table.mean()
    own = [cluster[truth == t] for t in (1, 0)]
    names = np.unique(cluster)
    a, b = (
        np.array([(share - area)[mine == one].sum() / len(share) for one in names])
        for share, mine in zip((table.mean(axis=1), table.mean(axis=0)), own, strict=True)
    )
    sizes = [np.array([(mine == one).sum() for one in names]) for mine in own]
    g = [s.sum() ** 2 / (s**2).sum() for s in sizes]
    h = [one / (one - 1) for one in g]
    variance = h[0] * (a @ a) + h[1] * (b @ b) + 2 * math.sqrt(h[0] * h[1]) * (a @ b)
    parts = h[0] * (a @ a), h[1] * (b @ b)
    welch = sum(parts) ** 2 / sum(v**2 / (one - 1) for v, one in zip(parts, g, strict=True))
    c, kurtosis = len(names), stats.kurtosis(np.append(a + b, -a - b), fisher=False)
    return float(area), float(variance), (float(welch), 2 * c / (kurtosis - 1), c - 1.0)


@pytest.mark.parametrize(("seed", "fewest"), [(0, 2), (1, 1), (2, 2), (5, 1)])
def test_variance_and_interval_by_hand(seed: int, fewest: int) -> None:
    rows = clustered_scores(seed, 30, 5)
    found = clustered_auc(*counts_and_clusters(*rows), level=0.9)  # type: ignore[arg-type]
    area, variance, df = by_pairs(*rows)
    assert found.method == CLUSTERED
    assert (found.value, found.variance) == pytest.approx((area, variance), rel=1e-9)
    assert df[fewest] == min(df)
    reach = stats.t.ppf(0.95, min(df)) * math.sqrt(variance) / (area * (1 - area))
    odds = area / (1 - area)
    low, high = (one / (1 + one) for one in (odds / math.exp(reach), odds * math.exp(reach)))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


def test_rows_of_their_own_have_the_interval_of_independent_rows() -> None:
    score, truth, _ = clustered_scores(1, 200, 2)
    rows = counts_and_clusters(score, truth, np.arange(len(score)))
    found, plain = clustered_auc(*rows, level=0.95), delong_auc(*rows[:2], level=0.95)  # type: ignore[arg-type]
    assert found.variance == pytest.approx(plain.variance, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-3)


def test_perfect_scores_count_clusters() -> None:
    # three clusters with both classes, one with positives and one with negatives alone: 4 pairs
    cluster = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    truth = np.array([0, 1, 0, 1, 0, 1, 1, 1, 0, 0])
    found = clustered_auc(*counts_and_clusters(truth * 1.0, truth, cluster), level=0.95)  # type: ignore[arg-type]
    assert (found.value, found.method) == (1, BORDER)
    assert (found.low, found.high) == (pytest.approx(0.025 ** (1 / 4)), 1)
    worst = clustered_auc(*counts_and_clusters(-truth * 1.0, truth, cluster), level=0.95)  # type: ignore[arg-type]
    assert (worst.low, worst.high) == (0, pytest.approx(1 - 0.025 ** (1 / 4)))


@pytest.mark.parametrize("separated", [True, False])
@pytest.mark.parametrize(("clusters", "method"), [(1, FEW_CLUSTERS), (4, FEW_CLUSTERS), (5, None)])
def test_fewer_than_five_clusters_have_no_interval(
    clusters: int, method: str | None, separated: bool
) -> None:
    score, truth, cluster = clustered_scores(2, clusters, 40)
    score = score + 100 * truth if separated else score
    found = clustered_auc(*counts_and_clusters(score, truth, cluster), level=0.95)  # type: ignore[arg-type]
    assert found.method == (method or (BORDER if separated else CLUSTERED))
    assert math.isnan(found.low) == math.isnan(found.high) == (method is not None)
    assert math.isnan(found.variance) or method is None


def test_scores_by_cluster_do_not_add_up_silently() -> None:
    one = np.ones(1, np.int64)
    counts = ScoreCounts(
        np.zeros(1), one, one, clusters=ClusterCounts.from_entries(["a"], one * 0, one)
    )
    with pytest.raises(ValueError, match=r"\w") as caught:
        counts + counts
    check_text(str(caught.value))
