"""Intervals of measures: each against its formula or another program, and what all must keep to."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import clfeval
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import CATALOG
from tests.limits import wilson_of_statsmodels
from tests.methods.tune_jpt.reference import MEASURES, Cells, four
from tests.results import Line, rows_of
from tests.thoroughness import examples

Limits = tuple[float, float]

count = st.one_of(st.just(0), st.just(1), st.integers(0, 30), st.integers(0, 10**5))
tables = st.builds(Cells, count, count, count, count).filter(
    lambda cells: cells.positives and cells.negatives
)
odds = st.sampled_from(["1:1000000", "1:100", "3:7", "2:1", "10000:1", "1000000:1"])

FULL = (Cells(67, 5, 33, 95), Cells(2613, 564, 750, 2180), Cells(1, 1, 1, 1), Cells(3, 40, 1, 2))
EMPTY = (Cells(9, 0, 3, 20), Cells(0, 4, 6, 5), Cells(8, 3, 0, 11), Cells(7, 5, 2, 0))
# enough rows, and rates far enough from 0 and 1, for limits on the logit and log scales
MANY = (Cells(69, 15, 31, 85), Cells(2613, 564, 750, 2180), Cells(15, 21, 15, 9))
FEW = (Cells(67, 5, 33, 95), Cells(3, 40, 1, 2), Cells(5, 5, 1, 49), Cells(14, 20, 15, 80))
PREDICTIVE = ["ppv", "npv", "ppv_odds", "npv_odds"]
TWINS = {"tor": "tar", "ppv_odds": "ppv", "npv_odds": "npv", "f_odds": "f_beta"}


def rows_of_populations(cells: Cells, **options: Any) -> list[Line]:
    """Return the rows of all populations of tuned counts."""
    options = {"measure": "cost:fp=1,fn=9", "sweep": None, "prevalence": "1:50"} | options
    return rows_of(clfeval.tune_jpt(counts=four(cells), **options), "models")


def row_at(cells: Cells, population: str, **options: Any) -> Line:
    """Return the row of a population of tuned counts."""
    (row,) = (
        row for row in rows_of_populations(cells, **options) if row["population"] == population
    )
    return row


def limits_or_infinity(cell: Estimate) -> Limits:
    """Return the limits, infinite where there is none."""
    return (
        -math.inf if cell.low is None else cell.low,
        math.inf if cell.high is None else cell.high,
    )


def value_or_infinity(cell: Estimate) -> float | None:
    """Return the value, infinite where that is the reason for none."""
    infinite = {"infinite": math.inf, "minus_infinite": -math.inf}
    return infinite.get(str(cell.reason)) if cell.value is None else cell.value


def are_close(limits: Limits, expected: Limits, rel: float = 1e-8) -> bool:
    return all(
        a == pytest.approx(b, rel=rel, abs=1e-13) for a, b in zip(limits, expected, strict=True)
    )


def counts(cells: Cells) -> tuple[int, int, int, int]:
    """Return TP, P, FP, N."""
    return int(cells.tp), int(cells.positives), int(cells.fp), int(cells.negatives)


@examples(10)
@given(cells=tables, odds=odds, level=st.sampled_from([0.5, 0.9, 0.99]))
def test_limits_hold_their_value_and_keep_to_the_range(
    cells: Cells, odds: str, level: float
) -> None:
    narrow, wide = (
        rows_of_populations(cells, prevalence=odds, level=each) for each in (level, 0.999)
    )
    for row, wide_row in zip(narrow, wide, strict=True):
        for name in (*MEASURES, "expected_cost", "net_benefit"):
            middle = value_or_infinity(row[name])
            if middle is None:
                assert row[name] == Estimate(None, reason=row[name].reason), name
                continue
            low, high = limits_or_infinity(row[name])
            assert CATALOG[name].low <= low <= middle <= high <= CATALOG[name].high, name
            below, above = limits_or_infinity(wide_row[name])
            slack = 1e-9 * max(abs(x) for x in (low, high) if math.isfinite(x))
            assert below <= low + slack, name
            assert above >= high - slack, name


@pytest.mark.parametrize("cells", [*FULL, *EMPTY], ids=str)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_shares_of_counted_rows_are_exact(cells: Cells, level: float) -> None:
    """Clopper-Pearson, with statsmodels: sensitivity and specificity everywhere."""
    tp, fp, fn, tn = four(cells)
    share = {
        "sensitivity": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "tar": (tp + tn, tp + fp + fn + tn),
        "ppv": (tp, tp + fp),
        "npv": (tn, tn + fn),
    }
    for row in rows_of_populations(cells, level=level, measure=list(share)):
        for name, (k, n) in share.items():
            if row["population"] == "sample" or name in ("sensitivity", "specificity"):
                assert are_close(
                    limits_or_infinity(row[name]), proportion_confint(k, n, 1 - level, "beta")
                ), name


@pytest.mark.parametrize("cells", MANY, ids=str)
@pytest.mark.parametrize(("odds", "r"), [("1:1000000", 1e-6), ("1:50", 1 / 50), ("7:2", 3.5)])
def test_predictive_values_elsewhere_are_mercaldo_s(cells: Cells, odds: str, r: float) -> None:
    """logit PPV +- z sqrt((1-se)/(se P) + sp/((1-sp) N)), and NPV likewise."""
    tp, p, fp, n = counts(cells)
    se, sp, z = tp / p, 1 - fp / n, norm.ppf(0.95)
    tuned = row_at(cells, "target", prevalence=odds, level=0.9, measure=PREDICTIVE)
    for name, center, spread in (
        ("ppv", r * se / (1 - sp), (1 - se) / se / p + sp / (1 - sp) / n),
        ("npv", sp / (1 - se) / r, se / (1 - se) / p + (1 - sp) / sp / n),
    ):
        reach = z * math.sqrt(spread)
        limits = center * math.exp(-reach), center * math.exp(reach)
        assert are_close(limits_or_infinity(tuned[f"{name}_odds"]), limits)
        assert are_close(
            limits_or_infinity(tuned[name]),
            (limits[0] / (1 + limits[0]), limits[1] / (1 + limits[1])),
        )


def of_ratio(k1: int, n1: int, k2: int, n2: int, level: float) -> Limits:
    """Return the ratios p1 / p2 at which the least z1(p1)² + z2(p2)² is that of the level."""

    def far(ratio: float) -> float:
        def square(p2: float) -> float:
            pairs = ((k1, n1, ratio * p2), (k2, n2, p2))
            return sum((k / n - p) ** 2 * n / (p * (1 - p)) for k, n, p in pairs)

        most = min(1, 1 / ratio)
        minimum = minimize_scalar(
            square, bounds=(0, most), method="bounded", options={"xatol": 1e-13 * most}
        )
        return float(minimum.fun) - norm.ppf((1 + level) / 2) ** 2

    observed = k1 * n2 / (n1 * k2)
    return (
        brentq(far, observed / 1e4, observed, rtol=1e-12),
        brentq(far, observed, observed * 1e4, rtol=1e-12),
    )


@pytest.mark.parametrize("cells", FEW, ids=str)
@pytest.mark.parametrize(("odds", "r"), [("1:99", 1 / 99), ("7:2", 3.5)])
def test_of_few_rows_ratios_of_rates_keep_to_their_score_region(
    cells: Cells, odds: str, r: float
) -> None:
    """Fewer than 30 of a class, or a rate near an end: LR± and what Bayes makes of them."""
    tp, p, fp, n = counts(cells)
    tuned = row_at(cells, "target", prevalence=odds, measure=[*PREDICTIVE, "lr_pos", "lr_neg"])
    plus, minus = of_ratio(tp, p, fp, n, 0.95), of_ratio(p - tp, p, n - fp, n, 0.95)
    assert are_close(limits_or_infinity(tuned["lr_pos"]), plus, 1e-6)
    assert are_close(limits_or_infinity(tuned["lr_neg"]), minus, 1e-6)
    ppv, npv = [r * x for x in plus], [1 / (r * x) for x in reversed(minus)]
    for name, (low, high) in (("ppv", ppv), ("npv", npv)):
        assert are_close(limits_or_infinity(tuned[f"{name}_odds"]), (low, high), 1e-6), name
        assert are_close(
            limits_or_infinity(tuned[name]), (low / (1 + low), high / (1 + high)), 1e-6
        ), name


@pytest.mark.parametrize("cells", MANY, ids=str)
def test_ratios_are_symmetric_in_their_logarithm(cells: Cells) -> None:
    tp, fp, fn, tn = four(cells)
    p, n, z = tp + fn, fp + tn, norm.ppf(0.975)
    tuned = row_at(cells, "1:1", measure=["lr_pos", "lr_neg", "dor"])
    for name, center, spread in (
        ("lr_pos", tp * n / (p * fp), 1 / tp - 1 / p + 1 / fp - 1 / n),
        ("lr_neg", fn * n / (p * tn), 1 / fn - 1 / p + 1 / tn - 1 / n),
        ("dor", tp * tn / (fp * fn), 1 / tp + 1 / fp + 1 / fn + 1 / tn),
    ):
        factor = math.exp(z * math.sqrt(spread))
        assert are_close(limits_or_infinity(tuned[name]), (center / factor, center * factor)), name


@pytest.mark.parametrize("cells", [*FULL, *EMPTY], ids=str)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_j_and_phi_are_newcombe_s(cells: Cells, level: float) -> None:
    """J = TP/P - FP/N and phi = TP/P - TN/N are differences of independent shares."""
    tp, p, fp, n = counts(cells)
    tuned = row_at(cells, "1:1", level=level, measure=["j_index", "delta", "phi"])
    for names, k in ((("j_index", "delta"), fp), (("phi",), n - fp)):
        limits = confint_proportions_2indep(
            tp, p, k, n, method="newcomb", compare="diff", alpha=1 - level
        )
        for name in names:
            assert are_close(limits_or_infinity(tuned[name]), limits), name


@pytest.mark.parametrize("cells", [*FULL, *EMPTY], ids=str)
@pytest.mark.parametrize(("odds", "r"), [("1:1000000", 1e-6), ("1:50", 1 / 50), ("7:2", 3.5)])
def test_sums_of_the_two_rates_are_square_and_add(cells: Cells, odds: str, r: float) -> None:
    """TAR = p TP/P + n TN/N; cost = p 9 FN/P + n FP/N; net benefit = p TP/P - n (1/9) FP/N."""
    tp, p, fp, n = counts(cells)
    share, rest = r / (1 + r), 1 / (1 + r)
    tuned = row_at(cells, "target", prevalence=odds, measure=["tar", "cost:fp=1,fn=9"])
    for name, a, k, b, m in (
        ("tar", share, tp, rest, n - fp),
        ("expected_cost", 9 * share, p - tp, rest, fp),
        ("net_benefit", share, tp, -rest / 9, fp),
    ):
        low1, high1 = wilson_of_statsmodels(k, p)
        low2, high2 = wilson_of_statsmodels(m, n)
        if b < 0:
            low2, high2 = high2, low2
        centre = a * k / p + b * m / n
        down = math.hypot(a * (k / p - low1), b * (m / n - low2))
        up = math.hypot(a * (k / p - high1), b * (m / n - high2))
        low, high = limits_or_infinity(tuned[name])
        assert low == pytest.approx(centre - down, rel=1e-7, abs=1e-12), name
        assert high == pytest.approx(centre + up, rel=1e-7, abs=1e-12), name


@pytest.mark.parametrize("cells", [*FULL, *EMPTY], ids=str)
def test_measures_that_say_the_same_have_the_same_limits(cells: Cells) -> None:
    """Odds x / (1 - x) of TAR, PPV, NPV and F; DP = sqrt(3)/pi ln DOR."""
    for row in rows_of_populations(cells, measure=[*TWINS, *TWINS.values(), "dor", "dp"]):
        for name, plain in TWINS.items():
            if row["population"] == "sample" and plain != "f_beta":
                continue
            for x, y in zip(
                limits_or_infinity(row[plain]), limits_or_infinity(row[name]), strict=True
            ):
                assert y == pytest.approx(x / (1 - x) if x < 1 else math.inf, rel=1e-9), name
        for x, y in zip(limits_or_infinity(row["dor"]), limits_or_infinity(row["dp"]), strict=True):
            log = -math.inf if x == 0 else math.log(x)
            assert y == pytest.approx(math.sqrt(3) / math.pi * log, rel=1e-9, abs=1e-12)
