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

import polars as pl
import pytest

from clfeval.api.commands import mars
from clfeval.errors import DataError
from tests.process.program import WITHOUT_OVERRIDE
from tests.tables.door import (
    FRAME,
    data_message,
    encoded,
    packed,
    places,
    refusal,
    spots,
    told,
    write,
)
from tests.texts import check_text, problem_places

CSV = encoded(FRAME, "csv")


FOUND: dict[str, tuple[str, str | None]] = {
    "results": ("results is-directory", "results/*.csv"),
    "results/": ("results/ is-directory", "results/*.csv"),
    "prediction.csv": ("prediction.csv no-such-file", "predictions.csv"),
    "results/predictons.csv": ("results/predictons.csv no-such-file", "predictions.csv"),
    "nowhere/other.csv": ("nowhere/other.csv no-such-file", None),
    "other.csv": ("other.csv no-such-file", None),
    "predictions.csv/u.csv": ("predictions.csv/u.csv not-readable", None),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_no_file_is_refused_with_the_nearest_that_is(name: str) -> None:
    Path("results").mkdir()
    for near in ("predictions.csv", "results/predictions.csv"):
        write(near, CSV)
    expected, meant = FOUND[name]
    error = refusal(name)
    assert isinstance(error, DataError)
    assert spots(error) == expected
    assert (error.hint is None) if meant is None else f"'{meant}'" in (error.hint or "")
    check_text(str(error))


READ_WITHOUT_OVERRIDE = f"""
{WITHOUT_OVERRIDE}
from clfeval.api.commands import mars
from clfeval.errors import ClfevalError
try:
    mars("t.csv")
except ClfevalError as error:
    print(int(error.exit_code), error, sep="\\n")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
@pytest.mark.parametrize("mode", [0o000, stat.S_IWUSR])
def test_no_permission(folder: Path, mode: int) -> None:
    Path(write("t.csv", CSV)).chmod(mode)
    done = subprocess.run(
        [sys.executable, "-c", READ_WITHOUT_OVERRIDE], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("3\n")
    assert problem_places(done.stdout) == ["t.csv: [not-readable]"]
    check_text(done.stdout)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
@pytest.mark.parametrize("harm", ["cut", "altered"])
def test_damaged_packing(packing: str, harm: str) -> None:
    whole = packed(CSV * 100, packing)
    bad = whole[:-6] if harm == "cut" else whole[:4] + b"\xff" * 8 + whole[12:]
    error = refusal(write(f"t.csv.{packing}", bad))
    assert spots(error) == "damaged-file"
    assert packing in str(error)


def test_a_packed_file_of_nothing() -> None:
    assert told(packed(b"", "gzip"), "t.csv.gz") == "empty-table"


@pytest.mark.parametrize("how", ["parquet", "arrow"])
@pytest.mark.parametrize("harm", ["cut", "head only", "a hole", "text"])
def test_damaged_columns(how: str, harm: str) -> None:
    whole = encoded(FRAME, how)
    lost = slice(8, 72) if how == "parquet" else slice(-70, -10)  # of the data, of the footer
    holed = bytearray(whole)
    holed[lost] = bytes(len(whole[lost]))
    bad = {"cut": whole[:-9], "head only": whole[:8], "a hole": bytes(holed), "text": CSV}[harm]
    assert places(bad, f"t.{how}") == "bad-file"


def test_broken_json_lines() -> None:
    assert places('{"truth":1,"a":1}\n{"truth":0,"a"\n', "t.ndjson") == "bad-file"


@pytest.mark.parametrize(("how", "kind"), [("parquet", "Parquet"), ("arrow", "Arrow")])
def test_a_suffix_that_misleads_is_named(how: str, kind: str) -> None:
    """`t.csv` that begins with PAR1 is Parquet with the wrong name, not badly encoded text."""
    error = refusal(write("t.csv", encoded(FRAME, how)))
    assert kind.casefold() in str(error).casefold()
    assert f".{how}" in (error.hint or "")
    check_text(str(error))


@pytest.mark.parametrize(
    ("name", "start"), [("t.ico", b"\0\0\1\0"), ("t.o", b"\x7fELF\2"), ("t.wasm", b"\0asm\1")]
)
def test_what_is_no_table_at_all_is_refused_as_data(name: str, start: bytes) -> None:
    assert data_message(start + bytes(range(256)) * 3, name).startswith(f"{name}:1: ")


def zipped(**files: bytes) -> bytes:
    """Return a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()


KINDS = {
    "xlsx": zipped(xl__workbook_xml=b"<a/>"),
    "ods": zipped(content_xml=b"<a/>", mimetype=b"x"),
    "one packed file": zipped(preds_csv_gz=b"x"),
    "two files": zipped(a_csv=b"x", b_csv=b"y"),
    "broken zip": b"PK\x03\x04\x14\0\x06\0" + bytes(99),
    "png": b"\x89PNG\r\n\x1a\n\0" + bytes(99),
    "pdf": b"%PDF-1.7\n",
    "npy": b"\x93NUMPY\x01\0" + bytes(99),
    "pickle": pickle.dumps({"truth": [1, 0]}),
    "xls": b"\xd0\xcf\x11\xe0" + bytes(99),
    "html": b"<html><table></table>",
    "sqlite": b"SQLite format 3\0",
}


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_other_kinds_are_named(kind: str) -> None:
    assert told(KINDS[kind]) == "wrong-format"
    assert places(packed(KINDS[kind], "gzip"), "t.csv.gz") == "wrong-format"


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EIO, "not-readable"), (errno.EACCES, "not-readable"), (errno.EINVAL, "wrong-format")],
)
def test_an_archive_that_cannot_be_read_is_not_called_damaged(
    monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def broken(_: object) -> None:
        raise OSError(number, os.strerror(number))

    content = zipped(a_csv=b"x")
    monkeypatch.setattr(zipfile, "ZipFile", broken)
    assert told(content) == code


@pytest.mark.parametrize("seed", range(10))
def test_an_archive_with_wrong_bytes_is_a_damaged_one(seed: int) -> None:
    chance, content = random.Random(seed), bytearray(zipped(a_csv=b"x" * 99, b_csv=b"y"))
    for _ in range(20):
        content[chance.randrange(len(content) - 60, len(content))] = chance.randrange(256)
    assert places(bytes(content)) == "wrong-format"


def test_columns_that_hold_lists_or_bytes() -> None:
    lists = pl.DataFrame({"truth": [1, 0], "a": [[1], [0]]})
    assert told(encoded(lists, "parquet"), "t.parquet") == "a bad-type"
    raw = pl.DataFrame({"truth": [b"y", b"n"], "a": [b"y", b"n"]})
    assert places(encoded(raw, "parquet"), "t.parquet", positive="y") == "truth bad-type"


FILES = {
    "a.csv": "truth,x,y\n1,1,1\n",
    "b.csv": "truth,y,z,u\n1,1,1,1\n",
    "c.csv": "",
    "d.csv": "truth,x,y\n1,1\n0,0,1\n",
}


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("b.csv", "b.csv different-columns"),
        ("c.csv", "c.csv empty-table"),
        ("d.csv", "d.csv:2:y short-row"),
        ("gone.csv", "gone.csv no-such-file"),
    ],
)
def test_the_bad_one_of_several_files_is_named(bad: str, expected: str) -> None:
    for name, content in FILES.items():
        write(name, content)
    assert told(["a.csv", bad]) == expected


MIB = b"a" * (1 << 20)
# packing, beginning, what follows so many times
BOMBS = {
    "one cell": ("zstd", b"truth,m\n1,0.5\n0,", MIB, 70),
    "one cell, gzip": ("gzip", b"truth,m\n1,0.5\n0,", MIB, 70),
    "one cell of NDJSON": ("zstd", b'{"truth": 1, "m": "', MIB, 70),
    "lines in a cell": ("zstd", b'truth,m\n1,0.5\n0,"', b"a\n" * (1 << 19), 200),
    "records": ("zstd", b'[{"truth": 1, "m": "', MIB, 200),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_unpacks_beyond_any_table_is_refused_early(name: str) -> None:
    packing, head, piece, times = BOMBS[name]
    content = packed(head + piece * times, packing)
    assert len(content) < 100_000
    write("t.gz" if packing == "gzip" else "t.zst", content)
    error = refusal("t.gz" if packing == "gzip" else "t.zst")
    assert isinstance(error, DataError)
    assert spots(error).endswith("too-large")


def test_a_long_line_and_a_repetitive_table_are_tables() -> None:
    """20,000 columns; and rows of labels that gzip packs a thousand times."""
    names = ",".join(f"m{k}" for k in range(20_000))
    cells = [",".join(str((k + i) % 2) for k in range(20_000)) for i in range(2)]
    write("wide.csv.zst", packed(f"truth,{names}\n1,{cells[0]}\n0,{cells[1]}\n".encode(), "zstd"))
    rows = 1 << 22
    write("long.csv.gz", packed(b"truth,m\n" + b"1,1\n0,1\n" * rows, "gzip"))
    assert mars("wide.csv.zst", model="m0").summary["rows"] == 2
    assert mars("long.csv.gz").summary["rows"] == 2 * rows
