"""Square-and-add intervals against published examples, statsmodels, and exact coverage."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import binomtest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from clfeval.inference.distributions import critical_value
from clfeval.inference.proportions import combine_proportions, score_parts, wilson_limits
from tests.inference.floats import floats_of

LEVELS = [0.5, 0.9, 0.95, 0.999]
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
counts = st.tuples(st.integers(0, 3000), st.integers(0, 3000)).filter(any)  # hits and misses
tables = st.tuples(*[st.integers(0, 400)] * 4).filter(any)
factors = st.floats(-3, 3).filter(lambda x: x == 0 or abs(x) > 1e-6)


def wilson(k: ArrayLike, n: ArrayLike, z: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    return wilson_limits(score_parts(k, n), z)


# the normal quantile


def below(x: float) -> Decimal:
    """Return P(X <= x) to some sixty digits: 1/2 + density x (1 + x²/3 + x⁴/(3 5) + ...)."""
    with localcontext(prec=100):
        exact = Decimal(x)
        term = total = exact
        i = 3
        while abs(term) > Decimal(10) ** -90:
            term *= exact * exact / i
            total += term
            i += 2
        return Decimal("0.5") + total * (-exact * exact / 2).exp() / (2 * PI).sqrt()


@pytest.mark.parametrize(
    "p",
    [
        *(1e-20, 1e-10, 1e-5, 0.001, 0.025, 0.1, 0.24, 0.2501, 0.3, 0.4999, 0.5 + 1e-9),
        *(0.6, 0.7499, 0.7501, 0.8, 0.975, 0.995, 0.999999),
    ],
)
def test_normal_quantile_to_the_last_digits(p: float) -> None:
    """No float further away than two steps is better: p lies between the P of the two."""
    x = NormalDist().inv_cdf(p)
    step = 2 * math.ulp(x)
    assert below(x - step) < Decimal(p) < below(x + step)


@pytest.mark.parametrize("level", [1e-9, 0.5, 0.95, 1 - 1e-12])
def test_critical_value_against_scipy(level: float) -> None:
    assert critical_value(level) == pytest.approx(-ndtri((1 - level) / 2), rel=2e-13)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_probabilities_and_levels_outside_0_to_1_are_refused(p: float) -> None:
    with pytest.raises(ValueError, match="level"):
        critical_value(p)
    with pytest.raises(ValueError, match="level"):
        combine_proportions(1, -1, 1, 2, 1, 2, level=p)


# Wilson


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 7, 50, 1000, 10**6])
def test_wilson_against_statsmodels_and_scipy(n: int, level: float) -> None:
    k = np.array(sorted({0, 1, n // 3, n // 2, n - 1, n}))
    low, high = wilson(k, n, NormalDist().inv_cdf((1 + level) / 2))
    expected = proportion_confint(k, n, alpha=1 - level, method="wilson")
    np.testing.assert_allclose(low, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(high, expected[1], rtol=1e-9)
    for i in range(len(k)):
        interval = binomtest(int(k[i]), n).proportion_ci(level, method="wilson")
        assert (low[i], high[i]) == pytest.approx((interval.low, interval.high), abs=1e-12)


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.floats(0.01, 8))
def test_wilson_limits_solve_the_score_equation(k: int, n: int, z: float) -> None:
    """n (k/n - p)² = z² p (1 - p), in fifty digits, up to a rounding of p."""
    k = min(k, n)
    low, high = floats_of(wilson(k, n, z))
    with localcontext(prec=50):

        def error(p: float) -> Decimal:
            x = Decimal(p)
            return (k - n * x) ** 2 - n * Decimal(z) ** 2 * x * (1 - x)

        # positive outside of the limits and negative inside
        if k:
            assert error(low * (1 - 1e-14)) > 0 > error(low * (1 + 1e-14))
        if k < n:
            assert error(high + 3e-16 if high > 0.5 else high * (1 + 1e-14)) > 0
            assert error(high - 3e-16 if high > 0.5 else high * (1 - 1e-14)) < 0


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.floats(0, 8))
def test_wilson_is_exact_at_its_ends_and_at_z_0(k: int, n: int, z: float) -> None:
    k = min(k, n)
    assert floats_of(wilson(0, n, z))[0] == 0
    assert floats_of(wilson(n, n, z))[1] == 1
    assert floats_of(wilson(k, n, 0)) == (k / n, k / n)
    low, high = floats_of(wilson(k, n, z))
    assert 0 <= low <= k / n <= high <= 1
    mirrored = floats_of(wilson(n - k, n, z))
    assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=4e-16)


def test_wilson_broadcasts_and_is_undefined_without_rows() -> None:
    low, high = wilson([[0], [1], [2]], [2, 4], 1.5)
    assert low.shape == high.shape == (3, 2)
    low, high = wilson(3, 10, np.array([0.0, 1, 2]))
    assert low[0] == high[0] == 0.3
    assert (np.diff(low) < 0).all()
    assert (np.diff(high) > 0).all()
    low, high = wilson([0, 1], [0, 1], 2)
    assert np.isnan([low[0], high[0]]).all()
    assert not np.isnan([low[1], high[1]]).any()


@pytest.mark.parametrize(("k", "n"), [(-1, 2), (3, 2), (0, -1)])
def test_counts_that_are_none_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
        wilson(k, n, 1)
    with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
        combine_proportions(1, -1, 1, 2, k, n, level=0.95)


# combinations of independent proportions


@given(counts, counts, st.sampled_from(LEVELS))
def test_differences_against_statsmodels(
    x: tuple[int, int], y: tuple[int, int], level: float
) -> None:
    n1, n2 = sum(x), sum(y)
    expected = confint_proportions_2indep(x[0], n1, y[0], n2, method="newcomb", alpha=1 - level)
    _, low, high = floats_of(combine_proportions(1, -1, x[0], n1, y[0], n2, level=level))
    assert (low, high) == pytest.approx(expected, abs=1e-7)  # its root of rounding errors at k = 0


def test_a_weighted_sum_by_hand() -> None:
    """2 p1 + 3 p2 and 2 p1 - 3 p2 at 1/2 and 4/5, from the Wilson limits of statsmodels."""
    (l1, u1), (l2, u2) = (proportion_confint(k, n, method="wilson") for k, n in ((5, 10), (16, 20)))
    value, low, high = floats_of(combine_proportions(2, 3, 5, 10, 16, 20, level=0.95))
    assert value == pytest.approx(2 * 0.5 + 3 * 0.8)
    assert low == pytest.approx(value - math.sqrt(4 * (0.5 - l1) ** 2 + 9 * (0.8 - l2) ** 2))
    assert high == pytest.approx(value + math.sqrt(4 * (u1 - 0.5) ** 2 + 9 * (u2 - 0.8) ** 2))
    value, low, high = floats_of(combine_proportions(2, -3, 5, 10, 16, 20, level=0.95))
    assert value == pytest.approx(2 * 0.5 - 3 * 0.8)
    assert low == pytest.approx(value - math.sqrt(4 * (0.5 - l1) ** 2 + 9 * (u2 - 0.8) ** 2))
    assert high == pytest.approx(value + math.sqrt(4 * (u1 - 0.5) ** 2 + 9 * (0.8 - l2) ** 2))


@given(counts, counts, factors, factors, st.sampled_from(LEVELS))
def test_what_holds_of_every_combination(
    x: tuple[int, int], y: tuple[int, int], a: float, b: float, level: float
) -> None:
    k1, n1, k2, n2 = x[0], sum(x), y[0], sum(y)
    value, low, high = floats_of(combine_proportions(a, b, k1, n1, k2, n2, level=level))
    corners = [a * p + b * q for p in (0, 1) for q in (0, 1)]
    assert min(corners) <= low <= value <= high <= max(corners)
    scale = abs(a) + abs(b) + 1e-300
    mirrored = floats_of(combine_proportions(-a, -b, k1, n1, k2, n2, level=level))
    assert mirrored == pytest.approx((-value, -high, -low), abs=1e-14 * scale)
    exchanged = floats_of(combine_proportions(b, a, k2, n2, k1, n1, level=level))
    assert exchanged == pytest.approx((value, low, high), abs=1e-14 * scale)
    # a p1 + b p2 = b + a p1 - b (1 - p2)
    turned = floats_of(combine_proportions(a, -b, k1, n1, n2 - k2, n2, level=level))
    assert tuple(b + t for t in turned) == pytest.approx((value, low, high), abs=1e-14 * scale)


def test_combinations_of_arrays() -> None:
    rng = np.random.default_rng(0)
    n1, n2 = rng.integers(1, 500, 20_000), rng.integers(1, 500, 20_000)
    k1, k2 = rng.integers(0, n1 + 1), rng.integers(0, n2 + 1)
    a, b = rng.normal(size=(2, 20_000))
    result = combine_proportions(a, b, k1, n1, k2, n2, level=0.95)
    for i in range(0, 20_000, 1999):
        alone = floats_of(combine_proportions(a[i], b[i], k1[i], n1[i], k2[i], n2[i], level=0.95))
        assert alone == tuple(float(part[i]) for part in result)
    result = combine_proportions(1, -1, [0, 1], [0, 2], 1, 2, level=0.95)
    assert all(np.isnan(part[0]) for part in result)
    assert not any(np.isnan(part[1]) for part in result)
    assert combine_proportions([[1], [1]], [1, -1, 0], 1, 2, 1, 2, level=0.95)[0].shape == (2, 3)
