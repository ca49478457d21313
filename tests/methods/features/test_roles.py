"""The role of a feature: which corner it is drawn to, and none where nobody can tell."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from clfeval.document.cells import Estimate
from clfeval.methods.phidelta.features import feature_role
from tests.methods.features.door import rows_by_feature
from tests.results import Line, limits_of, value_of


def row_of_counts(tp: int, fp: int, *, p: int = 100, n: int = 100, **options: Any) -> Line:
    """Return the row of a feature that tp of p positives and fp of n negatives have."""
    cells = {(1, 1): tp, (1, 0): p - tp, (0, 1): fp, (0, 0): n - fp}
    rows = [(*key, count) for key, count in cells.items()]
    frame = pl.DataFrame(rows, schema=["truth", "f", "n"], orient="row")
    return rows_by_feature(frame, weight="n", **options)["f"]


CLEAR = {
    # tp, fp of 100 each: phi = (tp + fp)/100 - 1, delta = (tp - fp)/100
    "covariant": [(80, 20), (100, 0), (60, 10), (99, 40), (49, 0)],
    "contravariant": [(20, 80), (0, 100), (10, 60), (40, 99)],
    "pervasive": [(100, 100), (99, 98), (100, 80), (90, 95)],
    "rare": [(0, 0), (2, 1), (20, 0), (5, 10)],
}


@pytest.mark.parametrize("name", CLEAR)
def test_clear_places(name: str) -> None:
    for tp, fp in CLEAR[name]:
        assert row_of_counts(tp, fp)["role"] == name, (tp, fp)
        assert row_of_counts(tp, fp, interval="none")["role"] == name, (tp, fp)


BOUNDARY = {
    # |phi| = 0.8 is nearly always, or nearly never
    (100, 80): "pervasive",  # phi = 0.8, delta = 0.2
    (80, 100): "pervasive",
    (20, 0): "rare",
    (0, 20): "rare",
    (100, 79): "covariant",  # phi = 0.79, delta = 0.21
    (79, 100): "contravariant",
    (21, 0): "covariant",
    (0, 21): "contravariant",
}


@pytest.mark.parametrize("cells", BOUNDARY)
def test_what_is_nearly_always_or_never_true_is_called_so(cells: tuple[int, int]) -> None:
    assert row_of_counts(*cells)["role"] == BOUNDARY[cells]


def test_thirds_have_a_role_too() -> None:
    """tp = 1/3 of 300, fp = 1/2 of 300: phi = delta = -1/6 although 1/3 is no float."""
    row = row_of_counts(100, 150, p=300, n=300)
    assert value_of(row["phi"]) == value_of(row["delta"])
    assert row["role"] == "contravariant"


@pytest.mark.parametrize(("tp", "fp"), [(51, 49), (49, 51), (55, 45), (50, 50)])
def test_no_role_where_delta_may_be_0(tp: int, fp: int) -> None:
    row = row_of_counts(tp, fp)
    low, high = limits_of(row["delta"])
    assert low <= 0 <= high
    assert row["role"] is None


def test_more_rows_make_a_role_of_the_same_place() -> None:
    assert row_of_counts(51, 49)["role"] is None
    assert row_of_counts(51_000, 49_000, p=100_000, n=100_000)["role"] == "covariant"


def test_without_a_place_there_is_no_role() -> None:
    undefined, half = Estimate(None, reason="too_few_rows"), Estimate(0.5)
    assert feature_role(undefined, undefined) is None
    assert feature_role(half, undefined) is None
    assert feature_role(undefined, half) is None


@pytest.mark.parametrize(
    ("low", "high", "name"),
    [(0.0, 0.9, None), (1e-9, 0.9, "covariant"), (-0.1, 0.9, None), (None, None, "covariant")],
)
def test_an_interval_that_touches_0_covers_it(
    low: float | None, high: float | None, name: str | None
) -> None:
    assert feature_role(Estimate(0.1), Estimate(0.5, low, high)) == name
