"""The measures a command can be asked for by name, listed or completed without a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from clfeval.cli.output import note, print_result

if TYPE_CHECKING:
    from clfeval.methods.measured.asked import Askable


def of_command(ctx: typer.Context, wanted: bool) -> None:
    """Print the measures that the command at hand knows, and leave."""
    if wanted:
        from clfeval.methods.measured.listed import listed

        lines = listed(str(ctx.info_name), known_to(str(ctx.info_name)))
        print_result([f"{line}\n" for line in lines], for_people=True)
        if any(word.startswith(("-f", "--format")) for word in sys.argv[1:]):
            note("note: --list-measures is text for people, whatever --format says")
        raise typer.Exit


def known_to(command: str) -> Askable:
    """Return the measures a command can be asked for."""
    from clfeval.methods.measured import asked

    if command == "tune-jpt":
        from clfeval.methods.tune_jpt.asked import KNOWN

        return KNOWN
    if command == "mlcps":
        from clfeval.methods.mlcps import asked as folded

        return folded.KNOWN
    return asked.OF_PREDICTIONS if command == "report" else asked.OF_TWO_CLASSES
