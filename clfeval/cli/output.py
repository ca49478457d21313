"""Writing: files first and whole or not at all, then stdout once; notes and waiting on stderr."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from clfeval.errors import Problem, UsageError, listing, suggestion

if TYPE_CHECKING:
    from clfeval.result import Result
import signal
import threading
from contextlib import contextmanager

SUFFIXES = (".json", ".csv", ".md", ".html", ".xml")


@dataclass(frozen=True, slots=True)
class Screen:
    """What the terminal view may use: width None is uncut; tty tells whether somebody watches."""

    tty: bool
    width: int | None
    color: bool
    plots: bool
    digits: int


class SavedFiles:
    """Files to write: opened before anything is computed, renamed when their text is complete."""

    def __init__(self, names: Sequence[str], *, inputs: Sequence[str], gates: bool) -> None:
        """Open a temporary file beside each target.

        Raises UsageError for a bad name or folder, and for a target that is also an input.
        """
        self._inputs = {os.path.realpath(name) for name in inputs}
        self._stack = ExitStack()
        self._files: list[tuple[Path, str, IO[str]]] = []
        try:
            for name in names:
                self._files.append(self._open(name, gates=gates))
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> SavedFiles:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove temporary files that were not renamed."""
        self._stack.close()

    def _open(self, name: str, *, gates: bool) -> tuple[Path, str, IO[str]]:
        path = Path(name)
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise UsageError(
                Problem(f"--save '{name}': the suffix says no format", "bad-suffix"),
                hint=f"one of {', '.join(SUFFIXES)}",
            )
        if suffix == ".xml" and not gates:
            raise UsageError(
                Problem(
                    f"--save '{name}': a JUnit file lists gates, and there are none", "no-gates"
                ),
                hint="add --fail-under, --fail-over or --max-drop",
            )
        if os.path.realpath(name) in self._inputs:
            raise UsageError(
                Problem(f"--save '{name}' would replace the table it is made from", "output"),
                hint="give the result another name",
            )
        try:
            if path.is_dir():
                raise IsADirectoryError(21, "Is a directory")
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        except OSError as error:
            raise UsageError.of(f"cannot write '{name}': {error.strerror}", "output") from error
        self._stack.callback(_remove, temporary)
        stream = self._stack.enter_context(os.fdopen(handle, "w", encoding="utf-8", newline=""))
        return path, temporary, stream

    def write(self, result: Result, *, table: str | None, digits: int) -> list[str]:
        """Write every file whole, then put all in place; return their names."""
        try:
            for path, _, stream in self._files:
                for text in render(result, path.suffix.lower(), table=table, digits=digits):
                    stream.write(text)
                stream.close()
            for path, temporary, _ in self._files:
                os.chmod(temporary, 0o666 & ~_umask())
                os.replace(temporary, path)
        except OSError as error:
            raise UsageError.of(f"cannot write '{path}': {error.strerror}", "output") from error
        return [str(path) for path, _, _ in self._files]


def render(result: Result, suffix: str, *, table: str | None, digits: int) -> Iterable[str]:
    """Return the pieces of a file by its suffix."""
    if suffix == ".json":
        return result.json_lines()
    if suffix == ".csv":
        from clfeval.views.csv import csv_lines

        return csv_lines(result, known_table(result, table))
    if suffix == ".md":
        from clfeval.views.markdown import markdown_lines

        return markdown_lines(result, digits=digits)
    if suffix == ".html":
        from clfeval.views.html import as_page

        return [as_page(result, digits=digits)]
    from clfeval.views.junit import as_junit

    return [as_junit(result)]


def known_table(result: Result, table: str | None) -> str:
    """Return the table asked for, or the first; raises UsageError when the result lacks it."""
    if table is None:
        return next(iter(result.tables))
    if table not in result.tables:
        hint = suggestion(table, result.tables)
        raise UsageError(
            Problem(
                f"no table '{table}'; this result has {listing(result.tables)}", "unknown-table"
            ),
            hint=hint or "some tables exist only when an option asks for them",
        )
    return table


def stdout_pieces(
    result: Result,
    format: str,  # noqa: A002
    *,
    table: str | None,
    screen: Screen,
) -> Iterator[str]:
    """Yield what standard output gets."""
    if format != "table":
        suffix = {"json": ".json", "csv": ".csv", "markdown": ".md"}[format]
        yield from render(result, suffix, table=table, digits=screen.digits)
        return
    from clfeval.views.terminal import as_text

    plots = ""
    if screen.plots:
        from clfeval.views.plots import plots as drawn

        plots = drawn(result, width=min(screen.width or 80, 120), color=screen.color)
    yield as_text(result, width=screen.width, color=screen.color, digits=screen.digits, plots=plots)


def print_result(pieces: Iterable[str], *, for_people: bool) -> None:
    """Write the result to stdout; raises UsageError when stdout is closed or full.

    People get what their terminal can show; programs get UTF-8 whatever the locale.
    """
    if sys.stdout is None:
        raise UsageError.of("standard output is closed", "output")
    if hasattr(sys.stdout, "reconfigure"):
        if for_people:
            sys.stdout.reconfigure(errors="replace")
        else:
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        for text in pieces:
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        abandon("stdout")
        raise UsageError.of(f"cannot write standard output: {error.strerror}", "output") from error


def abandon(stream: Literal["stdout", "stderr"]) -> None:
    """Let go of a stream that cannot be written, so that leaving does not fail on it again."""
    number = {"stdout": 1, "stderr": 2}[stream]
    with suppress(OSError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, number)
        os.close(sink)
    setattr(sys, stream, None)


def screen_for(*, color: str, plot: bool | None, digits: int) -> Screen:
    """Decide width, colour and plots once, from the options, the streams and the environment."""
    tty = sys.stdout is not None and sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) > 0 else None
    if width is None and tty:
        width = shutil.get_terminal_size().columns
    return Screen(tty, width, _wants_color(color, tty), tty if plot is None else plot, digits)


def _wants_color(choice: str, tty: bool) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return tty and os.environ.get("TERM") != "dumb"


def note(text: str) -> None:
    """Say something on stderr, if anybody is there."""
    if sys.stderr is not None:
        try:
            print(text, file=sys.stderr, flush=True)  # noqa: T201
        except OSError:  # a closed or full stderr must not cost the result
            abandon("stderr")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _remove(name: str) -> None:
    if os.path.exists(name):
        os.unlink(name)


DELAY = 1.0  # seconds before anything is shown


def stop_at_once() -> None:
    """Let Ctrl-C end a read that waits: importing polars makes such calls start over."""
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


@contextmanager
def waiting(tables: Sequence[str]) -> Iterator[None]:
    """Show a spinner while the block runs, if it runs long and somebody watches stderr."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_spin, args=(tables, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _spin(tables: Sequence[str], done: threading.Event) -> None:
    if done.wait(DELAY):
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with console.status(Text(f"reading {', '.join(tables)}")):
        done.wait()
