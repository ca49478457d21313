"""The plain reading of a position: its boundaries, the lean it adds, and when it is silent."""

from __future__ import annotations

import pytest

from clfeval.document.cells import Estimate
from clfeval.methods.phidelta.tables import interpret_position
from tests.methods.phidelta.byhand import Cells, model_row
from tests.texts import check_text, numbers_in


def interval(low: float, high: float, value: float | None = None) -> Estimate:
    return Estimate((low + high) / 2 if value is None else value, low, high)


BALANCED = interval(-0.05, 0.05)


def words(delta: Estimate, phi: Estimate = BALANCED) -> str | None:
    reading, withheld = interpret_position(phi, delta)
    assert (reading is None) == (withheld is not None)
    return reading


def test_an_interval_of_delta_within_a_range_is_read_by_the_range() -> None:
    ranges = {
        "oracle": [(0.801, 1.0), (0.95, 0.99)],
        "informative": [(0.101, 0.799), (0.3, 0.4)],
        "chance": [(-0.099, 0.099), (0.0, 0.05)],
        "inverted": [(-1.0, -0.101), (-0.2, -0.15)],
    }
    sets = [{words(interval(*limits)) for limits in cases} for cases in ranges.values()]
    assert [len(readings) for readings in sets] == [1, 1, 1, 1]
    assert len(set.union(*sets)) == 4
    check_text(str(reading) for readings in sets for reading in readings)


@pytest.mark.parametrize(
    ("low", "high", "covered"),
    [
        (0.7, 0.9, [0.8]),
        (0.8, 1.0, [0.8]),  # the end is part of the interval
        (0.3, 0.8, [0.8]),
        (0.1, 0.3, [0.1]),
        (-0.05, 0.1, [0.1]),
        (-0.1, 0.0, [-0.1]),
        (-0.5, -0.1, [-0.1]),
        (-0.2, 0.2, [-0.1, 0.1]),
        (0.05, 0.85, [0.1, 0.8]),
        (-1.0, 1.0, [-0.1, 0.1, 0.8]),
    ],
)
def test_withheld_where_the_interval_of_delta_covers_a_boundary(
    low: float, high: float, covered: list[float]
) -> None:
    reading, withheld = interpret_position(BALANCED, interval(low, high))
    assert reading is None
    assert numbers_in(str(withheld)) == covered


def test_withheld_without_a_value_or_an_interval() -> None:
    undefined = interpret_position(BALANCED, Estimate(None, reason="no_positive_truth"))
    bare = interpret_position(Estimate(0.0), Estimate(0.5))
    covered = interpret_position(BALANCED, interval(0.05, 0.85))
    assert undefined[0] is bare[0] is None
    assert "no_positive_truth" in str(undefined[1])
    check_text(str(withheld) for _, withheld in (undefined, bare, covered))


def test_the_lean_of_an_informative_model() -> None:
    """An interval of phi that ends on the boundary covers it, as for delta: nothing is said.

    Exchanging the classes, which mirrors phi, must exchange the words.
    """
    leans = {
        "positive": [(0.11, 0.3)],
        "negative": [(-0.3, -0.11)],
        "balanced": [(-0.09, 0.09)],
        "unsaid": [
            (0.05, 0.2),
            (-0.2, -0.05),
            (-0.2, 0.2),
            (0.1, 0.3),
            (0.0, 0.1),
            (-0.1, 0.0),
            (-0.3, -0.1),
        ],
    }
    delta = interval(0.3, 0.4)
    sets = [{words(delta, interval(*limits)) for limits in phi} for phi in leans.values()]
    assert [len(readings) for readings in sets] == [1, 1, 1, 1]
    assert len(set.union(*sets)) == 4
    check_text(str(reading) for readings in sets for reading in readings)


@pytest.mark.parametrize("delta", [(0.9, 0.95), (-0.05, 0.05), (-0.5, -0.4)])
def test_only_an_informative_model_leans(delta: tuple[float, float]) -> None:
    places = (interval(0.2, 0.3), interval(-0.3, -0.2), interval(-0.2, 0.2), BALANCED)
    assert len({words(interval(*delta), phi) for phi in places}) == 1


@pytest.mark.parametrize("phi", [1.0, -1.0])
def test_one_answer_only_is_said(phi: float) -> None:
    place = Estimate(phi, min(phi, phi * 0.98), max(phi, phi * 0.98))
    reading = str(words(interval(-0.03, 0.03), place))
    assert reading != words(interval(-0.03, 0.03))
    check_text(reading)


def test_readings_of_tables() -> None:
    """1000 of each class: limits lie within about .04 of the value."""
    readings = []
    for cells in (
        Cells(960, 30, 40, 970),
        Cells(800, 200, 200, 800),
        Cells(900, 400, 100, 600),
        Cells(600, 100, 400, 900),
        Cells(500, 500, 500, 500),
        Cells(100, 800, 900, 200),
        Cells(1000, 1000, 0, 0),
        Cells(0, 0, 1000, 1000),
    ):
        row, exchanged = model_row(cells), model_row(cells.exchanged())["reading"]
        readings.append(str(row["reading"]))
        assert row["reading_withheld"] is None
        swapped = {"positive": "negative", "negative": "positive"}
        assert exchanged == " ".join(swapped.get(word, word) for word in readings[-1].split(" "))
    assert len({*readings}) == 8
    check_text(readings)


def test_few_rows_are_read_with_care() -> None:
    row = model_row(Cells(3, 2, 4, 1))
    assert row["reading"] is None
    assert numbers_in(row["reading_withheld"]) == [-0.1, 0.1]


def test_a_level_nobody_needs_says_more() -> None:
    cells = Cells(30, 10, 20, 40)  # delta .4
    unsure, sure = (str(model_row(cells, level=level)["reading"]) for level in (0.95, 0.5))
    assert sure.startswith(unsure)
    assert sure == words(interval(0.3, 0.4), interval(-0.3, -0.2))
