"""Isotonic regression over counts: by the min-max formula, and its undefined tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.measures.isotonic import isotonic_shares, isotonic_values
from tests.thoroughness import examples

cells = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


def min_max(positives: list[int], negatives: list[int]) -> list[float]:
    """Return max over i <= k of min over j >= k of the share of positives in scores i to j."""

    def share(i: int, j: int) -> float:
        return sum(positives[i : j + 1]) / sum(positives[i : j + 1] + negatives[i : j + 1])

    places = range(len(positives))
    return [max(min(share(i, j) for j in places[k:]) for i in places[: k + 1]) for k in places]


@examples(200)
@given(cells)
def test_shares_are_those_of_the_min_max_formula(given_cells: list[tuple[int, int]]) -> None:
    rows = [pair for pair in given_cells if sum(pair)] or [(1, 1)]
    positives, negatives = (list(column) for column in zip(*rows, strict=True))
    scores = np.arange(len(rows)) / 20
    blocks = isotonic_shares(scores, np.array(positives), np.array(negatives))
    assert blocks.values == pytest.approx(min_max(positives, negatives), abs=1e-12)
    assert blocks.starts[0] == 0
    assert blocks.stops[-1] == len(rows)
    assert all(a < b for a, b in pairwise(blocks.shares))
    assert (blocks.shares * blocks.rows).sum() == pytest.approx(sum(positives))


@examples(100)
@given(st.lists(cells, min_size=1, max_size=4), st.integers(1, 12))
def test_tables_are_fitted_one_by_one(tables: list[list[tuple[int, int]]], width: int) -> None:
    """Scores without rows belong to a block; a table without rows has no share."""
    n = np.zeros((len(tables), width, 2), np.int64)
    for table, pairs in zip(n, tables, strict=True):
        table[: len(pairs)] = pairs[:width]
    scores = np.arange(width) // 2 / 10  # pairs of equal scores
    values = isotonic_values(scores, n[..., 0], n[..., 1])
    for fitted, table in zip(values, n, strict=True):
        blocks = isotonic_shares(scores, *table.T)
        if table.any():
            assert fitted.tolist() == blocks.values.tolist()
        else:
            assert np.isnan(fitted).all()
            assert not len(blocks.shares)


def test_weights_are_copies_and_large_counts_do_not_overflow() -> None:
    scores = np.array([0.1, 0.2, 0.3, 0.7])
    positives, negatives = np.array([2, 1, 0, 5]), np.array([3, 2, 1, 1])
    shares = isotonic_shares(scores, positives, negatives).shares
    for times in (0.25, 7, 2**40):
        assert isotonic_shares(
            scores, positives * times, negatives * times
        ).shares == pytest.approx(shares, abs=1e-15)
    assert shares == pytest.approx([3 / 9, 5 / 6])  # 2/5, 1/3 and 0/1 pool


def test_scores_must_ascend() -> None:
    with pytest.raises(ValueError, match="ascending"):
        isotonic_shares(np.array([0.2, 0.1]), np.array([1, 1]), np.array([1, 1]))
