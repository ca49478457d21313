"""JSON documents as metric tables: which shapes are understood, and what is said of others."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.tables.metric_door import metric_content, metric_table_of, places, problem_rows, told
from tests.texts import check_text

EXPECTED = (("rf", "svm"), ("f1", "acc"), [[0.5, 1.0], [0.25, 0.0]])
RECORDS = [{"model": "rf", "f1": 0.5, "acc": 1}, {"model": "svm", "f1": 0.25, "acc": 0}]
BY_MODEL = {"rf": {"f1": 0.5, "acc": 1}, "svm": {"acc": 0, "f1": 0.25}}
FRAME = pd.DataFrame(RECORDS)

SHAPES = {
    "records": json.dumps(RECORDS),
    "indented": json.dumps(RECORDS, indent=2),
    "columns": json.dumps({key: [row[key] for row in RECORDS] for key in RECORDS[0]}),
    "by model": json.dumps(BY_MODEL),
    "pandas columns": FRAME.to_json(),
    "pandas columns of some rows": FRAME.set_index(pd.Index([7, 9])).to_json(),
    "pandas index": FRAME.set_index("model").to_json(orient="index"),
    "lines": "\n".join(map(json.dumps, RECORDS)),
    "lines with blanks": "\n\n" + "\r\n\r\n".join(map(json.dumps, RECORDS)) + "\n\n",
    "one after the other": "\n".join(json.dumps(row, indent=1) for row in RECORDS),
    "marked": "\ufeff" + json.dumps(RECORDS),
    "numbers as text": json.dumps(RECORDS).replace("0.25", '"0.25"'),
}


@pytest.mark.parametrize("name", ["t.json", "t.ndjson"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_are_understood(shape: str, name: str) -> None:
    table = metric_table_of(SHAPES[shape], name)
    assert metric_content(table) == EXPECTED
    assert table.layout == "wide"
    assert table.ignored == ()


def test_one_record_is_one_model() -> None:
    content = json.dumps(RECORDS[0])
    assert metric_content(metric_table_of(content, "t.json")) == (
        ("rf",),
        ("f1", "acc"),
        [[0.5, 1.0]],
    )


def test_outer_names_are_models_whatever_they_are_called() -> None:
    document = {"1": {"f1": 0.5, "model": 3}, "f1": {"f1": 0.25, "model": 4}}
    table = metric_table_of(json.dumps(document), "t.json")
    assert metric_content(table) == (("1", "f1"), ("f1", "model"), [[0.5, 3.0], [0.25, 4.0]])
    check_text(table.described())


def test_outer_names_are_metrics_when_columns_are_models() -> None:
    table = metric_table_of(FRAME.set_index("model").to_json(), "t.json", transpose=True)
    assert metric_content(table) == EXPECTED


def test_id_names_the_column_of_an_object_of_columns() -> None:
    content = FRAME.rename(columns={"model": "who"}).set_index(pd.Index([7, 9])).to_json()
    assert metric_content(metric_table_of(content, "t.json", id="who")) == EXPECTED


def test_keys_that_a_record_lacks_are_missing() -> None:
    records = [*RECORDS, {"model": "nb", "mcc": 0.5}]
    expected = "1:mcc missing-value, 2:mcc missing-value"
    assert places(json.dumps(records), "t.json").startswith(expected)
    table = metric_table_of(json.dumps(records), "t.json", wanted=["f1"], missing="drop")
    assert (table.models, table.dropped) == (("rf", "svm"), 1)


def test_records_without_a_value_count_and_are_nothing_else() -> None:
    table = metric_table_of(json.dumps([RECORDS[0], {}, {"model": None}, RECORDS[1]]), "t.json")
    assert metric_content(table) == EXPECTED
    assert problem_rows(table) == (1, 4)


def test_lines_are_named_as_lines() -> None:
    lines = ['{"model": "rf", "f1": 1}', "", '{"model": "svm", "f1": "x"}', '{"model": "nb"}']
    expected = "3:f1 bad-number, 4:f1 missing-value"
    assert places("\n".join(lines), "t.ndjson") == expected


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("null", "missing-value"),
        ("NaN", "missing-value"),
        ('""', "missing-value"),
        ("Infinity", "infinite-value"),
        ("-Infinity", "infinite-value"),
        ("1e999", "infinite-value"),
        ("1" + "0" * 400, "infinite-value"),
        ("true", "bad-number"),
        ('"x"', "bad-number"),
        ("[1]", "bad-number"),
        ('{"a": 1}', "bad-number"),
    ],
)
def test_cells_that_are_no_finite_number(cell: str, code: str) -> None:
    content = f'[{{"model": "rf", "f1": 1}}, {{"model": "svm", "f1": {cell}}}]'
    assert places(content, "t.json") == f"2:f1 {code}"


TWICE = '{"model": "svm", "f1": 1, "f1": 2}'
RAGGED_COLUMNS = '{"model": ["rf", "svm"], "f1": [1], "acc": [1, 1], "mcc": []}'
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a key twice": (f'[{{"model": "rf", "f1": 1}}, {TWICE}]', "2"),
    "a key twice, lines": ('{"model": "rf", "f1": 1}\n\n' + TWICE, "3"),
    "a key twice, one record": (TWICE, "1"),
    "a key twice, by model": ('{"rf": {"f1": 1}, "svm": ' + TWICE + "}", ""),
    "a column twice": ('{"model": ["rf"], "f1": [1], "f1": [2]}', "1"),
    "a number": ("3", "bad-file"),
    "text": ('"a"', "bad-file"),
    "null": ("null", "bad-file"),
    "a truth value": ("true", "bad-file"),
    "a number among records": ('[{"model": "rf"}, 3]', "2 bad-record"),
    "lists": ('[["model", "f1"], ["rf", 1]]', "1 bad-record, 2 bad-record"),
    "a number among lines": ('{"model": "rf"}\n\n7', "3 bad-record"),
    "ragged columns": (RAGGED_COLUMNS, "f1 ragged-columns, mcc ragged-columns"),
    "a broken list": ("[{]", "1 bad-file"),
    "a broken record": ('[\n{"a": 1},\n{"a" 2}]', "3 bad-file"),
    "a broken line": ('{"a": 1}\n{"a": 2\n', "2 bad-file"),
    "csv": ("model,f1\nrf,1\n", "1 bad-file"),
    "nothing": ("[]", "empty-table"),
    "blanks": (" \n ", "empty-table"),
    "UTF-16": ('[{"model": "Bäume",\n "f1": 1}]'.encode("utf-16"), "1 not-utf8"),
    "Latin-1": ('\n[{"model": "Bäume",\n "f1": 1}]'.encode("latin-1"), "2 not-utf8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_documents_that_are_no_table_are_refused(case: str) -> None:
    content, expected = REFUSED[case]
    expected = f"{expected} duplicate-column".strip() if "twice" in case else expected
    assert told(content, "t.json") == expected


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("[" * 100_000, "bad-file"),
        (f'[{{"a": {"1" * 5000}}}]', "bad-file"),
        ("{}", "empty-table"),
        ("[{}]", "empty-table"),
        ('{"model": []}', "empty-table"),
    ],
)
def test_documents_beyond_all_measure_and_without_a_record(content: str, code: str) -> None:
    assert places(content, "t.json") == code
