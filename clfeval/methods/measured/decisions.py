"""What acting on scores is worth: net benefit at thresholds of risk, with its interval."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, over
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.multinomial import weighed_difference
from clfeval.inference.special import student_quantile
from clfeval.result import Estimate, Row

GRID = np.arange(1, 100) / 100  # threshold probabilities of a decision curve


def confusions_at(counts: ScoreCounts, cuts: Floats) -> ConfusionCounts:
    """Return the 2 x 2 tables at thresholds, (t,), with what clusters add to their intervals."""
    m = len(counts.scores)
    first = np.searchsorted(counts.scores, cuts)  # scores from there on are positive
    tp, fp = (above(part, first) for part in (counts.positives, counts.negatives))
    p, n = (np.full(len(cuts), part.sum()) for part in (counts.positives, counts.negatives))
    sums = None
    if counts.clusters is not None:
        ones, none = np.ones(m), np.zeros(m)
        totals = counts.clusters.totals(
            np.array([np.concatenate([ones, none]), np.concatenate([none, ones])])
        )
        sums = np.empty((len(cuts), 4, 4))
        for i, start in enumerate(first.tolist()):
            said = (np.arange(m) >= start).astype(np.float64)
            mine = np.array([np.concatenate([said, none]), np.concatenate([none, said])])
            each = np.concatenate([counts.clusters.totals(mine), totals])
            sums[i] = each @ each.T
    names = tuple(map(repr, cuts.tolist()))
    return ConfusionCounts(names, tp, fp, p - tp, n - fp, p, n, counts.unit, sums)


def above(part: Counts, first: Ints) -> Counts:
    """Return how many rows have a score at one of these places or behind it."""
    up_to = np.cumsum(part)
    found: Counts = up_to[-1] - np.where(first > 0, up_to[first - 1], 0)
    return found


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
    clusters = None if counts.clusters is None else len(counts.clusters)
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
    many = None if clusters is None else len(clusters)
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
    found: ConfusionCounts, each: Adds, level: float | None, clusters: int | None
) -> list[Estimate]:
    values = _means(found, each)
    if level is None or found.fractional or clusters == 1:
        return [Estimate(value) for value in values.tolist()]
    effect, z = np.ones(len(values)), None
    if clusters is not None:
        # so many rows count as one
        alone = _errors(replace(found, sums=None), each, None)
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
    ends = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*three) for three in ends]


def _errors(found: ConfusionCounts, each: Adds, clusters: int | None) -> Floats:
    """Return the standard errors of the means, (t,)."""
    hit, false, right, missed = each
    # as sums of TP, FP, P and N
    around = np.array([hit + missed, -false - right, -missed, right])
    around = around - _means(found, each) * np.array([0, 0, 1, 1])[:, None]
    squares = np.einsum("it,tij,jt->t", around, _products(found), around)
    if clusters is not None:
        squares = squares * (clusters / (clusters - 1) if clusters > 1 else nan)
    return over(np.sqrt(np.maximum(squares, 0.0)), found.positives + found.negatives)


def _products(found: ConfusionCounts) -> Floats:
    """Return the sums over clusters, or rows, of products of TP, FP, P and N: (t, 4, 4)."""
    if found.sums is not None:
        return found.sums
    sums = np.zeros((len(found.models), 4, 4))
    for hit, every, part, whole in ((0, 2, found.tp, found.positives),
                                    (1, 3, found.fp, found.negatives)):  # fmt: skip
        sums[:, hit, hit] = sums[:, hit, every] = sums[:, every, hit] = part
        sums[:, every, every] = whole
    return sums
