"""Differences above 0 for sure: percentiles and Student's t of their replicates, both."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from clfeval.inference.resampling import significantly_above_zero

NORMAL = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)  # replicates without luck


@pytest.mark.parametrize("rows", [2, 10, 30, 5000])
@pytest.mark.parametrize("level", [0.8, 0.95, 1 - 0.05 / 66])
def test_the_reach_is_that_of_students_t(rows: int, level: float) -> None:
    """m rows: sqrt(m / (m-1)) t s, as statistics texts have the interval of a mean of m values.

    The standard error with denominator m, as a bootstrap has it, is sqrt((m-1) / m) of that with
    m - 1.
    """
    drawn = 0.3 * NORMAL
    plain = drawn.std(ddof=1) * sqrt(rows / (rows - 1))
    reach = stats.t.interval(level, rows - 1, scale=plain)[1]
    found = np.array([reach * 1.001, reach * 0.999])
    told = significantly_above_zero(found, found + drawn[:, None], rows=rows, level=level)
    assert told.tolist() == [True, False]


def test_percentiles_are_asked_too() -> None:
    """Of 1,000 replicates 30 below 0 are more than 2.5 %, though the mean is 5 errors above it."""
    drawn = np.where(np.arange(1000) < 30, -0.01, 1.0)
    assert 1 / drawn.std() > 5
    assert not significantly_above_zero(1.0, drawn, rows=10_000, level=0.95)
    drawn[:10] = 1.0
    assert significantly_above_zero(1.0, drawn, rows=10_000, level=0.95)


def test_what_tells_nothing() -> None:
    drawn = np.array([1 + NORMAL / 100, np.full(1000, np.nan), np.full(1000, 1.0)]).T
    assert significantly_above_zero([1.0, 1.0, 1.0], drawn, rows=30, level=0.95).tolist() == [
        True,
        False,
        True,
    ]
    assert not significantly_above_zero([1.0, 1.0, 1.0], drawn, rows=1, level=0.95).any()
    drawn[:400] = np.nan  # most are defined: those tell
    assert significantly_above_zero([1.0, 1.0, 1.0], drawn, rows=30, level=0.95).tolist() == [
        True,
        False,
        True,
    ]
