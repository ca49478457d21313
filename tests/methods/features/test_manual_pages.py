"""Words of manual pages: a real sparse table against plain polars sums and a dense matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.methods.features.door import Row, cells, rows_of, value

PAGES = Path(__file__).parents[3] / "fixtures" / "manual-pages"
TERMS, CLASSES = PAGES / "terms.parquet", PAGES / "classes.csv"
ENTRIES, OWNERS = pl.read_parquet(TERMS), pl.read_csv(CLASSES)
P = N = 150  # functions, commands
STOP_WORDS = ["the", "is", "to", "of", "for", "and", "in"]


def asked(**options: Any) -> dict[str, Row]:
    return rows_of(TERMS, truth_table=CLASSES, positive="function", **options)


@pytest.fixture(scope="module")
def words() -> dict[str, Row]:
    """Every word, present or absent."""
    return asked()


@pytest.fixture(scope="module")
def sums() -> dict[str, tuple[int, int]]:
    """Of every word: the functions and the commands whose page has it."""
    joined = ENTRIES.join(OWNERS, on="doc")
    grouped = joined.group_by("term").agg(
        tp=(pl.col("section") == "function").sum(), fp=(pl.col("section") == "command").sum()
    )
    return {term: (tp, fp) for term, tp, fp in grouped.select("term", "tp", "fp").iter_rows()}


def test_every_word_is_counted_as_polars_counts_it(
    words: dict[str, Row], sums: dict[str, tuple[int, int]]
) -> None:
    assert len(sums) == 10_802
    assert {name: cells(row) for name, row in words.items()} == {
        term: (tp, fp, P - tp, N - fp) for term, (tp, fp) in sums.items()
    }


def test_every_word_has_its_place_in_the_plane(
    words: dict[str, Row], sums: dict[str, tuple[int, int]]
) -> None:
    for term, (tp, fp) in sums.items():
        row = words[term]
        assert value(row, "phi") == pytest.approx(tp / P + fp / N - 1, abs=1e-15)
        assert value(row, "delta") == pytest.approx(tp / P - fp / N, abs=1e-15)
        assert (row["support"], row["rows"], row["missing"]) == (tp + fp, 300, 0)
        assert (row["kind"], row["cut"], row["rule"]) == ("term", None, None)


def test_the_order_is_that_of_importance(
    words: dict[str, Row], sums: dict[str, tuple[int, int]]
) -> None:
    """Equal sizes of both classes make |delta| and |phi| whole numbers of 150ths."""
    expected = sorted(
        sums, key=lambda t: (-abs(sums[t][0] - sums[t][1]), abs(sum(sums[t]) - 150), t)
    )
    assert list(words) == expected


def test_stop_words_are_at_the_right_corner(words: dict[str, Row]) -> None:
    for word in STOP_WORDS:
        row = words[word]
        assert row["role"] == "pervasive"
        assert value(row, "phi") > 0.8
        assert abs(value(row, "delta")) < 0.15


def test_telling_words_are_at_the_top_and_at_the_bottom(words: dict[str, Row]) -> None:
    first = list(words.values())[:20]
    for row in first:
        assert row["role"] == ("covariant" if row["tp"] > row["fp"] else "contravariant")
    top = {str(row["feature"]) for row in first if row["role"] == "covariant"}
    bottom = {str(row["feature"]) for row in first} - top
    assert {"include", "function", "library", "return"} <= top
    assert {"options", "option"} <= bottom


def test_only_the_words_asked_for() -> None:
    chosen = asked(feature=["std*", "the"])
    expected = {term for term in ENTRIES["term"].unique() if term.startswith("std")} | {"the"}
    assert set(chosen) == expected
    assert len(expected) > 2
