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

from clfeval.measures import binary
from clfeval.measures.catalog import CATALOG
from tests.methods.phidelta import byhand

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "accuracy": binary.accuracy,
    "precision": binary.precision,
    "npv": binary.npv,
    "f1": binary.f1,
    "mcc": binary.mcc,
    "mutual_information": binary.mutual_information,
    "phi_b": binary.prior_phi,
    "delta_b": binary.prior_delta,
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
    assert binary.phi(x, y).tolist() == [0, 1, 0, -1, 0.25]
    assert binary.delta(x, y).tolist() == [1, 0, -1, 0, 0.25]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_rates_have_no_value_and_no_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, y, p in ((np.nan, 0.5, 0.5), (0.5, np.nan, 0.5), (0.5, 0.25, np.nan)):
            assert np.isnan(FUNCTIONS[name](np.array([x]), y, p)).all()


@given(rate, rate)
def test_at_equal_classes_the_pairs_coincide(x: np.float64, y: np.float64) -> None:
    assert binary.prior_phi(x, y, 0.5) == pytest.approx(float(binary.phi(x, y)), abs=1e-15)
    assert binary.prior_delta(x, y, 0.5) == pytest.approx(float(binary.delta(x, y)), abs=1e-15)


@given(rate, rate, inner)
def test_ranges(x: float, y: float, p: float) -> None:
    for name, function in FUNCTIONS.items():
        found = float(function(x, y, p))
        measure = CATALOG[name]
        assert np.isnan(found) or measure.low - 1e-15 <= found <= measure.high + 1e-15, name


@given(rate, rate, inner)
def test_delta_b_is_twice_accuracy_less_one(x: float, y: float, p: float) -> None:
    accuracy = float(binary.accuracy(x, y, p))
    assert binary.prior_delta(x, y, p) == pytest.approx(2 * accuracy - 1, abs=1e-14)


@given(rate, rate, inner)
def test_phi_b_is_the_bias_of_plus_and_minus_one(x: float, y: float, p: float) -> None:
    """E[answer] - E[truth], both counted +1 for positive and -1 for negative."""
    said = p * x + (1 - p) * y
    bias = (said - (1 - said)) - (p - (1 - p))
    assert binary.prior_phi(x, y, p) == pytest.approx(bias, abs=1e-14)


@given(rate, inner)
def test_chance_tells_nothing(x: float, p: float) -> None:
    assert binary.mutual_information(x, x, p) == 0
    assert np.isnan(binary.mcc(x, x, p)) or binary.mcc(x, x, p) == 0


@given(rate, rate, inner)
def test_information_survives_inverting_and_exchanging(x: float, y: float, p: float) -> None:
    bits = float(binary.mutual_information(x, y, p))
    inverted = binary.mutual_information(1 - x, 1 - y, p)
    exchanged = binary.mutual_information(1 - y, 1 - x, 1 - p)
    assert inverted == pytest.approx(bits, abs=1e-12)
    assert exchanged == pytest.approx(bits, abs=1e-12)


@pytest.mark.parametrize("p", [0.5, 0.1, 1e-9])
def test_the_oracle_tells_the_entropy_of_the_class(p: float) -> None:
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    for x, y in ((1, 0), (0, 1)):
        assert binary.mutual_information(x, y, p) == pytest.approx(entropy, rel=1e-9)
