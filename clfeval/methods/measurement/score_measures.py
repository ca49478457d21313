"""Estimates of measures of scores, and their limits by resampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, nan, sqrt

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, cache_last_call, divide
from clfeval.counts.clusters_and_weights import Owned
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.distributions import tail_probability
from clfeval.inference.rank_statistics import AucInterval
from clfeval.inference.resampling import (
    percentile_limits,
    random_stream,
    resampled_counts,
    resampled_rates,
)
from clfeval.inference.standard_errors import (
    CovarianceEstimate,
    confidence_limits,
    influence_covariance,
    smaller_class_size,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure, undefined_reason
from clfeval.methods.design_effects import TableResampler
from clfeval.methods.estimates import RANDOM, Cells, Design, Limits, make_estimate
from clfeval.methods.measurement.label_measures import BOOTSTRAP, INFLUENCE, NONE, MeasureEstimate
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


Formula = Callable[[Confusion], Floats]


def bootstrap_limits(
    known: Mapping[str, Formula], cells: Cells, models: Ints, names: tuple[str, ...], *,
    level: float, resamples: int, seed: int, design: Design = RANDOM,
    redrawn: Callable[[int], TableResampler | None] = lambda _: None,
) -> tuple[dict[str, Limits], int]:  # fmt: skip
    """Return percentile limits by measure, (m,) each, and the most undefined replicates of any one.

    models (m,): index of each table into `names`; each has its own random stream. Classes are
    resampled separately, with random totals all rows together. NaN for models without a class.
    redrawn: the resampler of a model with clusters or weights.
    Errors: ValueError for counts that are not whole.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 8 and 13.
    """
    out = {name: (np.full(len(cells.tp), np.nan), np.full(len(cells.tp), np.nan)) for name in known}
    failed = 0
    for i, model in enumerate(names):
        here = np.flatnonzero(models == i)
        four = (cells.tp, cells.positives, cells.fp, cells.negatives)
        tp, p, fp, n = (int(part[here[0]]) for part in four)
        if not (p and n):
            continue
        sampled = design.totals == "random" and cells.sampled[here].any()
        each = redrawn(i)
        if each is None:
            rng = random_stream(seed, model)
            tpr, fpr = resampled_rates(tp, p, fp, n, resamples=resamples, rng=rng)
            cell, rng = np.array([tp, fp, p - tp, n - fp]), random_stream(seed, f"rows\0{model}")
            rows = rng.multinomial(p + n, cell / (p + n), resamples * sampled)
        elif each.clusters.size <= 1:
            continue
        else:
            found: Counts = each.tables(resamples, random_stream(seed, model))
            tpr, fpr = divide(found[0], found[0] + found[2]), divide(found[1], found[1] + found[3])
            rows = found.T
        drawn = Confusion.from_rates(tpr[:, None], fpr[:, None], cells.ratio[here])
        for name, measure in known.items():
            values = np.broadcast_to(measure(drawn), (resamples, len(here)))
            if sampled and not CATALOG[name].invariant:
                together = measure(Confusion(*rows.T))[:, None]
                values = np.where(cells.sampled[here], together, values)
            low, high, lost = percentile_limits(values, level=level)
            out[name][0][here], out[name][1][here] = low, high
            failed = max(failed, int(np.max(lost)))
    return out, failed


MOST_DRAWN = 2**29  # numbers drawn at most; fewer resamples if exceeded

ResampledLimits = tuple[tuple[float, float], str]


def resampled_limits(
    measures: Sequence[tuple[Measure, Callable[[Counts], Floats]]], n: Counts,
    clusters: Owned | None, wanted: IntervalSettings, name: str, *, each: int = 1,
) -> list[ResampledLimits]:  # fmt: skip
    """Return percentile limits of measures, and the method of each; NaN for constant draws.

    n (m,): frequency of each kind of row, of `each` numbers; measures are functions of counts (...,
    m). Undefined replicates are left out and counted in the method. name: of the random stream.
    """
    if wanted.level is None:
        return [((nan, nan), NONE)] * len(measures)
    blocks = [
        np.array([np.atleast_1d(of(counts)) for _, of in measures])
        for counts in draw_resamples(n, clusters, wanted, name, each=each)
    ]
    values = np.concatenate(blocks, axis=1)
    found = list[ResampledLimits]()
    for (measure, _), mine in zip(measures, values, strict=True):
        low, high, failed = (float(one) for one in percentile_limits(mine, level=wanted.level))
        # a value constant over resamples, but for rounding, has unknown limits
        if not low < high or low + 1e-12 * abs(low) >= high:
            found.append(((nan, nan), NONE))
        else:
            ends = max(low, measure.low), min(high, measure.high)
            found.append((ends, describe_resampling(len(mine), failed, wanted)))
    return found


def draw_resamples(
    n: Counts, clusters: Owned | None, wanted: IntervalSettings, name: str, *, each: int = 1
) -> Iterator[Counts]:
    """Return bootstrap frequencies of the kinds of rows, (b, m), by rows, weights or clusters."""
    often = max(100, min(wanted.resamples, MOST_DRAWN // max(1, len(n) * each)))
    rng = random_stream(wanted.seed, f"report\0{name}")
    return resample_rows(n, clusters, often, rng)


def describe_resampling(replicates: int, failed: float, wanted: IntervalSettings) -> str:
    """Return the name of the method, with the resamples if fewer, and the undefined ones."""
    fewer = [f"{replicates:,} resamples"] if replicates < wanted.resamples else []
    lost = [f"undefined in {failed:,.0f} of {replicates:,}"] if failed else []
    return ", ".join([BOOTSTRAP, *fewer, *lost])


def resample_rows(
    n: Counts, clusters: Owned | None, often: int, rng: np.random.Generator
) -> Iterator[Counts]:
    """Yield bootstrap counts of rows or clusters, Bayesian bootstrap of weights, (b, m)."""
    if clusters is not None:
        yield from clusters.bootstrap_counts(len(n), resamples=often, rng=rng)
        return
    some = n > 0
    for block in resampled_counts(n[some], resamples=often, rng=rng):
        drawn = np.zeros((len(block), len(n)), np.int64)
        drawn[:, some] = block
        yield drawn
