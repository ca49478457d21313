"""Quantiles of Student's t against scipy, and by hand where they are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from clfeval.inference.distributions import critical_value, student_quantile

DF = [0.3, 1, 1.99, 2, 2.5, 3, 7, 29.5, 199, 5000, 123_456.7, 999_999, 1e6, 3e7, 1e12, math.inf]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.999, 1 - 1e-9])
def test_it_is_scipys(level: float) -> None:
    found = student_quantile(DF, level=level)
    assert found == pytest.approx(
        stats.t.isf((1 - level) / 2, DF), rel=1e-7 if level > 0.9999 else 2e-11
    )


def test_infinitely_many_are_normal_and_none_is_nothing() -> None:
    found = student_quantile([[math.inf, 0.0], [-1.0, math.nan]], level=0.95)
    assert found[0, 0] == critical_value(0.95)
    assert np.isnan([found[0, 1], *found[1]]).all()


def test_a_level_beyond_is_refused() -> None:
    with pytest.raises(ValueError, match="level"):
        student_quantile(3, level=1.0)
