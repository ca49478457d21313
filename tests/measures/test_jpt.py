"""Joint probability tables: published values, and what tuning leaves alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clfeval.measures.catalog import CATALOG, measure_functions
from clfeval.measures.confusion import Confusion, f_beta
from clfeval.measures.odds import OutcomeCosts, expected_cost, net_benefit

PLAIN = measure_functions("confusion", beta=1.0)

# Nishimura's pooled rates as counts of 100 and 100: TP, FP, FN, TN
ANTI_CCP, RF = Confusion(67, 5, 33, 95), Confusion(69, 15, 31, 85)
# AML4TD Table 15.1: TP 2613, FP 564, FN 750, TN 2180
CHAPTER = Confusion(2613, 564, 750, 2180)

counts = st.integers(0, 10**6)
some = st.integers(1, 10**6)
odds = st.floats(1e-6, 1e6)
CELLS = ("tp", "fp", "fn", "tn")


def float_cells(t: Confusion) -> np.ndarray:
    return np.array([float(getattr(t, name)) for name in CELLS])


@pytest.mark.parametrize(
    ("table", "ratio", "measure", "printed", "digits"),
    [
        # sens 67/100, spec 95/100 and 69/100, 85/100; the prose's 250 and 131 for RF do not follow
        (ANTI_CCP, 1, "ppv_odds", 67 / 5, 1),
        (RF, 1, "ppv_odds", 69 / 15, 1),
        (ANTI_CCP, 1, "npv_odds", 2.87879, 5),
        (RF, 1, "npv_odds", 2.74194, 5),
        (ANTI_CCP, 1, "epa", 8.13939, 5),
        (RF, 1, "epa", 3.67097, 5),
        (ANTI_CCP, 100, "epa", 670.0144, 4),
        (RF, 100, "epa", 230.0137, 4),
        (ANTI_CCP, 1 / 100, "epa", 144.0064, 4),
        (RF, 1 / 100, "epa", 137.1198, 4),
        (ANTI_CCP, 1, "tor", 4.26316, 5),
        (RF, 1, "tor", 3.34783, 5),
        (ANTI_CCP, 100, "tor", 2.0560, 4),
        (RF, 100, "tor", 2.2424, 4),
        (ANTI_CCP, 1 / 100, "tor", 17.9493, 4),
        (RF, 1 / 100, "tor", 5.5970, 4),
        (ANTI_CCP, 1, "mcc", 0.64583, 5),
        (RF, 1, "mcc", 0.54705, 5),
        (ANTI_CCP, 1, "ic", 0.34202, 5),
        (RF, 1, "ic", 0.22995, 5),
        (ANTI_CCP, 7, "j_index", 0.62, 2),
        (RF, 7, "j_index", 0.54, 2),
        (ANTI_CCP, 7, "dor", 38.57576, 5),
        (RF, 7, "dor", 12.6129, 4),
        (ANTI_CCP, 7, "dp", 2.01380, 5),
        (RF, 7, "dp", 1.39746, 5),
    ],
)
def test_anti_ccp_and_rf(
    table: Confusion, ratio: float, measure: str, printed: float, digits: int
) -> None:
    assert round(float(PLAIN[measure](table.tuned(ratio))), digits) == round(printed, digits)


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("tar", 4793 / 6107),
        ("mcc", 0.5689680),
        ("sensitivity", 0.7769848),
        ("specificity", 0.7944606),
        ("ppv", 0.8224740),
        ("npv", 2180 / 2930),
        ("lr_pos", 3.7802241),
        ("lr_neg", 0.2807127),
        ("dor", 13.4665248),
        ("f_beta", 0.7990826),
        ("j_index", 0.5714455),
    ],
)
def test_the_chapter_s_table(measure: str, value: float) -> None:
    """AML4TD Table 15.1; its printed precision of 74.4 % is the NPV, .7440273."""
    assert float(PLAIN[measure](CHAPTER)) == pytest.approx(value, abs=6e-8)


@given(tp=some, fp=counts, fn=counts, tn=some, r=odds, s=odds)
def test_tuning_again_is_tuning_once(
    tp: int, fp: int, fn: int, tn: int, r: float, s: float
) -> None:
    t = Confusion(tp, fp, fn, tn)
    assert float_cells(t.tuned(r).tuned(s)) == pytest.approx(
        float_cells(t.tuned(s)), rel=1e-12, abs=0
    )


@given(tp=some, fp=counts, fn=counts, tn=some)
def test_normalising_and_tuning_back_is_proportional(tp: int, fp: int, fn: int, tn: int) -> None:
    t = Confusion(tp, fp, fn, tn)
    back = t.normalised().tuned((tp + fn) / (fp + tn))
    assert float_cells(back) * (tp + fp + fn + tn) == pytest.approx(
        float_cells(t), rel=1e-12, abs=0
    )
    assert float_cells(t.normalised()).sum() == pytest.approx(2, rel=1e-14)
    assert float_cells(back.per(1000)).sum() == pytest.approx(1000, rel=1e-12)


@given(tp=counts, fp=counts, fn=counts, tn=counts, r=odds)
def test_invariants_do_not_move_and_the_others_do(
    tp: int, fp: int, fn: int, tn: int, r: float
) -> None:
    assume(tp + fn and fp + tn)
    t = Confusion(tp, fp, fn, tn)
    for name, measure in PLAIN.items():
        before, after = float(measure(t)), float(measure(t.tuned(r)))
        if CATALOG[name].invariant:
            assert after == pytest.approx(before, rel=1e-9, abs=1e-9, nan_ok=True), name
    if tp and fp and fn and tn and abs(math.log(r * (fp + tn) / (tp + fn))) > 0.1:
        for name in ("ppv_odds", "npv_odds", "ppv", "npv"):
            assert float(PLAIN[name](t)) != pytest.approx(float(PLAIN[name](t.tuned(r))), rel=1e-9)


@given(tp=counts, fp=counts, fn=counts, tn=counts, r=odds)
def test_every_measure_keeps_to_its_range(tp: int, fp: int, fn: int, tn: int, r: float) -> None:
    assume(tp + fn and fp + tn)
    for name, measure in PLAIN.items():
        value = float(measure(Confusion(tp, fp, fn, tn).tuned(r)))
        if not math.isnan(value):
            assert CATALOG[name].low - 1e-12 <= value <= CATALOG[name].high + 1e-12, name


def test_no_information_is_exactly_none() -> None:
    """tp = fp: J, MCC and IC are 0 however the table is tuned, not almost 0."""
    t = Confusion(3, 30, 7, 70)
    for r in (1e-6, 0.1, 1, 3, 1e5):
        for name in ("mcc", "ic"):
            assert float(PLAIN[name](t.tuned(r))) == 0.0


def test_divisions_by_zero() -> None:
    no_fp, no_fn = Confusion(5, 0, 5, 10), Confusion(10, 5, 0, 5)
    for name in ("ppv_odds", "lr_pos", "dor", "dp", "epa"):
        assert math.isinf(PLAIN[name](no_fp)), name
    for name in ("npv_odds", "dor", "dp", "epa"):
        assert math.isinf(PLAIN[name](no_fn)), name
    assert float(PLAIN["lr_neg"](no_fn)) == 0
    assert float(PLAIN["dp"](Confusion(0, 5, 5, 5))) == -math.inf
    never = Confusion(0, 0, 10, 10)
    for name in ("ppv", "ppv_odds", "lr_pos", "mcc", "dor", "epa"):
        assert math.isnan(PLAIN[name](never)), name
    assert float(PLAIN["tor"](Confusion(5, 0, 0, 5))) == math.inf


def test_f_counts_recall_beta_times_as_much() -> None:
    """F2 = 5 TP / (5 TP + 4 FN + FP) = 5 x 6 / (30 + 4 x 2 + 3)."""
    t = Confusion(6, 3, 2, 9)
    assert float(f_beta(t, 2.0)) == pytest.approx(30 / 41, rel=1e-14)
    precision, recall = 6 / 9, 6 / 8
    assert float(f_beta(t, 0.5)) == pytest.approx(
        1.25 * precision * recall / (0.25 * precision + recall), rel=1e-14
    )
    f = float(f_beta(t, 2.0))
    assert float(measure_functions("confusion", beta=2.0)["f_odds"](t)) == pytest.approx(
        f / (1 - f), rel=1e-12
    )


def test_cost_and_net_benefit() -> None:
    """Per row of 100: (2 x 10 + 20 x 5 - 1 x 15 - 0.5 x 70) / 100."""
    t, stakes = Confusion(15, 10, 5, 70), OutcomeCosts(fp=2, fn=20, tp=1, tn=0.5)
    assert float(expected_cost(t, stakes)) == pytest.approx((20 + 100 - 15 - 35) / 100, rel=1e-14)
    exchange = (2 + 0.5) / (20 + 1)
    assert stakes.exchange == pytest.approx(exchange, rel=1e-15)
    assert stakes.probability == pytest.approx(exchange / (1 + exchange), rel=1e-15)
    assert float(net_benefit(t, stakes)) == pytest.approx((15 - exchange * 10) / 100, rel=1e-14)
    # at equal stakes the risk is one half, and net benefit counts TP - FP
    assert OutcomeCosts(1, 1).probability == 0.5
