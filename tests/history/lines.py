"""Lines of a history made by hand, what a file holds, and what its trend says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clfeval.api.result import Result
from clfeval.api.texts import fill_result
from clfeval.compare.history.file import (
    HistoryEntry,
    HistoryLine,
    HistoryLines,
    HistoryMeasure,
    append_entries,
    read_history,
)
from clfeval.compare.history.trend import trend_result
from clfeval.placeholders import fill_for_shell

Z = 1.959963984540054  # of 95 %
SETTINGS = "cmd:report|pos:1|level:0.95"


def history_measure(
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


def history_of(entries: Iterable[HistoryEntry], name: str = "h.jsonl") -> HistoryLines:
    """Return the history of these lines, by way of a file."""
    Path(name).unlink(missing_ok=True)
    append_entries(name, entries)
    return read_history(name)


def trend_of(*entries: HistoryEntry) -> Result:
    """Return the trend of these lines, as a shell shows it."""
    return fill_result(trend_result(history_of(entries), "report"), fill_for_shell)


def answer_texts(result: Result) -> list[str]:
    return [answer.text for answer in result.answer]


def json_lines(name: str = "h.jsonl") -> list[dict[str, Any]]:
    """Return the lines of a history as they are written."""
    return [json.loads(text) for text in Path(name).read_text(encoding="utf-8").splitlines()]


def share(k: int, n: int) -> HistoryMeasure:
    """Return a share with Wald's limits."""
    p = k / n
    return history_measure(p, math.sqrt(p * (1 - p) / n))
