"""Odds and ratios of a 2 x 2 table, costs and net benefit, and measures of the phi-delta plane.

Net benefit at a threshold is of scores (m,) that are probabilities, with positives and negatives
(..., m) at each; results are (...), ValueError for scores outside 0..1.
"""

from __future__ import annotations

import math
from math import inf

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, Ints, Number, divide
from clfeval.measures.confusion import (
    ALL_ALIKE,
    NO_NEGATIVES,
    Confusion,
    accuracy,
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
from clfeval.measures.probability import check_probabilities, class_totals
from clfeval.measures.record import CLASS_REASONS, Measure
from clfeval.records import dataclass


def epa(t: Confusion) -> Floats:
    """Return the mean of the two odds, (TP/FP + TN/FN) / 2; 0..inf.

    At an extreme class ratio one of them dominates.
    """
    return np.asarray((divide(t.tp, t.fp) + divide(t.tn, t.fn)) / 2)


def dor(t: Confusion) -> Floats:
    """Return the diagnostic odds ratio, TP TN / (FP FN); 0..inf, chance 1."""
    # as floats, since products of integers would overflow
    tp = np.asarray(t.tp, np.float64)
    fp = np.asarray(t.fp, np.float64)
    return divide(tp * t.tn, fp * t.fn)


@dataclass(frozen=True, slots=True)
class OutcomeCosts:
    """Costs of false predictions and benefits of true ones, per row and in one unit."""

    fp: float
    fn: float
    tp: float = 0.0  # benefit
    tn: float = 0.0  # benefit

    @property
    def exchange(self) -> float:
        """The true positives that a false positive offsets: (cost FP + benefit TN) / (FN + TP)."""
        return (self.fp + self.tn) / (self.fn + self.tp)

    @property
    def probability(self) -> float:
        """The risk above which predicting positive pays: exchange / (1 + exchange)."""
        return self.exchange / (1 + self.exchange)


def expected_cost(t: Confusion, stakes: OutcomeCosts) -> Floats:
    """Return the mean cost minus benefit of a row, in the unit of the stakes; best low."""
    cost = stakes.fp * t.fp + stakes.fn * t.fn - stakes.tp * t.tp - stakes.tn * t.tn
    return divide(cost, t.total)


def _cost_terms(p: Floats, n: Floats, stakes: OutcomeCosts) -> tuple[Floats, Floats, Floats]:
    """Return the cost as a, b and shift of a tp + b fp + shift, p and n the class shares."""
    shift = p * stakes.fn - n * stakes.tn
    return -p * (stakes.fn + stakes.tp), n * (stakes.fp + stakes.tn), shift


def net_benefit(t: Confusion, stakes: OutcomeCosts) -> Floats:
    """Return the net benefit TP / M - w FP / M with the exchange rate w; best high.

    Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    return divide(t.tp - stakes.exchange * t.fp, t.total)


def _odds(share: Floats) -> Floats:
    """Return x / (1 - x), infinite at 1."""
    return divide(share, np.maximum(1 - share, 0.0))


def _discriminant_power(ratio: Floats) -> Floats:
    """Return sqrt(3) / pi ln(odds ratio)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(math.sqrt(3) / math.pi * np.log(ratio))


# measures of a table at another class ratio, in the order of columns
# fmt: off
JPT = (
    "tar", "tor", "ppv", "npv", "ppv_odds", "npv_odds", "epa", "f_beta", "f_odds", "mcc", "ic",
    "sensitivity", "specificity", "j_index", "phi", "delta", "lr_pos", "lr_neg", "dor", "dp",
    "expected_cost", "net_benefit",
)
# fmt: on
# these and others on request; twins of the measures above are left out
# fmt: off
TUNABLE = (
    *JPT, "error_rate", "balanced_accuracy", "fpr", "fnr", "fdr", "for", "jaccard", "kappa",
    "g_mean", "fowlkes_mallows", "markedness", "mutual_information", "precision_u", "npv_u", "f1_u",
    "mcc_u", "mutual_information_u", "phi_b", "delta_b",
)
# fmt: on
_JPT = "Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958"
_ELKIN = "Vickers and Elkin 2006, Medical Decision Making 26:565"
_MERCALDO = "Mercaldo, Lau and Zhou 2007, Statistics in Medicine 26:2170"
_NO_POSITIVE = (*CLASS_REASONS, "no_positive_prediction")
_NO_NEGATIVE = (*CLASS_REASONS, "no_negative_prediction")

# fmt: off
RATIOS = (
    Measure("lr_pos", "LR+", lambda t: divide(sensitivity(t), divide(t.fp, t.fp + t.tn)),
            "confusion", _NO_POSITIVE, "ratio", "sensitivity / (1 - specificity)", high=inf,
            invariant=True, terms=lambda t, _: (t.tp, t.positives, t.fp, t.negatives, 1.0)),
    Measure("lr_neg", "LR-", lambda t: divide(divide(t.fn, t.tp + t.fn), specificity(t)),
            "confusion", _NO_NEGATIVE, "ratio", "(1 - sensitivity) / specificity", best="min",
            high=inf, invariant=True,
            terms=lambda t, _: (t.fn, t.positives, t.tn, t.negatives, 1.0)),
    Measure("dor", "DOR", dor, "confusion", (*CLASS_REASONS, "zero_margin"), "log",
            "TP TN / (FP FN)", "Glas et al. 2003, Journal of Clinical Epidemiology 56:1129",
            high=inf, invariant=True, terms=lambda t, _: (t.tp, t.fp, t.fn, t.tn)),
    Measure("dp", "DP", lambda t: _discriminant_power(dor(t)), "confusion",
            (*CLASS_REASONS, "zero_margin"), "derived", "sqrt(3)/π ln(DOR), natural logarithm",
            _JPT, ("discriminant_power",), low=-inf, high=inf, invariant=True, base="dor",
            through=_discriminant_power),
    Measure("epa", "EPA", epa, "confusion", (*_NO_POSITIVE, "no_negative_prediction"), "region",
            "(TP / FP + TN / FN) / 2", _JPT, high=inf),
)

ODDS = (
    Measure("tor", "TOR", lambda t: divide(t.tp + t.tn, t.fp + t.fn), "confusion", CLASS_REASONS,
            "derived", "(TP + TN) / (FP + FN)", _JPT, high=inf, base="tar", through=_odds),
    Measure("f_odds", "F odds",
            lambda t, beta=1.0: divide((1 + beta**2) * t.tp, beta**2 * t.fn + t.fp), "confusion",
            CLASS_REASONS, "derived", "F / (1 - F)", _JPT, high=inf, takes=("beta",), base="f_beta",
            through=_odds),
    Measure("ppv_odds", "PPV odds", lambda t: divide(t.tp, t.fp), "confusion", _NO_POSITIVE,
            "ratio", "TP / FP", _JPT, high=inf,
            terms=lambda t, r: (t.tp, t.positives, t.fp, t.negatives, r), base="ppv",
            through=_odds),
    Measure("npv_odds", "NPV odds", lambda t: divide(t.tn, t.fn), "confusion", _NO_NEGATIVE,
            "ratio", "TN / FN", _JPT, high=inf,
            terms=lambda t, r: (t.tn, t.negatives, t.fn, t.positives, 1 / r), base="npv",
            through=_odds),
)
# fmt: on


def ppv_at(t: Confusion, prevalence: float) -> Floats:
    """Return sens p / (sens p + (1 - spec) (1 - p)), the PPV at a prevalence p; 0..1, best 1.

    Undefined without positives or negatives, and where nothing is predicted positive. Source: Kuhn
    and Johnson, Applied Machine Learning for Tabular Data, chapter 15; the limits: Mercaldo, Lau
    and Zhou 2007, Statistics in Medicine 26:2170.
    """
    return precision(t.tuned(prevalence / (1 - prevalence)))


def npv_at(t: Confusion, prevalence: float) -> Floats:
    """Return spec (1 - p) / (spec (1 - p) + (1 - sens) p), the NPV at a prevalence p; 0..1, best 1.

    Undefined where nothing is predicted negative. Else as `ppv_at`.
    """
    return npv(t.tuned(prevalence / (1 - prevalence)))


# fmt: off
TUNED = (
    Measure("tar", "TAR (accuracy)", accuracy, "confusion", CLASS_REASONS, "linear",
            "(TP + TN) / M", _JPT, twin="accuracy",
            share=lambda t: (t.tp + t.tn, t.positives + t.negatives), terms=lambda p, n: (p, -n, n),
            caveat=ALL_ALIKE),
    Measure("ppv", "PPV", precision, "confusion", _NO_POSITIVE, "logit", "TP / (TP + FP)",
            _MERCALDO, ("ppv_at",), twin="precision", share=lambda t: (t.tp, t.tp + t.fp),
            terms=lambda t, r: (t.tp, t.positives, t.fp, t.negatives, r)),
    Measure("f_beta", "F", f_beta, "confusion", ("nothing_positive",), "region",
            "(1 + b²) TP / ((1 + b²) TP + b² FN + FP)",
            "van Rijsbergen 1979, Information Retrieval, chapter 7", ("f1", "f_meas"),
            takes=("beta",), base="f1", caveat=NO_NEGATIVES),
    Measure("expected_cost", "expected cost", expected_cost, "confusion", ("too_few_rows",),
            "linear", "(cost FP + cost FN - benefit TP - benefit TN) / M, per row",
            "Elkan 2001, IJCAI 17:973", ("cost",), best="min", low=-inf, high=inf,
            takes=("stakes",),
            terms=_cost_terms),
    Measure("net_benefit", "net benefit", net_benefit, "confusion",
            ("too_few_rows", "certain_threshold"), "linear",
            "TP / M - w FP / M, w = (cost FP + benefit TN) / (cost FN + benefit TP)",
            _ELKIN, low=-inf, takes=("stakes",),
            terms=lambda p, n, stakes: (p, -n * stakes.exchange, 0.0)),
    Measure("ppv_at", "PPV at a prevalence", ppv_at, "confusion", _NO_POSITIVE, "logit",
            "sens p / (sens p + (1 - spec) (1 - p)) at the prevalence p", _MERCALDO,
            takes=("prevalence",), invariant=True),
    Measure("npv_at", "NPV at a prevalence", npv_at, "confusion", _NO_NEGATIVE, "logit",
            "spec (1 - p) / (spec (1 - p) + (1 - sens) p) at the prevalence p", _MERCALDO,
            takes=("prevalence",), invariant=True),
)
# fmt: on


HALF = 0.5  # the default threshold


def net_benefit_at(scores: Counts, positives: Counts, negatives: Counts, t: float = HALF) -> Floats:
    """Return the net benefit TP / M - FP / M t / (1 - t), in true positives per row.

    Treating none has 0, treating all pi - (1 - pi) t / (1 - t), pi the share of positives. Range
    -t / (1 - t) up to pi, best high; NaN at t = 1 and without rows. ValueError unless 0 <= t <= 1.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    rows = np.sum(class_totals(positives, negatives), axis=0)
    is_predicted_positive = _predicted_positive(scores, t)
    tp, fp = (counts[..., is_predicted_positive].sum(axis=-1) for counts in (positives, negatives))
    return divide(tp - _threshold_odds(t) * fp, rows)


def standardised_net_benefit(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Floats:
    """Return the net benefit divided by its maximum, the share of positives; best 1.

    sensitivity - (1 - specificity) (1 - pi) / pi t / (1 - t); NaN without positives, else as
    `net_benefit_at`.
    Source: Kerr, Brown, Zhu and Janes 2016, Journal of Clinical Oncology 34:2534.
    """
    benefit = net_benefit_at(scores, positives, negatives, t)
    return divide(benefit, _prevalence(positives, negatives))


def interventions_avoided(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Floats:
    """Return the net reduction of interventions per 100 rows compared with treating all.

    100 (net benefit - that of treating all) (1 - t) / t = 100 (TN - FN (1 - t) / t) / M

    Range up to 100 times the share of negatives, best high; NaN at t = 0, at t = 1 and without
    rows.
    """
    rows = np.sum(class_totals(positives, negatives), axis=0)
    is_predicted_negative = ~_predicted_positive(scores, t)
    fn, tn = (counts[..., is_predicted_negative].sum(axis=-1) for counts in (positives, negatives))
    return divide(100 * (tn - divide(1.0, _threshold_odds(t, 0.0)) * fn), rows)


def net_benefit_influence(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Influence:
    """Return the influence on the net benefit: the contribution of a row minus the mean."""
    is_predicted_positive = _predicted_positive(scores, t)
    mean = net_benefit_at(scores, positives, negatives, t)
    class_benefit = {True: 1.0, False: -_threshold_odds(t)}
    return Influence(
        len(scores), lambda indices, y: is_predicted_positive[indices] * class_benefit[y] - mean
    )


def standardised_influence(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Influence:
    """Return the influence on NB / pi, (f - NB / pi (y - pi)) / pi."""
    share = _prevalence(positives, negatives)
    ratio = standardised_net_benefit(scores, positives, negatives, t)
    benefit = net_benefit_influence(scores, positives, negatives, t)

    def values_at(indices: Ints | slice, y: bool) -> Floats:
        return divide(benefit.values_at(indices, y) - ratio * (y - share), share)

    return Influence(benefit.m, values_at)


def avoided_influence(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Influence:
    """Return the influence on interventions avoided: the contribution of a row minus the mean."""
    is_predicted_negative = ~_predicted_positive(scores, t)
    mean = interventions_avoided(scores, positives, negatives, t)
    class_benefit = {True: -100 * float(divide(1.0, _threshold_odds(t, 0.0))), False: 100.0}
    return Influence(
        len(scores), lambda indices, y: is_predicted_negative[indices] * class_benefit[y] - mean
    )


def _predicted_positive(scores: Counts, t: float) -> Bools:
    """Return whether scores reach the threshold; ValueError for one outside 0..1."""
    if not 0 <= t <= 1:
        raise ValueError(f"the threshold {t:g} is not between 0 and 1")
    return np.asarray(check_probabilities(scores) >= t)


def _prevalence(positives: Counts, negatives: Counts) -> Floats:
    """Return the share of positives, NaN without positives or without rows."""
    p, n = class_totals(positives, negatives)
    return divide(np.where(p > 0, p, np.nan), p + n)


def _threshold_odds(t: float, low: float = -1.0) -> float:
    """Return t / (1 - t), the weight of a false positive; NaN at t = 1, and unless t > `low`."""
    return t / (1 - t) if low < t < 1 else np.nan


_UNDEFINED = ("too_few_rows", "certain_threshold")

# fmt: off
DECISIONS = (
    Measure("net_benefit@t", "net benefit at a threshold", net_benefit_at, "probabilities",
            _UNDEFINED, "region", "TP / M - FP / M t / (1 - t) at scores >= t", _ELKIN,
            ("net_benefit_at",), low=-inf, takes=("t",), influence=net_benefit_influence),
    Measure("net_benefit_standardised", "standardised net benefit", standardised_net_benefit,
            "probabilities", ("no_positive_truth", "certain_threshold"), "region",
            "net benefit / share of positives",
            "Kerr et al. 2016, Journal of Clinical Oncology 34:2534", low=-inf, takes=("t",),
            influence=standardised_influence),
    Measure("interventions_avoided", "interventions avoided", interventions_avoided,
            "probabilities", _UNDEFINED, "region",
            "100 (TN - FN (1 - t) / t) / M, per 100 rows, net of false negatives", _ELKIN,
            ("net_reduction_interventions",), low=-inf, high=100, takes=("t",),
            influence=avoided_influence),
)
# fmt: on


_ARMANO = "Armano 2015, Information Sciences 325:466"
# fmt: off
CORNERS = {  # of the diamond, by rates
    "oracle": (1, 0), "always positive": (1, 1), "anti-oracle": (0, 1), "always negative": (0, 0),
}
# fmt: on
# thresholds of readings: |delta| up to CHANCE is no information, |phi| up to LEAN is no bias
ORACLE, CHANCE, LEAN = 0.8, 0.1, 0.1
BOUNDARIES = (-CHANCE, CHANCE, ORACLE)


def phi_delta(tp: Number, fp: Number) -> tuple[Floats, Floats]:
    """Return phi and delta of two rates: tp + fp - 1 and tp - fp; -1..1 each.

    phi is -1 when all rows are predicted negative, 1 when all positive; delta is 0 for chance.
    """
    return np.asarray(tp + fp - 1, np.float64), np.asarray(tp - fp, np.float64)


def phi_delta_at_prevalence(tp: Number, fp: Number, p: Number) -> tuple[Floats, Floats]:
    """Return phi_b = 2 (n fp - p fn), -2..2, and delta_b = 2 accuracy - 1, -1..1, at a prevalence.

    accuracy = p tp + n (1 - fp)   n = 1 - p   tp and fp the rates, fn = 1 - tp
    """
    n = 1 - p
    accuracy_at = p * tp + n * (1 - fp)
    excess = n * fp - p * (1 - tp)
    return np.asarray(2 * excess, np.float64), np.asarray(2 * accuracy_at - 1, np.float64)


def phi_delta_of_counts(tp: Counts, fp: Counts, p: Counts, n: Counts) -> tuple[Floats, Floats]:
    """Return phi and delta of counts, tp of p positives and fp of n negatives.

    One division only, to keep round numbers round: products of whole counts must not overflow.
    """
    return divide(tp * n + fp * p - p * n, p * n), divide(tp * n - fp * p, p * n)


# fmt: off
UNBIASED = (
    Measure("accuracy_u", "unbiased accuracy", balanced_accuracy, "confusion", CLASS_REASONS,
            "linear", "(1 + δ) / 2", _ARMANO, invariant=True, terms=lambda *_: (0.5, -0.5, 0.5)),
    Measure("error_u", "unbiased error", lambda t: error_rate(t.normalised()), "confusion",
            CLASS_REASONS, "linear", "(1 - δ) / 2", _ARMANO, best="min", invariant=True,
            terms=lambda *_: (-0.5, 0.5, 0.5)),
    Measure("precision_u", "unbiased precision", lambda t: precision(t.normalised()), "confusion",
            _NO_POSITIVE, "region", "tp / (tp + fp)", _ARMANO, invariant=True),
    Measure("npv_u", "unbiased NPV", lambda t: npv(t.normalised()), "confusion", _NO_NEGATIVE,
            "region", "tn / (tn + fn)", _ARMANO, invariant=True),
    Measure("f1_u", "unbiased F1", lambda t: f_beta(t.normalised()), "confusion", CLASS_REASONS,
            "region", "2 tp / (2 tp + fn + fp)", _ARMANO, invariant=True),
    Measure("mcc_u", "unbiased MCC", lambda t: mcc(t.normalised()), "confusion",
            (*CLASS_REASONS, "zero_margin"), "region", "δ / sqrt((tp + fp) (tn + fn))", _ARMANO,
            ("mcc_normalised",), low=-1, invariant=True),
)

PLANE = (
    Measure("phi", "φ", lambda t: np.asarray(sensitivity(t) - specificity(t)), "confusion",
            CLASS_REASONS, "linear", "tp + fp - 1 = sensitivity - specificity", _ARMANO,
            best="zero", low=-1, invariant=True, terms=lambda *_: (1.0, 1.0, -1.0)),
    Measure("delta", "δ", j_index, "confusion", CLASS_REASONS, "linear",
            "tp - fp = sensitivity + specificity - 1", _ARMANO, ("youden", "informedness"), low=-1,
            invariant=True, terms=lambda *_: (1.0, -1.0, 0.0)),
    Measure("phi_b", "φ_b", lambda t: divide(2 * (t.fp - t.fn), t.positives + t.negatives),
            "confusion", CLASS_REASONS, "linear", "2 (n fp - p fn), p the prevalence and n = 1 - p",
            _ARMANO, best="zero", low=-2, high=2, terms=lambda p, n: (2 * p, 2 * n, -2 * p)),
    Measure("delta_b", "δ_b",
            lambda t: divide((t.tp + t.tn) - (t.fp + t.fn), t.positives + t.negatives), "confusion",
            CLASS_REASONS, "linear", "2 (p tp + n (1 - fp)) - 1 = 2 accuracy - 1", _ARMANO, low=-1,
            terms=lambda p, n: (2 * p, -2 * n, n - p), base="accuracy",
            through=lambda share: np.asarray(2 * share - 1)),
)
# fmt: on
