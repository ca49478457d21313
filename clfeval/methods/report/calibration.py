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
    inner = log_odds_slice(counts.scores)
    lost = counts.positives[: inner.start].sum() + counts.negatives[inner.stop :].sum()
    none = np.full(2, np.nan)  # where every score is 0 or 1
    tests = CalibrationTests(none, none, none, "none", np.zeros(0), np.zeros(0))
    if inner.start < inner.stop:
        tests = _run_score_tests(counts, inner, random_stream(seed, f"{model}\0calibration"))
    is_off = np.abs(tests.gaps) > critical_value(level) * tests.errors  # significant, unadjusted
    gaps = {
        "groups_off": int(is_off.sum()),
        "largest_gap": np.abs(tests.gaps).max(initial=0).item(),
    }
    smaller = float(np.minimum(2 * tests.p.min(), 1))
    return [
        as_row(
            {
                "model": model,
                "test": name,
                **{key: number_or_none(getattr(tests, key)[i]) for key in ("statistic", "df", "p")},
                "p_adjusted": number_or_none(smaller),
                "method": tests.method,
                "contradicted": from_units(lost, counts.unit).item(),
                **(gaps if i and len(tests.gaps) else dict.fromkeys(gaps)),
            }
        )
        for i, name in enumerate(TESTS)
    ]


def adjust_calibration_tests(rows: Sequence[Row]) -> list[Row]:
    """Return tests of several models with p_adjusted by Holm's rule over the models."""
    p = np.array([row["p_adjusted"] for row in rows[:: len(TESTS)]], np.float64)  # None is NaN
    adjusted = np.where(np.isnan(p), np.nan, holm(np.where(np.isnan(p), 1.0, p).tolist()))
    by_row = np.repeat(adjusted, len(TESTS)).tolist()
    return [
        as_row({**row, "p_adjusted": number_or_none(p_adjusted)})
        for row, p_adjusted in zip(rows, by_row, strict=True)
    ]


def _run_score_tests(
    counts: ScoreCounts, inner: slice, rng: np.random.Generator
) -> CalibrationTests:
    """Return the score tests of scores with log odds; with clusters, scores may be grouped."""
    if counts.clusters is None:
        rows = counts.positives[inner] + counts.negatives[inner]
        x = log_odds(counts.scores)[inner]
        return calibration_tests(counts.scores[inner], x, counts.positives[inner], rows, rng)
    grouped = counts.coarser(MOST)
    owned = grouped.clusters
    assert owned is not None
    heavy = np.ones(2)
    if isinstance(owned, RowWeights):
        class_squares = owned.squares.reshape(2, -1).sum(axis=1)
        class_weights = owned.n.reshape(2, -1).sum(axis=1)
        heavy = np.nan_to_num(divide(class_squares, class_weights), nan=owned.weight)
    class_counts = np.array([grouped.positives, grouped.negatives])
    x = log_odds(grouped.scores)
    inner = log_odds_slice(grouped.scores)
    tests = clustered_score_tests(grouped.scores, x, class_counts, inner, owned, heavy)
    return replace(tests, method=BY_CLUSTERS) if isinstance(owned, ClusterCounts) else tests


CURVE_BINS = 20  # of a distribution
BAND = 30  # points of a band around a ROC curve
SHARES = ("sensitivity", "specificity", "precision", "npv")  # of a table of thresholds


def roc_band_rows(
    label: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> Rows:
    """Return regions of both rates at up to `BAND` points of the ROC curve, evenly along it.

    sensitivity, fpr: with exact limits at the square root of the level, so that both hold jointly,
    as rows of the two classes are independent.
    """
    cuts = np.append(counts.scores, np.inf)[len(counts.scores) - choose_points(counts, BAND)]
    cuts = cuts[np.isfinite(cuts)]
    tables = confusions_at(counts, cuts)
    joint = level and sqrt(level)
    return deferred_rows(
        len(cuts),
        lambda: rows_from_columns(
            {"threshold": cuts.tolist(), **_rates(tables, ("sensitivity", "fpr"), joint, design)},
            slice=label,
            model=model,
        ),
    )


def choose_points(counts: ScoreCounts, most: int | Literal["all"] | None) -> Ints:
    """Return the indices of points to list, at even steps of both rates with both ends."""
    cumulative = counts.running
    limit = MOST_POINTS if most is None else most
    m = cumulative.shape[1]
    class_totals = np.maximum(cumulative[:, -1:], 1e-300)
    if limit == "all" or m <= limit:
        return np.arange(m)

    def along(i: Ints) -> Floats:
        return np.asarray(
            ((cumulative[:, -1:] - cumulative[:, m - 1 - i]) / class_totals).sum(axis=0) + i / m
        )

    last = np.array([m - 1])
    places = first_reaching(along, np.linspace(0, along(last)[0], limit), m)
    return np.unique(np.concatenate([[0], np.minimum(places, m - 1), last]))


def curve_rows(
    label: str | None, model: str, counts: ScoreCounts, most: int | Literal["all"] | None
) -> Rows:
    """Return points of ROC, precision-recall, gain and lift (precision / prevalence) curves."""
    places = len(counts.scores) - choose_points(counts, most)
    cumulative = counts.running
    p, n = cumulative[:, -1].tolist()
    tp, fp = cumulative[:, -1:] - cumulative[:, places]
    precision = divide(tp, tp + fp)
    columns = {
        "threshold": np.append(counts.scores, np.inf)[places],
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
            slice=label,
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
        cuts = np.array(sorted({*map(float, requested)}, reverse=True))
        if counts.buckets is None or not len(counts.scores):
            return cuts
        places = np.minimum(np.searchsorted(counts.scores, cuts), len(counts.scores) - 1)
        return np.unique(counts.scores[places])[::-1]  # where a bucket starts
    m = len(counts.scores)
    cumulative = counts.running
    if m <= requested:
        return counts.scores[::-1]
    rows = cumulative[:, -1].sum()
    places = first_reaching(
        lambda i: np.asarray(rows - cumulative[:, m - 1 - i].sum(axis=0)),
        rows * np.arange(1, requested + 1) / (requested + 1),
        m,
    )
    return np.asarray(counts.scores[m - 1 - np.unique(places)])


def threshold_rows(
    label: str | None,
    model: str,
    counts: ScoreCounts,
    cuts: Floats,
    level: float | None,
    design: Design,
) -> Rows:
    """Return rows of thresholds: the 2 x 2 table, rates with exact intervals, F1, MCC."""
    tables = confusions_at(counts, cuts)
    return deferred_rows(
        len(cuts),
        lambda: rows_from_columns(
            _at_thresholds(tables, cuts, level, design), slice=label, model=model
        ),
    )


def _at_thresholds(
    confusions: ConfusionCounts, cuts: Floats, level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    """Return the columns of a table of thresholds; those at infinite scores have no number."""
    table = float_confusion(confusions)
    columns: dict[str, Sequence[Any]] = {
        "threshold": [cut if isfinite(cut) else None for cut in cuts.tolist()]
    }
    cells = ("tp", "fp", "fn", "tn")
    columns |= {name: confusions.display_units(name).tolist() for name in cells}
    columns["flagged"] = divide(table.tp + table.fp, table.total).tolist()
    return columns | _rates(confusions, (*SHARES, "f1", "mcc"), level, design)


def _rates(
    tables: ConfusionCounts, names: Sequence[str], level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    """Return measures of 2 x 2 tables by name, shares with exact limits."""
    cells = Cells.at_prevalence(tables)
    table = float_confusion(tables)
    columns = dict[str, Sequence[Any]]()
    for name in names:
        measure, bounds = CATALOG[name], None
        if level is not None and name in (*SHARES, "fpr"):
            bounds = exact_limits(name, cells, level=level, design=design)
        columns[name] = estimate_column(measure.function(table), bounds, cells, measure.undefined)
    return columns


def distribution_rows(
    label: str | None, model: str, counts: ScoreCounts, classes: tuple[str, str]
) -> list[Row]:
    """Return the histogram of scores by class, in bins [low, high) of 0..1 or of finite scores."""
    finite = counts.scores[np.isfinite(counts.scores)]
    low, high = 0.0, 1.0
    if len(finite) and (finite.min() < 0 or finite.max() > 1):
        low = float(finite.min())
        high = float(finite.max())
    edges = low + (high - low) * (np.arange(CURVE_BINS + 1) / CURVE_BINS)
    inner = np.searchsorted(counts.scores, edges[1:-1])
    cumulative = counts.running[:, np.concatenate([[0], inner, [len(counts.scores)]])]
    return [
        as_row(
            {
                "slice": label,
                "model": model,
                "class": name,
                "from": float(edges[i]),
                "to": float(edges[i + 1]),
                "rows": from_units(class_rows[i], counts.unit).item(),
                "share": float(class_rows[i] / class_rows.sum()) if class_rows.any() else None,
            }
        )
        for name, class_rows in zip(classes, np.diff(cumulative), strict=True)
        for i in range(CURVE_BINS)
    ]
