"""Carry a command through: limits, files, computing, gates, files, stdout, notes, exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import typer

from clfeval.cli.options import Gates, Output
from clfeval.cli.output import (
    SavedFiles,
    Screen,
    known_table,
    note,
    print_result,
    screen_for,
    stdout_pieces,
)
from clfeval.cli.progress import stop_at_once, waiting
from clfeval.errors import ExitCode

if TYPE_CHECKING:
    from clfeval.result import Result


class Described(Protocol):
    """A table that says in one line how it was read."""

    def described(self) -> str:
        """Say it."""


def run(
    tables: Sequence[str],
    output: Output,
    gates: Gates,
    compute: Callable[[], Result],
) -> None:
    """Compute, judge, save, print and say what a command line asks for.

    All that can be refused without the table is refused before `compute` reads it; `compute`
    imports its public function itself. Raises typer.Exit when a gate is missed.
    """
    from clfeval.cli.gating import finished, limits_of

    limits = limits_of(gates.fail_under, gates.fail_over, gates.max_drop, gates.baseline)
    screen = screen_for(color=output.color, plot=output.plot, digits=output.digits)
    with SavedFiles(output.save, inputs=tables, gates=bool(limits)) as files:
        with waiting(tables):
            import clfeval.tables.prediction  # noqa: F401  # before the next line: polars would undo it

            stop_at_once()
            result = compute()
        result = finished(result, limits, gates.baseline)
        known_table(result, output.table)  # before any file is put in place
        written = files.write(result, table=output.table, digits=output.digits)
        pieces = stdout_pieces(result, output.format, table=output.table, screen=screen)
        print_result(pieces, for_people=output.format == "table")
    _say(result, written, output, screen)
    if not result.passed:
        raise typer.Exit(int(ExitCode.GATE_MISSED))


def opened(output: Output) -> Callable[[Described], None] | None:
    """Return what is told how a table was read; None where nobody wants to hear it."""
    return None if output.quiet else _say_columns


def _say_columns(table: Described) -> None:
    note(table.described())


def _say(result: Result, written: Sequence[str], output: Output, screen: Screen) -> None:
    """Say on stderr what standard output does not: warnings, names of files, missed gates."""
    from clfeval.cli.gating import missed_gates

    in_table = output.format == "table"
    if not output.quiet:
        for warning in () if in_table else result.warnings:
            note(f"note: {warning.message} [{warning.code}]")
        for name in written:
            note(f"wrote {name}")
    if not (in_table and screen.tty):  # whoever watches has read them in the table
        for line in missed_gates(result):
            note(line)
