"""Estimates: the value of a measure with its interval, or why there is none; the one dispatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite, isinf, nan
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, over
from clfeval.counts.patterns import ConfusionCounts
from clfeval.errors import UsageError
from clfeval.inference.score_region import range_over_region
from clfeval.inference.shares import (
    clopper_pearson,
    combination,
    odds_ratio,
    predictive_value,
    rate_ratio,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.measures.record import Measure, why
from clfeval.result import Estimate, Row

_BLOCK = 128  # score regions walked around at a time, few enough to stay in the cache
Estimates = list[Estimate]
Limits = tuple[Floats, Floats]  # the lower and the upper ones


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """m tables as counted, and the population each is to be read in; the arrays are (m,).

    p and n are the shares of positives and negatives there, `ratio` is p / n.
    """

    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts
    positives: Counts
    negatives: Counts
    ratio: Floats
    p: Floats
    n: Floats

    @classmethod
    def picked(cls, counts: ConfusionCounts, models: Ints | Sequence[int], ratio: Floats) -> Cells:
        """Return some models, each at odds of its own, (m,) each."""
        parts = (counts.tp, counts.fp, counts.positives, counts.negatives)
        tp, fp, positives, negatives = (part[np.asarray(models)] for part in parts)
        # each share without overflow or loss, whichever class is rare
        with np.errstate(divide="ignore"):
            p, n = 1 / (1 + 1 / ratio), 1 / (1 + ratio)
        return cls(tp, fp, positives - tp, negatives - fp, positives, negatives, ratio, p, n)

    @classmethod
    def of(cls, counts: ConfusionCounts, ratios: Sequence[float] | Floats) -> Cells:
        """Return k models at each of g odds, population by population: g k tables."""
        g, k = len(ratios), len(counts.models)
        each = np.repeat(np.asarray(ratios, np.float64), k)
        return cls.picked(counts, np.tile(np.arange(k), g), each)

    @classmethod
    def at_prevalence(cls, counts: ConfusionCounts, p: Floats | float) -> Cells:
        """Return k models at a prevalence."""
        p = np.broadcast_to(p, counts.tp.shape)
        cells = (counts.tp, counts.fp, counts.fn, counts.tn, counts.positives, counts.negatives)
        return cls(*cells, over(p, 1 - p), p, 1 - p)

    @property
    def counted(self) -> Confusion:
        """The tables as they were counted."""
        return Confusion(self.tp, self.fp, self.fn, self.tn)

    @property
    def tuned(self) -> Confusion:
        """The tables at their odds, total 1."""
        return self.counted.tuned(self.ratio)

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """The true and the false positive rate, NaN without the class."""
        # sums of fractions may pass their total by the last digit
        pairs = ((self.tp, self.positives), (self.fp, self.negatives))
        tp, fp = (np.minimum(over(part, whole), 1.0) for part, whole in pairs)
        return tp, fp

    def at_rates(self, tp: Floats, fp: Floats) -> Confusion:
        """Return tables of other rates in these populations, total 1."""
        return Confusion(self.p * tp, self.n * fp, self.p * (1 - tp), self.n * (1 - fp))

    def where(self, index: Ints | Bools | slice) -> Cells:
        """Return some of the tables."""
        return Cells(*(getattr(self, field.name)[index] for field in fields(self)))


def limits(
    name: str, cells: Cells, *, level: float, beta: float = 1.0, stakes: Stakes | None = None,
    by: str | None = None, known: Mapping[str, Limits] | None = None,
) -> Limits:  # fmt: skip
    """Return the lower and upper limit of a measure in the populations, (m,) each; NaN: undefined.

    by: another method than that of the measure. known: limits of other measures of the same
    tables, to be transformed rather than made again.
    Shapes: (m,) each. Range: that of the measure, infinite ends included; NaN where the measure or
    a class is missing. Errors: KeyError for an unknown measure, ValueError unless 0 < level < 1.
    Source: each method's own, see `inference`; the score region: Newcombe 2011, Communications in
    Statistics - Theory and Methods 40:3154.
    """
    measure = CATALOG[name].given(beta=beta, stakes=stakes)
    method = by or measure.interval
    counts = (cells.tp, cells.positives, cells.fp, cells.negatives)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if method == "derived" and measure.base is not None:
            low, high = (known or {}).get(measure.base) or limits(
                measure.base, cells, level=level, beta=beta, stakes=stakes
            )
            return measure.through(low), measure.through(high)
        if method == "share" and measure.share is not None:
            return clopper_pearson(*measure.share(cells), level=level)
        if method == "linear":
            a, b, shift = measure.terms(cells.p, cells.n)
            _, low, high = combination(a, b, *counts, level=level)
            # within the range, which rounding may leave
            low, high = np.maximum(low + shift, measure.low), np.minimum(high + shift, measure.high)
            return low, high
        if method == "region":
            return _region(measure, cells, level)
        terms, factor = measure.terms(cells, cells.ratio), 1.0
        if method == "ratio":
            terms, factor = terms[:-1], terms[-1]
        _, low, high = _OF_TERMS[method](*terms, level=level)
        low, high = low * factor, high * factor
        lost = np.isnan(low)  # where a cell is empty
        if lost.any():
            low[lost], high[lost] = _region(measure, cells.where(lost), level)
        return low, high


def exact_limits(name: str, cells: Cells, *, level: float) -> Limits | None:
    """Return exact limits at the class ratio of the rows, None for what is no share of them.

    The odds of a share have its limits, transformed.
    """
    measure = CATALOG[name]
    share = measure.share or (measure.base and CATALOG[measure.base].share)
    if not share:
        return None
    low, high = clopper_pearson(*share(cells), level=level)
    return (low, high) if measure.share else (measure.through(low), measure.through(high))


def _region(measure: Measure, cells: Cells, level: float) -> Limits:
    """Return the range over the score region of the two rates."""

    def ends(some: Cells) -> Limits:
        return range_over_region(
            lambda tp, fp: measure.function(some.at_rates(tp, fp)),
            *(some.tp, some.positives, some.fp, some.negatives),
            level=level, kink=np.subtract if measure.kinked else None,
        )  # fmt: skip

    starts = range(0, max(1, len(cells.tp)), _BLOCK)
    found = [ends(cells.where(slice(start, start + _BLOCK))) for start in starts]
    low, high = (np.concatenate(side) for side in zip(*found, strict=True))
    return low, high


_OF_TERMS: Mapping[str, Callable[..., tuple[Floats, Floats, Floats]]] = {
    "logit": predictive_value, "ratio": rate_ratio, "log": odds_ratio,
}  # fmt: skip


def column(
    values: Floats, bounds: Limits | None, cells: Cells | Confusion, undefined: Sequence[str]
) -> Estimates:
    """Return estimates, with the reason where one is undefined or infinite."""
    low, high = bounds or (np.full(len(values), np.nan),) * 2
    lists = (np.asarray(part).tolist() for part in (values, low, high))
    tables = (cells.tp, cells.fp, cells.fn, cells.tn)
    return [
        estimate(value, least, most)
        if value == value
        else Estimate(None, reason=why(undefined, Confusion(*(part[i] for part in tables))))
        for i, (value, least, most) in enumerate(zip(*lists, strict=True))
    ]


def estimate(
    value: float, low: float = nan, high: float = nan,
    undefined: Sequence[str] = ("zero_margin",), table: Confusion | None = None,
) -> Estimate:  # fmt: skip
    """Return one estimate; NaN is undefined, for the first reason that holds of the table."""
    if value != value:
        return Estimate(None, reason=why(undefined, table))
    if low != low or high != high:
        low = high = nan
    else:  # rounding must not part a value from its limits
        low, high = min(low, value), max(high, value)
    lower = low if isfinite(low) else None
    upper = high if isfinite(high) else None
    if isinf(value):
        return Estimate(None, lower, upper, "infinite" if value > 0 else "minus_infinite")
    return Estimate(value, lower, upper)


def proportions(
    k: Counts, n: Counts | int | float, reason: str, *, level: float | None,
    divided: Floats | None = None,
) -> Estimates:  # fmt: skip
    """Return k / n with exact intervals, without where level is None; undefined where n is 0.

    divided: by what the counts are divided for rows of clusters to pass for independent ones;
    there are no limits where that leaves no row.
    """
    hits, trials = np.broadcast_arrays(k, np.asarray(n))
    bounds: list[Any] = [[None] * len(hits)] * 2
    if level is not None:
        by = np.ones(len(hits)) if divided is None else divided
        part, whole = (hits, trials) if divided is None else (hits / by, trials / by)
        bounds = [side.tolist() for side in clopper_pearson(part, whole, level=level)]
    return [
        estimate(h / t, nan if low is None else low, nan if high is None else high)
        if t
        else Estimate(None, reason=reason)
        for h, t, low, high in zip(hits.tolist(), trials.tolist(), *bounds, strict=True)
    ]


def shares(
    name: str, k: Counts, n: Counts | int | float, *, level: float | None,
    divided: Floats | None = None,
) -> Estimates:  # fmt: skip
    """Return a measure that is k of n rows, with exact intervals, as `proportions` does."""
    return proportions(k, n, CATALOG[name].undefined[0], level=level, divided=divided)


def fractional_weights(*, drawn: bool = False) -> UsageError:
    """Build the error for weights that no exact interval, or no bootstrap of counts, can take."""
    why = "exact binomial intervals count rows, and only a bootstrap could give others"
    what = (
        f"weights are not whole numbers: {'no part of a row can be drawn again' if drawn else why}"
    )
    hint = "--interval none computes the values without intervals"
    return UsageError.of(what, "fractional-weights", hint=hint)


def rows_of(columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Turn columns of equal length into rows."""
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
