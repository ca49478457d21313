"""What estimates share: against sums over rows, DeLong's placements, and clusters written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from clfeval.inference.shared import Shared, farther, of_kinds, of_rows


def drawn(k: int = 3, m: int = 40, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(k, m)) + rng.normal(size=m)
    n = rng.integers(1, 4, m)
    f -= (f * n).sum(axis=1, keepdims=True) / n.sum()
    return f, n


def test_the_covariance_is_that_of_means_of_rows() -> None:
    """Of means over rows f is the value less the mean, and V the textbook's S / M."""
    f, n = drawn()
    rows = np.repeat(f, n, axis=1)
    assert of_kinds(f, n, None).covariance == pytest.approx(np.cov(rows) / rows.shape[1], rel=1e-9)
    assert of_rows([*rows], None, None).covariance == pytest.approx(
        np.cov(rows) / rows.shape[1], rel=1e-9
    )
    assert of_rows([*f], n, None).covariance == pytest.approx(
        np.cov(rows) / rows.shape[1], rel=1e-9
    )


def test_a_difference_has_the_paired_error_and_t() -> None:
    """Of two means, the paired t statistic; its degrees of freedom 2 M / (kurtosis - 1)."""
    f, n = drawn(2)
    rows = np.repeat(f, n, axis=1)
    apart = rows[0] - rows[1]
    m, d = len(apart), 0.3
    for found in (of_kinds(f, n, None, [(0, 1)]), of_rows([*rows], None, None, [(0, 1)])):
        assert found.errors[0] == pytest.approx(stats.sem(apart), rel=1e-9)
        kurtosis = m * (apart**4).sum() / (apart**2).sum() ** 2
        df = 2 * m / (kurtosis - 1)
        assert found.df[0] == pytest.approx(df, rel=1e-9)
        t = d / stats.sem(apart)
        assert found.chances([d])[0] == pytest.approx(2 * stats.t.sf(t, df), rel=1e-9)
        low, high = found.limits([d], level=0.9)
        reach = stats.t.ppf(0.95, df) * stats.sem(apart)
        assert (low[0], high[0]) == pytest.approx((d - reach, d + reach))


def test_clusters_are_rows_added_up() -> None:
    f, _ = drawn(2, 60)
    owners = np.random.default_rng(1).integers(0, 12, 60)
    sums = np.array([np.bincount(owners, one, 12) for one in f])
    expected = sums @ sums.T / 60**2 * 12 / 11
    found = of_rows([*f], None, owners, [(0, 1)])
    assert found.covariance == pytest.approx(expected, rel=1e-9)
    d = sums[0] - sums[1]
    assert found.errors[0] == pytest.approx(np.sqrt((d**2).sum() / 60**2 * 12 / 11), rel=1e-9)
    kurtosis = 12 * (d**4).sum() / (d**2).sum() ** 2
    assert found.df[0] == pytest.approx(2 * 12 / (kurtosis - 1), rel=1e-9)


def test_weights_count_by_their_squares() -> None:
    """V = g / (g - 1) sum w² f f' / M² with g = M² / sum w², Kish's size; equal ones are rows."""
    f, _ = drawn(2, 30)
    w = np.random.default_rng(2).integers(1, 9, 30)
    f = f - (f * w).sum(axis=1, keepdims=True) / w.sum()
    total, g = w.sum(), w.sum() ** 2 / (w**2).sum()
    found = of_rows([*f], w, None, [(0, 1)], sampling=True)
    expected = (f * w**2) @ f.T / total**2 * g / (g - 1)
    assert found.covariance == pytest.approx(expected, rel=1e-9)
    d = f[0] - f[1]
    kurtosis = (w**2).sum() * (w**2 * d**4).sum() / (w**2 * d**2).sum() ** 2
    assert found.df[0] == pytest.approx(2 * g / (kurtosis - 1), rel=1e-9)
    alike, five = (of_rows([*f], np.full(30, each), None, [(0, 1)], sampling=True)
                   for each in (1, 5))  # fmt: skip
    assert alike.covariance == pytest.approx(five.covariance)
    assert alike.df == pytest.approx(five.df)


def test_few_rows_bound_the_degrees_of_freedom() -> None:
    f, n = drawn(2)
    assert of_kinds(f, n, None, [(0, 1)], fewest=5).df.tolist() == [4]
    assert np.isnan(of_kinds(f, n, None, [(0, 1)], fewest=1).limits([0.1], level=0.9)).all()


def test_rows_that_would_change_sides_widen_a_difference_not_its_degrees_of_freedom() -> None:
    """V = (sum d² + (flips_i + flips_j) / 2) / (m (m - 1)), for sums over rows m."""
    f, n = drawn(2)
    rows = np.repeat(f, n, axis=1)
    flips, m, d = [3.0, 5.0], rows.shape[1], rows[0] - rows[1]
    expected = np.sqrt((((d - d.mean()) ** 2).sum() + 4) / (m * (m - 1)))
    for found, plain in (
        (of_kinds(f, n, None, [(0, 1)], flips=flips), of_kinds(f, n, None, [(0, 1)])),
        (of_rows([*rows], None, None, [(0, 1)], flips=flips),
         of_rows([*rows], None, None, [(0, 1)])),
    ):  # fmt: skip
        assert found.errors[0] == pytest.approx(expected, rel=1e-9)
        assert found.df == pytest.approx(plain.df)
        assert found.covariance == pytest.approx(plain.covariance)
    same = of_kinds(np.vstack([f[0], f[0]]), n, None, [(0, 1)], flips=flips)
    assert same.errors.tolist() == [0]


def test_estimates_that_never_differ_have_no_error() -> None:
    f, n = drawn(1)
    found = of_kinds(np.vstack([f, f]), n, None, [(0, 1)])
    assert found.errors.tolist() == [0]
    assert found.chances([0.0]).tolist() == [1]
    assert np.isnan(found.limits([0.0], level=0.95)).all()


def placed(df: float = 11.0) -> Shared:
    """Return what areas with errors .02 and .06 and a covariance of .0006 share: s² = .0028."""
    covariance = np.array([[0.0004, 0.0006], [0.0006, 0.0036]])
    return Shared(covariance, np.array([np.sqrt(0.0028)]), np.array([df]))


def logit_limits(value: float, error: float, t: float) -> tuple[float, float]:
    middle, reach = np.log(value / (1 - value)), t * error / (value * (1 - value))
    low, high = (1 / (1 + np.exp(-(middle + sign * reach))) for sign in (-1, 1))
    return float(low), float(high)


def test_limits_of_areas_reach_farther_away_from_0_and_stay_towards_it() -> None:
    """Few rows: .95 and .8 on the logit scale, joined with rho = .0006 / (.02 .06) = .5."""
    t = stats.t.ppf(0.975, 11)
    (_, u1), (l2, _) = logit_limits(0.95, 0.02, t), logit_limits(0.8, 0.06, t)
    e, f = u1 - 0.95, 0.8 - l2
    high = 0.15 + np.sqrt(e**2 - e * f + f**2)
    towards = 0.15 - t * np.sqrt(0.0028)
    assert high > 0.15 + t * np.sqrt(0.0028)
    values, pairs = np.array([0.95, 0.8]), [(0, 1)]
    found = farther(values, placed(), pairs, level=0.95, fewest=12)
    assert [each.tolist() for each in found] == [[pytest.approx(towards)], [pytest.approx(high)],
                                                [True]]  # fmt: skip
    turned = farther(values, placed(), [(1, 0)], level=0.95, fewest=12)
    assert turned[0][0] == pytest.approx(-high)
    assert turned[1][0] == pytest.approx(-towards)
    many = farther(np.array([0.9, 0.75]), placed(), pairs, level=0.95, fewest=1000)
    assert many[1][0] == pytest.approx(0.15 + t * np.sqrt(0.0028))
    assert not many[2].any()


def test_both_limits_reach_farther_around_0() -> None:
    """Of .95 and .9 alike the t limits hold 0, and so do those that reach farther."""
    t = stats.t.ppf(0.975, 11)
    (l1, u1), (l2, u2) = logit_limits(0.95, 0.02, t), logit_limits(0.9, 0.06, t)
    d, e, f, g = 0.95 - l1, u1 - 0.95, 0.9 - l2, u2 - 0.9
    low = 0.05 - np.sqrt(d**2 - d * g + g**2)
    high = 0.05 + np.sqrt(e**2 - e * f + f**2)
    found = farther(np.array([0.95, 0.9]), placed(), [(0, 1)], level=0.95, fewest=12)
    s = t * np.sqrt(0.0028)
    assert found[0][0] == pytest.approx(min(low, 0.05 - s))
    assert found[1][0] == pytest.approx(max(high, 0.05 + s))


def test_an_area_of_1_has_the_bound_of_pairs_in_order() -> None:
    """12 pairs all in order: A**12 = .025; the other area's own limits, and nothing in common."""
    covariance = np.diag([0.0, 0.0036])
    shared = Shared(covariance, np.array([0.06]), np.array([11.0]))
    t = stats.t.ppf(0.975, 11)
    low2, high2 = logit_limits(0.9, 0.06, t)
    low = 0.1 - np.hypot(1 - 0.025 ** (1 / 12), high2 - 0.9)
    for values, sign in (([1.0, 0.9], 1), ([0.0, 0.1], -1)):
        found = farther(np.array(values), shared, [(0, 1)], level=0.95, fewest=12)
        ends = sorted(sign * end[0] for end in found[:2])
        assert ends == pytest.approx([low, 0.1 + max(0.9 - low2, 0.06 * t)])
    same = Shared(np.zeros((2, 2)), np.zeros(1), np.array([np.nan]))
    none = farther(np.ones(2), same, [(0, 1)], level=0.95, fewest=12)
    assert np.isnan(none[:2]).all()
    assert not none[2].any()
