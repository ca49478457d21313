"""The candidates of a ROC curve: hull vertices by brute force and by scipy, and that they do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from clfeval.counts.scores import ScoreCounts
from clfeval.measures import convex_hull
from clfeval.measures.convex_hull import upper_hull_vertices
from clfeval.methods.curves import candidate_points, pareto_points
from tests.methods.tune_jpt import brute
from tests.thoroughness import examples

Pair = tuple[int, int]  # fp, tp


def chain(steps: list[Pair]) -> list[Pair]:
    """Add up steps from (0, 0)."""
    points = [(0, 0)]
    for right, up in steps:
        points.append((points[-1][0] + right, points[-1][1] + up))
    return points


def side(a: Pair, b: Pair, c: Pair) -> int:
    """Return more than 0 where c lies left of the way from a to b, exactly."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])


def upper(points: list[Pair]) -> list[Pair]:
    """Ask for every point whether it lies above each line between one before and one after it."""
    distinct = list(dict.fromkeys(points))
    return [
        point
        for i, point in enumerate(distinct)
        if all(side(a, point, b) < 0 for a in distinct[:i] for b in distinct[i + 1 :])
    ]


def vertices(points: list[Pair], starts: list[bool] | None = None) -> list[int]:
    fp, tp = (np.array(column, np.int64) for column in zip(*points, strict=True))
    return upper_hull_vertices(tp, fp, None if starts is None else np.array(starts)).tolist()


steps = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@examples(200)
@given(steps)
def test_vertices_are_those_above_every_line(given_steps: list[Pair]) -> None:
    points = chain(given_steps)
    places = vertices(points)
    assert [points[i] for i in places] == upper(points)
    # of equal points the first
    assert places == [points.index(points[i]) for i in places]


@examples(60)
@given(steps, st.integers(0, 1))
def test_passes_and_plain_chain_agree(given_steps: list[Pair], few: int) -> None:
    points = chain(given_steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convex_hull, "_FEW", 0)
        patch.setattr(convex_hull, "_PATIENCE", 1000 * few)
        assert [points[i] for i in vertices(points)] == upper(points)


@examples(60)
@given(st.lists(steps, min_size=1, max_size=5))
def test_several_chains_at_once(chains: list[list[Pair]]) -> None:
    parts = [chain(steps) for steps in chains]
    joined = [point for part in parts for point in part]
    starts = [i == 0 for part in parts for i in range(len(part))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convex_hull, "_FEW", 8)
        places = vertices(joined, starts)
    expected, offset = [], 0
    for part in parts:
        expected += [offset + part.index(point) for point in upper(part)]
        offset += len(part)
    assert places == expected


@pytest.mark.parametrize("seed", range(3))
def test_against_scipy(seed: int) -> None:
    """The two hulls together are the convex hull, corners included."""
    rng = np.random.default_rng(seed)
    n = 3000
    score, hit = rng.integers(0, 2000, n), rng.random(n) < 0.4
    rows = list(zip((score + 500 * hit).tolist(), hit.astype(int).tolist(), strict=True))
    points = candidate_points(brute.score_counts(rows))
    every = np.array([(fp, tp) for _, tp, fp in brute.every_point(rows)], np.float64)
    expected = {tuple(every[i]) for i in ConvexHull(every).vertices}
    candidates = set(zip(points.fp.tolist(), points.tp.tolist(), strict=True))
    # the corners are candidates even where the hull passes below or above them
    assert candidates == expected | {(0, 0), tuple(every[-1].astype(int))}
    assert (np.diff(points.thresholds) < 0).all()


@examples(100)
@given(steps)
def test_unbeaten_points(given_steps: list[Pair]) -> None:
    points = chain([step for step in given_steps if step != (0, 0)] or [(1, 1)])
    inner = points[1:-1]
    expected = [
        i + 1
        for i, (fp, tp) in enumerate(inner)
        if not any(a <= fp and b >= tp and (a, b) != (fp, tp) for a, b in inner)
    ]
    fp, tp = (np.array(column, np.int64) for column in zip(*points, strict=True))
    assert pareto_points(tp, fp).tolist() == expected


def test_large_counts_and_fractions() -> None:
    """Exact cross products up to 2**30; floats beyond and for weights, equal points included."""
    big = 2**29
    # (0, 0) (big, big + 1) (2 big, 2 big + 1): the middle lies above by 1/2, as 4.6e-10 of it
    assert vertices([(0, 0), (big, big + 1), (2 * big, 2 * big + 1)]) == [0, 1, 2]
    assert vertices([(0, 0), (big, big), (2 * big, 2 * big)]) == [0, 2]
    huge = 10**15
    assert vertices([(0, 0), (huge, 3 * huge), (2 * huge, 3 * huge), (4 * huge, 4 * huge)]) == [
        0,
        1,
        3,
    ]
    scores = np.array([0.1, 0.2, 0.3, 0.4])
    # a weight of 1e-20 does not move a point: (2.5, 0), twice (2.5, .5), (3.25, .5), (3.25, 2)
    counts = ScoreCounts(scores, np.array([0, 0.75, 1e-20, 2.5]), np.array([1.5, 0.0, 0.5, 0]))
    assert candidate_points(counts).thresholds.tolist() == [math.inf, 0.4, 0.2, 0.1]
