"""Output of the program: streams, formats and notes; errors, annotations and crashes on stderr."""

from __future__ import annotations

import codecs
import faulthandler
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from clfeval.compare.gates.kinds import gate_sentence
from clfeval.errors import ClfevalError, ExitCode, Problem, UsageError, bad_option
from clfeval.formatting import DIGITS, MOST_DIGITS, printable
from clfeval.interrupt import CleanupState
from clfeval.options.declaration import Opt
from clfeval.output_files import open_scratch_file
from clfeval.placeholders import COMMAND, END, OPTION, fill_for_shell
from clfeval.records import dataclass
from clfeval.views import files

if TYPE_CHECKING:
    from clfeval.document import Document, Gate
    from clfeval.views.ci import Finding

OUTPUT = "Output"  # panel
MIN_PLOT_LINES = 12  # lines of a plot and the prompt below it
ASCII_HANDLER = "clfeval.alike"
# replacements for streams with few characters: signs of tables stay distinct
ASCII_LETTERS = dict(zip("─│≈↑↓→–…δφ×█·", "-|~^v>-.dfx#.", strict=True))
FALLBACK = 80  # columns of a terminal of unknown width
READ = (".md", ".html", *files.PICTURES)  # files for readers
PASTED = ("try: ", "{", "::")  # starts of lines for a shell or a program


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Output:
    """Options on what is printed and saved."""

    format: Annotated[
        Literal["table", "json", "csv", "markdown"],
        Opt(
            "Format of the output: table, json, csv or markdown.",
            OUTPUT,
            flags=("-f", "--format"),
            metavar="FORMAT",
        ),
    ] = "table"
    show: Annotated[
        tuple[str, ...],
        Opt(
            "Show a table or plot by NAME; plots, all; repeat.",
            OUTPUT,
            metavar="NAME",
            completes="shown",
        ),
    ] = ()
    save: Annotated[
        tuple[str, ...], Opt("Write .json .csv .md .html .svg .png .xml.", OUTPUT, metavar="FILE")
    ] = ()
    size: Annotated[
        str | None, Opt("Size of pictures in pixels.", OUTPUT, metavar="WIDTHxHEIGHT")
    ] = None
    caption: Annotated[
        str | None, Opt("Line below a picture; by default files and rows.", OUTPUT)
    ] = None
    font: Annotated[
        str | None, Opt("Font file of .png pictures.", OUTPUT, metavar="FILE", shell=False)
    ] = None
    digits: Annotated[
        int,
        Opt(
            "Number of decimals on the screen; files keep all.",
            OUTPUT,
            minimum=0,
            maximum=MOST_DIGITS,
            shell=False,
        ),
    ] = DIGITS
    annotate: Annotated[
        Literal["github", "gitlab"] | None,
        Opt("Write annotations for a CI server: missed gates and errors.", OUTPUT),
    ] = None
    quiet: Annotated[
        bool, Opt("Print only errors and missed gates to stderr.", OUTPUT, flags=("-q", "--quiet"))
    ] = False
    verbose: Annotated[  # read where errors are printed
        bool, Opt("List all problems and all notes.", OUTPUT, flags=("-v", "--verbose"))
    ] = False


@dataclass(frozen=True, slots=True)
class Screen:
    """Properties of the screen; width None: unlimited; tty: stdout is a terminal."""

    tty: bool
    width: int | None
    height: int
    color: bool


def requested_output(output: Output, command: str) -> files.OutputRequest:
    """Return the requested output of a result; UsageError for names the command lacks."""
    files.check_names(command, output.show, f"{OPTION}--show{END} ")
    suffixes = {os.path.splitext(name)[1].lower() for name in output.save}
    request = files.OutputRequest.from_options(command, output)
    if output.show and output.format == "json" and suffixes.isdisjoint((*READ, ".csv")):
        raise bad_option(f"JSON always has all tables; {OPTION}--show{END} does not apply")
    if output.format == "csv" and output.show and (request.table is None or output.show[1:]):
        raise bad_option(
            f"{OPTION}--show{END} must name one table for CSV",
            f"for example {OPTION}--show models{END}",
        )
    return request


def stdout_pieces(
    result: Document, request: files.OutputRequest, output: Output, screen: Screen
) -> Iterator[str]:
    """Yield the pieces of text for standard output."""
    if output.format != "table":
        yield from map(str, files.render_format(files.FORMATS[output.format], result, request))
        return
    render_text = partial(_screen_text, result, request, screen)
    text_without_plots = render_text(plots="")
    # a plot that was not requested must leave the answer on the screen
    free_lines = screen.height - text_without_plots.count("\n") if screen.tty else 0
    plots_text = ""
    draws_default_plots = free_lines > MIN_PLOT_LINES
    if request.names or draws_default_plots:
        from clfeval.views.plots import draw_requested_plots

        plots_text = draw_requested_plots(
            result,
            request.names,
            by_default=draws_default_plots,
            width=screen.width,
            color=screen.color,
        )
        if not request.names and plots_text.count("\n") > free_lines:
            plots_text = ""
    yield render_text(plots=plots_text) if plots_text else text_without_plots


def _screen_text(
    result: Document, request: files.OutputRequest, screen: Screen, *, plots: str
) -> str:
    """Return the text of a result for a screen; on a long page its summary at the end."""
    from clfeval.views.terminal import as_text, put_answer_last

    result_text = as_text(
        result,
        width=screen.width,
        color=screen.color,
        digits=request.digits,
        names=request.names,
        plots=plots,
    )
    if not screen.tty or not screen.height:
        return result_text
    return put_answer_last(
        result_text, result, width=screen.width, color=screen.color, height=screen.height
    )


def _replace_by_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(ASCII_LETTERS.get(letter, "?") for letter in letters), error.end


codecs.register_error(ASCII_HANDLER, _replace_by_ascii)


def print_result(pieces: Iterable[str], *, for_people: bool) -> None:
    """Write a result to stdout, as UTF-8 for programs; UsageError if it is closed or full."""
    if sys.stdout is None:
        raise UsageError.new("standard output is closed", "output")
    if hasattr(sys.stdout, "reconfigure"):
        if for_people:
            sys.stdout.reconfigure(errors=ASCII_HANDLER)
        else:
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        for text in pieces:
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        abandon_stream("stdout")
        raise UsageError.new(f"cannot write standard output: {error.strerror}", "output") from error


def abandon_stream(stream: Literal["stdout", "stderr"]) -> None:
    """Redirect a stream that cannot be written to the null device, so that exit succeeds."""
    descriptor = {"stdout": 1, "stderr": CleanupState.stderr}[stream]
    with suppress(OSError):
        null_descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_descriptor, descriptor)
        os.close(null_descriptor)
    setattr(sys, stream, None)


def detect_screen() -> Screen:
    """Determine width and colour once, from the streams and the environment."""
    environment = os.environ
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    terminal_size = shutil.get_terminal_size()
    width = _requested_width()
    if width is None and is_terminal:
        width = terminal_size.columns
    color = bool(environment.get("FORCE_COLOR")) or (
        is_terminal and environment.get("TERM") != "dumb"
    )
    return Screen(
        is_terminal, width, terminal_size.lines, color and not environment.get("NO_COLOR")
    )


def _requested_width() -> int | None:
    """Return the width set by COLUMNS, or None."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) > 0 else None


def print_notes(*notes: str) -> None:
    """Write lines to stderr, folded for a terminal, with control characters escaped."""
    if notes and sys.stderr is not None:
        try:
            lines = [line for note in notes for line in _fold_line(printable(fill_for_shell(note)))]
            print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201
        except OSError:  # a closed or full stderr must not lose the result
            abandon_stream("stderr")


def _fold_line(line: str) -> list[str]:
    """Return a line folded for a terminal on stderr; unchanged for programs."""
    if line.startswith(PASTED) or not sys.stderr.isatty():
        return [line]
    from textwrap import TextWrapper

    width = _requested_width()
    with suppress(OSError, ValueError):  # unknown size
        width = width or os.get_terminal_size(sys.stderr.fileno()).columns
    return TextWrapper(
        width or FALLBACK, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ).wrap(line) or [line]


DELAY = 1.0  # seconds before anything is shown
RESTORING = b"\r\x1b[2K\x1b[?25h"  # an empty line, and the cursor that the spinner hides


@contextmanager
def show_spinner(tables: Sequence[str]) -> Iterator[None]:
    """Show a spinner on a terminal while the block runs, if it takes long."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    finished_event = threading.Event()
    spinner_thread = threading.Thread(target=_spin, args=(tables, finished_event), daemon=True)
    spinner_thread.start()
    try:
        yield
    finally:
        finished_event.set()
        spinner_thread.join()


def _spin(tables: Sequence[str], finished_event: threading.Event) -> None:
    """Show the spinner of tables from DELAY on, until the event is set."""
    if finished_event.wait(DELAY):
        return
    from rich.console import Console
    from rich.text import Text

    from clfeval.tables.frames import Progress

    tables_text = ", ".join(tables)
    with Console(stderr=True).status(Text(printable(f"reading {tables_text}"))) as status:
        CleanupState.restoring = RESTORING
        while not finished_event.wait(DELAY):
            step_clause = f": {Progress.step}" if Progress.step else ""
            status.update(Text(printable(f"reading {tables_text}{step_clause}")))
    CleanupState.restoring = b""


def last_option_value(command_words: Sequence[str], *flags: str) -> str | None:
    """Return the last value of an option in the words of a command line."""
    last_value = None
    if "--" in command_words:  # which ends the options
        command_words = command_words[: command_words.index("--")]
    for word, next_word in zip_longest(command_words, command_words[1:]):
        for flag in flags:
            if word == flag:
                last_value = next_word
            elif word.startswith(f"{flag}=") or (len(flag) == 2 and word.startswith(flag)):
                last_value = word.removeprefix(flag).removeprefix("=")
    return last_value


def wants_json() -> bool:
    """Return whether errors are wanted as JSON, as the output is."""
    return last_option_value(sys.argv[1:], "-f", "--format") == "json"


def problem_line(
    code: str,
    message: str,
    exit_code: int,
    *,
    file: str | None = None,
    row: int | None = None,
    column: str | None = None,
    hint: str | None = None,
    **extra_fields: object,
) -> str:
    """Return one line of JSON for a problem, with the same keys for every kind."""
    problem_fields = {
        "code": code,
        "what": message,
        "file": file,
        "row": row,
        "column": column,
        "hint": hint,
    }
    return json.dumps({**problem_fields, "exit_code": int(exit_code), **extra_fields})


def error_lines(error: ClfevalError, **extra_fields: object) -> list[str]:
    """Return a JSON line for each problem kept, and one with the totals by code.

    extra_fields: keys and values that every line has.
    """
    problem_lines = [
        problem_line(
            problem.code,
            problem.message,
            error.exit_code,
            file=problem.place[0],
            row=problem.place[1],
            column=problem.column,
            hint=part.hint,
            **extra_fields,
        )
        for part in error.parts or (error,)
        for problem in part.problems
    ]
    offered_readings = [
        {"meaning": reading.meaning, "command": reading.command} for reading in error.readings
    ]
    totals_record: dict[str, Any] = {
        "totals": dict(sorted(error.totals.items())),
        "try": error.offer,
    }
    if offered_readings:
        totals_record |= {"readings": offered_readings, "further": error.further}
    return [
        *problem_lines,
        json.dumps({**totals_record, "exit_code": int(error.exit_code), **extra_fields}),
    ]


def print_error(error: ClfevalError, *, verbose: bool = False) -> None:
    """Print an error to standard error, and its annotations for a CI server."""
    error.fill_texts(fill_for_shell)
    print_notes(*(error_lines(error) if wants_json() else error.lines(verbose=verbose)))
    annotation_format = last_option_value(sys.argv[1:], "--annotate")
    if annotation_format:
        from clfeval.views.ci import error_findings

        try:
            annotate(annotation_format, error_findings(error), dry="--dry-run" in sys.argv)
        except UsageError as annotation_error:
            if str(annotation_error) != str(error):  # else it has just been printed
                print_notes(
                    *(error_lines(annotation_error) if wants_json() else annotation_error.lines())
                )


def bug_line(traceback_lines: Sequence[str], message: str, **extra_fields: Any) -> str:
    """Return the JSON line of a bug, with the traceback."""
    exception = traceback_lines[-1] if traceback_lines else "unknown"
    return problem_line(
        "bug",
        exception,
        ExitCode.BUG,
        hint=message,
        traceback=list(traceback_lines),
        **extra_fields,
    )


def gate_lines(gates: Sequence[Gate], **extra_fields: Any) -> list[str]:
    """Return a JSON line for each missed gate; one that only warns has exit code 0."""
    code_if_failed = {True: ExitCode.GATE_MISSED, False: ExitCode.OK}
    return [
        problem_line(
            "gate-missed", gate_sentence(gate), code_if_failed[gate.failed], **extra_fields
        )
        for gate in gates
        if not gate.passed
    ]


def annotate(annotation_format: str, findings: Sequence[Finding], *, dry: bool = False) -> None:
    """Write annotations: GitHub to standard error, GitLab to a file unless dry; UsageError."""
    from clfeval.views.ci import REPORT, github_lines, gitlab_report

    if annotation_format == "github":
        print_notes(*github_lines(findings))
    elif annotation_format == "gitlab" and not dry:
        files.write_atomically(Path(REPORT), gitlab_report(findings))


def error_from_typer(error: BaseException, hints: Sequence[str]) -> ClfevalError | None:
    """Return an error of the command-line library as a ClfevalError; None for others."""
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "clfeval"
    hint = "; ".join(hints) or f"{COMMAND}{command} --help{END}"
    return UsageError(Problem(" ".join(format_message().split()), "command-line"), hint=hint)


PANIC = "panicked at"  # start of an engine's message on a panic


@contextmanager
def capture_engine_output() -> Iterator[None]:
    """Capture what native libraries write to descriptor 2; print it only for internal errors.

    Python's own output is not captured. Descriptors are swapped while no other thread prints.
    """
    own_stderr = sys.stderr
    if not _can_capture(own_stderr):
        yield
        return
    captured_file = open_scratch_file()
    stderr_descriptor = os.dup(2)
    CleanupState.stderr = stderr_descriptor
    is_internal_error = True
    reports_crashes = not faulthandler.is_enabled()
    sys.stderr = open(  # noqa: SIM115 - closed with the descriptor below
        stderr_descriptor,
        "w",
        1,
        encoding=own_stderr.encoding,
        errors=own_stderr.errors,
        closefd=False,
    )
    try:
        os.dup2(captured_file.fileno(), 2)
        if reports_crashes:  # of a library, whose own output is captured
            faulthandler.enable(sys.stderr, all_threads=False)
        yield
        is_internal_error = False
    except (ClfevalError, SystemExit, KeyboardInterrupt):
        is_internal_error = False
        raise
    finally:
        if reports_crashes:
            faulthandler.disable()
        if sys.stderr is not None:  # else there is no stream to write to
            sys.stderr.flush()
            sys.stderr = own_stderr
        CleanupState.stderr = 2
        os.dup2(stderr_descriptor, 2)
        os.close(stderr_descriptor)
        with captured_file:
            captured_file.seek(0)
            captured_text = captured_file.read().decode(errors="replace")
        if captured_text and (is_internal_error or PANIC not in captured_text):
            print_notes(*captured_text.splitlines())


def _can_capture(stream: Any) -> bool:
    """Return whether a stream is descriptor 2, and memory unlimited.

    If memory ends, the engine's output is the only message.
    """
    with suppress(OSError, ValueError, AttributeError):
        if stream.fileno() == 2:
            with suppress(ImportError):
                import resource

                soft_limit, _ = resource.getrlimit(resource.RLIMIT_AS)
                return soft_limit == resource.RLIM_INFINITY
            return True
    return False
