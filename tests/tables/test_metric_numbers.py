"""Cells of metric tables: what is a number, what is missing, what is said about the rest."""

from __future__ import annotations

import math
import random
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.tables.metric.values import least_lost
from tests.tables.metric_door import data_message, frame_message, read, read_metrics, rows_of

GAP = "hint: fill the cells, or add --missing drop to leave out 1 of 2 models"
NULL = "hint: if '{0}' means missing, add --null-value '{0}'"
DROP = ", and --missing drop to leave out {1}"
NO_METRIC = "; a column that is no metric is left out with --ignore COLUMN"
OTHERS = NULL + DROP + NO_METRIC


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
        f"t.csv:3: column 'f1': '{text}' is not a number [bad-number]\n"
        + OTHERS.format(text, "1 of 3 models").replace("value '--", "value='--")
    )


@pytest.mark.parametrize("text", ["NA", "n/a", "null", "None", "-", "?", "."])
def test_words_for_missing_are_offered_as_such(text: str) -> None:
    content = f"model,f1\nrf,.5\nsvm,{text}\n"
    assert data_message(content) == (
        f"t.csv:3: column 'f1': '{text}' is not a number [bad-number]\n"
        f"{(NULL + DROP).format(text, '1 of 2 models')}"
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
    mixed = data_message("model;f1;acc\nrf;0,9;1\nsvm;.5;0\n", delimiter=";").splitlines()
    assert mixed == [
        "t.csv:2: column 'f1': '0,9' is not a number [bad-number]",
        "hint: a decimal comma? write '0,9' as 0.9",
    ]
    whole = data_message("model;f1;acc\nrf;0,9;1\nsvm;0,5;0\n", delimiter=";").splitlines()
    assert whole == [
        "t.csv: column 'f1': numbers with a decimal comma, such as '0,9' [decimal-comma]",
        "hint: --decimal ',' reads '0,9' as 0.9",
    ]


def test_numbers_with_a_decimal_comma_are_read_when_it_is_said() -> None:
    content = "model;f1;acc;auc\nrf;0,9;1;-1,5e-1\nsvm;,5;0;12,5%\nknn;+0,25;2;50 %\n"
    table = read(content, delimiter=";", decimal=",", wanted=["f1", "acc"])
    assert table.values.tolist() == [[0.9, 1], [0.5, 0], [0.25, 2]]


def test_a_decimal_point_is_none_where_a_comma_is_said() -> None:
    """1.234 may be a thousand and more: nobody knows."""
    content = "model;f1\nrf;0.9\nsvm;0.5\n"
    assert data_message(content, delimiter=";", decimal=",").splitlines() == [
        "t.csv: column 'f1': numbers with a decimal point, such as '0.9' [decimal-comma]",
        "hint: --decimal '.' reads '0.9' as 0.9",
    ]
    mixed = data_message("model;f1\nrf;0,9\nsvm;1.234\n", delimiter=";", decimal=",")
    assert mixed.splitlines()[-1] == "hint: a decimal point? write '1.234' as 1,234"


def test_a_separator_of_thousands_is_no_decimal_comma() -> None:
    content = 'model,f1,acc,auc,n\nrf,.9,.8,.7,"1,200"\nsvm,.9,.8,.7,"12,000"\n'
    assert data_message(content).splitlines()[-1] == (
        "hint: write '1,200' as 1200; or leave it out: --ignore n"
    )
    assert read(content, ignore=["n"]).metrics == ("f1", "acc", "auc")


def test_a_comma_that_may_be_either_is_asked_about() -> None:
    content = "model;cost;n\nrf;1,010;200\nsvm;2,200;100\n"
    assert data_message(content, delimiter=";").splitlines() == [
        "t.csv:2: column 'cost': '1,010' has a comma that may be a decimal sign or part thousands "
        "[bad-number]",
        "t.csv:3: column 'cost': '2,200' has a comma that may be a decimal sign or part thousands "
        "[bad-number]",
        "hint: --decimal ',' reads '1,010' as 1.010; if it is 1010, leave out its comma",
    ]
    assert read(content, delimiter=";", decimal=",", wanted=["cost"]).values.tolist() == [
        [1.01], [2.2],
    ]  # fmt: skip


def test_typed_numbers_have_their_point_whatever_is_said() -> None:
    frame = pl.DataFrame({"model": ["rf", "svm"], "f1": [0.5, 0.25], "acc": ["0,5", "1"]})
    assert read_metrics(frame, decimal=",").values.tolist() == [[0.5, 0.5], [0.25, 1.0]]
    assert "hint: --decimal ',' reads '0,5' as 0.5" in frame_message(frame)


PERCENT = {
    "wide": "model,f1,acc\nrf,57.1%,.5\nsvm,9 %,1\n",
    "transposed": "metric,rf,svm\nf1,57.1%,9 %\nacc,.5,1\n",
    "long": "model,metric,value\nrf,f1,57.1%\nrf,acc,.5\nsvm,f1,9 %\nsvm,acc,1\n",
    "cv": "param_who,mean_test_f1,mean_test_acc\nrf,57.1%,.5\nsvm,9 %,1\n",
}


@pytest.mark.parametrize("layout", PERCENT)
def test_a_metric_with_a_percent_sign_at_each_number_is_a_share(layout: str) -> None:
    table = read(PERCENT[layout], transpose=layout == "transposed")
    assert table.values.tolist() == [[0.571, 0.5], [0.09, 1.0]]
    assert table.percent == ("f1",)
    assert "percentages, taken as shares: 'f1'" in table.described()


def test_a_percent_sign_at_some_numbers_only_is_a_doubt() -> None:
    lines = data_message("model,f1\nrf,87%\nsvm,9\n").splitlines()
    assert lines == [
        "t.csv:2: column 'f1': '87%' has a percent sign, and others have none [bad-number]",
        "hint: a percent sign at each number, or at none: '87%' is 0.87",
    ]


def test_gaps_among_percentages_are_gaps() -> None:
    table = read("model,f1\nrf,57.1%\nsvm,\nnb,9%\n", missing="drop")
    assert table.values.tolist() == [[0.571], [0.09]]


def test_all_that_can_be_answered_is_asked_at_once_by_kind() -> None:
    content = "model,f1,acc,auc\nrf,x,1,.5\nsvm,.5,1,.5\nknn,.5,1,\nnb,1,y,.5\n"
    assert data_message(content) == (
        "t.csv:2: column 'f1': 'x' is not a number [bad-number]\n"
        "t.csv:5: column 'acc': 'y' is not a number [bad-number]\n"
        f"{(NULL + NO_METRIC).format('x')}\n"
        "t.csv:4: column 'auc': missing [missing-value]\n"
        "hint: fill the cells, or add --missing drop to leave out 3 of 4 models"
    )


def test_all_that_is_wrong_is_said_where_nothing_is_left_without_it() -> None:
    content = "model,f1,acc\nrf,inf,1\nsvm,,.5\n"
    assert data_message(content, missing="drop") == (
        "t.csv:2: column 'f1': is infinite [infinite-value]\n"
        "hint: an infinite value has no place on a scale: name the other metrics with --metric"
    )


def test_columns_that_are_transposed_are_named_as_the_file_has_them() -> None:
    assert data_message("metric,rf,svm,nb\nf1,,x,1\nacc,1,,1\nmcc,1,1,0\n", transpose=True) == (
        "t.csv:2: column 'svm': 'x' is not a number [bad-number]\n"
        f"{(NULL + NO_METRIC).format('x')}\n"
        "t.csv:2: column 'rf': missing [missing-value]\n"
        "t.csv:3: column 'svm': missing [missing-value]\n"
        "hint: fill the cells, or add --missing drop to leave out 2 of 3 models"
    )


# model x metric with gaps (#): what is left out, by how many cells that loses
LEAST = {
    "one model": ("....  ....  #...  ....  ....", (), 1),  # 4 cells rather than 5
    "one metric of few models": ("....  ....  #...", (0,), 0),  # 3 cells rather than 4
    "one metric": ("...#  ...#  ....  ...#", (3,), 0),
    "a metric, then a model": ("...#  ...#  ..#.  ...#  ....", (3,), 1),
    "fewer than three metrics are none": ("..#  ..#  ...", (), 2),
}


@pytest.mark.parametrize("case", LEAST)
def test_what_leaves_out_the_fewest_cells_is_proposed(case: str) -> None:
    drawn, metrics, models = LEAST[case]
    lacking = np.array([[cell == "#" for cell in row] for row in drawn.split()])
    plan = least_lost(lacking, metrics=True)
    assert plan is not None
    assert (plan.metrics, plan.models) == (metrics, models)


@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_no_other_set_of_metrics_loses_less_unless_gaps_are_nested(
    k: int, n: int, dice: random.Random
) -> None:
    """Against all sets of metrics, brute force: never better than it, and found where one metric
    after the other is left out in the order of their gaps."""
    lacking = np.array([[dice.random() < 0.25 for _ in range(n)] for _ in range(k)])
    costs = []
    for size in range(n + 1):
        for gone in combinations(range(n), size):
            rest = np.delete(lacking, gone, axis=1)
            dropped = int(rest.any(axis=1).sum())
            if rest.shape[1] >= min(3, n) and dropped < k:
                costs.append(dropped * n + (k - dropped) * size)
    plan = least_lost(lacking, metrics=True)
    if plan is None:
        return
    rest = np.delete(lacking, plan.metrics, axis=1)
    assert int(rest.any(axis=1).sum()) == plan.models < k
    assert plan.models * n + (k - plan.models) * len(plan.metrics) >= min(costs)


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
        f"{OTHERS.format('x', '2 of 3 models')}"
    )
