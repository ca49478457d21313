"""Influence of rows on measures of the 2 x 2 table: by hand, by the jackknife, elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from clfeval.arrays import Floats
from clfeval.counts.patterns import ConfusionCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.methods.estimates import Cells
from clfeval.methods.measured.asked import DEFAULT, Asked, asked_of
from clfeval.methods.measured.hard import HardLimits, influence, measured, standard_errors
from clfeval.methods.options import Certainty

TABLES = ((2613, 564, 750, 2180), (30, 5, 10, 55), (7, 3, 2, 40), (3, 1, 0, 6))  # tp fp fn tn
GIVEN: dict[str, Any] = {"beta": 2.0, "prevalence": 0.1, "stakes": Stakes(1, 10, 0.5, 0.1)}
SMOOTH = {
    name: measure.given(**GIVEN).function
    for name, measure in CATALOG.items()
    if measure.needs == "confusion" and measure.of is not None
}


def of(cells: tuple[int, int, int, int]) -> Confusion:
    return Confusion(*(np.array([float(cell)]) for cell in cells))


def counts(*tables: tuple[int, int, int, int]) -> ConfusionCounts:
    return ConfusionCounts.of_cells([f"m{i}" for i in range(len(tables))],
                                    [(tp, fp, fn, tn) for tp, fp, fn, tn in tables])  # fmt: skip


def named(name: str) -> Asked:
    return asked_of([name])[-1] if name not in DEFAULT else Asked(name, CATALOG[name], {})


def sure(how: str = "exact", many: int = 1, level: float | None = 0.95) -> HardLimits:
    names = [f"m{i}" for i in range(many)]
    return HardLimits(Certainty(level, how, resamples=4000), names, [None] * many, [0] * many)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("table", TABLES)
def test_influence_is_the_derivative_in_the_counts(
    name: str, table: tuple[int, int, int, int]
) -> None:
    """theta is the same of any multiple of the table, so that the influence has mean 0."""
    measure = SMOOTH[name]
    if not np.isfinite(measure(of(table))).all():
        assert name in {"dor", "dp", "epa", "npv_odds"}  # divided by FN, of which there is none
        return
    found = influence(measure, of(table))[:, 0]
    n = np.array(table, float)
    assert float(found @ n) == pytest.approx(0, abs=1e-7 * n.sum())
    for c in np.flatnonzero(n):
        step = np.zeros(4)
        step[c] = 1e-5 * n[c]
        up, down = (float(measure(of(tuple(n + sign * step)))[0]) for sign in (1, -1))  # type: ignore[arg-type]
        slope = n.sum() * (up - down) / (2 * step[c])
        assert found[c] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_standard_error_is_near_the_jackknifes(name: str) -> None:
    measure, table = SMOOTH[name], (300, 50, 100, 550)
    n, total = np.array(table, float), sum(table)
    left: list[float] = []
    for c in range(4):
        step = np.zeros(4)
        step[c] = 1
        left += [float(measure(of(tuple(n - step)))[0])] * table[c]  # type: ignore[arg-type]
    spread = (total - 1) / total * sum((one - np.mean(left)) ** 2 for one in left)
    found = standard_errors(measure, Cells.at_prevalence(counts(table)), [0])
    assert found[0] == pytest.approx(math.sqrt(spread), rel=0.05)


def test_the_standard_error_of_a_share() -> None:
    """sqrt(p (1 - p) / n), of sensitivity over the positives."""
    cells = Cells.at_prevalence(counts((30, 5, 10, 55)))
    for name, k, n in (("accuracy", 85, 100), ("sensitivity", 30, 40), ("precision", 30, 35)):
        found = standard_errors(CATALOG[name].function, cells, [0])
        assert found[0] == pytest.approx(math.sqrt(k / n * (1 - k / n) / n), rel=1e-10)


def test_the_standard_error_of_kappa_is_that_of_fleiss_cohen_and_everitt() -> None:
    tp, fp, fn, tn = TABLES[0]
    other = cohens_kappa(np.array([[tp, fp], [fn, tn]]))
    found = standard_errors(CATALOG["kappa"].function, Cells.at_prevalence(counts(TABLES[0])), [0])
    assert found[0] == pytest.approx(other.std_kappa, rel=1e-9)
    assert found[0] == pytest.approx(0.0105354058, abs=1e-10)  # AML4TD, Table 15.1


@pytest.mark.parametrize(("how", "other"), [("wilson", "wilson"), ("jeffreys", "jeffreys")])
def test_limits_of_shares_by_name(how: str, other: str) -> None:
    table = counts((30, 5, 10, 55), (3, 1, 0, 6))
    found = measured(named("sensitivity"), table, sure(how, 2))
    for one, (k, n) in zip(found.values, ((30, 40), (3, 3)), strict=True):
        low, high = proportion_confint(k, n, method=other)
        assert one.low == pytest.approx(low, abs=1e-10)
        assert one.high == pytest.approx(1.0 if k == n else high, abs=1e-10)
    assert found.methods == [how.capitalize()] * 2


def test_a_bootstrap_draws_the_four_cells() -> None:
    """Percentiles of the accuracy of 100 rows are about those of a binomial share."""
    table = counts((30, 5, 10, 55))
    (one,) = measured(named("accuracy"), table, sure("bootstrap")).values
    draws = np.random.default_rng(5).binomial(100, 0.85, 200_000) / 100
    low, high = np.quantile(draws, [0.025, 0.975])
    assert one.low == pytest.approx(low, abs=0.011)
    assert one.high == pytest.approx(high, abs=0.011)


def test_no_interval_is_asked_for() -> None:
    table = counts((30, 5, 10, 55))
    found = measured(named("mcc"), table, sure(level=None))
    assert (found.values[0].low, found.values[0].high, found.methods) == (None, None, ["none"])


def test_influence_of_accuracy_by_hand() -> None:
    """A right row has 1 - accuracy, a wrong one -accuracy."""
    found: Floats = influence(CATALOG["accuracy"].function, of((30, 5, 10, 55)))[:, 0]
    assert found == pytest.approx([0.15, -0.85, -0.85, 0.15], abs=1e-9)


TABLE = counts((2613, 564, 750, 2180))  # AML4TD, Table 15.1


def test_predictive_values_at_a_prevalence_have_mercaldos_limits() -> None:
    """PPV = s p / (s p + (1 - c) (1 - p)); its logit varies by (1 - s)/(s P) + c/((1 - c) N)."""
    s, c, p, z = 2613 / 3363, 2180 / 2744, 0.555, 1.6448536269514722
    ppv = s * p / (s * p + (1 - c) * (1 - p))
    npv = c * (1 - p) / (c * (1 - p) + (1 - s) * p)
    spread = math.sqrt((1 - s) / (s * 3363) + c / ((1 - c) * 2744))
    logit = math.log(ppv / (1 - ppv))
    ends = [1 / (1 + math.exp(-logit - sign * z * spread)) for sign in (-1, 1)]
    found = measured(named("ppv_at:prevalence=.555"), TABLE, sure(level=0.9))
    assert found.values[0].value == pytest.approx(ppv, rel=1e-12)
    assert (found.values[0].low, found.values[0].high) == pytest.approx(ends, rel=1e-12)
    assert found.methods == ["Mercaldo logit"]
    assert (ppv, *ends) == pytest.approx((0.8250115, 0.8156427, 0.8340011), abs=5e-8)
    (other,) = measured(named("npv_at:prevalence=0.555"), TABLE, sure()).values
    assert other.value == pytest.approx(npv, rel=1e-12)
    assert npv == pytest.approx(0.7406846, abs=5e-8)


def test_f_beta_has_limits_within_its_range() -> None:
    """F2 = 5 TP / (5 TP + 4 FN + FP); F1 has the limits of TP / (TP + FP + FN), transformed."""
    table = counts((30, 5, 10, 55), (3, 0, 0, 97))
    two = measured(named("f_beta:beta=2"), table, sure(many=2))
    assert two.values[0].value == pytest.approx(150 / 195, rel=1e-12)
    for one in two.values:
        assert one.low is not None
        assert one.high is not None
        assert 0 < one.low < one.high <= 1
    low, high = proportion_confint(30, 45, method="beta")
    (one,) = measured(named("f_beta"), counts((30, 5, 10, 55)), sure()).values
    assert (one.low, one.high) == pytest.approx(
        (2 * low / (1 + low), 2 * high / (1 + high)), rel=1e-9
    )


def test_margins_of_the_table() -> None:
    """P = 3363, called positive 3177, of 6107 rows; exact limits as of any share."""
    for name, k in (("prevalence", 3363), ("detection_prevalence", 3177),
                    ("no_information_rate", 3363)):  # fmt: skip
        found = measured(named(name), TABLE, sure())
        assert found.values[0].value == pytest.approx(k / 6107, rel=1e-12)
        low, high = proportion_confint(k, 6107, method="beta")
        assert (found.values[0].low, found.values[0].high) == pytest.approx((low, high), rel=1e-9)
        assert found.methods == ["Clopper-Pearson"]


def test_the_cost_of_a_row() -> None:
    """(1 FP + 10 FN) / M = (564 + 7500) / 6107."""
    (one,) = measured(named("expected_cost:fp=1,fn=10"), TABLE, sure()).values
    assert one.value == pytest.approx(8064 / 6107, rel=1e-12)
    assert one.low is not None
    assert one.high is not None
    assert one.low < 8064 / 6107 < one.high


def test_where_nothing_varies_the_limits_are_the_default_ones() -> None:
    """30 of 30 and 20 of 20 found: draws do not know that it could be less."""
    table = counts((30, 0, 0, 20), (20, 4, 10, 16))
    for name in ("sensitivity", "accuracy", "mcc", "f1"):
        found = measured(named(name), table, sure("bootstrap", 2))
        best, other = found.values
        assert found.methods[1] == "bootstrap"
        assert found.methods[0] != "bootstrap"
        assert best.low is not None
        assert best.low < 1 == best.high
        assert other.high is not None
        assert other.high <= 1
