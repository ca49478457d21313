"""What a model's scores do at every threshold: curves, tables of thresholds, spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, over
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.units import shown
from clfeval.lazy import later
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.estimates import Cells, Design, column, exact_limits, rows_of
from clfeval.methods.measured.decisions import above, confusions_at
from clfeval.methods.roc import MOST_POINTS, RocPoints, roc_points
from clfeval.result import Row, Rows

BINS = 20  # of a distribution
SHARES = ("sensitivity", "specificity", "precision", "npv")  # of a table of thresholds


def chosen(points: RocPoints, most: int | Literal["all"] | None) -> Ints:
    """Return which points of a curve to list: at even steps of both rates, both ends among them.

    So many steep and so many flat parts are kept that a picture does not change.
    """
    m, limit = len(points.thresholds), MOST_POINTS if most is None else most
    if limit == "all" or m <= limit:
        return np.arange(m)
    along = over(points.tp, points.tp[-1]) + over(points.fp, points.fp[-1])
    along = np.nan_to_num(along) + np.arange(m) / m
    at = np.searchsorted(along, np.linspace(0, along[-1], limit))
    return np.unique(np.concatenate([[0], np.minimum(at, m - 1), [m - 1]]))


def curve_rows(
    label: str | None, model: str, counts: ScoreCounts, most: int | Literal["all"] | None
) -> Rows:
    """Return points of the ROC, precision-recall, gain and lift curves: one row a threshold.

    claimed: share of rows called positive; lift: precision / prevalence.
    """
    every = roc_points(counts)
    points = every.at(chosen(every, most))
    p, n = every.tp[-1].item(), every.fp[-1].item()
    tp, fp = points.tp.astype(np.float64), points.fp.astype(np.float64)
    precision = over(tp, tp + fp)
    columns = {
        "threshold": points.thresholds, "tp": shown(points.tp, counts.unit),
        "fp": shown(points.fp, counts.unit), "sensitivity": over(tp, p),
        "fpr": over(fp, n), "precision": precision, "claimed": over(tp + fp, p + n),
        "lift": over(precision * (p + n), p),
    }  # fmt: skip
    who = {"slice": label, "model": model}

    def made() -> list[Row]:
        return rows_of({name: _listed(values) for name, values in columns.items()}, **who)

    return later(len(tp), made)


def _listed(values: Counts) -> list[Any]:
    """Return a column with None for what is undefined, or above every score."""
    found: list[Any] = values.tolist()
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        found[i] = None
    return found


def cuts_asked(counts: ScoreCounts, asked: int | Literal["all"] | Sequence[float]) -> Floats:
    """Return the thresholds of a table: those listed, all scores, or about so many quantiles."""
    if asked == "all":
        return counts.scores[::-1]
    if not isinstance(asked, int):
        return np.array(sorted({*map(float, asked)}, reverse=True))
    m = len(counts.scores)
    if m <= asked:
        return counts.scores[::-1]
    rows = np.cumsum((counts.positives + counts.negatives)[::-1])
    at = np.searchsorted(rows, rows[-1] * np.arange(1, asked + 1) / (asked + 1))
    chosen_cuts: Floats = counts.scores[::-1][np.unique(at)]
    return chosen_cuts


def threshold_rows(
    label: str | None, model: str, counts: ScoreCounts, cuts: Floats, level: float | None,
    design: Design,
) -> Rows:  # fmt: skip
    """Return what each threshold does: its 2 x 2 table, rates with exact intervals, F1, MCC."""
    found = confusions_at(counts, cuts)
    who = {"slice": label, "model": model}
    return later(len(cuts), lambda: rows_of(_at_cuts(found, cuts, level, design), **who))


def _at_cuts(
    found: ConfusionCounts, cuts: Floats, level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    cells = Cells.at_prevalence(found)
    table = Confusion(*(np.asarray(one, np.float64) for one in (
        found.tp, found.fp, found.fn, found.tn)))  # fmt: skip
    columns: dict[str, Sequence[Any]] = {"threshold": cuts.tolist()}
    columns |= {name: found.shown(name).tolist() for name in ("tp", "fp", "fn", "tn")}
    columns["claimed"] = over(table.tp + table.fp, table.total).tolist()
    for name in SHARES:
        measure = CATALOG[name]
        bounds = None if level is None else exact_limits(name, cells, level=level, design=design)
        columns[name] = column(measure.function(table), bounds, cells, measure.undefined)
    for name in ("f1", "mcc"):
        columns[name] = column(CATALOG[name].function(table), None, cells, CATALOG[name].undefined)
    return columns


def distribution_rows(
    label: str | None, model: str, counts: ScoreCounts, classes: tuple[str, str]
) -> list[Row]:
    """Return how the scores of each class are spread: rows in bins of equal width.

    classes: the names of the positive and of the negative class. Bins are [low, high), the last
    one closed; of 0..1, or of the range of finite scores outside of that.
    """
    finite = np.isfinite(counts.scores)
    low, high = 0.0, 1.0
    if finite.any():
        least, most = counts.scores[finite].min(), counts.scores[finite].max()
        if least < 0 or most > 1:
            low, high = float(least), float(most)
    edges = np.linspace(low, high, BINS + 1)
    first = np.concatenate([[0], np.searchsorted(counts.scores, edges[1:-1])])
    rows: list[Row] = []
    for name, part in zip(classes, (counts.positives, counts.negatives), strict=True):
        found = -np.diff(above(part, first), append=0)
        total = found.sum()
        for i in range(BINS):
            share = float(found[i] / total) if total else None
            many = shown(found[i], counts.unit).item()
            rows.append(
                {
                    "slice": label, "model": model, "class": name, "from": float(edges[i]),
                    "to": float(edges[i + 1]), "rows": many, "share": share,
                }
            )  # fmt: skip
    return rows
