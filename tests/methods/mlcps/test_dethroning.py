"""The least change of weights that dethrones: by hand, by all corners, by random weights."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from clfeval.methods.mlcps import weights
from clfeval.methods.mlcps.weights import alone, factors
from tests.methods.mlcps.by_weights import around
from tests.thoroughness import examples

ONES = np.ones(3)
# neighbours' products: winner .5 .25 .5, sum 1.25; rival .4 .5 .2, sum 1.1
#                       rival - winner: -.1 .25 -.3
HAND = np.array([[1.0, 0.5, 0.5], [0.4, 1.0, 0.5]])
seeds = st.integers(0, 2**32 - 1)


class Dethroning(NamedTuple):
    factor: float
    rival: int
    weights: np.ndarray


def dethroner(d: np.ndarray, w0: np.ndarray, winner: int) -> Dethroning:
    return Dethroning(*weights.dethroner(d, w0, winner, factors(d, w0, winner)))


def lead(d: np.ndarray, w: np.ndarray, rival: int, winner: int) -> float:
    """Product by product, so that equal ones cancel exactly however large their weights."""
    pairs = [(w[i - 1] * w[i], d[:, i - 1] * d[:, i]) for i in range(len(w))]
    return float(sum(weight * (of[rival] - of[winner]) for weight, of in pairs))


def first(d: np.ndarray, w: np.ndarray) -> int:
    return int(np.argmax([around(w * model) for model in d]))


def slow_factor(d: np.ndarray, w0: np.ndarray, rival: int, winner: int) -> float:
    """Widen the box until one of its 2**n corners brings the rival level, then find where."""
    corners = list(itertools.product((-1.0, 1.0), repeat=len(w0)))

    def best(log_factor: float) -> float:
        boxes = (w0 * np.exp(log_factor * np.array(corner)) for corner in corners)
        return max(lead(d, w, rival, winner) for w in boxes)

    if best(0.0) >= -1e-12 * around(w0 * d[winner]):
        return 1.0
    high = 0.5
    while best(high) < 0:
        high *= 2
        if high > 16:
            return math.inf
    return math.exp(brentq(best, 0.0, high, xtol=1e-13))


def models(seed: int, k: int, n: int, steps: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Random models and weights, of few exact values if `steps` is a power of 2; who is first."""
    rng = np.random.default_rng(seed)
    d = rng.integers(1, steps + 1, (k, n)) / steps if steps else rng.random((k, n))
    w0 = rng.integers(1, 4, n) / 1.0 if steps else np.exp(rng.normal(0, 1, n))
    return d, w0, first(d, w0)


def test_by_hand() -> None:
    """Metrics 2 and 3 up, 1 down: .25 f**2 - .1 - .3 = 0. Only 2 up: .15 - .3 / f**2, f**2 = 2."""
    least = math.sqrt(0.4 / 0.25)
    needed = factors(HAND, ONES, 0)
    assert math.isnan(needed[0])
    assert needed[1] == pytest.approx(least, rel=1e-14)
    found = dethroner(HAND, ONES, 0)
    assert (found.factor, found.rival) == (needed[1], 1)
    assert found.weights.tolist() == pytest.approx([1 / least, least, least], rel=1e-14)
    assert around(found.weights * HAND[0]) == pytest.approx(around(found.weights * HAND[1]))


def test_alone_by_hand() -> None:
    """w1 (-.1 - .3) + .25 = 0 below; w2 (-.1 + .25) - .3 = 0 above; w3 (.25 - .3) - .1 never."""
    lower, lower_by, upper, upper_by = alone(HAND, ONES, 0)
    assert lower[0] == pytest.approx(0.25 / 0.4, rel=1e-13)
    assert upper[1] == pytest.approx(0.3 / 0.15, rel=1e-13)
    assert np.isnan(lower).tolist() == [False, True, True]
    assert np.isnan(upper).tolist() == [True, False, True]
    assert lower_by.tolist() == [1, -1, -1]
    assert upper_by.tolist() == [-1, 1, -1]


def test_a_tiny_advantage_needs_a_large_factor() -> None:
    # winner (a, a, 1), rival (1, 1, 0): 1 - a**2 = e once, -a twice: e f**2 = 2 a
    a = 1 - 2.0**-40
    d = np.array([[a, a, 1], [1, 1, 0]])
    assert factors(d, ONES, 0)[1] == pytest.approx(math.sqrt(2 * a / (1 - a * a)), rel=1e-4)
    assert dethroner(d, ONES, 0).weights.argmin() == 2


def test_level_never_and_nobody() -> None:
    d = np.array([[0.8, 0.5, 0.6], [0.5, 0.8, 0.6], [0.8, 0.5, 0.5], [0.8, 0.5, 0.6]])
    # the second ties at equal weights, the third is never above, the fourth is the same model
    assert factors(d, ONES, 0).tolist() == pytest.approx([math.nan, 1, math.inf, 1], nan_ok=True)
    found = dethroner(d, ONES, 0)
    assert (found.factor, found.rival, found.weights.tolist()) == (1.0, 1, [1, 1, 1])
    for few in (d[[0]], d[[0, 2]]):
        found = dethroner(few, ONES, 0)
        assert (found.factor, found.rival) == (math.inf, -1)
        assert np.isnan(found.weights).all()
        assert np.isnan(alone(few, ONES, 0)[0]).all()
        assert np.isnan(alone(few, ONES, 0)[2]).all()


def test_rounding_makes_no_rival() -> None:
    # .2 x .9 is .3 x .6 but for the last digit; the rest is less
    d = np.array([[0.3, 0.6, 0.1], [0.2, 0.9, 0.02]])
    assert factors(d, ONES, 0)[1] == math.inf
    assert alone(d, ONES, 0)[3].tolist() == [-1, -1, -1]


def test_level_by_rounding_is_level() -> None:
    """A mirrored model under weights that are their own mirror image: equal but for a digit."""
    rng = np.random.default_rng(2)
    digits = 0
    for _ in range(40):
        d = rng.random((1, 6)).repeat(2, axis=0)
        d[1] = d[1, ::-1]
        half = rng.random(3)
        w0 = np.concatenate([half, half[::-1]])
        digits += lead(d, w0, 1, 0) != 0
        assert factors(d, w0, 0)[1] == 1.0
        lower, lower_by, upper, upper_by = alone(d, w0, 0)
        assert lower[lower_by == 1].tolist() == w0[lower_by == 1].tolist()
        assert upper[upper_by == 1].tolist() == w0[upper_by == 1].tolist()
        assert ((lower_by == 1) ^ (upper_by == 1)).all()
    assert digits


def test_weights_of_very_different_size() -> None:
    # .25 w1 w2 - .1 w2 w3 - .3 w3 w1, of which the middle is nothing here; w1 is in both others
    d, w0 = HAND[:, ::-1], np.array([1, 1e-170, 1e-170])
    found = dethroner(d, w0, 0)
    f = math.sqrt(0.3 / 0.25)
    assert found.factor == pytest.approx(f, rel=1e-14)
    assert (found.weights / w0).tolist() == pytest.approx([1, f, 1 / f], rel=1e-14)


def test_a_metric_without_influence_keeps_its_weight() -> None:
    # metric 4 of five is next to products that are the same in both
    d = np.array([[1, 0.5, 0.5, 0.6, 0.4], [0.5, 0.9, 0.5, 0.6, 0.4]])
    w0 = np.array([1.0, 2, 1, 3, 1])
    # 5 -> 1 -> 2 -> 3: .4 w1 (w5), .5 w1 w2, .25 w2 w3 against .2, .45, .45: -.2 -.1 +.4
    w0[0] = 2.0
    # -.2 x 2 - .05 x 4 + .2 x 2 = -.2; metrics 2 and 3 up, 1 and 5 down: .4 f**4 - .2 f**2 - .4
    found = dethroner(d, w0, 0)
    assert found.factor**2 == pytest.approx((0.2 + math.sqrt(0.04 + 0.64)) / 0.8, rel=1e-12)
    f = found.factor
    assert found.weights.tolist() == pytest.approx([2 / f, 2 * f, f, 3, 1 / f])


@examples(60)
@given(seeds, st.integers(2, 4), st.integers(3, 6), st.sampled_from([0, 2, 8]), st.booleans())
def test_factors_as_all_corners(seed: int, k: int, n: int, steps: int, ray: bool) -> None:
    d, w0, winner = models(seed, k, n, steps)
    w0[seed % n] *= not ray
    winner = first(d, w0)
    expected = [slow_factor(d, w0, b, winner) if b != winner else math.nan for b in range(k)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "_RIVALS", 2 * n)
        found = factors(d, w0, winner)
    assert found.tolist() == pytest.approx(expected, rel=1e-9, nan_ok=True)
    assert factors(d, 1e200 * w0, winner).tolist() == pytest.approx(expected, rel=1e-9, nan_ok=True)


@examples(60)
@given(seeds, st.integers(2, 5), st.integers(3, 9), st.sampled_from([0, 4]))
def test_nothing_in_the_box_dethrones_and_its_corner_does(
    seed: int, k: int, n: int, steps: int
) -> None:
    d, w0, winner = models(seed, k, n, steps)
    found = dethroner(d, w0, winner)
    if found.rival < 0:
        found = Dethroning(50.0, -1, w0)  # nothing does, however far
    f, rng = found.factor, np.random.default_rng(seed)
    change = rng.uniform(-1, 1, (4000, n))
    change[::2] = np.sign(change[::2])
    w = w0 * f ** (0.999999 * change)
    scores = ((w[:, None] * d) * np.roll(w[:, None] * d, 1, axis=-1)).sum(axis=-1)
    assert np.all(scores <= scores[:, [winner]] * (1 + 1e-12))
    inside = np.abs(np.log(found.weights / w0)) <= math.log(f) * (1 + 1e-9)
    assert inside.all()
    if found.rival >= 0:
        own, other = (around(found.weights * d[model]) for model in (winner, found.rival))
        assert other >= own * (1 - 1e-12)


def test_many_metrics_against_climbing() -> None:
    """200 metrics: from random corners, turning one metric at a time never brings a rival level."""
    rng = np.random.default_rng(4)
    d, n = rng.uniform(0.5, 0.9, (50, 200)), 200
    w0 = rng.uniform(0.5, 2, n)
    winner = first(d, w0)
    found = dethroner(d, w0, winner)
    needed = factors(d, w0, winner)
    assert found.factor == np.nanmin(needed) == needed[found.rival]
    score = around(found.weights * d[winner])
    assert around(found.weights * d[found.rival]) == pytest.approx(score, rel=1e-12)
    f = found.factor * (1 - 1e-6)
    c = d * np.roll(d, -1, axis=1) - d[winner] * np.roll(d[winner], -1)
    for rival in np.argsort(needed)[:3]:
        for _ in range(3):
            w = w0 * f ** rng.choice([-1.0, 1.0], n)
            for i in [*range(n)] * 8:
                slope = w[i - 1] * c[rival, i - 1] + w[(i + 1) % n] * c[rival, i]
                w[i] = w0[i] * f ** math.copysign(1, slope)
            assert lead(d, w, rival, winner) < 0
