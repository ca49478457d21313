"""The catalogue of measures, asked for without a table."""

from __future__ import annotations

import typer

from clfeval.cli.output import print_result


def of_command(_: typer.Context, wanted: bool) -> None:
    """Print the measures that a report knows, and leave."""
    if wanted:
        from clfeval.methods.measured.listed import listed

        print_result([f"{line}\n" for line in listed()], for_people=True)
        raise typer.Exit
