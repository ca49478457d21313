"""Shells for the tests of completion: bash asked for replies, bash and zsh with keys pressed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent.parent / "completions"


def installed(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


class Bash:
    """Asks a fresh bash for COMPREPLY, and how it reads a line."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.path, self.environment, self.folder = installed("bash"), environment, folder
        if int(self.run("echo ${BASH_VERSINFO[0]}")[0]) < 4:
            pytest.skip("bash is older than 4, too old for typer's own script too")

    def run(self, script: str, *arguments: str) -> list[str]:
        done = subprocess.run(
            [self.path, "--norc", "-c", script, "bash", *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return [line for line in done.stdout.split("\n") if line]

    def reply(self, *words: str) -> list[str]:
        return self._completed('COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))', *words)

    def reply_to_line(self, line: str, after: str = "") -> list[str]:
        return self._completed("COMP_LINE=$1$2 COMP_POINT=${#1}", line, after)

    def _completed(self, given: str, *arguments: str) -> list[str]:
        script = f"source '{FOLDER}/clfeval.bash'; {given}; _clfeval_completion clfeval"
        return self.run(f"{script}; printf '%s\\n' \"${{COMPREPLY[@]}}\"", *arguments)

    def words(self, lines: list[str]) -> list[str]:
        """Return how many words bash reads in each line, and the first."""
        return self.run('for line; do eval "set -- $line"; echo "$# $1"; done', *lines)


class Terminal:
    """An interactive shell on a pseudo-terminal, in which ^X^D tells what the line holds."""

    def __init__(
        self, argv: list[str], setup: str, environment: dict[str, str], folder: Path
    ) -> None:
        import pty

        self.told = folder / "told"
        self.screen, inside = pty.openpty()
        self.shell = subprocess.Popen(
            argv,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            env=environment | {"TOLD": str(self.told)},
            cwd=folder,
        )
        os.close(inside)
        self.press(f"{setup}; PS1='rea''dy>'\n")
        self.wait(lambda: b"ready>" in self.seen)

    def press(self, keys: str) -> None:
        self.seen = b""
        os.write(self.screen, keys.encode())

    def wait(self, done: Any) -> None:
        import select

        deadline = time.monotonic() + 20
        while not done():
            assert time.monotonic() < deadline, self.seen.decode()
            if select.select([self.screen], [], [], 0.01)[0]:
                self.seen += os.read(self.screen, 1 << 16)

    def after_tab(self, line: str, back: int = 0) -> tuple[str, list[str]]:
        """Type, go back some characters, press TAB; return the line and its words, unquoted."""
        self.told.unlink(missing_ok=True)
        self.press("\x05\x15" + line + "\x02" * back + "\t\x18\x04")
        self.wait(self.told.exists)
        text, *words, _ = self.told.read_text(encoding="utf-8").split("\0")
        return text, words

    def close(self) -> None:
        self.shell.kill()
        self.shell.wait()
        os.close(self.screen)
