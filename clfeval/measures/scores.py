"""Measures of scores: of the ranking they give, and of them as probabilities.

For one table of counts or for many resampled ones: counts may have further axes before the last,
such as bootstrap replicates. For a ranking, scores (or their ranks) are sorted ascending, so that
equal ones are neighbours, whose counts are added up first: ties are ties however written. As
probabilities, p (m,) is that of the positive class, truth (m,) is True for it, and n (..., m) says
how often each row counts.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Counts, Floats, over
from clfeval.measures.record import Measure

LEAST = 2.0**-52  # smaller probabilities of the truth count as this one


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
    if kind is np.int64 and np.max(pairs, initial=0.0) >= 2.0**63:
        # they do not fit a whole number of numpy, but nothing lost is nothing
        up_to = neg.cumsum(axis=-1, dtype=kind)
        rest = neg.sum(axis=-1, dtype=kind, keepdims=True) - up_to
        tied, less, more = (
            _product(pos, part.astype(np.float64), np.float64) for part in (neg, up_to - neg, rest)
        )
        return _share(2 * less + tied, 2 * (less + tied + more))
    up_to = neg.cumsum(axis=-1, dtype=kind)
    won = 2 * _product(pos, up_to, kind) - _product(pos, neg, kind)
    return _share(won, pairs)


def average_precision(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the sum of (R_i - R_(i-1)) P_i over the distinct scores from the highest down.

    P_i and R_i are precision and recall of all rows at or above score i; nothing is interpolated,
    so this is no area by trapezoids.

    Shapes: scores (m,) ascending; positives and negatives (..., m); result (...). Range 0..1, best
    1, chance the prevalence; NaN without positives.
    Errors: ValueError for scores that are not ascending.
    Source: Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, section 8.4.
    """
    pos, neg, _ = _at_scores(scores, positives, negatives)
    pos, neg = pos[..., ::-1], neg[..., ::-1]
    hits = pos.cumsum(axis=-1, dtype=np.float64)
    claimed = neg.cumsum(axis=-1, dtype=np.float64)
    claimed += hits
    # scores above the first row that was drawn have neither precision nor new recall
    precision = np.divide(hits, claimed, out=hits, where=claimed > 0)
    precision *= pos
    # added up alike, so that perfect is 1
    return _share(precision.sum(axis=-1), (pos * 1.0).sum(axis=-1))


def ks(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the Kolmogorov-Smirnov statistic: max |tpr - fpr| over all thresholds.

    Shapes: scores (m,) ascending; positives and negatives (..., m); result (...). Range 0..1, best
    1; NaN without positives or without negatives.
    Errors: ValueError for scores that are not ascending.
    Source: Conover 1999, Practical Nonparametric Statistics, section 6.3.
    """
    pos, neg, kind = _at_scores(scores, positives, negatives)
    rows, others = (part.sum(axis=-1, dtype=kind).astype(np.float64) for part in (pos, neg))
    apart = pos.cumsum(axis=-1, dtype=kind) * others[..., None]
    apart -= neg.cumsum(axis=-1, dtype=kind) * rows[..., None]
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


def clipped(p: ArrayLike, truth: ArrayLike, n: Counts) -> Counts:
    """Return how many rows, or what weight, gave their truth a probability below 2**-52, (...)."""
    low = np.where(np.asarray(truth, bool), p, 1 - np.asarray(p, np.float64)) < LEAST
    return np.asarray(n[..., low].sum(axis=-1))


def squared_errors(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return (truth - p)² of each row, (m,), whose mean is the Brier score; 0..1, best 0.

    Of the two classes this is half the sum over both, (1/2) sum (y_k - p_k)².

    Errors: ValueError for probabilities outside 0..1.
    Source: Brier 1950, Monthly Weather Review 78:1; Kuhn and Johnson, AML4TD, equation 15.24.
    """
    return np.asarray((np.asarray(truth, bool) - _probabilities(p)) ** 2)


def log_losses(p: ArrayLike, truth: ArrayLike) -> Floats:
    """Return -ln(probability of the truth) of each row, (m,), whose mean is cross-entropy.

    Range 0..52 ln 2, best 0: probabilities of the truth below 2**-52 count as 2**-52; `clipped`
    says how many are.

    Errors: ValueError for probabilities outside 0..1.
    Source: Good 1952, Journal of the Royal Statistical Society B 14:107.
    """
    given = _probabilities(p)
    # ln(1 - p) has all its digits from p where p is small
    right = np.log(np.maximum(given, LEAST))
    wrong = np.log1p(-np.minimum(given, 1 - LEAST))
    return np.asarray(0.0 - np.where(np.asarray(truth, bool), right, wrong))  # never -0.0


def mean_loss(losses: Floats, n: Counts) -> Floats:
    """Return the mean loss of a row: sum n x loss / sum n; NaN where n is all 0.

    Shapes: losses (m,), n (..., m), result (...).
    """
    # a sum row by row, for a matrix product rounds otherwise with every number of rows
    return over((n * losses).sum(axis=-1), n.sum(axis=-1))


def _probabilities(p: ArrayLike) -> Floats:
    given = np.asarray(p, np.float64)
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("probabilities lie between 0 and 1")
    return given


RANKING = (
    Measure("roc_auc", "ROC AUC", roc_auc, "scores", "max", 0, 1, ("single_class",), "delong",
            "P(score of a positive > score of a negative), ties ½",
            "Hanley and McNeil 1982, Radiology 143:29", ("c_statistic", "auc", "auroc"),
            invariant=True),
    Measure("gini", "Gini", lambda *counts: np.asarray(2 * roc_auc(*counts) - 1), "scores", "max",
            -1, 1, ("single_class",), "delong",
            "2 AUC - 1, the area between the curve and the φ axis",
            "Armano 2015, Information Sciences 325:466", ("gain_capture",), invariant=True),
    Measure("average_precision", "average precision", average_precision, "scores", "max", 0, 1,
            ("no_positive_truth",), "drawn", "sum (R_i - R_(i-1)) P_i over distinct scores",
            "textbook", ("pr_auc_step", "ap")),
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

_BRIER = "Brier 1950, Monthly Weather Review 78:1"
_FEW = ("too_few_rows",)

# what computes them is the loss of each row, whose mean they are
PROBABILITIES = (
    Measure("brier", "Brier", squared_errors, "probabilities", "min", 0, 1, _FEW, "drawn",
            "mean of sum (y - p)² / 2 over classes", _BRIER,
            ("brier_score", "brier_class", "brier_score_loss")),
    Measure("log_loss", "log loss", log_losses, "probabilities", "min", 0, inf, _FEW, "drawn",
            "mean of -ln p, of predicted probabilities p of the true class",
            "Good 1952, Journal of the Royal Statistical Society B 14:107",
            ("cross_entropy", "logloss", "mn_log_loss")),
    Measure("log_loss_skill", "log loss skill", None, "probabilities", "max", -inf, 1,
            ("single_class",), "drawn", "1 - log loss / log loss of the sample's class shares",
            "textbook", ("d2_log_loss", "d2_log_loss_score")),
    Measure("brier_sum", "Brier (sum)", None, "probabilities", "min", 0, 2, _FEW, "drawn",
            "mean of sum (y - p)² over classes", _BRIER),
    Measure("brier_skill", "Brier skill", None, "probabilities", "max", -inf, 1, ("single_class",),
            "drawn", "1 - Brier / Brier of the sample's class shares", _BRIER,
            ("d2_brier_score",)),
    Measure("ece", "ECE", None, "probabilities", "min", 0, 1, _FEW, "drawn",
            "mean over bins of |share of positives - mean score|",
            "Naeini et al. 2015, AAAI 29:2901", ("expected_calibration_error",)),
    Measure("mce", "MCE", None, "probabilities", "min", 0, 1, _FEW, "drawn",
            "greatest |share of positives - mean score| over bins",
            "Naeini et al. 2015, AAAI 29:2901", ("maximum_calibration_error",)),
    Measure("ece_debiased", "ECE (debiased)", None, "probabilities", "min", 0, 1, _FEW, "drawn",
            "ECE less what chance adds to each bin", "Kumar et al. 2019, NeurIPS 32"),
)  # fmt: skip
