"""Carry a command through: limits, files, computing, gates, files, stdout, notes, exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from clfeval.cli.output import (
    Output,
    SavedFiles,
    Screen,
    Wanted,
    known_table,
    note,
    print_result,
    screen_for,
    stdout_pieces,
    stop_at_once,
    waiting,
)
from clfeval.errors import ExitCode, UsageError
from clfeval.options import Opt

if TYPE_CHECKING:
    from clfeval.api.entry import OnOpen
    from clfeval.gates import Limit
    from clfeval.result import Result

GATES = "Gates"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gates:
    """What the result must keep to, else the program exits with 1."""

    fail_under: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when below; repeat.", GATES, metavar="[MODEL:]METRIC[.low]=VALUE",
            completes="metric", common=True),
    ] = ()  # fmt: skip
    fail_over: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when above; repeat.", GATES, metavar="[MODEL:]METRIC[.high]=VALUE",
            completes="metric"),
    ] = ()  # fmt: skip
    baseline: Annotated[
        str | None,
        Opt("A saved result to compare with.", GATES, metavar="RESULT.json", common=True),
    ] = None
    max_drop: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when worse than the baseline by more; repeat.", GATES,
            metavar="[MODEL:]METRIC=DELTA", completes="metric", common=True),
    ] = ()  # fmt: skip


SAID = 50  # missed gates said one by one


def limits_of(
    under: Sequence[str], over: Sequence[str], drop: Sequence[str], baseline: str | None
) -> list[Limit]:
    """Parse all gate options before anything is read."""
    if not (under or over or drop):
        if baseline is not None:
            hint = "add --max-drop METRIC=DELTA, for example --max-drop recall=0.01"
            raise UsageError.of("--baseline alone says no limit", "bad-gate", hint=hint)
        return []
    from clfeval.gates import parse_limit

    return [
        *(parse_limit("fail-under", text) for text in under),
        *(parse_limit("fail-over", text) for text in over),
        *(parse_limit("max-drop", text) for text in drop),
    ]


def finished(result: Result, limits: Sequence[Limit], baseline: str | None) -> Result:
    """Return the result with its gates judged."""
    if not limits:
        return result
    from clfeval.gates import judge

    return judge(result, limits, None if baseline is None else read_baseline(baseline))


def read_baseline(name: str) -> Result:
    """Read a saved result; raises UsageError when it is none of ours or too new."""
    from clfeval.result import Result

    try:
        with open(name, encoding="utf-8") as stream:
            return Result.from_json(stream.read())
    except OSError as error:
        what = f"cannot read the baseline: {error.strerror}"
        raise UsageError.of(what, "baseline", name) from error
    except ValueError as error:
        hint = "a baseline is written with --save RESULT.json"
        raise UsageError.of(f"no usable baseline: {error}", "baseline", name, hint=hint) from error


def missed_gates(result: Result) -> list[str]:
    """Say which gates were missed and by what."""
    missed = [f"gate missed: {gate}" for gate in result.gates if not gate.passed]
    left = len(missed) - SAID
    return missed if left <= 0 else [*missed[:SAID], f"  ... {left:,} more gates missed"]


def run(
    command: str, tables: Sequence[str], output: Output, gates: Gates,
    compute: Callable[[], Result],
) -> None:  # fmt: skip
    """Compute, judge, save, print and say what a command line asks for.

    All that can be refused without the table is refused before `compute` reads it; `compute`
    imports its public function itself. Raises typer.Exit when a gate is missed.
    """
    limits = limits_of(gates.fail_under, gates.fail_over, gates.max_drop, gates.baseline)
    screen, wanted = screen_for(output.color), Wanted.of(output, command)
    with SavedFiles(output.save, inputs=tables, gates=bool(limits)) as files:
        with waiting(tables):
            import clfeval.tables.prediction  # noqa: F401  # before the next line: polars would undo it

            stop_at_once()
            result = compute()
        result = finished(result, limits, gates.baseline)
        known_table(result, output.table)  # before any file is put in place
        written = files.write(result, wanted)
        pieces = stdout_pieces(result, wanted, output, screen)
        print_result(pieces, for_people=output.format == "table")
    _say(result, written, output, screen)
    if not result.passed:
        raise typer.Exit(int(ExitCode.GATE_MISSED))


def opened(output: Output) -> OnOpen:
    """Return what is told how a table was read: nothing where nobody wants to hear it."""
    return lambda table: None if output.quiet else note(table.described())


def _say(result: Result, written: Sequence[str], output: Output, screen: Screen) -> None:
    """Say on stderr what standard output does not: warnings, names of files, missed gates."""
    in_table = output.format == "table"
    if not output.quiet:
        for warning in () if in_table else result.warnings:
            note(f"note: {warning.message} [{warning.code}]")
        for name in written:
            note(f"wrote {name}")
    if not (in_table and screen.tty):  # whoever watches has read them in the table
        for line in missed_gates(result):
            note(line)
