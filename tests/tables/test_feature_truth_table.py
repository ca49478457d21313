"""The truth table of a sparse table: recognised, refused, and never mixed up with the entries."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from clfeval.tables.feature import FeatureTable
from tests.methods.features.door import FEATURES, cells_of, features
from tests.tables.door import spots, write
from tests.texts import check_text

TABLE = "row,feature,value\n1,a,2\n2,a,1\n3,b,1\n"
CLASSES = "row,truth\n1,1\n2,0\n3,0\n4,1\n"
ENTRIES = "row,feature,truth\n1,a,1\n2,a,0\n1,b,0\n"


def opened(table: str, **options: object) -> FeatureTable:
    seen: list[FeatureTable] = []
    features(table, on_open=seen.append, **options)
    return seen[0]


def test_what_was_read_is_said_in_one_line() -> None:
    write("t.csv", TABLE)
    write("c.csv", CLASSES)
    check_text(opened("t.csv", truth_table="c.csv").described())
    write("w.csv", "id,truth,f,g,x,y\n1,1,1,0,0.5,a\n2,0,0,1,1.5,b\n3,0,0,1,2.5,b\n")
    table = opened("w.csv")
    check_text(table.described())
    assert list(table.kinds or {}) == ["f", "g", "x", "y"]


HEADERS = {
    "row,truth": {},
    "doc,section": {},
    "truth,row": {},
    "anything,else": {},
    "x,row,truth": {},
    "x,key,klass": {"id": "key", "truth": "klass"},
}


@pytest.mark.parametrize("header", HEADERS)
def test_row_and_class_are_found(header: str) -> None:
    options = HEADERS[header]
    columns = header.split(",")
    classes = next(c for c in columns if c in ("truth", "section", "else", "klass"))
    row = next(c for c in columns if c not in (classes, "x"))
    lines = [{classes: t, row: str(i), "x": "7"} for i, t in ((1, "1"), (2, "0"), (3, "0"))]
    content = "".join(",".join(line[c] for c in columns) + "\n" for line in lines)
    write("c.csv", f"{header}\n{content}")
    table = TABLE.replace("row", options.get("id", "row"))
    assert cells_of(write("t.csv", table), truth_table="c.csv", **options) == {
        "a": (1, 1, 0, 1),
        "b": (0, 1, 1, 1),
    }


# the entries, the table of classes and its name
ENTRY_TWICE = "row,feature\n1,a\n2,a\n1,b\n1,a\n"
REFUSED: dict[str, tuple[str, str | None, dict[str, Any], str]] = {
    "one class": (TABLE, "row,truth\n1,1\n2,1\n3,1\n", {}, "c.csv:truth single-class"),
    "no class column": (TABLE, "x,y,z\n1,1,0\n", {}, "c.csv no-truth"),
    "no such column": (TABLE, CLASSES, {"truth": "thruth"}, "c.csv unknown-column"),
    "no such file": (TABLE, CLASSES, {"truth_table": "d.csv"}, "d.csv no-such-file"),
    "nothing": (TABLE, "", {}, "c.csv empty-table"),
    "a header": (TABLE, "row,truth\n", {}, "c.csv empty-table"),
    "a short row": (TABLE, "row,truth\n1,1\n2\n3,0\n", {}, "c.csv:3:truth short-row"),
    "a long row": (TABLE, "row,truth\n1,1\n2,0,0\n3,0\n", {}, "c.csv:3 long-row"),
    "a class is missing": (TABLE, "row,truth\n1,1\n2,\n3,0\n", {}, "c.csv:3:truth missing-value"),
    "a row lacks": (TABLE, "row,truth\n1,1\n2,0\n", {}, "4:row unknown-row"),
    "a row twice": (TABLE, CLASSES + "1,0\n", {}, "c.csv:6:row duplicate-id"),
    "entries for classes": (TABLE, ENTRIES, {}, "c.csv:4:row duplicate-id"),
    "an entry twice": (ENTRY_TWICE, CLASSES, {}, "5:feature duplicate-row"),
    "wide": ("row,f,g\n1,1,0\n2,0,1\n3,0,0\n", CLASSES, {}, "wrong-layout"),
    "no truth table": (TABLE, None, {}, "no-truth"),
    "two classes of a row": (ENTRIES, None, {}, "4:truth conflicting-truth"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_classes_that_do_not_fit_are_refused(case: str) -> None:
    content, classes, options, expected = REFUSED[case]
    if classes is not None:
        write("c.csv", classes)
        options = {"truth_table": "c.csv", **options}
    assert FEATURES.told(content, **options) == expected


def test_a_truth_table_of_another_format() -> None:
    write("c.parquet", "row,truth\n1,1\n")
    assert FEATURES.places(TABLE, truth_table="c.parquet") == "c.parquet bad-file"


def test_rows_without_a_class_can_be_dropped() -> None:
    write("c.csv", "row,truth\n1,1\n2,\n3,0\n")
    result = features(write("t.csv", TABLE), truth_table="c.csv", missing="drop")
    assert result.summary["rows"] == 2
    assert [item.dropped for item in result.inputs if item.name == "c.csv"] == [1]


def test_a_feature_that_a_row_shows_in_two_files() -> None:
    write("c.csv", CLASSES)
    names = [write("a.csv", "row,feature\n1,a\n2,a\n"), write("b.csv", "row,feature\n3,a\n2,a\n")]
    error = FEATURES.refusal(names, truth_table="c.csv")
    assert spots(error) == "b.csv:3:feature duplicate-row"


def test_the_class_of_the_truth_table_counts_where_both_have_one() -> None:
    frame = pl.DataFrame({"row": [1, 2, 3], "feature": ["a", "a", "b"], "truth": [0, 0, 0]})
    write("c.csv", CLASSES)
    assert cells_of(frame, truth_table="c.csv")["a"] == (1, 1, 1, 1)
