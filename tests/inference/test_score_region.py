"""Ranges over the score region against closed forms and a search that knows no directions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from clfeval.inference.distributions import critical_value
from clfeval.inference.region_intervals import range_over_region
from tests.thoroughness import thinned

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


def precision(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
    return p1 / (p1 + p2)


def f1(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
    return 2 * p1 / (1 + p1 + p2)


def mcc(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
    return (p1 - p2) / np.sqrt((p1 + p2) * (2 - p1 - p2))


def difference(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
    return p1 - p2


def entropy(p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(-p * np.log2(p)) + np.nan_to_num(-(1 - p) * np.log2(1 - p))


def information(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
    """Return the mutual information of answer and class at balance."""
    return entropy((p1 + p2) / 2) - (entropy(p1) + entropy(p2)) / 2


MONOTONE = [precision, f1, mcc, difference]
COUNTS = [
    (7, 10, 3, 12),
    (150, 200, 2, 20),
    (0, 10, 0, 10),
    (0, 5, 8, 8),
    (10, 10, 0, 30),
    (10, 10, 30, 30),
    (0, 1, 0, 1),
    (1, 1, 0, 1),
    (0, 7, 3, 9),
    (4, 4, 2, 9),
    (900_000_000, 10**9, 10, 10**9),
    (500_000_000, 10**9, 499_990_000, 10**9),
    (0, 10**9, 3, 4),
]


def roots(k: float, n: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two p with (k/n - p)² = z² p (1-p) / n by the school formula."""
    if 2 * k > n:  # which loses fewer digits next to 0
        low, high = roots(n - k, n, z)
        return 1 - high, 1 - low
    a, b, c = n + z * z, -(2 * k + z * z), k * k / n
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0))
    return np.clip((-b - root) / (2 * a), 0, 1), np.clip((-b + root) / (2 * a), 0, 1)


def score(k: float, n: float, p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = n * (k / n - p) ** 2 / (p * (1 - p))
    return np.where(np.isnan(squared), 0, squared)  # p = k/n = 0 or 1


def edges(function: Function, k1: int, n1: int, k2: int, n2: int, level: float) -> list[np.ndarray]:
    """Walk the boundary by p1, dense at its ends, and return the values on both sides."""
    z = critical_value(level)
    left, right = roots(k1, n1, np.array(z))
    p1 = left + (right - left) * (1 - np.cos(np.linspace(0, math.pi, 200_001))) / 2
    rest = np.sqrt(np.maximum(z * z - score(k1, n1, p1), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return [function(p1, p2) for p2 in roots(k2, n2, rest)]


def inside(function: Function, k1: int, n1: int, k2: int, n2: int, level: float) -> np.ndarray:
    """Return the values at the points of a fine grid that lie in the region."""
    z = critical_value(level)
    (l1, u1), (l2, u2) = roots(k1, n1, np.array(z)), roots(k2, n2, np.array(z))
    p1, p2 = np.meshgrid(np.linspace(l1, u1, 801), np.linspace(l2, u2, 801))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = function(p1, p2)
    return values[score(k1, n1, p1) + score(k2, n2, p2) <= z * z]


@pytest.mark.parametrize("level", thinned([0.8, 0.95, 0.999], [0.95]))
@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("function", MONOTONE)
def test_monotone_measures_against_two_searches(
    function: Function, counts: tuple[int, int, int, int], level: float
) -> None:
    low, high = (float(x) for x in range_over_region(function, *counts, level=level))
    tried = np.concatenate(edges(function, *counts, level))
    width = high - low
    # the walk steps over the extremes by some 1e-9 of the width, and its roots lose digits
    assert low == pytest.approx(np.nanmin(tried), abs=1e-6 * width)
    assert high == pytest.approx(np.nanmax(tried), abs=1e-6 * width)
    values = inside(function, *counts, level)
    assert low - 1e-6 * width <= np.nanmin(values) < low + 0.1 * width
    assert high - 0.1 * width < np.nanmax(values) <= high + 1e-6 * width


@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_one_proportion_alone_has_the_interval_of_wilson(
    counts: tuple[int, int, int, int], level: float
) -> None:
    for i, function in enumerate((lambda p, _: p, lambda _, p: p)):
        low, high = range_over_region(function, *counts, level=level)
        k, n = counts[2 * i : 2 * i + 2]
        expected = proportion_confint(k, n, alpha=1 - level, method="wilson")
        assert (low, high) == pytest.approx(expected, rel=1e-8, abs=1e-15)


@pytest.mark.parametrize("function", [information, lambda p, q: np.abs(p - q)])
def test_a_region_across_the_kink_starts_at_exactly_0(function: Function) -> None:
    cases = [(5, 10, 6, 13), (0, 10, 0, 10), (3, 10, 300, 1000), (0, 1, 1, 1), (9, 9, 7, 7)]
    cases += [(500_000_000, 10**9, 499_990_000, 10**9), (0, 10, 3, 200), (1, 30, 1, 29)]
    for counts in cases:
        low, high = range_over_region(function, *counts, level=0.95, kink=difference)
        assert low == 0
        assert high >= function(counts[0] / counts[1], counts[2] / counts[3])
        tried = np.concatenate(edges(function, *counts, 0.95))
        assert high == pytest.approx(np.nanmax(tried), rel=1e-6)


@pytest.mark.parametrize("function", [information, lambda p, q: np.abs(p - q)])
def test_a_region_beside_the_kink_ends_at_its_boundary(function: Function) -> None:
    for counts in [(9, 10, 1, 10), (10, 10, 0, 10), (10, 200, 100, 300), (0, 20, 19, 20)]:
        on_one_side = np.sign(np.concatenate(edges(difference, *counts, 0.8)))
        assert (on_one_side == on_one_side[0]).all()
        low, high = range_over_region(function, *counts, level=0.8, kink=difference)
        assert (low, high) == range_over_region(function, *counts, level=0.8)
        tried = np.concatenate(edges(function, *counts, 0.8))
        assert (low, high) == pytest.approx((np.nanmin(tried), np.nanmax(tried)), rel=1e-6)
        assert low > 0


def test_a_kink_anywhere_else() -> None:
    def away(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
        return np.abs(p1 + p2 - 1)

    low, high = range_over_region(
        away, 6, 10, 3, 10, level=0.95, kink=lambda p1, p2: 100 * (p1 + p2 - 1)
    )
    assert low == 0
    assert high == pytest.approx(np.concatenate(edges(away, 6, 10, 3, 10, 0.95)).max(), rel=1e-6)
    low, _ = range_over_region(
        lambda p1, p2: (p1 - 3 * p2) ** 2, 6, 10, 3, 10, level=0.95, kink=lambda p, q: p - 3 * q
    )
    assert 0 <= low < 1e-30


def test_many_models_at_once_are_as_each_alone() -> None:
    k1, n1, k2 = np.array([[7, 0, 3], [40, 5, 1]]), np.array([[10, 4, 30], [40, 9, 2]]), 3
    share = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])  # of positive rows, one per model

    def part(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
        return share * p1 / (share * p1 + (1 - share) * p2)

    low, high = range_over_region(part, k1, n1, k2, 12, level=0.95)
    assert low.shape == high.shape == (2, 3)
    for i, pi in enumerate(share):
        alone = range_over_region(
            lambda p1, p2, pi=pi: pi * p1 / (pi * p1 + (1 - pi) * p2),
            *(k1.flat[i], n1.flat[i], k2, 12),
            level=0.95,
        )
        assert (low.flat[i], high.flat[i]) == alone
    low, high = range_over_region(difference, [], [], [], [], level=0.95)
    assert low.shape == high.shape == (0,)


def test_holes_infinities_and_constants() -> None:
    def holed(p1: np.ndarray, p2: np.ndarray) -> np.ndarray:
        return np.where(p1 == 0.5, np.nan, p1)

    low, high = range_over_region(holed, 5, 10, 5, 10, level=0.95)
    assert (low, high) == pytest.approx(proportion_confint(5, 10, method="wilson"), rel=1e-9)
    low, high = range_over_region(lambda p1, p2: p1 / p2, 3, 10, 0, 10, level=0.95)
    assert 0 < low < math.inf
    assert high == math.inf
    assert range_over_region(lambda p1, p2: 0 * p1 + 7, 3, 10, 2, 10, level=0.95) == (7, 7)
    assert np.isnan(range_over_region(lambda p1, p2: p1 * np.nan, 3, 10, 2, 10, level=0.95)).all()


def test_no_rows_are_undefined_and_wrong_counts_refused() -> None:
    low, high = range_over_region(difference, [0, 1], [0, 2], 1, 2, level=0.95, kink=difference)
    assert np.isnan([low[0], high[0]]).all()
    assert not np.isnan([low[1], high[1]]).any()
    with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
        range_over_region(difference, 3, 2, 1, 2, level=0.95)
    with pytest.raises(ValueError, match="level"):
        range_over_region(difference, 1, 2, 1, 2, level=95)
