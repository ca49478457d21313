"""p values that say what intervals say, by both; many at once as statsmodels has them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstwobign
from statsmodels.stats.multitest import multipletests

from clfeval.inference.hypothesis_tests import (
    benjamini_hochberg,
    proportions_p_value,
    smirnov_p_value,
)
from clfeval.inference.proportions import combine_proportions
from tests.thoroughness import examples

levels = st.floats(0.05, 0.999)


@examples(60)
@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 40), st.integers(1, 40), levels)
def test_a_p_value_of_two_shares_says_what_the_interval_says(
    k1: int, n1: int, k2: int, n2: int, level: float
) -> None:
    assume(k1 <= n1 and k2 <= n2)
    (p,) = proportions_p_value(*([n] for n in (k1, n1, k2, n2)))
    assume(abs(p - (1 - level)) > 1e-6)
    _, low, high = combine_proportions(1, -1, k1, n1, k2, n2, level=level)
    assert (p < 1 - level) == bool(low > 0 or high < 0)


def test_a_class_without_rows_has_no_p_value() -> None:
    assert np.isnan(proportions_p_value([0], [0], [1], [2])).all()


def test_benjamini_and_hochberg_by_hand() -> None:
    # upwards: .01 x 4 / 1, .02 x 4 / 2, .03 x 4 / 3, .5 x 4 / 4; none above the one after it
    found = benjamini_hochberg(np.array([0.5, 0.01, np.nan, 0.03, 0.02]))
    assert found[[0, 1, 3, 4]] == pytest.approx([0.5, 0.04, 0.04, 0.04])
    assert np.isnan(found[2])
    assert len(benjamini_hochberg(np.empty(0))) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_benjamini_and_hochberg_as_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="fdr_bh")[1]
    assert benjamini_hochberg(np.array(p_values)) == pytest.approx(expected)


def test_the_largest_gap_by_arithmetic() -> None:
    """Gap 1/2 of 8 and 24 rows: x² = 8 24 / 32 / 4 = 1.5, so 2 (e^-3 - e^-12 + e^-27 - ...)."""
    (p,) = smirnov_p_value([0.5], [8], [24])
    assert p == pytest.approx(2 * (np.exp(-3) - np.exp(-12) + np.exp(-27)), rel=1e-12)
    gaps, rows = np.array([0.2, 0.35, 0.9, 1.0]), np.array([30, 8, 5, 4])
    expected = kstwobign.sf(gaps * np.sqrt(rows * 50 / (rows + 50)))
    assert smirnov_p_value(gaps, rows, 50) == pytest.approx(expected)
    assert smirnov_p_value([0.0, 0.5], [9, 0], 9).tolist() == [1, 1]
    assert np.isnan(smirnov_p_value([np.nan], 9, 9)).all()


@pytest.mark.parametrize(("p", "n"), [(3, 3), (6, 54), (8, 8), (10, 10), (20, 60)])
def test_the_largest_gap_is_no_rarer_than_it_is(p: int, n: int) -> None:
    """Against scipy's exact count of paths: never under p by more than 1 % where p < 0.1."""
    for shift in range(p + 1):
        # the first `shift` positives lie below all negatives, the others above all but some
        positives = np.concatenate([np.full(shift, -1.0), np.arange(p - shift) + 0.5])
        exact = ks_2samp(positives, np.arange(n), method="exact")
        (found,) = smirnov_p_value([exact.statistic], [p], [n])
        if exact.pvalue < 0.1:
            assert found >= exact.pvalue / 1.01
