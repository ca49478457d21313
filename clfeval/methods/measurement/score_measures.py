"""Measures of one model's scores: estimates, confidence limits and standard errors."""

from __future__ import annotations

from math import isnan, nan, sqrt

import numpy as np

from clfeval.arrays import Counts, Floats, cache_last_call
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.distributions import tail_probability
from clfeval.inference.influence import (
    CovarianceEstimate,
    confidence_limits,
    influence_covariance,
    smaller_class_size,
)
from clfeval.inference.rank_statistics import AucInterval
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure, undefined_reason
from clfeval.methods.estimates import make_estimate
from clfeval.methods.measurement.label_measures import INFLUENCE, NONE, MeasureEstimate
from clfeval.methods.measurement.resampled_limits import ResampledLimits, resampled_limits
from clfeval.methods.options import IntervalSettings
from clfeval.methods.roc import score_auc_interval

PROBABILITIES = "not_probabilities"


def estimate_score_measure(
    measure: Measure, counts: ScoreCounts, wanted: IntervalSettings, name: str
) -> MeasureEstimate:
    """Return a measure of scores, with limits by the requested or the default method."""
    x = counts.scores
    if measure.needs == "probabilities" and len(x) and not (x[0] >= 0 and x[-1] <= 1):
        return MeasureEstimate.undefined(PROBABILITIES)
    parts = (counts.scores, counts.positives, counts.negatives)
    value = float(measure.function(*parts))
    if isnan(value):
        classes = Confusion(parts[1].sum().item(), parts[2].sum().item(), 0, 0)
        return MeasureEstimate.undefined(undefined_reason(measure.undefined, classes))
    if measure.interval == "delong":
        area = score_auc_interval(counts, wanted.level or 0.95)
        known = delong_estimate(measure, area, value, wanted.level)
        if wanted.level is not None and wanted.how == "bootstrap":
            (low, high), method = _bootstrap_limits(measure, counts, wanted, name)
            if not isnan(low):
                return MeasureEstimate(make_estimate(value, low, high), known.error, method)
        return known
    error, found = nan, None
    if measure.influence is not None:
        n, owned = _class_rows(counts.positives, counts.negatives), counts.clusters
        found = influence_covariance(
            measure.influence(*parts), n, fewest=smaller_class_size(n, owned), clusters=owned
        )
        error = float(found.errors[0])
    if wanted.level is None or measure.interval == "null":
        return MeasureEstimate(make_estimate(value), error, NONE)
    if measure.id == "oe_ratio" and found is not None and 0 in (parts[1].sum(), parts[2].sum()):
        n, share = parts[1] + parts[2], tail_probability(wanted.level) ** (1 / found.size)
        most = float(measure.function(counts.scores, n, np.zeros_like(n)))
        ends = (share * most, value) if value else (value, (1 - share) * most)
        return MeasureEstimate(make_estimate(value, *ends), nan, "exact limits of 0 of n")
    if wanted.how != "bootstrap" and found is not None:
        return influence_estimate(measure, value, found, wanted.level)
    (low, high), method = _bootstrap_limits(measure, counts, wanted, name)
    return MeasureEstimate(make_estimate(value, low, high), error, method)


def influence_estimate(
    measure: Measure, value: float, found: CovarianceEstimate, level: float | None
) -> MeasureEstimate:
    """Return a value with limits from its standard error, on the scale of the measure."""
    error = float(found.errors[0])
    if level is None:
        return MeasureEstimate(make_estimate(value), error, NONE)
    ends = confidence_limits(
        value, error, scale=measure.scale, low=measure.low, high=measure.high, level=level,
        df=found.df,
    )  # fmt: skip
    low, high = (float(end[0]) for end in ends)
    method = NONE if isnan(low) else f"{INFLUENCE}, {measure.scale}"
    return MeasureEstimate(make_estimate(value, low, high), error, method)


@cache_last_call
def _class_rows(positives: Counts, negatives: Counts) -> Floats:
    return np.concatenate([positives, negatives], dtype=np.float64)


def delong_estimate(
    measure: Measure, area: AucInterval, value: float, level: float | None
) -> MeasureEstimate:
    """Return the AUC, or a linear function of it, with DeLong limits."""
    double = measure.low < 0  # gini = 2 AUC - 1
    error = nan if isnan(area.variance) else (1 + double) * sqrt(max(area.variance, 0.0))
    if level is None:
        return MeasureEstimate(make_estimate(value), error, NONE)
    low, high = (2 * end - 1 if double else end for end in (area.low, area.high))
    return MeasureEstimate(make_estimate(value, low, high), error, area.method)


def _bootstrap_limits(
    measure: Measure, counts: ScoreCounts, wanted: IntervalSettings, name: str
) -> ResampledLimits:
    """Return percentile limits over bootstrap samples of rows, weights or clusters."""
    m = len(counts.scores)

    def of(drawn: Counts) -> Floats:
        return measure.function(counts.scores, drawn[..., :m], drawn[..., m:])

    n, name = np.concatenate([counts.positives, counts.negatives]), f"{measure.id}\0{name}"
    return resampled_limits([(measure, of)], n, counts.clusters, wanted, name)[0]
