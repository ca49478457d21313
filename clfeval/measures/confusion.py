"""The 2 x 2 table of a classifier, and its measures.

Measures broadcast, are unchanged by a common factor of all cells, NaN where 0/0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats, Number, divide
from clfeval.measures.record import CLASS_REASONS, Measure
from clfeval.records import dataclass

_SMALL, _TERMS = 0.1, 18  # where a series replaces the logarithm
_FAR = 1e100  # times as much as expected, compared with which 1 is negligible
_ROUNDING = 8 * np.finfo(np.float64).eps
_TINY = np.finfo(np.float64).tiny  # below it products lose digits


@dataclass(frozen=True, slots=True)
class Confusion:
    """Cells of one or many 2 x 2 tables: rows, shares, or any multiple of them.

    With reweighted classes it is the joint probability table (JPT) of Eiland and Liebrock 2013,
    Advances in Artificial Intelligence 2013:427958.
    """

    tp: Number
    fp: Number
    fn: Number
    tn: Number

    @classmethod
    def from_rates(cls, tp: Number, fp: Number, ratio: Number = 1.0) -> Confusion:
        """Return the table with these true and false positive rates at odds `ratio`; total 1."""
        return cls(tp, fp, 1 - tp, 1 - fp).tuned(ratio)

    @classmethod
    def from_prevalence(cls, tp: Number, fp: Number, p: Number) -> Confusion:
        """Return the table with these true and false positive rates at a prevalence; total 1."""
        n = 1 - p
        return cls(p * tp, n * fp, p * (1 - tp), n * (1 - fp))

    @property
    def cells(self) -> tuple[Number, Number, Number, Number]:
        """TP, FP, FN and TN."""
        return self.tp, self.fp, self.fn, self.tn

    @property
    def positives(self) -> Number:
        """TP + FN."""
        return self.tp + self.fn

    @property
    def negatives(self) -> Number:
        """FP + TN."""
        return self.fp + self.tn

    @property
    def total(self) -> Floats:
        """The sum of the four cells."""
        return np.asarray(self.tp + self.fp + self.fn + self.tn, np.float64)

    def normalised(self) -> Confusion:
        """Return the positives divided by P, the negatives by N: class totals 1, grand total 2."""
        class_totals = (self.positives, self.negatives) * 2
        return Confusion(*map(divide, self.cells, class_totals))

    def tuned(self, ratio: Number) -> Confusion:
        """Return the table at odds `ratio` of positives to negatives: total 1, rates kept.

        TP = r tp / (1 + r)   FN = r fn / (1 + r)   FP = fp / (1 + r)   TN = tn / (1 + r)
        """
        rates = self.normalised()
        r = np.asarray(ratio, np.float64)
        # each share without overflow or loss, whichever class is rare
        p, n = 1 / (1 + 1 / r), 1 / (1 + r)
        return Confusion(p * rates.tp, n * rates.fp, p * rates.fn, n * rates.tn)

    def per(self, rows: float) -> Confusion:
        """Return the table scaled to this many rows."""
        factor = divide(rows, self.total)
        return Confusion(*(cell * factor for cell in self.cells))


def accuracy(t: Confusion) -> Floats:
    """Return the share of correct predictions: (TP + TN) / M; 0..1, best 1."""
    return divide(t.tp + t.tn, t.total)


def error_rate(t: Confusion) -> Floats:
    """Return the share of wrong predictions, (FP + FN) / M; 0..1, best 0."""
    return divide(t.fp + t.fn, t.total)


def sensitivity(t: Confusion) -> Floats:
    """Return the sensitivity, TP / P; 0..1, best 1."""
    return divide(t.tp, t.tp + t.fn)


def specificity(t: Confusion) -> Floats:
    """Return the specificity, TN / N; 0..1, best 1."""
    return divide(t.tn, t.tn + t.fp)


def precision(t: Confusion) -> Floats:
    """Return the precision, the positive predictive value TP / (TP + FP); 0..1, best 1."""
    return divide(t.tp, t.tp + t.fp)


def npv(t: Confusion) -> Floats:
    """Return the negative predictive value, TN / (TN + FN); 0..1, best 1."""
    return divide(t.tn, t.tn + t.fn)


def f_parts(t: Confusion, beta: float = 1.0) -> tuple[Floats, Floats]:
    """Return the numerator and the denominator of F."""
    weighted_hits = (1 + beta**2) * t.tp
    return weighted_hits, weighted_hits + beta**2 * t.fn + t.fp


def f_beta(t: Confusion, beta: float = 1.0) -> Floats:
    """Return F, (1 + b²) TP / ((1 + b²) TP + b² FN + FP), with recall weighted by b; 0..1."""
    return divide(*f_parts(t, beta))


def jaccard(t: Confusion) -> Floats:
    """Return the overlap of truth and prediction, TP / (TP + FP + FN); 0..1, best 1.

    Source: Jaccard 1901, Bulletin de la Societe Vaudoise des Sciences Naturelles 37:547.
    """
    return divide(t.tp, t.tp + t.fp + t.fn)


def j_index(t: Confusion) -> Floats:
    """Return Youden's J, sensitivity + specificity - 1; -1..1, best 1."""
    return np.asarray(sensitivity(t) - divide(t.fp, t.fp + t.tn))


def balanced_accuracy(t: Confusion) -> Floats:
    """Return the mean of the two recalls, (sensitivity + specificity) / 2; 0..1, best 1."""
    return np.asarray((sensitivity(t) + specificity(t)) / 2)


def mcc(t: Confusion) -> Floats:
    """Return Matthews' correlation, (TP TN - FP FN) / sqrt((TP+FP)(FN+TN) P N); -1..1, best 1.

    Undefined where a margin is empty.
    """
    root: Floats = np.ones(())
    for margin in (t.tp + t.fp, t.fn + t.tn, t.tp + t.fn, t.fp + t.tn):
        root = root * np.sqrt(np.asarray(margin, np.float64))
    correlation = np.clip(divide(determinant(t), root), -1, 1)
    for sign, a, b in ((1.0, t.fp, t.fn), (-1.0, t.tp, t.tn)):  # perfect is 1, not almost 1
        correlation = np.where(_both_zero(a, b) & ~np.isnan(correlation), sign, correlation)
    return np.asarray(correlation)


def _both_zero(a: Number, b: Number) -> Bools:
    return np.asarray((np.asarray(a) == 0) & (np.asarray(b) == 0))


def kappa(t: Confusion) -> Floats:
    """Return Cohen's kappa, (accuracy - e) / (1 - e) with e the agreement expected by chance.

    2 (TP TN - FP FN) / ((TP + FP) (FP + TN) + (TP + FN) (FN + TN)); -1..1, best 1, chance 0

    Undefined where e is 1: all truth and all predictions are of one class.
    Source: Cohen 1960, Educational and Psychological Measurement 20:37.
    """
    # as floats, since products of integers would overflow
    tp, fp, fn, tn = (np.asarray(cell, np.float64) for cell in t.cells)
    chance_disagreement = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return divide(2 * (tp * tn - fp * fn), chance_disagreement)


def determinant(t: Confusion) -> Floats:
    """Return TP TN - FP FN, exactly 0 where it differs from 0 by rounding only."""
    true_product = np.asarray(t.tp, np.float64) * t.tn
    difference = true_product - np.asarray(t.fp, np.float64) * t.fn
    return np.where(np.abs(difference) <= _ROUNDING * true_product + _TINY, 0.0, difference)


def mutual_information_nats(t: Confusion) -> Floats:
    """Return the mutual information of truth and prediction, I(truth; prediction), in nats.

    0 where they are independent, at most the entropy of the class ratio.
    """
    m = t.total
    # the shares of the true and of the predicted classes
    p = divide(t.tp + t.fn, m)
    n = divide(t.fp + t.tn, m)
    predicted_positives = divide(t.tp + t.fp, m)
    predicted_negatives = divide(t.fn + t.tn, m)
    # the share of TP, and of TN, less the expected one; of FP and FN it is minus this
    excess = divide(determinant(t), m**2)
    # of TP, FP, FN and TN
    cell_shares = np.array([divide(cell, m) for cell in t.cells])
    class_shares = np.array([p, n, p, n])
    predicted_shares = np.array(
        [predicted_positives, predicted_positives, predicted_negatives, predicted_negatives]
    )
    excesses = np.array([excess, -excess, -excess, excess])
    information = sum(_cell_information(cell_shares, class_shares, predicted_shares, excesses))
    is_determined = _both_zero(t.fp, t.fn) | _both_zero(t.tp, t.tn)
    entropy = _entropy(p, n)
    return np.where(is_determined & (p * n > 0), entropy, np.minimum(information, entropy))


def mutual_information(t: Confusion) -> Floats:
    """Return the mutual information of truth and prediction, in bits.

    sum of q log2(q / (row column)); 0 where independent, at most the entropy of the class ratio.
    """
    return np.asarray(mutual_information_nats(t) / np.log(2))


def ic(t: Confusion) -> Floats:
    """Return the information coefficient I(truth; prediction) / H(truth); 0..1, best 1.

    0 for a prediction that is independent of the truth; a perfectly wrong one has 1 as well.
    """
    m = t.total
    return divide(
        mutual_information_nats(t), _entropy(divide(t.tp + t.fn, m), divide(t.fp + t.tn, m))
    )


def _entropy(p: Floats, n: Floats) -> Floats:
    """Return the entropy of two shares in nats, precise also where one of them is small."""
    rarer_share = np.minimum(p, n)
    commoner_share = np.maximum(p, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            -(rarer_share * np.log(rarer_share) + commoner_share * np.log1p(-rarer_share))
        )


def _cell_information(q: Floats, row_share: Floats, column_share: Floats, excess: Floats) -> Floats:
    """Return q ln(q / e) - q + e of a cell with observed share q and expected e.

    e is the product of the shares of row and column, excess q - e. Over the cells they add up to
    the sum of q ln(q / e): e h(x) with q = e (1 + x); by logarithms where e underflows.
    """
    e = row_share * column_share
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = divide(excess, e)
        information = e * _log_remainder(x)
        underflows = (q > 0) & ~(np.abs(x) < _FAR)
        if not underflows.any():  # nearly always; logarithms are slow
            return information
        by_logarithms = q * (np.log(q) - np.log(row_share) - np.log(column_share)) - q + e
    return np.where(underflows, by_logarithms, information)


def _log_remainder(x: Floats) -> Floats:
    """Return (1 + x) ln(1 + x) - x for x >= -1, precise near 0; 0 for 0/0."""
    x = np.minimum(np.maximum(x, -1.0), np.finfo(np.float64).max)
    x = np.where(np.isnan(x), 0.0, x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        remainder = np.where(x == -1, 1.0, (1 + x) * np.log1p(x) - x)
    is_small = np.abs(x) < _SMALL
    small_x = x[is_small]
    series = np.zeros_like(small_x)
    for k in range(_TERMS, 1, -1):  # x²/2 - x³/6 + x⁴/12 - ...
        series *= small_x
        series += (-1) ** k / (k * (k - 1))
    remainder[is_small] = series * small_x**2
    return remainder


def _rate_measure(
    name: str,
    title: str,
    undefined: str,
    formula: str,
    share: Callable[[Confusion], tuple[Number, Number]],
    aliases: tuple[str, ...] = (),
    **fields: Any,
) -> Measure:
    """Return the record of a measure that is a share of rows, by default a quotient of counts."""
    default_fields = {"compute": lambda t: divide(*share(t)), "interval": "share"}
    return Measure(
        name,
        title,
        needs="confusion",
        undefined=(undefined,),
        formula=formula,
        aliases=aliases,
        share=share,
        **{**default_fields, **fields},
    )


ALL_ALIKE = "errors count equally; always predicting the majority class may exceed good models"
NO_NEGATIVES = "true negatives do not count, and it depends on the prevalence"

# fmt: off
MEASURES = (
    _rate_measure("accuracy", "accuracy", "too_few_rows", "(TP + TN) / (P + N)",
                  lambda t: (t.tp + t.tn, t.positives + t.negatives), ("acc",), interval="linear",
                  terms=lambda p, n: (p, -n, n), caveat=ALL_ALIKE, compute=accuracy),
    _rate_measure("error_rate", "error rate", "too_few_rows", "(FP + FN) / (P + N)",
                  lambda t: (t.fp + t.fn, t.positives + t.negatives), ("zero_one_loss",),
                  best="min", interval="linear", terms=lambda p, n: (-p, n, p), caveat=ALL_ALIKE,
                  compute=error_rate),
    Measure("balanced_accuracy", "balanced accuracy", balanced_accuracy, "confusion", CLASS_REASONS,
            "linear", "(sensitivity + specificity) / 2", aliases=("bal_accuracy",), invariant=True,
            twin="accuracy_u", terms=lambda *_: (0.5, -0.5, 0.5)),
    _rate_measure("sensitivity", "sensitivity", "no_positive_truth", "TP / P",
                  lambda t: (t.tp, t.positives), invariant=True, compute=sensitivity),
    _rate_measure("recall", "recall", "no_positive_truth", "TP / P",
                  lambda t: (t.tp, t.positives), ("sens", "tpr"), invariant=True,
                  twin="sensitivity", compute=sensitivity),
    _rate_measure("specificity", "specificity", "no_negative_truth", "TN / N",
                  lambda t: (t.tn, t.negatives), ("spec", "tnr"), invariant=True,
                  compute=specificity),
    _rate_measure("precision", "precision", "no_positive_prediction", "TP / (TP + FP)",
                  lambda t: (t.tp, t.tp + t.fp),
                  interval="logit", terms=lambda t, r: (t.tp, t.positives, t.fp, t.negatives, r),
                  compute=precision),
    _rate_measure("npv", "NPV", "no_negative_prediction", "TN / (TN + FN)",
                  lambda t: (t.tn, t.tn + t.fn), ("npv_at",), interval="logit",
                  terms=lambda t, r: (t.tn, t.negatives, t.fn, t.positives, 1 / r), compute=npv),
    _rate_measure("fpr", "FPR", "no_negative_truth", "FP / N", lambda t: (t.fp, t.negatives),
                  ("fall_out", "false_positive_rate"), best="min", invariant=True),
    _rate_measure("fnr", "FNR", "no_positive_truth", "FN / P", lambda t: (t.fn, t.positives),
                  ("miss_rate", "false_negative_rate"), best="min", invariant=True),
    _rate_measure("fdr", "FDR", "no_positive_prediction", "FP / (TP + FP)",
                  lambda t: (t.fp, t.tp + t.fp), ("false_discovery_rate",), best="min",
                  interval="logit",
                  terms=lambda t, r: (t.fp, t.negatives, t.tp, t.positives, 1 / r)),
    _rate_measure("for", "FOR", "no_negative_prediction", "FN / (TN + FN)",
                  lambda t: (t.fn, t.tn + t.fn), ("false_omission_rate",), best="min",
                  interval="logit", terms=lambda t, r: (t.fn, t.positives, t.tn, t.negatives, r)),
    Measure("f1", "F1", f_beta, "confusion", ("nothing_positive",), "region",
            "2 TP / (2 TP + FP + FN)", aliases=("f1_score", "f_measure"), base="jaccard",
            through=lambda share: np.asarray(2 * share / (1 + share)), caveat=NO_NEGATIVES),
    Measure("jaccard", "Jaccard", jaccard, "confusion", ("nothing_positive",), "region",
            "TP / (TP + FP + FN)", aliases=("critical_success_index", "threat_score"),
            share=lambda t: (t.tp, t.tp + t.fp + t.fn), random_totals=True),
    Measure("j_index", "J", j_index, "confusion", CLASS_REASONS, "linear",
            "sensitivity + specificity - 1", "Youden 1950, Cancer 3:32", low=-1, invariant=True,
            twin="delta", terms=lambda *_: (1.0, -1.0, 0.0)),
    Measure("mcc", "MCC", mcc, "confusion", ("zero_margin",), "region",
            "(TP TN - FP FN) / sqrt((TP + FP) (FN + TN) P N)",
            "Matthews 1975, Biochimica et Biophysica Acta 405:442", ("matthews_corrcoef",), low=-1),
    Measure("kappa", "kappa", kappa, "confusion", ("expected_agreement_one",), "region",
            "(observed - expected agreement) / (1 - expected)",
            "Cohen 1960, Educational and Psychological Measurement 20:37", ("cohen_kappa", "kap"),
            low=-1),
    Measure("g_mean", "G-mean", lambda t: np.asarray(np.sqrt(sensitivity(t) * specificity(t))),
            "confusion", CLASS_REASONS, "region", "sqrt(sensitivity specificity)",
            "Kubat and Matwin 1997, ICML 14:179", invariant=True),
    Measure("fowlkes_mallows", "Fowlkes-Mallows",
            lambda t: np.asarray(np.sqrt(precision(t) * sensitivity(t))), "confusion",
            ("no_positive_truth", "no_positive_prediction"), "region",
            "sqrt(precision sensitivity)",
            "Fowlkes and Mallows 1983, Journal of the American Statistical Association 78:553"),
    Measure("markedness", "markedness",
            lambda t: np.asarray(precision(t) - divide(t.fn, t.fn + t.tn)), "confusion",
            ("no_positive_prediction", "no_negative_prediction"), "region", "precision + NPV - 1",
            "Powers 2011, Journal of Machine Learning Technologies 2:37", low=-1),
)

MARGINS = (
    _rate_measure("prevalence", "prevalence", "too_few_rows", "P / M",
                  lambda t: (t.positives, t.positives + t.negatives), ("base_rate",), best="none"),
    _rate_measure("detection_prevalence", "detection prevalence", "too_few_rows",
                  "(TP + FP) / M", lambda t: (t.tp + t.fp, t.positives + t.negatives),
                  ("predicted_positive_rate",), best="none", interval="linear",
                  terms=lambda p, n: (p, n, 0.0)),
    _rate_measure("no_information_rate", "no-information rate", "too_few_rows",
                  "rows of the most frequent class / M",
                  lambda t: (np.maximum(t.positives, t.negatives), t.positives + t.negatives),
                  best="none"),
)
# fmt: on

_ARMANO = "Armano 2015, Information Sciences 325:466"

# fmt: off
INFORMATION = (
    Measure("ic", "IC", ic, "confusion", CLASS_REASONS, "region", "I(truth; prediction) / H(truth)",
            "Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958",
            ("information_coefficient",), kinked=True),
    Measure("mutual_information", "mutual information", mutual_information, "confusion",
            ("single_class",), "region",
            "information of prediction and truth in bits: sum over the 2 x 2 table of"
            " q log2(q / (row share x column share))", _ARMANO, kinked=True),
)

INFORMATION_UNBIASED = (
    Measure("mutual_information_u", "unbiased mutual information",
            lambda t: mutual_information(t.normalised()), "confusion", ("single_class",), "region",
            "mutual information at prevalence 1/2, in bits", _ARMANO, invariant=True, kinked=True),
)
# fmt: on
