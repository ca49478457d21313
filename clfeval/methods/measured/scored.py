"""Measures of one model's scores with what is known of their error: limits, standard error."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from clfeval.arrays import Counts, Floats, Influence, remembered
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.influence import Uncertainty, limits, smaller_class, uncertainty
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure, why
from clfeval.methods.estimates import estimate
from clfeval.methods.measured.drawn import DrawnLimits, drawn_limits
from clfeval.methods.measured.hard import INFLUENCE, NONE
from clfeval.methods.options import Certainty
from clfeval.methods.roc import area_of
from clfeval.result import Estimate

PROBABILITIES = "not_probabilities"


@dataclass(frozen=True, slots=True)
class Known:
    """A value, its standard error on the measure's own scale (NaN for none), and the method."""

    value: Estimate
    error: float
    method: str


def measured(measure: Measure, counts: ScoreCounts, wanted: Certainty, name: str) -> Known:
    """Return a measure of scores, with limits by the method of its record or the one asked for.

    name: of the stream of random numbers.
    """
    m = len(counts.scores)
    if (
        measure.needs == "probabilities"
        and m
        and not (counts.scores[0] >= 0 and counts.scores[-1] <= 1)
    ):
        return Known(Estimate(None, reason=PROBABILITIES), nan, NONE)
    parts = (counts.scores, counts.positives, counts.negatives)
    value = float(measure.function(*parts))
    if isnan(value):
        return Known(Estimate(None, reason=_why(measure, counts)), nan, NONE)
    if measure.interval == "delong":
        return _area(measure, counts, value, wanted, name)
    error, found = nan, None
    if measure.influence is not None:
        found = _uncertainty(measure.influence(*parts), counts)
        error = float(found.errors[0])
    if wanted.level is None:
        return Known(estimate(value), error, NONE)
    if wanted.how != "bootstrap" and found is not None:
        ends = limits(
            value, error, scale=measure.scale, low=measure.low, high=measure.high,
            level=wanted.level, df=found.df,
        )  # fmt: skip
        low, high = (float(end[0]) for end in ends)
        method = NONE if isnan(low) else f"{INFLUENCE}, {measure.scale}"
        return Known(estimate(value, low, high), error, method)
    (low, high), method = _resampled(measure, counts, wanted, name)
    return Known(estimate(value, low, high), error, method)


def _why(measure: Measure, counts: ScoreCounts) -> str:
    """Return why a measure is undefined: of the reasons it has, the one that holds."""
    p, n = counts.positives.sum().item(), counts.negatives.sum().item()
    return why(measure.undefined, Confusion(p, n, 0, 0))


def _uncertainty(each: Influence, counts: ScoreCounts) -> Uncertainty:
    n = _rows(counts.positives, counts.negatives)
    owned = counts.clusters
    return uncertainty(each, n, fewest=smaller_class(n, owned), clusters=owned)


@remembered
def _rows(positives: Counts, negatives: Counts) -> Floats:
    return np.concatenate([positives, negatives], dtype=np.float64)


def _area(
    measure: Measure, counts: ScoreCounts, value: float, wanted: Certainty, name: str
) -> Known:
    """Return the area under the curve, or what is linear in it, by DeLong."""
    double = measure.low < 0  # gini = 2 AUC - 1
    found = area_of(counts, wanted.level or 0.95)
    error = nan if isnan(found.variance) else (1 + double) * sqrt(max(found.variance, 0.0))
    if wanted.level is None:
        return Known(estimate(value), error, NONE)
    if wanted.how == "bootstrap":
        (low, high), method = _resampled(measure, counts, wanted, name)
        if not isnan(low):
            return Known(estimate(value, low, high), error, method)
    low, high = (2 * end - 1 if double else end for end in (found.low, found.high))
    return Known(estimate(value, low, high), error, found.method)


def _resampled(measure: Measure, counts: ScoreCounts, wanted: Certainty, name: str) -> DrawnLimits:
    """Return percentile limits over resampled rows, weights or clusters: draws of the counts."""
    m = len(counts.scores)

    def of(drawn: Counts) -> Floats:
        return measure.function(counts.scores, drawn[..., :m], drawn[..., m:])

    n = np.concatenate([counts.positives, counts.negatives])
    (found,) = drawn_limits([(measure, of)], n, counts.clusters, wanted, f"{measure.id}\0{name}")
    return found
