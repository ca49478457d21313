"""The plain reading of a position: its boundaries, the lean it adds, and when it is silent."""

from __future__ import annotations

from typing import Any

import pytest

from clfeval.methods.phidelta.tables import read_position
from clfeval.result import Estimate
from tests.methods.phidelta.byhand import Cells, one


def around(low: float, high: float, value: float | None = None) -> Estimate:
    return Estimate((low + high) / 2 if value is None else value, low, high)


BALANCED = around(-0.05, 0.05)


def words(delta: Estimate, phi: Estimate = BALANCED) -> str | None:
    reading, withheld = read_position(phi, delta)
    assert (reading is None) == (withheld is not None)
    return reading


@pytest.mark.parametrize(
    ("low", "high", "reading"),
    [
        (0.801, 1.0, "near oracle"),
        (0.95, 0.99, "near oracle"),
        (0.101, 0.799, "informative, balanced"),
        (0.3, 0.4, "informative, balanced"),
        (-0.099, 0.099, "no better than chance"),
        (0.0, 0.05, "no better than chance"),
        (-1.0, -0.101, "better inverted"),
        (-0.2, -0.15, "better inverted"),
    ],
)
def test_inside_a_range(low: float, high: float, reading: str) -> None:
    assert words(around(low, high)) == reading


@pytest.mark.parametrize(
    ("low", "high", "covered"),
    [
        (0.7, 0.9, "0.8"),
        (0.8, 1.0, "0.8"),  # the end is part of the interval
        (0.3, 0.8, "0.8"),
        (0.1, 0.3, "0.1"),
        (-0.05, 0.1, "0.1"),
        (-0.1, 0.0, "-0.1"),
        (-0.5, -0.1, "-0.1"),
        (-0.2, 0.2, "-0.1 and 0.1"),
        (0.05, 0.85, "0.1 and 0.8"),
        (-1.0, 1.0, "-0.1 and 0.1 and 0.8"),
    ],
)
def test_withheld_where_the_interval_of_delta_covers_a_boundary(
    low: float, high: float, covered: str
) -> None:
    reading, withheld = read_position(BALANCED, around(low, high))
    assert reading is None
    assert withheld == f"the interval of δ covers {covered}"


def test_withheld_without_a_value_or_an_interval() -> None:
    assert read_position(BALANCED, Estimate(None, reason="no_positive_truth")) == (
        None,
        "δ is undefined (no_positive_truth)",
    )
    assert read_position(Estimate(0.0), Estimate(0.5)) == (None, "there is no interval of δ")


@pytest.mark.parametrize(
    ("low", "high", "lean"),
    [
        (0.11, 0.3, ", biased towards positive"),
        (-0.3, -0.11, ", biased towards negative"),
        (-0.09, 0.09, ", balanced"),
        (0.05, 0.2, ""),  # covers .1: nothing is said of the lean
        (-0.2, -0.05, ""),
        (-0.2, 0.2, ""),
    ],
)
def test_the_lean_of_an_informative_model(low: float, high: float, lean: str) -> None:
    assert words(around(0.3, 0.4), around(low, high)) == f"informative{lean}"


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.3), (0.0, 0.1), (-0.1, 0.0), (-0.3, -0.1)])
def test_an_interval_of_phi_that_ends_on_the_boundary_covers_it(low: float, high: float) -> None:
    """As for delta; and exchanging the classes, which mirrors phi, must exchange the words."""
    assert words(around(0.3, 0.4), around(low, high)) == "informative"


@pytest.mark.parametrize("delta", [(0.9, 0.95), (-0.05, 0.05), (-0.5, -0.4)])
def test_only_an_informative_model_leans(delta: tuple[float, float]) -> None:
    for phi in (around(0.2, 0.3), around(-0.3, -0.2), BALANCED):
        assert "lean" not in str(words(around(*delta), phi))
        assert "balanced" not in str(words(around(*delta), phi))


@pytest.mark.parametrize(("phi", "side"), [(1.0, "positive"), (-1.0, "negative")])
def test_one_answer_only_is_said(phi: float, side: str) -> None:
    place = Estimate(phi, min(phi, phi * 0.98), max(phi, phi * 0.98))
    assert words(around(-0.03, 0.03), place) == f"no better than chance: always says {side}"


@pytest.mark.parametrize(
    ("cells", "reading"),
    [
        # 1000 of each class: limits lie within about .04 of the value
        (Cells(960, 30, 40, 970), "near oracle"),
        (Cells(800, 200, 200, 800), "informative, balanced"),
        (Cells(900, 400, 100, 600), "informative, biased towards positive"),
        (Cells(600, 100, 400, 900), "informative, biased towards negative"),
        (Cells(500, 500, 500, 500), "no better than chance"),
        (Cells(100, 800, 900, 200), "better inverted"),
        (Cells(1000, 1000, 0, 0), "no better than chance: always says positive"),
        (Cells(0, 0, 1000, 1000), "no better than chance: always says negative"),
    ],
    ids=str,
)
def test_readings_of_tables(cells: Cells, reading: str) -> None:
    row = one(cells)
    assert (row["reading"], row["reading_withheld"]) == (reading, None)
    exchanged: Any = one(cells.exchanged())["reading"]
    swapped = {"positive": "negative", "negative": "positive"}
    assert exchanged == " ".join(swapped.get(word, word) for word in reading.split(" "))


def test_few_rows_are_read_with_care() -> None:
    row = one(Cells(3, 2, 4, 1))
    assert row["reading"] is None
    assert row["reading_withheld"] == "the interval of δ covers -0.1 and 0.1"


def test_a_level_nobody_needs_says_more() -> None:
    cells = Cells(30, 10, 20, 40)  # delta .4
    assert one(cells, level=0.95)["reading"] == "informative"
    assert str(one(cells, level=0.5)["reading"]).startswith("informative, biased towards negative")
