"""Score tests of calibration: against statsmodels, chi-square, all outcomes, and arithmetic."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import chi2, f

from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.inference.hypothesis_tests import (
    CALIBRATION_DRAWS,
    CalibrationTests,
    calibration_tests,
    clustered_score_tests,
)
from clfeval.inference.resampling import random_stream
from tests.samples import logistic

Arrays = Any


def logit(p: Arrays) -> Arrays:
    return np.log(p) - np.log1p(-p)


def outcome(p: Arrays, y: Arrays, n: Arrays = 1) -> CalibrationTests:
    """Test rows in any order; n: how often each is repeated."""
    scores, place = np.unique(p, return_inverse=True)
    rows = np.broadcast_to(n, np.shape(p))
    pos, every = (np.bincount(place, one).astype(int) for one in (rows * y, rows))
    return calibration_tests(scores, logit(scores), pos, every, random_stream(0, "m"))


def calibrated(rows: int, seed: int) -> tuple[Arrays, Arrays]:
    rng = np.random.default_rng(seed)
    p = logistic(rng.normal(-0.5, 1.5, rows), 6)
    return p, rng.random(rows) < p


@pytest.mark.parametrize("seed", range(3))
def test_intercept_and_slope_are_the_score_test_of_statsmodels(seed: int) -> None:
    """Of a logistic regression with offset x, that both further coefficients are 0."""
    p, y = calibrated(500, seed)
    x = logit(p)
    model = sm.GLM(y * 1.0, sm.add_constant(x), family=sm.families.Binomial(), offset=x)
    score, information = model.score(np.zeros(2)), -model.hessian(np.zeros(2))
    found = outcome(p, y)
    assert found.statistic[0] == pytest.approx(score @ np.linalg.solve(information, score))
    assert found.df[0] == 2


def test_groups_of_ten_scores_by_hand() -> None:
    """Ten scores of four rows each: the sum of (O - 4 p)² / (4 p (1 - p))."""
    p, positives = np.arange(0.05, 1, 0.1), [0, 0, 1, 2, 2, 1, 3, 3, 4, 4]
    terms = [
        0.04 / 0.19,
        0.36 / 0.51,
        0,
        0.36 / 0.91,
        0.04 / 0.99,
        1.44 / 0.99,
        0.16 / 0.91,
        0,
        0.36 / 0.51,
        0.04 / 0.19,
    ]
    found = calibration_tests(
        p, logit(p), np.array(positives), np.full(10, 4), random_stream(0, "m")
    )
    assert found.statistic[1] == pytest.approx(sum(terms), rel=1e-12)
    assert found.df[1] == 10
    np.testing.assert_allclose(found.gaps, np.array(positives) / 4 - p, atol=1e-15)
    np.testing.assert_allclose(found.errors, np.sqrt(p * (1 - p) / 4), rtol=1e-12)


def test_equal_scores_stay_in_one_group() -> None:
    """Of 20 rows eleven have one score, whose middle is in the fifth tenth: 2 1 11 2 2 2 rows."""
    p = np.concatenate([[0.1, 0.2, 0.3], np.full(11, 0.4), np.linspace(0.5, 0.9, 6)])
    found, y = outcome(p, np.arange(20) % 3 == 0), np.arange(20) % 3 == 0
    assert found.df[1] == 6
    parts = np.split(y - p, [2, 3, 14, 16, 18])
    np.testing.assert_allclose(found.gaps, [part.mean() for part in parts], atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_p_of_eight_rows_is_that_of_all_outcomes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, y = np.sort(rng.uniform(0.05, 0.9, 8)), rng.random(8) < 0.5
    x, v = logit(p), p * (1 - p)

    def statistics(y: Arrays) -> Arrays:
        r = y - p
        u = np.array([r.sum(), x @ r])
        line = u @ np.linalg.solve([[v.sum(), x @ v], [x @ v, x * x @ v]], u)
        return np.array([line, (r**2 / v).sum()])  # a group of each row

    outcomes = [np.array(one) for one in product((0, 1), repeat=8)]
    chance = np.array([np.prod(np.where(one, p, 1 - p)) for one in outcomes])
    found, every = statistics(y), np.array([statistics(one) for one in outcomes])
    expected = [chance[every[:, i] >= found[i] - 1e-9].sum() for i in (0, 1)]
    drawn = outcome(p, y)
    np.testing.assert_allclose(drawn.statistic, found, rtol=1e-12)
    assert drawn.method == "simulation"
    np.testing.assert_allclose(drawn.p, expected, atol=4 * 0.5 / CALIBRATION_DRAWS**0.5)


def test_p_of_many_rows_is_that_of_chi_square() -> None:
    """From 20,000 rows on, and about so by draws where one group has few positives."""
    p, y = calibrated(20_000, 4)
    found = outcome(p, y)
    assert found.method == "chi-square"
    np.testing.assert_allclose(found.p, chi2.sf(found.statistic, found.df), rtol=1e-12)
    rare = np.where(p <= np.quantile(p, 0.1), p / 100, p)
    drawn = outcome(rare, np.where(rare < p, False, y))
    assert drawn.method == "simulation"
    np.testing.assert_allclose(drawn.p, chi2.sf(drawn.statistic, drawn.df), atol=0.06)


def test_beyond_all_draws_p_falls_on() -> None:
    p, y = calibrated(300, 5)
    less, more = (outcome(logistic(by * logit(p)), y).p for by in (2, 2.5))
    assert (more < less).all()
    assert (more > 0).all()
    assert (less < 1 / (1 + CALIBRATION_DRAWS)).all()


def of_parts(p: Arrays, y: Arrays, w: Arrays, owners: Arrays | None) -> CalibrationTests:
    """Test rows in clusters, or with weights; scores must be distinct."""
    order = np.argsort(p)
    p, y, w, m = p[order], y[order], w[order], len(p)
    counts, place = np.array([w * y, w * ~y]), np.arange(m) + m * ~y
    clusters: ClusterCounts | RowWeights = RowWeights.from_entries(
        np.column_stack([(1.0 * w) ** 2, 1.0 * w]), place, w, 2 * m
    )
    if owners is not None:
        clusters = ClusterCounts.from_entries(list(map(str, owners[order])), place, w)
    heavy = (
        np.ones(2) if owners is not None else ((1.0 * counts) ** 2).sum(axis=1) / counts.sum(axis=1)
    )
    return clustered_score_tests(p, logit(p), counts, slice(0, m), clusters, heavy)


@pytest.mark.parametrize("kind", ["clusters", "weights"])
def test_the_sandwich_is_that_of_sums_written_out(kind: str) -> None:
    """Second-order Rao-Scott, F with parts - 1; of parts that are all alike a is 0 or more."""
    rng = np.random.default_rng(8)
    p, y = calibrated(240, 7)
    p, n = p + np.arange(240) * 1e-9, len(p)
    owners = np.arange(n) % 40 if kind == "clusters" else np.arange(n)
    w = np.ones(n) if kind == "clusters" else rng.uniform(0.5, 4, n)
    found = of_parts(p, y, w, owners if kind == "clusters" else None)
    order = np.argsort(p)
    p, y, w, owners = p[order], y[order], w[order], owners[order]
    middle = w.cumsum() - w / 2
    tenth = (10 * middle / w.sum()).astype(int)
    heavy = np.array([(w**2)[y == k].sum() / w[y == k].sum() for k in (True, False)])
    spread = p * (1 - p) * ((1 - p) * heavy[0] + p * heavy[1]) * w
    size = 40 if kind == "clusters" else w.sum() ** 2 / (w**2).sum()
    for i, b in enumerate((np.array([np.ones(n), logit(p)]), np.eye(10)[:, tenth])):
        each = np.array([(b * (w * (y - p)))[:, owners == k].sum(axis=1) for k in set(owners)])
        model, sandwich = (b * spread) @ b.T, each.T @ each
        roots = np.linalg.eigvals(np.linalg.inv(model) @ sandwich).real
        q, uneven = len(b), (roots**2).mean() / roots.mean() ** 2
        u = each.sum(axis=0)
        statistic = u @ np.linalg.inv(model) @ u / max(roots.mean(), 1) / uneven
        assert found.df[i] == pytest.approx(q / uneven)
        assert found.statistic[i] == pytest.approx(statistic)
        assert found.p[i] == pytest.approx(f.sf(statistic * uneven / q, q / uneven, size - 1))


def test_all_weights_times_a_number_change_nothing() -> None:
    """Also where they come near the largest numbers of units."""
    p, y = calibrated(200, 9)
    w = np.random.default_rng(1).integers(1, 9, 200)
    p = p + np.arange(200) * 1e-9
    one, other = of_parts(p, y, w, None), of_parts(p, y, 2**49 * w, None)
    np.testing.assert_allclose(one.p, other.p, rtol=1e-9)
    np.testing.assert_allclose(one.statistic, other.statistic, rtol=1e-9)
