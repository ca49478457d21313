"""The public functions as a command line calls them: what they refuse is said in its words."""

from __future__ import annotations

from typing import Any

from clfeval.api.texts import fill_result
from clfeval.errors import ClfevalError
from clfeval.methods.command_lookup import command_of
from clfeval.placeholders import fill_for_shell


def at_shell(function: Any) -> Any:
    """Return a public function whose errors name options as a shell does, to the letter."""
    command = command_of(function.__name__.replace("_", "-"))
    known = {option.name for option in command.options()}

    def called(table: Any = None, *, on_open: Any = None, **given: Any) -> Any:
        assert given.keys() <= known, f"no options: {given.keys() - known}"
        try:
            result = function.compute(table, given, on_open or (lambda _: None), lambda _: "")
        except ClfevalError as error:
            error.fill_texts(fill_for_shell)
            raise
        return fill_result(result, fill_for_shell)

    return called
