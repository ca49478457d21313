"""Wishes at work: every form, the words for it, and the chapter's example with D by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clfeval.methods.mlcps.desirability_goals import desirabilities, read_goals
from tests.texts import check_text, numbers_in

NAN = math.nan

# a wish as it is written, raw values, what they are worth
FORMS: list[tuple[dict[str, object], list[float], list[float]]] = [
    (
        {"goal": "maximize", "low": 0.5, "high": 1},
        [0.4, 0.5, 0.6, 0.75, 1, NAN],
        [0, 0, 0.1 / 0.5, 0.25 / 0.5, 1, NAN],
    ),
    (
        {"goal": "maximise", "low": 80, "high": 100, "gamma": 2},
        [85, 90, 95],
        [(5 / 20) ** 2, (10 / 20) ** 2, (15 / 20) ** 2],
    ),
    (
        {"goal": "minimize", "low": 0, "high": 0.1, "gamma": 0.5},
        [0, 0.036, 0.075, 0.1, 0.2],
        [1, math.sqrt(0.64), math.sqrt(0.25), 0, 0],
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11},
        [1, 2, 3, 5, 11],
        [0, 1 / 2, 1, 6 / 8, 0],
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11, "gamma": 2},
        [1, 2, 3, 5, 11],
        [0, 1 / 4, 1, 9 / 16, 0],
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11, "gamma": [0.5, 2]},
        [1, 1.5, 3, 5, 11],
        [0, 1 / 2, 1, 9 / 16, 0],
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11, "gamma_high": 2},
        [1, 1.5, 3, 5, 11],
        [0, 1 / 4, 1, 9 / 16, 0],
    ),
    ({"goal": "box", "below": 20}, [-1, 19, 20, NAN], [1, 1, 0, NAN]),
    ({"goal": "box", "low": 0.8}, [0.79, 0.8, 9], [0, 1, 1]),
    ({"goal": "box", "above": 0, "high": 5}, [0, 1, 5, 6], [0, 1, 1, 0]),
    (
        {"goal": "custom", "points": [[0, 1], [50, 0.8], [200, 0]]},
        [-1, 25, 125, 300],
        [1, 0.9, 0.4, 0],
    ),
]


@pytest.mark.parametrize(("entry", "x", "d"), FORMS)
def test_each_form(entry: dict[str, object], x: list[float], d: list[float]) -> None:
    (wish,) = read_goals({"m": entry})
    assert wish.transform(x) == pytest.approx(d, rel=1e-13, abs=1e-15, nan_ok=True)
    check_text(wish.described())
    assert (wish.metric, wish.weight, wish.assumed) == ("m", 1, ())


@pytest.mark.parametrize("entry", [form[0] for form in FORMS])
def test_a_wish_leads_back_to_itself(entry: dict[str, object]) -> None:
    wishes = read_goals({"m": {**entry, "weight": 3}})
    written = wishes[0].as_dict()
    assert read_goals({"m": written}) == wishes
    assert written["weight"] == 3
    assert None not in written.values()


def test_a_long_shape_is_shortened_in_words() -> None:
    points = [(i, i / 9) for i in range(10)]
    (wish,) = read_goals({"m": {"goal": "custom", "points": points}})
    check_text(wish.described())
    assert 10 - 3 in numbers_in(wish.described())


def test_columns_of_any_shape_are_judged_together() -> None:
    """Replicates of a bootstrap are (B, k): two replicates of three models, two wishes."""
    values = np.array([[0.1, 0.5, 0.9], [0.2, 0.6, 1.0]])
    wishes = read_goals(
        {"a": {"goal": "maximize", "low": 0, "high": 1}, "b": {"goal": "box", "low": 1}}
    )
    d = desirabilities(wishes, ["c", "a", "b"], np.stack([values] * 3, axis=-1))
    assert d.shape == (2, 3, 2)
    np.testing.assert_array_equal(d[..., 0], values)
    np.testing.assert_array_equal(d[..., 1], [[0, 0, 0], [0, 0, 1]])
