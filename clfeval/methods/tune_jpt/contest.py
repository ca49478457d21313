"""Two models: how much better one is in a population, where they change places, who leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import pi
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats, Ints, over
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.inference.clusters import rate_covariance
from clfeval.inference.paired_measures import (
    clustered_correlation,
    correlation,
    difference,
    slopes,
)
from clfeval.inference.special import halved, level_together
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.measures.record import Measure
from clfeval.methods.estimates import Cells, limits

_HALVINGS = 60
_SETTLED = 30  # halvings of a limit
_SPARE = 1e-6  # of two distances, far more than rounding
_EQUAL = 1e-12  # relative; a smaller difference is rounding
_CELLS, _BLOCK = 2**20, 2**18  # values, and signs, held at a time
_STEP, _GROWTH = 0.01, 1.3  # outwards from a crossing, in the logarithm of the odds

# what a measure says of m models, each at odds of its own, (5, m): value, lower and upper limit,
# slopes along the true and the false positive rate; NaN without intervals
Standing = Floats
Pair = tuple[int, int]  # places of two models


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """Pairs of models, each with c odds `ratio` at which they are equal; the arrays are (c,).

    pair: which of the pairs that were looked at; they come in that order, of one pair from few
    positives to many. `below` leads at lower odds, `above` at higher ones. low, high: the nearest
    odds at which the interval of the difference excludes 0; NaN where it covers 0 up to the end of
    the range.
    """

    pair: Ints
    below: Ints
    above: Ints
    ratio: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Who is ahead in q pairs over a grid of odds; the arrays are (q,).

    ahead: at how many odds more the first is better than the second. defined: both have a value
    somewhere. differ: one is better somewhere. turns: the pair, its first and its second model, the
    sign at first, and the places in the grid around each change of sign.
    """

    ahead: Ints
    defined: Bools
    differ: Bools
    turns: list[tuple[int, int, int, float, int, int]]


def rates_together(patterns: PatternCounts | None) -> Floats | None:
    """Return how rates of models go together over clusters (2k, 2k); None without clusters."""
    products = None if patterns is None else patterns.products()
    if patterns is None or products is None:
        return None
    c = ConfusionCounts.of_patterns(patterns)
    totals = np.concatenate([c.tp, c.fp, c.positives[:1], c.negatives[:1]])
    return rate_covariance(products, totals)


def course(contest: Contest, ratios: Floats, first: Ints, second: Ints) -> Course:
    """Follow pairs of models (q,), sorted by part, over a fine grid of `ratios` (g,)."""
    many, k, size = len(first), contest.each, len(ratios)
    ahead, (defined, differ) = np.zeros(many, np.int64), np.zeros((2, many), bool)
    found = Course(ahead, defined, differ, [])
    parts, at_once = max(1, _CELLS // (k * size)), max(1, _BLOCK // size)
    for start in range(0, contest.parts, parts):
        models = np.arange(start * k, min(start + parts, contest.parts) * k)
        here = np.searchsorted(first, [models[0], models[-1] + 1])
        if here[0] == here[1]:
            continue
        values = np.ascontiguousarray(contest.values(ratios, models).T)
        for low in range(here[0], here[1], at_once):
            some = np.arange(low, min(low + at_once, here[1]))
            i, j = first[some], second[some]
            signs = contest.signs(values[i - models[0]], values[j - models[0]])
            more, less = signs > 0, signs < 0
            ahead[some] = np.count_nonzero(more, axis=1) - np.count_nonzero(less, axis=1)
            defined[some] = ~np.isnan(signs).all(axis=1)
            once, also = more.any(axis=1), less.any(axis=1)
            differ[some] = once | also
            for one in np.flatnonzero(once & also).tolist():
                told = np.flatnonzero(signs[one])
                its = signs[one, told]
                before = np.flatnonzero(its[:-1] * its[1:] < 0)  # never beside a NaN
                who = (low + one, int(i[one]), int(j[one]))
                found.turns.extend((*who, its[b], told[b], told[b + 1]) for b in before)
    return found


def crossings(
    contest: Contest, ratios: Floats, first: Ints, second: Ints
) -> tuple[Crossings, Ints, Course]:
    """Return where pairs of models (q,) change places; which never do, and the course of those.

    What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for
    TAR: the prevalence dtnr / (dtnr - dtpr). Other measures are compared at a fine grid of `ratios`
    (g,), and each change of sign is halved down.
    """
    found: list[tuple[int, int, int, float]] = []
    weight = None if CATALOG[contest.name].invariant else _linear_weight(contest)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    if weight is not None:
        for at, (i, j, d_tp, d_fp) in enumerate(_gaps(contest, pairs)):
            if d_tp and ratios[0] < weight * d_fp / d_tp < ratios[-1]:
                # with more positives the model of higher sensitivity leads
                found.append((at, *((j, i) if d_tp > 0 else (i, j)), weight * d_fp / d_tp))
    rest = np.setdiff1d(np.arange(len(pairs)), [one[0] for one in found])
    seen = course(contest, ratios, first[rest], second[rest])
    if weight is None and not CATALOG[contest.name].invariant and seen.turns:
        apart = [
            d_tp != 0 or d_fp != 0
            for *_, d_tp, d_fp in _gaps(contest, [turn[1:3] for turn in seen.turns])
        ]
        turns = [turn for turn, yes in zip(seen.turns, apart, strict=True) if yes]
        found = _halved_down(contest, ratios, turns)
        left = np.ones(len(pairs), bool)
        left[[one[0] for one in found]] = False
        rest = np.flatnonzero(left)
        seen = Course(seen.ahead[rest], seen.defined[rest], seen.differ[rest], [])
    columns = list(zip(*found, strict=True)) or [()] * 4
    pair, below, above = (np.array(column, np.int64) for column in columns[:3])
    nowhere = np.full((2, len(found)), np.nan)
    return Crossings(pair, below, above, np.array(columns[3], float), *nowhere), rest, seen


def _halved_down(
    contest: Contest, ratios: Floats, turns: Sequence[tuple[int, int, int, float, int, int]]
) -> list[tuple[int, int, int, float]]:
    """Return the pair, who leads below and above, and the odds of each change of sign."""
    if not turns:
        return []
    pair, i, j, ahead, left, right = (np.array(part) for part in zip(*turns, strict=True))
    low, high = ratios[left], ratios[right]
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        mine, theirs = (
            contest.measure(Cells.picked(contest.counts, models, middle).tuned) for models in (i, j)
        )
        here = contest.signs(mine, theirs)
        low = np.where((here == ahead) | (here == 0), middle, low)
        high = np.where(here == ahead, high, middle)
    below, above = np.where(ahead > 0, i, j), np.where(ahead > 0, j, i)
    parts = (pair, below, above, np.sqrt(low * high))
    return list(zip(*(part.tolist() for part in parts), strict=True))


def settled(contest: Contest, found: Crossings, ends: tuple[float, float]) -> Crossings:
    """Return the crossings with the nearest odds, on either side, where a lead excludes 0."""
    many = len(found.ratio)
    if contest.level is None or not many:
        return found
    # on the left of each crossing, then on the right
    leaders = np.concatenate([found.below, found.above])
    others = np.concatenate([found.above, found.below])
    near, start = np.tile(np.log(found.ratio), (2, 2))
    side, end = np.repeat([-1.0, 1.0], many), np.repeat(np.log(ends), many)
    far, step, looking = np.full(len(start), np.nan), _STEP, np.arange(len(start))
    while len(looking):
        at, last = start[looking] + side[looking] * step, end[looking]
        at = np.where(side[looking] < 0, np.maximum(at, last), np.minimum(at, last))
        sure = contest.sure(leaders[looking], others[looking], np.exp(at))
        far[looking[sure]], near[looking[~sure]] = at[sure], at[~sure]
        looking = looking[~sure & (at != last)]
        step *= _GROWTH
    some = np.flatnonzero(~np.isnan(far))
    leaders, others = leaders[some], others[some]
    if len(some):
        _, far[some] = halved(
            lambda at: ~contest.sure(leaders, others, np.exp(at)), near[some], far[some],
            times=_SETTLED,
        )  # fmt: skip
    low, high = np.exp(far).reshape(2, -1)
    return replace(found, low=low, high=high)


def _gaps(contest: Contest, pairs: Iterable[Pair]) -> Iterator[tuple[int, int, float, float]]:
    """Yield i, j, tp_i - tp_j, fp_i - fp_j, as rates times all totals: whole numbers stay exact."""
    c = contest.counts
    cells = (part.tolist() for part in (c.positives, c.negatives, c.tp, c.fp))
    tables = list(zip(*cells, strict=True))
    for i, j in pairs:
        (p1, n1, tp1, fp1), (p2, n2, tp2, fp2) = tables[i], tables[j]
        yield i, j, (tp1 * p2 - tp2 * p1) * n1 * n2, (fp1 * n2 - fp2 * n1) * p1 * p2


def _linear_weight(contest: Contest) -> float | None:
    """Return what a false positive costs in true positives, for measures linear in the rates.

    So are those whose limits are derived from a linear one, which they rise with.
    """
    measure = _settles(contest.name)
    if measure.interval != "linear":
        return None
    a, b, _ = measure.given(beta=contest.beta, stakes=contest.stakes).terms(0.5, 0.5)
    return float(-b / a)


def _settles(name: str) -> Measure:
    """Return the measure itself, or that from whose limits its own are derived."""
    measure = CATALOG[name]
    derived = measure.interval == "derived" and measure.base is not None
    return CATALOG[str(measure.base)] if derived else measure


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """The measure that models are compared by, k in each of s parts; level None: no intervals.

    The parts, such as slices, stand one behind the other, and models of two are never compared.
    both: how many positives, and how many negatives, each of them and each model of its part both
    call positive, (s k, k); None where nobody knows which rows they share, and they are taken as
    judged on other rows. rates: the covariances over clusters of the true and false positive rates
    of each part, (s, 2k, 2k); None where rows are taken as independent.
    """

    name: str
    counts: ConfusionCounts
    both: tuple[Floats, Floats] | None
    level: float | None
    beta: float = 1.0
    stakes: Stakes | None = None
    rates: Floats | None = None
    parts: int = 1

    @property
    def each(self) -> int:
        """How many models a part has."""
        return len(self.counts.models) // self.parts

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if CATALOG[self.name].best == "min" else 1

    @property
    def measure(self) -> Callable[[Confusion], Floats]:
        """The measure as a function of tables."""
        return CATALOG[self.name].given(beta=self.beta, stakes=self.stakes).function

    def values(self, ratios: Floats, models: Ints) -> Floats:
        """Return the measure of some models (m,) at every ratio: (g, m)."""
        each = np.tile(models, len(ratios)), np.repeat(ratios, len(models))
        tuned = Cells.picked(self.counts, *each).tuned
        return self.measure(tuned).reshape(len(ratios), -1)

    def together(self, comparisons: int, *, everywhere: bool = False) -> Contest:
        """Return the contest with intervals that hold together, everywhere: at every class ratio.

        A measure that rises with sensitivity and specificity adds up the differences of two models
        in both with weights of one sign, whatever the ratio: no more than a quarter turn, if the
        two are independent; clusters may have rows of both classes, and then it may be a half.
        """
        if self.level is None:
            return self
        most = pi / 2 if self.rates is None else pi
        turn = 0.0 if CATALOG[self.name].invariant or not everywhere else most
        level = level_together(self.level, comparisons=max(comparisons, 1), turn=turn)
        return replace(self, level=level)

    def signs(self, a: Floats, b: Floats) -> Floats:
        """Return 1 where the first value is better, -1 where the second is, 0: up to rounding."""
        with np.errstate(invalid="ignore"):
            gap = self.sign * (a - b)
            same = np.isfinite(gap) & (np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b)))
        return np.where(same | (a == b), 0.0, np.sign(gap))

    def standing(self, models: Ints, ratios: Floats, by: str | None = None) -> Standing:
        """Return what is to be said of models at ratios, (m,) each, before they are compared.

        by: how limits are found, as for `limits`.
        """
        cells = Cells.picked(self.counts, models, ratios)
        value = self.measure(cells.tuned)
        found = np.full((5, len(ratios)), np.nan)
        found[0] = value
        if self.level is None:
            return found
        settings: dict[str, Any] = {"beta": self.beta, "stakes": self.stakes, "by": by}
        low, high = limits(self.name, cells, level=self.level, **settings)
        found[1:3] = np.minimum(low, value), np.maximum(high, value)
        if self.both is not None:
            of = self.measure
            found[3:] = slopes(lambda tp, fp: of(Confusion.of_rates(tp, fp, ratios)), *cells.rates)
        return found

    def sure(self, first: Ints, second: Ints, ratios: Floats) -> Bools:
        """Return whether the interval of how much better `first` is excludes 0: (m,)."""
        sure, left = np.zeros(len(first), bool), np.arange(len(first))
        if self.level is not None and _settles(self.name).interval == "region":
            both = (self.standing(models, ratios, "within") for models in (first, second))
            left = np.flatnonzero(~self._hopeless(first, second, *both))
        if len(left):
            sure[left] = self.duel(first[left], second[left], ratios[left])[1] > 0
        return sure

    def _hopeless(self, first: Ints, second: Ints, one: Standing, other: Standing) -> Bools:
        """Return where the interval covers 0 even with limits that lie too near.

        Distances x >= a and y >= b to them make a third side of square x² - 2 rho x y + y², least
        at x = a or at y = b.
        """
        rho = self._correlation(first, second, one, other)
        with np.errstate(invalid="ignore"):
            lead = self.sign * (one[0] - other[0])
            a, b = one[0] - one[1], other[2] - other[0]
            if self.sign < 0:
                a, b = one[2] - one[0], other[0] - other[1]
            sides = [
                np.hypot(x - rho * far, far * np.sqrt(1 - rho**2))
                for far, x in ((a, np.maximum(b, rho * a)), (b, np.maximum(a, rho * b)))
            ]
            least = np.minimum(*sides) - _SPARE * (a + b)
        return np.asarray(np.isfinite(lead) & (least >= lead))

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
        if self.rates is not None:
            sides = (over(c.tp, c.positives), over(c.fp, c.negatives))
            rates = np.concatenate([rate.reshape(self.parts, -1) for rate in sides], axis=1)
            return clustered_correlation(self.rates, rates, first, second, one[3:], other[3:])
        tables = []
        for both, called, total in (
            (self.both[0], c.tp, c.positives), (self.both[1], c.fp, c.negatives),
        ):  # fmt: skip
            shared, a, b = both[first, second % both.shape[1]], called[first], called[second]
            neither = np.maximum(total[first] - a - b + shared, 0)
            tables.append((shared, np.maximum(a - shared, 0), np.maximum(b - shared, 0), neither))
        return correlation((one[3], one[4]), (other[3], other[4]), tables[0], tables[1])
