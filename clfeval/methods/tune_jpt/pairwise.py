"""Pairs of models: differences in a population, crossings over the odds, and leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import pi

import numpy as np

from clfeval.arrays import Bools, Floats, Ints, divide
from clfeval.compare.rate_estimates import RateCovariance
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.inference.distributions import bisect, simultaneous_level
from clfeval.inference.influence import mean_covariance
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure
from clfeval.methods.estimates import Cells
from clfeval.methods.measurement.label_measures import class_sizes, effective_class_sizes
from clfeval.records import dataclass, replace

_HALVINGS = 60
_SETTLED = 30  # halvings of a limit
_EQUAL = 1e-12  # relative; a smaller difference is rounding
_CELLS, _BLOCK = 2**20, 2**18  # values, and signs, held at a time
_STEP, _GROWTH = 0.01, 1.3  # first step outwards from a crossing, in log odds

# a pair and its two models, the sign before, and grid points around a change of sign
Turn = tuple[int, int, int, float, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """Pairs of models, each with c odds `ratio` at which they are equal; the arrays are (c,).

    pair: index, ascending, of one pair by odds. `below` leads at lower odds, `above` at higher
    ones. low, high: the nearest odds at which the interval of the difference excludes 0, or NaN.
    """

    pair: Ints
    below: Ints
    above: Ints
    ratio: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceSigns:
    """The signs of differences of q pairs over a grid of odds; the arrays are (q,).

    ahead: grid points where the first is better less those where the second is. defined, differ: at
    some point. turns: each change of sign.
    """

    ahead: Ints
    defined: Bools
    differ: Bools
    turns: list[Turn]


def rate_covariance(counts: ConfusionCounts, patterns: Sequence[PatternCounts]) -> RateCovariance:
    """Return the covariance of the rates of the models of s parts; patterns: of each part, or none.

    V = (n_ij - n_i n_j / n) / n² M / (M - 1) within a class of n rows, of M in all, n_ij of which
    both models predict positive. Over clusters, and weighted rows, C / (C - 1) times the sum of F
    F', F the sum of influence values of a cluster.
    """
    if patterns:
        parts = [_of_patterns(one) for one in patterns]
        covariance, differ, sizes, weight, drawn = map(np.array, zip(*parts, strict=True))
        k = len(counts.models) // len(parts)
        return RateCovariance(
            counts, covariance, np.concatenate([*differ], axis=1), np.repeat(sizes.T, k, axis=1),
            np.repeat(weight, k), np.repeat(drawn, k),
        )  # fmt: skip
    sizes, total = np.stack([counts.positives, counts.negatives]), counts.rows
    rates = divide(np.stack([counts.tp, counts.fp]), sizes)
    covariance = divide(rates * (1 - rates), sizes) * divide(total, total - 1)
    return RateCovariance(
        counts, covariance, None, sizes.astype(np.float64), np.ones(len(total)), total
    )


def _of_patterns(one: PatternCounts) -> tuple[Floats, Bools, Floats, float, float]:
    """Return covariance, differ, sizes, weight and parts of `RateCovariance` of a part."""
    k, owned = len(one.models), one.clusters
    differ, blocks, influence = np.zeros((2, k, k), bool), [], []
    for side, mine in enumerate((one.truth, ~one.truth)):
        votes = one.votes[mine].T.astype(np.float64)
        both = (votes * one.n[mine]) @ votes.T
        size, called = float(one.n[mine].sum()), np.diag(both)
        differ[side] = called[:, None] + called - 2 * both > 0
        blocks.append(divide(both - divide(np.outer(called, called), size), size**2))
        influence.append(divide((one.votes.T - divide(called, size)[:, None]) * mine, size))
    parts = float(one.n.sum()) if owned is None else owned.size
    if owned is None:
        nothing = np.zeros((k, k))
        products = np.block([[blocks[0], nothing], [nothing, blocks[1]]])
    else:
        products = owned.products(np.concatenate(influence))
    weight = float(one.n.sum() / class_sizes(one, 2).sum())
    sizes = effective_class_sizes(one, 2)[::-1]  # of negatives first
    return mean_covariance(products, 1.0, parts), differ, sizes, weight, parts


def follow_difference_signs(
    contest: PairwiseComparison, ratios: Floats, first: Ints, second: Ints
) -> DifferenceSigns:
    """Return the signs of differences of pairs (q,), by part, on a fine grid of `ratios` (g,)."""
    many, k, size = len(first), contest.models_per_part, len(ratios)
    ahead, (defined, differ) = np.zeros(many, np.int64), np.zeros((2, many), bool)
    found = DifferenceSigns(ahead, defined, differ, [])
    parts, at_once = max(1, _CELLS // (k * size)), max(1, _BLOCK // size)
    for start in range(0, contest.parts, parts):
        models = np.arange(start * k, min(start + parts, contest.parts) * k)
        here = np.searchsorted(first, [models[0], models[-1] + 1])
        if here[0] == here[1]:
            continue
        # (models, ratios)
        each = contest.function(np.repeat(models, size), np.tile(ratios, len(models)))
        values = each.reshape(len(models), size)
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
                before = np.flatnonzero(its[:-1] * its[1:] < 0)  # never next to a NaN
                who = (low + one, int(i[one]), int(j[one]))
                found.turns.extend((*who, its[b], told[b], told[b + 1]) for b in before)
    return found


def find_crossings(
    contest: PairwiseComparison, ratios: Floats, first: Ints, second: Ints
) -> tuple[Crossings, Ints, DifferenceSigns]:
    """Return crossings of pairs of models (q,), the pairs without any, and the signs of those.

    What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for
    TAR: the prevalence dtnr / (dtnr - dtpr). Other measures are compared at a fine grid of `ratios`
    (g,), and each change of sign is halved down.
    """
    found: list[tuple[int, int, int, float]] = []
    # the cost of a false positive in true positives, for (functions of) linear measures
    measure, weight = contest.measure, None
    if measure.interval == "derived" and measure.base is not None:
        measure = CATALOG[measure.base]
    if measure.interval == "linear" and not contest.measure.invariant:
        a, b, _ = measure.terms(0.5, 0.5)
        weight = float(-b / a)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    if weight is not None:
        for at, (i, j, d_tp, d_fp) in enumerate(_rate_differences(contest, pairs)):
            if d_tp and ratios[0] < weight * d_fp / d_tp < ratios[-1]:
                # with more positives the model of higher sensitivity leads
                found.append((at, *((j, i) if d_tp > 0 else (i, j)), weight * d_fp / d_tp))
    rest = np.setdiff1d(np.arange(len(pairs)), [one[0] for one in found])
    seen = follow_difference_signs(contest, ratios, first[rest], second[rest])
    if weight is None and not contest.measure.invariant and seen.turns:
        apart = _rate_differences(contest, [turn[1:3] for turn in seen.turns])
        turns = [
            turn for turn, (*_, d_tp, d_fp) in zip(seen.turns, apart, strict=True) if d_tp or d_fp
        ]
        found = _halved_down(contest, ratios, turns)
        rest = np.setdiff1d(rest, [one[0] for one in found])
        seen = DifferenceSigns(seen.ahead[rest], seen.defined[rest], seen.differ[rest], [])
    columns = list(zip(*found, strict=True)) or [()] * 4
    pair, below, above = (np.array(column, np.int64) for column in columns[:3])
    nowhere = np.full((2, len(found)), np.nan)
    return Crossings(pair, below, above, np.array(columns[3], float), *nowhere), rest, seen


def _halved_down(
    contest: PairwiseComparison, ratios: Floats, turns: Sequence[Turn]
) -> list[tuple[int, int, int, float]]:
    """Return the pair, its leaders below and above, and odds of each crossing, by bisection."""
    if not turns:
        return []
    pair, i, j, ahead, left, right = (np.array(part) for part in zip(*turns, strict=True))
    low, high = ratios[left], ratios[right]
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        here = contest.signs(contest.function(i, middle), contest.function(j, middle))
        low = np.where((here == ahead) | (here == 0), middle, low)
        high = np.where(here == ahead, high, middle)
    below, above = np.where(ahead > 0, i, j), np.where(ahead > 0, j, i)
    parts = (pair, below, above, np.sqrt(low * high))
    return list(zip(*(part.tolist() for part in parts), strict=True))


def add_crossing_limits(
    contest: PairwiseComparison, found: Crossings, ends: tuple[float, float]
) -> Crossings:
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
        yes = contest.leads(leaders[looking], others[looking], np.exp(at))
        far[looking[yes]], near[looking[~yes]] = at[yes], at[~yes]
        looking = looking[~yes & (at != last)]
        step *= _GROWTH
    some = np.flatnonzero(~np.isnan(far))
    leaders, others = leaders[some], others[some]
    if len(some):
        _, far[some] = bisect(
            lambda at: ~contest.leads(leaders, others, np.exp(at)), near[some], far[some],
            times=_SETTLED,
        )  # fmt: skip
    low, high = np.exp(far).reshape(2, -1)
    return replace(found, low=low, high=high)


def _rate_differences(
    contest: PairwiseComparison, pairs: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield i, j, tp_i - tp_j, fp_i - fp_j, as rates times all totals: whole numbers stay exact."""
    c = contest.counts
    cells = (part.tolist() for part in (c.positives, c.negatives, c.tp, c.fp))
    tables = list(zip(*cells, strict=True))
    for i, j in pairs:
        (p1, n1, tp1, fp1), (p2, n2, tp2, fp2) = tables[i], tables[j]
        yield i, j, (tp1 * p2 - tp2 * p1) * n1 * n2, (fp1 * n2 - fp2 * n1) * p1 * p2


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseComparison:
    """The measure of comparison of k models in each of s parts; level None: no intervals."""

    measure: Measure
    counts: ConfusionCounts
    rates: RateCovariance | None
    level: float | None
    parts: int = 1

    @property
    def models_per_part(self) -> int:
        """The number of models in a part."""
        return len(self.counts.models) // self.parts

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if self.measure.best == "min" else 1

    def function(self, models: Ints, ratios: Floats) -> Floats:
        """Return the measure of models at ratios, (m,) each."""
        found = self.measure.function(Cells.picked(self.counts, models, ratios).tuned)
        return np.asarray(found, np.float64)

    def simultaneous(self, comparisons: int, *, everywhere: bool = False) -> PairwiseComparison:
        """Return the comparison with simultaneous intervals, everywhere: at every class ratio.

        The direction turns by a quarter at most for measures increasing in both rates, with
        clusters of both classes by a half: see `simultaneous_level`.
        """
        if self.rates is None or self.level is None:
            return self
        most = pi if self.rates.crossed else pi / 2
        turn = 0.0 if self.measure.invariant or not everywhere else most
        level = simultaneous_level(self.level, comparisons=max(comparisons, 1), turn=turn)
        return replace(self, level=level)

    def signs(self, a: Floats, b: Floats) -> Floats:
        """Return 1 where the first value is better, -1 where the second is, 0: up to rounding."""
        with np.errstate(invalid="ignore"):
            gap = self.sign * (a - b)
            same = np.isfinite(gap) & (np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b)))
        return np.where(same | (a == b), 0.0, np.sign(gap))

    def leads(self, first: Ints, second: Ints, ratios: Floats) -> Bools:
        """Return whether `first` is significantly better than `second` at ratios, (m,) each."""
        places, models = np.arange(len(first)), np.concatenate([first, second])
        return self.significant(places, places + len(first), models, np.tile(ratios, 2))

    def significant(self, first: Ints, second: Ints, models: Ints, ratios: Floats) -> Bools:
        """Return whether intervals of differences exclude 0, (q,); models, ratios: (e,)."""
        if self.rates is None or self.level is None or not len(first):
            return np.zeros(len(first), bool)
        known = self.rates.measures_at_odds(self.measure, models, ratios)
        _, low, high = known.intervals(first, second, level=self.level)
        return np.asarray((low > 0) if self.sign > 0 else (high < 0))
