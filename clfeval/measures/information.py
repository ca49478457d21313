"""What the answers of a classifier tell of the truth: mutual information of a 2 x 2 table."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Floats, over
from clfeval.measures.confusion import Confusion, determinant
from clfeval.measures.record import BOTH, Measure

_ARMANO = "Armano 2015, Information Sciences 325:466"
_SMALL, _TERMS = 0.1, 18  # where a series replaces the logarithm


def information(t: Confusion) -> Floats:
    """Return the mutual information of truth and prediction, I(truth; prediction), in nats.

    0 where they are independent, at most the entropy of the class ratio.
    """
    m = t.total
    p, n = over(t.tp + t.fn, m), over(t.fp + t.tn, m)
    said, denied = over(t.tp + t.fp, m), over(t.fn + t.tn, m)
    cross = over(determinant(t), m**2)
    # q ln(q / e) over the cells is the sum of e h(x) with q = e (1 + x), and no term is negative
    shared = sum(
        row * column * _bend(over(sign * cross, row * column))
        for row, column, sign in ((p, said, 1), (n, said, -1), (p, denied, -1), (n, denied, 1))
    )
    certain = (np.asarray(t.fp) == 0) & (np.asarray(t.fn) == 0)
    certain |= (np.asarray(t.tp) == 0) & (np.asarray(t.tn) == 0)
    most = _entropy(p, n)
    return np.where(certain & (p * n > 0), most, np.minimum(shared, most))


def mutual_information(t: Confusion) -> Floats:
    """Return what an answer tells of the truth, in bits: sum of q log2(q / (row column)).

    0 where they are independent, at most the entropy of the class ratio; a perfect and a perfectly
    wrong classifier both reach it.
    """
    return np.asarray(information(t) / np.log(2))


def ic(t: Confusion) -> Floats:
    """Return the information coefficient I(truth; prediction) / H(truth); 0..1, best 1.

    0 for a prediction that is independent of the truth; a perfectly wrong one has 1 as well.
    """
    m = t.total
    return over(information(t), _entropy(over(t.tp + t.fn, m), over(t.fp + t.tn, m)))


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


MEASURES = (
    Measure("ic", "IC", ic, "confusion", "max", 0, 1, BOTH, "region",
            "I(truth; prediction) / H(truth)",
            "Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958",
            ("information_coefficient",), kinked=True),
    Measure("mutual_information", "mutual information", mutual_information, "confusion", "max", 0,
            1, ("single_class",), "region",
            "bits that an answer tells of the truth: sum over the 2 x 2 table of"
            " q log2(q / (row share x column share))", _ARMANO, kinked=True),
)  # fmt: skip

UNBIASED = (
    Measure("mutual_information_u", "unbiased mutual information",
            lambda t: mutual_information(t.normalised()), "confusion", "max", 0, 1,
            ("single_class",), "region", "mutual information at prevalence 1/2, in bits", _ARMANO,
            invariant=True, kinked=True),
)  # fmt: skip
