"""Measures of answering only where one is sure: the risk of the answers against their share."""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Counts, Floats, over
from clfeval.measures.record import Measure
from clfeval.measures.scored import at_scores, distinct, probabilities


def aurc(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the area under the risk-coverage curve: the mean risk over all distinct coverages.

    risk(c) = errors / rows among the rows whose confidence max(p, 1 - p) is at least c

    The answer is the likelier class, at p = 1/2 the positive one, whatever threshold is in force.
    Each distinct confidence gives one coverage, and all count alike.

    Shapes: scores (m,) probabilities, ascending; positives and negatives (..., m); result (...).
    Range 0..1, best 0; NaN without rows.
    Errors: ValueError for scores not ascending or outside 0..1.
    Source: El-Yaniv and Wiener 2010, Journal of Machine Learning Research 11:1605, the curve;
    Geifman, Uziel and El-Yaniv 2019, ICLR, the mean.
    """
    p = probabilities(scores)
    pos, neg, _ = at_scores(p, positives, negatives)
    p = p[distinct(p)]
    if not len(p):
        return np.full(np.shape(pos)[:-1], np.nan)
    unsure = -np.maximum(p, 1 - p)
    order = np.argsort(unsure, kind="stable")
    first = distinct(unsure[order])
    wrong, rows = (
        np.add.reduceat(part[..., order], first, axis=-1, dtype=np.float64)
        for part in (np.where(p >= 0.5, neg, pos), pos + neg)
    )
    there = rows > 0  # no new coverage where a resample has no row
    risk = over(wrong.cumsum(axis=-1), np.maximum(rows.cumsum(axis=-1), 1e-300))
    return over((risk * there).sum(axis=-1), there.sum(axis=-1))


SELECTIVE = (
    Measure("aurc", "AURC", aurc, "probabilities", "min", 0, 1, ("too_few_rows",), "drawn",
            "mean over distinct coverages of the share of errors among the surest rows, by"
            " max(p, 1 - p)",
            "El-Yaniv and Wiener 2010, Journal of Machine Learning Research 11:1605",
            ("risk_coverage",)),
)  # fmt: skip
