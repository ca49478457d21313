"""Numbers that a book and another program print, through the report; what the book misprints.

Kuhn and Johnson, Applied Machine Learning for Tabular Data, chapter 15. What it has wrong is
recomputed here, one test each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import xlogy

import clfeval
from clfeval import Result
from clfeval.measures.catalog import CATALOG
from clfeval.result import Estimate, Row
from tests.measures.test_classes import DICE

TP, FP, FN, TN = 2613, 564, 750, 2180  # Table 15.1
ROWS = TP + FP + FN + TN


def cells(tp: int, fp: int, fn: int, tn: int) -> pl.DataFrame:
    return pl.DataFrame({"truth": [1, 0, 1, 0], "m": [1, 1, 0, 0], "n": [tp, fp, fn, tn]})


def book(*measures: str, **options: Any) -> dict[str, Row]:
    result = clfeval.report(cells(TP, FP, FN, TN), weight="n", measure=measures, **options)
    return {str(row["measure"]): row for row in result.tables["measures"]}


def number(row: Row) -> float:
    found = row["value"]
    assert isinstance(found, Estimate)
    assert found.value is not None
    return found.value


def ends(row: Row) -> tuple[float | None, float | None]:
    found = row["value"]
    assert isinstance(found, Estimate)
    return found.low, found.high


def by_class(frame: pl.DataFrame, **options: Any) -> dict[tuple[str, str], float]:
    """Return the measures of the classes together, by name and estimator."""
    result: Result = clfeval.report(frame, **options)
    return {
        (str(row["measure"]), str(row["estimator"])): number(row)
        for row in result.tables["measures"]
        if row["estimator"] != "class"
    }


def test_table_15_1() -> None:
    found = book("hard", "ppv_at:prevalence=.555", "npv_at:prevalence=.555", level=0.9)
    expected = {
        "accuracy": 0.7848371, "kappa": 0.5679028, "mcc": 0.5689680, "sensitivity": 0.7769848,
        "specificity": 0.7944606, "precision": 0.8224740, "npv": 0.7440273, "f1": 0.7990826,
        "lr_pos": 3.7802241, "lr_neg": 0.2807127, "dor": 13.4665248, "delta": 0.5714455,
        "mcc_u": 0.5715328, "ppv_at:prevalence=0.555": 0.8250115,
        "npv_at:prevalence=0.555": 0.7406846,
    }  # fmt: skip
    for name, value in expected.items():
        assert number(found[name]) == pytest.approx(value, abs=6e-8), name
    assert found["kappa"]["se"] == pytest.approx(0.0105354058, abs=1e-10)
    assert ends(found["accuracy"]) == pytest.approx((0.7760059, 0.7934665), abs=6e-8)
    there = found["ppv_at:prevalence=0.555"]
    assert ends(there) == pytest.approx((0.8156427, 0.8340011), abs=6e-8)


def test_table_15_5() -> None:
    names = [*"23456", "X"]
    at = [(i, j) for i in range(6) for j in range(6) if DICE[i, j]]
    frame = pl.DataFrame({
        "truth": [names[i] for i, _ in at], "m": [names[j] for _, j in at],
        "n": [int(DICE[i, j]) for i, j in at],
    })  # fmt: skip
    result = clfeval.report(frame, weight="n", classes=names, measure="ordinal")
    found = {row["measure"]: row["value"] for row in result.tables["measures"]
             if row["estimator"] == "multiclass"}  # fmt: skip
    one_off, two_off, m = 2 + 7 + 2 + 2 + 3, 4 + 3, 118
    assert found["balanced_accuracy"] == Estimate(None, reason="class_absent")  # nothing is X
    for name, value in {
        "accuracy": 0.8050847, "kappa": 0.7220971, "kappa_linear": 0.7501412,
        "kappa_quadratic": 0.7912176, "mcc": 0.7238054, "accuracy_within_1": (m - two_off) / m,
        "ordinal_mae": (one_off + 2 * two_off) / m,
        "ordinal_mse": (one_off + 4 * two_off) / m,  # .3728814
        "ordinal_rmse": math.sqrt((one_off + 4 * two_off) / m),
    }.items():  # fmt: skip
        one: Any = found[name]
        assert one.value == pytest.approx(value, abs=6e-8), name


def test_misprint_the_root_is_printed_as_the_mean_square() -> None:
    mean = (2 + 7 + 2 + 2 + 3 + 4 * (4 + 3)) / 118
    assert round(mean, 7) == 0.3728814
    assert round(math.sqrt(mean), 7) == 0.6106401  # printed as the MSE


def test_misprint_the_precision_is_the_npv() -> None:
    found = book()
    assert number(found["precision"]) == pytest.approx(TP / (TP + FP), rel=1e-12)
    assert round(TN / (TN + FN), 3) == 0.744  # printed as the precision


def test_misprint_precision_is_the_ppv_at_the_prevalence_of_the_sample() -> None:
    own = (TP + FN) / ROWS
    found = book(f"ppv_at:prevalence={own!r}", "ppv_at:prevalence=.5")
    there, half = (number(row) for name, row in found.items() if name.startswith("ppv_at"))
    assert there == pytest.approx(TP / (TP + FP), rel=1e-12)
    sens, fall = TP / (TP + FN), FP / (FP + TN)
    assert half == pytest.approx(sens / (sens + fall), rel=1e-12)
    assert half < there - 0.03


def test_misprint_15_4_chance_agreement_is_of_the_margins_of_both() -> None:
    truth, said = (TP + FN, FP + TN), (TP + FP, FN + TN)
    chance = sum(t * p for t, p in zip(truth, said, strict=True)) / ROWS**2
    kappa = ((TP + TN) / ROWS - chance) / (1 - chance)
    assert number(book()["kappa"]) == pytest.approx(kappa, rel=1e-12)


def test_misprint_15_15_the_weight_of_recall_is_squared() -> None:
    precision, recall = TP / (TP + FP), TP / (TP + FN)
    expected = (1 + 2**2) * precision * recall / (2**2 * precision + recall)
    found = number(book("f_beta:beta=2")["f_beta:beta=2"])
    assert found == pytest.approx(expected, rel=1e-12)
    assert found != pytest.approx((1 + 2) * precision * recall / (2**2 * precision + recall))


def test_misprint_15_18_the_weighted_mean_is_by_rows() -> None:
    """Recalls 1/2 of 2 rows, 3/4 of 4 and 7/8 of 8: 11 of 14, and no sum of S / n."""
    frame = pl.DataFrame({
        "truth": [*"aa", *"bbbb", *"cccccccc"], "m": [*"ab", *"bbbc", *"ccccccca"],
    })  # fmt: skip
    found = by_class(frame)
    weighted = (2 * 1 / 2 + 4 * 3 / 4 + 8 * 7 / 8) / 14
    assert found["sensitivity", "weighted"] == pytest.approx(weighted, rel=1e-12)
    assert found["sensitivity", "macro"] == pytest.approx((1 / 2 + 3 / 4 + 7 / 8) / 3, rel=1e-12)
    assert found["sensitivity", "micro"] == found["accuracy", "multiclass"] == 11 / 14


def test_misprint_the_macro_average_does_not_lean_to_the_largest_class() -> None:
    frame = pl.DataFrame({"truth": [*"aabbcc"], "m": [*"aabccb"]})
    more = frame.with_columns(n=pl.Series([50, 50, 1, 1, 1, 1]))
    one, many = by_class(frame), by_class(more, weight="n")
    assert one["sensitivity", "macro"] == many["sensitivity", "macro"] == pytest.approx(2 / 3)
    assert many["sensitivity", "weighted"] == pytest.approx(102 / 104)


def test_misprint_the_cross_entropy_of_two_classes_has_both_terms() -> None:
    y, p = np.array([1, 0, 1, 0]), np.array([0.9, 0.3, 0.6, 0.2])
    result = clfeval.report(pl.DataFrame({"truth": y, "m": p}))
    (row,) = (row for row in result.tables["measures"] if row["measure"] == "log_loss")
    assert number(row) == pytest.approx(-(xlogy(y, p) + xlogy(1 - y, 1 - p)).mean(), rel=1e-12)
    assert number(row) > -xlogy(y, p).mean() + 0.1


def test_misprint_15_25_the_score_per_class_goes_up_to_2_over_the_classes() -> None:
    """Certain and wrong in every row: (1² + 1²) / C."""
    for c in (3, 5):
        of = CATALOG["brier_per_class"].classes
        assert of is not None
        assert of.of is not None
        truth = np.arange(c)
        found = float(of.of(truth, np.eye(c)[(truth + 1) % c], np.ones(c, int)))
        assert found == pytest.approx(2 / c, rel=1e-12)


def test_misprint_parts_of_the_brier_score_are_divided_by_all_rows() -> None:
    """.2 in 4 rows, one positive; .7 in 6, three positive: not by the 2 probabilities there are."""
    p = [0.2] * 4 + [0.7] * 6
    y = [1, 0, 0, 0, 1, 1, 1, 0, 0, 0]
    names = [f"brier_{part}" for part in ("reliability", "resolution", "uncertainty", "refinement")]
    result = clfeval.report(pl.DataFrame({"truth": y, "m": p}), measure=names)
    found = {row["measure"]: number(row) for row in result.tables["measures"] if row["value"]
             and row["measure"] in (*names, "brier")}  # fmt: skip
    reliability = (4 * (0.2 - 0.25) ** 2 + 6 * (0.7 - 0.5) ** 2) / 10
    resolution = (4 * (0.25 - 0.4) ** 2 + 6 * (0.5 - 0.4) ** 2) / 10
    assert found["brier_reliability"] == pytest.approx(reliability, rel=1e-12)
    assert found["brier_resolution"] == pytest.approx(resolution, rel=1e-12)
    assert found["brier"] == pytest.approx(reliability - resolution + 0.4 * 0.6, rel=1e-12)
    assert found["brier_refinement"] == pytest.approx((4 * 0.25 * 0.75 + 6 * 0.5 * 0.5) / 10)


# dcurves 1.1.7 on its table df_binary: 750 people, 105 with cancer; how many of each have a
# probability from the threshold up, and what it prints as net benefit
AT = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35)
MARKER = ((0.0, 9, 325), (0.05, 9, 127), (0.1, 5, 65), (0.15, 7, 30), (0.2, 3, 26), (0.25, 10, 23),
          (0.3, 5, 13), (0.35, 57, 36))  # fmt: skip
PRINTED = (0.1055439, 0.0874074, 0.0792157, 0.0673333, 0.0640000, 0.0546667, 0.0501538)
ALL = (0.0947368, 0.0444444, -0.0117647, -0.0750000, -0.1466667, -0.2285714, -0.3230769)


def test_net_benefits_that_dcurves_prints() -> None:
    frame = pl.DataFrame({
        "truth": [y for _ in MARKER for y in (1, 0)], "m": [s for s, _, _ in MARKER for _ in "yn"],
        "n": [n for _, sick, well in MARKER for n in (sick, well)],
    })  # fmt: skip
    result = clfeval.report(frame, weight="n", measure=[f"net_benefit@t:t={t}" for t in AT])
    found = [number(row) for row in result.tables["measures"]
             if str(row["measure"]).startswith("net_benefit@t")]  # fmt: skip
    assert found == pytest.approx(PRINTED, abs=6e-8)
    everyone = {row["threshold"]: row["treat_all"] for row in result.tables["decision"]}
    assert [everyone[t] for t in AT] == pytest.approx(ALL, abs=6e-8)
    (history,) = (
        row for row in clfeval.report(
            cells(24, 91, 81, 554).with_columns(m=pl.col("m") * 1.0), weight="n", kind="score",
            measure="net_benefit@t:t=.1",
        ).tables["measures"] if row["measure"] == "net_benefit@t:t=0.1"
    )  # fmt: skip
    assert number(history) == pytest.approx(0.0185185, abs=6e-8)
