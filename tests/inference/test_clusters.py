"""Design effects of shares, by what counts are divided, and the test of signs of clusters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clfeval.inference.clusters import design, divisor, flip_test, together
from clfeval.inference.shares import clopper_pearson, sign_test


def sums(k: np.ndarray, n: np.ndarray) -> tuple[float, ...]:
    """Return k, n, kk, kn, nn of clusters."""
    return (k.sum(), n.sum(), (k * k).sum(), (k * n).sum(), (n * n).sum())


def test_three_clusters_by_hand() -> None:
    # hits 2 of 2, 1 of 2, 0 of 2: p = 1/2, residuals 1, 0, -1
    effect, g = design(*sums(np.array([2, 1, 0]), np.array([2, 2, 2])))
    assert g == 36 / 12
    variance = 3 / (3 - 1) * (1 + 0 + 1) / 36
    assert effect == pytest.approx(variance / (1 / 2 * 1 / 2 / 6), rel=1e-12)  # 2
    # clusters that are each like the whole tell more than rows: that is not relied on
    assert design(*sums(np.array([1, 1, 1]), np.array([2, 2, 2])))[0] == 1


def test_without_errors_a_cluster_counts_as_one_row() -> None:
    effect, g = design(*sums(np.array([4, 4, 2]), np.array([4, 4, 2])))
    assert effect == (16 + 16 + 4) / 10
    assert g == 100 / 36


def test_one_cluster_and_none() -> None:
    effect, g = design(3, 5, 9, 15, 25)
    assert (effect, g) == (np.inf, 1)
    assert divisor(effect, g, level=0.95) == np.inf
    assert np.isnan(design(0, 0, 0, 0, 0)[0])
    low, high = clopper_pearson(3 / np.inf, 5 / np.inf, level=0.95)
    assert np.isnan(low)
    assert np.isnan(high)


@given(st.integers(2, 30), st.integers(1, 6), st.integers(0, 10**6))
def test_variance_of_equal_clusters_is_that_of_statsmodels(c: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = (rng.random((c, m)) < rng.random((c, 1))).astype(float)
    if y.min() == y.max():
        return
    fit = sm.OLS(y.ravel(), np.ones(c * m)).fit(
        cov_type="cluster", cov_kwds={"groups": np.repeat(np.arange(c), m)}
    )
    k, n = y.sum(axis=1), np.full(c, m)
    p = y.mean()
    expected = fit.cov_params()[0, 0] / (p * (1 - p) / y.size)
    assert design(*sums(k, n))[0] == pytest.approx(max(expected, 1), rel=1e-9)


def test_variance_of_unequal_clusters_is_that_of_drawing_clusters() -> None:
    rng = np.random.default_rng(5)
    n = rng.integers(1, 12, 80)
    k = rng.binomial(n, np.clip(rng.normal(0.7, 0.25, 80), 0, 1))
    drawn = rng.multinomial(80, np.full(80, 1 / 80), size=20_000)
    variance = ((drawn @ k) / (drawn @ n)).var()
    p = k.sum() / n.sum()
    # the bootstrap lacks g / (g - 1), about 80 / 79; 20,000 draws know a variance to 1 %
    assert design(*sums(k, n))[0] == pytest.approx(variance / (p * (1 - p) / n.sum()), rel=0.06)


def test_a_divisor_makes_normal_limits_those_of_t() -> None:
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, 11)
    assert divisor(2.0, 12.0, level=0.95) == pytest.approx(2 * (t / z) ** 2, rel=1e-12)
    assert divisor(1.0, 1e9, level=0.95) == pytest.approx(1, rel=1e-8)


def test_parts_that_go_together() -> None:
    assert together((4.0, 1.0), (-1.0,)) == 1 - 2 / 5
    assert together((4.0, 1.0), (-9.0,)) == 0.05
    assert together((0.0, 0.0), (0.0,)) == 1


@given(st.lists(st.integers(-5, 5), max_size=10))
def test_flips_of_every_cluster(differences: list[int]) -> None:
    d = np.array([x for x in differences if x])
    every = [
        abs(np.dot(signs, np.abs(d))) >= abs(d.sum()) for signs in product((1, -1), repeat=len(d))
    ]
    assert flip_test(differences) == pytest.approx(np.mean(every) if len(d) else 1, abs=1e-12)


@given(st.integers(0, 300), st.integers(0, 300))
def test_clusters_of_one_row_have_the_sign_test(a: int, b: int) -> None:
    found = flip_test([1] * a + [-1] * b)
    assert found == pytest.approx(sign_test(a, b), rel=1e-9, abs=1e-300)


def test_many_large_clusters_are_taken_for_normal() -> None:
    rng = np.random.default_rng(1)
    d = rng.integers(-40, 43, 2000)
    z = (abs(d.sum()) - 1) / np.sqrt((d.astype(float) ** 2).sum())
    assert np.abs(d).sum() > 20_000
    assert flip_test(d) == pytest.approx(2 * stats.norm.sf(z), rel=1e-12)


def test_parts_of_a_row_have_no_sign() -> None:
    with pytest.raises(ValueError, match="whole"):
        flip_test([0.5])
