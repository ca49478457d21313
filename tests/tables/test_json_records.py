"""JSON lists of records as tables of rows, as every command that counts rows reads them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from clfeval.api.mars import mars
from tests.tables.door import (
    EXPECTED,
    FRAME,
    counted,
    data_message,
    opened,
    packed,
    refusal,
    usage_message,
    write,
)

CONTENT = json.dumps(FRAME.to_dicts()).encode()
RESULT = mars(FRAME).to_json()
NO_ROWS = "this is a saved result of clfeval, no table [wrong-format]"
NO_LIST = (
    "t.json: is no list of records [wrong-format]\n"
    "hint: one object per row is needed, as pandas writes with orient='records', or "
    "'split'; or one object a line in a file named .ndjson"
)


@pytest.mark.parametrize(
    "content",
    [
        CONTENT,
        b" \n" + json.dumps(FRAME.to_dicts(), indent=8).encode(),
        b"\xef\xbb\xbf" + CONTENT,
        FRAME.to_pandas().to_json(orient="records").encode(),
        FRAME.write_ndjson().encode(),  # one record a line, whatever the name says
        b"\n" + FRAME.write_ndjson().encode(),
    ],
)
def test_a_list_of_records_is_a_table(content: bytes) -> None:
    assert counted(write("t.json", content)) == EXPECTED


@pytest.mark.parametrize("name", ["t.JSON", "t.json.gz", "t.json.zst", "a[1].json", "it's.json"])
def test_it_goes_by_its_name(name: str) -> None:
    packing = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
    assert counted(write(name, packed(CONTENT, packing) if packing else CONTENT)) == EXPECTED


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_without_a_name_the_first_bytes_say_so(indent: int | None) -> None:
    assert counted(write("t", json.dumps(FRAME.to_dicts(), indent=indent))) == EXPECTED
    assert counted(write("t.txt", CONTENT), input_format="json") == EXPECTED


def test_a_header_may_begin_with_a_bracket() -> None:
    frame = FRAME.rename({"a": "[a]"}).select("[a]", "truth", "b")
    assert counted(write("t", frame.write_csv())) == {
        "[a]": EXPECTED["a"], "b": EXPECTED["b"],
    }  # fmt: skip


def test_columns_keep_the_order_of_the_first_record() -> None:
    names = ["z", "y", "truth", "x", "b", "a", "k", "c", "m", "d", "n", "e"]
    records = [dict.fromkeys(names, 1), {"later": 0, **dict.fromkeys(reversed(names), 0)}]
    predictions = opened(write("t.json", json.dumps(records)), missing="drop")
    assert list(predictions.peeks) == [*names, "later"]


def test_another_format_of_that_name() -> None:
    lines = data_message(FRAME.write_csv(), "t.json").splitlines()
    assert lines == NO_LIST.splitlines()
    name = Path(write("t.json", b"PAR1" + bytes(20))).name
    assert str(refusal(name)).startswith("t.json: its name says json, but it is parquet [")


@pytest.mark.parametrize("name", ["t.json", "t.ndjson", "t"])
@pytest.mark.parametrize("content", [RESULT, json.dumps(json.loads(RESULT))])
def test_a_result_is_no_table_of_rows(name: str, content: str) -> None:
    hint = f"hint: clfeval report {name}"
    assert usage_message(content, name) == f"{name}: {NO_ROWS}\n{hint}"


@pytest.mark.parametrize(
    "content",
    [
        '{"truth": [1, 0], "a": [1, 1]}',
        FRAME.to_pandas().to_json(),
        "[1, 2]",
        '[["truth", "a"], [1, 0]]',
        "{\n}",
        "3",
        "[",
    ],
)
def test_what_is_no_list_of_records(content: str) -> None:
    assert data_message(content, "t.json") == NO_LIST


def test_a_list_of_nothing() -> None:
    for content in ("[]", "[{}]", " [ ] "):
        assert data_message(content, "t.json") == (
            "t.json: no rows to evaluate [empty-table]\nhint: the list holds no record"
        )


@pytest.mark.parametrize("content", ['[{"truth": 1, "a": 1}, 3]', '[{"truth": 1, "a": 1}', "[{]"])
def test_broken_records(content: str) -> None:
    first, hint = data_message(content, "t.json").splitlines()
    assert first.startswith("t.json: cannot be read as json: ")
    assert first.endswith(" [bad-file]")
    assert hint == "hint: rename the file if its suffix misleads"


def test_records_that_hold_lists() -> None:
    records = [{"truth": 1, "a": [1]}, {"truth": 0, "a": [0]}]
    assert data_message(json.dumps(records), "t.json") == (
        "t.json: column 'a': holds List(Int64), not single values [bad-type]"
    )


def test_labels_are_kept_as_they_are() -> None:
    frame = pl.DataFrame({"truth": ["01", "1", "01"], "a": ["01", "01", "1"]})
    result = mars(write("t.json", json.dumps(frame.to_dicts())), positive="01")
    assert [(row["tp"], row["fp"], row["fn"]) for row in result.tables["models"]] == [(1, 1, 1)]
