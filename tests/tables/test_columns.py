"""Columns: choosing models by name or glob, labels against scores, odd names and odd headers."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

import clfeval
from clfeval.errors import DataError
from tests.tables.door import (
    EXPECTED,
    FRAME,
    encoded,
    mars_confusion,
    opened,
    places,
    refusal,
    told,
    write,
)

FOUR = "truth,net-1,net-2,svm,net*\n1,1,0,0,1\n0,0,0,1,1\n"


def test_all_columns_that_are_nothing_else_are_models() -> None:
    content = "id,truth,w,site,a,b\n1,1,2,x,1,0\n2,0,1,y,0,0\n"
    assert list(mars_confusion(write("t.csv", content), weight="w", by="site")) == ["a", "b"]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["svm", "net-1"], ["svm", "net-1"]),  # in the order asked for
        (["net-?"], ["net-1", "net-2"]),
        (["*[12]", "s*"], ["net-1", "net-2", "svm"]),
        (["net*"], ["net*"]),  # an exact name outranks the glob it spells
        (["svm", "s*", "svm"], ["svm"]),
    ],
)
def test_models_are_chosen_by_name_or_glob(patterns: list[str], chosen: list[str]) -> None:
    assert list(mars_confusion(write("t.csv", FOUR), model=patterns)) == chosen


@pytest.mark.parametrize("pattern", ["x*", "truth", "NET-1"])
def test_a_pattern_that_matches_no_model_is_refused(pattern: str) -> None:
    assert told(FOUR, exit_code=2, model=["svm", pattern]) == "unknown-model"


KINDS = {
    "truth's own labels": (["1", "0"], "label"),
    "one of truth's labels": (["1", "1"], "label"),
    "numbers": (["0.7", "0.2"], "score"),
    "truth's labels, as numbers with a point": (["1.0", "0.0"], "label"),
    "exponents": (["7e-1", "2E-3"], "score"),
}


@pytest.mark.parametrize(("cells", "kind"), KINDS.values(), ids=KINDS.keys())
def test_labels_are_truths_labels_and_scores_are_numbers(cells: list[str], kind: str) -> None:
    content = f"truth,a\n1,{cells[0]}\n0,{cells[1]}\n"
    assert opened(write("t.csv", content)).columns.models[0].kind == kind


def test_kind_outranks_the_guess() -> None:
    content = "truth,a\n1,1\n0,0\n1,0\n"
    assert mars_confusion(write("t.csv", content), kind="score", threshold=0) == {"a": (2, 1, 0, 0)}
    assert mars_confusion("t.csv", kind="label") == {"a": (1, 0, 1, 1)}


def test_scores_at_the_threshold_are_positive() -> None:
    content = "truth,a,b\n1,0.5,0.4999999999999999\n0,0.3,0.30000000000000004\n"
    assert mars_confusion(write("t.csv", content)) == {"a": (1, 0, 0, 1), "b": (0, 0, 1, 1)}
    cuts = {None: 0.3, "b": 0.5}
    assert mars_confusion("t.csv", threshold=cuts) == {"a": (1, 1, 0, 0), "b": (0, 0, 1, 1)}


@pytest.mark.parametrize("header", ["ID,TRUTH,a,b", " id , Truth ,a,b", "Id,\ttruth,a,b"])
def test_default_names_ignore_case_and_outer_spaces(header: str) -> None:
    content = f"{header}\n1,1,1,0\n2,0,0,0\n3,1,0,1\n4,0,1,0\n"
    layout = opened(write("t.csv", content)).columns
    assert [layout.id, layout.truth] == header.split(",")[:2]
    assert mars_confusion("t.csv") == EXPECTED


def test_pandas_unnamed_index_column_is_no_model() -> None:
    pd.DataFrame(FRAME.drop("id").to_dict(as_series=False)).to_csv("t.csv")
    assert open("t.csv", encoding="utf-8").readline() == ",truth,a,b\n"  # noqa: SIM115
    assert mars_confusion("t.csv") == EXPECTED


def test_pandas_unnamed_column_is_no_reason_why_cells_cannot_be_read() -> None:
    """Its name in the engine is another one, also where missing values are declared."""
    frame = pd.DataFrame({"truth": [0, 1] * 3, "": [0, 1] * 3, "a": [0, 1, 0, 1, "", "x"]})
    with pytest.raises(DataError) as caught:
        clfeval.mars(frame, null_value="", missing="drop")
    assert "'x' is not among truth's labels" in str(caught.value)
    assert "valid columns" not in str(caught.value)


NAMES = [
    'say "x"',
    "a,b",
    "[red]",
    "[/red]",
    "<b>",
    "a|b",
    "a\nb",
    "modèle",
    "日本",
    "{value}",
    "%s",
    ".*",
    "^",
    "$",
    "a.b",
    "'",
    "`",
    " ",
    "-x",
    "0",
    "__len",
    "None",
    "t",
    "v0",
    "rows",
    "n",
    "w",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_may_have_any_name(name: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([["truth", name], ["y", "y"], ["n", "y"], ["y", "n"]])
    write("t.csv", out.getvalue())
    assert mars_confusion("t.csv", positive="y") == {name: (1, 1, 1, 0)}
    assert mars_confusion("t.csv", positive="y", model=name) == {name: (1, 1, 1, 0)}
    write("bad.csv", out.getvalue().replace("n,y", "n,other"))
    (problem,) = refusal("bad.csv", positive="y").problems
    assert (problem.row, problem.column, problem.code) == (3, name, "unknown-label")


@pytest.mark.parametrize("name", ["*", "^.*$"])
@pytest.mark.parametrize("how", ["csv", "parquet", "ndjson"])
def test_a_name_that_is_a_pattern_of_polars_is_refused(name: str, how: str) -> None:
    frame = FRAME.rename({"b": name})
    row = "1 " if how == "csv" else ""
    assert places(encoded(frame, how), f"t.{how}") == f"{row}bad-column-name"


def test_every_role_may_have_an_odd_name() -> None:
    content = '"i,d","t""x","w\nw",[s],a\n1,y,2,p,y\n2,n,1,q,y\n'
    columns = {"id": "i,d", "truth": 't"x', "weight": "w\nw", "by": "[s]"}
    assert mars_confusion(write("t.csv", content), positive="y", **columns) == {"a": (2, 1, 0, 0)}
