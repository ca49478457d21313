"""Holm's rule: by hand, and as statsmodels has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from clfeval.inference.shares import holm


def test_by_hand() -> None:
    # in order: .005 x 4, .01 x 3, .03 x 2, and .04 x 1, which may not be below the one before it
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_as_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))
