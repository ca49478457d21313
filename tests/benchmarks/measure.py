"""Children run one after another: the wall time and peak memory of each whole process.

This process imports only the standard library: on Linux the peak memory of a child is never
reported below that of the process that started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
THREADS = 2  # for clfeval and every peer alike
MIB = 1 << 20
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes there, kibibytes elsewhere

Command = Sequence[str]


@dataclass(frozen=True, slots=True)
class Run:
    """One process from start to end; peak in bytes."""

    seconds: float
    peak: int
    output: str


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs of one command."""

    name: str
    runs: tuple[Run, ...]

    @property
    def seconds(self) -> float:
        return median(run.seconds for run in self.runs)

    @property
    def peak(self) -> int:
        return max(run.peak for run in self.runs)

    @property
    def output(self) -> str:
        return self.runs[0].output


def python(script: str, *arguments: str) -> list[str]:
    """Return the command that runs a script text with this interpreter."""
    return [sys.executable, "-c", script, *arguments]


def module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    return [sys.executable, "-m", name, *arguments]


def clfeval(*arguments: str) -> list[str]:
    """Return the command that runs the console script with this interpreter."""
    return [sys.executable, str(Path(sys.executable).with_name("clfeval")), *arguments]


def called(function: str, path: str, *, table: str | None = None, **options: Any) -> list[str]:
    """Return the command that prints what a public function finds, for options no shell has.

    table: print this one alone, as CSV; else all as JSON.
    """
    lines = "result.json_lines()" if table is None else f"csv_lines(result, {table!r})"
    return python(
        "import sys, clfeval\n"
        "from clfeval.views.documents import csv_lines\n"
        f"result = clfeval.{function}({path!r}, **{options!r})\n"
        f"sys.stdout.writelines({lines})\n"
    )


def run(command: Command) -> Run:
    """Run a command that must succeed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=ROOT, env=_environment()
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            err.seek(0)
            said = err.read().decode(errors="replace")
            raise SystemExit(f"exit {child.returncode} of {list(command)}\n{said}")
        out.seek(0)
        return Run(seconds, usage.ru_maxrss * RSS_UNIT, out.read().decode())


def interleave(commands: Mapping[str, tuple[Command, int]]) -> dict[str, Runs]:
    """Run each command as often as it asks, in rounds, so that noise hits all of them alike."""
    done: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(max(times for _, times in commands.values())):
        for name, (command, times) in commands.items():
            if turn < times:
                done[name].append(run(command))
    return {name: Runs(name, tuple(runs)) for name, runs in done.items()}


def warm(path: Path) -> None:
    """Read a file once, so that every run finds it in the page cache."""
    with path.open("rb", buffering=0) as stream:
        while stream.read(MIB):
            pass


def _environment() -> dict[str, str]:
    """Let children use and write compiled byte code, as an installed program does."""
    kept = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "POLARS_MAX_THREADS": str(THREADS)}
