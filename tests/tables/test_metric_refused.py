"""Metric tables that are refused: every complaint in full, with file, row, column and hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from tests.tables.door import spots, write
from tests.tables.metric_door import METRICS, metric_table_of, places, read_metrics, told

ONE = "model,f1\nrf,1\n"
TURNED = {"transpose": True}
DROP = {"missing": "drop"}
LONG_PREDICTIONS = "id,model,prediction,truth\n1,rf,cat,dog\n2,rf,dog,dog\n"

NAMELESS_MODEL = "model,f1\nrf,1\n,1\n  ,0\n"
REFUSED: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "header only": ("model,f1\n", {}, "empty-table"),
    "nothing": ("", {}, "empty-table"),
    "no header": ("\n\n", {}, "1 empty-table"),
    "no names": ("f1,acc\n.5,1\n.25,0\n", {}, "no-models"),
    "numbered rows": (",acc\n0,1\n1,0\n", {}, "no-models"),
    "no numbers": ("model,f1\nrf,good\nsvm,bad\n", {}, "no-metrics"),
    "no numbers, turned": ("metric,note\nf1,good\n", TURNED, "no-metrics"),
    "no names of metrics": ("f1,acc\n1,1\n", TURNED, "no-metrics"),
    "predictions of numbers": ("id,truth,rf\n1,0,1\n", {}, "no-models"),
    "predictions of labels": ("id,truth,rf\na,cat,dog\n", {}, "no-metrics"),
    "predictions, or a metric": ("id,truth,rf\na,1,0\n", {}, "which-layout"),
    "long predictions": (LONG_PREDICTIONS, {}, "3:model duplicate-model"),
    "one column of two": ("model;f1\nrf;1\n", {}, "no-metrics"),
    "decimal commas": ("model;f1;acc\nrf;0,5;1\n", {}, "2 long-row"),
    "one column": ("model\nrf\n", {}, "no-metrics"),
    "models twice": (
        "model,f1\nrf,1\nsvm,0\n\nrf,1\nsvm,1\nrf,0\n",
        {},
        "5:model duplicate-model, 6:model duplicate-model, 7:model duplicate-model",
    ),
    "models twice, nameless": (",f1\nrf,1\nrf,0\n", {}, "3 duplicate-model"),
    "a nameless model": (NAMELESS_MODEL, {}, "3:model missing-value, 4:model missing-value"),
    "metrics twice": ("model,f1,acc,f1\nrf,1,1,0\n", {}, "1 duplicate-column"),
    "rows of metrics twice": (
        "metric,rf\nf1,1\nacc,1\nf1,0\n,1\n",
        TURNED,
        "4:metric duplicate-column, 5:metric missing-value",
    ),
    "all dropped": ("model,f1,acc\nrf,,1\nsvm,1,\n", DROP, "empty-table"),
    "ragged": ("model,f1,acc\nrf,1\n\nsvm,1,1,1\nnb,1,0\n", {}, "2:acc short-row, 4 long-row"),
    "bare CR": ("model,f1\rrf,1\r", {}, "1 cr-only"),
    "CR amid a line": ("model,f1\nrf\r,1\n", {}, "2 cr-only"),
    "NUL": ("model,f1\nr\0f,1\n", {}, "2:model nul-byte"),
    "Latin-1": ("model,f1\nBäume,1\n".encode("latin-1"), {}, "2:model not-utf8"),
    "bad quotes": ('model,f1\n"rf"x,1\n', {}, "2 bad-csv"),
}
USAGE: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"missing": "skip"}, "bad-option"),
    "layout": ({"layout": "counts"}, "bad-option"),
    "format": ({"input_format": "excel"}, "bad-option"),
    "delimiter": ({"delimiter": "ab"}, "bad-delimiter"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_tables_that_cannot_be_read_are_refused(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


@pytest.mark.parametrize("case", USAGE)
def test_words_that_no_option_knows(case: str) -> None:
    options, expected = USAGE[case]
    assert told(ONE, exit_code=2, **options) == expected


def test_one_table_at_a_time() -> None:
    names = [write("a.csv", ONE), write("b.csv", ONE)]
    for several in (names, ["?.csv"]):
        assert spots(METRICS.refusal(several)) == "several-tables"
    assert told([], exit_code=2) == "no-input"


def test_a_file_in_a_folder_is_shown_without_it() -> None:
    Path("out").mkdir()
    table = read_metrics([write("out/t.csv", ONE)])
    assert (table.name, table.display) == ("out/t.csv", "t.csv")


@pytest.mark.parametrize("content", ["model,f1", "model,f1\n\n\n,\n"])
def test_a_header_and_nothing_else(content: str) -> None:
    assert places(content) == "empty-table"


INDEX = pd.MultiIndex.from_tuples([("rf", 1), ("svm", 1)])
TWICE = pd.DataFrame([["rf", 1, 2, 3, 4]], columns=["model", "f1", "f1", "acc", "acc"])


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pl.DataFrame(), "empty-table"),
        (pl.DataFrame({"model": [], "f1": []}), "empty-table"),
        (pd.DataFrame(), "empty-table"),
        (pd.DataFrame({"f1": [0.5, 1.0]}, index=INDEX), "no-models"),
        (TWICE, "duplicate-column, duplicate-column"),
    ],
)
def test_frames_that_cannot_be_read_are_refused(frame: Any, expected: str) -> None:
    assert told(frame) == expected


def test_a_metric_with_the_name_of_the_truth_is_taken_when_it_is_asked_for() -> None:
    content = "model,target,f1\nrf,1,.5\nsvm,2,.25\n"
    assert metric_table_of(content, layout="wide").metrics == ("target", "f1")
    assert metric_table_of(content, wanted=["t*", "f1"]).metrics == ("target", "f1")
