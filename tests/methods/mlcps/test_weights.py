"""Shares of the weight simplex against exact areas and a plain loop; who depends on weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.methods.mlcps import robustness as weights
from clfeval.methods.mlcps.robustness import depends_on_weights, winner_shares
from tests.methods.mlcps.by_weights import around, plain_wins
from tests.thoroughness import examples

DRAWS = 40_000


def shares(d: list[list[float]], draws: int = DRAWS, seed: int = 1) -> tuple[list[int], list[int]]:
    wins, free = winner_shares(np.array(d), draws=draws, rng=np.random.default_rng(seed))
    return wins.tolist(), free.tolist()


def is_near(wins: int, share: float) -> bool:
    """Within five standard deviations of a binomial."""
    return abs(wins - DRAWS * share) <= 5 * math.sqrt(DRAWS * share * (1 - share))


@pytest.mark.parametrize("h", [1.0, 0.5, 0.1])
def test_two_models_share_the_simplex(h: float) -> None:
    # w1 w2 against h w2 w3: first where E1 > h E3, of probability 1 / (1 + h)
    wins, free = shares([[1, 1, 0], [0, h, 1]])
    assert is_near(wins[0], 1 / (1 + h))
    assert sum(wins) == DRAWS
    assert wins == free  # three metrics have one order


def test_mirrored_models_get_a_half_each_and_a_dominated_one_nothing() -> None:
    wins, free = shares([[0.9, 0.5, 0.2], [0.1, 0.5, 0.2], [0.2, 0.5, 0.9]])
    assert is_near(wins[0], 1 / 2)
    assert wins[1] == 0
    assert wins == free


def test_the_order_of_metrics_makes_the_difference() -> None:
    # MLcps: w1 w2 against 0, as metrics 1 and 3 are no neighbours; order-free: w1 w2, w1 w3
    wins, free = shares([[1, 1, 0, 0], [1, 0, 1, 0]])
    assert wins == [DRAWS, 0]
    assert is_near(free[0], 1 / 2)
    assert sum(free) == DRAWS
    # the least of w1, w2, w3 decides
    wins, free = shares([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert all(is_near(won, 1 / 3) for won in wins)


def test_all_that_tie_are_first() -> None:
    rays = [0.3, 0.9, 0.4, 0.8]
    close, distant = [x * (1 + 1e-14) for x in rays], [x * (1 - 1e-11) for x in rays]
    wins, free = shares([rays, close, distant, rays], draws=500)
    assert wins == free == [500, 500, 0, 500]


def test_without_any_area_all_tie() -> None:
    wins, free = shares([[1, 0, 0.5, 0], [0, 1, 0, 0.5], [0, 0, 0, 0]], draws=300)
    assert wins == [300, 300, 300]
    assert sum(free) == 300
    assert free[2] == 0


MODELS = {
    "uniform": lambda rng, k, n: rng.random((k, n)),
    "grid": lambda rng, k, n: rng.integers(0, 4, (k, n)) / 3,
    "corners": lambda rng, k, n: rng.integers(0, 2, (k, n)).astype(float),
    "sphere": lambda rng, k, n: (lambda x: x / np.linalg.norm(x, axis=1)[:, None])(
        np.abs(rng.standard_normal((k, n)))
    ),
    "twins": lambda rng, k, n: (
        np.repeat(rng.random((k // 3 + 1, n)), 3, axis=0)[:k]
        * (1 - rng.choice([0, 1e-14, 1e-10], (k, 1)))
    ),
    "tiny": lambda rng, k, n: rng.random((k, n)) * 1e-25,
    "tiny beside large": lambda rng, k, n: np.vstack(
        [np.eye(1, n), rng.random((k - 1, n)) * 1e-22]
    ),
    "one large metric": lambda rng, k, n: np.hstack(
        [np.ones((k, 1)), rng.random((k, n - 1)) * 1e-9]
    ),
}


@pytest.mark.parametrize("n", [3, 4, 10, 23])
@pytest.mark.parametrize("kind", list(MODELS))
def test_as_a_plain_loop(kind: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws, judged one by one; in small parts too."""
    d = MODELS[kind](np.random.default_rng(n), 50, n)
    expected = plain_wins(d, np.random.default_rng(7).standard_exponential((60, n)))
    assert shares(d.tolist(), draws=60, seed=7) == expected
    for name, part in (("_DRAWS", 16), ("_CELLS", 100), ("_PIECE", 300)):
        monkeypatch.setattr(weights, name, part)
    assert shares(d.tolist(), draws=60, seed=7) == expected


def test_draws_do_not_depend_on_the_models() -> None:
    d = np.random.default_rng(3).random((40, 5))
    top = np.vstack([d, np.full((2000, 5), 0.001)])
    small, large = np.random.default_rng(5), np.random.default_rng(5)
    wins, free = winner_shares(d, draws=1000, rng=small)
    more, more_free = winner_shares(top, draws=1000, rng=large)
    assert more[:40].tolist() == wins.tolist()
    assert more_free[:40].tolist() == free.tolist()
    assert not more[40:].any()
    assert small.random() == large.random()


def test_many_models_as_whole_matrices() -> None:
    d = np.random.default_rng(8).beta(5, 2, (5000, 6))
    wins, free = winner_shares(d, draws=600, rng=np.random.default_rng(4))
    w = np.random.default_rng(4).standard_exponential((600, 6))
    scores = sum(np.outer(d[:, i] * d[:, i - 1], w[:, i] * w[:, i - 1]) for i in range(6))
    assert wins.tolist() == np.bincount(scores.argmax(axis=0), minlength=5000).tolist()
    rays = (d @ w.T) ** 2 - (d**2) @ (w**2).T
    assert free.tolist() == np.bincount(rays.argmax(axis=0), minlength=5000).tolist()


def turned(d: np.ndarray) -> list[bool]:
    """Put nearly all weight on two neighbours, for each two: whose dense rank may change?"""
    k, n = d.shape
    scores = []
    for i in range(n):
        w = np.full(n, 1e-9)
        w[[i, (i + 1) % n]] = 1
        scores.append([around(w * model) for model in d])
    at = np.array(scores)
    signs = np.where(np.abs(at[:, :, None] - at[:, None, :]) < 1e-6, 0, 1) * np.sign(
        at[:, :, None] - at[:, None, :]
    )
    over, under = (signs > 0).any(0), (signs < 0).any(0)
    sides = [bool((over[a] & under[a]).any()) for a in range(k)]
    # two that trade places tie in between: whoever is below them both gains a rank there
    return [sides[a] or any(sides[b] and over[b, a] for b in range(k)) for a in range(k)]


@examples(80)
@given(st.integers(1, 8), st.integers(3, 7), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_weight_dependent_as_neighbours_show(k: int, n: int, steps: int, seed: int) -> None:
    d = np.random.default_rng(seed).integers(0, steps, (k, n)) / (steps - 1)
    expected = turned(d)
    assert depends_on_weights(d).tolist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "_PAIRS", 3)
        assert depends_on_weights(d).tolist() == expected


def test_rounding_is_no_difference() -> None:
    # .2 x .9 is .18 as .3 x .6 is, but for the last digit
    assert 0.2 * 0.9 > 0.3 * 0.6
    first = [0.3, 0.6, 0.1]
    # products .18 .06 .03 and .18 .018 .004: the second is never above
    assert depends_on_weights(np.array([first, [0.2, 0.9, 0.02]])).tolist() == [False, False]
    assert depends_on_weights(np.array([first, [0.2, 0.91, 0.02]])).tolist() == [True, True]
