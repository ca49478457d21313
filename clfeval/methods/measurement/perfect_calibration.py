"""Measures under perfect calibration: where every class is Bernoulli(score)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clfeval.arrays import Floats, constant_arrays
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
    stream_name: str,
) -> dict[str, Row]:
    """Return each measure under perfect calibration, y ~ Bernoulli(p), by name.

    The mean of draws, their quantile `level`, and p = (1 + draws as extreme) / (1 + draws). Draws
    are of rows, effective rows with weights, correlated in clusters as the outcomes are; of fewer
    than five clusters there are none. stream_name: of the random stream.
    Source: Bröcker and Smith 2007, Weather and Forecasting 22:651; Vaicenavicius et al. 2019,
    AISTATS 89:3459.
    """
    simulated_measures = [measure for measure in requested if measure.measure.interval == "null"]
    scores = counts.scores
    if (
        not simulated_measures
        or settings.level is None
        or not len(scores)
        or not (scores[0] >= 0 and scores[-1] <= 1)
    ):
        return {}
    if isinstance(counts.clusters, ClusterCounts) and counts.clusters.too_few:
        return {}
    curve_measures = [measure for measure in simulated_measures if measure.measure.id in DISTANCES]
    other_measures = [measure for measure in simulated_measures if measure not in curve_measures]
    return {
        **_compare_with_simulation(other_measures, counts, counts, settings, stream_name),
        **_compare_with_simulation(
            curve_measures, counts, counts.coarser(_MOST_FITTED), settings, stream_name
        ),
    }


def _compare_with_simulation(
    measures: Sequence[RequestedMeasure],
    counts: ScoreCounts,
    simulated_counts: ScoreCounts,
    settings: IntervalSettings,
    stream_name: str,
) -> dict[str, Row]:
    """Return measures of counts under perfect calibration, by name, where all are defined.

    simulated_counts: those from whose scores classes are drawn, the same or with merged scores.
    """
    assert settings.level is not None
    numbers_per_draw = len(simulated_counts.scores)
    if isinstance(counts.clusters, ClusterCounts):
        numbers_per_draw = len(counts.clusters.n)
    draws = max(200, min(settings.resamples, _MOST_DRAWN // numbers_per_draw))
    rng = random_stream(settings.seed, f"calibrated\0{stream_name}")
    simulated_values = _simulated_values(measures, simulated_counts, draws, rng)
    method = "simulation" if draws >= settings.resamples else f"simulation, {draws:,}"
    if isinstance(counts.clusters, ClusterCounts):
        method += ", correlated rows"
    rows = dict[str, Row]()
    for measure in measures:
        columns = _calibrated_columns(
            measure, counts, simulated_values[measure.name], settings.level
        )
        if columns is not None:
            rows[measure.name] = as_row({"method": method, **columns})
    return rows


def _calibrated_columns(
    measure: RequestedMeasure, counts: ScoreCounts, simulated_values: Floats, level: float
) -> dict[str, float] | None:
    """Return the columns of a measure under perfect calibration; None where some are undefined.

    Curves need both classes: up to half of the samples, those with one class, are left out.
    """
    if measure.measure.id in DISTANCES and np.isnan(simulated_values).mean() <= 0.5:
        simulated_values = simulated_values[~np.isnan(simulated_values)]
    value = float(measure.measure.function(counts.scores, counts.positives, counts.negatives))
    if np.isnan(value) or np.isnan(simulated_values).any():
        return None
    return _calibration_columns(simulated_values, value, level, measure.measure.aim)


def _simulated_values(
    measures: Sequence[RequestedMeasure], counts: ScoreCounts, draws: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the measures of calibrated samples by name, (draws,) each."""
    value_blocks: dict[str, list[Floats]] = {measure.name: [] for measure in measures}
    if not measures:
        return {}
    weights = counts.positives + counts.negatives
    for positives in calibrated_positives(counts, draws, rng):
        score_counts = constant_arrays(counts.scores, positives, weights - positives)
        for measure in measures:
            value_blocks[measure.name].append(np.asarray(measure.measure.function(*score_counts)))
    return {name: np.concatenate(blocks) for name, blocks in value_blocks.items()}


def calibrated_positives(
    counts: ScoreCounts, draws: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the weight of positives at each score, (b, m), by y ~ Bernoulli(p), for all draws."""
    if isinstance(counts.clusters, ClusterCounts):
        from clfeval.methods.measurement.clustered_outcomes import clustered_outcomes

        yield from clustered_outcomes(counts).draw_positives(draws, rng)
        return
    p = counts.scores
    score_count = len(p)
    weights = counts.positives + counts.negatives
    row_counts = weights / counts.unit
    if isinstance(counts.clusters, RowWeights):
        squares = counts.clusters.squares.reshape(2, score_count).sum(axis=0)
        row_counts = weights**2.0 / np.maximum(squares, 1e-300)
    row_counts = np.maximum(np.rint(row_counts), weights > 0)
    row_weight = weights / np.maximum(row_counts, 1)
    block_size = max(1, 2**20 // score_count)
    for first_draw in range(0, draws, block_size):
        shape = (min(block_size, draws - first_draw), score_count)
        if row_counts.max() <= 1:
            yield (rng.random(shape) < p) * weights
        else:
            yield rng.binomial(row_counts.astype(int), p, shape) * row_weight


def _calibration_columns(
    simulated_values: Floats, value: float, level: float, aim: float | None
) -> dict[str, float]:
    """Return mean and quantile of simulated values, and p: of their sizes where the aim is 0."""
    sizes = np.abs(simulated_values) if aim == 0 else simulated_values
    size = abs(value) if aim == 0 else value
    is_extreme = sizes >= size * (1 - 1e-9)  # or equal but for rounding
    p_value = (1 + is_extreme.sum()) / (1 + len(simulated_values))
    columns = (float(simulated_values.mean()), float(np.quantile(sizes, level)), float(p_value))
    return dict(zip(CALIBRATION_COLUMNS, columns, strict=True))
