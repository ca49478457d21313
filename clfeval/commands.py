"""The declarations of commands, with the options of their tables."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from clfeval.options import Command
from clfeval.tables.input import with_input


@cache
def command_of(name: str) -> Command:
    """Return the declaration of a command."""
    word = name.replace("-", "_")
    declared: Command = getattr(import_module(f"clfeval.methods.{word}.options"), word.upper())
    return with_input(declared)
