"""The Pareto front against brute force, and its size at work."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import ArrayLike

from clfeval.methods.mlcps.ranking import dominators, front_dominators

BY_RANK = np.arange(100_000)[::-1]


def front(d: ArrayLike) -> np.ndarray:
    """Who is on the front: the models that no other is above."""
    return front_dominators(d, np.arange(len(np.asarray(d)))) < 0


def brute(d: np.ndarray) -> list[list[int]]:
    """Who dominates each model, from the definition: nowhere worse, and somewhere better."""
    nowhere_worse = (d >= d[:, None]).all(axis=2)
    somewhere_better = (d > d[:, None]).any(axis=2)
    return [np.flatnonzero(row).tolist() for row in nowhere_worse & somewhere_better]


def test_by_hand() -> None:
    """b is beaten by a in both metrics, d equals a, e ties with a in one and loses in the other."""
    d = [[0.9, 0.5], [0.8, 0.4], [0.2, 0.7], [0.9, 0.5], [0.9, 0.1]]
    on_front = front(d)
    assert on_front.tolist() == [True, False, True, True, False]
    assert [row.tolist() for row in dominators(d)] == [[], [0, 3], [], [], [0, 3]]
    assert front_dominators(d, [0, 1, 2, 3, 4]).tolist() == [-1, 0, -1, -1, 0]
    assert front_dominators(d, [2, 3, 0, 1, 4]).tolist() == [-1, 3, -1, -1, 3]


@pytest.mark.parametrize("seed", range(10))
def test_small_random_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        k, n, values = rng.integers(1, 41), rng.integers(1, 7), rng.integers(1, 9)
        d = rng.integers(0, values, (k, n)) / 7
        better = brute(d)
        on_front = front(d)
        assert on_front.tolist() == [not row for row in better]
        assert [row.tolist() for row in dominators(d)] == better
        order = rng.permutation(k)
        expected = [next((j for j in order if on_front[j] and j in row), -1) for row in better]
        assert front_dominators(d, order).tolist() == expected


def test_sums_that_round_to_the_same() -> None:
    """1 + 1e-17 is 1 in floats: a sum of metrics could not tell these two models apart."""
    d = np.array([[1.0, 0.0, 0.0], [1.0, 1e-17, 0.0], [1.0, 0.0, 1e-17]])
    for turn in range(3):
        rows = np.roll(np.arange(3), turn)
        assert front(d[rows]).tolist() == [row != 0 for row in rows]


def test_nobody_and_one() -> None:
    assert front(np.empty((0, 3))).tolist() == []
    assert front_dominators(np.empty((0, 3)), np.empty(0, np.int64)).tolist() == []
    assert dominators(np.empty((0, 3))) == []
    assert front([[0.5, 0.1]]).tolist() == [True]
    assert front_dominators([[0.5, 0.1]], [0]).tolist() == [-1]


def of_kind(kind: str, rng: np.random.Generator) -> np.ndarray:
    k = len(BY_RANK)
    if kind == "few metrics":
        return rng.random((k, 3))
    if kind == "many metrics":
        return rng.random((k, 10))
    if kind == "rounded":
        return np.round(rng.random((k, 10)), 1)
    if kind == "one order":
        return np.repeat(rng.random((k, 1)), 4, axis=1)
    return 0.3 * rng.random((k, 5)) + rng.random((k, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        # of k random models about sum (ln k)**i / i! for i < n are on the front: 79 and 27,000
        ("few metrics", 30, 150),
        ("many metrics", 10_000, 50_000),
        ("rounded", 1000, 50_000),
        ("one order", 1, 1),
        ("related", 2, 5000),
    ],
)
def test_large_tables(kind: str, least: int, most: int) -> None:
    """The definition itself, for models drawn from either side."""
    rng = np.random.default_rng(5)
    d = of_kind(kind, rng)
    on_front = front(d)
    assert least <= on_front.sum() <= most
    by = front_dominators(d, BY_RANK)
    assert np.array_equal(by < 0, on_front)
    for i in rng.choice(np.flatnonzero(on_front), 20):
        assert not ((d >= d[i]).all(axis=1) & (d > d[i]).any(axis=1)).any()
    for i in rng.choice(np.flatnonzero(~on_front), 20):
        better = on_front & (d >= d[i]).all(axis=1) & (d > d[i]).any(axis=1)
        assert by[i] == BY_RANK[better[BY_RANK]][0]


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 40])
def test_everybody_on_the_front(n: int) -> None:
    """More metrics than are looked at in one go, and more models than one slice and one piece."""
    rng = np.random.default_rng(n)
    x = rng.random((6000, 1))
    best = (
        np.concatenate([np.repeat(x, n - 1, axis=1), -x], axis=1) if n > 1 else np.ones((6000, 1))
    )
    assert front(best).all()
    assert (front_dominators(best, np.arange(6000)[::-1]) == -1).all()
    d = np.concatenate([best, best - rng.random((500, 1))[np.arange(6000) % 500] - 0.01])
    on_front = front(d)
    assert np.array_equal(on_front, np.arange(12_000) < 6000)
    by = front_dominators(d, np.arange(12_000))[6000:]
    assert (d[by] >= d[6000:]).all()


@pytest.mark.parametrize(
    "d", [[[0.1, math.nan]], [[], []], [0.1, 0.2], np.ones((2, 2, 2))], ids=str
)
def test_tables_that_cannot_be(d: list[list[float]]) -> None:
    for function in (front, dominators, lambda x: front_dominators(x, [0])):
        with pytest.raises(ValueError, match="metrics"):
            function(d)


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 0], [0], [1, 2]])
def test_orders_that_cannot_be(order: list[int]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        front_dominators([[1.0], [0.0]], order)
