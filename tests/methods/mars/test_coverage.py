"""Every number of MARS for every subset: the paper's table, a brute force, and the identities."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.counts.patterns import TargetCounts
from clfeval.methods.mars import best_subsets as coverage
from clfeval.methods.mars.best_subsets import (
    SubsetScores,
    score_all_subsets,
    score_subsets,
    total_detected,
)
from tests import reference as ref
from tests.example import PAPER
from tests.reference import Row
from tests.strategies import counts_of, members_matrix, tables
from tests.thoroughness import examples

TARGETS = st.sampled_from(["positive", "negative"])


def count_at(scores: SubsetScores, index: int, name: str) -> int:
    return int(getattr(scores, name)[index])


def by_subset(scores: SubsetScores) -> dict[tuple[int, ...], tuple[int, int, int, int, int]]:
    """Return covered, effort, ETP, EFN all, EFN any under each subset's members."""
    fields = ("covered", "effort", "exclusive_found", "missed_all", "missed_any")
    return {
        tuple(np.flatnonzero(members).tolist()): tuple(count_at(scores, i, name) for name in fields)
        for i, members in enumerate(scores.members)
    }  # type: ignore[return-value]


def by_hand(rows: list[Row], target: str) -> dict[tuple[int, ...], tuple[int, ...]]:
    return {
        subset: (
            ref.covered(rows, subset, target),
            ref.effort(rows, subset, target),
            ref.etp(rows, subset, target),
            ref.efn(rows, subset, "all", target),
            ref.efn(rows, subset, "any", target),
        )
        for subset in ref.subsets_of(len(rows[0].votes))
    }


def scores_of_all_subsets(rows: list[Row], target: str) -> SubsetScores:
    return score_all_subsets(counts_of(rows).targets(target))


@pytest.mark.parametrize(
    ("models", "etp", "efn_all", "efn_any"),
    [
        ([0], 2, 1, 3),
        ([1], 0, 0, 4),
        ([2], 0, 0, 5),
        ([3], 1, 0, 2),
        ([0, 1], 2, 0, 1),
        ([0, 2], 2, 1, 2),
        ([0, 3], 4, 0, 0),
        ([1, 2], 0, 1, 4),
        ([1, 3], 2, 0, 2),
        ([2, 3], 1, 0, 2),
    ],
)
def test_paper_singles_and_pairs(models: list[int], etp: int, efn_all: int, efn_any: int) -> None:
    counts = counts_of(PAPER).targets("positive")
    scores = score_subsets(counts, members_matrix([models], 4))
    assert total_detected(counts) == 6
    assert count_at(scores, 0, "exclusive_found") == etp
    assert count_at(scores, 0, "missed_all") == efn_all
    assert count_at(scores, 0, "missed_any") == efn_any
    assert scores.missed_all[0] == efn_all
    assert scores.missed_any[0] == efn_any


@examples(60)
@given(tables(), TARGETS)
def test_all_subsets_equal_given_subsets_equal_brute_force(rows: list[Row], target: str) -> None:
    counts = counts_of(rows).targets(target)
    subsets = list(ref.subsets_of(len(rows[0].votes)))
    listed = score_subsets(counts, members_matrix(subsets, len(rows[0].votes)))
    assert (
        by_subset(scores_of_all_subsets(rows, target)) == by_hand(rows, target) == by_subset(listed)
    )
    assert total_detected(counts) == ref.ttp(rows, target)


@examples(60)
@given(tables(models=(2, 6)), TARGETS, st.data())
def test_groups_equal_the_subset_of_their_members(
    rows: list[Row], target: str, data: st.DataObject
) -> None:
    k = len(rows[0].votes)
    group = data.draw(st.sets(st.integers(0, k - 1), min_size=1, max_size=k))
    together = {"g": tuple(f"m{j}" for j in sorted(group))}
    grouped = counts_of(rows).grouped(together, target).targets(target)
    columns, rewritten = ref.merged(rows, [group], target)
    place = grouped.models.index("g")
    assert columns[place] == tuple(sorted(group))
    scores = by_subset(score_all_subsets(grouped))
    assert scores == by_hand(rewritten, target)
    covered, claimed, etp, _, efn_any = scores[(place,)]
    # the rule `all` asks every model outside; a group outside answers as one, so it may differ
    ungrouped = by_hand(rows, target)[tuple(sorted(group))]
    assert (covered, claimed, etp, efn_any) == (*ungrouped[:3], ungrouped[4])


def test_many_models_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    rows = [
        Row(
            chance.randint(0, 1),
            tuple(chance.randint(0, 1) for _ in range(9)),
            chance.randint(1, 9),
        )
        for _ in range(60)
    ]
    counts = counts_of(rows).targets("positive")
    whole = by_subset(score_all_subsets(counts))
    subsets = members_matrix(list(ref.subsets_of(9)), 9)
    monkeypatch.setattr(coverage, "_CELLS", 1000)
    assert by_subset(score_subsets(counts, subsets)) == whole
    assert whole[(0, 4, 8)] == by_hand_one(rows, (0, 4, 8))


def by_hand_one(rows: list[Row], subset: tuple[int, ...]) -> tuple[int, ...]:
    rules = (ref.efn(rows, subset, rule) for rule in ("all", "any"))
    return (ref.covered(rows, subset), ref.effort(rows, subset), ref.etp(rows, subset), *rules)


def test_more_models_than_the_exact_limit_are_refused() -> None:
    counts = counts_of([Row(1, (1,) * 21)]).targets("positive")
    with pytest.raises(ValueError, match="21 models"):
        score_all_subsets(counts)


def test_no_subsets_and_no_rows() -> None:
    empty = np.zeros((0, 2), bool)
    none = np.zeros(0, np.int64)
    counts = TargetCounts(("a", "b"), empty, none, empty, none)
    assert total_detected(counts) == 0
    assert len(score_subsets(counts, empty)) == 0
    assert set(by_subset(score_all_subsets(counts)).values()) == {(0, 0, 0, 0, 0)}


@pytest.mark.parametrize(("k", "size"), [(1, 1), (4, 2), (5, 3), (6, 6)])
def test_listing_subsets_of_one_size(k: int, size: int) -> None:
    listed = [tuple(np.flatnonzero(row).tolist()) for row in coverage.model_combinations(k, size)]
    assert listed == list(combinations(range(k), size))
