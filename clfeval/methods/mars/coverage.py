"""What subsets of models find and miss: every number of MARS from pattern counts.

Source: Restrepo, Mali, Abrahams, Ractham 2022, F1000Research 11:391 v2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Counts
from clfeval.counts.patterns import PatternCounts, TargetCounts
from clfeval.errors import Problem, UsageError
from clfeval.methods.estimates import shares
from clfeval.methods.mars.options import MarsOptions
from clfeval.result import Estimate, LazyRows, Row, Rows

EXACT_MODELS = 20  # all 2**20 subsets fit in memory and take about a second
_CELLS = 1 << 24  # subsets x patterns handled at once


@dataclass(frozen=True, slots=True)
class SubsetScores:
    """Counts for s subsets; a subset finds what any of its members finds.

    members (s, k): who is in; covered (s,): target rows found; effort (s,): rows claimed, found or
    false; exclusive_found (s,): found by the subset and by no model outside (ETP);
    missed_all (s,): missed by the subset, found by every model outside (EFN, rule `all`);
    missed_any (s,): missed by the subset, found by some model outside (rule `any`).
    With no model outside, the subset of all, nothing can be missed alone: both are 0.
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

    def take(self, index: NDArray[np.intp] | Bools) -> SubsetScores:
        """Return the scores of some of the subsets, in the order given."""
        return SubsetScores(
            self.members[index], self.covered[index], self.effort[index],
            self.exclusive_found[index], self.missed_all[index], self.missed_any[index],
        )  # fmt: skip

    def missed(self, rule: str) -> Counts:
        """Return EFN under the rule `all` or `any`."""
        return self.missed_all if rule == "all" else self.missed_any


def found(counts: TargetCounts) -> int | float:
    """Return TTP: target rows that at least one model finds."""
    return counts.hit_n[counts.hits.any(axis=1)].sum().item()  # type: ignore[no-any-return]


def score_subsets(counts: TargetCounts, members: Bools, *, cells: int = _CELLS) -> SubsetScores:
    """Score the given subsets, (s, k) booleans, by comparing each with every pattern."""
    patterns = max(1, len(counts.hit_n) + len(counts.alarm_n))
    step = max(1, cells // patterns)
    parts = [_score_some(counts, members[i : i + step]) for i in range(0, len(members), step)]
    if not parts:
        return _score_some(counts, members)
    return SubsetScores(
        *(np.concatenate([getattr(p, name) for p in parts]) for name in SubsetScores.__slots__)
    )


def _score_some(counts: TargetCounts, members: Bools) -> SubsetScores:
    def overlap(patterns: Bools) -> NDArray[np.float32]:
        # matrix products of small whole numbers, exact in float32 and much faster than integers
        return members.astype(np.float32) @ patterns.T.astype(np.float32)

    inside = overlap(counts.hits)
    outside = counts.hits.sum(axis=1) - inside
    others = len(counts.models) - members.sum(axis=1, keepdims=True)
    hit, lost = inside > 0, inside == 0

    def total(which: Bools, n: Counts) -> Counts:
        return np.asarray(np.where(which, n, n.dtype.type(0)).sum(axis=1))

    covered = total(hit, counts.hit_n)
    return SubsetScores(
        members=members,
        covered=covered,
        effort=covered + total(overlap(counts.alarms) > 0, counts.alarm_n),
        exclusive_found=total(hit & (outside == 0), counts.hit_n),
        missed_all=total(lost & (outside == others) & (others > 0), counts.hit_n),
        missed_any=total(lost & (outside > 0), counts.hit_n),
    )


def score_all_subsets(counts: TargetCounts) -> SubsetScores:
    """Score all 2**k subsets, row i holding the models whose bits are set in i (k up to 20).

    With f(m) the rows found by exactly the models m and F(S) = sum of f over subsets of S (one
    zeta transform, k 2**k additions): ETP(S) = F(S) - f(0), covered(S) = P - F(J - S),
    EFN_all(S) = f(J - S), EFN_any(S) = F(J - S) - f(0).
    """
    k = len(counts.models)
    if k > EXACT_MODELS:
        raise ValueError(f"{k} models have too many subsets; the limit is {EXACT_MODELS}")
    exactly = _histogram(counts.hits, counts.hit_n)
    within = _zeta(exactly)
    claimed = _zeta(_histogram(counts.alarms, counts.alarm_n))
    nobody = exactly[0]
    covered = within[-1] - within[::-1]  # the complement of subset i is 2**k - 1 - i
    missed_all = exactly[::-1].copy()
    missed_all[-1] = 0  # nothing is outside the subset of all
    index = np.arange(2**k, dtype=np.uint32)
    return SubsetScores(
        members=(index[:, None] >> np.arange(k, dtype=np.uint32) & 1).astype(bool), covered=covered,
        effort=covered + claimed[-1] - claimed[::-1], exclusive_found=within - nobody,
        missed_all=missed_all, missed_any=within[::-1] - nobody,
    )  # fmt: skip


def _histogram(patterns: Bools, n: Counts) -> Counts:
    k = patterns.shape[1]
    index = patterns @ (1 << np.arange(k, dtype=np.int64))
    return np.bincount(index, weights=n, minlength=2**k).astype(n.dtype)


def _zeta(values: Counts) -> Counts:
    """Return, for every set, the sum of the values of its subsets."""
    total = values.copy()
    for bit in range(len(values).bit_length() - 1):
        halves = total.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    return total


def singles(k: int) -> Bools:
    """Return the k subsets of one model."""
    return np.eye(k, dtype=bool)


def pairs(k: int) -> Bools:
    """Return the subsets of two models, in order."""
    return combinations_of(k, 2)


def combinations_of(k: int, size: int) -> Bools:
    """Return all subsets of one size, (s, k) booleans in lexicographic order."""
    members = np.zeros((comb(k, size), k), bool)
    for start, chunk in _chunks(combinations(range(k), size)):
        rows = np.arange(start, start + len(chunk))
        members[rows[:, None], np.array(chunk).reshape(len(chunk), size)] = True
    return members


def _chunks(
    items: Iterator[tuple[int, ...]], size: int = 1 << 16
) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
    start = 0
    while chunk := list(islice(items, size)):
        yield start, chunk
        start += len(chunk)


@dataclass(frozen=True, slots=True)
class View:
    """One slice seen from the target class."""

    label: str | None
    counts: TargetCounts
    options: MarsOptions
    ttp: int | float

    def estimates(self, name: str, k: Counts, n: Counts | int | float) -> list[Estimate]:
        """Return a measure that is k of n rows, with intervals."""
        return shares(name, k, n, level=self.options.confidence)

    def scores(self, subsets: SubsetScores) -> list[dict[str, Any]]:
        """Return the four MARS columns of each subset."""
        options = self.options
        missed = subsets.missed(options.occlusion)
        shine = self.estimates("shine_through", subsets.exclusive_found, self.ttp)
        hidden = self.estimates("occlusion", missed, self.ttp)
        everyone = np.asarray(subsets.members.all(axis=1))
        return [
            {
                options.found_name: subsets.exclusive_found[i].item(),
                "shine_through": shine[i],
                options.missed_name: missed[i].item(),
                "occlusion": Estimate(None, reason="no_other_model")
                if everyone[i] and self.ttp
                else hidden[i],
            }
            for i in range(len(subsets))
        ]


def subset_rows(view: View, subsets: SubsetScores) -> list[dict[str, Any]]:
    """Return the columns every table of subsets has."""
    gained = view.estimates("yield", subsets.covered, subsets.effort)
    return [
        {
            "slice": view.label,
            "models": [view.counts.models[j] for j in np.flatnonzero(subsets.members[i])],
            "covered": subsets.covered[i].item(), "effort": subsets.effort[i].item(),
            "yield": gained[i], **scores,
        }
        for i, scores in enumerate(view.scores(subsets))
    ]  # fmt: skip


MOST_SUBSETS = 2_000_000


def score_up_to(counts: TargetCounts, up_to: int | Literal["all"]) -> SubsetScores:
    """Score every subset up to a size: by size, then most covered, least effort, table order."""
    k = len(counts.models)
    most = k if up_to == "all" else min(up_to, k)
    if k <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        size = scores.members.sum(axis=1)
        scores = scores.take((size > 0) & (size <= most))
    else:
        total = sum(comb(k, size) for size in range(1, most + 1))
        if total > MOST_SUBSETS:
            raise UsageError(
                Problem(
                    f"{k} models have {total:,} subsets of up to {most}; the limit is "
                    f"{MOST_SUBSETS:,}", "too-many-subsets",
                ),
                hint="a smaller --subsets, or --best K, which searches without listing",
            )  # fmt: skip
        members = np.vstack([combinations_of(k, size) for size in range(1, most + 1)])
        scores = score_subsets(counts, members)
    size = scores.members.sum(axis=1)
    first = [~scores.members[:, i] for i in reversed(range(k))]
    return scores.take(np.lexsort((*first, scores.effort, -scores.covered, size)))


def subset_table(
    parts: list[tuple[str | None, SubsetScores, Counts]],
    options: MarsOptions,
    slices: Mapping[str | None, PatternCounts],
) -> Rows:
    """Return rows made on demand, a block at a time: there may be a million."""
    block = 1024
    views = [
        View(
            label, slices[label].targets(options.target).grouped(options.group), options, ttp.item()
        )
        for label, _, ttp in parts
    ]
    starts = np.cumsum([0, *(len(scores) for _, scores, _ in parts)])
    made: dict[tuple[int, int], list[dict[str, Any]]] = {}

    def make_row(index: int) -> Row:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        number, offset = divmod(index - int(starts[part]), block)
        if (part, number) not in made:
            made.clear()
            scores = parts[part][1]
            rows = np.arange(number * block, min((number + 1) * block, len(scores)))
            made[part, number] = subset_rows(views[part], scores.take(rows))
        return made[part, number][offset]

    return LazyRows(int(starts[-1]), make_row)
