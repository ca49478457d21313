"""Cells that cannot be counted: missing, no number, no label, no weight, no probability."""

from __future__ import annotations

import polars as pl
import pytest

from clfeval.api.mars import mars
from clfeval.errors import UsageError
from tests.tables.door import counted, data_message, encoded, refusal, write

FILL = "hint: fill the cells, or add --missing drop to leave such rows out"
UNKNOWN = (
    "hint: a class truth happens to lack is declared with --classes '{0}'; "
    "a column that is no model is left out by naming the others with --model"
)
NO_NUMBER = "hint: if '{0}' means missing, add --null-value '{0}'"


def test_a_missing_label() -> None:
    assert data_message("id,truth,a,b\n1,y,y,y\n2,n,,n\n", positive="y") == (
        "t.csv:3: column 'a': missing [missing-value]\n" + FILL
    )


def test_a_missing_truth() -> None:
    assert data_message("id,truth,a\n1,1,1\n2,,1\n3,0,0\n") == (
        "t.csv:3: column 'truth': missing [missing-value]\n" + FILL
    )


@pytest.mark.parametrize("cell", ["", "NaN", "nan"])
def test_a_missing_score(cell: str) -> None:
    assert data_message(f"truth,a\n1,0.4\n0,{cell}\n") == (
        "t.csv:3: column 'a': missing [missing-value]\n" + FILL
    )


def test_missing_values_in_a_typed_table_count_rows_from_one() -> None:
    frame = pl.DataFrame({"truth": [1, 0, None], "a": [0.4, float("nan"), 0.1]})
    assert data_message(encoded(frame, "parquet"), "t.parquet") == (
        "t.parquet:2: column 'a': missing [missing-value]\n"
        "t.parquet:3: column 'truth': missing [missing-value]\n" + FILL
    )


def test_dropping_says_how_many_rows_it_left_out() -> None:
    content = "id,truth,a,b\n1,1,0.4,1\n2,0,,\n3,,0.2,0\n4,0,NaN,0\n5,1,0.9,1\n"
    result = mars(write("t.csv", content), missing="drop", model="*")
    assert [(item.rows, item.dropped) for item in result.inputs] == [(2, 3)]
    assert result.summary["rows"] == 2
    assert ("dropped", "3 rows with missing values were left out") in [
        (warning.code, warning.message) for warning in result.warnings
    ]
    both = counted("t.csv", missing="drop", model=["a", "b"])
    assert both == {"a": (1, 0, 1, 0), "b": (2, 0, 0, 0)}


def test_only_columns_that_are_used_must_be_complete() -> None:
    content = "id,truth,a,b,note\n1,1,1,,\n2,0,0,,x\n"
    assert counted(write("t.csv", content), model="a") == {"a": (1, 0, 0, 1)}


def test_null_values_are_missing_in_truth_labels_and_scores() -> None:
    content = "truth,a,b\n1,0.4,1\n?,0.1,0\n0,-,0\n0,0.2,?\n0,0.1,0\n"
    marks = ["?", "-"]
    assert data_message(content, null_value=marks, model="*") == (
        "t.csv:3: column 'truth': missing [missing-value]\n"
        "t.csv:4: column 'a': missing [missing-value]\n"
        "t.csv:5: column 'b': missing [missing-value]\n" + FILL
    )
    left = {"a": (0, 0, 1, 1), "b": (1, 0, 0, 1)}
    assert counted("t.csv", null_value=marks, missing="drop", model="*") == left


def test_null_values_work_on_numbers_of_a_typed_table() -> None:
    frame = pl.DataFrame({"truth": [1, 0, -9, 1], "a": [0.4, -9.0, 0.1, 0.9]})
    name = write("t.parquet", encoded(frame, "parquet"))
    options = {"null_value": ["-9", "-9.0"], "missing": "drop"}
    assert counted(name, **options) == {"a": (1, 0, 1, 0)}


def test_a_bad_number_among_scores() -> None:
    assert data_message("id,truth,a\n1,1,0.9\n2,0,0.2\n3,0,x\n4,1,0.7\n") == (
        "t.csv:4: column 'a': 'x' is not a number [bad-number]\n" + NO_NUMBER.format("x")
    )


def test_a_bad_number_far_down() -> None:
    content = "truth,a\n" + "1,0.7\n0,0.2\n" * 4000 + "1,n/a\n"
    assert data_message(content) == (
        "t.csv:8002: column 'a': 'n/a' is not a number [bad-number]\n"
        + NO_NUMBER.format("n/a")
        + f"\n{FILL}"
    )


def test_a_decimal_comma_is_named() -> None:
    content = 'truth;a\n1;0.3\n0;"0,5"\n'
    assert data_message(content, kind="score", delimiter=";") == (
        "t.csv:3: column 'a': '0,5' is not a number [bad-number]\n"
        "hint: a decimal comma? write '0,5' as 0.5"
    )


@pytest.mark.parametrize("cell", ["1_0", "0x1", "1e", "--1", "half", "0.5%"])
def test_only_plain_numbers_are_numbers(cell: str) -> None:
    content = f'truth;a\n1;0.3\n0;"{cell}"\n'
    hint = NO_NUMBER.format(cell).replace("value '--", "value='--")
    assert data_message(content, kind="score", delimiter=";") == (
        f"t.csv:3: column 'a': '{cell}' is not a number [bad-number]\n{hint}"
    )


def test_a_bad_number_in_a_text_column_of_a_typed_table() -> None:
    frame = pl.DataFrame({"truth": [1, 0], "a": ["0.3", "x"]})
    assert data_message(encoded(frame, "parquet"), "t.parquet", kind="score") == (
        "t.parquet:2: column 'a': 'x' is not a number [bad-number]\n" + NO_NUMBER.format("x")
    )


def test_an_unknown_label() -> None:
    assert data_message("id,truth,a\n1,y,y\n2,n,maybe\n3,n,n\n", positive="y") == (
        "t.csv:3: column 'a': 'maybe' is not among truth's labels 'n', 'y' [unknown-label]\n"
        + UNKNOWN.format("maybe")
    )
    assert counted("t.csv", positive="y", classes=["maybe"]) == {"a": (1, 0, 0, 2)}


def test_a_stray_number_among_labels_is_named_with_its_row() -> None:
    assert data_message("id,truth,a\n1,1,1\n2,0,2\n3,0,0\n", kind="label") == (
        "t.csv:3: column 'a': '2' is not among truth's labels '0', '1' [unknown-label]\n"
        + UNKNOWN.format("2")
    )


def test_labels_may_hold_braces() -> None:
    assert data_message("truth,a\n{x},{x}\n{},{value}\n", positive="{x}") == (
        "t.csv:3: column 'a': '{value}' is not among truth's labels '{x}', '{}' [unknown-label]\n"
        + UNKNOWN.format("{value}")
    )


def test_which_class_is_positive_must_be_said() -> None:
    assert data_message("id,truth,a\n1,yes,yes\n2,not yet,yes\n3,no,no\n") == (
        "t.csv: which class is positive? truth has 'no' (1 row), 'not yet' (1 row), 'yes' (1 row) "
        "[positive-needed]\n"
        "hint: --positive yes: its name says so; all others are negative"
    )


def test_a_class_with_spaces_is_quoted_for_the_shell() -> None:
    assert data_message("id,truth,a\n1,it's,b\n2,b,b\n3,b,b\n").splitlines()[1] == (
        'hint: --positive "it\'s": the rarer class; all others are negative'
    )


@pytest.mark.parametrize(("classes", "positive"), [("01", "1"), (["false", "true"], "true"),
                                                   (["False", "True"], "True"),
                                                   (["FALSE", "TRUE"], "TRUE")])  # fmt: skip
def test_one_and_true_are_positive_unasked(classes: list[str], positive: str) -> None:
    negative, expected = classes
    result = mars(write("t.csv", f"truth,a\n{positive},{positive}\n{negative},{positive}\n"))
    assert result.parameters["positive"] == positive == expected


def test_an_unknown_positive_class() -> None:
    assert data_message("truth,a\nmalign,malign\nbenign,benign\n", positive="Malignant") == (
        "t.csv: truth has no class 'Malignant'; its classes: 'benign', 'malign' "
        "[unknown-positive]\n"
        "hint: did you mean 'malign'?"
    )
    assert data_message("truth,a\nb,b\nc,c\n", positive="zzz") == (
        "t.csv: truth has no class 'zzz'; its classes: 'b', 'c' [unknown-positive]\n"
        "hint: a class truth happens to lack is declared with --classes zzz"
    )
    assert counted("t.csv", positive="zzz", classes=["zzz"]) == {"a": (0, 0, 0, 2)}


def test_scores_outside_zero_to_one_need_a_threshold() -> None:
    assert data_message("id,truth,a,b,c\n1,1,-2.5,0.3,1\n2,0,3,0.4,7e9\n") == (
        "t.csv: column 'a': scores from -2.5 to 3 are no probabilities, so no threshold is "
        "understood [needs-threshold]\n"
        "t.csv: column 'c': scores from 1 to 7e+09 are no probabilities, so no threshold is "
        "understood [needs-threshold]\n"
        "hint: log-odds or margins? --threshold 'a=0' cuts half-way; else --threshold 'a=T' says "
        "from which score on it is positive"
    )
    assert counted("t.csv", threshold={"a": 0, "c": 0})["a"] == (0, 1, 1, 0)
    assert counted("t.csv", threshold=0, model="a") == {"a": (0, 1, 1, 0)}
    assert counted("t.csv", model="b") == {"b": (0, 0, 1, 1)}


@pytest.mark.parametrize("cell", ["-1", "two", "inf", "-inf", "NaN", "", "1e999", "1_0"])
def test_a_bad_weight(cell: str) -> None:
    assert data_message(f"id,truth,a,w\n1,1,1,2\n2,0,0,{cell}\n", weight="w") == (
        f"t.csv:3: column 'w': '{cell}' is not a weight (a finite number, not negative) "
        "[bad-weight]\n"
        "hint: a weight says how many rows one row stands for"
    )


def test_a_bad_weight_in_a_typed_table() -> None:
    frame = pl.DataFrame({"truth": [1, 0], "a": [1, 0], "w": ["2", "two"]})
    assert data_message(encoded(frame, "parquet"), "t.parquet", weight="w") == (
        "t.parquet:2: column 'w': 'two' is not a weight (a finite number, not negative) "
        "[bad-weight]\n"
        "hint: a weight says how many rows one row stands for"
    )


def test_a_threshold_for_labels_is_refused() -> None:
    error = refusal(write("t.csv", "truth,a\n1,1\n0,0\n"), threshold={"a": 0.3})
    assert isinstance(error, UsageError)
    assert str(error) == "--threshold for 'a', which holds labels [needs-scores]"
