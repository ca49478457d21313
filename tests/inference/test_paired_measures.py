"""Differences of estimates against Newcombe, and slopes of measures against analytic ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.inference.influence_and_clusters import measure_difference
from clfeval.inference.region_intervals import partial_derivatives
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import phi_delta
from tests.inference.floats import floats_of

pytestmark = pytest.mark.filterwarnings("error")

Numbers = tuple[float, ...]
Arrays = tuple[np.ndarray, ...]
INF, NAN = math.inf, math.nan
estimate = st.lists(st.floats(-100, 100), min_size=3, max_size=3).map(
    lambda x: (sorted(x)[1], min(x), max(x))
)


def at_rates(name: str, tp: Any, fp: Any, p: Any) -> Any:
    return CATALOG[name].function(Confusion.from_prevalence(tp, fp, p))


# differences


def test_differences_by_hand() -> None:
    """5 (2..9) less 1 (0..5): 3 down and 4 of the other up; 4 up and 1 of the other down."""
    first, second = (5, 2, 9), (1, 0, 5)
    assert floats_of(measure_difference(*first, *second, 0)) == pytest.approx(
        (4, 4 - 5, 4 + math.sqrt(17))
    )
    assert floats_of(measure_difference(*first, *second, 1)) == pytest.approx((4, 4 - 1, 4 + 3))
    assert floats_of(measure_difference(*first, *second, -1)) == pytest.approx((4, 4 - 7, 4 + 5))
    # rho = 1/2: 9 - 12 + 16 = 13 and 16 - 4 + 1 = 13
    expected = (4, 4 - math.sqrt(13), 4 + math.sqrt(13))
    assert floats_of(measure_difference(*first, *second, 0.5)) == pytest.approx(expected)


@given(estimate, estimate, st.floats(-1, 1))
def test_what_holds_of_every_difference(first: Numbers, second: Numbers, rho: float) -> None:
    value, low, high = floats_of(measure_difference(*first, *second, rho))
    assert value == first[0] - second[0]
    assert first[1] - second[2] <= low <= value <= high <= first[2] - second[1]
    assert floats_of(measure_difference(*second, *first, rho)) == pytest.approx(
        (-value, -high, -low)
    )
    looser = floats_of(measure_difference(*first, *second, (rho - 1) / 2))
    assert looser[1] <= low + 1e-12
    assert high <= looser[2] + 1e-12


def test_the_same_estimate_twice() -> None:
    """At rho = 1 the legs lie on one another: what is left is how much they differ."""
    assert floats_of(measure_difference(3, 1, 5, 3, 1, 5, 1)) == (0, 0, 0)
    assert floats_of(measure_difference(3, 2, 6, 3, 2, 6, 1)) == (0, 1 - 3, 3 - 1)


def test_infinite_limits_and_values() -> None:
    expected = {
        (3, 1, INF, 2, 1, 4, 0): (1, 1 - math.sqrt(8), INF),
        (3, 1, 5, 2, 1, INF, 0): (1, -INF, 1 + math.sqrt(5)),
        (3, 1, INF, 2, 1, INF, 1): (1, -INF, INF),
        (3, -INF, INF, 2, -INF, INF, 1): (1, -INF, INF),
        (INF, 1, INF, 2, 1, 4, 0): (INF, NAN, INF),
        (3, 1, 5, INF, 1, INF, 0): (-INF, -INF, NAN),
        (-INF, -INF, 5, 2, 1, 4, 0.5): (-INF, -INF, NAN),
        (INF, 1, INF, INF, 1, INF, 1): (NAN, NAN, NAN),
        (3, 1, 1e300, 2, 1, 4, 0.5): (1, 1 - 2, 1e300),
        (3, 4, 5, 2, 1, 1.5, 0): (1, 1, 1 + math.sqrt(5)),  # both miss their value
    }
    result = measure_difference(*np.array(list(expected)).T)
    np.testing.assert_allclose(np.array(result).T, list(expected.values()), rtol=1e-12)


def test_unknown_arguments_and_wrong_ones() -> None:
    whole = [3.0, 1, 5, 2, 1, 4, 0.5]
    for place in range(7):
        value, low, high = floats_of(measure_difference(*whole[:place], NAN, *whole[place + 1 :]))
        assert math.isnan(low)
        assert math.isnan(high)
        assert math.isnan(value) == (place in (0, 3))
    assert measure_difference([[3], [4]], 1, 5, [2, 2, 2], 1, 4, 0.5)[1].shape == (2, 3)
    for args in ((3, 5, 1, 2, 1, 4, 0), (3, 1, 5, 2, 4, 1, 0)):
        with pytest.raises(ValueError, match="low"):
            measure_difference(*args)
    with pytest.raises(ValueError, match="correlation"):
        measure_difference(3, 1, 5, 2, 1, 4, 1.1)


# slopes


def precision_slopes(t: float, f: float, p: np.ndarray) -> Arrays:
    n, said = 1 - p, p * t + (1 - p) * f
    return p * n * f / said**2, -p * n * t / said**2


def f1_slopes(t: float, f: float, p: np.ndarray) -> Arrays:
    n, whole = 1 - p, p * (1 + t) + (1 - p) * f
    return 2 * p * (p + n * f) / whole**2, -2 * p * n * t / whole**2


def mcc_slopes(t: float, f: float, p: np.ndarray) -> Arrays:
    n, said = 1 - p, p * t + (1 - p) * f
    factor, pull = np.sqrt(p * n / (said * (1 - said))), (t - f) / 2 * (1 / said - 1 / (1 - said))
    return factor * (1 - p * pull), factor * (-1 - n * pull)


ANALYTIC = [
    (partial(at_rates, "precision"), precision_slopes),
    (partial(at_rates, "f1"), f1_slopes),
    (partial(at_rates, "mcc"), mcc_slopes),
    (partial(at_rates, "accuracy"), lambda t, f, p: (p, -(1 - p))),
]
Measure = Callable[..., np.ndarray]


@pytest.mark.parametrize(("measure", "exact"), ANALYTIC)
def test_slopes_against_analytic_ones(measure: Measure, exact: Measure) -> None:
    p = np.array([0.001, 0.01, 0.1, 0.5, 0.9, 0.99])
    for t in (1e-4, 0.01, 0.3, 0.7, 0.99, 0.9999, 1):
        for f in (0, 1e-4, 0.003, 0.2, 0.7, 0.9999):
            mine = partial_derivatives(lambda tp, fp: measure(tp, fp, p), t, f)
            expected = np.broadcast_arrays(*exact(t, f, p))
            # a slope of 1e-6 is lost in the rounding of values near 1
            np.testing.assert_allclose(mine, expected, rtol=1e-6, atol=1e-11)


def test_slopes_on_any_scale_at_a_border() -> None:
    """1 / (1 + x/s) at 0 has the slope -1/s."""
    s = 10.0 ** -np.arange(0, 10)
    mine = partial_derivatives(lambda tp, fp: 1 / (1 + tp / s) + 1 / (1 + (1 - fp) / s), 0, 1)
    np.testing.assert_allclose(mine, (-1 / s, 1 / s), rtol=1e-6)


def test_slopes_of_a_measure_that_short_steps_round_away() -> None:
    """Mutual information: p (log2(tp/fn) - log2(said/denied)); p log2(1/p) where nothing is said.

    Its terms cancel to 1e-12, and by steps below 1e-9 the sums of their rests double or vanish.
    """
    t, p = 1 - 1e-6, 1 - 1e-6
    mine, _ = partial_derivatives(lambda tp, fp: at_rates("mutual_information", tp, fp, p), t, 1)
    exact = p * (math.log2(t / (1 - t)) - math.log2((p * t + 1 - p) / (p * (1 - t))))
    assert float(mine) == pytest.approx(exact, rel=1e-3)
    p = 1e-6
    mine, _ = partial_derivatives(lambda tp, fp: at_rates("mutual_information", tp, fp, p), 0, 0)
    assert float(mine) == pytest.approx(p * math.log2(1 / p), rel=1e-3)


@pytest.mark.parametrize(
    ("measure", "tp", "fp"),
    [
        (lambda tp, fp: tp / fp, 0.5, 0),
        (lambda tp, fp: np.sqrt(tp) + fp**0, 0, 0.5),
        (lambda tp, fp: tp * NAN, 0.3, 0.2),
        (lambda tp, fp: at_rates("precision", tp, fp, 0.3), 0, 0),
        (lambda tp, fp: 0 * tp + 7.0, 0.3, 0.2),
        (lambda tp, fp: at_rates("mutual_information", tp, fp, 0.3), 0.4, 0.4),
        (lambda tp, fp: tp + fp, NAN, NAN),
    ],
    ids=["infinite value", "infinite", "NaN", "0/0", "constant", "flat", "no rates"],
)
def test_what_has_no_slope_has_0(measure: Measure, tp: float, fp: float) -> None:
    assert floats_of(partial_derivatives(measure, tp, fp)) == (0, 0)


@pytest.mark.parametrize("rates", [(-0.1, 0.5), (0.5, 1.1)])
def test_rates_that_are_none_are_refused(rates: Numbers) -> None:
    with pytest.raises(ValueError, match="rate"):
        partial_derivatives(lambda tp, fp: phi_delta(tp, fp)[1], *rates)


def test_every_element_by_itself() -> None:
    odds = np.array([[0.01], [1], [100]])
    tp, fp = np.array([0, 0.3, 0.9999, 1]), np.array([0.5, 0, 1e-5, 1])
    together = partial_derivatives(lambda t, f: at_rates("mcc", t, f, odds / (1 + odds)), tp, fp)
    assert together[0].shape == together[1].shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        p = odds[i, 0] / (1 + odds[i, 0])
        alone = partial_derivatives(lambda t, f, p=p: at_rates("mcc", t, f, p), tp[j], fp[j])
        assert floats_of(alone) == (together[0][i, j], together[1][i, j])
