"""The best subset of a size among all there are, against looking at each of them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from clfeval.counts.patterns import TargetCounts
from clfeval.methods.mars import best_subsets as coverage
from clfeval.methods.mars.best_subsets import (
    ENUMERATED,
    GREEDY,
    best_covering_subsets,
    best_subsets,
    model_combinations,
)
from tests.strategies import names
from tests.thoroughness import full


def random_counts(seed: int, k: int, patterns: int, most: int = 4) -> TargetCounts:
    dice = np.random.default_rng(seed)
    hits = dice.random((patterns, k)) < dice.random()
    alarms = dice.random((patterns, k)) < dice.random()
    hit_n, alarm_n = dice.integers(1, most, (2, patterns))
    return TargetCounts(names(k), hits, hit_n, alarms, alarm_n)


@pytest.mark.parametrize("most", [4, 2**20, 2**56])  # sums in one float, or in two parts
def test_all_that_tie_are_found_from_any_start(most: int) -> None:
    for seed in range(200 if full() else 40):
        dice = np.random.default_rng(1000 + seed)
        counts = random_counts(seed, int(dice.integers(2, 9)), int(dice.integers(1, 14)), most)
        for size in range(1, len(counts.models) + 1):
            every = coverage.score_subsets(counts, model_combinations(len(counts.models), size))
            start = int(dice.choice(every.covered))
            best = every.members[every.covered == every.covered.max()]
            ties = best_covering_subsets(counts, size, start)
            assert {tuple(row) for row in ties.tolist()} == {tuple(row) for row in best.tolist()}


@pytest.mark.parametrize("seed", range(6))
def test_beyond_twenty_models_all_subsets_are_still_counted(seed: int) -> None:
    """Most covered, then least effort, then the models that come first; greedy where it is less."""
    counts = random_counts(seed, 22, 30)
    for choice in best_subsets(counts, 3):
        if choice.method == GREEDY:
            continue
        assert choice.method == ENUMERATED
        every = coverage.score_subsets(counts, model_combinations(22, int(choice.scores.sizes[0])))
        best = every.order(-every.covered, every.effort)[0]
        assert choice.scores.members[0].tolist() == every.members[best].tolist()


@pytest.mark.slow
def test_three_of_sixty_take_less_than_a_second() -> None:
    counts = random_counts(1, 60, 2000)
    start = time.process_time()
    best_subsets(counts, 3)
    assert time.process_time() - start < 1
