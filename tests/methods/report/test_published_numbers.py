"""Numbers that a book and another program print, through the report.

Kuhn and Johnson, Applied Machine Learning for Tabular Data, chapter 15. What it has wrong is
recomputed here, one test each.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.document.cells import Estimate
from tests.measures.test_classes import DICE
from tests.results import Line, limits_of, row_of, rows_by, value_of

TP, FP, FN, TN = 2613, 564, 750, 2180  # Table 15.1


def rows_of_cells(tp: int, fp: int, fn: int, tn: int) -> pl.DataFrame:
    return pl.DataFrame({"truth": [1, 0, 1, 0], "m": [1, 1, 0, 0], "n": [tp, fp, fn, tn]})


def measures_of_the_book(*measures: str, **options: Any) -> dict[str, Line]:
    """Return the rows of the measures of Table 15.1 by measure."""
    table = rows_of_cells(TP, FP, FN, TN)
    result = clfeval.report(table, weight="n", measure=measures, **options)
    return rows_by(result, "measures", "measure")


def test_table_15_1() -> None:
    rows = measures_of_the_book(
        "hard", "ppv_at:prevalence=.555", "npv_at:prevalence=.555", level=0.9
    )
    expected = {
        "accuracy": 0.7848371,
        "kappa": 0.5679028,
        "mcc": 0.5689680,
        "sensitivity": 0.7769848,
        "specificity": 0.7944606,
        "precision": 0.8224740,
        "npv": 0.7440273,
        "f1": 0.7990826,
        "lr_pos": 3.7802241,
        "lr_neg": 0.2807127,
        "dor": 13.4665248,
        "delta": 0.5714455,
        "mcc_u": 0.5715328,
        "ppv_at:prevalence=0.555": 0.8250115,
        "npv_at:prevalence=0.555": 0.7406846,
    }
    for name, value in expected.items():
        assert value_of(rows[name]["value"]) == pytest.approx(value, abs=6e-8), name
    assert rows["kappa"]["se"] == pytest.approx(0.0105354058, abs=1e-10)
    accuracy, ppv = (
        limits_of(rows[name]["value"]) for name in ("accuracy", "ppv_at:prevalence=0.555")
    )
    assert accuracy == pytest.approx((0.7760059, 0.7934665), abs=6e-8)
    assert ppv == pytest.approx((0.8156427, 0.8340011), abs=6e-8)


def test_table_15_5() -> None:
    names = [*"23456", "X"]
    at = [(i, j) for i in range(6) for j in range(6) if DICE[i, j]]
    frame = pl.DataFrame(
        {
            "truth": [names[i] for i, _ in at],
            "m": [names[j] for _, j in at],
            "n": [int(DICE[i, j]) for i, j in at],
        }
    )
    result = clfeval.report(frame, weight="n", classes=names, measure="ordinal")
    rows = rows_by(result, "measures", "measure", estimator="multiclass")
    one_off, two_off, m = 2 + 7 + 2 + 2 + 3, 4 + 3, 118
    # nothing is X
    assert rows["balanced_accuracy"]["value"] == Estimate(None, reason="class_absent")
    for name, value in {
        "accuracy": 0.8050847,
        "kappa": 0.7220971,
        "kappa_linear": 0.7501412,
        "kappa_quadratic": 0.7912176,
        "mcc": 0.7238054,
        "accuracy_within_1": (m - two_off) / m,
        "ordinal_mae": (one_off + 2 * two_off) / m,
        "ordinal_mse": (one_off + 4 * two_off) / m,  # .3728814
        "ordinal_rmse": math.sqrt((one_off + 4 * two_off) / m),
    }.items():
        assert value_of(rows[name]["value"]) == pytest.approx(value, abs=6e-8), name


# dcurves 1.1.7 on its table df_binary: 750 people, 105 with cancer; how many of each have a
# probability from the threshold up, and what it prints as net benefit
AT = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35)
MARKER = (
    (0.0, 9, 325),
    (0.05, 9, 127),
    (0.1, 5, 65),
    (0.15, 7, 30),
    (0.2, 3, 26),
    (0.25, 10, 23),
    (0.3, 5, 13),
    (0.35, 57, 36),
)
PRINTED = (0.1055439, 0.0874074, 0.0792157, 0.0673333, 0.0640000, 0.0546667, 0.0501538)
ALL = (0.0947368, 0.0444444, -0.0117647, -0.0750000, -0.1466667, -0.2285714, -0.3230769)


def test_net_benefits_that_dcurves_prints() -> None:
    frame = pl.DataFrame(
        {
            "truth": [y for _ in MARKER for y in (1, 0)],
            "m": [s for s, _, _ in MARKER for _ in "yn"],
            "n": [n for _, sick, well in MARKER for n in (sick, well)],
        }
    )
    result = clfeval.report(frame, weight="n", measure=[f"net_benefit@t:t={t}" for t in AT])
    benefits = [
        value_of(row["value"])
        for measure, row in rows_by(result, "measures", "measure").items()
        if measure.startswith("net_benefit@t")
    ]
    assert benefits == pytest.approx(PRINTED, abs=6e-8)
    curve = rows_by(result, "decision", "threshold")
    assert [curve[t]["treat_all"] for t in AT] == pytest.approx(ALL, abs=6e-8)
    history = clfeval.report(
        rows_of_cells(24, 91, 81, 554).with_columns(m=pl.col("m") * 1.0),
        weight="n",
        kind="score",
        measure="net_benefit@t:t=.1",
    )
    row = row_of(history, "measures", measure="net_benefit@t:t=0.1")
    assert value_of(row["value"]) == pytest.approx(0.0185185, abs=6e-8)
