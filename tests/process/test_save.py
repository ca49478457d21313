"""Saved files: every suffix, whole or not at all, refused before anything is computed."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from contextlib import closing
from errno import ENOLCK
from pathlib import Path
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest

from clfeval.output_files import Draft, remove_dead_drafts
from tests.process.program import NEEDS_BASH, WIDE, clfeval, python, shell
from tests.process.test_process import HEEDING_PERMISSIONS
from tests.texts import check_text, problem_places
from tests.thoroughness import thinned

STARTS = {
    "r.json": '{\n  "schema": "clfeval.result/1",',
    "r.csv": "slice,model,",
    "r.md": "<!-- clfeval:mars ",
    "r.metrics.json": '{\n  "a": {"tp": 1',
    "r.html": "<!DOCTYPE html>\n",
    "r.xml": '<?xml version="1.0" encoding="UTF-8"?>\n',
    "R.JSON": '{\n  "schema": "clfeval.result/1",',
}


def names() -> set[str]:
    """Return what is in the folder, hidden files too."""
    return set(os.listdir())


def test_every_suffix_is_written_and_told() -> None:
    words = [word for name in STARTS for word in ("--save", name)]
    done = clfeval("mars", "t.csv", *words, "--fail-under", "recall=0.1")
    assert done.code == 0
    assert [line.split()[-1] for line in done.err.splitlines()[1:]] == [*STARTS]
    assert names() == {"t.csv", *STARTS}
    for name, start in STARTS.items():
        assert Path(name).read_text(encoding="utf-8").startswith(start)
    assert ElementTree.parse("r.xml").getroot().tag == "testsuites"


def test_a_saved_file_is_what_stdout_gets() -> None:
    done = clfeval("mars", "t.csv", "-q", "-f", "json", "--save", "r.json")
    assert done.out == Path("r.json").read_text(encoding="utf-8")


def test_a_file_is_replaced_whole_and_keeps_ordinary_permissions() -> None:
    Path("r.json").write_text("x" * 100_000, encoding="utf-8")
    old = os.umask(0o027)
    try:
        assert clfeval("mars", "t.csv", "-q", "--save", "r.json").code == 0
    finally:
        os.umask(old)
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["passed"] is True
    assert stat.S_IMODE(Path("r.json").stat().st_mode) == 0o640


REFUSED = {
    "a missing folder": ("nowhere/r.json", "[output]"),
    "a folder": ("d.json", "[output]"),
    "a file as folder": ("t.csv/r.json", "[output]"),
    "a name too long": (f"{'x' * 251}.json", "[output]"),
    "no suffix": ("result", "[bad-suffix]"),
    "another suffix": ("r.txt", "[bad-suffix]"),
    "JUnit without gates": ("r.xml", "[no-gates]"),
}


@pytest.mark.parametrize(("name", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_saved_is_refused_before_computing(name: str, code: str) -> None:
    Path("d.json").mkdir()
    # the table is bad too, but nobody got as far as reading it; r.md is not written either
    done = clfeval("mars", "gone.csv", "--save", "r.md", "--save", name)
    assert (done.code, done.out, name in done.err) == (2, "", True)
    assert problem_places(done.err)[0].endswith(code)
    assert ("hint: create the folder" in done.err) == (name == "nowhere/r.json")
    check_text(done.err)
    assert names() == {"t.csv", "d.json"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_read_only_place_is_refused_before_computing(folder: Path, what: str) -> None:
    place = folder / "place"
    place.mkdir()
    (place / "r.json").write_text("old", encoding="utf-8")
    (place / "r.json").chmod(0o666 if what == "folder" else 0o444)
    place.chmod(0o555 if what == "folder" else 0o777)
    done = python(HEEDING_PERMISSIONS, "mars", "gone.csv", "--save", "place/r.json")
    assert (done.code, done.out) == (2, "")
    assert ("'place/r.json'" in done.err, "[output]" in done.err) == (True, True)
    assert "that you have permission to write" in done.err
    assert os.listdir(place) == ["r.json"]
    assert (place / "r.json").read_text(encoding="utf-8") == "old"


def test_a_table_is_not_overwritten_by_its_own_result() -> None:
    done = clfeval("mars", "t.csv", "-q", "--save", "t.csv")
    assert Path("t.csv").read_text(encoding="utf-8") == WIDE
    assert done.code == 2


def test_a_refused_table_leaves_the_old_result() -> None:
    Path("r.json").write_text("old", encoding="utf-8")
    Path("t.csv").write_text("truth,a\n1,1\n0,x\n", encoding="utf-8")
    assert clfeval("mars", "t.csv", "--save", "r.json").code == 3
    assert Path("r.json").read_text(encoding="utf-8") == "old"
    assert names() == {"t.csv", "r.json"}


def test_a_missed_gate_still_saves() -> None:
    done = clfeval("mars", "t.csv", "-q", "--save", "r.json", "--fail-under", "recall=0.9")
    assert done.code == 1
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["passed"] is False


def hidden() -> list[str]:
    """Return what a killed program left beside its files."""
    return [name for name in os.listdir() if name.startswith(".clfeval-")]


KILLED = """
import os, signal
from unittest.mock import patch
def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
patch("{how}", kill).start()  # which must be there
from clfeval.__main__ import main
main()
"""
HOWS = {"amid computing": "clfeval.counts.count.group_rows", "before the renaming": "os.replace"}


@pytest.mark.parametrize("how", thinned(HOWS, [*HOWS][1:]))
def test_a_kill_leaves_the_old_result_whole_and_the_next_run_removes_its_draft(how: str) -> None:
    Path("r.json").write_text("old", encoding="utf-8")
    done = python(KILLED.format(how=HOWS[how]), "mars", "t.csv", "-q", "--save", "r.json")
    assert done.code == -9
    assert Path("r.json").read_text(encoding="utf-8") == "old"
    left = hidden()
    assert len(left) == 1
    assert clfeval("mars", "t.csv", "-q", "--save", "r.json").code == 0
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["passed"] is True
    assert names() == {"t.csv", "r.json"}


def test_two_programs_write_one_file_without_disturbing_each_other() -> None:
    one, other = Draft(Path("r.txt")), Draft(Path("r.txt"))
    one.stream.write("one")
    other.stream.write("other")
    third = Draft(Path("r.txt"))  # removes nothing of the living
    other.replace_target(0o600)
    one.replace_target(0o640)
    assert Path("r.txt").read_text(encoding="utf-8") == "one"
    for draft in (one, other, third):
        draft.close()
    assert names() == {"t.csv", "r.txt"}
    assert stat.S_IMODE(Path("r.txt").stat().st_mode) == 0o640


def test_drafts_of_the_living_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked ones; all where files have no locks; and files that only look like drafts."""
    no_drafts = {".clfeval-mine", ".clfeval-abcdefgh.txt", "clfeval-abcdefgh"}
    for name in no_drafts:
        Path(name).write_text("", encoding="utf-8")
    Path(".clfeval-linked00").symlink_to("t.csv")
    dead = Path(".clfeval-killed_0")
    dead.write_text("half", encoding="utf-8")
    code = "from clfeval.output_files import *\ndraft = Draft(Path('r.txt'))\n"
    code += "print('ready', flush=True)\ninput()\ndraft.replace_target(0o600)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        assert not dead.exists()
        dead.write_text("half", encoding="utf-8")
        with monkeypatch.context() as no_locks:
            no_locks.setattr(fcntl, "flock", Mock(side_effect=OSError(ENOLCK, "No locks")))
            remove_dead_drafts(".")
            with closing(Draft(Path("r.txt"))) as draft:
                draft.replace_target(0o600)
        assert dead.exists()
        remove_dead_drafts(".")
        assert len(hidden()) == len({*hidden()} & no_drafts) + 2  # the link, and the living
        other.communicate("\n")
    assert other.returncode == 0
    assert names() == {"t.csv", "r.txt", ".clfeval-linked00"} | no_drafts


def test_a_draft_that_is_removed_before_it_is_locked_is_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock, calls = fcntl.flock, list[int]()

    def remove_first(handle: int, how: int) -> None:
        calls.append(handle)
        if len(calls) == 1:
            os.unlink(hidden()[0])
        if len(calls) == 2:
            os.unlink(hidden()[0])
            raise BlockingIOError
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with closing(Draft(Path("r.txt"))) as draft:
        draft.replace_target(0o600)
    assert len(calls) == 3
    assert names() == {"t.csv", "r.txt"}


def test_a_name_as_long_as_the_folder_takes() -> None:
    name = "x" * 250 + ".json"
    assert clfeval("mars", "t.csv", "-q", "--save", name).code == 0
    assert clfeval("mars", "t.csv", "-q", "--save", name).code == 0  # replaced
    assert names() == {"t.csv", name}


def test_a_folder_where_nothing_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an append-only one: files can be made, and neither renamed nor removed."""

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    Path("r.json").write_text("old", encoding="utf-8")
    for name in ("replace", "unlink"):
        monkeypatch.setattr(os, name, refused)
    answer = clfeval("mars", "t.csv").out
    done = clfeval("mars", "t.csv", "-q", "--save", "r.json")
    assert (done.code, done.out) == (2, answer)  # which was computed
    assert ("'r.json'" in done.err, "[output]" in done.err) == (True, True)
    assert Path("r.json").read_text(encoding="utf-8") == "old"


@NEEDS_BASH
def test_a_closed_pipe_leaves_nothing_beside_the_file() -> None:
    done = shell("clfeval mars - --save r.json < t.csv 2>&1 | true; echo ${PIPESTATUS[0]}")
    assert done.out.strip() in ("0", "141")
    assert hidden() == []


@pytest.mark.skipif(os.name == "nt", reason="fifos are POSIX")
def test_a_fifo_is_not_replaced_by_a_file() -> None:
    os.mkfifo("r.json")
    done = clfeval("mars", "t.csv", "-q", "--save", "r.json")
    assert (done.code, done.out, problem_places(done.err)) == (2, "", ["[output]"])
    assert stat.S_ISFIFO(os.stat("r.json").st_mode)
    assert names() == {"t.csv", "r.json"}
