"""Numbers at the edges: large counts, rare classes, infinite values, targets nearly the same."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import CATALOG
from tests.methods.tune_jpt.reference import Cells, four
from tests.methods.tune_jpt.requests.door import (
    CCP,
    RF,
    command,
    estimate_at,
    rows_at,
    tuned,
    value_at,
)
from tests.results import four_cells, limits_of, row_of, rows_of, warning_codes


@pytest.mark.parametrize("n", [4 * 10**9, 10**10, 2**60])
def test_dor_of_large_counts_does_not_overflow(n: int) -> None:
    """Once: TP TN and FP FN are int64 products: DOR -0.92 at 4e9 rows a cell, DP undefined."""
    result = tuned(counts=(n, n // 2, n // 2, n))
    for population in ("sample", "1:1"):
        assert value_at(result, "dor", population) == pytest.approx(4, rel=1e-9)
        assert value_at(result, "dp", population) == pytest.approx(
            math.sqrt(3) / math.pi * math.log(4)
        )


def test_counts_on_the_command_line_keep_every_digit() -> None:
    """Once: Parsed as float: 9007199254740993 becomes ...992, without a word."""
    _, out = command("--counts", "9007199254740993,5,33,95", "--measure", "ppv", "-f", "csv")
    assert ",9007199254740993," in out.splitlines()[1]


@pytest.mark.parametrize("odds", ["1:1e300", "1e15:1", "1e-9:1e9"])
def test_extreme_odds(odds: str) -> None:
    """Exact fractions: TP 67 r, FN 33 r, FP 5, TN 95."""
    result = tuned(counts=CCP, prevalence=odds)
    left, right = odds.split(":")
    r = Fraction(float(left)) / Fraction(float(right))
    tp, fn, fp, tn = 67 * r, 33 * r, Fraction(5), Fraction(95)
    expected = {
        "tar": (tp + tn) / (tp + tn + fp + fn),
        "tor": (tp + tn) / (fp + fn),
        "ppv": tp / (tp + fp),
        "npv": tn / (tn + fn),
        "epa": (tp / fp + tn / fn) / 2,
        "f_beta": 2 * tp / (2 * tp + fn + fp),
        "dor": Fraction(67 * 95, 5 * 33),
    }
    for measure, exact in expected.items():
        number = value_at(result, measure)
        assert Fraction(number) == pytest.approx(exact, rel=1e-12), measure
    (row,) = rows_at(result, "target").values()
    assert row["odds"] == odds
    assert row["prevalence"] == pytest.approx(float(r / (1 + r)), rel=1e-15)
    assert row["tp"] == pytest.approx(float(1000 * Fraction(67, 100) * r / (1 + r)), rel=1e-12)
    assert sum(four_cells(row)) == pytest.approx(1000, rel=1e-12)


@pytest.mark.parametrize("n", [7, 60, 100])
def test_a_perfect_classifier_is_perfect(n: int) -> None:
    """Once: MCC .9999999999999998 at 1:1, and a high limit of TAR of 1.0000000000000002."""
    result = tuned(counts=(n, 0, 0, n), prevalence="1:1000000", sweep="1:1000..1000:1", points=31)
    for population in ("sample", "1:1", "target"):
        for measure in ("mcc", "ic"):
            assert value_at(result, measure, population) == 1.0
    for row in (*result.tables["sweep"], *result.tables["models"]):
        for name, cell in row.items():
            if isinstance(cell, Estimate) and cell.high is not None:
                assert cell.high <= CATALOG[name].high, (row["odds"], name)


def test_phi_compares_no_models() -> None:
    """Best at 0, neither more nor less is better. Once: phi = 1 leads for certain."""
    models = {"fair": (800, 200, 200, 800), "always": (1000, 1000, 0, 0)}
    assert tuned(counts=models, measure="phi").parameters["compared_by"] == "tar"


def test_infinite_scores_have_no_thresholds() -> None:
    """Once: PPV of s >= inf is 1; said was "always positive", 0.4, below the fixed one."""
    frame = pl.DataFrame({"truth": [1, 0, 1, 0, 0], "s": [math.inf, 0.1, math.inf, 0.9, 0.2]})
    result = tuned(frame, threshold=0.5, measure="ppv")
    assert list(result.tables["thresholds"]) == []
    assert "infinite-scores" in warning_codes(result)
    # at .5: both positives found, one of three negatives alarmed
    assert value_at(result, "ppv", "sample") == pytest.approx(2 / 3, rel=1e-15)


def test_a_lowest_score_of_minus_infinity_can_be_saved() -> None:
    """Once: ValueError: Out of range float values are not JSON compliant, exit 70."""
    frame = pl.DataFrame({"truth": [1, 0, 1, 0], "s": [-math.inf, 0.1, 0.3, 0.9]})
    result = tuned(frame, threshold=0.5, measure="tar", prevalence="1000:1")
    assert "infinite-scores" in result.to_json()


def test_a_simulation_says_nothing_on_stderr() -> None:
    """Once: numpy's RuntimeWarning with its path: a mean over +inf and -inf (dp, tor ...)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned(counts=(1, 1, 1, 1), prevalence_beta=(2, 98))
        tuned(counts=CCP, prevalence_beta=(0.001, 0.001), measure="cost:fp=1e-09,fn=1000000000.0")


def test_a_simulation_takes_no_empty_cell_for_known() -> None:
    """Once: mean, low and high are null without a reason: infinite is not undefined.

    The exact PPV at 6 % of one hit and no false alarm among 10 negatives goes from .01 to 1.
    """
    result = tuned(counts=(60, 0, 33, 60), prevalence_beta=(2, 98))
    row = row_of(result, "simulated", measure="ppv_odds")
    # the rates are drawn from what 0 of 60 leaves plausible, so PPV odds are finite
    assert all(0 < row[part] < math.inf for part in ("mean", "median", "low", "high"))
    result = tuned(counts=(1, 0, 9, 10), prevalence_beta=(2, 30))
    row = row_of(result, "simulated", measure="ppv")
    assert row["low"] < 0.9
    assert 10_000 in result.parameters.values()  # the number of draws


def test_the_reason_of_a_rate_is_its_own_class() -> None:
    """Once: specificity of a model without any row: no_positive_truth, though it needs none."""
    result = tuned(counts={"a": CCP, "c": (0, 0, 0, 0)})
    for population in ("sample", "1:1"):
        assert rows_at(result, population)["c"]["specificity"].reason == "no_negative_truth"


def test_targets_with_one_odds_text_are_one_row() -> None:
    """Once: 0.3333333333333333 and 1:2: two rows "1:2", one judged."""
    result = tuned(counts=CCP, prevalence=[1 / 3, "1:2"])
    targets = [row["odds"] for row in rows_of(result, "models", population="target")]
    assert len(targets) == len(set(targets))


@pytest.mark.parametrize("a", [(1, 3, 1, 2), (2, 8, 0, 1), (300, 700, 100, 300)])
def test_ic_of_inverted_answers_is_the_same(a: tuple[int, ...]) -> None:
    """I(truth; not prediction) = I(truth; prediction): no crossing, no leader."""
    b = (a[2], a[3], a[0], a[1])
    rows = tuned(counts={"a": a, "b": b}, measure="ic", interval="none").tables["crossovers"]
    assert [row["crossing"].reason for row in rows] == ["identical"]


def test_ic_of_rare_classes() -> None:
    cells = Cells(1, 1, 670556, 635311)
    result = tuned(counts=four(cells), prevalence="1:330739", measure="ic", interval="none")
    exact = float(cells.tuned(Fraction(1, 330739)).values()["ic"])
    assert value_at(result, "ic") == pytest.approx(exact, rel=1e-6)  # 1.6437e-10 against 1.6145e-10


@pytest.mark.parametrize(
    ("models", "measure", "reason", "leads"),
    [
        ({"a": (50, 0, 50, 100), "b": (80, 20, 20, 80)}, "ppv_odds", "none", "a"),  # infinite
        ({"a": (50, 0, 50, 100), "b": (80, 20, 20, 80)}, "epa", "none", "a"),
        ({"a": CCP, "b": (0, 5, 0, 95)}, "tar", "undefined", None),
    ],
)
def test_who_leads_where_a_value_is_infinite_or_undefined(
    models: Any, measure: str, reason: str, leads: str | None
) -> None:
    """Once: 'none: not defined for both' is said where one of two models is undefined."""
    row = row_of(tuned(counts=models, measure=measure, prevalence="1:10"), "crossovers")
    assert (row["crossing"].reason, row["leads_below"]) == (reason, leads)
    assert row["leads_below"] == row["leads_above"]


def test_a_crossing_between_the_sweep_and_a_target() -> None:
    """p* = dtnr / (dtnr - dtpr) = 1e-5 / (1e-5 + .1): 1:10000, the target is 1:1000000."""
    counts = {"a": (900_000, 20, 100_000, 999_980), "b": (800_000, 10, 200_000, 999_990)}
    result = clfeval.tune_jpt(counts=counts, measure="tar", prevalence="1:1000000")
    row = row_of(result, "crossovers")
    leaders = {winner["leader"] for winner in result.tables["winners"]}
    assert leaders == {row["leads_below"], row["leads_above"]}


@pytest.mark.parametrize(
    ("name", "plain"), [("tor", "tar"), ("ppv_odds", "ppv"), ("npv_odds", "npv")]
)
def test_odds_as_counted_have_the_limits_of_their_share(name: str, plain: str) -> None:
    row = rows_at(tuned(counts=CCP), "sample")["model"]
    for x, y in zip(limits_of(row[plain]), limits_of(row[name]), strict=True):
        assert y == pytest.approx(x / (1 - x))


def test_a_constant_measure_has_one_place() -> None:
    result = tuned(counts=CCP, prevalence="0.001..0.9")
    for measure in ("j_index", "dor"):
        row = row_of(result, "ranges", measure=measure)
        assert row["lowest_at"] == row["highest_at"]
    assert estimate_at(tuned(counts=RF, prevalence="1:9", interval="none"), "ppv").low is None
