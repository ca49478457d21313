"""Classes that a model never predicts: a note with their rows, and the lowest recall."""

from __future__ import annotations

import polars as pl
import pytest

import clfeval
from clfeval.document import as_estimate


def stages() -> pl.DataFrame:
    """28 severe cases, none of which `dead` predicts."""
    truth = ["none"] * 60 + ["mild"] * 40 + ["severe"] * 28
    good = ["none"] * 50 + ["mild"] * 45 + ["severe"] * 33
    dead = ["none"] * 55 + ["mild"] * 73
    return pl.DataFrame({"stage": truth, "good": good, "dead": dead})


def test_a_class_that_one_model_never_predicts_is_a_note_with_its_rows() -> None:
    result = clfeval.report(stages(), truth="stage")
    notes = [note.message for note in result.warnings if note.code == "never-predicted"]
    others = "macro precision is the mean over the other classes"
    assert notes == [f"dead never predicts severe (28 rows); {others}"]


def test_the_lowest_recall_is_a_column_with_its_class() -> None:
    result = clfeval.report(stages(), truth="stage")
    found = {
        row["model"]: (as_estimate(row["lowest_recall"]).value, row["lowest_recall_class"])
        for row in result.tables["models"]
    }
    assert found["dead"] == (0.0, "severe")
    # of 60 cases without disease 50 are recognised, of 40 mild ones 35, of 28 severe ones all
    assert found["good"] == (pytest.approx(50 / 60), "none")
    assert "lowest" in str(result)


def test_two_classes_have_the_note_too() -> None:
    scores = pl.DataFrame({"y": [0, 1] * 20, "m": [0.2, 0.4] * 20, "k": [0.2, 0.6] * 20})
    result = clfeval.report(scores, truth="y")
    notes = [note.message for note in result.warnings if note.code == "never-predicted"]
    assert notes == ["m never predicts class 1 (20 rows)"]


def test_models_without_the_same_classes_share_a_note() -> None:
    table = stages().with_columns(pl.col("dead").alias("other"))
    result = clfeval.report(table, truth="stage")
    (note,) = [note.message for note in result.warnings if note.code == "never-predicted"]
    others = "macro precision is the mean over the other classes"
    assert note == f"dead and other never predict severe (28 rows); {others}"
