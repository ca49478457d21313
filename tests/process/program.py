"""Running the program as a shell does, in an environment that says nothing.

In this process (tests/process/runner.py) unless what is asked needs one of its own: a shell, a
terminal, or a variable that is looked at when Python, its libraries or those of C start.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.process.runner import Done, run
from tests.process.scripts import run_script

BIN = Path(sys.executable).parent
WIDE = "id,truth,a,b\n1,1,1,0\n2,0,0,0\n3,1,0,1\n4,0,1,0\n"
ESCAPE = "\x1b"

SPOKEN = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "GITHUB_ACTIONS", "PY_COLORS", "LC_ALL")
AT_START = ("PYTHON", "POLARS_", "LC_", "LANG", "TZ")
NEEDS_BASH = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")

# code for a child of ours: root gives up what lets it pass over permissions, and nothing else, so
# that it can still enter the folders of the project. As threads have capabilities of their own,
# this comes before the imports that start some
WITHOUT_OVERRIDE = """
import ctypes, os
if os.getuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3 of the call, this thread
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: low words, high words
    for call in (libc.capget, libc.capset):
        if call(header, sets):
            raise OSError(ctypes.get_errno(), f"{call.__name__} failed")
        for word in (0, 1):
            sets[word] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
"""


def environment(**changes: str) -> dict[str, str]:
    """Return this environment without what colours, narrows or translates; then the changes."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in SPOKEN and not name.startswith(("PYTHON", "PYTEST"))
    }
    path = os.pathsep.join([str(BIN), kept.get("PATH", "")])
    fixed = {"TERM": "xterm", "LANG": "C.UTF-8", "TERMINAL_WIDTH": "100", "PATH": path}
    return kept | fixed | changes


def clfeval(*words: str, **changes: str) -> Done:
    """Run `clfeval WORDS` and wait for it; `changes` are environment variables."""
    return piped(b"", *words, **changes)


def piped(content: bytes, *words: str, **changes: str) -> Done:
    """Run `clfeval WORDS` with some bytes on standard input."""
    if any(name.startswith(AT_START) for name in changes):
        return started(content, *words, **changes)
    return run(words, content, environment(**changes))


def started(content: bytes, *words: str, **changes: str) -> Done:
    """Run `clfeval WORDS` in a process of its own, with some bytes on standard input."""
    return _finished([str(BIN / "clfeval"), *words], content, changes)


def shell(script: str, **changes: str) -> Done:
    """Run a bash script in which `clfeval` is the installed program; the last command's code."""
    return _finished(["bash", "-c", script], b"", changes)


def script(text: str, **changes: str) -> Done:
    """Run a bash script in which `clfeval` is run in this process; the last command's code."""
    return run_script(text, b"", environment(**changes))


def python(code: str, *words: str, **changes: str) -> Done:
    """Run Python code that sees WORDS as the command line of clfeval."""
    return _finished([sys.executable, "-c", code, *words], b"", changes)


def _finished(command: list[str], content: bytes, changes: Mapping[str, str]) -> Done:
    done = subprocess.run(
        command, env=environment(**changes), input=content, capture_output=True, timeout=60
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(*words: str, **changes: str) -> Done:
    """Run `clfeval WORDS` with stdin and stdout on a terminal, and stderr in a pipe."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [str(BIN / "clfeval"), *words],
        env=environment(**changes),
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # Linux says EIO when the other side is gone
            while chunk := os.read(master, 1 << 16):
                shown += chunk
        os.close(master)
        _, said = process.communicate(timeout=60)
    return Done(process.returncode, shown.decode().replace("\r\n", "\n"), said.decode())


def json_document(done: Done) -> dict[str, Any]:
    """Return the JSON of a run that computed a result, whether or not its gates are met."""
    assert done.code in (0, 1), done.err
    assert "Traceback" not in done.err
    document: dict[str, Any] = json.loads(done.out)
    return document


def write_files(folder: Path, contents: Mapping[str, str]) -> None:
    """Write files of these names into a folder."""
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")


def many_models(models: int, rows: int, *, name: str = "m") -> str:
    """Return a table of random 0 and 1, the same every time."""
    dice = random.Random(7)
    names = [f"{name}{i}" for i in range(1, models + 1)]
    lines = [",".join(["id", "truth", *names])]
    for row in range(rows):
        lines.append(",".join([str(row), *(str(dice.randint(0, 1)) for _ in range(models + 1))]))
    return "\n".join(lines) + "\n"


def in_lines(done: Done) -> Done:
    """Return what a run left, its JSON lines on standard error as people read the same."""
    lines: list[str] = []
    hint = None
    for line in done.err.splitlines():
        one = json.loads(line) if line.startswith("{") else {"text": line}
        if one.get("hint") != hint and hint:
            lines.append(f"hint: {hint}")
        hint = one.get("hint")
        if "text" in one:
            lines.append(line)
        elif one.get("code") == "gate-missed":
            said = "gate missed" if one["exit_code"] else "warning"
            lines.append(f"{said}: {one['what']}")
        elif "code" in one:
            place = ":".join(str(part) for part in (one["file"], one["row"]) if part is not None)
            column = f"column '{one['column']}': " if one["column"] is not None else ""
            lines.append(f"{place}{': ' * bool(place)}{column}{one['what']} [{one['code']}]")
    return Done(done.code, done.out, "".join(f"{line}\n" for line in lines))


def clfeval_in_lines(*words: str, **changes: str) -> Done:
    """Run `clfeval WORDS`; what it says to programs is told as people read it."""
    return in_lines(clfeval(*words, **changes))


def piped_in_lines(content: bytes, *words: str, **changes: str) -> Done:
    """Run `clfeval WORDS` on some bytes; what it says to programs is told as people read it."""
    return in_lines(piped(content, *words, **changes))
