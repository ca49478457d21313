"""Cells that cannot be counted: missing, no number, no label, no weight, no probability."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from clfeval.api.commands import mars
from tests.results import warning_messages
from tests.tables.door import encoded, mars_confusion, places, told, write
from tests.texts import numbers_in

Y = {"positive": "y"}
SEMI = {"kind": "score", "delimiter": ";"}
MARKS = {"null_value": ["?", "-"], "model": "*"}
MARKED = "truth,a,b\n1,0.4,1\n?,0.1,0\n0,-,0\n0,0.2,?\n0,0.1,0\n"
OUTSIDE = "id,truth,a,b,c\n1,1,-2.5,0.3,1\n2,0,3,0.4,7e9\n"
NAMED = "truth,a\nmalign,malign\nbenign,benign\n"
WEIGHED = "id,truth,a,w\n1,1,1,2\n2,0,0,{}\n"

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a label": ("id,truth,a,b\n1,y,y,y\n2,n,,n\n", Y, "3:a missing-value"),
    "a truth": ("id,truth,a\n1,1,1\n2,,1\n3,0,0\n", {}, "3:truth missing-value"),
    "marks": (MARKED, MARKS, "3:truth missing-value, 4:a missing-value, 5:b missing-value"),
    "text among scores": ("id,truth,a\n1,1,0.9\n2,0,0.2\n3,0,x\n4,1,0.7\n", {}, "4:a bad-number"),
    "far down": ("truth,a\n" + "1,0.7\n0,0.2\n" * 4000 + "1,n/a\n", {}, "8002:a bad-number"),
    "decimal comma": ('truth;a\n1;0.3\n0;"0,5"\n', SEMI, "3:a bad-number"),
    "two signs": ('truth;a\n1;0.3\n0;"--1"\n', SEMI, "3:a bad-number"),
    "a label truth lacks": ("id,truth,a\n1,y,y\n2,n,maybe\n3,n,n\n", Y, "3:a unknown-label"),
    "a number": ("id,truth,a\n1,1,1\n2,0,2\n3,0,0\n", {"kind": "label"}, "3:a unknown-label"),
    "braces": ("truth,a\n{x},{x}\n{},{value}\n", {"positive": "{x}"}, "3:a unknown-label"),
    "which class": ("id,truth,a\n1,yes,yes\n2,not yet,yes\n3,no,no\n", {}, "positive-needed"),
    "quoted for the shell": ("id,truth,a\n1,it's,b\n2,b,b\n3,b,b\n", {}, "positive-needed"),
    "nearly a class": (NAMED, {"positive": "Malignant"}, "unknown-positive"),
    "no such class": ("truth,a\nb,b\nc,c\n", {"positive": "zzz"}, "unknown-positive"),
    "scores outside": (OUTSIDE, {"model": "*"}, "a needs-threshold, c needs-threshold"),
    "a weight": (WEIGHED.format("-1"), {"weight": "w"}, "3:w bad-weight"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_cells_that_cannot_be_counted_are_refused(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


@pytest.mark.parametrize("cell", ["", "NaN", "nan"])
def test_a_missing_score(cell: str) -> None:
    assert places(f"truth,a\n1,0.4\n0,{cell}\n") == "3:a missing-value"


@pytest.mark.parametrize("cell", ["1_0", "0x1", "1e", "half", "0.5%"])
def test_only_plain_numbers_are_numbers(cell: str) -> None:
    assert places(f'truth;a\n1;0.3\n0;"{cell}"\n', **SEMI) == "3:a bad-number"


@pytest.mark.parametrize("cell", ["two", "inf", "-inf", "NaN", "", "1e999", "1_0"])
def test_a_bad_weight(cell: str) -> None:
    assert places(WEIGHED.format(cell), weight="w") == "3:w bad-weight"


MISSING = {"truth": [1, 0, None], "a": [0.4, float("nan"), 0.1]}
TYPED: dict[str, tuple[dict[str, list[Any]], dict[str, Any], str]] = {
    "missing": (MISSING, {}, "2:a missing-value, 3:truth missing-value"),
    "number": ({"truth": [1, 0], "a": ["0.3", "x"]}, {"kind": "score"}, "2:a bad-number"),
    "weight": ({"truth": [1, 0], "a": [1, 0], "w": ["2", "y"]}, {"weight": "w"}, "2:w bad-weight"),
}


@pytest.mark.parametrize("case", TYPED)
def test_rows_of_a_typed_table_count_from_one(case: str) -> None:
    columns, options, expected = TYPED[case]
    assert places(encoded(pl.DataFrame(columns), "parquet"), "t.parquet", **options) == expected


def test_dropping_says_how_many_rows_it_left_out() -> None:
    content = "id,truth,a,b\n1,1,0.4,1\n2,0,,\n3,,0.2,0\n4,0,NaN,0\n5,1,0.9,1\n"
    result = mars(write("t.csv", content), missing="drop", model="*")
    assert [(item.rows, item.dropped) for item in result.inputs] == [(2, 3)]
    assert result.summary["rows"] == 2
    (note,) = warning_messages(result, "dropped")
    assert numbers_in(note) == [3]
    both = mars_confusion("t.csv", missing="drop", model=["a", "b"])
    assert both == {"a": (1, 0, 1, 0), "b": (2, 0, 0, 0)}


UNUSED_COLUMNS = "id,truth,a,b,note\n1,1,1,,\n2,0,0,,x\n"
DECLARED_CLASS = "id,truth,a\n1,y,y\n2,n,maybe\n3,n,n\n"
ACCEPTED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "unused columns": (UNUSED_COLUMNS, {"model": "a"}, {"a": (1, 0, 0, 1)}),
    "marks": (MARKED, MARKS | {"missing": "drop"}, {"a": (0, 0, 1, 1), "b": (1, 0, 0, 1)}),
    "a declared class": (DECLARED_CLASS, Y | {"classes": ["maybe"]}, {"a": (1, 0, 0, 2)}),
    "a class truth lacks": (
        "truth,a\nb,b\nc,c\n",
        {"positive": "zzz", "classes": ["zzz"]},
        {"a": (0, 0, 0, 2)},
    ),
    "a threshold": (OUTSIDE, {"threshold": 0, "model": "a"}, {"a": (0, 1, 1, 0)}),
    "a column of probabilities": (OUTSIDE, {"model": "b"}, {"b": (0, 0, 1, 1)}),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_cells_that_are_counted(case: str) -> None:
    content, options, expected = ACCEPTED[case]
    assert mars_confusion(write("t.csv", content), **options) == expected


def test_null_values_work_on_numbers_of_a_typed_table() -> None:
    frame = pl.DataFrame({"truth": [1, 0, -9, 1], "a": [0.4, -9.0, 0.1, 0.9]})
    name = write("t.parquet", encoded(frame, "parquet"))
    options = {"null_value": ["-9", "-9.0"], "missing": "drop"}
    assert mars_confusion(name, **options) == {"a": (1, 0, 1, 0)}


@pytest.mark.parametrize("classes", ["01", ["false", "true"], ["False", "True"], ["FALSE", "TRUE"]])
def test_one_and_true_are_positive_unasked(classes: list[str]) -> None:
    negative, positive = classes
    result = mars(write("t.csv", f"truth,a\n{positive},{positive}\n{negative},{positive}\n"))
    assert result.parameters["positive"] == positive


def test_a_threshold_for_labels_is_refused() -> None:
    content, options = "truth,a\n1,1\n0,0\n", {"threshold": {"a": 0.3}}
    assert told(content, exit_code=2, **options) == "needs-scores"
