"""Measures of 2 x 2 tables with what is known of their error: limits, standard error, method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.patterns import ConfusionCounts
from clfeval.document import Estimate
from clfeval.inference.resampling import percentile_limits, random_stream
from clfeval.inference.shares import NAMED_SHARES, SHARE_LIMITS
from clfeval.measures.confusion import Confusion
from clfeval.methods.clustered import TableResampler
from clfeval.methods.divided import effective_share_counts
from clfeval.methods.estimates import (
    Cells,
    Design,
    Estimates,
    Limits,
    estimate_column,
    exact_limits,
    measure_limits,
)
from clfeval.methods.measured.asked import RequestedMeasure
from clfeval.methods.options import IntervalSettings

EXACT, TRANSFORMED, REGION = "Clopper-Pearson", "Clopper-Pearson, transformed", "score region"
OF_KIND = {  # where the class ratio is no matter, or is fixed
    "linear": "Newcombe square-and-add", "region": REGION, "logit": "Mercaldo logit",
    "ratio": "Katz log ratio", "log": "Woolf log odds ratio", "derived": "transformed interval",
}  # fmt: skip
AT_PREVALENCE = {"ppv_at": "ppv", "npv_at": "npv"}  # whose limits they have there
WEIGHED = "square-and-add of Wilson intervals"  # of a net benefit
INFLUENCE, BOOTSTRAP, NONE = "influence", "bootstrap", "none"
_STEP = 0.01  # of a count; extrapolated twice from there

Function = Callable[[Confusion], Floats]


@dataclass(frozen=True, slots=True)
class LabelLimitSettings:
    """Settings of limits; names: random streams of the tables.

    clusters, many: the resampler of clusters or weights of each table, and their number.
    """

    wanted: IntervalSettings
    names: Sequence[str]
    clusters: Sequence[TableResampler | None]
    many: Sequence[float]


@dataclass(frozen=True, slots=True, eq=False)
class LabelMeasureEstimates:
    """A measure of m tables: estimates, standard errors (NaN where there is none), methods."""

    values: Estimates
    errors: Floats
    methods: Sequence[str]

    def at(self, i: int) -> tuple[Estimate, float, str]:
        """Return all that is known of one table."""
        return self.values[i], float(self.errors[i]), self.methods[i]


def estimate_label_measure(
    asked: RequestedMeasure, counts: ConfusionCounts, sure: LabelLimitSettings
) -> LabelMeasureEstimates:
    """Return a measure of the tables, with limits by the method asked for, or the default one."""
    cells, of = Cells.at_prevalence(counts), asked.measure.function
    values = np.broadcast_to(np.asarray(of(float_confusion(cells)), np.float64), cells.tp.shape)
    errors = standard_errors(of, cells, sure.many)
    bounds, method = _limits_and_method(asked, counts, sure)
    methods = np.full(len(values), method, object)
    if bounds is not None and method == BOOTSTRAP:
        unknown = ~(bounds[0] < bounds[1]) & np.isfinite(values)
        if unknown.any():
            ends, methods[unknown] = _by_record(asked, counts, sure)
            bounds = (
                _replace_where(bounds[0], ends[0], unknown),
                _replace_where(bounds[1], ends[1], unknown),
            )
    return LabelMeasureEstimates(
        estimate_column(values, bounds, cells, asked.measure.undefined), errors, methods.tolist()
    )


def _replace_where(some: Floats, others: Floats, where: Bools) -> Floats:
    return np.where(where, others, some)


def float_confusion(cells: Cells | ConfusionCounts) -> Confusion:
    """Return the 2 x 2 tables as measures take them."""
    return Confusion(*(np.asarray(one, np.float64) for one in (
        cells.tp, cells.fp, cells.fn, cells.tn)))  # fmt: skip


def _limits_and_method(
    asked: RequestedMeasure, counts: ConfusionCounts, sure: LabelLimitSettings
) -> tuple[Limits | None, str]:
    measure, level, how = asked.measure, sure.wanted.level, sure.wanted.how
    if level is None:
        return None, NONE
    if how == "bootstrap":
        return _bootstrap_limits(
            measure.function, Cells.at_prevalence(counts), sure, level
        ), BOOTSTRAP
    if how in NAMED_SHARES and measure.share is not None and not measure.drawn:
        k, n = effective_share_counts(measure, Cells.at_prevalence(counts), level)
        return SHARE_LIMITS[how](k, n, level=level), how.title()
    return _by_record(asked, counts, sure)


def _by_record(
    asked: RequestedMeasure, counts: ConfusionCounts, sure: LabelLimitSettings
) -> tuple[Limits, str]:
    """Return the limits that a measure has by its record, and what they are called."""
    measure, settings, level = asked.measure, asked.settings, sure.wanted.level or 0.95
    if measure.id in AT_PREVALENCE:  # where the class ratio is known
        name, there = AT_PREVALENCE[measure.id], Cells.at_prevalence(counts, settings["prevalence"])
        return measure_limits(name, there, level=level), OF_KIND[measure.interval]
    cells, design = Cells.at_prevalence(counts), Design(sure.wanted.totals)
    beta = settings.get("beta", 1.0)
    exact = exact_limits(measure.id, cells, level=level, design=design, beta=beta)
    if exact is not None:
        return exact, EXACT if measure.share is not None else TRANSFORMED
    fixed = design.totals == "fixed" or measure.invariant
    found = measure_limits(measure.id, cells, level=level, design=design, **settings)
    return found, OF_KIND[measure.interval] if fixed else REGION


def _bootstrap_limits(of: Function, cells: Cells, sure: LabelLimitSettings, level: float) -> Limits:
    """Return percentile limits of tables drawn again: one multinomial of the four cells each."""
    ends, often = np.full((2, len(cells.tp)), np.nan), sure.wanted.resamples
    for i, name in enumerate(sure.names):
        rng = random_stream(sure.wanted.seed, f"report\0{name}")
        each = sure.clusters[i]
        if each is None:
            four = np.array([cells.tp[i], cells.fp[i], cells.fn[i], cells.tn[i]], np.float64)
            if not four.sum():
                continue
            draws = rng.multinomial(int(four.sum()), four / four.sum(), size=often)
            tp, fp, fn, tn = draws.T.astype(np.float64)
        else:
            tp, fp, fn, tn = each.tables(often, rng)
        low, high, _ = percentile_limits(of(Confusion(tp, fp, fn, tn)), level=level)
        ends[:, i] = low, high
    return ends[0], ends[1]


def cell_influence(of: Function, table: Confusion) -> Floats:
    """Return the influence of a row of each cell on a measure: (4, m).

    f = M d theta / d n_c   for the cells TP, FP, FN, TN

    Central differences at three steps, extrapolated; 0 for an empty cell.
    Source: Hampel 1974, Journal of the American Statistical Association 69:383.
    """
    cells = [np.asarray(one, np.float64) for one in (table.tp, table.fp, table.fn, table.tn)]
    total = sum(cells)
    found = np.zeros((4, *np.shape(total)))
    for c, cell in enumerate(cells):
        slopes = []
        for step in (_STEP, _STEP / 2, _STEP / 4):
            with np.errstate(all="ignore"):
                up, down = ([*cells[:c], cell * (1 + sign * step), *cells[c + 1 :]]
                            for sign in (1, -1))  # fmt: skip
                rise = of(Confusion(*up)) - of(Confusion(*down))
                slopes.append(np.asarray(rise / (2 * step * cell)))
        with np.errstate(invalid="ignore"):
            better = [(4 * b - a) / 3 for a, b in pairwise(slopes)]
            best = (16 * better[1] - better[0]) / 15
            found[c] = np.where(cell > 0, best * total, 0.0)
    return found


def standard_errors(of: Function, cells: Cells, many: Sequence[float]) -> Floats:
    """Return the standard error of a measure of m tables, (m,).

    sqrt(sum n_c f_c²) / M, over clusters sqrt(C / (C - 1) sum (sum f)²) / M
    """
    table = float_confusion(cells)
    tp, fp, fn, tn = cell_influence(of, table)
    v = np.stack([tp - fn, fp - tn, fn, tn], axis=1)  # of TP, FP, P and N
    if cells.sums is None:
        squares = tp**2 * table.tp + fp**2 * table.fp + fn**2 * table.fn + tn**2 * table.tn
    else:
        c = np.array(many, np.float64)
        factor = np.where(c > 1, c / np.maximum(c - 1, 1), np.nan)  # one cluster tells nothing
        squares = np.einsum("mi,mij,mj->m", v, cells.sums, v) * factor
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / table.total)
