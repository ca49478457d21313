"""McNemar's mid-p: against the sum of binomial chances, and what it must never be."""

from __future__ import annotations

from math import comb

import pytest

from clfeval.inference.hypothesis_tests import mid_p
from clfeval.inference.proportions import sign_test


@pytest.mark.parametrize(("a", "b"), [(3, 0), (1, 6), (10, 17), (0, 1), (40, 22)])
def test_it_halves_the_chance_of_what_was_seen(a: int, b: int) -> None:
    """2 (P(X < m) + P(X = m) / 2): of 3 to 0 it is 2 / 8 / 2 = .125."""
    n, m = a + b, min(a, b)
    below = sum(comb(n, i) for i in range(m))
    assert mid_p(a, b) == pytest.approx(min(1, (2 * below + comb(n, m)) / 2**n), rel=1e-12)
    assert mid_p(a, b) == mid_p(b, a) <= sign_test(a, b)
    if (a, b) == (3, 0):
        assert mid_p(a, b) == 0.125


def test_no_row_that_differs_speaks_for_no_difference() -> None:
    """Other tools answer 0, or nothing, where no row is discordant."""
    assert mid_p(0, 0) == mid_p(7, 7) == 1
