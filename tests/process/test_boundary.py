"""The boundary: usage errors are 2, bugs are 70 with a traceback, and start-up loads little."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import clfeval as package
from tests.process.program import NEEDS_BASH, clfeval, environment, python, shell
from tests.texts import check_text, problem_places


def broken(error: Exception) -> Callable[..., None]:
    """Return what stands in for a command with a bug."""

    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_lack_of_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clfeval.api.commands.mars.compute", broken(MemoryError()))
    done = clfeval("mars", "t.csv")
    assert (done.code, done.out, problem_places(done.err)) == (2, "", ["[memory]"])
    check_text(done.err)


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("-n 8", "[open-files]"),
        ("-v 600000", "t.parquet: [memory]"),
        ("-v 1400000", "t.parquet: [memory]"),
    ],
)
@NEEDS_BASH
def test_a_limit_of_the_system_is_one_line(limit: str, code: str) -> None:
    """The engine would abort or wait for ever; no file is to blame."""
    pl.read_csv("t.csv").write_parquet("t.parquet")
    # the script that pip writes may be one of sh, which needs files of its own
    program = f"{shlex.quote(sys.executable)} -m clfeval"
    done = shell(f"ulimit {limit}; {program} mars t.parquet -q")
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == [code]


LONG_NAME = "A" * 300


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["report", LONG_NAME], 3),
        (["report", f"a={LONG_NAME}", "--join", "id"], 3),
        (["report", f"{LONG_NAME}.parquet", "--engine", "duckdb"], 3),
        (["report", f"no/{LONG_NAME}/no.csv"], 3),
        (["report", f"{LONG_NAME}*.csv"], 3),
        (["mlcps", LONG_NAME], 3),
        (["batch", LONG_NAME], 2),
        (["report", "t.csv", "--save", f"{LONG_NAME}/"], 2),
    ],
)
def test_a_name_longer_than_any_file_has_is_of_no_file(words: list[str], code: int) -> None:
    done = clfeval(*words)
    assert (done.code, done.out) == (code, "")
    expected = "output" if "--save" in words else "no-such-file"
    assert problem_places(done.err)[0].endswith(f"[{expected}]")


def test_a_file_that_cannot_be_read_is_not_the_output() -> None:
    done = clfeval("report", "/proc/self/mem")
    assert (done.code, problem_places(done.err)) == (3, ["/proc/self/mem: [not-readable]"])


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[/red] out of order"),
        FileNotFoundError(2, "No such file", "lost.so"),
        ImportError("gone"),
    ],
    ids=repr,
)
def test_a_bug_exits_70_with_a_traceback_and_where_to_report(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clfeval.api.commands.mars.compute", broken(error))
    done = clfeval("mars", "t.csv", "-f", "csv")
    assert (done.code, done.out) == (70, "")
    assert "Traceback (most recent call last):" in done.err
    assert type(error).__name__ in done.err
    check_text(done.err.splitlines()[-1].replace(package.__version__, "VERSION"))


BUG = """
import clfeval.api.commands
from clfeval.cli.app import main
clfeval.api.commands.mars = None
main()
"""


def test_a_bug_leaves_no_half_written_file_in_a_process_of_its_own() -> None:
    done = python(BUG, "mars", "t.csv", "--save", "r.json")
    assert (done.code, done.out) == (70, "")
    assert os.listdir() == ["t.csv"]


USAGE = {
    "an unknown command": (["mras"], "'mars'"),
    "an unknown option": (["mars", "t.csv", "--positiv", "1"], "--positive"),
    "an abbreviated option": (["mars", "t.csv", "--pos", "1"], "--pos"),
    "no table": (["mars"], "TABLE"),
    "an unknown format": (["mars", "t.csv", "-f", "jso"], "'jso'"),
    "an unknown choice": (["mars", "t.csv", "--missing", "keep"], "'keep'"),
    "no value": (["mars", "t.csv", "--positive"], "--positive"),
    "no number": (["mars", "t.csv", "--level", "high"], "--level"),
    "a level beyond 1": (["mars", "t.csv", "--level", "95"], "--level"),
    "a threshold that is none": (["mars", "t.csv", "--threshold", "a=b"], "'a=b'"),
    "a count that is none": (["mars", "t.csv", "--subsets", "0"], "--subsets"),
    "an effort that is none": (["mars", "t.csv", "--max-effort", "nan"], "--max-effort"),
    "an unknown table of the result": (["mars", "t.csv", "-f", "csv", "--show", "x"], "'x'"),
}


@pytest.mark.parametrize(("words", "named"), USAGE.values(), ids=USAGE.keys())
def test_usage_errors_exit_2_and_say_what_was_wrong(words: list[str], named: str) -> None:
    done = clfeval(*words)
    assert (done.code, done.out) == (2, "")
    assert named in done.err
    assert "Traceback" not in done.err
    assert "Value error" not in done.err  # pydantic's words


def test_without_arguments_help_is_shown_and_the_code_is_2() -> None:
    done = clfeval()
    assert done.code == 2
    assert "clfeval" in done.out + done.err


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["mars", "-h"], ["mars", "--help-all"]])
def test_help_is_asked_for_and_no_error(words: list[str]) -> None:
    done = clfeval(*words)
    assert (done.code, done.err) == (0, "")
    assert "clfeval" in done.out
    if words[0] == "mars":  # text in square brackets must not vanish
        assert "clfeval mars [OPTIONS] {TABLE...}" in done.out


def test_the_version_is_printed() -> None:
    done = clfeval("--version")
    assert (done.code, done.out, done.err) == (0, f"clfeval {package.__version__}\n", "")


def test_the_module_is_the_same_program() -> None:
    words = ["mars", "t.csv", "-f", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "clfeval", *words], env=environment(), capture_output=True
    )
    same = clfeval(*words)
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (
        same.code,
        same.out,
        same.err,
    )


@pytest.mark.parametrize("columns", ["1", "2", "3", "5"])
def test_tiny_terminals_show_everything(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    Path("tiny.csv").write_text("truth,m\n" + "1,0.9\n0,0.2\n1,0.6\n0,0.7\n" * 5)
    done = clfeval("report", "tiny.csv", "--show", "all", "--show", "plots")
    assert done.code == 0, done.err


@pytest.mark.parametrize("threads", ["0", "x", ""])
def test_an_environment_that_polars_breaks_off_at_is_named(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", threads)
    done = clfeval("mars", "t.csv")
    assert (done.code, problem_places(done.err)) == (2, ["[bad-option]"])
    check_text(done.err)
