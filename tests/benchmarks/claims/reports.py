"""The call that the simulations judge: a report of a frame, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

import clfeval
from clfeval.api.baseline import Listeners, compute_with_gates
from clfeval.compare.gates.limits import Gates
from clfeval.document import Document
from clfeval.methods.report.options import REPORT


def report_of(frame: pl.DataFrame, baseline: Path | None = None, **options: Any) -> Document:
    """Return the report of a table with columns `truth` and `id`.

    baseline: a table. No public function takes one, so this does what the program does.
    """
    options = {"truth": "truth", "id": "id", **options}
    if baseline is None:
        return clfeval.report(frame, **options)
    silent = Listeners(lambda _: None, lambda _: None, lambda _: "")
    gates = Gates(baseline=str(baseline))
    return compute_with_gates(REPORT, frame, options, gates, silent, label=None)
