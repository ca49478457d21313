"""Confidence limits of measures of 2 x 2 tables, by the method of each measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.inference.influence_and_clusters import rate_divisors, share_divisor
from clfeval.inference.proportions import (
    SHARE_LIMITS,
    combine_proportions,
    has_unreliable_error,
    odds_ratio,
    predictive_value,
    rate_ratio,
)
from clfeval.inference.region_intervals import (
    concatenate_functions,
    partial_derivatives,
    range_over_region,
    range_over_sample,
)
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.record import Measure
from clfeval.methods.estimates import RANDOM, Cells, Design, Limits

_BLOCK = 256  # score regions per block
_TOGETHER = 32  # tables up to which one search for several measures takes less time
_UNIT = np.eye(4)
_COUNTS = Confusion(_UNIT[0], _UNIT[1], _UNIT[2] - _UNIT[0], _UNIT[3] - _UNIT[1])


def measure_limits(
    name: str,
    cells: Cells,
    *,
    level: float,
    design: Design = RANDOM,
    beta: float = 1.0,
    stakes: OutcomeCosts | None = None,
    by: str | None = None,
    known: Mapping[str, Limits] | None = None,
) -> Limits:
    """Return the lower and upper limit of a measure in the populations, (m,) each; NaN: undefined.

    In the sampled population shares of rows, and functions of one, have exact limits; other
    measures that depend on the class ratio the range over the score region of the two rates and,
    with random totals, the prevalence. At a known ratio each measure has the method of its record;
    ratios of rates and predictive values the range over the score region of the rates where these
    are `has_unreliable_error`.
    by: a method in place of the measure's own. known: limits of measures of the same tables.
    Shapes: (m,) each. Range: that of the measure, infinite ends included; NaN where the measure or
    a class is missing. Errors: KeyError for an unknown measure, ValueError unless 0 < level < 1.
    Source: each method's own, see `inference`; the score region: Newcombe 2011, Communications in
    Statistics - Theory and Methods 40:3154.
    """
    if known is not None and name in known:
        return known[name]
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
        ends[:, ~own] = _where_known(measure, cells.select(~own), how, level, design)
    mine = cells.select(own)
    exact = exact_limits(name, mine, level=level, design=design, beta=beta)
    if exact is None and design.totals == "fixed":
        exact = _where_known(measure, mine, how, level, design)
    ends[:, own] = exact or _ranges_over_sample([measure], mine, level)[0]
    return ends[0], ends[1]


def search_ranges(
    names: Iterable[str],
    cells: Cells,
    *,
    level: float,
    design: Design = RANDOM,
    by: str | None = None,
) -> dict[str, Limits]:
    """Return the limits of those of the measures that are ranges over a score region.

    They are what `measure_limits` returns for each, by one search for all: it takes a third of the
    time where there are few tables. None are returned where it would take more, or is impossible.
    """
    here, measures = cells.sampled.any(), [CATALOG[name] for name in names]
    if cells.sums is not None or here != cells.sampled.all() or (here and design.totals == "fixed"):
        return {}  # with clusters each measure has effective counts of its own
    if len(cells.tp) > _TOGETHER:
        return {}
    some = [one for one in measures if by or one.interval != "derived"]
    if here:
        some = [one for one in some if not one.invariant and one.share is None]
        some = [one for one in some if exact_limits(one.id, cells, level=level) is None]
    else:
        some = [one for one in some if (by or one.interval) == "region"]
    if not some:
        return {}
    search = _ranges_over_sample if here else _ranges_over_rates
    return dict(zip((one.id for one in some), search(some, cells, level), strict=True))


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
            return _ranges_over_rates([measure], cells, level)[0]
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
            low[lost], high[lost] = _ranges_over_rates([measure], cells.select(lost), level)[0]
        return low, high


def _ranges_over_rates(measures: Sequence[Measure], cells: Cells, level: float) -> list[Limits]:
    """Return the ranges of measures over the score region of the two rates."""

    def measured(some: Cells, measure: Measure, tp: Floats, fp: Floats) -> Floats:
        return measure.function(some.at_rates(tp, fp))

    def ends(some: Cells, *counts: Floats, **kinks: Any) -> Limits:
        each = [partial(measured, some, one) for one in measures]
        return range_over_region(
            concatenate_functions(each, len(some.tp)), *counts, level=level, **kinks
        )

    return _by_block(measures, cells, ends)


def _ranges_over_sample(measures: Sequence[Measure], cells: Cells, level: float) -> list[Limits]:
    """Return the ranges of measures over the score region of the two rates and the prevalence."""

    def measured(measure: Measure, tp: Floats, fp: Floats, p: Floats) -> Floats:
        found = measure.function(Confusion.from_prevalence(tp, fp, p))
        return np.clip(found, measure.low, measure.high)  # which rounding may leave

    if cells.sums is not None:  # by effective counts, of a single measure
        assert len(measures) == 1
        (tp, fp), ratio, of, table = (
            cells.rates,
            cells.p,
            measures[0].function,
            Confusion.from_prevalence,
        )
        over_p, _ = partial_derivatives(lambda p, _: of(table(tp, fp, p)), ratio, 0.5)
        rates = partial_derivatives(lambda x, y: of(table(x, y, ratio)), tp, fp)
        along = np.stack([*rates, over_p])
        cells = cells.divided(rate_divisors(cells.sums, cells.totals, along, level=level))

    def ends(some: Cells, *counts: Floats, **kinks: Any) -> Limits:
        each = concatenate_functions([partial(measured, one) for one in measures], len(some.tp))
        share = None if some.drawn is None else (some.p * some.drawn, some.drawn)
        return range_over_sample(each, *counts, level=level, share=share, **kinks)

    return _by_block(measures, cells, ends)


def _by_block(
    measures: Sequence[Measure], cells: Cells, ends: Callable[..., Limits]
) -> list[Limits]:
    """Return limits computed once per distinct table, in blocks, tables with an empty cell last."""
    known = [cells.tp, cells.positives, cells.fp, cells.negatives, cells.ratio]
    alike = np.array([*known, *([] if cells.drawn is None else [cells.drawn])], np.float64)
    _, first, place = np.unique(alike, axis=1, return_index=True, return_inverse=True)
    few = cells.select(first)
    empty = np.minimum(np.minimum(few.tp, few.fp), np.minimum(few.fn, few.tn)) == 0
    order = np.argsort(empty, kind="stable")
    np.empty(2**21)  # makes the allocator keep freed memory: a fifth of the time below
    q = len(measures)
    found, size = np.full((2, q, len(order)), np.nan), max(1, _BLOCK // q)
    for block in (order[i : i + size] for i in range(0, len(order), size)):
        some = few.select(block)
        counts = (some.tp, some.positives, some.fp, some.negatives)
        kinked = np.repeat([one.kinked for one in measures], len(block))
        kink = np.subtract if kinked.any() else None
        limits = ends(some, *(np.tile(x, q) for x in counts), kink=kink, kinked=kinked)
        found[:, :, block] = np.reshape(limits, (2, q, -1))
    return [(low, high) for low, high in found[:, :, place.ravel()].swapaxes(0, 1)]
