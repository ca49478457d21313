"""Two models: how much better one is in a population, and where they change places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.inference.paired_measures import correlation, difference, slopes
from clfeval.inference.special import halved
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.methods.estimates import Cells, limits

_GRID = 2001  # odds at which signs are compared, evenly in the logarithm
_HALVINGS = 60
_SETTLED = 30  # halvings of a limit
_EQUAL = 1e-12  # relative; a smaller difference is rounding
_STEP, _GROWTH = 0.01, 1.3  # outwards from a crossing, in the logarithm of the odds


@dataclass(frozen=True, slots=True)
class Crossing:
    """Models `below` and `above` are equal at odds `ratio`, and each leads on its side.

    low, high: the nearest odds at which the interval of the difference excludes 0; None where it
    covers 0 up to the end of the range.
    """

    below: int
    above: int
    ratio: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The values of all models over a range of odds: ratios (g,), values (g, k)."""

    contest: Contest
    ratios: Floats
    values: Floats

    @classmethod
    def over(cls, contest: Contest, ends: tuple[float, float]) -> Field:
        """Look at a fine grid of odds between two, both ends among them."""
        ratios = np.geomspace(*ends, _GRID)
        return cls(contest, ratios, contest.values(ratios))

    def signs(self, i: int, j: int) -> Floats:
        """Return 1 where i is better, -1 where j is, 0 where they are equal, NaN: undefined."""
        return _signs(self.contest, self.values[:, i], self.values[:, j])

    def crossings(self, i: int, j: int) -> list[Crossing]:
        """Return where models i and j change places, from few positives to many.

        What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for
        TAR: the prevalence dtnr / (dtnr - dtpr). Other measures are compared on the grid, and each
        change of sign is halved down.
        """
        d_tp, d_fp = _gaps(self.contest, i, j)
        if not (d_tp or d_fp) or CATALOG[self.contest.name].invariant:
            return []
        weight = _linear_weight(self.contest)
        if weight is not None:
            ratio = weight * d_fp / d_tp if d_tp else 0.0
            if not self.ratios[0] < ratio < self.ratios[-1]:
                return []
            # with more positives the model of higher sensitivity leads
            return [Crossing(j, i, ratio) if d_tp > 0 else Crossing(i, j, ratio)]
        signs, out = self.signs(i, j), []
        for a, b in pairwise(np.flatnonzero(signs)):
            if signs[a] != signs[b] and not np.isnan(signs[a : b + 1]).any():
                ratio = self._halved(i, j, self.ratios[a].item(), self.ratios[b].item(), signs[a])
                out.append(Crossing(i, j, ratio) if signs[a] > 0 else Crossing(j, i, ratio))
        return out

    def _halved(self, i: int, j: int, low: float, high: float, sign: float) -> float:
        """Return the odds between two at which the sign changes."""
        for _ in range(_HALVINGS):
            middle = float(np.sqrt(low * high))
            values = self.contest.values(np.array([middle]))
            here = float(_signs(self.contest, values[:, i], values[:, j])[0])
            if here == 0.0:
                return middle
            low, high = (middle, high) if here == sign else (low, middle)
        return float(np.sqrt(low * high))


def settled(
    contest: Contest, found: Sequence[Crossing], ends: tuple[float, float]
) -> list[Crossing]:
    """Return the crossings with the nearest odds, on either side, where a lead excludes 0."""
    if contest.level is None or not found:
        return list(found)
    below = np.array([one.below for one in found])
    above = np.array([one.above for one in found])
    # on the left of each crossing, then on the right
    limits = _limits(
        contest,
        np.concatenate([below, above]),
        np.concatenate([above, below]),
        np.tile(np.log([one.ratio for one in found]), 2),
        np.repeat([-1.0, 1.0], len(found)),
        np.repeat(np.log(ends), len(found)),
    )
    pairs = zip(limits[: len(found)], limits[len(found) :], strict=True)
    return [replace(one, low=low, high=high) for one, (low, high) in zip(found, pairs, strict=True)]


def _limits(
    contest: Contest, leaders: Ints, others: Ints, start: Floats, side: Floats, end: Floats
) -> list[float | None]:
    """Return the odds next to `start` from which a leader's lead excludes 0, None up to `end`."""
    near, far = start.copy(), np.full(len(start), np.nan)
    step = _STEP
    looking = np.ones(len(start), bool)
    while looking.any():
        at = np.where(side < 0, np.maximum(start - step, end), np.minimum(start + step, end))
        sure = contest.duel(leaders, others, np.exp(at))[1] > 0
        far = np.where(looking & sure, at, far)
        near = np.where(looking & ~sure, at, near)
        looking &= ~sure & (at != end)
        step *= _GROWTH
    some = np.flatnonzero(~np.isnan(far))
    near, far, leaders, others = near[some], far[some], leaders[some], others[some]
    _, far = halved(
        lambda at: ~(contest.duel(leaders, others, np.exp(at))[1] > 0), near, far,
        times=_SETTLED if len(some) else 0,
    )  # fmt: skip
    out: list[float | None] = [None] * len(start)
    for place, value in zip(some.tolist(), np.exp(far).tolist(), strict=True):
        out[place] = value
    return out


def _gaps(contest: Contest, i: int, j: int) -> tuple[float, float]:
    """Return tp_i - tp_j and fp_i - fp_j as rates times all totals: whole numbers stay exact."""
    c = contest.counts
    (p1, n1, tp1, fp1), (p2, n2, tp2, fp2) = (
        tuple(part[m].item() for part in (c.positives, c.negatives, c.tp, c.fp)) for m in (i, j)
    )
    return (tp1 * p2 - tp2 * p1) * n1 * n2, (fp1 * n2 - fp2 * n1) * p1 * p2


def _linear_weight(contest: Contest) -> float | None:
    """Return what a false positive costs in true positives, for measures linear in the rates.

    So are those whose limits are derived from a linear one, which they rise with.
    """
    measure = CATALOG[contest.name]
    if measure.interval == "derived" and measure.base is not None:
        measure = CATALOG[measure.base]
    if measure.interval != "linear":
        return None
    a, b, _ = measure.given(beta=contest.beta, stakes=contest.stakes).terms(0.5, 0.5)
    return float(-b / a)


def _signs(contest: Contest, a: Floats, b: Floats) -> Floats:
    """Return 1 where a is better, -1 where b is, 0 where they are equal up to rounding, or NaN."""
    with np.errstate(invalid="ignore"):
        gap = contest.sign * (a - b)
        same = np.isfinite(gap) & (np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b)))
    return np.where(same | (a == b), 0.0, np.sign(gap))


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What a measure says of models, each at odds of its own: (m,) each; NaN without intervals."""

    value: Floats
    low: Floats
    high: Floats
    slope_tp: Floats
    slope_fp: Floats

    def at(self, index: Ints) -> Standing:
        """Return some of them."""
        parts = (self.value, self.low, self.high, self.slope_tp, self.slope_fp)
        return Standing(*(part[index] for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """k models and the measure they are compared by; level None means no intervals.

    both: how many positives, and how many negatives, each two models both call positive, (k, k);
    None where nobody knows which rows they share, and they are taken as judged on other rows.
    """

    name: str
    counts: ConfusionCounts
    both: tuple[Floats, Floats] | None
    level: float | None
    beta: float = 1.0
    stakes: Stakes | None = None

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if CATALOG[self.name].best == "min" else 1

    @property
    def measure(self) -> Callable[[Confusion], Floats]:
        """The measure as a function of tables."""
        return CATALOG[self.name].given(beta=self.beta, stakes=self.stakes).function

    def table(self, model: int) -> Confusion:
        """Return the table of a model, as counted."""
        counts = self.counts
        return Confusion(*(part[model] for part in (counts.tp, counts.fp, counts.fn, counts.tn)))

    def values(self, ratios: Floats) -> Floats:
        """Return the measure of every model at every ratio: (g, k)."""
        return self.measure(Cells.of(self.counts, ratios).tuned).reshape(len(ratios), -1)

    def standing(self, models: Ints, ratios: Floats) -> Standing:
        """Return what is to be said of models at ratios, (m,) each, before they are compared."""
        cells = Cells.of(self.counts, [1.0]).at(models, ratios)
        value = self.measure(cells.tuned)
        nothing = np.full(len(ratios), np.nan)
        if self.level is None:
            return Standing(value, nothing, nothing, nothing, nothing)
        low, high = limits(self.name, cells, level=self.level, beta=self.beta, stakes=self.stakes)
        low, high = np.minimum(low, value), np.maximum(high, value)
        if self.both is None:
            return Standing(value, low, high, nothing, nothing)

        def at(tp: Floats, fp: Floats) -> Floats:
            return self.measure(Confusion.of_rates(tp, fp, ratios))

        return Standing(value, low, high, *slopes(at, *cells.rates))

    def duel(self, first: Ints, second: Ints, ratios: Floats) -> tuple[Floats, Floats, Floats]:
        """Return by how much `first` is better than `second` at ratios, with limits: (m,) each."""
        one, other = (self.standing(models, ratios) for models in (first, second))
        return self.compare(first, second, one, other)

    def compare(
        self, first: Ints, second: Ints, one: Standing, other: Standing
    ) -> tuple[Floats, Floats, Floats]:
        """Return by how much each of `first` is better than that of `second`, with limits: (m,).

        The limits of two estimates are put together by square-and-add, with the correlation that
        the rows in common give them. More than 0 is better for `first`, whichever way the measure
        goes; NaN limits without intervals.
        """
        if self.level is None:
            with np.errstate(invalid="ignore"):
                value = np.asarray(one.value - other.value)
            low = high = np.full(len(value), np.nan)
        else:
            rho = self._correlation(first, second, one, other)
            value, low, high = difference(
                one.value, one.low, one.high, other.value, other.low, other.high, rho
            )
        return (-value, -high, -low) if self.sign < 0 else (value, low, high)

    def _correlation(self, first: Ints, second: Ints, one: Standing, other: Standing) -> Floats:
        """Return how two estimates go together, 0 for models judged on other rows."""
        if self.both is None:
            return np.zeros(len(first))
        c = self.counts
        tables = []
        for both, called, total in (
            (self.both[0], c.tp, c.positives), (self.both[1], c.fp, c.negatives),
        ):  # fmt: skip
            shared, a, b = both[first, second], called[first], called[second]
            neither = np.maximum(total[first] - a - b + shared, 0)
            tables.append((shared, np.maximum(a - shared, 0), np.maximum(b - shared, 0), neither))
        return correlation(
            (one.slope_tp, one.slope_fp), (other.slope_tp, other.slope_fp), tables[0], tables[1]
        )


def shared_answers(patterns: PatternCounts | None) -> tuple[Floats, Floats] | None:
    """Return how many positives, and negatives, each two models both call positive: (k, k) each."""
    if patterns is None:
        return None
    sides = []
    for rows in (patterns.truth, ~patterns.truth):
        votes = patterns.votes[rows].astype(np.float64)
        sides.append((votes.T * patterns.n[rows]) @ votes)
    return sides[0], sides[1]
