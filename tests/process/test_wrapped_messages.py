"""What is said on standard error: folded between words for a terminal, whole for a program."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest

from tests.cli.golden import ROOT
from tests.process.program import BIN, environment
from tests.thoroughness import thinned


def lines_on_terminal(words: list[str], columns: int, **changes: str) -> list[str]:
    """Return the lines that a terminal of so many columns gets on stderr; 0: that does not tell."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [str(BIN / "clfeval"), *words],
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=slave,
    ) as process:
        os.close(slave)
        text = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(master, 1 << 16):
                text += chunk
        os.close(master)
        process.wait(timeout=60)
    lines = text.decode().replace("\r\n", "\n").splitlines()
    return [line for line in lines if "\x1b" not in line]  # on a busy machine it says it waits


@pytest.mark.parametrize(("columns", "width"), thinned([(40, 40), (80, 80), (0, 80)], [(40, 40)]))
def test_a_terminal_gets_whole_words_in_lines_that_fit(columns: int, width: int) -> None:
    words = ["mars", "fixtures/breast-cancer/labels.csv", "--positive", "malignant"]
    lines = lines_on_terminal(words, columns)
    assert len(lines) > 1
    assert max(map(len, lines)) <= width
    piped = subprocess.run(
        [str(BIN / "clfeval"), *words],
        env=environment(),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    ).stderr.splitlines()
    assert " ".join(line.strip() for line in lines) == " ".join(piped)
    assert len(piped) == 1


def test_a_width_that_is_set_counts_more() -> None:
    lines = lines_on_terminal(["mars", "no-such-table.csv"], 200, COLUMNS="30")
    assert max(map(len, lines)) <= 30


def test_a_word_longer_than_the_terminal_stays_whole() -> None:
    name = "x" * 60
    assert any(name in line for line in lines_on_terminal(["mars", f"{name}.csv"], 40))


def test_names_do_not_steer_the_terminal() -> None:
    done = subprocess.run(
        [str(BIN / "clfeval"), "mars", "-", "--positive", "yes"],
        env=environment(),
        capture_output=True,
        check=True,
        input=b"truth,a\x1b[31mb\nyes,yes\nno,no\nyes,no\n",
    )
    assert b"\x1b" not in done.stderr + done.stdout
    assert rb"a\x1b[31mb" in done.stderr
