"""The best subsets of models by detections, exactly or greedily."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Counts, Ints
from clfeval.counts.patterns import TargetCounts, limit_in_units
from clfeval.errors import UsageError
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

_MAX_SET_CELLS = 1 << 22  # sets of models x patterns per block
_LIMB = 30  # bits of a count per part that floats add exactly

Sets = NDArray[np.int16]  # (s, size): models of each set, in the order they are tried in


def best_covering_subsets(counts: TargetCounts, size: int, attained: int) -> Bools:
    """Return the subsets of `size` models that cover most target rows, (s, k), with all ties.

    Branch and bound: gains are submodular, so a set whose coverage and largest remaining gains sum
    to less than `attained`, a coverage that some set has, is pruned.
    """
    model_order = np.argsort(-(counts.hit_n @ counts.hits), kind="stable")
    detections = _Detections.from_counts(counts, model_order)
    sets: Sets = np.empty((1, 0), np.int16)
    block_size = max(1, _MAX_SET_CELLS // max(1, len(counts.hit_n)))
    for more_count in range(size - 1, -1, -1):  # models to add after the next one
        extended_sets: list[Sets] = []
        for start in range(0, len(sets), block_size):
            block = sets[start : start + block_size]
            bounds = detections.coverage_bounds(block, more_count)
            if more_count == 0 and bounds.max() > attained:
                attained = int(bounds.max())
                extended_sets = []
            set_indices, added_models = np.nonzero(bounds >= attained)
            extended_sets.append(
                np.column_stack([block[set_indices], added_models.astype(np.int16)])
            )
        sets = np.concatenate(extended_sets)
    members = np.zeros((len(sets), len(counts.models)), bool)
    np.put_along_axis(members, model_order[sets], values=True, axis=1)
    return members


@dataclass(frozen=True, slots=True, eq=False)
class _Detections:
    """The p patterns of target rows that k models detect, with the rows of each.

    hits (k, p), float_hits (p, k) the same as floats; limbs: rows of the patterns in parts that
    floats add exactly, the highest first, (p,) each.
    """

    hits: Bools
    float_hits: NDArray[np.floating]
    limbs: Sequence[NDArray[np.floating]]

    @classmethod
    def from_counts(cls, counts: TargetCounts, model_order: Ints) -> _Detections:
        """Return the detections of target rows, with the models in this order."""
        hits = np.ascontiguousarray(counts.hits[:, model_order].T)
        row_counts = counts.hit_n
        row_total = int(row_counts.sum())
        dtype: type[np.floating] = np.float32 if row_total < 2**24 else np.float64
        limbs = (
            [row_counts]
            if row_total < 2**53
            else [row_counts >> _LIMB, row_counts & (2**_LIMB - 1)]
        )
        return cls(hits, hits.T.astype(dtype), [limb.astype(dtype) for limb in limbs])

    def coverage_bounds(self, sets: Sets, more_count: int) -> Ints:
        """Return the most rows that a set may cover with one model and `more_count` more, (s, k).

        The models added come after those of the set; -1 for others.
        """
        covered, gains = self._coverage(sets)
        last_models = sets[:, -1:] if sets.shape[1] else np.full((1, 1), -1, np.int16)
        gains[np.arange(len(self.hits)) <= last_models] = -1
        bounds = covered[:, None] + gains
        if more_count:
            bounds += _largest_beyond(gains, more_count)
        bounds[gains < 0] = -1
        return bounds

    def _coverage(self, sets: Sets) -> tuple[Ints, Ints]:
        """Return the rows that the sets cover, (s,), and that each model adds to them, (s, k)."""
        k, p = self.hits.shape
        detected = np.logical_or.reduce(
            [self.hits[models] for models in sets.T], axis=0, initial=False
        )
        undetected = np.broadcast_to(~detected, (len(sets), p))
        covered = np.zeros(len(sets), np.int64)
        gains = np.zeros((len(sets), k), np.int64)
        for limb in self.limbs:
            covered = (covered << _LIMB) + (~undetected @ limb).astype(np.int64)
            gains = (gains << _LIMB) + ((undetected * limb) @ self.float_hits).astype(np.int64)
        return covered, gains


def _largest_beyond(gains: Ints, size: int) -> Ints:
    """Return for each model the sum of the `size` largest gains of those after it, (s, k)."""
    later_gains = np.zeros_like(gains)
    largest = np.zeros((len(gains), size), np.int64)
    for model in range(gains.shape[1] - 1, -1, -1):
        later_gains[:, model] = largest.sum(axis=1)
        largest[:, 0] = np.maximum(largest[:, 0], gains[:, model])
        largest.sort(axis=1)
    return later_gains


EXACT_MODELS = 20  # all 2**20 subsets fit in memory and take about a second
MOST_SUBSETS = 2_000_000  # subsets listed at most
MOST_COUNTED = 10_000_000  # subsets of which the best is searched exactly
ENUMERATED, GREEDY = "exact: all subsets", "greedy"
_CELLS = 1 << 24  # subsets x patterns handled at once


@dataclass(frozen=True, slots=True)
class SubsetScores:
    """Counts for s subsets; a subset detects the rows that any member detects.

    members (s, k); covered (s,): target rows detected; effort (s,): rows flagged; exclusive_found
    (s,): detected by no model outside (ETP); missed_all (s,): missed, detected by every model
    outside (EFN, rule `all`); missed_any (s,): by some model outside (rule `any`). Of the set of
    all models both are 0.
    """

    members: Bools
    covered: Counts
    effort: Counts
    exclusive_found: Counts
    missed_all: Counts
    missed_any: Counts

    def __len__(self) -> int:
        """Return the number of subsets."""
        return len(self.covered)

    @property
    def sizes(self) -> Ints:
        """The number of models in each subset."""
        return np.asarray(self.members.sum(axis=1))

    @classmethod
    def joined(cls, parts: Sequence[SubsetScores]) -> SubsetScores:
        """Concatenate the scores of several sets of subsets."""
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__)
        )

    def take(self, index: NDArray[np.intp] | Bools) -> SubsetScores:
        """Return the scores of some of the subsets, in the order given."""
        return SubsetScores(*(getattr(self, name)[index] for name in SubsetScores.__slots__))

    def order(self, *keys: Counts) -> NDArray[np.intp]:
        """Return the order by keys, the most important first; ties by the order of models."""
        return np.lexsort((*~self.members.T[::-1], *reversed(keys)))


def total_detected(counts: TargetCounts) -> int | float:
    """Return TTP: target rows that at least one model detects, in units."""
    return counts.hit_n[counts.hits.any(axis=1)].sum().item()  # type: ignore[no-any-return]


def overlap_counts(patterns: Bools, members: Bools) -> NDArray[np.float32]:
    """Return how many members of each subset (s, k) flag the patterns (p, k): (s, p)."""
    # matrix products of small whole numbers, exact in float32 and much faster than integers
    return members.astype(np.float32) @ patterns.T.astype(np.float32)


def detection_masks(patterns: Bools, members: Bools) -> tuple[Bools, Bools, Bools, Bools]:
    """Return which patterns (p, k) subsets (s, k) detect, and which they detect alone, (s, p) each.

    Also returns which they miss that all models outside detect, and which that some detect.
    """
    detecting_members = overlap_counts(patterns, members)
    detecting_others = patterns.sum(axis=1) - detecting_members
    outside_count = patterns.shape[1] - members.sum(axis=1, keepdims=True)
    detects = detecting_members > 0
    misses = detecting_members == 0
    all_others_detect = (detecting_others == outside_count) & (outside_count > 0)
    return (
        detects,
        detects & (detecting_others == 0),
        misses & all_others_detect,
        misses & (detecting_others > 0),
    )


def score_subsets(counts: TargetCounts, members: Bools) -> SubsetScores:
    """Score the given subsets, (s, k) booleans, by comparing each with every pattern."""
    block_size = max(1, _CELLS // max(1, len(counts.hit_n) + len(counts.alarm_n)))
    if len(members) > block_size:
        starts = range(0, len(members), block_size)
        return SubsetScores.joined(
            [score_subsets(counts, members[start : start + block_size]) for start in starts]
        )

    def sum_rows(patterns: Bools, row_counts: Counts) -> Counts:
        return np.asarray(np.where(patterns, row_counts, row_counts.dtype.type(0)).sum(axis=1))

    covered, *exclusive_and_missed = (
        sum_rows(patterns, counts.hit_n) for patterns in detection_masks(counts.hits, members)
    )
    effort = covered + sum_rows(overlap_counts(counts.alarms, members) > 0, counts.alarm_n)
    return SubsetScores(members, covered, effort, *exclusive_and_missed)


def score_all_subsets(counts: TargetCounts) -> SubsetScores:
    """Score all 2**k subsets, row i holding the models whose bits are set in i (k up to 20).

    With f(m) the rows found by exactly the models m and F(S) = sum of f over subsets of S (one
    zeta transform, k 2**k additions): ETP(S) = F(S) - f(0), covered(S) = P - F(J - S),
    EFN_all(S) = f(J - S), EFN_any(S) = F(J - S) - f(0).
    """
    k = len(counts.models)
    if k > EXACT_MODELS:
        raise ValueError(f"{k} models have too many subsets; the limit is {EXACT_MODELS}")
    exact_counts = _pattern_histogram(counts.hits, counts.hit_n)
    undetected_outside = _zeta_transform(exact_counts)  # rows no model outside the subset detects
    alarms_within = _zeta_transform(_pattern_histogram(counts.alarms, counts.alarm_n))
    undetected_count = exact_counts[0]
    # the complement of subset i is 2**k - 1 - i
    covered = undetected_outside[-1] - undetected_outside[::-1]
    missed_all = exact_counts[::-1].copy()
    missed_all[-1] = 0  # no model is outside the set of all
    subset_numbers = np.arange(2**k, dtype=np.uint32)
    members = (subset_numbers[:, None] >> np.arange(k, dtype=np.uint32) & 1).astype(bool)
    effort = covered + alarms_within[-1] - alarms_within[::-1]
    exclusive_found = undetected_outside - undetected_count
    missed_any = undetected_outside[::-1] - undetected_count
    return SubsetScores(members, covered, effort, exclusive_found, missed_all, missed_any)


def _pattern_histogram(patterns: Bools, row_counts: Counts) -> Counts:
    """Return the rows flagged by exactly the models of each set, (2**k,); patterns (p, k)."""
    k = patterns.shape[1]
    exact_counts = np.zeros(2**k, row_counts.dtype)
    np.add.at(exact_counts, patterns @ (1 << np.arange(k, dtype=np.int64)), row_counts)
    return exact_counts


def _zeta_transform(values: Counts) -> Counts:
    """Return, for every set, the sum of the values of its subsets."""
    sums = values.copy()
    for bit in range(len(values).bit_length() - 1):
        halves = sums.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    return sums


def model_combinations(k: int, size: int) -> Bools:
    """Return all subsets of one size, (s, k) booleans in lexicographic order."""
    subset_count = comb(k, size)
    models = chain.from_iterable(combinations(range(k), size))
    model_indices = np.fromiter(models, np.int32, subset_count * size).reshape(subset_count, size)
    members = np.zeros((subset_count, k), bool)
    for member_indices in model_indices.T:
        members[np.arange(subset_count), member_indices] = True
    return members


def score_subsets_up_to(counts: TargetCounts, size_limit: int | Literal["all"]) -> SubsetScores:
    """Score all subsets up to a size, by size, most covered, least effort, table order."""
    k = len(counts.models)
    largest_size = k if size_limit == "all" else min(size_limit, k)
    if k <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        size = scores.sizes
        scores = scores.take((size > 0) & (size <= largest_size))
    else:
        subset_count = sum(comb(k, size) for size in range(1, largest_size + 1))
        if subset_count > MOST_SUBSETS:
            message = (
                f"{k} models have {subset_count:,} subsets of up to {largest_size}; the limit is"
            )
            message += f" {MOST_SUBSETS:,}"
            hint = (
                f"use a smaller {OPTION}--subsets{END}, or {OPTION}--best K{END}, which does not "
                "list them all"
            )
            raise UsageError.new(message, "too-many-subsets", hint=hint)
        members = np.vstack([model_combinations(k, size) for size in range(1, largest_size + 1)])
        scores = score_subsets(counts, members)
    return scores.take(scores.order(scores.sizes, -scores.covered, scores.effort))


@dataclass(frozen=True, slots=True)
class ChosenSubset:
    """A chosen subset with its scores (one row) and the method of the search."""

    scores: SubsetScores
    method: str


def best_subsets(counts: TargetCounts, largest_size: int) -> list[ChosenSubset]:
    """Return, for each size 1..largest_size, the subset that covers most target rows.

    Ties go to less effort, then to the order of models. Exact for up to 20 models, and for more
    with at most 10 million subsets; else greedy. Of more than 20 models both where they differ.
    """
    largest_size = min(largest_size, len(counts.models))
    if len(counts.models) <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        return [_best_subset(scores, scores.sizes == size) for size in range(1, largest_size + 1)]
    greedy_by_size = score_subsets(counts, _greedy_subsets(counts, largest_size))
    choices: list[ChosenSubset] = []
    subset_count = 0
    for size in range(1, largest_size + 1):
        greedy_scores = greedy_by_size.take(np.array([size - 1]))
        subset_count += comb(len(counts.models), size)
        if subset_count <= MOST_COUNTED:
            tied_members = best_covering_subsets(counts, size, int(greedy_scores.covered[0]))
            choices.append(
                _best_subset(score_subsets(counts, tied_members), np.ones(len(tied_members), bool))
            )
        if subset_count > MOST_COUNTED or choices[-1].scores.covered[0] != greedy_scores.covered[0]:
            choices.append(ChosenSubset(greedy_scores, GREEDY))
    return choices


def best_within_effort(counts: TargetCounts, effort: float) -> ChosenSubset | None:
    """Return the subset that covers most with at most `effort` rows flagged; None if none fits.

    Of more than 20 models the greedy choice.
    """
    effort_limit = limit_in_units(effort, counts.unit)
    if len(counts.models) <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        is_affordable = (scores.effort <= effort_limit) & scores.members.any(axis=1)
        return _best_subset(scores, is_affordable) if is_affordable.any() else None
    members = np.zeros(len(counts.models), bool)
    while not members.all():
        candidate_sets = members | np.eye(len(members), dtype=bool)[~members]
        scores = score_subsets(counts, candidate_sets)
        current_covered = score_subsets(counts, members[None, :]).covered[0]
        is_affordable = (scores.effort <= effort_limit) & (scores.covered > current_covered)
        if not is_affordable.any():
            break
        members = _best_subset(scores, is_affordable).scores.members[0]
    return ChosenSubset(score_subsets(counts, members[None, :]), GREEDY) if members.any() else None


def _best_subset(scores: SubsetScores, is_candidate: Bools) -> ChosenSubset:
    """Return the subset covering most; ties: least effort, fewest models, order of models."""
    candidates = scores.take(np.flatnonzero(is_candidate))
    best_first = candidates.order(-candidates.covered, candidates.effort, candidates.sizes)
    return ChosenSubset(candidates.take(best_first[:1]), ENUMERATED)


def _greedy_subsets(counts: TargetCounts, largest_size: int) -> Bools:
    """Return the sets that grow by the model that adds most target rows, (largest_size, k)."""
    members = np.zeros((largest_size, len(counts.models)), bool)
    undetected = counts.hit_n
    for step in range(largest_size):
        gains = undetected @ counts.hits
        gains[members[step]] = -1
        best_model = int(np.argmax(gains))
        members[step:, best_model] = True
        undetected = np.where(counts.hits[:, best_model], 0, undetected)
    return members


def target_patterns(counts: TargetCounts) -> Bools:
    """Return which of the p + q patterns are of the target class."""
    return np.arange(len(counts.hit_n) + len(counts.alarm_n)) < len(counts.hit_n)
