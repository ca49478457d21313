"""Calibration and curves: reliability, ROC, precision-recall, net benefit."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Floats, Ints, divide
from clfeval.compare.change import number_or_none
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.patterns import ConfusionCounts, from_units
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Row, Rows, as_row
from clfeval.document.rows import deferred_rows
from clfeval.inference.distributions import critical_value
from clfeval.inference.hypothesis_tests import (
    BY_CLUSTERS,
    CalibrationTests,
    calibration_tests,
    clustered_score_tests,
)
from clfeval.inference.proportions import holm
from clfeval.inference.resampling import random_stream
from clfeval.measures.catalog import CATALOG
from clfeval.measures.logistic import log_odds, log_odds_slice
from clfeval.methods.confidence_limits import exact_limits
from clfeval.methods.curves import MOST_POINTS
from clfeval.methods.estimates import Cells, Design, estimate_column, rows_from_columns
from clfeval.methods.measurement.label_measures import float_confusion
from clfeval.methods.measurement.net_benefits import confusions_at
from clfeval.methods.score_groups import first_reaching
from clfeval.records import replace

TESTS = ("intercept and slope", "groups by score")
MOST = 2**17  # scores of rows in clusters, or with weights, that are tested one by one


def calibration_test_rows(model: str, counts: ScoreCounts, level: float, seed: int) -> list[Row]:
    """Return both score tests of the probabilities of a model, of scores other than 0 and 1.

    p_adjusted: twice the smaller p. contradicted: rows whose class had probability 0.
    """
    inner_slice = log_odds_slice(counts.scores)
    contradicted_units = (
        counts.positives[: inner_slice.start].sum() + counts.negatives[inner_slice.stop :].sum()
    )
    unknown = np.full(2, np.nan)  # of both tests, where every score is 0 or 1
    no_groups = np.zeros(0)
    tests = CalibrationTests(unknown, unknown, unknown, "none", no_groups, no_groups)
    if inner_slice.start < inner_slice.stop:
        tests = _run_score_tests(counts, inner_slice, random_stream(seed, f"{model}\0calibration"))
    # each gap by itself, not adjusted for the number of groups
    is_significant = np.abs(tests.gaps) > critical_value(level) * tests.errors
    gap_cells = {
        "groups_off": int(is_significant.sum()),
        "largest_gap": np.abs(tests.gaps).max(initial=0).item(),
    }
    adjusted_p = float(np.minimum(2 * tests.p.min(), 1))
    return [
        as_row(
            {
                "model": model,
                "test": test_name,
                **{
                    key: number_or_none(getattr(tests, key)[test_index])
                    for key in ("statistic", "df", "p")
                },
                "p_adjusted": number_or_none(adjusted_p),
                "method": tests.method,
                "contradicted": from_units(contradicted_units, counts.unit).item(),
                # of the test of groups, which is the second
                **(gap_cells if test_index and len(tests.gaps) else dict.fromkeys(gap_cells)),
            }
        )
        for test_index, test_name in enumerate(TESTS)
    ]


def adjust_calibration_tests(rows: Sequence[Row]) -> list[Row]:
    """Return tests of several models with p_adjusted by Holm's rule over the models."""
    p = np.array([row["p_adjusted"] for row in rows[:: len(TESTS)]], np.float64)  # None is NaN
    adjusted = np.where(np.isnan(p), np.nan, holm(np.where(np.isnan(p), 1.0, p).tolist()))
    p_of_rows = np.repeat(adjusted, len(TESTS)).tolist()
    return [
        as_row({**row, "p_adjusted": number_or_none(p_adjusted)})
        for row, p_adjusted in zip(rows, p_of_rows, strict=True)
    ]


def _run_score_tests(
    counts: ScoreCounts, inner_slice: slice, rng: np.random.Generator
) -> CalibrationTests:
    """Return the score tests of scores with log odds; with clusters, scores may be grouped.

    inner_slice: the scores that have log odds.
    """
    if counts.clusters is None:
        rows_at_scores = counts.positives[inner_slice] + counts.negatives[inner_slice]
        x = log_odds(counts.scores)[inner_slice]
        return calibration_tests(
            counts.scores[inner_slice], x, counts.positives[inner_slice], rows_at_scores, rng
        )
    grouped_counts = counts.coarser(MOST)
    units = grouped_counts.clusters
    assert units is not None
    mean_class_weights = np.ones(2)
    if isinstance(units, RowWeights):
        class_squares = units.squares.reshape(2, -1).sum(axis=1)
        class_weights = units.n.reshape(2, -1).sum(axis=1)
        mean_class_weights = np.nan_to_num(divide(class_squares, class_weights), nan=units.weight)
    class_counts = np.array([grouped_counts.positives, grouped_counts.negatives])
    x = log_odds(grouped_counts.scores)
    inner_slice = log_odds_slice(grouped_counts.scores)
    tests = clustered_score_tests(
        grouped_counts.scores, x, class_counts, inner_slice, units, mean_class_weights
    )
    return replace(tests, method=BY_CLUSTERS) if isinstance(units, ClusterCounts) else tests


CURVE_BINS = 20  # of a distribution
BAND = 30  # points of a band around a ROC curve
SHARES = ("sensitivity", "specificity", "precision", "npv")  # of a table of thresholds


def roc_band_rows(
    slice_name: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> Rows:
    """Return regions of both rates at up to `BAND` points of the ROC curve, evenly along it.

    sensitivity, fpr: with exact limits at the square root of the level, so that both hold jointly,
    as rows of the two classes are independent.
    """
    thresholds = np.append(counts.scores, np.inf)[len(counts.scores) - choose_points(counts, BAND)]
    thresholds = thresholds[np.isfinite(thresholds)]
    tables = confusions_at(counts, thresholds)
    class_level = level and sqrt(level)
    return deferred_rows(
        len(thresholds),
        lambda: rows_from_columns(
            {
                "threshold": thresholds.tolist(),
                **_rates(tables, ("sensitivity", "fpr"), class_level, design),
            },
            slice=slice_name,
            model=model,
        ),
    )


def choose_points(counts: ScoreCounts, most: int | Literal["all"] | None) -> Ints:
    """Return the indices of points to list, at even steps of both rates with both ends.

    most: how many at most; None: MOST_POINTS. Index 0 is above every score.
    """
    cumulated_counts = counts.running
    limit = MOST_POINTS if most is None else most
    m = cumulated_counts.shape[1]
    class_totals = np.maximum(cumulated_counts[:, -1:], 1e-300)
    if limit == "all" or m <= limit:
        return np.arange(m)

    def rate_sums(i: Ints) -> Floats:
        """Return the sum of both rates at points i; i / m makes it rise strictly."""
        return np.asarray(
            ((cumulated_counts[:, -1:] - cumulated_counts[:, m - 1 - i]) / class_totals).sum(axis=0)
            + i / m
        )

    last_index = np.array([m - 1])
    point_indices = first_reaching(rate_sums, np.linspace(0, rate_sums(last_index)[0], limit), m)
    return np.unique(np.concatenate([[0], np.minimum(point_indices, m - 1), last_index]))


def curve_rows(
    slice_name: str | None, model: str, counts: ScoreCounts, most: int | Literal["all"] | None
) -> Rows:
    """Return points of ROC, precision-recall, gain and lift (precision / prevalence) curves.

    most: how many points at most, as in `choose_points`.
    """
    score_indices = len(counts.scores) - choose_points(counts, most)
    cumulated_counts = counts.running
    p, n = cumulated_counts[:, -1].tolist()  # class totals
    tp, fp = cumulated_counts[:, -1:] - cumulated_counts[:, score_indices]
    precision = divide(tp, tp + fp)
    columns = {
        "threshold": np.append(counts.scores, np.inf)[score_indices],
        "tp": from_units(tp, counts.unit),
        "fp": from_units(fp, counts.unit),
        "sensitivity": divide(tp, p),
        "fpr": divide(fp, n),
        "precision": precision,
        "flagged": divide(tp + fp, p + n),
        "lift": divide(precision * (p + n), p),
    }
    # None is undefined, or above every score
    return deferred_rows(
        len(tp),
        lambda: rows_from_columns(
            {
                name: np.where(np.isfinite(values), values.astype(object), np.array(None)).tolist()
                for name, values in columns.items()
            },
            slice=slice_name,
            model=model,
        ),
    )


def choose_thresholds(
    counts: ScoreCounts, requested: int | Literal["all"] | Sequence[float]
) -> Floats:
    """Return the thresholds of a table: those listed, all scores, or that many quantiles."""
    if requested == "all":
        return counts.scores[::-1]
    if not isinstance(requested, int):
        thresholds = np.array(sorted({*map(float, requested)}, reverse=True))
        if counts.buckets is None or not len(counts.scores):
            return thresholds
        score_indices = np.minimum(
            np.searchsorted(counts.scores, thresholds), len(counts.scores) - 1
        )
        return np.unique(counts.scores[score_indices])[::-1]  # where a bucket starts
    m = len(counts.scores)
    cumulated_counts = counts.running
    if m <= requested:
        return counts.scores[::-1]
    # quantiles of rows in descending order of scores
    total_rows = cumulated_counts[:, -1].sum()
    score_indices = first_reaching(
        lambda i: np.asarray(total_rows - cumulated_counts[:, m - 1 - i].sum(axis=0)),
        total_rows * np.arange(1, requested + 1) / (requested + 1),
        m,
    )
    return np.asarray(counts.scores[m - 1 - np.unique(score_indices)])


def threshold_rows(
    slice_name: str | None,
    model: str,
    counts: ScoreCounts,
    thresholds: Floats,
    level: float | None,
    design: Design,
) -> Rows:
    """Return rows of thresholds: the 2 x 2 table, rates with exact intervals, F1, MCC."""
    tables = confusions_at(counts, thresholds)
    return deferred_rows(
        len(thresholds),
        lambda: rows_from_columns(
            _at_thresholds(tables, thresholds, level, design), slice=slice_name, model=model
        ),
    )


def _at_thresholds(
    confusions: ConfusionCounts, thresholds: Floats, level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    """Return the columns of a table of thresholds; those at infinite scores have no number."""
    table = float_confusion(confusions)
    columns: dict[str, Sequence[Any]] = {
        "threshold": [
            threshold if isfinite(threshold) else None for threshold in thresholds.tolist()
        ]
    }
    cell_names = ("tp", "fp", "fn", "tn")
    columns |= {name: confusions.display_units(name).tolist() for name in cell_names}
    columns["flagged"] = divide(table.tp + table.fp, table.total).tolist()
    return columns | _rates(confusions, (*SHARES, "f1", "mcc"), level, design)


def _rates(
    confusions: ConfusionCounts, measure_ids: Sequence[str], level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    """Return measures of 2 x 2 tables by name, shares with exact limits."""
    cells = Cells.at_prevalence(confusions)
    table = float_confusion(confusions)
    columns = dict[str, Sequence[Any]]()
    for measure_id in measure_ids:
        measure = CATALOG[measure_id]
        limits = None  # only shares have exact limits
        if level is not None and measure_id in (*SHARES, "fpr"):
            limits = exact_limits(measure_id, cells, level=level, design=design)
        columns[measure_id] = estimate_column(
            measure.function(table), limits, cells, measure.undefined
        )
    return columns


def distribution_rows(
    slice_name: str | None, model: str, counts: ScoreCounts, classes: tuple[str, str]
) -> list[Row]:
    """Return the histogram of scores by class, in bins of 0..1 or of the range of finite scores.

    A bin includes its lower edge, the last one both; infinite scores are in the outermost bins.
    """
    finite_scores = counts.scores[np.isfinite(counts.scores)]
    lowest, highest = 0.0, 1.0
    if len(finite_scores) and (finite_scores.min() < 0 or finite_scores.max() > 1):
        lowest = float(finite_scores.min())
        highest = float(finite_scores.max())
    edges = lowest + (highest - lowest) * (np.arange(CURVE_BINS + 1) / CURVE_BINS)
    inner_starts = np.searchsorted(counts.scores, edges[1:-1])
    cumulated_counts = counts.running[:, np.concatenate([[0], inner_starts, [len(counts.scores)]])]
    return [
        as_row(
            {
                "slice": slice_name,
                "model": model,
                "class": class_name,
                "from": float(edges[bin_index]),
                "to": float(edges[bin_index + 1]),
                "rows": from_units(bin_counts[bin_index], counts.unit).item(),
                "share": float(bin_counts[bin_index] / bin_counts.sum())
                if bin_counts.any()
                else None,
            }
        )
        for class_name, bin_counts in zip(classes, np.diff(cumulated_counts), strict=True)
        for bin_index in range(CURVE_BINS)
    ]
