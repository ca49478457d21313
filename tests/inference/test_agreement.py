"""Kendall's tau-b and Spearman's rho: by hand, by all pairs, and against scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from clfeval.inference.rank_statistics import kendall_tau_b, spearman

value = st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.25, 0.1 + 0.2, 0.3, 7.0])
pairs = st.lists(st.tuples(value, value), min_size=2, max_size=30)


@given(pairs)
def test_tau_is_that_of_all_pairs(rows: list[tuple[float, float]]) -> None:
    x, y = zip(*rows, strict=True)
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    signs = [
        ((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in itertools.combinations(rows, 2)
    ]
    top = sum(s * t for s, t in signs)
    bottom = sum(s * s for s, _ in signs) * sum(t * t for _, t in signs)
    assert kendall_tau_b(x, y) == pytest.approx(top / math.sqrt(bottom), rel=1e-15)


@pytest.mark.parametrize("values", [2, 3, 10, 10**6])
@pytest.mark.parametrize("k", [2, 3, 7, 64, 65, 1000])
def test_scipy_says_the_same(k: int, values: int) -> None:
    rng = np.random.default_rng(k)
    for strength in (0, 0.3, 1, 3):
        noise, common = rng.normal(size=(2, k)), rng.normal(size=k)
        x, y = np.floor(values * stats.norm.cdf(noise + strength * common * [[1], [-1]]))
        x[:2], y[:2] = [0, 1], [1, 0]
        expected = stats.kendalltau(x, y).statistic
        assert kendall_tau_b(x, y) == pytest.approx(expected, abs=1e-14)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-14)


@given(pairs, st.randoms(use_true_random=False))
def test_what_changes_nothing(rows: list[tuple[float, float]], random: object) -> None:
    """The order of the rows, which one comes first, a scale; turning one round, but the sign."""
    x, y = np.array(rows).T
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for function in (kendall_tau_b, spearman):
        here = repr(function(x, y))
        assert repr(function(*np.array(shuffled).T)) == here
        assert repr(function(y, x)) == here
        assert repr(function(x / 4, 5 * y)) == here
        assert function(-x, y) == pytest.approx(-function(x, y), rel=0, nan_ok=True)
        assert not abs(function(x, y)) > 1


@given(st.lists(value, min_size=2, max_size=30))
def test_equal_and_reversed_orders_are_exactly_one(x: list[float]) -> None:
    assume(len(set(x)) > 1)
    for function in (kendall_tau_b, spearman):
        assert function(x, 4 * np.array(x)) == 1
        assert function(x, -np.array(x)) == -1


@pytest.mark.slow
def test_sums_that_do_not_fit_64_bits() -> None:
    x = np.arange(3_200_000)
    assert (3_200_000**3 - 3_200_000) // 3 > 2**63
    assert (spearman(x, x), spearman(x, -x)) == (1, -1)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], []),
        ([1], [2]),
        ([1, 1, 1], [1, 2, 3]),
        ([1, 2, 3], [5, 5, 5]),
        ([0.0, -0.0], [1, 2]),
        ([1, math.nan, 3], [1, 2, 3]),
        ([1, 2, 3], [1, 2, math.nan]),
    ],
)
def test_undefined(x: list[float], y: list[float]) -> None:
    assert math.isnan(kendall_tau_b(x, y))
    assert math.isnan(spearman(x, y))


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2, 3]), ([[1, 2]], [[1, 2]]), (1, 2)])
def test_what_is_refused(x: list[float], y: list[float]) -> None:
    for function in (kendall_tau_b, spearman):
        with pytest.raises(ValueError, match=r"length|vector"):
            function(x, y)
