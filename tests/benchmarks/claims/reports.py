"""The call that the simulations judge: a report of a frame, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

import clfeval
from clfeval.api.baseline import table_baseline
from clfeval.api.result import Result
from clfeval.compare.gates.evaluate import evaluate_gates
from clfeval.compare.gates.limits import Gates
from clfeval.tables.peek import Read


def report_of(frame: pl.DataFrame, baseline: Path | None = None, **options: Any) -> Result:
    """Return the report of a table with columns `truth` and `id`.

    baseline: a table. No public function takes one, so this does what the program does.
    """
    options = {"truth": "truth", "id": "id", **options}
    if baseline is None:
        return clfeval.report(frame, **options)
    function: Any = clfeval.report
    gates, heard = Gates(baseline=str(baseline)), list[Read]()
    result = function.asked(frame, options, heard.append, lambda _: "")
    beside = table_baseline(function, frame, options, gates, result, heard[-1], lambda _: None)
    return evaluate_gates(result, gates, beside)
