"""JSON documents as metric tables: which shapes are understood, and what is said of others."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.tables.metric_door import data_message, read, rows_of, shown

EXPECTED = (("rf", "svm"), ("f1", "acc"), [[0.5, 1.0], [0.25, 0.0]])
FORMS = (
    'hint: a table is a list of records, {"column": [values]}, {"model": {"metric": value}}, or a '
    "result of clfeval"
)
MISLEADS = "hint: rename the file if its suffix misleads"
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
    table = read(SHAPES[shape], name)
    assert shown(table) == EXPECTED
    assert table.layout == "wide"
    assert table.ignored == ()


def test_one_record_is_one_model() -> None:
    content = json.dumps(RECORDS[0])
    assert shown(read(content, "t.json")) == (("rf",), ("f1", "acc"), [[0.5, 1.0]])


def test_outer_names_are_models_whatever_they_are_called() -> None:
    document = {"1": {"f1": 0.5, "model": 3}, "f1": {"f1": 0.25, "model": 4}}
    table = read(json.dumps(document), "t.json")
    assert shown(table) == (("1", "f1"), ("f1", "model"), [[0.5, 3.0], [0.25, 4.0]])
    assert table.described() == (
        "t.json: wide metrics; models by the outer names; 2 metrics: 'f1', 'model'"
    )


def test_outer_names_are_metrics_when_columns_are_models() -> None:
    table = read(FRAME.set_index("model").to_json(), "t.json", transpose=True)
    assert shown(table) == EXPECTED


def test_id_names_the_column_of_an_object_of_columns() -> None:
    content = FRAME.rename(columns={"model": "who"}).set_index(pd.Index([7, 9])).to_json()
    assert shown(read(content, "t.json", id="who")) == EXPECTED


def test_keys_that_a_record_lacks_are_missing() -> None:
    records = [*RECORDS, {"model": "nb", "mcc": 0.5}]
    assert data_message(json.dumps(records), "t.json").splitlines()[:2] == [
        "t.json:1: column 'mcc': missing [missing-value]",
        "t.json:2: column 'mcc': missing [missing-value]",
    ]
    table = read(json.dumps(records), "t.json", wanted=["f1"], missing="drop")
    assert (table.models, table.dropped) == (("rf", "svm"), 1)


def test_records_without_a_value_count_and_are_nothing_else() -> None:
    table = read(json.dumps([RECORDS[0], {}, {"model": None}, RECORDS[1]]), "t.json")
    assert shown(table) == EXPECTED
    assert rows_of(table) == (1, 4)


def test_lines_are_named_as_lines() -> None:
    lines = ['{"model": "rf", "f1": 1}', "", '{"model": "svm", "f1": "x"}', '{"model": "nb"}']
    assert data_message("\n".join(lines), "t.ndjson").splitlines()[::2] == [
        "t.ndjson:3: column 'f1': 'x' is not a number [bad-number]",
        "t.ndjson:4: column 'f1': missing [missing-value]",
    ]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("null", "missing [missing-value]"),
        ("NaN", "missing [missing-value]"),
        ('""', "missing [missing-value]"),
        ("Infinity", "is infinite [infinite-value]"),
        ("-Infinity", "is infinite [infinite-value]"),
        ("1e999", "is infinite [infinite-value]"),
        ("1" + "0" * 400, "is infinite [infinite-value]"),
        ("true", "'true' is not a number [bad-number]"),
        ('"x"', "'x' is not a number [bad-number]"),
        ("[1]", "'[1]' is not a number [bad-number]"),
        ('{"a": 1}', "'{'a': 1}' is not a number [bad-number]"),
    ],
)
def test_cells_that_are_no_finite_number(cell: str, message: str) -> None:
    content = f'[{{"model": "rf", "f1": 1}}, {{"model": "svm", "f1": {cell}}}]'
    assert data_message(content, "t.json").splitlines()[0] == f"t.json:2: column 'f1': {message}"


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ('[{"model": "rf", "f1": 1}, {"model": "svm", "f1": 1, "f1": 2}]', ":2"),
        ('{"model": "rf", "f1": 1}\n\n{"model": "svm", "f1": 1, "f1": 2}', ":3"),
        ('{"model": "svm", "f1": 1, "f1": 2}', ":1"),
        ('{"rf": {"f1": 1}, "svm": {"f1": 1, "f1": 2}}', ""),
        ('{"model": ["rf"], "f1": [1], "f1": [2]}', ":1"),
    ],
)
def test_a_key_given_twice(content: str, row: str) -> None:
    assert data_message(content, "t.json") == (
        f"t.json{row}: the key 'f1' stands in one object twice [duplicate-column]\n"
        "hint: give every value a key of its own"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3", "t.json: holds a number, no table [bad-file]"),
        ('"a"', "t.json: holds text, no table [bad-file]"),
        ("null", "t.json: holds null, no table [bad-file]"),
        ("true", "t.json: holds a truth value, no table [bad-file]"),
        ('[{"model": "rf"}, 3]', "t.json:2: is a number, no object [bad-record]"),
        ('[["model", "f1"], ["rf", 1]]', "t.json:1: is a list, no object [bad-record]\n"
         "t.json:2: is a list, no object [bad-record]"),
        ('{"model": "rf"}\n\n7', "t.json:3: is a number, no object [bad-record]"),
        ('{"model": ["rf", "svm"], "f1": [1], "acc": [1, 1], "mcc": []}',
         "t.json: column 'f1': 1 values where 'model' has 2 [ragged-columns]\n"
         "t.json: column 'mcc': 0 values where 'model' has 2 [ragged-columns]"),
    ],
)  # fmt: skip
def test_documents_that_are_no_table(content: str, message: str) -> None:
    assert data_message(content, "t.json") == f"{message}\n{FORMS}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{]", "t.json:1: cannot be read as json: Expecting property name enclosed in double "
         "quotes [bad-file]"),
        ('[\n{"a": 1},\n{"a" 2}]', "t.json:3: cannot be read as json: Expecting ':' delimiter "
         "[bad-file]"),
        ('{"a": 1}\n{"a": 2\n', "t.json:2: cannot be read as json: Expecting ',' delimiter "
         "[bad-file]"),
        ("model,f1\nrf,1\n", "t.json:1: cannot be read as json: Expecting value [bad-file]"),
    ],
)  # fmt: skip
def test_broken_documents_are_named_by_line(content: str, message: str) -> None:
    assert data_message(content, "t.json") == f"{message}\n{MISLEADS}"


@pytest.mark.parametrize("content", ["[" * 100_000, f'[{{"a": {"1" * 5000}}}]'])
def test_depths_and_numbers_beyond_all_measure(content: str) -> None:
    first, hint = data_message(content, "t.json").splitlines()
    assert first.startswith("t.json: cannot be read as json: ")
    assert hint == MISLEADS


@pytest.mark.parametrize("content", ["[]", "{}", "[{}]", '{"model": []}'])
def test_documents_of_nothing(content: str) -> None:
    assert data_message(content, "t.json") == (
        "t.json: no rows to evaluate [empty-table]\nhint: the table holds no record"
    )


def test_blanks_are_no_document() -> None:
    assert data_message(" \n ", "t.json") == (
        "t.json: the input holds nothing but blanks [empty-table]"
    )


def test_other_encodings() -> None:
    content = '[{"model": "Bäume",\n "f1": 1}]'
    assert data_message(content.encode("utf-16"), "t.json") == (
        "t.json:1: the file is UTF-16, not UTF-8 [not-utf8]\n"
        "hint: convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"
    )
    assert data_message(b"\n" + content.encode("latin-1"), "t.json") == (
        "t.json:2: not UTF-8 [not-utf8]\n"
        "hint: often it is Latin-1: iconv -f LATIN1 -t UTF-8 FILE > NEW"
    )
