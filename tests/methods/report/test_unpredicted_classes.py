"""Classes that a model never predicts: a note with their rows, and the lowest recall."""

from __future__ import annotations

import polars as pl
import pytest

import clfeval
from tests.results import answers_of, rows_by, rows_of, value_of, warning_codes, warning_messages


def stages() -> pl.DataFrame:
    """28 severe cases, none of which `dead` predicts."""
    truth = ["none"] * 60 + ["mild"] * 40 + ["severe"] * 28
    good = ["none"] * 50 + ["mild"] * 45 + ["severe"] * 33
    dead = ["none"] * 55 + ["mild"] * 73
    return pl.DataFrame({"stage": truth, "good": good, "dead": dead})


MACRO_PRECISION = "macro precision of a model is the mean over the classes that it predicts"


def test_a_class_that_one_model_never_predicts_is_a_note_with_its_rows() -> None:
    result = clfeval.report(stages(), truth="stage")
    assert warning_messages(result, "never-predicted") == [
        "dead never predicts severe (28 rows)",
        MACRO_PRECISION,
    ]


def test_the_lowest_recall_is_a_column_with_its_class() -> None:
    result = clfeval.report(stages(), truth="stage")
    lowest = {
        model: (value_of(row["lowest_recall"]), row["lowest_recall_class"])
        for model, row in rows_by(result, "models", "model").items()
    }
    assert lowest["dead"] == (0.0, "severe")
    # of 60 cases without disease 50 are recognised, of 40 mild ones 35, of 28 severe ones all
    assert lowest["good"] == (pytest.approx(50 / 60), "none")
    assert "lowest" in str(result)


def test_a_model_that_competes_has_it_in_the_answer_and_not_in_a_note() -> None:
    """`m` separates the classes as `k` does, but none of its scores reaches 0.5."""
    scores = pl.DataFrame({"y": [0, 1] * 20, "m": [0.2, 0.4] * 20, "k": [0.2, 0.6] * 20})
    result = clfeval.report(scores, truth="y")
    (dead,) = answers_of(result, "never-predicted")
    assert dead.models == ("m",)
    assert dead.text == "At threshold 0.5, m never predicts class 1 (0 of 20 rows)."
    assert "never-predicted" not in warning_codes(result)


def test_a_tied_model_of_several_classes_has_it_in_the_answer() -> None:
    """`dead` is better at the other classes, so that it is tied with `good`."""
    truth = ["none"] * 60 + ["mild"] * 40 + ["severe"] * 12
    good = ["none"] * 45 + ["mild"] * 45 + ["severe"] * 22
    dead = ["none"] * 60 + ["mild"] * 52
    table = pl.DataFrame({"stage": truth, "good": good, "dead": dead})
    result = clfeval.report(table, truth="stage", classes=["none", "mild", "severe"])
    assert "dead" in [row["model"] for row in rows_of(result, "best", tied=True)]
    texts = [answer.text for answer in answers_of(result, "never-predicted")]
    assert texts == ["dead never predicts severe (0 of 12 rows)."]


def test_models_without_the_same_classes_share_a_note() -> None:
    table = stages().with_columns(pl.col("dead").alias("other"))
    result = clfeval.report(table, truth="stage")
    assert warning_messages(result, "never-predicted") == [
        "dead and other never predict severe (28 rows)",
        MACRO_PRECISION,
    ]
