"""Running the program in the test's own process: words and bytes in, code and both streams out.

As faithful as a process of its own where no signal, closed stream, terminal or start-up is asked
about: it enters by `main`, its streams are descriptors 0, 1 and 2, and its environment, arguments,
warnings, signal handlers and what libraries keep of these are its own for as long as it runs.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import IO
from unittest import mock

import typer.main
import typer.rich_utils

from clfeval.cli.app import main

# what typer reads off a function is read once for all runs: half of the time of a short one
typer.main.get_params_from_function = lru_cache(500)(typer.main.get_params_from_function)

SIGNALS = ("SIGPIPE", "SIGTERM", "SIGHUP", "SIGINT")


@dataclass(frozen=True)
class Done:
    """What a finished program left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


def run(
    words: Sequence[str], content: bytes, environment: Mapping[str, str], *, is_merged: bool = False
) -> Done:
    """Run `clfeval WORDS` here, with bytes on standard input and nothing else in the environment.

    If merged, standard error goes where standard output goes: each line at its place among others.
    What leaves `main` otherwise than by SystemExit is a hole in the boundary: it fails the test.
    """
    folder = os.getcwd()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _streams(content, out, out if is_merged else err), _alone(words, environment):
            try:
                main()
            except SystemExit as leaving:
                code = leaving.code
        assert isinstance(code, int)
        assert os.getcwd() == folder
        return Done(code, *(_text(file) for file in (out, err)))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@contextlib.contextmanager
def _alone(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[None]:
    """Give the program what a process of its own would have, and take it back."""
    forced = any(environment.get(n) for n in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"))
    width = environment.get("TERMINAL_WIDTH")
    program = sys.modules["__main__"]  # typer looks there how it was started
    handlers = {
        number: signal.getsignal(number)
        for number in (getattr(signal, name) for name in SIGNALS if hasattr(signal, name))
    }
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", ["clfeval", *words]),
        mock.patch.object(sys, "excepthook", sys.excepthook),  # typer sets its own
        mock.patch.object(tempfile, "tempdir", None),  # TMPDIR is looked up once
        mock.patch.object(typer.rich_utils, "MAX_WIDTH", int(width) if width else None),
        mock.patch.object(typer.rich_utils, "FORCE_TERMINAL", forced or None),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()  # to what Python starts with: these kinds are not shown
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        warnings.showwarning = _shown
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = program
            atexit.unregister(gc.freeze)  # at its end our process looks for garbage as ever
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _shown(
    message: Warning | str, category: type[Warning], file: str, line: int, *_: object
) -> None:
    if sys.stderr is not None:
        sys.stderr.write(warnings.formatwarning(message, category, file, line))


@contextlib.contextmanager
def _streams(content: bytes, out: IO[bytes], err: IO[bytes]) -> Iterator[None]:
    """Put a pipe that brings the content on descriptor 0 and the files on 1 and 2."""
    reading, writing = os.pipe()
    feeder = threading.Thread(target=_feed, args=(writing, content))
    kept = [os.dup(number) for number in range(3)]
    for number, descriptor in enumerate((reading, out.fileno(), err.fileno())):
        os.dup2(descriptor, number)
    os.close(reading)
    feeder.start()
    try:
        with (
            open(0, encoding="utf-8", errors="surrogateescape", closefd=False) as stdin,
            open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False) as stdout,
            open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False) as stderr,
            mock.patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr),
        ):
            yield
    finally:
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)
        feeder.join()


def _feed(writing: int, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(writing, "wb") as pipe:
        pipe.write(content)
