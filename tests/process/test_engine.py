"""An engine that breaks off: the file is to blame, or we are; never a gate, never its words."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import clfeval.counts.count as clfeval_count
from tests.process.program import clfeval, piped, python, started
from tests.tables.door import FRAME, encoded
from tests.texts import check_text, problem_places
from tests.thoroughness import thinned

# bytes from the end of an Arrow file: the lengths of its parts, without which readers go astray
ASTRAY = (-272, -258)


def damaged(place: int) -> bytes:
    """Return an Arrow file whose footer points beyond its end."""
    content = bytearray(encoded(FRAME, "arrow"))
    content[place] ^= 0x40
    return bytes(content)


@pytest.fixture(params=ASTRAY)
def content(request: pytest.FixtureRequest) -> bytes:
    """Bytes at which polars panics: its exception is no `Exception`."""
    found = damaged(request.param)
    Path("d.arrow").write_bytes(found)
    with pytest.raises(pl.exceptions.PanicException):
        pl.scan_ipc("d.arrow").collect(engine="streaming")
    return found


@pytest.mark.parametrize("command", [("mars",), ("phidelta", "--features"), ("mlcps",)])
def test_a_damaged_file_is_bad_data_in_one_line(content: bytes, command: tuple[str, ...]) -> None:
    done = clfeval(*command, "d.arrow", "-q")
    assert (done.code, done.out) == (3, "")
    check_text(done.err)
    assert problem_places(done.err) == ["d.arrow: [damaged-file]"]
    through = piped(content, *command, "-", "-q")
    assert problem_places(through.err) == ["<stdin>: [damaged-file]"]


def test_verbose_lets_the_engine_speak() -> None:
    Path("d.arrow").write_bytes(damaged(ASTRAY[0]))
    done = started(b"", "mars", "d.arrow", "-v")
    assert done.code == 3
    assert "panicked at" in done.err
    assert problem_places(done.err)[-1:] == ["d.arrow: [damaged-file]"]


def test_a_panic_that_no_file_explains_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        os.write(2, b"thread 'x' panicked at lib.rs:\x1b[31m\n")
        raise pl.exceptions.PanicException("out of order")

    monkeypatch.setattr(clfeval_count, "group_rows", fail)
    done = clfeval("mars", "t.csv", "-q")
    assert (done.code, done.out) == (70, "")
    first, *_ = done.err.splitlines()
    assert first == r"thread 'x' panicked at lib.rs:\x1b[31m"
    assert "PanicException: out of order" in done.err


def test_what_is_no_panic_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    count = clfeval_count.group_rows

    def chatty(*given: object) -> object:
        os.write(2, b"reading with 2 threads\n")
        return count(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(clfeval_count, "group_rows", chatty)
    done = clfeval("mars", "t.csv", "-q")
    assert (done.code, done.err) == (0, "reading with 2 threads\n")


def test_a_library_that_aborts_leaves_its_name() -> None:
    code = (
        "import os, clfeval.counts.count as c; from clfeval.__main__ import main\n"
        "c.group_rows = lambda *_: os.abort()\nmain()"
    )
    done = python(code, "mars", "t.csv", "-q")
    assert done.code < 0
    assert done.err.startswith("Fatal Python error: Aborted\n")


def test_no_more_threads_is_not_the_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(clfeval_count, "group_rows", fail)
    done = clfeval("mars", "t.csv", "-q")
    assert (done.code, problem_places(done.err)) == (2, ["[no-threads]"])
    check_text(done.err)


RAGGED = "id,truth,a\n" + "".join(f"{i},{i % 2},{i}\n" for i in range(6000)) + "6000,1,2,3\n7,1,\n"


@pytest.mark.parametrize(
    "words",
    [
        ["phidelta", "--features", "--missing", "drop"],
        ["phidelta", "--features", "--cut", "best"],
        ["mars", "--kind", "label"],
        ["mars", "--list", "found"],
        ["phidelta", "--curve"],
    ],
)
def test_ragged_rows_beyond_the_first_are_named_by_every_pass(words: list[str]) -> None:
    Path("r.csv").write_text(RAGGED, encoding="utf-8")
    done = clfeval(words[0], "r.csv", *words[1:], "-q")
    assert (done.code, done.out) == (3, "")
    assert "r.csv:6002: [long-row]" in problem_places(done.err)


@pytest.mark.parametrize("depth", thinned([100, 300, 2000, 100_000], [100, 2000, 100_000]))
@pytest.mark.parametrize("name", ["d.json", "d.ndjson"])
def test_json_however_deep_is_bad_data(name: str, depth: int) -> None:
    record = '{"truth": 1, "a": ' + "[" * depth + "]" * depth + "}"
    Path(name).write_text(f"[{record}]" if name == "d.json" else record, encoding="utf-8")
    for words in (["mars"], ["phidelta", "--features"], ["mlcps"]):
        done = clfeval(*words, name, "-q")
        assert (done.code, done.out) == (3, ""), words
        assert "Traceback" not in done.err
