"""Two models: how much better one is in a population, where they change places, who leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import pi

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.paired_measures import correlation, difference, slopes
from clfeval.inference.special import halved, level_together
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.methods.estimates import Cells, limits

_HALVINGS = 60
_SETTLED = 30  # halvings of a limit
_EQUAL = 1e-12  # relative; a smaller difference is rounding
_STEP, _GROWTH = 0.01, 1.3  # outwards from a crossing, in the logarithm of the odds

# what a measure says of m models, each at odds of its own, (5, m): value, lower and upper limit,
# slopes along the true and the false positive rate; NaN without intervals
Standing = Floats
Pair = tuple[int, int]  # places of two models


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


def crossings(
    contest: Contest, ratios: Floats, values: Floats, pairs: Sequence[Pair]
) -> dict[Pair, list[Crossing]]:
    """Return where the models of each pair change places, from few positives to many.

    What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for
    TAR: the prevalence dtnr / (dtnr - dtpr). Other measures are compared by their `values` (g, k)
    at a fine grid of `ratios` (g,), and each change of sign is halved down.
    """
    found: dict[Pair, list[Crossing]] = {pair: [] for pair in pairs}
    weight, turns = _linear_weight(contest), []
    for pair in () if CATALOG[contest.name].invariant else pairs:
        d_tp, d_fp = _gaps(contest, *pair)
        if weight is None and (d_tp or d_fp):
            signs = contest.signs(values[:, pair[0]], values[:, pair[1]])
            told = np.flatnonzero(signs)
            before = np.flatnonzero(signs[told[:-1]] * signs[told[1:]] < 0)  # never beside a NaN
            turns += [(*pair, signs[told[b]], told[b], told[b + 1]) for b in before]
        elif weight is not None and d_tp and ratios[0] < weight * d_fp / d_tp < ratios[-1]:
            # with more positives the model of higher sensitivity leads
            found[pair] = [Crossing(*(pair[::-1] if d_tp > 0 else pair), weight * d_fp / d_tp)]
    if not turns:
        return found
    i, j, ahead, left, right = (np.array(part) for part in zip(*turns, strict=True))
    low, high = ratios[left], ratios[right]
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        mine, theirs = (
            contest.measure(Cells.picked(contest.counts, models, middle).tuned) for models in (i, j)
        )
        here = contest.signs(mine, theirs)
        low = np.where((here == ahead) | (here == 0), middle, low)
        high = np.where(here == ahead, high, middle)
    at = np.sqrt(low * high).tolist()
    for first, second, sign, ratio in zip(i.tolist(), j.tolist(), ahead, at, strict=True):
        below, above = (first, second) if sign > 0 else (second, first)
        found[first, second].append(Crossing(below, above, ratio))
    return found


def settled(
    contest: Contest, found: Sequence[Crossing], ends: tuple[float, float]
) -> list[Crossing]:
    """Return the crossings with the nearest odds, on either side, where a lead excludes 0."""
    if contest.level is None or not found:
        return list(found)
    below, above = (np.array([getattr(one, name) for one in found]) for name in ("below", "above"))
    # on the left of each crossing, then on the right
    leaders, others = np.concatenate([below, above]), np.concatenate([above, below])
    near = start = np.tile(np.log([one.ratio for one in found]), 2)
    side, end = np.repeat([-1.0, 1.0], len(found)), np.repeat(np.log(ends), len(found))
    far, step, looking = np.full(len(start), np.nan), _STEP, np.ones(len(start), bool)
    while looking.any():
        at = np.where(side < 0, np.maximum(start - step, end), np.minimum(start + step, end))
        sure = contest.duel(leaders, others, np.exp(at))[1] > 0
        far = np.where(looking & sure, at, far)
        near = np.where(looking & ~sure, at, near)
        looking &= ~sure & (at != end)
        step *= _GROWTH
    some = np.flatnonzero(~np.isnan(far))
    leaders, others = leaders[some], others[some]
    if len(some):
        _, far[some] = halved(
            lambda at: ~(contest.duel(leaders, others, np.exp(at))[1] > 0), near[some], far[some],
            times=_SETTLED,
        )  # fmt: skip
    limits = [None if x != x else x for x in np.exp(far).tolist()]
    pairs = zip(limits[: len(found)], limits[len(found) :], strict=True)
    return [replace(one, low=low, high=high) for one, (low, high) in zip(found, pairs, strict=True)]


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

    def values(self, ratios: Floats) -> Floats:
        """Return the measure of every model at every ratio: (g, k)."""
        return self.measure(Cells.of(self.counts, ratios).tuned).reshape(len(ratios), -1)

    def together(self, comparisons: int, *, everywhere: bool = False) -> Contest:
        """Return the contest with intervals that hold together, everywhere: at every class ratio.

        A measure that rises with sensitivity and specificity adds up the differences of two models
        in both with weights of one sign, whatever the ratio: no more than a quarter turn.
        """
        if self.level is None:
            return self
        turn = 0.0 if CATALOG[self.name].invariant or not everywhere else pi / 2
        level = level_together(self.level, comparisons=max(comparisons, 1), turn=turn)
        return replace(self, level=level)

    def signs(self, a: Floats, b: Floats) -> Floats:
        """Return 1 where the first value is better, -1 where the second is, 0: up to rounding."""
        with np.errstate(invalid="ignore"):
            gap = self.sign * (a - b)
            same = np.isfinite(gap) & (np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b)))
        return np.where(same | (a == b), 0.0, np.sign(gap))

    def standing(self, models: Ints, ratios: Floats) -> Standing:
        """Return what is to be said of models at ratios, (m,) each, before they are compared."""
        cells = Cells.picked(self.counts, models, ratios)
        value = self.measure(cells.tuned)
        found = np.full((5, len(ratios)), np.nan)
        found[0] = value
        if self.level is None:
            return found
        low, high = limits(self.name, cells, level=self.level, beta=self.beta, stakes=self.stakes)
        found[1:3] = np.minimum(low, value), np.maximum(high, value)
        if self.both is not None:
            of = self.measure
            found[3:] = slopes(lambda tp, fp: of(Confusion.of_rates(tp, fp, ratios)), *cells.rates)
        return found

    def duel(self, first: Ints, second: Ints, ratios: Floats) -> tuple[Floats, Floats, Floats]:
        """Return by how much `first` is better than `second` at ratios, with limits: (m,) each."""
        both = (self.standing(models, ratios) for models in (first, second))
        return self.compare(first, second, *both)

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
                value = one[0] - other[0]
            low = high = np.full(len(value), np.nan)
        else:
            rho = self._correlation(first, second, one, other)
            (a, low1, high1, *_), (b, low2, high2, *_) = one, other
            value, low, high = difference(a, low1, high1, b, low2, high2, rho)
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
        return correlation((one[3], one[4]), (other[3], other[4]), tables[0], tables[1])
