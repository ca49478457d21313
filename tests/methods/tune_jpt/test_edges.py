"""Numbers at the edges: large counts, rare classes, infinite values, far targets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import clfeval
from clfeval.errors import UsageError
from clfeval.result import Result
from tests.methods.tune_jpt.reference import Cells, four, row_of, rows_of


def tune(counts: Any, **options: Any) -> Result:
    return clfeval.tune_jpt(counts=counts, **{"sweep": None} | options)


def test_dor_of_large_counts() -> None:
    """4e9 x 4e9 / (1e9 x 1e9) = 16; int64 products overflow at 9.2e18."""
    for row in rows_of(tune((4 * 10**9, 10**9, 10**9, 4 * 10**9), measure=["dor", "dp"])):
        assert row["dor"].value == pytest.approx(16)
        assert row["dp"].reason is None


@pytest.mark.parametrize("a", [(1, 3, 1, 2), (2, 8, 0, 1), (300, 700, 100, 300)])
def test_ic_of_inverted_answers_is_the_same(a) -> None:
    """I(truth; not prediction) = I(truth; prediction): no crossing, no leader."""
    b = (a[2], a[3], a[0], a[1])
    rows = rows_of(tune({"a": a, "b": b}, measure="ic", interval="none"), "crossovers")
    assert len(rows) == 1
    assert rows[0]["crossing"].reason == "identical"


def test_ic_of_rare_classes() -> None:
    cells = Cells(1, 1, 670556, 635311)
    found = row_of(
        tune(four(cells), prevalence="1:330739", measure="ic", interval="none"), population="target"
    )
    exact = float(cells.tuned(Fraction(1, 330739)).values()["ic"])
    assert found["ic"].value == pytest.approx(exact, rel=1e-6)  # 1.6437e-10 against 1.6145e-10


def test_a_perfect_table_is_perfect() -> None:
    for row in rows_of(tune((10, 0, 0, 10), prevalence="1:1000000", measure=["mcc", "ic"])):
        assert row["mcc"].value == row["mcc"].high == 1  # .9999999999999997, high .9999999999999998
        assert row["ic"].value == 1  # .9999999999985744


@pytest.mark.parametrize("measure", ["ppv_odds", "epa"])
def test_infinite_is_more_than_finite(measure: str) -> None:
    counts = {"a": (50, 0, 50, 100), "b": (80, 20, 20, 80)}
    result = tune(counts, measure=measure, prevalence="1:10")
    row = row_of(result, "crossovers")
    assert row["crossing"].reason == "none"
    assert row["leads_below"] == row["leads_above"] == "a"  # as the table winners says


def test_a_crossing_between_the_sweep_and_a_target() -> None:
    """p* = dtnr / (dtnr - dtpr) = 1e-5 / (1e-5 + .1): 1:10000, the target is 1:1000000."""
    counts = {"a": (900_000, 20, 100_000, 999_980), "b": (800_000, 10, 200_000, 999_990)}
    result = clfeval.tune_jpt(counts=counts, measure="tar", prevalence="1:1000000")
    row = row_of(result, "crossovers")
    leaders = {winner["leader"] for winner in rows_of(result, "winners")}
    assert leaders == {row["leads_below"], row["leads_above"]}


@pytest.mark.parametrize(
    ("name", "plain"), [("tor", "tar"), ("ppv_odds", "ppv"), ("npv_odds", "npv")]
)
def test_odds_as_counted_have_the_limits_of_their_share(name: str, plain: str) -> None:
    row = row_of(tune((67, 5, 33, 95)), population="sample")
    for x, y in ((row[plain].low, row[name].low), (row[plain].high, row[name].high)):
        assert y == pytest.approx(x / (1 - x))


def test_a_constant_measure_has_one_place() -> None:
    result = tune((67, 5, 33, 95), prevalence="0.001..0.9")
    for name in ("j_index", "dor"):
        row = row_of(result, "ranges", measure=name)
        assert row["lowest_at"] == row["highest_at"]


def test_a_simulated_ppv_without_a_false_alarm_is_not_certain() -> None:
    """One hit, no false alarm among 10 negatives: the exact PPV at 6 % goes from .01 to 1."""
    result = tune((1, 0, 9, 10), prevalence_beta=(2, 30))
    assert row_of(result, "simulated", measure="ppv")["low"] < 0.9


def test_beta_too_large_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^measure .*: beta is a number from 0 to 1e\+06"):
        tune((67, 5, 33, 95), measure="f_beta:beta=1e+200")


def test_youden_is_j() -> None:
    row = rows_of(tune((67, 5, 33, 95), measure="youden"))[0]
    assert "j_index" in row


def test_no_counts_are_nothing_to_tune() -> None:
    with pytest.raises(UsageError, match=r"^nothing to tune "):
        tune({})


def test_the_number_of_draws_is_in_the_result() -> None:
    result = tune((1, 0, 9, 10), prevalence_beta=(2, 30), measure="ppv")
    assert 10_000 in result.parameters.values()


def test_phi_leads_nobody() -> None:
    """Best at 0: neither more nor less of it is better, so it compares no models."""
    result = tune({"a": (67, 5, 33, 95), "b": (95, 30, 5, 70)}, measure="phi")
    assert result.parameters["compared_by"] == "tar"
