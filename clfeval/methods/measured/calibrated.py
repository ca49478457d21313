"""Distribution of calibration measures under perfect calibration: mean, limit and p."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.clusters import ClusterCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.weights import RowWeights
from clfeval.document import Row
from clfeval.inference.resampling import random_stream
from clfeval.methods.measured.asked import RequestedMeasure
from clfeval.methods.options import IntervalSettings

COLUMNS = ("calibrated_mean", "calibrated_high", "p")
METHOD = "simulation"
_MOST, _MIN_DRAWS = 2**25, 200  # numbers drawn in all, and draws of however many scores
_AT_ONCE = 2**20
_ROUNDING = 1e-9  # of a value: as far off but for rounding


def perfect_calibration_values(
    asked: Sequence[RequestedMeasure], counts: ScoreCounts, wanted: IntervalSettings, name: str
) -> dict[str, Row]:
    """Return by name each measure if outcomes were y ~ Bernoulli(p); see `COLUMNS`.

    The mean of draws, their quantile `level`, and p = (1 + draws as extreme) / (1 + draws). Draws
    are of independent rows, effective rows with weights. name: of the random stream.
    Source: Bröcker and Smith 2007, Weather and Forecasting 22:651; Vaicenavicius et al. 2019,
    AISTATS 89:3459.
    """
    some = [one for one in asked if one.measure.interval == "null"]
    p, m, level = counts.scores, len(counts.scores), wanted.level
    if not some or level is None or not m or not (p[0] >= 0 and p[-1] <= 1):
        return {}
    n = counts.positives + counts.negatives
    rows, owned = n / counts.unit, counts.clusters
    if isinstance(owned, RowWeights):
        rows = n**2.0 / np.maximum(owned.squares.reshape(2, m).sum(axis=0), 1e-300)
    rows = np.maximum(np.rint(rows), n > 0)
    each = n / np.maximum(rows, 1)  # what one weighs
    draws = max(_MIN_DRAWS, min(wanted.resamples, _MOST // m))
    step, rng = max(1, _AT_ONCE // m), random_stream(wanted.seed, f"calibrated\0{name}")
    values: dict[str, list[Floats]] = {one.name: [] for one in some}
    for start in range(0, draws, step):
        shape = min(step, draws - start), m
        alike = rows.max() <= 1
        hits = (rng.random(shape) < p) * n if alike else rng.binomial(rows.astype(int), p, shape)
        hits = hits if alike else hits * each
        for one in some:
            values[one.name].append(np.asarray(one.measure.function(p, hits, n - hits)))
    method = METHOD if draws >= wanted.resamples else f"{METHOD}, {draws:,}"
    method += ", independent rows" * isinstance(owned, ClusterCounts)
    found = dict[str, Row]()
    for one in some:
        drawn = np.concatenate(values[one.name])
        value = float(one.measure.function(p, counts.positives, counts.negatives))
        if np.isnan(value) or np.isnan(drawn).any():
            continue
        off, far = (np.abs(drawn), abs(value)) if one.measure.aim == 0 else (drawn, value)
        share = (1 + (off >= far * (1 - _ROUNDING)).sum()) / (1 + draws)
        ends = float(drawn.mean()), float(np.quantile(off, level)), float(share)
        found[one.name] = {"method": method, **dict(zip(COLUMNS, ends, strict=True))}
    return found


def fill_calibration_columns(rows: Sequence[Row]) -> list[Row]:
    """Return rows of measures with the columns that any of them has, empty in the others."""
    if not any("p" in row for row in rows):
        return [*rows]
    return [{**row, **{key: row.get(key) for key in COLUMNS}} for row in rows]
