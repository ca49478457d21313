"""What weights do to the first place: which change of them dethrones, and the tables that say so.

Under weights w a rival B leads the winner A by the sum of w_i w_(i+1) c_i around the polygon, with
c_i = b_i b_(i+1) - a_i a_(i+1). In each weight by itself that lead is a straight line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Bools, Floats, Ints
from clfeval.inference.resampling import stream
from clfeval.methods.estimates import proportions
from clfeval.methods.mlcps.ranking import TIE, Ranking
from clfeval.methods.mlcps.weights import products, winner_shares
from clfeval.result import Estimate, Row

_CELLS = 2**18  # products of rivals at a time
_SHORTER = 1 - 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Dethroning:
    """The least joint change of weights that brings a rival level with the winner.

    factor: every weight stays between w/f and w f; rival: the index of the model; weights (n,):
    those that make it level. Where none do: inf, -1 and NaN.
    """

    factor: float
    rival: int
    weights: Floats


def factors(d: Floats, w0: Floats, winner: int) -> Floats:
    """Return for each rival the least f such that weights from w0/f to w0 f bring it level.

    f = min f >= 1 such that Q_B(w) >= Q_A(w) for some w with w0_i / f <= w_i <= w0_i f

    The lead Q_B - Q_A is linear in each weight, so it is greatest in a corner of the box, and the
    best of all 2**n corners is found exactly by dynamic programming around the polygon. A metric
    of weight 0, kept as a ray, stays at 0. Level is within one part in 10**12.

    Shapes: d (k, n) in 0..1, w0 (n,) >= 0; result (k,), 1..inf. 1: level as it is. inf: no product
    of neighbours is greater than the winner's, so no weights do it. NaN: the winner itself.
    Errors: ValueError with fewer than three metrics.
    """
    found = np.empty(len(d))
    step = max(1, _CELLS // d.shape[1])
    for start in range(0, len(d), step):
        rows = slice(start, start + step)
        found[rows] = _stretched(d[rows], d[winner], w0)[0]
    found[winner] = np.nan
    return found


def dethroner(d: Floats, w0: Floats, winner: int, *, known: Floats | None = None) -> Dethroning:
    """Return the rival with the smallest factor, the first of several, and the weights that do it.

    The weights are the corner of the box that `factors` found (`known`, if it was asked before):
    w0 f or w0 / f, or w0 itself where either makes no difference.

    Shapes: as `factors`.
    Errors: ValueError with fewer than three metrics.
    """
    needed = factors(d, w0, winner) if known is None else known
    needed = np.where(np.isnan(needed), np.inf, needed)
    rival, n = int(needed.argmin()), len(w0)
    if np.isinf(needed[rival]):
        return Dethroning(np.inf, -1, np.full(n, np.nan))
    factor, high = _stretched(d[[rival]], d[winner], w0)
    times = np.where(high[0], factor[0], 1 / factor[0])
    gains = _gains(d[[rival]], d[winner], w0)[0][0]
    for i in range(n):
        before, after = gains[i - 1] * times[i - 1], gains[i] * times[(i + 1) % n]
        if abs(before + after) <= TIE * max(abs(before), abs(after)):
            times[i] = 1.0
    return Dethroning(float(factor[0]), rival, w0 * times)


def alone(d: Floats, w0: Floats, winner: int) -> tuple[Floats, Ints, Floats, Ints]:
    """Return the weights at which the winner is passed when one metric's weight changes alone.

    lower_i: the greatest weight below which a rival leads; upper_i: the least weight above which
    one does; both where the straight line of its lead, level + slope w_i, is 0. A rival that is
    level at w0 passes there, on the side on which its line rises. Of several that pass at one
    weight, the one whose line is steepest leads from there on, and of equal ones the first.
    Weight 0 is here a ray of length 0, not a metric left out, and who is only level there does
    not pass.

    Shapes: d (k, n) in 0..1, w0 (n,) >= 0; lower, lower_by, upper, upper_by (n,) each: the weight
    and the rival's index, NaN and -1 where no rival ever passes.
    Errors: ValueError with fewer than three metrics.
    """
    n, unit = len(w0), _unit(w0)
    w = w0 / unit
    c, own = _differences(d, d[winner])
    around = products(w[None])[0]
    lead, tie = c @ around, TIE * (own @ around)
    lead = np.where(lead < -tie, lead, 0.0)
    bounds, leaders = np.full((2, n), np.nan), np.full((2, n), -1)
    for i in range(n):
        before, after = w[i - 1], w[(i + 1) % n]
        slope = before * c[:, i - 1] + after * c[:, i]
        slope[np.abs(slope) <= TIE * (before * own[i - 1] + after * own[i])] = 0
        level = lead - slope * w[i]
        falls, rises = (slope < 0) & (level > tie), slope > 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = np.where(lead < 0, -level / slope, w[i])
        bounds[0, i], leaders[0, i] = _first(np.where(falls, -crossing, np.inf), slope)
        bounds[1, i], leaders[1, i] = _first(np.where(rises, crossing, np.inf), slope)
    return -bounds[0] * unit, leaders[0], bounds[1] * unit, leaders[1]


def _first(crossing: Floats, slope: Floats) -> tuple[float, int]:
    """Return the least crossing and the model that leads from there on."""
    least = float(crossing.min())
    if np.isinf(least):
        return np.nan, -1
    there = np.flatnonzero(crossing <= least + TIE * abs(least))
    return least, int(there[np.abs(slope[there]).argmax()])


def _unit(w0: Floats) -> float:
    """Return the power of two at the greatest weight: over it, no product of weights overflows."""
    return float(np.ldexp(1.0, np.frexp(w0.max(initial=0))[1] - 1))


def _differences(d: Floats, best: Floats) -> tuple[Floats, Floats]:
    """Return by how much rivals' products exceed the winner's (m, n), and the winner's (n,).

    0 for those within one part in 10**12: rounding makes no rival.
    """
    own = products(best[None])[0]
    theirs = products(d)
    c = theirs - own
    c[np.abs(c) <= TIE * np.maximum(theirs, own)] = 0
    return c, own


def _gains(d: Floats, best: Floats, w0: Floats) -> tuple[Floats, float]:
    """Return what each pair of neighbours gives rivals (m, n), and the winner's whole score."""
    c, own = _differences(d, best)
    around = products((w0 / _unit(w0))[None])[0]
    return c * around, float(own @ around)


def _stretched(d: Floats, best: Floats, w0: Floats) -> tuple[Floats, Bools]:
    """Return the factors of rivals (m,) and in which metrics the weight is the high one (m, n)."""
    gains, score = _gains(d, best, w0)
    behind = gains.sum(axis=1) < -TIE * score
    factor, high = np.where(behind, np.inf, 1.0), np.zeros(gains.shape, bool)
    able = np.flatnonzero(behind & (gains > 0).any(axis=1))
    gains = gains[able]
    gains /= np.abs(gains).max(axis=1, initial=0)[:, None]
    stretch, high[able] = _least(gains)
    factor[able] = np.sqrt(1 + stretch)
    return factor, high


def _least(gains: Floats) -> tuple[Floats, Bools]:
    """Return the least f**2 - 1 at which some corner's lead is 0, and that corner: (m,), (m, n).

    From above: the corner with the best pair of neighbours high gets level somewhere, for its lead
    is a parabola. If another corner leads there, that one gets level at a smaller f, and so on: a
    few steps. Each row needs a gain above 0 and a sum of gains below 0.
    """
    m, n = gains.shape
    most = gains.argmax(axis=1)
    high = np.zeros((m, n), bool)
    high[np.arange(m), most] = high[np.arange(m), (most + 1) % n] = True
    stretch = _level(gains, high)
    open_ = np.arange(m)
    while open_.size:
        corner = _corner(gains[open_], stretch[open_])
        shorter = _level(gains[open_], corner)
        better = shorter < stretch[open_] * _SHORTER
        open_ = open_[better]
        stretch[open_], high[open_] = shorter[better], corner[better]
    return stretch, high


def _level(gains: Floats, high: Bools) -> Floats:
    """Return the f**2 - 1 > 0 at which a corner is level, inf where it never is: (m,).

    With s = f**2 - 1 and both, mixed, all: the sums of gains of neighbours that are both high, of
    which one is, and of all neighbours, which is less than 0, the lead in units of the low weights
    is both s**2 + (2 both + mixed) s + all.
    """
    after = np.roll(high, -1, axis=1)
    both = np.where(high & after, gains, 0).sum(axis=1)
    mixed = np.where(high ^ after, gains, 0).sum(axis=1)
    behind, rise = -gains.sum(axis=1), 2 * both + mixed
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(rise**2 + 4 * both * behind)
        # two forms of one root, of which one loses no digits
        found = np.where(rise > 0, 2 * behind / (rise + root), (root - rise) / (2 * both))
    return np.where((found > 0) & ((rise > 0) | (both > 0)), found, np.inf)


def _corner(gains: Floats, stretch: Floats) -> Bools:
    """Return in which metrics the weight is high in the corner of greatest lead: (m, n).

    Dynamic programming along the polygon, for either choice of the first metric, then closed. Two
    high neighbours count 1, a high and a low one u = 1 / f**2, two low ones u**2.
    """
    m, n = gains.shape
    u = 1 / (1 + stretch)
    # first axis: the choice of the first metric
    low = np.stack([np.zeros(m), np.full(m, -np.inf)])
    up = low[::-1].copy()
    came = np.empty((n, 2, 2, m), bool)
    columns = np.ascontiguousarray(gains.T)
    for i in range(1, n):
        gain = columns[i - 1]
        to_low = low + gain * u * u, up + gain * u
        to_high = low + gain * u, up + gain
        came[i] = to_low[1] > to_low[0], to_high[1] > to_high[0]
        low, up = np.maximum(*to_low), np.maximum(*to_high)
    gain = columns[-1]
    ends = np.stack([low[0] + gain * u * u, low[1] + gain * u, up[0] + gain * u, up[1] + gain])
    choice, first = np.divmod(ends.argmax(axis=0), 2)
    high = np.empty((n, m), bool)
    for i in range(n - 1, 0, -1):
        high[i] = choice
        choice = came[i, choice, first, np.arange(m)].astype(np.int64)
    high[0] = first
    return high.T


def weight_rows(ranking: Ranking, needed: Floats, draws: int) -> list[Row]:
    """Return per model the share of all weights that make it first, and the factor needed."""
    options = ranking.options
    wins, free = winner_shares(ranking.rays, draws=draws, rng=stream(options.seed, "weights"))
    shares = [
        proportions(part, np.full(len(part), draws), "no_draws", level=options.level)
        for part in (wins, free)
    ]
    return [
        {
            "model": model, "share": share, "share_order_free": order_free,
            "factor": Estimate(factor)
            if np.isfinite(factor)
            else Estimate(None, reason="winner" if factor != factor else "never"),
        }
        for model, share, order_free, factor in zip(
            ranking.given.models, *shares, needed.tolist(), strict=True
        )
    ]  # fmt: skip


def factors_of(ranking: Ranking) -> Floats:
    """Return the factor by which weights must change for each model to pass; NaN for the first.

    Models that tie for the first place are first, all of them.
    """
    needed = factors(ranking.d, ranking.weights, _winner(ranking))
    needed[ranking.ranks["mlcps"] == 1] = np.nan
    return needed


def dethroning_rows(ranking: Ranking, needed: Floats) -> list[Row]:
    """Return per metric the weight at which the winner loses, all moving, and each alone."""
    winner, names = _winner(ranking), ranking.given.models
    nearest = dethroner(ranking.d, ranking.weights, winner, known=needed)
    lower, lower_by, upper, upper_by = alone(ranking.d, ranking.weights, winner)

    def crossing(value: float) -> Estimate:
        return Estimate(value) if value == value else Estimate(None, reason="never")

    rows: list[Row] = []
    for i, scale in enumerate(ranking.scales):
        there = nearest.rival >= 0
        rows.append(
            {
                "metric": scale.metric,
                "weight": scale.weight,
                "joint": float(nearest.weights[i]) if there else None,
                "joint_winner": names[nearest.rival] if there else None,
                "lower": crossing(float(lower[i])),
                "lower_winner": names[lower_by[i]] if lower_by[i] >= 0 else None,
                "upper": crossing(float(upper[i])),
                "upper_winner": names[upper_by[i]] if upper_by[i] >= 0 else None,
            }
        )
    return rows


def _winner(ranking: Ranking) -> int:
    """Return who is first by MLcps; of several that tie, the first in the table."""
    return int(np.flatnonzero(ranking.ranks["mlcps"] == 1)[0])
