"""Measures of 2 x 2 tables with what is known of their error: limits, standard error, method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clfeval.arrays import Floats
from clfeval.inference.resampling import percentiles, resampled_clusters, stream
from clfeval.inference.shares import score_limits, score_parts
from clfeval.inference.special import critical_value, student_quantile, tail_of
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.methods.divided import of_share
from clfeval.methods.estimates import Cells, Design, Estimates, Limits, column, exact_limits, limits

EXACT, TRANSFORMED, REGION = "Clopper-Pearson", "Clopper-Pearson, transformed", "score region"
OF_KIND = {  # where the class ratio is no matter, or is fixed
    "linear": "Newcombe square-and-add", "region": REGION, "logit": "Mercaldo logit",
    "ratio": "Katz log ratio", "log": "Woolf log odds ratio", "derived": "of another, transformed",
}  # fmt: skip
WILSON, JEFFREYS = "Wilson", "Jeffreys"
WEIGHED = "square-and-add of Wilson's limits"  # of a net benefit
INFLUENCE, BOOTSTRAP, NONE = "influence", "bootstrap", "none"
_STEP = 0.01  # of a count; extrapolated twice from there

Function = Callable[[Confusion], Floats]


@dataclass(frozen=True, slots=True)
class HardLimits:
    """How sure the numbers are to be. clusters: the cells TP, FP, P, N of each, by table; or None.

    names: what the random numbers of each table are called.
    """

    level: float | None
    how: str
    design: Design
    resamples: int
    seed: int
    names: Sequence[str]
    clusters: Sequence[Floats | None]
    many: Sequence[int]  # clusters of each table, 0 for none


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A measure of m tables: estimates, standard errors (NaN where there is none), method."""

    values: Estimates
    errors: Floats
    method: str


def measured(measure: Measure, cells: Cells, sure: HardLimits) -> Found:
    """Return a measure of the tables as counted, with limits by the method asked for."""
    of, table = measure.function, _table(cells)
    values = np.broadcast_to(np.asarray(of(table), np.float64), cells.tp.shape)
    errors = standard_errors(of, cells, sure.many)
    bounds, method = _bounds(measure, cells, values, errors, sure)
    return Found(column(values, bounds, cells, measure.undefined), errors, method)


def _table(cells: Cells) -> Confusion:
    return Confusion(*(np.asarray(one, np.float64) for one in (
        cells.tp, cells.fp, cells.fn, cells.tn)))  # fmt: skip


def _bounds(
    measure: Measure, cells: Cells, values: Floats, errors: Floats, sure: HardLimits
) -> tuple[Limits | None, str]:
    level, how = sure.level, sure.how
    if level is None:
        return None, NONE
    if how == "bootstrap":
        return _resampled(measure.function, cells, sure, level), BOOTSTRAP
    if how == "influence":
        return _around(values, errors, level, sure.many), INFLUENCE
    if how in ("wilson", "jeffreys") and measure.share is not None and not measure.drawn:
        k, n = of_share(measure, cells, level)
        return (_wilson if how == "wilson" else _jeffreys)(k, n, level), how.capitalize()
    exact = exact_limits(measure.id, cells, level=level, design=sure.design)
    if exact is not None and not measure.takes:
        return exact, EXACT if measure.share is not None else TRANSFORMED
    if measure.takes:  # the limits of a record know its plain form
        return _around(values, errors, level, sure.many), INFLUENCE
    fixed = sure.design.totals == "fixed" or measure.invariant
    found = limits(measure.id, cells, level=level, design=sure.design)
    return found, OF_KIND[measure.interval] if fixed else REGION


def _wilson(k: Floats, n: Floats, level: float) -> Limits:
    return score_limits(score_parts(k, n), critical_value(level))


def _jeffreys(k: Floats, n: Floats, level: float) -> Limits:
    """Return the quantiles of Beta(k + 1/2, n - k + 1/2), 0 at k = 0 and 1 at k = n.

    Source: Brown, Cai and DasGupta 2001, Statistical Science 16:101.
    """
    from scipy.special import betaincinv

    hits, trials = np.asarray(k, np.float64), np.asarray(n, np.float64)
    tail, none = tail_of(level), np.where(trials > 0, 0.0, np.nan)
    low = np.where(hits > 0, betaincinv(hits + 0.5, trials - hits + 0.5, tail), 0.0)
    high = np.where(hits < trials, betaincinv(hits + 0.5, trials - hits + 0.5, 1 - tail), 1.0)
    return low + none, high + none


def _around(values: Floats, errors: Floats, level: float, many: Sequence[int]) -> Limits:
    """Return value -+ z error, t with clusters - 1 degrees of freedom where there are clusters."""
    df = [c - 1 if c else np.inf for c in many]
    z = student_quantile(df, level=level)
    return values - z * errors, values + z * errors


def _resampled(of: Function, cells: Cells, sure: HardLimits, level: float) -> Limits:
    """Return percentile limits of tables drawn again: one multinomial of the four cells each."""
    ends = np.full((2, len(cells.tp)), np.nan)
    for i, name in enumerate(sure.names):
        rng = stream(sure.seed, f"report\0{name}")
        each = sure.clusters[i]
        if each is None:
            four = np.array([cells.tp[i], cells.fp[i], cells.fn[i], cells.tn[i]], np.float64)
            if not four.sum():
                continue
            draws = rng.multinomial(int(four.sum()), four / four.sum(), size=sure.resamples)
            tp, fp, fn, tn = draws.T.astype(np.float64)
        else:
            tp, fp, p, n = resampled_clusters(each, resamples=sure.resamples, rng=rng).T
            fn, tn = p - tp, n - fp
        low, high, _ = percentiles(of(Confusion(tp, fp, fn, tn)), level=level)
        ends[:, i] = low, high
    return ends[0], ends[1]


def influence(of: Function, table: Confusion) -> Floats:
    """Return what one row more of each cell moves a measure by, times the rows: (4, m).

    f = M d theta / d n_c   for the cells TP, FP, FN, TN

    The mean over rows is 0, for a measure is the same of any multiple of its table. Derivatives are
    central differences at three steps, extrapolated; 0 for an empty cell, which no row is in.
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


def standard_errors(of: Function, cells: Cells, many: Sequence[int]) -> Floats:
    """Return the standard error of a measure of m tables, (m,); over clusters where there are some.

    sqrt(sum n_c f_c²) / M, over clusters sqrt(C / (C - 1) sum (sum f)²) / M
    """
    table = _table(cells)
    tp, fp, fn, tn = influence(of, table)
    v = np.stack([tp - fn, fp - tn, fn, tn], axis=1)  # of TP, FP, P and N
    if cells.sums is None:
        squares = tp**2 * table.tp + fp**2 * table.fp + fn**2 * table.fn + tn**2 * table.tn
    else:
        c = np.array(many, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.einsum("mi,mij,mj->m", v, cells.sums, v) * c / (c - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / table.total)
