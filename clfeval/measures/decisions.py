"""Net benefit of probabilities at a threshold, and selective prediction: risk against coverage.

Of scores (m,) that are probabilities with positives and negatives (..., m) at each, measures are
(...); ValueError for scores outside 0..1.
"""

from __future__ import annotations

from math import inf

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, divide
from clfeval.measures.probability import (
    check_probabilities,
    class_totals,
    distinct_starts,
    sum_at_scores,
)
from clfeval.measures.record import Measure

HALF = 0.5  # the default threshold


def net_benefit(scores: Counts, positives: Counts, negatives: Counts, t: float = HALF) -> Floats:
    """Return the net benefit TP / M - FP / M t / (1 - t), in true positives per row.

    Treating none has 0, treating all pi - (1 - pi) t / (1 - t), pi the share of positives. Range
    -t / (1 - t) up to pi, best high; NaN at t = 1 and without rows. ValueError unless 0 <= t <= 1.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    over_all = np.sum(class_totals(positives, negatives), axis=0)
    called = _predicted_positive(scores, t)
    tp, fp = (part[..., called].sum(axis=-1) for part in (positives, negatives))
    return divide(tp - _threshold_odds(t) * fp, over_all)


def standardised_net_benefit(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Floats:
    """Return the net benefit divided by its maximum, the share of positives; best 1.

    sensitivity - (1 - specificity) (1 - pi) / pi t / (1 - t); NaN without positives, else as
    `net_benefit`. Source: Kerr, Brown, Zhu and Janes 2016, Journal of Clinical Oncology 34:2534.
    """
    return divide(net_benefit(scores, positives, negatives, t), _prevalence(positives, negatives))


def interventions_avoided(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Floats:
    """Return the net reduction of interventions per 100 rows compared with treating all.

    100 (net benefit - that of treating all) (1 - t) / t = 100 (TN - FN (1 - t) / t) / M

    Range up to 100 times the share of negatives, best high; NaN at t = 0, at t = 1 and without
    rows.
    """
    rows = np.sum(class_totals(positives, negatives), axis=0)
    passed = ~_predicted_positive(scores, t)
    fn, tn = (part[..., passed].sum(axis=-1) for part in (positives, negatives))
    return divide(100 * (tn - divide(1.0, _threshold_odds(t, 0.0)) * fn), rows)


def net_benefit_influence(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Influence:
    """Return the influence on the net benefit: the contribution of a row minus the mean."""
    called, mean = _predicted_positive(scores, t), net_benefit(scores, positives, negatives, t)
    brings = {True: 1.0, False: -_threshold_odds(t)}
    return Influence(len(scores), lambda at, y: called[at] * brings[y] - mean)


def standardised_influence(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Influence:
    """Return the influence on NB / pi, (f - NB / pi (y - pi)) / pi."""
    share = _prevalence(positives, negatives)
    ratio = standardised_net_benefit(scores, positives, negatives, t)
    own = net_benefit_influence(scores, positives, negatives, t)
    return Influence(own.m, lambda at, y: divide(own.at(at, y) - ratio * (y - share), share))


def avoided_influence(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Influence:
    """Return the influence on interventions avoided: the contribution of a row minus the mean."""
    passed = ~_predicted_positive(scores, t)
    mean = interventions_avoided(scores, positives, negatives, t)
    adds = {True: -100 * float(divide(1.0, _threshold_odds(t, 0.0))), False: 100.0}
    return Influence(len(scores), lambda at, y: passed[at] * adds[y] - mean)


def _predicted_positive(scores: Counts, t: float) -> Bools:
    if not 0 <= t <= 1:
        raise ValueError(f"the threshold {t:g} is not between 0 and 1")
    return np.asarray(check_probabilities(scores) >= t)


def _prevalence(positives: Counts, negatives: Counts) -> Floats:
    """Return the share of positives, NaN without positives or without rows."""
    p, n = class_totals(positives, negatives)
    return divide(np.where(p > 0, p, np.nan), p + n)


def _threshold_odds(t: float, least: float = -1.0) -> float:
    """Return t / (1 - t), the weight of a false positive; NaN at t = 1, and up to `least`."""
    return t / (1 - t) if least < t < 1 else np.nan


_ELKIN = "Vickers and Elkin 2006, Medical Decision Making 26:565"
_UNDEFINED = ("too_few_rows", "certain_threshold")

DECISIONS = (
    Measure("net_benefit@t", "net benefit at a threshold", net_benefit, "probabilities", _UNDEFINED,
            "region", "TP / M - FP / M t / (1 - t) at scores >= t", _ELKIN, ("net_benefit_at",),
            low=-inf, takes=("t",), influence=net_benefit_influence),
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
)  # fmt: skip


COVERAGE = 0.8  # the default
DIGITS = 14  # of a confidence: .3 and .7 have the same, though 1 - .7 is not .3 in binary digits


def risk_coverage_area(confidence: Floats, right: Counts, wrong: Counts) -> Floats:
    """Return the area under the risk-coverage curve: the mean risk over all distinct coverages.

    risk(c) = errors / rows among the rows whose confidence is at least c

    Shapes: confidence (m,); right and wrong (..., m). Range 0..1, best 0; NaN without rows.
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
    """Return the accuracy of the given share of rows with the highest confidence; 0..1, best 1.

    Ties count in expectation; NaN without rows. Shapes and source as `risk_coverage_area`: one
    point of the curve. ValueError unless 0 < coverage <= 1.
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"the coverage {coverage:g} is not above 0 and at most 1")
    missed, rows = _from_the_surest(confidence, right, wrong)
    room = coverage * rows.sum(axis=-1)
    taken = np.clip(room[..., None] - (rows.cumsum(axis=-1) - rows), 0, rows)
    share = np.divide(taken, rows, out=np.zeros_like(rows), where=rows > 0)
    return np.asarray(1 - divide((missed * share).sum(axis=-1), room))


def _from_the_surest(confidence: Floats, right: Counts, wrong: Counts) -> tuple[Floats, Floats]:
    """Return errors and rows at each distinct confidence, in descending order."""
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
    """Return the confidence of the more probable class, and correct and wrong predictions."""
    p = check_probabilities(scores)
    pos, neg, _ = sum_at_scores(p, positives, negatives)
    p = p[distinct_starts(p)]
    yes = p >= HALF
    sure = np.asarray(np.round(np.maximum(p, 1 - p), DIGITS), np.float64)
    return sure, np.where(yes, pos, neg), np.where(yes, neg, pos)


def aurc(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the area under the risk-coverage curve of the more probable of two classes.

    Errors: ValueError for scores not ascending.
    """
    return risk_coverage_area(*_likelier_class(scores, positives, negatives))


def selective_accuracy(
    scores: Counts, positives: Counts, negatives: Counts, coverage: float = COVERAGE
) -> Floats:
    """Return the `confident_accuracy` of the more probable class; shapes, errors as `aurc`."""
    return confident_accuracy(*_likelier_class(scores, positives, negatives), coverage)


def overconfidence(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the mean confidence max(p, 1 - p) minus the accuracy: -1/2..1, best 0.

    Above 0 overconfident, below 0 underconfident; NaN without rows. Errors: as `aurc`.
    Source: Lichtenstein, Fischhoff and Phillips 1982, in Judgment under Uncertainty, chapter 22.
    """
    sure, right, wrong = _likelier_class(scores, positives, negatives)
    rows = right + wrong
    return divide((rows * sure - right).sum(axis=-1), rows.sum(axis=-1))


def overconfidence_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on the overconfidence, that of a mean: max(p, 1 - p) - right - mean."""
    p, mean = check_probabilities(scores), overconfidence(scores, positives, negatives)
    sure, yes = np.maximum(p, 1 - p), p >= HALF
    return Influence(len(p), lambda at, y: sure[at] - (yes[at] == y) - mean)


_YANIV = "El-Yaniv and Wiener 2010, Journal of Machine Learning Research 11:1605"

SELECTIVE = (
    Measure("aurc", "AURC", aurc, "probabilities", ("too_few_rows",), "drawn",
            "mean error rate over all coverages, rows in order of their largest class probability",
            _YANIV, ("risk_coverage",), best="min"),
    Measure("selective_accuracy", "selective accuracy", selective_accuracy, "probabilities",
            ("too_few_rows",), "drawn", "accuracy in the rows with the largest class probabilities",
            _YANIV, ("accuracy_at_coverage",), takes=("coverage",)),
    Measure("overconfidence", "overconfidence", overconfidence, "probabilities", ("too_few_rows",),
            "influence", "mean of the largest class probability - accuracy",
            "Lichtenstein, Fischhoff and Phillips 1982, in Judgment under Uncertainty, chapter 22",
            best="zero", low=-1, influence=overconfidence_influence,
            caveat="over- and underconfidence in different rows cancel out; see also ece"),
)  # fmt: skip
