"""The program run in the test's own process does what it does in one of its own."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from pathlib import Path

import pytest

from tests.process.program import NEEDS_BASH, WIDE, clfeval, piped, script, shell, started
from tests.thoroughness import thinned

NUMBERS = "truth,a\n" + "1,0.9\n0,0.1\n" * 20_000  # more than a pipe holds

LINES: dict[str, tuple[bytes, list[str], dict[str, str]]] = {
    "a table": (b"", ["mars", "t.csv"], {}),
    "a document": (b"", ["phidelta", "t.csv", "-f", "json"], {}),
    "standard input": (WIDE.encode(), ["tune-jpt", "-", "--prevalence", "1:9"], {}),
    "much of it": (NUMBERS.encode(), ["mars", "-", "-f", "csv"], {}),
    "much that nobody reads": (NUMBERS.encode(), ["mars", "t.csv", "-q"], {}),
    "plots": (b"", ["mars", "t.csv", "-q", "--show", "plots"], {}),
    "colour": (b"", ["mars", "t.csv", "-q"], {"FORCE_COLOR": "1"}),
    "a screen": (b"", ["mars", "t.csv", "-q"], {"COLUMNS": "60"}),
    "files": (b"", ["mars", "t.csv", "--save", "r.json"], {}),
    "a missed gate": (b"", ["mars", "t.csv", "--fail-under", "recall=0.9"], {}),
    "bad data": (b"truth,a\n1,1\n0,x\n", ["mars", "-"], {}),
    "no table": (b"", ["mars"], {}),
    "an unknown option": (b"", ["mars", "t.csv", "--positiv", "1"], {}),
    "in colour": (b"", ["mars", "t.csv", "--positiv", "1"], {"GITHUB_ACTIONS": "true"}),
    "no words": (b"", [], {}),
    "help": (b"", ["mars", "--help"], {}),
    "narrow help": (b"", ["mlcps", "--help"], {"TERMINAL_WIDTH": "70"}),
    "the version": (b"", ["--version"], {}),
    "completion": (
        b"",
        [],
        {"_CLFEVAL_COMPLETE": "complete_bash", "COMP_WORDS": "clfeval ma", "COMP_CWORD": "1"},
    ),
}

GATE = ("plots", "in colour", "files", "completion")


@pytest.mark.parametrize("name", thinned(LINES, GATE))
def test_it_says_what_a_process_of_its_own_says(name: str) -> None:
    content, words, changes = LINES[name]
    assert piped(content, *words, **changes) == started(content, *words, **changes)


SCRIPT = """
mkdir inner; cd inner; export COLUMNS=60
clfeval mars - < ../t.csv 2>&1 | cat
clfeval mars ../t.csv --fail-under recall=0.9 -f json > r.json; echo $?; cat r.json
clfeval "no such" command
"""


@NEEDS_BASH
def test_a_script_says_what_it_says_with_the_program_installed() -> None:
    assert script(SCRIPT) == shell(f"rm -r inner; {SCRIPT}")


def test_a_bug_is_told_as_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        warnings.warn("nobody counted", RuntimeWarning, stacklevel=1)
        raise RuntimeError("out of order")

    monkeypatch.setattr("clfeval.api.commands.mars.compute", broken)
    done = clfeval("mars", "t.csv")
    assert (done.code, done.out) == (70, "")
    assert "RuntimeWarning: nobody counted\n" in done.err
    assert "\nRuntimeError: out of order\n" in done.err


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")
def test_it_leaves_the_tests_as_they_were() -> None:
    def state() -> tuple[object, ...]:
        handlers = [signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGTERM)]
        streams = (sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook)
        descriptors = [os.fstat(number).st_ino for number in range(3)]
        return dict(os.environ), Path.cwd(), handlers, streams, descriptors, warnings.filters[:]

    before, opened = state(), set(os.listdir("/proc/self/fd"))
    clfeval("mars", "t.csv", FORCE_COLOR="1")
    clfeval("mars", "gone.csv")
    assert state() == before
    assert set(os.listdir("/proc/self/fd")) == opened
