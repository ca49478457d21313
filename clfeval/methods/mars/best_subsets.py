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
    order = np.argsort(-(counts.hit_n @ counts.hits), kind="stable")
    detections = _Detections.from_counts(counts, order)
    sets: Sets = np.empty((1, 0), np.int16)
    step = max(1, _MAX_SET_CELLS // max(1, len(counts.hit_n)))
    for further in range(size - 1, -1, -1):  # models to add after the next one
        extended: list[Sets] = []
        for start in range(0, len(sets), step):
            block = sets[start : start + step]
            bounds = detections.coverage_bounds(block, further)
            if further == 0 and bounds.max() > attained:
                attained = int(bounds.max())
                extended = []
            row, model = np.nonzero(bounds >= attained)
            extended.append(np.column_stack([block[row], model.astype(np.int16)]))
        sets = np.concatenate(extended)
    members = np.zeros((len(sets), len(counts.models)), bool)
    np.put_along_axis(members, order[sets], values=True, axis=1)
    return members


@dataclass(frozen=True, slots=True, eq=False)
class _Detections:
    """The p patterns of target rows that k models detect, with the rows of each.

    hits (k, p), table (p, k) the same as floats; limbs: rows of the patterns in parts that floats
    add exactly, the highest first, (p,) each.
    """

    hits: Bools
    table: NDArray[np.floating]
    limbs: Sequence[NDArray[np.floating]]

    @classmethod
    def from_counts(cls, counts: TargetCounts, order: Ints) -> _Detections:
        """Take the models in this order."""
        hits = np.ascontiguousarray(counts.hits[:, order].T)
        n = counts.hit_n
        total = int(n.sum())
        kind: type[np.floating] = np.float32 if total < 2**24 else np.float64
        limbs = [n] if total < 2**53 else [n >> _LIMB, n & (2**_LIMB - 1)]
        return cls(hits, hits.T.astype(kind), [limb.astype(kind) for limb in limbs])

    def coverage_bounds(self, sets: Sets, further: int) -> Ints:
        """Return the most rows that a set may cover with one model and `further` more, (s, k).

        The models added come after those of the set; -1 for others.
        """
        covered, gains = self._coverage(sets)
        last = sets[:, -1:] if sets.shape[1] else np.full((1, 1), -1, np.int16)
        gains[np.arange(len(self.hits)) <= last] = -1
        bounds = covered[:, None] + gains
        if further:
            bounds += _largest_beyond(gains, further)
        bounds[gains < 0] = -1
        return bounds

    def _coverage(self, sets: Sets) -> tuple[Ints, Ints]:
        """Return rows covered, (s,), and the further rows that each model detects, (s, k)."""
        k, p = self.hits.shape
        undetected = ~np.logical_or.reduce(
            [self.hits[member] for member in sets.T], axis=0, initial=False
        )
        undetected = np.broadcast_to(undetected, (len(sets), p))
        covered = np.zeros(len(sets), np.int64)
        gains = np.zeros((len(sets), k), np.int64)
        for limb in self.limbs:
            covered = (covered << _LIMB) + (~undetected @ limb).astype(np.int64)
            gains = (gains << _LIMB) + ((undetected * limb) @ self.table).astype(np.int64)
        return covered, gains


def _largest_beyond(gains: Ints, size: int) -> Ints:
    """Return for each model the sum of the `size` largest gains of those after it, (s, k)."""
    beyond = np.zeros_like(gains)
    largest = np.zeros((len(gains), size), np.int64)
    for model in range(gains.shape[1] - 1, -1, -1):
        beyond[:, model] = largest.sum(axis=1)
        largest[:, 0] = np.maximum(largest[:, 0], gains[:, model])
        largest.sort(axis=1)
    return beyond


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
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in cls.__slots__))

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
    """Return which patterns (p, k) subsets (s, k) detect, and alone, (s, p) each.

    Then those that they miss and all models outside detect, or some of them do.
    """
    detecting_members = overlap_counts(patterns, members)
    detecting_others = patterns.sum(axis=1) - detecting_members
    others = patterns.shape[1] - members.sum(axis=1, keepdims=True)
    hit = detecting_members > 0
    lost = detecting_members == 0
    all_others = (detecting_others == others) & (others > 0)
    return hit, hit & (detecting_others == 0), lost & all_others, lost & (detecting_others > 0)


def score_subsets(counts: TargetCounts, members: Bools) -> SubsetScores:
    """Score the given subsets, (s, k) booleans, by comparing each with every pattern."""
    step = max(1, _CELLS // max(1, len(counts.hit_n) + len(counts.alarm_n)))
    if len(members) > step:
        starts = range(0, len(members), step)
        return SubsetScores.joined([score_subsets(counts, members[i : i + step]) for i in starts])

    def total(patterns: Bools, n: Counts) -> Counts:
        return np.asarray(np.where(patterns, n, n.dtype.type(0)).sum(axis=1))

    covered, *others = (
        total(patterns, counts.hit_n) for patterns in detection_masks(counts.hits, members)
    )
    effort = covered + total(overlap_counts(counts.alarms, members) > 0, counts.alarm_n)
    return SubsetScores(members, covered, effort, *others)


def score_all_subsets(counts: TargetCounts) -> SubsetScores:
    """Score all 2**k subsets, row i holding the models whose bits are set in i (k up to 20).

    With f(m) the rows found by exactly the models m and F(S) = sum of f over subsets of S (one
    zeta transform, k 2**k additions): ETP(S) = F(S) - f(0), covered(S) = P - F(J - S),
    EFN_all(S) = f(J - S), EFN_any(S) = F(J - S) - f(0).
    """
    k = len(counts.models)
    if k > EXACT_MODELS:
        raise ValueError(f"{k} models have too many subsets; the limit is {EXACT_MODELS}")
    exactly = _pattern_histogram(counts.hits, counts.hit_n)
    detected = _zeta_transform(exactly)  # by no model outside the subset
    claimed = _zeta_transform(_pattern_histogram(counts.alarms, counts.alarm_n))
    nobody = exactly[0]
    covered = detected[-1] - detected[::-1]  # the complement of subset i is 2**k - 1 - i
    missed_all = exactly[::-1].copy()
    missed_all[-1] = 0  # no model is outside the set of all
    index = np.arange(2**k, dtype=np.uint32)
    members = (index[:, None] >> np.arange(k, dtype=np.uint32) & 1).astype(bool)
    effort = covered + claimed[-1] - claimed[::-1]
    exclusive_found = detected - nobody
    missed_any = detected[::-1] - nobody
    return SubsetScores(members, covered, effort, exclusive_found, missed_all, missed_any)


def _pattern_histogram(patterns: Bools, n: Counts) -> Counts:
    k = patterns.shape[1]
    exactly = np.zeros(2**k, n.dtype)
    np.add.at(exactly, patterns @ (1 << np.arange(k, dtype=np.int64)), n)
    return exactly


def _zeta_transform(values: Counts) -> Counts:
    """Return, for every set, the sum of the values of its subsets."""
    total = values.copy()
    for bit in range(len(values).bit_length() - 1):
        halves = total.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    return total


def model_combinations(k: int, size: int) -> Bools:
    """Return all subsets of one size, (s, k) booleans in lexicographic order."""
    subsets = comb(k, size)
    models = chain.from_iterable(combinations(range(k), size))
    positions = np.fromiter(models, np.int32, subsets * size).reshape(subsets, size)
    members = np.zeros((subsets, k), bool)
    for column in positions.T:
        members[np.arange(subsets), column] = True
    return members


def score_subsets_up_to(counts: TargetCounts, up_to: int | Literal["all"]) -> SubsetScores:
    """Score all subsets up to a size, by size, most covered, least effort, table order."""
    k = len(counts.models)
    most = k if up_to == "all" else min(up_to, k)
    if k <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        size = scores.sizes
        scores = scores.take((size > 0) & (size <= most))
    else:
        total = sum(comb(k, size) for size in range(1, most + 1))
        if total > MOST_SUBSETS:
            message = f"{k} models have {total:,} subsets of up to {most}; the limit is"
            message += f" {MOST_SUBSETS:,}"
            hint = (
                f"use a smaller {OPTION}--subsets{END}, or {OPTION}--best K{END}, which does not "
                "list them all"
            )
            raise UsageError.new(message, "too-many-subsets", hint=hint)
        members = np.vstack([model_combinations(k, size) for size in range(1, most + 1)])
        scores = score_subsets(counts, members)
    return scores.take(scores.order(scores.sizes, -scores.covered, scores.effort))


@dataclass(frozen=True, slots=True)
class ChosenSubset:
    """A chosen subset with its scores (one row) and the method of the search."""

    scores: SubsetScores
    method: str


def best_subsets(counts: TargetCounts, sizes: int) -> list[ChosenSubset]:
    """Return, for each size 1..sizes, the subset that covers most target rows.

    Ties go to less effort, then to the order of models. Exact for up to 20 models, and for more
    with at most 10 million subsets; else greedy. Of more than 20 models both where they differ.
    """
    sizes = min(sizes, len(counts.models))
    if len(counts.models) <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        return [_best_subset(scores, scores.sizes == size) for size in range(1, sizes + 1)]
    greedy = score_subsets(counts, _greedy_subsets(counts, sizes))
    choices: list[ChosenSubset] = []
    subsets = 0
    for size in range(1, sizes + 1):
        step = greedy.take(np.array([size - 1]))
        subsets += comb(len(counts.models), size)
        if subsets <= MOST_COUNTED:
            ties = best_covering_subsets(counts, size, int(step.covered[0]))
            choices.append(_best_subset(score_subsets(counts, ties), np.ones(len(ties), bool)))
        if subsets > MOST_COUNTED or choices[-1].scores.covered[0] != step.covered[0]:
            choices.append(ChosenSubset(step, GREEDY))
    return choices


def best_within_effort(counts: TargetCounts, effort: float) -> ChosenSubset | None:
    """Return the subset that covers most with at most `effort` rows flagged; None if none fits.

    Of more than 20 models the greedy choice.
    """
    most = limit_in_units(effort, counts.unit)
    if len(counts.models) <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        affordable = (scores.effort <= most) & scores.members.any(axis=1)
        return _best_subset(scores, affordable) if affordable.any() else None
    members = np.zeros(len(counts.models), bool)
    while not members.all():
        candidates = members | np.eye(len(members), dtype=bool)[~members]
        scores = score_subsets(counts, candidates)
        covered = score_subsets(counts, members[None, :]).covered[0]
        affordable = (scores.effort <= most) & (scores.covered > covered)
        if not affordable.any():
            break
        members = _best_subset(scores, affordable).scores.members[0]
    return ChosenSubset(score_subsets(counts, members[None, :]), GREEDY) if members.any() else None


def _best_subset(scores: SubsetScores, candidates: Bools) -> ChosenSubset:
    """Return the subset covering most; ties: least effort, fewest models, order of models."""
    scores = scores.take(np.flatnonzero(candidates))
    order = scores.order(-scores.covered, scores.effort, scores.sizes)
    return ChosenSubset(scores.take(order[:1]), ENUMERATED)


def _greedy_subsets(counts: TargetCounts, sizes: int) -> Bools:
    """Return the sets that grow by the model that adds most target rows, (sizes, k)."""
    members = np.zeros((sizes, len(counts.models)), bool)
    undetected = counts.hit_n
    for step in range(sizes):
        gains = undetected @ counts.hits
        gains[members[step]] = -1
        best = int(np.argmax(gains))
        members[step:, best] = True
        undetected = np.where(counts.hits[:, best], 0, undetected)
    return members


def target_patterns(counts: TargetCounts) -> Bools:
    """Return which of the p + q patterns are of the target class."""
    return np.arange(len(counts.hit_n) + len(counts.alarm_n)) < len(counts.hit_n)
