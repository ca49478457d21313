"""Cuts of a numeric feature: ties, infinities, weights, and the way without sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clfeval.counts.features.cuts import BinaryFeature, split_feature, split_rows
from clfeval.counts.scores import ScoreCounts
from tests.methods.features import brute
from tests.thoroughness import examples

INF = math.inf
ALL_CUTS: list[Any] = ["median", "mean", "best", "soft", 0.5, 2.0]
Rows = list[tuple[bool, float]]


def cut_at(cut: Any, rows: Rows, weights: list[int] | None = None) -> BinaryFeature:
    """Split rows of class and value."""
    truth, values = (np.array(column) for column in zip(*rows, strict=True))
    n = None if weights is None else np.array(weights)
    return split_rows(values.astype(float), truth.astype(bool), n, cut)


def rows_in_text(text: str) -> Rows:
    """Read `+1 -2 +3` as positives and negatives with these values."""
    return [(word[0] == "+", float(word[1:])) for word in text.split()]


def test_one_value_has_no_scale_and_is_never_above_itself() -> None:
    assert math.isnan(cut_at("soft", rows_in_text("+3 -3")).tp)
    for cut in ("median", "mean", "best"):
        done = cut_at(cut, rows_in_text("+3 -3"))
        assert (done.tp, done.fp) == (0, 0)


NUMBER = st.sampled_from([-3.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 8.0])
TABLES = st.lists(st.tuples(st.booleans(), NUMBER), min_size=1, max_size=14)


@examples(200)
@given(table=TABLES, cut=st.sampled_from(ALL_CUTS))
def test_random_rows_against_the_definition(table: Rows, cut: Any) -> None:
    truth, values = [t for t, _ in table], [v for _, v in table]
    if cut == "best" and len(set(truth)) == 1:
        return  # without two classes no cut is best
    expected, done = brute.numeric(truth, values, cut), cut_at(cut, table)
    if not expected.scaled:
        assert math.isnan(done.tp)
        return
    assert (done.tp, done.fp) == pytest.approx((float(expected.tp), float(expected.fp)), abs=1e-9)
    assert done.rule == expected.rule
    if expected.cut is not None:
        assert done.cut == expected.cut


@examples(200)
@given(table=TABLES, cut=st.sampled_from(ALL_CUTS), data=st.data())
def test_weights_are_rows_repeated(table: Rows, cut: Any, data: Any) -> None:
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(table), max_size=len(table)))
    spelled = [row for row, n in zip(table, weights, strict=True) for _ in range(n)]
    assert_same_cut(cut_at(cut, table, weights), cut_at(cut, spelled))


@examples(200)
@given(table=TABLES, cut=st.sampled_from(ALL_CUTS))
def test_the_way_without_sorting_ends_where_sorting_does(table: Rows, cut: Any) -> None:
    truth, values = (np.array(column) for column in zip(*table, strict=True))
    sorted_ = split_feature(
        ScoreCounts.from_rows(values, truth, np.ones(len(values), np.int64)), cut
    )
    assert_same_cut(sorted_, cut_at(cut, table))


def assert_same_cut(one: BinaryFeature, other: BinaryFeature) -> None:
    for name in ("cut", "tp", "fp"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours == theirs or (math.isnan(ours) and math.isnan(theirs))
    assert one.rule == other.rule


INFINITE: dict[str, tuple[str, str, BinaryFeature]] = {
    # the middle of five is -inf: above it are +0 and -1
    "low": ("+-inf +-inf --inf +0 -1", "median", BinaryFeature(-INF, ">", 1, 1)),
    "high": ("+inf +inf -inf +0 -1", "median", BinaryFeature(INF, ">=", 2, 1)),
    "even": ("+-inf --inf +-inf --inf +0 -1", "median", BinaryFeature(-INF, ">", 1, 1)),
    "only at an end": ("+inf -0 -1", "median", BinaryFeature(1.0, ">", 1, 0)),
    "best": ("+inf +inf -0 -1", "best", BinaryFeature(INF, ">=", 2, 0)),
    "best of low ones": ("+-inf +-inf -0 -1", "best", BinaryFeature(0.0, ">=", 0, 2)),
}


@pytest.mark.parametrize("name", INFINITE)
def test_infinities_have_an_order(name: str) -> None:
    text, cut, expected = INFINITE[name]
    assert cut_at(cut, rows_in_text(text)) == expected
    truth, values = (np.array(column) for column in zip(*rows_in_text(text), strict=True))
    table = ScoreCounts.from_rows(values, truth, np.ones(len(values), np.int64))
    assert split_feature(table, cut) == expected  # type: ignore[arg-type]


def test_best_of_weights_whose_product_leaves_64_bits() -> None:
    """At 1 and above 10/10 and 8/16, at 2 8/10 and 8/16, at 4 8/10 and none: 0.8."""
    table, n = rows_in_text("+1 +4 -0 -2"), [2, 8, 8, 8]
    assert cut_at("best", table, n) == BinaryFeature(4.0, ">=", 8, 0)
    assert cut_at("best", table, [10**10 * k for k in n]) == BinaryFeature(4.0, ">=", 8 * 10**10, 0)


def test_no_rows_have_no_cut() -> None:
    empty = np.array([], float)
    done = split_rows(empty, empty.astype(bool), None, "median")
    assert (done.rule, done.tp, done.fp) == (None, 0, 0)
