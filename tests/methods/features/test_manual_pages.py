"""Words of manual pages: a real sparse table against plain polars sums and a dense matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.methods.features.door import rows_by_feature
from tests.results import Line, four_cells, value_of

PAGES = Path(__file__).parents[3] / "fixtures" / "manual-pages"
TERMS, CLASSES = PAGES / "terms.parquet", PAGES / "classes.csv"
ENTRIES, OWNERS = pl.read_parquet(TERMS), pl.read_csv(CLASSES)
P = N = 150  # functions, commands
STOP_WORDS = ["the", "is", "to", "of", "for", "and", "in"]


def word_rows(**options: Any) -> dict[str, Line]:
    return rows_by_feature(TERMS, truth_table=CLASSES, positive="function", **options)


@pytest.fixture(scope="module")
def words() -> dict[str, Line]:
    """Every word, present or absent."""
    return word_rows()


@pytest.fixture(scope="module")
def sums() -> dict[str, tuple[int, int]]:
    """Of every word: the functions and the commands whose page has it."""
    joined = ENTRIES.join(OWNERS, on="doc")
    grouped = joined.group_by("term").agg(
        tp=(pl.col("section") == "function").sum(), fp=(pl.col("section") == "command").sum()
    )
    return {term: (tp, fp) for term, tp, fp in grouped.select("term", "tp", "fp").iter_rows()}


def test_every_word_is_counted_as_polars_counts_it(
    words: dict[str, Line], sums: dict[str, tuple[int, int]]
) -> None:
    assert len(sums) == 10_802
    assert {name: four_cells(row) for name, row in words.items()} == {
        term: (tp, fp, P - tp, N - fp) for term, (tp, fp) in sums.items()
    }


def test_every_word_has_its_place_in_the_plane(
    words: dict[str, Line], sums: dict[str, tuple[int, int]]
) -> None:
    for term, (tp, fp) in sums.items():
        row = words[term]
        assert value_of(row["phi"]) == pytest.approx(tp / P + fp / N - 1, abs=1e-15)
        assert value_of(row["delta"]) == pytest.approx(tp / P - fp / N, abs=1e-15)
        assert (row["support"], row["rows"], row["missing"]) == (tp + fp, 300, 0)
        assert (row["kind"], row["cut"], row["rule"]) == ("term", None, None)


def test_the_order_is_that_of_importance(
    words: dict[str, Line], sums: dict[str, tuple[int, int]]
) -> None:
    """Equal sizes of both classes make |delta| and |phi| whole numbers of 150ths."""
    expected = sorted(
        sums, key=lambda t: (-abs(sums[t][0] - sums[t][1]), abs(sum(sums[t]) - 150), t)
    )
    assert list(words) == expected


def test_stop_words_are_at_the_right_corner(words: dict[str, Line]) -> None:
    for word in STOP_WORDS:
        row = words[word]
        assert row["role"] == "pervasive"
        assert value_of(row["phi"]) > 0.8
        assert abs(value_of(row["delta"])) < 0.15


def test_telling_words_are_at_the_top_and_at_the_bottom(words: dict[str, Line]) -> None:
    best = list(words.values())[:20]
    for row in best:
        assert row["role"] == ("covariant" if row["tp"] > row["fp"] else "contravariant")
    top = {str(row["feature"]) for row in best if row["role"] == "covariant"}
    bottom = {str(row["feature"]) for row in best} - top
    assert {"include", "function", "library", "return"} <= top
    assert {"options", "option"} <= bottom


def test_only_the_words_asked_for() -> None:
    words = word_rows(feature=["std*", "the"])
    expected = {term for term in ENTRIES["term"].unique() if term.startswith("std")} | {"the"}
    assert set(words) == expected
    assert len(expected) > 2
