"""Implications: read off exact zeros, with the rows that show them and how surely they hold."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clfeval.document.cells import Estimate
from tests.methods.features.door import features, rows_by_feature
from tests.results import estimate_of, row_of, rows_by
from tests.thoroughness import examples


def bits_table(truth: str, **columns: str) -> pl.DataFrame:
    """Return a table of bits written as strings; `.` is a missing cell."""
    bits = {name: [None if b == "." else int(b) for b in text] for name, text in columns.items()}
    return pl.DataFrame({"truth": [int(t) for t in truth]} | bits)


#          truth 1 1 1 1 1 0 0 0
BORDERS = {
    # tp = 3/5, fp = 0/3: the upper left border; three rows have f, all are c
    "f → c": ("11100000", 3),
    # tp = 5/5, fp = 1/3: the upper right; two rows lack f, all are not c
    "¬f → ¬c": ("11111100", 2),
    # tp = 0/5, fp = 2/3: the lower left; two rows have f, none is c
    "f → ¬c": ("00000110", 2),
    # tp = 1/5, fp = 3/3: the lower right; four rows lack f, all are c
    "¬f → c": ("10000111", 4),
}


@pytest.mark.parametrize("rule", BORDERS)
def test_each_border_has_its_implication(rule: str) -> None:
    bits, support = BORDERS[rule]
    result = features(bits_table("11111000", f=bits))
    assert row_of(result, "features")["implications"] == [rule]
    row = row_of(result, "implications")
    assert (row["feature"], row["implication"], row["support"]) == ("f", rule, support)


@pytest.mark.parametrize("known", ["....1010", "1010...."])
def test_nothing_follows_where_only_rows_of_one_class_are_known(known: str) -> None:
    """A share of no rows at all is not an exact zero."""
    row = rows_by_feature(bits_table("11110000", f=known), missing="drop")["f"]
    assert (row["phi"].value, row["delta"].value, row["role"]) == (None, None, None)
    assert row["implications"] == []


def test_missing_rows_show_nothing() -> None:
    result = features(bits_table("11111000", f="1.100.00"), missing="drop")
    row = row_of(result, "implications")
    assert (row["implication"], row["support"]) == ("f → c", 2)


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("support", [1, 2, 37])
def test_the_confidence_has_the_exact_lower_bound(support: int, level: float) -> None:
    frame = bits_table("1" * support + "100", f="1" * support + "000")
    row = row_of(features(frame, level=level), "implications")
    assert (row["implication"], row["support"]) == ("f → c", support)
    exact = stats.binomtest(support, support).proportion_ci(level, method="exact")
    confidence = estimate_of(row["confidence"])
    assert (confidence.value, confidence.high) == (1.0, 1.0)
    assert confidence.low == pytest.approx(exact.low, rel=1e-12)
    assert confidence.low == pytest.approx(((1 - level) / 2) ** (1 / support), rel=1e-12)


def test_without_intervals_there_is_no_bound() -> None:
    row = row_of(features(bits_table("1100", f="1000"), interval="none"), "implications")
    assert row["confidence"] == Estimate(1.0)


def test_cuts_imply_too() -> None:
    """Above 2: one row, positive. Not above: two negatives and a positive."""
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "x": [3.0, 0.5, 2.0, 1.0]})
    row = row_of(features(frame, cut=2.5), "implications")
    assert (row["feature"], row["implication"], row["support"]) == ("x", "f → c", 1)


def test_the_table_is_in_the_order_of_the_features() -> None:
    frame = bits_table("11111000", b="11100000", a="11110000", oracle="11111000")
    rows = features(frame).tables["implications"]
    assert [row["feature"] for row in rows] == ["oracle", "oracle", "a", "b"]


Bits = list[tuple[int, int]]


@examples(60)
@given(rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=9))
def test_an_implication_is_what_no_row_contradicts(rows: Bits) -> None:
    rows = [(1, 1), (0, 0), *rows] if len(rows) % 2 else [(1, 0), (0, 1), *rows]
    frame = pl.DataFrame(rows, schema=["truth", "f"], orient="row")
    implications = rows_by(features(frame), "implications", "implication")
    expected = {}
    for left, f in (("f", 1), ("¬f", 0)):
        for right, c in (("c", 1), ("¬c", 0)):
            classes = [truth for truth, bit in rows if bit == f]
            if classes and all(truth == c for truth in classes):
                expected[f"{left} → {right}"] = len(classes)
    assert {rule: row["support"] for rule, row in implications.items()} == expected
