"""One weight changed alone: where the winner is passed, by hand and on dense grids of weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.methods.mlcps.weights import alone
from tests.methods.mlcps.by_weights import around
from tests.thoroughness import examples

ONES = np.ones(3)


def scores(d: np.ndarray, w0: np.ndarray, metric: int, weight: float) -> np.ndarray:
    w = w0.copy()
    w[metric] = weight
    return np.array([around(w * model) for model in d])


def by_products(*differences: tuple[float, float, float]) -> np.ndarray:
    """Return a winner whose three products are 1/4 each, and rivals whose products differ so.

    From products p q r of metrics 1 2, 2 3, 3 1: metric 1 is sqrt(p r / q), and so on. A rival's
    lead under weights is dp w1 w2 + dq w2 w3 + dr w3 w1.
    """
    models = []
    for change in ((0, 0, 0), *differences):
        p, q, r = (0.25 + part for part in change)
        models.append([math.sqrt(p * r / q), math.sqrt(p * q / r), math.sqrt(q * r / p)])
    return np.array(models)


def lists(d: np.ndarray, w0: np.ndarray = ONES) -> list[list[float]]:
    return [part.tolist() for part in alone(d, w0, 0)]


def nearly(*bounds: float | None) -> object:
    return pytest.approx([math.nan if x is None else x for x in bounds], nan_ok=True, rel=1e-12)


def test_the_nearest_rival_counts() -> None:
    # first: .02 w1 - .04, .02 w2 - .04, .06 - .08 w3; second: .02 w1 - .08, ..., .10 - .16 w3
    lower, lower_by, upper, upper_by = lists(by_products((0.06, -0.04, -0.04), (0.1, -0.08, -0.08)))
    assert lower == nearly(None, None, 0.06 / 0.08)
    assert upper == nearly(0.04 / 0.02, 0.04 / 0.02, None)
    assert (lower_by, upper_by) == ([-1, -1, 1], [1, 1, -1])


def test_of_rivals_at_one_weight_the_steepest_leads_and_of_equal_ones_the_first() -> None:
    # as above; and .04 w1 - .08, .04 w2 - .08, .12 - .16 w3, twice
    steep = (0.12, -0.08, -0.08)
    d = by_products((0.06, -0.04, -0.04), steep, steep)
    lower, lower_by, upper, upper_by = lists(d)
    assert lower == nearly(None, None, 0.12 / 0.16)
    assert upper == nearly(0.08 / 0.04, 0.08 / 0.04, None)
    assert (lower_by, upper_by) == ([-1, -1, 2], [2, 2, -1])


def test_rivals_level_at_the_weights_pass_there() -> None:
    # leads 0 w1, .05 w2 - .05, .05 - .05 w3; the second twice as steep; the third is the winner
    d = by_products((0.05, 0, -0.05), (0.1, 0, -0.1), (0, 0, 0))
    lower, lower_by, upper, upper_by = lists(d)
    assert (lower, upper) == (nearly(None, None, 1), nearly(None, 1, None))
    assert (lower_by, upper_by) == ([-1, -1, 2], [-1, 2, -1])


def test_level_within_one_part_in_ten_to_the_twelfth_is_level() -> None:
    # .05 w2 - .05 but for 1e-14 of .75: passes at 1, not at 1 + 2e-13
    lower, _, upper, _ = lists(by_products((0.05 - 1e-14, 0, -0.05)))
    assert upper[1] == lower[2] == 1.0


def test_a_rest_that_cancels_but_for_rounding_is_no_passing() -> None:
    """Without metric 1 the rival is the winner mirrored, which is level and no more."""
    rng, digits = np.random.default_rng(5), 0
    for _ in range(40):
        d = np.hstack([[[0.9], [0.5]], rng.random((1, 5)).repeat(2, axis=0)])
        d[1, 1:] = d[1, :0:-1]
        rests = d[:, 1:-1] * d[:, 2:]
        digits += rests[1].sum() > rests[0].sum()
        assert alone(d, np.ones(6), 0)[1][0] == -1
    assert digits


def test_level_only_at_weight_zero_is_no_passing() -> None:
    # with w3 = 0 only the first product counts, and it is the same in both
    d = np.array([[0.5, 0.8, 0.9], [0.8, 0.5, 0.4]])
    assert lists(d)[1] == [-1, -1, -1]
    # a little more in that product, and the second leads below some weight
    d[1, 0] = 0.81
    # differences .405 - .4, .2 - .72, .324 - .45: .005 = w3 (.52 + .126)
    lower, lower_by, _, _ = lists(d)
    assert lower[2] == pytest.approx(0.005 / 0.646)
    assert lower_by[2] == 1


def test_a_ray_of_weight_zero_can_grow_but_not_shrink() -> None:
    # the third metric does not count yet: .15 behind, and .36 + .28 to win by it
    w0 = np.array([1.0, 1, 0])
    # products .48 .12 .16 and .33 .48 .44
    d = np.array([[0.8, 0.6, 0.2], [0.55, 0.6, 0.8]])
    lower, lower_by, upper, upper_by = lists(d, w0)
    assert (lower, upper) == (nearly(None, None, None), nearly(None, None, 0.15 / 0.64))
    assert (lower_by, upper_by) == ([-1, -1, -1], [-1, -1, 1])
    # level, and better in what does not count yet: passes at 0
    lower, _, upper, upper_by = lists(np.array([[0.8, 0.6, 0.2], [0.6, 0.8, 0.8]]), w0)
    assert (lower, upper) == (nearly(None, None, None), nearly(None, None, 0))
    assert upper_by[2] == 1


def test_scaled_weights_scale_the_bounds() -> None:
    rng = np.random.default_rng(9)
    d, w0 = rng.random((6, 5)), rng.random(5)
    winner = int(np.argmax([around(w0 * model) for model in d]))
    plain, large = alone(d, w0, winner), alone(d, 1e190 * w0, winner)
    assert not np.isnan(plain[0]).all()
    for part in (0, 2):
        assert (large[part] / 1e190).tolist() == pytest.approx(plain[part].tolist(), nan_ok=True)
        assert large[part + 1].tolist() == plain[part + 1].tolist()


@examples(100)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(3, 7), st.sampled_from([0, 4]),
    st.booleans(),
)  # fmt: skip
def test_as_a_grid_of_weights(seed: int, k: int, n: int, steps: int, ray: bool) -> None:
    """Between the bounds nobody leads; just beyond, the rival named; without a bound, nobody."""
    rng = np.random.default_rng(seed)
    d = rng.integers(1, steps + 1, (k, n)) / steps if steps else rng.random((k, n))
    w0 = rng.integers(1, 4, n).astype(float)
    w0[seed % n] *= not ray
    winner = int(np.argmax([around(w0 * model) for model in d]))
    lower, lower_by, upper, upper_by = alone(d, w0, winner)
    for i in range(n):
        low, high = np.nan_to_num(lower[i], nan=0.0), np.nan_to_num(upper[i], nan=1e5)
        far = w0[i] + np.geomspace(1e-6, 1, 40) * (high - w0[i])
        for weight in np.concatenate([np.linspace(low, w0[i], 30), far]):
            reached = scores(d, w0, i, weight)
            assert reached.max() <= reached[winner] * (1 + 1e-12)
        beyond = {(lower[i], lower_by[i]): 1 - 1e-5, (upper[i], upper_by[i]): 1 + 1e-5}
        for (bound, by), step in beyond.items():
            assert np.isnan(bound) == (by == -1)
            if by >= 0:
                reached = scores(d, w0, i, bound * step or 1e-5)
                assert reached[by] > reached[winner]
                assert reached[by] >= reached.max() * (1 - 1e-4)
