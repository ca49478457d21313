"""The program: its commands, and the one boundary where errors become messages and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, NoReturn

import typer

from clfeval import __version__
from clfeval.cli import mars
from clfeval.errors import ClfevalError, ExitCode

app = typer.Typer(
    name="clfeval",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Evaluate classifiers from a table of predictions.",
    epilog="Exit codes: 0 computed, gates met; 1 a gate missed; 2 command line or output; "
    "3 data; 70 a bug.",
)
app.command("mars", epilog=mars.EXAMPLES)(mars.mars_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"clfeval {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Evaluate classifiers from a table of predictions."""
    del version  # the callback did it


def main() -> NoReturn:
    """Run the program and leave with its exit code; never with a bare traceback."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends us quietly, with 141
    code = _run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        code = _complain(f"cannot write standard output: {error.strerror} [output]", ExitCode.USAGE)
        _forget_stdout()
    sys.exit(int(code))


def _run() -> int:
    verbose = "-v" in sys.argv or "--verbose" in sys.argv
    try:
        app()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except ClfevalError as error:
        return _complain("\n".join(error.lines(verbose=verbose)), error.exit_code)
    except KeyboardInterrupt:
        return _complain("interrupted", ExitCode.INTERRUPTED)
    except OSError as error:
        if sys.stdout is None or error.filename is None:
            _forget_stdout()
            return _complain(f"cannot write: {error.strerror} [output]", ExitCode.USAGE)
        return _bug()
    except Exception:  # the boundary: whatever else arrives here is our fault
        return _bug()
    return ExitCode.OK


def _complain(text: str, code: ExitCode) -> ExitCode:
    if sys.stderr is not None:
        print(text, file=sys.stderr)  # noqa: T201
    return code


def _bug() -> ExitCode:
    import traceback

    report = "this is a bug in clfeval; please report it with the lines above"
    return _complain(f"{traceback.format_exc()}\n{report} (clfeval {__version__})", ExitCode.BUG)


def _forget_stdout() -> None:
    """Keep the interpreter from flushing a broken stdout once more on its way out."""
    try:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    except OSError:
        sys.stdout = None


if __name__ == "__main__":
    main()
