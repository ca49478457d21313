"""Curves in the diamond: Gini, the best point and the break-even point, by brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

import clfeval
from clfeval.inference.rank_statistics import delong_auc
from tests.methods.phidelta.byhand import rows_by_model
from tests.reference import ScoredRow
from tests.results import Line, limits_of, value_of
from tests.strategies import frame_of, scored_tables
from tests.thoroughness import examples

Points = list[tuple[float, Fraction, Fraction]]  # threshold, sensitivity, 1 - specificity


def curve_rows(table: Any, **options: Any) -> dict[str, Line]:
    """Return the rows of the table `curves` by model."""
    return rows_by_model(
        clfeval.phidelta(table, curve=True, points="all", **{"kind": "score", **options}), "curves"
    )


def walk(rows: list[ScoredRow], model: int) -> Points:
    """Return every threshold from above the highest score down, asking every row each time."""
    positives = sum(row.n for row in rows if row.truth)
    negatives = sum(row.n for row in rows if not row.truth)
    cuts = [float("inf"), *sorted({row.scores[model] for row in rows}, reverse=True)]
    return [
        (
            cut,
            Fraction(sum(r.n for r in rows if r.truth and r.scores[model] >= cut), positives),
            Fraction(sum(r.n for r in rows if not r.truth and r.scores[model] >= cut), negatives),
        )
        for cut in cuts
    ]


# scores .9 .8 .8 .6 .4 .4 .2 with truths 1 1 0 1 1 0 0: P = 4, N = 3
HAND = pl.DataFrame({"truth": [1, 1, 0, 1, 1, 0, 0], "s": [0.9, 0.8, 0.8, 0.6, 0.4, 0.4, 0.2]})


def test_a_curve_by_hand() -> None:
    """Pairs won: .9 beats 3; .8 beats 2 and ties 1; .6 beats 2; .4 beats 1 and ties 1: 9 of 12.

    (x, y) from above .9: 0 0, 1/4 0, 2/4 1/3, 3/4 1/3, 1 2/3, 1 1. The gain x - y is largest at .6,
    3/4 - 1/3 = 5/12. phi = x + y - 1 is -1/6 at .8 and 1/12 at .6, so the line between them meets
    phi = 0 at 2/3 of the way: delta = 1/6 + (2/3) (5/12 - 1/6) = 1/3.
    """
    row = curve_rows(HAND)["s"]
    assert value_of(row["roc_auc"]) == pytest.approx(9 / 12, abs=1e-15)
    assert value_of(row["gini"]) == pytest.approx(2 * 9 / 12 - 1, abs=1e-15)
    assert row["best_threshold"] == 0.6
    assert row["best_delta"] == pytest.approx(5 / 12)
    assert row["best_phi"] == pytest.approx(3 / 4 + 1 / 3 - 1)
    assert row["break_even_threshold"] == 0.6
    assert row["break_even_delta"] == pytest.approx(1 / 3)
    assert row["points"] == 6


@examples(40)
@given(scored_tables(models=(1, 3), rows=(2, 14)))
def test_gini_is_twice_the_auc_of_scikit_learn_less_one(rows: list[ScoredRow]) -> None:
    """Scores from a handful of values, so that many tie; whole weights."""
    truth, n = [row.truth for row in rows], [row.n for row in rows]
    assume(len(set(truth)) == 2)
    curves = curve_rows(frame_of(rows), weight="n", interval="none")
    for j, row in enumerate(curves.values()):
        auc = roc_auc_score(truth, [r.scores[j] for r in rows], sample_weight=n)
        assert value_of(row["roc_auc"]) == pytest.approx(auc, abs=1e-12)
        assert value_of(row["gini"]) == pytest.approx(2 * auc - 1, abs=1e-12)


@examples(40)
@given(scored_tables(models=(1, 3), rows=(2, 14)))
def test_best_point_is_the_largest_delta_over_all_thresholds(rows: list[ScoredRow]) -> None:
    assume(len({row.truth for row in rows}) == 2)
    curves = curve_rows(frame_of(rows), weight="n", interval="none")
    for j, row in enumerate(curves.values()):
        points = walk(rows, j)
        most = max(x - y for _, x, y in points)
        assert row["best_delta"] == pytest.approx(float(most), abs=1e-15)
        # of equal ones the least biased, then the highest threshold
        least = min(abs(x + y - 1) for _, x, y in points if x - y == most)
        cut, x, y = next(p for p in points if p[1] - p[2] == most and abs(p[1] + p[2] - 1) == least)
        assert row["best_threshold"] == (None if cut == float("inf") else cut)
        assert row["best_phi"] == pytest.approx(float(x + y - 1), abs=1e-15)
        one_sided = ks_2samp(
            [r.scores[j] for r in rows if not r.truth for _ in range(r.n)],
            [r.scores[j] for r in rows if r.truth for _ in range(r.n)],
            alternative="greater",
            method="asymp",
        )
        assert row["best_delta"] == pytest.approx(one_sided.statistic, abs=1e-12)


@examples(60)
@given(scored_tables(models=(1, 3), rows=(2, 14)))
def test_break_even_is_read_off_the_line_across_the_delta_axis(rows: list[ScoredRow]) -> None:
    assume(len({row.truth for row in rows}) == 2)
    curves = curve_rows(frame_of(rows), weight="n", interval="none")
    for j, row in enumerate(curves.values()):
        points = [(cut, x + y - 1, x - y) for cut, x, y in walk(rows, j)]
        for (_, left, low), (_, right, high) in pairwise(points):
            if left <= 0 <= right:
                expected = low + (high - low) * (0 - left) / (right - left)
        assert row["break_even_delta"] == pytest.approx(float(expected), abs=1e-14)
        nearest = min(abs(phi) for _, phi, _ in points)
        cuts = [cut for cut, phi, _ in points if abs(phi) == nearest]
        assert row["break_even_threshold"] in [None if c == float("inf") else c for c in cuts]


def test_of_two_points_equally_near_the_delta_axis_the_higher_gives_the_threshold() -> None:
    """P = 9 and N = 15; from the highest score down TP 0 1 4 5 6 7 9 and FP 0 4 6 9 12 12 15.

    x + y - 1 is 4/9 + 6/15 - 1 = -7/45 at score 4/8 and 5/9 + 9/15 - 1 = 7/45 at 3/8: equally far.
    x - y is 2/45 at the first and -2/45 at the second, as exact as TP N - FP P = 6 and -6.
    """
    positives, negatives = [2, 1, 1, 1, 3, 1], [3, 0, 3, 3, 2, 4]  # at 0/8, 1/8, ..
    frame = pl.DataFrame(
        {"truth": [1] * 6 + [0] * 6, "s": [i / 8 for i in range(6)] * 2, "n": positives + negatives}
    )
    row = curve_rows(frame, weight="n")["s"]
    assert row["break_even_threshold"] == 4 / 8
    assert row["break_even_delta"] == pytest.approx(0, abs=1e-15)


def test_intervals_of_gini_are_those_of_the_area() -> None:
    row = curve_rows(HAND, level=0.9)["s"]
    low, high = limits_of(row["roc_auc"])
    # positives and negatives at .2 .4 .6 .8 .9
    expected = delong_auc([0, 1, 1, 1, 1], [1, 1, 0, 1, 0], level=0.9)
    assert (low, high) == (expected.low, expected.high)
    assert limits_of(row["gini"]) == (2 * low - 1, 2 * high - 1)
    assert -1 <= 2 * low - 1 <= 1 / 2 <= 2 * high - 1 <= 1


@pytest.mark.parametrize(
    ("scores", "gini", "best", "threshold"),
    [
        ([0.9, 0.8, 0.2, 0.1], 1.0, 1.0, 0.8),
        ([0.1, 0.2, 0.8, 0.9], -1.0, 0.0, None),  # nothing positive is as good as it gets
        ([0.5, 0.5, 0.5, 0.5], 0.0, 0.0, None),
    ],
)
def test_perfect_wrong_and_idle_scores(
    scores: list[float], gini: float, best: float, threshold: float | None
) -> None:
    row = curve_rows(pl.DataFrame({"truth": [1, 1, 0, 0], "s": scores}))["s"]
    assert value_of(row["gini"]) == gini
    assert row["best_delta"] == best
    assert row["best_threshold"] == threshold
    if len({*scores}) == 1:  # equal scores have no error
        assert row["gini"].low is None
        return
    low, high = limits_of(row["gini"])
    assert -1 <= low <= gini <= high <= 1
