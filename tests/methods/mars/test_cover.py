"""Choosing models: enumeration and greedy steps against all subsets by brute force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from clfeval.counts.patterns import PatternCounts
from clfeval.methods.mars import best_subsets as coverage
from clfeval.methods.mars.best_subsets import (
    ENUMERATED,
    GREEDY,
    ChosenSubset,
    best_subsets,
    best_within_effort,
)
from tests import reference as ref
from tests.reference import Row
from tests.strategies import counts_of, names, tables
from tests.thoroughness import examples

TARGETS = st.sampled_from(["positive", "negative"])
# greedy takes the big model c first; the best pair is a and b, 5 + 5 rows
TRAP = [
    Row(1, (1, 0, 1), 3),
    Row(1, (0, 1, 1), 3),  # c finds 6
    Row(1, (1, 0, 0), 2),
    Row(1, (0, 1, 0), 2),  # a finds 3 + 2, b finds 3 + 2
]


def choose_greedily(choose: Callable[..., Any], *arguments: Any) -> Any:
    """Choose as among more models than can be enumerated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "EXACT_MODELS", 0)
        patch.setattr(coverage, "MOST_COUNTED", 0)
        return choose(*arguments)


def members_of(choice: ChosenSubset) -> tuple[int, ...]:
    return tuple(np.flatnonzero(choice.scores.members[0]).tolist())


def covered_by(choice: ChosenSubset) -> int:
    return int(choice.scores.covered[0])


def best_by_hand(rows: list[Row], target: str, size: int) -> tuple[int, ...]:
    """Most covered, then least effort, then the models that come first."""
    return min(
        (subset for subset in ref.subsets_of(len(rows[0].votes)) if len(subset) == size),
        key=lambda s: (-ref.covered(rows, s, target), ref.effort(rows, s, target), s),
    )


def most_within(rows: list[Row], target: str, limit: float) -> int | None:
    """Most rows any non-empty subset covers with at most `limit` claims; None if none fits."""
    fits = [
        ref.covered(rows, subset, target)
        for subset in ref.subsets_of(len(rows[0].votes))
        if subset and ref.effort(rows, subset, target) <= limit
    ]
    return max(fits, default=None)


@examples(60)
@given(tables(), TARGETS)
def test_best_subset_of_every_size(rows: list[Row], target: str) -> None:
    k = len(rows[0].votes)
    choices = best_subsets(counts_of(rows).targets(target), k + 3)
    expected = [best_by_hand(rows, target, size) for size in range(1, k + 1)]
    assert [members_of(choice) for choice in choices] == expected
    for choice, subset in zip(choices, expected, strict=True):
        assert choice.method == ENUMERATED
        assert covered_by(choice) == ref.covered(rows, subset, target)
        assert choice.scores.effort[0] == ref.effort(rows, subset, target)


@examples(60)
@given(tables(), TARGETS, st.integers(0, 40))
def test_best_within_effort(rows: list[Row], target: str, limit: int) -> None:
    choice = best_within_effort(counts_of(rows).targets(target), limit)
    most = most_within(rows, target, limit)
    if choice is None:
        assert most is None
        return
    subset = members_of(choice)
    assert covered_by(choice) == most == ref.covered(rows, subset, target)
    claimed = ref.effort(rows, subset, target)
    assert choice.scores.effort[0] == claimed <= limit
    ties = [s for s in ref.subsets_of(len(rows[0].votes)) if ref.covered(rows, s, target) == most]
    cheapest = min(ref.effort(rows, s, target) for s in ties if s)
    assert claimed == cheapest, "ties go to less effort"


def test_within_effort_by_hand() -> None:
    # a finds 5 rows with 1 false claim, b finds 4 others with 10 false ones, c finds 3 others
    rows = [Row(1, (1, 0, 0), 5), Row(1, (0, 1, 0), 4), Row(1, (0, 0, 1), 3)]
    rows += [Row(0, (1, 0, 0), 1), Row(0, (0, 1, 0), 10)]
    counts = counts_of(rows).targets("positive")
    # efforts: c 3; a 5 + 1; a and c 9; b 4 + 10; b and c 17; a and b 20; all 23
    limits = {2: None, 3: (2,), 5: (2,), 6: (0,), 8: (0,), 9: (0, 2), 19: (0, 2)}
    limits |= {20: (0, 1), 22: (0, 1), 23: (0, 1, 2), 24: (0, 1, 2)}
    for limit, expected in limits.items():
        choice = best_within_effort(counts, limit)
        assert (None if choice is None else members_of(choice)) == expected, f"effort {limit}"


def greedy_by_hand(rows: list[Row], target: str, size: int) -> list[int]:
    """Return how many rows each step covers, that of the model which adds most."""
    chosen: tuple[int, ...] = ()
    covered = []
    for _ in range(size):
        rest = [j for j in range(len(rows[0].votes)) if j not in chosen]
        best = max(
            rest,
            key=lambda j: (
                ref.covered(rows, (*chosen, j), target),
                -ref.effort(rows, (*chosen, j), target),
                -j,
            ),
        )
        chosen = (*chosen, best)
        covered.append(ref.covered(rows, chosen, target))
    return covered


@examples(40)
@example(TRAP, "positive")
@given(tables(), TARGETS)
def test_of_too_many_models_each_step_adds_the_one_that_covers_most(
    rows: list[Row], target: str
) -> None:
    counts = counts_of(rows).targets(target)
    assume(counts.hits.any())
    k = len(rows[0].votes)
    choices = choose_greedily(best_subsets, counts, k)
    assert {choice.method for choice in choices} == {GREEDY}
    assert [covered_by(choice) for choice in choices] == greedy_by_hand(rows, target, k)
    assert [len(members_of(choice)) for choice in choices] == list(range(1, k + 1))


@examples(40)
@given(tables(), TARGETS, st.integers(0, 40))
def test_a_greedy_choice_within_effort_leaves_no_room_for_another_model(
    rows: list[Row], target: str, limit: int
) -> None:
    choice = choose_greedily(best_within_effort, counts_of(rows).targets(target), limit)
    most = most_within(rows, target, limit)
    if choice is None:
        assert not most, "nothing fits, or what fits covers nothing"
        return
    assert choice.method == GREEDY
    chosen = members_of(choice)
    assert covered_by(choice) <= (most or 0)
    assert ref.effort(rows, chosen, target) <= limit
    for j in {*range(len(rows[0].votes))} - {*chosen}:
        more = (*chosen, j)
        fits = ref.effort(rows, more, target) <= limit
        assert not (fits and ref.covered(rows, more, target) > covered_by(choice))


def test_greedy_is_shown_beside_the_best_only_where_it_finds_less() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "EXACT_MODELS", 0)
        choices = best_subsets(counts_of(TRAP).targets("positive"), 2)
    assert [(choice.method, members_of(choice), covered_by(choice)) for choice in choices] == [
        (ENUMERATED, (2,), 6),
        (ENUMERATED, (0, 1), 10),
        (GREEDY, (0, 2), 8),  # c, then a: 6 + 2
    ]


def test_beyond_twenty_models_and_ten_million_subsets_models_are_chosen_greedily(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coverage, "MOST_COUNTED", 0)
    # model j finds rows j and j + 1 of 23 equal rows: one model for every two rows
    k = 22
    hits = np.array([[j in (row - 1, row) for j in range(k)] for row in range(k + 1)], bool)
    ones = np.ones(k + 1, np.int64)
    counts = PatternCounts.from_votes(names(k), np.ones(k + 1, bool), hits, ones).targets(
        "positive"
    )
    choices = best_subsets(counts, 3)
    assert [(choice.method, covered_by(choice)) for choice in choices] == [
        (GREEDY, 2),
        (GREEDY, 4),
        (GREEDY, 6),
    ]
    within = best_within_effort(counts, 7)
    assert within is not None
    assert covered_by(within) == 7  # three apart and one next to another: 2 + 2 + 3
    assert int(within.scores.effort[0]) == 7


def crowd(big: int) -> list[Row]:
    """Efforts: a and b big + 3 each, c big + 1, a and b 2 big + 3, b and c 2 big + 4."""
    return [Row(1, (1, 0, 1), big), Row(1, (0, 1, 0), big), Row(0, (1, 1, 0), 3), Row(1, (0, 0, 1))]


@pytest.mark.parametrize("big", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("part", ["big - 1", "big + 2", "2*big + 2", "2*big + 3", "2*big + 4"])
def test_the_effort_limit_holds_to_the_row_for_large_counts(big: int, part: str) -> None:
    limit = {
        "big - 1": big - 1,
        "big + 2": big + 2,
        "2*big + 2": 2 * big + 2,
        "2*big + 3": 2 * big + 3,
        "2*big + 4": 2 * big + 4,
    }[part]
    rows = crowd(big)
    choice = best_within_effort(counts_of(rows).targets("positive"), limit)
    assert choice is None or ref.effort(rows, members_of(choice)) <= limit
    assert (None if choice is None else covered_by(choice)) == most_within(rows, "positive", limit)
