"""Fractional weights as whole numbers of one unit: which unit, and what it leaves of them."""

from __future__ import annotations

from fractions import Fraction

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.counts.patterns import (
    from_units,
    in_units,
    limit_in_units,
    rounding_error,
    weight_unit,
)
from tests.engines import ENGINES
from tests.results import warning_codes
from tests.thoroughness import examples


def frame_of(weights: list[float], engine: str = "polars") -> nw.LazyFrame[object]:
    return nw.from_native(ENGINES[engine](pl.DataFrame({"n": weights}))).lazy()


def units_of(weights: list[float], unit: float) -> list[int]:
    table = frame_of(weights).select(n=in_units(nw.col("n"), unit)).collect()
    return list(table["n"].to_list())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("weights", "unit"),
    [
        ([0.5], 10),
        ([0.5, 0.25, 3.0], 100),
        ([0.1, 0.2, 0.3], 10),
        ([0.683, 2.348, 1849.0], 1000),
        ([1e-15, 0.5], 10**15),
        # 2 rows of at most 1/3 are less than 2**0: 60 bits after the point
        ([1 / 3, 0.25], 2**60),
        # 3 rows of at most 5: less than 2**4
        ([5.0, 1 / 3, 1 / 7], 2**56),
    ],
)
def test_the_unit_is_the_last_decimal_place_or_as_fine_as_sums_allow(
    weights: list[float], unit: float, engine: str
) -> None:
    assert weight_unit([frame_of(weights, engine)], "n") == unit


def test_all_files_have_one_unit() -> None:
    assert weight_unit([frame_of([0.5]), frame_of([0.25])], "n") == 100


def test_a_bound_on_sums_makes_decimals_binary() -> None:
    """Two rows of at most 0.25 may be 0.5 in all: 10**15 / 2 units, or 2**48 of 2**-48."""
    assert weight_unit([frame_of([0.25, 0.123456789012345])], "n", most=2**48) == 2**48
    assert weight_unit([frame_of([0.25, 0.123456789012345])], "n") == 10**15


@examples(300)
@given(st.integers(1, 12), st.lists(st.integers(1, 10**12), min_size=1, max_size=40))
def test_decimals_are_counted_exactly(places: int, numbers: list[int]) -> None:
    weights = [float(Fraction(number, 10**places)) for number in numbers]
    unit = weight_unit([frame_of(weights)], "n")
    assert Fraction(sum(units_of(weights, unit))) / Fraction(unit) == sum(
        Fraction(repr(weight)) for weight in weights
    )


@examples(300)
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=40))
def test_other_weights_are_rounded_to_sixty_bits(weights: list[float]) -> None:
    found = units_of(weights, unit := weight_unit([frame_of(weights)], "n"))
    assert sum(found) <= 2**60
    for units, weight in zip(found, weights, strict=True):
        assert abs(Fraction(units) / Fraction(unit) - Fraction(weight)) < Fraction(1, 10**13)


def test_no_weight_vanishes_beside_a_great_one() -> None:
    weights = [1e30, 1 / 3, 1e-30]
    unit = weight_unit([frame_of(weights)], "n")
    assert units_of(weights, unit)[1:] == [1, 1]
    assert units_of([0.0, *weights], unit)[0] == 0


def test_whole_weights_stay_as_they_are() -> None:
    assert units_of([3.0, 2.0], 1) == [3.0, 2.0]
    assert from_units(np.array([3, 2]), 1).tolist() == [3, 2]
    assert from_units(np.array([3, 2]), 10).tolist() == [0.3, 0.2]


@pytest.mark.parametrize(
    ("limit", "unit", "most"),
    [
        (0.3, 10, 3),  # though 0.3 * 10 may be less than 3 in other numbers
        (0.35, 10, 3),
        (2.0, 1, 2.0),
        (float("inf"), 10, float("inf")),
        (0.5, 2.0**50, 2**49 + 562),  # 2**49 / 10**12 = 562.9
    ],
)
def test_limits_are_the_decimal_numbers_they_are_written_as(
    limit: float, unit: float, most: float
) -> None:
    assert limit_in_units(limit, unit) == most


@pytest.mark.parametrize(
    ("weights", "least"),
    [
        ([0.1, 0.2, 3.0], 0.0),  # tenths
        (
            [1e-13, 1234.5678901234567],
            1e-3,
        ),  # units of 2**-48 or so: .5 of one is 1e-3 of it or more
        ([0.30000000000000004, 0.1], 0.0),  # seventeen digits, and no decimal place
    ],
)
def test_weights_that_differ_too_much_say_how_far_they_are_off(
    weights: list[float], least: float
) -> None:
    frames = [frame_of(weights)]
    unit = weight_unit(frames, "n")
    off = rounding_error(frames, "n", unit)
    exact = max(abs(Fraction(round(w * unit)) / Fraction(unit) / Fraction(w) - 1) for w in weights)
    if least:
        assert least < off < 1
        assert exact <= off
    else:
        assert off < 1e-12


def test_rounded_weights_are_said() -> None:
    table = pl.DataFrame(
        {"truth": [1, 0, 1], "a": [1, 0, 0], "w": [1e-13, 1234.5678901234567, 0.3]}
    )
    result = clfeval.mars(table, weight="w", interval="none")
    assert "rounded-weights" in warning_codes(result)
    plain = table.with_columns(w=pl.Series([0.1, 0.2, 0.3]))
    result = clfeval.mars(plain, weight="w", interval="none")
    assert "rounded-weights" not in warning_codes(result)
