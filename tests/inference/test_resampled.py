"""The corrected resampled t test against arithmetic and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from clfeval.inference.resampling import ResampledT, corrected_t


def test_by_hand() -> None:
    """Values 1, 2, 3 at 90 % training: s² = 1, 1/3 + .1/.9 = 4/9, so the error is 2/3 and t is 3.

    With two degrees of freedom P(|T| <= t) = t / sqrt(2 + t²).
    """
    result = corrected_t([1, 2, 3], 0.9, level=0.95)
    assert (result.mean, result.df) == (2, 2)
    assert result.t == pytest.approx(3, rel=1e-14)
    assert result.p_value == pytest.approx(1 - 3 / math.sqrt(2 + 9), rel=1e-12)
    quantile = 0.95 * math.sqrt(2 / (1 - 0.95**2))
    assert result.low == pytest.approx(2 - quantile * 2 / 3, rel=1e-12)
    assert result.high == pytest.approx(2 + quantile * 2 / 3, rel=1e-12)


def test_two_splits_by_hand() -> None:
    """Values -1, 4 at 50 % training: mean 1.5, s² = 12.5, 1/2 + 1 = 3/2; one degree: Cauchy."""
    result = corrected_t([-1, 4], 0.5, level=0.8)
    t = 1.5 / math.sqrt(1.5 * 12.5)
    assert (result.mean, result.df) == (1.5, 1)
    assert result.t == pytest.approx(t, rel=1e-14)
    assert result.p_value == pytest.approx(1 - 2 / math.pi * math.atan(t), rel=1e-12)
    assert result.high - 1.5 == pytest.approx(math.tan(0.4 * math.pi) * math.sqrt(18.75), rel=1e-12)
    assert 1.5 - result.low == pytest.approx(result.high - 1.5, rel=1e-14)


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=200),
    st.floats(0.05, 0.99),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
def test_against_scipy(values: list[float], fraction: float, level: float) -> None:
    """The plain t test of scipy, its error widened by sqrt(1 + J (1-f)/f)."""
    assume(np.std(values) > 1e-9)
    result = corrected_t(values, fraction, level=level)
    plain = stats.ttest_1samp(values, 0)
    widened = math.sqrt(1 + len(values) * (1 - fraction) / fraction)
    t = plain.statistic / widened
    assert result.t == pytest.approx(t, rel=1e-9, abs=1e-12)
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(t), plain.df), rel=1e-8)
    error = stats.sem(values) * widened
    interval = stats.t.interval(level, plain.df, loc=np.mean(values), scale=error)
    assert (result.low, result.high) == pytest.approx(interval, rel=1e-9, abs=1e-12)
    assert (result.low <= 0 <= result.high) == (result.p_value >= 1 - level) or math.isclose(
        result.p_value, 1 - level, rel_tol=1e-9
    )


def test_the_sign_of_the_values_is_the_sign_of_t() -> None:
    values = np.random.default_rng(1).normal(0.3, 1, 15)
    one, other = corrected_t(values, 0.8, level=0.9), corrected_t(-values, 0.8, level=0.9)
    assert (other.mean, other.low, other.high) == (-one.mean, -one.high, -one.low)
    assert (other.t, other.p_value) == (-one.t, one.p_value)


def test_more_splits_of_the_same_share_do_not_narrow_the_interval_without_end() -> None:
    """1/J fades and (1-f)/f stays: at f = .9 the error tends to s / 3."""
    values = np.tile([0.0, 1.0], 50_000)
    result = corrected_t(values, 0.9, level=0.95)
    assert result.high - result.mean == pytest.approx(1.959964 * 0.5 / 3, rel=1e-3)


@pytest.mark.parametrize("value", [0.1, -0.3, 5e-324, 1e300])
@pytest.mark.parametrize("splits", [2, 3, 10, 49])
def test_equal_values_have_no_spread_at_all(value: float, splits: int) -> None:
    result = corrected_t([value] * splits, 0.9, level=0.95)
    assert result == ResampledT(value, value, value, None, splits - 1, 0.0)


def test_zeros_are_no_difference() -> None:
    assert corrected_t([0, 0.0, -0.0], 0.9, level=0.95) == ResampledT(0, 0, 0, 0.0, 2, 1.0)


def test_a_spread_too_small_for_a_float_is_none() -> None:
    result = corrected_t([1e-200, 3e-200], 0.9, level=0.95)
    assert (result.low, result.high, result.t, result.p_value) == (2e-200, 2e-200, None, 0)


def test_coverage_on_overlapping_splits_is_near_the_level() -> None:
    """Splits of 90 independent values, 9 to test, whose mean is the measure: the case it fits."""
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(600):
        rows = rng.normal(0.2, 1, 90)
        means = [rows[rng.permutation(90)[:9]].mean() for _ in range(10)]
        result = corrected_t(means, 0.9, level=0.95)
        inside += result.low <= 0.2 <= result.high
    assert 0.92 < inside / 600 < 0.98


@pytest.mark.parametrize("values", [[], [1.0], [[1.0, 2.0]], [1.0, math.nan], [1.0, math.inf]])
def test_values_that_are_too_few_or_none_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two finite values"):
        corrected_t(values, 0.9, level=0.95)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, 9.0, math.nan])
def test_training_on_none_or_all_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="fraction"):
        corrected_t([1, 2], fraction, level=0.95)
    with pytest.raises(ValueError, match="level"):
        corrected_t([1, 2], 0.5, level=fraction)
