"""Tails of distributions against scipy, and against sums in decimals and whole numbers."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from scipy import special, stats

from clfeval.inference.distributions import binomial_tail, chi_square_tail, student_tail

NEAR = 1e-13
LEAST = 1e-300  # of numbers with all their digits


def of_even(df: int, t: float) -> float:
    """P(T > t) = (1 - s (1 + c/2 + 1·3/(2·4) c² + ...)) / 2, s = t / sqrt(df + t²), c = 1 - s²."""
    with localcontext() as context:
        context.prec = 400  # 1 - s (...) loses as many digits as P has zeros
        x = Decimal(t)
        c, s = df / (df + x * x), x / (df + x * x).sqrt()
        term = total = Decimal(1)
        for j in range(1, df // 2):
            term *= c * (2 * j - 1) / (2 * j)
            total += term
        return float((1 - s * total) / 2)


@pytest.mark.parametrize("df", [2, 4, 10, 50, 198, 3000])
def test_of_an_even_number_of_degrees_it_is_a_sum(df: int) -> None:
    far = [1e-9, 0.01, 0.7, 1.96, 3.3, 9.1, 17.7, 29.3, 36.9, 55.1, 120.3, 4e6]
    expected = [of_even(df, t) for t in far]
    whole = np.array(expected) > LEAST
    assert student_tail(df, far)[whole] == pytest.approx(np.array(expected)[whole], rel=NEAR, abs=0)


def test_it_is_scipys() -> None:
    rng = np.random.default_rng(5)
    df, t = 10 ** rng.uniform(-2, 12, 3000), 10 ** rng.uniform(-12, 3, 3000)
    expected = special.stdtr(df, -t)
    some = expected > LEAST
    assert some.sum() > 2000
    assert student_tail(df, t)[some] == pytest.approx(expected[some], rel=4e-13, abs=0)


@pytest.mark.filterwarnings("error")
def test_what_is_no_number_is_none_and_what_is_farthest_is_nothing() -> None:
    df = [3.0, 3.0, 0.0, -1.0, math.nan, 0.5, math.inf, 1e12, 1e20]
    t = [math.nan, -1.0, 1.0, 1.0, 1.0, math.inf, math.inf, 1e100, 1e3]
    found = student_tail(df, t)
    assert np.isnan(found[:5]).all()
    assert found[5:].tolist() == [0.0] * 4
    assert student_tail([[1.0], [2.0]], [1.0, 2.0, 3.0]).shape == (2, 3)
    assert student_tail([], []).shape == (0,)


def test_others_asked_for_at_once_change_no_digit() -> None:
    rng = np.random.default_rng(6)
    df, t = 10 ** rng.uniform(-1, 6, 50), 10 ** rng.uniform(-4, 1.5, 50)
    alone = [float(student_tail(*pair)) for pair in zip(df, t, strict=True)]
    assert student_tail(df, t).tolist() == alone
    assert student_tail(df[:7], t[:7]).tolist() == alone[:7]


@pytest.mark.parametrize("df", [1, 2, 3, 7, 12, 57, 400])
def test_chi_square_is_scipys(df: int) -> None:
    for x in (0.0, 1e-6, 0.5, 7.3, df, 3 * df, 500.0, 1300.0):
        expected = float(special.chdtrc(df, x))
        if expected > LEAST:
            assert chi_square_tail(df, x) == pytest.approx(expected, rel=4e-13, abs=0)


def test_chi_square_by_hand() -> None:
    """P = e^-h (1 + h + h²/2) of 6 degrees of freedom; e^-700 is 9.859676543759770e-305."""
    h = Fraction(13, 4)
    assert chi_square_tail(6, 6.5) == pytest.approx(
        math.exp(-3.25) * float(1 + h + h**2 / 2), rel=NEAR
    )
    far = chi_square_tail(6, 1400.0) / (1 + 700 + 245_000)
    assert far == pytest.approx(9.859676543759770e-305, rel=NEAR, abs=0)


@pytest.mark.parametrize(
    ("k", "n"),
    [
        (0, 1),
        (3, 10),
        (499, 1000),
        (15, 1001),
        (16, 1001),
        (400, 1001),
        (499, 1001),
        (813, 1813),
        (4000, 9001),
        (4499, 9001),
        (3900, 9000),
    ],
)
def test_coins_are_counted(k: int, n: int) -> None:
    whole = sum(accumulate(range(k), lambda c, i: c * (n - i) // (i + 1), initial=1))
    assert binomial_tail(k, n) == pytest.approx(float(Fraction(whole, 2**n)), rel=NEAR, abs=0)


def test_many_coins_are_scipys() -> None:
    for k, n in ((99_000, 200_000), (99_990, 200_000), (4_990_000, 10_000_000)):
        expected = float(stats.binom.cdf(k, n, 0.5))
        assert binomial_tail(k, n) == pytest.approx(expected, rel=1e-12, abs=0)
    assert binomial_tail(90_000, 200_000) == 0.0  # e^-1003
    assert binomial_tail(3, 1_000_000_000) == 0.0


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (7, 0.02), (40, 0.5), (200, 0.9), (5, 0.0)])
def test_binomial_draws_have_the_shares_of_their_outcomes(n: int, p: float) -> None:
    from clfeval.inference.hypothesis_tests import CALIBRATION_DRAWS, _draw_binomials

    rng = np.random.default_rng(7)
    found = np.array([_draw_binomials(np.array([n, n]), np.array([p, p]), rng) for _ in range(30)])
    draws = found.size
    assert found.shape == (30, 2, CALIBRATION_DRAWS)
    for k in range(n + 1):
        share = float(stats.binom.pmf(k, n, p))
        assert (found == k).mean() == pytest.approx(share, abs=5 * (share / draws) ** 0.5)
    first, second = found[:, 0].ravel(), found[:, 1].ravel()
    if p:  # neither with the next draw nor with another cell
        for one, other in ((first, second), (first[1:], first[:-1])):
            assert abs(np.corrcoef(one, other)[0, 1]) < 5 / len(one) ** 0.5
