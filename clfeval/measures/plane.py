"""Measures of the phi-delta plane, where the class ratio plays no part, and of its tilted kin.

tp is the true positive rate (sensitivity), fp the false positive rate (1 - specificity), both
0..1; p is the share of positives, n = 1 - p. All arguments broadcast; NaN where undefined.
Source: Armano 2015, Information Sciences 325:466.
"""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Counts, Floats, Number, divide
from clfeval.measures.confusion import (
    balanced_accuracy,
    error_rate,
    f_beta,
    j_index,
    mcc,
    npv,
    precision,
    sensitivity,
    specificity,
)
from clfeval.measures.record import CLASS_REASONS, Measure

_ARMANO = "Armano 2015, Information Sciences 325:466"
CORNERS = {  # of the diamond, by rates
    "oracle": (1, 0), "always positive": (1, 1), "anti-oracle": (0, 1), "always negative": (0, 0),
}  # fmt: skip
# where the words for a position change: delta up to CHANCE tells nothing, phi up to LEAN no lean
ORACLE, CHANCE, LEAN = 0.8, 0.1, 0.1
BOUNDARIES = (-CHANCE, CHANCE, ORACLE)


def phi_delta(tp: Number, fp: Number) -> tuple[Floats, Floats]:
    """Return phi and delta of two rates: tp + fp - 1 and tp - fp; -1..1 each.

    phi is -1 when all rows are predicted negative, 1 when all positive; delta is 0 for chance.
    """
    return np.asarray(tp + fp - 1, np.float64), np.asarray(tp - fp, np.float64)


def phi_delta_at_prevalence(tp: Number, fp: Number, p: Number) -> tuple[Floats, Floats]:
    """Return phi and delta of two rates at a prevalence.

    phi_b = 2 (n fp - p fn); -2..2
    delta_b = 2 (p tp + n (1 - fp)) - 1 = 2 accuracy - 1; -1..1
    """
    n = 1 - p
    right, excess = p * tp + n * (1 - fp), n * fp - p * (1 - tp)
    return np.asarray(2 * excess, np.float64), np.asarray(2 * right - 1, np.float64)


def phi_delta_of_counts(tp: Counts, fp: Counts, p: Counts, n: Counts) -> tuple[Floats, Floats]:
    """Return phi and delta of counts, tp of p positives and fp of n negatives.

    Divided once, so that round numbers come out round: whole products must fit their numbers.
    """
    return divide(tp * n + fp * p - p * n, p * n), divide(tp * n - fp * p, p * n)


UNBIASED = (
    Measure("accuracy_u", "unbiased accuracy", balanced_accuracy, "confusion", "max", 0, 1,
            CLASS_REASONS,
            "linear", "(1 + δ) / 2", _ARMANO, invariant=True, terms=lambda *_: (0.5, -0.5, 0.5)),
    Measure("error_u", "unbiased error", lambda t: error_rate(t.normalised()), "confusion", "min",
            0, 1, CLASS_REASONS, "linear", "(1 - δ) / 2", _ARMANO, invariant=True,
            terms=lambda *_: (-0.5, 0.5, 0.5)),
    Measure("precision_u", "unbiased precision", lambda t: precision(t.normalised()), "confusion",
            "max", 0, 1, (*CLASS_REASONS, "no_positive_prediction"), "region", "tp / (tp + fp)",
            _ARMANO,
            invariant=True),
    Measure("npv_u", "unbiased NPV", lambda t: npv(t.normalised()), "confusion", "max", 0, 1,
            (*CLASS_REASONS, "no_negative_prediction"), "region", "tn / (tn + fn)", _ARMANO,
            invariant=True),
    Measure("f1_u", "unbiased F1", lambda t: f_beta(t.normalised()), "confusion", "max", 0, 1,
            CLASS_REASONS, "region", "2 tp / (2 tp + fn + fp)", _ARMANO, invariant=True),
    Measure("mcc_u", "unbiased MCC", lambda t: mcc(t.normalised()), "confusion", "max", -1, 1,
            (*CLASS_REASONS, "zero_margin"), "region", "δ / sqrt((tp + fp) (tn + fn))", _ARMANO,
            ("mcc_normalised",), invariant=True),
)  # fmt: skip

PLANE = (
    Measure("phi", "φ", lambda t: np.asarray(sensitivity(t) - specificity(t)), "confusion", "zero",
            -1, 1, CLASS_REASONS, "linear", "tp + fp - 1 = sensitivity - specificity", _ARMANO,
            invariant=True, terms=lambda *_: (1.0, 1.0, -1.0)),
    Measure("delta", "δ", j_index, "confusion", "max", -1, 1, CLASS_REASONS, "linear",
            "tp - fp = sensitivity + specificity - 1", _ARMANO, ("youden", "informedness"),
            invariant=True, terms=lambda *_: (1.0, -1.0, 0.0)),
    Measure("phi_b", "φ_b", lambda t: divide(2 * (t.fp - t.fn), t.positives + t.negatives),
            "confusion", "zero", -2, 2, CLASS_REASONS, "linear",
            "2 (n fp - p fn), p the prevalence and n = 1 - p", _ARMANO,
            terms=lambda p, n: (2 * p, 2 * n, -2 * p)),
    Measure("delta_b", "δ_b",
            lambda t: divide((t.tp + t.tn) - (t.fp + t.fn), t.positives + t.negatives), "confusion",
            "max", -1, 1, CLASS_REASONS, "linear", "2 (p tp + n (1 - fp)) - 1 = 2 accuracy - 1",
            _ARMANO,
            terms=lambda p, n: (2 * p, -2 * n, n - p), base="accuracy",
            through=lambda share: np.asarray(2 * share - 1)),
)  # fmt: skip
