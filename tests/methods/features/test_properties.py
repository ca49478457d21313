"""Random tables of mixed kinds: METHODS row by row, and what must not change a number."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.features.door import features, rows_by_feature, table_text
from tests.methods.features.mixed import MixedRow, agree, expected, mixed_rows, repeated, wide_frame
from tests.thoroughness import examples

CUTS = ["median", "mean", "best", "soft", 0.5, 1.0]
ONLY = st.sampled_from(CUTS)
MANY = examples(60)


@pytest.mark.parametrize("cut", CUTS)
@MANY
@given(table=mixed_rows(missing=False))
def test_a_complete_table_agrees_with_the_definition(table: list[MixedRow], cut: Any) -> None:
    rows = rows_by_feature(wide_frame(table), cut=cut)
    places = expected(table, cut)
    assert set(rows) == set(places)
    for name, placed in places.items():
        agree(rows[name], placed)


@pytest.mark.parametrize("cut", ["median", "mean", "best", 0.5])
@MANY
@given(table=mixed_rows(missing=True))
def test_a_row_with_a_gap_is_left_out_for_that_feature_alone(
    table: list[MixedRow], cut: Any
) -> None:
    rows = rows_by_feature(
        wide_frame(table), missing="drop", cut=cut if _has_numbers(table) else None
    )
    places = expected(table, cut)
    assert set(rows) == set(places)
    for name, placed in places.items():
        agree(rows[name], placed)


def _has_numbers(table: list[MixedRow]) -> bool:
    return any(row[3] is not None for row in table)


@MANY
@given(table=mixed_rows(missing=True), cut=ONLY, data=st.data())
def test_the_order_of_rows_changes_no_byte(table: list[MixedRow], cut: Any, data: Any) -> None:
    cut = cut if _has_numbers(table) else None
    permuted = data.draw(st.permutations(table))
    result, again = (
        features(wide_frame(rows), missing="drop", cut=cut) for rows in (table, permuted)
    )
    assert table_text(result) == table_text(again)
    assert result.signature == again.signature


@MANY
@given(
    values=st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.7, 1e9, -1e-9]), min_size=4, max_size=9),
    cut=ONLY,
    data=st.data(),
)
def test_nor_does_it_with_sums_that_round(values: list[float], cut: Any, data: Any) -> None:
    table = [(i % 2, value) for i, value in enumerate(values)]
    permuted = data.draw(st.permutations(table))
    texts = [
        table_text(features(pl.DataFrame(rows, schema=["truth", "x"], orient="row"), cut=cut))
        for rows in (table, permuted)
    ]
    assert texts[0] == texts[1]


@MANY
@given(table=mixed_rows(), cut=ONLY)
def test_a_weight_is_a_row_repeated(table: list[MixedRow], cut: Any) -> None:
    weighted = features(wide_frame(table, weight=True), weight="n", cut=cut)
    spelled = features(wide_frame(repeated(table)), cut=cut)
    assert table_text(weighted) == table_text(spelled)
    assert weighted.summary == spelled.summary


def test_the_missing_cells_of_a_weighted_row_count_as_often_as_the_row() -> None:
    """Three rows without a value are three missing values, however they are written."""
    table = pl.DataFrame({"truth": [1, 0, 1], "x": [1, 0, None], "n": [1, 1, 3]})
    row = rows_by_feature(table, weight="n", missing="drop")["x"]
    assert (row["rows"], row["missing"]) == (2, 3)


@MANY
@given(table=mixed_rows(missing=True), data=st.data())
def test_the_order_of_columns_changes_no_byte(table: list[MixedRow], data: Any) -> None:
    whole = wide_frame(table)
    turned = whole.select(data.draw(st.permutations(whole.columns)))
    texts = [table_text(features(frame, missing="drop")) for frame in (whole, turned)]
    assert texts[0] == texts[1]


@MANY
@given(table=mixed_rows(), chosen=st.sampled_from(["bit", "flag", "number", "colour"]))
def test_a_feature_is_judged_by_its_own_column(table: list[MixedRow], chosen: str) -> None:
    """All but its role: among many features chance makes some, so each needs a smaller p there."""
    whole, alone = (
        rows_by_feature(wide_frame(table)),
        rows_by_feature(wide_frame(table), feature=[chosen]),
    )
    assert alone
    assert {row["column"] for row in alone.values()} == {chosen}
    for name, row in alone.items():
        assert {**whole[name], "role": None} == {**row, "role": None}
        assert whole[name]["role"] in (row["role"], None)
