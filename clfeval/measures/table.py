"""The measures of a 2 x 2 table whose cells may have any common factor.

They broadcast, are NaN where undefined (0/0) and infinite where more than 0 is divided by 0.
Source: Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from clfeval.arrays import Floats
from clfeval.measures.jpt import Jpt, Number, over

_ROUNDING = 8 * np.finfo(np.float64).eps
_TINY = np.finfo(np.float64).tiny  # below it no product has its digits
_SMALL, _TERMS = 0.1, 18  # where a series replaces the logarithm

Measure = Callable[[Jpt], Floats]


def tar(t: Jpt) -> Floats:
    """Return the share of right answers, accuracy: (TP + TN) / M; 0..1, best 1."""
    return over(t.tp + t.tn, t.total)


def tor(t: Jpt) -> Floats:
    """Return the odds of a right answer: (TP + TN) / (FP + FN); 0..inf, best inf."""
    return over(t.tp + t.tn, t.fp + t.fn)


def sensitivity(t: Jpt) -> Floats:
    """Return TP / P; 0..1, best 1."""
    return over(t.tp, t.tp + t.fn)


def specificity(t: Jpt) -> Floats:
    """Return TN / N; 0..1, best 1."""
    return over(t.tn, t.tn + t.fp)


def ppv(t: Jpt) -> Floats:
    """Return the positive predictive value, TP / (TP + FP); 0..1, best 1."""
    return over(t.tp, t.tp + t.fp)


def npv(t: Jpt) -> Floats:
    """Return the negative predictive value, TN / (TN + FN); 0..1, best 1."""
    return over(t.tn, t.tn + t.fn)


def ppv_odds(t: Jpt) -> Floats:
    """Return the odds that a positive answer is right, TP / FP; 0..inf."""
    return over(t.tp, t.fp)


def npv_odds(t: Jpt) -> Floats:
    """Return the odds that a negative answer is right, TN / FN; 0..inf."""
    return over(t.tn, t.fn)


def epa(t: Jpt) -> Floats:
    """Return the mean of the two odds, (TP/FP + TN/FN) / 2; 0..inf.

    At an extreme class ratio one of them swamps the other.
    """
    return np.asarray((ppv_odds(t) + npv_odds(t)) / 2)


def f_beta(t: Jpt, beta: float = 1.0) -> Floats:
    """Return (1 + b²) TP / ((1 + b²) TP + b² FN + FP); recall counts b times as much; 0..1."""
    hits = (1 + beta**2) * t.tp
    return over(hits, hits + beta**2 * t.fn + t.fp)


def f_odds(t: Jpt, beta: float = 1.0) -> Floats:
    """Return F / (1 - F) = (1 + b²) TP / (b² FN + FP); 0..inf."""
    return over((1 + beta**2) * t.tp, beta**2 * t.fn + t.fp)


def mcc(t: Jpt) -> Floats:
    """Return Matthews' correlation, (TP TN - FP FN) / sqrt((TP+FP)(FN+TN) P N); -1..1, best 1.

    Undefined where a margin is empty.
    """
    said, denied = _root(t.tp + t.fp), _root(t.fn + t.tn)
    p, n = _root(t.tp + t.fn), _root(t.fp + t.tn)
    found = np.clip(over(_cross(t), said * denied * p * n), -1, 1)
    for sign, a, b in ((1.0, t.fp, t.fn), (-1.0, t.tp, t.tn)):  # perfect is 1, not almost 1
        found = np.where(
            (np.asarray(a) == 0) & (np.asarray(b) == 0) & ~np.isnan(found), sign, found
        )
    return np.asarray(found)


def information(t: Jpt) -> Floats:
    """Return the mutual information of truth and prediction, I(truth; prediction), in nats.

    0 where they are independent, at most the entropy of the class ratio.
    """
    m = t.total
    p, n = over(t.tp + t.fn, m), over(t.fp + t.tn, m)
    said, denied = over(t.tp + t.fp, m), over(t.fn + t.tn, m)
    cross = over(_cross(t), m**2)
    # q ln(q / e) over the cells is the sum of e h(x) with q = e (1 + x), and no term is negative
    shared = sum(
        row * column * _bend(over(sign * cross, row * column))
        for row, column, sign in ((p, said, 1), (n, said, -1), (p, denied, -1), (n, denied, 1))
    )
    certain = (np.asarray(t.fp) == 0) & (np.asarray(t.fn) == 0)
    certain |= (np.asarray(t.tp) == 0) & (np.asarray(t.tn) == 0)
    most = _entropy(p, n)
    return np.where(certain & (p * n > 0), most, np.minimum(shared, most))


def ic(t: Jpt) -> Floats:
    """Return the information coefficient I(truth; prediction) / H(truth); 0..1, best 1.

    0 for a prediction that is independent of the truth; a perfectly wrong one has 1 as well.
    """
    m = t.total
    return over(information(t), _entropy(over(t.tp + t.fn, m), over(t.fp + t.tn, m)))


def j_index(t: Jpt) -> Floats:
    """Return Youden's J, sensitivity + specificity - 1; -1..1, best 1."""
    return np.asarray(sensitivity(t) - over(t.fp, t.fp + t.tn))


def phi(t: Jpt) -> Floats:
    """Return the bias, sensitivity - specificity; -1..1, 0 leans nowhere."""
    return np.asarray(sensitivity(t) - specificity(t))


def dor(t: Jpt) -> Floats:
    """Return the diagnostic odds ratio, TP TN / (FP FN); 0..inf, chance 1."""
    # as floats, for whole numbers would wrap around
    tp, fp = np.asarray(t.tp, np.float64), np.asarray(t.fp, np.float64)
    return over(tp * t.tn, fp * t.fn)


def dp(t: Jpt) -> Floats:
    """Return the discriminant power, sqrt(3)/pi ln(DOR), natural logarithm; chance 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(math.sqrt(3) / math.pi * np.log(dor(t)))


def lr_pos(t: Jpt) -> Floats:
    """Return the positive likelihood ratio, sensitivity / (1 - specificity); 0..inf."""
    return over(sensitivity(t), over(t.fp, t.fp + t.tn))


def lr_neg(t: Jpt) -> Floats:
    """Return the negative likelihood ratio, (1 - sensitivity) / specificity; 0..inf, best 0."""
    return over(over(t.fn, t.tp + t.fn), specificity(t))


@dataclass(frozen=True, slots=True)
class Stakes:
    """What one row of each cell costs or brings, in any one unit."""

    fp: float
    fn: float
    tp: float = 0.0  # benefit
    tn: float = 0.0  # benefit

    @property
    def exchange(self) -> float:
        """How many true positives one false positive undoes: (cost FP + benefit TN) / (FN + TP)."""
        return (self.fp + self.tn) / (self.fn + self.tp)

    @property
    def probability(self) -> float:
        """The risk from which on a positive answer pays: exchange / (1 + exchange)."""
        return self.exchange / (1 + self.exchange)


def expected_cost(t: Jpt, stakes: Stakes) -> Floats:
    """Return the mean cost of a row less its benefit, in the unit of the stakes; best low."""
    cost = stakes.fp * t.fp + stakes.fn * t.fn - stakes.tp * t.tp - stakes.tn * t.tn
    return over(cost, t.total)


def net_benefit(t: Jpt, stakes: Stakes) -> Floats:
    """Return TP / M - w FP / M with w the exchange: true positives per row, net; best high.

    0 for a classifier that never says positive.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    return over(t.tp - stakes.exchange * t.fp, t.total)


PLAIN: Mapping[str, Measure] = {
    "tar": tar, "tor": tor, "sensitivity": sensitivity, "specificity": specificity,
    "ppv": ppv, "npv": npv, "ppv_odds": ppv_odds, "npv_odds": npv_odds, "epa": epa,
    "f_beta": f_beta, "f_odds": f_odds, "mcc": mcc, "ic": ic, "j_index": j_index, "dor": dor,
    "dp": dp, "lr_pos": lr_pos, "lr_neg": lr_neg, "phi": phi, "delta": j_index,
}  # fmt: skip


def measures(beta: float = 1.0, stakes: Stakes | None = None) -> dict[str, Measure]:
    """Return every measure by id, with the weight of recall and the stakes filled in."""
    known = dict(PLAIN)
    known["f_beta"], known["f_odds"] = partial(f_beta, beta=beta), partial(f_odds, beta=beta)
    if stakes is not None:
        known["expected_cost"] = partial(expected_cost, stakes=stakes)
        known["net_benefit"] = partial(net_benefit, stakes=stakes)
    return known


def _cross(t: Jpt) -> Floats:
    """Return TP TN - FP FN, exactly 0 where only rounding keeps it from that."""
    right, wrong = np.asarray(t.tp, np.float64) * t.tn, np.asarray(t.fp, np.float64) * t.fn
    difference = right - wrong
    return np.where(np.abs(difference) <= _ROUNDING * right + _TINY, 0.0, difference)


def _root(margin: Number) -> Floats:
    return np.asarray(np.sqrt(np.asarray(margin, np.float64)))


def _entropy(p: Floats, n: Floats) -> Floats:
    """Return the entropy of two shares in nats, with all digits where one of them is small."""
    rare, rest = np.minimum(p, n), np.maximum(p, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-(rare * np.log(rare) + rest * np.log1p(-rare)))


def _bend(x: Floats) -> Floats:
    """Return (1 + x) ln(1 + x) - x for x >= -1, with all digits next to 0; 0 for 0/0."""
    x = np.nan_to_num(np.maximum(x, -1.0), nan=0.0)
    small = np.where(np.abs(x) < _SMALL, x, 0.0)
    series = np.zeros_like(small)
    for k in range(_TERMS, 1, -1):  # x²/2 - x³/6 + x⁴/12 - ...
        series = (-1) ** k / (k * (k - 1)) + series * small
    with np.errstate(divide="ignore", invalid="ignore"):
        large = np.where(x == -1, 1.0, (1 + x) * np.log1p(x) - x)
    return np.where(np.abs(x) < _SMALL, series * small**2, large)
