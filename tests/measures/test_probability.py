"""Brier score and log loss: by hand, against scikit-learn, at the ends, of many replicates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from clfeval.measures.probability import clipped, log_losses, mean_loss, squared_errors
from clfeval.measures.scored import LEAST

pytestmark = pytest.mark.filterwarnings("error")

P, TRUTH, N = np.array([0.75, 0.5, 0.25]), np.array([True, True, False]), np.array([2, 1, 1])


def brier(p: Any, truth: Any, n: Any) -> Any:
    return mean_loss(squared_errors(p, truth), n)


def log_loss(p: Any, truth: Any, n: Any) -> Any:
    return mean_loss(log_losses(p, truth), n)


def test_by_hand() -> None:
    assert brier(P, TRUTH, N) == (2 * 0.25**2 + 0.5**2 + 0.25**2) / 4
    expected = -(2 * math.log(0.75) + math.log(0.5) + math.log(1 - 0.25)) / 4
    assert log_loss(P, TRUTH, N) == pytest.approx(expected, abs=1e-15)
    assert clipped(P, TRUTH, N) == 0


def test_brier_is_half_the_sum_over_both_classes() -> None:
    """Equation 15.24: of C = 2 classes, the mean over rows of (1/2) sum over k of (y_k - p_k)²."""
    both = [
        ((t - p) ** 2 + ((1 - t) - (1 - p)) ** 2) / 2
        for p, t, n in zip(P.tolist(), TRUTH.tolist(), N.tolist(), strict=True)
        for _ in range(n)
    ]
    assert brier(P, TRUTH, N) == sum(both) / len(both)


@pytest.mark.parametrize("seed", range(4))
def test_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, truth = rng.random(100), rng.random(100) < 0.4
    for n in (rng.integers(1, 9, 100), rng.random(100)):
        expected = brier_score_loss(truth, p, sample_weight=n)
        assert brier(p, truth, n) == pytest.approx(expected, abs=1e-14)
        expected = sklearn_log_loss(truth, p, sample_weight=n)
        assert log_loss(p, truth, n) == pytest.approx(expected, abs=1e-13)


def test_certainty_that_is_wrong_costs_no_more_than_the_clip() -> None:
    p, truth, n = np.array([0.0, 1.0, 2.0**-53, 1 - 2.0**-53]), np.array([1, 0, 1, 0]), np.ones(4)
    assert log_loss(p, truth, n) == -math.log(2.0**-52)
    assert clipped(p, truth, np.array([1, 2, 4, 8])) == 1 + 2 + 4 + 8
    assert brier(p[:2], truth[:2], n[:2]) == 1
    # 2**-52 itself is no smaller than itself
    p = np.array([LEAST, 1 - LEAST])
    assert clipped(p, np.array([1, 0]), np.ones(2)) == 0
    assert log_loss(p, np.array([1, 0]), np.ones(2)) == pytest.approx(52 * math.log(2), abs=1e-13)


def test_certainty_that_is_right_costs_nothing() -> None:
    p, truth = np.array([1.0, 0.0]), np.array([True, False])
    for found in (brier(p, truth, np.ones(2)), log_loss(p, truth, np.ones(2))):
        assert found == 0
        assert not np.signbit(found)
    assert clipped(p, truth, np.ones(2)) == 0


def test_small_probabilities_keep_their_digits() -> None:
    assert log_loss(np.array([1e-20]), np.array([False]), np.ones(1)) == 1e-20


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64])
def test_replicates_are_measured_one_by_one(kind: type) -> None:
    rng = np.random.default_rng(1)
    p, truth = rng.random(50), rng.random(50) < 0.4
    n = rng.integers(0, 200, (3, 4, 50)).astype(kind)
    n[1, 2] = 0
    for function in (brier, log_loss, clipped):
        found = function(p, truth, n)
        assert found.shape == (3, 4)
        alone = [[function(p, truth, n[i, j]) for j in range(4)] for i in range(3)]
        np.testing.assert_array_equal(found, alone)
        assert np.isnan(found[1, 2]) or (function is clipped and found[1, 2] == 0)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.integers(1, 5)), min_size=1))
def test_weights_are_repeated_rows(rows: list[tuple[float, bool, int]]) -> None:
    p, truth, n = map(np.array, zip(*rows, strict=True))
    q, t = np.repeat(p, n), np.repeat(truth, n)
    ones = np.ones(len(q), int)
    assert brier(p, truth, n) == pytest.approx(brier(q, t, ones), abs=1e-14)
    assert log_loss(p, truth, n) == pytest.approx(log_loss(q, t, ones), rel=1e-13)
    assert clipped(p, truth, n) == clipped(q, t, ones)


@pytest.mark.parametrize("bad", [-1e-9, 1.0000001, np.inf, np.nan])
def test_what_is_no_probability_is_refused(bad: float) -> None:
    for function in (squared_errors, log_losses):
        with pytest.raises(ValueError, match="between 0 and 1"):
            function([0.5, bad], [True, False])
