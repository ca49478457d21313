"""Carry a command through: limits, files, computing, gates, files, stdout, notes, exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from clfeval.cli.aside import capture_engine_output
from clfeval.cli.faults import annotate, gate_lines, wants_json
from clfeval.cli.output import (
    Output,
    Screen,
    detect_screen,
    end_on_interrupt,
    print_notes,
    print_result,
    requested_output,
    show_spinner,
    stdout_pieces,
)
from clfeval.errors import ExitCode
from clfeval.history.options import HistoryOptions
from clfeval.limits import Gates
from clfeval.pages import DRY_RUN, SUITE
from clfeval.views.files import SavedFiles, table_or_first

if TYPE_CHECKING:
    from clfeval.api.ask import OnOpen
    from clfeval.baseline.changes import Baseline
    from clfeval.document import Document
    from clfeval.views.annotate import Finding

MAX_GATE_LINES = 50  # missed gates said one by one


def missed_gate_lines(result: Document) -> list[str]:
    """Say which gates were missed and by what."""
    missed = [gate for gate in result.gates if not gate.passed]
    said = [f"gate missed: {gate}" if gate.failed else f"warning: {gate}" for gate in missed]
    left = len(said) - MAX_GATE_LINES
    return said if left <= 0 else [*said[:MAX_GATE_LINES], f"  ... {left:,} more gates missed"]


def run_command(
    command: str, tables: Sequence[str], output: Output, gates: Gates,
    compute: Callable[[], Document], *, history: HistoryOptions, dry: bool = False,
    found: Sequence[Finding] | None = None,
    beside: Callable[[Document], Baseline | None] = lambda _: None,
    said: Callable[[Document], Sequence[str]] = lambda _: (),
) -> None:  # fmt: skip
    """Compute, apply gates, save and print what a command line asks for.

    Options are checked before `compute` reads the table. beside: reads the baseline where that is a
    table. A dry run writes no file. said: further notes. found: annotations of a batch, filled by
    `compute`. Raises typer.Exit when a gate is missed.
    """
    limited, batch = gates.any, found is not None
    if history.append is not None:
        from clfeval.history.file import check_target

        check_target(history.append, tables)
    planned = dry and not batch and _of_plan(output.show)
    screen, wanted = detect_screen(), requested_output(output, DRY_RUN if planned else command)
    read = [*tables, *(one for one in (gates.baseline, history.append) if one)]
    with SavedFiles(output.save, inputs=read, gates=limited or batch, said="--save ") as files:
        watched = nullcontext() if batch else show_spinner(tables)
        with nullcontext() if output.verbose else capture_engine_output(), watched:
            import clfeval.tables.prediction  # noqa: F401  # before the next line: polars would undo it

            end_on_interrupt()
            result = compute()
        if limited or gates.baseline is not None:
            from clfeval.gates import check_ranges, evaluate_gates

            if dry:
                check_ranges(gates.limits)
            else:
                from clfeval.api.history import with_history_baseline

                result = evaluate_gates(
                    result, with_history_baseline(gates, but=history.label), beside(result)
                )
        if dry:  # the rest of the line is about the result
            output = replace(output, show=())
            wanted = replace(wanted, names=(), table=wanted.table if planned else None)
        table_or_first(result, wanted.table)  # before any file is put in place
        if output.show:
            from clfeval.views.render import check_available

            check_available(result, output.show)
        notes = [] if dry else [f"wrote {name}" for name in files.write(result, wanted)]
        if history.append is not None and not dry:
            from clfeval.api.history import append_to_history

            append_to_history(history.append, result, history.label or "")
            notes.append(f"wrote {history.append}")
        notes += said(result)
        pieces = stdout_pieces(result, wanted, output, screen)
        print_result(pieces, for_people=output.format == "table")
    _print_result_notes(result, notes, output, screen)
    if output.annotate:
        from clfeval.views.annotate import gate_findings

        told = gate_findings(result.gates, tables, result.inputs) if found is None else found
        annotate(output.annotate, told, dry=dry)
    if dry and result.summary["ambiguities"]:
        if result.parameters["offer"]:
            print_notes(f"try: {result.parameters['offer']}")
        raise typer.Exit(int(ExitCode.DATA))
    if not result.passed:
        raise typer.Exit(int(result.summary.get("code", ExitCode.GATE_MISSED)))


def _of_plan(names: Sequence[str]) -> bool:
    """Tell whether tables are asked for, and only such as a dry run itself has."""
    if not names:
        return False
    from clfeval.pages import page_of

    return {*names} <= {table.name for table in page_of(DRY_RUN).tables}


def reading_listener(output: Output) -> OnOpen:
    """Return what is told how a table was read: nothing where nobody wants to hear it."""
    return lambda table: None if output.quiet else print_notes(table.described())


def _print_result_notes(
    result: Document, said: Sequence[str], output: Output, screen: Screen
) -> None:
    """Say on stderr what standard output does not: warnings, names of files, missed gates."""
    in_table = output.format == "table"
    if not output.quiet:
        for warning in () if in_table else result.warnings:
            print_notes(f"note: {warning.message} [{warning.code}]")
        if result.methods and (
            output.format == "csv" or any(line.endswith(".csv") for line in said)
        ):
            others = ", ".join(result.methods)
            print_notes(
                f"note: CSV holds one table of {result.command}; for {others} use --format json"
            )
        print_notes(*said)
    watched = in_table and screen.tty  # whoever watches has read them in the table
    if not watched and result.command != SUITE:
        for line in gate_lines(result.gates) if wants_json() else missed_gate_lines(result):
            print_notes(line)
