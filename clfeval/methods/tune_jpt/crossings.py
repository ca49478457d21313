"""Class ratios at which two models are equal, with limits; tables of crossings and leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats, Ints
from clfeval.counts.sample import Sample
from clfeval.document.cells import Estimate, Row, Rows, as_row
from clfeval.inference.distributions import bisect
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure, Population
from clfeval.methods.tune_jpt.leading_models import (
    MOST_PAIRED,
    PairwiseComparison,
    compare_pairs,
    winner_rows,
)
from clfeval.methods.tune_jpt.options import FULL_SWEEP, TuneOptions, sweep_populations
from clfeval.methods.tune_jpt.tables import slice_populations
from clfeval.records import dataclass, replace

_HALVINGS = 60
_SETTLED = 30  # halvings of a limit
_CELLS, _BLOCK = 2**20, 2**18  # values, and signs, held at a time
_STEP, _GROWTH = 0.01, 1.3  # first step outwards from a crossing, in log odds
_LOOKS = 13  # odds at which a lead without crossing is tested
_GRID = 2001  # odds at which signs are compared, evenly in the logarithm

# a pair and its two models, the sign before, and grid points around a change of sign
Turn = tuple[int, int, int, float, int, int]
# a pair, its leaders below and above, and the odds of the crossing
Crossing = tuple[int, int, int, float]


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

    balance: grid points where the first is better less those where the second is. defined, differ:
    at some point. turns: each change of sign.
    """

    balance: Ints
    defined: Bools
    differ: Bools
    turns: list[Turn]

    @classmethod
    def unmeasured(cls, size: int) -> DifferenceSigns:
        """Return the signs of q pairs before any is entered."""
        defined, differ = np.zeros((2, size), bool)
        return cls(np.zeros(size, np.int64), defined, differ, [])

    def without_turns(self, pairs: Ints) -> DifferenceSigns:
        """Return the signs of some pairs, given by index."""
        return DifferenceSigns(self.balance[pairs], self.defined[pairs], self.differ[pairs], [])

    def add_pairs(self, pairs: Ints, first: Ints, second: Ints, signs: Floats) -> None:
        """Enter the signs (m, g) of pairs (m,), by index, of the models first and second (m,)."""
        is_better = signs > 0
        is_worse = signs < 0
        self.balance[pairs] = np.count_nonzero(is_better, axis=1)
        self.balance[pairs] -= np.count_nonzero(is_worse, axis=1)
        self.defined[pairs] = ~np.isnan(signs).all(axis=1)
        leads = is_better.any(axis=1)
        trails = is_worse.any(axis=1)
        self.differ[pairs] = leads | trails
        for i in np.flatnonzero(leads & trails).tolist():
            points = np.flatnonzero(signs[i])
            nonzero = signs[i, points]
            turns = np.flatnonzero(nonzero[:-1] * nonzero[1:] < 0)  # never next to a NaN
            models = (int(pairs[i]), int(first[i]), int(second[i]))
            self.turns.extend(
                (*models, nonzero[turn], points[turn], points[turn + 1]) for turn in turns
            )


def follow_difference_signs(
    contest: PairwiseComparison, ratios: Floats, first: Ints, second: Ints
) -> DifferenceSigns:
    """Return the signs of differences of pairs (q,), by part, on a fine grid of `ratios` (g,)."""
    k = contest.models_per_part
    size = len(ratios)
    signs_by_pair = DifferenceSigns.unmeasured(len(first))
    parts_at_once = max(1, _CELLS // (k * size))
    pairs_at_once = max(1, _BLOCK // size)
    for part in range(0, contest.parts, parts_at_once):
        models = np.arange(part * k, min(part + parts_at_once, contest.parts) * k)
        start, end = np.searchsorted(first, [models[0], models[-1] + 1]).tolist()
        if start == end:
            continue
        # (models, ratios)
        values = contest.function(np.repeat(models, size), np.tile(ratios, len(models)))
        values = values.reshape(len(models), size)
        for low in range(start, end, pairs_at_once):
            pairs = np.arange(low, min(low + pairs_at_once, end))
            i, j = first[pairs], second[pairs]
            signs = contest.signs(values[i - models[0]], values[j - models[0]])
            signs_by_pair.add_pairs(pairs, i, j, signs)
    return signs_by_pair


def find_crossings(
    contest: PairwiseComparison, ratios: Floats, first: Ints, second: Ints
) -> tuple[Crossings, Ints, DifferenceSigns]:
    """Return crossings of pairs of models (q,), the pairs without any, and the signs of those.

    What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for
    TAR: the prevalence dtnr / (dtnr - dtpr). Other measures are compared at a fine grid of `ratios`
    (g,), and each change of sign is halved down.
    """
    crossings: list[Crossing] = []
    weight = _false_positive_weight(contest.measure)
    if weight is not None:
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        crossings = _linear_crossings(contest, ratios, pairs, weight)
    uncrossed = np.setdiff1d(np.arange(len(first)), [crossing[0] for crossing in crossings])
    signs = follow_difference_signs(contest, ratios, first[uncrossed], second[uncrossed])
    if weight is None and not contest.measure.invariant and signs.turns:
        differences = _rate_differences(contest, [turn[1:3] for turn in signs.turns])
        turns = [
            turn
            for turn, (*_, d_tp, d_fp) in zip(signs.turns, differences, strict=True)
            if d_tp or d_fp
        ]
        crossings = _bisect_turns(contest, ratios, turns)
        uncrossed = np.setdiff1d(uncrossed, [crossing[0] for crossing in crossings])
        signs = signs.without_turns(uncrossed)
    columns = list(zip(*crossings, strict=True)) or [()] * 4
    pair, below, above = (np.array(column, np.int64) for column in columns[:3])
    unlimited = np.full((2, len(crossings)), np.nan)
    odds = np.array(columns[3], float)
    return Crossings(pair, below, above, odds, *unlimited), uncrossed, signs


def _false_positive_weight(measure: Measure) -> float | None:
    """Return the cost of a false positive in true positives; None unless linear in the rates.

    Also of functions of linear measures.
    """
    linear = measure
    if measure.interval == "derived" and measure.base is not None:
        linear = CATALOG[measure.base]
    if linear.interval != "linear" or measure.invariant:
        return None
    a, b, _ = linear.terms(0.5, 0.5)
    return float(-b / a)


def _linear_crossings(
    contest: PairwiseComparison, ratios: Floats, pairs: Iterable[tuple[int, int]], weight: float
) -> list[Crossing]:
    """Return the crossings within the ratios of a measure with a cost of false positives."""
    crossings: list[Crossing] = []
    for pair, (i, j, d_tp, d_fp) in enumerate(_rate_differences(contest, pairs)):
        if d_tp and ratios[0] < weight * d_fp / d_tp < ratios[-1]:
            # with more positives the model of higher sensitivity leads
            below, above = (j, i) if d_tp > 0 else (i, j)
            crossings.append((pair, below, above, weight * d_fp / d_tp))
    return crossings


def _bisect_turns(
    contest: PairwiseComparison, ratios: Floats, turns: Sequence[Turn]
) -> list[Crossing]:
    """Return the pair, its leaders below and above, and odds of each crossing, by bisection."""
    if not turns:
        return []
    columns = zip(*turns, strict=True)
    pair, i, j, sign, left, right = (np.array(column) for column in columns)
    low = ratios[left]
    high = ratios[right]
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        middle_sign = contest.signs(contest.function(i, middle), contest.function(j, middle))
        low = np.where((middle_sign == sign) | (middle_sign == 0), middle, low)
        high = np.where(middle_sign == sign, high, middle)
    below = np.where(sign > 0, i, j)
    above = np.where(sign > 0, j, i)
    crossings = (pair, below, above, np.sqrt(low * high))
    return list(zip(*(column.tolist() for column in crossings), strict=True))


def add_crossing_limits(
    contest: PairwiseComparison, crossings: Crossings, limits: tuple[float, float]
) -> Crossings:
    """Return the crossings with the nearest odds, on either side, where a lead excludes 0."""
    if contest.level is None or not len(crossings.ratio):
        return crossings
    # on the left of each crossing, then on the right
    leaders = np.concatenate([crossings.below, crossings.above])
    others = np.concatenate([crossings.above, crossings.below])
    start = np.tile(np.log(crossings.ratio), 2)
    inner, outer = _bracket_limits(contest, leaders, others, start, limits)
    limited = np.flatnonzero(~np.isnan(outer))
    leaders = leaders[limited]
    others = others[limited]
    if len(limited):
        _, outer[limited] = bisect(
            lambda log_odds: ~contest.leads(leaders, others, np.exp(log_odds)),
            inner[limited],
            outer[limited],
            times=_SETTLED,
        )
    low, high = np.exp(outer).reshape(2, -1)
    return replace(crossings, low=low, high=high)


def _bracket_limits(
    contest: PairwiseComparison,
    leaders: Ints,
    others: Ints,
    start: Floats,
    limits: tuple[float, float],
) -> tuple[Floats, Floats]:
    """Return log odds before and after a lead becomes significant, on both sides of crossings.

    start: log odds of the crossings, of all left sides, then of all right sides. The second is NaN
    where the lead is not significant up to the limits.
    """
    side = np.repeat([-1.0, 1.0], len(start) // 2)
    end = np.repeat(np.log(limits), len(start) // 2)
    inner = start.copy()
    outer = np.full(len(start), np.nan)
    step = _STEP
    remaining = np.arange(len(start))
    while len(remaining):
        last = end[remaining]
        log_odds = start[remaining] + side[remaining] * step
        log_odds = np.where(
            side[remaining] < 0, np.maximum(log_odds, last), np.minimum(log_odds, last)
        )
        is_led = contest.leads(leaders[remaining], others[remaining], np.exp(log_odds))
        outer[remaining[is_led]] = log_odds[is_led]
        inner[remaining[~is_led]] = log_odds[~is_led]
        remaining = remaining[~is_led & (log_odds != last)]
        step *= _GROWTH
    return inner, outer


def _rate_differences(
    contest: PairwiseComparison, pairs: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield i, j, tp_i - tp_j, fp_i - fp_j, as rates times all totals: whole numbers stay exact."""
    c = contest.counts
    columns = (column.tolist() for column in (c.positives, c.negatives, c.tp, c.fp))
    tables = list(zip(*columns, strict=True))
    for i, j in pairs:
        p1, n1, tp1, fp1 = tables[i]
        p2, n2, tp2, fp2 = tables[j]
        yield i, j, (tp1 * p2 - tp2 * p1) * n1 * n2, (fp1 * n2 - fp2 * n1) * p1 * p2


def lead_tables(sample: Sample, options: TuneOptions) -> dict[str, Rows]:
    """Return the leading models over the swept odds, or else over the full range."""
    populations = (*(options.swept or sweep_populations(FULL_SWEEP, 2)), *options.populations)
    ratios = [population.ratio for population in populations]
    limits = (min(ratios), max(ratios))
    crossovers = list[Row]()
    winners = list[Row]()
    for n_models, labels in _labels_by_size(sample).items():
        contest = compare_pairs(sample, labels, options)
        if options.measure or options.reference or n_models <= MOST_PAIRED:
            crossovers += (
                row
                for row in crossover_rows(labels, contest, limits)
                if options.reference in (None, row["first"], row["second"])
            )
        places = [slice_populations(sample, label, options) for label in labels]
        for kinds in (("sample", "target"), ("sweep",)):
            places_of_kinds = [
                (part, *place)
                for part, part_places in enumerate(places)
                for place in part_places
                if place[0] in kinds
            ]
            winners += winner_rows(labels, contest, places_of_kinds, options)
    position: dict[Any, int] = {label: i for i, label in enumerate(sample.slices)}
    for rows in (crossovers, winners):
        rows.sort(key=lambda row: position[row["slice"]])
    tables: dict[str, Rows] = {"crossovers": crossovers} if crossovers else {}
    return tables | {"winners": winners}


def _labels_by_size(sample: Sample) -> dict[int, list[str | None]]:
    """Return the slices by their number of models: those with equally many share one level."""
    labels: dict[int, list[str | None]] = {}
    for label, counts in sample.slices.items():
        labels.setdefault(len(counts.models), []).append(label)
    return labels


def crossover_rows(
    labels: Sequence[str | None], contest: PairwiseComparison, limits: tuple[float, float]
) -> Iterator[Row]:
    """Yield a row for every crossing of every pair of models, and one for a pair without any.

    The limits are the prevalences, on either side, beyond which the interval of the difference
    excludes 0, or None. `limits` are odds, the lower first. The value is a prevalence between them,
    or None and the reason: `none`, `identical`, `invariant` or `undefined`. Intervals of a part are
    simultaneous over every class ratio and pair.
    Source: Eiland and Liebrock 2013 for TAR; the limits invert the interval of the difference.
    """
    k = contest.models_per_part
    names = contest.counts.models
    pairs = np.array([*combinations(range(k), 2)], np.int64).reshape(-1, 2)
    contest = contest.simultaneous(len(pairs), everywhere=True)
    pairs = (np.arange(contest.parts)[:, None, None] * k + pairs).reshape(-1, 2)  # of each part
    first = pairs[:, 0]
    second = pairs[:, 1]
    ratios = np.geomspace(*limits, _GRID)
    crossings, uncrossed, signs = find_crossings(contest, ratios, first, second)
    cells = [*_crossing_cells(contest, add_crossing_limits(contest, crossings, limits))]
    cells += _no_crossing_cells(contest, limits, first[uncrossed], second[uncrossed], signs)
    pair_of_cells = np.concatenate([crossings.pair, uncrossed])
    for place in np.argsort(pair_of_cells, kind="stable").tolist():
        i, j = pairs[pair_of_cells[place]].tolist()
        yield as_row(
            {
                "slice": labels[i // k],
                "measure": contest.measure.id,
                "first": names[i],
                "second": names[j],
                **cells[place],
            }
        )


def _crossing_cells(contest: PairwiseComparison, crossings: Crossings) -> Iterator[dict[str, Any]]:
    """Yield the cells of each crossing."""
    names = contest.counts.models
    columns = (crossings.below, crossings.above, crossings.ratio, crossings.low, crossings.high)
    for i, j, ratio, *limits in zip(*(column.tolist() for column in columns), strict=True):
        low, high = (None if r != r else r / (1 + r) for r in limits)
        below = names[i]
        above = names[j]
        population = Population.from_ratio(ratio)
        verdict = f"{below} leads below prevalence {population.prevalence:.3g} "
        verdict += f"({population.rough}), {above} above"
        if contest.level is not None and None in (low, high):
            lead = f"only the lead of {below if low is not None else above}"
            verdict += f"; {'neither lead' if low is high else lead} is significant"
        yield {
            "crossing": Estimate(population.prevalence, low, high),
            "odds": population.odds,
            "leads_below": below,
            "leads_above": above,
            "verdict": verdict,
        }


def _no_crossing_cells(
    contest: PairwiseComparison,
    limits: tuple[float, float],
    first: Ints,
    second: Ints,
    signs: DifferenceSigns,
) -> Iterator[dict[str, Any]]:
    """Yield the reason for no crossing, the leader, and whether its lead is significant."""
    low, high = (Population.from_ratio(ratio).rough for ratio in limits)
    leaders = np.where(signs.balance > 0, first, second)
    leads = _significant_leads(contest, leaders, first + second - leaders, limits)
    columns = (signs.defined, signs.differ, leaders, leads.all(axis=0), leads.any(axis=0))
    for defined, differ, leader, everywhere, somewhere in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        reason = "none"
        name = None
        words = ""
        if not defined:
            reason = "undefined"
            words = "undefined for at least one model"
        elif not differ:
            reason = "identical"
            words = "equal at every class ratio"
        else:
            name = contest.counts.models[leader]
            if contest.measure.invariant:
                reason = "invariant"
                words = "does not depend on the class ratio; "
            words += f"{name} leads from {low} to {high}"
            if contest.level is not None:
                extent = "at some ratios" if somewhere else "nowhere"
                extent = "everywhere" if everywhere else extent
                words += f"; its lead is significant {extent}"
        yield {
            "crossing": Estimate(None, reason=reason),
            "odds": None,
            "leads_below": name,
            "leads_above": name,
            "verdict": f"none: {words}",
        }


def _significant_leads(
    contest: PairwiseComparison, leaders: Ints, others: Ints, limits: tuple[float, float]
) -> Bools:
    """Return whether leads of pairs (q,) are significant at a few odds between limits, (r, q)."""
    models, positions = np.unique(np.concatenate([leaders, others]), return_inverse=True)
    first, second = positions.reshape(2, -1)
    return np.array(
        [
            contest.significant(first, second, models, np.full(len(models), ratio))
            for ratio in np.geomspace(*limits, _LOOKS)
        ]
    )
