"""Ctrl-C: at once, with 130, without a traceback, and with nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from clfeval.tables.engines import keeping_interrupt_handler
from tests.process.program import BIN, WIDE, environment, many_models

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="nobody else tells what files a program holds open"
)
PROMPT = 4.0  # seconds; a machine under load, not a promise


def wait_for(true: Callable[[], object]) -> None:
    """Wait until something is true, for half a minute at most, and half a second more."""
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end, "the program never got that far"
        time.sleep(0.02)
    time.sleep(0.5)


def copies(process: subprocess.Popen[bytes]) -> list[str]:
    """Return the copies of what it reads that the program holds open."""
    found = []
    with suppress(FileNotFoundError):  # one it has just closed
        for entry in os.scandir(f"/proc/{process.pid}/fd"):
            found.append(os.readlink(entry.path))
    return [link for link in found if link.startswith("/memfd:clfeval")]


def drafts(folder: Path) -> list[int]:
    """Return how many bytes are in each draft of a file."""
    return [path.stat().st_size for path in folder.glob(".clfeval-*")]


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the program with a folder of its own for temporary files and an open stdin."""
    (folder / "tmp").mkdir()
    return subprocess.Popen(
        [str(BIN / "clfeval"), "mars", *words],
        env=environment(TMPDIR=str(folder / "tmp")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def interrupted(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Send what Ctrl-C sends; stdin stays open, so only the signal can end the program."""
    process.send_signal(signal.SIGINT)
    try:
        code = process.wait(timeout=PROMPT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail(f"still running {PROMPT:g} s after SIGINT")
    out, err = process.communicate()
    return code, out.decode(), err.decode()


def check(folder: Path, before: set[str], told: tuple[int, str, str]) -> None:
    """See that it ended as it should and left nothing behind."""
    code, out, err = told
    assert code == 130
    assert out == ""
    assert "Traceback" not in err
    assert len(err.splitlines()) <= 1
    assert list((folder / "tmp").iterdir()) == []
    assert {path.name for path in folder.iterdir()} == before | {"tmp"}


@pytest.mark.parametrize("content", [b"", WIDE.encode()])
def test_while_a_pipe_never_ends(folder: Path, content: bytes) -> None:
    before = {path.name for path in folder.iterdir()}
    process = start(folder, "-", "-q", "--save", "r.json")
    assert process.stdin is not None
    process.stdin.write(content)
    process.stdin.flush()
    wait_for(lambda: copies(process))
    check(folder, before, interrupted(process))


def test_while_a_fifo_never_ends(folder: Path) -> None:
    os.mkfifo(folder / "fifo.csv")
    before = {path.name for path in folder.iterdir()}
    process = start(folder, "fifo.csv", "-q", "--save", "r.json")
    with open(folder / "fifo.csv", "wb", buffering=0) as writer:
        writer.write(WIDE.encode())
        wait_for(lambda: copies(process))
        check(folder, before, interrupted(process))


def test_while_nobody_opens_the_other_end_of_a_fifo(folder: Path) -> None:
    os.mkfifo(folder / "fifo.csv")
    before = {path.name for path in folder.iterdir()}
    process = start(folder, "fifo.csv", "-q", "--save", "r.json")
    wait_for(lambda: drafts(folder))
    time.sleep(1.5)  # until it waits for the fifo
    check(folder, before, interrupted(process))


def test_while_it_computes_and_writes(folder: Path) -> None:
    (folder / "big.csv").write_text(many_models(18, 1000), encoding="utf-8")
    before = {path.name for path in folder.iterdir()}
    process = start(folder, "big.csv", "-q", "-f", "json", "--subsets", "all", "--save", "r.json")
    wait_for(lambda: any(size > 1 << 16 for size in drafts(folder)))
    check(folder, before, interrupted(process))


def test_a_library_does_not_take_over_the_signal_of_ctrl_c() -> None:
    """As Spark does, whose handler raises amid its own code; in a notebook it may."""

    def own(*_: object) -> None:
        """Do nothing."""

    def of_spark(*_: object) -> None:
        """Do nothing."""

    before = signal.getsignal(signal.SIGINT)
    try:
        for first, last in ((own, own), (signal.default_int_handler, of_spark)):
            signal.signal(signal.SIGINT, first)
            with keeping_interrupt_handler():
                signal.signal(signal.SIGINT, of_spark)
            assert signal.getsignal(signal.SIGINT) is last
    finally:
        signal.signal(signal.SIGINT, before)
