"""Clopper-Pearson and the sign test against closed forms, scipy, and exact fractions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import binomtest

from clfeval.inference.proportions import clopper_pearson, sign_test
from tests.thoroughness import examples

LEVELS = [0.5, 0.9, 0.95, 0.999]
SIZES = [1, 2, 3, 7, 10, 50, 97, 1000, 12_345, 10**6, 31_415_927, 10**8]


def grid(sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return k and n: both ends and their neighbours, and shares in between."""
    pairs = set()
    for n in sizes:
        near = {0, 1, 2, 5, n - 5, n - 2, n - 1, n}
        shares = {round(n * share) for share in (0.001, 0.03, 0.1, 0.3, 0.5, 0.7, 0.95, 0.9999)}
        pairs |= {(k, n) for k in near | shares if 0 <= k <= n}
    k, n = zip(*sorted(pairs), strict=True)
    return np.array(k), np.array(n)


def exact_limits(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    low, high = clopper_pearson(k, n, level=level)
    return float(low), float(high)


@pytest.mark.parametrize("level", LEVELS)
def test_against_the_beta_quantiles_of_scipy(level: float) -> None:
    k, n = grid(SIZES)
    low, high = clopper_pearson(k, n, level=level)
    tail = (1 - level) / 2
    some, missed = k > 0, k < n
    with_few = n < 10**8  # at 10**8 scipy's own error passes 1e-9: see the exact test below
    for chosen, rtol in ((with_few, 1e-9), (~with_few, 2e-9)):
        mine = some & chosen
        expected = betaincinv(k[mine], (n - k + 1)[mine], tail)
        np.testing.assert_allclose(low[mine], expected, rtol=rtol)
        mine = missed & chosen
        expected = betaincinv((k + 1)[mine], (n - k)[mine], 1 - tail)
        np.testing.assert_allclose(high[mine], expected, rtol=rtol)
    assert (low[~some] == 0).all()
    assert (high[~missed] == 1).all()


@pytest.mark.parametrize("level", [*LEVELS, math.sqrt(0.95), 0.99])
def test_quantiles_found_together_have_the_bits_of_those_found_alone(level: float) -> None:
    k, n = grid(SIZES)
    lower, upper = clopper_pearson(k, n, level=level)
    for one in zip(k.tolist(), n.tolist(), lower.tolist(), upper.tolist(), strict=True):
        assert clopper_pearson(*one[:2], level=level) == one[2:]


@pytest.mark.parametrize("n", [10, 1000, 10**6, 10**8])
def test_bounds_next_to_one_are_as_good_as_those_next_to_zero(n: int) -> None:
    """The lower bound of n - j hits is one minus the upper bound of j hits."""
    for level in LEVELS:
        misses = np.array([0, 1, 2, 5])
        low, _ = clopper_pearson(n - misses, n, level=level)
        _, high = clopper_pearson(misses, n, level=level)
        np.testing.assert_allclose(1 - low, high, rtol=1e-9, atol=2.3e-16)


def at_most(k: int, n: int, p: Decimal) -> Decimal:
    """Return P(X <= k) to fifty digits."""
    term = total = (n * (1 - p).ln()).exp()
    for i in range(1, k + 1):
        term *= Decimal(n - i + 1) / i * p / (1 - p)
        total += term
    return total


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [100, 10**6, 10**8])
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_upper_bounds_of_rare_events_to_fifty_digits(k: int, n: int, level: float) -> None:
    tail = (1 - level) / 2
    _, high = exact_limits(k, n, level)
    with localcontext(prec=50):
        # a relative change of 1e-12 in p changes the tail by less than 100 times that
        solved = float(at_most(k, n, Decimal(high)))
    # scipy's inverse is good to 1e-9 where b is 10**8, else to 1e-12
    assert solved == pytest.approx(tail, rel=1e-8 if n == 10**8 else 1e-10)


@examples(40)
@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1)), min_size=1, max_size=40))
@example([(n, 0.3) for n in range(1, 9000)])  # more than one chunk
def test_an_interval_does_not_depend_on_its_company(batch: list[tuple[int, float]]) -> None:
    n = np.array([size for size, _ in batch])
    k = np.array([round(size * share) for size, share in batch])
    low, high = clopper_pearson(k, n, level=0.95)
    for i in {0, len(batch) // 2, len(batch) - 1}:
        assert (low[i], high[i]) == exact_limits(int(k[i]), int(n[i])), "to the last bit"
    half = clopper_pearson(k[::2], n[::2], level=0.95)
    assert (half[0].tolist(), half[1].tolist()) == (low[::2].tolist(), high[::2].tolist())


def test_shapes_broadcast_and_no_trial_is_undefined() -> None:
    low, high = clopper_pearson([[0, 1, 2]], [[2], [4]], level=0.95)
    assert low.shape == high.shape == (2, 3)
    assert (low[1, 2], high[1, 2]) == exact_limits(2, 4)
    assert np.isnan(clopper_pearson(0, 0, level=0.95)).all()
    low, high = clopper_pearson([], [], level=0.95)
    assert (low.shape, high.shape) == ((0,), (0,))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0, float("nan")])
def test_a_level_outside_0_to_1_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        clopper_pearson(1, 2, level=level)


@pytest.mark.parametrize(("k", "n"), [(-1, 2), (3, 2), ([0, 5], [1, 4]), (0, -1)])
def test_counts_that_are_none_are_refused(k: object, n: object) -> None:
    with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
        clopper_pearson(k, n, level=0.95)  # type: ignore[arg-type]


@examples(60)
@given(st.integers(0, 3000), st.integers(0, 3000))
@example(500, 500)
@example(500, 501)  # the first of the approximate branch
@example(450, 550)
@example(0, 1000)
@example(0, 1001)
@example(0, 3000)  # underflows to 0, as it should
def test_sign_test_against_scipy(a: int, b: int) -> None:
    expected = binomtest(a, a + b).pvalue if a + b else 1.0
    assert sign_test(a, b) == pytest.approx(expected, rel=1e-9, abs=1e-290)  # scipy underflows
    tail = sum(math.comb(a + b, i) for i in range(min(a, b) + 1))
    assert sign_test(a, b) == pytest.approx(min(1.0, float(Fraction(2 * tail, 2 ** (a + b)))))


@pytest.mark.parametrize(("a", "b"), [(50_000, 50_400), (499_000, 501_000), (1_000_000, 1_003_000)])
def test_sign_test_of_many_rows(a: int, b: int) -> None:
    assert sign_test(a, b) == pytest.approx(binomtest(a, a + b).pvalue, rel=1e-8)


@pytest.mark.parametrize("tail", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize(("a", "b"), [(1, 148), (2, 3), (3, 320), (40, 9), (130, 340)])
def test_far_tails_solve_their_equations_in_exact_fractions(tail: float, a: int, b: int) -> None:
    """P(Beta(a, b) <= x) = P(Binomial(a + b - 1, x) >= a); Newton would step by less than 1e-9."""
    n = a + b - 1

    def below(x: Fraction, at: range) -> Fraction:
        part, whole = x.as_integer_ratio()  # whole numbers, which nobody has to reduce
        ways = (math.comb(n, i) * part**i * (whole - part) ** (n - i) for i in at)
        return Fraction(sum(ways), whole**n)

    level = 1 - 2 * tail
    low, high = clopper_pearson([a, a - 1], n, level=level)
    for x, at in ((low[0], range(a, n + 1)), (high[1], range(a))):
        exact = Fraction(float(x))
        density = a * math.comb(n, a) * exact ** (a - 1) * (1 - exact) ** (b - 1)
        assert abs((below(exact, at) - Fraction((1 - level) / 2)) / density / exact) < 1e-9
