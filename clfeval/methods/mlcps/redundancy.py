"""Metrics that say the same: each pair of them doubles the weight of one thing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from clfeval.measures.metric_names import same_thing
from clfeval.result import Row, Warn

Floats = NDArray[np.float64]

CLOSE = 0.999  # |r| over models, above which two metrics are one
FEWEST = 3  # models: two points always lie on a line
SURE = 4  # models: of three, one pair in 35 lies that close to a line by chance


def redundant_rows(metrics: Sequence[str], values: Floats, less: Collection[str] = ()) -> list[Row]:
    """Return the pairs of metrics that are identical, one measure in two forms, or |r| > .999.

    r is Pearson's over models, from three models on, undefined for a metric that is constant. The
    sign that counts is that of the rays: `less` names the metrics of which less is better. Where
    it is negative the two are opposite and pull against each other.

    Shapes: values (k, n), raw.
    """
    k, n = values.shape
    r = _correlations(values) if k >= FEWEST else np.full((n, n), np.nan)
    sign = np.array([-1 if metric in less else 1 for metric in metrics])
    over = "models" if k >= SURE else "three models, maybe by chance"
    rows: list[Row] = []
    for i in range(n):
        for j in range(i + 1, n):
            same = bool((values[:, i] == values[:, j]).all())
            words = same_thing(metrics[i], metrics[j])
            number = None if np.isnan(r[i, j]) else float(r[i, j])
            close = number is not None and abs(number) > CLOSE
            if not (same or words or close):
                continue
            turned = sign[i] * sign[j] * (1.0 if same else number or 0.0) < -CLOSE
            why = "identical" if same else "same measure" if words else "correlated"
            note = words or (
                "every model has the same value in both"
                if same
                else f"r = {number:.5f} over {over}"
            )
            if turned:
                why = "opposite"
                note += (
                    ": as one gets better the other gets worse, and they pull against each other"
                )
            rows.append(
                {"first": metrics[i], "second": metrics[j], "why": why, "r": number, "note": note}
            )
    return rows


def redundancy_note(rows: Sequence[Row]) -> list[Warn]:
    """Say which metrics count twice, and which against each other."""
    said = []
    for opposite, words in (
        (False, "together they weigh double"),
        (True, "they pull against each other"),
    ):
        found = [row for row in rows if (row["why"] == "opposite") == opposite]
        if found:
            pairs = [f"'{row['first']}' and '{row['second']}'" for row in found[:3]]
            more = f", and {len(found) - 3} more pairs" if len(found) > 3 else ""
            what = "say the opposite" if opposite else "say the same"
            said.append(Warn("redundant", f"{', '.join(pairs)}{more} {what}: {words}"))
    return said


def _correlations(values: Floats) -> Floats:
    """Return Pearson's r of every two columns, NaN where one is constant."""
    most = np.abs(values).max(axis=0)
    values = values / np.where(most > 0, most, 1.0)  # squares of large ones would be infinite
    centred = values - values.mean(axis=0)
    centred[:, (values == values[0]).all(axis=0)] = 0.0
    size = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / size
        r = np.clip(unit.T @ unit, -1.0, 1.0)
    r[:, size == 0] = r[size == 0, :] = np.nan
    return np.asarray(r)
