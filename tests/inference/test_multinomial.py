"""Weighed differences of two shares of the same rows: known cases, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from clfeval.inference.resampling import weighted_difference


def test_without_the_second_share_limits_are_wilsons() -> None:
    value, low, high = weighted_difference(2.0, 30, 0.0, 12, 100, level=0.95)
    wilson = proportion_confint(30, 100, method="wilson")
    assert value == pytest.approx(0.6)
    assert (float(low), float(high)) == pytest.approx((2 * wilson[0], 2 * wilson[1]), abs=1e-7)


def test_square_and_add_written_out() -> None:
    """60 of 200 rows against half of 40: .3 - .1, both with Wilson's limits, rho by hand."""
    value, low, high = weighted_difference(1, 60, 0.5, 40, 200, level=0.95)
    (l1, u1), (l2, u2) = (proportion_confint(k, 200, method="wilson") for k in (60, 40))
    rho = -np.sqrt(0.3 * 0.2 / (0.7 * 0.8))
    d, e = 0.3 - l1, 0.5 * (u2 - 0.2)
    f, g = u1 - 0.3, 0.5 * (0.2 - l2)
    assert value == pytest.approx(0.2)
    assert low == pytest.approx(0.2 - np.sqrt(d * d + e * e - 2 * rho * d * e), abs=1e-7)
    assert high == pytest.approx(0.2 + np.sqrt(f * f + g * g - 2 * rho * f * g), abs=1e-7)


def test_counts_beyond_the_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
        weighted_difference(1, 30, 1, 0, 20, level=0.95)
