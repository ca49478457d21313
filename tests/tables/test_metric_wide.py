"""Wide metric tables: which column names the models, which are metrics, odd names, odd lines."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables.door import write
from tests.tables.metric_door import metric_content, metric_table_of, problem_rows, read_metrics
from tests.thoroughness import examples

RF_SVM = (("rf", "svm"), ("f1", "acc"), [[0.5, 1.0], [0.25, 0.0]])


@pytest.mark.parametrize(
    "header", ["model,f1,acc", "Classifier,f1,acc", " SYSTEM ,f1,acc", "whatever,f1,acc", ",f1,acc"]
)
def test_the_models_are_in_a_column_of_that_name_or_of_text(header: str) -> None:
    assert metric_content(metric_table_of(f"{header}\nrf,.5,1\nsvm,.25,0\n")) == RF_SVM


ID_BEFORE_MODEL = "model,who,f1,acc\nx,rf,.5,1\nx,svm,.25,0\n"
TRUTH_VALUES = "done,who,f1,acc,ready\ntrue,rf,.5,1,True\nfalse,svm,.25,0,FALSE\n"
NUMBERS = "model,f1,acc,note,empty,\nrf,.5,1,good,,x\nsvm,.25,0,bad,,y\n"
PARTS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "model before text": ("note,model,f1,acc\na,rf,.5,1\nb,svm,.25,0\n", {}, ("note",)),
    "id before model": (ID_BEFORE_MODEL, {"id": "who"}, ("model",)),
    "truth values": (TRUTH_VALUES, {}, ("done", "ready")),
    "no numbers": (NUMBERS, {}, ("note", "empty", "(no name)")),
    "a delimiter at each end": ("model,f1,acc,\nrf,.5,1,\nsvm,.25,0,\n", {}, ()),
}


@pytest.mark.parametrize("case", PARTS)
def test_columns_that_are_neither_names_nor_metrics_are_ignored(case: str) -> None:
    content, options, ignored = PARTS[case]
    table = metric_table_of(content, **options)
    assert (metric_content(table), table.ignored) == (RF_SVM, ignored)


def test_id_may_name_a_column_of_numbers() -> None:
    assert metric_table_of("n,f1\n01,.5\n2,.25\n", id="n").models == ("01", "2")


def test_a_column_of_numbers_with_one_typing_error_names_no_models() -> None:
    """Text in less than half of the cells is a mistake, not names."""
    table = metric_table_of("f1,who\n.5,rf\nx,svm\n.25,knn\n", wanted=["f1"], model=["rf", "knn"])
    assert metric_content(table) == (("rf", "knn"), ("f1",), [[0.5], [0.25]])


def test_layout_wide_takes_columns_as_they_are() -> None:
    table = metric_table_of("who,metric,value\nrf,f1,.5\nsvm,f1,.25\n", layout="wide")
    assert metric_content(table) == (("rf", "svm"), ("value",), [[0.5], [0.25]])
    assert metric_table_of("model,mean_test_f1\nrf,1\n", layout="wide").metrics == ("mean_test_f1",)


ODD = [
    "random forest",
    "a, b",
    'say "hi"',
    "f1[macro]",
    "[red]",
    "*",
    "^x$",
    "naïve",
    "重",
    "no",
    "null",
    "nan",
    "inf",
    "1e5",
    "0.5",
    "01",
    "=1+1",
    " led",
    "trailed ",
    "a\nb",
    "a=b",
    "x:y",
    "#",
]


def csv_text(rows: list[list[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def test_odd_names_are_kept_as_they_are() -> None:
    rows = [["model", *ODD], *[[name, *[1] * len(ODD)] for name in ODD]]
    table = metric_table_of(csv_text(rows))
    assert table.models == tuple(ODD)
    assert table.metrics == tuple(ODD)
    turned = metric_table_of(csv_text(rows), transpose=True, id="model")
    assert (turned.models, turned.metrics) == (tuple(ODD), tuple(ODD))


@pytest.mark.parametrize(
    "content",
    [
        "model,f1,acc\r\nrf,.5,1\r\nsvm,.25,0\r\n",
        "\ufeffmodel,f1,acc\nrf,.5,1\nsvm,.25,0",
        '"model","f1","acc"\n"rf",".5","1"\n"svm","0.25","0"\n',
        "model,f1,acc\nrf, .5 ,\t1\nsvm,+.25,-0\n",
        "model,f1,acc\nrf,5e-1,1.\nsvm,25E-2,00\n",
    ],
)
def test_ends_of_lines_marks_quotes_and_blanks(content: str) -> None:
    table = metric_table_of(content)
    assert metric_content(table) == RF_SVM
    assert problem_rows(table) == (2, 3)


def test_blank_lines_count_as_rows_and_are_nothing_else() -> None:
    table = metric_table_of("\nmodel,f1,acc\n\nrf,.5,1\n\n,,\nsvm,.25,0\n\n , ,\n")
    assert metric_content(table) == RF_SVM
    assert problem_rows(table) == (4, 7)


def test_a_line_end_within_quotes_ends_no_row() -> None:
    table = metric_table_of('model,f1\n"r\nf",.5\nsvm,.25\n')
    assert (table.models, problem_rows(table)) == (("r\nf", "svm"), (2, 3))
    table = metric_table_of('model,f1\n"r\rf",.5\nsvm,.25\n')
    assert table.models == ("r\rf", "svm")


CELLS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\ufffd"), min_size=1
).filter(lambda name: name.strip() and not name.startswith("\ufeff"))


@examples(60)
@given(data=st.data(), models=st.lists(NAMES, min_size=1, max_size=5, unique=True))
def test_numbers_and_names_come_back_to_the_last_digit(
    data: st.DataObject, models: list[str]
) -> None:
    plain = NAMES.filter(lambda name: name.strip().casefold() not in ("truth", "model"))
    metrics = data.draw(st.lists(plain, min_size=1, max_size=4, unique=True))
    row = st.lists(CELLS, min_size=len(metrics), max_size=len(metrics))
    values = data.draw(st.lists(row, min_size=len(models), max_size=len(models)))
    rows: list[list[object]] = [["model", *metrics]]
    rows += [[name, *cells] for name, cells in zip(models, values, strict=True)]
    name = write("t.csv", csv_text(rows))
    table = read_metrics([name], layout="wide", id="model")
    assert metric_content(table) == (tuple(models), tuple(metrics), values)
    turned = [[rows[i][j] for i in range(len(rows))] for j in range(len(rows[0]))]
    table = read_metrics([write("u.csv", csv_text(turned))], transpose=True, id="model")
    assert metric_content(table) == (tuple(models), tuple(metrics), values)
