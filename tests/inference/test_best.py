"""Who may be the best: against the definition drawn out, known cases, and simulated error rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from clfeval.inference.best import contest, detectable
from tests.thoroughness import thinned


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_one_estimate_is_the_best_and_had_no_luck() -> None:
    found = contest([0.7], [[0.01]], level=0.95, rng=rng())
    assert found.may_be_best.tolist() == [True]
    assert (found.winner, found.optimism) == (0, 0.0)
    assert math.isnan(found.error)


def test_two_independent_estimates_as_a_one_sided_z_test() -> None:
    """Of two, d is the one-sided quantile: the worse may be best up to 1.645 standard errors."""
    s = math.sqrt(0.02**2 + 0.03**2)
    covariance = [[0.02**2, 0], [0, 0.03**2]]
    for apart, may in ((1.5, True), (1.8, False)):
        found = contest([0.8, 0.8 - apart * s], covariance, level=0.95, rng=rng(), draws=200_000)
        assert found.may_be_best.tolist() == [True, may]
    assert found.error == pytest.approx(s)


def test_optimism_of_two_equal_estimates_is_the_mean_of_the_larger_normal() -> None:
    """E max(Z1, Z2) = s / sqrt(pi) for independent Z of standard deviation s."""
    s = 0.05
    found = contest([0.8, 0.8], np.eye(2) * s**2, level=0.95, rng=rng(), draws=400_000)
    assert found.optimism == pytest.approx(s / math.sqrt(math.pi), rel=0.02)


def test_estimates_that_cannot_differ_are_told_by_their_values() -> None:
    """Rows on which two models say the same tell nothing apart: equal is equal, less is less."""
    same = np.full((2, 2), 0.01)
    assert contest([0.8, 0.8], same, level=0.95, rng=rng()).may_be_best.tolist() == [True, True]
    assert contest([0.8, 0.7], same, level=0.95, rng=rng()).may_be_best.tolist() == [True, False]


def test_the_largest_always_may_be_the_best() -> None:
    draws = rng(1)
    for k in (2, 3, 7):
        root = draws.standard_normal((k, k)) * 0.02
        x = draws.random(k)
        found = contest(x, root @ root.T, level=0.9, rng=draws, draws=500)
        assert found.may_be_best[found.winner]
        assert found.winner == x.argmax()


@pytest.mark.parametrize(("k", "spread"), thinned([(3, 0.0), (10, 0.0), (10, 0.03)], [(10, 0.03)]))
def test_the_set_holds_the_best_and_the_corrected_winner_its_value(k: int, spread: float) -> None:
    """Normal estimates of correlation .5; 400 tables, so that .95 is seen as .92 at the least."""
    s, tables, draws = 0.025, 400, rng(2)
    covariance = s**2 * (0.5 * np.eye(k) + 0.5)
    true = np.linspace(-spread, spread, k)
    root = np.linalg.cholesky(covariance)
    held, covered, plain = 0, 0, 0
    for _ in range(tables):
        x = true + root @ draws.standard_normal(k)
        found = contest(x, covariance, level=0.95, rng=draws, draws=1000)
        held += found.may_be_best[-1]
        off = x[found.winner] - true[found.winner]
        plain += abs(off) < 1.96 * s
        covered += abs(off - found.optimism) < 1.96 * s
    assert held / tables > 0.92
    assert covered / tables > 0.9
    assert covered >= plain


def test_the_smallest_difference_that_is_seen_has_that_power() -> None:
    least = detectable(0.02, level=0.95)
    assert least == pytest.approx((1.959964 + 0.841621) * 0.02, rel=1e-6)
    assert stats.norm.sf(1.959964 - least / 0.02) == pytest.approx(0.8, abs=1e-6)
    few = stats.t(4).ppf([0.975, 0.8]).sum() * 0.02
    assert detectable(0.02, level=0.95, df=4) == pytest.approx(few)


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        contest([0.7, math.nan], np.eye(2), level=0.95, rng=rng())
    with pytest.raises(ValueError, match="level"):
        contest([0.7], [[1.0]], level=1.5, rng=rng())


def test_few_degrees_of_freedom_keep_more_models() -> None:
    """With 4 the one-sided quantile 1.645 becomes that of Student's t, 2.132."""
    for df, may in ((4, True), (1000, False)):
        found = contest([0.8, 0.8 - 2.1 * 0.05], [[0.05**2, 0], [0, 1e-18]], level=0.95, rng=rng(),
                        df=df, draws=100_000)  # fmt: skip
        assert found.may_be_best.tolist() == [True, may]


@pytest.mark.parametrize(("others", "printed"), [(1, 1.81), (2, 2.15), (3, 2.34), (9, 2.81)])
def test_with_ten_degrees_of_freedom_it_is_dunnetts_table(others: int, printed: float) -> None:
    """Dunnett 1955, JASA 50:1096, table 1a: one-sided, P = .95, 10 degrees of freedom.

    What is printed is kept; what is 6 % beyond it is not.
    """
    for apart, may in ((0.99 * printed, True), (1.06 * printed, False)):
        x = [0.0, apart * math.sqrt(2), *[-50.0] * (others - 1)]
        found = contest(x, np.eye(1 + others), level=0.95, rng=rng(), df=10, draws=100_000)
        assert found.may_be_best[0] == may


def test_without_a_degree_of_freedom_nobody_is_known_to_be_worse() -> None:
    """But of two that cannot differ: there the smaller is smaller, whatever their error."""
    apart = contest([0.9, 0.1], np.eye(2) / 100, level=0.95, rng=np.random.default_rng(1), df=0)
    assert apart.may_be_best.tolist() == [True, True]
    same = contest([0.9, 0.1], np.ones((2, 2)), level=0.95, rng=np.random.default_rng(1), df=0)
    assert same.may_be_best.tolist() == [True, False]
