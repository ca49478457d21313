"""Measures as functions of two rates and a prevalence: arithmetic, shapes, 0 / 0, identities."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import phi_delta, phi_delta_at_prevalence
from tests.methods.phidelta import byhand


def at_rates(name: str) -> Callable[..., Any]:
    of = CATALOG[name].function
    return lambda tp, fp, p: of(Confusion.from_prevalence(tp, fp, p))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: at_rates(name)
    for name in ("accuracy", "precision", "npv", "f1", "mcc", "mutual_information")
} | {
    "phi_b": lambda tp, fp, p: phi_delta_at_prevalence(tp, fp, p)[0],
    "delta_b": lambda tp, fp, p: phi_delta_at_prevalence(tp, fp, p)[1],
}
SHARES = [Fraction(i, 8) for i in range(9)]
PREVALENCES = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 1000), Fraction(19, 20)]
rate = st.floats(0, 1).map(np.float64)
inner = st.floats(1e-6, 1 - 1e-6).map(np.float64)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_grid_of_rates_in_fractions(name: str) -> None:
    """Nine by nine rates, border and corners included, at four prevalences."""
    for p in PREVALENCES:
        for x in SHARES:
            for y in SHARES:
                found = FUNCTIONS[name](*map(np.float64, (x, y, p)))
                expected = byhand.at(x, y, p)[name]
                if expected is None:
                    assert np.isnan(found), (x, y, p)
                else:
                    assert found == pytest.approx(float(expected), abs=1e-14), (x, y, p)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_are_taken_element_by_element_and_broadcast(name: str) -> None:
    function = FUNCTIONS[name]
    x, y = np.linspace(0, 1, 5)[:, None], np.linspace(0.1, 1, 4)
    together = function(x, y, 0.3)
    assert together.shape == (5, 4)
    assert together.dtype == np.float64
    for i, j in np.ndindex(5, 4):
        np.testing.assert_array_equal(together[i, j], function(x[i, 0], y[j], 0.3))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_floats_are_numbers_too(name: str) -> None:
    """Nothing positive, nothing negative: 0 / 0 is NaN for a float as it is for an array."""
    for x, y in ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0)):
        expected = FUNCTIONS[name](np.array([x]), np.array([y]), 0.5)
        np.testing.assert_array_equal(FUNCTIONS[name](x, y, 0.5), expected[0])


def test_the_plane() -> None:
    x, y = np.array([1.0, 1.0, 0.0, 0.0, 0.75]), np.array([0.0, 1.0, 1.0, 0.0, 0.5])
    assert phi_delta(x, y)[0].tolist() == [0, 1, 0, -1, 0.25]
    assert phi_delta(x, y)[1].tolist() == [1, 0, -1, 0, 0.25]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_rates_have_no_value_and_no_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, y, p in ((np.nan, 0.5, 0.5), (0.5, np.nan, 0.5), (0.5, 0.25, np.nan)):
            assert np.isnan(FUNCTIONS[name](np.array([x]), y, p)).all()


@given(rate, inner)
def test_chance_tells_nothing(x: float, p: float) -> None:
    assert FUNCTIONS["mutual_information"](x, x, p) == 0
    assert np.isnan(FUNCTIONS["mcc"](x, x, p)) or FUNCTIONS["mcc"](x, x, p) == 0
