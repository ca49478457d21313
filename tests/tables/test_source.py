"""Sources: every format by suffix and by its first bytes, odd names, globs, several files."""

from __future__ import annotations

import io
import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clfeval.api.commands import mars
from clfeval.errors import DataError, UsageError
from tests.tables.door import (
    EXPECTED,
    FRAME,
    encoded,
    mars_confusion,
    packed,
    places,
    refusal,
    spots,
    write,
)
from tests.texts import check_text

CSV = encoded(FRAME, "csv")

ENCODED = {how: encoded(FRAME, how) for how in ("csv", "tsv", "parquet", "arrow", "ndjson")}
ENDS = {"csv": "csv CSV txt", "tsv": "tsv tab", "parquet": "parquet PQ", "ndjson": "ndjson jsonl"}
ENDS |= {"arrow": "arrow feather ipc arrows"}
STREAM = io.BytesIO()
FRAME.write_ipc_stream(STREAM)
# a name, a content and options: by suffix, by the first bytes, packed, and as somebody says
READ: list[tuple[str, bytes, dict[str, Any]]] = [
    *((f"t.{end}", ENCODED[how], {}) for how, ends in ENDS.items() for end in ends.split()),
    *(("table", ENCODED[how], {}) for how in ENDS if how != "tsv"),
    *(
        (f"{name}{end if '.' in name else ''}", packed(ENCODED[how], packing), {})
        for packing, end in (("gzip", ".gz"), ("zstd", ".zst"))
        for how in ENDS
        for name in (f"t.{how}", "table")
        if (name, how) != ("table", "tsv")
    ),
    ("t.csv.gz", packed(CSV[:20], "gzip") + packed(CSV[20:], "gzip"), {}),
    *((name, STREAM.getvalue(), {}) for name in ("t.arrows", "t.arrow", "table")),
    ("t.arrows.zst", packed(STREAM.getvalue(), "zstd"), {}),
    ("t.parquet", CSV, {"input_format": "csv"}),
    ("t.tsv", CSV, {"delimiter": ","}),
    *(("t.csv", CSV.replace(b",", one.encode()), {"delimiter": one}) for one in ";|: \t#"),
    *(("t.csv", ENCODED["tsv"], {"delimiter": tab}) for tab in ("\\t", "tab")),
]


@pytest.mark.parametrize(("name", "content", "options"), READ)
def test_a_format_is_known_by_suffix_bytes_or_options(
    name: str, content: bytes, options: dict[str, Any]
) -> None:
    assert mars_confusion(write(name, content), **options) == EXPECTED


@pytest.mark.parametrize("delimiter", ["ab", '"', "\n", "\r", "é", ""])
def test_a_delimiter_is_one_ascii_character(delimiter: str) -> None:
    assert places(CSV, exit_code=2, delimiter=delimiter) == "bad-delimiter"


@pytest.mark.parametrize("how", ["csv", "tsv", "parquet", "arrow", "ndjson"])
@pytest.mark.parametrize(
    "stem", ["a[1]", "my file", "a*b", "a?", "it's", "{x}", "%41", "~x", "~/x", "ö"]
)
def test_odd_names_are_names_and_no_patterns(stem: str, how: str) -> None:
    Path("~").mkdir()
    for decoy in ("a1", "aXb", "ax"):  # what a pattern would find instead or besides
        write(f"{decoy}.{how}", encoded(FRAME[:1], how))
    assert mars_confusion(write(f"{stem}.{how}", encoded(FRAME, how))) == EXPECTED


@pytest.mark.skipif(
    os.name == "nt" or os.uname().sysname == "Darwin", reason="names here are always Unicode"
)
def test_a_name_that_is_not_utf8_is_read_too() -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    assert mars_confusion(write(name, CSV)) == EXPECTED


def halves() -> list[str]:
    lines = CSV.splitlines(keepends=True)
    return [
        write("part-1.csv", b"".join(lines[:3])),
        write("part-2.csv", lines[0] + b"".join(lines[3:])),
    ]


def test_several_files_are_one_table() -> None:
    result = mars(halves())
    assert [(item.name, item.rows, item.dropped) for item in result.inputs] == [
        ("part-1.csv", 2, 0),
        ("part-2.csv", 2, 0),
    ]
    assert mars_confusion(halves()) == EXPECTED


def test_a_quoted_glob_names_its_files_in_order() -> None:
    halves()
    write("other.csv", "no,table\n")
    result = mars("part-*.csv")
    assert [item.name for item in result.inputs] == ["part-1.csv", "part-2.csv"]
    assert result.tables == mars(halves()).tables


def test_a_glob_reaches_into_folders() -> None:
    Path("a/b").mkdir(parents=True)
    write("a/b/t.csv", CSV)
    assert mars_confusion("**/t.csv") == EXPECTED


def test_a_glob_without_a_match_says_so() -> None:
    error = refusal("nothing-*.csv")
    assert isinstance(error, DataError)
    assert spots(error) == "nothing-*.csv no-such-file"
    check_text(str(error))


def test_files_may_order_their_columns_differently() -> None:
    name = write("u.csv", encoded(FRAME.with_columns(id="x" + FRAME["id"])[:, ::-1], "csv"))
    doubled = {model: tuple(2 * n for n in cells) for model, cells in EXPECTED.items()}
    assert mars_confusion([write("t.csv", CSV), name]) == doubled


def test_files_may_differ_in_format() -> None:
    first, second = FRAME[:2], FRAME[2:]
    names = [write("a.csv", encoded(first, "csv")), write("b.parquet", encoded(second, "parquet"))]
    assert mars_confusion(names) == EXPECTED


@pytest.mark.parametrize("again", ["t.csv", "./t.csv", "link.csv", "t*.csv"])
def test_the_same_file_twice_is_refused(again: str) -> None:
    content = encoded(FRAME.drop("id"), "csv")  # no id would betray the doubled rows
    write("t.csv", content)
    os.symlink("t.csv", "link.csv")
    error = refusal(["t.csv", again])
    assert isinstance(error, UsageError)
    assert spots(error).endswith("repeated-file")


def test_the_hash_is_of_the_bytes_as_given() -> None:
    for name, content in (("t.csv", CSV), ("t.csv.gz", packed(CSV, "gzip"))):
        (item,) = mars(write(name, content)).inputs
        assert item.sha256 == sha256(content).hexdigest()


def test_reading_leaves_no_copies_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spare = folder / "spare"
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    assert mars_confusion(write("t.csv.gz", packed(CSV, "gzip"))) == EXPECTED
    refusal(write("bad.csv.gz", packed(b"id,truth,a\n1,1,x,y\n", "gzip")))
    refusal(write("cut.csv.gz", packed(CSV, "gzip")[:-9]))
    assert list(spare.iterdir()) == []
