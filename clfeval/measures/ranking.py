"""Measures of a ranking by scores, for one table of counts or for many resampled ones.

Scores, or their ranks, are sorted ascending, so that equal ones are neighbours. The counts of
positives and of negatives at each score may have further axes before the last, such as bootstrap
replicates; counts at equal scores are added up first, so that ties are ties however written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats, over
from clfeval.measures.record import Measure


def roc_auc(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the area under the ROC curve: P(a positive scores above a negative), ties 1/2.

    sum over scores of positives x (2 negatives below + negatives tied) / (2 P N)

    Shapes: scores (m,) ascending; positives and negatives (..., m); result (...). Range 0..1, best
    1, chance 1/2; NaN without positives or without negatives.
    Errors: ValueError for scores that are not ascending.
    Source: Hanley and McNeil 1982, Radiology 143:29; ties by Bamber 1975, Journal of Mathematical
    Psychology 12:387.
    """
    pos, neg, kind = _at_scores(scores, positives, negatives)
    pairs = 2.0 * pos.sum(axis=-1) * neg.sum(axis=-1)
    if np.max(pairs, initial=0.0) >= 2.0**63:  # they do not fit a whole number of numpy
        pos, neg, kind = pos.astype(np.float64), neg.astype(np.float64), np.float64
    up_to = neg.cumsum(axis=-1, dtype=kind)
    won = 2 * _product(pos, up_to, kind) - _product(pos, neg, kind)
    return _share(won, pairs)


def gini(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return 2 roc_auc - 1, the share of gain captured; -1..1, best 1; NaN as roc_auc.

    Shapes, errors: as roc_auc. Source: Armano 2015, Information Sciences 325:466.
    """
    return np.asarray(2 * roc_auc(scores, positives, negatives) - 1)


def average_precision(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the sum of (R_i - R_(i-1)) P_i over the distinct scores from the highest down.

    P_i and R_i are precision and recall of all rows at or above score i; nothing is interpolated,
    so this is no area by trapezoids.

    Shapes: scores (m,) ascending; positives and negatives (..., m); result (...). Range 0..1, best
    1, chance the prevalence; NaN without positives.
    Errors: ValueError for scores that are not ascending.
    Source: Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, section 8.4.
    """
    pos, neg, kind = _at_scores(scores, positives, negatives)
    pos, neg = pos[..., ::-1], neg[..., ::-1]
    hits = pos.cumsum(axis=-1, dtype=np.float64)
    claimed = neg.cumsum(axis=-1, dtype=np.float64)
    claimed += hits
    # scores above the first row that was drawn have neither precision nor new recall
    precision = np.divide(hits, claimed, out=hits, where=claimed > 0)
    precision *= pos
    return _share(precision.sum(axis=-1), pos.sum(axis=-1, dtype=kind))


def ks(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the Kolmogorov-Smirnov statistic: max |tpr - fpr| over all thresholds.

    Shapes: scores (m,) ascending; positives and negatives (..., m); result (...). Range 0..1, best
    1; NaN without positives or without negatives.
    Errors: ValueError for scores that are not ascending.
    Source: Conover 1999, Practical Nonparametric Statistics, section 6.3.
    """
    pos, neg, _ = _at_scores(scores, positives, negatives)
    rows, others = (part.sum(axis=-1, dtype=np.float64) for part in (pos, neg))
    apart = pos * others[..., None]
    apart -= neg * rows[..., None]
    np.cumsum(apart, axis=-1, out=apart)
    return _share(np.abs(apart, out=apart).max(axis=-1, initial=0.0), rows * others)


def _at_scores(scores: Counts, *counts: Counts) -> tuple[Counts, Counts, Any]:
    """Add up the counts at equal scores; also say whether whole numbers or floats add them up."""
    given = np.asarray(scores)
    if not (given[1:] >= given[:-1]).all():
        raise ValueError("scores must be sorted, ascending")
    pos, neg = map(np.asarray, counts)
    kind: Any = np.float64 if "f" in (pos.dtype.kind, neg.dtype.kind) else np.int64
    new = np.ones(len(given), bool)
    np.greater(given[1:], given[:-1], out=new[1:])
    if not new.all():
        first = np.flatnonzero(new)
        pos, neg = (np.add.reduceat(part, first, axis=-1, dtype=kind) for part in (pos, neg))
    return pos, neg, kind


def _product(a: Counts, b: Counts, kind: Any) -> Counts:
    """Return the sum of a b over the last axis, made of one kind of number."""
    return np.asarray(np.einsum("...m,...m->...", a, b, dtype=kind, casting="same_kind"))


def _share(part: Counts, whole: Counts) -> Floats:
    """Return part / whole; sums of fractions in two orders may make it pass 1 by a last digit."""
    return np.asarray(np.minimum(over(part, whole), 1.0))


MEASURES = (
    Measure("roc_auc", "ROC AUC", roc_auc, "scores", "max", 0, 1, ("single_class",), "delong",
            "P(score of a positive > score of a negative), ties ½",
            "Hanley and McNeil 1982, Radiology 143:29", ("c_statistic", "auc", "auroc"),
            invariant=True, averages=True),
    Measure("gini", "Gini", gini, "scores", "max", -1, 1, ("single_class",), "delong",
            "2 AUC - 1, the area between the curve and the φ axis",
            "Armano 2015, Information Sciences 325:466", ("gain_capture",), invariant=True),
    Measure("average_precision", "average precision", average_precision, "scores", "max", 0, 1,
            ("no_positive_truth",), "drawn", "sum (R_i - R_(i-1)) P_i over distinct scores",
            "textbook", ("pr_auc_step", "ap"), averages=True),
    Measure("ks", "KS", ks, "scores", "max", 0, 1, ("single_class",), "drawn",
            "greatest |tp rate - fp rate| over thresholds",
            "Kolmogorov-Smirnov distance of two samples", invariant=True),
    Measure("roc_auc_ovr", "ROC AUC (one class against the rest)", None, "scores", "max", 0, 1,
            ("single_class",), "drawn", "mean over classes of the area for this class",
            "Provost and Domingos 2000, NYU Stern IS-00-04"),
    Measure("partial_auc", "partial AUC", None, "scores", "max", 0, 1, ("single_class",), "drawn",
            "the area over a range of false positive rates, standardised",
            "McClish 1989, Medical Decision Making 9:190"),
    Measure("pr_auc", "PR AUC", None, "scores", "max", 0, 1, ("no_positive_truth",), "drawn",
            "the area below precision over recall, by trapezoids", "textbook"),
)  # fmt: skip
