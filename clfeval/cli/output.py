"""Writing: files first and whole or not at all, then stdout once; notes and waiting on stderr."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

from clfeval.errors import UsageError, bad_option, listing, suggestion
from clfeval.options import Opt

if TYPE_CHECKING:
    from clfeval.result import Result

OUTPUT = "Output"  # panel


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a result: the suffix of its files, who writes it, and which options he asks for.

    title: said beside a suffix that does not tell.
    """

    suffix: str
    home: str
    writer: str
    asks: tuple[str, ...] = ()
    title: str = ""
    lists_gates: bool = False


FORMATS = {
    "json": Form(".json", "clfeval.result", "Result.json_lines"),
    "csv": Form(".csv", "clfeval.views.csv", "csv_lines", ("table",)),
    "markdown": Form(
        ".md", "clfeval.views.markdown", "markdown_lines", ("digits", "names", "only")
    ),
    "html": Form(".html", "clfeval.views.html", "as_page", ("digits",)),
    "junit": Form(".xml", "clfeval.views.junit", "as_junit", title=" (JUnit)", lists_gates=True),
}
BY_SUFFIX = {form.suffix: form for form in FORMATS.values()}
*_FIRST, _LAST = (form.suffix + form.title for form in FORMATS.values())
SUFFIXES = f"{', '.join(_FIRST)} or {_LAST}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Output:
    """What is printed, saved and said."""

    format: Annotated[
        Literal["table", "json", "csv", "markdown"],
        Opt("What standard output gets.", OUTPUT, flags=("-f", "--format"), common=True),
    ] = "table"
    show: Annotated[
        tuple[str, ...],
        Opt("Also show a table or plot, intervals, or all; repeat.", OUTPUT, metavar="NAME",
            completes="shown", common=True),
    ] = ()  # fmt: skip
    table: Annotated[
        str | None, Opt("One table alone, in CSV by default the first.", OUTPUT, completes="table")
    ] = None
    save: Annotated[
        tuple[str, ...],
        Opt(f"Also write {SUFFIXES}; repeat.", OUTPUT, metavar="FILE", common=True),
    ] = ()
    digits: Annotated[
        int, Opt("Decimal places shown; files keep all.", OUTPUT, least=0, most=15)
    ] = 3
    plot: Annotated[
        bool | None,
        Opt("Draw plots; default on a terminal.", OUTPUT, flags=("--plot/--no-plot",), common=True),
    ] = None
    color: Annotated[
        Literal["auto", "always", "never"], Opt("NO_COLOR and FORCE_COLOR decide for auto.", OUTPUT)
    ] = "auto"
    quiet: Annotated[
        bool,
        Opt("No notes on standard error; missed gates are said all the same.", OUTPUT,
            flags=("-q", "--quiet")),
    ] = False  # fmt: skip
    verbose: Annotated[  # read at the boundary, where errors are printed
        bool, Opt("List all problems; say more.", OUTPUT, flags=("-v", "--verbose"))
    ] = False


@dataclass(frozen=True, slots=True)
class Screen:
    """What the terminal view may use: width None is uncut; tty tells whether somebody watches."""

    tty: bool
    width: int | None
    color: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a result is wanted: a table alone, names of tables and plots beside the usual."""

    table: str | None
    names: tuple[str, ...]
    digits: int

    @classmethod
    def of(cls, output: Output, command: str) -> Wanted:
        """Take it from the options; UsageError for names no result of the command knows."""
        if output.show:
            from clfeval.pages import page_of

            known = page_of(command).names
            for name in output.show:
                if name not in known:
                    what = f"--show '{name}': nothing is called so; there are {listing(known, 40)}"
                    hint = suggestion(name, known)
                    raise UsageError.of(what, "unknown-table", hint=hint)
        if output.table and output.format == "json" and not any(".csv" in n for n in output.save):
            what = "--table chooses one table, and JSON holds them all"
            raise bad_option(what)
        return cls(output.table, output.show, output.digits)


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
        if suffix not in BY_SUFFIX:
            what = f"--save '{name}': the suffix says no format"
            raise UsageError.of(what, "bad-suffix", hint=f"one of {', '.join(BY_SUFFIX)}")
        if BY_SUFFIX[suffix].lists_gates and not gates:
            what = f"--save '{name}': a JUnit file lists gates, and there are none"
            hint = "add --fail-under, --fail-over or --max-drop"
            raise UsageError.of(what, "no-gates", hint=hint)
        if os.path.realpath(name) in self._inputs:
            what = f"--save '{name}' would replace the table it is made from"
            raise UsageError.of(what, "output", hint="give the result another name")
        try:
            if path.is_dir():
                raise IsADirectoryError(21, "Is a directory")
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        except OSError as error:
            raise UsageError.of(f"cannot write '{name}': {error.strerror}", "output") from error
        self._stack.callback(Path(temporary).unlink, missing_ok=True)
        stream = self._stack.enter_context(os.fdopen(handle, "w", encoding="utf-8", newline=""))
        return path, temporary, stream

    def write(self, result: Result, wanted: Wanted) -> list[str]:
        """Write every file whole, then put all in place; return their names."""
        try:
            for path, _, stream in self._files:
                form = BY_SUFFIX[path.suffix.lower()]
                stream.writelines(render(form, result, wanted))
                stream.close()
            os.umask(mask := os.umask(0))  # it cannot be read without being set
            for path, temporary, _ in self._files:
                os.chmod(temporary, 0o666 & ~mask)
                os.replace(temporary, path)
        except OSError as error:
            raise UsageError.of(f"cannot write '{path}': {error.strerror}", "output") from error
        return [str(path) for path, _, _ in self._files]


def render(form: Form, result: Result, wanted: Wanted, *, alone: bool = False) -> Iterable[str]:
    """Return the pieces of a result in a form; alone: of the table that is wanted."""
    given = {
        "table": known_table(result, wanted.table), "digits": wanted.digits, "names": wanted.names,
        "only": wanted.table if alone else None,
    }  # fmt: skip
    writer = attrgetter(form.writer)(import_module(form.home))
    made: str | Iterable[str] = writer(result, **{name: given[name] for name in form.asks})
    return [made] if isinstance(made, str) else made


def known_table(result: Result, table: str | None) -> str:
    """Return the table asked for, or the first; raises UsageError when the result lacks it."""
    if table is None:
        return next(iter(result.tables))
    if table not in result.tables:
        hint = suggestion(table, result.tables)
        what = f"no table '{table}'; this result has {listing(result.tables, len(result.tables))}"
        hint = hint or "some tables exist only when an option asks for them"
        raise UsageError.of(what, "unknown-table", hint=hint)
    return table


def stdout_pieces(result: Result, wanted: Wanted, output: Output, screen: Screen) -> Iterator[str]:
    """Yield what standard output gets."""
    if output.format != "table":
        yield from render(FORMATS[output.format], result, wanted, alone=True)
        return
    from clfeval.pages import page_of
    from clfeval.schema import PLOTS
    from clfeval.views.terminal import as_text

    plots, width = "", screen.width
    asked = {PLOTS, *page_of(result.command).plots}.intersection(wanted.names)
    draws = screen.tty if output.plot is None else output.plot
    if not wanted.table and (asked or draws):
        from clfeval.views.plots import plots as drawn

        names = (PLOTS, *wanted.names) if output.plot else wanted.names
        plots = drawn(result, names, width=min(width or 80, 120), color=screen.color)
    yield as_text(
        result, width=width, color=screen.color, digits=wanted.digits, plots=plots,
        names=wanted.names, only=wanted.table,
    )  # fmt: skip


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


def screen_for(color: str) -> Screen:
    """Decide width and colour once, from the option, the streams and the environment."""
    tty = sys.stdout is not None and sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) > 0 else None
    if width is None and tty:
        width = shutil.get_terminal_size().columns
    return Screen(tty, width, _wants_color(color, tty))


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
