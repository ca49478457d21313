"""Cells of metric tables: what is a number, what is missing, what is said about the rest."""

from __future__ import annotations

import math
import random
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.tables.metric.values import smallest_exclusion
from tests.tables.door import spots, write
from tests.tables.metric_door import (
    METRICS,
    metric_table_of,
    places,
    problem_rows,
    read_metrics,
    told,
)
from tests.texts import check_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2", -2),
        ("+.5", 0.5),
        ("1e3", 1000),
        ("1E-3", 0.001),
        (" 7 ", 7),
        ("0.1", 0.1),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("5e-324", 5e-324),
        ("1e-400", 0.0),
        ("-0", -0.0),
        ("007", 7),
    ],
)
def test_numbers(text: str, value: float) -> None:
    table = metric_table_of(f"model,f1\nrf,{text}\nsvm,0\n")
    assert table.values[0, 0] == value
    assert math.copysign(1, table.values[0, 0]) == math.copysign(1, value)


WORDS = ["NA", "n/a", "null", "None", "-", "?", "."]
NOTHING = ["", " ", "nan", "NaN", "-nan", '""', "\t"]
CELLS = {
    "bad-number": ["1_0", "0 8", "1.2.3", "0x1", "1,2,3", "true", "½", *WORDS],
    "missing-value": NOTHING,
    "infinite-value": ["-inf", "Infinity", "1e400"],
}


@pytest.mark.parametrize(("code", "cell"), [(code, one) for code in CELLS for one in CELLS[code]])
def test_cells_that_are_no_finite_number_are_named(code: str, cell: str) -> None:
    cell = f'"{cell}"' if "," in cell else cell
    assert places(f"model,f1\nrf,.5\nsvm,{cell}\nknn,1\n") == f"3:f1 {code}"


@pytest.mark.parametrize("cell", [*WORDS, *NOTHING])
def test_missing_cells_can_be_dropped(cell: str) -> None:
    options = {"null_value": [cell]} if cell in WORDS else {}
    table = metric_table_of(f"model,f1\nrf,.5\nsvm,{cell}\n", missing="drop", **options)
    assert (table.models, problem_rows(table), table.dropped) == (("rf",), (2,), 1)


SEMI, COMMA = {"delimiter": ";"}, {"delimiter": ";", "decimal": ","}
THOUSANDS = 'model,f1,acc,auc,n\nrf,.9,.8,.7,"1,200"\nsvm,.9,.8,.7,"12,000"\n'
EITHER = "model;cost;n\nrf;1,010;200\nsvm;2,200;100\n"
NOTHING_IS_LEFT = "model,f1,acc\nrf,inf,1\nsvm,,.5\n"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "text": ("model,f1\nrf,.5\nsvm,x\nknn,1\n", {}, "3:f1 bad-number"),
    "two signs": ("model,f1\nrf,.5\nsvm,--1\nknn,1\n", {}, "3:f1 bad-number"),
    "a word for missing": ("model,f1\nrf,.5\nsvm,n/a\n", {}, "3:f1 bad-number"),
    "a gap": ("model,f1\nrf,.5\nsvm,\n", {}, "3:f1 missing-value"),
    "infinite": ("model,f1\nrf,.5\nsvm,inf\n", {"missing": "drop"}, "3:f1 infinite-value"),
    "one decimal comma": ("model;f1;acc\nrf;0,9;1\nsvm;.5;0\n", SEMI, "2:f1 bad-number"),
    "decimal commas": ("model;f1;acc\nrf;0,9;1\nsvm;0,5;0\n", SEMI, "f1 decimal-comma"),
    # 1.234 may be a thousand and more: nobody knows
    "decimal points": ("model;f1\nrf;0.9\nsvm;0.5\n", COMMA, "f1 decimal-comma"),
    "one decimal point": ("model;f1\nrf;0,9\nsvm;1.234\n", COMMA, "3:f1 bad-number"),
    "thousands": (THOUSANDS, {}, "2:n bad-number, 3:n bad-number"),
    "a comma that may be either": (EITHER, SEMI, "2:cost bad-number, 3:cost bad-number"),
    "a percent sign at some": ("model,f1\nrf,87%\nsvm,9\n", {}, "2:f1 bad-number"),
    "all that can be answered, by kind": (
        "model,f1,acc,auc\nrf,x,1,.5\nsvm,.5,1,.5\nknn,.5,1,\nnb,1,y,.5\n",
        {},
        "2:f1 bad-number, 5:acc bad-number, 4:auc missing-value",
    ),
    "nothing is left": (NOTHING_IS_LEFT, {"missing": "drop"}, "2:f1 infinite-value"),
    "turned": (
        "metric,rf,svm,nb\nf1,,x,1\nacc,1,,1\nmcc,1,1,0\n",
        {"transpose": True},
        "2:svm bad-number, 2:rf missing-value, 3:svm missing-value",
    ),
    "long text": (f"model,f1\nrf,{'ab' * 500}\nsvm,1\n", {}, "2:f1 bad-number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_cells_are_refused_with_what_may_be_meant(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


def test_numbers_with_a_decimal_comma_are_read_when_it_is_said() -> None:
    content = "model;f1;acc;auc\nrf;0,9;1;-1,5e-1\nsvm;,5;0;12,5%\nknn;+0,25;2;50 %\n"
    table = metric_table_of(content, **COMMA, wanted=["f1", "acc"])
    assert table.values.tolist() == [[0.9, 1], [0.5, 0], [0.25, 2]]
    assert metric_table_of(EITHER, **COMMA, wanted=["cost"]).values.tolist() == [[1.01], [2.2]]
    assert metric_table_of(THOUSANDS, ignore=["n"]).metrics == ("f1", "acc", "auc")


def test_typed_numbers_have_their_point_whatever_is_said() -> None:
    frame = pl.DataFrame({"model": ["rf", "svm"], "f1": [0.5, 0.25], "acc": ["0,5", "1"]})
    assert read_metrics(frame, decimal=",").values.tolist() == [[0.5, 0.5], [0.25, 1.0]]
    assert told(frame) == "acc decimal-comma"


PERCENT = {
    "wide": "model,f1,acc\nrf,57.1%,.5\nsvm,9 %,1\n",
    "transposed": "metric,rf,svm\nf1,57.1%,9 %\nacc,.5,1\n",
    "long": "model,metric,value\nrf,f1,57.1%\nrf,acc,.5\nsvm,f1,9 %\nsvm,acc,1\n",
    "cv": "param_who,mean_test_f1,mean_test_acc\nrf,57.1%,.5\nsvm,9 %,1\n",
}


@pytest.mark.parametrize("layout", PERCENT)
def test_metrics_with_a_percent_sign_at_each_number_are_shares(layout: str) -> None:
    table = metric_table_of(PERCENT[layout], transpose=layout == "transposed")
    assert table.values.tolist() == [[0.571, 0.5], [0.09, 1.0]]
    assert table.percent == ("f1",)
    check_text(table.described())


def test_gaps_among_percentages_are_gaps() -> None:
    table = metric_table_of("model,f1\nrf,57.1%\nsvm,\nnb,9%\n", missing="drop")
    assert table.values.tolist() == [[0.571], [0.09]]


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
    plan = smallest_exclusion(lacking, metrics=True)
    assert plan is not None
    assert plan == (list(metrics), models)


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
    plan = smallest_exclusion(lacking, metrics=True)
    if plan is None:
        return
    gone, dropped = plan
    rest = np.delete(lacking, gone, axis=1)
    assert int(rest.any(axis=1).sum()) == dropped < k
    assert dropped * n + (k - dropped) * len(gone) >= min(costs)


def test_thousands_of_gaps_are_counted() -> None:
    rows = "".join(f"m{i},,1\n" for i in range(3000))
    error = METRICS.refusal([write("t.csv", f"model,f1,acc\n{rows}rf,1,1\n")])
    assert spots(error).startswith("2:f1 missing-value, 3:f1 missing-value")
    assert error.totals == {"missing-value": 3000}


def test_dropped_models_are_counted_and_those_without_a_name_too() -> None:
    table = metric_table_of("model,f1,acc\nrf,.5,\n,.25,1\nsvm,.5,1\n", missing="drop")
    assert (table.models, problem_rows(table), table.dropped) == (("svm",), (4,), 2)


def test_only_chosen_metrics_and_models_must_be_there() -> None:
    content = "model,f1,acc\nrf,.5,\nsvm,x,1\nknn,1,0\n"
    assert metric_table_of(content, wanted=["f1"], model=["rf", "knn"]).values.tolist() == [
        [0.5],
        [1],
    ]


def test_null_values_are_cells_as_they_are_written() -> None:
    table = metric_table_of("model,f1\nrf,-1\nsvm,-1.0\n", null_value=["-1"], missing="drop")
    assert table.models == ("svm",)


@pytest.mark.parametrize("null", ["-1", "-1.0"])
def test_null_values_of_typed_numbers_are_numbers(null: str) -> None:
    frame = pl.DataFrame({"model": ["rf", "svm", "NA"], "f1": [-1.0, 0.5, 1.0], "n": [1, -1, 1]})
    table = read_metrics(frame, null_value=[null, "NA"], missing="drop", wanted=["f1"])
    assert (table.models, table.dropped) == (("svm",), 2)
    assert read_metrics(frame, null_value=[null], missing="drop", wanted=["n"]).dropped == 1


def test_objects_in_a_frame_are_judged_one_by_one() -> None:
    frame = pd.DataFrame({"model": ["rf", "svm", "nb"], "f1": [0.5, "x", True]})
    assert places(frame) == "2:f1 bad-number, 3:f1 bad-number"
