"""Text that is no proper table: ragged, wrongly encoded, quoted or delimited, or without rows."""

from __future__ import annotations

import polars as pl
import pytest

import clfeval
from tests.tables.door import counted, data_message, write

FIELDS = "hint: every row needs as many fields as the header; quote fields that hold a delimiter"
LATIN = "hint: often it is Latin-1: iconv -f LATIN1 -t UTF-8 FILE > NEW"
NUL = r"hint: remove them: tr -d '\0' < FILE > NEW"
FILL = "hint: fill the cells, or add --missing drop to leave such rows out"


def test_duplicate_headers() -> None:
    assert data_message("id,truth,rf,svm,rf,rf\n1,1,1,1,1,1\n") == (
        "t.csv:1: column 5 has the name 'rf' of column 3 [duplicate-column]\n"
        "t.csv:1: column 6 has the name 'rf' of column 3 [duplicate-column]\n"
        "hint: give every column a plain name of its own"
    )


def test_two_headers_without_a_name() -> None:
    assert data_message(",truth,,a\n1,1,1,1\n") == (
        "t.csv:1: column 3 has the name (no name) of column 1 [duplicate-column]\n"
        "hint: give every column a plain name of its own"
    )


def test_short_rows_name_the_first_column_they_lack() -> None:
    assert data_message("id,truth,a,b\n1,1,1,1\n2,0,1\n3,0,1,1\n4,0\n") == (
        "t.csv:3: column 'b': 3 fields where the header has 4 [short-row]\n"
        "t.csv:5: column 'a': 2 fields where the header has 4 [short-row]\n" + FIELDS
    )


def test_long_rows() -> None:
    assert data_message("id,truth,a,b\n1,1,1,1\n2,0,1,0,0\n3,0,1,1\n") == (
        "t.csv:3: 5 fields where the header has 4 [long-row]\n" + FIELDS
    )


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_a_short_and_a_long_row_do_not_make_up_for_each_other(missing: str) -> None:
    content = "id,truth,a,b\n1,1,1,1\n2,0,1,0,0\n3,0,1\n4,0,1,1\n"
    assert data_message(content, missing=missing) == (
        "t.csv:3: 5 fields where the header has 4 [long-row]\n"
        "t.csv:4: column 'b': 3 fields where the header has 4 [short-row]\n" + FIELDS
    )


def test_a_short_row_is_seen_among_quoted_fields() -> None:
    assert data_message('id,truth,a,b\n"1,5",1,1,1\n2,0,1\n3,0,1,1\n') == (
        "t.csv:3: column 'b': 3 fields where the header has 4 [short-row]\n" + FIELDS
    )


def test_a_long_row_is_seen_among_quoted_fields() -> None:
    assert data_message('id,truth,a,b\n"1,5",1,1,1\n2,0,1,0,0\n3,0,1,1\n') == (
        "t.csv:3: 5 fields where the header has 4 [long-row]\n" + FIELDS
    )


def test_a_decimal_comma_makes_rows_too_long() -> None:
    assert data_message("truth,a\n1,0,7\n0,0,2\n") == (
        "t.csv:2: 3 fields where the header has 2 [long-row]\n"
        "t.csv:3: 3 fields where the header has 2 [long-row]\n" + FIELDS
    )


def test_lines_that_end_with_a_bare_carriage_return() -> None:
    assert data_message("id,truth,a\r1,1,1\r2,0,0\r") == (
        "t.csv:1: lines end with a bare carriage return (CR) [cr-only]\n"
        r"hint: convert it: tr '\r' '\n' < FILE > NEW"
    )


@pytest.mark.parametrize("content", [
    "truth,a\ny,y\rn,n\ny,y\n", "truth,a\ry,y\rn,n\n", "truth,a\r\ny,y\rn,n\r\n",
])  # fmt: skip
def test_bare_carriage_returns_among_other_line_ends_are_no_riddle(content: str) -> None:
    message = data_message(content, positive="y")
    assert message.splitlines()[0].startswith("t.csv:")
    assert "schema" not in message.casefold()  # what polars says
    assert "carriage return" in message or "fields where the header has" in message


def test_nul_bytes() -> None:
    assert data_message("id,truth,a\n1,yes,yes\n2,no,n\0o\n", positive="yes") == (
        "t.csv:3: column 'a': holds a NUL byte [nul-byte]\n" + NUL
    )


def test_nul_bytes_in_the_header() -> None:
    assert data_message("id,truth,a\0\n1,1,1\n") == (
        "t.csv:1: the name of column 3 holds a NUL byte [nul-byte]\n" + NUL
    )


def test_latin1_cells_are_shown_as_they_were_meant() -> None:
    content = "id,truth,a\n1,café,café\n2,no,no\n".encode("latin-1")
    assert data_message(content, positive="no") == (
        "t.csv:2: column 'truth': not UTF-8 (as Latin-1 it reads 'café') [not-utf8]\n"
        "t.csv:2: column 'a': not UTF-8 (as Latin-1 it reads 'café') [not-utf8]\n" + LATIN
    )


def test_latin1_far_down_in_a_column_nobody_asked_for() -> None:
    content = b"truth,a,note\n" + b"1,1,x\n0,0,x\n" * 100_000 + b"1,1,\xe9t\xe9\n"
    assert data_message(content, model="a") == (
        "t.csv:200002: column 'note': not UTF-8 (as Latin-1 it reads 'été') [not-utf8]\n" + LATIN
    )


def test_latin1_in_the_header() -> None:
    assert data_message("id,truth,modèle\n1,1,1\n".encode("latin-1")) == (
        "t.csv:1: the name of column 3 is not UTF-8 [not-utf8]\n" + LATIN
    )


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf16(mark: bytes) -> None:
    content = "id,truth,a\n1,1,1\n2,0,0\n".encode("utf-16-le" if mark[0] == 0xFF else "utf-16-be")
    assert data_message(mark + content) == (
        "t.csv:1: the file is UTF-16, not UTF-8 [not-utf8]\n"
        "hint: convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"
    )


def test_utf16_without_its_mark_is_refused_for_its_nul_bytes() -> None:
    message = data_message("id,truth,a\n1,1,1\n".encode("utf-16-le"))
    assert message.splitlines()[0].startswith("t.csv:1: ")
    assert "NUL" in message or "UTF-16" in message


def test_zero_bytes() -> None:
    assert data_message("") == "t.csv: the file is empty (0 bytes) [empty-table]"


@pytest.mark.parametrize("content", ["\n", "\n\n\r\n", "\ufeff"])
def test_no_header_line(content: str) -> None:
    assert data_message(content) == "t.csv:1: no header line [empty-table]"


HEADERS = {
    "wide": "id,truth,a\n",
    "no line end": "id,truth,a",
    "blank lines": "id,truth,a\n\n\n",
    "probabilities": "id,truth,m:0,m:1\n",
    "long": "id,model,prediction,truth\n",
    "counts": "model,tp,fp,fn,tn\n",
}


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS.keys())
@pytest.mark.parametrize("options", [{}, {"positive": "1"}, {"missing": "drop"}], ids=str)
def test_a_header_and_nothing_else(content: str, options: dict[str, str]) -> None:
    assert data_message(content, **options) == (
        "t.csv: no rows to evaluate [empty-table]\nhint: the table holds a header and nothing else"
    )


def test_every_row_lacks_its_values() -> None:
    assert data_message("id,truth,a\n1,,\n2,,\n") == (
        "t.csv:2: column 'truth': missing [missing-value]\n"
        "t.csv:2: column 'a': missing [missing-value]\n"
        "t.csv:3: column 'truth': missing [missing-value]\n"
        "t.csv:3: column 'a': missing [missing-value]\n" + FILL
    )


@pytest.mark.parametrize("rows", ["1,,\n2,,\n", "1,1,\n2,0,\n", "1,,1\n2,,0\n", "1,y,\n2,n,\n"])
def test_no_row_is_left_when_all_are_dropped(rows: str) -> None:
    options = {"positive": "y"} if "y" in rows else {}
    assert data_message(f"id,truth,a\n{rows}", missing="drop", **options) == (
        "t.csv: no rows to evaluate [empty-table]\nhint: every row lacks a value or has weight 0"
    )


def test_all_weights_are_zero() -> None:
    assert data_message("truth,a,w\n1,1,0\n0,1,0\n", weight="w") == (
        "t.csv: no rows to evaluate [empty-table]\nhint: every row lacks a value or has weight 0"
    )


@pytest.mark.parametrize(("delimiter", "shown"), [(";", ";"), ("\t", "\\t"), ("|", "|")])
def test_another_delimiter_is_suggested(delimiter: str, shown: str) -> None:
    content = "id,truth,a\n1,1,1\n".replace(",", delimiter)
    header = content.splitlines()[0]
    assert data_message(content) == (
        f"t.csv: no truth column; columns: '{header}' [no-truth]\n"
        f"hint: is the delimiter another? --delimiter '{shown}'"
    )


def test_a_quote_that_is_never_closed() -> None:
    assert data_message('id,truth,a\n1,1,1\n2,0,"0\n3,1,1\n') == (
        "t.csv:3: not a delimited table: unexpected end of data [bad-csv]\n"
        "hint: a quoted field ends with a single quote mark; one inside it is doubled"
    )


def test_a_quote_in_the_middle_of_a_field_is_only_a_character() -> None:
    content = 'truth,a\n5" pipe,5" pipe\nno,no\n'
    assert counted(write("t.csv", content), positive='5" pipe') == {"a": (1, 0, 0, 1)}


def test_text_after_a_closing_quote_is_refused() -> None:
    message = data_message('truth,a\nyes,"yes"x\nno,no\n', positive="yes")
    assert message.splitlines()[0].startswith("t.csv:2: ")


def test_blank_lines_are_passed_over_and_counted_as_rows() -> None:
    content = "\ntruth,a\ny,y\n\nn,y\n\n\ny,n\n\n"
    assert counted(write("t.csv", content), positive="y") == {"a": (1, 1, 1, 0)}


def test_blank_lines_are_not_blamed_beside_a_real_gap() -> None:
    assert data_message("id,truth,a\n1,1,1\n\n2,0,\n\n3,0,0\n") == (
        "t.csv:4: column 'a': missing [missing-value]\n" + FILL
    )


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
    table = pl.DataFrame({"truth": truth, "m": truth[1:] + truth[:1]})
    if code is None:
        assert clfeval.report(table).summary["rows"] == len(truth)
        return
    with pytest.raises(clfeval.DataError, match=code):
        clfeval.report(table)
    one = clfeval.report(table, positive=truth[0])  # whoever names a class means it
    assert one.summary["positives"] == truth.count(truth[0])
