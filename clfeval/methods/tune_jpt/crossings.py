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
    whether it is defined, and not 0, at some point. turns: each change of sign.
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

    def add_pairs(
        self, pair_indices: Ints, first_models: Ints, second_models: Ints, signs: Floats
    ) -> None:
        """Enter the signs (m, g) of pairs (m,), by index, and their two models, (m,) each."""
        is_better = signs > 0
        is_worse = signs < 0
        self.balance[pair_indices] = np.count_nonzero(is_better, axis=1)
        self.balance[pair_indices] -= np.count_nonzero(is_worse, axis=1)
        self.defined[pair_indices] = ~np.isnan(signs).all(axis=1)
        ever_better = is_better.any(axis=1)
        ever_worse = is_worse.any(axis=1)
        self.differ[pair_indices] = ever_better | ever_worse
        for row_index in np.flatnonzero(ever_better & ever_worse).tolist():
            nonzero_points = np.flatnonzero(signs[row_index])
            nonzero_signs = signs[row_index, nonzero_points]
            is_turn = nonzero_signs[:-1] * nonzero_signs[1:] < 0  # never next to a NaN
            turn_indices = np.flatnonzero(is_turn)
            pair_and_models = (
                int(pair_indices[row_index]),
                int(first_models[row_index]),
                int(second_models[row_index]),
            )
            self.turns.extend(
                (
                    *pair_and_models,
                    nonzero_signs[turn_index],
                    nonzero_points[turn_index],
                    nonzero_points[turn_index + 1],
                )
                for turn_index in turn_indices
            )


def follow_difference_signs(
    contest: PairwiseComparison, ratios: Floats, first_models: Ints, second_models: Ints
) -> DifferenceSigns:
    """Return the signs of differences of pairs (q,), on a fine grid of `ratios` (g,).

    first_models, second_models (q,): the models of each pair, among those of all parts, in order.
    """
    k = contest.models_per_part
    ratio_count = len(ratios)
    signs_by_pair = DifferenceSigns.unmeasured(len(first_models))
    parts_at_once = max(1, _CELLS // (k * ratio_count))
    pairs_at_once = max(1, _BLOCK // ratio_count)
    for first_part in range(0, contest.parts, parts_at_once):
        models = np.arange(first_part * k, min(first_part + parts_at_once, contest.parts) * k)
        pairs_start, pairs_end = np.searchsorted(first_models, [models[0], models[-1] + 1]).tolist()
        if pairs_start == pairs_end:
            continue  # no pair of these parts is followed
        # (models, ratios)
        values = contest.function(np.repeat(models, ratio_count), np.tile(ratios, len(models)))
        values = values.reshape(len(models), ratio_count)
        for block_start in range(pairs_start, pairs_end, pairs_at_once):
            pair_indices = np.arange(block_start, min(block_start + pairs_at_once, pairs_end))
            block_first, block_second = first_models[pair_indices], second_models[pair_indices]
            signs = contest.signs(values[block_first - models[0]], values[block_second - models[0]])
            signs_by_pair.add_pairs(pair_indices, block_first, block_second, signs)
    return signs_by_pair


def find_crossings(
    contest: PairwiseComparison, ratios: Floats, first_models: Ints, second_models: Ints
) -> tuple[Crossings, Ints, DifferenceSigns]:
    """Return crossings of pairs of models (q,), the pairs without any, and the signs of those.

    What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for
    TAR: the prevalence dtnr / (dtnr - dtpr). Other measures are compared at a fine grid of `ratios`
    (g,), and each change of sign is halved down.
    """
    crossings: list[Crossing] = []
    weight = _false_positive_weight(contest.measure)
    if weight is not None:
        model_pairs = zip(first_models.tolist(), second_models.tolist(), strict=True)
        crossings = _linear_crossings(contest, ratios, model_pairs, weight)
    uncrossed = np.setdiff1d(np.arange(len(first_models)), [crossing[0] for crossing in crossings])
    signs = follow_difference_signs(
        contest, ratios, first_models[uncrossed], second_models[uncrossed]
    )
    if weight is None and not contest.measure.invariant and signs.turns:
        differences = _rate_differences(contest, [turn[1:3] for turn in signs.turns])
        turns_of_unequal_pairs = [
            turn
            for turn, (*_, d_tp, d_fp) in zip(signs.turns, differences, strict=True)
            if d_tp or d_fp
        ]
        crossings = _bisect_turns(contest, ratios, turns_of_unequal_pairs)
        uncrossed = np.setdiff1d(uncrossed, [crossing[0] for crossing in crossings])
        signs = signs.without_turns(uncrossed)
    crossing_columns = list(zip(*crossings, strict=True)) or [()] * 4
    pair_indices, below_models, above_models = (
        np.array(column, np.int64) for column in crossing_columns[:3]
    )
    undefined_limits = np.full((2, len(crossings)), np.nan)
    odds = np.array(crossing_columns[3], float)
    return (
        Crossings(pair_indices, below_models, above_models, odds, *undefined_limits),
        uncrossed,
        signs,
    )


def _false_positive_weight(measure: Measure) -> float | None:
    """Return the cost of a false positive in true positives; None unless linear in the rates.

    Also of functions of linear measures.
    """
    linear_measure = measure
    if measure.interval == "derived" and measure.base is not None:
        linear_measure = CATALOG[measure.base]
    if linear_measure.interval != "linear" or measure.invariant:
        return None
    tpr_weight, fpr_weight, _ = linear_measure.terms(0.5, 0.5)
    return float(-fpr_weight / tpr_weight)


def _linear_crossings(
    contest: PairwiseComparison,
    ratios: Floats,
    model_pairs: Iterable[tuple[int, int]],
    weight: float,
) -> list[Crossing]:
    """Return the crossings within the ratios of a measure with a cost of false positives."""
    crossings: list[Crossing] = []
    for pair_index, (i, j, d_tp, d_fp) in enumerate(_rate_differences(contest, model_pairs)):
        # odds r at which weight d_fp = r d_tp
        if d_tp and ratios[0] < weight * d_fp / d_tp < ratios[-1]:
            # with more positives the model of higher sensitivity leads
            below_model, above_model = (j, i) if d_tp > 0 else (i, j)
            crossings.append((pair_index, below_model, above_model, weight * d_fp / d_tp))
    return crossings


def _bisect_turns(
    contest: PairwiseComparison, ratios: Floats, turns: Sequence[Turn]
) -> list[Crossing]:
    """Return the pair, its leaders below and above, and odds of each crossing, by bisection."""
    if not turns:
        return []
    turn_columns = zip(*turns, strict=True)
    pair_indices, first_models, second_models, left_sign, left_point, right_point = (
        np.array(column) for column in turn_columns
    )
    low_ratios = ratios[left_point]
    high_ratios = ratios[right_point]
    for _ in range(_HALVINGS):
        middle_ratios = np.sqrt(low_ratios * high_ratios)
        middle_sign = contest.signs(
            contest.function(first_models, middle_ratios),
            contest.function(second_models, middle_ratios),
        )
        low_ratios = np.where(
            (middle_sign == left_sign) | (middle_sign == 0), middle_ratios, low_ratios
        )
        high_ratios = np.where(middle_sign == left_sign, high_ratios, middle_ratios)
    below_models = np.where(left_sign > 0, first_models, second_models)
    above_models = np.where(left_sign > 0, second_models, first_models)
    crossing_columns = (pair_indices, below_models, above_models, np.sqrt(low_ratios * high_ratios))
    return list(zip(*(column.tolist() for column in crossing_columns), strict=True))


def add_crossing_limits(
    contest: PairwiseComparison, crossings: Crossings, limits: tuple[float, float]
) -> Crossings:
    """Return the crossings with the nearest odds, on either side, where a lead excludes 0."""
    if contest.level is None or not len(crossings.ratio):
        return crossings
    # on the left of each crossing, then on the right
    leaders = np.concatenate([crossings.below, crossings.above])
    rivals = np.concatenate([crossings.above, crossings.below])
    log_ratios = np.tile(np.log(crossings.ratio), 2)
    inner, outer = _bracket_limits(contest, leaders, rivals, log_ratios, limits)
    limited_indices = np.flatnonzero(~np.isnan(outer))
    leaders = leaders[limited_indices]
    rivals = rivals[limited_indices]
    if len(limited_indices):
        _, outer[limited_indices] = bisect(
            lambda log_odds: ~contest.leads(leaders, rivals, np.exp(log_odds)),
            inner[limited_indices],
            outer[limited_indices],
            times=_SETTLED,
        )
    low, high = np.exp(outer).reshape(2, -1)
    return replace(crossings, low=low, high=high)


def _bracket_limits(
    contest: PairwiseComparison,
    leaders: Ints,
    rivals: Ints,
    start: Floats,
    limits: tuple[float, float],
) -> tuple[Floats, Floats]:
    """Return log odds before and after a lead becomes significant, on both sides of crossings.

    start: log odds of the crossings, of all left sides, then of all right sides. The log odds after
    are NaN where the lead is not significant up to the limits.
    """
    side = np.repeat([-1.0, 1.0], len(start) // 2)
    end_log_odds = np.repeat(np.log(limits), len(start) // 2)
    before_log_odds = start.copy()
    after_log_odds = np.full(len(start), np.nan)
    step = _STEP
    remaining = np.arange(len(start))
    while len(remaining):
        end_values = end_log_odds[remaining]
        log_odds = start[remaining] + side[remaining] * step
        log_odds = np.where(
            side[remaining] < 0, np.maximum(log_odds, end_values), np.minimum(log_odds, end_values)
        )
        is_significant = contest.leads(leaders[remaining], rivals[remaining], np.exp(log_odds))
        after_log_odds[remaining[is_significant]] = log_odds[is_significant]
        before_log_odds[remaining[~is_significant]] = log_odds[~is_significant]
        remaining = remaining[~is_significant & (log_odds != end_values)]
        step *= _GROWTH
    return before_log_odds, after_log_odds


def _rate_differences(
    contest: PairwiseComparison, model_pairs: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield i, j, tp_i - tp_j, fp_i - fp_j, as rates times all totals: whole numbers stay exact."""
    counts = contest.counts
    count_columns = (
        column.tolist() for column in (counts.positives, counts.negatives, counts.tp, counts.fp)
    )
    count_tables = list(zip(*count_columns, strict=True))
    for i, j in model_pairs:
        p1, n1, tp1, fp1 = count_tables[i]
        p2, n2, tp2, fp2 = count_tables[j]
        yield i, j, (tp1 * p2 - tp2 * p1) * n1 * n2, (fp1 * n2 - fp2 * n1) * p1 * p2


def lead_tables(sample: Sample, options: TuneOptions) -> dict[str, Rows]:
    """Return the leading models over the swept odds, or else over the full range."""
    populations = (*(options.swept or sweep_populations(FULL_SWEEP, 2)), *options.populations)
    ratios = [population.ratio for population in populations]
    ratio_limits = (min(ratios), max(ratios))
    crossover_table = list[Row]()
    winner_table = list[Row]()
    for model_count, slice_names in _labels_by_size(sample).items():
        contest = compare_pairs(sample, slice_names, options)
        if options.measure or options.reference or model_count <= MOST_PAIRED:
            crossover_table += (
                row
                for row in crossover_rows(slice_names, contest, ratio_limits)
                if options.reference in (None, row["first"], row["second"])
            )
        places_by_part = [
            slice_populations(sample, slice_name, options) for slice_name in slice_names
        ]
        for kinds in (("sample", "target"), ("sweep",)):
            row_places = [
                (part, *place)
                for part, part_places in enumerate(places_by_part)
                for place in part_places
                if place[0] in kinds
            ]
            winner_table += winner_rows(slice_names, contest, row_places, options)
    slice_order: dict[Any, int] = {slice_name: i for i, slice_name in enumerate(sample.slices)}
    for rows in (crossover_table, winner_table):
        rows.sort(key=lambda row: slice_order[row["slice"]])
    tables: dict[str, Rows] = {"crossovers": crossover_table} if crossover_table else {}
    return tables | {"winners": winner_table}


def _labels_by_size(sample: Sample) -> dict[int, list[str | None]]:
    """Return the slices by their number of models: those with equally many share one level."""
    names_by_size: dict[int, list[str | None]] = {}
    for slice_name, counts in sample.slices.items():
        names_by_size.setdefault(len(counts.models), []).append(slice_name)
    return names_by_size


def crossover_rows(
    slice_names: Sequence[str | None],
    contest: PairwiseComparison,
    ratio_limits: tuple[float, float],
) -> Iterator[Row]:
    """Yield a row for every crossing of every pair of models, and one for a pair without any.

    The interval ends at the prevalences, on either side, beyond which the interval of the
    difference excludes 0, or None. `ratio_limits` are odds, the lower first. The value is a
    prevalence between them, or None and the reason: `none`, `identical`, `invariant` or
    `undefined`. Intervals of a part are simultaneous over every class ratio and pair.
    Source: Eiland and Liebrock 2013 for TAR; the interval inverts that of the difference.
    """
    k = contest.models_per_part
    models = contest.counts.models
    pairs = np.array([*combinations(range(k), 2)], np.int64).reshape(-1, 2)
    contest = contest.simultaneous(len(pairs), everywhere=True)
    pairs = (np.arange(contest.parts)[:, None, None] * k + pairs).reshape(-1, 2)  # of each part
    first_models = pairs[:, 0]
    second_models = pairs[:, 1]
    ratios = np.geomspace(*ratio_limits, _GRID)
    crossings, uncrossed, signs = find_crossings(contest, ratios, first_models, second_models)
    cells = [*_crossing_cells(contest, add_crossing_limits(contest, crossings, ratio_limits))]
    cells += _no_crossing_cells(
        contest, ratio_limits, first_models[uncrossed], second_models[uncrossed], signs
    )
    pair_of_cells = np.concatenate([crossings.pair, uncrossed])
    for cell_index in np.argsort(pair_of_cells, kind="stable").tolist():
        i, j = pairs[pair_of_cells[cell_index]].tolist()
        yield as_row(
            {
                "slice": slice_names[i // k],
                "measure": contest.measure.id,
                "first": models[i],
                "second": models[j],
                **cells[cell_index],
            }
        )


def _crossing_cells(contest: PairwiseComparison, crossings: Crossings) -> Iterator[dict[str, Any]]:
    """Yield the cells of each crossing."""
    models = contest.counts.models
    columns = (crossings.below, crossings.above, crossings.ratio, crossings.low, crossings.high)
    for below_index, above_index, ratio, *limits in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        low, high = (None if limit != limit else limit / (1 + limit) for limit in limits)
        below_model = models[below_index]
        above_model = models[above_index]
        population = Population.from_ratio(ratio)
        verdict = f"{below_model} leads below prevalence {population.prevalence:.3g} "
        verdict += f"({population.rough}), {above_model} above"
        if contest.level is not None and None in (low, high):
            lead_phrase = f"only the lead of {below_model if low is not None else above_model}"
            verdict += f"; {'neither lead' if low is high else lead_phrase} is significant"
        yield {
            "crossing": Estimate(population.prevalence, low, high),
            "odds": population.odds,
            "leads_below": below_model,
            "leads_above": above_model,
            "verdict": verdict,
        }


def _no_crossing_cells(
    contest: PairwiseComparison,
    ratio_limits: tuple[float, float],
    first_models: Ints,
    second_models: Ints,
    signs: DifferenceSigns,
) -> Iterator[dict[str, Any]]:
    """Yield the reason for no crossing, the leader, and whether its lead is significant."""
    low_phrase, high_phrase = (Population.from_ratio(ratio).rough for ratio in ratio_limits)
    leaders = np.where(signs.balance > 0, first_models, second_models)
    is_significant = _significant_leads(
        contest, leaders, first_models + second_models - leaders, ratio_limits
    )
    columns = (
        signs.defined,
        signs.differ,
        leaders,
        is_significant.all(axis=0),
        is_significant.any(axis=0),
    )
    for is_defined, is_different, leader_index, everywhere, somewhere in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        reason = "none"
        leader_name = None
        explanation = ""
        if not is_defined:
            reason = "undefined"
            explanation = "undefined for at least one model"
        elif not is_different:
            reason = "identical"
            explanation = "equal at every class ratio"
        else:
            leader_name = contest.counts.models[leader_index]
            if contest.measure.invariant:
                reason = "invariant"
                explanation = "does not depend on the class ratio; "
            explanation += f"{leader_name} leads from {low_phrase} to {high_phrase}"
            if contest.level is not None:
                extent_phrase = "at some ratios" if somewhere else "nowhere"
                extent_phrase = "everywhere" if everywhere else extent_phrase
                explanation += f"; its lead is significant {extent_phrase}"
        yield {
            "crossing": Estimate(None, reason=reason),
            "odds": None,
            "leads_below": leader_name,
            "leads_above": leader_name,
            "verdict": f"none: {explanation}",
        }


def _significant_leads(
    contest: PairwiseComparison, leaders: Ints, rivals: Ints, ratio_limits: tuple[float, float]
) -> Bools:
    """Return whether leads of pairs (q,) are significant at r odds between the limits, (r, q)."""
    models, positions = np.unique(np.concatenate([leaders, rivals]), return_inverse=True)
    first, second = positions.reshape(2, -1)
    return np.array(
        [
            contest.significant(first, second, models, np.full(len(models), ratio))
            for ratio in np.geomspace(*ratio_limits, _LOOKS)
        ]
    )
