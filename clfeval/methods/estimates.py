"""Estimates: values of measures with intervals, or why undefined; the choice of the method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite, nan
from typing import Any, TypeVar

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide
from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.document import Estimate, Row
from clfeval.errors import UsageError
from clfeval.inference.proportions import (
    SHARE_LIMITS,
    combine_proportions,
    has_unreliable_error,
    odds_ratio,
    predictive_value,
    rate_ratio,
)
from clfeval.inference.region_intervals import (
    partial_derivatives,
    range_over_region,
    range_over_sample,
)
from clfeval.inference.standard_errors import rate_divisors, share_divisor
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.record import Measure, undefined_reason
from clfeval.records import dataclass, fields, replace

_BLOCK = 256  # score regions per block
Estimates = list[Estimate]
Limits = tuple[Floats, Floats]  # lower and upper confidence limits
K = TypeVar("K")
_UNIT = np.eye(4)
_COUNTS = Confusion(_UNIT[0], _UNIT[1], _UNIT[2] - _UNIT[0], _UNIT[3] - _UNIT[1])


@dataclass(frozen=True, slots=True)
class Design:
    """The sampling design, as far as intervals depend on it."""

    totals: str = "random"  # class totals as in a sample of rows, or "fixed" by design
    how: str = "exact"  # the method for proportions of rows, of `SHARE_LIMITS`


RANDOM = Design()


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """m tables of counts, and the population of each; the arrays are (m,)."""

    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts
    positives: Counts
    negatives: Counts
    ratio: Floats  # p / n
    p: Floats  # share of positives
    n: Floats  # share of negatives
    sampled: Bools  # true where the population is the one sampled: p is estimated, elsewhere known
    sums: Floats | None = None  # (m, 4, 4), as in `ConfusionCounts`; None for independent rows
    drawn: Floats | None = None  # effective rows of the class ratio, if not those of both classes

    @classmethod
    def picked(
        cls, counts: ConfusionCounts, models: Ints | Sequence[int], ratio: Floats,
        sampled: Bools | bool = False,
    ) -> Cells:  # fmt: skip
        """Return the tables of some models at the given odds, (m,) each."""
        parts = (counts.tp, counts.fp, counts.positives, counts.negatives)
        tp, fp, positives, negatives = (part[np.asarray(models)] for part in parts)
        # each share without overflow or loss, whichever class is rare
        with np.errstate(divide="ignore"):
            p, n = 1 / (1 + 1 / ratio), 1 / (1 + ratio)
        own = np.broadcast_to(sampled, tp.shape)
        sums = None if counts.sums is None else counts.sums[np.asarray(models)]
        fn, tn = positives - tp, negatives - fp
        return cls(tp, fp, fn, tn, positives, negatives, ratio, p, n, own, sums)

    @classmethod
    def at_odds(cls, counts: ConfusionCounts, models: Ints | Sequence[int], ratio: Floats) -> Cells:
        """Return the tables of some models at given odds, NaN for the class ratio of their rows."""
        own = divide(counts.positives, counts.negatives)[np.asarray(models)]
        return cls.picked(counts, models, np.where(np.isnan(ratio), own, ratio), np.isnan(ratio))

    @classmethod
    def at_prevalence(cls, counts: ConfusionCounts, p: Floats | float | None = None) -> Cells:
        """Return the tables of k models at a prevalence, None for that of their rows."""
        own = np.full(counts.tp.shape, p is None)
        p = divide(counts.positives, counts.positives + counts.negatives) if p is None else p
        p = np.broadcast_to(p, counts.tp.shape)
        cells = (counts.tp, counts.fp, counts.fn, counts.tn, counts.positives, counts.negatives)
        return cls(*cells, divide(p, 1 - p), p, 1 - p, own, counts.sums)

    @property
    def observed(self) -> Confusion:
        """The tables as they were counted."""
        return Confusion(self.tp, self.fp, self.fn, self.tn)

    @property
    def tuned(self) -> Confusion:
        """The tables at their odds, total 1."""
        return self.observed.tuned(self.ratio)

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """The true and the false positive rate, NaN without the class."""
        # sums of fractions may pass their total by the last digit
        pairs = ((self.tp, self.positives), (self.fp, self.negatives))
        tp, fp = (np.minimum(divide(*pair), 1.0) for pair in pairs)
        return tp, fp

    def at_rates(self, tp: Floats, fp: Floats) -> Confusion:
        """Return tables of other rates in these populations, total 1."""
        return Confusion(self.p * tp, self.n * fp, self.p * (1 - tp), self.n * (1 - fp))

    def where(self, index: Ints | Bools | slice) -> Cells:
        """Return some of the tables."""
        parts: list[Any] = [getattr(self, field.name) for field in fields(self)]
        picked: list[Any] = [None if part is None else part[index] for part in parts]
        return Cells(*picked)

    def divided(self, by: Floats) -> Cells:
        """Return effective counts; by (2, m) or (3, m): divisors of positives, negatives, both."""
        total = self.positives + self.negatives
        one, other = by[:2]
        return replace(
            self, tp=self.tp / one, fn=self.fn / one, positives=self.positives / one,
            fp=self.fp / other, tn=self.tn / other, negatives=self.negatives / other,
            sums=None, drawn=total / by[2] if len(by) > 2 else None,
        )  # fmt: skip

    @property
    def totals(self) -> Floats:
        """TP, FP, positives and negatives, (m, 4)."""
        return np.stack([self.tp, self.fp, self.positives, self.negatives], axis=1).astype(float)


def measure_limits(
    name: str, cells: Cells, *, level: float, design: Design = RANDOM, beta: float = 1.0,
    stakes: OutcomeCosts | None = None, by: str | None = None,
    known: Mapping[str, Limits] | None = None,
) -> Limits:  # fmt: skip
    """Return the lower and upper limit of a measure in the populations, (m,) each; NaN: undefined.

    In the sampled population shares of rows, and functions of one, have exact limits; other
    measures that depend on the class ratio the range over the score region of the two rates and,
    with random totals, the prevalence. At a known ratio each measure has the method of its record;
    ratios of rates and predictive values the range over the score region of the rates where these
    are `has_unreliable_error`.
    by: a method in place of the measure's own. known: limits of other measures of the same tables.
    Shapes: (m,) each. Range: that of the measure, infinite ends included; NaN where the measure or
    a class is missing. Errors: KeyError for an unknown measure, ValueError unless 0 < level < 1.
    Source: each method's own, see `inference`; the score region: Newcombe 2011, Communications in
    Statistics - Theory and Methods 40:3154.
    """
    measure = CATALOG[name].with_settings(beta=beta, stakes=stakes)
    if measure.interval == "derived" and measure.base is not None and by is None:
        settings: dict[str, Any] = {"level": level, "design": design, "beta": beta}
        base = (known or {}).get(measure.base)
        low, high = base or measure_limits(measure.base, cells, stakes=stakes, **settings)
        return measure.through(low), measure.through(high)
    how = by or measure.interval
    own = cells.sampled & (not measure.invariant)
    if not own.any():
        return _where_known(measure, cells, how, level, design)
    ends = np.full((2, len(own)), np.nan)
    if not own.all():
        ends[:, ~own] = _where_known(measure, cells.where(~own), how, level, design)
    mine = cells.where(own)
    exact = exact_limits(name, mine, level=level, design=design, beta=beta)
    if exact is None and design.totals == "fixed":
        exact = _where_known(measure, mine, how, level, design)
    ends[:, own] = exact or _over_sample(measure, mine, level)
    return ends[0], ends[1]


def exact_limits(
    name: str, cells: Cells, *, level: float, design: Design = RANDOM, beta: float = 1.0
) -> Limits | None:
    """Return exact limits at the class ratio of the rows; None unless a function of a share.

    Functions of a share have transformed limits; F1, of TP / (TP + FP + FN), with random totals.
    """
    measure = CATALOG[name]
    if measure.share is not None:
        if measure.drawn and design.totals == "fixed":
            return None
        return SHARE_LIMITS[design.how](*effective_share_counts(measure, cells, level), level=level)
    if measure.base is None or ("beta" in measure.takes and beta != 1):
        return None
    found = exact_limits(measure.base, cells, level=level, design=design, beta=beta)
    return found and (measure.through(found[0]), measure.through(found[1]))


def effective_share_counts(measure: Measure, cells: Cells, level: float) -> tuple[Counts, Counts]:
    """Return the effective numerator and denominator of a share of rows."""
    assert measure.share is not None
    part, whole = measure.share(cells)
    if cells.sums is None:
        return part, whole
    # the share of unit counts shows which counts its two parts add up
    made = (one[None] for one in measure.share(_COUNTS))
    by = share_divisor(cells.sums, cells.totals, *made, level=level)
    return part / by, whole / by


def _where_known(measure: Measure, cells: Cells, how: str, level: float, design: Design) -> Limits:
    """Return confidence limits at a known class ratio by the named method."""
    if how == "share" and measure.share is not None:
        return SHARE_LIMITS[design.how](*effective_share_counts(measure, cells, level), level=level)
    if cells.sums is not None:  # by effective counts
        of, table = measure.function, cells.at_rates
        along = partial_derivatives(lambda tp, fp: of(table(tp, fp)), *cells.rates)
        by = rate_divisors(cells.sums, cells.totals, np.stack(along), level=level)
        cells = cells.divided(by)
    counts = (cells.tp, cells.positives, cells.fp, cells.negatives)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if how == "linear":
            a, b, shift = measure.terms(cells.p, cells.n)
            _, low, high = combine_proportions(a, b, *counts, level=level)
            # clipped to the range, for rounding
            return np.maximum(low + shift, measure.low), np.minimum(high + shift, measure.high)
        if how == "region":
            return _rate_region_limits(measure, cells, level)
        terms, factor = measure.terms(cells, cells.ratio), 1.0
        if how == "ratio":
            terms, factor = terms[:-1], terms[-1]
        forms: Any = {"logit": predictive_value, "ratio": rate_ratio, "log": odds_ratio}
        _, low, high = forms[how](*terms, level=level)
        low, high = low * factor, high * factor
        lost = np.isnan(low)  # where a cell is empty
        if how != "log":  # intervals of odds ratios are valid with few rows too
            few = has_unreliable_error(*counts[:2]) | has_unreliable_error(*counts[2:])
            lost |= few & (cells.positives > 0) & (cells.negatives > 0)
        if lost.any():
            low[lost], high[lost] = _rate_region_limits(measure, cells.where(lost), level)
        return low, high


def _rate_region_limits(measure: Measure, cells: Cells, level: float) -> Limits:
    """Return the range of a measure over the score region of the two rates."""

    def ends(some: Cells) -> Limits:
        return range_over_region(
            lambda tp, fp: measure.function(some.at_rates(tp, fp)),
            *(some.tp, some.positives, some.fp, some.negatives),
            level=level, kink=np.subtract if measure.kinked else None,
        )  # fmt: skip

    return _by_block(cells, ends)


def _over_sample(measure: Measure, cells: Cells, level: float) -> Limits:
    """Return the range of a measure over the score region of the two rates and the prevalence."""

    def measured(tp: Floats, fp: Floats, p: Floats) -> Floats:
        found = measure.function(Confusion.from_prevalence(tp, fp, p))
        return np.clip(found, measure.low, measure.high)  # which rounding may leave

    if cells.sums is not None:  # by effective counts
        (tp, fp), ratio, of, table = (
            cells.rates,
            cells.p,
            measure.function,
            Confusion.from_prevalence,
        )
        over_p, _ = partial_derivatives(lambda p, _: of(table(tp, fp, p)), ratio, 0.5)
        rates = partial_derivatives(lambda x, y: of(table(x, y, ratio)), tp, fp)
        along = np.stack([*rates, over_p])
        cells = cells.divided(rate_divisors(cells.sums, cells.totals, along, level=level))

    def ends(some: Cells) -> Limits:
        return range_over_sample(
            measured, *(some.tp, some.positives, some.fp, some.negatives),
            level=level, kink=np.subtract if measure.kinked else None,
            share=None if some.drawn is None else (some.p * some.drawn, some.drawn),
        )  # fmt: skip

    return _by_block(cells, ends)


def _by_block(cells: Cells, ends: Callable[[Cells], Limits]) -> Limits:
    """Return limits computed once per distinct table, in blocks, tables with an empty cell last."""
    known = [cells.tp, cells.positives, cells.fp, cells.negatives, cells.ratio]
    alike = np.array([*known, *([] if cells.drawn is None else [cells.drawn])], np.float64)
    _, first, place = np.unique(alike, axis=1, return_index=True, return_inverse=True)
    few = cells.where(first)
    empty = np.minimum(np.minimum(few.tp, few.fp), np.minimum(few.fn, few.tn)) == 0
    order = np.argsort(empty, kind="stable")
    np.empty(2**21)  # makes the allocator keep freed memory: a fifth of the time below
    found = np.full((2, len(order)), np.nan)
    for block in (order[i : i + _BLOCK] for i in range(0, len(order), _BLOCK)):
        found[:, block] = ends(few.where(block))
    low, high = found[:, place.ravel()]
    return low, high


def estimate_column(
    values: Floats, bounds: Limits | None, cells: Cells | Confusion, undefined: Sequence[str]
) -> Estimates:
    """Return estimates, with the reason where a value is undefined or infinite."""
    low, high = bounds or (np.full(len(values), np.nan),) * 2
    lists = (np.asarray(part).tolist() for part in (values, low, high))
    tables = (cells.tp, cells.fp, cells.fn, cells.tn)
    found = [make_estimate(*three) for three in zip(*lists, strict=True)]
    for i in np.flatnonzero(np.isnan(values)).tolist():
        table = Confusion(*(part[i] for part in tables))
        found[i] = Estimate(None, reason=undefined_reason(undefined, table))
    return found


def make_estimate(
    value: float, low: float = nan, high: float = nan,
    undefined: Sequence[str] = ("zero_margin",), table: Confusion | None = None,
) -> Estimate:  # fmt: skip
    """Return one estimate; NaN is undefined, with the first reason that applies to the table."""
    if value != value:
        return Estimate(None, reason=undefined_reason(undefined, table))
    lower = upper = None
    if low == low and high == high:  # the value lies within its limits despite rounding
        lower = (low if low < value else value) if low > -inf else None
        upper = (high if high > value else value) if high < inf else None
    if -inf < value < inf:
        return Estimate(value, lower, upper)
    # an infinite limit becomes None
    lower, upper = (end if end is None or isfinite(end) else None for end in (lower, upper))
    return Estimate(None, lower, upper, "infinite" if value > 0 else "minus_infinite")


def proportion_estimates(
    k: Counts, n: Counts | int | float, reason: str, *, level: float | None,
    divided: Floats | None = None, how: str = "exact",
) -> Estimates:  # fmt: skip
    """Return k / n with intervals by `how`; undefined for n = 0; divided: design effects."""
    hits, trials = np.broadcast_arrays(k, np.asarray(n))
    bounds: list[Any] = [[nan] * len(hits)] * 2
    if level is not None:
        part, whole = (hits, trials) if divided is None else (hits / divided, trials / divided)
        bounds = [side.tolist() for side in SHARE_LIMITS[how](part, whole, level=level)]
    return [
        make_estimate(h / t, low, high) if t else Estimate(None, reason=reason)
        for h, t, low, high in zip(hits.tolist(), trials.tolist(), *bounds, strict=True)
    ]


def share_estimates(
    name: str, k: Counts, n: Counts | int | float, *, level: float | None,
    divided: Floats | None = None, how: str = "exact",
) -> Estimates:  # fmt: skip
    """Return a measure that is a share k / n, with intervals, as `proportion_estimates` does."""
    reason = CATALOG[name].undefined[0]
    return proportion_estimates(k, n, reason, level=level, divided=divided, how=how)


def fractional_weights_error(*, drawn: bool = False) -> UsageError:
    """Build the error on fractional weights, for features or a bootstrap of rows."""
    why = "a bootstrap needs whole rows" if drawn else "exact intervals of features need whole rows"
    hint = "add --interval none to compute the values without intervals"
    return UsageError.new(f"weights are not whole numbers: {why}", "fractional-weights", hint=hint)


def concatenate_counts(parts: Mapping[K, ConfusionCounts]) -> tuple[tuple[K, ...], ConfusionCounts]:
    """Return the part of each model, and the counts of all parts concatenated."""
    names = [*CELLS, "positives", "negatives"]
    names += ["sums"] if all(one.sums is not None for one in parts.values()) else []
    arrays = {name: np.concatenate([getattr(x, name) for x in parts.values()]) for name in names}
    models = tuple(model for one in parts.values() for model in one.models)
    labels = tuple(label for label, one in parts.items() for _ in one.models)
    unit = next((one.unit for one in parts.values()), 1)
    return labels, ConfusionCounts(models, **arrays, unit=unit)


def rows_from_columns(columns: Mapping[str, Sequence[Any]], **who: Any) -> list[Row]:
    """Turn columns of equal length into rows, each beginning with the values `who`."""
    return [
        {**who, **dict(zip(columns, values, strict=True))}
        for values in zip(*columns.values(), strict=True)
    ]
