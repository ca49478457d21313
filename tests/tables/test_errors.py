"""Text that is no proper table: ragged, wrongly encoded, quoted or delimited, or without rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import clfeval
from tests.tables.door import data_message, mars_confusion, places, told, write

HEAD = "id,truth,a,b\n"
MIXED = HEAD + "1,1,1,1\n2,0,1,0,0\n3,0,1\n4,0,1,1\n"
DROP = {"missing": "drop"}
NO_BIT, NUL = {"positive": "y"}, "1 nul-byte"

NAMES_TWICE = "id,truth,rf,svm,rf,rf\n1,1,1,1,1,1\n"
LATIN_1_CELLS = "id,truth,a\n1,café,café\n2,y,y\n".encode("latin-1")
UTF_16_THE_OTHER_WAY = b"\xfe\xff" + "id,truth,a\n1,1,1\n".encode("utf-16-be")
UTF_16_WITHOUT_ITS_MARK = "id,truth,a\n1,1,1\n".encode("utf-16-le")
REFUSED: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "names twice": (NAMES_TWICE, {}, "1 duplicate-column, 1 duplicate-column"),
    "two names that are empty": (",truth,,a\n1,1,1,1\n", {}, "1 duplicate-column"),
    "short rows": (HEAD + "1,1,1,1\n2,0,1\n3,0,1,1\n4,0\n", {}, "3:b short-row, 5:a short-row"),
    "short and long rows": (MIXED, {}, "3 long-row, 4:b short-row"),
    "decimal commas": ("truth,a\n1,0,7\n0,0,2\n", {}, "2 long-row, 3 long-row"),
    "bare carriage returns": ("id,truth,a\r1,1,1\r2,0,0\r", {}, "1 cr-only"),
    "NUL in a cell": ("id,truth,a\n1,y,y\n2,no,n\0o\n", NO_BIT, "3:a nul-byte"),
    "NUL in the header": ("id,truth,a\0\n1,1,1\n", {}, "1 nul-byte"),
    "Latin-1 cells": (LATIN_1_CELLS, NO_BIT, "2:truth not-utf8, 2:a not-utf8"),
    "Latin-1 in the header": ("id,truth,modèle\n1,1,1\n".encode("latin-1"), {}, "1 not-utf8"),
    "UTF-16": (b"\xff\xfe" + "id,truth,a\n1,1,1\n".encode("utf-16-le"), {}, "1 not-utf8"),
    "UTF-16, the other way": (UTF_16_THE_OTHER_WAY, {}, "1 not-utf8"),
    "UTF-16 without its mark": (UTF_16_WITHOUT_ITS_MARK, {}, "1 not-utf8"),
    "zero bytes": ("", {}, "empty-table"),
    "no header line": ("\n\n\r\n", {}, "1 empty-table"),
    "counts, with a truth of no column": (
        "model,tp,fp,fn,tn\na,1,2,3,4\nb,2,1,2,5\n",
        {"truth": "5%"},
        "unknown-column",
    ),
    "a mark alone": ("\ufeff", {}, "1 empty-table"),
    "rows without values": (
        "id,truth,a\n1,,\n2,,\n",
        {},
        "2:truth missing-value, 2:a missing-value, 3:truth missing-value, 3:a missing-value",
    ),
    "no row is left": ("id,truth,a\n1,,\n2,,\n", DROP, "empty-table"),
    "no answer is left": ("id,truth,a\n1,y,\n2,n,\n", DROP | NO_BIT, "empty-table"),
    "no truth is left": ("id,truth,a\n1,,1\n2,,0\n", DROP, "empty-table"),
    "weights are zero": ("truth,a,w\n1,1,0\n0,1,0\n", {"weight": "w"}, "empty-table"),
    "semicolons": ("id;truth;a\n1;1;1\n", {}, "no-truth"),
    "tabs": ("id\ttruth\ta\n1\t1\t1\n", {}, "no-truth"),
    "an open quote": ('id,truth,a\n1,1,1\n2,0,"0\n3,1,1\n', {}, "3 bad-csv"),
    "text after a quote": ('truth,a\ny,"y"x\nno,no\n', NO_BIT, "2 bad-csv"),
    "a gap between blank lines": ("id,truth,a\n1,1,1\n\n2,0,\n\n3,0,0\n", {}, "4:a missing-value"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_text_that_is_no_table_is_refused_at_its_place(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ('"1,5",1,1,1\n2,0,1\n3,0,1,1\n', "3:b short-row"),
        ('"1,5",1,1,1\n2,0,1,0,0\n', "3 long-row"),
    ],
)
def test_ragged_rows_are_seen_among_quoted_fields(rows: str, expected: str) -> None:
    assert places(HEAD + rows) == expected
    assert places(MIXED, missing="drop") == "3 long-row, 4:b short-row"


@pytest.mark.parametrize(
    "content", ["truth,a\ny,y\rn,n\ny,y\n", "truth,a\ry,y\rn,n\n", "truth,a\r\ny,y\rn,n\r\n"]
)
def test_bare_carriage_returns_among_other_line_ends_are_placed(content: str) -> None:
    message = data_message(content, positive="y")
    assert message.splitlines()[0].startswith("t.csv:")
    assert "schema" not in message.casefold()  # what polars says
    assert "[cr-only]" in message or "-row]" in message


def test_latin1_far_down_in_a_column_nobody_asked_for() -> None:
    content = b"truth,a,note\n" + b"1,1,x\n0,0,x\n" * 100_000 + b"1,1,\xe9t\xe9\n"
    assert places(content, model="a") == "200002:note not-utf8"


HEADERS = [
    "id,truth,a\n",
    "id,truth,a",
    "id,truth,a\n\n\n",
    "id,truth,m:0,m:1\n",
    "id,model,prediction,truth\n",
    "model,tp,fp,fn,tn\n",
]


@pytest.mark.parametrize("content", HEADERS)
@pytest.mark.parametrize("options", [{}, {"positive": "1"}, DROP], ids=str)
def test_a_header_and_nothing_else(content: str, options: dict[str, str]) -> None:
    assert places(content, **options) == "empty-table"


def test_a_quote_in_the_middle_of_a_field_is_only_a_character() -> None:
    content = 'truth,a\n5" pipe,5" pipe\nno,no\n'
    assert mars_confusion(write("t.csv", content), positive='5" pipe') == {"a": (1, 0, 0, 1)}


@pytest.mark.parametrize(
    ("truth", "code"),
    [
        ([f"id{i}" for i in range(40)], "truth-of-ids"),
        ([f"c{i % 1001}" for i in range(2002)], "too-many-classes"),
        ([f"c{i % 1000}" for i in range(2000)], None),
        ([f"id{i}" for i in range(20)], None),
    ],
)
def test_a_truth_that_is_an_id_or_has_too_many_classes_is_refused(
    truth: list[str], code: str | None
) -> None:
    rows = [f"row {i}" for i in range(len(truth))]
    table = pl.DataFrame({"text": rows, "truth": truth, "m": truth[1:] + truth[:1]})
    if code is None:
        assert clfeval.report(table).summary["rows"] == len(truth)
        return
    with pytest.raises(clfeval.DataError, match=code):
        clfeval.report(table)
    one = clfeval.report(table, positive=truth[0])  # whoever names a class means it
    assert one.summary["positives"] == truth.count(truth[0])
