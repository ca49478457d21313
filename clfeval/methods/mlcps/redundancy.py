"""Metrics that say the same: each pair of them doubles the weight of one thing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clfeval.measures.metric_names import same_thing
from clfeval.result import Row, Warn

Floats = NDArray[np.float64]

CLOSE = 0.999  # |r| over models, above which two metrics are one
FEWEST = 3  # models: two points always lie on a line


def redundant_rows(metrics: Sequence[str], values: Floats) -> list[Row]:
    """Return the pairs of metrics that are identical, one measure in two forms, or |r| > .999.

    r is Pearson's over models, from three models on, undefined for a metric that is constant.

    Shapes: values (k, n), raw.
    """
    k, n = values.shape
    r = _correlations(values) if k >= FEWEST else np.full((n, n), np.nan)
    rows: list[Row] = []
    for i in range(n):
        for j in range(i + 1, n):
            same = bool((values[:, i] == values[:, j]).all())
            words = same_thing(metrics[i], metrics[j])
            close = abs(r[i, j]) > CLOSE
            if not (same or words or close):
                continue
            why = "identical" if same else "same measure" if words else "correlated"
            number = None if np.isnan(r[i, j]) else float(r[i, j])
            note = words or (
                "every model has the same value in both"
                if same
                else f"r = {number:.5f} over models"
            )
            rows.append(
                {"first": metrics[i], "second": metrics[j], "why": why, "r": number, "note": note}
            )
    return rows


def redundancy_note(rows: list[Row]) -> list[Warn]:
    """Say which metrics count twice."""
    if not rows:
        return []
    pairs = [f"'{row['first']}' and '{row['second']}'" for row in rows[:3]]
    more = f", and {len(rows) - 3} more pairs" if len(rows) > 3 else ""
    text = f"{', '.join(pairs)}{more} say the same: together they weigh double"
    return [Warn("redundant", text)]


def _correlations(values: Floats) -> Floats:
    """Return Pearson's r of every two columns, NaN where one is constant."""
    centred = values - values.mean(axis=0)
    centred[:, (values == values[0]).all(axis=0)] = 0.0
    size = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / size
        r = np.clip(unit.T @ unit, -1.0, 1.0)
    r[:, size == 0] = r[size == 0, :] = np.nan
    return np.asarray(r)
