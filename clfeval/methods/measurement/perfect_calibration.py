"""Measures under perfect calibration: where every class is Bernoulli(score)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Row, as_row
from clfeval.inference.resampling import random_stream
from clfeval.measures.calibration_spline import DISTANCES
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.options import IntervalSettings

CALIBRATION_COLUMNS = ("calibrated_mean", "calibrated_high", "p")
_MOST_DRAWN = 2**25  # numbers drawn at most
_MOST_FITTED = 2**12  # scores to which curves are fitted in simulations


def perfect_calibration_values(
    requested: Sequence[RequestedMeasure],
    counts: ScoreCounts,
    settings: IntervalSettings,
    name: str,
) -> dict[str, Row]:
    """Return each measure under perfect calibration, y ~ Bernoulli(p), by name.

    The mean of draws, their quantile `level`, and p = (1 + draws as extreme) / (1 + draws). Draws
    are of rows, effective rows with weights, correlated in clusters as the outcomes are; of fewer
    than five clusters there are none. name: of the random stream.
    Source: Bröcker and Smith 2007, Weather and Forecasting 22:651; Vaicenavicius et al. 2019,
    AISTATS 89:3459.
    """
    measures = [measure for measure in requested if measure.measure.interval == "null"]
    p = counts.scores
    if not measures or settings.level is None or not len(p) or not (p[0] >= 0 and p[-1] <= 1):
        return {}
    if isinstance(counts.clusters, ClusterCounts) and counts.clusters.too_few:
        return {}
    curves = [measure for measure in measures if measure.measure.id in DISTANCES]
    plain = [measure for measure in measures if measure not in curves]
    return {
        **_compare_with_simulation(plain, counts, counts, settings, name),
        **_compare_with_simulation(curves, counts, counts.coarser(_MOST_FITTED), settings, name),
    }


def _compare_with_simulation(
    measures: Sequence[RequestedMeasure],
    counts: ScoreCounts,
    simulated_counts: ScoreCounts,
    settings: IntervalSettings,
    name: str,
) -> dict[str, Row]:
    """Return measures of counts under perfect calibration, by name, where all are defined.

    simulated_counts: those from whose scores classes are drawn, the same or with merged scores.
    """
    assert settings.level is not None
    drawn_numbers = len(simulated_counts.scores)
    if isinstance(counts.clusters, ClusterCounts):
        drawn_numbers = len(counts.clusters.n)
    draws = max(200, min(settings.resamples, _MOST_DRAWN // drawn_numbers))
    rng = random_stream(settings.seed, f"calibrated\0{name}")
    values = _simulated_values(measures, simulated_counts, draws, rng)
    method = "simulation" if draws >= settings.resamples else f"simulation, {draws:,}"
    method += ", correlated rows" * isinstance(counts.clusters, ClusterCounts)
    rows = dict[str, Row]()
    for measure in measures:
        columns = _calibrated_columns(measure, counts, values[measure.name], settings.level)
        if columns is not None:
            rows[measure.name] = as_row({"method": method, **columns})
    return rows


def _calibrated_columns(
    measure: RequestedMeasure, counts: ScoreCounts, simulated: Floats, level: float
) -> dict[str, float] | None:
    """Return the columns of a measure under perfect calibration; None where some are undefined.

    Curves need both classes: up to half of the samples, those with one class, are left out.
    """
    if measure.measure.id in DISTANCES and np.isnan(simulated).mean() <= 0.5:
        simulated = simulated[~np.isnan(simulated)]
    value = float(measure.measure.function(counts.scores, counts.positives, counts.negatives))
    if np.isnan(value) or np.isnan(simulated).any():
        return None
    return _calibration_columns(simulated, value, level, measure.measure.aim)


def _simulated_values(
    measures: Sequence[RequestedMeasure], counts: ScoreCounts, draws: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the measures of calibrated samples by name, (draws,) each."""
    values: dict[str, list[Floats]] = {measure.name: [] for measure in measures}
    if not measures:
        return {}
    rows = counts.positives + counts.negatives
    for positives in calibrated_positives(counts, draws, rng):
        for measure in measures:
            function = measure.measure.function
            values[measure.name].append(
                np.asarray(function(counts.scores, positives, rows - positives))
            )
    return {name: np.concatenate(parts) for name, parts in values.items()}


def calibrated_positives(
    counts: ScoreCounts, draws: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the weight of positives at each score, (b, m), where y ~ Bernoulli(p); all draws."""
    if isinstance(counts.clusters, ClusterCounts):
        from clfeval.methods.measurement.clustered_outcomes import clustered_outcomes

        yield from clustered_outcomes(counts).draw_positives(draws, rng)
        return
    p = counts.scores
    m = len(p)
    n = counts.positives + counts.negatives
    rows = n / counts.unit
    if isinstance(counts.clusters, RowWeights):
        squares = counts.clusters.squares.reshape(2, m).sum(axis=0)
        rows = n**2.0 / np.maximum(squares, 1e-300)
    rows = np.maximum(np.rint(rows), n > 0)
    row_weight = n / np.maximum(rows, 1)
    step = max(1, 2**20 // m)
    for start in range(0, draws, step):
        shape = (min(step, draws - start), m)
        if rows.max() <= 1:
            yield (rng.random(shape) < p) * n
        else:
            yield rng.binomial(rows.astype(int), p, shape) * row_weight


def _calibration_columns(
    simulated: Floats, value: float, level: float, aim: float | None
) -> dict[str, float]:
    """Return mean and quantile of simulated values, and p: of their sizes where the aim is 0."""
    sizes = np.abs(simulated) if aim == 0 else simulated
    size = abs(value) if aim == 0 else value
    share = (1 + (sizes >= size * (1 - 1e-9)).sum()) / (1 + len(simulated))  # despite rounding
    numbers = (float(simulated.mean()), float(np.quantile(sizes, level)), float(share))
    return dict(zip(CALIBRATION_COLUMNS, numbers, strict=True))
