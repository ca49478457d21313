"""Cochran's Q: against statsmodels, McNemar's test of two, and rows that say nothing."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import cochrans_q

from clfeval.inference.hypothesis_tests import cochran_q


@pytest.mark.parametrize(("k", "m"), [(3, 20), (5, 200), (2, 40)])
def test_it_is_that_of_statsmodels(k: int, m: int) -> None:
    rng = np.random.default_rng(k)
    right, n = rng.random((m, k)) < np.linspace(0.6, 0.8, k), rng.integers(1, 4, m)
    expected = cochrans_q(np.repeat(right, n, axis=0).astype(int))
    assert cochran_q(right, n) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)


def test_rows_that_all_have_right_or_wrong_say_nothing() -> None:
    right = np.array([[True] * 3, [False] * 3])
    q, p = cochran_q(right, np.array([30, 4]))
    assert isnan(q)
    assert p == 1
