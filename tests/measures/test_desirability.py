"""Desirability: every form against hand arithmetic, the overall D against a plain product."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.measures.composite_scores import (
    box,
    custom,
    maximize,
    minimize,
    overall_desirability,
    target,
)
from tests.texts import check_text

NAN, INF = math.nan, math.inf


def assert_equal(found: np.ndarray, expected: list[float], rel: float = 1e-15) -> None:
    assert found == pytest.approx(expected, rel=rel, abs=0, nan_ok=True)


def test_more_is_better() -> None:
    """From .5 (worth 0) to .9 (worth 1)."""
    x = [-INF, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, INF, NAN]
    ramp = [0.1 / 0.4, 0.2 / 0.4, 0.3 / 0.4]
    assert_equal(maximize(x, 0.5, 0.9), [0, 0, 0, *ramp, 1, 1, 1, NAN])
    assert_equal(maximize(x, 0.5, 0.9, gamma=2), [0, 0, 0, 1 / 16, 4 / 16, 9 / 16, 1, 1, 1, NAN])
    roots = [1 / 2, math.sqrt(1 / 2), math.sqrt(3) / 2]
    assert_equal(maximize(x, 0.5, 0.9, gamma=0.5), [0, 0, 0, *roots, 1, 1, 1, NAN])


def test_one_value_is_best_with_an_exponent_on_each_side() -> None:
    """Best at 3, nothing at 1 and at 11."""
    x = [-INF, 0, 1, 1.5, 2, 3, 5, 9, 11, 12, INF, NAN]
    plain = [0, 0, 0, 0.5 / 2, 1 / 2, 1, 6 / 8, 2 / 8, 0, 0, 0, NAN]
    assert_equal(target(x, 1, 3, 11), plain)
    rising = [0, 0, 0, 1 / 16, 1 / 4, 1, 6 / 8, 2 / 8, 0, 0, 0, NAN]
    assert_equal(target(x, 1, 3, 11, gammas=(2, 1)), rising)
    falling = [0, 0, 0, 1 / 4, 1 / 2, 1, math.sqrt(3) / 2, 1 / 2, 0, 0, 0, NAN]
    assert_equal(target(x, 1, 3, 11, gammas=(1, 0.5)), falling)
    both = [0, 0, 0, 1 / 2, math.sqrt(1 / 2), 1, 9 / 16, 1 / 16, 0, 0, 0, NAN]
    assert_equal(target(x, 1, 3, 11, gammas=(0.5, 2)), both)


def test_a_box_has_ends_that_belong_to_it_and_ends_that_do_not() -> None:
    x = [-INF, 1, 2, 3, 20, 21, INF, NAN]
    assert_equal(box(x, 2, 20), [0, 0, 1, 1, 1, 0, 0, NAN])
    assert_equal(box(x, above=2, below=20), [0, 0, 0, 1, 0, 0, 0, NAN])
    assert_equal(box(x, 2, below=20), [0, 0, 1, 1, 0, 0, 0, NAN])
    assert_equal(box(x, high=20, above=2), [0, 0, 0, 1, 1, 0, 0, NAN])
    assert_equal(box(x, 2), [0, 0, 1, 1, 1, 1, 1, NAN])
    assert_equal(box(x, high=20), [1, 1, 1, 1, 1, 0, 0, NAN])
    assert_equal(box(x, above=2), [0, 0, 0, 1, 1, 1, 1, NAN])
    assert_equal(box(x, below=20), [1, 1, 1, 1, 0, 0, 0, NAN])


def test_a_custom_shape_is_straight_between_points_and_flat_outside() -> None:
    points = [[0, 1], [50, 0.8], [200, 0]]
    x = [-INF, -5, 0, 25, 50, 125, 200, 500, INF, NAN]
    assert_equal(custom(x, points), [1, 1, 1, 0.9, 0.8, 0.4, 0, 0, 0, NAN])
    hill = [(0.0, 0.2), (1.0, 1.0), (3.0, 0.5)]
    assert_equal(custom([-1, 0, 0.5, 1, 2, 3, 4], hill), [0.2, 0.2, 0.6, 1, 0.75, 0.5, 0.5])


ends = st.floats(-1e6, 1e6)


@given(ends, ends, st.floats(0.1, 10))
def test_ends_are_worth_exactly_0_and_1(one: float, other: float, gamma: float) -> None:
    low, high = min(one, other), max(one, other) + 1
    assert maximize([low, high], low, high, gamma=gamma).tolist() == [0, 1]
    assert minimize([low, high], low, high, gamma=gamma).tolist() == [1, 0]
    middle = low + (high - low) / 2
    found = target([low, middle, high], low, middle, high, gammas=(gamma, gamma))
    assert found.tolist() == [0, 1, 0]


@given(st.fractions(-3, 3), st.fractions(-2, 0), st.fractions(Fraction(1, 9), 2))
def test_ramps_in_exact_arithmetic(x: Fraction, low: Fraction, width: Fraction) -> None:
    share = min(max((x - low) / width, Fraction(0)), Fraction(1))
    numbers = float(x), float(low), float(low + width)
    for gamma in (1, 3):
        assert maximize(*numbers, gamma=gamma) == pytest.approx(float(share**gamma), abs=1e-13)
        expected = float((1 - share) ** gamma)
        assert minimize(*numbers, gamma=gamma) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 3)])
def test_the_shape_of_the_values_is_kept(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.5)
    for found in (maximize(x, 0, 1), minimize(x, 0, 1), target(x, 0, 0.5, 1), box(x, 0, 1)):
        assert found.shape == shape
        assert found.dtype == np.float64
    assert custom(x, [(0, 0), (1, 1)]).shape == shape
    assert x.tolist() == np.full(shape, 0.5).tolist()


@pytest.mark.parametrize(
    ("ask", "about"),
    [
        (lambda: maximize(1, 1, 1), "low"),
        (lambda: minimize(1, 0.9, 0.8), "low"),
        (lambda: maximize(1, NAN, 1), "low"),
        (lambda: maximize(1, -INF, 1), "low"),
        (lambda: maximize(1, 0, 1, gamma=0), "gamma"),
        (lambda: minimize(1, 0, 1, gamma=-1), "gamma"),
        (lambda: minimize(1, 0, 1, gamma=NAN), "gamma"),
        (lambda: target(1, 0, 0, 1), "target"),
        (lambda: target(1, 0, 2, 1), "target"),
        (lambda: target(1, 0, 0.5, 1, gammas=(1, 0)), "gamma"),
        (lambda: box(1), "low"),
        (lambda: box(1, 2, 1), "low"),
        (lambda: box(1, above=1, below=1), "above"),
        (lambda: box(1, 0, above=0), "above"),
        (lambda: box(1, high=0, below=0), "above"),
        (lambda: box(1, low=INF), "box"),
        (lambda: custom(1, [(0, 1)]), "d"),
        (lambda: custom(1, [(0, 1, 2), (1, 1, 2)]), "d"),
        (lambda: custom(1, [(0, 1), (0, 0)]), "x"),
        (lambda: custom(1, [(1, 1), (0, 0)]), "x"),
        (lambda: custom(1, [(0, 1), (1, 1.5)]), "d"),
        (lambda: custom(1, [(0, NAN), (1, 1)]), "d"),
        (lambda: overall_desirability([0.5, 0.5], [1, -1]), "d"),
        (lambda: overall_desirability([0.5, 0.5], [0, 0]), "d"),
        (lambda: overall_desirability([0.5, 0.5], [1, INF]), "d"),
        (lambda: overall_desirability([0.5, 0.5], [1]), "d"),
        (lambda: overall_desirability([0.5, 1.5], [1, 1]), "d"),
    ],
)
def test_what_has_no_meaning_is_refused(ask: object, about: str) -> None:
    assert callable(ask)
    with pytest.raises(ValueError, match=rf"\b{about}\b") as caught:
        ask()
    check_text(str(caught.value))


def test_one_zero_decides_and_one_gap_decides_before_it() -> None:
    d = [[0, 1, 1], [1, 0, 0.5], [NAN, 1, 1], [NAN, 0, 1], [1, 1, NAN]]
    assert_equal(overall_desirability(d, [1, 1, 1]), [0, 0, NAN, NAN, NAN])
    assert_equal(overall_desirability(d, [1e-320, 1e10, 1]), [0, 0, NAN, NAN, NAN])
    assert_equal(
        overall_desirability(d, [0, 1, 1]), [1, 0, 1, 0, NAN]
    )  # a weight of 0 leaves its d out, gap and all


def test_200_metrics_do_not_vanish() -> None:
    """Their product is 1e-1000, far below what a float can hold; its 200th root is 1e-5."""
    assert_equal(overall_desirability(np.full((1, 200), 1e-5), np.ones(200)), [1e-5], rel=1e-12)
    assert_equal(overall_desirability(np.full((1, 200), 5e-324), np.full(200, 1e308)), [5e-324])


moderate = st.tuples(st.floats(1e-3, 1), st.integers(1, 9))


@given(st.lists(moderate, min_size=1, max_size=12), st.floats(1e-3, 1e3))
def test_the_overall_value_against_a_plain_product(
    parts: list[tuple[float, int]], scale: float
) -> None:
    """A weight of 3 counts a metric three times; the scale of weights is of no account."""
    repeated = [d for d, w in parts for _ in range(w)]
    expected = math.prod(d ** (1 / len(repeated)) for d in repeated)
    d, w = zip(*parts, strict=True)
    assert float(overall_desirability(d, w)) == pytest.approx(expected, rel=1e-12)
    assert float(overall_desirability(d, [scale * one for one in w])) == pytest.approx(
        expected, rel=1e-12
    )
