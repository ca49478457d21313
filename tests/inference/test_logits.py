"""Log and logit intervals against the paper's formulas, statsmodels, and exact coverage."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import Table2x2
from statsmodels.stats.proportion import confint_proportions_2indep

from clfeval.inference.distributions import critical_value
from clfeval.inference.proportions import (
    has_unreliable_error,
    odds_ratio,
    predictive_value,
    rate_ratio,
)
from tests.inference.floats import floats_of

pytestmark = pytest.mark.filterwarnings("error")

LEVELS = [0.5, 0.9, 0.95, 0.999]
# Kuhn and Johnson, Applied Machine Learning for Tabular Data, Table 15.1
TP, FP, FN, TN = 2613, 564, 750, 2180
P, N = TP + FN, FP + TN
cells = st.tuples(*[st.integers(1, 10**6)] * 4)
counts = st.tuples(*[st.integers(0, 50)] * 4)


def test_the_book() -> None:
    """Chapter 15: PPV and NPV at a prevalence of 55.5 %, and Mercaldo's 90 % interval."""
    ppv = floats_of(predictive_value(TP, P, FP, N, 0.555 / 0.445, level=0.9))
    assert ppv == pytest.approx((0.8250115, 0.8156427, 0.8340011), abs=5e-8)
    npv = floats_of(predictive_value(TN, N, FN, P, 0.445 / 0.555, level=0.9))
    assert npv[0] == pytest.approx(0.7406846, abs=5e-8)
    assert floats_of(rate_ratio(TP, P, FP, N, level=0.9))[0] == pytest.approx(3.7802241, abs=5e-8)
    assert floats_of(rate_ratio(FN, P, TN, N, level=0.9))[0] == pytest.approx(0.2807127, abs=5e-8)
    assert floats_of(odds_ratio(TP, FP, FN, TN, level=0.9))[0] == pytest.approx(
        13.4665248, abs=5e-8
    )


def mercaldo(tp: int, fp: int, fn: int, tn: int, prevalence: float, z: float) -> list[list[float]]:
    """Return PPV and NPV with limits in the words of the paper: sensitivity and specificity."""
    n1, n0 = tp + fn, fp + tn
    se, sp, p = tp / n1, tn / n0, prevalence
    logits = (
        (math.log(p * se / ((1 - p) * (1 - sp))), (1 - se) / se / n1 + sp / (1 - sp) / n0),
        (math.log((1 - p) * sp / (p * (1 - se))), se / (1 - se) / n1 + (1 - sp) / sp / n0),
    )
    return [
        [1 / (1 + math.exp(-(logit + side * z * math.sqrt(v)))) for side in (0, -1, 1)]
        for logit, v in logits
    ]


@given(cells, st.floats(0.001, 0.999), st.sampled_from(LEVELS))
def test_mercaldo(cells: tuple[int, int, int, int], prevalence: float, level: float) -> None:
    tp, fp, fn, tn = cells
    odds = prevalence / (1 - prevalence)
    ppv, npv = mercaldo(*cells, prevalence, critical_value(level))
    mine = floats_of(predictive_value(tp, tp + fn, fp, fp + tn, odds, level=level))
    assert mine == pytest.approx(ppv, rel=1e-9)
    mine = floats_of(predictive_value(tn, fp + tn, fn, tp + fn, 1 / odds, level=level))
    assert mine == pytest.approx(npv, rel=1e-9)


@given(cells, st.sampled_from(LEVELS))
def test_ratios_against_statsmodels(cells: tuple[int, int, int, int], level: float) -> None:
    tp, fp, fn, tn = cells
    table = Table2x2([[tp, fn], [fp, tn]])
    expected = (table.riskratio, *table.riskratio_confint(1 - level))
    assert floats_of(rate_ratio(tp, tp + fn, fp, fp + tn, level=level)) == pytest.approx(expected)
    expected = confint_proportions_2indep(
        tp, tp + fn, fp, fp + tn, compare="ratio", method="log", alpha=1 - level
    )
    assert floats_of(rate_ratio(tp, tp + fn, fp, fp + tn, level=level))[1:] == pytest.approx(
        expected
    )
    expected = (table.oddsratio, *table.oddsratio_confint(1 - level))
    assert floats_of(odds_ratio(tp, fp, fn, tn, level=level)) == pytest.approx(expected)


def share(part: Fraction, whole: Fraction) -> float:
    """Return part / whole, where 0/0 is undefined and anything else over 0 infinite."""
    if whole == 0:
        return math.nan if part == 0 else math.inf
    return float(part / whole)


@given(counts, st.fractions(Fraction(1, 1000), 1000))
def test_every_value_is_right_and_limits_need_four_cells(
    table: tuple[int, int, int, int], odds: Fraction
) -> None:
    tp, fp, fn, tn = table
    p, n = tp + fn, fp + tn
    full = all(table)
    for result, expected in (
        (rate_ratio(tp, p, fp, n, level=0.9), share(Fraction(tp * n), Fraction(fp * p))),
        (odds_ratio(tp, fp, fn, tn, level=0.9), share(Fraction(tp * tn), Fraction(fp * fn))),
        (
            predictive_value(tp, p, fp, n, float(odds), level=0.9),
            share(odds * tp * n, odds * tp * n + fp * p),
        ),
    ):
        value, low, high = floats_of(result)
        assert value == pytest.approx(expected, rel=5e-16, abs=0, nan_ok=True)
        assert math.isnan(low) == math.isnan(high) == (not full)
        if full:
            assert 0 < low < value < high < math.inf


@pytest.mark.parametrize("odds", [Fraction(1, 10**15), Fraction(1), Fraction(10**15)])
@pytest.mark.parametrize("k2", [1, 10**9 - 1])
def test_no_digits_are_lost_next_to_0_and_1(odds: Fraction, k2: int) -> None:
    k1, n = 999_999_999, 10**9
    x, y = odds * k1 * n, Fraction(k2 * n)
    reach = Fraction(math.exp(critical_value(0.95) * math.sqrt((n - k2) / n / k2 + 1 / n / k1)))
    expected = [x / (x + y), x / (x + y * reach), x / (x + y / reach)]
    mine = predictive_value(k1, n, k2, n, float(odds), level=0.95)
    assert floats_of(mine) == pytest.approx([float(e) for e in expected], rel=1e-15, abs=0)


def test_extreme_odds_and_widths() -> None:
    assert floats_of(predictive_value(1, 2, 1, 2, 0, level=0.9)) == (0, 0, 0)
    assert floats_of(predictive_value(1, 2, 1, 2, math.inf, level=0.9)) == (1, 1, 1)
    assert floats_of(predictive_value(1, 2, 1, 2, 1e-300, level=0.9))[0] == pytest.approx(1e-300)
    assert floats_of(predictive_value(1, 2, 1, 2, 1e300, level=0.9))[0] == 1
    assert np.isnan(floats_of(predictive_value(1, 2, 1, 2, math.nan, level=0.9))).all()
    # a tenth of a millionth of a hit: the interval is all there is
    assert floats_of(rate_ratio(1e-7, 1, 1, 2, level=0.9)) == pytest.approx((2e-7, 0, math.inf))
    assert floats_of(predictive_value(1e-7, 1, 1, 2, 1, level=0.9))[1:] == (0, 1)


def test_arrays_and_what_is_refused() -> None:
    odds = np.array([[0.1], [1], [10]])
    result = predictive_value([8, 5], 10, [1, 0], [20, 20], odds, level=0.95)
    assert all(part.shape == (3, 2) for part in result)
    alone = predictive_value(8, 10, 1, 20, 10, level=0.95)
    assert tuple(part[2, 0] for part in result) == floats_of(alone)
    assert all(isinstance(part, np.ndarray) for part in alone)
    for bad in ((-1, 2, 1, 2), (3, 2, 1, 2), (1, 2, -1, 2), (1, 2, 3, 2)):
        with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
            rate_ratio(*bad, level=0.95)
        with pytest.raises(ValueError, match=r"\b0\b.*\bn\b"):
            predictive_value(*bad, 1, level=0.95)
    with pytest.raises(ValueError, match="odds"):
        predictive_value(1, 2, 1, 2, -1, level=0.95)
    with pytest.raises(ValueError, match="negative"):
        odds_ratio(1, 2, -1, 2, level=0.95)
    for level in (0, 1, 95, math.nan):
        with pytest.raises(ValueError, match="level"):
            rate_ratio(1, 2, 1, 2, level=level)


@pytest.mark.parametrize(
    ("k", "n", "expected"),
    [
        (15, 29, True),  # fewer than 30 rows
        (15, 30, False),
        (6, 30, True),  # .2 < 3 sqrt(.2 .8 / 30) = .2191
        (7, 30, False),  # .2333 > 3 sqrt(.2333 .7667 / 30) = .2316
        (23, 30, False),
        (24, 30, True),
        (0, 1000, True),
        (1000, 1000, True),
        (8, 1000, True),  # .008 < 3 sqrt(.008 .992 / 1000) = .00845
        (9, 1000, False),  # .009 > 3 sqrt(.009 .991 / 1000) = .00896
    ],
)
def test_an_error_is_unsure_of_few_rows_and_next_to_an_end(k: int, n: int, expected: bool) -> None:
    assert bool(has_unreliable_error(k, n)) is expected
    assert bool(has_unreliable_error([k, 50], [n, 100])[0]) is expected
