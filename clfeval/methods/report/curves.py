"""Curves and tables of a model's scores: ROC, precision-recall, thresholds, distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Floats, Ints, divide
from clfeval.counts.patterns import ConfusionCounts, from_units
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Row, Rows
from clfeval.lazy_rows import deferred_rows
from clfeval.measures.catalog import CATALOG
from clfeval.methods.estimates import (
    Cells,
    Design,
    estimate_column,
    exact_limits,
    rows_from_columns,
)
from clfeval.methods.measurement.decision_curves import confusions_at
from clfeval.methods.measurement.label_measures import float_confusion
from clfeval.methods.roc import MOST_POINTS

BINS = 20  # of a distribution
SHARES = ("sensitivity", "specificity", "precision", "npv")  # of a table of thresholds


def choose_points(counts: ScoreCounts, most: int | Literal["all"] | None) -> Ints:
    """Return the indices of points to list, at even steps of both rates with both ends."""
    ends, limit = counts.running, MOST_POINTS if most is None else most
    m, each = ends.shape[1], np.maximum(ends[:, -1:], 1e-300)
    if limit == "all" or m <= limit:
        return np.arange(m)

    def along(i: Ints) -> Floats:
        return np.asarray(((ends[:, -1:] - ends[:, m - 1 - i]) / each).sum(axis=0) + i / m)

    last = np.array([m - 1])
    at = first_reaching(along, np.linspace(0, along(last)[0], limit), m)
    return np.unique(np.concatenate([[0], np.minimum(at, m - 1), last]))


def first_reaching(rising: Callable[[Ints], Floats], targets: Floats, m: int) -> Ints:
    """Return the first of m indices at which a rising function reaches each target, else m."""
    low, high = np.zeros(len(targets), np.int64), np.full(len(targets), m)
    while (between := low < high).any():
        middle = (low + high) // 2
        before = rising(np.minimum(middle, m - 1)) < targets
        low = np.where(between & before, middle + 1, low)
        high = np.where(between & ~before, middle, high)
    return low


def curve_rows(
    label: str | None, model: str, counts: ScoreCounts, most: int | Literal["all"] | None
) -> Rows:
    """Return points of ROC, precision-recall, gain and lift (precision / prevalence) curves."""
    places, ends = len(counts.scores) - choose_points(counts, most), counts.running
    (p, n), (tp, fp) = ends[:, -1].tolist(), ends[:, -1:] - ends[:, places]
    precision = divide(tp, tp + fp)
    columns = {
        "threshold": np.append(counts.scores, np.inf)[places], "tp": from_units(tp, counts.unit),
        "fp": from_units(fp, counts.unit), "sensitivity": divide(tp, p),
        "fpr": divide(fp, n), "precision": precision, "flagged": divide(tp + fp, p + n),
        "lift": divide(precision * (p + n), p),
    }  # fmt: skip
    # None is undefined, or above every score
    return deferred_rows(len(tp), lambda: rows_from_columns(
        {name: np.where(np.isfinite(values), values.astype(object), np.array(None)).tolist()
         for name, values in columns.items()}, slice=label, model=model))  # fmt: skip


def choose_thresholds(counts: ScoreCounts, asked: int | Literal["all"] | Sequence[float]) -> Floats:
    """Return the thresholds of a table: those listed, all scores, or about `asked` quantiles."""
    if asked == "all":
        return counts.scores[::-1]
    if not isinstance(asked, int):
        return np.array(sorted({*map(float, asked)}, reverse=True))
    m, ends = len(counts.scores), counts.running
    if m <= asked:
        return counts.scores[::-1]
    rows = ends[:, -1].sum()
    at = first_reaching(lambda i: np.asarray(rows - ends[:, m - 1 - i].sum(axis=0)),
                        rows * np.arange(1, asked + 1) / (asked + 1), m)  # fmt: skip
    return np.asarray(counts.scores[m - 1 - np.unique(at)])


def threshold_rows(
    label: str | None, model: str, counts: ScoreCounts, cuts: Floats, level: float | None,
    design: Design,
) -> Rows:  # fmt: skip
    """Return rows of thresholds: the 2 x 2 table, rates with exact intervals, F1, MCC."""
    found = confusions_at(counts, cuts)
    return deferred_rows(
        len(cuts),
        lambda: rows_from_columns(_at_cuts(found, cuts, level, design), slice=label, model=model),
    )


def _at_cuts(
    found: ConfusionCounts, cuts: Floats, level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    cells, table = Cells.at_prevalence(found), float_confusion(found)
    columns: dict[str, Sequence[Any]] = {"threshold": cuts.tolist()}
    columns |= {name: found.shown(name).tolist() for name in ("tp", "fp", "fn", "tn")}
    columns["flagged"] = divide(table.tp + table.fp, table.total).tolist()
    for name in (*SHARES, "f1", "mcc"):
        measure, bounds = CATALOG[name], None
        if level is not None and name in SHARES:
            bounds = exact_limits(name, cells, level=level, design=design)
        columns[name] = estimate_column(measure.function(table), bounds, cells, measure.undefined)
    return columns


def distribution_rows(
    label: str | None, model: str, counts: ScoreCounts, classes: tuple[str, str]
) -> list[Row]:
    """Return the histogram of scores by class, in bins [low, high) of 0..1 or of finite scores."""
    finite, low, high = counts.scores[np.isfinite(counts.scores)], 0.0, 1.0
    if len(finite) and (finite.min() < 0 or finite.max() > 1):
        low, high = float(finite.min()), float(finite.max())
    edges = np.linspace(low, high, BINS + 1)
    inner = np.searchsorted(counts.scores, edges[1:-1])
    ends = counts.running[:, np.concatenate([[0], inner, [len(counts.scores)]])]
    return [
        {
            "slice": label, "model": model, "class": name, "from": float(edges[i]),
            "to": float(edges[i + 1]), "rows": from_units(found[i], counts.unit).item(),
            "share": float(found[i] / found.sum()) if found.any() else None,
        }
        for name, found in zip(classes, np.diff(ends), strict=True) for i in range(BINS)
    ]  # fmt: skip
