"""Errors as text, JSON lines and annotations, without the output of engines."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clfeval.cli.output import print_notes
from clfeval.errors import ClfevalError, ExitCode, Problem, UsageError
from clfeval.interrupt import CleanupState
from clfeval.output_files import open_scratch_file

if TYPE_CHECKING:
    from clfeval.document import Gate
    from clfeval.views.ci import Finding


def last_option_value(words: Sequence[str], *flags: str) -> str | None:
    """Return the last value of an option in the words of a command line."""
    found = None
    words = words[: words.index("--")] if "--" in words else words
    for word, after in zip_longest(words, words[1:]):
        for flag in flags:
            if word == flag:
                found = after
            elif word.startswith(f"{flag}=") or (len(flag) == 2 and word.startswith(flag)):
                found = word.removeprefix(flag).removeprefix("=")
    return found


def wants_json() -> bool:
    """Return whether errors are wanted as JSON, as the output is."""
    return last_option_value(sys.argv[1:], "-f", "--format") == "json"


def problem_line(
    code: str, what: str, exit_code: int, *, file: str | None = None, row: int | None = None,
    column: str | None = None, hint: str | None = None, **more: Any,
) -> str:  # fmt: skip
    """Return one line of JSON for a problem, with the same keys for every kind."""
    given = {"code": code, "what": what, "file": file, "row": row, "column": column, "hint": hint}
    return json.dumps({**given, "exit_code": int(exit_code), **more})


def error_lines(error: ClfevalError, **more: Any) -> list[str]:
    """Return a JSON line for each problem kept, and one with the totals by code."""
    lines = [
        problem_line(one.code, one.what, error.exit_code, file=one.place[0], row=one.place[1],
                     column=one.column, hint=part.hint, **more)
        for part in error.parts or (error,) for one in part.problems
    ]  # fmt: skip
    totals = {"totals": dict(sorted(error.totals.items())), "try": error.offer}
    return [*lines, json.dumps({**totals, "exit_code": int(error.exit_code), **more})]


def print_error(error: ClfevalError, *, verbose: bool = False) -> None:
    """Print an error to standard error, and its annotations for a CI server."""
    print_notes(*(error_lines(error) if wants_json() else error.lines(verbose=verbose)))
    if kind := last_option_value(sys.argv[1:], "--annotate"):
        from clfeval.views.ci import error_findings

        try:
            annotate(kind, error_findings(error), dry="--dry-run" in sys.argv)
        except UsageError as other:
            if str(other) != str(error):  # else it has just been printed
                print_notes(*(error_lines(other) if wants_json() else other.lines()))


def bug_line(lines: Sequence[str], said: str, **more: Any) -> str:
    """Return the JSON line of a bug, with the traceback."""
    what = lines[-1] if lines else "unknown"
    return problem_line("bug", what, ExitCode.BUG, hint=said, traceback=list(lines), **more)


def gate_lines(gates: Sequence[Gate], **more: Any) -> list[str]:
    """Return a JSON line for each missed gate; one that only warns has exit code 0."""
    missed = (gate for gate in gates if not gate.passed)
    codes = {True: ExitCode.GATE_MISSED, False: ExitCode.OK}
    return [problem_line("gate-missed", str(gate), codes[gate.failed], **more) for gate in missed]


def annotate(kind: str, findings: Sequence[Finding], *, dry: bool = False) -> None:
    """Write annotations: GitHub to standard error, GitLab to a file unless dry; UsageError."""
    from clfeval.views.ci import REPORT, github_lines, gitlab_report

    if kind == "github":
        print_notes(*github_lines(findings))
    elif kind == "gitlab" and not dry:
        from clfeval.views.files import write_atomically

        write_atomically(Path(REPORT), gitlab_report(findings))


def error_from_typer(error: BaseException, hints: Sequence[str]) -> ClfevalError | None:
    """Return an error of the command-line library as a ClfevalError; None for others."""
    told = getattr(error, "format_message", None)
    if told is None:
        return None
    context = getattr(error, "ctx", None)
    hint = "; ".join(hints) or f"{context.command_path if context else 'clfeval'} --help"
    return UsageError(Problem(" ".join(told().split()), "command-line"), hint=hint)


PANIC = "panicked at"  # start of an engine's message on a panic


@contextmanager
def capture_engine_output() -> Iterator[None]:
    """Capture what native libraries write to descriptor 2; print it only for internal errors.

    Python's own output is not captured. Descriptors are swapped while no other thread prints.
    """
    shown = sys.stderr
    if not _can_capture(shown):
        yield
        return
    words, CleanupState.stderr, ours = open_scratch_file(), os.dup(2), True
    reports = not faulthandler.is_enabled()
    sys.stderr = open(  # noqa: SIM115 - closed with the descriptor below
        CleanupState.stderr, "w", 1, encoding=shown.encoding, errors=shown.errors, closefd=False
    )
    try:
        os.dup2(words.fileno(), 2)
        if reports:  # a crash in a library, whose own output is captured
            faulthandler.enable(sys.stderr, all_threads=False)
        yield
        ours = False
    except (ClfevalError, SystemExit, KeyboardInterrupt):
        ours = False
        raise
    finally:
        if reports:
            faulthandler.disable()
        if sys.stderr is not None:  # else there is no stream to write to
            sys.stderr.flush()
            sys.stderr = shown
        kept, CleanupState.stderr = CleanupState.stderr, 2
        os.dup2(kept, 2)
        os.close(kept)
        with words:
            words.seek(0)
            said = words.read().decode(errors="replace")
        if said and (ours or PANIC not in said):
            print_notes(*said.splitlines())


def _can_capture(stream: Any) -> bool:
    """Return whether a stream is descriptor 2, and memory unlimited.

    If memory ends, the engine's output is the only message.
    """
    with suppress(OSError, ValueError, AttributeError):
        if stream.fileno() == 2:
            with suppress(ImportError):
                import resource

                return resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
            return True
    return False
