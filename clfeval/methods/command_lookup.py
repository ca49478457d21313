"""The declarations of commands by their names, each with the options on its input table."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from clfeval.options.declaration import Command
from clfeval.records import replace
from clfeval.tables.input import InputOptions


def with_input(command: Command) -> Command:
    """Return a command with the options on its input table."""
    return replace(command, input=InputOptions)


@cache  # its options are reworded once
def command_of(name: str) -> Command:
    """Return the declaration of a command."""
    word = name.replace("-", "_")
    declared: Command = getattr(import_module(f"clfeval.methods.{word}.options"), word.upper())
    return with_input(declared)
