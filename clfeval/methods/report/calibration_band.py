"""The calibration curve with its bands: a spline, or observed shares where scores are few."""

from __future__ import annotations

from functools import cache, partial
from math import nan

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, divide
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.patterns import from_units
from clfeval.counts.scores import ScoreCounts, group_starts
from clfeval.document.cells import Row, Rows
from clfeval.document.rows import RowWithLateCells, deferred_rows
from clfeval.inference.resampling import random_stream
from clfeval.measures.calibration_spline import LEVELS, fit_spline, row_quantiles
from clfeval.measures.isotonic import isotonic_shares
from clfeval.measures.logistic import log_odds
from clfeval.methods.confidence_limits import exact_limits
from clfeval.methods.estimates import Cells, Design, rows_from_columns
from clfeval.methods.measurement.net_benefits import confusions_between
from clfeval.methods.measurement.perfect_calibration import calibrated_positives
from clfeval.methods.report.curve_limits import (
    CurveLimits,
    coefficient_covariance,
    consistency_limits,
    spline_limits,
)

DRAWN_SHARE = 0.01  # of the rows below, and above, the scores at which a curve is drawn
CONSISTENCY = ("consistency_low", "consistency_high")  # columns, computed where they are read
_POINTS = 21  # at even scores, and as many at even shares of the rows
_MOST_FITTED = 2**13  # distinct scores; more are grouped
_MOST_SIMULATED = 2**10
_SAMPLES = 1000  # of calibrated outcomes


def calibration_band_rows(
    model: str, counts: ScoreCounts, level: float | None, design: Design, seed: int
) -> Rows:
    """Return the calibration curve of a model at some scores, with limits, of all rows.

    curve: the spline of `fit_spline`, between the 1st and 99th percentile of scores; of up to
    LEVELS distinct scores the share of positives at each, with Clopper-Pearson limits, by
    Bonferroni for all jointly. isotonic: linear between the steps. consistency: where the
    isotonic curve of a calibrated model is in `level` of samples; None in clusters, whose rows are
    not independent. Scores must be probabilities.
    """
    small = _group_scores(counts, _MOST_FITTED)
    grid = _band_scores(small)

    @cache
    def consistency() -> list[Row]:
        band = _consistency_at(small, grid, level, model, seed)
        columns = map(_none_if_unknown, band)
        return rows_from_columns(dict(zip(CONSISTENCY, columns, strict=True)))

    def consistency_at(place: int) -> Row:
        return consistency()[place]

    def rows() -> Rows:
        limits = _curve_limits(small, grid, level, design)
        columns = {
            "score": grid.tolist(),
            "rows": _rows_near(small, grid).tolist(),
            **{
                name: _none_if_unknown(getattr(limits, name))
                for name in ("curve", "low", "high", "low_all", "high_all")
            },
            "isotonic": _isotonic_at(small, grid).tolist(),
        }
        rows_with_limits = rows_from_columns(columns, slice=None, model=model)
        return [
            RowWithLateCells(row, CONSISTENCY, partial(consistency_at, place))
            for place, row in enumerate(rows_with_limits)
        ]

    if counts.clusters is not None:  # needs all scores, which are not kept
        computed = [dict(row) for row in rows()]
        return deferred_rows(len(computed), lambda: computed)
    return deferred_rows(len(grid), rows)


def has_few_levels(counts: ScoreCounts) -> bool:
    """Return whether the scores are so few that each is judged by its share of positives."""
    return len(counts.scores) <= LEVELS


def _group_scores(counts: ScoreCounts, most: int) -> ScoreCounts:
    """Return counts of at most about `most` scores; of more, each group has its mean score."""
    rows = counts.positives + counts.negatives
    starts = group_starts(rows, most)
    if len(starts) == len(rows):
        return counts
    positives = np.add.reduceat(counts.positives, starts)
    negatives = np.add.reduceat(counts.negatives, starts)
    means = divide(np.add.reduceat(rows * counts.scores, starts), positives + negatives)
    group = np.searchsorted(starts, np.arange(len(rows)), side="right") - 1
    clusters = counts.clusters
    if clusters is not None:
        clusters = clusters.renumber(np.concatenate([group, group + len(starts)]))
    return ScoreCounts(means, positives, negatives, counts.unit, clusters)


def _band_scores(counts: ScoreCounts) -> Floats:
    """Return the scores at which a curve is drawn, ascending: all of few, else a grid."""
    rows = counts.positives + counts.negatives
    used = rows > 0
    scores = counts.scores[used]
    if has_few_levels(counts):
        return scores
    inner = scores[(scores > 0) & (scores < 1)]
    if len(inner) < 2:
        return inner
    shares = np.linspace(DRAWN_SHARE, 1 - DRAWN_SHARE, _POINTS)
    quantiles = row_quantiles(scores, rows[used], shares, _units_per_row(counts))
    quantiles = np.clip(quantiles, inner[0], inner[-1])
    return np.unique([*np.linspace(quantiles[0], quantiles[-1], _POINTS), *quantiles])


def _units_per_row(counts: ScoreCounts) -> float:
    """Return how many units a row has: with sampling weights the effective weight of one.

    With weights of rows in clusters, the mean weight of the rows of one cluster with equal scores
    and truth, so that no scale of weights matters.
    """
    clusters = counts.clusters
    if isinstance(clusters, RowWeights):
        return clusters.weight
    if clusters is not None and counts.unit != 1:
        return float(clusters.n.mean())
    return counts.unit


def _curve_limits(
    counts: ScoreCounts, grid: Floats, level: float | None, design: Design
) -> CurveLimits:
    """Return the curve and its limits at the asked scores, (g,) each."""
    if has_few_levels(counts):
        return _level_limits(counts, level, design)
    inner = (counts.scores > 0) & (counts.scores < 1)
    if not inner.any():
        return CurveLimits(*np.full((5, len(grid)), nan))
    used = np.concatenate([inner, inner])
    x = log_odds(counts.scores)[inner]
    parts = counts.positives[inner], counts.negatives[inner]
    if not (parts[0].any() and parts[1].any()):
        return CurveLimits(*np.full((5, len(grid)), nan))
    clusters = counts.clusters
    fit = fit_spline(x, *parts, _units_per_row(counts))
    if isinstance(clusters, RowWeights):
        clusters = clusters.among(used)
    elif clusters is not None:
        clusters = _among(clusters, used)
    covariance, df = coefficient_covariance(fit, x, *parts, counts.unit, clusters)
    if np.isnan(df):
        level = None
    return spline_limits(fit, log_odds(grid), covariance, level, df)


def _among(clusters: ClusterCounts, used: Bools) -> ClusterCounts:
    """Return the counts of some patterns (m,) in each cluster, renumbered."""
    entries = used[clusters.place]
    owners = np.array(clusters.owners, object)[entries]
    places = np.cumsum(used) - 1
    return ClusterCounts.from_entries(
        owners.tolist(), places[clusters.place[entries]], clusters.n[entries]
    )


def _level_limits(counts: ScoreCounts, level: float | None, design: Design) -> CurveLimits:
    """Return the share of positives at each score with rows, with exact limits."""
    places = np.flatnonzero(counts.positives + counts.negatives > 0)
    tables = confusions_between(counts, places, places + 1)
    shares = divide(tables.tp, tables.tp + tables.fp)
    if level is None:
        return CurveLimits(shares, *np.full((4, len(places)), nan))
    cells = Cells.at_prevalence(tables)
    limits = list[Floats]()
    for each_level in (level, 1 - (1 - level) / len(places)):
        pair = exact_limits("precision", cells, level=each_level, design=design)
        limits += np.full((2, len(places)), nan) if pair is None else pair
    return CurveLimits(shares, *limits)


def _rows_near(counts: ScoreCounts, grid: Floats) -> Counts:
    """Return the rows with scores nearer to each asked score than to the others, (g,)."""
    edges = (grid[1:] + grid[:-1]) / 2
    places = np.searchsorted(edges, counts.scores, side="right")
    rows = np.zeros(len(grid), counts.positives.dtype)
    np.add.at(rows, places, counts.positives + counts.negatives)
    return np.asarray(from_units(rows, counts.unit))


def _isotonic_at(counts: ScoreCounts, grid: Floats) -> Floats:
    """Return the isotonic curve at asked scores, linear between its steps as in scikit-learn."""
    blocks = isotonic_shares(counts.scores, counts.positives, counts.negatives)
    steps = np.column_stack([blocks.starts, blocks.stops - 1]).ravel()
    return np.interp(grid, counts.scores[steps], np.repeat(blocks.shares, 2))


def _consistency_at(
    counts: ScoreCounts, grid: Floats, level: float | None, model: str, seed: int
) -> tuple[Floats, Floats]:
    """Return the band of isotonic curves of calibrated samples at asked scores; NaN in clusters."""
    if level is None or isinstance(counts.clusters, ClusterCounts) or not len(grid):
        unknown = np.full(len(grid), nan)
        return unknown, unknown
    small = _group_scores(counts, _MOST_SIMULATED)
    rng = random_stream(seed, f"{model}\0consistency")
    samples = calibrated_positives(small, _SAMPLES, rng)
    rows = small.positives + small.negatives
    low, high = consistency_limits(small.scores, rows, samples, level)
    return np.interp(grid, small.scores, low), np.interp(grid, small.scores, high)


def _none_if_unknown(values: Floats) -> list[float | None]:
    """Return numbers with None where one is unknown."""
    return [None if np.isnan(value) else value for value in values.tolist()]
