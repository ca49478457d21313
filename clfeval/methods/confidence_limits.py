"""Confidence limits of measures of 2 x 2 tables, by the method of each measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.inference.influence_and_clusters import joint_shares, rate_divisors, share_divisor
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
_MOST_SEARCHED = 32  # tables up to which one search for several measures takes less time
_UNIT = np.eye(4)
_COUNTS = Confusion(_UNIT[0], _UNIT[1], _UNIT[2] - _UNIT[0], _UNIT[3] - _UNIT[1])


def measure_limits(  # noqa: PLR0913 - parameters of measures by name
    name: str,
    cells: Cells,
    *,
    level: float,
    design: Design = RANDOM,
    beta: float = 1.0,
    stakes: OutcomeCosts | None = None,
    by: str | None = None,
    computed: Mapping[str, Limits] | None = None,
) -> Limits:
    """Return the lower and upper limit of a measure in the populations, (m,) each; NaN: undefined.

    In the sampled population shares of rows, and functions of one, have exact limits; other
    measures that depend on the class ratio the range over the score region of the two rates and,
    with random totals, the prevalence. At a known ratio each measure has the method of its record;
    ratios of rates and predictive values the range over the score region of the rates where these
    are `has_unreliable_error`.
    by: a method in place of the measure's own. computed: limits of measures of the same tables.
    Shapes: (m,) each. Range: that of the measure, infinite ends included; NaN where the measure or
    a class is missing. Errors: KeyError for an unknown measure, ValueError unless 0 < level < 1.
    Source: each method's own, see `inference`; the score region: Newcombe 2011, Communications in
    Statistics - Theory and Methods 40:3154.
    """
    if computed is not None and name in computed:
        return computed[name]
    measure = CATALOG[name].with_settings(beta=beta, stakes=stakes)
    if measure.interval == "derived" and measure.base is not None and by is None:
        settings: dict[str, Any] = {"level": level, "design": design, "beta": beta}
        base_limits = (computed or {}).get(measure.base)
        low, high = base_limits or measure_limits(measure.base, cells, stakes=stakes, **settings)
        return measure.through(low), measure.through(high)
    method = by or measure.interval
    is_sampled = cells.sampled & (not measure.invariant)
    if not is_sampled.any():
        return _limits_at_known_ratio(measure, cells, method, level, design)
    limits = np.full((2, len(is_sampled)), np.nan)
    if not is_sampled.all():
        limits[:, ~is_sampled] = _limits_at_known_ratio(
            measure, cells.select(~is_sampled), method, level, design
        )
    sampled_cells = cells.select(is_sampled)
    sampled_limits = exact_limits(name, sampled_cells, level=level, design=design, beta=beta)
    if sampled_limits is None and design.totals == "fixed":
        sampled_limits = _limits_at_known_ratio(measure, sampled_cells, method, level, design)
    if sampled_limits is None:
        (sampled_limits,) = _ranges_over_sample([measure], sampled_cells, level)
    limits[:, is_sampled] = sampled_limits
    lower, upper = limits
    return lower, upper


def search_ranges(
    names: Iterable[str],
    cells: Cells,
    *,
    level: float,
    design: Design = RANDOM,
    by: str | None = None,
) -> dict[str, Limits]:
    """Return the limits of those of the measures that are ranges over a score region.

    They are what `measure_limits` returns for each, by one search for all: this takes a third of
    the time where there are few tables. Empty where it would take more, or is impossible.
    """
    is_sampled = cells.sampled.any()
    is_mixed = is_sampled != cells.sampled.all()
    # with clusters each measure has effective counts of its own
    if cells.sums is not None or is_mixed or (is_sampled and design.totals == "fixed"):
        return {}
    if len(cells.tp) > _MOST_SEARCHED:
        return {}

    def is_searched(measure: Measure) -> bool:
        if not by and measure.interval == "derived":
            return False
        if not is_sampled:
            return (by or measure.interval) == "region"
        if measure.invariant or measure.share is not None:
            return False
        return exact_limits(measure.id, cells, level=level) is None

    searched_measures = [CATALOG[name] for name in names if is_searched(CATALOG[name])]
    if not searched_measures:
        return {}
    search = _ranges_over_sample if is_sampled else _ranges_over_rates
    ids = (measure.id for measure in searched_measures)
    return dict(zip(ids, search(searched_measures, cells, level), strict=True))


def exact_limits(
    name: str, cells: Cells, *, level: float, design: Design = RANDOM, beta: float = 1.0
) -> Limits | None:
    """Return exact limits at the class ratio of the rows; None unless a function of a share.

    Functions of a share have transformed limits; F1, of TP / (TP + FP + FN), with random totals.
    """
    measure = CATALOG[name]
    if measure.share is not None:
        if measure.random_totals and design.totals == "fixed":
            return None
        return SHARE_LIMITS[design.method](
            *effective_share_counts(measure, cells, level), level=level
        )
    if measure.base is None or ("beta" in measure.takes and beta != 1):
        return None
    limits = exact_limits(measure.base, cells, level=level, design=design, beta=beta)
    if limits is None:
        return None
    lower, upper = limits
    return measure.through(lower), measure.through(upper)


def effective_share_counts(measure: Measure, cells: Cells, level: float) -> tuple[Counts, Counts]:
    """Return the effective numerator and denominator of a share of rows."""
    assert measure.share is not None
    numerator, denominator = measure.share(cells)
    if cells.sums is None:
        return numerator, denominator
    # the share of unit counts shows which counts its numerator and denominator add up
    selections = (selection[None] for selection in measure.share(_COUNTS))
    divisor = share_divisor(
        cells.sums, cells.totals, *selections, level=level, largest=cells.largest
    )
    return numerator / divisor, denominator / divisor


def share_degrees_of_freedom(measure: Measure, cells: Cells) -> Floats:
    """Return the degrees of freedom of a share of rows, (m,).

    Infinite for independent rows; else the effective number of clusters, or of weighted rows, in
    its denominator, less one.
    """
    assert measure.share is not None
    if cells.sums is None:
        return np.full(len(cells.tp), np.inf)
    selections = np.array(measure.share(_COUNTS))[:, None, None]
    _, sizes, _ = joint_shares(cells.sums, cells.totals, *selections)
    return np.asarray(sizes[0] - 1)


def _limits_at_known_ratio(
    measure: Measure, cells: Cells, method: str, level: float, design: Design
) -> Limits:
    """Return confidence limits at a known class ratio by the named method."""
    if method == "share" and measure.share is not None:
        return SHARE_LIMITS[design.method](
            *effective_share_counts(measure, cells, level), level=level
        )
    if cells.sums is not None:
        cells = _effective_cells(measure, cells, level)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if method == "linear":
            tpr_factor, fpr_factor, shift = measure.terms(cells.p, cells.n)
            _, low, high = combine_proportions(
                tpr_factor, fpr_factor, *_rate_counts(cells), level=level
            )
            # clipped to the range, for rounding
            return np.maximum(low + shift, measure.low), np.minimum(high + shift, measure.high)
        if method == "region":
            (limits,) = _ranges_over_rates([measure], cells, level)
            return limits
        low, high = _transformed_limits(measure, cells, method, level)
        is_replaced = np.isnan(low)  # where a cell is empty
        if method != "log":  # intervals of odds ratios are valid with few rows too
            tp, p, fp, n = _rate_counts(cells)
            is_unreliable = has_unreliable_error(tp, p) | has_unreliable_error(fp, n)
            is_replaced |= is_unreliable & (p > 0) & (n > 0)
        if is_replaced.any():
            (limits,) = _ranges_over_rates([measure], cells.select(is_replaced), level)
            low[is_replaced], high[is_replaced] = limits
        return low, high


def _rate_counts(cells: Cells) -> tuple[Counts, Counts, Counts, Counts]:
    """Return TP, positives, FP and negatives."""
    return cells.tp, cells.positives, cells.fp, cells.negatives


def _effective_cells(measure: Measure, cells: Cells, level: float) -> Cells:
    """Return the effective counts of tables of clusters, by the slopes of a measure of rates."""
    assert cells.sums is not None
    slopes = partial_derivatives(
        lambda tp, fp: measure.function(cells.at_rates(tp, fp)), *cells.rates
    )
    divisors = rate_divisors(
        cells.sums, cells.totals, np.stack(slopes), level=level, largest=cells.largest
    )
    return cells.divided(divisors)


def _transformed_limits(measure: Measure, cells: Cells, method: str, level: float) -> Limits:
    """Return limits on the logit or log scale: method `logit`, `ratio` or `log`."""
    terms = [*measure.terms(cells, cells.ratio)]
    factor: Any = 1.0
    if method == "ratio":  # the last term multiplies the ratio of rates
        *terms, factor = terms
    interval_functions: Any = {"logit": predictive_value, "ratio": rate_ratio, "log": odds_ratio}
    _, low, high = interval_functions[method](*terms, level=level)
    return low * factor, high * factor


def _ranges_over_rates(measures: Sequence[Measure], cells: Cells, level: float) -> list[Limits]:
    """Return the ranges of measures over the score region of the two rates."""

    def values(tables: Cells, measure: Measure, tp: Floats, fp: Floats) -> Floats:
        return measure.function(tables.at_rates(tp, fp))

    def search(tables: Cells, *counts: Floats, **kinks: Any) -> Limits:
        functions = [partial(values, tables, measure) for measure in measures]
        return range_over_region(
            concatenate_functions(functions, len(tables.tp)), *counts, level=level, **kinks
        )

    return _by_block(measures, cells, search)


def _ranges_over_sample(measures: Sequence[Measure], cells: Cells, level: float) -> list[Limits]:
    """Return the ranges of measures over the score region of the two rates and the prevalence."""

    def values(measure: Measure, tp: Floats, fp: Floats, p: Floats) -> Floats:
        unclipped = measure.function(Confusion.from_prevalence(tp, fp, p))
        return np.clip(unclipped, measure.low, measure.high)  # which rounding may leave

    if cells.sums is not None:  # by effective counts, of a single measure
        (measure,) = measures
        cells = cells.divided(_sample_divisors(measure, cells, level))

    def search(tables: Cells, *counts: Floats, **kinks: Any) -> Limits:
        functions = [partial(values, measure) for measure in measures]
        function = concatenate_functions(functions, len(tables.tp))
        sampled_share = (
            None if tables.ratio_rows is None else (tables.p * tables.ratio_rows, tables.ratio_rows)
        )
        return range_over_sample(function, *counts, level=level, share=sampled_share, **kinks)

    return _by_block(measures, cells, search)


def _sample_divisors(measure: Measure, cells: Cells, level: float) -> Floats:
    """Return the divisors of counts of clusters, by the slopes of a measure of the sample."""
    assert cells.sums is not None
    tp, fp = cells.rates
    table = Confusion.from_prevalence
    # derivatives with respect to the prevalence, then to the rates
    over_p, _ = partial_derivatives(lambda p, _: measure.function(table(tp, fp, p)), cells.p, 0.5)
    over_rates = partial_derivatives(lambda x, y: measure.function(table(x, y, cells.p)), tp, fp)
    slopes = np.stack([*over_rates, over_p])
    return rate_divisors(cells.sums, cells.totals, slopes, level=level, largest=cells.largest)


def _by_block(
    measures: Sequence[Measure], cells: Cells, search: Callable[..., Limits]
) -> list[Limits]:
    """Return limits computed once per distinct table, in blocks, tables with an empty cell last."""
    distinct, inverse = _distinct_cells(cells)
    has_empty_cell = (
        np.minimum(np.minimum(distinct.tp, distinct.fp), np.minimum(distinct.fn, distinct.tn)) == 0
    )
    table_order = np.argsort(has_empty_cell, kind="stable")
    np.empty(2**21)  # makes the allocator keep freed memory: a fifth of the time below
    measure_count = len(measures)
    limits = np.full((2, measure_count, len(table_order)), np.nan)
    block_size = max(1, _BLOCK // measure_count)
    for first_table in range(0, len(table_order), block_size):
        table_indices = table_order[first_table : first_table + block_size]
        tables = distinct.select(table_indices)
        is_kinked = np.repeat([measure.kinked for measure in measures], len(table_indices))
        kink = np.subtract if is_kinked.any() else None
        tiled_counts = [np.tile(row_counts, measure_count) for row_counts in _rate_counts(tables)]
        block_limits = search(tables, *tiled_counts, kink=kink, kinked=is_kinked)
        limits[:, :, table_indices] = np.reshape(block_limits, (2, measure_count, -1))
    return [(low, high) for low, high in limits[:, :, inverse].swapaxes(0, 1)]


def _distinct_cells(cells: Cells) -> tuple[Cells, Ints]:
    """Return the distinct tables, and the index among them of each table."""
    columns = [*_rate_counts(cells), cells.ratio]
    columns += [] if cells.ratio_rows is None else [cells.ratio_rows]
    _, first_indices, inverse = np.unique(
        np.array(columns, np.float64), axis=1, return_index=True, return_inverse=True
    )
    return cells.select(first_indices), inverse.ravel()
