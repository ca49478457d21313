"""Choosing metrics and models, and what a metric table says about itself."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from clfeval.tables.metric.grid import ValuePlaces
from clfeval.tables.metric.table import MetricTable
from tests.tables.door import write
from tests.tables.metric_door import (
    metric_content,
    metric_table_of,
    places,
    problem_rows,
    read_metrics,
    told,
)
from tests.texts import check_text

CONTENT = "model,f1,acc,f1[macro],note,odd\nrf,.5,1,.4,7a,1\nsvm,.25,0,.3,7b,\n"


@pytest.mark.parametrize(
    ("wanted", "metrics"),
    [
        (["acc", "f1"], ("acc", "f1")),
        (["f1"], ("f1",)),
        (["f1*"], ("f1", "f1[macro]")),
        (["acc", "*"], ("acc", "f1", "f1[macro]", "odd")),
        (["f1[macro]"], ("f1[macro]",)),  # a name before it is a pattern
        (["f1", "f1"], ("f1",)),
    ],
)
def test_metrics_come_in_the_order_asked_for(wanted: list[str], metrics: tuple[str, ...]) -> None:
    table = metric_table_of(CONTENT, wanted=wanted, model=["rf"])
    assert table.metrics == metrics
    cells = dict(zip(("f1", "acc", "f1[macro]", "odd"), (0.5, 1.0, 0.4, 1.0), strict=True))
    assert table.values.tolist() == [[cells[name] for name in metrics]]


@pytest.mark.parametrize("layout", ["wide", "long", "transposed"])
def test_a_metric_that_is_not_there_is_suggested(layout: str) -> None:
    content = {
        "wide": "model,f1,accuracy\nrf,1,1\n",
        "long": "model,metric,value\nrf,f1,1\nrf,accuracy,1\n",
        "transposed": "metric,rf\nf1,1\naccuracy,1\n",
    }[layout]
    options = {"wanted": ["acuracy"], "transpose": layout == "transposed"}
    assert told(content, exit_code=2, **options) == "unknown-metric"


def test_text_that_is_asked_for_is_refused() -> None:
    expected = "2:note bad-number, 3:note bad-number"
    assert places(CONTENT, wanted=["f1", "note"]) == expected


@pytest.mark.parametrize(
    ("patterns", "models"),
    [
        (["svm", "rf"], ("rf", "svm")),  # the order of the table
        (["s?*"], ("svm", "s*")),
        (["svm"], ("svm",)),
        (["s[*]"], ("s*",)),
    ],
)
def test_models_are_kept_by_name_or_glob(patterns: list[str], models: tuple[str, ...]) -> None:
    content = "model,f1\nrf,.5\nsvm,.25\ns*,1\nrf2,0\nrf2,1\n"  # rf2 is not asked for
    values = {"rf": 0.5, "svm": 0.25, "s*": 1.0}
    table = metric_table_of(content, model=patterns)
    assert metric_content(table) == (models, ("f1",), [[values[name]] for name in models])


def test_an_exact_name_is_no_pattern() -> None:
    assert metric_table_of("model,f1\nsvm,.25\ns*,1\n", model=["s*"]).models == ("s*",)


def test_unknown_models_and_columns_are_suggested() -> None:
    assert told(CONTENT, exit_code=2, model=["smv"]) == "unknown-model"
    assert told(CONTENT, id="modle") == "unknown-column"


def test_columns_may_be_models() -> None:
    content = "metric,note,rf,svm,done\nf1,a,.5,.25,yes\nacc,b,1,0,no\ndate,c,monday,sunday,no\n"
    table = metric_table_of(content, transpose=True, wanted=["acc", "f1"], model=["svm", "rf"])
    assert metric_content(table) == (("rf", "svm"), ("acc", "f1"), [[1.0, 0.5], [0.0, 0.25]])
    assert table.ignored == ("note", "done", "date")
    table = metric_table_of(content, transpose=True, id="note", model=["rf"], wanted=["b"])
    assert metric_content(table) == (("rf",), ("b",), [[1.0]])


PLACES = {
    "wide": ("\nmodel,f1,acc\nrf,1,1\n\nsvm,1,.5\n", {}, "t.csv:5: column 'acc'"),
    "transposed": (
        "metric,rf,svm\nf1,1,1\nacc,1,.5\n",
        {"transpose": True},
        "t.csv:3: column 'svm'",
    ),
    "long": (
        "model,metric,value\nsvm,acc,.5\nrf,f1,1\nsvm,f1,1\nrf,acc,1\n",
        {},
        "t.csv:2: column 'value'",
    ),
    "cv": (
        "param_who,mean_test_f1,mean_test_acc\nrf,1,1\nsvm,1,.5\n",
        {},
        "t.csv:3: column 'mean_test_acc'",
    ),
    "result": (
        "slice,model,f1,f1_low,f1_high,f1_reason,acc,acc_low,acc_high,acc_reason\n"
        ",rf,1,,,,1,,,\na,rf,1,,,,1,,,\n,svm,1,,,,.5,,,\n",
        {},
        "t.csv:4: column 'acc'",
    ),
}


@pytest.mark.parametrize("layout", PLACES)
def test_a_problem_names_the_place_of_its_value(layout: str) -> None:
    content, options, place = PLACES[layout]
    whole = metric_table_of(content, **options)
    names = [name.removeprefix("who=") for name in whole.models]
    i, j = names.index("svm"), whole.metrics.index("acc")
    assert whole.values[i, j] == 0.5
    assert str(whole.problem(i, j, "is low", "too-low")) == f"{place}: is low [too-low]"
    part = metric_table_of(content, wanted=["acc"], model=["*svm"], **options)
    assert part.values.tolist() == [[0.5]]
    assert str(part.problem(0, 0, "is low", "too-low")) == f"{place}: is low [too-low]"


def test_a_note_says_what_was_read() -> None:
    check_text(metric_table_of(CONTENT, missing="drop").described())
    check_text(metric_table_of(",a,b,c,d,e\nrf,1,1,1,1,1\n").described())
    check_text(metric_table_of("metric,rf\nf1,1\n", transpose=True).described())


def test_a_table_can_be_made_by_hand() -> None:
    table = MetricTable(
        name="t",
        display="t",
        sha256=None,
        layout="wide",
        models=("rf",),
        metrics=("f1",),
        values=np.array([[1.0]]),
        splits=(),
        by_split=None,
        sds=None,
        dropped=0,
        ignored=(),
        named_by="models in 'm'",
        notes=(),
        places=ValuePlaces(np.array([[0]]), np.array([[1]])),
        records=[2],
        columns=("m", "f1"),
    )
    check_text(table.described())
    assert str(table.problem(0, 0, "is low", "too-low")) == "t:2: column 'f1': is low [too-low]"


@pytest.mark.slow
def test_a_hundred_thousand_models() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((100_000, 10))
    lines = [",".join([f"m_{i}", *map(repr, row)]) for i, row in enumerate(values.tolist())]
    header = ",".join(["model", *(f"x{j}" for j in range(10))])
    table = metric_table_of("\n".join([header, *lines]))
    assert table.models[:2] == ("m_0", "m_1")
    assert (len(table.models), problem_rows(table)[-1]) == (100_000, 100_001)
    np.testing.assert_array_equal(table.values, values)
    turned = read_metrics(["t.csv"], missing="drop", model=["m_9999*"], wanted=["x9", "x0"])
    assert len(turned.models) == 11
    np.testing.assert_array_equal(turned.values[0], values[9999, [9, 0]])


def test_a_delimited_table_is_read_without_the_engines() -> None:
    name = write("t.csv", CONTENT)
    script = (
        "import sys; from clfeval.tables.input import InputOptions\n"
        "from clfeval.tables.metric.table import read_metrics\n"
        f"read_metrics(['{name}'], InputOptions(model=('r*',)), requested=['f1'])\n"
        "print([m for m in ('polars', 'narwhals', 'pandas', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
