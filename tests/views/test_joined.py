"""Names side by side on a screen: commas and plus signs in them cannot mislead."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import clfeval
from clfeval.pages.table_parts import format_cell, join_names

TABLE = pl.DataFrame(
    {"truth": [1, 1, 1, 0], "k-NN, k=5": [1, 0, 0, 0], "a + b": [0, 1, 0, 1], "svm": [0, 0, 1, 0]}
)


def test_models_of_a_set_stand_in_quotes_where_their_names_look_like_several() -> None:
    text = str(clfeval.mars(TABLE, subsets=2))
    assert "'k-NN, k=5' + 'a + b'" in text
    assert "'a + b' + svm" in text
    assert format_cell(["k-NN, k=5", "svm"]) == "'k-NN, k=5' + svm"


def test_files_and_implications_are_joined_likewise(tmp_path: Path) -> None:
    path = tmp_path / "may, june.csv"
    TABLE.write_csv(path)
    assert str(clfeval.mars(path)).startswith("Detections in 'may, june.csv': 4 rows")
    assert join_names(["x, y.csv", "z.csv"]) == "'x, y.csv', z.csv"
    assert join_names(["f → c", "¬f → ¬c"]) == "f → c, ¬f → ¬c"
