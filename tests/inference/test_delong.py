"""The area under the ROC curve and its interval against every pair of rows and scikit-learn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from clfeval.inference.rank_statistics import (
    BORDER,
    LOGIT,
    OUTER,
    TIED,
    TOO_FEW,
    AucInterval,
    delong_auc,
)
from tests.texts import check_text
from tests.thoroughness import examples

LEVELS = [0.5, 0.9, 0.95, 0.999]
weights = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12).filter(
    lambda rows: any(p for p, _ in rows) and any(n for _, n in rows)
)


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array(rows).T)


def repeated(weight: np.ndarray) -> np.ndarray:
    """Return one score per row: the place in the order of the scores."""
    return np.repeat(np.arange(len(weight)), weight)


def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 1, 1/2 or 0 for every pair of a positive's score x and a negative's score y."""
    return (x[:, None] > y) + (x[:, None] == y) / 2


def by_pairs(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the area and the variance as DeLong et al. write them, over all pairs."""
    table = kernel(x, y)
    v10, v01 = table.mean(axis=1), table.mean(axis=0)
    return float(table.mean()), float(v10.var(ddof=1) / len(x) + v01.var(ddof=1) / len(y))


@examples(200)
@given(weights, st.sampled_from(LEVELS))
def test_area_and_variance_against_all_pairs(rows: list[tuple[int, int]], level: float) -> None:
    pos, neg = columns(rows)
    result = delong_auc(pos, neg, level=level)
    x, y = repeated(pos), repeated(neg)
    exact = sum(Fraction(int(2 * v), 2) for v in kernel(x, y).ravel()) / (len(x) * len(y))
    assert result.value == float(exact)
    assert result.value == pytest.approx(roc_auc_score([1] * len(x) + [0] * len(y), [*x, *y]))
    if min(len(x), len(y)) > 1:
        assert result.variance == pytest.approx(by_pairs(x, y)[1], rel=1e-12, abs=1e-30)
    else:
        assert math.isnan(result.variance)
    if not math.isnan(result.low):
        assert 0 <= result.low <= result.value <= result.high <= 1


def on_the_logit(pos: np.ndarray, neg: np.ndarray, level: float) -> tuple[float, float]:
    area, variance = by_pairs(repeated(pos), repeated(neg))
    middle = math.log(area / (1 - area))
    reach = norm.ppf((1 + level) / 2) * math.sqrt(variance) / (area * (1 - area))
    low, high = (1 / (1 + math.exp(-(middle + sign * reach))) for sign in (-1, 1))
    return low, high


many = st.lists(st.tuples(st.integers(3, 9), st.integers(3, 9)), min_size=10, max_size=12)


@given(many)
def test_the_interval_is_symmetric_on_the_logit(rows: list[tuple[int, int]]) -> None:
    pos, neg = columns(rows)
    result = delong_auc(pos, neg, level=0.9)
    assert result.method == LOGIT
    assert (result.low, result.high) == pytest.approx(on_the_logit(pos, neg, 0.9), rel=1e-10)


@examples(50)
@given(weights, st.sampled_from(LEVELS))
def test_few_rows_have_the_outer_of_two_limits(rows: list[tuple[int, int]], level: float) -> None:
    pos, neg = columns(rows)
    result = delong_auc(pos, neg, level=level)
    assume(result.method == OUTER)
    p, n, value = int(pos.sum()), int(neg.sum()), result.value

    def beyond(area: float) -> float:
        """Newcombe's variance as the paper writes it, N* in place of P - 1 and N - 1."""
        star = (p + n) / 2 - 1
        q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
        extra = star * (q1 - area**2) + star * (q2 - area**2)
        variance = (area * (1 - area) + extra) / (p * n)
        return (value - area) ** 2 - norm.ppf((1 + level) / 2) ** 2 * variance

    score = brentq(beyond, 0, value, xtol=1e-15), brentq(beyond, value, 1, xtol=1e-15)
    logit = on_the_logit(pos, neg, level)
    assert result.low == pytest.approx(min(score[0], logit[0]), rel=1e-9)
    assert result.high == pytest.approx(max(score[1], logit[1]), rel=1e-9)


@pytest.mark.parametrize(("few", "method"), [(29, OUTER), (30, LOGIT)])
def test_thirty_rows_of_each_class_are_enough(few: int, method: str) -> None:
    rng = np.random.default_rng(5)
    scores = np.concatenate([rng.normal(0.5, 1, few), rng.normal(0, 1, 200)])
    first = np.argsort(scores) < few
    assert delong_auc(first, ~first, level=0.95).method == method
    assert delong_auc(~first, first, level=0.95).method == method


@pytest.mark.parametrize(("lost", "method"), [(3, OUTER), (13, LOGIT)])
def test_three_standard_errors_from_the_end_are_enough(lost: int, method: str) -> None:
    """Of 100 positives some lie below all of 100 negatives: area 1 - f, variance f (1 - f) / 99."""
    result = delong_auc([lost, 0, 100 - lost], [0, 100, 0], level=0.95)
    f = lost / 100
    assert result.value == pytest.approx(1 - f, rel=1e-15)
    assert result.variance == pytest.approx(f * (1 - f) / 99, rel=1e-12)
    assert (f < 3 * math.sqrt(f * (1 - f) / 99)) == (method == OUTER)
    assert result.method == method


@given(weights, st.sampled_from(LEVELS))
def test_turning_scores_or_classes_mirrors_the_interval(
    rows: list[tuple[int, int]], level: float
) -> None:
    pos, neg = columns(rows)
    result = delong_auc(pos, neg, level=level)
    for turned in (
        delong_auc(pos[::-1], neg[::-1], level=level),
        delong_auc(neg, pos, level=level),
    ):
        assert turned.value == pytest.approx(1 - result.value, abs=1e-15)
        assert turned.method == result.method
        mirrored = pytest.approx((1 - result.high, 1 - result.low), abs=1e-12, nan_ok=True)
        assert (turned.low, turned.high) == mirrored


@pytest.mark.parametrize(("p", "n"), [(1, 1), (1, 7), (5, 3), (40, 1000)])
@pytest.mark.parametrize("level", LEVELS)
def test_perfect_orders_have_an_exact_bound(p: int, n: int, level: float) -> None:
    """The chance of min(p, n) ordered pairs without a row in common is bound ** min(p, n)."""
    variance = 0.0 if min(p, n) > 1 else math.nan
    best = delong_auc([0, p], [n, 0], level=level)
    assert best == AucInterval(1.0, best.low, 1.0, best.variance, BORDER)
    assert best.low ** min(p, n) == pytest.approx((1 - level) / 2)
    worst = delong_auc([p, 0, 0], [0, 0, n], level=level)
    assert (worst.value, worst.low, worst.high) == (0, 0, pytest.approx(1 - best.low))
    assert best.variance == pytest.approx(variance, nan_ok=True)
    assert worst.variance == pytest.approx(variance, nan_ok=True)


@pytest.mark.parametrize(("p", "n"), [(1, 1), (1, 7), (5, 3), (40, 1000)])
def test_equal_scores_have_an_area_of_a_half_in_every_sample_and_no_interval(
    p: int, n: int
) -> None:
    result = delong_auc([0, p, 0], [0, n, 0], level=0.9)
    assert (result.value, result.method) == (0.5, TIED)
    assert np.isnan([result.low, result.high]).all()


def test_one_row_of_a_class_has_no_variance() -> None:
    for pos, neg in (([0, 1, 0], [3, 0, 2]), ([3, 0, 2], [0, 1, 0])):
        result = delong_auc(pos, neg, level=0.95)
        assert result.value == pytest.approx(0.6 if sum(neg) == 5 else 0.4)
        assert np.isnan([result.low, result.high, result.variance]).all()
        assert result.method == TOO_FEW


@pytest.mark.parametrize("scale", [10**6, 10**9, 10**12, 10**17])
def test_huge_weights(scale: int) -> None:
    pos, neg = np.array([1, 0, 3, 2, 5]), np.array([4, 2, 3, 1, 0])
    small = delong_auc(pos, neg, level=0.95)
    large = delong_auc(pos * scale, neg * scale, level=0.95)
    assert large.value == pytest.approx(small.value, rel=1e-15)
    # s² has the denominator scale P in place of P - 1: 11 and 10 rows
    x, y = repeated(pos), repeated(neg)
    table = kernel(x, y)
    expected = table.mean(axis=1).var() / 11 + table.mean(axis=0).var() / 10
    assert large.variance * scale == pytest.approx(expected, rel=1e-5)
    assert large.low < large.value < large.high


def test_huge_weights_at_the_border() -> None:
    """Odd numbers this large are no floats: a rounding error must not pass for a lost pair."""
    odd = 2**60 + 1
    for pos, neg in (([0, odd, odd], [odd, 0, 0]), ([odd, 0, 0], [0, 1, odd])):
        result = delong_auc(pos, neg, level=0.95)
        assert result.value in (0, 1)
        assert result.method == BORDER


@pytest.mark.parametrize(
    ("pos", "neg"),
    [
        ([0, 0], [1, 2]),
        ([1, 2], [0, 0]),
        ([], []),
        ([1, 2], [1, 2, 3]),
        ([1, -1], [1, 1]),
        ([1, 0.5], [1, 1]),
        ([1, math.nan], [1, 1]),
        ([[1]], [[1]]),
    ],
)
def test_what_is_refused(pos: list[float], neg: list[float]) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        delong_auc(pos, neg, level=0.95)
    check_text(str(caught.value))


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="level"):
        delong_auc([1, 2], [2, 1], level=1.0)
