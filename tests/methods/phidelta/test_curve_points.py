"""The listed points of a curve: where they lie, how many there are, which rows they count."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given

import clfeval
from clfeval.api.result import Result
from tests.reference import ScoredRow
from tests.results import Line, row_of, rows_of, warning_codes
from tests.samples import informed_scores
from tests.strategies import frame_of, scored_tables
from tests.thoroughness import examples

DICE = np.random.default_rng(2)
TRUTH = DICE.integers(0, 2, 3000)
MANY = pl.DataFrame(
    {
        "truth": TRUTH,
        "s": informed_scores(DICE, TRUTH, 0.2),
        "hard": TRUTH ^ (DICE.random(3000) < 0.1),
        "site": np.where(DICE.random(3000) < 0.3, "A", "B"),
    }
)


def points_of(result: Result, model: str = "s", label: str | None = None) -> list[Line]:
    """Return the listed points of the curve of a model in a slice."""
    return rows_of(result, "curve", model=model, slice=label)


@examples(30)
@given(scored_tables(models=(1, 2), rows=(2, 14)))
def test_every_point_counts_the_rows_at_or_above_its_threshold(rows: list[ScoredRow]) -> None:
    assume(len({row.truth for row in rows}) == 2)
    result = clfeval.phidelta(
        frame_of(rows), weight="n", interval="none", kind="score", curve=True, points="all"
    )
    positives = sum(row.n for row in rows if row.truth)
    negatives = sum(row.n for row in rows if not row.truth)
    for j in range(len(rows[0].scores)):
        points = points_of(result, f"m{j}")
        assert len(points) == 1 + len({row.scores[j] for row in rows})
        assert points[0]["threshold"] is None
        for point in points:
            cut = float("inf") if point["threshold"] is None else point["threshold"]
            above = [row for row in rows if row.scores[j] >= cut]
            tp = sum(row.n for row in above if row.truth)
            fp = sum(row.n for row in above if not row.truth)
            assert (point["tp"], point["fp"]) == (tp, fp)
            x, y = tp / positives, fp / negatives
            assert point["sensitivity"] == x
            assert point["specificity"] == pytest.approx(1 - y, abs=1e-15)
            assert point["phi"] == pytest.approx(x + y - 1, abs=1e-15)
            assert point["delta"] == pytest.approx(x - y, abs=1e-15)
            assert abs(point["phi"]) + abs(point["delta"]) <= 1 + 1e-15


@pytest.mark.parametrize("limit", [3, 4, 10, 499, 3000, None])
def test_so_many_points_at_most_with_both_ends_and_the_best(limit: int | None) -> None:
    result = clfeval.phidelta(MANY.select("truth", "s"), curve=True, points=limit)
    points, row = points_of(result), row_of(result, "curves", model="s")
    assert (limit or 200) - 1 <= len(points) <= (limit or 200)
    assert (points[0]["phi"], points[-1]["phi"]) == (-1, 1)
    assert row["best_threshold"] in [point["threshold"] for point in points]
    assert row["points"] == 3001


def test_two_points_are_two_points() -> None:
    """--points says how many points are listed, and two is the least it takes."""
    result = clfeval.phidelta(MANY.select("truth", "s"), curve=True, points=2)
    assert len(points_of(result)) == 2


def test_the_number_of_points_changes_no_number_but_the_list() -> None:
    few = clfeval.phidelta(MANY.select("truth", "s"), curve=True, points=5)
    many = clfeval.phidelta(MANY.select("truth", "s"), curve=True, points="all")
    assert few.tables["curves"] == many.tables["curves"]
    assert few.tables["models"] == many.tables["models"]


def test_slices_have_the_curves_of_their_own_rows() -> None:
    result = clfeval.phidelta(MANY, by="site", kind=None, model="s", curve=True, points="all")
    for site in ("A", "B"):
        alone = clfeval.phidelta(
            MANY.filter(pl.col("site") == site).select("truth", "s"), curve=True, points="all"
        )
        label = f"site={site}"
        expected = [point | {"slice": label} for point in points_of(alone)]
        assert points_of(result, label=label) == expected
        curves = rows_of(result, "curves", slice=label)
        assert curves == [row | {"slice": label} for row in rows_of(alone, "curves")]


def test_models_of_labels_beside_scores_have_no_curve() -> None:
    result = clfeval.phidelta(MANY.select("truth", "s", "hard"), curve=True, model="*")
    assert [row["model"] for row in result.tables["models"]] == ["s", "hard"]
    assert [row["model"] for row in result.tables["curves"]] == ["s"]


def test_the_choice_on_the_same_rows_is_said() -> None:
    result = clfeval.phidelta(MANY.select("truth", "s"), curve=True)
    assert "chosen-threshold" in warning_codes(result)
