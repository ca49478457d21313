"""The truth table of a sparse table: recognised, refused, and never mixed up with the entries."""

from __future__ import annotations

import polars as pl
import pytest

from clfeval.tables.feature import FeatureTable
from tests.methods.features.door import cells_of, data_message, features, refusal
from tests.tables.door import write

TABLE = "row,feature,value\n1,a,2\n2,a,1\n3,b,1\n"
CLASSES = "row,truth\n1,1\n2,0\n3,0\n4,1\n"


def opened(table: str, **options: object) -> FeatureTable:
    seen: list[FeatureTable] = []
    features(table, on_open=seen.append, **options)
    return seen[0]


def test_what_was_read_is_said_in_one_line() -> None:
    write("t.csv", TABLE)
    write("c.csv", CLASSES)
    assert opened("t.csv", truth_table="c.csv").described() == (
        "t.csv: long features; classes 'truth' of c.csv; rows in 'row', features in 'feature'; "
        "values in 'value'"
    )
    write("w.csv", "id,truth,f,g,x,y\n1,1,1,0,0.5,a\n2,0,0,1,1.5,b\n3,0,0,1,2.5,b\n")
    assert opened("w.csv").described() == (
        "w.csv: wide features; truth 'truth'; id 'id'; 2 binary: 'f', 'g'; 1 numeric: 'x'; "
        "1 category: 'y'"
    )


HEADERS = {
    "row,truth": {}, "doc,section": {}, "truth,row": {}, "anything,else": {},
    "x,row,truth": {}, "x,key,klass": {"id": "key", "truth": "klass"},
}  # fmt: skip


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
        "a": (1, 1, 0, 1), "b": (0, 1, 1, 1),
    }  # fmt: skip


def test_columns_nobody_can_tell() -> None:
    write("c.csv", "x,y,z\n1,1,0\n")
    assert data_message(TABLE, truth_table="c.csv") == (
        "c.csv: which columns are row and class? columns: 'x', 'y', 'z' [no-truth]\n"
        "hint: name them with --id COLUMN and --truth COLUMN"
    )


def test_a_missing_truth_table() -> None:
    write("classes.csv", CLASSES)
    message = data_message(TABLE, truth_table="clases.csv")
    assert message == "clases.csv: no such file [no-such-file]\nhint: did you mean 'classes.csv'?"


def test_a_truth_table_that_cannot_be_read() -> None:
    write("c.parquet", "row,truth\n1,1\n")
    assert data_message(TABLE, truth_table="c.parquet").startswith("c.parquet: cannot be read")
    write("c.csv", "")
    assert data_message(TABLE, truth_table="c.csv").startswith("c.csv: the file is empty")
    write("c.csv", "row,truth\n")
    assert data_message(TABLE, truth_table="c.csv").startswith("c.csv: no rows to evaluate")


def test_a_ragged_truth_table() -> None:
    write("c.csv", "row,truth\n1,1\n2\n3,0\n")
    assert data_message(TABLE, truth_table="c.csv").startswith(
        "c.csv:3: column 'truth': 1 fields where the header has 2 [short-row]"
    )
    write("c.csv", "row,truth\n1,1\n2,0,0\n3,0\n")
    assert data_message(TABLE, truth_table="c.csv").startswith(
        "c.csv:3: 3 fields where the header has 2 [long-row]"
    )


def test_a_class_that_is_missing() -> None:
    write("c.csv", "row,truth\n1,1\n2,\n3,0\n")
    assert data_message(TABLE, truth_table="c.csv").startswith(
        "c.csv:3: column 'truth': missing [missing-value]"
    )
    result = features("t.csv", truth_table="c.csv", missing="drop")
    assert result.summary["rows"] == 2
    assert [item.dropped for item in result.inputs if item.name == "c.csv"] == [1]


def test_an_entry_whose_row_has_no_class() -> None:
    write("c.csv", "row,truth\n1,1\n2,0\n")
    assert data_message(TABLE, truth_table="c.csv") == (
        "t.csv:4: column 'row': row '3' has no class [unknown-row]\n"
        "hint: every row of the features needs its class in --truth-table"
    )


def test_an_id_that_stands_twice_in_the_truth_table() -> None:
    write("c.csv", "row,truth\n1,1\n2,0\n3,0\n1,0\n")
    assert data_message(TABLE, truth_table="c.csv").startswith(
        "c.csv:5: column 'row': '1' stands in c.csv:2 already [duplicate-id]"
    )


def test_a_feature_that_a_row_shows_twice() -> None:
    write("c.csv", CLASSES)
    assert data_message("row,feature\n1,a\n2,a\n1,b\n1,a\n", truth_table="c.csv") == (
        "t.csv:5: column 'feature': 'a' stands in t.csv:2 for this row already [duplicate-row]\n"
        "hint: a row shows a feature once; how often belongs in a value column"
    )


def test_a_feature_that_a_row_shows_in_two_files() -> None:
    write("c.csv", CLASSES)
    write("a.csv", "row,feature\n1,a\n2,a\n")
    write("b.csv", "row,feature\n3,a\n2,a\n")
    assert str(refusal(["a.csv", "b.csv"], truth_table="c.csv")).startswith(
        "b.csv:3: column 'feature': 'a' stands in a.csv:3 for this row already [duplicate-row]"
    )


def test_entries_of_one_row_that_disagree_on_its_class() -> None:
    message = data_message("row,feature,truth\n1,a,1\n2,a,0\n1,b,0\n")
    assert message == (
        "t.csv:4: column 'truth': '0' where an earlier entry of this row has '1' "
        "[conflicting-truth]\nhint: all entries of one row need the same class"
    )


def test_a_sparse_table_without_classes_anywhere() -> None:
    assert data_message(TABLE) == (
        "t.csv: no class column; columns: 'row', 'feature', 'value' [no-truth]\n"
        "hint: name it with --truth COLUMN, or its file with --truth-table FILE (Python, batches)"
    )


def test_a_wide_table_has_no_use_for_a_truth_table() -> None:
    write("c.csv", CLASSES)
    message = data_message("row,f,g\n1,1,0\n2,0,1\n3,0,0\n", truth_table="c.csv")
    assert message.startswith("t.csv: no sparse table")


def test_a_table_of_entries_is_no_table_of_classes() -> None:
    """Given for both, it has a row of several entries twice where it must stand once."""
    table = write("t.csv", "row,feature,truth\n1,a,1\n1,b,1\n2,b,0\n")
    assert str(refusal(table, truth_table="t.csv")).startswith(
        "t.csv:3: column 'row': '1' stands in t.csv:2 already [duplicate-id]"
    )


def test_the_class_of_the_truth_table_counts_where_both_have_one() -> None:
    frame = pl.DataFrame({"row": [1, 2, 3], "feature": ["a", "a", "b"], "truth": [0, 0, 0]})
    write("c.csv", CLASSES)
    assert cells_of(frame, truth_table="c.csv")["a"] == (1, 1, 1, 1)


def test_names_of_the_truth_table_s_columns_get_a_suggestion() -> None:
    write("c.csv", CLASSES)
    message = data_message(TABLE, truth_table="c.csv", truth="thruth")
    assert message.startswith("c.csv: no column 'thruth'; columns: 'row', 'truth'")
    assert message.endswith("hint: did you mean 'truth'?")
