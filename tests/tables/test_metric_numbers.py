"""Cells of metric tables: what is a number, what is missing, what is said about the rest."""

from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pytest

from tests.tables.metric_door import data_message, frame_message, read, read_metrics, rows_of

GAP = "hint: fill the cells, or add --missing drop to leave such models out"
NULL = "hint: if '{0}' means missing, add --null-value '{0}'"
OTHERS = NULL + "; a column that is no metric is left out by naming the others with --metric"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-2", -2), ("+.5", 0.5), ("1e3", 1000), ("1E-3", 0.001), (" 7 ", 7),
        ("0.1", 0.1), ("1.7976931348623157e308", 1.7976931348623157e308), ("5e-324", 5e-324),
        ("1e-400", 0.0), ("-0", -0.0), ("007", 7),
    ],
)  # fmt: skip
def test_numbers(text: str, value: float) -> None:
    table = read(f"model,f1\nrf,{text}\nsvm,0\n")
    assert table.values[0, 0] == value
    assert math.copysign(1, table.values[0, 0]) == math.copysign(1, value)


@pytest.mark.parametrize("text", ["x", "1_0", "0 8", "1.2.3", "0x1", "1,2,3", "--1", "true", "½"])
def test_text_among_numbers_is_named(text: str) -> None:
    assert data_message(f'model,f1\nrf,.5\nsvm,"{text}"\nknn,1\n') == (
        f"t.csv:3: column 'f1': '{text}' is not a number [bad-number]\n{OTHERS.format(text)}"
    )


@pytest.mark.parametrize("text", ["NA", "n/a", "null", "None", "-", "?", "."])
def test_words_for_missing_are_offered_as_such(text: str) -> None:
    content = f"model,f1\nrf,.5\nsvm,{text}\n"
    assert data_message(content) == (
        f"t.csv:3: column 'f1': '{text}' is not a number [bad-number]\n{NULL.format(text)}"
    )
    assert read(content, null_value=[text], missing="drop").models == ("rf",)


@pytest.mark.parametrize("text", ["", " ", "nan", "NaN", "-nan", '""', "\t"])
def test_missing(text: str) -> None:
    content = f"model,f1\nrf,.5\nsvm,{text}\n"
    assert data_message(content) == (f"t.csv:3: column 'f1': missing [missing-value]\n{GAP}")
    table = read(content, missing="drop")
    assert (table.models, rows_of(table), table.dropped) == (("rf",), (2,), 1)


@pytest.mark.parametrize("text", ["inf", "-inf", "Infinity", "1e400"])
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_infinite(text: str, missing: str) -> None:
    assert data_message(f"model,f1\nrf,.5\nsvm,{text}\n", missing=missing) == (
        "t.csv:3: column 'f1': is infinite [infinite-value]\n"
        "hint: an infinite value has no place on a scale: name the other metrics with --metric"
    )


def test_a_decimal_comma_is_named_as_such() -> None:
    for content in ("model;f1;acc\nrf;0,9;1\nsvm;.5;0\n", "model;f1;acc\nrf;0,9;1\nsvm;0,5;0\n"):
        lines = data_message(content, delimiter=";").splitlines()
        assert lines[0] == "t.csv:2: column 'f1': '0,9' is not a number [bad-number]"
        assert lines[-1] == "hint: a decimal comma? write '0,9' as 0.9"


def test_a_percent_sign_is_named_as_such() -> None:
    for content in ("model,f1\nrf,87%\nsvm,9\n", "model,f1\nrf,87 %\nsvm,9.5%\n"):
        text = content.split(",")[2].split("\n")[0]
        lines = data_message(content).splitlines()
        assert lines[0] == f"t.csv:2: column 'f1': '{text}' is not a number [bad-number]"
        assert lines[-1] == (
            f"hint: write '{text}' as 87; --rescale 'f1=0:100' then makes it a share"
        )


def test_all_that_is_wrong_is_said_at_once() -> None:
    content = "model,f1,acc\nrf,x,1\nsvm,,inf\nknn,.5,1\nnb,1,y\n"
    assert data_message(content) == (
        "t.csv:2: column 'f1': 'x' is not a number [bad-number]\n"
        "t.csv:3: column 'f1': missing [missing-value]\n"
        "t.csv:3: column 'acc': is infinite [infinite-value]\n"
        "t.csv:5: column 'acc': 'y' is not a number [bad-number]\n"
        f"{OTHERS.format('x')}"
    )


def test_columns_that_are_transposed_are_named_as_the_file_has_them() -> None:
    assert data_message("metric,rf,svm,nb\nf1,,x,1\nacc,1,,1\nmcc,1,1,0\n", transpose=True) == (
        "t.csv:2: column 'rf': missing [missing-value]\n"
        "t.csv:2: column 'svm': 'x' is not a number [bad-number]\n"
        "t.csv:3: column 'svm': missing [missing-value]\n"
        f"{OTHERS.format('x')}"
    )


def test_thousands_of_gaps_are_counted() -> None:
    rows = "".join(f"m{i},,1\n" for i in range(3000))
    lines = data_message(f"model,f1,acc\n{rows}rf,1,1\n").splitlines()
    assert lines[:2] == [
        "t.csv:2: column 'f1': missing [missing-value]",
        "t.csv:3: column 'f1': missing [missing-value]",
    ]
    assert lines[5] == "  ... 2995 more [missing-value]; --verbose lists them"


def test_long_text_is_cut() -> None:
    message = data_message(f"model,f1\nrf,{'ab' * 500}\nsvm,1\n")
    assert message.startswith(f"t.csv:2: column 'f1': '{'ab' * 30}...' is not a number [")


def test_dropped_models_are_counted_and_those_without_a_name_too() -> None:
    table = read("model,f1,acc\nrf,.5,\n,.25,1\nsvm,.5,1\n", missing="drop")
    assert (table.models, rows_of(table), table.dropped) == (("svm",), (4,), 2)


def test_only_chosen_metrics_and_models_must_be_there() -> None:
    content = "model,f1,acc\nrf,.5,\nsvm,x,1\nknn,1,0\n"
    assert read(content, wanted=["f1"], model=["rf", "knn"]).values.tolist() == [[0.5], [1]]


def test_null_values_are_cells_as_they_are_written() -> None:
    table = read("model,f1\nrf,-1\nsvm,-1.0\n", null_value=["-1"], missing="drop")
    assert table.models == ("svm",)


@pytest.mark.parametrize("null", ["-1", "-1.0"])
def test_null_values_of_typed_numbers_are_numbers(null: str) -> None:
    frame = pl.DataFrame({"model": ["rf", "svm", "NA"], "f1": [-1.0, 0.5, 1.0], "n": [1, -1, 1]})
    table = read_metrics(frame, null_value=[null, "NA"], missing="drop", wanted=["f1"])
    assert (table.models, table.dropped) == (("svm",), 2)
    assert read_metrics(frame, null_value=[null], missing="drop", wanted=["n"]).dropped == 1


def test_objects_in_a_frame_are_judged_one_by_one() -> None:
    frame = pd.DataFrame({"model": ["rf", "svm", "nb"], "f1": [0.5, "x", True]})
    assert frame_message(frame) == (
        "<frame>:2: column 'f1': 'x' is not a number [bad-number]\n"
        "<frame>:3: column 'f1': 'true' is not a number [bad-number]\n"
        f"{OTHERS.format('x')}"
    )
