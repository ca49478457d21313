"""Sparse tables: gaps, values of no kind, null values, and rows that only look like rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from clfeval.errors import UsageError
from tests.methods.features.door import data_message, features, place, rows_by_feature
from tests.results import four_cells, warning_codes
from tests.tables.door import write
from tests.texts import problem_places

NAN, INF = float("nan"), float("inf")
OWNERS = pl.DataFrame({"row": [1, 2, 3, 4, 5], "truth": [1, 1, 0, 0, 0]})


pytestmark = pytest.mark.usefixtures("folder")


def entries(*cells: tuple[Any, Any, Any]) -> pl.DataFrame:
    return pl.DataFrame(cells, schema=["row", "feature", "value"], orient="row", strict=False)


GAPS = {
    "value": entries((1, "a", None), (2, "a", 1), (3, "a", 1), (4, "b", 1)),
    "value NaN": entries((1, "a", NAN), (2, "a", 1), (3, "a", 1), (4, "b", 1)),
    "row": entries((None, "a", 1), (2, "a", 1), (3, "a", 1), (4, "b", 1)),
    "feature": entries((1, None, 1), (2, "a", 1), (3, "a", 1), (4, "b", 1)),
}


@pytest.mark.parametrize("name", GAPS)
def test_a_gap_is_named(name: str) -> None:
    message = data_message(GAPS[name], truth_table=OWNERS)
    column = name.split()[0]
    assert problem_places(message) == [f"<frame>:1: column '{column}': [missing-value]"]
    assert "--missing drop" in message
    result = features(GAPS[name], truth_table=OWNERS, missing="drop")
    assert {*warning_codes(result)} & {"dropped", "feature-gaps"}


@pytest.mark.parametrize("cut", [None, "best", "median", "mean", "soft"])
def test_a_missing_value_is_no_0(cut: Any) -> None:
    """Sparse equals wide: whether the feature is there is unknown, so the row tells nothing."""
    owners = OWNERS.with_columns(pl.col("row").cast(pl.Int64))
    table = entries((1, "a", NAN), (2, "a", 3.0), (3, "a", 1.0), (4, "a", 2.0))
    sparse = rows_by_feature(table, truth_table=owners, missing="drop", cut=cut)["a"]
    wide = pl.DataFrame({"truth": [1, 1, 0, 0, 0], "a": [NAN, 3.0, 1.0, 2.0, 0.0]})
    if cut is None:  # there at all
        wide = wide.with_columns(a=pl.Series([None, 1, 1, 1, 0]))
    assert place(sparse) == place(rows_by_feature(wide, missing="drop", cut=cut)["a"])


@pytest.mark.parametrize("cut", ["soft", "median", "mean", "best"])
def test_a_row_left_out_for_its_class_lends_no_value(cut: str) -> None:
    """Row 5 has no class: its 100 neither stretches the scale nor is a cut."""
    owners = OWNERS.with_columns(truth=pl.Series([1, 1, 0, 0, None]))
    kept = entries((1, "a", 3.0), (2, "a", 6.0), (3, "a", 1.0))
    more = pl.concat([kept, entries((5, "a", 100.0)), entries((5, "b", 4.5))])
    rows = rows_by_feature(more, truth_table=owners, missing="drop", cut=cut)
    alone = rows_by_feature(kept, truth_table=owners.head(4), cut=cut)
    assert place(rows["a"]) == place(alone["a"])
    assert rows["a"]["cut"] == alone["a"]["cut"]


def test_a_value_of_a_row_left_out_is_no_cut() -> None:
    """Between the negative at 1 and the positive at 5 stands a 3 without a class."""
    owners = OWNERS.with_columns(truth=pl.Series([1, 0, None, 0, 0]))
    table = entries((1, "a", 5.0), (2, "a", 1.0), (3, "a", 3.0))
    row = rows_by_feature(table, truth_table=owners, missing="drop", cut="best")["a"]
    assert (row["cut"], four_cells(row)) == (5.0, (1, 0, 0, 3))


@pytest.mark.parametrize("cut", ["mean", "soft"])
def test_infinity_has_no_mean_and_no_scale(cut: str) -> None:
    table = entries((1, "a", INF), (2, "a", 1.0), (3, "a", 2.0))
    message = data_message(table, truth_table=OWNERS, cut=cut)
    assert [place[-16:] for place in problem_places(message)] == ["[infinite-value]"]


def test_negative_values_lie_below_the_rows_without_an_entry() -> None:
    """Values -2 3 0 0 0: the positives -2 and 3; above -2 are 1/2 and 3/3."""
    table = entries((1, "a", -2.0), (2, "a", 3.0))
    row = rows_by_feature(table, truth_table=OWNERS, cut="best")["a"]
    assert row["cut"] in (0.0, 3.0)
    assert abs(row["delta"].value) == 0.5
    row = rows_by_feature(table, truth_table=OWNERS, cut="soft")["a"]
    assert four_cells(row) == pytest.approx((0 + 1, 3 * 2 / 5, 1, 3 * 3 / 5))


@pytest.mark.parametrize("columns", ["row,feature,value", "doc,term,count", "ID,Token,TF"])
def test_a_value_that_is_no_number_is_named(columns: str) -> None:
    row, _, value = columns.split(",")
    content = f"{columns}\n1,a,2\n3,b,x\n4,c,1\n"
    owners = OWNERS.rename({"row": row})
    message = data_message(content, truth_table=owners)
    assert problem_places(message) == [f"t.csv:3: column '{value}': [bad-number]"]
    assert "--null-value 'x'" in message


def test_a_value_that_is_no_number_in_a_typed_table() -> None:
    table = pl.DataFrame({"row": [1, 3], "feature": ["a", "b"], "value": ["2", "x"]})
    message = data_message(table, truth_table=OWNERS)
    assert problem_places(message) == ["<frame>:2: column 'value': [bad-number]"]


def test_null_values_hold_in_the_truth_table_too() -> None:
    write("c.csv", "row,truth\n1,1\n2,1\n3,0\n4,NA\n5,0\n")
    table = entries((1, "a", 1), (3, "a", 1), (4, "a", 1))
    message = data_message(table, truth_table="c.csv", null_value="NA")
    assert problem_places(message) == ["c.csv:5: column 'truth': [missing-value]"]
    result = features(table, truth_table="c.csv", null_value="NA", missing="drop")
    assert (result.summary["positives"], result.summary["negatives"]) == (2, 2)
    assert four_cells(dict(result.tables["features"][0])) == (1, 1, 1, 1)
    assert sum(item.dropped for item in result.inputs) == 1


def test_null_values_among_entries_and_rows_without_a_name_are_refused() -> None:
    content = "row,feature,value\n1,a,1\n3,a,?\n2,b,1\n"
    message = data_message(content, truth_table=OWNERS, null_value="?")
    assert problem_places(message) == ["t.csv:3: column 'value': [missing-value]"]
    write("c.csv", "row,truth\n1,1\n2,1\n,0\n4,0\n5,0\n")
    message = data_message(entries((1, "a", 1)), truth_table="c.csv")
    assert problem_places(message) == ["c.csv:4: column 'row': [missing-value]"]


def test_what_is_a_row_of_a_table_with_the_class_in_a_column() -> None:
    """Three rows, though row 2 has only a value of 0."""
    table = entries((1, "a", 1), (2, "a", 0), (3, "b", 2)).with_columns(truth=pl.Series([1, 1, 0]))
    result = features(table)
    assert (result.summary["rows"], result.summary["positives"]) == (3, 2)
    assert four_cells(rows_by_feature(table)["a"]) == (1, 0, 1, 1)


def test_rows_are_matched_as_text() -> None:
    """`01` is not `1`, whatever either table makes of it."""
    write("c.csv", "row,truth\n01,1\n1,0\n2,0\n")
    rows = rows_by_feature(write("t.csv", "row,feature\n01,a\n1,b\n2,b\n"), truth_table="c.csv")
    assert four_cells(rows["a"]) == (1, 0, 0, 2)
    assert four_cells(rows["b"]) == (0, 2, 1, 0)


@pytest.mark.parametrize("cut", [None, 1.0, "median", "mean", "best", "soft"])
def test_a_table_without_any_usable_entry_has_no_features(cut: Any) -> None:
    table = entries((None, "a", 1.0), (None, "b", 2.0), (1, None, 3.0))
    if cut is None:
        assert rows_by_feature(table, truth_table=OWNERS, missing="drop") == {}
        return
    with pytest.raises(UsageError, match="needs-numbers"):
        features(table, truth_table=OWNERS, missing="drop", cut=cut)
