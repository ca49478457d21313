"""Confusion counts of several models: from patterns, from rows of a counts table, their digest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from clfeval.counts.patterns import ConfusionCounts
from clfeval.tables.layouts.counts_table import CountsRow
from tests.reference import Row, confusion
from tests.strategies import counts_of, tables
from tests.thoroughness import examples


def cells_by_model(counts: ConfusionCounts) -> dict[str, tuple[int, ...]]:
    columns = (counts.tp, counts.fp, counts.fn, counts.tn)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(counts.models, numbers, strict=True))


@examples(60)
@given(tables(models=(1, 5)))
def test_patterns_are_counted_as_rows_are(rows: list[Row]) -> None:
    counts = ConfusionCounts.from_patterns(counts_of(rows))
    expected = {f"m{j}": confusion(rows, j) for j in range(len(rows[0].votes))}
    assert cells_by_model(counts) == expected
    positives = sum(row.n for row in rows if row.truth)
    assert set(counts.positives.tolist()) == {positives}
    assert set(counts.negatives.tolist()) == {sum(row.n for row in rows) - positives}


def test_a_perfect_model_misses_nothing_whatever_the_weights() -> None:
    """Tenths are counted as whole numbers of tenths: a miss is 0, and never a residue."""
    from clfeval.counts.patterns import PatternCounts

    dice = np.random.default_rng(0)
    for _ in range(200):
        truth = dice.integers(0, 2, 30).astype(bool)
        votes = np.column_stack([truth, dice.integers(0, 2, (30, 4)).astype(bool)])
        tenths = dice.integers(1, 30, 30)
        patterns = PatternCounts.from_votes(tuple("abcde"), truth, votes, tenths, 10)
        counts = ConfusionCounts.from_patterns(patterns)
        assert counts.fn[0] == counts.fp[0] == 0
        assert (
            counts.display_units("tp")[0]
            == counts.display_units("positives")[0]
            == tenths[truth].sum() / 10
        )
        for column in (counts.tp, counts.fp, counts.fn, counts.tn):
            assert (column >= 0).all()


def test_rows_of_a_counts_table_are_added_by_model_in_their_order() -> None:
    rows = [
        CountsRow("b", 1, 2, 3, 4, ("1",)),
        CountsRow("a", 5, 6, 7, 8, ("1",)),
        CountsRow("b", 10, 20, 30, 40, ("2",)),
    ]
    counts = ConfusionCounts.from_rows(rows)
    assert cells_by_model(counts) == {"b": (11, 22, 33, 44), "a": (5, 6, 7, 8)}
    assert list(counts.models) == ["b", "a"]
    assert counts.positives.tolist() == [44, 12]
    assert counts.negatives.tolist() == [66, 14]


def test_the_digest_knows_no_order_of_models_and_every_count() -> None:
    rows = [CountsRow("a", 1, 2, 3, 4), CountsRow("b", 5, 6, 7, 8)]
    digest = ConfusionCounts.from_rows(rows).digest()
    assert ConfusionCounts.from_rows(rows[::-1]).digest() == digest
    others = [
        [CountsRow("a", 1, 2, 3, 5), rows[1]],
        [CountsRow("a", 2, 1, 3, 4), rows[1]],
        [CountsRow("c", 1, 2, 3, 4), rows[1]],
        [CountsRow("b", 1, 2, 3, 4), CountsRow("a", 5, 6, 7, 8)],
        rows[:1],
    ]
    digests = {ConfusionCounts.from_rows(other).digest() for other in others}
    assert len(digests) == len(others)
    assert digest not in digests


@pytest.mark.parametrize("names", [("a b", "c"), ("a 1 2 3 4\n'b'", "c"), ("a'", 'a"')])
def test_names_cannot_imitate_counts(names: tuple[str, str]) -> None:
    one = ConfusionCounts.from_rows([CountsRow(name, 1, 2, 3, 4) for name in names])
    other = ConfusionCounts.from_rows([CountsRow(name, 1, 2, 3, 4) for name in (names[0], "d")])
    assert one.digest() != other.digest()
