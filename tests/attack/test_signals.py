"""200 interrupts at any moment and 200 kills during --save.

An interrupt ends with 130 or 143, one line or none, no traceback, no file left; after a kill every
file is the old one or the new one, and nothing stays that the next run to it does not remove.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest

from tests.process.program import BIN, environment, many_models

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="these signals are POSIX"),
    pytest.mark.usefixtures("folder"),
]
TIMES = 200
OURS = "clfeval.cli"  # what is imported once the handlers are set, and stands in a traceback
TABLE = many_models(6, 300)
WORDS = ("mars", "-", "-q", "-f", "json", "--save", "r.json", "--save", "r.html")
WHOLE = ("r.html", "r.json", "tmp")


def start() -> subprocess.Popen[bytes]:
    """Start a run that copies its input and saves two files."""
    Path("tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [str(BIN / "clfeval"), *WORDS],
        env=environment(TMPDIR=os.path.abspath("tmp")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Feed it, and return its exit code and what it said on standard error."""
    _, err = process.communicate(TABLE.encode(), timeout=60)
    return process.returncode, err.decode()


@cache
def duration() -> float:
    """Return how long an undisturbed run takes, in seconds: the second, warm one."""
    for _ in range(2):
        begin = time.monotonic()
        assert finish(start())[0] == 0
    return time.monotonic() - begin


def later(process: subprocess.Popen[bytes], delay: float, *numbers: int) -> tuple[int, str]:
    """Feed the run at once, signal it after a while, twice in a row where two are given."""
    assert process.stdin is not None
    process.stdin.write(TABLE.encode())
    process.stdin.close()
    process.stdin = None
    time.sleep(delay)
    for number in numbers:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode()


def check_files(before: str) -> None:
    """See that the saved files are whole, and that nothing lies beside them."""
    assert set(os.listdir()) - set(WHOLE) == set()
    assert os.listdir("tmp") == []
    for name in WHOLE[:2]:
        text = Path(name).read_text(encoding="utf-8")
        assert text == before or text.endswith("}\n" if name == "r.json" else "</html>\n")


def test_interrupts_at_any_moment() -> None:
    dice, unloaded = random.Random(11), 0
    lasts = duration()
    for name in WHOLE[:2]:
        Path(name).write_text("old", encoding="utf-8")
    for turn in range(TIMES):
        number = (signal.SIGINT, signal.SIGTERM)[turn % 2]
        delay = dice.uniform(0, 1.1 * lasts) if turn % 3 else dice.uniform(0, 0.1)
        numbers = (number, number) if turn % 5 == 0 else (number,)
        code, err = later(start(), delay, *numbers)
        said = (turn, number, delay, code, err)
        if code == -number or (number == signal.SIGINT and code == 1 and OURS not in err):
            # Python itself was being loaded: nobody can be told of a signal by us before our lines
            assert OURS not in err, said
            unloaded += 1
        elif code != 0:  # else it was through
            assert code == 128 + number, said
            assert err.count("\n") <= 1, said
            assert "Traceback" not in err, said
        check_files("old")
    assert unloaded < TIMES / 2  # else nothing was tried
    assert finish(start())[0] == 0


def test_kills_while_files_are_saved() -> None:
    dice = random.Random(12)
    lasts = duration()
    for name in WHOLE[:2]:
        Path(name).write_text("old", encoding="utf-8")
    killed = 0
    for _ in range(TIMES):
        code, _ = later(start(), dice.uniform(0.3, 1.05) * lasts, signal.SIGKILL)
        killed += code == -signal.SIGKILL
        left = set(os.listdir()) - set(WHOLE)
        assert all(name.startswith(".clfeval-") for name in left)
        assert len(left) <= 2  # of this run
        assert os.listdir("tmp") == []
    assert killed
    assert finish(start())[0] == 0
    check_files("")
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["passed"] is True
