"""Files that cannot be read: folders, absent, forbidden, damaged, or unlike one another."""

from __future__ import annotations

import errno
import io
import os
import pickle
import random
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from clfeval.errors import DataError
from tests.tables.door import FRAME, data_message, encoded, packed, refusal, write

CSV = encoded(FRAME, "csv")
SUFFIX_HINT = "hint: rename the file if its suffix misleads"


def test_a_folder() -> None:
    Path("results").mkdir()
    for name in ("results", "results/"):
        error = refusal(name)
        assert isinstance(error, DataError)
        assert str(error) == (
            f"{name}: is a directory, not a table [is-directory]\n"
            "hint: name its files, for example 'results/*.csv'"
        )


def test_no_such_file_suggests_the_nearest() -> None:
    write("predictions.csv", CSV)
    error = refusal("prediction.csv")
    assert isinstance(error, DataError)
    assert str(error) == (
        "prediction.csv: no such file [no-such-file]\nhint: did you mean 'predictions.csv'?"
    )


def test_no_such_file_in_a_folder_suggests_from_that_folder() -> None:
    Path("out").mkdir()
    write("out/predictions.csv", CSV)
    assert str(refusal("out/predictons.csv")) == (
        "out/predictons.csv: no such file [no-such-file]\nhint: did you mean 'predictions.csv'?"
    )


def test_no_such_file_and_nothing_like_it() -> None:
    assert str(refusal("nowhere/t.csv")) == "nowhere/t.csv: no such file [no-such-file]"
    assert str(refusal("t.csv")) == "t.csv: no such file [no-such-file]"


def test_a_file_used_as_a_folder() -> None:
    write("t.csv", CSV)
    error = refusal("t.csv/u.csv")
    assert isinstance(error, DataError)
    assert str(error).startswith("t.csv/u.csv: cannot be read: Not a directory [")


READ_AS_NOBODY = """
import os, polars, scipy.special
from clfeval.api.mars import mars
from clfeval.errors import ClfevalError
mars("readable.csv")  # everything that is imported late is imported now
if os.getuid() == 0:
    os.seteuid(65534)
try:
    mars("t.csv")
except ClfevalError as error:
    print(int(error.exit_code), error, sep="\\n")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
@pytest.mark.parametrize("mode", [0o000, stat.S_IWUSR])
def test_no_permission(folder: Path, mode: int) -> None:
    folder.chmod(0o755)  # so that only the table itself refuses
    write("readable.csv", CSV)
    Path(write("t.csv", CSV)).chmod(mode)
    done = subprocess.run(
        [sys.executable, "-c", READ_AS_NOBODY], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "3\nt.csv: permission denied [not-readable]\nhint: make it readable: chmod u+r FILE\n"
    )


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
@pytest.mark.parametrize("harm", ["cut", "altered"])
def test_damaged_packing(packing: str, harm: str) -> None:
    whole = packed(CSV * 100, packing)
    bad = whole[:-6] if harm == "cut" else whole[:4] + b"\xff" * 8 + whole[12:]
    message = data_message(bad, f"t.csv.{packing}")
    assert message.startswith(f"t.csv.{packing}: the {packing} data is damaged: ")
    assert message.endswith(" [damaged-file]")
    assert len(message.splitlines()) == 1


def test_a_packed_file_of_nothing() -> None:
    assert data_message(packed(b"", "gzip"), "t.csv.gz") == (
        "t.csv.gz: the packed file is empty [empty-table]"
    )


@pytest.mark.parametrize("how", ["parquet", "arrow"])
@pytest.mark.parametrize("harm", ["cut", "head only", "a hole", "text"])
def test_damaged_columns(how: str, harm: str) -> None:
    whole = encoded(FRAME, how)
    lost = slice(8, 72) if how == "parquet" else slice(-70, -10)  # of the data, of the footer
    holed = bytearray(whole)
    holed[lost] = bytes(len(whole[lost]))
    bad = {"cut": whole[:-9], "head only": whole[:8], "a hole": bytes(holed), "text": CSV}[harm]
    first, hint = data_message(bad, f"t.{how}").splitlines()
    assert first.startswith(f"t.{how}: cannot be read as {how}: ")
    assert first.endswith(" [bad-file]")
    assert hint == SUFFIX_HINT


def test_broken_json_lines() -> None:
    first, hint = data_message('{"truth":1,"a":1}\n{"truth":0,"a"\n', "t.ndjson").splitlines()
    assert first.startswith("t.ndjson: cannot be read as ndjson: ")
    assert hint == SUFFIX_HINT


@pytest.mark.parametrize(("how", "kind"), [("parquet", "Parquet"), ("arrow", "Arrow")])
def test_a_suffix_that_misleads_is_named(how: str, kind: str) -> None:
    """`t.csv` that begins with PAR1 is Parquet with the wrong name, not badly encoded text."""
    message = data_message(encoded(FRAME, how), "t.csv")
    assert kind.casefold() in message.casefold()
    assert f"rename it to end with .{how}" in message


@pytest.mark.parametrize(("name", "start"), [
    ("t.ico", b"\0\0\1\0"), ("t.o", b"\x7fELF\2"), ("t.wasm", b"\0asm\1"),
])  # fmt: skip
def test_what_is_no_table_at_all_is_refused_as_data(name: str, start: bytes) -> None:
    assert data_message(start + bytes(range(256)) * 3, name).startswith(f"{name}:1: ")


def zipped(**files: bytes) -> bytes:
    """Return a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()


@pytest.mark.parametrize(("content", "what"), [
    (zipped(xl__workbook_xml=b"<a/>"), "an Excel workbook"),
    (zipped(content_xml=b"<a/>", mimetype=b"x"), "an OpenDocument file"),
    (zipped(preds_csv_gz=b"x"), "a zip archive of 'preds.csv.gz'"),
    (zipped(a_csv=b"x", b_csv=b"y"), "a zip archive of 2 files"),
    (b"PK\x03\x04\x14\0\x06\0" + bytes(99), "a damaged zip archive"),
    (b"\x89PNG\r\n\x1a\n\0" + bytes(99), "a picture"), (b"%PDF-1.7\n", "a PDF"),
    (b"\x93NUMPY\x01\0" + bytes(99), "a numpy array"),
    (pickle.dumps({"truth": [1, 0]}), "a Python pickle"),
    (b"\xd0\xcf\x11\xe0" + bytes(99), "an old Excel workbook (.xls)"),
    (b"<html><table></table>", "a web page"), (b"SQLite format 3\0", "an SQLite database"),
])  # fmt: skip
@pytest.mark.parametrize("packed_too", [False, True])
def test_files_of_other_kinds_are_named(content: bytes, what: str, packed_too: bool) -> None:
    name = "t.csv.gz" if packed_too else "t.csv"
    lines = data_message(packed(content, "gzip") if packed_too else content, name).splitlines()
    assert lines[0] == f"{name}: this is {what}, no table [wrong-format]"
    assert lines[1].startswith("hint: ")


@pytest.mark.parametrize(("number", "what"), [
    (errno.EIO, "cannot be read: Input/output error [not-readable]"),
    (errno.EACCES, "cannot be read: Permission denied [not-readable]"),
    (errno.EINVAL, "this is a damaged zip archive, no table [wrong-format]"),
])  # fmt: skip
def test_an_archive_that_cannot_be_read_is_not_called_damaged(
    monkeypatch: pytest.MonkeyPatch, number: int, what: str
) -> None:
    def broken(_: object) -> None:
        raise OSError(number, os.strerror(number))

    content = zipped(a_csv=b"x")
    monkeypatch.setattr(zipfile, "ZipFile", broken)
    assert data_message(content).splitlines()[0] == f"t.csv: {what}"


@pytest.mark.parametrize("seed", range(10))
def test_an_archive_with_wrong_bytes_is_a_damaged_one(seed: int) -> None:
    chance, content = random.Random(seed), bytearray(zipped(a_csv=b"x" * 99, b_csv=b"y"))
    for _ in range(20):
        content[chance.randrange(len(content) - 60, len(content))] = chance.randrange(256)
    assert "zip archive" in data_message(bytes(content))


def test_columns_that_hold_lists_or_bytes() -> None:
    import polars as pl

    lists = pl.DataFrame({"truth": [1, 0], "a": [[1], [0]]})
    assert data_message(encoded(lists, "parquet"), "t.parquet") == (
        "t.parquet: column 'a': holds List(Int64), not single values [bad-type]"
    )
    raw = pl.DataFrame({"truth": [b"y", b"n"], "a": [b"y", b"n"]})
    assert data_message(encoded(raw, "parquet"), "t.parquet", positive="y") == (
        "t.parquet: column 'truth': holds Binary, not single values [bad-type]"
    )


def test_files_with_different_columns() -> None:
    names = [write("a.csv", "truth,x,y\n1,1,1\n"), write("b.csv", "truth,y,z,u\n1,1,1,1\n")]
    error = refusal(names)
    assert isinstance(error, DataError)
    assert str(error) == (
        "b.csv: has no column 'x'; has columns a.csv has not: 'z', 'u' [different-columns]\n"
        "hint: files read together need one set of columns; predictions of one model a file are "
        "joined on their ids: --join COLUMN"
    )


def test_the_bad_one_of_several_files_is_named() -> None:
    names = [write("a.csv", "truth,a\n1,1\n0,0\n"), write("b.csv", "truth,a\n1\n0,0\n")]
    assert str(refusal(names)).splitlines()[0] == (
        "b.csv:2: column 'a': 1 fields where the header has 2 [short-row]"
    )
    assert str(refusal(["a.csv", write("c.csv", "")])) == (
        "c.csv: the file is empty (0 bytes) [empty-table]"
    )
    assert str(refusal(["a.csv", "gone.csv"])).startswith("gone.csv: no such file [no-such-file]")
