"""The public functions as a command line calls them: what they refuse is said in its words."""

from __future__ import annotations

from typing import Any

from clfeval.methods.command_lookup import command_of


def at_shell(function: Any) -> Any:
    """Return a public function whose errors name options as a shell does, to the letter."""
    command = command_of(function.__name__.replace("_", "-"))
    known = {option.name for option in command.options()}

    def called(table: Any = None, *, on_open: Any = None, **given: Any) -> Any:
        assert given.keys() <= known, f"no options: {given.keys() - known}"
        return function.compute(table, given, on_open or (lambda _: None), lambda _: "")

    return called
