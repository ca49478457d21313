"""More measures of a 2 x 2 table: rates of error, means of two rates, agreement.

As those of `table`, they broadcast, take cells with any common factor, are NaN where undefined
(0/0), and their arguments may be whole numbers or floats.
"""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Floats
from clfeval.measures.jpt import Jpt, over
from clfeval.measures.table import ppv, sensitivity, specificity


def error_rate(t: Jpt) -> Floats:
    """Return the share of wrong answers, (FP + FN) / M; 0..1, best 0."""
    return over(t.fp + t.fn, t.total)


def fpr(t: Jpt) -> Floats:
    """Return the false positive rate, FP / N; 0..1, best 0."""
    return over(t.fp, t.fp + t.tn)


def fnr(t: Jpt) -> Floats:
    """Return the false negative rate, FN / P; 0..1, best 0."""
    return over(t.fn, t.tp + t.fn)


def fdr(t: Jpt) -> Floats:
    """Return the false discovery rate, FP / (TP + FP); 0..1, best 0."""
    return over(t.fp, t.tp + t.fp)


def false_omission(t: Jpt) -> Floats:
    """Return the false omission rate, FN / (FN + TN); 0..1, best 0."""
    return over(t.fn, t.fn + t.tn)


def balanced_accuracy(t: Jpt) -> Floats:
    """Return the mean of the two recalls, (sensitivity + specificity) / 2; 0..1, best 1."""
    return np.asarray((sensitivity(t) + specificity(t)) / 2)


def g_mean(t: Jpt) -> Floats:
    """Return the geometric mean of the two recalls, sqrt(sensitivity specificity); 0..1, best 1.

    Source: Kubat and Matwin 1997, ICML 14:179.
    """
    return np.asarray(np.sqrt(sensitivity(t) * specificity(t)))


def fowlkes_mallows(t: Jpt) -> Floats:
    """Return the geometric mean of precision and recall, sqrt(precision sensitivity); 0..1, best 1.

    Source: Fowlkes and Mallows 1983, Journal of the American Statistical Association 78:553.
    """
    return np.asarray(np.sqrt(ppv(t) * sensitivity(t)))


def markedness(t: Jpt) -> Floats:
    """Return precision + NPV - 1; -1..1, best 1, chance 0.

    Source: Powers 2011, Journal of Machine Learning Technologies 2:37.
    """
    return np.asarray(ppv(t) - over(t.fn, t.fn + t.tn))


def jaccard(t: Jpt) -> Floats:
    """Return the overlap of truth and prediction, TP / (TP + FP + FN); 0..1, best 1.

    Source: Jaccard 1901, Bulletin de la Societe Vaudoise des Sciences Naturelles 37:547.
    """
    return over(t.tp, t.tp + t.fp + t.fn)


def kappa(t: Jpt) -> Floats:
    """Return Cohen's kappa, (accuracy - e) / (1 - e) with e the agreement expected by chance.

    2 (TP TN - FP FN) / ((TP + FP) (FP + TN) + (TP + FN) (FN + TN)); -1..1, best 1, chance 0

    Undefined where e is 1: all truth and all predictions are of one class.
    Source: Cohen 1960, Educational and Psychological Measurement 20:37.
    """
    # as floats, for whole numbers would wrap around
    tp, fp, fn, tn = (np.asarray(cell, np.float64) for cell in (t.tp, t.fp, t.fn, t.tn))
    apart = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return over(2 * (tp * tn - fp * fn), apart)
