"""Wishes at work: every form, the words for it, and the chapter's example with D by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clfeval.measures.desirability import overall
from clfeval.methods.mlcps.wishes import Wish, desirabilities, wishes_of

NAN = math.nan

# a wish as it is written, raw values, what they are worth, the wish in words
FORMS: list[tuple[dict[str, object], list[float], list[float], str]] = [
    (
        {"goal": "maximize", "low": 0.5, "high": 1},
        [0.4, 0.5, 0.6, 0.75, 1, NAN],
        [0, 0, 0.1 / 0.5, 0.25 / 0.5, 1, NAN],
        "maximize from 0.5 to 1",
    ),
    (
        {"goal": "maximise", "low": 80, "high": 100, "gamma": 2},
        [85, 90, 95],
        [(5 / 20) ** 2, (10 / 20) ** 2, (15 / 20) ** 2],
        "maximize from 80 to 100, γ 2",
    ),
    (
        {"goal": "minimize", "low": 0, "high": 0.1, "gamma": 0.5},
        [0, 0.036, 0.075, 0.1, 0.2],
        [1, math.sqrt(0.64), math.sqrt(0.25), 0, 0],
        "minimize from 0.1 down to 0, γ 0.5",
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11},
        [1, 2, 3, 5, 11],
        [0, 1 / 2, 1, 6 / 8, 0],
        "target 3 within 1 to 11",
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11, "gamma": 2},
        [1, 2, 3, 5, 11],
        [0, 1 / 4, 1, 9 / 16, 0],
        "target 3 within 1 to 11, γ 2",
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11, "gamma": [0.5, 2]},
        [1, 1.5, 3, 5, 11],
        [0, 1 / 2, 1, 9 / 16, 0],
        "target 3 within 1 to 11, γ 0.5 below it and 2 above",
    ),
    (
        {"goal": "target", "low": 1, "target": 3, "high": 11, "gamma_high": 2},
        [1, 1.5, 3, 5, 11],
        [0, 1 / 4, 1, 9 / 16, 0],
        "target 3 within 1 to 11, γ 1 below it and 2 above",
    ),
    ({"goal": "box", "below": 20}, [-1, 19, 20, NAN], [1, 1, 0, NAN], "box below 20"),
    ({"goal": "box", "low": 0.8}, [0.79, 0.8, 9], [0, 1, 1], "box from 0.8"),
    ({"goal": "box", "above": 0, "high": 5}, [0, 1, 5, 6], [0, 1, 1, 0], "box above 0 and up to 5"),
    (
        {"goal": "custom", "points": [[0, 1], [50, 0.8], [200, 0]]},
        [-1, 25, 125, 300],
        [1, 0.9, 0.4, 0],
        "custom (0, 1) (50, 0.8) (200, 0)",
    ),
]


@pytest.mark.parametrize(("entry", "x", "d", "words"), FORMS, ids=[form[3] for form in FORMS])
def test_each_form(entry: dict[str, object], x: list[float], d: list[float], words: str) -> None:
    (wish,) = wishes_of({"m": entry})
    assert wish.of(x) == pytest.approx(d, rel=1e-13, abs=1e-15, nan_ok=True)
    assert wish.described() == words
    assert (wish.metric, wish.weight, wish.assumed) == ("m", 1, ())


@pytest.mark.parametrize("entry", [form[0] for form in FORMS], ids=[form[3] for form in FORMS])
def test_a_wish_leads_back_to_itself(entry: dict[str, object]) -> None:
    wishes = wishes_of({"m": {**entry, "weight": 3}})
    written = wishes[0].as_dict()
    assert wishes_of({"m": written}) == wishes
    assert written["weight"] == 3
    assert None not in written.values()


def test_the_plain_mapping_of_a_wish() -> None:
    (wish,) = wishes_of(
        {"m": {"goal": "target", "low": 0, "target": 1, "high": 3, "gamma": [1, 2]}}
    )
    assert wish.as_dict() == {
        "goal": "target", "low": 0, "target": 1, "high": 3, "gamma": [1, 2], "weight": 1,
    }  # fmt: skip


def test_a_long_shape_is_shortened_in_words() -> None:
    points = [(i, i / 9) for i in range(10)]
    (wish,) = wishes_of({"m": {"goal": "custom", "points": points}})
    assert wish.described() == "custom (0, 0) (1, 0.1111111111) ... 7 more ... (9, 1)"


# the chapter's example: fewer than 20 predictors, a specificity of at least 80 %, as much
# sensitivity as there is, a Brier score in [0, .1)
CHAPTER = {
    "predictors": {"goal": "box", "below": 20},
    "specificity": {"goal": "box", "low": 0.8},
    "sensitivity": {"goal": "maximize", "low": 0, "high": 1},
    "brier": {"goal": "minimize", "low": 0, "high": 0.1},
}
# model: predictors, specificity, sensitivity, Brier; the four d; with equal weights the product is
# under a fourth root
MODELS: dict[str, tuple[list[float], list[float]]] = {
    "small": ([5, 0.9, 0.64, 0.04], [1, 1, 0.64, 0.6]),
    "at both limits": ([19, 0.8, 0.81, 0.02], [1, 1, 0.81, 0.8]),
    "too many predictors": ([20, 0.99, 0.95, 0.01], [0, 1, 0.95, 0.9]),
    "not specific": ([5, 0.79, 0.99, 0.05], [1, 0, 0.99, 0.5]),
    "finds nothing": ([5, 1, 0, 0.05], [1, 1, 0, 0.5]),
    "badly calibrated": ([5, 0.9, 0.9, 0.1], [1, 1, 0.9, 0]),
    "not measured": ([5, 0.9, 0.9, NAN], [1, 1, 0.9, NAN]),
}
D = [(0.64 * 0.6) ** (1 / 4), (0.81 * 0.8) ** (1 / 4), 0, 0, 0, 0, NAN]


ROWS = np.array([row for row, _ in MODELS.values()])


def test_the_example_of_the_chapter() -> None:
    wishes = wishes_of(CHAPTER)
    d = desirabilities(wishes, list(CHAPTER), ROWS)
    expected = np.array([parts for _, parts in MODELS.values()])
    np.testing.assert_allclose(d, expected, rtol=1e-13, atol=1e-15)
    found = overall(d, [wish.weight for wish in wishes])
    assert found == pytest.approx(D, rel=1e-13, abs=0, nan_ok=True)
    assert found[2:6].tolist() == [0, 0, 0, 0]


def test_the_example_with_weights() -> None:
    """The box of predictors left out, sensitivity three times: roots of 1 + 3 + 1 = 5."""
    weights = {"predictors": 0, "sensitivity": 3}
    wishes = wishes_of({m: {**e, "weight": weights.get(m, 1)} for m, e in CHAPTER.items()})
    found = overall(desirabilities(wishes, list(CHAPTER), ROWS), [wish.weight for wish in wishes])
    many = (0.95**3 * 0.9) ** (1 / 5)
    expected = [(0.64**3 * 0.6) ** (1 / 5), (0.81**3 * 0.8) ** (1 / 5), many, 0, 0, 0, NAN]
    assert found == pytest.approx(expected, rel=1e-13, abs=0, nan_ok=True)


def test_columns_of_any_shape_are_judged_together() -> None:
    """Replicates of a bootstrap are (B, k): two replicates of three models, two wishes."""
    values = np.array([[0.1, 0.5, 0.9], [0.2, 0.6, 1.0]])
    wishes = wishes_of(
        {"a": {"goal": "maximize", "low": 0, "high": 1}, "b": {"goal": "box", "low": 1}}
    )
    d = desirabilities(wishes, ["c", "a", "b"], np.stack([values] * 3, axis=-1))
    assert d.shape == (2, 3, 2)
    np.testing.assert_array_equal(d[..., 0], values)
    np.testing.assert_array_equal(d[..., 1], [[0, 0, 0], [0, 0, 1]])


def test_a_wish_cannot_be_changed() -> None:
    wish = Wish("m", "box", low=1.0)
    with pytest.raises(AttributeError):
        wish.weight = 2.0  # type: ignore[misc]
