"""Net benefit at risk thresholds with intervals, and decision curves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import acos, nan

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.counts.clusters_and_weights import RowWeights
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, Row, Rows
from clfeval.document.rows import deferred_rows
from clfeval.inference.distributions import simultaneous_level, student_quantile
from clfeval.inference.resampling import weighted_difference

GRID = np.arange(1, 100) / 100  # threshold probabilities of a decision curve
DIGITS = 9  # of the contribution of a row; beyond them is rounding


def confusions_at(counts: ScoreCounts, cuts: Floats) -> ConfusionCounts:
    """Return the 2 x 2 tables at thresholds, (t,), with the cluster sums for intervals."""
    first = np.searchsorted(counts.scores, cuts)  # scores from there on are positive
    return confusions_between(counts, first, np.full(len(cuts), len(counts.scores)))


def confusions_between(counts: ScoreCounts, first: Ints, last: Ints) -> ConfusionCounts:
    """Return the 2 x 2 tables, (t,), where scores at indices [first, last) are positive."""
    m, ends = len(counts.scores), counts.running
    tp, fp = ends[:, last] - ends[:, first]
    p, n = (np.full(len(first), part[-1]) for part in ends)
    sums = None
    if isinstance(counts.clusters, RowWeights):
        squares = counts.clusters.squares.reshape(2, m)
        ends = np.concatenate([np.zeros((2, 1)), squares.cumsum(axis=1)], axis=1)
        whole = (np.full(len(first), part[-1]) for part in ends)
        sums = _row_products(*(ends[:, last] - ends[:, first]), *whole)
    elif counts.clusters is not None:
        sums = counts.clusters.ranges(m, first, last)
    names = tuple(map(str, range(len(first))))
    return ConfusionCounts(names, tp, fp, p - tp, n - fp, p, n, counts.unit, sums)


def decision_rows(label: str | None, model: str, counts: ScoreCounts, level: float | None) -> Rows:
    """Return the decision curve: net benefit at each threshold probability t, and its gain.

    NB = TP/M - FP/M t/(1-t); treating all has pi - (1-pi) t/(1-t), treating none 0. gain: NB less
    the larger of these two, which is TN/M t/(1-t) - FN/M or NB. helps: NB, and NB less that of
    treating all, lie above 0 by confidence limits simultaneous for all thresholds (see
    `_simultaneous_level`). Limits are those of `net_benefit`. Scores must be probabilities.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    found = confusions_at(counts, GRID)
    if counts.clusters is not None:  # needs all scores, which are not kept
        made = _decision_curve(label, model, found, level, counts)
        return deferred_rows(len(made), lambda: made)
    return deferred_rows(len(GRID), lambda: _decision_curve(label, model, found, level))


def _decision_curve(
    label: str | None, model: str, found: ConfusionCounts, level: float | None,
    counts: ScoreCounts | None = None,
) -> list[Row]:  # fmt: skip
    odds, one, none = GRID / (1 - GRID), np.ones(len(GRID)), np.zeros(len(GRID))
    treat_all = divide(found.positives - odds * found.negatives, found.positives + found.negatives)
    treated = (none, none, odds, one)  # contributions of TP, FP, TN and FN compared with treat-all
    mine = (one, odds, none, none)
    gained = tuple(np.where(treat_all > 0, *pair) for pair in zip(treated, mine, strict=True))
    benefit, gain = (_net_benefit_estimates(found, each, level) for each in (mine, gained))
    sure = None if level is None else _simultaneous_level(counts, found, gained, level)
    simultaneous = zip(
        *(_net_benefit_estimates(found, each, sure) for each in (mine, treated)), strict=True
    )
    helps = [None if None in (a.low, b.low) else min(a.low, b.low) > 0 for a, b in simultaneous]
    who = {"slice": label, "model": model}
    return [
        {
            **who, "threshold": t, "net_benefit": worth, "treat_all": every, "gain": more,
            "helps": helpful,
        }
        for t, worth, every, more, helpful in zip(GRID.tolist(), benefit, treat_all.tolist(), gain,
                                                 helps, strict=True)
    ]  # fmt: skip


def _simultaneous_level(
    counts: ScoreCounts | None, found: ConfusionCounts, each: Adds, level: float
) -> float:
    """Return the level for joint coverage by arccos(correlation) of neighbours, or Bonferroni's."""
    m, (hit, false, right, missed) = len(found.tp), (one[:, None] for one in each)
    said = np.arange(m + 1) > np.arange(m)[:, None]  # from each threshold on, rows between two
    rows = np.hstack([np.where(said, hit, -missed), np.where(said, -false, right)])
    n = np.concatenate(
        [
            -np.diff(found.tp, prepend=found.positives[0], append=0),
            -np.diff(found.fp, prepend=found.negatives[0], append=0),
        ],
        dtype=np.float64,
    )
    rows = np.round(rows - divide(rows @ n, np.full(m, n.sum()))[:, None], DIGITS)
    parts: Iterable[Floats] = rows * np.sqrt(n)
    if counts is not None and (owned := counts.clusters) is not None:
        at = np.searchsorted(GRID, counts.scores, side="right")
        place = np.concatenate([at, at + m + 1])
        if isinstance(owned, RowWeights):
            parts = rows * np.sqrt(np.bincount(place, owned.squares, len(n)))
        else:
            parts = (owned.totals(row[place][None])[0] for row in rows)
    turn, before = 0.0, None
    for part in parts:
        if size := float(np.sqrt(part @ part)):
            unit = part / size
            if before is not None:
                turn += acos(min(1.0, max(-1.0, float(unit @ before))))
            before = unit
    return min(simultaneous_level(level, turn=turn), simultaneous_level(level, comparisons=m))


def net_benefit(counts: ScoreCounts, t: float, level: float | None) -> tuple[Estimate, float]:
    """Return the net benefit at the threshold t, and its standard error.

    NB = TP/M - FP/M t/(1-t)   variance = sum over M rows of (what each adds - NB)² / M²
    Limits are those of `weighted_difference`. In clusters the sum is over cluster totals, times g /
    (g-1) with g = M² / sum M_c²; counts are divided by the design effect, at least 1, and the
    quantile is Student's t with g - 1 degrees of freedom. Weights are clusters of one row.
    Range -t/(1-t)..1, in true positives per row, best high. Undefined unless 0 < t < 1 and without
    rows; no limits with level None, or in one cluster.
    Errors: ValueError unless 0 < level < 1.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565; the design effect: Korn and
    Graubard 1998, Survey Methodology 24:193; g: Carter, Schnepel and Steigerwald 2017, Review of
    Economics and Statistics 99:698.
    """
    return net_benefit_of_table(confusions_at(counts, np.array([t])), t, level)


def net_benefit_of_table(
    found: ConfusionCounts, t: float, level: float | None
) -> tuple[Estimate, float]:
    """Return the net benefit of a 2 x 2 table at the threshold t, and its standard error."""
    if not 0 < t < 1:
        return Estimate(None, reason="certain_threshold"), nan
    one, none = np.ones(1), np.zeros(1)
    mine = (one, np.array([t / (1 - t)]), none, none)
    return _net_benefit_estimates(found, mine, level)[0], float(_standard_errors(found, mine)[0])


Adds = tuple[Floats, ...]  # contribution of a row: TP added, FP subtracted, TN added, FN subtracted


def _mean_contributions(found: ConfusionCounts, each: Adds) -> Floats:
    """Return the mean contribution of rows, (t,)."""
    hit, false, right, missed = each
    added = hit * found.tp + right * found.tn
    return divide(added - (false * found.fp + missed * found.fn), found.positives + found.negatives)


def _net_benefit_estimates(
    found: ConfusionCounts, each: Adds, level: float | None
) -> list[Estimate]:
    values, g = _mean_contributions(found, each), _effective_parts(found)
    if level is None or not (g > 1).all():
        return [Estimate(value) for value in values.tolist()]
    effect, z = np.ones(len(values)), None
    if found.sums is not None:
        # design effect; where the error is 0, from the sizes of clusters
        alone = _standard_errors(replace(found, sums=None), each)
        effect = found.sums[:, 2:, 2:].sum(axis=(1, 2)) / (found.positives + found.negatives)
        effect = np.sqrt(effect)
        effect = np.divide(_standard_errors(found, each), alone, out=effect, where=alone > 0) ** 2
        effect = np.maximum(effect, 1.0)
        z = student_quantile(g - 1, level=level)
    hit, false, right, missed = each
    against = right > 0  # compared with treat-all only TN and FN differ
    _, low, high = weighted_difference(
        np.where(against, right, hit), np.where(against, found.tn, found.tp) / effect,
        np.where(against, missed, false), np.where(against, found.fn, found.fp) / effect,
        (found.positives + found.negatives) / effect, level=level, z=z,
    )  # fmt: skip
    low, high = np.minimum(low, values), np.maximum(high, values)  # despite rounding
    ends = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*three) for three in ends]


def _effective_parts(found: ConfusionCounts) -> Floats:
    """Return the effective number of clusters, or of weighted rows, (t,); else infinite."""
    if found.sums is None:
        return np.full(len(found.tp), np.inf)
    total = (found.positives + found.negatives).astype(np.float64)
    return np.round(divide(total**2, found.sums[:, 2:, 2:].sum(axis=(1, 2))), DIGITS)


def _standard_errors(found: ConfusionCounts, each: Adds) -> Floats:
    """Return the standard errors of the mean contributions, (t,)."""
    hit, false, right, missed = each
    # as sums of TP, FP, P and N
    around = np.array([hit + missed, -false - right, -missed, right])
    around = around - _mean_contributions(found, each) * np.array([0, 0, 1, 1])[:, None]
    alone = (found.tp, found.fp, found.positives, found.negatives)
    sums, g = _row_products(*alone) if found.sums is None else found.sums, _effective_parts(found)
    squares = np.einsum("it,tij,jt->t", around, sums, around)
    squares = squares / (1 - 1 / np.where(g > 1, g, nan))
    return divide(np.sqrt(np.maximum(squares, 0.0)), found.positives + found.negatives)


def _row_products(tp: Counts, fp: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the sums over rows of products of TP, FP, P and N, (t, 4, 4), of squared weights."""
    sums = np.zeros((len(tp), 4, 4))
    for hit, every, part, whole in ((0, 2, tp, positives), (1, 3, fp, negatives)):
        sums[:, hit, hit] = sums[:, hit, every] = sums[:, every, hit] = part
        sums[:, every, every] = whole
    return sums
