"""Feature tables that cannot be counted: classes, cells, rows and files to name."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.methods.features.door import FEATURES, cells_of, features, rows_by_feature
from tests.results import warning_codes
from tests.tables.door import encoded, spots, write

places, told = FEATURES.places, FEATURES.told
TEXTS = "truth,note\n" + "".join(f"{i % 2},text {i}\n" for i in range(1001))
WEIGHT_ALONE_IN_ITS_CLAS = "truth,f,n\n1,1,2\n0,0,-1\n"
REFUSED: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "no negative": ("truth,f\n1,1\n1,0\n", {}, "truth single-class"),
    "no positive": ("truth,f\n0,1\n0,0\n", {}, "truth single-class"),
    "one class": ("truth,f\nx,1\nx,0\n", {"positive": "x"}, "truth single-class"),
    "entries": ("row,feature,truth\n1,a,1\n2,b,1\n", {}, "truth single-class"),
    "klass": ("row,feature,klass\n1,a,1\n2,b,1\n", {"truth": "klass"}, "klass single-class"),
    "three classes": ("truth,f\nlow,1\nhigh,0\nmid,0\n", {}, "positive-needed"),
    "two classes": ("truth,f\ncat,1\ndog,0\n", {}, "positive-needed"),
    "Malign": ("truth,f\nmalign,1\nbenign,0\n", {"positive": "Malign"}, "unknown-positive"),
    "an empty column": ("truth,f,g\n1,,1\n0,,0\n", {}, "2:f missing-value, 3:f missing-value"),
    "a bad number": ("truth,f,g\n1,1.5,2\n0,2.5,3\n1,x,4\n0,3.5,5\n", {}, "4:f bad-number"),
    "far down": ("truth,f\n" + "1,0\n0,1\n" * 4000 + "1,n/a\n", {}, "8002:f bad-number"),
    "free text": (TEXTS, {}, "note too-many-categories"),
    "a weight alone in its class": (WEIGHT_ALONE_IN_ITS_CLAS, {"weight": "n"}, "3:n bad-weight"),
    "an id twice": ("id,truth,f\np1,1,1\np2,0,0\np1,1,0\n", {}, "4:id duplicate-id"),
    "zero bytes": ("", {}, "empty-table"),
    "a header": ("truth,f\n", {}, "empty-table"),
    "a header of entries": ("row,feature,truth\n", {}, "empty-table"),
    "no features": ("truth\n1\n0\n", {}, "no-features"),
    "an id alone": ("id,truth\n1,1\n2,0\n", {}, "no-features"),
    "Latin-1": (b"truth,f\n1,\xe4\n0,b\n", {}, "2:f not-utf8"),
    "NUL": ("truth,f\n1,1\n0,\0\n", {}, "3:f nul-byte"),
    "bare CR": ("truth,f\r1,1\r0,0\r", {}, "1 cr-only"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_features_that_cannot_be_counted_are_refused(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


def test_one_of_three_classes_may_be_positive() -> None:
    write("t.csv", "truth,f\nlow,1\nhigh,0\nmid,0\n")
    assert cells_of("t.csv", positive="low") == {"f": (1, 0, 0, 2)}


@pytest.mark.parametrize(
    ("content", "column"),
    [
        ("truth,f\n1,1\n0,\n1,0\n", "f"),
        ("truth,f\n1,1.5\n0,\n1,2\n", "f"),
        ("truth,f\n1,1.5\n0,NaN\n1,2\n", "f"),
        ("truth,f\n1,a\n0,\n1,b\n", "f"),
        ("truth,f\n1,true\n0,\n1,false\n", "f"),
        ("truth,f\n1,1\n,0\n0,0\n", "truth"),
    ],
)
def test_a_missing_cell_is_named(content: str, column: str) -> None:
    assert places(content) == f"3:{column} missing-value"


def test_an_empty_column_without_its_rows_has_a_reason() -> None:
    write("t.csv", "truth,f,g\n1,,1\n0,,0\n")
    for table in ("t.csv", pl.read_csv("t.csv"), pl.read_csv("t.csv").cast({"f": pl.Float64})):
        row = rows_by_feature(table, missing="drop")["f"]
        assert (row["rows"], row["missing"], row["role"], row["implications"]) == (0, 2, None, [])
        assert row["phi"].value is None
        assert row["phi"].reason
    write("t.csv", "truth,f,g\n1,1.5,2\n0,2.5,3\n1,x,4\n0,3.5,5\n")
    assert rows_by_feature("t.csv", null_value="x", missing="drop")["f"]["missing"] == 1


def test_many_gaps_are_counted() -> None:
    error = FEATURES.refusal(write("t.csv", "truth,f,g\n" + "1,,\n0,1,1\n" * 6))
    assert len(error.lines()) == 5 + 1 + 1
    assert error.totals == {"missing-value": 12}


@pytest.mark.parametrize("cell", ["-1", "x", "inf", ""])
def test_a_bad_weight_is_named(cell: str) -> None:
    assert places(f"truth,f,n\n1,1,2\n0,0,{cell}\n0,1,1\n", weight="n") == "3:n bad-weight"


RAGGED = {
    "truth,f\n1,1\n0\n1,0\n": "3:f short-row",
    "f,truth\n1,1\n0\n1,0\n": "3:truth short-row",
    "truth,f\n1,1\n0,0,7\n1,0\n": "3 long-row",
    "truth,f\n1,a\n0,b,c\n1,a\n": "3 long-row",
    "truth,f\n1,.5\n0,2,3\n1,1\n": "3 long-row",
    "f,truth\n1,1\n0,0,7\n1,0\n": "3 long-row",
    "row,feature,truth\n1,a,1\n2,b\n3,c,0\n": "3:truth short-row",
    "row,feature,truth\n1,a,1\n2,b,0,5\n3,c,0\n": "3 long-row",
}


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("content", RAGGED)
def test_ragged_rows_are_called_what_they_are(content: str, missing: str) -> None:
    assert places(content, missing=missing) == RAGGED[content]


@pytest.mark.parametrize(
    "content", ["truth,f\n1,1\n\n0,0\n\n", "row,feature,truth\n1,f,1\n\n2,g,0\n\n"]
)
def test_blank_lines_are_no_rows(content: str) -> None:
    result = features(write("t.csv", content))
    assert result.summary["rows"] == 2
    assert [(item.rows, item.dropped) for item in result.inputs] == [(2, 0)]
    assert "dropped" not in warning_codes(result)


def test_frames_and_typed_tables_count_rows_from_1() -> None:
    schema = {"truth": pl.Int64, "f": pl.Int64}
    assert places(pl.DataFrame({"truth": [], "f": []}, schema=schema)) == "empty-table"
    frame = pl.DataFrame({"truth": [1, 0, 1], "f": [1.5, None, 2.5]})
    assert places(encoded(frame, "parquet"), "t.parquet") == "2:f missing-value"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("truth,f\n1,1\n0,0\n", "truth,g\n1,1\n0,0\n", "b.csv different-columns"),
        ("id,truth,f\n1,1,1\n2,0,0\n", "id,truth,f\n3,1,1\n2,0,0\n", "b.csv:3:id duplicate-id"),
    ],
)
def test_files_that_do_not_fit_each_other(first: str, second: str, expected: str) -> None:
    names = [write("a.csv", first), write("b.csv", second)]
    assert spots(FEATURES.refusal(names)) == expected


def test_a_feature_left_out_may_hold_anything() -> None:
    write("t.csv", "truth,f,note\n" + "".join(f"{i % 2},{i % 2},t{i}\n" for i in range(1200)))
    assert cells_of("t.csv", feature="f") == {"f": (600, 0, 0, 600)}


ALL_KINDS = "id,truth,b,x,c\n1,1,1,0.5,a\n2,0,,1.5,b\n3,1,0,,a\n4,0,1,2.5,\n5,1,1,NaN,b\n"
ALL_ENTRIES = (
    "row,feature,value,truth\n1,a,2,1\n1,a,3,1\n2,b,,0\n,c,1,0\n3,,1,0\n1,d,1,0\n4,e,x,0\n4,f,1,\n"
)
NO_VALUES = "row,feature,truth\n1,a,1\n1,a,1\n2,,0\n,c,0\n1,d,0\n4,f,\n"
WEIGHED = "truth,f,n\n1,1.5,1\n0,x,1\n1,2.5,-1\n0,3.5,4\n"
TOGETHER: list[tuple[str, dict[str, Any], str]] = [
    (ALL_KINDS, {}, "3:b missing, 4:x missing, 5:c missing, 6:x missing"),
    ("truth,f\n1,1\n0,\n,1\n0,0\n", {}, "3:f missing, 4:truth missing"),
    ("truth,f,g\n1,1.5,0.5\n0,x,2.5\n1,2.5,\n0,3.5,4\n", {}, "3:f bad-number, 4:g missing"),
    (WEIGHED, {"weight": "n"}, "3:f bad-number, 4:n bad-weight"),
    ("id,truth,f\n1,1,1\n2,0,\n2,0,1\n", {}, "3:f missing, 4:id duplicate-id"),
    (
        ALL_ENTRIES,
        {},
        "3:feature duplicate-row, 4:value missing, 5:row missing, 6:feature missing, "
        "7:truth conflicting-truth, 8:value bad-number, 9:truth missing",
    ),
    (
        NO_VALUES,
        {},
        "3:feature duplicate-row, 4:feature missing, 5:row missing, "
        "6:truth conflicting-truth, 7:truth missing",
    ),
]


@pytest.mark.parametrize(("content", "options", "expected"), TOGETHER)
def test_all_problems_come_together(content: str, options: dict[str, Any], expected: str) -> None:
    assert places(content, **options) == expected.replace("missing", "missing-value")
