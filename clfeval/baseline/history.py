"""A line of a history as a baseline."""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.errors import UsageError
from clfeval.result import Estimate, Result

HistoryValues = Mapping[str, Mapping[str, Estimate]]  # by model, by measure


def of_history(name: str, result: Result) -> Result:
    """Return the last accepted line of a history as the result it was written of.

    SEAM: `clfeval.history` reads the file, and `as_result` makes a baseline of what it returns.
    """
    del result
    raise UsageError.of("a history is not yet read as a baseline", "baseline", name)


def as_result(result: Result, signature: str, models: HistoryValues) -> Result:
    """Return what a history holds of models as a result of the same command as this one.

    signature: that of the line, whose settings are compared with those of `result`.
    """
    rows = [{"slice": None, "model": name, **cells} for name, cells in models.items()]
    return Result(result.command, signature, (), {}, {}, {"models": rows})
