"""Lines on which a measure keeps its value: every point has it, every line crosses the diamond."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import clfeval
from clfeval.api.result import Result
from tests.methods.phidelta.byhand import Cells, counts_frame
from tests.results import rows_of
from tests.thoroughness import thinned

TABLE = counts_frame({"m": Cells(30, 10, 20, 40)})
PREVALENCES = [0.5, 0.01, 0.2, 2 / 3, 0.95]
VALUES = [0.05, 0.3, 0.5, 0.8, 0.99]

# x = TP/P, y = FP/N, p the prevalence: written here as shares of all rows
FORMULAS: dict[str, Callable[[float, float, float], float]] = {
    "sensitivity": lambda x, y, p: x,
    "specificity": lambda x, y, p: 1 - y,
    "accuracy": lambda x, y, p: p * x + (1 - p) * (1 - y),
    "precision": lambda x, y, p: p * x / (p * x + (1 - p) * y),
    "npv": lambda x, y, p: (1 - p) * (1 - y) / ((1 - p) * (1 - y) + p * (1 - x)),
    "mutual_information": lambda x, y, p: h(p * x + (1 - p) * y) - p * h(x) - (1 - p) * h(y),
}
STRAIGHT = [name for name in FORMULAS if name != "mutual_information"]
Branch = list[Mapping[str, Any]]


def h(q: float) -> float:
    """Return the entropy of a yes or no, in bits."""
    return -sum(share * math.log2(share) for share in (q, 1 - q) if share > 0)


def isometric_branches(
    values: Mapping[str, Sequence[float]], prevalence: float
) -> dict[Any, Branch]:
    """Return the points of each line at the prevalence by measure, value and branch."""
    result = clfeval.phidelta(TABLE, interval="none", prevalence=prevalence, isometrics=values)
    return branches_of(result, prevalence)


def branches_of(result: Result, prevalence: float) -> dict[Any, Branch]:
    branches: dict[Any, Branch] = {}
    for row in rows_of(result, "isometrics", prevalence=prevalence):
        branches.setdefault((row["measure"], row["value"], row["branch"]), []).append(row)
    for branch in branches.values():
        assert [row["point"] for row in branch] == list(range(len(branch)))
        assert len(branch) > 1
    return branches


def rates(phi: float, delta: float) -> tuple[float, float]:
    """phi = x + y - 1 and delta = x - y, so x = (phi + delta + 1) / 2."""
    return (phi + delta + 1) / 2, (phi - delta + 1) / 2


def on_border(point: Mapping[str, Any]) -> bool:
    return math.isclose(abs(point["phi"]) + abs(point["delta"]), 1, abs_tol=1e-9)


@pytest.mark.parametrize("prevalence", thinned(PREVALENCES, [0.2, 0.95]))
@pytest.mark.parametrize("measure", FORMULAS)
def test_every_point_has_the_value_and_lies_in_both_diamonds(
    measure: str, prevalence: float
) -> None:
    limit = h(prevalence) if measure == "mutual_information" else 1
    for (_, value, _), branch in isometric_branches({measure: VALUES}, prevalence).items():
        assert value <= limit
        assert on_border(branch[0])
        assert on_border(branch[-1])
        for point in branch:
            x, y = rates(point["phi"], point["delta"])
            assert -1e-12 <= x <= 1 + 1e-12
            assert -1e-12 <= y <= 1 + 1e-12
            p, n = prevalence, 1 - prevalence
            assert point["phi_b"] == pytest.approx(2 * (n * y - p * (1 - x)), abs=1e-12)
            assert point["delta_b"] == pytest.approx(2 * (p * x + n * (1 - y)) - 1, abs=1e-12)
            corner = (x, y) in ((0, 0), (1, 1))  # there a precision or an NPV is 0 / 0
            if not corner:
                assert FORMULAS[measure](x, y, p) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("prevalence", thinned(PREVALENCES, [0.2, 0.95]))
@pytest.mark.parametrize("measure", STRAIGHT)
def test_straight_lines_keep_the_value_all_along(measure: str, prevalence: float) -> None:
    for (_, value, _), (start, *_, end) in isometric_branches(
        {measure: VALUES}, prevalence
    ).items():
        for share in np.linspace(0.01, 0.99, 9):
            phi, delta = (start[c] + share * (end[c] - start[c]) for c in ("phi", "delta"))
            assert FORMULAS[measure](*rates(phi, delta), prevalence) == pytest.approx(value)


@pytest.mark.parametrize("prevalence", thinned(PREVALENCES, [0.2, 0.95]))
def test_every_value_strictly_inside_the_range_has_its_line(prevalence: float) -> None:
    """Accuracy too: v n is reached somewhere for every 0 < v < 1, from anti-oracle to oracle."""
    values = dict.fromkeys(STRAIGHT, VALUES)
    assert list(isometric_branches(values, prevalence)) == [
        (m, v, 0) for m in STRAIGHT for v in VALUES
    ]


@pytest.mark.parametrize("prevalence", thinned(PREVALENCES, [0.2, 0.95]))
def test_mutual_information_has_a_line_on_either_side_of_the_phi_axis(prevalence: float) -> None:
    """The oracle tells all of h(p) bits, so every value below that is met on both sides.

    Inverted answers tell the same: each branch is the other seen through the centre.
    """
    values = [share * h(prevalence) for share in (0.02, 0.3, 0.6, 0.8, 0.9, 0.97)]
    branches = isometric_branches({"mutual_information": values}, prevalence)
    missing = [
        v / h(prevalence)
        for v in values
        for b in (0, 1)
        if ("mutual_information", v, b) not in branches
    ]
    assert not missing
    for value in values:
        up, down = (branches["mutual_information", value, branch] for branch in (0, 1))
        assert all(point["delta"] > 0 for point in up)
        assert all(point["delta"] < 0 for point in down)
        through = sorted((-point["phi"], -point["delta"]) for point in down)
        expected = sorted((point["phi"], point["delta"]) for point in up)
        assert through == [pytest.approx(place, abs=1e-9) for place in expected]


def test_a_curved_line_is_drawn_finely_enough() -> None:
    """Halfway between two points, on the straight line that is drawn, it is right to .005 bits."""
    branches = isometric_branches({"mutual_information": [0.05, 0.2, 0.5]}, 0.3)
    assert len(branches) == 6
    for (_, value, _), branch in branches.items():
        for left, right in pairwise(branch):
            phi, delta = ((left[c] + right[c]) / 2 for c in ("phi", "delta"))
            bits = FORMULAS["mutual_information"](*rates(phi, delta), 0.3)
            assert bits == pytest.approx(value, abs=0.005)


@pytest.mark.parametrize(
    ("measure", "value", "ends"),
    [
        ("sensitivity", 0.75, [(-0.25, 0.75), (0.75, -0.25)]),  # x = 3/4, y = 0 .. 1
        ("specificity", 0.75, [(-0.75, -0.25), (0.25, 0.75)]),  # y = 1/4, x = 0 .. 1
        ("precision", 0.5, [(-1, 0), (1, 0)]),  # x = y at equal classes
        ("precision", 0.75, [(-1, 0), (1 / 3, 2 / 3)]),  # x = 3 y
        ("precision", 1, [(-1, 0), (0, 1)]),  # y = 0
        ("precision", 0, [(-1, 0), (0, -1)]),  # x = 0
        ("npv", 0.75, [(-1 / 3, 2 / 3), (1, 0)]),  # 1 - y = 3 (1 - x)
        ("npv", 1, [(0, 1), (1, 0)]),  # x = 1
        ("npv", 0, [(0, -1), (1, 0)]),  # y = 1
        ("accuracy", 0.75, [(-0.5, 0.5), (0.5, 0.5)]),  # delta = 2 * .75 - 1
    ],
)
def test_lines_at_equal_classes_by_hand(
    measure: str, value: float, ends: list[tuple[float, float]]
) -> None:
    (branch,) = isometric_branches({measure: [value]}, 0.5).values()
    places = sorted((point["phi"], point["delta"]) for point in branch)
    assert places == [pytest.approx(end, abs=1e-12) for end in ends]


def test_each_population_has_its_lines_and_they_are_named() -> None:
    result = clfeval.phidelta(
        TABLE, prevalence=["1:9", "1:1"], isometrics={"precision": [0.5], "accuracy": [0.25, 0.5]}
    )
    lines = dict.fromkeys(
        (row["odds"], row["measure"], row["value"]) for row in result.tables["isometrics"]
    )
    expected = [("precision", 0.5), ("accuracy", 0.25), ("accuracy", 0.5)]
    assert list(lines) == [(odds, *line) for odds in ("1:1", "1:9") for line in expected]
    assert result.parameters["isometrics"] == {"precision": [0.5], "accuracy": [0.25, 0.5]}
