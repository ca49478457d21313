"""Design effects of shares, by what counts are divided, and the test of signs of clusters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clfeval.inference.influence_and_clusters import (
    count_divisor,
    design_effect,
    joint_shares,
    rate_divisors,
    share_divisor,
    sum_variance_factor,
)
from clfeval.inference.proportions import clopper_pearson, flip_test, sign_test


def sums(k: np.ndarray, n: np.ndarray) -> tuple[float, ...]:
    """Return k, n, kk, kn, nn of clusters."""
    return (k.sum(), n.sum(), (k * k).sum(), (k * n).sum(), (n * n).sum())


def test_three_clusters_by_hand() -> None:
    # hits 2 of 2, 1 of 2, 0 of 2: p = 1/2, residuals 1, 0, -1
    effect, g = design_effect(*sums(np.array([2, 1, 0]), np.array([2, 2, 2])))
    assert g == 36 / 12
    variance = 3 / (3 - 1) * (1 + 0 + 1) / 36
    assert effect == pytest.approx(variance / (1 / 2 * 1 / 2 / 6), rel=1e-12)  # 2
    # clusters that are each like the whole tell more than rows: that is not relied on
    assert design_effect(*sums(np.array([1, 1, 1]), np.array([2, 2, 2])))[0] == 1
    # hits 4 of 4 and 2 of 4: p = 3/4, residuals 1, -1; half a cluster of 4 of which 2 are hits
    effect, g = design_effect(*sums(np.array([4, 2]), np.array([4, 4])))
    variance = (2 / (2 - 1) * (1 + 1) + (4 * (1 / 2 - 3 / 4)) ** 2 / 2) / 64
    assert effect == pytest.approx(variance / (3 / 4 * 1 / 4 / 8), rel=1e-12)


def test_without_errors_a_cluster_counts_as_one_row() -> None:
    effect, g = design_effect(*sums(np.array([4, 4, 2]), np.array([4, 4, 2])))
    assert effect == (16 + 16 + 4) / 10
    assert g == 100 / 36


def test_one_cluster_and_none() -> None:
    effect, g = design_effect(3, 5, 9, 15, 25)
    assert (effect, g) == (np.inf, 1)
    assert count_divisor(effect, g, level=0.95) == np.inf
    assert np.isnan(design_effect(0, 0, 0, 0, 0)[0])
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
    found, _ = design_effect(*sums(k, n), cautious=False)
    assert found == pytest.approx(max(expected, 1), rel=1e-9)


def test_variance_of_unequal_clusters_is_that_of_drawing_clusters() -> None:
    rng = np.random.default_rng(5)
    n = rng.integers(1, 12, 80)
    k = rng.binomial(n, np.clip(rng.normal(0.7, 0.25, 80), 0, 1))
    drawn = rng.multinomial(80, np.full(80, 1 / 80), size=20_000)
    variance = ((drawn @ k) / (drawn @ n)).var()
    p = k.sum() / n.sum()
    # the bootstrap lacks g / (g - 1), about 80 / 79; 20,000 draws know a variance to 1 %
    found, _ = design_effect(*sums(k, n), cautious=False)
    assert found == pytest.approx(variance / (p * (1 - p) / n.sum()), rel=0.06)


def test_a_divisor_makes_normal_limits_those_of_t() -> None:
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, 11)
    assert count_divisor(2.0, 12.0, level=0.95) == pytest.approx(2 * (t / z) ** 2, rel=1e-12)
    assert count_divisor(1.0, 1e9, level=0.95) == pytest.approx(1, rel=1e-8)


def test_parts_that_go_together() -> None:
    assert sum_variance_factor((4.0, 1.0), (-1.0,)) == 1 - 2 / 5
    assert sum_variance_factor((4.0, 1.0), (-9.0,)) == 0.05
    assert sum_variance_factor((0.0, 0.0), (0.0,)) == 1


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


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=12), st.sampled_from([60, 7, 1]))
def test_the_unit_of_weights_is_no_matter(differences: list[int], many: int) -> None:
    """Weights of thirds, of a hundredth, and thirds as whole numbers of a unit of 2**-40."""
    d = np.array(differences * many, float)
    expected = pytest.approx(flip_test(d), rel=1e-9)
    for found in (d / 3, d * 0.01, np.rint(d / 3 * 2**40), d * 3_000_000):
        assert flip_test(found) == expected


def clusters(seed: int, c: int = 25) -> np.ndarray:
    """Return TP, FP, P, N of clusters of some sizes, (c, 4)."""
    rng = np.random.default_rng(seed)
    p, n = rng.integers(0, 7, (2, c))
    right = rng.random(c)
    return np.column_stack([rng.binomial(p, right), rng.binomial(n, 1 - right), p, n]).astype(float)


def two_rates(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    part, whole = np.eye(4)[:2, None], np.eye(4)[2:, None]
    return joint_shares((x.T @ x)[None], x.sum(axis=0)[None], part, whole)


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_shares_with_their_covariance(seed: int) -> None:
    x = clusters(seed)
    (effects, parts, cov), (tp, fp, p, n) = two_rates(x), x.T
    for i, (k, m) in enumerate(((tp, p), (fp, n))):
        effect, g = design_effect(*sums(k, m))
        assert (effects[i, 0], parts[i, 0]) == pytest.approx((float(effect), float(g)), rel=1e-12)
    r1, r2 = tp - tp.sum() / p.sum() * p, fp - fp.sum() / n.sum() * n
    h = [g / (g - 1) for g in parts[:, 0]]
    assert cov[0, 0, 0] == pytest.approx(h[0] * (r1 @ r1) / p.sum() ** 2)
    expected = np.sqrt(h[0] * h[1]) * (r1 @ r2) / (p.sum() * n.sum())
    assert cov[[0, 1], [1, 0], 0] == pytest.approx([expected] * 2)
    # delta = tp - fp has both variances and twice less of what goes together
    v1, v2, both = cov[0, 0, 0], cov[1, 1, 0], cov[0, 1, 0]
    shared = (v1 + v2 - 2 * both) / (v1 + v2)
    by = rate_divisors((x.T @ x)[None], x.sum(axis=0)[None], [[1.0], [-1.0]], level=0.95)[:, 0]
    alone = [count_divisor(effects[i, 0], parts[i, 0], level=0.95) for i in (0, 1)]
    assert by == pytest.approx([alone[0] * shared, alone[1] * shared])


def test_a_share_of_answers_has_the_residuals_of_its_own_rows() -> None:
    # precision TP / (TP + FP): the calls of a cluster are as random as the hits among them
    x = clusters(4)
    tp, calls = x[:, 0], x[:, 0] + x[:, 1]
    effect, g = design_effect(*sums(tp, calls))
    found = share_divisor(
        (x.T @ x)[None], x.sum(axis=0)[None], [[1.0, 0, 0, 0]], [[1.0, 1, 0, 0]], level=0.9
    )
    assert found == pytest.approx([float(count_divisor(effect, g, level=0.9))])


def test_the_class_ratio_is_a_third_share() -> None:
    # accuracy p tp + n (1 - fp): its variance over clusters is that of a share of all rows
    x = clusters(6, 400)
    total = x.sum(axis=0)
    s, f, p = total[0] / total[2], total[1] / total[3], total[2] / total[2:].sum()
    slopes = np.array([p, -(1 - p), s - (1 - f)])
    parts = np.eye(4)[:3, None]
    whole = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1.0]])[:, None]
    effects, g, cov = joint_shares((x.T @ x)[None], total[None], parts, whole)
    variance = slopes @ cov[:, :, 0] @ slopes
    right, rows = x[:, 0] + x[:, 3] - x[:, 1], x[:, 2] + x[:, 3]
    effect, _ = design_effect(*sums(right, rows), cautious=False)
    share = right.sum() / rows.sum()
    # g differs between the classes and the whole, by a percent at 400 clusters
    assert variance == pytest.approx(effect * share * (1 - share) / rows.sum(), rel=0.02)
    by = rate_divisors((x.T @ x)[None], total[None], slopes[:, None], level=0.95)
    assert by.shape == (3, 1)
    alone = count_divisor(effects, g, level=0.95)
    parts_variance = (slopes**2 * cov[range(3), range(3), 0]).sum()
    assert by == pytest.approx(alone * variance / parts_variance)
