"""What a model's scores do at every threshold: curves, tables of thresholds, decisions, spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, over
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.units import shown
from clfeval.counts.weights import RowWeights
from clfeval.inference.multinomial import weighed_difference
from clfeval.inference.special import student_quantile
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.estimates import Cells, Design, column, exact_limits
from clfeval.methods.roc import MOST_POINTS, RocPoints, roc_points
from clfeval.result import Estimate, Row

BINS = 20  # of a distribution
GRID = np.arange(1, 100) / 100  # threshold probabilities of a decision curve
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
) -> list[Row]:
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
    lists = [_listed(values) for values in columns.values()]
    who = {"slice": label, "model": model}
    return [{**who, **dict(zip(columns, cells, strict=True))} for cells in zip(*lists, strict=True)]


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


def confusions_at(counts: ScoreCounts, cuts: Floats) -> ConfusionCounts:
    """Return the 2 x 2 tables at thresholds, (t,), with what clusters add to their intervals."""
    m = len(counts.scores)
    first = np.searchsorted(counts.scores, cuts)  # scores from there on are positive
    tp, fp = (_above(part, first) for part in (counts.positives, counts.negatives))
    p, n = (np.full(len(cuts), part.sum()) for part in (counts.positives, counts.negatives))
    sums = None
    if isinstance(counts.clusters, RowWeights):
        squares = np.split(counts.clusters.squares, 2)
        parts = [np.full(len(cuts), part.sum()) for part in squares]
        sums = _alone(*(_above(part, first) for part in squares), *parts)
    elif counts.clusters is not None:
        kinds = np.repeat(np.eye(2), m, axis=1)
        sums = np.empty((len(cuts), 4, 4))
        for i, start in enumerate(first.tolist()):
            said = np.tile(np.arange(m) >= start, 2)
            sums[i] = counts.clusters.products(np.concatenate([kinds * said, kinds]))
    names = tuple(map(repr, cuts.tolist()))
    return ConfusionCounts(names, tp, fp, p - tp, n - fp, p, n, counts.unit, sums)


def _above(part: Counts, first: Ints) -> Counts:
    """Return how many rows have a score at one of these places or behind it."""
    up_to = np.cumsum(part)
    found: Counts = up_to[-1] - np.where(first > 0, up_to[first - 1], 0)
    return found


def threshold_rows(
    label: str | None, model: str, counts: ScoreCounts, cuts: Floats, level: float | None,
    design: Design,
) -> list[Row]:  # fmt: skip
    """Return what each threshold does: its 2 x 2 table, rates with exact intervals, F1, MCC."""
    found = confusions_at(counts, cuts)
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
    who = {"slice": label, "model": model}
    return [
        {**who, **dict(zip(columns, one, strict=True))}
        for one in zip(*columns.values(), strict=True)
    ]


def decision_rows(
    label: str | None, model: str, counts: ScoreCounts, level: float | None
) -> list[Row]:
    """Return the decision curve: net benefit at each threshold probability t, and what it adds.

    NB = TP/M - FP/M t/(1-t); treating all has pi - (1-pi) t/(1-t), treating none 0. gain: NB less
    the larger of these two, which is TN/M t/(1-t) - FN/M or NB; helps: its interval lies above 0.
    Limits are those of `weighed_difference`; in clusters with counts divided by the design effect
    of the mean, where it is more than 1, and Student's t for the normal quantile.

    Scores must be probabilities. Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    found = confusions_at(counts, GRID)
    odds, one, none = GRID / (1 - GRID), np.ones(len(GRID)), np.zeros(len(GRID))
    treat_all = over(found.positives - odds * found.negatives, found.positives + found.negatives)
    treated = (none, none, odds, one)  # what TP, FP, TN and FN add against treating everybody
    mine = (one, odds, none, none)
    gained = tuple(np.where(treat_all > 0, *pair) for pair in zip(treated, mine, strict=True))
    clusters = None if counts.clusters is None else counts.clusters.size
    benefit, gain = (_estimates(found, each, level, clusters) for each in (mine, gained))
    who = {"slice": label, "model": model}
    return [
        {
            **who, "threshold": t, "net_benefit": worth, "treat_all": every, "gain": more,
            "helps": None if more.low is None else more.low > 0,
        }
        for t, worth, every, more in zip(GRID.tolist(), benefit, treat_all.tolist(), gain,
                                         strict=True)
    ]  # fmt: skip


def net_benefit(counts: ScoreCounts, t: float, level: float | None) -> tuple[Estimate, float]:
    """Return the net benefit of acting on scores from t on, and its standard error."""
    if not 0 < t < 1:
        return Estimate(None, reason="certain_threshold"), nan
    found, clusters = confusions_at(counts, np.array([t])), counts.clusters
    many = None if clusters is None else clusters.size
    one, none = np.ones(1), np.zeros(1)
    mine = (one, np.array([t / (1 - t)]), none, none)
    value = _estimates(found, mine, level, many)[0]
    return value, float(_errors(found, mine, many)[0])


Adds = tuple[Floats, ...]  # what a row of TP adds, one of FP takes away, of TN adds, of FN takes


def _means(found: ConfusionCounts, each: Adds) -> Floats:
    """Return the mean of what rows add, (t,)."""
    hit, false, right, missed = each
    added = hit * found.tp + right * found.tn
    return over(added - (false * found.fp + missed * found.fn), found.positives + found.negatives)


def _estimates(
    found: ConfusionCounts, each: Adds, level: float | None, clusters: float | None
) -> list[Estimate]:
    values = _means(found, each)
    if level is None or (clusters is not None and clusters <= 1):
        return [Estimate(value) for value in values.tolist()]
    effect, z = np.ones(len(values)), None
    if clusters is not None and found.sums is not None:
        # so many rows count as one; where none differs, those of a part
        alone = _errors(replace(found, sums=None), each, None)
        effect = found.sums[:, 2:, 2:].sum(axis=(1, 2)) / (found.positives + found.negatives)
        effect = np.sqrt(effect)
        effect = np.divide(_errors(found, each, clusters), alone, out=effect, where=alone > 0) ** 2
        effect = np.maximum(effect, 1.0)
        z = float(student_quantile(clusters - 1, level=level))
    hit, false, right, missed = each
    against = right > 0  # treating everybody: then TN and FN alone differ
    _, low, high = weighed_difference(
        np.where(against, right, hit), np.where(against, found.tn, found.tp) / effect,
        np.where(against, missed, false), np.where(against, found.fn, found.fp) / effect,
        (found.positives + found.negatives) / effect, level=level, z=z,
    )  # fmt: skip
    low, high = np.minimum(low, values), np.maximum(high, values)  # which rounding may part
    ends = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*three) for three in ends]


def _errors(found: ConfusionCounts, each: Adds, clusters: float | None) -> Floats:
    """Return the standard errors of the means, (t,)."""
    hit, false, right, missed = each
    # as sums of TP, FP, P and N
    around = np.array([hit + missed, -false - right, -missed, right])
    around = around - _means(found, each) * np.array([0, 0, 1, 1])[:, None]
    alone = (found.tp, found.fp, found.positives, found.negatives)
    sums = _alone(*alone) if found.sums is None else found.sums
    squares = np.einsum("it,tij,jt->t", around, sums, around)
    if clusters is not None:
        squares = squares * (clusters / (clusters - 1) if clusters > 1 else nan)
    return over(np.sqrt(np.maximum(squares, 0.0)), found.positives + found.negatives)


def _alone(tp: Counts, fp: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the sums over rows of products of TP, FP, P and N, (t, 4, 4).

    Of how many rows are in each, or the sums of their squared weights.
    """
    sums = np.zeros((len(tp), 4, 4))
    for hit, every, part, whole in ((0, 2, tp, positives), (1, 3, fp, negatives)):
        sums[:, hit, hit] = sums[:, hit, every] = sums[:, every, hit] = part
        sums[:, every, every] = whole
    return sums


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
        found = -np.diff(_above(part, first), append=0)
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
