"""The program: its commands, and the only place that converts errors to messages and exit codes."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from errno import EMFILE, ENFILE, ENOMEM
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from clfeval import COMMANDS, __version__
from clfeval.cli.command import (
    OTHERS,
    build_typer_command,
    find_declaration,
    refuse_unknown_command,
    suggest_other_commands,
)
from clfeval.cli.help_and_completion import guide_names, print_guide
from clfeval.cli.output import (
    ASCII_HANDLER,
    abandon_stream,
    bug_line,
    error_from_typer,
    last_option_value,
    print_error,
    print_notes,
    wants_json,
)
from clfeval.errors import ClfevalError, ExitCode, UsageError, bad_option, raise_shortage

HEAD = "Evaluate classifiers from a table of predictions."
EXAMPLES = (
    "clfeval report preds.csv --positive malignant",
    "clfeval tune-jpt --sensitivity 0.9 --specificity 0.95 --prevalence 0.01",
)


class Commands(TyperGroup):
    """The commands by name, each built on first use, as a run needs only one of them."""

    def __init__(self, **settings: Any) -> None:
        """Register the names, which suggestions need."""
        super().__init__(**settings)
        self.commands = dict.fromkeys((*COMMANDS, *OTHERS))  # type: ignore[assignment]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the table of commands by input and purpose, then the other help."""
        help_rows = [("you have", "you want to know", "use")]
        help_rows += [
            (command.have, command.want, command.name)
            for command, *_ in map(find_declaration, self.commands)
        ]
        column_widths = [
            max(map(len, column_cells)) for column_cells in zip(*help_rows, strict=True)
        ]
        table_lines = ["  ".join(map(str.ljust, row, column_widths)).rstrip() for row in help_rows]
        self.help = "\n".join([HEAD, "", "\b", *table_lines, "", "\b", *EXAMPLES])
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before a command; for an unknown option name the commands with it."""
        with suggest_other_commands("clfeval", [*args]):
            remaining: list[str] = super().parse_args(ctx, args)
            return remaining

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command; UsageError with a hint for an unknown one."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            refuse_unknown_command(args)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: object, cmd_name: str) -> Any:
        """Return a command by name; None if there is none."""
        del ctx
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            self.commands[cmd_name] = build_typer_command(cmd_name)
        return self.commands.get(cmd_name)


app = typer.Typer(
    name="clfeval",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=HEAD,
    epilog="Exit codes: 0 success; 1 a gate missed; 2 error in options or output; "
    "3 error in data; 70 a bug.",
)


def _print_version(requested: bool) -> None:
    if requested:
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
    guide: Annotated[
        str | None,
        typer.Option(
            "--guide",
            metavar="NAME",
            help="Print a guide: of a command, tables, gates, ci, numbers, pictures, words.",
            callback=print_guide,
            is_eager=True,
            autocompletion=guide_names,
        ),
    ] = None,
) -> None:
    """Evaluate classifiers from a table of predictions."""
    del version, guide  # their callbacks have run


def main() -> NoReturn:
    """Run the program and exit with its code, never with a bare traceback."""
    atexit.register(gc.freeze)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors=ASCII_HANDLER)  # some terminals lack characters of the help
    exit_code = _run()
    if exit_code == ExitCode.OK and sys.stdout is None:  # help or a version cannot be printed
        print_error(UsageError.new("standard output is closed", "output"))
        exit_code = ExitCode.USAGE
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        abandon_stream("stdout")
        print_error(UsageError.new(f"cannot write standard output: {error.strerror}", "output"))
        exit_code = ExitCode.USAGE
    sys.exit(int(exit_code))


def _run() -> int:
    """Run the program; return its exit code, after an error is printed."""
    verbose = "-v" in sys.argv or "--verbose" in sys.argv
    threads_text = os.environ.get("POLARS_MAX_THREADS")
    try:
        if threads_text is not None and not (threads_text.isdecimal() and int(threads_text)):
            raise bad_option(f"POLARS_MAX_THREADS '{threads_text}' is not a whole number from 1 up")
        # for a program typer's errors on the command line are printed like others
        formats_errors = wants_json() or last_option_value(sys.argv[1:], "--annotate") is not None
        return app(standalone_mode=not formats_errors) or ExitCode.OK
    except SystemExit as leaving:
        if leaving.code == ExitCode.USAGE:
            print_notes(*(f"hint: {hint}" for hint in _hidden_files()))
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except ClfevalError as error:
        print_error(error, verbose=verbose)
        return error.exit_code
    except MemoryError:
        hint = "use fewer rows or models, or a machine with more memory"
        print_error(UsageError.new("not enough memory", "memory", hint=hint))
        return ExitCode.USAGE
    except KeyboardInterrupt:
        print_notes("interrupted")
        return ExitCode.INTERRUPTED
    except OSError as error:
        return _report_system_error(error)
    except BaseException as error:  # the only place that catches all
        command_line_error = error_from_typer(error, _hidden_files())
        if command_line_error is None:  # any other exception, a panic too, is a bug
            return _report_bug()
        print_error(command_line_error)
        return command_line_error.exit_code


def _report_system_error(error: OSError) -> int:
    """Print an error of the system that no command expects, in whose handler it is called."""
    if error.errno in (EMFILE, ENFILE, ENOMEM):
        return _print_shortage(error)
    if error.filename is not None:
        return _report_bug()
    if not _has_folder():
        message = "the working directory has been removed"
        hint = "change to another folder: cd FOLDER"
        print_error(UsageError.new(message, "no-folder", hint=hint))
        return ExitCode.USAGE
    for stream in ("stdout", "stderr"):
        try:
            print(end="", file=getattr(sys, stream), flush=True)
        except (OSError, ValueError):  # closed or full
            abandon_stream(stream)
    print_error(UsageError.new(f"cannot write: {error.strerror}", "output"))
    return ExitCode.USAGE


def _print_shortage(error: OSError) -> int:
    try:
        raise_shortage(error)
    except UsageError as shortage:
        print_error(shortage)
    return ExitCode.USAGE


def _hidden_files() -> list[str]:
    """Return hints on files whose names look like options."""
    file_words = (word for word in sys.argv[1:] if word.startswith("-") and os.path.isfile(word))
    return [f"write './{word}' for the file '{word}'" for word in file_words]


def _has_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _report_bug() -> ExitCode:
    import traceback

    lines = traceback.format_exc().splitlines()
    message = (
        f"this is a bug in clfeval; please report it with the lines above (clfeval {__version__})"
    )
    print_notes(*([bug_line(lines, message)] if wants_json() else (*lines, "", message)))
    return ExitCode.BUG
