"""A history as a baseline: the seam where its reader is put in."""

from __future__ import annotations

from clfeval.errors import UsageError
from clfeval.result import Result


def of_history(name: str, result: Result) -> Result:
    """Return what was accepted last in a history of the same command, as a saved result.

    SEAM, until `clfeval.history` is here: its reader is a function of the file's name and of
    `result.command`, and this one returns what it returns.
    """
    what = f"a history is not read as a baseline of {result.command} yet"
    raise UsageError.of(what, "baseline", name)
