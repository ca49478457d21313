"""What kind a column is, from files and frames, and what it must not depend on."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pytest

from tests.engines import ENGINES
from tests.methods.features.door import data_message, features, rows_by_feature
from tests.results import four_cells
from tests.tables.door import encoded, write
from tests.texts import problem_places

pytestmark = pytest.mark.usefixtures("folder")


TRUTH = [1, 1, 0, 0]


def kinds(table: Any, **options: Any) -> dict[str, str]:
    return {name: row["kind"] for name, row in rows_by_feature(table, **options).items()}


TYPED: dict[str, tuple[pl.Series, dict[str, str]]] = {
    "0 and 1": (pl.Series([0, 1, 1, 0]), {"x": "binary"}),
    "small integers": (pl.Series([0, 1, 1, 0], dtype=pl.Int8), {"x": "binary"}),
    "unsigned": (pl.Series([0, 1, 255, 0], dtype=pl.UInt8), {"x": "numeric"}),
    "negative": (pl.Series([0, 1, -1, 0]), {"x": "numeric"}),
    "2": (pl.Series([0, 1, 2, 0]), {"x": "numeric"}),
    "booleans": (pl.Series([True, False, False, True]), {"x": "binary"}),
    "floats of 0 and 1": (pl.Series([0.0, 1.0, 1.0, 0.0]), {"x": "numeric"}),
    "decimals": (pl.Series([Decimal("1.5"), Decimal(2), Decimal(3), Decimal(4)]), {"x": "numeric"}),
    "text": (pl.Series(["a", "b", "b", "a"]), {"x=a": "category", "x=b": "category"}),
    "yes and no": (pl.Series(["yes", "no"] * 2), {"x=yes": "category", "x=no": "category"}),
    "lower case": (pl.Series(["true", "false"] * 2), {"x": "binary"}),
    "capitals": (pl.Series(["True", "False"] * 2), {"x": "binary"}),
    "both cases": (
        pl.Series(["true", "True", "false", "true"]),
        {"x=true": "category", "x=True": "category", "x=false": "category"},
    ),
    "categories": (
        pl.Series(["a", "b", "b", "a"], dtype=pl.Categorical),
        {"x=a": "category", "x=b": "category"},
    ),
    "dates": (
        pl.Series([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 2),
        {"x=2020-01-01": "category", "x=2020-01-02": "category"},
    ),
}


@pytest.mark.parametrize("name", TYPED)
def test_kinds_of_typed_columns(name: str) -> None:
    series, expected = TYPED[name]
    frame = pl.DataFrame({"truth": TRUTH, "x": series})
    assert kinds(frame) == expected
    assert kinds(write("t.parquet", encoded(frame, "parquet"))) == expected
    assert kinds(frame.to_arrow()) == expected


TEXT = {
    "0110": "binary",
    "0,1,1,0.0": "numeric",
    "-1,0,1,1": "numeric",
    "0,1,2,1": "numeric",
    "1e3,2,3,4": "numeric",
    "true,false,true,false": "binary",
    "TRUE,FALSE,TRUE,TRUE": "binary",
    "a,b,a,b": "category",
    "yes,no,yes,no": "category",
    "1,a,b,c": "category",
}


@pytest.mark.parametrize("values", TEXT)
def test_kinds_of_text_columns(values: str) -> None:
    column = values.split(",") if "," in values else list(values)
    content = "truth,x\n" + "".join(f"{t},{x}\n" for t, x in zip(TRUTH, column, strict=True))
    assert set(kinds(write("t.csv", content)).values()) == {TEXT[values]}


def test_0_and_1_stored_as_floats_count_as_0_and_1() -> None:
    bits = [0.0, 1.0, 1.0, 0.0]
    for cut in (None, "median", "mean", "best", "soft", 1.0):
        assert four_cells(
            rows_by_feature(pl.DataFrame({"truth": TRUTH, "x": bits}), cut=cut)["x"]
        ) == (1, 1, 1, 1)


def test_0_and_1_stored_as_text_are_counted_one_against_the_rest_at_least() -> None:
    rows = rows_by_feature(pl.DataFrame({"truth": TRUTH, "x": ["0", "1", "1", "1"]}))
    one = rows["x"] if "x" in rows else rows["x=1"]
    assert four_cells(one) == (1, 2, 1, 0)


def test_integers_beyond_2_to_the_53_are_read_by_every_engine() -> None:
    frame = pl.DataFrame({"truth": TRUTH, "x": [2**60, 2**60, 5, -3]})
    for name, convert in ENGINES.items():
        row = rows_by_feature(convert(frame))["x"]
        assert (row["kind"], four_cells(row)) == ("numeric", (2, 0, 0, 2)), name


def test_infinite_values_are_placed_by_their_order() -> None:
    content = "truth,x\n1,inf\n1,5\n0,-inf\n0,3\n"
    for cut in ("median", "best", 4.0):  # the median is 4
        row = rows_by_feature(write("t.csv", content), cut=cut)["x"]
        assert four_cells(row) == (2, 0, 0, 2), cut


@pytest.mark.parametrize("cut", ["mean", "soft"])
def test_infinity_has_no_mean_and_no_scale(cut: str) -> None:
    message = data_message("truth,x\n1,inf\n1,2\n0,1\n", cut=cut)
    assert problem_places(message) == ["t.csv: column 'x': [infinite-value]"]
    assert "--cut median" in message


def test_a_cut_at_infinity_is_written_as_json() -> None:
    """At or above inf: both positives; JSON has no infinity, and the document is still written."""
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "x": [float("inf")] * 2 + [1.0, 2.0]})
    result = features(frame, cut="best")
    assert four_cells(dict(result.tables["features"][0])) == (2, 0, 0, 2)
    assert '"tp": 2' in result.to_json()


def test_nan_is_missing() -> None:
    frame = pl.DataFrame({"truth": TRUTH, "x": [1.0, float("nan"), 3.0, 2.0]})
    assert problem_places(data_message(frame)) == ["<frame>:2: column 'x': [missing-value]"]
    row = rows_by_feature(frame, missing="drop")["x"]
    assert (row["rows"], row["missing"], row["cut"]) == (3, 1, 2.0)


@pytest.mark.parametrize("late", ["2.5", "300", "2", "-1"])
@pytest.mark.parametrize("cut", [None, "soft", 5.0])
def test_a_number_far_down_in_one_column_changes_no_other(late: str, cut: Any) -> None:
    """Row 5600 is beyond the sample; the column of bits beside it stays what it is."""
    lines = [f"{i % 2},{int(i % 3 == 0)},{late if i == 5600 else i % 2}" for i in range(6000)]
    rows = rows_by_feature(write("t.csv", "truth,a,b\n" + "\n".join(lines) + "\n"), cut=cut)
    assert (rows["a"]["kind"], rows["a"]["cut"], rows["a"]["rule"]) == ("binary", None, None)
    assert four_cells(rows["a"]) == (1000, 1000, 2000, 2000)
    assert rows["b"]["kind"] == "numeric"


def test_pandas_columns_of_its_own_types() -> None:
    frame = pd.DataFrame(
        {
            "truth": pd.Categorical(["sick", "sick", "well", "well"]),
            "bit": pd.array([1, 0, None, 0], "Int64"),
            "flag": pd.array([True, False, True, None], "boolean"),
            "word": pd.Series(["a", None, "a", "b"], dtype=object),
            "kind": pd.Categorical(["x", "x", None, "y"]),
        }
    )
    rows = rows_by_feature(frame, positive="sick", missing="drop")
    assert {name: four_cells(row) for name, row in rows.items()} == {
        "bit": (1, 0, 1, 1),
        "flag": (1, 1, 1, 0),
        "word=a": (1, 1, 0, 1),
        "word=b": (0, 1, 1, 1),
        "kind=x": (2, 0, 0, 1),
        "kind=y": (0, 1, 2, 0),
    }


PARTS = {
    "0 and 1, then numbers": ("truth,x\n1,1\n0,0\n", "truth,x\n1,2.5\n0,0\n", "numeric"),
    "numbers, then 0 and 1": ("truth,x\n1,2.5\n0,0\n", "truth,x\n1,1\n0,0\n", "numeric"),
    "columns turned": ("truth,x\n1,2.5\n0,0\n", "x,truth\n1,1\n0,0\n", "numeric"),
    "one class each": ("truth,x\n1,1\n1,1\n", "truth,x\n0,0\n0,0\n", "binary"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_kind_is_that_of_all_files(name: str) -> None:
    first, second, kind = PARTS[name]
    rows = rows_by_feature([write("a.csv", first), write("b.csv", second)])
    assert {row["kind"] for row in rows.values()} == {kind}
    assert four_cells(rows["x"]) == (2, 0, 0, 2)


@pytest.mark.parametrize("bits", [[1, 0], [2.5, 0.0]])
def test_files_of_several_formats_are_one_table(bits: list[Any]) -> None:
    text = write("a.csv", "truth,x\n1,1\n0,0\n")
    typed = write("b.parquet", encoded(pl.DataFrame({"truth": [1, 0], "x": bits}), "parquet"))
    assert four_cells(rows_by_feature([text, typed])["x"]) == (2, 0, 0, 2)
    assert four_cells(rows_by_feature([typed, text])["x"]) == (2, 0, 0, 2)


@pytest.mark.parametrize("how", ["list", "struct", "binary"])
def test_cells_that_are_no_single_value_are_refused(how: str) -> None:
    cell = {"list": [1], "struct": {"a": 1}, "binary": b"x"}[how]
    frame = pl.DataFrame({"truth": TRUTH, "x": [cell] * 4})
    message = data_message(encoded(frame, "parquet"), "t.parquet")
    assert problem_places(message) == ["t.parquet: column 'x': [bad-type]"]
