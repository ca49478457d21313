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
    grouped_counts = _group_scores(counts, _MOST_FITTED)
    curve_scores = _band_scores(grouped_counts)

    @cache
    def consistency_rows() -> list[Row]:
        band = _consistency_at(grouped_counts, curve_scores, level, model, seed)
        columns = map(_none_if_unknown, band)
        return rows_from_columns(dict(zip(CONSISTENCY, columns, strict=True)))

    def consistency_cells(point_index: int) -> Row:
        return consistency_rows()[point_index]

    def band_rows() -> Rows:
        limits = _curve_limits(grouped_counts, curve_scores, level, design)
        columns = {
            "score": curve_scores.tolist(),
            "rows": _rows_near(grouped_counts, curve_scores).tolist(),
            **{
                name: _none_if_unknown(getattr(limits, name))
                for name in ("curve", "low", "high", "low_all", "high_all")
            },
            "isotonic": _isotonic_at(grouped_counts, curve_scores).tolist(),
        }
        rows_with_limits = rows_from_columns(columns, slice=None, model=model)
        return [
            RowWithLateCells(row, CONSISTENCY, partial(consistency_cells, point_index))
            for point_index, row in enumerate(rows_with_limits)
        ]

    if counts.clusters is not None:  # needs all scores, which are not kept
        computed_rows = [dict(row) for row in band_rows()]
        return deferred_rows(len(computed_rows), lambda: computed_rows)
    return deferred_rows(len(curve_scores), band_rows)


def has_few_levels(counts: ScoreCounts) -> bool:
    """Return whether the scores are so few that each is judged by its share of positives."""
    return len(counts.scores) <= LEVELS


def _group_scores(counts: ScoreCounts, most_scores: int) -> ScoreCounts:
    """Return counts of at most `most_scores` scores; a group of several has its mean score."""
    rows_at_scores = counts.positives + counts.negatives
    starts = group_starts(rows_at_scores, most_scores)
    if len(starts) == len(rows_at_scores):
        return counts
    positives = np.add.reduceat(counts.positives, starts)
    negatives = np.add.reduceat(counts.negatives, starts)
    mean_scores = divide(
        np.add.reduceat(rows_at_scores * counts.scores, starts), positives + negatives
    )
    group_of_score = np.searchsorted(starts, np.arange(len(rows_at_scores)), side="right") - 1
    clusters = counts.clusters
    if clusters is not None:
        clusters = clusters.renumber(np.concatenate([group_of_score, group_of_score + len(starts)]))
    return ScoreCounts(mean_scores, positives, negatives, counts.unit, clusters)


def _band_scores(counts: ScoreCounts) -> Floats:
    """Return the scores at which a curve is drawn, ascending: all of few, else a grid."""
    rows_at_scores = counts.positives + counts.negatives
    scores = counts.scores[rows_at_scores > 0]
    if has_few_levels(counts):
        return scores
    inner_scores = scores[(scores > 0) & (scores < 1)]
    if len(inner_scores) < 2:
        return inner_scores
    row_shares = np.linspace(DRAWN_SHARE, 1 - DRAWN_SHARE, _POINTS)
    (quantiles,) = row_quantiles(
        counts.scores, rows_at_scores[None], row_shares, _units_per_row(counts)
    )
    quantiles = np.clip(quantiles, inner_scores[0], inner_scores[-1])
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
    counts: ScoreCounts, curve_scores: Floats, level: float | None, design: Design
) -> CurveLimits:
    """Return the curve and its limits at the scores where it is drawn, (g,) each."""
    if has_few_levels(counts):
        return _level_limits(counts, level, design)
    is_inner = (counts.scores > 0) & (counts.scores < 1)
    if not is_inner.any():
        return CurveLimits(*np.full((5, len(curve_scores)), nan))
    # of positives at each score, then of negatives
    pattern_is_inner = np.concatenate([is_inner, is_inner])
    x = log_odds(counts.scores)[is_inner]
    class_counts = counts.positives[is_inner], counts.negatives[is_inner]
    if not all(counts_at_scores.any() for counts_at_scores in class_counts):
        return CurveLimits(*np.full((5, len(curve_scores)), nan))
    clusters = counts.clusters
    fit = fit_spline(x, *class_counts, _units_per_row(counts))
    if isinstance(clusters, RowWeights):
        clusters = clusters.among(pattern_is_inner)
    elif clusters is not None:
        clusters = _among(clusters, pattern_is_inner)
    covariance, df = coefficient_covariance(fit, x, *class_counts, counts.unit, clusters)
    if np.isnan(df):
        level = None
    return spline_limits(fit, log_odds(curve_scores), covariance, level, df)


def _among(clusters: ClusterCounts, is_selected: Bools) -> ClusterCounts:
    """Return the counts of the selected patterns (m,) in each cluster, renumbered."""
    entry_is_selected = is_selected[clusters.place]
    owners = np.array(clusters.owners, object)[entry_is_selected]
    new_indices = np.cumsum(is_selected) - 1
    return ClusterCounts.from_entries(
        owners.tolist(),
        new_indices[clusters.place[entry_is_selected]],
        clusters.n[entry_is_selected],
    )


def _level_limits(counts: ScoreCounts, level: float | None, design: Design) -> CurveLimits:
    """Return the share of positives at each score with rows, with exact limits."""
    score_indices = np.flatnonzero(counts.positives + counts.negatives > 0)
    tables = confusions_between(counts, score_indices, score_indices + 1)
    positive_shares = divide(tables.tp, tables.tp + tables.fp)
    if level is None:
        return CurveLimits(positive_shares, *np.full((4, len(score_indices)), nan))
    cells = Cells.at_prevalence(tables)
    limits = list[Floats]()
    for limit_level in (level, 1 - (1 - level) / len(score_indices)):
        low_and_high = exact_limits("precision", cells, level=limit_level, design=design)
        limits += np.full((2, len(score_indices)), nan) if low_and_high is None else low_and_high
    return CurveLimits(positive_shares, *limits)


def _rows_near(counts: ScoreCounts, curve_scores: Floats) -> Counts:
    """Return the rows with scores nearer to each score of the curve than to the others, (g,)."""
    edges = (curve_scores[1:] + curve_scores[:-1]) / 2
    nearest_indices = np.searchsorted(edges, counts.scores, side="right")
    row_counts = np.zeros(len(curve_scores), counts.positives.dtype)
    np.add.at(row_counts, nearest_indices, counts.positives + counts.negatives)
    return np.asarray(from_units(row_counts, counts.unit))


def _isotonic_at(counts: ScoreCounts, curve_scores: Floats) -> Floats:
    """Return the isotonic curve at `curve_scores`, linear between its steps as in scikit-learn."""
    blocks = isotonic_shares(counts.scores, counts.positives, counts.negatives)
    step_ends = np.column_stack([blocks.starts, blocks.stops - 1]).ravel()
    return np.interp(curve_scores, counts.scores[step_ends], np.repeat(blocks.shares, 2))


def _consistency_at(
    counts: ScoreCounts, curve_scores: Floats, level: float | None, model: str, seed: int
) -> tuple[Floats, Floats]:
    """Return the limits of isotonic curves of calibrated samples at the scores of the curve.

    NaN in clusters, without a level and without scores.
    """
    if level is None or isinstance(counts.clusters, ClusterCounts) or not len(curve_scores):
        unknown = np.full(len(curve_scores), nan)
        return unknown, unknown
    grouped_counts = _group_scores(counts, _MOST_SIMULATED)
    rng = random_stream(seed, f"{model}\0consistency")
    samples = calibrated_positives(grouped_counts, _SAMPLES, rng)
    rows_at_scores = grouped_counts.positives + grouped_counts.negatives
    low, high = consistency_limits(grouped_counts.scores, rows_at_scores, samples, level)
    return np.interp(curve_scores, grouped_counts.scores, low), np.interp(
        curve_scores, grouped_counts.scores, high
    )


def _none_if_unknown(values: Floats) -> list[float | None]:
    """Return numbers with None where one is unknown."""
    return [None if np.isnan(value) else value for value in values.tolist()]
