"""Rows that weigh differently: their sums of squares, draws of them, and the sign test."""

from __future__ import annotations

import numpy as np
import pytest

from clfeval.counts.classes import ClassPatterns
from clfeval.counts.clusters_and_weights import RowWeights, squares_and_weights
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.influence_and_clusters import least_effect
from clfeval.inference.proportions import sign_test, weighted_sign_test
from clfeval.inference.resampling import resampled_weights


def test_sums_by_hand() -> None:
    """Weights 1, 3 of the first kind and 2 of the second: 6 in all, squares 10 and 4."""
    one = RowWeights.from_entries(
        np.array([[1.0, 1], [9, 3], [4, 2]]), np.array([0, 0, 1]), np.array([1, 3, 2]), 3
    )
    assert (one.largest.tolist(), one.heaviest) == ([3, 2, 0], 3)
    assert one.among(np.array([False, True, True])).heaviest == 2
    assert one.renumber(np.array([1, 1, 0])).largest.tolist() == [0, 3]
    assert (one.n.tolist(), one.squares.tolist()) == ([4, 2, 0], [10, 4, 0])
    assert one.size == pytest.approx(6**2 / 14)
    products, kurtosis = one.moments(np.array([[1.0, 0, 0], [1, -1, 7]]))
    assert products.tolist() == [[10, 10], [10, 14]]
    # 1.6 rows of weight 2.5 and one of weight 2, and so 10 and 4 as squares
    fourth = 1.6 * 2.5**4
    assert kurtosis == pytest.approx([2.6 * fourth / 10**2, 2.6 * (fourth + 2**4) / 14**2])
    part, whole = np.array([[True, False, False]]), np.ones((1, 3), bool)
    assert one.shares(part, whole).T.tolist() == [[4, 6, 10, 10, 14]]
    # rows of the first kind count as 1.6, the other is one
    assert one.pairs(np.array([True, False, False])) == 1


def test_files_add_up() -> None:
    rng = np.random.default_rng(4)
    truth, votes, n = rng.random(40) < 0.5, rng.random((40, 2)) < 0.5, rng.integers(1, 10**9, 40)
    owners = squares_and_weights(n)

    def of(rows: slice) -> PatternCounts:
        return PatternCounts.from_votes(
            ["a", "b"], truth[rows], votes[rows], n[rows], 1e6, owners=owners[rows]
        )

    whole, parts = of(slice(None)), of(slice(15)) + of(slice(15, None))
    classes = [ClassPatterns.from_binary_patterns(one, ("0", "1"), "1") for one in (whole, parts)]
    for one, other in ((whole, parts), (classes[0], classes[1])):
        assert isinstance(one.clusters, RowWeights)
        assert isinstance(other.clusters, RowWeights)
        assert one.digest() == other.digest()
        np.testing.assert_allclose(one.clusters.squares, other.clusters.squares, rtol=1e-8)
        assert one.clusters.largest.tolist() == other.clusters.largest.tolist()
        assert one.clusters.heaviest == n.max()
    with pytest.raises(ValueError, match="only one"):
        whole + PatternCounts.from_votes(["a", "b"], truth, votes, n, 1e6)


@pytest.mark.parametrize(
    ("errors", "rows", "least"),
    [
        # weights of the errors and of the other rows; 3 errors of weight 2 are three rows
        ((), (1, 1, 4), 7),
        ((2, 2), (1, 1, 1, 1), 7),
        ((2, 2, 2), (1, 1, 1, 1), 0),
        ((1, 1, 4), (1, 1, 1, 1), 7),  # (1 + 1 + 4)² / (1 + 1 + 16) = 2 effective rows
        ((1, 1, 1, 1), (3, 3), 7),  # few of the other outcome
        ((1, 1, 1, 1), (), 7),
    ],
)
def test_few_errors_count_rows_of_the_largest_weight(
    errors: tuple[int, ...], rows: tuple[int, ...], least: float
) -> None:
    k, n = sum(errors), sum(errors) + sum(rows)
    kk, nn = sum(w * w for w in errors), sum(w * w for w in (*errors, *rows))
    assert least_effect(k, n, kk, kk, nn, 7.0) == least


def test_draws_have_the_mean_and_the_variance_of_the_weights() -> None:
    n, squares = np.array([20.0, 3.0, 0.0]), np.array([50.0, 9.0, 0.0])
    rng = np.random.default_rng(2)
    drawn = np.concatenate([*resampled_weights(n, squares, resamples=40_000, rng=rng)])
    assert drawn.shape == (40_000, 3)
    assert drawn.mean(axis=0) == pytest.approx(n, rel=0.02)
    assert drawn.var(axis=0) == pytest.approx(squares, rel=0.04)
    # one row of weight 3: three times an exponential number
    assert np.median(drawn[:, 1]) == pytest.approx(3 * np.log(2), rel=0.03)


def test_the_sign_test_of_equal_weights_is_that_of_rows() -> None:
    for a, b in ((6, 0), (9, 2), (5, 5), (0, 0), (700, 620)):
        expected = sign_test(a, b)
        assert weighted_sign_test(a, b, a + b) == pytest.approx(expected, rel=1e-9)
        assert weighted_sign_test(a * 0.3, b * 0.3, (a + b) * 0.09) == pytest.approx(expected)
    # half the effective rows say less
    assert weighted_sign_test(9, 2, 22) > sign_test(9, 2)
