"""The end of the console script: whole output, the exit code, and nothing taken from others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TABLE = str(Path(__file__).parents[2] / "fixtures/mars-paper/wide.csv")
START = "import atexit, sys; atexit.register(print, 'at the end'); "
RUN = "from clfeval.__main__ import run_script\n"
PLAIN = f"{START}{RUN}run_script()"
TRACED = (
    f"{START}sys.settrace(lambda *_: None); {RUN}try: run_script()\nfinally: print('still here')"
)


def end(script: str, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, ("report", TABLE, "-q", "-f", "json")),
        (0, ("--version",)),
        (2, ("report",)),
        (1, ("report", TABLE, "-q", "-f", "json", "--fail-under", "accuracy=0.999")),
    ],
)
def test_the_console_script_prints_and_exits_as_the_module_does(
    code: int, words: tuple[str, ...]
) -> None:
    module = subprocess.run(
        [sys.executable, "-m", "clfeval", *words], capture_output=True, text=True, check=False
    )
    assert module.returncode == code
    assert end(PLAIN, *words) == (code, f"{module.stdout}at the end\n")


def test_a_debugger_or_profiler_goes_on_after_the_program() -> None:
    assert end(TRACED, "--version")[1].splitlines()[1:] == ["still here", "at the end"]
