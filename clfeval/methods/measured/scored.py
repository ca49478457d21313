"""Measures of one model's scores with what is known of their error: limits, standard error."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from clfeval.arrays import Counts, Floats, Influence, remembered
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate
from clfeval.inference.delong import AucInterval
from clfeval.inference.influence import Uncertainty, limits, smaller_class, uncertainty
from clfeval.inference.special import tail_of
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure, why
from clfeval.methods.estimates import estimate
from clfeval.methods.measured.drawn import DrawnLimits, drawn_limits
from clfeval.methods.measured.hard import INFLUENCE, NONE
from clfeval.methods.options import Certainty
from clfeval.methods.roc import area_of

PROBABILITIES, ONE_CLASS = "not_probabilities", "exact limits of 0 of n"


@dataclass(frozen=True, slots=True)
class Known:
    """A value, its standard error on the measure's own scale (NaN for none), and the method."""

    value: Estimate
    error: float
    method: str


def measured(measure: Measure, counts: ScoreCounts, wanted: Certainty, name: str) -> Known:
    """Return a measure of scores, with limits by the method of its record or the one asked for."""
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
        classes = Confusion(parts[1].sum().item(), parts[2].sum().item(), 0, 0)
        return Known(Estimate(None, reason=why(measure.undefined, classes)), nan, NONE)
    if measure.interval == "delong":
        return _area(measure, counts, value, wanted, name)
    error, found = nan, None
    if measure.influence is not None:
        found = _uncertainty(measure.influence(*parts), counts)
        error = float(found.errors[0])
    if wanted.level is None or measure.interval == "null":
        return Known(estimate(value), error, NONE)
    if measure.id == "oe_ratio" and found is not None and 0 in (parts[1].sum(), parts[2].sum()):
        return _of_one_class(measure, counts, value, tail_of(wanted.level) ** (1 / found.size))
    if wanted.how != "bootstrap" and found is not None:
        return by_influence(measure, value, found, wanted.level)
    (low, high), method = _resampled(measure, counts, wanted, name)
    return Known(estimate(value, low, high), error, method)


def by_influence(measure: Measure, value: float, found: Uncertainty, level: float | None) -> Known:
    """Return a value with limits of its standard error, on the scale of the measure."""
    error = float(found.errors[0])
    if level is None:
        return Known(estimate(value), error, NONE)
    ends = limits(
        value, error, scale=measure.scale, low=measure.low, high=measure.high, level=level,
        df=found.df,
    )  # fmt: skip
    low, high = (float(end[0]) for end in ends)
    method = NONE if isnan(low) else f"{INFLUENCE}, {measure.scale}"
    return Known(estimate(value, low, high), error, method)


def _of_one_class(measure: Measure, counts: ScoreCounts, value: float, share: float) -> Known:
    """Return O:E of rows of one class, with exact limits; share: tail**(1 / n)."""
    n = counts.positives + counts.negatives
    all_ = float(measure.function(counts.scores, n, np.zeros_like(n)))
    low, high = (share * all_, value) if value else (value, (1 - share) * all_)
    return Known(estimate(value, low, high), nan, ONE_CLASS)


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
    found = by_delong(measure, area_of(counts, wanted.level or 0.95), value, wanted.level)
    if wanted.level is not None and wanted.how == "bootstrap":
        (low, high), method = _resampled(measure, counts, wanted, name)
        if not isnan(low):
            return Known(estimate(value, low, high), found.error, method)
    return found


def by_delong(measure: Measure, area: AucInterval, value: float, level: float | None) -> Known:
    """Return the area, or what is linear in it, with its limits."""
    double = measure.low < 0  # gini = 2 AUC - 1
    error = nan if isnan(area.variance) else (1 + double) * sqrt(max(area.variance, 0.0))
    if level is None:
        return Known(estimate(value), error, NONE)
    low, high = (2 * end - 1 if double else end for end in (area.low, area.high))
    return Known(estimate(value, low, high), error, area.method)


def _resampled(measure: Measure, counts: ScoreCounts, wanted: Certainty, name: str) -> DrawnLimits:
    """Return percentile limits over resampled rows, weights or clusters: draws of the counts."""
    m = len(counts.scores)

    def of(drawn: Counts) -> Floats:
        return measure.function(counts.scores, drawn[..., :m], drawn[..., m:])

    n = np.concatenate([counts.positives, counts.negatives])
    (found,) = drawn_limits([(measure, of)], n, counts.clusters, wanted, f"{measure.id}\0{name}")
    return found
