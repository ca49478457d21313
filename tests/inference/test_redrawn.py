"""Differences by rows drawn again: limits and p from given draws, by arithmetic written out."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from scipy import stats

from clfeval.inference.redrawn import OfDraws, of_draws

DRAWS = np.arange(1, 101) / 100  # .01, .02 .. 1


def test_limits_are_the_outer_ones_of_t_and_percentiles() -> None:
    """Draws whose SD is sqrt(101 / 12) / 10 = .29011, of 20 rows of the smaller class."""
    spread = np.sqrt(100 * 101 / 12) / 100
    error, df, low, high = of_draws(0.6, DRAWS, 1.0, level=0.95, fewest=20)
    assert error == pytest.approx(spread * np.sqrt(20 / 19))
    assert df == 19
    reach = stats.t.ppf(0.975, 19) * error
    assert low == pytest.approx(0.6 - reach)  # the percentile is 2.475 steps above .01
    assert high == pytest.approx(0.6 + reach)
    _, df, low, high = of_draws(-0.3, DRAWS, 1.0, level=0.95, fewest=1e6)
    assert df == 99  # so many draws tell no more
    assert high == pytest.approx(1 - 0.02475)
    assert low == pytest.approx(-0.3 - stats.t.ppf(0.975, 99) * spread, rel=1e-5)


def test_draws_that_came_to_nothing_are_left_out() -> None:
    some = np.where(np.arange(100) < 40, nan, DRAWS)
    error, *_ = of_draws(0.6, some, 1.0, level=0.95, fewest=20)
    assert error == pytest.approx(DRAWS[40:].std(ddof=1) * np.sqrt(20 / 19))
    for draws, fewest in ((np.where(np.arange(100) < 60, nan, DRAWS), 20), (DRAWS, 1)):
        error, df, low, high = of_draws(0.6, draws, 1.0, level=0.95, fewest=fewest)
        assert (error, df) == (0, 0)
        assert isnan(low)
        assert isnan(high)


def test_p_says_what_limits_say_at_every_level() -> None:
    """The limit towards 0 lies .1 off at 95 %: at a level of 1 - p it is the difference itself."""
    t = stats.t.ppf(0.975, 9)
    found = OfDraws(np.array([0.05] * 2), np.array([9.0] * 2), np.array([0.05, -0.3]),
                    np.array([0.5, -0.05]), 0.95, ["", ""])  # fmt: skip
    d = np.array([0.15, -0.15])
    p = found.chances(d)
    assert p == pytest.approx([2 * stats.t.sf(1.5 * t, 9)] * 2)
    low, high = found.limits(d, level=1 - p[0])
    assert (low[0], high[1]) == pytest.approx((0, 0), abs=1e-9)
    low, high = found.limits(d, level=0.8)
    narrower = stats.t.ppf(0.9, 9) / t
    assert (low[0], high[0]) == pytest.approx((0.15 - 0.1 * narrower, 0.15 + 0.35 * narrower))


def test_what_no_draw_moves_is_the_same_or_unknown() -> None:
    alike = of_draws(0.0, np.full(100, 1e-17), 0.4, level=0.95, fewest=20)
    apart = of_draws(0.2, np.full(100, 0.2), 0.4, level=0.95, fewest=20)
    nothing = of_draws(0.0, np.full(100, nan), 0.4, level=0.95, fewest=20)
    error, df, low, high = np.array([alike, apart, nothing]).T
    assert error.tolist() == [0, 0, 0]
    found = OfDraws(error, df, low, high, 0.95, [""] * 3)
    p = found.chances([0.0, 0.2, 0.0])
    assert p[0] == 1
    assert np.isnan(p[1:]).all()
    assert np.isnan(found.limits([0.0, 0.2, 0.0], level=0.9)).all()
