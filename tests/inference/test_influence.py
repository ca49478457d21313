"""Errors from influence values: by hand, against statsmodels, DeLong and repeated rows."""

from __future__ import annotations

import math
from math import inf
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.inference.influence_and_clusters import (
    confidence_limits,
    influence_covariance,
    smaller_class_size,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.logistic import log_odds

pytestmark = pytest.mark.filterwarnings("error")


def clustered(codes: Any) -> ClusterCounts:
    """Return clusters of rows, each of which is a kind of its own."""
    place = np.arange(len(codes))
    return ClusterCounts.from_entries(
        [f"c{code:02}" for code in codes], place, np.ones(len(codes), int)
    )


def weighed(weights: Any) -> RowWeights:
    """Return rows of these weights, each of which is a kind of its own."""
    return RowWeights(np.asarray(weights, float), np.square(weights), np.asarray(weights, float))


def test_a_mean_by_hand() -> None:
    """Values 1, 2, 2, 5: mean 2.5, s² = (2.25 + .25 + .25 + 6.25) / 3 = 3."""
    f, n = np.array([1, 2, 5]) - 2.5, np.array([1, 2, 1])
    found = influence_covariance(f, n)
    assert found.covariance.tolist() == [[pytest.approx(3 / 4, abs=1e-15)]]
    assert found.errors == pytest.approx([math.sqrt(3 / 4)])
    assert (found.effect.tolist(), found.size) == ([1], 4)
    # the kurtosis: 4 x (1.5⁴ + 2 x .5⁴ + 2.5⁴) over 9²
    kurtosis = 4 * (1.5**4 + 2 * 0.5**4 + 2.5**4) / 9**2
    assert found.df.tolist() == [pytest.approx(2 * 4 / (kurtosis - 1))]
    assert influence_covariance(f, n, fewest=2).df.tolist() == [1]


def test_clusters_by_hand() -> None:
    """Rows 1, 3 | 2, 4 | 3 | 3 | 5: sums of f are -2, 0, 0, 0, 2, and 5 / 4 x 8 / 49 = 10 / 49."""
    f = np.array([1, 3, 2, 4, 3, 3, 5]) - 3.0
    found = influence_covariance(f, np.ones(7), clusters=clustered([0, 0, 1, 1, 2, 3, 4]))
    assert found.covariance.tolist() == [[pytest.approx(10 / 49, abs=1e-15)]]
    # of rows 7 / 6 x 10 / 49
    assert found.effect.tolist() == [pytest.approx(6 / 7)]
    # the kurtosis is 5 x (16 + 16) / (4 + 4)², and 2 x 5 / (2.5 - 1) more than 5 - 1
    assert (found.df.tolist(), found.size) == ([4], 5)


def test_fewer_than_five_clusters_have_no_variance() -> None:
    """Rows 1, 2 | 2, 5: the variance of two clusters is unknown."""
    f = np.array([1, 2, 2, 5]) - 2.5
    found = influence_covariance(f, np.ones(4), clusters=clustered([0, 0, 1, 1]))
    assert np.isnan(found.covariance).all()
    assert np.isnan(found.errors).all()


def test_weights_by_hand() -> None:
    """Weights .5 and 1.5 of values 0 and 4: mean 3, f -3 and 1."""
    found = influence_covariance([-3, 1], [0.5, 1.5], clusters=weighed([0.5, 1.5]))
    size = 2**2 / (0.25 + 2.25)
    assert found.size == pytest.approx(size)
    expected = (0.25 * 9 + 2.25 * 1) / 4 * size / (size - 1)
    assert found.covariance[0, 0] == pytest.approx(expected, abs=1e-15)


def test_rows_are_clusters_of_one_row_and_weights_of_one() -> None:
    rng = np.random.default_rng(1)
    f = rng.normal(size=(3, 20))
    f -= f.mean(axis=1, keepdims=True)
    rows = influence_covariance(f, np.ones(20))
    each = influence_covariance(f, np.ones(20), clusters=clustered(range(20)))
    alike = influence_covariance(f, np.ones(20), clusters=weighed(np.ones(20)))
    np.testing.assert_allclose(rows.covariance, np.cov(f) / 20, rtol=1e-12)
    np.testing.assert_allclose(each.covariance, rows.covariance, rtol=1e-12)
    np.testing.assert_allclose(alike.covariance, rows.covariance, rtol=1e-12)
    np.testing.assert_allclose(alike.df, np.minimum(rows.df, 19), rtol=1e-12)
    np.testing.assert_allclose(each.df, np.minimum(rows.df, 19), rtol=1e-12)
    np.testing.assert_allclose(each.effect, 1, rtol=1e-12)
    assert (each.size, alike.size) == (20, 20)


@pytest.mark.parametrize("ends", [0, 15])
@pytest.mark.parametrize("seed", range(3))
def test_statsmodels(seed: int, ends: int) -> None:
    """The mean of a loss and the line of calibration, robust to clusters and to weights.

    Its corrections: C / (C - 1) x (M - 1) / (M - parameters) of clusters, none of HC0. Scores of
    exactly 0 and 1, so many each, are not in the line.
    """
    rng = np.random.default_rng(seed)
    p, inner = np.sort(rng.random(120)), slice(ends, 120 - ends)
    p[:ends], p[120 - ends :] = 0, 1
    codes = rng.integers(0, 25, 120)
    truth = rng.random(120) < np.clip(p + 0.2 * np.sin(codes), 0.05, 0.95)
    pos, neg = truth * 1, ~truth * 1
    n, own = np.concatenate([pos, neg]), np.flatnonzero(np.concatenate([pos, neg]))
    clusters = ClusterCounts.from_entries([f"{codes[i % 120]:02}" for i in own], own, n[own])
    c = len(clusters)

    names = ("brier", "calibration_intercept", "calibration_slope")
    f = [np.asarray(CATALOG[name].influence(p, pos, neg)) for name in names]  # type: ignore[misc]
    found = influence_covariance(f, n, clusters=clusters)
    loss = (truth - p) ** 2
    robust = {"cov_type": "cluster", "cov_kwds": {"groups": codes}}
    mean = sm.OLS(loss, np.ones(120)).fit(**robust)
    assert found.errors[0] == pytest.approx(mean.bse[0], rel=1e-12)
    x, family = sm.add_constant(log_odds(p[inner])), sm.families.Binomial()
    model = sm.GLM(truth[inner] * 1.0, x, family=family)
    fit = {"tol": 1e-14, "tol_criterion": "params"}
    groups = {"groups": codes[inner], "use_correction": False}
    line = model.fit(**fit, cov_type="cluster", cov_kwds=groups)
    expected = line.cov_params() * c / (c - 1)
    np.testing.assert_allclose(found.covariance[1:, 1:], expected, rtol=1e-9)
    line = model.fit(**fit, cov_type="HC0")
    alone = influence_covariance(f, n)
    np.testing.assert_allclose(alone.covariance[1:, 1:], line.cov_params() * 120 / 119, rtol=1e-9)
    assert alone.errors[0] == pytest.approx(sm.OLS(loss, np.ones(120)).fit().bse[0], rel=1e-12)

    w = rng.random(120) + 0.1
    line = sm.WLS(loss, np.ones(120), weights=w).fit(cov_type="HC0")
    g = w.sum() ** 2 / (w**2).sum()
    found = influence_covariance(
        loss - (w * loss).sum() / w.sum(), w, clusters=RowWeights(w, w**2, w)
    )
    assert found.errors[0] == pytest.approx(line.bse[0] * math.sqrt(g / (g - 1)), rel=1e-8)


def test_too_few_to_vary() -> None:
    assert np.isnan(influence_covariance([0.0], [1]).covariance).all()
    alone = influence_covariance([-1.0, 1.0], [1, 1], clusters=clustered([0, 0]))
    assert np.isnan(alone.covariance).all()
    assert np.isnan(alone.df).all()
    with pytest.raises(ValueError, match="differ"):
        influence_covariance([1.0, 2.0], [1])


def test_the_smaller_class_by_hand() -> None:
    """Two kinds of each class; cluster 0 has 3 + 0 positives and 1 negative, 1 has 1 and 4."""
    n = [3, 1, 1, 4]
    clusters = ClusterCounts.from_entries(["a", "b", "a", "b"], np.arange(4), np.array(n))
    assert smaller_class_size(n) == 4
    assert smaller_class_size(n, clusters) == pytest.approx(5**2 / (1 + 16))
    assert smaller_class_size([0, 0, 2, 3], clusters) == 0


def test_kinds_without_rows_have_no_say() -> None:
    found = influence_covariance([-1.0, 1.0, np.nan], [2, 2, 0])
    assert found.covariance[0, 0] == pytest.approx(4 / 4 / 3)


def test_limits_by_hand() -> None:
    z = 1.959963984540054
    options: dict[str, Any] = {"low": 0.0, "high": 1.0, "level": 0.95}
    low, high = confidence_limits(0.8, 0.05, scale="logit", **options)
    middle, width = math.log(4), z * 0.05 / (0.8 * 0.2)
    assert (low, high) == pytest.approx([1 / (1 + math.exp(-middle + s * width)) for s in (1, -1)])
    low, high = confidence_limits(0.5, 0.1, scale="fisher", low=-1, high=1, level=0.95)
    width = z * 0.1 / (1 - 0.5**2)
    assert (low, high) == pytest.approx([math.tanh(math.atanh(0.5) + s * width) for s in (-1, 1)])
    low, high = confidence_limits(2.0, 0.5, scale="log", low=0, high=inf, level=0.95)
    assert (low, high) == pytest.approx([2 * math.exp(s * z * 0.25) for s in (-1, 1)])
    low, high = confidence_limits(0.9, 0.1, scale="identity", low=-inf, high=1, level=0.95)
    assert (low, high) == pytest.approx((0.9 - z * 0.1, 1))  # not above its range
    options = {"scale": "identity", "low": -inf, "high": inf, "level": 0.95}
    low, high = confidence_limits(2.0, 0.5, df=[4, inf, 0], **options)
    assert (high - 2)[:2] == pytest.approx([2.7764451051977987 * 0.5, z * 0.5])  # t of 4 degrees
    assert np.isnan(high).tolist() == [False, False, True]
    # a skill of .8: its distance .2 from 1 on the log scale
    low, high = confidence_limits(0.8, 0.05, scale="log", low=-inf, high=1, level=0.95)
    assert (low, high) == pytest.approx([1 - 0.2 * math.exp(s * z * 0.25) for s in (1, -1)])


@pytest.mark.parametrize("scale", ["identity", "logit", "log"])
def test_at_an_end_or_without_an_error_there_are_no_limits(scale: Any) -> None:
    value, error = [0.0, 1.0, 0.5, 0.5, np.nan, 0.5], [0.1, 0.1, 0.0, np.nan, 0.1, 0.1]
    low, high = confidence_limits(value, error, scale=scale, low=0, high=1, level=0.95)
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True] * 5 + [False]
    one = confidence_limits(0.5, 0.1, scale=scale, low=0, high=1, level=0.95, df=0)
    assert np.isnan(one).all()


def test_large_errors_stay_inside() -> None:
    for scale, high in (("logit", 1.0), ("log", inf)):
        ends = confidence_limits(0.5, 1e9, scale=scale, low=0, high=high, level=0.95)  # type: ignore[arg-type]
        assert 0 <= ends[0] < 0.5 < ends[1] <= high
    with pytest.raises(ValueError, match="logit"):
        confidence_limits(0.5, 0.1, scale="logit", low=0, high=inf, level=0.95)
