"""Net benefit of probabilities at a threshold, and related measures.

Scores >= t are predicted positive; one false positive costs w = t / (1 - t) true positives.
Measures and limits are those of the 2 x 2 table at t.
Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
"""

from __future__ import annotations

from math import inf

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, divide
from clfeval.measures.record import Measure
from clfeval.measures.scored import check_probabilities, class_totals

HALF = 0.5  # the threshold where none is given


def net_benefit(scores: Counts, positives: Counts, negatives: Counts, t: float = HALF) -> Floats:
    """Return the net benefit TP / M - FP / M t / (1 - t).

    Treating none has 0, treating all pi - (1 - pi) t / (1 - t), pi the share of positives.

    Shapes: scores (m,) probabilities; positives and negatives (..., m); result (...), in true
    positives per row. Range -t / (1 - t) up to the share of positives, best high; NaN at t = 1 and
    without rows.
    Errors: ValueError unless 0 <= t <= 1, and for scores outside 0..1.
    Source: Vickers and Elkin 2006, Medical Decision Making 26:565.
    """
    over_all = np.sum(class_totals(positives, negatives), axis=0)
    called = _predicted_positive(scores, t)
    tp, fp = (part[..., called].sum(axis=-1) for part in (positives, negatives))
    return divide(tp - _threshold_odds(t) * fp, over_all)


def standardised_net_benefit(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Floats:
    """Return the net benefit divided by its maximum, the share of positives.

    sensitivity - (1 - specificity) (1 - pi) / pi t / (1 - t)

    Range up to 1, best 1; NaN without positives. Else as `net_benefit`.
    Source: Kerr, Brown, Zhu and Janes 2016, Journal of Clinical Oncology 34:2534.
    """
    return divide(net_benefit(scores, positives, negatives, t), _prevalence(positives, negatives))


def interventions_avoided(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Floats:
    """Return the net reduction of interventions per 100 rows compared with treating all.

    100 (net benefit - that of treating all) (1 - t) / t = 100 (TN - FN (1 - t) / t) / M

    Range up to 100 times the share of negatives, best high; NaN at t = 0, at t = 1 and without
    rows. Else as `net_benefit`.
    """
    rows = np.sum(class_totals(positives, negatives), axis=0)
    passed = ~_predicted_positive(scores, t)
    fn, tn = (part[..., passed].sum(axis=-1) for part in (positives, negatives))
    return divide(100 * (tn - divide(1.0, _positive_threshold_odds(t)) * fn), rows)


def net_benefit_influence(
    scores: Counts, positives: Counts, negatives: Counts, t: float = HALF
) -> Influence:
    """Return the influence on the net benefit: what a row brings less the mean."""
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
    """Return the influence on the interventions avoided: what a row adds less the mean."""
    passed, mean = (
        ~_predicted_positive(scores, t),
        interventions_avoided(scores, positives, negatives, t),
    )
    adds = {True: -100 * float(divide(1.0, _positive_threshold_odds(t))), False: 100.0}
    return Influence(len(scores), lambda at, y: passed[at] * adds[y] - mean)


def _predicted_positive(scores: Counts, t: float) -> Bools:
    if not 0 <= t <= 1:
        raise ValueError(f"the threshold {t:g} is not between 0 and 1")
    return np.asarray(check_probabilities(scores) >= t)


def _prevalence(positives: Counts, negatives: Counts) -> Floats:
    """Return the share of positives, NaN where it is 0 too: nothing is to be found there."""
    p, n = class_totals(positives, negatives)
    return divide(np.where(p > 0, p, np.nan), p + n)


def _threshold_odds(t: float) -> float:
    """Return t / (1 - t), NaN at t = 1: a false positive undoes all the others there."""
    return t / (1 - t) if t < 1 else np.nan


def _positive_threshold_odds(t: float) -> float:
    """Return t / (1 - t), NaN at t = 0 too: nothing pays for the false negatives there."""
    return _threshold_odds(t) if t > 0 else np.nan


_ELKIN = "Vickers and Elkin 2006, Medical Decision Making 26:565"
_UNDEFINED = ("too_few_rows", "certain_threshold")

DECISIONS = (
    Measure("net_benefit@t", "net benefit at a threshold", net_benefit, "probabilities", "max",
            -inf, 1, _UNDEFINED, "region", "TP / M - FP / M t / (1 - t) at scores >= t",
            _ELKIN, ("net_benefit_at",), takes=("t",), influence=net_benefit_influence),
    Measure("net_benefit_standardised", "standardised net benefit", standardised_net_benefit,
            "probabilities",
            "max", -inf, 1, ("no_positive_truth", "certain_threshold"), "region",
            "net benefit / share of positives",
            "Kerr et al. 2016, Journal of Clinical Oncology 34:2534", takes=("t",),
            influence=standardised_influence),
    Measure("interventions_avoided", "interventions avoided", interventions_avoided,
            "probabilities", "max", -inf, 100, _UNDEFINED, "region",
            "100 (TN - FN (1 - t) / t) / M, per 100 rows, net of false negatives",
            _ELKIN, ("net_reduction_interventions",), takes=("t",), influence=avoided_influence),
)  # fmt: skip
