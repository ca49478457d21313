"""Intervals that hold together: many of them, and a whole path of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from clfeval.inference.distributions import simultaneous_level


def distance(level: float) -> float:
    return float(norm.isf((1 - level) / 2))


def test_one_interval_keeps_its_level() -> None:
    assert simultaneous_level(0.95) == 0.95


@pytest.mark.parametrize("comparisons", [2, 3, 10, 435, 44850])
def test_without_a_turn_it_is_bonferroni(comparisons: int) -> None:
    found = simultaneous_level(0.95, comparisons=comparisons)
    assert 1 - found == pytest.approx(0.05 / comparisons, rel=1e-7)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("comparisons", [1, 3])
def test_a_turn_is_a_tail_of_two_dimensions(level: float, comparisons: int) -> None:
    """P(|X| > c) + (turn / pi) exp(-c²/2), which is P(X² + Y² > c²), is 1 - level."""
    c = distance(simultaneous_level(level, comparisons=comparisons, turn=np.pi / 2))
    assert 2 * norm.sf(c) + 0.5 * np.exp(-c * c / 2) == pytest.approx((1 - level) / comparisons)


@pytest.mark.parametrize("turn", [0.3, np.pi / 2])
def test_all_directions_of_a_turn_are_covered(turn: float) -> None:
    """By quadrature over the direction of (X, Y), of length R: the arc is passed at R > c.

    Beside the arc, at an angle d from its nearer end, R cos d has to be more than c.
    """
    c = distance(simultaneous_level(0.95, turn=turn))
    inside = turn / np.pi * np.exp(-c * c / 2)
    beside, _ = quad(lambda d: np.exp(-((c / np.cos(d)) ** 2) / 2), 0, (np.pi - turn) / 2)
    exact = inside + 2 / np.pi * beside
    assert exact == pytest.approx(0.05, abs=4e-4)
    assert exact <= 0.05 + 1e-12
    angles = np.linspace(0, turn, 200)
    x, y = np.random.default_rng(1).standard_normal((2, 20_000))
    most = np.abs(np.outer(np.cos(angles), x) + np.outer(np.sin(angles), y)).max(axis=0)
    assert (most > c).mean() == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize(
    "wrong", [{"level": 1.0}, {"level": 0.95, "comparisons": 0}, {"level": 0.95, "turn": -1.0}]
)
def test_what_is_no_such_thing_is_refused(wrong: dict[str, float]) -> None:
    level = wrong.pop("level")
    with pytest.raises(ValueError, match=r"level|comparisons"):
        simultaneous_level(level, **wrong)  # type: ignore[arg-type]
