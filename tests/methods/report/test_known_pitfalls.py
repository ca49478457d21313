"""What other tools fell into, each once, through the report itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.results import (
    estimate_of,
    four_cells,
    limits_of,
    row_of,
    value_of,
    warning_codes,
    warning_messages,
)
from tests.texts import check_text, numbers_in

TRUTH = [1, 0, 1, 1, 0, 0, 1, 0, 1, 0]
SCORES = [0.9, 0.85, 0.8, 0.5, 0.5, 0.4, 0.35, 0.2, 0.15, 0.1]


def report_of_scores(
    truth: list[int], scores: list[float], *measures: str, **options: object
) -> Result:
    frame = pl.DataFrame({"truth": truth, "m": scores})
    return clfeval.report(frame, measure=measures, **options)


def estimate(result: Result, name: str) -> Estimate:
    return estimate_of(row_of(result, "measures", measure=name)["value"])


def test_the_brier_score_has_a_name_on_each_scale() -> None:
    """One row of .9 and one of .4, the first positive: squares .01 and .16, of each class."""
    result = report_of_scores([1, 0], [0.9, 0.4], "brier_sum", "brier_per_class", "brier")
    assert estimate(result, "brier").value == pytest.approx((0.01 + 0.16) / 2)
    assert estimate(result, "brier_sum").value == pytest.approx((0.02 + 0.32) / 2)
    assert estimate(result, "brier_per_class").value == pytest.approx((0.02 + 0.32) / 2 / 2)


def test_the_last_bin_of_the_ece_is_closed() -> None:
    """1 is in the bin of .95: one gap of |1 + 0 - 1.95| over two rows, not .05/2 + 1/2."""
    assert estimate(report_of_scores([1, 0], [0.95, 1.0], "ece"), "ece").value == pytest.approx(
        0.95 / 2
    )
    # and a bin begins at its edge: .1 is with .15
    assert estimate(report_of_scores([1, 0], [0.1, 0.15], "ece"), "ece").value == pytest.approx(
        0.75 / 2
    )


def test_a_score_at_the_threshold_is_positive() -> None:
    """At .5: .9 .85 .8 .5 .5 are called, three of them positive."""
    result = report_of_scores(TRUTH, SCORES, threshold=0.5)
    assert four_cells(row_of(result, "models")) == (3, 2, 2, 3)
    with_thresholds = report_of_scores(TRUTH, SCORES, thresholds=[0.5])
    assert four_cells(row_of(with_thresholds, "thresholds")) == (3, 2, 2, 3)
    assert estimate(result, "net_benefit").value == pytest.approx(3 / 10 - 2 / 10)


@pytest.mark.parametrize("kind", ["labels", "scores", "classes"])
def test_models_that_differ_in_no_row_are_tied(kind: str) -> None:
    """No pair is discordant: that is no p of 0, and no division by it."""
    answers: dict[str, list[object]] = {
        "labels": [int(score >= 0.5) for score in SCORES],
        "scores": [*SCORES],
        "classes": [*"abcabcabca"],
    }
    truth = TRUTH if kind != "classes" else [*"abcabbcaca"]
    frame = pl.DataFrame({"truth": truth, "m": answers[kind], "k": answers[kind]})
    result = clfeval.report(frame, kind="score" if kind == "scores" else "label")
    assert [row["tied"] for row in result.tables["models"]] == [True, True]
    assert result.answer[0].models == ("m", "k")


def test_there_is_no_area_below_a_curve_of_one_confusion_matrix() -> None:
    labels = pl.DataFrame({"truth": TRUTH, "m": [int(score >= 0.5) for score in SCORES]})
    cells = pl.DataFrame({"model": ["m"], "tp": [3], "fp": [2], "fn": [2], "tn": [3]})
    for table in (labels, cells):
        result = clfeval.report(table, measure=["auc", "log_loss", "net_benefit"])
        for name in ("roc_auc", "log_loss", "net_benefit"):
            assert estimate(result, name) == Estimate(None, reason="needs_scores")
        assert "roc_auc" not in str(result.answer)
    assert "roc_auc" not in {row["measure"] for row in clfeval.report(cells).tables["measures"]}


def test_products_of_a_thousand_million_rows_do_not_overflow() -> None:
    """The cells 7, 2, 3, 8 a thousand million times: the product of margins is 9e39."""
    many = 10**9
    frame = pl.DataFrame(
        {"truth": [1, 0, 1, 0], "m": [1, 1, 0, 0], "n": [7 * many, 2 * many, 3 * many, 8 * many]}
    )
    result = clfeval.report(frame, weight="n", measure=["dor", "markedness"])
    assert estimate(result, "mcc").value == pytest.approx((56 - 6) / np.sqrt(9 * 11 * 10 * 10))
    assert estimate(result, "kappa").value == pytest.approx(2 * 50 / (9 * 10 + 10 * 11))
    assert estimate(result, "dor").value == pytest.approx(56 / 6)
    assert estimate(result, "accuracy").value == pytest.approx(0.75)
    low, high = limits_of(estimate(result, "mcc"))
    assert low < high < 0.51


def test_a_clipped_log_loss_says_of_how_many_rows() -> None:
    """Two rows of the six, one of weight 3, gave their class nothing: 52 ln 2 each."""
    two = pl.DataFrame(
        {
            "truth": [1, 0, 1, 0],
            "m": [0.0, 1.0, 0.5, 0.5],
            "k": [0.9, 0.1, 0.5, 0.5],
            "n": [3, 1, 1, 1],
        }
    )
    assert "clipped" not in warning_codes(clfeval.report(two, weight="n"))
    result = clfeval.report(two, weight="n", measure="log_loss")
    (note,) = warning_messages(result, "clipped")
    assert 4 in numbers_in(note)
    loss = value_of(row_of(result, "models", model="m")["log_loss"])
    assert loss == pytest.approx((4 * 52 + 2) * np.log(2) / 6, rel=1e-12)
    three = pl.DataFrame(
        {"truth": [*"abc"], "m:a": [1.0, 0.0, 0.0], "m:b": [0.0, 0.0, 0.5], "m:c": [0.0, 1.0, 0.5]}
    )
    (note_on_three,) = warning_messages(clfeval.report(three), "clipped")
    assert 1 in numbers_in(note_on_three)
    check_text([note, note_on_three])
