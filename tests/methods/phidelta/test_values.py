"""Every value of `models` and `populations` against the arithmetic and against scikit-learn."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from sklearn import metrics

import clfeval
from tests.methods.phidelta import byhand
from tests.methods.phidelta.byhand import EVERY, Cells, counts_frame, model_rows, rows_by_model
from tests.reference import Row
from tests.results import estimate_of, value_of
from tests.strategies import frame_of, tables
from tests.thoroughness import examples

SMALL = [Cells(*cells) for cells in product(range(4), repeat=4)]
BOTH = {str(cells): cells for cells in SMALL if cells.positives and cells.negatives}


def agree(number: float | None, expected: float | None) -> bool:
    if number is None or expected is None:
        return number is expected
    return math.isclose(number, expected, rel_tol=1e-12, abs_tol=1e-15)


def test_the_twelve_counts_of_a_hand_table() -> None:
    """TP 30, FP 10, FN 20, TN 40: x = 3/5 of the positives and y = 1/5 of the negatives."""
    row = model_rows(counts_frame({"m": Cells(30, 10, 20, 40)}))["m"]
    expected = {
        "sensitivity": 3 / 5,
        "specificity": 4 / 5,
        "phi": 3 / 5 + 1 / 5 - 1,
        "delta": 3 / 5 - 1 / 5,
        "accuracy_u": (3 / 5 + 4 / 5) / 2,
        "error_u": (2 / 5 + 1 / 5) / 2,
        "precision_u": (3 / 5) / (3 / 5 + 1 / 5),
        "npv_u": (4 / 5) / (4 / 5 + 2 / 5),
        "f1_u": 2 * 3 / 5 / (2 * 3 / 5 + 2 / 5 + 1 / 5),
        "mcc_u": (2 / 5) / math.sqrt((4 / 5) * (6 / 5)),
        # H(2/5) of the answer less (H(3/5) + H(1/5)) / 2 given the class
        "mutual_information_u": entropy(2 / 5) - (entropy(3 / 5) + entropy(1 / 5)) / 2,
        "accuracy": 70 / 100,
        "error_rate": 30 / 100,
        "precision": 30 / 40,
        "npv": 40 / 60,
        "f1": 60 / (60 + 10 + 20),
        "mcc": (30 * 40 - 10 * 20) / math.sqrt(40 * 50 * 50 * 60),
        "phi_b": 2 * (10 - 20) / 100,
        "delta_b": 2 * 70 / 100 - 1,
    }
    for name, number in expected.items():
        assert value_of(row[name]) == pytest.approx(number, rel=1e-13), name


def entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def test_every_small_table_with_both_classes() -> None:
    """All 225 tables of up to 3 in a cell and a row of each class, undefined values included."""
    rows = model_rows(counts_frame(BOTH), interval="none")
    assert len(rows) == len(BOTH) == 15 * 15
    for name, cells in BOTH.items():
        expected = cells.values()
        for column in EVERY:
            number = estimate_of(rows[name][column]).value
            assert agree(number, expected[column]), (name, column, number, expected[column])


@pytest.mark.parametrize("prevalence", [0.5, 0.001, 0.3, 2 / 3, 0.99])
def test_every_small_table_in_another_population(prevalence: float) -> None:
    result = clfeval.phidelta(counts_frame(BOTH), interval="none", prevalence=prevalence)
    rows = rows_by_model(result, "populations")
    for name, cells in BOTH.items():
        x, y = Fraction(cells.tp, cells.positives), Fraction(cells.fp, cells.negatives)
        expected = byhand.at(x, y, Fraction(prevalence))
        for column in ("phi_b", "delta_b", "accuracy", "precision", "npv", "mutual_information"):
            number, fraction = estimate_of(rows[name][column]).value, expected[column]
            assert agree(number, None if fraction is None else float(fraction)), (name, column)


@examples(40)
@given(tables(models=(1, 4), rows=(2, 14)))
def test_predictions_against_scikit_learn(rows: list[Row]) -> None:
    truth = [row.truth for row in rows]
    if len(set(truth)) < 2:
        return
    rows_by_name = model_rows(frame_of(rows), weight="n", interval="none")
    n = [row.n for row in rows]
    positives = sum(w for t, w in zip(truth, n, strict=True) if t)
    even = [w / (positives if t else sum(n) - positives) for t, w in zip(truth, n, strict=True)]
    for j, row in enumerate(rows_by_name.values()):
        says = [r.votes[j] for r in rows]
        expected = {
            "accuracy": metrics.accuracy_score(truth, says, sample_weight=n),
            "sensitivity": metrics.recall_score(truth, says, sample_weight=n),
            "specificity": metrics.recall_score(truth, says, pos_label=0, sample_weight=n),
            "accuracy_u": metrics.balanced_accuracy_score(truth, says, sample_weight=n),
            "delta": metrics.balanced_accuracy_score(truth, says, sample_weight=n, adjusted=True),
            "f1": metrics.f1_score(truth, says, sample_weight=n),
            "f1_u": metrics.f1_score(truth, says, sample_weight=even),
        }
        repeated = [(t, s) for t, s, w in zip(truth, says, n, strict=True) for _ in range(w)]
        expected["mutual_information"] = metrics.mutual_info_score(
            *zip(*repeated, strict=True)
        ) / math.log(2)
        if any(says):
            expected["precision"] = metrics.precision_score(truth, says, sample_weight=n)
            expected["precision_u"] = metrics.precision_score(truth, says, sample_weight=even)
        if not all(says):
            expected["npv"] = metrics.precision_score(truth, says, pos_label=0, sample_weight=n)
        if 0 < sum(says) < len(says):
            expected["mcc"] = metrics.matthews_corrcoef(truth, says, sample_weight=n)
            expected["mcc_u"] = metrics.matthews_corrcoef(truth, says, sample_weight=even)
        for name, number in expected.items():
            assert value_of(row[name]) == pytest.approx(number, rel=1e-9, abs=1e-12), name


def test_scores_at_the_threshold_are_positive_and_the_threshold_is_said() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "s": [0.5, 0.49, 0.5, 0.1], "u": [0.9, 0.4, 0, 0]})
    rows = model_rows(frame, threshold={"u": 0.4, None: 0.5})
    assert rows["s"]["threshold"] == 0.5
    assert rows["u"]["threshold"] == 0.4
    assert byhand.cells_shown(rows["s"]) == Cells(1, 1, 1, 1)
    assert byhand.cells_shown(rows["u"]) == Cells(2, 0, 0, 2)
