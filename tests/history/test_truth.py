"""The digest of ids and truth: no model changes it, every change of rows does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result

TABLE = pl.DataFrame(
    {
        "id": [f"r{i}" for i in range(8)],
        "truth": [1, 0, 1, 0, 1, 0, 0, 1],
        "site": list("aabbaabb"),
        "a": [1, 0, 0, 0, 1, 1, 0, 1],
        "b": [1, 0, 1, 0, 0, 0, 0, 1],
    }
)


def digest(table: Any, command: Callable[..., Result] = clfeval.report, **given: Any) -> str:
    """Return the digest a run would keep."""
    given.setdefault("ignore", ("site",) if "site" in getattr(table, "columns", ()) else ())
    asked = command.compute  # type: ignore[attr-defined]
    found = asked(table, given, lambda _: None, lambda _: "", truth=True).truth
    assert isinstance(found, str)
    return found


WHOLE = digest(TABLE)
SAME = {
    "rows in another order": TABLE[::-1],
    "columns in another order": TABLE.select(reversed(TABLE.columns)),
    "another answer": TABLE.with_columns(a=1 - pl.col("a")),
    "a model less": TABLE.drop("b"),
    "a model more": TABLE.with_columns(c=pl.col("truth")),
    "another name of a model": TABLE.rename({"a": "z"}),
}
OTHER = {
    "one truth": TABLE.with_columns(truth=pl.Series([0, 0, 1, 0, 1, 0, 0, 1])),
    "truths of two rows": TABLE.with_columns(truth=pl.Series([0, 1, 1, 0, 1, 0, 0, 1])),
    "an id": TABLE.with_columns(id=pl.Series([f"r{i}" for i in range(1, 9)])),
    "a row less": TABLE[:-1],
    "a row more": pl.concat([TABLE, TABLE[:1].with_columns(id=pl.lit("r9"))]),
}


@pytest.mark.parametrize("case", [*SAME, *OTHER])
def test_changes_of_rows_change_it_and_no_model_and_no_order(case: str) -> None:
    assert (digest({**SAME, **OTHER}[case]) == WHOLE) == (case in SAME)


def test_every_command_and_format_has_the_same(tmp_path: Any) -> None:
    path = tmp_path / "t.parquet"
    TABLE.write_parquet(path)
    TABLE.write_csv(tmp_path / "t.csv")
    tables = [path, tmp_path / "t.csv", TABLE.to_pandas(), TABLE.to_arrow()]
    assert {digest(table, ignore=("site",)) for table in tables} == {WHOLE}
    commands = (clfeval.mars, clfeval.phidelta, clfeval.tune_jpt)
    assert {digest(TABLE, command, ignore=("site",)) for command in commands} == {WHOLE}


def test_slices_do_not_change_it_and_clusters_do() -> None:
    assert digest(TABLE, by=("site",), ignore=()) == WHOLE
    assert digest(TABLE, cluster="site", ignore=()) != WHOLE


def test_without_ids_the_order_counts() -> None:
    table = TABLE.drop("id")
    assert digest(table).startswith("rows:")
    assert digest(table.with_columns(a=1 - pl.col("a"))) == digest(table)
    assert digest(table[::-1]) != digest(table)


def test_a_long_table_has_that_of_the_wide_one() -> None:
    long = TABLE.drop("site").unpivot(
        ["a", "b"], index=["id", "truth"], variable_name="model", value_name="prediction"
    )
    assert digest(long.sample(fraction=1, shuffle=True, seed=1)) == WHOLE


def test_of_several_classes_the_classes_count() -> None:
    table = pl.DataFrame({"id": range(4), "truth": list("xyzx"), "m": list("xyzz")})
    swapped = table.with_columns(truth=pl.Series(list("yxzx")))
    assert digest(table) != digest(swapped)
    assert digest(table) == digest(table.with_columns(m=pl.Series(list("zzzx"))))


def test_counts_have_their_class_totals() -> None:
    one = pl.DataFrame({"model": ["a", "b"], "tp": [3, 2], "fp": 1, "fn": [1, 2], "tn": 5})
    other = one.with_columns(tp=pl.Series([2, 2]), fn=pl.Series([2, 2]))
    assert digest(one) == digest(other)
    assert digest(one).startswith("counts:")
    assert digest(one) != digest(one.with_columns(tn=pl.Series([6, 6])))


def test_nobody_who_does_not_ask_pays_for_it() -> None:
    result = clfeval.report(TABLE, ignore=("site",))
    assert result.truth is None
    assert "truth" not in result.to_dict()
