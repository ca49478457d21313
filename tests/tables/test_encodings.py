"""Texts in other encodings, Excel's first line, and rows of another length than the header."""

from __future__ import annotations

import pytest

import clfeval
from clfeval.tables.encodings import guess_encoding
from tests.process.program import clfeval as program
from tests.results import row_of, value_of
from tests.tables.door import write

ROWS = "".join(f"{note}{i},{i % 2},0.{10 + i}\n" for i in range(30) for note in ["{word}"])
TABLE = "note,truth,score\n" + ROWS


@pytest.mark.parametrize(
    ("word", "codec", "title", "iconv"),
    [
        ("Kühe", "latin-1", "Latin-1", "LATIN1"),
        ("été", "latin-1", "Latin-1", "LATIN1"),
        ("5 € für “Bäume”", "cp1252", "Windows-1252", "WINDOWS-1252"),
        ("l’été", "cp1252", "Windows-1252", "WINDOWS-1252"),
        ("かな", "cp932", "Shift-JIS", "CP932"),
        ("患者データ", "cp932", "Shift-JIS", "CP932"),
        ("かなデータ", "euc_jp", "EUC-JP", "EUC-JP"),
        ("больной", "cp1251", "Windows-1251", "WINDOWS-1251"),
    ],
)
def test_the_likeliest_encoding_is_named_with_its_remedy(
    word: str, codec: str, title: str, iconv: str
) -> None:
    text = TABLE.replace("{word}", word)
    assert guess_encoding(text.encode(codec)).title == title
    write("t.csv", text.encode(codec))
    error = program("report", "t.csv", "-q").err
    assert f"iconv -f {iconv} -t UTF-8 FILE > NEW" in error
    assert f"as {title} it reads '{word}0'" in error
    write("new.csv", text.encode(codec).decode(guess_encoding(text.encode(codec)).codec))
    assert program("report", "new.csv", "-q").code == 0


@pytest.mark.parametrize(
    ("codec", "iconv"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32", "UTF-32"),
    ],
)
def test_wide_encodings_are_named_with_and_without_a_mark(codec: str, iconv: str) -> None:
    write("t.csv", TABLE.replace("{word}", "a").encode(codec))
    run = program("report", "t.csv", "-q")
    assert (run.code, run.out) == (3, "")
    assert f"convert it: iconv -f {iconv} -t UTF-8 FILE > NEW" in run.err
    assert "title or comment" not in run.err


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "sep=;;"])
def test_the_delimiter_of_excel_is_read(mark: str, first: str) -> None:
    rows = "".join(f"P{i};{'ja' if i % 2 else 'nein'};0,{10 + i}\r\n" for i in range(30))
    write("t.csv", f"{mark}{first}\r\nFall;Wahrheit;Wahrscheinlichkeit\r\n{rows}")
    error = program("report", "t.csv", "-q").err
    assert "numbers with a decimal comma, such as '0,10'" in error
    assert "clfeval report t.csv -q --decimal , --truth Wahrheit" in error
    options = {"decimal": ",", "truth": "Wahrheit", "interval": "none"}
    result = clfeval.report("t.csv", **options)
    # 15 pairs of neighbours: a positive has more than all earlier negatives, 120 of 225 pairs
    assert value_of(row_of(result, "models")["roc_auc"]) == 120 / 225


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("truth,score\n{row},", "if the first fields are row names, as R writes them"),
        ("truth,score\n{end}", "each row ends with a delimiter, but the header does not"),
        ("name,truth,score\nSmith, J,{plain}", "quote fields that contain a delimiter"),
    ],
)
def test_the_number_of_fields_is_checked_before_columns_are_recognised(
    content: str, words: str
) -> None:
    header, _, pattern = content.partition("\n")
    rows = []
    for i in range(30):
        plain = f"{i % 2},0.{10 + i}"
        row = pattern.replace("{row},", f'"{i + 1}",{plain}').replace("{end}", f"{plain},")
        rows.append(row.replace("{plain}", plain))
    write("t.csv", header + "\n" + "\n".join(rows) + "\n")
    error = program("report", "t.csv", "-q").err
    fields = header.count(",") + 1
    assert error.startswith(
        f"t.csv:2: the row has {fields + 1} fields, but the header has {fields} [long-row]"
    )
    assert words in error


def test_row_names_of_r_are_read_from_fields_between_spaces() -> None:
    rows = "".join(f'"{i + 1}" {i % 2} 0.{10 + i}\n' for i in range(30))
    write("t.txt", f'"truth" "score"\n{rows}')
    run = program("report", "t.txt")
    assert run.code == 0
    assert "(R: the first column has row names)" in run.err
    assert "score has ROC AUC 0.533" in run.out  # 120 of 225 pairs
    write("t.txt", f'row "truth" "score"\n{rows}')
    assert program("report", "t.txt", "-q", "--delimiter", " ").code == 0
