"""Feature tables that cannot be counted: classes, cells, rows and files to name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.methods.features.door import (
    cells_of,
    data_message,
    features,
    problem,
    refusal,
    rows_of,
)
from tests.tables.door import encoded, write

FILL = "hint: fill the cells, or add --missing drop to leave such rows out"
ONE_ROW = "hint: an id names one row, and stands once"


def test_one_class_only() -> None:
    assert data_message("truth,f\n1,1\n1,0\n") == (
        "t.csv: column 'truth': no negative row: truth holds '1' [single-class]\n"
        "hint: what a feature tells of a class shows only beside rows of another"
    )
    assert "no positive row: truth holds '0'" in data_message("truth,f\n0,1\n0,0\n")
    assert "single-class" in data_message("truth,f\nx,1\nx,0\n", positive="x")
    sparse = "row,feature,truth\n1,a,1\n2,b,1\n"
    assert "no negative row: truth holds '1' [single-class]" in data_message(sparse)


def test_one_class_of_a_truth_table() -> None:
    write("c.csv", "row,truth\n1,1\n2,1\n")
    message = data_message("row,feature\n1,a\n2,b\n", truth_table="c.csv")
    assert message.startswith("c.csv: column 'truth': no negative row")


def test_a_column_of_messages_is_a_column_of_the_file() -> None:
    message = data_message("row,feature,klass\n1,a,1\n2,b,1\n", truth="klass")
    assert message.startswith("t.csv: column 'klass': no negative row")


def test_three_classes_need_to_be_told_which_is_positive() -> None:
    content = "truth,f\nlow,1\nhigh,0\nmid,0\n"
    assert data_message(content) == (
        "t.csv: which class is positive? truth has 'high' (1 row), 'low' (1 row), 'mid' (1 row) "
        "[positive-needed]\n"
        "hint: --positive high: no class is rarer; all others are negative"
    )
    assert cells_of("t.csv", positive="low") == {"f": (1, 0, 0, 2)}


def test_two_classes_that_are_no_0_and_1_too() -> None:
    assert "positive-needed" in data_message("truth,f\nyes,1\nno,0\n")


def test_an_unknown_positive_class() -> None:
    message = data_message("truth,f\nmalign,1\nbenign,0\n", positive="Malign")
    assert "truth has no class 'Malign'" in message
    assert message.endswith("hint: did you mean 'malign'?")


GAPS = {
    "0 and 1": ("truth,f\n1,1\n0,\n1,0\n", "f"), "numbers": ("truth,f\n1,1.5\n0,\n1,2\n", "f"),
    "not a number": ("truth,f\n1,1.5\n0,NaN\n1,2\n", "f"),
    "text": ("truth,f\n1,a\n0,\n1,b\n", "f"), "booleans": ("truth,f\n1,true\n0,\n1,false\n", "f"),
    "class": ("truth,f\n1,1\n,0\n0,0\n", "truth"),
}  # fmt: skip


@pytest.mark.parametrize("name", GAPS)
def test_a_missing_cell_is_named(name: str) -> None:
    content, column = GAPS[name]
    assert data_message(content) == f"t.csv:3: column '{column}': missing [missing-value]\n{FILL}"


def test_an_empty_column_is_named_cell_by_cell_or_has_a_reason() -> None:
    content = "truth,f,g\n1,,1\n0,,0\n"
    assert problem(data_message(content)) == (
        "t.csv:2: column 'f': missing [missing-value]\nt.csv:3: column 'f': missing [missing-value]"
    )
    for table in ("t.csv", pl.read_csv("t.csv"), pl.read_csv("t.csv").cast({"f": pl.Float64})):
        row = rows_of(table, missing="drop")["f"]
        assert (row["rows"], row["missing"], row["role"], row["implications"]) == (0, 2, None, [])
        assert row["phi"].value is None
        assert row["phi"].reason


def test_many_gaps_are_counted() -> None:
    message = data_message("truth,f,g\n" + "1,,\n0,1,1\n" * 6)
    assert len(message.splitlines()) == 5 + 1 + 1
    assert "  ... 7 more [missing-value]; --verbose lists them" in message


def test_a_bad_number_is_named() -> None:
    content = "truth,f,g\n1,1.5,2\n0,2.5,3\n1,x,4\n0,3.5,5\n"
    assert data_message(content) == (
        "t.csv:4: column 'f': 'x' is not a number [bad-number]\n"
        "hint: if 'x' means missing, add --null-value 'x'"
    )
    assert rows_of("t.csv", null_value="x", missing="drop")["f"]["missing"] == 1


def test_a_bad_number_far_below_the_sample() -> None:
    content = "truth,f\n" + "1,0\n0,1\n" * 4000 + "1,n/a\n"
    assert data_message(content).startswith(
        "t.csv:8002: column 'f': 'n/a' is not a number [bad-number]"
    )


def test_a_column_of_free_text() -> None:
    content = "truth,note\n" + "".join(f"{i % 2},text {i}\n" for i in range(1001))
    assert data_message(content) == (
        "t.csv: column 'note': holds 1,001 different texts: an id or free text, no feature "
        "[too-many-categories]\n"
        "hint: name the id with --id, or the features with --feature"
    )


def test_a_bad_weight_is_named() -> None:
    for cell in ("-1", "x", "inf", ""):
        assert data_message(f"truth,f,n\n1,1,2\n0,0,{cell}\n0,1,1\n", weight="n").startswith(
            f"t.csv:3: column 'n': '{cell}' is not a weight"
        )


def test_a_bad_weight_is_named_though_its_row_is_the_only_one_of_its_class() -> None:
    message = data_message("truth,f,n\n1,1,2\n0,0,-1\n", weight="n")
    assert message.startswith("t.csv:3: column 'n': '-1' is not a weight")


def test_an_id_that_stands_twice() -> None:
    assert data_message("id,truth,f\np1,1,1\np2,0,0\np1,1,0\n") == (
        "t.csv:4: column 'id': 'p1' stands in t.csv:2 already [duplicate-id]\n" + ONE_ROW
    )
    write("a.csv", "id,truth,f\n1,1,1\n2,0,0\n")
    write("b.csv", "id,truth,f\n3,1,1\n2,0,0\n")
    assert str(refusal(["a.csv", "b.csv"])).startswith(
        "b.csv:3: column 'id': '2' stands in a.csv:3 already [duplicate-id]"
    )


RAGGED = {
    "short": ("truth,f\n1,1\n0\n1,0\n", "t.csv:3: column 'f': 1 fields where the header has 2"),
    "short at the class": (
        "f,truth\n1,1\n0\n1,0\n", "t.csv:3: column 'truth': 1 fields where the header has 2"
    ),
    "long": ("truth,f\n1,1\n0,0,7\n1,0\n", "t.csv:3: 3 fields where the header has 2"),
    "long text": ("truth,f\n1,a\n0,b,c\n1,a\n", "t.csv:3: 3 fields where the header has 2"),
    "long number": ("truth,f\n1,.5\n0,2,3\n1,1\n", "t.csv:3: 3 fields where the header has 2"),
    "long at the class": ("f,truth\n1,1\n0,0,7\n1,0\n", "t.csv:3: 3 fields where the header has 2"),
    "sparse, short": (
        "row,feature,truth\n1,a,1\n2,b\n3,c,0\n",
        "t.csv:3: column 'truth': 2 fields where the header has 3",
    ),
    "sparse, long": (
        "row,feature,truth\n1,a,1\n2,b,0,5\n3,c,0\n", "t.csv:3: 4 fields where the header has 3"
    ),
}  # fmt: skip


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("name", RAGGED)
def test_ragged_rows_are_called_what_they_are(name: str, missing: Any) -> None:
    content, expected = RAGGED[name]
    message = data_message(content, missing=missing)
    assert message.startswith(f"{expected} [{'long' if 'long' in name else 'short'}-row]")
    assert "every row needs as many fields as the header" in message


def test_blank_lines_are_no_rows() -> None:
    for content in ("truth,f\n1,1\n\n0,0\n\n", "row,feature,truth\n1,f,1\n\n2,g,0\n\n"):
        result = features(write("t.csv", content))
        assert result.summary["rows"] == 2
        assert [(item.rows, item.dropped) for item in result.inputs] == [(2, 0)]
        assert "dropped" not in [warning.code for warning in result.warnings]


EMPTY = {
    "nothing": ("", "0 bytes"), "header": ("truth,f\n", "a header and nothing else"),
    "sparse header": ("row,feature,truth\n", "a header and nothing else"),
    "no features": ("truth\n1\n0\n", "no feature columns"),
    "id alone": ("id,truth\n1,1\n2,0\n", "no feature columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_empty_tables(name: str) -> None:
    content, expected = EMPTY[name]
    message = data_message(content)
    assert message.startswith("t.csv: ")
    assert expected in message


def test_an_empty_frame() -> None:
    assert "no rows to evaluate [empty-table]" in data_message(
        pl.DataFrame({"truth": [], "f": []}, schema={"truth": pl.Int64, "f": pl.Int64})
    )


def test_encodings_and_bytes() -> None:
    assert data_message(b"truth,f\n1,\xe4\n0,b\n").startswith("t.csv:2: column 'f': not UTF-8")
    assert "NUL" in data_message("truth,f\n1,1\n0,\0\n")
    assert "cr-only" in data_message("truth,f\r1,1\r0,0\r")


def test_files_with_other_columns() -> None:
    write("a.csv", "truth,f\n1,1\n0,0\n")
    write("b.csv", "truth,g\n1,1\n0,0\n")
    assert "b.csv: has no column 'f'" in str(refusal(["a.csv", "b.csv"]))


def test_a_typed_table_counts_rows_from_1() -> None:
    frame = pl.DataFrame({"truth": [1, 0, 1], "f": [1.5, None, 2.5]})
    message = data_message(encoded(frame, "parquet"), "t.parquet")
    assert message == f"t.parquet:2: column 'f': missing [missing-value]\n{FILL}"


def test_a_feature_left_out_may_hold_anything() -> None:
    write("t.csv", "truth,f,note\n" + "".join(f"{i % 2},{i % 2},t{i}\n" for i in range(1200)))
    assert cells_of("t.csv", feature="f") == {"f": (600, 0, 0, 600)}
    assert Path("t.csv").exists()
