"""Lines of a history made by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from clfeval.compare.history.file import (
    HistoryEntry,
    HistoryLine,
    HistoryLines,
    HistoryMeasure,
    append_entries,
    read_history,
)

Z = 1.959963984540054  # of 95 %
SETTINGS = "cmd:report|pos:1|level:0.95"


def measured(
    value: float | None, se: float | None = None, reason: str | None = None
) -> HistoryMeasure:
    """Return a measure whose interval is the value and 1.96 standard errors either way."""
    if value is None or se is None:
        return HistoryMeasure(value, reason=reason)
    return HistoryMeasure(value, value - Z * se, value + Z * se, se)


def line(
    label: str,
    model: str = "rf",
    truth: str | None = "ids:aa",
    *,
    settings: str = SETTINGS,
    gates: dict[str, bool] | None = None,
    version: str = "1",
    run: str | None = None,
    rows: float | None = 100,
    **measures: HistoryMeasure,
) -> HistoryLine:
    """Return a line of a report."""
    return HistoryLine(
        "report",
        label,
        model,
        settings,
        version,
        run,
        ("00",),
        truth,
        rows,
        40,
        0.95,
        measures,
        gates or {},
    )


def past(entries: Iterable[HistoryEntry], name: str = "h.jsonl") -> HistoryLines:
    """Return the history of these lines, by way of a file."""
    Path(name).unlink(missing_ok=True)
    append_entries(name, entries)
    return read_history(name)


def share(k: int, n: int) -> HistoryMeasure:
    """Return a share with Wald's limits."""
    p = k / n
    return measured(p, math.sqrt(p * (1 - p) / n))
