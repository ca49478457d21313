"""Measures of the highest scores: how many of the positives are among the top k rows."""

from __future__ import annotations

from math import inf

import numpy as np

from clfeval.arrays import Counts, Floats, divide
from clfeval.measures.record import Measure
from clfeval.measures.scored import bounded_share, class_totals, sum_at_scores

TOP = 0.1  # the share of the rows where none is given


def recall_at_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float = TOP, row: float = 1
) -> Floats:
    """Return the share of the positives that is among the top k, the cumulative gain.

    k up to 1 is a share of the rows, above 1 a number of rows. Ties at the cut are taken in
    expectation over their order. row: counts per row.

    Shapes: scores (m,) ascending; positives and negatives (..., m); result (...). Range 0..1, best
    1, chance k as a share; NaN without positives, and with fewer than k rows.
    Errors: ValueError unless k > 0, and for scores that are not ascending.
    Source: Jarvelin and Kekalainen 2002, ACM TOIS 20:422, cumulative gain; the ties: McSherry and
    Najork 2008, ECIR 30:414.
    """
    found, _ = _positives_in_top_k(scores, positives, negatives, k, row)
    return bounded_share(found, class_totals(positives, negatives)[0])


def precision_at_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float = TOP, row: float = 1
) -> Floats:
    """Return the share of positives among the top k rows.

    Range 0..1, best 1, chance the prevalence; NaN without rows, and with fewer than k.
    Else as `recall_at_k`.
    """
    return bounded_share(*_positives_in_top_k(scores, positives, negatives, k, row))


def lift_at_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float = TOP, row: float = 1
) -> Floats:
    """Return the share of positives among the top k rows over that among all rows.

    Range from 0 up, best high, chance 1. Else as `recall_at_k`.
    """
    p, n = class_totals(positives, negatives)
    precision = precision_at_k(scores, positives, negatives, k, row)
    return divide(precision, divide(p, np.where(p > 0, p + n, p)))


def _positives_in_top_k(
    scores: Counts, positives: Counts, negatives: Counts, k: float, row: float
) -> tuple[Floats, Floats]:
    """Return how many positives are among the top k, in expectation, and how many rows that is."""
    if not k > 0:
        raise ValueError(f"k {k:g} is not above 0")
    pos, neg, _ = sum_at_scores(scores, positives, negatives)
    pos, n = pos[..., ::-1] * 1.0, (pos[..., ::-1] + neg[..., ::-1]) * 1.0
    rows = n.sum(axis=-1)
    room = k * rows if k <= 1 else np.where(rows >= k * row, k * row, np.nan)
    above = n.cumsum(axis=-1) - n
    with np.errstate(invalid="ignore"):
        taken = np.clip(room[..., None] - above, 0, n)
    part = np.divide(taken, n, out=np.zeros_like(n), where=n > 0)
    return np.asarray((pos * part).sum(axis=-1)), np.asarray(room)


_TIES = "Jarvelin and Kekalainen 2002, ACM TOIS 20:422"
_TAKES, _FILLS = ("k",), ("row",)

TOPS = (
    Measure("precision@k", "precision at k", precision_at_k, "scores", "max", 0, 1,
            ("too_few_rows",), "drawn", "share of positives in the top k", _TIES,
            ("precision_at_k",), takes=_TAKES, fills=_FILLS),
    Measure("recall@k", "recall at k", recall_at_k, "scores", "max", 0, 1,
            ("no_positive_truth", "too_few_rows"), "drawn", "share of all positives in the top k",
            _TIES, ("recall_at_k",), takes=_TAKES, fills=_FILLS),
    Measure("gain@k", "gain at k", recall_at_k, "scores", "max", 0, 1,
            ("no_positive_truth", "too_few_rows"), "drawn", "share of all positives in the top k",
            _TIES, ("gain_at_k", "cumulative_gain"), twin="recall@k", takes=_TAKES, fills=_FILLS),
    Measure("lift@k", "lift at k", lift_at_k, "scores", "max", 0, inf,
            ("no_positive_truth", "too_few_rows"), "drawn",
            "share of positives among the top k / share of positives", _TIES, ("lift_at_k",),
            takes=_TAKES, fills=_FILLS),
)  # fmt: skip
