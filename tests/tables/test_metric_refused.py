"""Metric tables that are refused: every complaint in full, with file, row, column and hint."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from clfeval.errors import DataError, UsageError
from tests.tables.door import write
from tests.tables.metric_door import data_message, frame_message, read, read_metrics, usage_message

NAME_IT = "hint: name it with --id COLUMN; a table whose columns are models needs --transpose"
NUMBERS = (
    "hint: each metric is a column of numbers; a table whose rows are metrics needs --transpose"
)
PREDICTIONS = "hint: it looks like predictions: add --from predictions"
ONE_ROW = (
    "hint: each model needs one row: keep one slice, population or run, or join the columns that "
    "tell the rows apart into one name"
)


def test_one_table_at_a_time() -> None:
    names = [write("a.csv", "model,f1\nrf,1\n"), write("b.csv", "model,f1\nrf,1\n")]
    for several in (names, ["?.csv"]):
        with pytest.raises(UsageError) as caught:
            read_metrics(several)
        assert str(caught.value) == "one metric table at a time [several-tables]"
    with pytest.raises(UsageError) as caught:
        read_metrics([])
    assert str(caught.value) == "no table given [no-input]"


def test_no_such_file() -> None:
    write("metrics.csv", "model,f1\nrf,1\n")
    with pytest.raises(DataError) as caught:
        read_metrics(["metric.csv"])
    assert str(caught.value) == (
        "metric.csv: no such file [no-such-file]\nhint: did you mean 'metrics.csv'?"
    )


def test_a_file_in_a_folder_is_shown_without_it() -> None:
    Path("out").mkdir()
    name = write("out/t.csv", "model,f1\nrf,1\n")
    table = read_metrics([name])
    assert (table.name, table.display) == ("out/t.csv", "t.csv")


@pytest.mark.parametrize("content", ["model,f1\n", "model,f1", "model,f1\n\n\n,\n"])
def test_a_header_and_nothing_else(content: str) -> None:
    assert data_message(content) == (
        "t.csv: no rows to evaluate [empty-table]\nhint: the table holds a header and nothing else"
    )


def test_a_frame_without_rows() -> None:
    for frame in (pl.DataFrame(), pl.DataFrame({"model": [], "f1": []}), pd.DataFrame()):
        assert frame_message(frame) == (
            "<frame>: no rows to evaluate [empty-table]\nhint: the table holds no record"
        )


def test_no_file_at_all() -> None:
    assert data_message("") == "t.csv: the file is empty (0 bytes) [empty-table]"
    assert data_message("\n\n") == "t.csv:1: no header line [empty-table]"


def test_no_names() -> None:
    assert data_message("f1,acc\n.5,1\n.25,0\n") == (
        f"t.csv: no column names the models; columns: 'f1', 'acc' [no-models]\n{NAME_IT}"
    )
    assert data_message(",acc\n0,1\n1,0\n") == (
        "t.csv: no column names the models; columns: '(no name)', 'acc' [no-models]\n"
        "hint: rows are numbered: --id ''; a table whose columns are models needs --transpose"
    )


def test_no_names_in_a_frame() -> None:
    index = pd.MultiIndex.from_tuples([("rf", 1), ("svm", 1)])
    assert frame_message(pd.DataFrame({"f1": [0.5, 1.0]}, index=index)) == (
        "<frame>: no column names the models; columns: 'f1' [no-models]\n"
        f"{NAME_IT}; names in the index become a column with reset_index()"
    )


def test_no_numbers() -> None:
    assert data_message("model,f1\nrf,good\nsvm,bad\n") == (
        f"t.csv: no column holds numbers; columns: 'model', 'f1' [no-metrics]\n{NUMBERS}"
    )
    assert data_message("metric,note\nf1,good\n", transpose=True) == (
        f"t.csv: no column holds numbers; columns: 'metric', 'note' [no-metrics]\n{NUMBERS}"
    )
    assert data_message("f1,acc\n1,1\n", transpose=True) == (
        "t.csv: no column names the metrics; columns: 'f1', 'acc' [no-metrics]\n"
        "hint: name it with --id COLUMN"
    )


PREDICTED = {
    "1,0,1": "t.csv: no column names the models; columns: 'id', 'truth', 'rf' [no-models]\n"
    f"{PREDICTIONS}",
    "a,cat,dog": "t.csv: no column holds numbers; columns: 'id', 'truth', 'rf' [no-metrics]\n"
    f"{PREDICTIONS}",
    "a,1,0": "t.csv: column 'truth' makes it a table of predictions [which-layout]\n"
    "hint: add --from predictions; if the column is a metric, add --layout wide",
}


@pytest.mark.parametrize("row", PREDICTED)
def test_predictions_are_recognised(row: str) -> None:
    assert data_message(f"id,truth,rf\n{row}\n") == PREDICTED[row]


def test_predictions_in_long_form_are_recognised() -> None:
    content = "id,model,prediction,truth\n1,rf,cat,dog\n2,rf,dog,dog\n"
    lines = data_message(content).splitlines()
    assert lines == [
        "t.csv:3: column 'model': 'rf' stands in row 2 already [duplicate-model]", PREDICTIONS,
    ]  # fmt: skip


def test_a_metric_with_the_name_of_the_truth_is_taken_when_it_is_asked_for() -> None:
    content = "model,target,f1\nrf,1,.5\nsvm,2,.25\n"
    assert read(content, layout="wide").metrics == ("target", "f1")
    assert read(content, wanted=["t*", "f1"]).metrics == ("target", "f1")


def test_another_delimiter_is_offered() -> None:
    offer = "hint: only one column was found; is the delimiter another? --delimiter ';'"
    assert data_message("model;f1\nrf;1\n") == (
        f"t.csv: no column holds numbers; columns: 'model;f1' [no-metrics]\n{offer}"
    )
    assert data_message("model;f1;acc\nrf;0,5;1\n") == (
        f"t.csv:2: 2 fields where the header has 1 [long-row]\n{offer}"
    )
    assert data_message("model\nrf\n") == (
        "t.csv: no column holds numbers; columns: 'model' [no-metrics]\n"
        "hint: only one column was found: 'model'"
    )


def test_models_named_twice() -> None:
    assert data_message("model,f1\nrf,1\nsvm,0\n\nrf,1\nsvm,1\nrf,0\n") == (
        "t.csv:5: column 'model': 'rf' stands in row 2 already [duplicate-model]\n"
        "t.csv:6: column 'model': 'svm' stands in row 3 already [duplicate-model]\n"
        "t.csv:7: column 'model': 'rf' stands in row 2 already [duplicate-model]\n"
        f"{ONE_ROW}"
    )
    assert data_message(",f1\nrf,1\nrf,0\n").splitlines()[0] == (
        "t.csv:3: 'rf' stands in row 2 already [duplicate-model]"
    )


def test_a_model_without_a_name() -> None:
    assert data_message("model,f1\nrf,1\n,1\n  ,0\n") == (
        "t.csv:3: column 'model': missing [missing-value]\n"
        "t.csv:4: column 'model': missing [missing-value]\n"
        "hint: every model needs a name of its own; --missing drop leaves nameless ones out"
    )


def test_metrics_named_twice() -> None:
    assert data_message("model,f1,acc,f1\nrf,1,1,0\n") == (
        "t.csv:1: column 4 has the name 'f1' of column 2 [duplicate-column]\n"
        "hint: give every column a plain name of its own"
    )
    assert data_message("metric,rf\nf1,1\nacc,1\nf1,0\n,1\n", transpose=True) == (
        "t.csv:4: column 'metric': 'f1' stands in row 2 already [duplicate-column]\n"
        "t.csv:5: column 'metric': missing [missing-value]\n"
        "hint: give every metric a name of its own"
    )
    frame = pd.DataFrame([["rf", 1, 2, 3, 4]], columns=["model", "f1", "f1", "acc", "acc"])
    assert frame_message(frame) == (
        "<frame>: the name 'f1' 2 times [duplicate-column]\n"
        "<frame>: the name 'acc' 2 times [duplicate-column]\n"
        "hint: give every column a name of its own"
    )


def test_every_model_dropped() -> None:
    assert data_message("model,f1,acc\nrf,,1\nsvm,1,\n", missing="drop") == (
        "t.csv: no rows to evaluate [empty-table]\n"
        "hint: every model has missing values, and --missing drop left it out"
    )


def test_shapes_that_no_parser_could_read_rightly() -> None:
    ragged = (
        "hint: every row needs as many fields as the header; quote fields that hold a delimiter"
    )
    assert data_message("model,f1,acc\nrf,1\n\nsvm,1,1,1\nnb,1,0\n") == (
        "t.csv:2: column 'acc': 2 fields where the header has 3 [short-row]\n"
        f"t.csv:4: 4 fields where the header has 3 [long-row]\n{ragged}"
    )
    assert data_message("model,f1\rrf,1\r").splitlines()[0] == (
        "t.csv:1: lines end with a bare carriage return (CR) [cr-only]"
    )
    assert data_message("model,f1\nrf\r,1\n").splitlines()[0] == (
        "t.csv:2: a bare carriage return (CR) amid the line, a line end to some programs [cr-only]"
    )
    assert data_message("model,f1\nr\0f,1\n").splitlines()[0] == (
        "t.csv:2: column 'model': holds a NUL byte [nul-byte]"
    )
    assert data_message("model,f1\nBäume,1\n".encode("latin-1")).splitlines()[0] == (
        "t.csv:2: column 'model': not UTF-8 (as Latin-1 it reads 'Bäume') [not-utf8]"
    )
    assert data_message('model,f1\n"rf"x,1\n').splitlines()[0] == (
        "t.csv:2: not a delimited table: ',' expected after '\"' [bad-csv]"
    )


def test_words_that_no_option_knows() -> None:
    content = "model,f1\nrf,1\n"
    assert usage_message(content, missing="skip") == (
        "--missing is one of error, drop, not 'skip' [bad-option]"
    )
    assert usage_message(content, layout="counts") == (
        "--layout counts is for predictions: a metric table is wide or long [bad-option]"
    )
    assert usage_message(content, input_format="excel") == (
        "--input-format is one of csv, tsv, parquet, arrow, ndjson, json, not 'excel' [bad-option]"
    )
    assert "[bad-delimiter]" in usage_message(content, delimiter="ab")
