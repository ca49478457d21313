"""Rows that share patients: a table of three models."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

MODELS = ("a", "b", "c")


def shared_rows(
    patients: int = 40, rows: int = 5, seed: int = 3, *, positive: float, rates: tuple[float, ...]
) -> pl.DataFrame:
    """Return models that are right at these rates, in most rows of a patient at once."""
    rng = np.random.default_rng(seed)
    n = patients * rows
    truth = (rng.random(n) < positive).astype(int)
    columns: dict[str, Any] = {"patient": np.repeat(np.arange(patients), rows), "truth": truth}
    for name, rate in zip(MODELS, rates, strict=True):
        chance = np.where(rng.random(n) < 0.6, np.repeat(rng.random(patients), rows), rng.random(n))
        columns[name] = np.where(chance < rate, truth, 1 - truth)
    return pl.DataFrame(columns)
