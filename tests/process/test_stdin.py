"""Standard input: the same table through a pipe gives the same result, whatever its format."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from clfeval.output_files import temporary_folder
from tests.process.program import (
    BIN,
    NEEDS_BASH,
    Done,
    clfeval,
    environment,
    json_document,
    on_terminal,
    piped,
    python,
    shell,
)
from tests.tables.door import FRAME, encoded, packed
from tests.texts import check_text, problem_places

TABLES = {
    "t.csv": encoded(FRAME, "csv"),
    "t.csv.gz": packed(encoded(FRAME, "csv"), "gzip"),
    "t.parquet": encoded(FRAME, "parquet"),
    "t.arrow": encoded(FRAME, "arrow"),
    "t.ndjson": encoded(FRAME, "ndjson"),
}


def document_without_names(done: Done) -> dict[str, Any]:
    """Return a result without the names of its inputs."""
    document = json_document(done)
    for table in document["inputs"]:
        table.pop("name")
    return document


def test_stdin_gives_what_the_file_gives_in_every_format() -> None:
    results = []
    for name, content in TABLES.items():
        Path(name).write_bytes(content)
        file = clfeval("mars", name, "-q", "-f", "json")
        pipe = piped(content, "mars", "-", "-q", "-f", "json")
        assert (file.code, pipe.code) == (0, 0)
        assert json_document(pipe)["inputs"][0]["name"] == "<stdin>"
        assert document_without_names(pipe) == document_without_names(file)
        result = document_without_names(pipe)
        signature = dict(part.split(":", 1) for part in result.pop("signature").split("|"))
        del result["inputs"], signature["data"]
        results.append((result, signature))
    assert all(result == results[0] for result in results)  # the statistics are the same


def test_errors_name_stdin() -> None:
    done = piped(b"truth,a\n1,1\n0\n", "mars", "-", "-q")
    assert (done.code, done.out) == (3, "")
    assert problem_places(done.err) == ["<stdin>:3: column 'a': [short-row]"]
    empty = piped(b"", "mars", "-", "-q")
    assert (empty.code, problem_places(empty.err)) == (3, ["<stdin>: [empty-table]"])


def test_stdin_twice_is_refused() -> None:
    done = piped(TABLES["t.csv"], "mars", "-", "-")
    assert (done.code, problem_places(done.err)) == (2, ["-: [repeated-file]"])


def test_a_terminal_is_no_table() -> None:
    done = on_terminal("mars", "-")
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == ["<stdin>: [no-input]"]
    check_text(done.err)


@NEEDS_BASH
def test_a_closed_stdin_is_no_table() -> None:
    done = shell("clfeval mars - <&-")
    assert (done.code, problem_places(done.err)) == (3, ["<stdin>: [not-readable]"])
    check_text(done.err)


@NEEDS_BASH
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_process_substitution_is_a_table(name: str) -> None:
    Path(name).write_bytes(TABLES[name])
    done = shell(f"clfeval mars <(cat {name}) -q -f json")
    assert (done.code, done.err) == (0, "")
    file = clfeval("mars", name, "-q", "-f", "json")
    assert document_without_names(done) == document_without_names(file)


@pytest.mark.skipif(os.name == "nt", reason="fifos are POSIX")
def test_a_named_fifo_is_a_table() -> None:
    import subprocess

    os.mkfifo("fifo.csv")
    with subprocess.Popen(
        [str(BIN / "clfeval"), "mars", "fifo.csv", "-q", "-f", "json"],
        env=environment(),
        stdout=subprocess.PIPE,
    ) as process:
        Path("fifo.csv").write_bytes(TABLES["t.csv"])
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out)["inputs"][0]["name"] == "fifo.csv"


def test_stdin_leaves_no_copies_behind(folder: Path) -> None:
    spare = folder / "spare"
    spare.mkdir()
    for content in (TABLES["t.csv.gz"], packed(b"truth,a\n1\n", "gzip")):
        piped(content, "mars", "-", TMPDIR=str(spare))
    assert list(spare.iterdir()) == []


FULL = """
import errno, os, sys, tempfile
import clfeval.output_files as files
class Full:
    def __init__(self, **_): pass
    def write(self, _): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    def close(self): pass
tempfile.TemporaryFile = Full
files.IN_MEMORY = 10
from clfeval.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_full_disk_is_not_called_damaged_data(name: str) -> None:
    Path(name).write_bytes(TABLES[name])
    fifo = name == "t.csv"
    if fifo:
        os.mkfifo("fifo.csv")
        Thread(target=Path("fifo.csv").write_bytes, args=[TABLES[name]]).start()
        name = "fifo.csv"
    done = python(FULL, "mars", name, "-q", TMPDIR="/tmp")
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == [f"{name}: [output]"]
    check_text(done.err)


UNTRIED = """
import tempfile
import clfeval.output_files as files
def refuse(): raise AssertionError("a trial file, which a signal would leave there")
tempfile._get_default_tempdir = refuse
files.IN_MEMORY = 10
from clfeval.__main__ import main
main()
"""


def test_no_file_is_written_to_try_the_folder_of_copies() -> None:
    Path("t.csv.gz").write_bytes(TABLES["t.csv.gz"])
    done = python(UNTRIED, "mars", "t.csv.gz", "-q", "--save", "r.json", TMPDIR="/tmp")
    assert (done.code, done.err) == (0, "")
    assert Path("r.json").exists()


def test_copies_are_in_the_first_folder_there_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(folder / "missing"))
    monkeypatch.setenv("TEMP", str(folder))
    assert temporary_folder() == str(folder)
    monkeypatch.setattr(tempfile, "tempdir", "set by a caller")
    assert temporary_folder() == "set by a caller"


def test_a_small_copy_needs_no_disk() -> None:
    """Packed or piped, up to 64 MiB."""
    words = ["-q", "-f", "json"]
    Path("t.csv.gz").write_bytes(TABLES["t.csv.gz"])
    expected = clfeval("mars", "t.csv.gz", *words)
    full = FULL.replace("files.IN_MEMORY = 10", "")
    assert python(full, "mars", "t.csv.gz", *words).out == expected.out != ""


@pytest.mark.parametrize("name", TABLES)
def test_a_large_copy_is_read_from_the_disk(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = piped(TABLES[name], "mars", "-", "-q", "-f", "json")
    for where in ("IN_MEMORY", "OPEN_FILES_FOLDER"):  # on the disk without a name, and with one
        monkeypatch.setattr(
            f"clfeval.output_files.{where}", 10 if where == "IN_MEMORY" else Path("no")
        )
        assert piped(TABLES[name], "mars", "-", "-q", "-f", "json") == small


def test_trailing_bytes_of_a_packed_file_are_damage_and_zeros_are_not() -> None:
    assert piped(TABLES["t.csv.gz"] + bytes(100), "mars", "-", "-q").code == 0
    broken = piped(TABLES["t.csv.gz"] + b"x" * 100, "mars", "-", "-q")
    assert (broken.code, broken.out, "[damaged-file]" in broken.err) == (3, "", True)
