"""JSON lists of records as tables of rows, as every command that counts rows reads them."""

from __future__ import annotations

import json

import polars as pl
import pytest

from clfeval.api.commands import mars
from tests.tables.door import EXPECTED, FRAME, mars_confusion, opened, packed, refusal, told, write

CONTENT = json.dumps(FRAME.to_dicts()).encode()
RESULT = mars(FRAME).to_json()


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
    assert mars_confusion(write("t.json", content)) == EXPECTED


@pytest.mark.parametrize("name", ["t.JSON", "t.json.gz", "t.json.zst", "a[1].json", "it's.json"])
def test_it_goes_by_its_name(name: str) -> None:
    packing = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
    assert mars_confusion(write(name, packed(CONTENT, packing) if packing else CONTENT)) == EXPECTED


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_without_a_name_the_first_bytes_say_so(indent: int | None) -> None:
    assert mars_confusion(write("t", json.dumps(FRAME.to_dicts(), indent=indent))) == EXPECTED
    assert mars_confusion(write("t.txt", CONTENT), input_format="json") == EXPECTED


def test_a_header_may_begin_with_a_bracket() -> None:
    frame = FRAME.rename({"a": "[a]"}).select("[a]", "truth", "b")
    assert mars_confusion(write("t", frame.write_csv())) == {
        "[a]": EXPECTED["a"],
        "b": EXPECTED["b"],
    }


def test_columns_keep_the_order_of_the_first_record() -> None:
    names = ["z", "y", "truth", "x", "b", "a", "k", "c", "m", "d", "n", "e"]
    records = [dict.fromkeys(names, 1), {"later": 0, **dict.fromkeys(reversed(names), 0)}]
    predictions = opened(write("t.json", json.dumps(records)), missing="drop")
    assert list(predictions.profiles) == [*names, "later"]


def test_another_format_of_that_name() -> None:
    assert told(b"PAR1" + bytes(20), "t.json") == "wrong-format"


@pytest.mark.parametrize("name", ["t.json", "t.ndjson", "t"])
@pytest.mark.parametrize("content", [RESULT, json.dumps(json.loads(RESULT))])
def test_a_result_is_no_table_of_rows(name: str, content: str) -> None:
    error = refusal(write(name, content))
    assert (error.problems[0].code, int(error.exit_code)) == ("wrong-format", 2)
    assert f"clfeval report {name}" in (error.hint or "")


LISTS = [{"truth": 1, "a": [1]}, {"truth": 0, "a": [0]}]
REFUSED: dict[str, tuple[str, str]] = {
    "columns": ('{"truth": [1, 0], "a": [1, 1]}', "wrong-format"),
    "pandas columns": (FRAME.to_pandas().to_json(), "wrong-format"),
    "numbers": ("[1, 2]", "wrong-format"),
    "lists": ('[["truth", "a"], [1, 0]]', "wrong-format"),
    "no columns": ("{\n}", "wrong-format"),
    "a number": ("3", "wrong-format"),
    "a bracket": ("[", "wrong-format"),
    "csv": (FRAME.write_csv(), "wrong-format"),
    "nothing": ("[]", "empty-table"),
    "an empty record": ("[{}]", "empty-table"),
    "blanks": (" [ ] ", "empty-table"),
    "a number among records": ('[{"truth": 1, "a": 1}, 3]', "bad-file"),
    "an open list": ('[{"truth": 1, "a": 1}', "bad-file"),
    "an open record": ("[{]", "bad-file"),
    "records of lists": (json.dumps(LISTS), "a bad-type"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_documents_that_are_no_list_of_records_are_refused(case: str) -> None:
    content, expected = REFUSED[case]
    assert told(content, "t.json") == expected


def test_labels_are_kept_as_they_are() -> None:
    frame = pl.DataFrame({"truth": ["01", "1", "01"], "a": ["01", "01", "1"]})
    result = mars(write("t.json", json.dumps(frame.to_dicts())), positive="01")
    assert [(row["tp"], row["fp"], row["fn"]) for row in result.tables["models"]] == [(1, 1, 1)]
