"""Measures of selective prediction: risk against coverage.

The confidence of two classes is max(p, 1 - p) of the more probable class (positive at p = 1/2),
independent of the threshold; of more see `top_label`.
"""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Counts, Floats, Influence, Ints, divide
from clfeval.measures.record import Measure
from clfeval.measures.scored import check_probabilities, distinct_starts, sum_at_scores

COVERAGE = 0.8  # where none is given
DIGITS = 14  # of a confidence: .3 and .7 are as sure, though 1 - .7 is not .3 in binary digits


def mean_risk(confidence: Floats, right: Counts, wrong: Counts) -> Floats:
    """Return the area under the risk-coverage curve: the mean risk over all distinct coverages.

    risk(c) = errors / rows among the rows whose confidence is at least c

    Shapes: confidence (m,); right and wrong (..., m); result (...). Range 0..1, best 0; NaN without
    rows.
    Source: El-Yaniv and Wiener 2010, Journal of Machine Learning Research 11:1605, the curve;
    Geifman, Uziel and El-Yaniv 2019, ICLR, the mean.
    """
    missed, rows = _from_the_surest(confidence, right, wrong)
    there = rows > 0  # no new coverage where a resample has no row
    risk = divide(missed.cumsum(axis=-1), np.maximum(rows.cumsum(axis=-1), 1e-300))
    return divide((risk * there).sum(axis=-1), there.sum(axis=-1))


def confident_accuracy(
    confidence: Floats, right: Counts, wrong: Counts, coverage: float = COVERAGE
) -> Floats:
    """Return the accuracy of the share of rows with the highest confidence, ties in expectation.

    Shapes: as `mean_risk`. Range 0..1, best 1; NaN without rows.
    Errors: ValueError unless 0 < coverage <= 1.
    Source: as `mean_risk`, one point of the curve.
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"the coverage {coverage:g} is not above 0 and at most 1")
    missed, rows = _from_the_surest(confidence, right, wrong)
    room = coverage * rows.sum(axis=-1)
    taken = np.clip(room[..., None] - (rows.cumsum(axis=-1) - rows), 0, rows)
    share = np.divide(taken, rows, out=np.zeros_like(rows), where=rows > 0)
    return np.asarray(1 - divide((missed * share).sum(axis=-1), room))


def _from_the_surest(confidence: Floats, right: Counts, wrong: Counts) -> tuple[Floats, Floats]:
    """Return errors and rows at each distinct confidence, the largest first."""
    if not len(confidence):
        none = np.zeros((*np.shape(right)[:-1], 0))
        return none, none
    order = np.argsort(-confidence, kind="stable")
    first = distinct_starts(-confidence[order])
    missed, rows = (
        np.add.reduceat(part[..., order], first, axis=-1, dtype=np.float64)
        for part in (wrong, right + wrong)
    )
    return missed, rows


def _likelier_class(
    scores: Counts, positives: Counts, negatives: Counts
) -> tuple[Floats, Counts, Counts]:
    """Return how sure the likelier of two classes is, and how often it is right and wrong."""
    p = check_probabilities(scores)
    pos, neg, _ = sum_at_scores(p, positives, negatives)
    p = p[distinct_starts(p)]
    yes = p >= 0.5
    sure = np.asarray(np.round(np.maximum(p, 1 - p), DIGITS), np.float64)
    return sure, np.where(yes, pos, neg), np.where(yes, neg, pos)


def aurc(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the `mean_risk` of the likelier class of two.

    Shapes: scores (m,) probabilities, ascending; positives and negatives (..., m); result (...).
    Errors: ValueError for scores not ascending or outside 0..1.
    """
    return mean_risk(*_likelier_class(scores, positives, negatives))


def selective_accuracy(
    scores: Counts, positives: Counts, negatives: Counts, coverage: float = COVERAGE
) -> Floats:
    """Return the `confident_accuracy` of the likelier class of two; shapes and errors as `aurc`."""
    return confident_accuracy(*_likelier_class(scores, positives, negatives), coverage)


def overconfidence(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the mean confidence max(p, 1 - p) less the accuracy, (...).

    Above 0 overconfident, below 0 underconfident.

    Shapes: as `aurc`. Range -1/2..1, best 0; NaN without rows. Errors: as `aurc`.
    Source: Lichtenstein, Fischhoff and Phillips 1982, in Judgment under Uncertainty, chapter 22.
    """
    sure, right, wrong = _likelier_class(scores, positives, negatives)
    rows = right + wrong
    return divide((rows * sure - right).sum(axis=-1), rows.sum(axis=-1))


def overconfidence_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on the overconfidence, that of a mean: max(p, 1 - p) - right - mean."""
    p, mean = check_probabilities(scores), overconfidence(scores, positives, negatives)

    def each(at: Ints | slice, y: bool) -> Floats:
        return np.asarray(np.maximum(p[at], 1 - p[at]) - ((p[at] >= 0.5) == y) - mean)

    return Influence(len(p), each)


_YANIV = "El-Yaniv and Wiener 2010, Journal of Machine Learning Research 11:1605"

SELECTIVE = (
    Measure("aurc", "AURC", aurc, "probabilities", "min", 0, 1, ("too_few_rows",), "drawn",
            "mean error rate over all coverages, rows in order of their largest class probability",
            _YANIV, ("risk_coverage",)),
    Measure("selective_accuracy", "selective accuracy", selective_accuracy, "probabilities", "max",
            0, 1, ("too_few_rows",), "drawn",
            "accuracy in the rows with the largest class probabilities", _YANIV,
            ("accuracy_at_coverage",), takes=("coverage",)),
    Measure("overconfidence", "overconfidence", overconfidence, "probabilities", "zero", -1, 1,
            ("too_few_rows",), "influence",
            "mean of the largest class probability - accuracy",
            "Lichtenstein, Fischhoff and Phillips 1982, in Judgment under Uncertainty, chapter 22",
            influence=overconfidence_influence,
            caveat="over- and underconfidence in different rows cancel out; see also ece"),
)  # fmt: skip
