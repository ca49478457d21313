"""Running a bash script whose `clfeval` is run by the test's own process.

The script finds a program of that name that asks us for a run, waits for it and passes on what it
left: as faithful as the runner (tests/process/runner.py), without the start of Python each time.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.process.runner import Done, run

END = "end"  # stands in the pipe of requests when the script has ended
STAND_IN = """#!/bin/bash
home=${0%/*}
own=$home/$$
mkdir "$own"
mkfifo "$own/code"
printf '%s\\0' "$PWD" "$@" > "$own/words"
env -0 > "$own/environment"
if [[ " $* " == *" - "* ]]; then cat > "$own/content"; else : > "$own/content"; fi
if [[ /dev/fd/1 -ef /dev/fd/2 ]]; then : > "$own/is_merged"; fi
echo "$$" > "$home/requests"
read -r code < "$own/code"
cat "$own/err" >&2
cat "$own/out"
exit "$code"
"""


def run_script(
    script: str,
    content: bytes,
    environment: Mapping[str, str],
    *,
    is_merged: bool = False,
    seconds: int = 60,
) -> Done:
    """Run a bash script with bytes on standard input; if merged, its output holds its errors."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        home = Path(folder)
        (home / "clfeval").write_text(STAND_IN, encoding="utf-8")
        (home / "clfeval").chmod(0o755)
        os.mkfifo(home / "requests")
        stdin.write(content)
        stdin.seek(0)
        process = subprocess.Popen(
            ["bash", "-c", script],
            env={**environment, "PATH": f"{home}{os.pathsep}{environment['PATH']}"},
            stdin=stdin,
            stdout=out,
            stderr=subprocess.STDOUT if is_merged else err,
        )
        watcher = threading.Thread(target=_tell_the_end, args=(process, home / "requests", seconds))
        # open for writing too, so that no writer meets a closed pipe
        with open(os.open(home / "requests", os.O_RDWR), encoding="utf-8") as requests:
            watcher.start()
            try:
                for line in iter(requests.readline, f"{END}\n"):
                    _answer(home / line.strip())
            finally:
                process.kill()
                watcher.join()
        out.seek(0)
        err.seek(0)
        return Done(process.returncode, out.read().decode(), err.read().decode())


def _tell_the_end(process: subprocess.Popen[bytes], requests: Path, seconds: int) -> None:
    """Wait for the script, for so many seconds at most, and write that it has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    requests.write_text(f"{END}\n", encoding="utf-8")


def _answer(request: Path) -> None:
    """Run what one stand-in asks for, where it asks."""
    folder, *words = _texts(request / "words")
    pairs = (text.partition("=") for text in _texts(request / "environment"))
    with contextlib.chdir(folder):
        done = run(
            words,
            (request / "content").read_bytes(),
            {name: value for name, _, value in pairs},
            is_merged=(request / "is_merged").exists(),
        )
    (request / "out").write_bytes(done.out.encode())
    (request / "err").write_bytes(done.err.encode())
    (request / "code").write_text(f"{done.code}\n", encoding="utf-8")


def _texts(file: Path) -> list[str]:
    """Return the texts of a file, each of which a zero byte ends."""
    return [os.fsdecode(part) for part in file.read_bytes().split(b"\0")[:-1]]
