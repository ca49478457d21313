"""Hints for command lines with an option of another command, or an unknown command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from clfeval import COMMANDS
from clfeval.compare.gates.limits import Gates
from clfeval.errors import UsageError, format_command_line, say_which_have_it
from clfeval.options.declaration import Option, options_of
from clfeval.options.dialect import MEANT

Find = Callable[[str, str], Option | None]  # returns the option of a command by its flag
NO_TABLE = ("batch", "history")


@contextmanager
def suggest_other_commands(command: str, words: Sequence[str], find: Find) -> Iterator[None]:
    """Raise UsageError for an option that other commands have, naming them; words: arguments."""
    try:
        yield
    except Exception as error:  # recognised by its attributes: its class is not public
        flag = getattr(error, "option_name", "")
        every = (*COMMANDS, *NO_TABLE)
        owners = [(one, o) for one in every if flag.startswith("--") and (o := find(one, flag))]
        shells = [one for one, option in owners if option.opt.shell]
        own = dict(owners).get(command)
        if (not owners and flag not in MEANT) or (own and own.opt.shell):
            raise  # second case: the command has the option, and another error occurred
        if not owners:
            what = f"{command} has no {flag}"
            raise UsageError.new(what, "command-line", hint=f"use {MEANT[flag]}") from None
        if own or not shells:
            owner, option = (command, own) if own else owners[0]
            where = "result.check" if option in options_of(Gates) else f"clfeval.{owner}"
            where = where.replace("-", "_")
            what = f"{flag} exists in Python and in batches only"
            hint = f"in Python {where}({option.name}=...), in a batch {option.key}: ..."
            raise UsageError.new(what, "command-line", hint=hint) from None
        raise _command_error(
            f"{command} has no {flag}: {say_which_have_it(shells)}", [shells[0], *words]
        ) from None


def refuse_unknown_command(words: Sequence[str], find: Find) -> None:
    """Raise for an unknown command that is an option or a file, with the command to run."""
    word, flag = words[0], f"--{words[0]}"
    if word == "suite":
        raise _command_error(f"clfeval has no command '{word}'", ["batch", *words[1:]])
    if any((option := find(one, flag)) and option.opt.shell for one in COMMANDS):
        what = f"clfeval has no command '{word}': report has {flag}"
        raise _command_error(what, ["report", flag, *words[1:]])
    if os.path.isfile(word):
        command = "batch" if word.endswith((".yaml", ".yml")) else "report"
        raise _command_error(f"'{word}' is a file, not a command", [command, *words])


def _command_error(what: str, words: Sequence[str]) -> UsageError:
    return UsageError.new(what, "command-line", hint=format_command_line(["clfeval", *words]))
