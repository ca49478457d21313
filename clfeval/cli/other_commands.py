"""Words of a command line that another command has: which one, and the line to type."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from clfeval.errors import UsageError, has_it
from clfeval.shell import line

HasFlag = Callable[[str, str], bool]  # whether a command has an option
_OPTIONS = {"batch": "--config", "suite": "--config"}  # words for what an option does


@contextmanager
def naming_owners(
    command: str, words: Sequence[str], commands: Sequence[str], has: HasFlag
) -> Iterator[None]:
    """Refuse an option of other commands with their names; UsageError.

    command: the one that lacks it, or the program; words: what stands behind its name. An option
    that no command has is refused as the library of the command line does it.
    """
    try:
        yield
    except Exception as error:  # known by what it has: its class is no public name
        flag = getattr(error, "option_name", "")
        owners = [one for one in commands if flag.startswith("--") and has(one, flag)]
        if not owners:
            raise
        best = owners[0] if "report" not in owners else "report"
        what = f"{command} has no {flag}: {has_it(owners)}"
        raise _refused(what, [best, *words]) from None


def refuse_command(words: Sequence[str], commands: Sequence[str], has: HasFlag) -> None:
    """Refuse a command that there is not, where an option does that, or a file is meant."""
    word, flag = words[0], _OPTIONS.get(words[0], f"--{words[0]}")
    if any(has(one, flag) for one in commands):
        what = f"clfeval has no command '{word}': report has {flag}"
        raise _refused(what, ["report", flag, *words[1:]])
    if os.path.isfile(word):
        raise _refused(f"'{word}' is a file, no command", ["report", *words])


def _refused(what: str, words: Sequence[str]) -> UsageError:
    return UsageError.of(what, "command-line", hint=line(["clfeval", *words]))
