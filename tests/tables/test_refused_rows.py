"""Rows that contradict each other: ids or answers given twice, differing truths, ids that lack."""

from __future__ import annotations

import polars as pl

from clfeval.api.mars import mars
from tests.tables.door import counted, data_message, encoded, refusal, write

LONG = "id,model,prediction,truth\n"
ONE_ROW = (
    "hint: an id names one row, and stands once; where rows share a patient or a document: "
    "--cluster 'id' instead (mars, phidelta, tune-jpt, report); of several runs, seeds or folds, "
    "--run COLUMN tells which (phidelta, report)"
)
ONE_ANSWER = "hint: each id needs one line per model"
FILL = "hint: fill the cells, or add --missing drop to leave such rows out"


def test_an_id_that_stands_twice() -> None:
    assert data_message("id,truth,a\np1,1,1\np2,0,0\np1,1,0\np2,0,0\np1,0,0\n") == (
        "t.csv:4: column 'id': 'p1' stands in t.csv:2 already [duplicate-id]\n"
        "t.csv:5: column 'id': 'p2' stands in t.csv:3 already [duplicate-id]\n"
        "t.csv:6: column 'id': 'p1' stands in t.csv:2 already [duplicate-id]\n" + ONE_ROW
    )


def test_ids_are_text() -> None:
    content = "id,truth,a\n1,1,1\n01,0,0\n1.0,1,1\n"
    assert counted(write("t.csv", content)) == {"a": (2, 0, 0, 1)}


def test_an_id_that_stands_twice_in_a_typed_table() -> None:
    frame = pl.DataFrame({"id": [7, 7], "truth": [1, 0], "a": [1, 0]})
    assert data_message(encoded(frame, "parquet"), "t.parquet") == (
        "t.parquet:2: column 'id': '7' stands in t.parquet:1 already [duplicate-id]\n" + ONE_ROW
    )


def test_ids_that_mean_missing_are_no_ids() -> None:
    content = "id,truth,a\nNA,1,1\nNA,0,0\nx,1,1\n"
    assert counted(write("t.csv", content), null_value=("NA",)) == {"a": (2, 0, 0, 1)}
    assert data_message(content) == (
        "t.csv:3: column 'id': 'NA' stands in t.csv:2 already [duplicate-id]\n" + ONE_ROW
    )


def test_a_slice_column_called_none_is_no_run() -> None:
    found = mars(write("t.csv", "truth,m,None\n1,1,a\n0,0,\n1,1,a\n"), model="m", by="None")
    slices = [row["slice"] for row in found.tables["models"]]
    assert slices == [None, "None=(missing)", "None=a"]


def test_an_id_that_stands_in_two_files() -> None:
    write("a.csv", "id,truth,m\n1,1,1\n2,0,0\n")
    write("b.csv", "id,truth,m\n3,1,1\n2,0,0\n")
    assert str(refusal(["a.csv", "b.csv"])) == (
        "b.csv:3: column 'id': '2' stands in a.csv:3 already [duplicate-id]\n" + ONE_ROW
    )


def test_rows_without_an_id_column_may_be_equal() -> None:
    assert counted(write("t.csv", "truth,a\n1,1\n1,1\n")) == {"a": (2, 0, 0, 0)}


def test_truth_that_differs_within_one_id() -> None:
    assert data_message(LONG + "1,A,1,1\n2,A,0,0\n1,B,0,0\n2,B,1,0\n") == (
        "t.csv:4: column 'truth': '0' where an earlier row of this id has '1' "
        "[conflicting-truth]\n"
        "hint: all lines of one id need the same truth"
    )


def test_truth_that_is_missing_in_one_row_of_an_id() -> None:
    assert data_message(LONG + "1,A,1,1\n2,A,0,0\n1,B,1,\n2,B,1,0\n") == (
        "t.csv:4: column 'truth': missing [missing-value]\n" + FILL
    )


def test_truth_that_differs_between_files() -> None:
    write("a.csv", LONG + "1,A,1,1\n2,A,0,0\n")
    write("b.csv", LONG + "1,B,1,1\n2,B,0,1\n")
    assert str(refusal(["a.csv", "b.csv"])) == (
        "b.csv:3: column 'truth': '1' where an earlier row of this id has '0' "
        "[conflicting-truth]\n"
        "hint: all lines of one id need the same truth"
    )


def test_a_model_that_answers_twice() -> None:
    assert data_message(LONG + "1,A,1,1\n2,A,0,0\n1,B,0,1\n2,B,1,0\n1,A,1,1\n") == (
        "t.csv:6: column 'model': 'A' answered this id in t.csv:2 already [duplicate-row]\n"
        + ONE_ANSWER
    )


def test_models_that_cover_different_ids() -> None:
    assert data_message(LONG + "1,A,1,1\n2,A,0,0\n3,A,0,0\n1,B,0,1\n2,B,1,0\n4,B,1,1\n") == (
        "t.csv:4: column 'model': id '3' has no row of model 'B' [unequal-ids]\n"
        "t.csv:7: column 'model': id '4' has no row of model 'A' [unequal-ids]\n" + ONE_ANSWER
    )


def test_models_that_cover_different_ids_in_different_files() -> None:
    write("a.csv", LONG + "1,A,1,1\n2,A,0,0\n")
    write("b.csv", LONG + "1,B,1,1\n3,B,0,0\n")
    assert str(refusal(["a.csv", "b.csv"])) == (
        "a.csv:3: column 'model': id '2' has no row of model 'B' [unequal-ids]\n"
        "b.csv:3: column 'model': id '3' has no row of model 'A' [unequal-ids]\n" + ONE_ANSWER
    )


def test_each_file_may_hold_one_model() -> None:
    write("a.csv", LONG + "1,A,1,1\n2,A,0,0\n")
    write("b.csv", LONG + "2,B,1,0\n1,B,1,1\n")
    assert counted(["a.csv", "b.csv"]) == {"A": (1, 0, 0, 1), "B": (1, 1, 0, 0)}


def test_a_row_that_lacks_its_id() -> None:
    first = data_message(LONG + "1,A,1,1\n2,A,0,0\n1,B,1,1\n,B,1,0\n").splitlines()
    assert "t.csv:5: column 'id': missing [missing-value]" in first
    assert not any("'None'" in line for line in first)


def test_a_row_that_lacks_its_model() -> None:
    message = data_message(LONG + "1,A,1,1\n2,A,0,0\n1,B,1,1\n2,,1,0\n")
    assert "t.csv:5: column 'model': missing [missing-value]" in message


def test_an_answer_that_is_missing() -> None:
    content = LONG + "1,A,1,1\n2,A,0,0\n1,B,,1\n2,B,1,0\n"
    assert data_message(content) == (
        "t.csv:4: column 'prediction': missing [missing-value]\n" + FILL
    )
    assert counted("t.csv", missing="drop") == {"A": (0, 0, 0, 1), "B": (0, 1, 0, 0)}


def test_an_answer_that_is_no_label() -> None:
    message = data_message(LONG + "1,A,y,y\n2,A,n,n\n1,B,m,y\n2,B,y,n\n", positive="y")
    assert message.splitlines()[0] == (
        "t.csv:4: column 'prediction': 'm' is not among truth's labels 'n', 'y' [unknown-label]"
    )


def test_an_answer_that_is_no_number() -> None:
    assert data_message(LONG + "1,A,.9,1\n2,A,.2,0\n1,B,x,1\n2,B,.4,0\n") == (
        "t.csv:4: column 'prediction': 'x' is not a number [bad-number]\n"
        "hint: if 'x' means missing, add --null-value 'x'"
    )


def test_a_slice_or_weight_that_differs_within_one_id() -> None:
    header = "id,model,prediction,truth,s\n"
    rows = "1,A,1,1,2\n1,B,1,1,3\n2,A,0,0,1\n2,B,0,0,1\n"
    for option in ("by", "weight"):
        assert data_message(header + rows, **{option: "s"}) == (
            "t.csv:3: column 's': '3' where an earlier row of this id has '2' "
            "[conflicting-value]\n"
            "hint: slices and weights belong to the row that the id names, not to the model"
        )


def test_blank_lines_of_a_long_table_are_passed_over() -> None:
    content = LONG + "1,A,1,1\n\n2,A,0,0\n1,B,0,1\n2,B,1,0\n\n"
    assert counted(write("t.csv", content)) == {"A": (1, 0, 0, 1), "B": (0, 1, 1, 0)}


def test_counts_must_be_counts() -> None:
    hint = "hint: counts are whole numbers from 0 up"
    for cell in ("x", "-2", "1.5"):
        assert data_message(f"model,tp,fp,fn,tn\na,1,{cell},3,4\n") == (
            f"t.csv:2: column 'fp': '{cell}' is not a count [bad-count]\n{hint}"
        )
    assert data_message("model,tp,fp,fn,tn\na,1,,3,4\n") == (
        f"t.csv:2: column 'fp': missing [missing-value]\n{hint}"
    )


def test_counts_of_one_model_stand_in_one_row() -> None:
    first, *hint = data_message("model,tp,fp,fn,tn\na,1,2,3,4\na,1,2,3,4\n").splitlines()
    assert first == "t.csv:3: column 'model': 'a' stands in an earlier row already [duplicate-row]"
    assert "whole numbers" not in "".join(hint)
